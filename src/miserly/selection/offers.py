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
from miserly.selection.evaluation import Candidate, Evaluation, most_of
from miserly.selection.requests import Request

if TYPE_CHECKING:
    from miserly.selection.models import EvaluatedModels
    from miserly.selection.results import Frontier

__all__ = ["WIDE", "Offer", "delivered_offer", "honest_estimate", "offer_for", "offers", "round_budgets",
           "round_offers", "round_steps", "suggested"]  # fmt: skip

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
        Costs and values, where each row is evaluated with a choice made without it. If `is_second`, the
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
        return self.estimate.error if self.estimate.shape.is_logit else (self.high - self.low) / (2 * 1.96)

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
        """The most that any row pays."""
        return most_of(self.plan, self.rows)

    @cached_property
    def run(self) -> Run:
        """What the delivered plan does with the rows that were given."""
        rows = self.rows
        engine = engine_for(self.plan, len(rows))
        return self.plan.run(rows.X, qid=rows.qid, compiled=engine, unknown="missing", **rows.own_costs)

    @cached_property
    def pays(self) -> float:
        """What the given rows pay on average for the delivered plan."""
        return float(np.average(self.run.cost, weights=self.rows.weight))

    @property
    def pays_otherwise(self) -> bool:
        """Whether that differs noticeably from the estimate, or the estimate is above the cap of the plan."""
        differs = abs(self.pays - self.cost) > _NOTICEABLE * max(self.pays, self.cost)
        return differs or not mean_fits(self.cost, self.max_cost)

    @cached_property
    def cost_95(self) -> float:
        """The cost that 95 % of the given rows do not exceed."""
        if self.rows.weight is None:
            return float(np.quantile(self.run.cost, 0.95, method="higher"))
        return float(np.quantile(self.run.cost, 0.95, method="inverted_cdf", weights=self.rows.weight))

    @cached_property
    def share(self) -> Floats:
        """The share of the given rows that buy each feature."""
        bought: Floats = np.average(self.run.acquired, axis=0, weights=self.rows.weight)
        return bought

    @property
    def features(self) -> float:
        """How many features a row buys, on average."""
        return float(self.share.sum())

    @property
    def note(self) -> str:
        """A note if this is the model of a smaller budget; otherwise empty."""
        return "" if self.same_as is None else f"no better model found: same as {self.same_as:g}"

    @property
    def _key(self) -> tuple[Any, ...]:
        """The identity of the model: two caps that no row reaches give the same model."""
        return self.candidate.trial, tuple(sorted(self.candidate.view.items())), self.max_cost


