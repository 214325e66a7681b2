"""Trees whose leaves vote, grown one split at a time by whoever is told what each split would bring.

Rows push as in `stumps`. The rows of a leaf push class `k` by ``S_k`` in all, with ``M_k`` the sum of the
sizes of their pushes. Where every leaf votes with the weight that is best for it, which is
``1/2 ln((M + S) / (M - S))``, the exponential loss is multiplied by the sum over leaves of

    bound = sum_k share_k sqrt(M_k^2 - S_k^2)

(Schapire and Singer 1999, eq. 15), so a split lowers it by ``fall = bound - bound of left - bound of right``,
never by less than zero. As an impurity of plain class shares this is the one of Kearns and Mansour (1996).
Missing values, categories and ties are as in `stumps`.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from miserly.grow.binning import Binned
from miserly.grow.compiled import build, compiled, prange, threaded, threads
from miserly.grow.histogram import BLOCK, fill, table_of
from miserly.grow.stumps import ONE, TIE, Stump, Survey, sides_of, threshold_of, words_of
from miserly.plan.terms import Tree

__all__ = ["Growing", "Leaf", "VoteTrees"]

Floats = NDArray[np.float64]


@dataclass(eq=False)
class Leaf:
    """Some rows, what they push, and what splitting them on each feature would bring."""

    rows: NDArray[np.uint32]
    node: int
    depth: int
    push: Floats  # (K,): S
    size: Floats  # (K,): M
    bound: float
    found: Survey

    def votes(self, smoothing: float) -> Floats:
        """The best weight of this leaf's vote for each class, a little smaller where all rows agree."""
        right, wrong = (self.size + self.push) / 2, (self.size - self.push) / 2
        votes: Floats = 0.5 * np.log((right + smoothing) / (wrong + smoothing))
        return votes


