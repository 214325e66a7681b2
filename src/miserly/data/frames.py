"""Reading a data frame of training rows: numbers, and the categories of its columns.

Frames of pandas, polars and other libraries that narwhals knows become a matrix, column names, and the
categories of columns that hold text, categories or booleans. The position of a value among the categories is
its code. Missing values become NaN. Later rows are read by the `encoder`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from miserly.data.arrays import EncodedFrame, holds_in_float32, in_order, labels_of
from miserly.data.encoder import Encoder
from miserly.errors import DataError

__all__ = [
    "MAX_CATEGORIES",
    "NumericTable",
    "encode_frame",
    "first_text",
    "is_frame",
    "read_frame",
    "refuse_twins",
]

MAX_CATEGORIES = 255  # a code and the mark of a missing value share one byte in the tree grower

Categories: TypeAlias = dict[int, tuple[Any, ...]]


@dataclass(frozen=True, eq=False)
class NumericTable:
    """A table as numbers.

    Parameters
    ----------
    values : array of (n, n_columns)
        Float32 if it holds all columns without loss, else float64.
    names : tuple of str or None
        Names of the columns, if all of them have names.
    categories : dict of int to tuple
        Categories of the columns that hold categories.
    """

    values: NDArray[Any]
    names: tuple[str, ...] | None
    categories: Categories


def is_frame(X: Any) -> bool:
    """Whether `X` is a data frame. A lazy frame is an error, because it has no rows yet."""
    if isinstance(X, (np.ndarray, EncodedFrame)):
        return not isinstance(X, np.ndarray)
    import narwhals as nw

    if nw.dependencies.is_polars_lazyframe(X):
        raise DataError("a LazyFrame has no rows yet; call .collect() first")
    return bool(nw.dependencies.is_into_dataframe(X))


def read_frame(X: Any) -> NumericTable:
    """Read a frame of training rows, and learn the categories of its columns.

    Parameters
    ----------
    X : frame
        Of pandas, polars or another library that narwhals knows, or an `EncodedFrame`.

    Returns
    -------
    NumericTable
        Numbers, names of columns, and categories.

    Raises
    ------
    DataError
        If a column holds anything but numbers, text, categories and booleans, or too many categories.

    Examples
    --------
    >>> import pandas as pd
    >>> table = read_frame(pd.DataFrame({"age": [61.0, None], "thal": ["normal", "fixed"]}))
    >>> table.categories, table.values.tolist()
    ({1: ('fixed', 'normal')}, [[61.0, 1.0], [nan, 0.0]])
    """
    known = X if isinstance(X, EncodedFrame) else encode_frame(X)
    values, categories = known.with_present_categories() if known is X else (known.values, known.categories)
    labels = known.columns
    for column, present in categories.items():
        if len(present) > MAX_CATEGORIES:
            raise DataError(
                f"column {_quoted(labels[column])} has {len(present)} different values; at most "
                f"{MAX_CATEGORIES} can be categories. Group the rare ones, encode it as numbers, or leave it "
                "out"
            )
    names = tuple(labels) if all(isinstance(label, str) for label in labels) else None
    return NumericTable(values, names, dict(categories))


def encode_frame(X: Any) -> EncodedFrame:
    """Encode a frame once, for many fits to some of its rows.

    Parameters
    ----------
    X : frame
        As for `read_frame`.

    Returns
    -------
    EncodedFrame
        Stands for the frame. Any number of categories is allowed here.

    Examples
    --------
    >>> import pandas as pd
    >>> frame = encode_frame(pd.DataFrame({"thal": ["normal", "fixed", "reversible"]}))
    >>> read_frame(frame.take(np.array([2, 0]))).categories
    {0: ('normal', 'reversible')}
    """
    import narwhals as nw

    refuse_twins(labels_of(X))
    frame = nw.from_native(X, eager_only=True)
    header = frame.head(0).to_native()
    labels = list(frame.columns)
    kinds = [str(dtype) for dtype in frame.schema.values()]
    if labels and len(set(kinds)) == 1 and kinds[0] in ("Float32", "Float64"):
        return EncodedFrame(frame.to_numpy(), header, {})  # a view where the frame keeps its columns together
    columns = [frame[:, j] for j in range(len(labels))]
    read = [_kind(column, label) for column, label in zip(columns, labels, strict=True)]
    learned: Categories = {
        j: (False, True) if kind == "boolean" else _present(columns[j], labels[j])
        for j, kind in enumerate(read)
        if kind != "number"
    }
    wide = any(not holds_in_float32(kind) and j not in learned for j, kind in enumerate(kinds))
    values = np.empty((len(frame), len(labels)), dtype=np.float64 if wide else np.float32)
    encoder = Encoder(len(labels), labels, learned)
    for j, column in enumerate(columns):
        values[:, j] = encoder.column(j, column.to_list()) if j in learned else _numbers(column)
    return EncodedFrame(values, header, learned, frozenset(j for j in learned if read[j] == "boolean"))


def first_text(X: Any) -> Any:
    """Name of the first column of a frame that holds text or categories (not booleans); None if none does.

    >>> import pandas as pd
    >>> first_text(pd.DataFrame({"age": [61.0], "smokes": [True], "thal": ["normal"]}))
    'thal'
    """
    if isinstance(X, EncodedFrame):
        text = sorted(set(X.categories) - X.booleans)
        return X.columns[text[0]] if text else None
    if not is_frame(X):
        return None
    import narwhals as nw

    frame = nw.from_native(X, eager_only=True)
    kinds = ((label, _kind(frame[:, j], label)) for j, label in enumerate(frame.columns))
    return next((label for label, kind in kinds if kind == "category"), None)


def refuse_twins(labels: Sequence[Any]) -> None:
    """Raise an error if two columns of a frame have one name."""
    seen: set[Any] = set()
    for label in labels:
        if label in seen:
            raise DataError(f"the frame has two columns named {_quoted(label)}")
        seen.add(label)


# -- categories --------------------------------------------------------------------------------------------


def _kind(column: Any, label: Any) -> str:
    """What a column holds: "number", "boolean" or "category"; anything else is an error."""
    name = str(column.dtype).partition("(")[0]
    if column.dtype.is_numeric() or _is_empty(column):
        return "number"
    if name == "Boolean":
        return "boolean"
    if name in ("String", "Categorical", "Enum"):
        return "category"
    if name == "Object":
        return _kind_of_objects(column, label)
    raise DataError(
        f"column {_quoted(label)} has type {name}; miserly reads numbers, text, categories and "
        "booleans. Turn it into one of them, or leave it out"
    )


def _kind_of_objects(column: Any, label: Any) -> str:
    """Columns of Python objects are read only if all of them are text, or all are booleans."""
    types = {type(value) for value in column.drop_nulls().to_list()}
    if types <= {str}:
        return "category"
    if types <= {bool, np.bool_}:
        return "boolean"
    found = " and ".join(sorted(kind.__name__ for kind in types))
    raise DataError(
        f"column {_quoted(label)} has dtype object and holds {found}; make it numeric "
        "(pandas.to_numeric) or all text (astype(str))"
    )


def _present(column: Any, label: Any) -> tuple[Any, ...]:
    """The different values of a column, sorted."""
    values = [_plain(value) for value in column.drop_nulls().unique().to_list()]
    for value in values:
        if not isinstance(value, (str, int, float, bool)):
            raise DataError(
                f"column {_quoted(label)} has categories of type {type(value).__name__}; use text"
            )
    return in_order(values)


# -- numbers -----------------------------------------------------------------------------------------------


def _numbers(column: Any) -> NDArray[Any]:
    import narwhals as nw

    if _is_empty(column):
        return np.full(len(column), np.nan)
    narrow = holds_in_float32(column.dtype)
    return np.asarray(column.cast(nw.Float32 if narrow else nw.Float64).to_numpy())


def _is_empty(column: Any) -> bool:
    """Whether all values of a column are missing, as in the type Null of polars."""
    return bool(column.is_null().all())


def _plain(value: Any) -> Any:
    return value.item() if isinstance(value, np.generic) else value


def _quoted(label: Any) -> str:
    return repr(label if isinstance(label, str) else int(label) if isinstance(label, np.integer) else label)
