"""Trees whose leaves vote, grown one split at a time. The caller chooses each split.

Signed weights are as in `stumps`. The rows of a leaf have signed weights of class `k` that sum to ``S_k``,
and weights that sum to ``M_k``. If every leaf votes with its best coefficient, ``1/2 ln((M + S) / (M - S))``,
the exponential loss is multiplied by the sum over leaves of

    bound = sum_k share_k sqrt(M_k^2 - S_k^2)

(Schapire and Singer 1999, eq. 15). So a split lowers the factor by ``decrease = bound - bound of left - bound
of right``, which is never negative. As an impurity of class shares this is the one of Kearns and Mansour
(1996). Missing values, categories and ties are handled as in `stumps`.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from miserly.grow.binning import Binned
from miserly.grow.compiled import build, compiled, prange, threaded, threads
from miserly.grow.histogram import BLOCK, binned_columns, fill
from miserly.grow.stumps import ONE, TIE, BestCuts, Stump, sides_of, threshold_of, words_of
from miserly.plan.terms import Tree

__all__ = ["GrowingTree", "Leaf", "VoteTrees"]

Floats = NDArray[np.float64]


@dataclass(eq=False)
class Leaf:
    """The rows of one leaf, their weights, and the best cut of each feature."""

    rows: NDArray[np.uint32]
    node: int
    depth: int
    signed_weight: Floats  # (K,): S
    weight: Floats  # (K,): M
    bound: float
    best_cuts: BestCuts

    def votes(self, smoothing: float) -> Floats:
        """The best coefficient of this leaf's vote for each class. Smoothing keeps it finite."""
        right, wrong = (self.weight + self.signed_weight) / 2, (self.weight - self.signed_weight) / 2
        votes: Floats = 0.5 * np.log((right + smoothing) / (wrong + smoothing))
        return votes


