"""The best split of one feature, on histograms small enough for a pencil."""

from __future__ import annotations

import numpy as np
import pytest

from miserly.grow.splitting import SplitRule, best_split, directions, new_cut_buffers

BITS = 8


def one_word(bins):
    """A histogram of (push, count) pairs, the last for missing values."""
    return np.array([(push << BITS) + count for push, count in bins], dtype=np.int64)


def two_words(bins):
    """A histogram of (push, hessian, count) triples."""
    words = [(push, (hessian << BITS) + count) for push, hessian, count in bins]
    return np.array(words, dtype=np.int64).ravel()


def split(histogram, categorical=False, width=1, l2=0.0, min_hessian=0.0, min_rows=1):
    rule = SplitRule(width, BITS, l2, min_hessian, min_rows)
    words = histogram.reshape(-1, width)
    total = (words[:, 0].sum(), words[:, -1].sum())
    gain, cut, missing_left = best_split(histogram, len(words), categorical, total, rule, new_cut_buffers())
    return gain, cut, missing_left


def sides(histogram, cut, missing_left, categorical=False, width=1):
    goes_left = np.zeros(256, dtype=bool)
    rule = SplitRule(width, BITS, 0.0, 0.0, 1)
    bins = len(histogram) // width
    directions(histogram, bins, categorical, cut, missing_left, rule, goes_left)
    return goes_left[:bins].tolist()


def test_the_cut_with_the_largest_gain():
    # pushes 1, 1 | 5, 5 of one row each: 1/2 (2^2/2 + 10^2/2 - 12^2/4) = 8
    assert split(one_word([(1, 1), (1, 1), (5, 1), (5, 1), (0, 0)])) == (8.0, 1, False)


def test_of_equal_cuts_the_lowest():
    # an empty bin between two rows: the cuts 0 and 1 divide alike
    assert split(one_word([(1, 1), (0, 0), (5, 1), (0, 0)]))[1] == 0


def test_l2_shrinks_the_gain():
    # 1/2 (1/2 + 25/2 - 36/3) = 0.5
    assert split(one_word([(1, 1), (5, 1), (0, 0)]), l2=1.0) == (0.5, 0, False)


def test_sides_need_enough_rows():
    bins = one_word([(9, 1), (1, 1), (5, 2), (0, 0)])
    assert split(bins)[1] == 0
    assert split(bins, min_rows=2)[1] == 1
    assert split(bins, min_rows=3) == (-np.inf, -1, False)


def test_sides_need_enough_hessian():
    bins = two_words([(9, 1, 1), (1, 9, 1), (5, 9, 1), (0, 0, 0)])
    assert split(bins, width=2)[1] == 0
    assert split(bins, width=2, min_hessian=5.0)[1] == 1


def test_a_side_without_any_hessian_is_no_side():
    bins = two_words([(9, 0, 1), (1, 3, 1), (5, 3, 1), (0, 0, 0)])
    gain, cut, _ = split(bins, width=2)
    assert cut == 1 and np.isfinite(gain)


@pytest.mark.parametrize(("missing", "missing_left", "cut"), [(1, True, 1), (5, False, 1), (-9, False, 3)])
def test_missing_values_go_where_they_fit_best(missing, missing_left, cut):
    """With the low side, with the high side, or all alone on the right of every value."""
    bins = one_word([(1, 1), (1, 1), (5, 1), (5, 1), (missing, 1)])
    assert split(bins)[1:] == (cut, missing_left)


def test_missing_values_alone_are_distinguished_from_every_value():
    """Also from the values of the last bin, which no row here has."""
    assert split(one_word([(1, 1), (1, 1), (0, 0), (-9, 1)]))[1:] == (2, False)


def test_missing_values_unseen_go_the_way_of_most_rows():
    assert sides(one_word([(1, 1), (5, 2), (0, 0)]), 0, False) == [True, False, False]
    assert sides(one_word([(1, 2), (5, 1), (0, 0)]), 0, False) == [True, False, True]
    assert sides(one_word([(1, 1), (5, 1), (0, 0)]), 0, False) == [True, False, True]


def test_categories_are_cut_in_the_order_of_residual_per_hessian():
    # means 5, 1, 5, 1: the best division is {1, 3} | {0, 2}, as in the first test
    bins = one_word([(5, 1), (1, 1), (5, 1), (1, 1), (0, 0)])
    assert split(bins, categorical=True) == (8.0, 1, False)
    assert sides(bins, 1, False, categorical=True) == [False, True, False, True, True]


def test_no_division_of_categories_is_better_than_the_best_cut():
    """Fisher's theorem, by trying all 2^7 divisions."""
    rng = np.random.default_rng(0)
    for _ in range(20):
        rows = [
            (int(p), int(h), 1) for p, h in zip(rng.integers(-50, 50, 8), rng.integers(1, 9, 8), strict=True)
        ]
        push, hessian, _ = np.array(rows).T
        best = max(
            0.5
            * (push[left].sum() ** 2 / hessian[left].sum() + push[~left].sum() ** 2 / hessian[~left].sum())
            for left in (np.array([k >> i & 1 for i in range(8)], dtype=bool) for k in range(1, 255))
        )
        gain = split(two_words([*rows, (0, 0, 0)]), categorical=True, width=2)[0]
        assert gain == pytest.approx(best - 0.5 * push.sum() ** 2 / hessian.sum(), abs=1e-9)


def test_categories_no_row_has_go_the_way_of_most_rows():
    bins = one_word([(5, 1), (0, 0), (1, 3), (0, 0), (0, 0)])
    assert sides(bins, 0, False, categorical=True) == [False, True, True, True, True]
    bins = one_word([(5, 3), (0, 0), (1, 1), (0, 0), (0, 0)])
    assert sides(bins, 0, False, categorical=True) == [False, False, True, False, False]
