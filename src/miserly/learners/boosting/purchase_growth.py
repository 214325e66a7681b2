"""Purchase trees: which feature each row buys next, by the values that it has bought before.

All rows start in the root. In every step each leaf buys one feature, until nothing fits its budget. Before a
purchase a leaf is divided into parts by a small tree on what it has bought. Each part chooses its next
feature, and neighbours that choose the same are joined again. So the tree branches only where rows need
different features.

A part chooses by its own rows, and as if `PRIOR` further rows were like the mean of its leaf: a few rows
choose as their neighbours do, unless the difference is clear. Gains are those of `miserly.grow.level_gain`,
with scores of models that did not learn from the row. Where another feature fits, the gain includes that of
the best next one for each value: the choice looks one purchase ahead.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from miserly.costs import Costs, Ledger
from miserly.learners.boosting.purchase_table import PurchaseTable
from miserly.learners.common.purchase_branches import Branch
from miserly.learners.common.purchase_orders import fill

__all__ = ["GrowthLimits", "first_purchases", "grow_purchases"]

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Features = tuple[int, ...]

N_PARTS = 4  # into which a leaf is divided, at most
PRIOR = 100.0  # rows
N_AHEAD = 8  # features whose next purchase is looked at
N_CELLS = 4  # by the value of such a feature
MIN_CELL = 20  # rows
ONE_BY_ONE = 8  # purchases; then several come at a time ...
BATCH = 0.25  # ... such a share of those before
FREE = 1e-3  # of the cheapest price: what a free feature counts as
DIGITS = 9  # of rates that are compared


@dataclass(frozen=True)
class GrowthLimits:
    """Limits of a purchase tree.

    Attributes
    ----------
    max_leaves : int
        Largest number of leaves.
    min_rows : int
        Smallest number of rows in a leaf.
    alpha : float
        Power of the price: features are compared by gain per price^alpha.
    looks_ahead : bool
        Whether the gain of a feature includes that of the purchase after it.
    """

    max_leaves: int
    min_rows: int
    alpha: float
    looks_ahead: bool


def grow_purchases(
    table: PurchaseTable, costs: Costs, budget: float, limits: GrowthLimits, first: Features = ()
) -> Branch:
    """Grow a purchase tree.

    Parameters
    ----------
    table : PurchaseTable
        Rows, and models on what they have bought.
    costs : Costs
        The prices.
    budget : float
        Cap on the features of each path.
    limits : GrowthLimits
        Limits of the tree.
    first : tuple of int, default=()
        Features that all rows buy first. Together they fit the budget.

    Returns
    -------
    Branch
        The root.
    """
    root = Branch(np.arange(len(table.rows)), first)
    ledgers = {root: _after(Ledger(costs, budget), first)}
    while ledgers:
        scores = table.honest_scores(root.leaves)
        n_leaves = len(root.leaves)
        following: dict[Branch, Ledger] = {}
        for leaf, ledger in ledgers.items():
            n_splits = N_PARTS - 1  # on a path, at most
            n_parts = min(N_PARTS, 1 + limits.max_leaves - n_leaves) if ledger.can_evaluate(n_splits) else 1
            before = ledger if n_parts == 1 else _after(ledger, (), n_splits)
            chooser = _Chooser(table, scores, before, leaf.bought, limits)
            _divide_and_buy(leaf, chooser, n_parts, limits.min_rows)
            n_leaves += len(leaf.leaves) - 1
            for part, depth in zip(leaf.leaves, leaf.depths, strict=True):
                new = part.bought[len(chooser.bought) :]
                if new:
                    following[part] = _after(ledger, new, depth)
        ledgers = following
    return root


def first_purchases(
    table: PurchaseTable, costs: Costs, budget: float, limits: GrowthLimits, n: int
) -> list[Features]:
    """The features that all rows may buy first: the best with the purchase after them, the best first.

    Parameters
    ----------
    table : PurchaseTable
        Rows.
    costs : Costs
        The prices.
    budget : float
        Cap on the features of each path.
    limits : GrowthLimits
        Limits of the tree.
    n : int
        How many are wanted.

    Returns
    -------
    list of tuple of int
        One feature in each; one empty tuple if none fits or gains.
    """
    root = Branch(np.arange(len(table.rows)))
    chooser = _Chooser(table, table.honest_scores([root]), Ledger(costs, budget), (), limits)
    return [(feature,) for feature in chooser.best_first(root.rows)[:n]] or [()]


def _after(ledger: Ledger, features: Features, n_splits: int = 0) -> Ledger:
    spent = ledger.copy()
    spent.evaluate(n_splits)
    for feature in features:
        spent.buy(feature)
    return spent


def _divide_and_buy(leaf: Branch, chooser: _Chooser, n_parts: int, min_rows: int) -> None:
    """Divide a leaf into parts, and let each buy its next feature; parts that buy the same are joined."""
    if not chooser.fits.any():
        return
    divided = chooser.table.divided(leaf.rows, leaf.bought, n_parts, min_rows)
    parts = [_Part(one.rows) for one in divided.leaves]
    for one, features in zip(divided.leaves, chooser.choose(parts), strict=True):
        one.bought = (*one.bought, *features)
    joined = _joined(divided)
    leaf.split, leaf.children = joined.split, joined.children
    if joined.split is None:
        leaf.bought = joined.bought


def _joined(branch: Branch) -> Branch:
    """A branch without splits whose sides have bought the same."""
    if branch.split is None:
        return branch
    low, high = (_joined(child) for child in branch.children)
    if low.split is None and high.split is None and low.bought == high.bought:
        return Branch(branch.rows, low.bought)
    return Branch(branch.rows, branch.bought, branch.split, (low, high))


@dataclass(eq=False)
class _Part:
    """Some rows of a leaf, and what they gain: by each feature, and with the best purchase after it."""

    rows: Ints
    gain: Floats = field(default_factory=lambda: np.zeros(0))
    later_gain: dict[int, float] = field(default_factory=dict)
    later_price: dict[int, float] = field(default_factory=dict)

    def both(self, feature: int) -> float:
        return float(self.gain[feature]) + self.later_gain[feature]


class _Chooser:
    """Chooses the next features of the parts of one leaf."""

    def __init__(
        self, table: PurchaseTable, scores: Floats, ledger: Ledger, bought: Features, limits: GrowthLimits
    ) -> None:
        self.table, self.bought = table, bought
        self._scores, self._ledger, self._limits = scores, ledger, limits
        self._prices = ledger.prices()
        own = ledger.costs.feature
        self._least = FREE * own[own > 0.0].min() if (own > 0.0).any() else 1.0
        self.fits = ~ledger.paid & ledger.fits(self._prices) & table.splittable

    def choose(self, parts: Sequence[_Part]) -> list[Features]:
        """The next features of each part: mostly one, none if none gains."""
        features = np.flatnonzero(self.fits)
        n_rows = sum(len(part.rows) for part in parts)
        for part in parts:
            part.gain = self.table.gains(features, part.rows, self._scores[part.rows])
        pooled = np.sum([part.gain for part in parts], axis=0) / n_rows
        gains = [part.gain + PRIOR * pooled for part in parts]
        if len(self.bought) >= ONE_BY_ONE:
            return [self._affordable(gain, int(BATCH * len(self.bought))) for gain in gains]
        shortlist = sorted({feature for gain in gains for feature in self._ranked(gain)[:N_AHEAD]})
        for part in parts:
            for feature in shortlist:
                part.later_gain[feature], part.later_price[feature] = self._later(part, feature)
        return [self._by_both(part, parts, shortlist)[:1] for part in parts]

    def best_first(self, rows: Ints) -> Features:
        """The features of largest gain together with the purchase after them, the best first."""
        if not self.fits.any():
            return ()
        part = _Part(rows)
        self.choose([part])
        return self._by_both(part, [part], sorted(part.later_gain))

    def _affordable(self, gain: Floats, n_most: int) -> Features:
        """The best features that gain something and fit together."""
        ranked = [feature for feature in self._ranked(gain) if gain[feature] > 0.0]
        return tuple(fill(ranked, self._ledger.copy())[:n_most])

    def _ranked(self, gain: Floats) -> Features:
        """The features that fit, those of the largest gain per price^alpha first."""
        order = _best_first(gain / self._power(self._prices))
        return tuple(int(feature) for feature in order if self.fits[feature])

    def _by_both(self, part: _Part, parts: Sequence[_Part], shortlist: list[int]) -> Features:
        """Features by gain per price^alpha, each together with the purchase after it, the best first."""
        prior = PRIOR / sum(len(other.rows) for other in parts)
        gain = np.array(
            [
                part.both(feature) + prior * sum(other.both(feature) for other in parts)
                for feature in shortlist
            ]
        )
        price = np.array([self._prices[feature] + part.later_price[feature] for feature in shortlist])
        order = _best_first(gain / self._power(price))
        return tuple(shortlist[place] for place in order if gain[place] > 0.0)

    def _later(self, part: _Part, feature: int) -> tuple[float, float]:
        """Total gain and mean price of the purchase after a feature, which may depend on its value."""
        after = _after(self._ledger, (feature,))
        prices = after.prices()
        features = np.flatnonzero(~after.paid & after.fits(prices) & self.table.splittable)
        gain = price = 0.0
        if len(features) and self._limits.looks_ahead:
            power = self._power(prices)
            cells = self.table.divided(part.rows, (*self.bought, feature), N_CELLS, MIN_CELL).leaves
            for cell in cells:
                scores, fall = self.table.corrected(cell.rows, self._scores[cell.rows])
                found = self.table.gains(features, cell.rows, scores)
                best = int(_best_first(found / power)[0])
                gain += fall + max(0.0, float(found[best]))
                price += float(prices[best]) * len(cell.rows) / len(part.rows)
            gain -= float(part.gain[feature])
        return gain, price

    def _power(self, prices: Floats) -> Floats:
        """Prices to the power alpha; what is free counts as a small part of the cheapest feature."""
        return np.asarray(np.maximum(prices, self._least) ** self._limits.alpha)


def _best_first(rate: Floats) -> Ints:
    """Places in falling order. Rates that differ by rounding are equal, and the lower place is first."""
    known = np.abs(rate[np.isfinite(rate)])
    scale = known.max(initial=0.0) or 1.0
    return np.argsort(-np.round(rate / scale, DIGITS), kind="stable")
