"""Histograms: for every bin of every feature, the sum of the packed integers of its rows.

A histogram is one flat array of int64. Feature `f` has the bins ``start[f] .. start[f + 1]``, the last of
them for missing values, with `width` words each. Integer sums are exact. So the histogram of a leaf is that
of its parent less that of its sibling, and histograms of different rows (threads, machines) add up bit for
bit.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from miserly.grow.binning import Binned
from miserly.grow.compiled import compiled

__all__ = ["BLOCK", "BinnedColumns", "binned_columns", "fill", "fill_feature", "subtract"]

BLOCK = 8  # features filled in one pass over the rows
# Distance between the bins of two features while they are filled, in bins. It is not 256: the processor
# confuses addresses that differ by a multiple of 4096 bytes (4K aliasing), and additions would wait.
_STEP = 280
_TWO = 2 * _STEP


class BinnedColumns(NamedTuple):
    """Binned columns for compiled code, and where the bins of each begin in a histogram."""

    codes: NDArray[np.uint8]  # (d, n)
    start: NDArray[np.int64]  # (d + 1,), in bins
    categorical: NDArray[np.bool_]  # (d,)


def binned_columns(binned: Binned) -> BinnedColumns:
    """The columns of `binned`. In a histogram each feature has its bins and one for missing values.

    >>> from miserly.grow import Bins
    >>> X = np.array([[0.0, 1.0], [1.0, 1.0]])
    >>> binned_columns(Bins.fit(X).transform(X)).start.tolist()
    [0, 3, 5]
    """
    start = np.concatenate([[0], np.cumsum(binned.bins.n_bins + 1)]).astype(np.int64)
    return BinnedColumns(binned.codes, start, binned.bins.categorical)


@compiled
def fill(histogram, columns, features, rows, words, width):
    """Fill the histograms of up to eight features. `words` are those of `rows`, in the same order.

    If `rows` is empty, all rows are used. One pass over the rows fills eight, four or two features.
    """
    filled = np.empty(BLOCK * _STEP * width, np.int64)
    first = 0
    while first < len(features):
        left = len(features) - first
        lanes = 8 if left > 6 else 4 if left > 2 else 2
        some = features[first : first + lanes]
        for k in range(len(some)):
            clear(bins_of(filled, k * _STEP, columns, some[k], width))
        if width == 1:
            fill_one(filled, columns.codes, some, lanes, rows, words)
        else:
            fill_two(filled, columns.codes, some, lanes, rows, words)
        for k in range(len(some)):
            found = bins_of(filled, k * _STEP, columns, some[k], width)
            copy(found, bins_of(histogram, columns.start[some[k]], columns, some[k], width))
        first += lanes


@compiled
def bins_of(histogram, first, columns, f, width):
    """The part of a histogram that begins at bin `first` and is as long as that of feature `f`."""
    return histogram[first * width : (first + columns.start[f + 1] - columns.start[f]) * width]


@compiled
def clear(histogram):
    """Set all words to 0."""
    for b in range(len(histogram)):
        histogram[b] = 0


@compiled
def copy(histogram, other):
    """Copy `histogram` to `other`, which is as long."""
    for b in range(len(histogram)):
        other[b] = histogram[b]


@compiled
def eight(codes, features):
    """The codes of eight features. If there are fewer, the last one is repeated."""
    last = len(features) - 1
    return (
        codes[features[0]],
        codes[features[min(1, last)]],
        codes[features[min(2, last)]],
        codes[features[min(3, last)]],
        codes[features[min(4, last)]],
        codes[features[min(5, last)]],
        codes[features[min(6, last)]],
        codes[features[min(7, last)]],
    )


@compiled
def fill_one(filled, codes, features, lanes, rows, words):
    """Histograms of one word per row. The additions for several features do not depend on each other.

    Where there are fewer features than lanes, the lanes left over fill memory that is not read.
    """
    a, b, c, d, e, f, g, h = eight(codes, features)
    every = len(rows) == 0
    for j in range(len(words)):
        i = j if every else np.int64(rows[j])
        word = words[j]
        filled[np.int64(a[i])] += word
        filled[1 * _STEP + np.int64(b[i])] += word
        if lanes == 2:
            continue
        filled[2 * _STEP + np.int64(c[i])] += word
        filled[3 * _STEP + np.int64(d[i])] += word
        if lanes == 4:
            continue
        filled[4 * _STEP + np.int64(e[i])] += word
        filled[5 * _STEP + np.int64(f[i])] += word
        filled[6 * _STEP + np.int64(g[i])] += word
        filled[7 * _STEP + np.int64(h[i])] += word


@compiled
def fill_two(filled, codes, features, lanes, rows, words):
    """Histograms of two words per row, which are adjacent in the histogram too."""
    a, b, c, d, e, f, g, h = eight(codes, features)
    every = len(rows) == 0
    for j in range(len(words) // 2):
        i = j if every else np.int64(rows[j])
        residual = words[2 * j]
        hessian = words[2 * j + 1]
        add_two(filled, 2 * np.int64(a[i]), residual, hessian)
        add_two(filled, 1 * _TWO + 2 * np.int64(b[i]), residual, hessian)
        if lanes == 2:
            continue
        add_two(filled, 2 * _TWO + 2 * np.int64(c[i]), residual, hessian)
        add_two(filled, 3 * _TWO + 2 * np.int64(d[i]), residual, hessian)
        if lanes == 4:
            continue
        add_two(filled, 4 * _TWO + 2 * np.int64(e[i]), residual, hessian)
        add_two(filled, 5 * _TWO + 2 * np.int64(f[i]), residual, hessian)
        add_two(filled, 6 * _TWO + 2 * np.int64(g[i]), residual, hessian)
        add_two(filled, 7 * _TWO + 2 * np.int64(h[i]), residual, hessian)


@compiled
def add_two(filled, at, residual, hessian):
    """Add the two words of a row."""
    filled[at] += residual
    filled[at + 1] += hessian


@compiled
def fill_feature(histogram, codes, rows, words, width):
    """Fill the histogram of one feature. `words` are those of all rows, not only of `rows`."""
    histogram[:] = 0
    for i in rows:
        for k in range(width):
            histogram[np.int64(codes[i]) * width + k] += words[np.int64(i) * width + k]


@compiled
def subtract(histogram, other, columns, features, width):
    """Subtract `other` from `histogram` for some features."""
    for f in features:
        mine = bins_of(histogram, columns.start[f], columns, f, width)
        less = bins_of(other, columns.start[f], columns, f, width)
        for b in range(len(mine)):
            mine[b] -= less[b]
