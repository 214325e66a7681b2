"""Arrays and frames of any library as NumPy arrays, and frames that are encoded once; with NumPy alone."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from miserly.errors import DataError

__all__ = [
    "EncodedFrame",
    "array_of",
    "column_at",
    "holds_in_float32",
    "in_order",
    "is_table",
    "labels_of",
    "matrix_from",
    "recoded",
    "refuse_infinities",
]

_ROWS_AT_A_TIME = 16_384
_NARROW = frozenset(("bool", "int8", "int16", "uint8", "uint16", "float16", "float32"))


def is_table(X: Any) -> bool:
    """Whether `X` has named columns, as frames of pandas, polars and pyarrow have."""
    if isinstance(X, np.ndarray):
        return False
    if type(X).__name__ == "LazyFrame":
        raise DataError("a LazyFrame has no rows yet; call .collect() first")
    return hasattr(X, "columns") or hasattr(X, "column_names")


def labels_of(frame: Any) -> list[Any]:
    """The names of the columns of a frame."""
    return list(frame.column_names if hasattr(frame, "column_names") else frame.columns)


def column_at(frame: Any, labels: Sequence[Any], place: int) -> Any:
    """One column of a frame, by position, because a label may be there twice."""
    if hasattr(frame, "iloc"):
        return frame.iloc[:, place]
    return frame.column(place) if hasattr(frame, "column_names") else frame[labels[place]]


def array_of(values: Any, what: str) -> NDArray[Any]:
    """A column as a NumPy array, of objects if it holds anything but numbers."""
    if isinstance(values, np.ma.MaskedArray):
        raise DataError(f"{what} is a masked array; give NaN where a value is missing: .filled(numpy.nan)")
    dtype = getattr(values, "dtype", None)
    if hasattr(values, "to_numpy"):
        if not isinstance(dtype, np.dtype) and getattr(dtype, "kind", "") in ("i", "u", "f"):
            return np.asarray(values.to_numpy(dtype=np.float64, na_value=np.nan))  # pandas' own numbers
        return np.asarray(values.to_numpy())
    if isinstance(values, np.ndarray):
        return values
    listed = np.empty(len(values), dtype=object)
    listed[:] = list(values)
    return listed


def matrix_from(X: Any) -> NDArray[Any]:
    """Rows as an array, of objects if not all are numbers; sparse, masked and other arrays are errors."""
    if hasattr(X, "toarray"):
        raise DataError("Sparse data was passed, but dense rows are needed: call .toarray() on it first")
    if isinstance(X, np.ma.MaskedArray):
        raise DataError("the rows are a masked array; give NaN where a value is missing: .filled(numpy.nan)")
    if isinstance(X, np.ndarray):
        matrix = X
    else:
        matrix = _array_of_rows(X)
    if matrix.dtype.kind == "c":
        raise DataError("Complex data not supported; give real numbers")
    if matrix.dtype.kind in "mM":
        raise DataError(f"the rows hold dates or times ({matrix.dtype}); turn them into numbers")
    if matrix.dtype.kind == "V":
        raise DataError("a structured array has named fields, not columns; give a frame or a plain array")
    return matrix


def _array_of_rows(X: Any) -> NDArray[Any]:
    try:
        matrix = np.asarray(X)
        if matrix.dtype.kind in "USO" and matrix.ndim == 2:  # numbers beside text must stay numbers
            matrix = np.asarray(X, dtype=object)
        return matrix
    except ValueError:  # rows of different lengths
        lengths = [len(row) if hasattr(row, "__len__") else 1 for row in X]
        row = next((i for i, length in enumerate(lengths) if length != lengths[0]), 0)
        raise DataError(
            f"rows must have one length; row {row} has {lengths[row]} values and row 0 has {lengths[0]}"
        ) from None
    except OverflowError as error:
        raise DataError(f"the rows hold a number that is too large: {error}") from None


def refuse_infinities(
    values: NDArray[Any],
    names: Sequence[str] | None = None,
    columns: Sequence[int] | NDArray[Any] | None = None,
) -> None:
    """Raise an error for infinite values that names the first column with one; only `columns` are checked.

    >>> values = np.array([[1.0, np.nan], [2.0, np.inf]])
    >>> refuse_infinities(values, columns=[0])
    >>> refuse_infinities(values, ["age", "chol"])
    Traceback (most recent call last):
    miserly.errors.DataError: column 'chol' holds infinity (row 1); give NaN where a value is missing
    """
    for first in range(0, len(values), _ROWS_AT_A_TIME):
        infinite = np.isinf(values[first : first + _ROWS_AT_A_TIME])
        if columns is not None and infinite.any():
            infinite[:, np.setdiff1d(np.arange(values.shape[1]), columns)] = False
        if infinite.any():
            row, column = (int(place) for place in np.argwhere(infinite)[0])
            label = column if names is None else names[column]
            raise DataError(
                f"column {label!r} holds infinity (row {first + row}); give NaN where a value is missing"
            )


# -- frames that are encoded once ----------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class EncodedFrame:
    """Rows of a frame as numbers, with the categories of the whole frame; a search encodes it only once.

    It stands for the frame: `read_frame`, `Encoder.rows` and `Rows.take` accept it, and give exactly what
    they give for the same rows of the frame. A model that is fitted to some of the rows knows only the
    categories of these rows.

    Parameters
    ----------
    values : array of (n, n_columns)
        Numbers, and codes of categories; NaN where a value is missing.
    header : frame
        The frame without its rows, which has its column names.
    categories : mapping of int to tuple
        The categories of columns that hold categories, in the order of their codes.
    booleans : frozenset of int
        Columns that hold booleans: both categories are always known.
    """

    values: NDArray[Any]
    header: Any
    categories: Mapping[int, tuple[Any, ...]]
    booleans: frozenset[int] = frozenset()

    def __len__(self) -> int:
        """Number of rows."""
        return len(self.values)

    def __getitem__(self, rows: slice) -> EncodedFrame:
        """Some consecutive rows."""
        return replace(self, values=self.values[rows])

    @property
    def columns(self) -> list[Any]:
        """Names of the columns."""
        return labels_of(self.header)

    @property
    def shape(self) -> tuple[int, int]:
        """Number of rows and of columns."""
        return self.values.shape[0], self.values.shape[1]

    def take(self, rows: NDArray[Any]) -> EncodedFrame:
        """Select rows by number, or by a mask.

        The memory layout stays that of the frame, so that fits stay the same to the last bit.
        """
        if self.values.flags.c_contiguous:
            return replace(self, values=self.values[rows])
        numbers = np.flatnonzero(rows) if rows.dtype == np.bool_ else rows
        return replace(self, values=np.take(self.values.T, numbers, axis=1).T)

    def with_present_categories(self) -> tuple[NDArray[Any], dict[int, tuple[Any, ...]]]:
        """Values coded by the categories that these rows hold, and these categories.

        A column of categories without any value becomes a column of missing numbers, as in `read_frame`.
        """
        values, categories = self.values, {}
        for column, known in self.categories.items():
            codes = self.values[:, column]
            present = np.unique(codes[~np.isnan(codes)]).astype(np.int64)
            if not len(present):
                values = values.astype(np.float64)
            elif column in self.booleans:
                categories[column] = tuple(known)
            else:
                kept = in_order([known[code] for code in present])
                categories[column] = kept
                if kept != tuple(known):
                    values = values.copy() if values is self.values else values
                    place = {value: code for code, value in enumerate(kept)}
                    lookup = np.full(len(known), np.nan)
                    lookup[present] = [place[known[code]] for code in present]
                    values[:, column] = recoded(codes, lookup)
        return values, categories

    def decoded(self, column: int) -> NDArray[Any]:
        """The values of a column before they were encoded; None where one is missing."""
        values = self.values[:, column]
        if column not in self.categories:
            return values
        known = np.array([*self.categories[column], None], dtype=object)
        decoded: NDArray[Any] = known[np.where(np.isnan(values), len(known) - 1, values).astype(np.int64)]
        return decoded


def holds_in_float32(dtype: Any) -> bool:
    """Whether float32 holds all values of a type without loss; `dtype` is of NumPy or of narwhals.

    >>> [holds_in_float32(np.dtype(kind)) for kind in ("int16", "int32", "float64")]
    [True, False, False]
    """
    return str(dtype).lower() in _NARROW


def recoded(codes: NDArray[Any], lookup: NDArray[Any]) -> NDArray[Any]:
    """Codes replaced by those of a lookup table; NaN stays NaN.

    >>> recoded(np.array([1.0, np.nan, 0.0]), np.array([5.0, 7.0])).tolist()
    [7.0, nan, 5.0]
    """
    missing = np.isnan(codes)
    new: NDArray[Any] = lookup[np.where(missing, 0.0, codes).astype(np.int64)]
    new[missing] = np.nan
    return new


def in_order(values: Sequence[Any]) -> tuple[Any, ...]:
    """Categories in the order of their codes: sorted, and by type and text where types cannot be compared.

    >>> in_order(["b", "a"]), in_order(["b", 2, 1])
    (('a', 'b'), (1, 2, 'b'))
    """
    try:
        return tuple(sorted(values))
    except TypeError:
        return tuple(sorted(values, key=lambda value: (type(value).__name__, str(value))))