def offers(found: Frontier, requests: Sequence[Request]) -> list[Offer]:
    """What each of some budgets buys, the smallest first; budgets that buy nothing at all are left out.

    If the model of a larger budget has no better estimate than that of a smaller budget, the larger budget
    gets the model of the smaller one, with a note. So one model has one estimate.
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


def honest_estimate(found: EvaluatedModels, request: Request) -> Evaluation:
    """Costs and values, where each row is evaluated with a choice made without it."""
    some = found.chooser.under(request.budget)
    reached = cross_choose(some, request.mean_budget, found.sign, found.seed)
    if reached is None:
        raise found.no_model(request)
    return reached


# -- what round budgets buy, from the cheapest model to the most expensive one that is worth its price -------

WIDE = 20.0  # amounts that span more than this factor are spaced by factors, others by differences
_MOST_STEPS = 22
_EVEN_STEPS = 20
_DIGITS = ((1, 1.5, 2, 3, 4, 5, 7), (1, 2, 3, 5, 7), (1, 2, 5), (1, 3), (1,))  # round amounts in a decade
_ROOM = 1.15  # a model that is fitted to all rows may cost a little more than the evaluated ones
_SLACK = 1e-9


def round_offers(found: Frontier, asked: Request | None = None) -> list[Offer]:
    """What each of `round_budgets` buys. `CostError` if `asked` is given and no model fits it."""
    made = offers(found, round_budgets(found, asked))
    if asked is not None and asked.amount not in [one.budget for one in made]:
        raise found.no_model(asked)
    return made


def delivered_offer(found: Frontier, wanted: Request) -> Offer:
    """The model for a request. If a smaller round budget buys an equally good model, that model is taken.

    Warns if the model is no better than a constant answer.
    """
    made = []
    if wanted.amount < np.inf and wanted.max_loss is None and not wanted.needs_rows:
        made = [one for one in offers(found, round_budgets(found, wanted)) if one.budget == wanted.amount]
    offer = made[0] if made else offer_for(found, wanted)
    found.chooser.warn_of_a_constant(wanted, offer.candidate, offer.plan)
    return offer


def suggested(made: Sequence[Offer], greater_is_better: bool) -> int:
    """The place of the cheapest offer that is within one standard error of the best one.

    A total includes what offers cost, so that the best one itself is suggested.
    """
    sign = 1.0 if greater_is_better else -1.0
    best = max(made, key=lambda one: sign * one.value)
    error = 0.0 if best.candidate.includes_cost else np.nan_to_num(best.error)
    return next(i for i, one in enumerate(made) if sign * one.value >= sign * best.value - error)


# -- which budgets -------------------------------------------------------------------------------------------


def round_budgets(found: Frontier, asked: Request | None = None) -> list[Request]:
    """Round amounts from the cheapest to the most expensive model worth its price.

    They are of the kind that is `asked` for, or that the frontier was made for. If several amounts choose the
    same model, the smallest is kept. Zero, the budgets that the frontier was made for and the one that is
    `asked` for are among them. No amount exceeds the price of everything.
    """
    kind = asked.kind if asked is not None else "budget" if found.budgets else "mean_budget"
    other = np.inf if asked is None else max(asked.budget, asked.mean_budget)
    rest = "mean_budget" if kind == "budget" else "budget"
    kept, others = _amounts(found, kind, asked)
    amounts = [amount for amount in sorted({*kept, *others}) if amount < other]
    requests = [Request(**{kind: amount, rest: other}) for amount in amounts]
    found.chooser.evaluate_under(request.budget for request in requests)
    inside = [request for request in requests if found.chosen_if_any(request) is not None]
    first = {found.chosen(request): request.amount for request in reversed(inside)}
    return [
        request
        for request in inside
        if request.amount in kept or request.amount == first[found.chosen(request)]
    ]


def _amounts(found: Frontier, kind: str, asked: Request | None) -> tuple[list[float], list[float]]:
    """Amounts that are given, and round ones that are not close to them, with zero if that buys anything."""
    best = found.pareto_candidates
    paid = [one.mean_cost for one in best]
    cheapest, highest = min((cost for cost in paid if cost > 0), default=0.0), max(paid)
    if kind == "budget":
        highest = max(highest, *(one.max_cost for one in best))
    made_for = (found.result.budgets if kind == "budget" else found.result.mean_budgets) or []
    asked_for = [] if asked is None else [asked.amount]
    own = [*made_for, *asked_for]
    roomy = min(_ROOM * highest, max(found.costs.total, highest))
    steps = round_steps(cheapest, roomy) if highest > 0 else []
    apart = [one for one in steps if not any(abs(one - mine) < 0.04 * mine for mine in own)]
    everything = max(found.costs.total, max(one.max_cost for one in found.candidates))
    zero = [0.0] if found.candidates[0].mean_cost == 0.0 else []
    given = [*(min(one, everything) for one in made_for), *asked_for]
    return given, [*zero, *(min(one, everything) for one in apart)]


def round_steps(low: float, high: float) -> list[float]:
    """Round amounts from `low` to the first one past `high`, in even steps, or by even factors if far apart.

    >>> round_steps(1.2, 322.9)[:8], round_steps(40, 80)[-3:]
    ([1.5, 2.0, 3.0, 4.0, 5.0, 7.0, 10.0, 15.0], [76.0, 78.0, 80.0])
    """
    if high / low <= WIDE:
        step = _round_up((high - low) / _EVEN_STEPS or high)
        return [
            float(f"{step * k:.12g}") for k in range(int(np.ceil(low / step)), int(np.ceil(high / step)) + 1)
        ]
    for digits in _DIGITS:
        powers = range(int(np.floor(np.log10(low))), int(np.ceil(np.log10(high))) + 2)
        every = [float(f"{digit * 10.0**power:.12g}") for power in powers for digit in digits]
        inside = [one for one in every if low <= one < high * (1 - _SLACK)]
        if len(inside) < _MOST_STEPS:
            break
    return [*inside, next(one for one in every if one >= high * (1 - _SLACK))]


def _round_up(amount: float) -> float:
    power = 10.0 ** np.floor(np.log10(amount))
    return float(
        next(digit * power for digit in (1, 2, 2.5, 5, 10) if digit * power >= amount * (1 - _SLACK))
    )
