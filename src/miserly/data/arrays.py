"""Arrays and frames of any library as NumPy arrays, with NumPy alone."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from miserly.errors import DataError

__all__ = ["array_of", "column_at", "is_table", "labels_of", "matrix_from", "refuse_infinities"]

_ROWS_AT_A_TIME = 16_384


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
