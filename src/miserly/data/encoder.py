"""The encoder: values as users give them become the numbers that a plan computes with.

A column held numbers or categories when the model was fitted. Numbers stay numbers. The code of a category is
its position among the categories of its column. Missing values are NaN. Any other value is an error that
names its column and row. With ``unknown="missing"`` it counts as missing instead, or as the category `OTHER`
if the column has it: models that answer unseen categories in their own way have this category. The encoder
needs only NumPy, because a saved plan runs with NumPy alone.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from difflib import get_close_matches
from typing import Any

import numpy as np
from numpy.typing import NDArray

from miserly.data.arrays import (
    EncodedFrame,
    array_of,
    column_at,
    holds_in_float32,
    is_table,
    labels_of,
    matrix_from,
    recoded,
    refuse_infinities,
)
from miserly.errors import DataError, NotNumericError, did_you_mean
from miserly.utils.checks import as_number, is_missing, shown

__all__ = ["OTHER", "UNKNOWN", "Encoder", "check_unknown"]

UNKNOWN = ("error", "missing")
OTHER = "(any other value)"  # the category of values that are no category
_MOST_NAMED = 10


def check_unknown(unknown: str) -> None:
    """Check that `unknown` is "error" or "missing"."""
    if unknown not in UNKNOWN:
        raise DataError(f"unknown is 'error' or 'missing', not {unknown!r}")


@dataclass(frozen=True, eq=False)
class Encoder:
    """Turns values into numbers, by what the columns held when the model was fitted.

    Parameters
    ----------
    n_columns : int
        Number of columns.
    names : sequence of str, optional
        Names by which columns of frames are found. Without names they are found by their order.
    categories : mapping of int to sequence, optional
        Categories of the columns that hold categories, by column number. All other columns hold numbers.

    Examples
    --------
    >>> encoder = Encoder(2, ("age", "thal"), {1: ("fixed", "normal")})
    >>> encoder.rows([[61.0, "normal"], [None, "fixed"]]).tolist()
    [[61.0, 1.0], [nan, 0.0]]
    >>> encoder.value(1, "nomal")
    Traceback (most recent call last):
    miserly.errors.DataError: column 'thal': 'nomal' is not among its categories (nearest: 'normal'); \
