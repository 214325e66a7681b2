"""Tables in files: CSV and Parquet as columns of numbers, booleans or text.

A column is numbers if all its values are; booleans if all are `true` or `false`; else text. Empty cells, NA,
N/A, NaN, nan, null and None are missing; a question mark is text. CSV needs only the standard library,
Parquet needs pandas with pyarrow, or polars. The columns are the same.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from typing import Any

import numpy as np
from numpy.typing import NDArray

from miserly.cli.cells import Format, as_booleans, is_date, plain_cell
from miserly.cli.console import Problems, also_in, shell_word
from miserly.cli.csv_files import FORMATS, CsvFile, Source
from miserly.errors import DataError

__all__ = ["FORMATS", "PARQUET", "TableColumns", "numbers_only", "read_table", "refuse_dates",
           "refuse_strays"]  # fmt: skip

_NEARLY_ALL = 0.9  # of the values: a column with this share of numbers should hold only numbers
PARQUET = "Parquet needs pandas with pyarrow, or polars: pip install 'miserly[parquet]'"


@dataclass(frozen=True, eq=False)
class TableColumns:
    """The columns of a file by name: float64 with NaN, or objects (text, booleans) with None."""

    source: Source
    values: dict[str, NDArray[Any]]
    header: tuple[str, ...] = ()  # every column of the file, also those left out
    lines: NDArray[np.int64] | None = None  # of each row; None where files have no lines

    @property
    def columns(self) -> list[str]:
        return list(self.values)

    def __len__(self) -> int:
        return len(next(iter(self.values.values()), ()))

    def __contains__(self, name: str) -> bool:
        return name in self.values

    def __getitem__(self, name: str) -> NDArray[Any]:
        if name not in self.values:
            raise DataError(self.source.no_column(name, self.header))
        return self.values[name]

    def without(self, names: Collection[str]) -> TableColumns:
        kept = {name: values for name, values in self.values.items() if name not in names}
        return TableColumns(self.source, kept, self.header, self.lines)

    def place(self, row: int, column: str) -> str:
        """The place of a value, for messages; `row` counts from 0."""
        where = f"row {row + 1}" if self.lines is None else f"line {self.lines[row]}"
        return f"{self.source.name}, {where}, column {column!r}"

    def also(self, rows: Sequence[int]) -> str:
        """The other places of a problem, for the end of a sentence."""
        if self.lines is None:
            return also_in([row + 1 for row in rows], "row")
        return also_in([int(self.lines[row]) for row in rows])


def read_table(source: Source, problems: Problems, *, text: Collection[str] = ()) -> TableColumns:
    """The columns of a file; those named in `text` stay text even if they look like numbers."""
    if source.kind == ".parquet":
        raw = _read_parquet(source)
        values, lines = {name: _settled(column, name in text) for name, column in raw.items()}, None
    else:
        file = CsvFile(source, problems)
        values, lines = _read_csv(file, source, file.header, text)
    if not any(len(column) for column in values.values()):
        problems.settle()
        raise DataError(f"{source.name}: no rows")
    return TableColumns(source, values, tuple(values), lines)


# -- CSV -----------------------------------------------------------------------------------------------------


class _Column:
    """A column while it is read: numbers until a chunk holds something else, then text."""

    def __init__(self, form: Format, is_text: bool) -> None:
        self._form = form
        self._words: dict[str | None, str | None] = {}  # each text is held once
        self._is_forced = self.is_text = is_text
        self.parts: list[NDArray[Any]] = []
        self.lost = False  # whether the text of numbers is gone, although the column turned out to be text

    def add(self, cells: Sequence[str]) -> None:
        numbers = None if self.is_text else self._form.numbers(cells)
        if numbers is not None:
            self.parts.append(numbers)
            return
        if not self.is_text:
            self.lost = not all(np.isnan(part).all() for part in self.parts)
            self.parts = [np.full(len(part), None, dtype=object) for part in self.parts]
            self.is_text = True
        self.parts.append(_objects([self._words.setdefault(cell, cell) for cell in map(plain_cell, cells)]))

    def finished(self) -> NDArray[Any]:
        values: NDArray[Any] = np.concatenate(self.parts) if self.parts else np.zeros(0)
        return values if not self.is_text or self._is_forced else _unforced(values)


def _read_csv(
    file: CsvFile, source: Source, names: Sequence[str], text: Collection[str]
) -> tuple[dict[str, NDArray[Any]], NDArray[np.int64]]:
    """Columns, and the line of each row. Columns that turn from numbers to text late are read again."""
    columns = {name: _Column(source.form, name in text) for name in names}
    lines: list[int] = []
    for chunk in file.chunks(names):
        lines += chunk.lines
        for name, column in columns.items():
            column.add(chunk.cells[name])
    values = {name: column.finished() for name, column in columns.items() if not column.lost}
    late = [name for name, column in columns.items() if column.lost]
    if late:
        again, _ = _read_csv(CsvFile(source, Problems()), source, late, late)
        values |= {name: _unforced(column) for name, column in again.items()}
    return {name: values[name] for name in names}, np.array(lines, dtype=np.int64)


def _unforced(values: NDArray[Any]) -> NDArray[Any]:
    """Text as booleans, if all of it says so."""
    booleans = as_booleans(values.tolist())
    return values if booleans is None else _objects(booleans)


def _objects(values: Sequence[Any]) -> NDArray[Any]:
    made = np.empty(len(values), dtype=object)
    made[:] = values
    return made


# -- Parquet -------------------------------------------------------------------------------------------------


def _read_parquet(source: Source) -> dict[str, Any]:
    try:
        if find_spec("pandas") and find_spec("pyarrow"):
            import pandas as pd

            frame = pd.read_parquet(source.path)
            return {str(name): frame[name] for name in frame.columns}
        if find_spec("polars"):
            import polars as pl

            table = pl.read_parquet(source.path)
            return {name: table[name] for name in table.columns}
    except Exception as error:  # each library has its own family of errors for a broken file
        raise DataError(f"{source.name}: not a sound Parquet file ({_first_line(error)})") from None
    raise DataError(f"{source.name}: reading {PARQUET}")


def _first_line(error: Exception) -> str:
    return (str(error).splitlines() or [type(error).__name__])[0]


def _settled(values: Any, as_text: bool) -> NDArray[Any]:
    """A column as numbers if it can be, else as booleans, else as text."""
    if not as_text and _is_numeric(values):
        return _as_float(values)
    cells = [_cell(value) for value in values.to_list()]
    if as_text:
        return _objects(cells)
    numbers = Format().numbers(cells)
    if numbers is not None:
        return numbers
    return _unforced(_objects(cells))


def _is_numeric(values: Any) -> bool:
    """Whether a column of pandas or polars holds numbers."""
    dtype = getattr(values, "dtype", None)
    return getattr(dtype, "kind", "") in ("i", "u", "f") or bool(getattr(dtype, "is_numeric", bool)())


def _as_float(values: Any) -> NDArray[np.float64]:
    if hasattr(values, "cast"):  # polars
        import polars as pl

        return np.array(values.cast(pl.Float64).to_numpy())
    return np.asarray(values.to_numpy(dtype=np.float64, na_value=np.nan))


def _cell(value: Any) -> str | None:
    """A value of any type as the text of a cell; None where it is missing."""
    if value is None or type(value).__name__ in ("NAType", "NaTType") or value != value:
        return None
    return plain_cell(str(value))


# -- checks --------------------------------------------------------------------------------------------------


def numbers_only(table: TableColumns, name: str, problems: Problems) -> NDArray[np.float64]:
    """A column that must be numbers. If it holds something else, NaN and a problem."""
    values = table[name]
    if values.dtype != object:
        return values
    form = table.source.form
    strange = [
        row for row, value in enumerate(values.tolist()) if value is not None and not _is_number(value, form)
    ]
    if strange:
        value = values[strange[0]]
        problems.add(
            f"{table.place(strange[0], name)}: {str(value)!r} is not a number{_hint(form, str(value))}"
            f"{table.also(strange[1:])}"
        )
        return np.full(len(values), np.nan)
    cells = [None if value is None else form.number(value) for value in values.tolist()]
    return np.array([np.nan if value is None else value for value in cells])


def _is_number(value: Any, form: Format) -> bool:
    return isinstance(value, str) and form.numbers([value]) is not None


def _hint(form: Format, text: str) -> str:
    hint = form.hint(text)
    return f"; {hint}" if hint else ""


def refuse_strays(table: TableColumns, name: str, problems: Problems) -> None:
    """Refuse a column of numbers or booleans with a few other values: it would silently become text."""
    form = table.source.form
    words = {row: value for row, value in enumerate(table[name].tolist()) if isinstance(value, str)}
    for read, one in ((form.numbers, "a number"), (as_booleans, "true or false")):
        strays = [row for row, value in words.items() if read([value]) is None]
        n_others = len(words) - len(strays)
        if strays and n_others >= _NEARLY_ALL * len(words):
            value = words[strays[0]]
            problems.add(
                f"{table.place(strays[0], name)}: {value!r} is not {one}, as {n_others:,} others are"
                f"{_hint(form, value) if one == 'a number' else ''}; leave a missing value empty, or give "
                f"--words {shell_word(name)} if all are categories{table.also(strays[1:])}"
            )


def refuse_dates(table: TableColumns, name: str, problems: Problems) -> bool:
    """Refuse a column of dates: as categories they carry no information about new rows."""
    words = {row: value for row, value in enumerate(table[name].tolist()) if isinstance(value, str)}
    dates = [row for row, value in words.items() if is_date(value)]
    if not dates or len(dates) < _NEARLY_ALL * len(words):
        return False
    problems.add(
        f"{table.place(dates[0], name)}: {words[dates[0]]!r} is a date, as {len(dates) - 1:,} others are; "
        "turn dates into numbers, such as days since an event, or leave the column out: "
        f"--ignore {shell_word(name)}"
    )
    return True