@dataclass(eq=False)
class Growing:
    """A tree while it grows: its leaves, and its splits so far."""

    trees: VoteTrees
    push: NDArray[np.int64]  # (K, n), in units of 1 / ONE
    share: Floats  # (K,)
    max_depth: int
    leaves: list[Leaf] = field(default_factory=list)
    splits: dict[int, tuple[Stump, bool]] = field(default_factory=dict)  # of nodes; where missing values go
    children: dict[int, tuple[int, int]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        every = np.arange(self.trees.binned.n_rows, dtype=np.uint32)
        self.leaves.append(self._leaf(every, 0, 0))

    @property
    def bound(self) -> float:
        """What the loss would be multiplied by if every leaf voted now."""
        return sum(leaf.bound for leaf in self.leaves)

    @property
    def n_nodes(self) -> int:
        return 2 * len(self.splits) + 1

    def split(self, leaf: Leaf, feature: int) -> tuple[Leaf, Leaf]:
        """Split a leaf by the best cut of a feature; gives the new leaves."""
        found = leaf.found
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
        """The tree, with the values of its nodes (of which those of leaves count)."""
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
        """Where missing values go: as found, or where the leaf has none, the way of most of its rows."""
        binned = self.trees.binned
        missing_code = binned.bins.n_bins[stump.feature]
        if (binned.codes[stump.feature][leaf.rows] == missing_code).any():
            return stump.missing_left
        return bool(left.size @ self.share >= right.size @ self.share)

    def _leaf(self, rows: NDArray[np.uint32], node: int, depth: int) -> Leaf:
        push = self.push[:, rows]
        size = np.abs(push)
        pushed, sized = push.sum(axis=1), size.sum(axis=1)
        found = self.trees.survey(rows, push, size, self.share, depth < self.max_depth)
        bound = float(bound_of(pushed, sized, self.share))
        return Leaf(rows, node, depth, pushed / ONE, sized / ONE, bound, found)


class VoteTrees:
    """Trees that vote, on one binned data set.

    Examples
    --------
    Exclusive or, with one row that is heavier, so that a first split has something to go by:

    >>> from miserly.grow import Bins
    >>> X = np.array([[0, 0], [0, 1], [1, 0], [1, 1.0]])
    >>> trees = VoteTrees(Bins.fit(X).transform(X))
    >>> growing = trees.plant(np.array([[0.4, -0.2, -0.2, 0.2]]), np.ones(1), max_depth=2)
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
        self._table = table_of(binned)
        self._histograms = np.zeros((0, 0), dtype=np.int64)

    def plant(self, push: Floats, share: Floats, max_depth: int) -> Growing:
        """A tree of one leaf; `push` is (classes, n) and `share` (classes,), as in `Stumps.survey`."""
        return Growing(self, np.rint(push * ONE).astype(np.int64), share, max_depth)

    def survey(
        self,
        rows: NDArray[np.uint32],
        push: NDArray[np.int64],
        size: NDArray[np.int64],
        share: Floats,
        wanted: bool,
    ) -> Survey:
        """The best cut of every feature among some rows; none if not wanted or there is only one row."""
        d, n_classes = self.binned.n_features, len(share)
        found = Survey(np.zeros(d), np.full(d, -1, dtype=np.int64), np.zeros(d, dtype=np.bool_))
        if not wanted or len(rows) < 2:
            return found
        if len(self._histograms) != 2 * n_classes:
            self._histograms = np.zeros((2 * n_classes, int(self._table.start[-1])), dtype=np.int64)
        with threads(self.n_threads, d * len(rows) * 2 * n_classes):
            build(_fill_all)(self._histograms, self._table, rows, np.concatenate([push, size]))
            totals = push.sum(axis=1), size.sum(axis=1)
            build(_scan_all)(self._table, self._histograms, *totals, share, *found)
        return found


@compiled
def bound_of(push, size, share):
    """sum_k share_k sqrt(M^2 - S^2), from whole numbers."""
    bound = 0.0
    for k in range(len(share)):
        bound += share[k] * bound_of_class(push[k], size[k])
    return bound


@compiled
def bound_of_both(left, left_size, push, size, share):
    """The bound of a left side and of the rest."""
    bound = 0.0
    for k in range(len(share)):
        one = bound_of_class(left[k], left_size[k])
        bound += share[k] * (one + bound_of_class(push[k] - left[k], size[k] - left_size[k]))
    return bound


@compiled
def bound_of_class(push, size):
    return np.sqrt(((size - push) / ONE) * ((size + push) / ONE))


@threaded
def _fill_all(histograms, table, rows, words):
    """The sum of each line of words in every bin of every feature."""
    d = len(table.start) - 1
    blocks = -(-d // BLOCK)
    for job in prange(blocks * len(words)):
        line, first = job // blocks, (job % blocks) * BLOCK
        features = np.arange(first, min(d, first + BLOCK))
        fill(histograms[line], table, features, rows, words[line], 1)


@threaded
def _scan_all(table, histograms, push, size, share, fall, cut, missing_left):
    whole = bound_of(push, size, share)
    for f in prange(len(fall)):
        first, last = table.start[f], table.start[f + 1]
        mine = histograms[:, first:last]
        fall[f], cut[f] = best_cut(mine, push, size, share, whole, table.categorical[f], False)
        if table.categorical[f]:
            missing_left[f] = cut[f] == last - first - 1
        elif mine[len(share), last - first - 1] > 0:
            other, other_cut = best_cut(mine, push, size, share, whole, False, True)
            if other > fall[f] * (1.0 + TIE):
                fall[f], cut[f], missing_left[f] = other, other_cut, True


@compiled
def best_cut(histograms, push, size, share, whole, categorical, missing_left):
    """The fall and place of the best cut; one that leaves rows on both sides. Bins without size have no rows.

    `histograms` has a line per class for pushes and one for sizes; the last bin is that of missing values.
    Of categories one stands alone, and missing values are one too.
    """
    n_classes, n = len(share), histograms.shape[1] - 1
    left = np.zeros(n_classes, np.int64)
    left_size = np.zeros(n_classes, np.int64)
    if missing_left:
        left[:] = histograms[:n_classes, n]
        left_size[:] = histograms[n_classes:, n]
    best, place = 0.0, np.int64(-1)
    for b in range(n + 1 if categorical else n):
        if histograms[n_classes, b] == 0:
            continue
        if categorical:
            left[:] = 0
            left_size[:] = 0
        for k in range(n_classes):
            left[k] += histograms[k, b]
            left_size[k] += histograms[n_classes + k, b]
        if left_size[0] == size[0]:
            continue
        fall = whole - bound_of_both(left, left_size, push, size, share)
        if fall > best * (1.0 + TIE) + 1e-15:  # which is what rounding does
            best = fall
            apart = not missing_left and left_size[0] + histograms[n_classes, n] == size[0]
            place = np.int64(n - 1 if apart and not categorical else b)
    return best, place
