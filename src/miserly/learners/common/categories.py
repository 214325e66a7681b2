"""The columns that a learner splits by category."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from miserly.data.frames import NumericTable
from miserly.errors import DataError, did_you_mean

__all__ = ["categorical_columns"]


def categorical_columns(wanted: Any, table: NumericTable, n_features: int) -> NDArray[np.bool_]:
    """Mark the columns that are split by category.

    Parameters
    ----------
    wanted : "from_dtype", None, or list of str, int or bool
        Columns that hold categories in the table, no columns, or the listed columns: names, numbers or a
        mask.
    table : NumericTable
        The training rows.
    n_features : int
        Number of columns.

    Returns
    -------
    array of bool (n_features,)
        The mask.
    """
    mask = np.zeros(n_features, dtype=np.bool_)
    if wanted is None:
        return mask
    if isinstance(wanted, str):
        mask[list(table.categories)] = True
        return mask
    listed = np.asarray(wanted)
    if listed.dtype == np.bool_ and listed.shape == mask.shape:
        return listed
    for column in listed.tolist():
        mask[_column(column, table.names, n_features)] = True
    return mask


def _column(column: Any, names: tuple[str, ...] | None, n_features: int) -> int:
    if isinstance(column, str):
        if names is None or column not in names:
            raise DataError(f"categorical_features: no column {column!r}{did_you_mean(column, names or ())}")
        return names.index(column)
    if isinstance(column, bool) or not isinstance(column, int) or not 0 <= column < n_features:
        raise DataError(f"categorical_features: no column {column!r} among {n_features}")
    return column
