"""Histograms: for every bin of every feature, the sum of its rows' packed integers.

One histogram is one flat array of int64: feature `f` has the bins ``start[f] .. start[f + 1]``, the last of them for
missing values, `width` words each. Integer sums are exact, so a sibling is its parent less the other child, and
histograms of different rows (threads, machines) add up to that of all, bit for bit.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

from miserly.grow.binning import Binned

__all__ = ["BLOCK", "Table", "fill_block", "fill_feature", "subtract_block", "table_of"]

BLOCK = 8  # features filled in one pass over the rows


class Table(NamedTuple):
    """Binned data as compiled code sees it."""

    codes: NDArray[np.uint8]  # (d, n)
    start: NDArray[np.int64]  # (d + 1,), in bins
    n_bins: NDArray[np.int64]  # (d,), without the bin for missing values
    categorical: NDArray[np.bool_]  # (d,)


def table_of(binned: Binned) -> Table:
    """The layout of the histograms of `binned`: each feature has its bins and one for missing values.

    >>> from miserly.grow import Bins
    >>> table_of(Bins.fit(np.array([[0.0, 1.0], [1.0, 1.0]])).transform(np.zeros((2, 2)))).start.tolist()
    [0, 3, 5]
    """
    bins = binned.bins
    start = np.concatenate([[0], np.cumsum(bins.n_bins + 1)]).astype(np.int64)
    return Table(binned.codes, start, bins.n_bins, bins.categorical)


@njit(cache=True)
def fill_block(histogram, table, features, rows, words, width):
    """Set the histogram of `features` (a few) to that of `rows`, whose words lie in the same order.

    No `rows` at all means every row of the table.
    """
    for f in features:
        histogram[table.start[f] * width : table.start[f + 1] * width] = 0
    if len(features) == BLOCK:
        if width == 1:
            _fill_eight(histogram, table, features, rows, words)
            return
    for f in features:
        fill_feature(histogram, table, f, rows, words, width)


@njit(cache=True)
def fill_feature(histogram, table, f, rows, words, width):
    """Add `rows` to the histogram of one feature."""
    mine = histogram[table.start[f] * width : table.start[f + 1] * width]
    codes = table.codes[f]
    every = len(rows) == 0
    for j in range(len(words) // width):
        b = codes[j] if every else codes[rows[j]]
        if width == 1:
            mine[b] += words[j]
        else:
            push = mine[2 * b] + words[2 * j]
            hessian = mine[2 * b + 1] + words[2 * j + 1]
            mine[2 * b] = push
            mine[2 * b + 1] = hessian


@njit(cache=True)
def _fill_eight(histogram, table, f, rows, words):
    """Eight features in one pass: eight independent chains of additions keep the processor busy."""
    start = table.start
    a = histogram[start[f[0]] : start[f[0] + 1]]
    b = histogram[start[f[1]] : start[f[1] + 1]]
    c = histogram[start[f[2]] : start[f[2] + 1]]
    d = histogram[start[f[3]] : start[f[3] + 1]]
    e = histogram[start[f[4]] : start[f[4] + 1]]
    g = histogram[start[f[5]] : start[f[5] + 1]]
    h = histogram[start[f[6]] : start[f[6] + 1]]
    k = histogram[start[f[7]] : start[f[7] + 1]]
    codes = table.codes
    p, q, r, s = codes[f[0]], codes[f[1]], codes[f[2]], codes[f[3]]
    t, u, v, w = codes[f[4]], codes[f[5]], codes[f[6]], codes[f[7]]
    every = len(rows) == 0
    for j in range(len(words)):
        i = np.int64(j) if every else np.int64(rows[j])
        word = words[j]
        a[p[i]] += word
        b[q[i]] += word
        c[r[i]] += word
        d[s[i]] += word
        e[t[i]] += word
        g[u[i]] += word
        h[v[i]] += word
        k[w[i]] += word


@njit(cache=True)
def subtract_block(histogram, other, table, features, width):
    """Take `other` from `histogram`, for a few features."""
    for f in features:
        for b in range(table.start[f] * width, table.start[f + 1] * width):
            histogram[b] -= other[b]