give None where a value is missing, or unknown='missing' to take such values as missing
    """

    n_columns: int
    names: Sequence[str] | None = None
    categories: Mapping[int, Sequence[Any]] = field(default_factory=dict)

    def label(self, column: int) -> str:
        """Name of a column in errors."""
        return f"column {column if self.names is None else self.names[column]!r}"

    # -- one value, one column -----------------------------------------------------------------------

    def value(self, column: int, value: Any, unknown: str = "error") -> float:
        """Encode one value of a column.

        Parameters
        ----------
        column : int
            Number of the column.
        value : object
            A number, a category, or a missing value (None, NaN, NA).
        unknown : {"error", "missing"}, default="error"
            A value that is no known category is an error, or counts as missing.

        Returns
        -------
        float
            The number or code; NaN if the value is missing.
        """
        if type(value) is float and value - value == 0.0 and column not in self.categories:
            return value  # a finite number, the most common case
        one = np.empty(1, dtype=object)
        one[0] = value
        return float(self._encode(column, one, unknown, numbered=False)[0])

    def column(self, column: int, values: Any, unknown: str = "error") -> NDArray[Any]:
        """Encode all values of a column: an array, a list or a column of a frame; see `value`."""
        return self._encode(column, array_of(values, self.label(column)), unknown, numbered=True)

    def _encode(self, column: int, values: NDArray[Any], unknown: str, numbered: bool) -> NDArray[Any]:
        if values.dtype.kind in "mM":
            raise DataError(f"{self.label(column)} holds dates or times; turn them into numbers")
        if column in self.categories:
            return self._codes(column, values, unknown, numbered)
        if values.dtype.kind in "iuf":
            return values
        if values.dtype.kind == "c":
            raise DataError(f"{self.label(column)}: Complex data not supported; give real numbers")
        return self._numbers(column, values.tolist(), numbered)

    def _numbers(self, column: int, values: list[Any], numbered: bool) -> NDArray[np.float64]:
        numbers = np.empty(len(values))
        for row, value in enumerate(values):
            number = np.nan if is_missing(value) else as_number(value)
            if number is None:
                raise self._no_number(column, row if numbered else None, value)
            if np.isinf(number):
                infinite = isinstance(value, (float, np.floating))
                why = "infinite; give NaN where a value is missing" if infinite else "too large a number"
                raise DataError(f"{self._place(column, row if numbered else None)}: {shown(value)} is {why}")
            numbers[row] = number
        return numbers

    def _no_number(self, column: int, row: int | None, value: Any) -> DataError:
        if row is None:
            return NotNumericError(
                f"the value of {self.label(column)} must be a number or None, not {shown(value)}"
            )
        return NotNumericError(
            f"{self.label(column)} holds no numbers, but did when the model was fitted "
            f"(row {row}: {shown(value)})"
        )

    def _codes(self, column: int, values: NDArray[Any], unknown: str, numbered: bool) -> NDArray[np.float32]:
        """The code of each value; NaN if the value is missing, or unknown and counted as missing."""
        codes, strange = self._known_codes(column, values)
        for row in strange.tolist() if unknown == "error" else ():
            raise self._strange(column, row if numbered else None, values[row])
        codes[strange] = self._code_of_others(column)
        return codes

    def _known_codes(
        self, column: int, values: NDArray[Any]
    ) -> tuple[NDArray[np.float32], NDArray[np.int64]]:
        """The code of each value, NaN if it has none, and the places of values without a code."""
        known = self.categories[column]
        place = {value: float(code) for code, value in enumerate(known)}
        of_booleans = any(isinstance(value, bool) for value in known)
        listed = values.tolist()
        codes = np.fromiter(
            (_code(place, value, of_booleans) for value in listed), dtype=np.float32, count=len(listed)
        )
        without = np.flatnonzero(np.isnan(codes)).tolist()
        strange = [row for row in without if not is_missing(listed[row])]
        return codes, np.array(strange, dtype=np.int64)

    def _code_of_others(self, column: int) -> float:
        """The code of values that are no category and not an error."""
        known = list(self.categories[column])
        return float(known.index(OTHER)) if OTHER in known else np.nan

    def _strange(self, column: int, row: int | None, value: Any) -> DataError:
        """The error for a value that is no category."""
        known = self.categories[column]
        number = as_number(value) is not None
        if number and known and all(isinstance(one, str) for one in known):
            where = "" if row is None else f" (row {row}: {shown(value)})"
            holds = "holds numbers" if row is not None else f"is the number {shown(value)}"
            return DataError(
                f"{self.label(column)} {holds}, but held categories such as {shown(known[0])} when the model "
                f"was fitted{where}"
            )
        return DataError(
            f"{self._place(column, row)}: {shown(value)} is not among its categories"
            f"{_nearest(value, known)}; give None where a value is missing, or unknown='missing' to take "
            "such values as missing"
        )

    def _place(self, column: int, row: int | None) -> str:
        return self.label(column) + ("" if row is None else f", row {row}")

    # -- tables --------------------------------------------------------------------------------------

    def rows(
        self, X: Any, needed: Sequence[int] | NDArray[Any] | None = None, unknown: str = "error"
    ) -> NDArray[Any]:
        """Encode rows of a frame, an array or lists, as a float32 or float64 matrix of all columns.

        Parameters
        ----------
        X : frame or array of (n, n_columns)
            Columns of frames are found by name, in any order, and other columns are ignored. Without names,
            and in arrays, columns are found by position.
        needed : sequence of int, optional
            Columns that must be there, all by default. Other columns are not read, and may be NaN in the
            matrix.
        unknown : {"error", "missing"}, default="error"
            A value that is no known category is an error, or counts as missing.

        Returns
        -------
        array of (n, n_columns)
            Numbers and codes.

        Raises
        ------
        DataError
            If columns are missing, or a value is infinite or cannot be encoded.
        """
        check_unknown(unknown)
        wanted = list(range(self.n_columns)) if needed is None else [int(f) for f in needed]
        values = (self._from_frame if is_table(X) else self._from_rows)(X, wanted, unknown)
        refuse_infinities(values, self.names, wanted)
        return values

    def _from_rows(self, X: Any, wanted: list[int], unknown: str) -> NDArray[Any]:
        matrix = matrix_from(X)
        if matrix.ndim != 2 or matrix.shape[1] != self.n_columns:
            raise DataError(f"rows must have {self.n_columns} columns; the array has shape {matrix.shape}")
        coded = bool(self.categories) and any(f in self.categories for f in wanted)
        if not coded and matrix.dtype.kind in "iufb":
            return matrix if matrix.dtype in (np.float32, np.float64) else matrix.astype(np.float64)
        return _side_by_side(
            len(matrix), self.n_columns, {f: self._from_array(matrix, f, unknown) for f in wanted}
        )

    def _from_array(self, matrix: NDArray[Any], column: int, unknown: str) -> NDArray[Any]:
        values = matrix[:, column]
        if values.dtype.kind == "b" and column not in self.categories:
            values = values.astype(np.float64)
        return self._encode(column, values, unknown, numbered=True)

    def _from_frame(self, frame: Any, wanted: list[int], unknown: str) -> NDArray[Any]:
        labels = labels_of(frame)
        if self.names is None:
            if len(labels) != self.n_columns:
                raise DataError(f"the frame must have {self.n_columns} columns, not {len(labels)}")
            places = dict(enumerate(range(self.n_columns)))
        else:
            places = self._places(labels, wanted)
        if isinstance(frame, EncodedFrame):
            if not self.categories and not frame.categories and all(places[f] == f for f in wanted):
                return frame.values
            columns = {f: self._recode(f, frame, places[f], unknown) for f in wanted}
            return _side_by_side(len(frame), self.n_columns, columns)
        if not self.categories and self._is_whole(frame, labels):
            return np.asarray(frame.to_numpy())
        columns = {f: self.column(f, column_at(frame, labels, places[f]), unknown) for f in wanted}
        return _side_by_side(len(frame), self.n_columns, columns)

    def _recode(self, column: int, frame: EncodedFrame, place: int, unknown: str) -> NDArray[Any]:
        """A column of a frame that was encoded with other categories."""
        known = frame.categories.get(place)
        if known is None and column not in self.categories:
            return frame.values[:, place]
        if known is None or column not in self.categories:
            return self.column(column, frame.decoded(place), unknown)
        lookup, _ = self._known_codes(column, np.array(known, dtype=object))
        codes = recoded(frame.values[:, place], lookup)
        strange = np.isnan(codes) & ~np.isnan(frame.values[:, place])
        for row in np.flatnonzero(strange).tolist() if unknown == "error" else ():
            raise self._strange(column, row, frame.decoded(place)[row])
        codes[strange] = self._code_of_others(column)
        return codes

    def _places(self, labels: Sequence[Any], wanted: Sequence[int]) -> dict[int, int]:
        """Position of each wanted column in a frame. One error names all columns that are missing."""
        assert self.names is not None
        present: dict[str, int] = {}
        twice: set[str] = set()
        for place, label in enumerate(labels):
            name = str(label)  # a name may be a number in the frame
            if name in present:
                twice.add(name)
            present.setdefault(name, place)
        missing = [self.names[f] for f in wanted if self.names[f] not in present]
        if missing:
            raise DataError(_missing_columns(missing, present))
        for f in wanted:
            if self.names[f] in twice:
                raise DataError(f"the frame has two columns named {self.names[f]!r}")
        return {f: present[self.names[f]] for f in wanted}

    def _is_whole(self, frame: Any, labels: Sequence[Any]) -> bool:
        """Whether the frame is the matrix already: the same columns in order, all float32 or all float64.

        Columns of the types Float32 and Float64 of pandas do not count: `to_numpy` gives objects for them.
        """
        if self.names is not None and list(labels) != list(self.names):
            return False
        kinds = {str(kind) for kind in getattr(frame, "dtypes", ())}
        whole = ({"float32"}, {"float64"}) if hasattr(frame, "iloc") else ({"Float32"}, {"Float64"})
        return hasattr(frame, "to_numpy") and kinds in whole


def _side_by_side(n: int, n_columns: int, columns: Mapping[int, NDArray[Any]]) -> NDArray[Any]:
    """Columns as a matrix: float32 if no column loses anything by it; NaN where no column is given."""
    narrow = all(holds_in_float32(values.dtype) for values in columns.values())
    matrix = np.full((n, n_columns), np.nan, dtype=np.float32 if narrow and columns else np.float64)
    for f, values in columns.items():
        matrix[:, f] = values
    return matrix


# -- errors and codes ---------------------------------------------------------------------------------------


def _code(place: Mapping[Any, float], value: Any, of_booleans: bool) -> float:
    if not of_booleans and isinstance(value, (bool, np.bool_)):  # Python finds True among the keys 1 and 2
        return np.nan
    try:
        return place.get(value, np.nan)
    except TypeError:  # a list, or anything else that cannot be looked up, is no category
        return np.nan


def _nearest(value: Any, known: Sequence[Any]) -> str:
    """The known categories most like a value, or the first few if none is."""
    near = get_close_matches(str(value)[:100], [str(one) for one in known], n=3, cutoff=0.5)
    if near:
        return f" (nearest: {', '.join(shown(one) for one in known if str(one) in near)})"
    some = ", ".join(shown(one) for one in known[:_MOST_NAMED])
    return f" ({some}{', ...' if len(known) > _MOST_NAMED else ''})" if some else ""


def _missing_columns(missing: Sequence[str], present: Mapping[str, int]) -> str:
    if len(missing) == 1:
        near = did_you_mean(missing[0], present)
        return f"the frame has no column {missing[0]!r}, which the model reads{near}"
    named = ", ".join(repr(name) for name in missing[:_MOST_NAMED])
    more = "" if len(missing) <= _MOST_NAMED else f" and {len(missing) - _MOST_NAMED} others"
    return f"the frame lacks {len(missing)} columns that the model reads: {named}{more}"
