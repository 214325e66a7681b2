"""The gain of one more level of splits: how much each feature would lower the loss in the cells of rows.

Rows are divided into cells, by a tree on the features that are bought, and into two halves. In each cell the
best split on a feature is chosen on one half, with its leaf values, and evaluated on the other half. Both
directions are summed over the cells. A split that fits noise gains nothing on the other half, so features
with many values have no advantage. A feature that matters only together with a bought one has its gain in the
cells, where the bought one hardly varies.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from miserly.grow.binning import Binned
from miserly.grow.compiled import build, compiled, prange, threaded, threads

__all__ = ["level_gains"]


def level_gains(
    binned: Binned,
    features: NDArray[np.int64],
    cells: NDArray[np.int64],
    half: NDArray[np.bool_],
    gradient: NDArray[np.float64],
    hessian: NDArray[np.float64],
    *,
    l2: float = 1.0,
    min_samples: int = 5,
    n_threads: int | None = None,
) -> NDArray[np.float64]:
    """Compute how much one split per cell on each feature lowers the loss of rows that did not choose it.

    With sums G and H over the rows of a side in the half that chooses, the side has the value
    ``v = -G / (H + l2)``. With sums G' and H' over the other half it lowers the loss by
    ``-(v G' + v^2 H' / 2)``, less the same of the whole cell. Gradients may have several columns, one for
    each score, which are summed.

    Parameters
    ----------
    binned : Binned
        The rows. Missing values are a bin after the last.
    features : int array
        Columns to evaluate.
    cells : int array of (n,)
        The cell of each row, from 0.
    half : bool array of (n,)
        The half of each row.
    gradient, hessian : arrays of (n, K)
        Derivatives of the loss by each score.
    l2 : float, default=1.0
        Added to the hessian of a side.
    min_samples : int, default=5
        Smallest number of rows on each side in the half that chooses.
    n_threads : int, optional
        Number of threads. It does not change the result.

    Returns
    -------
    array of (len(features),)
        The decrease of the total loss. It may be negative.

    Examples
    --------
    The second feature tells nothing alone, and everything in the cells of the first:

    >>> from miserly.grow import Bins
    >>> X = np.array([[0.0, 0.0], [0.0, 1.0], [1.0, 0.0], [1.0, 1.0]] * 10)
    >>> gradient = np.where(X[:, :1] == X[:, 1:], -0.5, 0.5)
    >>> hessian, half = np.full((40, 1), 0.25), np.arange(40) % 8 < 4
    >>> binned, second = Bins.fit(X).transform(X), np.array([1])
    >>> for cells in (np.zeros(40, dtype=int), X[:, 0].astype(int)):
    ...     print(level_gains(binned, second, cells, half, gradient, hessian).round(2).tolist())
    [0.0]
    [16.05]
    """
    key = 2 * cells + half
    order = np.argsort(key, kind="stable")
    start = np.searchsorted(key[order], np.arange(2 * (int(cells.max(initial=0)) + 1) + 1))
    gains = np.empty(len(features))
    with threads(n_threads, len(features) * gradient.size):
        build(_all_gains)(
            binned.codes,
            np.ascontiguousarray(features, dtype=np.int64),
            binned.bins.n_bins,
            binned.bins.categorical,
            order,
            start,
            np.ascontiguousarray(gradient[order]),
            np.ascontiguousarray(hessian[order]),
            l2,
            min_samples,
            gains,
        )
    return gains


@threaded
def _all_gains(codes, features, n_bins, categorical, order, start, gradient, hessian, l2, min_samples, gains):
    for place in prange(len(features)):
        f = features[place]
        gains[place] = _feature_gain(
            codes[f], n_bins[f] + 1, categorical[f], order, start, gradient, hessian, l2, min_samples
        )


@compiled
def _feature_gain(codes, n_bins, is_categorical, order, start, gradient, hessian, l2, min_samples):
    """The gain of one feature, summed over cells and over both directions."""
    n_scores = gradient.shape[1]
    sums = np.empty((2, n_bins, 2 * n_scores))
    count = np.empty((2, n_bins), np.int64)
    total = 0.0
    for cell in range((len(start) - 1) // 2):
        first, middle, last = start[2 * cell], start[2 * cell + 1], start[2 * cell + 2]
        if min(middle - first, last - middle) < 2 * min_samples:
            continue
        sums[:] = 0.0
        count[:] = 0
        _fill(sums[0], count[0], codes, order, gradient, hessian, first, middle)
        _fill(sums[1], count[1], codes, order, gradient, hessian, middle, last)
        for chooses in range(2):
            total += _honest_gain(
                sums[chooses], count[chooses], sums[1 - chooses], is_categorical, l2, min_samples
            )
    return total


@compiled
def _fill(sums, count, codes, order, gradient, hessian, first, last):
    """Sums of gradients, then of hessians, of the rows of one half of a cell in each bin."""
    n_scores = gradient.shape[1]
    for t in range(first, last):
        b = codes[order[t]]
        count[b] += 1
        for k in range(n_scores):
            sums[b, k] += gradient[t, k]
            sums[b, n_scores + k] += hessian[t, k]


@compiled
def _honest_gain(sums, count, other, is_categorical, l2, min_samples):
    """What the split that gains most on one half gains on the other; 0 if no split gains.

    Bins up to the split go left. With categories, one category goes left.
    """
    n_bins, width = sums.shape
    whole, whole_other = np.zeros(width), np.zeros(width)
    n_rows = 0
    for b in range(n_bins):
        n_rows += count[b]
        for k in range(width):
            whole[k] += sums[b, k]
            whole_other[k] += other[b, k]
    left, left_other, right, right_other = (
        np.zeros(width),
        np.zeros(width),
        np.zeros(width),
        np.zeros(width),
    )
    parent = _gain_on(whole, whole, l2)
    best, found, n_left = 1e-9, 0.0, 0
    for b in range(n_bins):
        if is_categorical:
            n_left = 0
            left[:] = 0.0
            left_other[:] = 0.0
        n_left += count[b]
        for k in range(width):
            left[k] += sums[b, k]
            left_other[k] += other[b, k]
        if count[b] == 0 or n_left < min_samples or n_rows - n_left < min_samples:
            continue
        for k in range(width):
            right[k] = whole[k] - left[k]
            right_other[k] = whole_other[k] - left_other[k]
        gain = _gain_on(left, left, l2) + _gain_on(right, right, l2) - parent
        if gain > best:
            best = gain
            found = _gain_on(left, left_other, l2) + _gain_on(right, right_other, l2)
            found -= _gain_on(whole, whole_other, l2)
    return found


@compiled
def _gain_on(chosen, rows, l2):
    """How much leaf values that minimise the loss of `chosen` lower the loss of `rows`."""
    n_scores = len(chosen) // 2
    gain = 0.0
    for k in range(n_scores):
        value = -chosen[k] / (chosen[n_scores + k] + l2)
        gain -= value * rows[k] + 0.5 * value * value * rows[n_scores + k]
    return gain
