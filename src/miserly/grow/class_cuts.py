"""Cuts that separate classes.

The impurity of some rows with the class weights ``w_k`` and their sum ``W`` is, in total over the rows,

    gini     W - sum_k w_k^2 / W
    entropy  -sum_k w_k log(w_k / W)

`class_cuts` finds the cut of least impurity of every feature.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from miserly.grow.binning import Binned
from miserly.grow.compiled import build, compiled, prange, threaded, threads

__all__ = [
    "IMPURITIES",
    "ClassRows",
    "best_cut",
    "class_cuts",
    "count_tables",
    "impurity_of",
    "impurity_of_weights",
    "known_measures",
    "rows_together",
]

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

IMPURITIES = ("gini", "entropy")


class ClassRows(NamedTuple):
    """Rows with their classes.

    Parameters
    ----------
    codes : uint8 array of (d, n)
        Bins of the values; missing values are a bin after the last.
    n_bins : int array of (d,)
        Number of bins of each feature.
    y : int array of (n,)
        Classes, numbered from 0.
    weight : array of (n,)
        Weights.
    n_classes : int
        Number of classes.
    is_plain : bool, default=False
        Whether all weights are known to be 1. Then rows are only counted, which is faster.
    """

    codes: NDArray[np.uint8]
    n_bins: Ints
    y: Ints
    weight: Floats
    n_classes: int
    is_plain: bool = False

    @classmethod
    def of(cls, binned: Binned, y: Ints, weight: Floats | None, n_classes: int) -> ClassRows:
        """The rows of a binned table."""
        given = np.ones(len(y)) if weight is None else np.ascontiguousarray(weight, dtype=np.float64)
        n_bins = binned.bins.n_bins.astype(np.int64)
        return cls(
            np.ascontiguousarray(binned.codes),
            n_bins,
            np.ascontiguousarray(y, dtype=np.int64),
            given,
            n_classes,
            bool((given == 1.0).all()),
        )


def impurity_of(data: ClassRows, rows: Ints, kind: int) -> float:
    """The impurity of some rows.

    Parameters
    ----------
    data : ClassRows
        All rows.
    rows : int array
        Some of them.
    kind : int
        Place of the impurity in `IMPURITIES`.

    Returns
    -------
    float

    Examples
    --------
    >>> data = ClassRows(np.zeros((1, 4), np.uint8), np.ones(1, int), np.array([0, 0, 1, 1]), np.ones(4), 2)
    >>> impurity_of(data, np.arange(4), IMPURITIES.index("gini"))
    2.0
    """
    return float(
        impurity_of_weights(np.bincount(data.y[rows], data.weight[rows], minlength=data.n_classes), kind)
    )


def class_cuts(
    data: ClassRows, rows: Ints, features: Ints, kind: int, min_rows: int, n_threads: int | None = None
) -> tuple[Floats, Ints]:
    """The cut of least impurity of some features: values in bins up to the cut are on one side.

    Parameters
    ----------
    data : ClassRows
        All rows.
    rows : int array
        Those that are divided.
    features : int array
        The features.
    kind : int
        Place of the impurity in `IMPURITIES`.
    min_rows : int
        Smallest number of rows on each side.
    n_threads : int, optional
        Number of threads. It does not change the result.

    Returns
    -------
    impurity : array of (len(features),)
        The impurity of both sides together; infinite where there is no cut.
    cut : int array of (len(features),)
        The last bin of the first side.

    Examples
    --------
    >>> codes = np.array([[0, 0, 1, 1], [0, 1, 0, 1]], np.uint8)
    >>> data = ClassRows(codes, np.array([2, 2]), np.array([0, 0, 1, 1]), np.ones(4), 2)
    >>> [part.tolist() for part in class_cuts(data, np.arange(4), np.arange(2), 0, 1)]
    [[0.0, 2.0], [0, 0]]
    """
    impurity, cut = np.empty(len(features)), np.empty(len(features), dtype=np.int64)
    with threads(n_threads, len(features) * len(rows)):
        build(_all_cuts)(*data, rows, features, kind, min_rows, impurity, cut)
    return impurity, cut


@compiled
def impurity_of_weights(weights, kind):
    total = weights.sum()
    if total <= 0.0:
        return 0.0
    if kind == 0:
        return total - (weights * weights).sum() / total
    found = 0.0
    for k in range(len(weights)):
        if weights[k] > 0.0:
            found -= weights[k] * math.log(weights[k] / total)
    return found


@compiled
def known_measures(n, kind, is_plain):
    """``w log w`` of the numbers from 0 to n, where it is needed; else empty."""
    found = np.zeros(n + 1 if is_plain and kind != 0 else 0)
    for w in range(1, len(found)):
        found[w] = w * math.log(w)
    return found


@compiled
def _measure(weight, kind, known):
    """What one class adds to the sum that an impurity is made of."""
    if kind == 0:
        return weight * weight
    if len(known) > 0:
        return known[np.uint64(weight)]
    return weight * math.log(weight) if weight > 0.0 else 0.0


@compiled
def _impurity_from(total, measure, kind, known):
    """The impurity of rows with a total weight, and the sum of `_measure` over their classes."""
    if total <= 0.0:
        return 0.0
    if kind == 0:
        return max(0.0, total - measure / total)
    return max(0.0, _measure(total, kind, known) - measure)


@threaded
def _all_cuts(codes, n_bins, y, weight, n_classes, is_plain, rows, features, kind, min_rows, impurity, cut):
    known = known_measures(len(rows), kind, is_plain)
    for place in prange(len(features)):
        f = features[place]
        part = rows_together(rows, y, weight)
        counts, sums = count_tables(n_bins[f] + 1, n_classes, is_plain)
        impurity[place], cut[place] = best_cut(codes[f], part, kind, known, min_rows, counts, sums)


@compiled
def rows_together(rows, y, weight):
    """Some rows with their classes and weights, next to each other in memory."""
    places, classes, weights = np.empty(len(rows), np.uint32), np.empty(len(rows), np.uint32), weight[rows]
    for j in range(len(rows)):
        places[j], classes[j] = rows[j], y[rows[j]]
    return places, classes, weights


@compiled
def count_tables(n_bins, n_classes, is_plain):
    """Tables for the number of rows and for the sum of weights, of each bin and class."""
    return np.empty((n_bins, n_classes), np.int32), np.empty((0 if is_plain else n_bins, n_classes))


@compiled
def _count(codes, part, is_plain, counts, sums):
    """Fill the tables."""
    places, classes, weights = part
    counts[:] = 0
    count, n_classes = counts.reshape(-1), np.uint32(counts.shape[1])
    if is_plain:
        for j in range(len(places)):
            count[np.uint32(codes[places[j]]) * n_classes + classes[j]] += 1
        return
    sums[:] = 0.0
    sum_of = sums.reshape(-1)
    for j in range(len(places)):
        cell = np.uint32(codes[places[j]]) * n_classes + classes[j]
        count[cell] += 1
        sum_of[cell] += weights[j]


@compiled
def best_cut(codes, part, kind, known, min_rows, counts, sums):
    """The least impurity of some rows after a cut, and the last bin on the first side.

    Both sides are kept up to date from bin to bin, so that a bin costs as much as it has classes.
    """
    is_plain = len(sums) < len(counts)
    _count(codes, part, is_plain, counts, sums)
    n_bins, n_classes = counts.shape
    low, high = np.zeros(n_classes), np.zeros(n_classes)
    for b in range(n_bins):
        for k in range(n_classes):
            high[k] += counts[b, k] if is_plain else sums[b, k]
    of_low, of_high = np.zeros(n_classes), np.empty(n_classes)
    for k in range(n_classes):
        of_high[k] = _measure(high[k], kind, known)
    total_low, total_high, sum_low, sum_high = 0.0, high.sum(), 0.0, of_high.sum()
    best, cut, n_low, n = math.inf, -1, 0, len(part[0])
    for b in range(n_bins - 1):
        before = n_low
        for k in range(n_classes):
            if counts[b, k] == 0:
                continue
            n_low += counts[b, k]
            more = float(counts[b, k]) if is_plain else sums[b, k]
            low[k] += more
            high[k] = max(0.0, high[k] - more)
            total_low, total_high = total_low + more, total_high - more
            new_low, new_high = _measure(low[k], kind, known), _measure(high[k], kind, known)
            sum_low, sum_high = sum_low + new_low - of_low[k], sum_high + new_high - of_high[k]
            of_low[k], of_high[k] = new_low, new_high
        if n - n_low < min_rows:
            break
        if n_low == before or n_low < min_rows:
            continue
        impurity = _impurity_from(total_low, sum_low, kind, known)
        impurity += _impurity_from(total_high, sum_high, kind, known)
        if impurity < best:
            best, cut = impurity, b
    return best, cut
