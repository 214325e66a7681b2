"""A cap on what each way through a tree of classifiers costs: which terms a node may weigh under it.

The cap is on whole terms: every feature that a term may read, every evaluation, every set-up of a group. So a
row that meets only some of the splits of a tree pays less, and no row pays more.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from miserly.costs import fits
from miserly.solvers.greedy import PurchaseState

__all__ = ["PathCap"]

Floats: TypeAlias = NDArray[np.float64]
Ints: TypeAlias = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class PathCap:
    """What the terms on one way may cost together.

    Attributes
    ----------
    market : PurchaseState
        The terms, with nothing paid.
    budget : float
    size : array of (T,)
        The typical size of each column: a weight times this size is what a term contributes to a score.
    """

    market: PurchaseState
    budget: float
    size: Floats

    @property
    def binds(self) -> bool:
        """Whether all terms together cost more than the budget."""
        return not fits(0.0, self._spent(self._paid(np.arange(len(self.size)))), self.budget)

    def payable(self, paid: Ints) -> Ints:
        """The terms that fit one by one once the terms `paid` are paid."""
        market = self._paid(paid)
        return np.flatnonzero(fits(self._spent(market), market.prices(), self.budget))

    def affordable(self, paid: Ints, weights: Floats) -> Ints:
        """Terms with weights (T, C) that fit together, the largest contribution per price first.

        Terms that cost nothing (more) come first. A term that does not fit is passed over.

        Examples
        --------
        >>> from miserly.costs import Costs
        >>> market = PurchaseState.of(np.eye(3, dtype=bool), np.zeros(3), Costs([4.0, 4.0, 1.0]))
        >>> cap = PathCap(market, budget=6.0, size=np.ones(3))
        >>> cap.affordable(np.array([], dtype=int), np.array([[1.0], [2.0], [0.1]])).tolist()
        [1, 2]
        """
        market = self._paid(paid)
        spent, prices = self._spent(market), market.prices()
        gain = self.size * np.sqrt((weights**2).sum(axis=1))
        wanted = gain > 0.0
        taken: list[int] = []
        while True:
            admitted = wanted & fits(spent, prices, self.budget)
            if not admitted.any():
                return np.array(sorted(taken), dtype=np.int64)
            rate = np.divide(gain, prices, out=np.full_like(gain, np.inf), where=prices > 0.0)
            best = int(np.where(admitted, rate, -1.0).argmax())
            taken.append(best)
            wanted[best] = False
            changed = market.buy(best)
            spent = self._spent(market)
            prices[changed] = market.prices(changed)

    def _paid(self, terms: Ints) -> PurchaseState:
        market = self.market.copy()
        market.bought |= market.uses[terms].any(axis=0)
        market.evaluated[terms] = True
        return market

    def _spent(self, market: PurchaseState) -> float:
        return market.costs.of(market.bought) + math.fsum(market.evaluation[market.evaluated])
