"""Gram matrices in pieces are those of float64, and do not depend on threads."""

import tracemalloc

import numpy as np
import pytest

from miserly.solvers.columns import ROWS_AT_A_TIME, CodedColumns, DenseColumns
from miserly.solvers.gram import gram

N = 2 * ROWS_AT_A_TIME + 100


@pytest.fixture(scope="module")
def table():
    rng = np.random.default_rng(0)
    H = rng.normal(size=(N, 12)) + np.linspace(-1, 1, 12)
    return H, H[:, :2] @ rng.normal(size=(2, 2)) + rng.normal(size=(N, 2)), rng.gamma(2.0, size=N)


def exact(H, Y, w):
    full = np.column_stack([H, np.ones(len(H)), Y]).astype(np.float64)
    return full.T @ (full * w[:, None])


def test_pieces_add_up(table):
    H, Y, w = table
    np.testing.assert_allclose(gram(DenseColumns(H), Y, w).total, exact(H, Y, w), rtol=1e-10)
    np.testing.assert_allclose(gram(DenseColumns(H), Y).total, exact(H, Y, np.ones(N)), rtol=1e-10)


def test_float32_products_are_near_the_exact_ones(table):
    H, Y, w = table
    found = gram(DenseColumns(H.astype(np.float32)), Y, w).total
    right = exact(H, Y, w)
    size = np.sqrt(np.outer(right.diagonal(), right.diagonal()))
    error = np.abs(found - right).max() / size.max()
    assert 1e-12 < error < 5e-7


def test_some_rows_and_columns_are_those_of_the_part(table):
    H, Y, w = table
    rows = np.flatnonzero(H[:, 0] > 0)
    terms = np.array([7, 2])
    found = gram(DenseColumns(H), Y, w, rows=rows, terms=terms)
    np.testing.assert_allclose(found.total, exact(H[rows][:, terms], Y[rows], w[rows]), rtol=1e-10)
    narrow = gram(DenseColumns(H.astype(np.float32)), Y, w, rows=rows, terms=terms, dtype=np.float64)
    np.testing.assert_allclose(narrow.total, found.total, rtol=1e-5)


def test_the_sibling_by_subtraction(table):
    H, Y, w = table
    above = H[:, 3] > 0.2
    whole = gram(DenseColumns(H), Y, w)
    up, low = (gram(DenseColumns(H), Y, w, rows=np.flatnonzero(side)) for side in (above, ~above))
    np.testing.assert_allclose((whole - up).total, low.total, rtol=1e-9, atol=1e-9)
    assert (whole - up).weight == pytest.approx(w[~above].sum())


def test_the_number_of_threads_changes_no_bit(table):
    H, Y, w = table
    narrow = DenseColumns(H.astype(np.float32))
    one, two = (gram(narrow, Y, w, n_threads=n).total for n in (1, 2))
    np.testing.assert_array_equal(one, two)


def test_centring_takes_off_the_weighted_means(table):
    H, Y, w = table
    found = gram(DenseColumns(H), Y, w).centred()
    middle = H - np.average(H, axis=0, weights=w)
    aim = Y - np.average(Y, axis=0, weights=w)
    np.testing.assert_allclose(found.products, middle.T @ (middle * w[:, None]), rtol=1e-9, atol=1e-8)
    np.testing.assert_allclose(found.moments, middle.T @ (aim * w[:, None]), rtol=1e-9, atol=1e-8)
    np.testing.assert_allclose(found.squares, (w[:, None] * aim**2).sum(axis=0))
    np.testing.assert_allclose(found.means, np.average(H, axis=0, weights=w))


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_a_constant_column_is_exactly_zero_when_centred(table, dtype):
    H, Y, w = table
    H = np.column_stack([H[:, :2], np.full(N, 0.3)]).astype(dtype)
    found = gram(DenseColumns(H), Y, w).centred()
    assert not found.products[2].any() and not found.products[:, 2].any() and not found.moments[2].any()
    assert found.products[:2, :2].all()


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_a_column_that_is_constant_in_the_sibling_is_exactly_zero(table, dtype):
    """What subtraction leaves there is rounding of the larger Gram, however small the sibling is."""
    H, Y, w = table
    H = H.astype(dtype)
    low = np.arange(N) % 1000 == 0
    H[low, :3] = [0.3, -1.7, 2.9]
    up = gram(DenseColumns(H), Y, w, rows=np.flatnonzero(~low))
    sibling = (gram(DenseColumns(H), Y, w) - up).centred()
    assert not sibling.products[:3].any() and not sibling.moments[:3].any()
    assert (sibling.products.diagonal()[3:] > sibling.doubt[3:]).all()


def test_coded_columns_are_the_decoded_ones(table):
    _, Y, w = table
    rng = np.random.default_rng(1)
    codes, decoder = rng.integers(0, 16, size=(N, 5)).astype(np.uint8), rng.normal(size=(5, 16))
    decoded = decoder[np.arange(5), codes]
    rows, terms = np.flatnonzero(rng.random(N) < 0.5), np.array([4, 0])
    for part in ({}, {"rows": rows}, {"rows": rows, "terms": terms}):
        coded = gram(CodedColumns(codes, decoder), Y, w, **part)
        np.testing.assert_array_equal(coded.total, gram(DenseColumns(decoded), Y, w, **part).total)


def test_memory_is_that_of_a_piece():
    """40,000 rows of 50 codes are 2 MB; as float32 they would be 8 MB, and 16 MB as float64."""
    rng = np.random.default_rng(1)
    codes, decoder = rng.integers(0, 16, size=(40_000, 50)).astype(np.uint8), rng.normal(size=(50, 16))
    columns, Y = CodedColumns(codes, decoder.astype(np.float32)), rng.normal(size=(40_000, 1))
    gram(columns, Y)  # compiled
    tracemalloc.start()
    gram(columns, Y)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 6e6
