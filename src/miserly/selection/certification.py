"""Candidates fitted again to other rows, and the choice of a model with a guarantee.

The search alone determines which models are tested, in which order, and which model they are compared with.
The guarantee rows only decide whether a model passes its tests.
"""

from __future__ import annotations

from collections.abc import Sequence
from copy import copy
from dataclasses import dataclass, replace
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from miserly.costs import Costs
from miserly.data.rows import Rows
from miserly.errors import CostError, DataError, MetricError
from miserly.metrics import Queries
from miserly.plan import Plan
from miserly.plan.engine.batch import engine_for
from miserly.selection.evaluation import (
    Candidate,
    Evaluation,
    Evaluator,
    Trial,
    most_of,
    pareto,
    repriced,
)
from miserly.selection.guarantee import Guarantee, Requirement, certify, mean_bound
from miserly.selection.handovers import Pair
from miserly.selection.hyperparameters import viewed
from miserly.selection.requests import Request
from miserly.selection.row_values import RowValues, scores_of
from miserly.selection.tables import shown

__all__ = ["Certifier", "Refitter", "evaluate_once", "with_guarantees", "with_reference"]

Floats: TypeAlias = NDArray[np.float64]

_N_TESTED = 8  # models that are tested, besides the one with the largest margin
_N_REFITTED = 24  # models that are fitted to find them
_LIKELY = 1.0  # standard errors inside its limits that a model needs, on held-out rows, to be tested


class Refitter:
    """Fits candidates to given rows; each trial is fitted once to the same rows.

    Parameters
    ----------
    costs : Costs
        The prices of the frontier.
    """

    def __init__(self, costs: Costs) -> None:
        self._costs = costs
        self._fitted: dict[tuple[Trial, int], tuple[Rows, Any]] = {}

    def prices(self, one: Candidate) -> Costs | None:
        """The prices of the frontier, if the candidate was trained with other prices."""
        return None if one.trial.learner.costs == self._costs else self._costs

    def fit(self, one: Candidate, rows: Rows, request: Request) -> Any:
        """The candidate fitted to some rows, at the prices of the frontier, with the cap of the request."""
        model = copy(viewed(self._learned(one.trial, rows), one.view))
        if self.prices(one) is not None:
            model.plan_ = repriced(model.plan_, self._costs)
        if request.is_capped:
            model.plan_ = model.plan_.replace(budget=request.budget)
        return model

    def _learned(self, trial: Trial, rows: Rows) -> Any:
        """The fit of a trial to some rows; a model in several pairs is fitted once."""
        key = trial, id(rows)
        if key not in self._fitted:
            pair = trial.learner
            model = (
                pair.join(*(self._learned(half.trial, rows) for half in (pair.first, pair.then)))
                if isinstance(pair, Pair)
                else pair.fit(rows, trial.value)
            )
            self._fitted[key] = rows, model  # with its rows, so that their id is not used again
        return self._fitted[key][1]


