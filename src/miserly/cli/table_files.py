"""Files of tables, read in chunks: CSV with a list of its problems, and Parquet by pyarrow or polars."""

from __future__ import annotations

import codecs
import contextlib
import csv
import re
import shutil
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from miserly.cli.cells import Format
from miserly.cli.console import Problems, also_in, shell_word
from miserly.errors import DataError, did_you_mean

__all__ = ["FORMATS", "PARQUET", "Chunk", "CsvFile", "OpenTable", "ParquetFile", "opened", "table_file"]

FORMATS = (".csv", ".parquet")
PARQUET = "Parquet needs pandas with pyarrow, or polars: pip install 'miserly[parquet]'"


@dataclass(frozen=True)
class OpenTable:
    """A table to read: a file, what to call it, and how it is written."""

    path: Path
    name: str
    kind: str
    form: Format
    is_copy: bool = False  # of standard input, which cannot be read again

    def no_column(self, column: str, header: Sequence[str], why: str = "") -> str:
        return f"{self.name}: no column {column!r}{why}{did_you_mean(column, header)}"


@contextlib.contextmanager
def opened(path: Path, form: Format | None = None) -> Iterator[OpenTable]:
    """The source of a table; `-` is standard input, kept in a temporary file as long as it is needed."""
    form = form or Format()
    if str(path) == "-":
        with tempfile.NamedTemporaryFile(prefix="miserly-") as file:
            shutil.copyfileobj(sys.stdin.buffer, file)
            file.flush()
            file.seek(0)
            kind = ".parquet" if file.read(4) == b"PAR1" else ".csv"
            yield OpenTable(Path(file.name), "standard input", kind, form, is_copy=True)
        return
    kind = path.suffix.lower()
    if kind not in FORMATS:
        raise DataError(f"{path}: tables are read from {' and '.join(FORMATS)} files, or from - in CSV")
    if not path.is_file():
        raise DataError(f"{path}: {_not_a_file(path)}")
    yield OpenTable(path, str(path), kind, form)


def _not_a_file(path: Path) -> str:
    if not path.exists():
        return "no such file"
    return "this is a folder" if path.is_dir() else "not a regular file; give - to read standard input"


@dataclass(frozen=True)
class Chunk:
    """Some rows of a file: the cells of each column as text, and the lines in which they end."""

    lines: list[int]
    cells: Mapping[str, Sequence[str]]

    def text(self, name: str) -> Sequence[str]:
        """The cells of a column as text."""
        return self.cells[name]

    def values(self, name: str) -> Sequence[Any]:
        """The values to write in order to copy a column."""
        return self.text(name)

    def numbers(self, name: str, form: Format) -> NDArray[np.float64] | None:
        """A column as numbers; None if some cells are not numbers."""
        return form.numbers(self.text(name))


