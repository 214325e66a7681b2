"""Reading the `X` that users pass to learners and searches; errors name the column and the row."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import check_array
from sklearn.utils.validation import validate_data

from miserly.data.arrays import EncodedFrame, holds_in_float32, labels_of, matrix_from, refuse_infinities
from miserly.data.encoder import Encoder
from miserly.data.frames import NumericTable, encode_frame, is_frame, read_frame, refuse_twins
from miserly.data.rows import Rows
from miserly.data.target import as_data_errors, check_queries, check_target, check_weight
from miserly.errors import DataError, NotNumericError
from miserly.utils.checks import as_number, is_missing, shown

__all__ = ["read_new_rows", "read_rows", "read_training_rows"]


def read_rows(X: Any, y: Any, qid: Any = None, *, weight: Any = None, encode: bool = False) -> Rows:
    """Read what a search over learners is given, and check that there are as many rows as labels.

    Each learner learns the categories of the rows that it is fitted to, so frames stay frames.

    Parameters
    ----------
    X : array or frame of (n, n_features)
        Arrays must hold finite numbers or NaN.
    y : array-like of (n,)
        Labels.
    qid : array-like of (n,), optional
        Queries.
    weight : array-like of (n,), optional
        Weights of the rows. They become weights that average 1, or none if all are equal.
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
        table = _parsed(table)
        refuse_infinities(table)
    if not len(table):
        raise DataError("X has no rows")
    if y is None:
        raise DataError("y is None; give the label of each row")
    labels = check_target(y, table, None, numeric=False)
    if encode and is_frame(table):
        table = encode_frame(table)
    queries = None if qid is None else check_queries(qid, len(table))
    return Rows(table, labels, weight=check_weight(weight, table), qid=queries).with_mean_weight_one()


def read_training_rows(estimator: Any, X: Any) -> NumericTable:
    """Read training rows as numbers, and learn the categories of their columns.

    Parameters
    ----------
    estimator : estimator
        Its `n_features_in_` and `feature_names_in_` are set.
    X : array or frame of (n, n_features)
        Missing values are allowed, infinite values are not.

    Returns
    -------
    NumericTable
        Numbers, names and categories.
    """
    if is_frame(X):
        with as_data_errors():
            refuse_twins(labels_of(X))
            header = X.header if isinstance(X, EncodedFrame) else X
            validate_data(estimator, header, reset=True, skip_check_array=True)
            table = read_frame(X)
            check_array(table.values, dtype=None, ensure_all_finite=False, estimator=estimator)
    else:
        table = NumericTable(_numbers(estimator, X, reset=True), None, {})
    refuse_infinities(table.values, getattr(estimator, "feature_names_in_", None))
    return table


def read_new_rows(
    estimator: Any,
    X: Any,
    encoder: Encoder,
    needed: Sequence[int] | NDArray[Any] | None,
    unknown: str,
) -> NDArray[Any]:
    """Read rows as numbers, by the categories of the training rows.

    Parameters
    ----------
    estimator : estimator
        The fitted estimator, which errors name.
    X : array or frame of (n, n_features)
        Infinite values in needed columns are an error.
    encoder : Encoder
        What the columns of the training rows held.
    needed, unknown
        As in `Encoder.rows`.

    Returns
    -------
    array of (n, n_features)
        Numbers and codes.
    """
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
    """Rows of an array without categories."""
    with as_data_errors():
        rows = matrix_from(X)
        if rows.ndim == 2:
            rows = _parsed(rows)
        if holds_in_float32(rows.dtype):
            rows = rows.astype(np.float32, copy=False)
        return np.asarray(
            validate_data(
                estimator, rows, reset=reset, dtype=[np.float64, np.float32], ensure_all_finite=False
            )
        )


def _parsed(rows: NDArray[Any]) -> NDArray[Any]:
    """Rows of objects as numbers; an error names the column and row of the first value that is no number."""
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
