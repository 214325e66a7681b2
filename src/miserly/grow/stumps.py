"""Stumps: trees of one split that vote +1 on the left and -1 on the right, all evaluated at once.

``signed_weight[k, i]`` is the weight of row `i` for class `k`, times +1 if the row belongs to the class and
-1 if not. The weights of a class sum to 1. The *edge* of a stump for a class is the sum of signed weight
times vote. With the best coefficient of the vote, the exponential loss of the class is multiplied by ``sqrt(1
- edge^2)``. Class `k` has the share ``share[k]`` of the loss of all classes, so that loss falls by the
fraction

    decrease = sum_k share_k (1 - sqrt(1 - edge_k^2))

`Stumps.best_cuts` finds the cut of largest decrease of every feature from histograms of integers. Signed
weights are in units of 2^-60, so their sums do not depend on the order of the rows. A column of two bins
needs no histogram, only the sum of one bin. Missing values are tried on both sides. In a categorical column
one category is separated from all others, and missing values are a category too. A cut must leave rows on
both sides. If decreases differ by no more than rounding, the lowest cut wins, then missing values on the
right.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from miserly.grow.binning import Binned, Bins
from miserly.grow.compiled import build, compiled, prange, threaded, threads
from miserly.grow.histogram import BLOCK, binned_columns, fill
from miserly.plan.terms import Tree, category_words

__all__ = ["ONE", "TIE", "BestCuts", "Stump", "Stumps", "sides_of", "threshold_of", "words_of"]

ONE = float(2**60)  # a weight of 1 as an integer; twice a sum of weights less another sum fits 63 bits
TIE = 1e-9  # relative; decreases that differ by less are equal


class BestCuts(NamedTuple):
    """The best cut of every feature."""

    decrease: NDArray[np.float64]  # (d,): 0 if there is no cut
    cut: NDArray[np.int64]  # (d,): the last bin on the left, or the only bin there in a categorical column
    missing_left: NDArray[np.bool_]  # (d,)


@dataclass(frozen=True)
class Stump:
    """One split. Bins up to `cut` go left; in a categorical column only bin `cut` does."""

    feature: int
    cut: int
    missing_left: bool


class Stumps:
    """All stumps on one binned data set.

    Examples
    --------
    Four rows of equal weight, of which the first two belong to the positive class:

    >>> from miserly.grow import Bins
    >>> X = np.array([[1.0, 5.0], [2.0, 7.0], [3.0, 5.0], [4.0, 7.0]])
    >>> stumps = Stumps(Bins.fit(X).transform(X))
    >>> found = stumps.best_cuts(np.array([[1, 1, -1, -1]]) / 4, np.ones(1))
    >>> found.decrease.tolist(), int(found.cut[0])
    ([1.0, 0.0], 1)
    >>> stumps.votes(Stump(0, 1, False)).tolist()
    [1.0, 1.0, -1.0, -1.0]
    """

    def __init__(self, binned: Binned, n_threads: int | None = None) -> None:
        self.binned = binned
        self.n_threads = n_threads
        self._columns = binned_columns(binned)
        bins = binned.bins
        binary = (bins.n_bins == 2) & ~binned.has_missing & ~bins.categorical
        self._binary, self._other = np.flatnonzero(binary), np.flatnonzero(~binary)
        self._rows_in_bin = np.zeros(int(self._columns.start[-1]), dtype=np.int64)
        self._sums = np.zeros((0, len(self._rows_in_bin)), dtype=np.int64)
        with threads(n_threads, binned.codes.size):
            ones = np.ones(binned.n_rows, dtype=np.int64)
            build(_fill_all)(self._rows_in_bin, self._columns, self._binary, self._other, ones, binned.n_rows)

    def best_cuts(self, signed_weight: NDArray[np.float64], share: NDArray[np.float64]) -> BestCuts:
        """The best cut of every feature. `signed_weight` is (classes, n), `share` is (classes,)."""
        words = np.rint(signed_weight * ONE).astype(np.int64)
        totals = words.sum(axis=1)
        if len(self._sums) != len(words):
            self._sums = np.zeros((len(words), len(self._rows_in_bin)), dtype=np.int64)
        d = self.binned.n_features
        found = BestCuts(np.zeros(d), np.full(d, -1, dtype=np.int64), np.zeros(d, dtype=np.bool_))
        with threads(self.n_threads, self.binned.codes.size * len(words)):
            for sums, word, total in zip(self._sums, words, totals, strict=True):
                build(_fill_all)(sums, self._columns, self._binary, self._other, word, total)
            given = self._rows_in_bin, self._sums, totals, share
            build(_scan_binary)(self._columns.start, self._binary, *given, found.decrease, found.cut)
            build(_scan_other)(self._columns, self._other, *given, *found)
        return found

    def votes(self, stump: Stump) -> NDArray[np.float64]:
        """+1 for the rows on the left, -1 for those on the right."""
        votes: NDArray[np.float64] = sides_of(self.binned.bins, stump)[self.binned.codes[stump.feature]]
        return votes

    def tree(self, stump: Stump, left: float, missing_left: bool, evaluation: float) -> Tree:
        """The stump as a term that gives `left` on its left side and ``-left`` on its right."""
        words = words_of(self.binned.bins, stump)
        return Tree(
            feature=np.array([stump.feature, -1, -1]),
            threshold=np.array([threshold_of(self.binned.bins, stump), 0.0, 0.0]),
            left=np.array([1, 0, 0]),
            right=np.array([2, 0, 0]),
            missing_left=np.array([missing_left, False, False]),
            value=np.array([0.0, left, -left]),
            category=np.array([-1 if words is None else 0, -1, -1]),
            words=None if words is None else words[None, :],
            evaluation=evaluation,
        )


def sides_of(bins: Bins, stump: Stump) -> NDArray[np.float64]:
    """The vote of every bin of the stump's feature: +1 left, -1 right."""
    sides = np.full(256, -1.0)
    if bins.categorical[stump.feature]:
        sides[stump.cut] = 1.0
    else:
        sides[: stump.cut + 1] = 1.0
        sides[bins.n_bins[stump.feature]] = 1.0 if stump.missing_left else -1.0
    return sides


