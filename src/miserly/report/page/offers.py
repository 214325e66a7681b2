"""Which budgets a page shows, and which of them it suggests."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from miserly.report.page.axis import WIDE
from miserly.selection.choice import Wish
from miserly.selection.offers import Offer, offer_for, offers

if TYPE_CHECKING:
    from miserly.selection import Frontier

__all__ = ["Offer", "budget_kind", "offer_for", "offers", "round_budgets", "suggested"]

_MOST_STEPS = 22
_EVEN_STEPS = 20
_DIGITS = ((1, 1.5, 2, 3, 4, 5, 7), (1, 2, 3, 5, 7), (1, 2, 5), (1, 3), (1,))  # round amounts in a decade
_ROOM = 1.15  # a model that is fitted to all rows may cost a little more than those that were judged
_SLACK = 1e-9


# -- which budgets -----------------------------------------------------------------------------------------


def budget_kind(found: Frontier, asked: Wish | None = None) -> str:
    """Whether the budgets of a page are caps or means: as asked for, or as the frontier was made for."""
    if asked is not None:
        return asked.kind
    return "budget" if found.budgets else "mean_budget"


def round_budgets(found: Frontier, asked: Wish | None = None) -> list[Wish]:
    """The budgets of a page: round amounts from the cheapest to the most expensive model worth its price.

    Of those that choose the same model, the smallest. Zero, the budgets that the frontier was made for and
    the one that is `asked` for are among them; what exceeds the price of everything is that price.
    """
    kind = budget_kind(found, asked)
    paid = [one.mean_cost for one in found._pareto()]
    cheapest, dearest = min((cost for cost in paid if cost > 0), default=0.0), max(paid)
    made_for = found._budgets if kind == "budget" else found._mean_budgets
    own = [*(made_for or []), *([] if asked is None else [asked.amount])]
    zero = [0.0] if found._candidates[0].mean_cost == 0.0 else []
    if kind == "budget":
        dearest = max(dearest, *(one.upper for one in found._pareto()))
    roomy = min(_ROOM * dearest, max(found.costs.total, dearest))
    steps = round_steps(cheapest, roomy) if dearest > 0 else []
    crowded = [one for one in steps if not any(abs(one - mine) < 0.04 * mine for mine in own)]
    everything = max(found.costs.total, max(one.upper for one in found._candidates))
    asked_for = [] if asked is None else [asked.amount]
    own = [min(one, everything) for one in made_for or []] + asked_for
    amounts = sorted({*zero, *own, *(min(one, everything) for one in crowded)})
    other = np.inf if asked is None else max(asked.budget, asked.mean_budget)
    rest = "mean_budget" if kind == "budget" else "budget"
    wishes = [Wish(**{kind: amount, rest: other}) for amount in amounts if amount < other]
    found._chooser.hold(wish.budget for wish in wishes)
    inside = [wish for wish in wishes if found._chosen_if_any(wish) is not None]
    first = {found._chosen(wish): wish.amount for wish in reversed(inside)}
    return [wish for wish in inside if wish.amount in own or wish.amount == first[found._chosen(wish)]]


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


def suggested(made: Sequence[Offer], greater_is_better: bool) -> int:
    """The cheapest offer that is within one standard error of the best one."""
    sign = 1.0 if greater_is_better else -1.0
    best = max(made, key=lambda one: sign * one.value)
    error = np.nan_to_num((best.high - best.low) / (2 * 1.96))
    return next(i for i, one in enumerate(made) if sign * one.value >= sign * best.value - error)
