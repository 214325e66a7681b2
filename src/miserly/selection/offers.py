"""What each budget buys: the model that is delivered for it, and what to expect of that model.

The metric and the mean cost are estimates: they come from models fitted to some of the rows and evaluated on
the others. What the plan may acquire, its largest cost and its mean cost on the given rows are those of the
delivered plan, which is fitted to all rows.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from miserly.costs import mean_fits
from miserly.data.rows import Rows
from miserly.errors import CostError
from miserly.plan import Plan
from miserly.plan.engine.batch import Run, engine_for
from miserly.selection.cross_choice import cross_choose
from miserly.selection.evaluation import Candidate, Evaluation
from miserly.selection.requests import Request

if TYPE_CHECKING:
    from miserly.selection.results import Frontier

__all__ = ["Offer", "offer_for", "offers"]

Floats: TypeAlias = NDArray[np.float64]

_NOTICEABLE = 0.05  # of the estimate: a mean cost of the plan that differs by more is reported


@dataclass(frozen=True, eq=False)
class Offer:
    """What one budget buys.

    Attributes
    ----------
    request : Request
        The budget: a cap for every row, or a mean budget.
    candidate : Candidate
        The model as it was evaluated on held-out rows.
    model : estimator
        The model as it is delivered, fitted to all rows.
    rows : Rows
        All rows that were given.
    estimate : Evaluation
        Costs and values of choices that are evaluated on rows that they did not see. If `is_second`, the
        evaluation of the candidate itself, which is optimistic.
    is_second : bool
        Whether the model replaces a better one: for a guarantee, or because that one costs too much or is
        worse when it is fitted to all rows.
    same_as : float, optional
        The smaller budget whose model this is, because none better was found.
    """

    request: Request
    candidate: Candidate
    model: Any
    rows: Rows
    estimate: Evaluation
    is_second: bool = False
    same_as: float | None = None

    @property
    def budget(self) -> float:
        return self.request.amount

    @property
    def value(self) -> float:
        """The estimate of the metric."""
        return self.estimate.intervals["value"]

    @property
    def low(self) -> float:
        """The lower end of its 95 % interval."""
        return self.estimate.intervals["value_low"]

    @property
    def high(self) -> float:
        """The upper end of its 95 % interval."""
        return self.estimate.intervals["value_high"]

    @property
    def error(self) -> float:
        """The standard error of the estimate of the metric."""
        return (self.high - self.low) / (2 * 1.96)

    @property
    def cost(self) -> float:
        """The estimate of the mean cost of a row, by this candidate on held-out rows."""
        return self.candidate.mean_cost

    # -- the delivered plan --------------------------------------------------------------------------

    @property
    def plan(self) -> Plan:
        plan: Plan = self.model.plan_
        return plan

    @cached_property
    def max_cost(self) -> float:
        """What no row pays more than."""
        return self.plan.max_cost

    @cached_property
    def run(self) -> Run:
        """What the delivered plan does with the rows that were given."""
        rows = self.rows
        engine = engine_for(self.plan, len(rows))
        return self.plan.run(rows.X, qid=rows.qid, compiled=engine, unknown="missing")

    @cached_property
    def pays(self) -> float:
        """What the given rows pay on average for the delivered plan."""
        return float(self.run.cost.mean())

    @property
    def pays_otherwise(self) -> bool:
        """Whether that differs noticeably from the estimate, or the estimate is above the cap of the plan."""
        differs = abs(self.pays - self.cost) > _NOTICEABLE * max(self.pays, self.cost)
        return differs or not mean_fits(self.cost, self.max_cost)

    @cached_property
    def cost_95(self) -> float:
        """What 95 of 100 of the given rows pay at most."""
        return float(np.quantile(self.run.cost, 0.95, method="higher"))

    @cached_property
    def share(self) -> Floats:
        """The share of the given rows that buy each feature."""
        bought: Floats = self.run.acquired.mean(axis=0)
        return bought

    @property
    def features(self) -> float:
        """How many features a row buys, on average."""
        return float(self.share.sum())

    @property
    def note(self) -> str:
        """Why this is no model of its own; empty where it is one."""
        return "" if self.same_as is None else f"no better model found: same as {self.same_as:g}"

    @property
    def _key(self) -> tuple[Any, ...]:
        """What tells models apart: under another cap that none of its rows reaches, a model is the same."""
        return self.candidate.trial, tuple(sorted(self.candidate.view.items())), self.max_cost


def offers(found: Frontier, requests: Sequence[Request]) -> list[Offer]:
    """What each of some budgets buys, the smallest first; budgets that buy nothing at all are left out.

    A larger budget whose model has no better estimate than a smaller one's takes that one's model, and says
    so: one model has one estimate.
    """
    made: list[Offer] = []
    found.chooser.evaluate_under(request.budget for request in requests)
    for request in requests:
        try:
            one = offer_for(found, request)
        except CostError:
            continue
        made.append(
            _unless_no_better(one, [old for old in made if old.request.kind == request.kind], found.sign)
        )
    return made


def _unless_no_better(one: Offer, before: Sequence[Offer], sign: float) -> Offer:
    best = max(before, key=lambda old: sign * old.value, default=None)  # of equals, the first
    if best is None or (
        sign * one.value > sign * best.value and one._key not in [old._key for old in before]
    ):
        return one
    smaller = best.budget if best.same_as is None else best.same_as
    if one._key == best._key:  # the same but for a cap that no row reaches
        return replace(one, estimate=best.estimate, same_as=smaller)
    return replace(best, request=one.request, same_as=smaller)


def offer_for(found: Frontier, request: Request) -> Offer:
    """What `best` delivers for a request, with its estimates."""
    chosen = found.chosen(request)
    candidate, model = found.chooser.take(request)
    rows = found.rows
    if candidate is chosen:
        return Offer(request, candidate, model, rows, honest_estimate(found, request))
    return Offer(request, candidate, model, rows, candidate, is_second=True)


def honest_estimate(found: Frontier, request: Request) -> Evaluation:
    """Costs and values of choices that did not see the rows they are evaluated on."""
    some = found.chooser.under(request.budget)
    reached = cross_choose(some, request.mean_budget, found.sign, found.seed)
    if reached is None:
        raise found.no_model(request)
    return reached
