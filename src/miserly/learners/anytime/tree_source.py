"""The trees of AFR: grown on samples of the rows, within the budget, and paid for."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from miserly.costs import Ledger
from miserly.grow import Grower, Grown
from miserly.learners.anytime.snapshots import Owned

__all__ = ["MAX_HALVINGS", "TRADEOFF_FACTOR", "AFROptions", "TreeSource"]

Floats: TypeAlias = NDArray[np.float64]

TRADEOFF_FACTOR = 2.0  # divides the tradeoff from block to block
MAX_HALVINGS = 60  # of the tradeoff until a first split is affordable


@dataclass(frozen=True)
class AFROptions:
    """Options of a builder. A `tradeoff` of None starts at the first affordable purchase."""

    n_blocks: int
    n_dimensions: int
    max_dimensions: int | None
    n_trees: int
    step: float
    tradeoff: float | None
    reserve: float  # part of the budget that features may not use
    subsample: float
    seed: int


class TreeSource:
    """Grows trees for given targets, and records those that are kept.

    Attributes
    ----------
    ledger : Ledger
        Features and evaluations that are paid.
    trees : list of (class, tree)
        The trees kept, in the order they were grown.
    weight : array of (n,)
        Weights of the rows; 0 for validation rows.
    total_weight : float
        The sum of the weights.
    is_sampling : bool
        Whether trees are fitted to samples of the rows. The first tree is fitted to all rows.
    """

    def __init__(self, grower: Grower, ledger: Ledger, weight: Floats, options: AFROptions) -> None:
        self.grower = grower
        self.ledger = ledger
        self.weight = weight
        self.total_weight = float(weight.sum())
        self.trees: list[Owned] = []
        self.is_sampling = False
        self._options = options
        self._random = np.random.default_rng(options.seed)
        self._random_descent = np.random.default_rng([options.seed, 1])  # purchases do not depend on it

    def reset_random(self) -> None:
        """Return to the first random draw, and to trees on all rows."""
        self._random, self.is_sampling = np.random.default_rng(self._options.seed), False

    def grow(
        self, target: Floats, tradeoff: float, *, may_buy: bool = True, for_descent: bool = False
    ) -> Grown | None:
        """A tree; None if it has no split, or gains less than its evaluation costs."""
        if not self.ledger.can_evaluate():
            return None
        before = self.ledger.state()
        self.ledger.evaluate()
        weight = self._sampled_weight(self._random_descent if for_descent else self._random)
        evaluated = (len(self.trees) + 1) * self.ledger.costs.evaluation
        with self.ledger.reserving(max(0.0, self._options.reserve - evaluated)):
            grown = self.grower.fit_tree(
                target, weight, ledger=self.ledger, tradeoff=tradeoff, max_new_features=int(may_buy)
            )
        price = tradeoff * self.ledger.costs.evaluation * float(weight.sum())
        if grown.tree.n_leaves == 1 or grown.gain <= price:
            self.ledger.restore(before)
            return None
        return grown

    def keep(self, k: int, grown: Grown) -> None:
        """Record a tree of class `k`, and compute again what is spent."""
        self.trees.append((k, grown.tree))
        self.ledger.settle(len(self.trees), grown.bought)

    def first_tradeoff(self, residuals: list[Floats]) -> float:
        """The largest tradeoff at which a first tree buys a feature, among halves of a start value.

        At the start value no gain could pay for the cheapest feature.
        """
        prices = self.ledger.prices()
        if not (prices > 0).any():
            return 0.0
        most = max(0.5 * float(self.weight @ residual**2) / self.total_weight for residual in residuals)
        tradeoff = most / float(prices[prices > 0].min())
        before = self.ledger.state()
        for _ in range(MAX_HALVINGS):
            found = [self.grow(residual, tradeoff) for residual in residuals]
            self.ledger.restore(before)
            if any(grown is not None and grown.bought for grown in found):
                break
            tradeoff /= TRADEOFF_FACTOR
        return tradeoff

    def can_spend(self) -> bool:
        """Whether a smaller tradeoff could change anything."""
        if self.ledger.costs.evaluation > 0:
            return self.ledger.can_evaluate()
        return bool((~self.ledger.paid & self.ledger.fits(self.ledger.prices())).any())

    def _sampled_weight(self, random: np.random.Generator) -> Floats:
        """Weights of the rows for one tree; 0 for rows that are not in its sample."""
        if self._options.subsample == 1.0 or not self.is_sampling:
            return self.weight
        chosen = random.random(len(self.weight)) < self._options.subsample
        chosen[0] = True  # at least one
        return np.where(chosen, self.weight, 0.0)
