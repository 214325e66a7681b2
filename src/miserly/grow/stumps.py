"""Stumps: trees of one split that vote +1 on their left side and -1 on their right, all scored at once.

Rows push: row `i` pushes class `k` by ``push[k, i]``, its weight times +1 or -1, and the sizes of a class's
pushes add up to 1. A stump's *edge* for a class is the sum of push times vote. With the weight of the vote
at its best, the exponential loss of the class is multiplied by ``sqrt(1 - edge^2)``, and the loss of all
classes, which have the shares ``share[k]`` of it, falls by the part

    fall = sum_k share_k (1 - sqrt(1 - edge_k^2))

One call of `Stumps.survey` finds the cut of largest fall of every feature, from histograms of whole
numbers: pushes in units of 2^-60, whose sums do not depend on the order of rows. Columns of two bins need no
histogram, only the sum of one bin. Missing values are tried on both sides. Of a category column, one category
stands against all others, and missing values are a category too. Cuts that leave a side without rows are
none. Of falls that differ by no more than rounding the first wins: the lowest cut, missing values right.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from miserly.grow.binning import Binned, Bins
from miserly.grow.compiled import build, compiled, prange, threaded, threads
from miserly.grow.histogram import BLOCK, fill, table_of
from miserly.plan.terms import Tree, category_words

__all__ = ["ONE", "TIE", "Stump", "Stumps", "Survey", "sides_of", "threshold_of", "words_of"]

ONE = float(2**60)  # a push of 1 in whole numbers: twice their sum, less another, still fits 63 bits
TIE = 1e-9  # relative; falls that differ by less are equal


class Survey(NamedTuple):
    """The best cut of every feature."""

    fall: NDArray[np.float64]  # (d,): 0 if there is no cut
    cut: NDArray[np.int64]  # (d,): the last bin on the left, or of a category column the only one
    missing_left: NDArray[np.bool_]  # (d,)


@dataclass(frozen=True)
class Stump:
    """One split: left are the bins up to `cut`, or of a category column bin `cut` alone."""

    feature: int
    cut: int
    missing_left: bool


class Stumps:
    """All stumps on one binned data set.

    Examples
    --------
    Rows of equal weight; the first two belong to the positive class:

    >>> from miserly.grow import Bins
    >>> X = np.array([[1.0, 5.0], [2.0, 7.0], [3.0, 5.0], [4.0, 7.0]])
    >>> stumps = Stumps(Bins.fit(X).transform(X))
    >>> found = stumps.survey(np.array([[1, 1, -1, -1]]) / 4, np.ones(1))
    >>> found.fall.tolist(), int(found.cut[0])
    ([1.0, 0.0], 1)
    >>> stumps.votes(Stump(0, 1, False)).tolist()
    [1.0, 1.0, -1.0, -1.0]
    """

    def __init__(self, binned: Binned, n_threads: int | None = None) -> None:
        self.binned = binned
        self.n_threads = n_threads
        self._table = table_of(binned)
        bins = binned.bins
        binary = (bins.n_bins == 2) & ~binned.has_missing & ~bins.categorical
        self._binary, self._other = np.flatnonzero(binary), np.flatnonzero(~binary)
        self._rows_in_bin = np.zeros(int(self._table.start[-1]), dtype=np.int64)
        self._sums = np.zeros((0, len(self._rows_in_bin)), dtype=np.int64)
        with threads(n_threads, binned.codes.size):
            ones = np.ones(binned.n_rows, dtype=np.int64)
            build(_fill_all)(self._rows_in_bin, self._table, self._binary, self._other, ones, binned.n_rows)

    def survey(self, push: NDArray[np.float64], share: NDArray[np.float64]) -> Survey:
        """The best cut of every feature; `push` is (classes, n) and `share` (classes,)."""
        words = np.rint(push * ONE).astype(np.int64)
        totals = words.sum(axis=1)
        if len(self._sums) != len(words):
            self._sums = np.zeros((len(words), len(self._rows_in_bin)), dtype=np.int64)
        d = self.binned.n_features
        found = Survey(np.zeros(d), np.full(d, -1, dtype=np.int64), np.zeros(d, dtype=np.bool_))
        with threads(self.n_threads, self.binned.codes.size * len(words)):
            for sums, word, total in zip(self._sums, words, totals, strict=True):
                build(_fill_all)(sums, self._table, self._binary, self._other, word, total)
            given = self._rows_in_bin, self._sums, totals, share
            build(_scan_binary)(self._table.start, self._binary, *given, found.fall, found.cut)
            build(_scan_other)(self._table, self._other, *given, *found)
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
    """The largest value on the left; of no meaning for categories."""
    return 0.0 if bins.categorical[stump.feature] else float(bins.edges[stump.feature, stump.cut])


def words_of(bins: Bins, stump: Stump) -> NDArray[np.uint32] | None:
    """The category on the left as a bit set; None for numbers."""
    if not bins.categorical[stump.feature]:
        return None
    return category_words([stump.cut] if stump.cut < bins.n_bins[stump.feature] else [])


@threaded
def _fill_all(sums, table, binary, other, words, total):
    """The sum of `words` in every bin of every feature; `total` is that of all rows."""
    for j in prange(len(binary)):
        f = binary[j]
        upper = sum_of_ones(table.codes[f], words)
        first = table.start[f]
        sums[first] = total - upper
        sums[first + 1] = upper
        sums[first + 2] = 0
    every_row = np.empty(0, np.uint32)
    for block in prange(-(-len(other) // BLOCK)):
        fill(sums, table, other[block * BLOCK : (block + 1) * BLOCK], every_row, words, 1)


@compiled
def sum_of_ones(codes, words):
    """The sum of the words whose code is 1; all others are 0. No branches, so that several go at a time."""
    total = np.int64(0)
    for i in range(len(words)):
        total += words[i] & -np.int64(codes[i])
    return total


@threaded
def _scan_binary(start, binary, rows_in_bin, sums, totals, share, fall, cut):
    """Columns of two bins have one cut."""
    for j in prange(len(binary)):
        f = binary[j]
        first = start[f]
        if min(rows_in_bin[first], rows_in_bin[first + 1]) > 0:
            fall[f] = fall_from(merit_of(sums[:, first], totals, share), len(totals))
            cut[f] = 0 if fall[f] > 0.0 else -1


@threaded
def _scan_other(table, other, rows_in_bin, sums, totals, share, fall, cut, missing_left):
    for j in prange(len(other)):
        f = other[j]
        bins = slice(table.start[f], table.start[f + 1])
        if table.categorical[f]:
            fall[f], cut[f] = best_category(rows_in_bin[bins], sums[:, bins], totals, share)
            missing_left[f] = cut[f] == table.start[f + 1] - table.start[f] - 1
            continue
        fall[f], cut[f] = best_cut(rows_in_bin[bins], sums[:, bins], totals, share, False)
        if rows_in_bin[table.start[f + 1] - 1] > 0:
            turned, turned_cut = best_cut(rows_in_bin[bins], sums[:, bins], totals, share, True)
            if turned > fall[f] * (1.0 + TIE):
                fall[f], cut[f], missing_left[f] = turned, turned_cut, True


@compiled
def best_cut(rows, sums, totals, share, missing_left):
    """The fall and place of the best cut between the bins of a feature; the last bin is that of missing."""
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
    return fall_from(best, len(totals)), place


@compiled
def best_category(rows, sums, totals, share):
    """The fall and number of the category to stand against all others, missing values being the last."""
    n_rows = rows.sum()
    best, place = 0.0, np.int64(-1)
    for b in range(len(rows)):
        if 0 < rows[b] < n_rows:
            merit = merit_of(sums[:, b], totals, share)
            if merit > best * (1.0 + TIE):
                best, place = merit, np.int64(b)
    return fall_from(best, len(totals)), place


@compiled
def merit_of(left, totals, share):
    """What cuts are compared by: the fall, or with one class the edge, which rises with it and is quicker."""
    if len(totals) == 1:
        return abs(2 * left[0] - totals[0]) / ONE
    fall = 0.0
    for k in range(len(totals)):
        fall += share[k] * fall_of_edge((2 * left[k] - totals[k]) / ONE)
    return fall


@compiled
def fall_from(merit, n_classes):
    return fall_of_edge(merit) if n_classes == 1 else merit


@compiled
def fall_of_edge(edge):
    """1 - sqrt(1 - edge^2), written so that small edges are not lost to rounding."""
    square = min(edge * edge, 1.0)
    return square / (1.0 + np.sqrt(1.0 - square))
