"""Evaluation on held-out rows: the value and the cost of a model, for every unit.

A *unit* is what is drawn at random: a row, or in ranking a query with all its rows. Standard errors and tests
are over units.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Protocol, TypeAlias

import numpy as np
from numpy.typing import NDArray

from miserly.costs import Costs, fits
from miserly.data.rows import Rows
from miserly.metrics import Metric, Queries
from miserly.metrics.influence import centred
from miserly.plan import Plan, Raw
from miserly.plan.engine.batch import Run
from miserly.plan.engine.staged import Stage
from miserly.plan.purchases import purchases
from miserly.selection.hyperparameters import Hyperparameter, View, numbers_of_nodes, viewed_plan
from miserly.selection.intervals import PLAIN, IntervalShape, interval, mean_and_error
from miserly.selection.row_values import RowValues, Scored, mistakes_of, scores_of
from miserly.selection.splits import Parts

__all__ = ["Candidate", "Evaluation", "Evaluator", "Trial", "at_highest", "most_of", "pareto", "repriced"]

Floats: TypeAlias = NDArray[np.float64]


@dataclass(frozen=True, eq=False, kw_only=True)
class Evaluation:
    """The value and the cost of a model, for every unit.

    Attributes
    ----------
    cost : array of shape (n_units,)
        What each unit cost. In ranking its mean is the mean cost of a row.
    value : array of shape (n_units,)
        What each unit adds to the metric, which is its mean; NaN for a unit without a value.
    row_cost : array of shape (n_rows,), optional
        What each row paid; `cost` if units are rows.
    features : float
        How many features a row acquired, on average.
    max_cost : float
        The most that a row can cost.
    log_loss : float
        The mean log loss of the predicted probabilities; infinite if there are none.
    mistakes : array of shape (n_rows,), optional
        What the answer to each row cost, if outcome costs are known.
    includes_cost : bool
        Whether `value` includes what a row paid.
    shape : IntervalShape
        How the interval of the metric is made.
    is_weighted : bool
        Whether rows have weights. Then `cost` and `value` include the weights, so their plain means are
        weighted means. `row_cost` does not include them.
    """

    cost: Floats
    value: Floats
    row_cost: Floats | None = None
    features: float = np.nan
    max_cost: float = np.inf
    log_loss: float = np.inf
    mistakes: Floats | None = None
    includes_cost: bool = False
    shape: IntervalShape = PLAIN
    is_weighted: bool = False

    @property
    def paid(self) -> Floats:
        """What each row paid."""
        return self.cost if self.row_cost is None else self.row_cost

    @property
    def total(self) -> Floats:
        """What each row cost in all: its tests, and its answer."""
        assert self.mistakes is not None
        if self.row_cost is None or self.is_weighted:
            return self.cost + self.mistakes
        return self.row_cost + self.mistakes

    @cached_property
    def mean_cost(self) -> float:
        """The mean cost of a row."""
        if self.is_weighted:
            return float(self.cost.mean())
        return float(self.paid.mean())

    @cached_property
    def mean_value(self) -> float:
        """The metric."""
        return float(np.nanmean(self.value))

    @cached_property
    def error(self) -> float:
        """The standard error of the metric."""
        return mean_and_error(self.value)[1]

    @cached_property
    def intervals(self) -> dict[str, float]:
        """`cost`, `value` and the ends of their 95 % intervals, as in tables."""
        return {
            **interval("cost", *mean_and_error(self.cost)),
            **interval("value", *mean_and_error(self.value), self.shape),
        }

    @property
    def reach(self) -> tuple[float, float]:
        """How far the 95 % interval of the metric reaches below and above it; 0 if there is no interval."""
        if not self.shape.is_logit:
            far = float(np.nan_to_num(1.96 * self.error))
            return far, far
        found = self.intervals
        ends = found["value"] - found["value_low"], found["value_high"] - found["value"]
        return float(np.nan_to_num(ends[0])), float(np.nan_to_num(ends[1]))


class Fittable(Protocol):
    """What a search can fit: a candidate learner, or a pair of models with a handover."""

    @property
    def name(self) -> str: ...

    @property
    def hyperparameter(self) -> Hyperparameter | None: ...

    @property
    def costs(self) -> Costs: ...

    @property
    def views(self) -> tuple[View, ...]: ...

    @property
    def is_constant(self) -> bool: ...

    def params(self, value: float, view: View) -> dict[str, Any]: ...

    def fit(self, rows: Rows, value: float) -> Any: ...


@dataclass(frozen=True, eq=False)
class Trial:
    """A candidate learner fitted with one value of its hyperparameter: one plan per fold, and the seconds."""

    learner: Fittable
    value: float
    plans: tuple[Plan, ...]
    seconds: float


@dataclass(frozen=True, eq=False, kw_only=True)
class Candidate(Evaluation):
    """A model that can be chosen, with its evaluation on the held-out rows.

    Attributes
    ----------
    trial : Trial
        The fit it comes from.
    view : View
        The part of the fit that it is.
    """

    trial: Trial
    view: View

    @property
    def learner(self) -> str:
        """The name of the learner."""
        return self.trial.learner.name

    @property
    def is_constant(self) -> bool:
        """Whether it is the constant answer, which costs nothing."""
        return self.trial.learner.is_constant

    def without_cost(self) -> Candidate:
        """The same, valued by its mistakes alone if its value includes the cost of its tests."""
        if not self.includes_cost or self.mistakes is None:
            return self
        return replace(self, value=self.mistakes, includes_cost=False)

    @property
    def params(self) -> dict[str, Any]:
        """The parameters that distinguish it from other models of its learner."""
        return self.trial.learner.params(self.trial.value, self.view)


class Evaluator:
    """Evaluates models on the held-out rows of each fold.

    Parameters
    ----------
    rows : Rows
        The rows of the search.
    parts : list of (array, array)
        Training rows and held-out rows of each fold.
    metric : Metric
    """

    def __init__(self, rows: Rows, parts: Parts, metric: Metric) -> None:
        self.rows = rows
        self.parts = parts
        self.metric = metric
        held = self.held_out_rows
        self.weight = None if rows.weight is None else rows.weight[held]
        self.values = RowValues(metric, rows.y[held], self.weight)
        self._tests = [_Fold.of(rows.take(test)) for _, test in parts]
        n_queries = sum(len(test.queries) for test in self._tests)
        self._rows_per_unit = len(held) / n_queries if self.values.by_query else 1.0

    @property
    def held_out(self) -> list[Rows]:
        """The held-out rows of each fold."""
        return [test.rows for test in self._tests]

    @property
    def held_out_rows(self) -> NDArray[np.int64]:
        """The numbers of the held-out rows of all folds, one fold after the other."""
        return np.concatenate([test for _, test in self.parts])

    def weighed(self, values: Floats) -> Floats:
        """Numbers of rows times the weights of the rows (whose mean is 1); unchanged without weights."""
        return values if self.weight is None else values * (self.weight / self.weight.mean())

    def uncentred(self, values: Floats) -> Floats:
        """Numbers of a candidate (`cost`, `value`) as what `weighed` gives of the numbers of the rows."""
        if self.weight is None:
            return values
        return np.asarray(values + values.mean() * (self.weight / self.weight.mean() - 1.0))

    def recentred(self, weighed: Floats) -> Floats:
        """The inverse of `uncentred`: the mean is the same, and the standard error is that of a ratio."""
        if self.weight is None:
            return weighed
        return np.asarray(weighed - weighed.mean() * (self.weight / self.weight.mean() - 1.0))

    def evaluate(self, trial: Trial, prices: Costs | None = None) -> list[Candidate]:
        """All views of a trial on the held-out rows, at the training prices or at other `prices`."""
        views = trial.learner.views
        parts = [
            list(self._evaluate_views(plan, views, test, prices))
            for plan, test in zip(trial.plans, self._tests, strict=True)
        ]
        return [self._candidate(trial, view, own) for view, *own in zip(views, *parts, strict=True)]

    def evaluate_under_caps(
        self, one: Candidate, caps: Sequence[float], prices: Costs | None = None
    ) -> list[Candidate]:
        """The same candidate under each cap, on the same rows; plans are prepared once for all caps."""
        tight = [cap for cap in caps if not fits(0.0, one.max_cost, cap)]
        if not tight:
            return [one] * len(caps)
        plans = [_priced(viewed_plan(plan, one.view), prices) for plan in one.trial.plans]
        parts = [
            [self._run(plan, test, cap, most) for most in [most_of(plan, self.rows)] for cap in tight]
            for plan, test in zip(plans, self._tests, strict=True)
        ]
        capped = {
            cap: self._candidate(one.trial, one.view, own) for cap, *own in zip(tight, *parts, strict=True)
        }
        return [capped.get(cap, one) for cap in caps]

    def _candidate(self, trial: Trial, view: View, parts: Sequence[Evaluation]) -> Candidate:
        """The evaluations of all folds as one."""
        row_cost = [one.paid for one in parts]
        return Candidate(
            trial=trial,
            view=view,
            cost=centred(np.concatenate([one.cost for one in parts]) / self._rows_per_unit, self.weight),
            value=self.values.join([one.value for one in parts], self.weight),
            row_cost=np.concatenate(row_cost),
            features=float(np.mean([one.features for one in parts])),
            max_cost=max(one.max_cost for one in parts),
            log_loss=float(np.average([one.log_loss for one in parts], weights=[*map(len, row_cost)])),
            mistakes=_joined_mistakes(parts, self.weight),
            includes_cost=self.values.includes_cost,
            shape=self.values.shape,
            is_weighted=self.weight is not None,
        )

    def _evaluate_views(
        self, chain: Plan, views: Sequence[View], test: _Fold, prices: Costs | None
    ) -> Iterator[Evaluation]:
        if not ("rounds" in views[0] or "up_to_cost" in views[0]) or not chain.can_stage:
            for view in views:
                yield self._run(_priced(viewed_plan(chain, view), prices), test)
            return
        stops = numbers_of_nodes(chain, views)
        plan = _priced(chain, prices)
        highest = at_highest(plan, self.rows)
        totals = [highest.prefix(0).max_cost, *(purchase.total for purchase in purchases(highest))]
        stages = plan.run_staged(test.rows.X, sorted(set(stops)), unknown="missing", **test.rows.own_costs)
        stage_of = {stage.n_nodes: stage for stage in stages}
        for stop in stops:
            stage = stage_of[stop]
            yield self._evaluation(plan, stage.scores, stage, totals[stop], test)

    def _run(self, plan: Plan, test: _Fold, cap: float = np.inf, max_cost: float | None = None) -> Evaluation:
        """The evaluation of a plan under a cap; `max_cost` is that of the plan, if it is already known."""
        rows = test.rows
        done = plan.run(rows.X, qid=rows.qid, budget=cap, unknown="missing", **rows.own_costs)
        most = min(most_of(plan, self.rows) if max_cost is None else max_cost, cap)
        return self._evaluation(plan, scores_of(done, rows), done, most, test)

    def _evaluation(
        self,
        plan: Plan,
        scores: Floats,
        done: Run | Stage,
        max_cost: float,
        test: _Fold,
    ) -> Evaluation:
        scores, rows, cost = scores[:, : plan.n_outputs], test.rows, done.cost
        given = Scored(plan, scores, done.amounts)
        by_unit = np.bincount(test.queries.code, cost) if self.values.by_query else cost
        return Evaluation(
            cost=by_unit.astype(np.float64),
            value=self.values.parts(plan, scores, rows, test.queries, cost, done.amounts),
            row_cost=cost,
            features=float(np.average(done.acquired.sum(axis=1), weights=test.rows.weight)),
            max_cost=max_cost,
            log_loss=_log_loss(plan, scores, rows),
            mistakes=None if rows.outcomes is None else mistakes_of(given, rows),
            includes_cost=self.values.includes_cost,
        )


@dataclass(frozen=True, eq=False)
class _Fold:
    """The held-out rows of one fold."""

    rows: Rows
    queries: Queries

    @classmethod
    def of(cls, rows: Rows) -> _Fold:
        return cls(rows, Queries(rows.qid, len(rows)))


def _joined_mistakes(parts: Sequence[Evaluation], weight: Floats | None) -> Floats | None:
    """The costs of mistakes of several evaluations; None if one has none."""
    found = [one.mistakes for one in parts if one.mistakes is not None]
    return centred(np.concatenate(found), weight) if found and len(found) == len(parts) else None


def pareto(candidates: Sequence[Candidate], sign: float) -> list[Candidate]:
    """The candidates that are better than every cheaper or equally cheap one, the cheapest first."""
    kept: list[Candidate] = []
    for one in sorted(candidates, key=lambda one: (one.mean_cost, -sign * one.mean_value)):
        if not kept or sign * one.mean_value > sign * kept[-1].mean_value:
            kept.append(one)
    return kept


def _log_loss(plan: Plan, scores: Floats, rows: Rows) -> float:
    """The mean log loss; infinite if there are no probabilities."""
    if plan.classes is None or not plan.has_probabilities:
        return np.inf
    table = plan.probabilities_from(scores)
    true = np.where(plan.classes == rows.y[:, None], table, 0.0).sum(axis=1)
    loss = -np.log(np.maximum(true, np.finfo(np.float64).eps))
    return float(np.average(loss, weights=rows.weight))


def repriced(plan: Plan, costs: Costs) -> Plan:
    """The same plan at other prices: the same rows acquire the same features, at other costs.

    Evaluations change in proportion. If they were free, every term but a plain feature is charged.
    """
    before, now = plan.costs.evaluation, costs.evaluation

    def price(term: Any) -> float:
        if before > 0.0:
            return float(term.evaluation * now / before)
        return float(term.evaluation) if isinstance(term, Raw) else now

    return plan.replace(costs=costs, terms=[term.with_evaluation(price(term)) for term in plan.terms])


def at_highest(plan: Plan, rows: Rows) -> Plan:
    """A plan at the highest prices that any of the rows pays."""
    return plan if rows.row_costs is None else plan.replace(costs=rows.row_costs.highest(plan.costs))


def most_of(plan: Plan, rows: Rows) -> float:
    """The most that a row can pay, if none pays more for a feature than the highest price in these rows."""
    return at_highest(plan, rows).max_cost


def _priced(plan: Plan, prices: Costs | None) -> Plan:
    return plan if prices is None else repriced(plan, prices)
