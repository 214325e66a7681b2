"""Rows as users give them to a learner: checked, in words that name the place, and turned into numbers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import check_array
from sklearn.utils.validation import validate_data

from miserly.data.encoded import EncodedFrame
from miserly.data.encoder import Encoder, labels_of, matrix_from, refuse_infinities
from miserly.data.errors import as_data_errors
from miserly.data.frames import NumericTable, encode_frame, is_frame, read_frame, refuse_twins
from miserly.data.rows import Rows
from miserly.data.target import check_queries, check_target
from miserly.errors import DataError, NotNumericError
from miserly.utils.checks import as_number, is_missing, shown

__all__ = ["encoded", "learned", "numbers_of", "read_rows"]

_NARROW = (np.int8, np.int16, np.uint8, np.uint16, np.float16, np.bool_)  # float32 holds them without loss


def read_rows(X: Any, y: Any, qid: Any = None, *, encode: bool = False) -> Rows:
    """Read rows, labels and queries for a search over learners, and check that there are as many of each.

    Each learner learns the categories of the rows that it is fitted to, so frames stay frames.

    Parameters
    ----------
    X : array or frame of (n, n_features)
        Arrays must hold finite numbers or NaN.
    y : array-like of (n,)
        Labels.
    qid : array-like of (n,), optional
        Queries.
    encode : bool, default=False
        Whether a frame is encoded here, once, and stands in the rows as an `EncodedFrame`.

    Returns
    -------
    Rows

    Raises
    ------
    DataError
        If there are no rows, labels are missing, or lengths differ.
    """
    table = X if is_frame(X) else matrix_from(X)
    if is_frame(X):
        refuse_twins(labels_of(X))
    elif table.ndim != 2:
        raise DataError(f"X must be a table of rows and columns; its shape is {table.shape}")
    else:
        table = numbers_of(table)
        refuse_infinities(table)
    if not len(table):
        raise DataError("X has no rows")
    if y is None:
        raise DataError("y is None; give the label of each row")
    labels = check_target(y, table, None, numeric=False)
    if encode and is_frame(table):
        table = encode_frame(table)
    return Rows(table, labels, qid=None if qid is None else check_queries(qid, len(table)))


def learned(estimator: Any, X: Any) -> NumericTable:
    """Training rows as numbers, with what their columns hold; sets `n_features_in_` and the names."""
    if is_frame(X):
        with as_data_errors():
            refuse_twins(labels_of(X))
            header = X.header if isinstance(X, EncodedFrame) else X
            validate_data(estimator, header, reset=True, skip_check_array=True)
            table = read_frame(X)
            check_array(table.values, dtype=None, ensure_all_finite=False, estimator=estimator)
        return table
    return NumericTable(_numbers(estimator, X, reset=True), None, {})


def encoded(
    estimator: Any,
    X: Any,
    encoder: Encoder,
    needed: Sequence[int] | NDArray[Any] | None,
    unknown: str,
) -> NDArray[Any]:
    """Rows as numbers, by what was learned; see `Encoder.rows`. Infinite values that are read are refused."""
    frame = is_frame(X)
    if not frame and not encoder.categories:
        values = _numbers(estimator, X, reset=False)
        refuse_infinities(values, encoder.names, needed)
    else:
        with as_data_errors():
            if not frame or encoder.names is None:  # then the width counts
                rows = X if frame else matrix_from(X)
                validate_data(estimator, rows, reset=False, skip_check_array=True)
            values = encoder.rows(X, needed, unknown)
            check_array(values, dtype=None, ensure_all_finite=False, estimator=estimator)
    return values


def _numbers(estimator: Any, X: Any, *, reset: bool) -> NDArray[Any]:
    """Rows of an array that holds nothing but numbers."""
    with as_data_errors():
        rows = matrix_from(X)
        if rows.ndim == 2:
            rows = numbers_of(rows)
        if rows.dtype in _NARROW:
            rows = rows.astype(np.float32)
        return np.asarray(
            validate_data(
                estimator, rows, reset=reset, dtype=[np.float64, np.float32], ensure_all_finite=False
            )
        )


def numbers_of(rows: NDArray[Any]) -> NDArray[Any]:
    """Rows with objects as numbers; the first value that is none is named by its column and row."""
    if rows.dtype.kind not in "OUS":
        return rows
    values = np.empty(rows.shape)
    for row, given in enumerate(rows.tolist()):
        for column, value in enumerate(given):
            number = np.nan if is_missing(value) else as_number(value)
            if number is None:
                raise NotNumericError(
                    f"column {column}, row {row}: {shown(value)} is not a number; the X argument must be an "
                    "array without strings and other objects, only numbers. Text is read from frames"
                )
            if np.isinf(number) and not isinstance(value, float):
                raise DataError(f"column {column}, row {row}: {shown(value)} is too large a number")
            values[row, column] = number
    return values
