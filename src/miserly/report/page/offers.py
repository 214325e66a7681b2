"""What each budget buys, in figures: the model it takes, what that reaches, who pays what, and for what."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

import numpy as np
from numpy.typing import NDArray

from miserly.errors import CostError
from miserly.plan.effort import engine_for
from miserly.report.page.axis import WIDE
from miserly.selection._best import Wish
from miserly.selection._judging import Candidate, repriced
from miserly.selection._pool import viewed_plan

if TYPE_CHECKING:
    from miserly.selection import Frontier

__all__ = ["Offer", "bought_by", "budget_kind", "offer_for", "offers", "round_budgets", "suggested"]

Floats: TypeAlias = NDArray[np.float64]

_MOST_STEPS = 22
_EVEN_STEPS = 20
_DIGITS = ((1, 1.5, 2, 3, 4, 5, 7), (1, 2, 3, 5, 7), (1, 2, 5), (1, 3), (1,))  # round amounts in a decade
_ROOM = 1.15  # a model that is fitted to all rows may cost a little more than those that were judged
_SLACK = 1e-9


@dataclass(frozen=True, eq=False)
class Offer:
    """What one budget buys.

    Attributes
    ----------
    wish : Wish
        The budget: a cap for every row, or what rows pay on average.
    candidate : Candidate
        The model, with what held-out rows paid for it.
    value, low, high : float
        The metric to expect and its 95 % interval, by choices that never saw the rows they are judged on.
    share : array of (n_features,)
        The share of held-out rows that buy each feature.
    is_second : bool
        Whether the model was taken in place of a better one: for a promise, or because that one costs too
        much once it is fitted to all rows. Then the value is its own on held-out rows, and flatters a little.
    """

    wish: Wish
    candidate: Candidate
    value: float
    low: float
    high: float
    share: Floats
    is_second: bool = False

    @property
    def budget(self) -> float:
        return self.wish.amount

    @property
    def cost(self) -> float:
        """What a row pays on average."""
        return self.candidate.mean_cost

    @property
    def cost_95(self) -> float:
        """What 95 of 100 rows pay at most."""
        return float(np.quantile(self.candidate.cost, 0.95, method="higher"))


def offers(found: Frontier, wishes: Sequence[Wish]) -> list[Offer]:
    """What each of some budgets buys; budgets that buy nothing at all are left out."""
    made: list[Offer] = []
    found._chooser.hold(wish.budget for wish in wishes)
    for wish in wishes:
        try:
            made.append(offer_for(found, wish, known=made))
        except CostError:
            continue
    return made


def offer_for(found: Frontier, wish: Wish, known: Sequence[Offer] = ()) -> Offer:
    """What a budget buys, by held-out figures; `known` offers save running a model again."""
    line = found._at(wish)
    candidate = found._chosen(wish)
    before = next((one.share for one in known if one.candidate is candidate), None)
    share = bought_by(found, candidate) if before is None else before
    return Offer(wish, candidate, line["value"], line["value_low"], line["value_high"], share)


def bought_by(found: Frontier, candidate: Candidate) -> Floats:
    """The share of held-out rows that buy each feature; every row meets the model that did not see it."""
    bench, count, n_rows = found._bench, np.zeros(len(found.costs)), 0
    for fitted, (_, test) in zip(candidate.trial.plans, bench.parts, strict=True):
        rows = bench.rows.take(test)
        plan = viewed_plan(fitted, candidate.view)
        if plan.costs != found.costs:
            plan = repriced(plan, found.costs)
        engine = engine_for(plan, len(rows))
        done = plan.run(rows.X, qid=rows.qid, budget=candidate.upper, compiled=engine, unknown="missing")
        count += done.acquired.sum(axis=0)
        n_rows += len(rows)
    return count / n_rows


# -- which budgets -----------------------------------------------------------------------------------------


def budget_kind(found: Frontier, asked: Wish | None = None) -> str:
    """Whether the budgets of a page are caps or means: as asked for, or as the frontier was made for."""
    if asked is not None:
        return asked.kind
    return "budget" if found.budgets else "mean_budget"


def round_budgets(found: Frontier, asked: Wish | None = None) -> list[Wish]:
    """The budgets of a page: round amounts from the cheapest to the dearest model that is worth its price.

    Zero, the budgets that the frontier was made for and the one that is `asked` for are among them.
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
    return [Wish(**{kind: amount}) for amount in sorted({*zero, *own, *crowded})]


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
