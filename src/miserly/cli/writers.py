"""Writers of tables: CSV and Parquet, in chunks. A file is written completely or not at all.

In CSV files a text cell that a spreadsheet would run as a formula gets a quote in front. Numbers do not.
"""

from __future__ import annotations

import contextlib
import csv
from collections.abc import Iterator, Mapping, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import IO, Any, Protocol

from miserly.cli.cells import Format
from miserly.cli.console import warn
from miserly.cli.tables import FORMATS, PARQUET
from miserly.errors import DataError
from miserly.utils.files import atomic_path, atomic_write

__all__ = ["CsvWriter", "TableWriter", "guarded", "table_writer", "warn_of_formulas", "write_table"]

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

    def __init__(self, file: Any) -> None:
        self._writer = csv.writer(file, lineterminator="\n")
        self._has_header = False
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

        table = pa.table({name: _plain_list(values) for name, values in columns.items()})
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


def _plain_list(values: Sequence[Any]) -> Any:
    return values if hasattr(values, "type") else list(values)


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
