"""Weighted least squares on some columns, from their Gram matrix and a few passes over the rows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import LinAlgError, cho_factor, cho_solve

from miserly.solvers.columns import TermColumns, pieces_of, side_by_side
from miserly.solvers.gram import Centred

__all__ = ["least_squares"]

Floats: TypeAlias = NDArray[np.float64]
Ints: TypeAlias = NDArray[np.int64]


def least_squares(
    gram: Centred,
    terms: Ints,
    columns: TermColumns,
    targets: Floats,
    rows: Ints,
    weight: Floats | None = None,
    n_threads: int = 1,
) -> tuple[Floats, Floats, Floats]:
    """Minimise ``sum_i w_i |y_i - b - B' h_i|^2`` over the weights `B` of some columns, and intercepts `b`.

    `gram` is that of the rows and of all columns; `rows` are their numbers and `weight` is for these rows.
    If it was computed from float32 products, the solution is refined by the products of the columns with the
    residuals, in float64.

    Returns
    -------
    weights (terms, C), intercept (C,), scores (rows, C)
    """
    if len(terms) == 0:
        n_targets = targets.shape[1]
        return np.zeros((0, n_targets)), gram.target_means, np.tile(gram.target_means, (len(rows), 1))
    factor = _factor(gram.products[np.ix_(terms, terms)], float(np.finfo(columns.dtype).eps))
    weights = cho_solve(factor, gram.moments[terms])
    intercept = gram.target_means - gram.means[terms] @ weights
    look = _RowSums(columns, terms, rows, targets, weight, n_threads)
    if columns.dtype != np.float64:
        left, products = look.residuals(weights, intercept)
        change = cho_solve(factor, products - np.outer(gram.means[terms], left))
        weights += change
        intercept = intercept + left / look.mass - gram.means[terms] @ change
    return weights, intercept, look.scores(weights, intercept)


def _factor(products: Floats, precision: float) -> tuple[Floats, bool]:
    """The Cholesky factor of products; with a slight ridge where columns differ by rounding errors only."""
    try:
        found: tuple[Floats, bool] = cho_factor(products, lower=True)
    except LinAlgError:
        found = cho_factor(products + np.diag(np.sqrt(precision) * products.diagonal()), lower=True)
    return found


@dataclass(frozen=True, eq=False)
class _RowSums:
    """Sums over some rows and columns, one piece of rows at a time."""

    columns: TermColumns
    terms: Ints
    rows: Ints
    targets: Floats
    weight: Floats | None
    n_threads: int

    @property
    def mass(self) -> float:
        return float(len(self.rows) if self.weight is None else self.weight.sum())

    def scores(self, weights: Floats, intercept: Floats) -> Floats:
        """``H B + b``, (rows, C)."""

        def score(piece: slice) -> Floats:
            return self.columns.block(self.rows[piece], self.terms) @ weights + intercept

        return np.concatenate(list(side_by_side(score, pieces_of(len(self.rows)), self.n_threads)))

    def residuals(self, weights: Floats, intercept: Floats) -> tuple[Floats, Floats]:
        """Weighted sums of the residuals, (C,), and of their products with the columns, (terms, C)."""

        def add_up(piece: slice) -> Floats:
            block = self.columns.block(self.rows[piece], self.terms).astype(np.float64)
            left = self.targets[self.rows[piece]] - block @ weights - intercept
            if self.weight is not None:
                left *= self.weight[piece, None]
            return np.vstack([left.sum(axis=0), block.T @ left])

        parts = side_by_side(add_up, pieces_of(len(self.rows)), self.n_threads)
        total = sum(parts, np.zeros((1 + len(self.terms), len(intercept))))
        return total[0], total[1:]
