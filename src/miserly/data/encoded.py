"""A frame that is encoded once, so that a search over learners does not encode it in every fit and fold."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from miserly.data.arrays import labels_of

__all__ = ["EncodedFrame", "holds_in_float32", "in_order", "recoded"]

_NARROW = frozenset(("bool", "int8", "int16", "uint8", "uint16", "float16", "float32"))


@dataclass(frozen=True, eq=False)
class EncodedFrame:
    """Rows of a frame as numbers, with the categories of the whole frame.

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
