"""Spending a budget that cannot buy everything a round of boosting wants.

A tree buys by the gain of single splits. Under a hard budget that is short-sighted: of two features at one
price the first split of one may be the better, and whole trees on the other; and the tree of the first class
may spend what the others need. Nothing bought can be given back, so before the money runs out a round weighs
what it wants by whole trees:

1. Grow its trees as if every feature that fits the budget alone could be had. If all they buy fits together,
   these are the trees, and they are the same as without looking ahead.
2. Otherwise grow its trees once more for each feature they wanted, on that feature and what is paid, and keep
   those with the largest gain, prices included. So one feature is bought, and the next round shops again.

Step 2 grows the trees of a round once for each feature that is weighed, in as many rounds as features are
bought. At most 16 are weighed in a round; where there are more than 64 columns, also at most 256 divided by
the number of features that the rest of the money buys, and 2 at least. So from a budget for 16 features on,
the time that looking ahead takes hardly rises with the budget.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from miserly.costs import Ledger, fits
from miserly.grow import Grown

__all__ = ["Fit", "in_turn", "n_weighed", "shop"]

MOST = 16  # how many wanted features are weighed at most, first wanted first
WIDE = 64  # columns: beyond that fewer are weighed while much money is left,
WEIGHED = 256  # divided by the number of features that it buys


class Fit(Protocol):
    """Grows one tree of a round."""

    def __call__(
        self, *, ledger: Ledger, tradeoff: float, features: NDArray[np.bool_] | None = None
    ) -> Grown: ...


@dataclass(frozen=True, eq=False)
class Basket:
    """The trees of a round with what they would buy and what would then be spent."""

    grown: list[Grown]
    features: list[int]
    spent: float

    @property
    def gain(self) -> float:
        return sum(one.gain for one in self.grown)


def shop(trees: Sequence[Fit], ledger: Ledger, tradeoff: float) -> list[Grown]:
    """Grow the trees of a round and pay for what they split on, looking ahead if money is short."""
    within_reach = ledger.paid | np.array([ledger.affordable(f) for f in range(len(ledger.costs))])
    basket = _fill(trees, ledger, tradeoff, within_reach)
    if not fits(0.0, basket.spent, ledger.budget):
        basket = _best_single(trees, ledger, tradeoff, _weighed(basket, ledger))
    for feature in basket.features:
        ledger.buy(feature)
    return basket.grown


def _weighed(basket: Basket, ledger: Ledger) -> list[int]:
    """The wanted features that are weighed."""
    if len(ledger.costs) <= WIDE:
        return basket.features[:MOST]
    return in_turn([one.bought for one in basket.grown])[: n_weighed(ledger)]


def in_turn(bought: Sequence[Sequence[int]]) -> list[int]:
    """What several trees buy: the first of each tree, then the second of each, and so on.

    >>> in_turn([(4, 7, 1), (), (2, 9)])
    [4, 2, 7, 9, 1]
    """
    most = max(map(len, bought), default=0)
    return [features[place] for place in range(most) for features in bought if place < len(features)]


def n_weighed(ledger: Ledger) -> int:
    """How many wanted features are weighed on wide data: the fewer, the more the rest of the money buys.

    >>> from miserly.costs import Costs
    >>> [n_weighed(Ledger(Costs(np.ones(784)), budget)) for budget in (4, 16, 32, 64, 400)]
    [16, 16, 8, 4, 2]
    """
    prices = np.sort(ledger.costs.marginals(ledger.paid)[~ledger.paid])
    n_bought = int(np.searchsorted(np.cumsum(prices), ledger.budget - ledger.spent, side="right"))
    return int(np.clip(WEIGHED // max(1, n_bought), 2, MOST))


def _best_single(trees: Sequence[Fit], ledger: Ledger, tradeoff: float, wanted: Sequence[int]) -> Basket:
    """The best of the rounds that buy one wanted feature each; the first of equals."""
    baskets = []
    for feature in wanted:
        allowed = ledger.paid.copy()
        allowed[feature] = True
        baskets.append(_fill(trees, ledger, tradeoff, allowed))
    return max(baskets, key=lambda basket: basket.gain)


def _fill(trees: Sequence[Fit], ledger: Ledger, tradeoff: float, allowed: NDArray[np.bool_]) -> Basket:
    """The trees of a round if the budget had no end but only `allowed` features could be had."""
    trial = ledger.copy()
    trial.account[1] = np.inf
    grown = [grow(ledger=trial, tradeoff=tradeoff, features=allowed) for grow in trees]
    return Basket(grown, [feature for one in grown for feature in one.bought], trial.spent)
