"""What the rows of a file know already and what they pay: `--known` and `--prices`."""

from __future__ import annotations

import contextlib
import hashlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from miserly.cli.cells import Format, Known, plain_cell
from miserly.cli.console import Misuse, Problems
from miserly.cli.replies import prices_of_file
from miserly.cli.table_files import Chunk, OpenTable, opened, table_file
from miserly.costs import Costs
from miserly.errors import DataError, did_you_mean

__all__ = ["RowTerms", "Terms", "read_row_terms"]

Terms = dict[tuple[str, str], NDArray[Any]]  # ("known" or "prices", name of a feature or group): one per row

_FILES = (".csv", ".parquet", ".json", ".toml")


@dataclass(frozen=True)
class _Cells:
    """The column of a file that says what rows know or pay of one feature or group."""

    kind: str  # "known" or "prices"
    name: str
    column: str


@dataclass(eq=False)
class _Beside:
    """A file with a row for each row of the table."""

    source: OpenTable
    cells: list[_Cells]
    problems: Problems
    chunks: Iterator[Chunk] = field(init=False)
    left: list[Chunk] = field(default_factory=list)

    def start(self, skip: int) -> None:
        columns = [one.column for one in self.cells]
        self.chunks = table_file(self.source, self.problems).chunks(columns, skip)
        self.left = []

    def take(self, n: int) -> list[Chunk]:
        """The next `n` rows; fewer at the end of the file."""
        taken: list[Chunk] = []
        while n:
            chunk = self.left.pop() if self.left else next(self.chunks, None)
            if chunk is None:
                break
            if len(chunk.lines) > n:
                first, rest = (
                    Chunk(chunk.lines[some], {one.column: chunk.text(one.column)[some] for one in self.cells})
                    for some in (slice(0, n), slice(n, None))
                )
                self.left.append(rest)
                chunk = first
            taken.append(chunk)
            n -= len(chunk.lines)
        return taken


