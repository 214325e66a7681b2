"""The best model of a frontier for a request.

Without a guarantee, candidates are compared on held-out rows, and the chosen one is fitted to all rows. With
a guarantee, the model must pass tests on the guarantee rows (see `miserly.selection.certification`).
"""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Sequence
from dataclasses import replace
from functools import cached_property
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from miserly.costs import Costs, fits, mean_fits
from miserly.data.rows import Rows
from miserly.errors import BudgetWarning, CostError
from miserly.metrics import Queries
from miserly.plan import Plan
from miserly.plan.engine.batch import Run, engine_for
from miserly.selection.certification import Certifier, Refitter, with_guarantees
from miserly.selection.cross_choice import steady_gains
from miserly.selection.evaluation import Candidate, Evaluator, Trial, most_of
from miserly.selection.history import SearchEffort, why_nothing_helps
from miserly.selection.requests import Request
from miserly.selection.row_values import RowValues, scores_of

__all__ = ["Chooser"]

Floats: TypeAlias = NDArray[np.float64]

_FEW_ROWS = 500  # rows that are run to find out whether a plan acquires anything
_N_REFITTED = 8  # models that are fitted to all rows before the first of them is taken
_ROUNDING = 1e-9  # losses of the metric closer than this are equal
_WORSE_ERRORS = 3.0  # standard errors that a refitted model may be below its held-out value
_CUT = 0.02  # of the rows: so many more may be stopped by the cap than in the search


