"""What round budgets buy, from the cheapest model to the most expensive one that is worth its price."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from miserly.selection.offers import Offer, offer_for, offers
from miserly.selection.requests import Request

if TYPE_CHECKING:
    from miserly.selection.results import Frontier

__all__ = ["WIDE", "delivered_offer", "round_budgets", "round_offers", "round_steps", "suggested"]

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
    """The model for a request. If a smaller round budget buys one that is as good, it is that one.

    Warns if the model is no better than a constant answer.
    """
    made = []
    if wanted.amount < np.inf and wanted.max_loss is None and not wanted.needs_rows:
        made = [one for one in offers(found, round_budgets(found, wanted)) if one.budget == wanted.amount]
    offer = made[0] if made else offer_for(found, wanted)
    found.chooser.warn_of_a_constant(wanted, offer.candidate, offer.plan)
    return offer


def suggested(made: Sequence[Offer], greater_is_better: bool) -> int:
    """The place of the cheapest offer that is within one standard error of the best one."""
    sign = 1.0 if greater_is_better else -1.0
    best = max(made, key=lambda one: sign * one.value)
    error = np.nan_to_num(best.error)
    return next(i for i, one in enumerate(made) if sign * one.value >= sign * best.value - error)


# -- which budgets -----------------------------------------------------------------------------------------


def round_budgets(found: Frontier, asked: Request | None = None) -> list[Request]:
    """Round amounts from the cheapest to the most expensive model worth its price.

    They are of the kind that is `asked` for, or that the frontier was made for. Of those that choose the
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