@dataclass(frozen=True, eq=False)
class Certifier:
    """Tests candidates on guarantee rows, which had no part in the search.

    Attributes
    ----------
    evaluator : Evaluator
    costs : Costs
    refitter : Refitter
    reference : Candidate
        The best model at any cost. Losses are measured relative to it.
    kept : Rows, optional
        The guarantee rows; None if there are none.
    everything : Rows
        All rows, whose outcome costs are the known ones.
    """

    evaluator: Evaluator
    costs: Costs
    refitter: Refitter
    reference: Candidate
    kept: Rows | None
    everything: Rows

    def take(self, request: Request, ordered: Sequence[Candidate]) -> tuple[Candidate, Any]:
        """The first candidate that passes the tests on the guarantee rows, and its model.

        Parameters
        ----------
        request : Request
        ordered : sequence of Candidate
            The candidates inside the limits, the best first.
        """
        kept, values = self._rows(), self._values(request)
        requirements = request.requirements(1.0 if values is None else self._span(values, ordered))
        models = self._worth_testing(request, ordered)
        tested = list(models)
        found = {one: self.evaluate(model.plan_, kept, values) for one, model in models.items()}
        theirs = self._reference_values(found, kept, values)
        holds = certify(
            [found[one] for one in tested], requirements, order=range(len(tested)), reference=theirs
        )
        passed = [one for one, holding in zip(tested, holds, strict=True) if holding]
        chosen = min(passed or tested[:1], key=ordered.index)
        guarantees = self.guarantees(requirements, found[chosen], theirs)
        if not passed:
            raise CostError(self._refusal(request, guarantees))
        model = models[chosen]
        model.plan_ = with_reference(model.plan_, kept)
        return chosen, with_guarantees(model, [*self.certain(request), *guarantees])

    def certain(self, request: Request) -> list[Guarantee]:
        """What holds with certainty: the cap, which the plan contains."""
        if not request.is_capped:
            return []
        words = f"no row costs more than {self._price(request.budget)}"
        return [Guarantee(words, "each row", request.budget)]

    def evaluate(self, plan: Plan, kept: Rows, values: RowValues | None) -> Evaluation:
        """A plan on the guarantee rows."""
        return evaluate_once(plan, kept, values, self.evaluator.metric.sign)

    def guarantees(
        self, requirements: Sequence[Requirement], found: Evaluation, theirs: Floats | None
    ) -> list[Guarantee]:
        """The requirements with their evidence from the guarantee rows."""
        return [
            self._of_cost(one, found) if one.kind == "mean cost" else self._of_loss(one, found, theirs)
            for one in requirements
        ]

    # -- which models are tested ---------------------------------------------------------------------

    def _rows(self) -> Rows:
        if self.kept is None and self.evaluator.rows.weight is not None:
            raise DataError(
                "with sample_weight no mean can be guaranteed, because the bounds hold for unweighted means "
                "only. Leave confidence out; a cap (budget=) holds for every row without it"
            )
        if self.kept is None:
            raise DataError(
                "no rows are kept for guarantees: give frontier(..., certify=0.2), or leave confidence out"
            )
        return self.kept

    def _values(self, request: Request) -> RowValues | None:
        if request.max_loss is None:
            return None
        values = RowValues(self.evaluator.metric, self._rows().y)
        if not values.is_additive:
            raise MetricError(
                f"{self._metric} is not a mean over rows, so no loss of it can be guaranteed for a finite "
                "number of rows. Use accuracy, or leave confidence out"
            )
        if not np.isfinite(self._span(values, [])):
            raise MetricError(
                f"one row can lose any amount of {self._metric}, so no loss of it can be guaranteed. "
                "Use accuracy, ndcg@k, precision@k or a row_metric with bounds, or leave confidence out"
            )
        return values

    def _span(self, values: RowValues, some: Sequence[Candidate]) -> float:
        """The largest possible difference of two models in one row, by the outcome costs of known rows."""
        most = max((one.max_cost for one in [self.reference, *some]), default=0.0)
        return values.span_for(self.everything, most)

    def _worth_testing(self, request: Request, ordered: Sequence[Candidate]) -> dict[Candidate, Any]:
        """The models to test, those with the largest margins first.

        They are the best candidates that are likely to pass, and the one with the largest margin. A small
        change of the rows can decide whether a feature is bought, so a model that is fitted to all rows of
        the search may cost more than the candidate did on held-out rows. Such a model is skipped.
        """
        kept = self._rows()
        n_units = len(kept) if kept.qid is None else len(np.unique(kept.qid))
        margin = {
            one: self._margin(one, request, n_units) for one in pareto(ordered, self.evaluator.metric.sign)
        }
        surest = max(margin, key=lambda one: (margin[one], -one.mean_cost))
        likely = sorted((one for one in margin if margin[one] >= _LIKELY), key=ordered.index)
        models = {surest: self.refitter.fit(surest, self.evaluator.rows, request)}
        for one in likely[:_N_REFITTED]:
            model = self.refitter.fit(one, self.evaluator.rows, request)
            margin[one] = min(margin[one], self._refitted_margin(model.plan_, request, n_units))
            if margin[one] >= _LIKELY:
                models[one] = model
            if len(models) > _N_TESTED:
                break
        return dict(sorted(models.items(), key=lambda pair: (-margin[pair[0]], pair[0].mean_cost)))

    def _refitted_margin(self, plan: Plan, request: Request, n: int) -> float:
        """How far inside the mean budget a fitted plan is on the rows of the search."""
        if request.mean_budget == np.inf:
            return np.inf
        found = self.evaluate(plan, self.evaluator.rows, None)
        return _errors_inside(found.cost, request.mean_budget, n)

    def _margin(self, one: Candidate, request: Request, n: int) -> float:
        """How far inside its limits a candidate is on held-out rows, in standard errors of `n` units."""
        margins = []
        if request.mean_budget < np.inf:
            margins.append(_errors_inside(one.cost, request.mean_budget, n))
        if request.max_loss is not None:
            lost = self.evaluator.metric.sign * (self.reference.value - one.value)
            margins.append(_errors_inside(lost, request.max_loss, n))
        return min(margins)

    def _reference_values(
        self, found: dict[Candidate, Evaluation], kept: Rows, values: RowValues | None
    ) -> Any:
        if values is None:
            return None
        if self.reference in found:
            return found[self.reference].value
        model = self.refitter.fit(self.reference, self.evaluator.rows, Request())
        return self.evaluate(model.plan_, kept, values).value

    # -- guarantees in words -------------------------------------------------------------------------

    def _of_cost(self, required: Requirement, found: Evaluation) -> Guarantee:
        bound = mean_bound(found.cost, found.max_cost, required.confidence)
        what = f"a {self._unit} costs {self._price(required.limit)} or less on average"
        return self._guarantee(required, what, float(found.cost.mean()), bound, len(found.cost))

    def _of_loss(self, required: Requirement, found: Evaluation, theirs: Any) -> Guarantee:
        lost = (theirs - found.value)[~np.isnan(theirs)]
        span = required.span
        bound = mean_bound(lost + span, 2.0 * span, required.confidence) - span
        if found.value is theirs:
            bound = 0.0  # it is compared with itself
        what = f"{self._metric} is at most {required.limit:g} below that of {shown(self.reference)}"
        return self._guarantee(required, what, float(lost.mean()), bound, len(lost))

    def _guarantee(self, required: Requirement, what: str, seen: float, bound: float, n: int) -> Guarantee:
        words = (
            f"{what}, with confidence {required.confidence:g} ({n} kept {self._units} show {seen:.4g}, "
            f"at most {bound:.4g})"
        )
        return Guarantee(words, required.kind, required.limit, required.confidence, seen, bound, n)

    def _refusal(self, request: Request, nearest: Sequence[Guarantee]) -> str:
        words = {"mean cost": f"costs {request.mean_budget:g} or less on average"}
        words["loss of metric"] = f"loses {request.max_loss} of {self._metric} or less"
        wanted = " and ".join(words[one.kind] for one in nearest)
        bounds = " and ".join(f"at most {one.bound:.4g}" for one in nearest)
        return (
            f"{nearest[0].n_units} kept {self._units} cannot show, with confidence {request.confidence:g}, "
            f"that some model {wanted} (for the most likely one they show {bounds}): keep more "
            f"{self._units} (certify) or raise the limit"
        )

    @property
    def _metric(self) -> str:
        return self.evaluator.metric.name

    @property
    def _unit(self) -> str:
        return "query's row" if self.evaluator.rows.qid is not None else "row"

    @property
    def _units(self) -> str:
        return "queries" if self.evaluator.rows.qid is not None else "rows"

    def _price(self, amount: float) -> str:
        return f"{amount:g} {self.costs.unit}" if self.costs.unit else f"{amount:g}"


