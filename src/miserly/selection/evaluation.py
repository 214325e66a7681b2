"""Held-out rows, and what every candidate of a frontier reaches and pays on each of them.

A *unit* is what is drawn at random: a row, or in ranking a query with all its documents. Errors and tests
are over units.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from types import SimpleNamespace
from typing import Any, Protocol, TypeAlias

import numpy as np
from numpy.typing import NDArray

from miserly.costs import Costs, fits
from miserly.data.rows import Rows
from miserly.metrics import Metric, Queries
from miserly.plan import Plan, Raw, links
from miserly.plan.purchases import purchases
from miserly.selection.candidates import Dial, View, numbers_of_nodes, viewed_plan
from miserly.selection.row_values import RowValues, scores_of
from miserly.selection.splits import Parts

__all__ = ["Bench", "Candidate", "Trial", "mean_and_error", "pareto", "repriced"]

Floats: TypeAlias = NDArray[np.float64]


class Contending(Protocol):
    """What can be tried: a learner with one of its dials, or two that were tried before, in turn."""

    @property
    def name(self) -> str: ...

    @property
    def dial(self) -> Dial | None: ...

    @property
    def costs(self) -> Costs: ...

    @property
    def views(self) -> tuple[View, ...]: ...

    def params(self, value: float, view: View) -> dict[str, Any]: ...

    def fit(self, rows: Rows, value: float) -> Any: ...


@dataclass(frozen=True, eq=False)
class Trial:
    """A contender fitted with one value of its dial: a plan for each held-out part, and the seconds."""

    contender: Contending
    value: float
    plans: tuple[Plan, ...]
    seconds: float

    @property
    def models(self) -> tuple[Any, ...]:
        """The plans as something with a `plan_`."""
        return tuple(SimpleNamespace(plan_=plan) for plan in self.plans)


@dataclass(frozen=True, eq=False)
class Candidate:
    """One model that could be chosen, and what it did on held-out rows.

    Attributes
    ----------
    trial, view :
        Which fit, and how it is looked at.
    cost : array of (rows,)
        What each row paid.
    unit_cost, value : array of (units,)
        Costs and the metric by unit; their means are the mean cost per row and the metric.
    features : float
        How many features a row bought, on average.
    upper : float
        What a row could cost at most.
    surprise : float
        The mean logarithmic loss of the probabilities it gives; infinite where it gives none.
    """

    trial: Trial
    view: View
    cost: Floats
    unit_cost: Floats
    value: Floats
    features: float
    upper: float
    surprise: float = np.inf

    @property
    def learner(self) -> str:
        return self.trial.contender.name

    @property
    def params(self) -> dict[str, Any]:
        return self.trial.contender.params(self.trial.value, self.view)

    @cached_property
    def mean_cost(self) -> float:
        return float(self.cost.mean())

    @cached_property
    def mean_value(self) -> float:
        return float(np.nanmean(self.value))

    @cached_property
    def error(self) -> float:
        return mean_and_error(self.value)[1]


class Bench:
    """The rows of a frontier: those to learn from and those to judge by, part by part."""

    def __init__(self, rows: Rows, parts: Parts, metric: Metric) -> None:
        self.rows = rows
        self.parts = parts
        self.metric = metric
        held = np.concatenate([test for _, test in parts])
        self.values = RowValues(metric, rows.y[held])
        self._tests = [_Test.of(rows.take(test)) for _, test in parts]
        n_queries = sum(len(test.queries) for test in self._tests)
        self._rows_per_unit = len(held) / n_queries if self.values.by_query else 1.0

    @property
    def sign(self) -> float:
        """What turns the metric into a gain: 1 where more is better, else -1."""
        return 1.0 if self.metric.greater_is_better else -1.0

    @property
    def held_out(self) -> list[Rows]:
        """The rows to judge by, part by part."""
        return [test.rows for test in self._tests]

    def judge(self, trial: Trial, prices: Costs | None = None) -> list[Candidate]:
        """All views of a trial, on the held-out rows; at other `prices` than it learned with, if given."""
        views = trial.contender.views
        seen = [
            list(self._see(plan, views, test, prices))
            for plan, test in zip(trial.plans, self._tests, strict=True)
        ]
        return [self._candidate(trial, view, parts) for view, *parts in zip(views, *seen, strict=True)]

    def held_to(self, one: Candidate, budget: float, prices: Costs | None = None) -> Candidate:
        """The same candidate if none of its rows may pay more than `budget`, on the same held-out rows."""
        return self.held_to_each(one, [budget], prices)[0]

    def held_to_each(
        self, one: Candidate, budgets: Sequence[float], prices: Costs | None = None
    ) -> list[Candidate]:
        """The same candidate under each of some caps; plans are prepared once for all of them."""
        tight = [budget for budget in budgets if not fits(0.0, one.upper, budget)]
        if not tight:
            return [one] * len(budgets)
        plans = [_priced(viewed_plan(plan, one.view), prices) for plan in one.trial.plans]
        parts = [
            [self._run(plan, test, budget, most) for most in [plan.max_cost] for budget in tight]
            for plan, test in zip(plans, self._tests, strict=True)
        ]
        held = {
            budget: self._candidate(one.trial, one.view, seen)
            for budget, *seen in zip(tight, *parts, strict=True)
        }
        return [held.get(budget, one) for budget in budgets]

    def _candidate(self, trial: Trial, view: View, parts: Sequence[_Seen]) -> Candidate:
        return Candidate(
            trial,
            view,
            np.concatenate([one.cost for one in parts]),
            np.concatenate([one.unit_cost for one in parts]) / self._rows_per_unit,
            np.concatenate([one.value for one in parts]),
            float(np.mean([one.features for one in parts])),
            max(one.upper for one in parts),
            float(np.average([one.surprise for one in parts], weights=[len(one.cost) for one in parts])),
        )

    def _see(self, chain: Plan, views: Sequence[View], test: _Test, prices: Costs | None) -> Iterator[_Seen]:
        if not ("rounds" in views[0] or "up_to_cost" in views[0]) or not chain.can_stage:
            for view in views:
                yield self._run(_priced(viewed_plan(chain, view), prices), test)
            return
        stops = numbers_of_nodes(chain, views)
        plan = _priced(chain, prices)
        totals = [0.0, *(purchase.total for purchase in purchases(plan))]
        met = plan.run_staged(test.rows.X, sorted(set(stops)), unknown="missing")
        stage_of = {stage.n_nodes: stage for stage in met}
        for stop in stops:
            stage = stage_of[stop]
            yield self._figures(plan, stage.scores, stage.cost, stage.acquired, totals[stop], test)

    def _run(self, plan: Plan, test: _Test, budget: float = np.inf, max_cost: float | None = None) -> _Seen:
        """What a plan does under a cap; `max_cost` is the plan's, where it is known already."""
        rows = test.rows
        done = plan.run(rows.X, qid=rows.qid, budget=budget, unknown="missing")
        upper = min(plan.max_cost if max_cost is None else max_cost, budget)
        return self._figures(plan, scores_of(done, rows), done.cost, done.acquired, upper, test)

    def _figures(
        self,
        plan: Plan,
        scores: Floats,
        cost: Floats,
        acquired: NDArray[np.bool_],
        upper: float,
        test: _Test,
    ) -> _Seen:
        value = self.values(plan, scores[:, : plan.n_outputs], test.rows.y, test.queries)
        by_unit = np.bincount(test.queries.code, cost) if self.values.by_query else cost
        return _Seen(
            value,
            cost,
            by_unit.astype(np.float64),
            float(acquired.sum(axis=1).mean()),
            upper,
            _surprise(plan, scores[:, : plan.n_outputs], test.rows.y),
        )