@dataclass(eq=False)
class GrowingTree:
    """A tree while it grows: its leaves, and its splits so far."""

    trees: VoteTrees
    signed_weight: NDArray[np.int64]  # (K, n), in units of 1 / ONE
    share: Floats  # (K,)
    max_depth: int
    leaves: list[Leaf] = field(default_factory=list)
    splits: dict[int, tuple[Stump, bool]] = field(
        default_factory=dict
    )  # by node; whether missing values go left
    children: dict[int, tuple[int, int]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        every = np.arange(self.trees.binned.n_rows, dtype=np.uint32)
        self.leaves.append(self._leaf(every, 0, 0))

    @property
    def bound(self) -> float:
        """The factor by which the votes of the current leaves multiply the loss."""
        return sum(leaf.bound for leaf in self.leaves)

    @property
    def n_nodes(self) -> int:
        """Number of nodes, leaves included."""
        return 2 * len(self.splits) + 1

    def split(self, leaf: Leaf, feature: int) -> tuple[Leaf, Leaf]:
        """Split a leaf by the best cut of a feature. Returns the two new leaves."""
        found = leaf.best_cuts
        stump = Stump(feature, int(found.cut[feature]), bool(found.missing_left[feature]))
        binned = self.trees.binned
        goes_left = (sides_of(binned.bins, stump) > 0)[binned.codes[feature][leaf.rows]]
        first = self.n_nodes
        left = self._leaf(leaf.rows[goes_left], first, leaf.depth + 1)
        right = self._leaf(leaf.rows[~goes_left], first + 1, leaf.depth + 1)
        self.splits[leaf.node] = stump, self._missing_left(stump, leaf, left, right)
        self.children[leaf.node] = first, first + 1
        self.leaves.remove(leaf)
        self.leaves += [left, right]
        return left, right

    def tree(self, values: Floats, evaluation: float) -> Tree:
        """The tree as a term. `values` has one entry per node; those of inner nodes are not used."""
        bins, n = self.trees.binned.bins, self.n_nodes
        feature, category = np.full(n, -1), np.full(n, -1)
        threshold, missing_left = np.zeros(n), np.zeros(n, dtype=np.bool_)
        left, right = np.zeros((2, n), dtype=np.int32)
        words: list[NDArray[np.uint32]] = []
        for node, (stump, missing) in self.splits.items():
            feature[node], threshold[node] = stump.feature, threshold_of(bins, stump)
            missing_left[node] = missing
            left[node], right[node] = self.children[node]
            word = words_of(bins, stump)
            if word is not None:
                category[node] = len(words)
                words.append(word)
        value = np.where(feature < 0, values, 0.0)
        bits = np.array(words) if words else None
        return Tree(feature, threshold, left, right, missing_left, value, category, bits, evaluation)

    def _missing_left(self, stump: Stump, leaf: Leaf, left: Leaf, right: Leaf) -> bool:
        """Whether missing values go left. If the leaf has none, they follow the larger total weight."""
        binned = self.trees.binned
        missing_code = binned.bins.n_bins[stump.feature]
        if (binned.codes[stump.feature][leaf.rows] == missing_code).any():
            return stump.missing_left
        return bool(left.weight @ self.share >= right.weight @ self.share)

    def _leaf(self, rows: NDArray[np.uint32], node: int, depth: int) -> Leaf:
        signed_weight = self.signed_weight[:, rows]
        weight = np.abs(signed_weight)
        total_signed, total_weight = signed_weight.sum(axis=1), weight.sum(axis=1)
        found = self.trees.best_cuts(rows, signed_weight, weight, self.share, depth < self.max_depth)
        bound = float(bound_of(total_signed, total_weight, self.share))
        return Leaf(rows, node, depth, total_signed / ONE, total_weight / ONE, bound, found)


class VoteTrees:
    """Trees that vote, on one binned data set.

    Examples
    --------
    Exclusive or. One row has a larger weight; otherwise no first split would lower the loss:

    >>> from miserly.grow import Bins
    >>> X = np.array([[0, 0], [0, 1], [1, 0], [1, 1.0]])
    >>> trees = VoteTrees(Bins.fit(X).transform(X))
    >>> growing = trees.start_tree(np.array([[0.4, -0.2, -0.2, 0.2]]), np.ones(1), max_depth=2)
    >>> round(growing.bound, 4)
    0.9798
    >>> left, right = growing.split(growing.leaves[0], 0)
    >>> _ = growing.split(left, 1), growing.split(right, 1)
    >>> growing.bound, len(growing.leaves)
    (0.0, 4)
    """

    def __init__(self, binned: Binned, n_threads: int | None = None) -> None:
        self.binned = binned
        self.n_threads = n_threads
        self._columns = binned_columns(binned)
        self._histograms = np.zeros((0, 0), dtype=np.int64)

    def start_tree(self, signed_weight: Floats, share: Floats, max_depth: int) -> GrowingTree:
        """A tree of one leaf. `signed_weight` is (classes, n), `share` is (classes,), as in `stumps`."""
        return GrowingTree(self, np.rint(signed_weight * ONE).astype(np.int64), share, max_depth)

    def best_cuts(
        self,
        rows: NDArray[np.uint32],
        signed_weight: NDArray[np.int64],
        weight: NDArray[np.int64],
        share: Floats,
        wanted: bool,
    ) -> BestCuts:
        """The best cut of every feature among `rows`. None if not `wanted`, or if there is only one row."""
        d, n_classes = self.binned.n_features, len(share)
        found = BestCuts(np.zeros(d), np.full(d, -1, dtype=np.int64), np.zeros(d, dtype=np.bool_))
        if not wanted or len(rows) < 2:
            return found
        if len(self._histograms) != 2 * n_classes:
            self._histograms = np.zeros((2 * n_classes, int(self._columns.start[-1])), dtype=np.int64)
        with threads(self.n_threads, d * len(rows) * 2 * n_classes):
            build(_fill_all)(self._histograms, self._columns, rows, np.concatenate([signed_weight, weight]))
            totals = signed_weight.sum(axis=1), weight.sum(axis=1)
            build(_scan_all)(self._columns, self._histograms, *totals, share, *found)
        return found


@compiled
def bound_of(signed_weight, weight, share):
    """sum_k share_k sqrt(M^2 - S^2), from integer sums."""
    bound = 0.0
    for k in range(len(share)):
        bound += share[k] * bound_of_class(signed_weight[k], weight[k])
    return bound


@compiled
def bound_of_both(left, left_weight, signed_weight, weight, share):
    """The sum of the bounds of the left side and of the right side."""
    bound = 0.0
    for k in range(len(share)):
        one = bound_of_class(left[k], left_weight[k])
        bound += share[k] * (one + bound_of_class(signed_weight[k] - left[k], weight[k] - left_weight[k]))
    return bound


@compiled
def bound_of_class(signed_weight, weight):
    return np.sqrt(((weight - signed_weight) / ONE) * ((weight + signed_weight) / ONE))


@threaded
def _fill_all(histograms, columns, rows, words):
    """The sum of each row of `words` in every bin of every feature."""
    d = len(columns.start) - 1
    blocks = -(-d // BLOCK)
    for job in prange(blocks * len(words)):
        line, first = job // blocks, (job % blocks) * BLOCK
        features = np.arange(first, min(d, first + BLOCK))
        fill(histograms[line], columns, features, rows, words[line], 1)


@threaded
def _scan_all(columns, histograms, signed_weight, weight, share, decrease, cut, missing_left):
    whole = bound_of(signed_weight, weight, share)
    for f in prange(len(decrease)):
        first, last = columns.start[f], columns.start[f + 1]
        mine = histograms[:, first:last]
        decrease[f], cut[f] = best_cut(
            mine, signed_weight, weight, share, whole, columns.categorical[f], False
        )
        if columns.categorical[f]:
            missing_left[f] = cut[f] == last - first - 1
        elif mine[len(share), last - first - 1] > 0:
            other, other_cut = best_cut(mine, signed_weight, weight, share, whole, False, True)
            if other > decrease[f] * (1.0 + TIE):
                decrease[f], cut[f], missing_left[f] = other, other_cut, True


@compiled
def best_cut(histograms, signed_weight, weight, share, whole, categorical, missing_left):
    """Decrease and bin of the best cut that leaves rows on both sides. A bin of weight 0 has no rows.

    `histograms` has one row per class for signed weights, then one per class for weights. The last bin holds
    missing values. One category is separated from all others; missing values are a category too.
    """
    n_classes, n = len(share), histograms.shape[1] - 1
    left = np.zeros(n_classes, np.int64)
    left_weight = np.zeros(n_classes, np.int64)
    if missing_left:
        left[:] = histograms[:n_classes, n]
        left_weight[:] = histograms[n_classes:, n]
    best, place = 0.0, np.int64(-1)
    for b in range(n + 1 if categorical else n):
        if histograms[n_classes, b] == 0:
            continue
        if categorical:
            left[:] = 0
            left_weight[:] = 0
        for k in range(n_classes):
            left[k] += histograms[k, b]
            left_weight[k] += histograms[n_classes + k, b]
        if left_weight[0] == weight[0]:
            continue
        decrease = whole - bound_of_both(left, left_weight, signed_weight, weight, share)
        if decrease > best * (1.0 + TIE) + 1e-15:  # the size of rounding errors
            best = decrease
            apart = not missing_left and left_weight[0] + histograms[n_classes, n] == weight[0]
            place = np.int64(n - 1 if apart and not categorical else b)
    return best, place