class Chooser:
    """Chooses among the candidates of a frontier, and fits what it chose.

    Parameters
    ----------
    evaluator : Evaluator
        The evaluator of the search, with its rows.
    costs : Costs
    candidates : sequence of Candidate
    everything : Rows, optional
        All rows, guarantee rows included; by default those of the search.
    kept : Rows, optional
        The guarantee rows.
    effort : SearchEffort, optional
        How much the search tried, to explain a constant answer.
    """

    def __init__(
        self,
        evaluator: Evaluator,
        costs: Costs,
        candidates: Sequence[Candidate],
        everything: Rows | None = None,
        kept: Rows | None = None,
        effort: SearchEffort | None = None,
    ) -> None:
        self._evaluator = evaluator
        self._costs = costs
        self._candidates = candidates
        self._everything = evaluator.rows if everything is None else everything
        self._kept = kept
        self._effort = effort
        self._sign = evaluator.metric.sign
        self._capped: dict[float, list[Candidate]] = {}  # candidates under caps
        self.refitter = Refitter(costs)

    def best(self, request: Request) -> Any:
        """The model for a request; warns if it is no better than a constant answer."""
        candidate, model = self.take(request)
        self.warn_of_a_constant(request, candidate, model.plan_)
        return model

    def take(self, request: Request) -> tuple[Candidate, Any]:
        """The candidate that is chosen, and its model."""
        ordered = self._ordered(request)
        return self.certifier.take(request, ordered) if request.needs_rows else self._take(request, ordered)

    @cached_property
    def certifier(self) -> Certifier:
        """Tests candidates on the guarantee rows."""
        return Certifier(
            self._evaluator, self._costs, self.refitter, self.reference, self._kept, self._everything
        )

    @cached_property
    def reference(self) -> Candidate:
        """The best candidate at any cost."""
        return max(self._candidates, key=lambda one: (self._gain(one), -one.mean_cost))

    def warn_of_a_constant(self, request: Request, taken: Candidate, plan: Plan) -> None:
        """Warn, and explain why, if the answer is constant: by its estimate or by what the plan acquires."""
        effort = self._effort
        if effort is None or request.max_loss is not None or not request.amount > 0.0:
            return
        if taken.includes_cost:  # it can be right that no test is worth its price
            return
        constant = max((self._gain(one) for one in self._candidates if one.is_constant), default=-np.inf)
        if self._gain(taken) > constant and self._acquires(plan):
            return
        if not any(self._gain(one) > constant for one in self._ordered(request)):
            why = why_nothing_helps(self._costs, request.amount, effort)
        elif request.needs_rows:
            why = "the kept rows do not support the guarantee for any other model"
        else:
            why = "models that are better on held-out rows cost more, or are worse, when fitted to all rows"
        words = f"no model for {request.words} is better than a constant answer: {why}"
        warnings.warn(words, BudgetWarning, stacklevel=4)

    def _acquires(self, plan: Plan) -> bool:
        """Whether some row acquires a feature; the first rows are run."""
        few = self._everything.take(np.arange(min(_FEW_ROWS, len(self._everything))))
        engine = engine_for(plan, len(few))
        done = plan.run(few.X, qid=few.qid, compiled=engine, unknown="missing", **few.own_costs)
        return bool(done.acquired.any())

    # -- caps ----------------------------------------------------------------------------------------

    def under(self, cap: float) -> list[Candidate]:
        """All candidates under a cap, in their order."""
        if cap == np.inf:
            return list(self._candidates)
        self.evaluate_under([cap])
        return self._capped[cap]

    def evaluate_under(self, caps: Iterable[float]) -> None:
        """Evaluate all candidates under some caps at once, which is faster than one by one."""
        new = [one for one in dict.fromkeys(caps) if one < np.inf and one not in self._capped]
        if new:
            prices = self.refitter.prices
            capped = [self._evaluator.evaluate_under_caps(one, new, prices(one)) for one in self._candidates]
            for cap, *some in zip(new, *capped, strict=True):
                self._capped[cap] = some

    # -- by held-out rows ----------------------------------------------------------------------------

    def _ordered(self, request: Request) -> list[Candidate]:
        """The candidates inside the limits, the best first; of equals the cheapest."""
        some = self.under(request.budget)
        inside = [one for one in some if mean_fits(one.mean_cost, request.mean_budget)]
        if not inside:
            least = min(one.mean_cost for one in some)
            raise CostError(f"no model costs {request.words}; the cheapest costs {least:g}")
        if request.max_loss is None:
            steady = dict(zip(some, steady_gains(some, self._sign), strict=True))
            return sorted(inside, key=lambda one: (-steady[one], one.mean_cost))
        near = [one for one in inside if self._loss(one) <= request.max_loss + _ROUNDING]
        if not near:
            least = min(map(self._loss, inside))
            raise CostError(
                f"no model for {request.words} loses {request.max_loss:g} of "
                f"{self._evaluator.metric.name} or less to the best one; the nearest loses {least:.4g}"
            )
        return sorted(near, key=lambda one: (one.mean_cost, -self._gain(one)))

    def _take(self, request: Request, ordered: Sequence[Candidate]) -> tuple[Candidate, Any]:
        """The first candidate that keeps the budget and its quality when it is fitted to all rows.

        A small change of the rows can decide whether a feature is bought, so a refitted model may be a
        different one. It is skipped if its training score is more than 3 standard errors below its held-out
        score. It is also skipped if the cap stops more of its rows than in the search. (Its training score
        does not show what that costs: on rows that it has learned by heart, it needs few features.) If all
        are skipped, the first of those with the fewest such rows is taken.
        """
        rows = self._everything
        inside: dict[Trial, tuple[Candidate, Any]] = {}
        cut: dict[Trial, float] = {}
        for one in ordered:
            if one.trial in inside:  # another view of the same fit was skipped
                continue
            model = self.refitter.fit(one, rows, request)
            done = model.plan_.run(rows.X, qid=rows.qid, unknown="missing", **rows.own_costs)
            if not mean_fits(np.average(done.cost, weights=rows.weight), request.mean_budget):
                continue
            inside[one.trial] = one, model
            reached = self._sign * self._reached(model.plan_, done)
            cut[one.trial] = max(0.0, self._cut(one, done, request) - _CUT)
            is_worse = reached < self._gain(one) - _WORSE_ERRORS * self._error(one)
            if not is_worse and not cut[one.trial] > 0.0:
                break
            if len(inside) == _N_REFITTED:
                one, model = inside[min(cut, key=lambda trial: cut[trial])]
                break
        else:
            if not inside:
                raise CostError(
                    f"no model costs {request.words} when it is fitted to all rows; raise the budget"
                )
            one, model = inside[min(cut, key=lambda trial: cut[trial])]
        return one, with_guarantees(model, self.certifier.certain(request))

    def _cut(self, one: Candidate, done: Run, request: Request) -> float:
        """The share of rows that the cap stops in a refitted model, minus the share in the search."""
        if not request.is_capped:
            return 0.0
        rows = self._everything
        plan = self.refitter.fit(one, rows, replace(request, budget=np.inf)).plan_
        if fits(0.0, most_of(plan, rows), request.budget):
            return 0.0
        free = plan.run(rows.X, qid=rows.qid, unknown="missing", **rows.own_costs)
        places = (place for place, capped in enumerate(self.under(request.budget)) if capped is one)
        before = self._candidates[next(places)]
        return _share_stopped(free.cost, done.cost) - _share_stopped(before.paid, one.paid)

    def _error(self, one: Candidate) -> float:
        """The standard error of a candidate; at least that of one unit, if all answers are right."""
        values = RowValues(self._evaluator.metric, self._everything.y)
        span = values.span_for(self._everything, one.max_cost)
        return max(one.error, span / len(one.value) if np.isfinite(span) else 0.0)

    def _reached(self, plan: Plan, done: Run) -> float:
        """The metric on all rows."""
        rows = self._everything
        values = RowValues(self._evaluator.metric, rows.y, rows.weight)
        scores = scores_of(done, rows)[:, : plan.n_outputs]
        found = values(plan, scores, rows, Queries(rows.qid, len(rows)), done.cost, done.amounts)
        return float(np.nanmean(found))

    def _gain(self, one: Candidate) -> float:
        return self._sign * one.mean_value

    def _loss(self, one: Candidate) -> float:
        return self._gain(self.reference) - self._gain(one)


def _share_stopped(free: Floats, capped: Floats) -> float:
    """The share of rows that pay less under a cap."""
    return float(np.mean(capped < free - _ROUNDING * np.abs(free)))