@dataclass(frozen=True, eq=False)
class _Test:
    """Rows to judge by."""

    rows: Rows
    queries: Queries

    @classmethod
    def of(cls, rows: Rows) -> _Test:
        return cls(rows, Queries(rows.qid, len(rows)))


@dataclass(frozen=True, eq=False)
class _Seen:
    """What one model did on one held-out part."""

    value: Floats
    cost: Floats
    unit_cost: Floats
    features: float
    upper: float
    surprise: float


def pareto(candidates: Sequence[Candidate], sign: float) -> list[Candidate]:
    """The candidates that no cheaper or equally cheap one matches, the cheapest first."""
    kept: list[Candidate] = []
    for one in sorted(candidates, key=lambda one: (one.mean_cost, -sign * one.mean_value)):
        if not kept or sign * one.mean_value > sign * kept[-1].mean_value:
            kept.append(one)
    return kept


def mean_and_error(values: Floats) -> tuple[float, float]:
    """The mean over units and its standard error; units without a value do not count."""
    there = values[~np.isnan(values)]
    spread = there.std(ddof=1) / np.sqrt(len(there)) if len(there) > 1 else np.nan
    return float(there.mean()), float(spread)


def _surprise(plan: Plan, scores: Floats, y: NDArray[Any]) -> float:
    """The mean logarithmic loss; infinite where there are no probabilities."""
    if plan.classes is None or not plan.has_probabilities:
        return np.inf
    table = links.probabilities(plan.link, scores)
    true = np.where(plan.classes == y[:, None], table, 0.0).sum(axis=1)
    return float(-np.log(np.maximum(true, np.finfo(np.float64).eps)).mean())


def repriced(plan: Plan, costs: Costs) -> Plan:
    """The same plan at other prices. Who is asked what stays as it is; what that costs does not.

    Evaluations change in proportion; where they were free, every term but a plain feature is charged.
    """
    before, now = plan.costs.evaluation, costs.evaluation

    def price(term: Any) -> float:
        if before > 0.0:
            return float(term.evaluation * now / before)
        return float(term.evaluation) if isinstance(term, Raw) else now

    return plan.replace(costs=costs, terms=[term.with_evaluation(price(term)) for term in plan.terms])


def _priced(plan: Plan, prices: Costs | None) -> Plan:
    return plan if prices is None else repriced(plan, prices)
