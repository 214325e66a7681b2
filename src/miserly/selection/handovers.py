"""Pairs of models with a handover: the expensive model answers rows that the cheap one is uncertain about.

No fit is needed. The results of two candidates on held-out rows determine the result of the pair for every
threshold of the handover. With a budget between the costs of the two models, as many rows as the budget
allows are handed over, those with the lowest confidence first.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from miserly.costs import Costs, mean_limit
from miserly.data.rows import Rows
from miserly.learners import Handover
from miserly.metrics.influence import centred
from miserly.plan import links
from miserly.plan.compose import can_hand_over, hand_over, suit_each_other
from miserly.selection.cross_choice import steady_gains
from miserly.selection.evaluation import Candidate, Evaluator, Trial, most_of, pareto
from miserly.selection.hyperparameters import Hyperparameter, View, viewed, viewed_plan
from miserly.selection.tables import shown

__all__ = ["Pair", "handovers"]

Floats: TypeAlias = NDArray[np.float64]
Ints: TypeAlias = NDArray[np.int64]

_N_LEVELS = 48  # costs for which pairs are searched
_N_FIRST = 16  # cheaper models, at most
_N_THEN = 16  # more expensive models, at most
_COST_RATIO = 1.05  # the second model costs more than this times the first
_CLOSE = 1e-9  # probabilities nearer than this are the same


@dataclass(frozen=True, eq=False)
class Pair:
    """Two models with a handover, as a candidate learner: its hyperparameter is the threshold."""

    first: Candidate
    then: Candidate
    views: tuple[View, ...]

    name = Handover.__name__
    hyperparameter = Hyperparameter("handover", "threshold", 0.0, 1.0)
    is_constant = False

    @property
    def costs(self) -> Costs:
        return self.first.trial.learner.costs

    def params(self, value: float, view: View) -> dict[str, Any]:
        return {**view, "first": shown(self.first), "then": shown(self.then)}

    def join(self, first: Any, then: Any) -> Handover:
        """The two as one, from fitted models of both."""
        return Handover.of(viewed(first, self.first.view), viewed(then, self.then.view), threshold=1.0)

    def fit(self, rows: Rows, value: float) -> Handover:
        """Both, fitted to some rows."""
        return self.join(*(one.trial.learner.fit(rows, one.trial.value) for one in (self.first, self.then)))


def handovers(
    evaluator: Evaluator, candidates: Sequence[Candidate], budgets: Iterable[float] = ()
) -> list[Candidate]:
    """Pairs that are better than every single candidate of their cost, at the budgets and other costs."""
    if evaluator.values.by_query or not evaluator.values.is_additive:
        return []
    gains = dict(zip(candidates, steady_gains(candidates, evaluator.metric.sign), strict=True))
    firsts, thens = _best_calibrated(candidates), _spread(pareto(candidates, evaluator.metric.sign), _N_THEN)
    features = [plan.features for one in (*firsts, *thens) for plan in _plans(one)]
    used = np.unique(np.concatenate([np.arange(0), *features]))
    cheaper, pricier = ([_Half(evaluator, one, gains[one], used) for one in some] for some in (firsts, thens))
    joints = [
        _JoinedPair(evaluator, first, then)
        for first in cheaper
        for then in pricier
        if then.cost > _COST_RATIO * first.cost and then.gain > first.gain and first.suits(then)
    ]
    wanted: dict[_JoinedPair, set[int]] = {}
    for level in _levels(candidates, budgets):
        most = mean_limit(level)
        alone = max((gains[one] for one in candidates if one.mean_cost <= most), default=-np.inf)
        offers = [(joint, joint.at(most)) for joint in joints if joint.cost[0] <= most]
        joint, place = max(offers, key=lambda offer: offer[0].gain[offer[1]], default=(None, 0))
        if joint is not None and joint.gain[place] > alone:
            wanted.setdefault(joint, set()).add(place)
    return [one for joint, places in wanted.items() for one in joint.candidates(sorted(places))]


def _levels(candidates: Sequence[Candidate], budgets: Iterable[float]) -> list[float]:
    """Costs between the cheapest and the most expensive model, and the budgets of the search."""
    paid = [one.mean_cost for one in candidates if one.mean_cost > 0.0]
    between = np.geomspace(min(paid), max(paid), _N_LEVELS).tolist() if paid else []
    return sorted({*between, *budgets})


def _best_calibrated(candidates: Sequence[Candidate]) -> list[Candidate]:
    """The candidates with the lowest log loss for their cost, few enough to pair."""
    found: list[Candidate] = []
    least = np.inf
    for one in sorted(candidates, key=lambda one: (one.mean_cost, one.log_loss)):
        if one.log_loss < least and all(can_hand_over(plan) for plan in _plans(one)):
            found.append(one)
            least = one.log_loss
    return _spread(found, _N_FIRST)


def _spread(some: Sequence[Candidate], most: int) -> list[Candidate]:
    """At most this many candidates, evenly spread in the order of their costs."""
    some = sorted(some, key=lambda one: one.mean_cost)
    if len(some) <= most:
        return some
    return [some[place] for place in np.linspace(0, len(some) - 1, most).round().astype(np.int64)]


def _plans(one: Candidate) -> list[Any]:
    return [viewed_plan(plan, one.view) for plan in one.trial.plans]


class _Half:
    """A candidate with what a pair needs: its plans and, on held-out rows, confidences and purchases."""

    def __init__(self, evaluator: Evaluator, candidate: Candidate, gain: float, used: Ints) -> None:
        self._evaluator, self._used = evaluator, used
        self.candidate, self.gain, self.cost = candidate, gain, candidate.mean_cost
        self.plans = _plans(candidate)

    def suits(self, other: _Half) -> bool:
        return all(
            bool(one.nodes and two.nodes) and suit_each_other(one, two)
            for one, two in zip(self.plans, other.plans, strict=True)
        )

    @cached_property
    def _runs(self) -> list[Any]:
        return [
            plan.run(rows.X, unknown="missing", **rows.own_costs)
            for plan, rows in zip(self.plans, self._evaluator.held_out, strict=True)
        ]

    @cached_property
    def confidence(self) -> Floats:
        """The probability of the most probable class of each row."""
        return np.concatenate(
            [
                links.probabilities(plan.link, run.scores.reshape(len(run.cost), -1)).max(axis=1)
                for plan, run in zip(self.plans, self._runs, strict=True)
            ]
        )

    @cached_property
    def acquired(self) -> NDArray[np.bool_]:
        """The features that each row acquired, of those that any model uses."""
        return np.concatenate([run.acquired[:, self._used] for run in self._runs])

    @cached_property
    def evaluation(self) -> Floats:
        """What each row paid besides features."""
        return self.candidate.paid - self.price(self.acquired)

    @cached_property
    def values(self) -> Floats:
        """The value of each row, times its weight if there are weights."""
        return self._evaluator.uncentred(self.candidate.value)

    def price(self, bought: NDArray[np.bool_]) -> Floats:
        """The cost of the features that each row bought."""
        costs, rows = self.plans[0].costs, self._evaluator.rows
        prices: Floats
        if rows.row_costs is None:
            prices = costs.of_each(bought, self._used)
            return prices
        table = np.zeros((len(bought), len(costs)), dtype=np.bool_)
        table[:, self._used] = bought
        prices = rows.row_costs.take(self._evaluator.held_out_rows).of_each(table)
        return prices


class _JoinedPair:
    """A pair: its costs and gains by the number of rows that are handed over, the lowest confidence first.

    Rows of equal confidence are handed over together, so only some numbers of rows are possible.
    """

    def __init__(self, evaluator: Evaluator, first: _Half, then: _Half) -> None:
        self._first, self._then, self._sign = first, then, evaluator.metric.sign
        self._rows = evaluator.rows
        self._evaluator, one = evaluator, first.candidate
        order = np.argsort(first.confidence, kind="stable")
        sure = first.confidence[order]
        n_handed = np.flatnonzero(np.concatenate([[True], np.diff(sure) > _CLOSE, [True]]))
        ends = np.concatenate([[0.0], sure, [2.0]])
        self._levels = 0.5 * (ends[n_handed] + ends[n_handed + 1])
        self.cost = (
            one.mean_cost + _sums(evaluator.weighed(self.both - first.candidate.paid)[order])[n_handed]
        )
        value = one.mean_value + _sums((self.handed_value - first.values)[order])[n_handed]
        share = n_handed / len(order)
        smoothing = [half.gain - self._sign * half.candidate.mean_value for half in (first, then)]
        self.gain = self._sign * value + (1.0 - share) * smoothing[0] + share * smoothing[1]

    @cached_property
    def both(self) -> Floats:
        """What each row pays for both models."""
        first, then = self._first, self._then
        return first.price(first.acquired | then.acquired) + first.evaluation + then.evaluation

    @cached_property
    def handed_value(self) -> Floats:
        """What each row adds to the metric if it is handed over."""
        then, weighed = self._then, self._evaluator.weighed
        if not then.candidate.includes_cost:
            return then.values
        return then.values - weighed(then.candidate.paid) + weighed(self.both)

    def at(self, cost: float) -> int:
        """The place of the largest number of rows within a mean cost; for a total, of the best number."""
        inside = np.flatnonzero(self.cost <= cost)
        of_total = self._first.candidate.includes_cost
        return int(inside[np.argmax(self.gain[inside])] if of_total else inside[-1])

    def candidates(self, places: Sequence[int]) -> list[Candidate]:
        """The candidates of the pair at some numbers of rows."""
        one, two = self._first.candidate, self._then.candidate
        views = tuple({"handover": float(self._levels[place])} for place in places)
        plans = [
            hand_over(*both, level=1.0) for both in zip(self._first.plans, self._then.plans, strict=True)
        ]
        trial = Trial(Pair(one, two, views), np.nan, tuple(plans), one.trial.seconds + two.trial.seconds)
        max_cost = max(most_of(plan, self._rows) for plan in plans)
        return [self._candidate(trial, view, max_cost) for view in views]

    def _candidate(self, trial: Trial, view: View, max_cost: float) -> Candidate:
        first, evaluator = self._first, self._evaluator
        handed = self._first.confidence < view["handover"]
        bought = self._first.acquired | (self._then.acquired & handed[:, None])
        cost = np.where(handed, self.both, first.candidate.paid)
        return Candidate(
            trial=trial,
            view=view,
            cost=centred(cost, evaluator.weight),
            value=evaluator.recentred(np.where(handed, self.handed_value, first.values)),
            row_cost=None if evaluator.weight is None else cost,
            features=float(np.average(bought.sum(axis=1), weights=evaluator.weight)),
            max_cost=max_cost,
            mistakes=self._mistakes(handed),
            includes_cost=first.candidate.includes_cost,
            is_weighted=evaluator.weight is not None,
        )

    def _mistakes(self, handed: NDArray[np.bool_]) -> Floats | None:
        """What the answers to the rows cost, if that is known."""
        one, two = self._first.candidate.mistakes, self._then.candidate.mistakes
        if one is None or two is None:
            return None
        evaluator = self._evaluator
        return evaluator.recentred(np.where(handed, evaluator.uncentred(two), evaluator.uncentred(one)))


def _sums(values: Floats) -> Floats:
    """The cumulative sums of values, from 0, divided by their number."""
    sums: Floats = np.concatenate([[0.0], np.cumsum(values)]) / len(values)
    return sums
