"""Columns of many rows: standardising them, reading some of them, and how many there may be.

Large tables are read in pieces of 8,192 rows, several in parallel if there are threads. Sums of the pieces
are added in order, so that results do not depend on the number of threads. `check_width` and `check_table`
are for matrices that would not fit into memory.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any, Protocol, TypeAlias, TypeVar

import numpy as np
from numpy.typing import NDArray

from miserly.errors import DataError
from miserly.utils.compiled import compiled
from miserly.utils.inputs import as_input

__all__ = [
    "MAX_COLUMNS",
    "CodedColumns",
    "DenseColumns",
    "TermColumns",
    "check_table",
    "check_width",
    "means_and_deviations",
    "pieces_of",
    "shares",
    "side_by_side",
    "standardised",
]

Floats: TypeAlias = NDArray[np.float64]
Result = TypeVar("Result")

ROWS_AT_A_TIME = 8_192
MAX_COLUMNS = 16_384  # a square of so many float64 is 2 GiB

WHAT_TO_DO = (
    "Give fewer columns (such as those that a Greedy Miser buys), or take a learner of trees, a cost lasso, "
    'or terms="boosted" where a learner has it'
)


def pieces_of(n: int) -> list[slice]:
    """Rows 0 to n in pieces that fit the cache."""
    return [slice(first, min(n, first + ROWS_AT_A_TIME)) for first in range(0, n, ROWS_AT_A_TIME)]


def shares(weight: Floats | None, n: int) -> Floats:
    """Weights of `n` rows that add up to 1; None means that all rows count the same."""
    return np.full(n, 1.0 / n) if weight is None else weight / weight.sum()


def side_by_side(
    work: Callable[[slice], Result], pieces: list[slice], n_threads: int = 1
) -> Iterator[Result]:
    """The results of all pieces, in order; at most as many at a time as there are threads, to save memory."""
    if n_threads == 1 or len(pieces) == 1:
        yield from map(work, pieces)
        return
    with ThreadPoolExecutor(n_threads) as pool:
        for first in range(0, len(pieces), n_threads):
            yield from pool.map(work, pieces[first : first + n_threads])


# -- reading some rows and columns -------------------------------------------------------------------------


class TermColumns(Protocol):
    """Columns (n, T) of terms that can be read some rows at a time."""

    @property
    def shape(self) -> tuple[int, int]: ...

    @property
    def dtype(self) -> np.dtype[Any]: ...

    def fill(self, out: NDArray[Any], rows: Any, terms: Any = slice(None)) -> None:
        """Write some rows (numbers or a slice) of some columns into `out` (rows, terms)."""

    def block(self, rows: Any, terms: Any = slice(None)) -> NDArray[Any]:
        """Some rows (numbers or a slice) of some columns, (rows, terms)."""


@dataclass(frozen=True, eq=False)
class DenseColumns:
    """Columns kept as an array of n T values."""

    values: NDArray[Any]

    @property
    def shape(self) -> tuple[int, int]:
        return len(self.values), self.values.shape[1]

    @property
    def dtype(self) -> np.dtype[Any]:
        return self.values.dtype

    def fill(self, out: NDArray[Any], rows: Any, terms: Any = slice(None)) -> None:
        if not isinstance(terms, slice):
            _copy(self.values, *_numbers(self.shape, rows, terms), out)
        elif isinstance(rows, slice):
            out[:] = self.values[rows, terms]
        else:
            _copy_rows(self.values[:, terms], rows, out)

    def block(self, rows: Any, terms: Any = slice(None)) -> NDArray[Any]:
        return _block(self, rows, terms)


@dataclass(frozen=True, eq=False)
class CodedColumns:
    """Columns of few different values, kept as codes of a byte: row i has ``decoder[t, codes[i, t]]`` in t.

    Boosted trees are such columns, their leaves the codes: an eighth of the memory of float64.
    """

    codes: NDArray[np.uint8]
    decoder: NDArray[Any]

    @property
    def shape(self) -> tuple[int, int]:
        return len(self.codes), self.codes.shape[1]

    @property
    def dtype(self) -> np.dtype[Any]:
        return self.decoder.dtype

    def fill(self, out: NDArray[Any], rows: Any, terms: Any = slice(None)) -> None:
        _decode(self.codes, self.decoder, *_numbers(self.shape, rows, terms), out)

    def block(self, rows: Any, terms: Any = slice(None)) -> NDArray[Any]:
        return _block(self, rows, terms)


def _block(columns: TermColumns, rows: Any, terms: Any) -> NDArray[Any]:
    row, term = _numbers(columns.shape, rows, terms)
    out = np.empty((len(row), len(term)), dtype=columns.dtype)
    columns.fill(out, rows, terms)
    return out


def _numbers(shape: tuple[int, int], rows: Any, terms: Any) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Rows and columns by number."""
    row, term = (
        np.arange(*some.indices(size)) if isinstance(some, slice) else np.asarray(some)
        for some, size in zip((rows, terms), shape, strict=True)
    )
    return row, term