class CsvFile:
    """A CSV file with a valid header.

    Parameters
    ----------
    source : OpenTable
    problems : Problems
        Collects every line with too few or too many values. Such lines are skipped.
    """

    unit = "line"
    index: tuple[str, ...] = ()
    types: Mapping[str, Any] = {}
    chunk_cells = 6_000  # they fit into a processor's cache ...
    fewest_rows = 16  # ... unless rows are very wide

    def __init__(self, source: OpenTable, problems: Problems) -> None:
        self._source = source
        self._problems = problems
        self._file: Any = None  # while rows are read
        self.header = self._read_header()

    @property
    def share(self) -> float:
        """The share of the file that was read."""
        size = self._source.path.stat().st_size
        return self._file.buffer.tell() / size if self._file is not None and size else 0.0

    def chunks(self, columns: Sequence[str], skip: int = 0) -> Iterator[Chunk]:
        """The cells of some columns, some rows at a time, without the first `skip` rows."""
        size = max(self.fewest_rows, self.chunk_cells // len(self.header))
        place_of = {name: place for place, name in enumerate(self.header)}
        places = {name: place_of[name] for name in columns}
        ragged: list[tuple[int, int]] = []
        lines: list[int] = []
        rows: list[list[str]] = []
        with self._reader() as reader:
            next(filter(None, reader))
            for cells in reader:
                if len(cells) == len(self.header):
                    if skip:
                        skip -= 1
                        continue
                    lines.append(reader.line_num)
                    rows.append(cells)
                    if len(rows) == size:
                        yield _chunk(lines, rows, places)
                        lines, rows = [], []
                elif cells:  # blank lines are skipped
                    ragged.append((reader.line_num, len(cells)))
            if rows:
                yield _chunk(lines, rows, places)
        self._report(ragged)

    def _report(self, ragged: Sequence[tuple[int, int]]) -> None:
        """Lines with too few or too many values are one problem."""
        if ragged:
            line, found = ragged[0]
            self._problems.add(
                f"{self._source.name}, line {line}: {found} values for {len(self.header)} columns"
                f"{also_in([line for line, _ in ragged[1:]])}"
            )

    @contextlib.contextmanager
    def _reader(self) -> Iterator[Any]:
        """A reader of lines as lists of cells; line numbers are those of an editor."""
        name, form = self._source.name, self._source.form
        encoding = "utf-8-sig" if codecs.lookup(form.encoding).name == "utf-8" else form.encoding
        with self._source.path.open(encoding=encoding, newline="") as file:
            reader = csv.reader(file, delimiter=form.sep, strict=True)
            self._file = file
            try:
                yield reader
            except csv.Error as error:
                raise DataError(f"{name}, line {reader.line_num}: not a sound CSV file ({error})") from None
            except UnicodeError:
                raise DataError(self._not_text(encoding)) from None
            finally:
                self._file = None

    def _not_text(self, encoding: str) -> str:
        """The error for a file in another encoding."""
        with self._source.path.open("rb") as file:
            start = file.read(2)
        other = "utf-16" if start in (b"\xff\xfe", b"\xfe\xff") else "cp1252"
        shown = encoding.removesuffix("-sig").upper()
        hint = f"if it is written in another encoding, name it, such as --encoding {other}"
        line = _strange_line(self._source.path, encoding)
        return f"{self._source.name}, line {line}: not a text file in {shown}; {hint}"

    def _read_header(self) -> list[str]:
        name = self._source.name
        with self._reader() as reader:
            header: list[str] = next(filter(None, reader), [])
        if not header:
            raise DataError(f"{name}: the first line must name the columns")
        names = [cell.strip() for cell in header]
        mark = re.search(r"[;\t|,]", names[0])
        if len(names) == 1 and mark:
            sep = "tab" if mark[0] == "\t" else shell_word(mark[0])
            between = "commas" if self._source.form.sep == "," else repr(self._source.form.sep)
            raise DataError(
                f"{name}, line 1: columns are separated by {between}, not by {mark[0]!r}; give --sep {sep}"
            )
        problems = Problems()
        for place, column in enumerate(names, 1):
            if not column:
                problems.add(f"{name}, line 1: column {place} has no name")
        for column, count in Counter(filter(None, names)).items():
            if count > 1:
                problems.add(f"{name}, line 1: {'two' if count == 2 else count} columns are named {column!r}")
        problems.settle()
        return names


def _chunk(lines: list[int], rows: list[list[str]], places: Mapping[str, int]) -> Chunk:
    columns = list(zip(*rows, strict=True))
    return Chunk(lines, {name: columns[place] for name, place in places.items()})


def _strange_line(path: Path, encoding: str) -> int:
    """The number of the first line that is not in an encoding; 1 if lines cannot be separated."""
    with path.open("rb") as file:
        for number, line in enumerate(file, 1):
            try:
                line.decode(encoding)
            except UnicodeError:
                return number
    return 1


# -- Parquet -------------------------------------------------------------------------------------------------

_NUMBERS = ("int", "uint", "float", "double", "halffloat")


@dataclass(frozen=True)
class ParquetChunk(Chunk):
    """Some rows of a Parquet file; columns of numbers are not converted to text and back."""

    columns: dict[str, Any]

    def text(self, name: str) -> list[str]:
        return ["" if value is None else str(value) for value in self.values(name)]

    def values(self, name: str) -> list[Any]:
        column = self.columns[name]
        return list(column.to_pylist() if hasattr(column, "to_pylist") else column.to_list())

    def numbers(self, name: str, form: Format) -> NDArray[np.float64] | None:
        column = self.columns[name]
        is_arrow = hasattr(column, "to_pylist")
        if not str(column.type if is_arrow else column.dtype).lower().startswith(_NUMBERS):
            return super().numbers(name, Format())
        if is_arrow:
            return np.array(column.cast("float64", safe=False).to_numpy(zero_copy_only=False))
        import polars as pl

        return np.array(column.cast(pl.Float64).to_numpy())


class ParquetFile:
    """A Parquet file; rows count from 1. `index` names the columns that hold the index of a pandas frame."""

    unit = "row"
    chunk_cells = 200_000
    fewest_rows = 64

    def __init__(self, source: OpenTable) -> None:
        self._source = source
        self.share = 0.0  # of the rows that were read
        self.types: Mapping[str, Any] = {}  # of columns, if pyarrow is there
        self.header, self.index = self._guarded(self._names)

    def chunks(self, columns: Sequence[str], skip: int = 0) -> Iterator[Chunk]:
        """Some columns, some rows at a time, without the first `skip` rows."""
        size = max(self.fewest_rows, self.chunk_cells // max(1, len(columns)))
        batches = self._batches(list(columns), size, skip)
        first = skip + 1
        while (batch := self._guarded(lambda: next(batches, None))) is not None:
            n_rows, values = batch
            yield ParquetChunk(list(range(first, first + n_rows)), {}, values)
            first += n_rows

    def _names(self) -> tuple[list[str], tuple[str, ...]]:
        """The columns, and those of the index."""
        if find_spec("pyarrow"):
            import pyarrow.parquet as pq

            schema = pq.read_schema(self._source.path)
            index = (schema.pandas_metadata or {}).get("index_columns", ())
            self.types = {field.name: _plain_type(field.type) for field in schema}
            return list(schema.names), tuple(name for name in index if isinstance(name, str))
        if find_spec("polars"):
            import polars as pl

            return list(pl.read_parquet_schema(self._source.path)), ()
        raise DataError(f"{self._source.name}: reading {PARQUET}")

    def _batches(self, columns: list[str], size: int, skip: int) -> Iterator[tuple[int, dict[str, Any]]]:
        if find_spec("pyarrow"):
            import pyarrow.parquet as pq

            with pq.ParquetFile(self._source.path) as file:
                total = file.metadata.num_rows
                group, start = _row_group(file, skip)
                unread = skip - start  # of the first row group
                groups = list(range(group, file.num_row_groups))
                for batch in file.iter_batches(min(size, max(1, total)), row_groups=groups, columns=columns):
                    start += batch.num_rows
                    self.share = start / total
                    part = batch.slice(min(unread, batch.num_rows))
                    unread -= batch.num_rows - part.num_rows
                    if part.num_rows:
                        yield part.num_rows, {name: part.column(name) for name in columns}
            return
        import polars as pl

        frame, start = pl.scan_parquet(self._source.path), skip
        total = frame.select(pl.len()).collect().item()
        size = min(size, max(1, total))
        while start < total:
            part = frame.select(columns).slice(start, size).collect()
            yield min(size, total - start), {name: part[name] for name in columns}
            start += size
            self.share = min(1.0, start / total)

    def _guarded(self, read: Any) -> Any:
        """Call a reader and translate the errors of its library for a broken file."""
        try:
            return read()
        except DataError:
            raise
        except Exception as error:
            reason = (str(error).splitlines() or [type(error).__name__])[0]
            raise DataError(f"{self._source.name}: not a sound Parquet file ({reason})") from None


def _plain_type(kind: Any) -> Any:
    """A type of Arrow; of categories, that of their values."""
    import pyarrow as pa

    return kind.value_type if pa.types.is_dictionary(kind) else kind


def _row_group(file: Any, row: int) -> tuple[int, int]:
    """The row group of a Parquet file that holds a row, and the first row of this group."""
    start = 0
    for group in range(file.num_row_groups):
        n_rows = file.metadata.row_group(group).num_rows
        if row < start + n_rows:
            return group, start
        start += n_rows
    return file.num_row_groups, row


def table_file(source: OpenTable, problems: Problems) -> CsvFile | ParquetFile:
    """The file of a source."""
    return ParquetFile(source) if source.kind == ".parquet" else CsvFile(source, problems)