class RowTerms:
    """What each row of a table knows and pays, read with its rows.

    Parameters
    ----------
    costs : Costs
        The features and groups, with names.
    known : sequence of str
        Each is a feature that all rows have, ``FEATURE=COLUMN`` with a column of booleans, or a table of
        booleans with a column for each feature.
    prices : sequence of str
        Each is ``NAME=PRICE``, ``NAME=COLUMN``, a file of costs, or a table of prices with a column for each
        feature or group. An empty cell keeps the price of the list.
    source : OpenTable
        The table.
    header : sequence of str
        Its columns.
    filled : sequence of str
        Features that a row knows if their cell is not empty.

    Attributes
    ----------
    columns : list of str
        The columns of the table that are read.
    """

    def __init__(
        self,
        costs: Costs,
        known: Sequence[str],
        prices: Sequence[str],
        source: OpenTable,
        header: Sequence[str],
        filled: Sequence[str] = (),
    ) -> None:
        self._costs, self._source, self._header, self._filled = costs, source, header, tuple(filled)
        self._fixed: dict[str, dict[str, Any]] = {"known": {}, "prices": {}}
        self._cells: list[_Cells] = []
        self._beside: list[_Beside] = []
        self._files: list[str] = []
        self._booleans = Known((False, True), source.form)
        self._problems = Problems()
        for one in known:
            self._add_known(one)
        for one in prices:
            self._add_prices(one)
        self.columns = list(dict.fromkeys([*(one.column for one in self._cells), *self._filled]))

    def __bool__(self) -> bool:
        return bool(any(self._fixed.values()) or self.columns or self._beside)

    @property
    def digests(self) -> list[str]:
        """What the files hold that were given."""
        return [hashlib.sha256(Path(path).read_bytes()).hexdigest() for path in self._files]

    # -- options ---------------------------------------------------------------------------------------------

    def _add_known(self, given: str) -> None:
        names, (name, sign, column) = self._costs.names or (), given.rpartition("=")
        if given in names:
            self._fixed["known"][given] = True
        elif sign:
            self._cells.append(_Cells("known", self._name(name, "known"), self._column(column, "known")))
        elif Path(given).suffix.lower() in _FILES:
            self._add_file("known", Path(given))
        else:
            self._fixed["known"] |= {self._name(one, "known"): True for one in given.split(",")}

    def _add_prices(self, given: str) -> None:
        name, sign, text = given.rpartition("=")
        if not sign:
            if Path(given).suffix.lower() not in _FILES:
                raise Misuse(f"--prices takes NAME=PRICE, NAME=COLUMN or a file, not {given!r}")
            self._add_file("prices", Path(given))
            return
        name = self._name(name, "prices")
        with contextlib.suppress(ValueError):
            self._fixed["prices"][name] = float(text)
            return
        self._cells.append(_Cells("prices", name, self._column(text, "prices")))

    def _add_file(self, kind: str, path: Path) -> None:
        """Add a table with a row for each row, or a list of costs, which holds for all rows."""
        if kind == "prices" and (path.suffix.lower() in (".json", ".toml") or _is_price_list(path)):
            self._fixed["prices"] |= prices_of_file(self._costs, path)
        else:
            with opened(path, self._source.form) as source:
                header = table_file(source, self._problems).header
                cells = [_Cells(kind, self._name(name, kind, f"{path}: "), name) for name in header]
                self._beside.append(_Beside(source, cells, self._problems))
        self._files.append(str(path))

    def _name(self, name: str, kind: str, where: str = "") -> str:
        name = name.strip()
        names = [*(self._costs.names or ()), *(self._costs.group_names if kind == "prices" else ())]
        if name not in names:
            what = "feature or group" if kind == "prices" else "feature"
            raise DataError(f"{where or f'--{kind}: '}no {what} {name!r}{did_you_mean(name, names)}")
        return name

    def _column(self, column: str, kind: str) -> str:
        column = column.strip()
        if column not in self._header:
            number = "" if kind == "known" else f"{column!r} is not a number, and "
            raise DataError(f"--{kind}: {number}{self._source.no_column(column, self._header)}")
        return column

    # -- rows ------------------------------------------------------------------------------------------------

    def start(self, skip: int = 0) -> None:
        """Begin after the first `skip` rows of the table."""
        for one in self._beside:
            one.start(skip)

    def of(self, chunk: Chunk) -> Terms:
        """What the rows of the next chunk of the table know and pay."""
        found = {(one.kind, one.name): self._read(one, chunk, self._source) for one in self._cells}
        for name in self._filled:
            full = np.array([plain_cell(cell) is not None for cell in chunk.text(name)], dtype=np.bool_)
            found["known", name] = full | found.get(("known", name), np.False_)
        for beside in self._beside:
            parts = beside.take(len(chunk.lines))
            if sum(len(part.lines) for part in parts) != len(chunk.lines):
                raise DataError(f"{beside.source.name}: fewer rows than {self._source.name} has")
            for one in beside.cells:
                values = [self._read(one, part, beside.source) for part in parts]
                found[one.kind, one.name] = np.concatenate(values)
        return found

    def finish(self) -> None:
        """Raise if a file has rows that the table does not have."""
        for one in self._beside:
            if one.take(1):
                raise DataError(f"{one.source.name}: more rows than {self._source.name} has")
        self._problems.settle()

    def arguments(self, found: Mapping[tuple[str, str], NDArray[Any]]) -> dict[str, Any]:
        """The arguments `known` and `prices` of a run, of a fit or of a search."""
        given: dict[str, Any] = {}
        for kind, fixed in self._fixed.items():
            of_rows = {name: values for (one, name), values in found.items() if one == kind}
            given[kind] = {**of_rows, **fixed} or None
        return given

    def _read(self, cells: _Cells, chunk: Chunk, source: OpenTable) -> NDArray[Any]:
        read = self._boolean if cells.kind == "known" else self._price
        values = []
        for line, cell in zip(chunk.lines, map(plain_cell, chunk.text(cells.column)), strict=True):
            try:
                values.append(read(cell, cells.name, source.form))
            except (KeyError, ValueError):
                what = "true or false" if cells.kind == "known" else "a price, which is 0 or more"
                place = f"{source.name}, line {line}, column {cells.column!r}"
                raise DataError(f"{place}: {cell!r} is not {what}") from None
        return np.array(values, dtype=np.bool_ if cells.kind == "known" else np.float64)

    def _boolean(self, cell: str | None, name: str, form: Format) -> bool:
        return cell is not None and bool(self._booleans(cell))

    def _price(self, cell: str | None, name: str, form: Format) -> float:
        costs = self._costs
        if cell is None:
            of_group = name in costs.group_names
            return float(
                costs.setup[costs.group_names.index(name)] if of_group else costs.feature[costs.index(name)]
            )
        price = form.number(cell)
        if not 0.0 <= price < np.inf:
            raise ValueError(cell)
        return price


def _is_price_list(path: Path) -> bool:
    """Whether a .csv file is a list of costs and not a table of prices."""
    if path.suffix.lower() != ".csv" or not path.is_file():
        return False
    with path.open(encoding="utf-8-sig", errors="replace") as file:
        first = next((line for line in file if line.strip() and not line.startswith("#")), "")
    return {"feature", "cost"} <= {cell.strip().lower() for cell in first.split(",")}


def read_row_terms(
    costs: Costs, known: Sequence[str], prices: Sequence[str], source: OpenTable, header: Sequence[str]
) -> dict[str, Any]:
    """The arguments `known` and `prices` for all rows of a table."""
    terms = RowTerms(costs, known, prices, source, header)
    terms.start()
    parts = [terms.of(chunk) for chunk in table_file(source, Problems()).chunks(terms.columns or header[:1])]
    terms.finish()
    return terms.arguments({key: np.concatenate([part[key] for part in parts]) for key in (parts or [{}])[0]})