# Compiled, because NumPy's index arrays take several times as long.


@compiled(nogil=True)
def _copy(values, rows, terms, out):  # type: ignore[no-untyped-def]
    for i in range(len(rows)):
        for t in range(len(terms)):
            out[i, t] = values[rows[i], terms[t]]


@compiled(nogil=True)
def _copy_rows(values, rows, out):  # type: ignore[no-untyped-def]
    for i in range(len(rows)):
        for t in range(values.shape[1]):
            out[i, t] = values[rows[i], t]


@compiled(nogil=True)
def _decode(codes, decoder, rows, terms, out):  # type: ignore[no-untyped-def]
    for i in range(len(rows)):
        for t in range(len(terms)):
            out[i, t] = decoder[terms[t], codes[rows[i], terms[t]]]


# -- standardising -----------------------------------------------------------------------------------------


def means_and_deviations(
    X: NDArray[Any], weight: Floats | None, columns: NDArray[np.int64], n_threads: int = 1
) -> tuple[Floats, Floats]:
    """Weighted means of the known values of some columns, and deviations with the mean for missing values.

    The mean of an empty column is 0; the deviation of a constant one, as far as rounding can tell, is 1.

    >>> X = np.array([[1.0, 7.0], [3.0, 7.0], [np.nan, 7.0]])
    >>> means_and_deviations(X, None, np.array([0, 1]))[0].tolist()
    [2.0, 7.0]
    """
    X, weight = as_input(X), np.ones(len(X)) if weight is None else weight
    shift = _add_up(X[:ROWS_AT_A_TIME], weight, np.zeros(len(columns)), columns)
    start = np.divide(shift[1], shift[0], out=np.zeros(len(columns)), where=shift[0] > 0)

    def sums(rows: slice) -> Floats:
        return np.asarray(_add_up(X[rows], weight[rows], start, columns))

    mass, first, second = sum(side_by_side(sums, pieces_of(len(X)), n_threads), np.zeros((3, len(columns))))
    off = np.divide(first, mass, out=np.zeros(len(columns)), where=mass > 0)
    square = np.maximum(0.0, second - mass * off**2) / weight.sum()
    center = start + off
    rounding = len(X) * np.finfo(np.float64).eps * np.abs(center)
    deviation = np.sqrt(square)
    return center, np.where(deviation > rounding, deviation, 1.0)


@compiled(nogil=True)
def _add_up(X, weight, start, columns):  # type: ignore[no-untyped-def]
    """Sums of weights, of weighted differences from `start`, and of their weighted squares."""
    total = np.zeros((3, len(columns)))
    for i in range(len(X)):
        for j in range(len(columns)):
            x = np.float64(X[i, columns[j]])
            there = x == x
            w = weight[i] if there else 0.0
            off = x - start[j] if there else 0.0
            total[0, j] += w
            total[1, j] += w * off
            total[2, j] += w * off * off
    return total


def standardised(
    X: NDArray[Any],
    columns: NDArray[np.int64],
    center: Floats,
    scale: Floats,
    dtype: Any = np.float64,
    n_threads: int = 1,
) -> NDArray[Any]:
    """``(X - center) / scale`` of some columns, 0 where a value is missing; rounded to `dtype` at the end."""
    out, X = np.empty((len(X), len(columns)), dtype=dtype), as_input(X)
    for _ in side_by_side(
        lambda rows: _standardise(X[rows], columns, center, scale, out[rows]), pieces_of(len(X)), n_threads
    ):
        pass
    return out


@compiled(nogil=True)
def _standardise(X, columns, center, scale, out):  # type: ignore[no-untyped-def]
    for i in range(len(X)):
        for j in range(len(columns)):
            x = np.float64(X[i, columns[j]])
            out[i, j] = (x - center[j]) / scale[j] if x == x else 0.0


def check_width(n_columns: int) -> None:
    """Raise `DataError` for a matrix of columns by columns that would not fit into memory.

    >>> check_width(100_000)
    Traceback (most recent call last):
    ...
    miserly.errors.DataError: 100,000 columns, and a matrix of columns by columns is needed, of 75 GiB; ...
    """
    if n_columns > MAX_COLUMNS:
        raise DataError(
            f"{n_columns:,} columns, and a matrix of columns by columns is needed, of "
            f"{8.0 * n_columns**2 / 2**30:.0f} GiB; {MAX_COLUMNS:,} columns are the most. {WHAT_TO_DO}"
        )


def check_table(n_terms: int, n_features: int) -> None:
    """Raise `DataError` for a table of booleans, terms by features, larger than the largest square."""
    if n_terms * n_features > 8 * MAX_COLUMNS**2:
        raise DataError(
            f"a table of {n_terms:,} terms by {n_features:,} features is needed, of "
            f"{n_terms * n_features / 2**30:.0f} GiB, and 2 GiB are the most. {WHAT_TO_DO}"
        )
