"""Weighted least squares on some columns, from their Gram matrix and a few looks at the rows."""

from __future__ import annotations

from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import cho_factor, cho_solve

from miserly.solvers.gram import ROWS_AT_A_TIME, Centred, Columns

__all__ = ["least_squares", "scores_of"]

Floats: TypeAlias = NDArray[np.float64]
Ints: TypeAlias = NDArray[np.int64]

LOOKS = 2  # each takes off all but about a hundredth of the error that a float32 Gram leaves


def least_squares(
    gram: Centred,
    terms: Ints,
    columns: Columns,
    targets: Floats,
    rows: Ints,
    weight: Floats | None = None,
) -> tuple[Floats, Floats, Floats]:
    """Minimise ``sum_i w_i |y_i - b - B' h_i|^2`` over the weights `B` of some columns, and intercepts `b`.

    `gram` is that of the rows and of all columns; `rows` are their numbers and `weight` is for these rows.
    Where it was made of float32 products, the solution is refined: the products of the columns with the
    residuals, in float64, show how far it is off.

    Returns
    -------
    weights (terms, C), intercept (C,), scores (rows, C)
    """
    n_targets = targets.shape[1]
    if len(terms) == 0:
        return np.zeros((0, n_targets)), gram.target_means, np.tile(gram.target_means, (len(rows), 1))
    factor = cho_factor(gram.products[np.ix_(terms, terms)], lower=True)
    weights = cho_solve(factor, gram.moments[terms])
    intercept = gram.target_means - gram.means[terms] @ weights
    scores = scores_of(columns, rows, terms, weights, intercept)
    for _ in range(0 if columns.dtype == np.float64 else LOOKS):
        left = targets[rows] - scores
        mass = np.ones(len(rows)) if weight is None else weight
        intercept = intercept + mass @ left / mass.sum()
        left -= mass @ left / mass.sum()
        change = cho_solve(factor, _products(columns, rows, terms, mass[:, None] * left))
        weights += change
        intercept -= gram.means[terms] @ change
        scores = scores_of(columns, rows, terms, weights, intercept)
    return weights, intercept, scores


def scores_of(columns: Columns, rows: Ints, terms: Ints, weights: Floats, intercept: Floats) -> Floats:
    """``H B + b`` of some rows and columns, (rows, C)."""
    out = np.tile(intercept, (len(rows), 1))
    for piece in _pieces(len(rows)):
        out[piece] += columns.block(rows[piece], terms) @ weights
    return out


def _products(columns: Columns, rows: Ints, terms: Ints, left: Floats) -> Floats:
    """``H' left``, (terms, C)."""
    total = np.zeros((len(terms), left.shape[1]))
    for piece in _pieces(len(rows)):
        total += columns.block(rows[piece], terms).T @ left[piece]
    return total


def _pieces(n: int) -> list[slice]:
    return [slice(first, min(n, first + ROWS_AT_A_TIME)) for first in range(0, n, ROWS_AT_A_TIME)]
