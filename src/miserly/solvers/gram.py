"""Gram matrices of many rows in little memory: products in the columns' own precision, sums in float64.

With columns H (n, T), targets Y (n, C) and weights W = diag(w), all that weighted least squares needs is in

    [H 1 Y]' W [H 1 Y]

`gram` adds it up 8,192 rows at a time: one symmetric product per piece, float32 where the columns are, and
the sum of the pieces in float64, so the error stays near 1e-7 of the diagonal however many rows there are.
Pieces may be computed side by side, and are added in order: the result does not depend on the number of
threads. Grams of disjoint sets of rows add and subtract: of two children only the smaller needs a pass over
its rows. Columns that do not have mean zero are centred afterwards, by rank-one corrections.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits

from miserly.solvers.columns import TermColumns, check_width, pieces_of, side_by_side

__all__ = ["Centred", "Gram", "gram"]

Floats: TypeAlias = NDArray[np.float64]
Rows: TypeAlias = NDArray[np.int64] | None


@dataclass(frozen=True, eq=False)
class Centred:
    """A Gram of columns and targets less their weighted means.

    A column that is constant among these rows, up to rounding errors, has a diagonal of exactly zero. `doubt`
    is the part of a square that may be a rounding error.
    """

    products: Floats  # (T, T)
    moments: Floats  # (T, C): columns with targets
    squares: Floats  # (C,): the squared error of answering the mean
    means: Floats  # (T,)
    target_means: Floats  # (C,)
    doubt: Floats  # (T,)

    def less(self, weights: Floats, intercept: Floats) -> Centred:
        """The same for the residuals of the targets after linear scores ``H B + b``.

        >>> from miserly.solvers.columns import DenseColumns
        >>> H, Y = np.array([[1.0], [2.0], [6.0]]), np.array([[1.0], [2.0], [3.0]])
        >>> found = gram(DenseColumns(H), Y).centred().less(np.array([[0.5]]), np.array([1.0]))
        >>> found.moments.tolist(), found.squares.tolist(), found.target_means.tolist()
        ([[-2.0]], [0.5], [-0.5])
        """
        explained = self.products @ weights
        squares = self.squares - (weights * (2.0 * self.moments - explained)).sum(axis=0)
        return replace(
            self,
            moments=self.moments - explained,
            squares=np.maximum(squares, 0.0),
            target_means=self.target_means - self.means @ weights - intercept,
        )


@dataclass(frozen=True, eq=False)
class Gram:
    """``[H 1 Y]' W [H 1 Y]`` (T + 1 + C, T + 1 + C), in float64, of columns of some precision.

    `squares` are the scale of rounding errors: for a difference of Grams, those of the larger one.
    """

    total: Floats
    n_terms: int
    precision: float  # of one product, relative
    squares: Floats  # (T + 1 + C,)

    @property
    def weight(self) -> float:
        """The sum of the weights."""
        return float(self.total[self.n_terms, self.n_terms])

    def __sub__(self, other: Gram) -> Gram:
        return Gram(self.total - other.total, self.n_terms, self.precision, self.squares)

    def centred(self) -> Centred:
        """Products about the weighted means: ``H'WH - s s'/w`` with ``s = H'w``."""
        t = self.n_terms
        sums = np.delete(self.total[t], t)
        rest = np.delete(np.delete(self.total, t, axis=0), t, axis=1)
        doubt = 100.0 * self.precision * np.delete(self.squares, t)
        rest -= np.outer(sums, sums / self.weight)
        constant = rest.diagonal() <= doubt
        rest[constant] = 0.0
        rest[:, constant] = 0.0
        means = sums / self.weight
        squares = rest.diagonal()[t:].copy()
        return Centred(rest[:t, :t], rest[:t, t:], squares, means[:t], means[t:], doubt[:t])


def gram(
    columns: TermColumns,
    targets: Floats,
    weight: Floats | None = None,
    rows: Rows = None,
    terms: Any = slice(None),
    dtype: Any = None,
    n_threads: int = 1,
) -> Gram:
    """The Gram of some rows and columns, with the targets.

    Parameters
    ----------
    columns : TermColumns of (n, T)
    targets : array of (n, C)
    weight : array of (n,), optional
    rows : int array, optional
        All by default.
    terms : slice or int array, optional
        All columns by default.
    dtype : optional
        The precision of the products; that of the columns by default.

    Examples
    --------
    >>> from miserly.solvers.columns import DenseColumns
    >>> H, Y = np.array([[1.0], [2.0], [6.0]]), np.array([[1.0], [2.0], [3.0]])
    >>> found = gram(DenseColumns(H), Y).centred()
    >>> found.means.tolist(), found.products.tolist(), found.moments.tolist()
    ([3.0], [[14.0]], [[5.0]])
    """
    dtype = np.dtype(columns.dtype if dtype is None else dtype)
    n_rows = columns.shape[0] if rows is None else len(rows)
    n_terms = len(range(columns.shape[1])[terms]) if isinstance(terms, slice) else len(terms)
    width = n_terms + 1 + targets.shape[1]
    check_width(n_terms)

    def product(piece: slice) -> NDArray[Any]:
        some: Any = piece if rows is None else rows[piece]
        block = np.empty((piece.stop - piece.start, width), dtype=dtype)
        columns.fill(block[:, :n_terms], some, terms)
        block[:, n_terms] = 1.0
        block[:, n_terms + 1 :] = targets[some]
        if weight is not None:
            block *= np.sqrt(weight[some]).astype(dtype)[:, None]
        return block.T @ block

    total = np.zeros((width, width))
    with threadpool_limits(1, user_api="blas"):  # one thread for a piece: rounding is then always the same
        for part in side_by_side(product, pieces_of(n_rows), n_threads):
            total += part
    return Gram(total, n_terms, float(np.finfo(dtype).eps), total.diagonal().copy())
