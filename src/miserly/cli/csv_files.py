"""Reading CSV files in chunks, with the number of every line and all that is wrong with them."""

from __future__ import annotations

import codecs
import contextlib
import csv
import re
import shutil
import sys
import tempfile
from collections import Counter
from collections.abc import Generator, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from miserly.cli.cells import Format, plain_cell
from miserly.cli.console import shell_word
from miserly.cli.problems import Problems, also_in
from miserly.errors import DataError, did_you_mean

__all__ = ["FORMATS", "Chunk", "CsvFile", "Source", "opened"]

FORMATS = (".csv", ".parquet")
CELLS = 100_000  # that are held at a time ...
FEWEST_ROWS = 64  # ... unless rows are very wide


@dataclass(frozen=True)
class Source:
    """A table to read: a file, what to call it, and how it is written."""

    path: Path
    name: str
    kind: str
    form: Format

    def no_column(self, column: str, header: Sequence[str], why: str = "") -> str:
        return f"{self.name}: no column {column!r}{why}{did_you_mean(column, header)}"


@contextlib.contextmanager
def opened(path: Path, form: Format | None = None) -> Iterator[Source]:
    """The source of a table; `-` is standard input, kept in a temporary file as long as it is needed."""
    form = form or Format()
    if str(path) == "-":
        with tempfile.NamedTemporaryFile(prefix="miserly-") as file:
            shutil.copyfileobj(sys.stdin.buffer, file)
            file.flush()
            file.seek(0)
            kind = ".parquet" if file.read(4) == b"PAR1" else ".csv"
            yield Source(Path(file.name), "standard input", kind, form)
        return
    kind = path.suffix.lower()
    if kind not in FORMATS:
        raise DataError(f"{path}: tables are read from {' and '.join(FORMATS)} files, or from - in CSV")
    if not path.is_file():
        raise DataError(f"{path}: {_not_a_file(path)}")
    yield Source(path, str(path), kind, form)


def _not_a_file(path: Path) -> str:
    if not path.exists():
        return "no such file"
    return "this is a folder" if path.is_dir() else "not a regular file; give - to read standard input"


@dataclass(frozen=True)
class Chunk:
    """Some rows of a file: the cells of each column as text, and in which lines they end."""

    lines: list[int]
    cells: dict[str, list[str]]

    def text(self, name: str) -> list[str]:
        """The cells of a column, as they stand in the file."""
        return self.cells[name]

    def values(self, name: str) -> list[Any]:
        """What to write to keep a column as it is."""
        return self.text(name)

    def numbers(self, name: str, form: Format) -> NDArray[np.float64] | None:
        """A column as numbers; None if some cells hold none."""
        return form.numbers([plain_cell(cell) for cell in self.text(name)])

    def part(self, start: int, end: int) -> Chunk:
        """Some of these rows."""
        cells = {name: values[start:end] for name, values in self.cells.items()}
        return Chunk(self.lines[start:end], cells)

    def followed_by(self, other: Chunk) -> Chunk:
        """These rows and others of the same columns."""
        cells = {name: [*values, *other.cells[name]] for name, values in self.cells.items()}
        return Chunk([*self.lines, *other.lines], cells)


class CsvFile:
    """A CSV file whose header is sound.

    Parameters
    ----------
    source : Source
    problems : Problems
        Told of every line with too few or too many values; such a line is passed over.
    """

    unit = "line"

    def __init__(self, source: Source, problems: Problems) -> None:
        self._source = source
        self._problems = problems
        self.header = self._read_header()

    def chunks(self, columns: Sequence[str], most_rows: int | None = None) -> Iterator[Chunk]:
        """The cells of some columns, `most_rows` rows at a time."""
        size = most_rows or max(FEWEST_ROWS, CELLS // max(1, len(columns)))
        place_of = {name: place for place, name in enumerate(self.header)}
        places = [place_of[name] for name in columns]
        lines: list[int] = []
        rows: list[list[str]] = []
        for line, cells in self._sound_rows():
            lines.append(line)
            rows.append([cells[place] for place in places])
            if len(rows) == size:
                yield Chunk(lines, _by_column(columns, rows))
                lines, rows = [], []
        if rows:
            yield Chunk(lines, _by_column(columns, rows))

    def _sound_rows(self) -> Iterator[tuple[int, list[str]]]:
        """The rows with as many values as there are columns; all others are one problem, told at the end."""
        ragged: list[tuple[int, int]] = []
        rows = self._rows()
        next(rows, None)
        for line, cells in rows:
            if len(cells) == len(self.header):
                yield line, cells
            else:
                ragged.append((line, len(cells)))
        if ragged:
            line, found = ragged[0]
            self._problems.add(
                f"{self._source.name}, line {line}: {found} values for {len(self.header)} columns"
                f"{also_in([line for line, _ in ragged[1:]])}"
            )

    def _rows(self) -> Generator[tuple[int, list[str]]]:
        """The lines that are not blank, as cells, with their numbers as an editor counts them."""
        name, form = self._source.name, self._source.form
        encoding = "utf-8-sig" if codecs.lookup(form.encoding).name == "utf-8" else form.encoding
        with self._source.path.open(encoding=encoding, newline="") as file:
            reader = csv.reader(file, delimiter=form.sep, strict=True)
            try:
                for cells in reader:
                    if cells:
                        yield reader.line_num, cells
            except csv.Error as error:
                raise DataError(f"{name}, line {reader.line_num}: not a sound CSV file ({error})") from None
            except UnicodeError:
                raise DataError(self._not_text(encoding)) from None

    def _not_text(self, encoding: str) -> str:
        """What to do about a file that is not in the encoding it should be in."""
        with self._source.path.open("rb") as file:
            start = file.read(2)
        other = "utf-16" if start in (b"\xff\xfe", b"\xfe\xff") else "cp1252"
        shown = encoding.removesuffix("-sig").upper()
        hint = f"if it is written in another encoding, name it, such as --encoding {other}"
        line = _strange_line(self._source.path, encoding)
        return f"{self._source.name}, line {line}: not a text file in {shown}; {hint}"

    def _read_header(self) -> list[str]:
        name = self._source.name
        with contextlib.closing(self._rows()) as rows:
            _, header = next(rows, (1, []))
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


def _by_column(columns: Sequence[str], rows: list[list[str]]) -> dict[str, list[str]]:
    return {name: list(cells) for name, cells in zip(columns, zip(*rows, strict=True), strict=True)}


def _strange_line(path: Path, encoding: str) -> int:
    """The number of the first line that is not in an encoding; 1 where lines cannot be told apart."""
    with path.open("rb") as file:
        for number, line in enumerate(file, 1):
            try:
                line.decode(encoding)
            except UnicodeError:
                return number
    return 1