def threshold_of(bins: Bins, stump: Stump) -> float:
    """The largest value that goes left; 0 for a categorical column, which has no threshold."""
    return 0.0 if bins.categorical[stump.feature] else float(bins.edges[stump.feature, stump.cut])


def words_of(bins: Bins, stump: Stump) -> NDArray[np.uint32] | None:
    """The category that goes left as a bit set; None for a numeric column."""
    if not bins.categorical[stump.feature]:
        return None
    return category_words([stump.cut] if stump.cut < bins.n_bins[stump.feature] else [])


@threaded
def _fill_all(sums, columns, binary, other, words, total):
    """The sum of `words` in every bin of every feature; `total` is their sum over all rows."""
    for j in prange(len(binary)):
        f = binary[j]
        upper = sum_of_ones(columns.codes[f], words)
        first = columns.start[f]
        sums[first] = total - upper
        sums[first + 1] = upper
        sums[first + 2] = 0
    every_row = np.empty(0, np.uint32)
    for block in prange(-(-len(other) // BLOCK)):
        fill(sums, columns, other[block * BLOCK : (block + 1) * BLOCK], every_row, words, 1)


@compiled
def sum_of_ones(codes, words):
    """The sum of the words whose code is 1. All other codes are 0. Without branches it can be vectorised."""
    total = np.int64(0)
    for i in range(len(words)):
        total += words[i] & -np.int64(codes[i])
    return total


@threaded
def _scan_binary(start, binary, rows_in_bin, sums, totals, share, decrease, cut):
    """The only cut of each column of two bins."""
    for j in prange(len(binary)):
        f = binary[j]
        first = start[f]
        if min(rows_in_bin[first], rows_in_bin[first + 1]) > 0:
            decrease[f] = decrease_from(merit_of(sums[:, first], totals, share), len(totals))
            cut[f] = 0 if decrease[f] > 0.0 else -1


@threaded
def _scan_other(columns, other, rows_in_bin, sums, totals, share, decrease, cut, missing_left):
    """The best cut of each of the other columns."""
    for j in prange(len(other)):
        f = other[j]
        bins = slice(columns.start[f], columns.start[f + 1])
        if columns.categorical[f]:
            decrease[f], cut[f] = best_category(rows_in_bin[bins], sums[:, bins], totals, share)
            missing_left[f] = cut[f] == columns.start[f + 1] - columns.start[f] - 1
            continue
        decrease[f], cut[f] = best_cut(rows_in_bin[bins], sums[:, bins], totals, share, False)
        if rows_in_bin[columns.start[f + 1] - 1] > 0:
            other_decrease, other_cut = best_cut(rows_in_bin[bins], sums[:, bins], totals, share, True)
            if other_decrease > decrease[f] * (1.0 + TIE):
                decrease[f], cut[f], missing_left[f] = other_decrease, other_cut, True


@compiled
def best_cut(rows, sums, totals, share, missing_left):
    """Decrease and bin of the best cut of a numeric feature. The last bin holds missing values."""
    n = len(rows) - 1
    left = np.zeros(len(totals), np.int64)
    n_left, n_rows = np.int64(0), rows.sum()
    if missing_left:
        left[:] = sums[:, n]
        n_left = rows[n]
    best, place = 0.0, np.int64(-1)
    for b in range(n):
        if rows[b] == 0:
            continue
        n_left += rows[b]
        if n_left == n_rows:
            break
        for k in range(len(left)):
            left[k] += sums[k, b]
        merit = merit_of(left, totals, share)
        if merit > best * (1.0 + TIE):
            best = merit
            place = np.int64(n - 1 if n_left + rows[n] == n_rows and not missing_left else b)
    return decrease_from(best, len(totals)), place


@compiled
def best_category(rows, sums, totals, share):
    """Decrease and code of the best category to separate. The last bin holds missing values."""
    n_rows = rows.sum()
    best, place = 0.0, np.int64(-1)
    for b in range(len(rows)):
        if 0 < rows[b] < n_rows:
            merit = merit_of(sums[:, b], totals, share)
            if merit > best * (1.0 + TIE):
                best, place = merit, np.int64(b)
    return decrease_from(best, len(totals)), place


@compiled
def merit_of(left, totals, share):
    """The merit that cuts are compared by: the decrease, or with one class the edge.

    With one class the decrease rises with the edge, and the edge takes less time.
    """
    if len(totals) == 1:
        return abs(2 * left[0] - totals[0]) / ONE
    decrease = 0.0
    for k in range(len(totals)):
        decrease += share[k] * decrease_of_edge((2 * left[k] - totals[k]) / ONE)
    return decrease


@compiled
def decrease_from(merit, n_classes):
    """The decrease of a cut of a given merit."""
    return decrease_of_edge(merit) if n_classes == 1 else merit


@compiled
def decrease_of_edge(edge):
    """1 - sqrt(1 - edge^2), in a form that is accurate for small edges."""
    square = min(edge * edge, 1.0)
    return square / (1.0 + np.sqrt(1.0 - square))
