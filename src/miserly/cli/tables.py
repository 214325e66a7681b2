"""Tables in files: CSV and Parquet as columns of numbers, booleans or text.

A column is numbers if all its values are; booleans if all are `true` or `false`; else text. Empty cells, NA,
N/A, NaN, nan, null and None are missing; a question mark is text. CSV needs only the standard library,
Parquet needs pandas with pyarrow, or polars. The columns are the same.
"""

from __future__ import annotations

import contextlib
import csv
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from importlib.util import find_spec
from pathlib import Path
from typing import IO, Any, Protocol

import numpy as np
from numpy.typing import NDArray

from miserly.cli.cells import Format, as_booleans, is_date, plain_cell
from miserly.cli.console import Problems, also_in, shell_word, warn
from miserly.cli.table_files import FORMATS, PARQUET, Chunk, CsvFile, OpenTable, ParquetFile, table_file
from miserly.errors import DataError
from miserly.utils.files import atomic_path, atomic_write

__all__ = ["Cells", "CsvWriter", "TableColumns", "TableWriter", "guarded", "numbers_only", "read_table",
           "refuse_dates", "refuse_strays", "table_writer", "warn_of_formulas", "write_table"]  # fmt: skip

_NEARLY_ALL = 0.9  # of the values: a column with this share of numbers should hold only numbers


@dataclass(frozen=True, eq=False)
class TableColumns:
    """The columns of a file by name: float64 with NaN, or objects (text, booleans) with None."""

    source: OpenTable
    values: dict[str, NDArray[Any]]
    header: tuple[str, ...]  # every column of the file, also those left out
    lines: NDArray[np.int64]  # of each row
    unit: str  # of lines: "line" or "row"

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
        return replace(self, values=kept)

    def place(self, row: int, column: str) -> str:
        """The place of a value, for messages; `row` counts from 0."""
        return f"{self.source.name}, {self.unit} {self.lines[row]}, column {column!r}"

    def also(self, rows: Sequence[int]) -> str:
        """The other places of a problem, for the end of a sentence."""
        return also_in([int(self.lines[row]) for row in rows], self.unit)


def read_table(source: OpenTable, problems: Problems, *, text: Collection[str] = ()) -> TableColumns:
    """The columns of a file; those named in `text` stay text even if they look like numbers."""
    file = table_file(source, problems)
    values, lines = _read_columns(
        file, source, [name for name in file.header if name not in file.index], text
    )
    if not any(len(column) for column in values.values()):
        problems.settle()
        raise DataError(f"{source.name}: no rows")
    return TableColumns(source, values, tuple(values), lines, file.unit)


class _Column:
    """A column while it is read: numbers until a chunk holds something else, then text."""

    def __init__(self, form: Format, is_text: bool) -> None:
        self._form = form
        self._words: dict[str | None, str | None] = {}  # each text is held once
        self._is_forced = self.is_text = is_text
        self.parts: list[NDArray[Any]] = []
        self.lost = False  # whether the text of numbers is gone, although the column turned out to be text

    def add(self, chunk: Chunk, name: str) -> None:
        numbers = None if self.is_text else chunk.numbers(name, self._form)
        if numbers is not None:
            self.parts.append(numbers)
            return
        if not self.is_text:
            self.lost = not all(np.isnan(part).all() for part in self.parts)
            self.parts = [np.full(len(part), None, dtype=object) for part in self.parts]
            self.is_text = True
        self.parts.append(
            _objects([self._words.setdefault(cell, cell) for cell in map(plain_cell, chunk.text(name))])
        )

    def finished(self) -> NDArray[Any]:
        values: NDArray[Any] = np.concatenate(self.parts) if self.parts else np.zeros(0)
        return values if not self.is_text or self._is_forced else _unforced(values)


def _read_columns(
    file: CsvFile | ParquetFile, source: OpenTable, names: Sequence[str], text: Collection[str]
) -> tuple[dict[str, NDArray[Any]], NDArray[np.int64]]:
    """Columns, and the line of each row. Columns that turn from numbers to text late are read again."""
    columns = {name: _Column(source.form, name in text) for name in names}
    lines: list[int] = []
    for chunk in file.chunks(names):
        lines += chunk.lines
        for name, column in columns.items():
            column.add(chunk, name)
    values = {name: column.finished() for name, column in columns.items() if not column.lost}
    late = [name for name, column in columns.items() if column.lost]
    if late:
        again, _ = _read_columns(table_file(source, Problems()), source, late, late)
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


