"""The best split of a leaf on one feature, found from its histogram.

All numbers here are in the units of the packed integers. With the sums of push P, hessian H of a leaf, a split
into L and R gains

    1/2 [ PL^2 / (HL + l2) + PR^2 / (HR + l2) - P^2 / (H + l2) ]

and is allowed if both sides have enough rows and enough hessian. A split is a *cut*: the bins up to it go left. Rows
with a missing value are tried on both sides. The bins of a category column are first put in the order of
push per hessian: some cut of that order is then the best of all ways to divide the categories (Fisher 1958). Of equal
gains the lowest cut wins, then missing values on the right.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit

__all__ = ["Rule", "best_split", "directions", "left_sums"]


class Rule(NamedTuple):
    """How to read packed sums, and which splits are allowed, in their units."""

    width: int
    count_bits: int
    l2: float
    min_hessian: float
    min_rows: int


@njit(cache=True)
def unpack(histogram, bins, rule, push, hessian, count):
    """The sums of each of the first `bins` bins of one feature's histogram."""
    mask = (np.int64(1) << rule.count_bits) - 1
    for b in range(bins):
        if rule.width == 1:
            word = histogram[b]
            push[b] = word >> rule.count_bits
            count[b] = word & mask
            hessian[b] = count[b]
        else:
            push[b] = histogram[2 * b]
            word = histogram[2 * b + 1]
            hessian[b] = word >> rule.count_bits
            count[b] = word & mask


@njit(cache=True, error_model="numpy")
def in_order(push, hessian, count, n_bins, rule):
    """The categories that have rows here, from the lowest push per hessian to the highest."""
    present = np.flatnonzero(count[:n_bins] > 0)
    ratio = push[present] / (np.maximum(hessian[present], 1) + rule.l2)
    return present[np.argsort(ratio, kind="mergesort")]


@njit(cache=True)
def accumulate(values, n):
    total = np.int64(0)
    for b in range(n):
        total += values[b]
        values[b] = total


@njit(cache=True, error_model="numpy")
def best_cut(push, hessian, count, n, extra, total, rule):
    """The best of the cuts after each of `n` bins, given running sums; `extra` is added to the left side."""
    best_gain = -np.inf
    best = -1
    here = np.float64(total[0]) * np.float64(total[0]) / (np.float64(total[1]) + rule.l2)
    for b in range(n):
        rows_left = count[b] + extra[2]
        rows_right = total[2] - rows_left
        hessian_left = np.float64(hessian[b] + extra[1])
        hessian_right = np.float64(total[1] - hessian[b] - extra[1])
        if rows_left < rule.min_rows or rows_right < rule.min_rows:
            continue
        if hessian_left < rule.min_hessian or hessian_right < rule.min_hessian:
            continue
        if not (hessian_left + rule.l2 > 0 and hessian_right + rule.l2 > 0):
            continue
        push_left = np.float64(push[b] + extra[0])
        push_right = np.float64(total[0] - push[b] - extra[0])
        left = push_left * push_left / (hessian_left + rule.l2)
        right = push_right * push_right / (hessian_right + rule.l2)
        gain = 0.5 * ((left + right) - here)
        if gain > best_gain:
            best_gain = gain
            best = b
    return best_gain, best


@njit(cache=True)
def best_split(histogram, n_bins, categorical, total, rule):
    """Gain, cut and direction of missing values of the best split of one feature; gain -inf if there is none."""
    push = np.empty(256, np.int64)
    hessian = np.empty(256, np.int64)
    count = np.empty(256, np.int64)
    unpack(histogram, n_bins + 1, rule, push, hessian, count)
    missing = (push[n_bins], hessian[n_bins], count[n_bins])
    n = n_bins
    if categorical:
        order = in_order(push, hessian, count, n_bins, rule)
        n = len(order)
        push[:n], hessian[:n], count[:n] = push[order], hessian[order], count[order]
    accumulate(push, n)
    accumulate(hessian, n)
    accumulate(count, n)
    nothing = (np.int64(0), np.int64(0), np.int64(0))
    gain, cut = best_cut(push, hessian, count, n, nothing, total, rule)
    missing_left = False
    if missing[2] > 0:
        other_gain, other_cut = best_cut(push, hessian, count, n, missing, total, rule)
        if other_gain > gain or (other_gain == gain and other_cut < cut):
            gain, cut, missing_left = other_gain, other_cut, True
    return gain, cut, missing_left


@njit(cache=True)
def directions(histogram, n_bins, categorical, cut, missing_left, rule, goes_left):
    """Fill ``goes_left[code]`` for a chosen split; gives the sums of the left side.

    Where the leaf holds no row with a missing value, such rows go the way of most others; so do the
    categories that no row of the leaf has. At equality they go left.
    """
    push = np.empty(256, np.int64)
    hessian = np.empty(256, np.int64)
    count = np.empty(256, np.int64)
    unpack(histogram, n_bins + 1, rule, push, hessian, count)
    goes_left[:] = False
    if categorical:
        goes_left[in_order(push, hessian, count, n_bins, rule)[: cut + 1]] = True
    else:
        goes_left[: cut + 1] = True
    goes_left[n_bins] = missing_left and count[n_bins] > 0
    left = left_sums(push, hessian, count, goes_left, n_bins + 1)
    most_left = 2 * left[2] >= count[: n_bins + 1].sum()
    if count[n_bins] == 0:
        goes_left[n_bins] = most_left
    if categorical and most_left:
        goes_left[:n_bins] |= count[:n_bins] == 0
    return left


@njit(cache=True)
def left_sums(push, hessian, count, goes_left, bins):
    left_push = np.int64(0)
    left_hessian = np.int64(0)
    left_count = np.int64(0)
    for b in range(bins):
        if goes_left[b]:
            left_push += push[b]
            left_hessian += hessian[b]
            left_count += count[b]
    return left_push, left_hessian, left_count
