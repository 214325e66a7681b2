"""Packed integers: exact sums, no overflow, scales that do not matter."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from miserly.errors import DataError
from miserly.grow.compiled import threads
from miserly.grow.packing import choose_scale, magnitudes, pack, pack_newton, pack_squared


@pytest.fixture(autouse=True)
def one_thread():
    with threads(1):
        yield


finite = st.floats(allow_nan=False, allow_infinity=False)


def unpack(words, scale):
    """Push, hessian and count of every row, as Python integers."""
    mask = (1 << scale.count_bits) - 1
    rows = [[int(w) for w in row] for row in words.reshape(-1, scale.width)]
    if scale.width == 1:
        return [(w >> scale.count_bits, w & mask, w & mask) for (w,) in rows]
    return [(p, w >> scale.count_bits, w & mask) for p, w in rows]


def worst_sums(words):
    """The largest sums of any subset, as Python integers, which cannot overflow."""
    return max(sum(int(w) for w in words if w > 0), -sum(int(w) for w in words if w < 0))


@given(st.lists(finite, min_size=1, max_size=40))
@settings(max_examples=80, deadline=None)
def test_no_subset_of_one_word_rows_overflows(target):
    packed = pack_squared(np.array(target), None, len(target))
    assert worst_sums(packed.words) < 2**63
    assert all(count == 1 for _, _, count in unpack(packed.words, packed.scale))


@given(st.lists(st.tuples(finite, st.floats(0, 1e308)), min_size=1, max_size=40))
@settings(max_examples=80, deadline=None)
def test_no_subset_of_two_word_rows_overflows(rows):
    gradient, hessian = np.array(rows).T
    packed = pack_newton(gradient, hessian, 1.0, len(rows))
    words = packed.words.reshape(-1, packed.scale.width)
    assert all(worst_sums(column) < 2**63 for column in words.T)


def test_most_of_the_bits_are_used():
    target = np.random.default_rng(0).normal(size=1000)
    packed = pack_squared(target, None, 1000)
    assert worst_sums(packed.words) >= 2**60
    values = [push * 2.0**-packed.scale.residual_shift for push, _, _ in unpack(packed.words, packed.scale)]
    np.testing.assert_allclose(values, target, rtol=0, atol=1e-12)


def test_rows_of_no_weight_are_nothing():
    target = np.array([1.0, 2.0, 3.0])
    for weight in ([1.0, 0.0, 1.0], [1.0, 0.0, 2.0]):
        packed = pack_squared(target, weight, 3)
        assert not packed.words.reshape(3, -1)[1].any()
    packed = pack_newton(np.array([1.0, 0.0, 0.0]), np.array([0.5, 0.0, 0.2]), 3.0, 3)
    assert [count for _, _, count in unpack(packed.words, packed.scale)] == [1, 0, 1]


def test_equal_weights_take_one_word():
    target = np.array([1.0, -2.0, 3.0])
    plain = pack_squared(target, None, 3)
    weighted = pack_squared(target, np.full(3, 0.7), 3)
    assert weighted.scale == plain.scale and (weighted.words == plain.words).all()
    assert weighted.mean_weight == 0.7 and weighted.total_weight == 3.0
    assert pack_newton(target, np.full(3, 0.25), 3.0, 3).scale.width == 1


@pytest.mark.parametrize("factor", [2.0**-1000, 2.0**-3, 2.0**7, 2.0**900])
def test_targets_times_a_power_of_two_give_the_same_integers(factor):
    rng = np.random.default_rng(1)
    target, weight = rng.normal(size=50), rng.uniform(0.1, 3, size=50)
    assert (pack_squared(target * factor, None, 50).words == pack_squared(target, None, 50).words).all()
    assert (pack_squared(target * factor, weight, 50).words == pack_squared(target, weight, 50).words).all()


def test_weights_times_three_give_nearly_the_same_integers():
    rng = np.random.default_rng(2)
    target, weight = rng.normal(size=50), rng.uniform(0.1, 3, size=50)
    one, three = pack_squared(target, weight, 50), pack_squared(target, 3 * weight, 50)
    assert one.scale == three.scale and three.mean_weight == pytest.approx(3 * one.mean_weight)
    np.testing.assert_allclose(one.words.astype(float), three.words.astype(float), rtol=1e-14)


def test_parts_packed_to_one_scale_add_up_to_the_whole():
    """What a cluster does: agree on a scale from sums, pack apart, add integers."""
    push = np.random.default_rng(3).normal(size=1000)
    everyone = np.ones(1000, dtype=bool)
    scale = choose_scale(1000, magnitudes(push), None)
    whole = pack(push, None, everyone, scale)
    parts = [pack(push[i::3], None, everyone[i::3], scale) for i in range(3)]
    assert sum(int(part.sum()) for part in parts) == int(whole.sum())


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: pack_squared([1.0, np.nan], None, 2), "target of row 1 is nan"),
        (lambda: pack_squared([np.inf, 1.0], None, 2), "target of row 0 is inf"),
        (lambda: pack_squared([1.0], None, 2), "target has shape .* 2 rows"),
        (lambda: pack_squared([1.0, 1.0], [1.0, -2.0], 2), r"weight of row 1 is negative \(-2\)"),
        (lambda: pack_squared([1.0, 1.0], [0.0, 0.0], 2), "every weight is zero"),
        (lambda: pack_newton([1.0, 1.0], [0.1, -0.1], 2.0, 2), "hessian of row 1 is negative"),
        (lambda: pack_newton([1.0, 1.0], [0.1, 0.2], 0.0, 2), "total_weight must be a positive number"),
        (lambda: choose_scale(2**31, (1.0, 1.0), None), "at most"),
    ],
)
def test_mistakes_are_explained(call, message):
    with pytest.raises(DataError, match=message):
        call()
