"""Bins: where they begin and end, and that values and thresholds agree about it."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from miserly.errors import DataError
from miserly.grow import Bins


def column(values, dtype=np.float64):
    return np.asarray(values, dtype=dtype).reshape(-1, 1)


def edges_of(values, **options):
    bins = Bins.fit(column(values), **options)
    return bins.edges[0, : bins.n_bins[0]].tolist()


def test_few_distinct_values_get_a_bin_each_with_edges_half_way():
    assert edges_of([3, 1, 1, 7, 3]) == [2.0, 5.0, np.inf]


def test_a_constant_column_is_one_bin():
    assert edges_of([4, 4, 4]) == [np.inf]
    assert edges_of([np.nan, np.nan]) == [np.inf]


def test_many_distinct_values_get_bins_of_about_equal_weight():
    X = column(np.random.default_rng(0).permutation(10_000))
    counts = np.bincount(Bins.fit(X, max_bins=100).transform(X).codes[0])
    assert len(counts) == 100 and counts.min() == counts.max() == 100


def test_a_heavy_value_has_a_bin_of_its_own_and_the_rest_keeps_the_others():
    rng = np.random.default_rng(1)
    values = rng.normal(size=5_000)
    values[:3_000] = 0.0
    X = column(rng.permutation(values))
    codes = Bins.fit(X, max_bins=64).transform(X).codes[0]
    counts = np.bincount(codes)
    zero = codes[X[:, 0] == 0.0]
    assert (zero == zero[0]).all() and counts[zero[0]] == 3_000
    assert len(counts) >= 62  # a quantile scheme blind to the atom would leave 26
    assert np.delete(counts, zero[0]).max() <= 40  # 2,000 / 62 = 32.3


@given(
    arrays(
        np.float32, st.integers(1, 300), elements=st.floats(-100, 100, width=32).map(lambda v: round(v, 1))
    ),
    st.integers(2, 40),
)
@settings(max_examples=60, deadline=None)
def test_never_more_bins_than_asked_and_codes_follow_the_edges(values, max_bins):
    bins = Bins.fit(column(values, np.float32), max_bins=max_bins)
    n = bins.n_bins[0]
    edges = bins.edges[0, : n - 1]
    assert n <= max_bins and (np.diff(edges) > 0).all()
    codes = bins.transform(column(values, np.float32)).codes[0]
    assert codes.tolist() == np.searchsorted(edges, values.astype(np.float64), side="left").tolist()
    if len(np.unique(values)) <= max_bins:
        assert n == len(np.unique(values))


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_neighbouring_floats_are_distinguished(dtype):
    """Half-way between neighbours may round to the upper one: the edge must stay below it."""
    low = np.array([1.0, np.nextafter(dtype(1), dtype(2)), 1e-30, -3.0], dtype=dtype)
    high = np.nextafter(low, dtype(np.inf))
    X = np.stack([low, high])
    bins = Bins.fit(X)
    assert (bins.n_bins == 2).all()
    assert (bins.edges[:, 0] >= low).all() and (bins.edges[:, 0] < high).all()
    assert bins.transform(X).codes.tolist() == [[0, 1]] * 4


def test_the_largest_floats_have_a_finite_middle():
    big = np.finfo(np.float64).max
    assert edges_of([-big, big]) == [0.0, np.inf]
    assert edges_of([big / 2, big])[0] < big


def test_missing_values_have_the_bin_after_the_last():
    X = column([1.0, np.nan, 2.0])
    binned = Bins.fit(X).transform(X)
    assert binned.codes[0].tolist() == [0, 2, 1] and binned.has_missing.tolist() == [True]
    assert not Bins.fit(X).transform(column([5.0, 1.0])).has_missing[0]


@pytest.mark.parametrize("value", [np.inf, -np.inf])
def test_infinite_values_are_refused_by_column_and_row(value):
    X = np.ones((700, 3))
    X[600, 1] = value
    with pytest.raises(DataError, match="column 1"):
        Bins.fit(X)
    bins = Bins.fit(np.ones((5, 3)))
    with pytest.raises(DataError, match="column 1 is infinite in row 600"):
        bins.transform(X)


def test_category_codes_are_their_own_bins():
    X = column([0, 254, 3, np.nan])
    binned = Bins.fit(X, categorical=[True]).transform(X)
    assert binned.codes[0].tolist() == [0, 254, 3, 255] and binned.bins.n_bins[0] == 255


@pytest.mark.parametrize("code", [255.0, -1.0, 1.5, np.inf])
def test_codes_that_are_no_category_are_refused(code):
    X = column([1.0, 2.0, code])
    with pytest.raises(DataError, match="column 0 is categorical, but row 2 holds"):
        Bins.fit(X, categorical=[True]).transform(X)


def test_memory_order_precision_and_threads_change_nothing():
    X = np.random.default_rng(2).normal(size=(60_000, 20)).astype(np.float32)  # enough for threads
    X[X < -1] = 0
    bins = Bins.fit(X)
    codes = bins.transform(X).codes
    assert (bins.transform(np.asfortranarray(X)).codes == codes).all()
    assert (bins.transform(X.astype(np.float64)).codes == codes).all()
    assert (bins.transform(X, n_threads=1).codes == bins.transform(X, n_threads=2).codes).all()
    assert (Bins.fit(np.asfortranarray(X).astype(np.float64)).edges == bins.edges).all()
    assert (Bins.fit(X, n_threads=1).edges == Bins.fit(X, n_threads=3).edges).all()


def test_a_sample_is_drawn_the_same_way_each_time():
    X = np.random.default_rng(3).normal(size=(5_000, 2))
    first = Bins.fit(X, sample=500, random_state=7).edges
    assert (first == Bins.fit(X, sample=500, random_state=7).edges).all()
    assert (first != Bins.fit(X, sample=500, random_state=8).edges).any()


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: Bins.fit(np.ones(3)), "matrix"),
        (lambda: Bins.fit(np.ones((0, 3))), "rows"),
        (lambda: Bins.fit(np.ones((3, 1)), max_bins=256), "max_bins must be from 2 to 255"),
        (lambda: Bins.fit(np.ones((3, 2)), categorical=[0]), "one boolean for each of 2 columns"),
        (lambda: Bins.fit(np.ones((3, 2))).transform(np.ones((3, 1))), "for 2 columns, not 1"),
    ],
)
def test_mistakes_are_explained(call, message):
    with pytest.raises(DataError, match=message):
        call()
