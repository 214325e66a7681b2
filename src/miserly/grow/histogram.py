"""Histograms: for every bin of every feature, the sum of its rows' packed integers.

One histogram is one flat array of int64: feature `f` has the bins ``start[f] .. start[f + 1]``, the last of
them for missing values, `width` words each. Integer sums are exact, so a sibling is its parent less the other
child, and histograms of different rows (threads, machines) add up to that of all, bit for bit.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from miserly.grow.binning import Binned
from miserly.grow.compiled import compiled

__all__ = ["BLOCK", "Table", "fill", "fill_feature", "subtract", "table_of"]

BLOCK = 8  # features filled in one pass over the rows
# Distance between two features' bins while they are filled, in bins. Not 256: addresses that differ by a
# multiple of 4096 bytes look alike to the processor, and an addition would wait for another feature's.
_STEP = 280
_TWO = 2 * _STEP


class Table(NamedTuple):
    """Binned data as compiled code sees it."""

    codes: NDArray[np.uint8]  # (d, n)
    start: NDArray[np.int64]  # (d + 1,), in bins
    categorical: NDArray[np.bool_]  # (d,)


def table_of(binned: Binned) -> Table:
    """The layout of the histograms of `binned`: each feature has its bins and one for missing values.

    >>> from miserly.grow import Bins
    >>> X = np.array([[0.0, 1.0], [1.0, 1.0]])
    >>> table_of(Bins.fit(X).transform(X)).start.tolist()
    [0, 3, 5]
    """
    start = np.concatenate([[0], np.cumsum(binned.bins.n_bins + 1)]).astype(np.int64)
    return Table(binned.codes, start, binned.bins.categorical)


@compiled
def fill(histogram, table, features, rows, words, width):
    """Set the histograms of up to eight features to those of `rows`, whose words lie in the same order.

    No `rows` at all means every row of the table.
    """
    filled = np.zeros(BLOCK * _STEP * width, np.int64)
    if width == 1:
        fill_one(filled, table.codes, features, rows, words)
    else:
        fill_two(filled, table.codes, features, rows, words)
    for k in range(len(features)):
        first = table.start[features[k]] * width
        for b in range(table.start[features[k] + 1] * width - first):
            histogram[first + b] = filled[k * _STEP * width + b]


@compiled
def eight(codes, features):
    """The codes of eight features; the last stands in for those there are not."""
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
def fill_one(filled, codes, features, rows, words):
    """One word a row. Eight features in one pass are eight chains of additions that need not wait."""
    a, b, c, d, e, f, g, h = eight(codes, features)
    every = len(rows) == 0
    for j in range(len(words)):
        i = j if every else np.int64(rows[j])
        word = words[j]
        filled[np.int64(a[i])] += word
        filled[1 * _STEP + np.int64(b[i])] += word
        filled[2 * _STEP + np.int64(c[i])] += word
        filled[3 * _STEP + np.int64(d[i])] += word
        filled[4 * _STEP + np.int64(e[i])] += word
        filled[5 * _STEP + np.int64(f[i])] += word
        filled[6 * _STEP + np.int64(g[i])] += word
        filled[7 * _STEP + np.int64(h[i])] += word


@compiled
def fill_two(filled, codes, features, rows, words):
    """Two words a row, side by side in the histogram too."""
    a, b, c, d, e, f, g, h = eight(codes, features)
    every = len(rows) == 0
    for j in range(len(words) // 2):
        i = j if every else np.int64(rows[j])
        push = words[2 * j]
        hessian = words[2 * j + 1]
        add_two(filled, 2 * np.int64(a[i]), push, hessian)
        add_two(filled, 1 * _TWO + 2 * np.int64(b[i]), push, hessian)
        add_two(filled, 2 * _TWO + 2 * np.int64(c[i]), push, hessian)
        add_two(filled, 3 * _TWO + 2 * np.int64(d[i]), push, hessian)
        add_two(filled, 4 * _TWO + 2 * np.int64(e[i]), push, hessian)
        add_two(filled, 5 * _TWO + 2 * np.int64(f[i]), push, hessian)
        add_two(filled, 6 * _TWO + 2 * np.int64(g[i]), push, hessian)
        add_two(filled, 7 * _TWO + 2 * np.int64(h[i]), push, hessian)


@compiled
def add_two(filled, at, push, hessian):
    filled[at] += push
    filled[at + 1] += hessian


@compiled
def fill_feature(histogram, codes, rows, words, width):
    """The histogram of `rows` for one feature alone; `words` are those of all rows here."""
    histogram[:] = 0
    for i in rows:
        for k in range(width):
            histogram[np.int64(codes[i]) * width + k] += words[np.int64(i) * width + k]


@compiled
def subtract(histogram, other, table, features, width):
    """Take `other` from `histogram`, for a few features."""
    for f in features:
        for b in range(table.start[f] * width, table.start[f + 1] * width):
            histogram[b] -= other[b]
