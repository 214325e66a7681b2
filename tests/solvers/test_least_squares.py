"""Least squares from a Gram matrix: that of NumPy, also when the Gram is only good to float32."""

import numpy as np
import pytest

from miserly.solvers.columns import ROWS_AT_A_TIME, DenseColumns
from miserly.solvers.gram import gram
from miserly.solvers.least_squares import least_squares


@pytest.fixture(scope="module")
def problem():
    rng = np.random.default_rng(0)
    n = ROWS_AT_A_TIME + 100
    H = (rng.normal(size=(n, 8)) + 3.0 * rng.normal(size=(n, 1)) + 1.0).astype(np.float32)
    Y = H[:, :3] @ rng.normal(size=(3, 2)) + rng.normal(size=(n, 2))
    rows = np.flatnonzero(rng.random(n) < 0.9)
    return H, Y, rows, rng.gamma(2.0, size=n)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize(("dtype", "near"), [(np.float32, 1e-9), (np.float64, 1e-9)])
def test_the_weights_are_those_of_lstsq(problem, dtype, near, weighted):
    H, Y, rows, w = problem
    terms = np.array([6, 0, 2])
    columns = DenseColumns(H.astype(dtype))
    found = gram(columns, Y, w if weighted else None, rows=rows).centred()
    weight = w[rows] if weighted else None
    weights, intercept, scores = least_squares(found, terms, columns, Y, rows, weight, n_threads=2)
    root = np.sqrt(w[rows] if weighted else np.ones(len(rows)))[:, None]
    design = np.column_stack([H[rows][:, terms], np.ones(len(rows))]).astype(np.float64)
    right = np.linalg.lstsq(design * root, Y[rows] * root, rcond=None)[0]
    np.testing.assert_allclose(np.vstack([weights, intercept]), right, atol=near)
    np.testing.assert_allclose(scores, design @ right, atol=10 * near)


def test_no_terms_answer_the_mean(problem):
    H, Y, rows, w = problem
    columns = DenseColumns(H)
    found = gram(columns, Y, w, rows=rows).centred()
    weights, intercept, scores = least_squares(found, np.array([], dtype=int), columns, Y, rows, w[rows])
    np.testing.assert_allclose(intercept, np.average(Y[rows], axis=0, weights=w[rows]), atol=1e-6)
    assert weights.shape == (0, 2) and (scores == intercept).all()


def test_columns_that_only_rounding_tells_apart_fit_as_well_as_one(problem):
    H, Y, rows, _ = problem
    H = H.astype(np.float64)
    twice = np.column_stack([H[:, :2], H[:, 0] - 1e-9 * H[:, 1], H[:, 0] + 1e-9 * H[:, 1]])
    columns = DenseColumns(twice)
    weights, _, scores = least_squares(gram(columns, Y, rows=rows).centred(), np.arange(4), columns, Y, rows)
    design = np.column_stack([H[rows, :2], np.ones(len(rows))])
    right = design @ np.linalg.lstsq(design, Y[rows], rcond=None)[0]
    np.testing.assert_allclose(scores, right, atol=1e-3 * Y.std())
    assert np.isfinite(weights).all() and np.abs(weights).max() < 1e3