# -- checks --------------------------------------------------------------------------------------------------


def numbers_only(table: TableColumns, name: str, problems: Problems) -> NDArray[np.float64]:
    """A column that must be numbers. If it holds something else, NaN and a problem."""
    values = table[name]
    if values.dtype != object:
        return values
    form = table.source.form
    strange = [
        row
        for row, value in enumerate(values.tolist())
        if value is not None and (not isinstance(value, str) or form.numbers([value]) is None)
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
                f"--categories {shell_word(name)} if all are categories{table.also(strays[1:])}"
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


# -- writing, in chunks. A file is written completely or not at all ------------------------------------------

_STARTS = ("=", "+", "-", "@", "\t", "\r")

Cells = Mapping[str, Sequence[Any]]


class TableWriter(Protocol):
    """A writer that takes a table in chunks."""

    n_guarded: int

    def add(self, columns: Cells) -> None: ...


def guarded(value: Any) -> Any:
    """A value for a CSV cell. Text that a spreadsheet would run as a formula gets a quote in front.

    >>> guarded("=1+1"), guarded("-5.0"), guarded("-"), guarded(-5.0)
    ("'=1+1", '-5.0', '-', -5.0)
    """
    if not isinstance(value, str) or len(value) < 2 or not value.startswith(_STARTS):
        return value
    return value if Format().numbers([value]) is not None else f"'{value}"


class CsvWriter:
    """CSV to an open file; `n_guarded` counts the cells that looked like formulas."""

    def __init__(self, file: Any, has_header: bool = False) -> None:
        self._writer = csv.writer(file, lineterminator="\n")
        self._has_header = has_header
        self.n_guarded = 0

    def add(self, columns: Cells) -> None:
        if not self._has_header:
            self._writer.writerow(self._guarded(list(columns)))
            self._has_header = True
        listed = [self._guarded(values) for values in columns.values()]
        self._writer.writerows(zip(*listed, strict=True))

    def _guarded(self, values: Sequence[Any]) -> Sequence[Any]:
        if not any(isinstance(value, str) and value.startswith(_STARTS) for value in values):
            return values
        safe = [guarded(value) for value in values]
        self.n_guarded += sum(a is not b for a, b in zip(values, safe, strict=True))
        return safe


class _ArrowWriter:
    """Parquet by pyarrow; the types of the first rows are those of the file."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._writer: Any = None
        self.n_guarded = 0

    def add(self, columns: Cells) -> None:
        import pyarrow as pa
        import pyarrow.parquet as pq

        table = pa.table({name: list(values) for name, values in columns.items()})
        if self._writer is None:
            self._writer = pq.ParquetWriter(self._path, table.schema)
        self._writer.write_table(table.cast(self._writer.schema))

    def close(self) -> None:
        if self._writer is not None:
            self._writer.close()


class _PolarsWriter:
    """Parquet by polars, which writes all rows at once."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._columns: dict[str, list[Any]] = {}
        self.n_guarded = 0

    def add(self, columns: Cells) -> None:
        for name, values in columns.items():
            self._columns.setdefault(name, []).extend(values)

    def close(self) -> None:
        import polars as pl

        pl.DataFrame(self._columns).write_parquet(self._path)


@contextlib.contextmanager
def table_writer(path: Path) -> Iterator[TableWriter]:
    """A writer of a .csv or .parquet file. The file appears when the block ends without an error."""
    kind = path.suffix.lower()
    if kind not in FORMATS:
        raise DataError(f"{path}: tables are written to {' and '.join(FORMATS)} files")
    if kind == ".csv":
        file: IO[str]
        with atomic_write(path, "w", newline="") as file:
            yield CsvWriter(file)
        return
    if not find_spec("pyarrow") and not find_spec("polars"):
        raise DataError(f"{path}: writing {PARQUET}")
    with atomic_path(path) as draft:
        made = _ArrowWriter(draft) if find_spec("pyarrow") else _PolarsWriter(draft)
        yield made
        made.close()


def write_table(path: Path, columns: Cells) -> int:
    """Write columns to a .csv or .parquet file. Returns the number of cells that looked like formulas."""
    with table_writer(path) as writer:
        writer.add(columns)
    return writer.n_guarded


def warn_of_formulas(n_guarded: int) -> None:
    """Warn if cells were changed."""
    if n_guarded:
        warn(f"{n_guarded:,} cells look like formulas of a spreadsheet; a ' was put in front of them")