def evaluate_once(plan: Plan, rows: Rows, values: RowValues | None, sign: float) -> Evaluation:
    """The evaluation of a plan on rows that it was not fitted to.

    A unit costs the mean of its rows. Values are gains: higher is better for every metric. Without `values`
    only costs are evaluated.
    """
    engine = engine_for(plan, len(rows))
    done = plan.run(rows.X, qid=rows.qid, compiled=engine, unknown="missing", **rows.own_costs)
    queries = Queries(np.arange(len(rows)) if rows.qid is None else rows.qid)
    cost = _by_unit(done.cost, queries)
    value = np.zeros(len(cost))
    if values is not None:
        scores = scores_of(done, rows)[:, : plan.n_outputs]
        value = sign * values(plan, scores, rows, queries, done.cost, done.amounts)
        value = value if values.by_query else _by_unit(value, queries)
    return Evaluation(cost=cost, value=value, row_cost=done.cost, max_cost=most_of(plan, rows))


def with_guarantees(model: Any, guarantees: Sequence[Guarantee]) -> Any:
    """The model with its guarantees; its plan contains them in words."""
    plan = model.plan_.with_guarantees([str(one) for one in guarantees])
    model.plan_ = plan
    model.set_guarantee([replace(one, plan=plan.digest) for one in guarantees])
    return model


def with_reference(plan: Plan, rows: Rows) -> Plan:
    """The plan with its results on rows that it was not fitted to, as the reference of a `Monitor`."""
    if rows.qid is not None:  # documents of a query are not independent
        return plan
    from miserly.runtime.reference import Reference

    engine = engine_for(plan, len(rows))
    done = plan.run(rows.X, compiled=engine, unknown="missing", **rows.own_costs)
    return Reference.of(plan, done).attach(plan)


def _by_unit(values: Floats, queries: Queries) -> Floats:
    means: Floats = np.bincount(queries.code, values) / queries.sizes
    return means


def _errors_inside(values: Floats, limit: float, n: int) -> float:
    """How far a mean is below a limit, in standard errors of `n` units."""
    room = limit - float(np.nanmean(values))
    error = float(np.nanstd(values)) / np.sqrt(n)
    return room / error if error > 0.0 and np.isfinite(room) else float(np.copysign(np.inf, room))
