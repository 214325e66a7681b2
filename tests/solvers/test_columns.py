"""Columns: the same values however they are kept, and standardised as NumPy would."""

import numpy as np
import pytest

from miserly.solvers.columns import (
    ROWS_AT_A_TIME,
    CodedColumns,
    DenseColumns,
    means_and_deviations,
    side_by_side,
    standardised,
)

N = ROWS_AT_A_TIME + 50


@pytest.fixture(scope="module")
def table():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(N, 4)) * [1.0, 1e4, 1e-3, 1.0] + [0.0, 1e5, 3.0, -2.0]
    X[rng.random(X.shape) < 0.1] = np.nan
    return X, rng.gamma(2.0, size=N)


@pytest.mark.parametrize("rows", [slice(5, 90), np.array([7, 3, 3, 60])], ids=["slice", "numbers"])
@pytest.mark.parametrize(
    "terms", [slice(None), np.array([2, 0]), np.array([3, 0, 2, 1])], ids=["all", "some", "all, turned round"]
)
def test_a_block_is_the_part_of_the_matrix(rows, terms):
    rng = np.random.default_rng(1)
    codes, decoder = rng.integers(0, 5, size=(100, 4)).astype(np.uint8), rng.normal(size=(4, 5))
    whole = decoder[np.arange(4), codes]
    for columns in (CodedColumns(codes, decoder), DenseColumns(whole)):
        np.testing.assert_array_equal(columns.block(rows, terms), whole[rows][:, terms])


def test_means_and_deviations_are_numpys(table):
    X, w = table
    center, scale = means_and_deviations(X, w, np.arange(4))
    seen = np.ma.masked_invalid(X)
    np.testing.assert_allclose(center, np.ma.average(seen, axis=0, weights=w), rtol=1e-12)
    filled = np.where(np.isnan(X), center, X)
    np.testing.assert_allclose(scale, np.sqrt(np.average((filled - center) ** 2, axis=0, weights=w)))


def test_some_columns_in_any_order_of_memory(table):
    X, w = table
    center, scale = means_and_deviations(X, w, np.arange(4))
    some = np.array([3, 1])
    for layout in (X, np.asfortranarray(X)):
        np.testing.assert_array_equal(means_and_deviations(layout, w, some)[0], center[some])
        ready = standardised(layout, some, center[some], scale[some])
        np.testing.assert_array_equal(
            ready, np.nan_to_num((X[:, some] - center[some]) / scale[some], nan=0.0)
        )


def test_rounding_to_float32_comes_last():
    X = np.column_stack([1e6 + np.arange(100.0) / 1e3])
    center, scale = means_and_deviations(X, None, np.array([0]))
    ready = standardised(X, np.array([0]), center, scale, np.float32)
    np.testing.assert_allclose(ready[:, 0], (X[:, 0] - X.mean()) / X.std(), rtol=1e-6)


def test_sorted_rows_do_not_spoil_the_deviation():
    x = np.sort(np.random.default_rng(0).normal(size=5 * ROWS_AT_A_TIME))[:, None]
    assert means_and_deviations(x, None, np.array([0]))[1][0] == pytest.approx(x.std(), rel=1e-12)


def test_threads_change_no_bit(table):
    X, w = table
    one, two = (means_and_deviations(X, w, np.arange(4), n_threads=n) for n in (1, 2))
    np.testing.assert_array_equal(one, two)
    pieces = [slice(k, k + 1) for k in range(7)]
    assert list(side_by_side(lambda piece: piece.start, pieces, 2)) == list(range(7))
