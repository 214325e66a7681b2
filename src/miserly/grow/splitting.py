"""The best split of a leaf on one feature, found from its histogram.

All numbers here are in the units of the packed integers. With the sums of push P and hessian H of a leaf, a
split into L and R gains

    1/2 [ PL^2 / (HL + l2) + PR^2 / (HR + l2) - P^2 / (H + l2) ]

and is allowed if both sides have enough rows and enough hessian. A split is a *cut*: the bins up to it go
left. Rows with a missing value are tried on both sides. The bins of a category column are first put in the
order of push per hessian: some cut of that order is then the best of all ways to divide the categories
(Fisher 1958). Of equal gains the lowest cut wins, then missing values on the right.

Rows that all want the same value gain nothing by any split, but rounding may say otherwise. A gain that is
lost among the rounding errors of the terms it is the difference of is therefore none.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from miserly.grow.compiled import compiled

__all__ = ["Rule", "best_split", "directions", "new_bench", "read_sums"]

# Of the leaf's own term; some hundred times what rounding does to it, and far below any gain that matters.
ROUNDING = 1e-13


class Rule(NamedTuple):
    """How to read packed sums, and which splits are allowed, in their units."""

    width: int
    count_bits: int
    l2: float
    min_hessian: float
    min_rows: int


class Bench(NamedTuple):
    """Room for cuts, the sums left of them and their gains."""

    cut: NDArray[np.int64]
    first: NDArray[np.int64]
    second: NDArray[np.int64]
    gain: NDArray[np.float64]


@compiled
def new_bench():
    return Bench(np.empty(256, np.int64), np.empty(256, np.int64), np.empty(256, np.int64), np.empty(256))


@compiled
def read_sums(first, second, rule):
    """Push, hessian and number of rows of packed sums; a sum of one word has no `second`."""
    mask = (np.int64(1) << rule.count_bits) - 1
    if rule.width == 1:
        return first >> rule.count_bits, first & mask, first & mask
    return first, second >> rule.count_bits, second & mask


@compiled
def best_split(histogram, bins, categorical, total, rule, bench):
    """Gain, cut and direction of missing values of the best split of one feature; gain -inf if there is none.

    `histogram` has `bins` bins, the last for missing values; `total` is the sum of them all.
    """
    n, width = bins - 1, rule.width
    ordered = histogram
    if categorical:
        order = in_order(histogram, n, rule)
        n = len(order)
        ordered = np.empty(n * width, np.int64)
        for k in range(n):
            for word in range(width):
                ordered[k * width + word] = histogram[order[k] * width + word]
    gain, cut = best_cut(ordered, n, (np.int64(0), np.int64(0)), total, rule, bench)
    missing_left = False
    missing = (histogram[(bins - 1) * width], histogram[bins * width - 1])
    if read_sums(missing[0], missing[1], rule)[2] > 0:
        other_gain, other_cut = best_cut(ordered, n, missing, total, rule, bench)
        if other_gain > gain or (other_gain == gain and other_cut < cut):
            gain, cut, missing_left = other_gain, other_cut, True
    return gain, cut, missing_left


@compiled
def in_order(histogram, n, rule):
    """The categories that have rows, from the lowest push per hessian to the highest, equals by code."""
    order = np.empty(n, np.int64)
    ratio = np.empty(n, np.float64)
    found = 0
    for b in range(n):
        push, hessian, count = read_sums(histogram[b * rule.width], histogram[(b + 1) * rule.width - 1], rule)
        if count == 0:
            continue
        mine = push / (max(hessian, 1) + rule.l2)
        k = found
        while k > 0 and ratio[k - 1] > mine:
            ratio[k], order[k] = ratio[k - 1], order[k - 1]
            k -= 1
        ratio[k], order[k] = mine, b
        found += 1
    return order[:found]


@compiled
def best_cut(histogram, n, start, total, rule, bench):
    """The cut after one of `n` bins that gains most, with `start` added to the left side."""
    n_cuts = running_sums(histogram, n, start, rule, bench)
    push, hessian, count = read_sums(total[0], total[1], rule)
    here = np.float64(push) * np.float64(push) / (np.float64(hessian) + rule.l2)
    cut_gains(n_cuts, (push, hessian, count), here, rule, bench)
    best_gain = ROUNDING * here
    best = np.int64(-1)
    for k in range(n_cuts):
        if bench.gain[k] > best_gain:
            best_gain = bench.gain[k]
            best = bench.cut[k]
    return (best_gain if best >= 0 else -np.inf), best


@compiled
def running_sums(histogram, n, start, rule, bench):
    """The sums of the bins up to each of the first `n`; gives how many cuts these are.

    A cut after an empty bin is the same as that before it, and is written over.
    """
    first, second = start
    n_cuts = 0
    for b in range(n):
        first += histogram[b * rule.width]
        second += histogram[(b + 1) * rule.width - 1]
        bench.first[n_cuts] = first
        bench.second[n_cuts] = second
        bench.cut[n_cuts] = b
        n_cuts += histogram[(b + 1) * rule.width - 1] != 0  # the word with the count
    if n_cuts > 0:
        bench.cut[n_cuts - 1] = n - 1  # of missing values from all others, also from those no row here has
    return n_cuts


@compiled
def cut_gains(n, total, here, rule, bench):
    """The gain of every cut, -inf where it is not allowed. No branches, so that several go at a time."""
    push, hessian, count = total
    for k in range(n):
        push_left, hessian_left, count_left = read_sums(bench.first[k], bench.second[k], rule)
        p_left, p_right = np.float64(push_left), np.float64(push - push_left)
        h_left, h_right = np.float64(hessian_left), np.float64(hessian - hessian_left)
        gain = (p_left * p_left) / (h_left + rule.l2) + (p_right * p_right) / (h_right + rule.l2)
        enough = min(h_left, h_right)
        allowed = min(count_left, count - count_left) >= rule.min_rows
        allowed &= (enough >= rule.min_hessian) & (enough + rule.l2 > 0)
        bench.gain[k] = 0.5 * (gain - here) if allowed else -np.inf


@compiled
def directions(histogram, bins, categorical, cut, missing_left, rule, goes_left):
    """Fill ``goes_left[code]`` for a chosen split; gives the packed sums of the left side.

    Where the leaf holds no row with a missing value, such rows go the way of most others; so do the
    categories that no row of the leaf has. At equality they go left.
    """
    goes_left[:] = False
    if categorical:
        for b in in_order(histogram, bins - 1, rule)[: cut + 1]:
            goes_left[b] = True
    else:
        goes_left[: cut + 1] = True
    goes_left[bins - 1] = missing_left
    left = np.zeros(2, np.int64)
    every = np.zeros(2, np.int64)
    for b in range(bins):
        for word in range(rule.width):
            every[word] += histogram[b * rule.width + word]
            left[word] += histogram[b * rule.width + word] * goes_left[b]
    most_left = 2 * read_sums(left[0], left[1], rule)[2] >= read_sums(every[0], every[1], rule)[2]
    for b in range(bins):
        unseen = read_sums(histogram[b * rule.width], histogram[(b + 1) * rule.width - 1], rule)[2] == 0
        if unseen and (categorical or b == bins - 1):
            goes_left[b] = most_left
    return left[0], left[1]
