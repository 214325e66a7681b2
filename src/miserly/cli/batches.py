"""The rows of a file for a plan, in batches.

Cells are read a few thousand at a time, so that they are still in the processor's cache when they are
converted to numbers. The plan runs on larger batches. In ranking a batch holds whole queries.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from miserly.cli.cells import Known, plain_cell
from miserly.cli.console import MOST_LINES, Problems, also_in
from miserly.cli.row_terms import RowTerms, Terms
from miserly.cli.table_files import Chunk, OpenTable, table_file
from miserly.plan import Plan

__all__ = ["Batch", "Batches", "OddCells", "joined"]

ROWS = 20_000  # of a batch ...
MATRIX = 1_000_000  # ... unless they hold more numbers than this
OTHER = "another class"
_ODD = ("bad", "infinite", "strange")


@dataclass(frozen=True, eq=False)
class Batch:
    """Some rows: what the plan reads, and what goes with it.

    `truth` holds numbers, or classes of the plan; NaN or None where it is missing. `kept` is copied to the
    output. `terms` is what the rows know and pay.
    """

    values: dict[str, NDArray[Any]]
    n_rows: int
    qid: NDArray[np.int64] | None
    truth: NDArray[Any] | None
    kept: dict[str, Sequence[Any]]
    terms: Terms

    @property
    def columns(self) -> list[str]:
        return list(self.values)

    def __len__(self) -> int:
        return self.n_rows

    def __getitem__(self, name: str) -> NDArray[Any]:
        return self.values[name]

    def part(self, start: int, end: int) -> Batch:
        return Batch(
            {name: values[start:end] for name, values in self.values.items()},
            end - start,
            None if self.qid is None else self.qid[start:end],
            None if self.truth is None else self.truth[start:end],
            {name: values[start:end] for name, values in self.kept.items()},
            {name: values[start:end] for name, values in self.terms.items()},
        )


@dataclass
class OddCells:
    """The cells of a column that cannot be used: how many, where the first ones are, and some of them.

    >>> odd = OddCells()
    >>> for line in range(2, 1000):
    ...     odd.add(line, f"x{line}")
    >>> odd.count, odd.lines, odd.first, odd.texts
    (998, [2, 3, 4, 5, 6, 7], 'x2', ['x10', 'x100', 'x101'])
    """

    count: int = 0
    lines: list[int] = field(default_factory=list)
    first: str = ""
    texts: list[str] = field(default_factory=list)  # in alphabetical order

    def add(self, line: int, text: str) -> None:
        self.first = self.first if self.count else text
        self.count += 1
        if len(self.lines) <= MOST_LINES:
            self.lines.append(line)
        if text not in self.texts:
            self.texts = sorted([*self.texts, text])[:3]


def joined(batches: Sequence[Batch]) -> Batch:
    """The rows of several batches."""
    first = batches[0]
    return Batch(
        {name: np.concatenate([one.values[name] for one in batches]) for name in first.values},
        sum(map(len, batches)),
        None if first.qid is None else np.concatenate([one.qid for one in batches if one.qid is not None]),
        None
        if first.truth is None
        else np.concatenate([one.truth for one in batches if one.truth is not None]),
        {name: [value for one in batches for value in one.kept[name]] for name in first.kept},
        {name: np.concatenate([one.terms[name] for one in batches]) for name in first.terms},
    )


class Batches:
    """The rows of a file for a plan.

    Parameters
    ----------
    plan : Plan
    source : OpenTable
    query : str or None
        The column with the query of each row.
    keep : sequence of str
    problems : Problems
        Collects every line that cannot be read.

    Attributes
    ----------
    terms : RowTerms or None
        What the rows know and pay, if it is not what the plan says.
    bad, infinite, strange : dict of OddCells
        By column, the cells that are not numbers, infinite numbers, and unknown categories. All of them are
        treated as missing.
    skip : int
        The number of rows at the start of the file that are left out.
    """

    def __init__(
        self, plan: Plan, source: OpenTable, query: str | None, keep: Sequence[str], problems: Problems
    ) -> None:
        self._plan, self._source, self._query, self._keep = plan, source, query, tuple(keep)
        self._file = table_file(source, problems)
        self._known = {int(f): Known(values, source.form) for f, values in plan.categories.items()}
        self._classes = None if plan.classes is None else Known(plan.classes.tolist(), source.form)
        self._queries: dict[str, int] = {}
        self.terms: RowTerms | None = None
        self.bad: dict[str, OddCells] = {}
        self.infinite: dict[str, OddCells] = {}
        self.strange: dict[str, OddCells] = {}
        self.skip = 0
        target = plan.info.get("target")
        self.target = target if target in self._file.header else None

    @property
    def header(self) -> Sequence[str]:
        return self._file.header

    def place(self, line: int, column: str) -> str:
        """The place of a cell, for messages."""
        return f"{self._source.name}, {self._file.unit} {line}, column {column!r}"

    @property
    def kept_types(self) -> dict[str, Any]:
        """The types of the columns that are kept, where the file has types."""
        return {name: self._file.types[name] for name in self._keep if name in self._file.types}

    @property
    def share(self) -> float:
        """The share of the file that was read."""
        return self._file.share

    def state(self) -> dict[str, Any]:
        """The odd cells so far, for a run that goes on later."""
        return {kind: {name: asdict(cells) for name, cells in getattr(self, kind).items()} for kind in _ODD}

    def restore(self, state: dict[str, Any], n_rows: int) -> None:
        """Go on after `n_rows` rows, with the odd cells of these rows."""
        self.skip = n_rows
        for kind in _ODD:
            setattr(self, kind, {name: OddCells(**cells) for name, cells in state[kind].items()})

    def report(self, cells: dict[str, OddCells], what: str, problems: Problems) -> None:
        """Add a problem for each column of `bad`, `infinite` or `strange`."""
        for name, found in cells.items():
            hint = self._source.form.hint(found.first) if cells is self.bad else ""
            also = also_in(found.lines[1:], self._file.unit, found.count - 1)
            place = self.place(found.lines[0], name)
            problems.add(f"{place}: {found.first!r} is {what}{'; ' + hint if hint else ''}{also}")

    def __iter__(self) -> Iterator[Batch]:
        size = max(1, min(ROWS, MATRIX // max(1, self._plan.n_features)))
        if self._query is not None and not self._are_adjacent(self._query):
            size = 2**62  # a query may occur again in the last row
        waiting: list[Batch] = []
        if self.terms is not None:
            self.terms.start(self.skip)
        for chunk in self._file.chunks(self._columns, self.skip):
            waiting.append(self._batch(chunk))
            if sum(map(len, waiting)) >= size:
                full, left = _cut(joined(waiting))
                waiting = [left] if len(left) else []
                if len(full):
                    yield full
        if self.terms is not None:
            self.terms.finish()
        if waiting:
            yield joined(waiting)

    @property
    def _columns(self) -> list[str]:
        also = [name for name in (self._query, self.target) if name is not None]
        also += [] if self.terms is None else self.terms.columns
        return list(
            dict.fromkeys([*map(str, map(self._plan.costs.name, self._plan.features)), *also, *self._keep])
        )

    def _are_adjacent(self, query: str) -> bool:
        """Whether the rows of each query are adjacent."""
        seen: set[str] = set()
        last = None
        for chunk in table_file(self._source, Problems()).chunks([query]):
            for cell in map(str.strip, chunk.text(query)):
                if cell != last:
                    if cell in seen:
                        return False
                    seen.add(cell)
                    last = cell
        return True

    # -- cells -----------------------------------------------------------------------------------------------

    def _batch(self, chunk: Chunk) -> Batch:
        qid = None
        if self._query is not None:
            known = self._queries
            ids = [known.setdefault(cell.strip(), len(known)) for cell in chunk.text(self._query)]
            qid = np.array(ids, dtype=np.int64)
        values = {str(self._plan.costs.name(f)): self._column(int(f), chunk) for f in self._plan.features}
        kept = {name: chunk.values(name) for name in self._keep}
        terms = {} if self.terms is None else self.terms.of(chunk)
        return Batch(values, len(chunk.lines), qid, self._truth(chunk), kept, terms)

    def _column(self, f: int, chunk: Chunk) -> NDArray[Any]:
        """The values of a feature: numbers, or known categories and None."""
        name = str(self._plan.costs.name(f))
        if f not in self._known:
            numbers = chunk.numbers(name, self._source.form)
            if numbers is None or np.isinf(numbers).any():
                return self._some_numbers(name, chunk)
            return numbers
        values, known = np.empty(len(chunk.lines), dtype=object), self._known[f]
        for row, cell in enumerate(map(plain_cell, chunk.text(name))):
            if cell is not None:
                try:
                    values[row] = known(cell)
                except KeyError:
                    self.strange.setdefault(name, OddCells()).add(chunk.lines[row], cell)
        return values

    def _some_numbers(self, name: str, chunk: Chunk) -> NDArray[np.float64]:
        """Numbers, NaN where a cell holds none or an infinite one."""
        values = np.full(len(chunk.lines), np.nan)
        for row, (line, cell) in enumerate(zip(chunk.lines, chunk.text(name), strict=True)):
            number = self._source.form.numbers([cell])
            if number is None or np.isinf(number[0]):
                cells = self.bad if number is None else self.infinite
                cells.setdefault(name, OddCells()).add(line, cell.strip())
            else:
                values[row] = number[0]
        return values

    def _truth(self, chunk: Chunk) -> NDArray[Any] | None:
        if self.target is None:
            return None
        if self._classes is None:
            numbers = chunk.numbers(self.target, self._source.form)
            return np.full(len(chunk.lines), np.nan) if numbers is None else numbers
        truth = np.empty(len(chunk.lines), dtype=object)
        for row, cell in enumerate(map(plain_cell, chunk.text(self.target))):
            if cell is not None:
                truth[row] = self._classes(cell) if cell in self._classes else OTHER
        return truth


def _cut(batch: Batch) -> tuple[Batch, Batch]:
    """A batch without its last query, which may continue, and that query; without queries all of it."""
    end = len(batch)
    if batch.qid is not None:
        end = int(np.argmax(batch.qid == batch.qid[-1]))
    return batch.part(0, end), batch.part(end, len(batch))
