"""Spending a budget that cannot buy everything a round of boosting wants.

A tree buys by the gain of single splits. Under a hard budget that is short-sighted: of two features at one
price the first split of one may be the better, and whole trees on the other; and the tree of the first class
may spend what the others need. Nothing bought can be given back, so before the money runs out a round weighs
what it wants by whole trees:

1. Grow its trees as if every feature that fits the budget alone could be had. If all they buy fits together,
   these are the trees, and they are the same as without looking ahead.
2. Otherwise grow its trees once more for each feature they wanted, on that feature and what is paid, and keep
   those with the largest gain, prices included. So one feature is bought, and the next round shops again.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from miserly.costs import Ledger, fits
from miserly.grow import Grown

__all__ = ["Fit", "shop"]

MOST = 16  # how many wanted features are weighed at most, first wanted first


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
        basket = _best_single(trees, ledger, tradeoff, basket.features[:MOST])
    for feature in basket.features:
        ledger.buy(feature)
    return basket.grown


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
