"""The best split of a leaf on one feature, found from its histogram.

All numbers here are in the units of the packed integers. With the sums of push P and hessian H of a leaf, a
split into L and R gains

    1/2 [ PL^2 / (HL + l2) + PR^2 / (HR + l2) - P^2 / (H + l2) ]

and is allowed if both sides have enough rows and enough hessian. A split is a *cut*: the bins up to it go
left. Rows with a missing value are tried on both sides. The bins of a category column are first put in the
order of push per hessian: some cut of that order is then the best of all ways to divide the categories
(Fisher 1958). Of equal gains the lowest cut wins, then missing values on the right.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from miserly.grow.compiled import compiled

__all__ = ["Rule", "best_split", "directions", "read_sums"]


class Rule(NamedTuple):
    """How to read packed sums, and which splits are allowed, in their units."""

    width: int
    count_bits: int
    l2: float
    min_hessian: float
    min_rows: int


@compiled
def read_sums(first, second, rule):
    """Push, hessian and number of rows of packed sums; a sum of one word has no `second`."""
    mask = (np.int64(1) << rule.count_bits) - 1
    if rule.width == 1:
        return first >> rule.count_bits, first & mask, first & mask
    return first, second >> rule.count_bits, second & mask


@compiled
def best_split(histogram, bins, categorical, total, rule):
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
    gain, cut = best_cut(ordered, n, (np.int64(0), np.int64(0)), total, rule)
    missing_left = False
    missing = (histogram[(bins - 1) * width], histogram[bins * width - 1])
    if read_sums(missing[0], missing[1], rule)[2] > 0:
        other_gain, other_cut = best_cut(ordered, n, missing, total, rule)
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
def best_cut(histogram, n, start, total, rule):
    """The cut after one of `n` bins that gains most, with `start` added to the left side."""
    gains = np.empty(n, np.float64)
    sums = np.empty((3, n), np.int64)
    running_sums(histogram, n, start, rule, sums[0], sums[1], sums[2])
    push, hessian, count = read_sums(total[0], total[1], rule)
    cut_gains(sums[0], sums[1], sums[2], push, hessian, count, rule, gains)
    best = -1
    best_gain = -np.inf
    for b in range(n):
        if gains[b] > best_gain:
            best_gain = gains[b]
            best = b
    return best_gain, best


@compiled
def running_sums(histogram, n, start, rule, push, hessian, count):
    first, second = start
    for b in range(n):
        first += histogram[b * rule.width]
        second += histogram[(b + 1) * rule.width - 1]
        push[b], hessian[b], count[b] = read_sums(first, second, rule)


@compiled
def cut_gains(left_push, left_hessian, left_count, push, hessian, count, rule, gains):
    """The gain of every cut, -inf where it is not allowed. No branches, so that several go at a time."""
    here = np.float64(push) * np.float64(push) / (np.float64(hessian) + rule.l2)
    for b in range(len(gains)):
        p_left, p_right = np.float64(left_push[b]), np.float64(push - left_push[b])
        h_left, h_right = np.float64(left_hessian[b]), np.float64(hessian - left_hessian[b])
        gain = (p_left * p_left) / (h_left + rule.l2) + (p_right * p_right) / (h_right + rule.l2)
        enough = min(h_left, h_right)
        allowed = min(left_count[b], count - left_count[b]) >= rule.min_rows
        allowed &= (enough >= rule.min_hessian) & (enough + rule.l2 > 0)
        gains[b] = 0.5 * (gain - here) if allowed else -np.inf


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
