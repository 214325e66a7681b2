"""Two models of a frontier in turn: whoever the cheaper one leaves in doubt goes on to the dearer one.

Nothing is fitted for this. From what each of two candidates does on held-out rows follows what they do
together, whatever the level of doubt at which rows are handed over: so money that no single model can use
buys the dearer answer for as many rows as it pays for, those most in doubt.
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
from miserly.plan import links
from miserly.plan.compose import can_hand_over, hand_over, suit_each_other
from miserly.selection.candidates import Dial, View, viewed, viewed_plan
from miserly.selection.cross_choice import steady_gains
from miserly.selection.evaluation import Bench, Candidate, Trial, pareto
from miserly.selection.tables import shown

__all__ = ["Pair", "handovers"]

Floats: TypeAlias = NDArray[np.float64]
Ints: TypeAlias = NDArray[np.int64]

_N_LEVELS = 48  # costs for which a pair is looked for
_N_FIRST = 16  # of the cheaper models,
_N_THEN = 16  # and of the dearer ones, at most
_DEARER = 1.05  # times as dear as the first must the second be
_CLOSE = 1e-9  # probabilities nearer than this are the same


@dataclass(frozen=True, eq=False)
class Pair:
    """Who hands over to whom, as a contender like others: its dial is the doubt at which that happens."""

    first: Candidate
    then: Candidate
    views: tuple[View, ...]

    name = Handover.__name__
    dial = Dial("handover", "threshold", 0.0, 1.0)

    @property
    def costs(self) -> Costs:
        return self.first.trial.contender.costs

    def params(self, value: float, view: View) -> dict[str, Any]:
        return {**view, "first": shown(self.first), "then": shown(self.then)}

    def join(self, first: Any, then: Any) -> Handover:
        """The two as one, from fitted models of both."""
        return Handover.of(viewed(first, self.first.view), viewed(then, self.then.view), threshold=1.0)

    def fit(self, rows: Rows, value: float) -> Handover:
        """Both, fitted to some rows."""
        return self.join(*(one.trial.contender.fit(rows, one.trial.value) for one in (self.first, self.then)))


def handovers(
    bench: Bench, candidates: Sequence[Candidate], budgets: Iterable[float] = ()
) -> list[Candidate]:
    """Pairs that are better than any one candidate of their cost, at the cost of each budget and others."""
    if bench.values.by_query:
        return []
    gains = dict(zip(candidates, steady_gains(candidates, bench.sign), strict=True))
    firsts, thens = _least_surprised(candidates), _spread(pareto(candidates, bench.sign), _N_THEN)
    features = [plan.features for one in (*firsts, *thens) for plan in _plans(one)]
    used = np.unique(np.concatenate([np.arange(0), *features]))
    cheaper, dearer = ([_Half(bench, one, gains[one], used) for one in some] for some in (firsts, thens))
    joints = [
        _Joint(bench, first, then)
        for first in cheaper
        for then in dearer
        if then.cost > _DEARER * first.cost and then.gain > first.gain and first.suits(then)
    ]
    wanted: dict[_Joint, set[int]] = {}
    for level in _levels(candidates, budgets):
        most = mean_limit(level)
        alone = max((gains[one] for one in candidates if one.mean_cost <= most), default=-np.inf)
        offers = [(joint, joint.at(most)) for joint in joints if joint.cost[0] <= most]
        joint, place = max(offers, key=lambda offer: offer[0].gain[offer[1]], default=(None, 0))
        if joint is not None and joint.gain[place] > alone:
            wanted.setdefault(joint, set()).add(place)
    return [one for joint, places in wanted.items() for one in joint.candidates(sorted(places))]


def _levels(candidates: Sequence[Candidate], budgets: Iterable[float]) -> list[float]:
    """Costs between the cheapest and the dearest model, and the budgets that are asked for."""
    paid = [one.mean_cost for one in candidates if one.mean_cost > 0.0]
    between = np.geomspace(min(paid), max(paid), _N_LEVELS).tolist() if paid else []
    return sorted({*between, *budgets})


def _least_surprised(candidates: Sequence[Candidate]) -> list[Candidate]:
    """Those who know best, for what they cost, how sure they may be; few enough."""
    found: list[Candidate] = []
    least = np.inf
    for one in sorted(candidates, key=lambda one: (one.mean_cost, one.surprise)):
        if one.surprise < least and all(can_hand_over(plan) for plan in _plans(one)):
            found.append(one)
            least = one.surprise
    return _spread(found, _N_FIRST)


def _spread(some: Sequence[Candidate], most: int) -> list[Candidate]:
    """No more than so many, evenly spread over the costs they come in the order of."""
    some = sorted(some, key=lambda one: one.mean_cost)
    if len(some) <= most:
        return some
    return [some[place] for place in np.linspace(0, len(some) - 1, most).round().astype(np.int64)]


def _plans(one: Candidate) -> list[Any]:
    return [viewed_plan(plan, one.view) for plan in one.trial.plans]


class _Half:
    """A candidate with what is needed to pair it: its plans and, on held-out rows, doubts and purchases."""

    def __init__(self, bench: Bench, candidate: Candidate, gain: float, used: Ints) -> None:
        self._bench, self._used = bench, used
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
            plan.run(rows.X, unknown="missing")
            for plan, rows in zip(self.plans, self._bench.held_out, strict=True)
        ]

    @cached_property
    def confidence(self) -> Floats:
        """How probable the most probable class of each row is."""
        return np.concatenate(
            [
                links.probabilities(plan.link, run.scores.reshape(len(run.cost), -1)).max(axis=1)
                for plan, run in zip(self.plans, self._runs, strict=True)
            ]
        )

    @cached_property
    def acquired(self) -> NDArray[np.bool_]:
        """What each row bought, of the features that anybody uses."""
        return np.concatenate([run.acquired[:, self._used] for run in self._runs])

    @cached_property
    def evaluation(self) -> Floats:
        """What each row paid besides features."""
        return self.candidate.cost - self.price(self.acquired)

    def price(self, bought: NDArray[np.bool_]) -> Floats:
        """What features cost that each row bought."""
        prices: Floats = self.plans[0].costs.of_each(bought, self._used)
        return prices


class _Joint:
    """Two halves in turn: costs and gains by how many rows are handed over, the least sure first.

    Rows the first is equally sure of go together, so that only some numbers of rows are possible.
    """

    def __init__(self, bench: Bench, first: _Half, then: _Half) -> None:
        self._first, self._then, self._sign = first, then, bench.sign
        one, two = first.candidate, then.candidate
        order = np.argsort(first.confidence, kind="stable")
        sure = first.confidence[order]
        n_handed = np.flatnonzero(np.concatenate([[True], np.diff(sure) > _CLOSE, [True]]))
        ends = np.concatenate([[0.0], sure, [2.0]])
        self._levels = 0.5 * (ends[n_handed] + ends[n_handed + 1])
        self.cost = one.mean_cost + _sums((self.both - one.cost)[order])[n_handed]
        value = one.mean_value + _sums((two.value - one.value)[order])[n_handed]
        share = n_handed / len(order)
        luck = [half.gain - self._sign * half.candidate.mean_value for half in (first, then)]
        self.gain = self._sign * value + (1.0 - share) * luck[0] + share * luck[1]

    @cached_property
    def both(self) -> Floats:
        """What each row pays if it meets both."""
        first, then = self._first, self._then
        return first.price(first.acquired | then.acquired) + first.evaluation + then.evaluation

    def at(self, cost: float) -> int:
        """The place of the most rows that can be handed over at a mean cost."""
        return int(np.flatnonzero(self.cost <= cost)[-1])

    def candidates(self, places: Sequence[int]) -> list[Candidate]:
        """The pair, handing over so many rows."""
        one, two = self._first.candidate, self._then.candidate
        views = tuple({"handover": float(self._levels[place])} for place in places)
        plans = [
            hand_over(*both, level=1.0) for both in zip(self._first.plans, self._then.plans, strict=True)
        ]
        trial = Trial(Pair(one, two, views), np.nan, tuple(plans), one.trial.seconds + two.trial.seconds)
        upper = max(plan.max_cost for plan in plans)
        return [self._candidate(trial, view, upper) for view in views]

    def _candidate(self, trial: Trial, view: View, upper: float) -> Candidate:
        one, two = self._first.candidate, self._then.candidate
        handed = self._first.confidence < view["handover"]
        bought = self._first.acquired | (self._then.acquired & handed[:, None])
        cost = np.where(handed, self.both, one.cost)
        return Candidate(
            trial,
            view,
            cost,
            cost,
            np.where(handed, two.value, one.value),
            float(bought.sum(axis=1).mean()),
            upper,
        )


def _sums(values: Floats) -> Floats:
    """What the first 0, 1, 2, ... of some values add to a mean over all."""
    sums: Floats = np.concatenate([[0.0], np.cumsum(values)]) / len(values)
    return sums
