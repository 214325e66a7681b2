"""Purchase trees grown by rollouts: a purchase is chosen by where the rest of the budget leads after it.

In each node the features of largest fall of the impurity are candidates. After each of them greedy trees
spend the rest of the budget, and the candidate with the least impurity at the ends is bought. So the choice
looks ahead to the end of the budget, not one purchase. Splits on features that are paid come before
purchases where they tell as much.

A leaf with too few rows to divide buys on without dividing, by cells of its rows, if it is to spend the whole
budget.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from miserly.costs import Ledger
from miserly.grow.class_cuts import ClassRows, class_cuts, impurity_of
from miserly.grow.rollouts import Greed, rollouts
from miserly.learners.common.purchase_branches import Branch, Split

__all__ = ["RolloutLimits", "grow_by_rollouts"]

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

N_CANDIDATES = 32  # features in each node whose greedy trees are compared
N_FEATURES = 128  # that these trees may use: those of largest fall in the node
LEAST_FALL = 1e-9  # share of the impurity
MOST_DEPTH = 32  # splits on a path
MIN_CELL = 5  # rows on a side of a cell in a leaf that buys on
FREE = 1e-3  # of the cheapest price: what a free feature counts as
DIGITS = 9  # of numbers that are compared


@dataclass(frozen=True)
class RolloutLimits:
    """How a purchase tree is grown by rollouts.

    Attributes
    ----------
    max_leaves : int
        Largest number of leaves.
    min_rows : int
        Smallest number of rows on a side of a split.
    alpha : float
        Power of the price: falls of the impurity are compared per price^alpha.
    kind : int
        Place of the impurity in `IMPURITIES`.
    spends_all : bool, default=True
        Whether leaves with too few rows to divide spend the rest of the budget.
    n_candidates : int, default=32
        Features in each node whose greedy trees are compared.
    """

    max_leaves: int
    min_rows: int
    alpha: float
    kind: int
    spends_all: bool = True
    n_candidates: int = N_CANDIDATES


def grow_by_rollouts(
    data: ClassRows,
    ledger: Ledger,
    limits: RolloutLimits,
    n_threads: int | None = None,
    allowed: NDArray[np.bool_] | None = None,
) -> Branch:
    """Grow a purchase tree.

    Parameters
    ----------
    data : ClassRows
        Training rows.
    ledger : Ledger
        The prices, and the budget of each path.
    limits : RolloutLimits
        Limits of the tree.
    n_threads : int, optional
        Number of threads. The tree does not depend on it.
    allowed : bool array of (d,), optional
        Features that it may buy. All by default.

    Returns
    -------
    Branch
        The root. Neighbours that buy the same are one leaf.
    """
    root = Branch(np.arange(len(data.y)))
    every = np.ones(len(data.codes), dtype=np.bool_)
    _Grower(data, limits, n_threads, every if allowed is None else allowed).grow(root, ledger.copy(), 0)
    return _pruned(_joined(root), limits.max_leaves)


class _Grower:
    def __init__(
        self, data: ClassRows, limits: RolloutLimits, n_threads: int | None, allowed: NDArray[np.bool_]
    ) -> None:
        self._data, self._limits, self._n_threads, self._allowed = data, limits, n_threads, allowed

    def grow(self, branch: Branch, ledger: Ledger, depth: int) -> None:
        """Let the rows of a branch buy, and divide them, until the budget is spent."""
        found = self._best_split(branch, ledger) if depth < MOST_DEPTH else None
        if found is None:
            if self._limits.spends_all:
                branch.bought = (*branch.bought, *self._filled(branch.rows, ledger))
            return
        after = ledger.copy()
        if not after.is_paid(found.feature):
            after.buy(found.feature)
            branch.bought = (*branch.bought, found.feature)
        after.evaluate(1)
        low = found.goes_low_codes(self._data.codes, branch.rows)
        branch.split = found
        branch.children = (Branch(branch.rows[low], branch.bought), Branch(branch.rows[~low], branch.bought))
        for child in branch.children:
            self.grow(child, after, depth + 1)

    def _best_split(self, branch: Branch, ledger: Ledger) -> Split | None:
        """The next split of a branch: on a paid feature, or on the one with the best greedy trees."""
        rows, limits, prices = branch.rows, self._limits, ledger.prices()
        fitting = np.asarray(ledger.fits(prices + ledger.costs.evaluation)) & self._allowed
        new = np.flatnonzero(fitting & ~ledger.paid)
        if len(rows) < 2 * limits.min_rows or not len(new):
            return None
        fall, cut = self._falls(rows, np.flatnonzero(fitting), len(prices), limits.min_rows)
        free = np.where(ledger.paid, fall, -np.inf)
        bought = np.where(ledger.paid, -np.inf, fall)
        if max(fall.max(), 0.0) <= 0.0:
            return None
        if free.max() >= bought.max():
            best = _first_best(free)
            return Split(best, int(cut[best]))
        power = _power(ledger, limits.alpha)
        order = np.argsort(-_rounded(bought / power), kind="stable")
        candidates = order[: limits.n_candidates]
        candidates = candidates[bought[candidates] > 0.0]
        best = int(candidates[0])
        if len(candidates) > 1:
            useful = np.argsort(-_rounded(bought), kind="stable")[:N_FEATURES]
            features = np.union1d(useful[bought[useful] > 0.0], np.flatnonzero(ledger.paid))
            greed = Greed(limits.kind, power, limits.min_rows)
            starts = candidates, cut[candidates]
            ends = rollouts(self._data, rows, starts, features, ledger, greed, self._n_threads)
            best = int(candidates[_first_best(-ends)])
        return Split(best, int(cut[best]))

    def _falls(self, rows: Ints, features: Ints, n_features: int, min_rows: int) -> tuple[Floats, Ints]:
        """The fall of the impurity by the best cut of some features, and the cuts; else minus infinity."""
        here = impurity_of(self._data, rows, self._limits.kind)
        fall, cut = np.full(n_features, -np.inf), np.zeros(n_features, dtype=np.int64)
        after, cut[features] = class_cuts(
            self._data, rows, features, self._limits.kind, min_rows, self._n_threads
        )
        fall[features] = here - after
        fall[fall <= LEAST_FALL * here] = -np.inf
        return fall, cut

    def _filled(self, rows: Ints, ledger: Ledger) -> list[int]:
        """What rows that are not divided any more buy: features that tell most in cells of these rows."""
        bought: list[int] = []
        spent, cells = ledger.copy(), [rows]
        while True:
            fitting = np.asarray(spent.fits(spent.prices())) & ~spent.paid & self._allowed
            features = np.flatnonzero(fitting)
            if not len(features):
                return bought
            found = [self._falls(cell, features, len(fitting), MIN_CELL) for cell in cells]
            total = np.sum([np.where(np.isfinite(fall), fall, 0.0) for fall, _ in found], axis=0)
            rate = np.where(fitting, total / _power(spent, self._limits.alpha), -np.inf)
            best = _first_best(rate)
            if total[best] <= 0.0:
                return bought
            spent.buy(best)
            bought.append(best)
            cells = [
                part
                for cell, (fall, cut) in zip(cells, found, strict=True)
                for part in self._parts(cell, best, int(cut[best]) if np.isfinite(fall[best]) else -1)
            ]

    def _parts(self, rows: Ints, feature: int, cut: int) -> list[Ints]:
        low = self._data.codes[feature][rows].astype(np.int64) <= cut
        return [rows[low], rows[~low]] if low.any() else [rows]


def _power(ledger: Ledger, alpha: float) -> Floats:
    """Prices to the power alpha; what is free counts as a small part of the cheapest feature."""
    own = ledger.costs.feature
    least = FREE * own[own > 0.0].min() if (own > 0.0).any() else 1.0
    return np.asarray(np.maximum(ledger.prices(), least) ** alpha)


def _rounded(values: Floats) -> Floats:
    """Values with differences by rounding taken away, so that ties do not depend on the unit of prices."""
    known = np.abs(values[np.isfinite(values)])
    return np.asarray(np.round(values / (known.max(initial=0.0) or 1.0), DIGITS))


def _first_best(values: Floats) -> int:
    """The place of the largest value; the first of equal ones."""
    return int(_rounded(values).argmax())


def _joined(branch: Branch) -> Branch:
    """A branch without splits whose sides buy the same."""
    if branch.split is None:
        return branch
    low, high = (_joined(child) for child in branch.children)
    if low.split is None and high.split is None and set(low.bought) == set(high.bought):
        return Branch(branch.rows, low.bought)
    return Branch(branch.rows, branch.bought, branch.split, (low, high))


def _pruned(root: Branch, max_leaves: int) -> Branch:
    """A branch with at most so many leaves.

    Splits into two leaves are taken back, that with the fewest rows on its smaller side first: all rows buy
    what most of them bought.
    """
    while len(root.leaves) > max_leaves:
        last = [one for one in _splits(root) if all(child.split is None for child in one.children)]
        least = min(last, key=lambda one: min(len(child.rows) for child in one.children))
        most = max(least.children, key=lambda child: len(child.rows))
        least.split, least.children, least.bought = None, (), most.bought
        root = _joined(root)
    return root


def _splits(branch: Branch) -> list[Branch]:
    """All branches with a split, parents before children."""
    if branch.split is None:
        return []
    return [branch, *(one for child in branch.children for one in _splits(child))]
