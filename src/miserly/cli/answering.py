"""`miserly predict`: a saved plan over the rows of a file, some rows at a time.

The file needs the columns that the plan reads and no more. Memory does not grow with its length but for a few
numbers per row.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from miserly.cli.cells import Known, plain_cell
from miserly.cli.csv_files import CELLS, FEWEST_ROWS, Chunk, CsvFile, Source
from miserly.cli.parquet_files import ParquetFile
from miserly.cli.problems import Problems, also_in
from miserly.errors import DataError, PlanError
from miserly.plan import Plan, links
from miserly.plan.batch import Run
from miserly.plan.effort import engine_for
from miserly.plan.ranking import ranked

__all__ = ["Answers", "Asked", "Predictions", "Tally"]

MATRIX = 1_000_000  # numbers that a plan is given at a time
ALL = 2**62  # rows
METRICS = {"classify": "accuracy", "regress": "mse", "rank": "ndcg@5"}


@dataclass(frozen=True)
class Asked:
    """What a prediction was asked for."""

    budget: float | None = None
    query: str | None = None
    probabilities: bool = False
    keep: tuple[str, ...] = ()
    unknown: str = "missing"


@dataclass(frozen=True, eq=False)
class Answers:
    """What a plan says about some rows, and what that cost."""

    plan: Plan
    run: Run
    prediction: NDArray[Any]
    probabilities: NDArray[np.float64] | None
    kept: dict[str, list[Any]]

    def columns(self) -> dict[str, list[Any]]:
        """One list per column of the output."""
        shown: dict[str, list[Any]] = {**self.kept, "prediction": self.prediction.tolist()}
        if self.probabilities is not None:
            for name, column in zip(_shares(self.plan), self.probabilities.T, strict=True):
                shown[name] = [round(value, 6) for value in column.tolist()]
        shown["cost"] = [round(cost, 10) for cost in self.run.cost.tolist()]
        shown["features"] = self.run.acquired.sum(axis=1).tolist()
        return shown


def _shares(plan: Plan) -> list[str]:
    labels = range(plan.n_outputs) if plan.classes is None else plan.classes
    return [f"probability_{label}" for label in labels]


@dataclass(eq=False)
class Tally:
    """What all rows cost together, and how well they were answered."""

    costs: list[NDArray[np.float64]] = field(default_factory=list)
    n_features: int = 0
    n_stopped: int = 0
    truth: list[NDArray[Any]] = field(default_factory=list)
    said: list[NDArray[Any]] = field(default_factory=list)
    queries: dict[str, int] = field(default_factory=dict)
    qid: list[NDArray[np.int64]] = field(default_factory=list)

    @property
    def cost(self) -> NDArray[np.float64]:
        return np.concatenate(self.costs)

    def add(self, run: Run) -> None:
        self.costs.append(run.cost)
        self.n_features += int(run.acquired.sum())
        self.n_stopped += int(run.stopped.sum())

    def value(self, metric: str) -> float | None:
        """The metric over all rows; None if the truth of some is not known."""
        truth = np.concatenate(self.truth) if self.truth else np.zeros(0)
        if not len(truth) or np.isnan(truth).any():
            return None
        if metric == "accuracy":
            return float(np.mean(truth))
        from miserly.metrics import get_metric

        qid = np.concatenate(self.qid) if self.qid else None
        return get_metric(metric).value(truth, np.concatenate(self.said), qid=qid)


class Predictions:
    """A plan over the rows of a file.

    Parameters
    ----------
    plan : Plan
    source : Source
    asked : Asked
    problems : Problems
        Told of every cell that cannot be used.

    Attributes
    ----------
    tally : Tally
    strange : dict of list
        By column, the lines and texts of cells that are no known category; they count as missing.
    """

    def __init__(self, plan: Plan, source: Source, asked: Asked, problems: Problems) -> None:
        self.plan, self.asked, self.tally = plan, asked, Tally()
        self.strange: dict[str, list[tuple[int, str]]] = {}
        self._source, self._problems = source, problems
        self._file = ParquetFile(source) if source.kind == ".parquet" else CsvFile(source, problems)
        self._bad: dict[str, list[tuple[int, str]]] = {}
        self._known = {
            f: Known(values, source.form) for f, values in plan.categories.items() if f in plan.features
        }
        self._classes = None if plan.classes is None else Known(plan.classes.tolist(), source.form)
        self._check()

    @property
    def metric(self) -> str | None:
        """The metric of the plan's task, if the file has the target."""
        task, target = self.plan.info.get("task"), self.plan.info.get("target")
        if (
            task not in METRICS
            or target not in self._file.header
            or (task == "rank" and not self.asked.query)
        ):
            return None
        return METRICS[task]

    def _check(self) -> None:
        plan, asked = self.plan, self.asked
        if plan.costs.names is None:
            raise DataError(
                f"this plan knows its {plan.n_features} columns by number only; run it from Python, "
                "or fit it on columns with names"
            )
        if plan.listwise and asked.query is None:
            raise DataError("this plan compares the documents of a query: give their column with --query")
        if asked.probabilities and plan.link not in ("logistic", "softmax"):
            raise PlanError("--proba: this plan does not answer with classes that have probabilities")
        needed = [name for name in self._needed if name not in self._file.header]
        for name in needed:
            self._problems.add(self._source.no_column(name, self._file.header, ", which the plan needs"))
        for name in (*([asked.query] if asked.query else []), *asked.keep):
            if name not in self._file.header and name not in needed:
                self._problems.add(self._source.no_column(name, self._file.header))
        taken = {"prediction", "cost", "features", *(_shares(plan) if asked.probabilities else ())}
        for name in asked.keep:
            if name in taken:
                self._problems.add(f"--keep: the output has a column {name!r} of its own")
        self._problems.settle()

    @property
    def _needed(self) -> list[str]:
        return [str(self.plan.costs.name(f)) for f in self.plan.features]

    # -- running ---------------------------------------------------------------------------------------------

    def __iter__(self) -> Iterator[Answers]:
        """Answers for some rows at a time; problems are told after the last."""
        n_rows = 0
        for chunk in self._chunks():
            n_rows += len(chunk.lines)
            yield self._answered(chunk, n_rows)
        for name, cells in self._bad.items():
            line, text = cells[0]
            hint = self._source.form.hint(text)
            self._problems.add(
                f"{self.place(line, name)}: {text!r} is not a number{'; ' + hint if hint else ''}"
                f"{also_in([line for line, _ in cells[1:]], self._file.unit)}"
            )
        for name, cells in self.strange.items() if self.asked.unknown == "error" else ():
            line, text = cells[0]
            self._problems.add(
                f"{self.place(line, name)}: {text!r} is unknown to the plan"
                f"{also_in([line for line, _ in cells[1:]], self._file.unit)}"
            )
        self._problems.settle()
        if not n_rows:
            raise DataError(f"{self._source.name}: no rows")

    def place(self, line: int, column: str) -> str:
        """Where a cell is to be found."""
        return f"{self._source.name}, {self._file.unit} {line}, column {column!r}"

    def _chunks(self) -> Iterator[Chunk]:
        also = [self.asked.query] if self.asked.query else []
        also += [str(self.plan.info["target"])] if self.metric else []
        columns = list(dict.fromkeys([*self._needed, *also, *self.asked.keep]))
        size = max(FEWEST_ROWS, min(CELLS // max(1, len(columns)), MATRIX // max(1, self.plan.n_features)))
        if self.asked.query is None:
            return self._file.chunks(columns, size)
        if isinstance(self._file, CsvFile) and _stand_together(self._source, self.asked.query):
            return _whole_queries(self._file.chunks(columns, size), self.asked.query)
        return self._file.chunks(columns, ALL)

    def _answered(self, chunk: Chunk, n_rows: int) -> Answers:
        """Run the plan over some rows; `n_rows` with all before them, which compiling must be worth."""
        qid = None if self.asked.query is None else self._qid(chunk.text(self.asked.query))
        rows = _Rows(
            len(chunk.lines),
            {str(self.plan.costs.name(f)): self._column(int(f), chunk) for f in self.plan.features},
        )
        run = self.plan.run(rows, budget=self.asked.budget, qid=qid, compiled=engine_for(self.plan, n_rows))
        scores = ranked(run, qid)
        table = scores[:, None] if scores.ndim == 1 else scores
        shares = links.probabilities(self.plan.link, table) if self.asked.probabilities else None
        said = links.labels(self.plan.link, table, self.plan.classes)
        self.tally.add(run)
        self._judge(chunk, said, qid)
        kept = {name: chunk.values(name) for name in self.asked.keep}
        return Answers(self.plan, run, said, shares, kept)

    def _qid(self, cells: Sequence[str]) -> NDArray[np.int64]:
        queries = self.tally.queries
        return np.array([queries.setdefault(cell.strip(), len(queries)) for cell in cells], dtype=np.int64)

    def _column(self, f: int, chunk: Chunk) -> NDArray[Any]:
        """The values of a feature: numbers, or known categories and None."""
        name = str(self.plan.costs.name(f))
        if f not in self._known:
            numbers = chunk.numbers(name, self._source.form)
            return self._some_numbers(name, chunk) if numbers is None else numbers
        values, known = np.empty(len(chunk.lines), dtype=object), self._known[f]
        for row, cell in enumerate(map(plain_cell, chunk.text(name))):
            if cell is not None:
                try:
                    values[row] = known(cell)
                except KeyError:
                    self.strange.setdefault(name, []).append((chunk.lines[row], cell))
        return values

    def _some_numbers(self, name: str, chunk: Chunk) -> NDArray[np.float64]:
        """Numbers, NaN where a cell holds none, which is a problem."""
        cells = [plain_cell(cell) for cell in chunk.text(name)]
        each = [self._source.form.numbers([cell]) for cell in cells]
        bad = [(chunk.lines[row], str(cells[row])) for row, number in enumerate(each) if number is None]
        self._bad.setdefault(name, []).extend(bad)
        return np.array([np.nan if number is None else number[0] for number in each])

    def _judge(self, chunk: Chunk, said: NDArray[Any], qid: NDArray[np.int64] | None) -> None:
        """Keep what the metric needs: whether each class is right, or numbers and what was said of them."""
        metric = self.metric
        if metric is None:
            return
        target = self.plan.info["target"]
        if metric == "accuracy":
            cells = map(plain_cell, chunk.text(target))
            right = [self._is_right(cell, label) for cell, label in zip(cells, said.tolist(), strict=True)]
            self.tally.truth.append(np.array(right, dtype=np.float64))
            return
        numbers = chunk.numbers(target, self._source.form)
        self.tally.truth.append(np.full(len(said), np.nan) if numbers is None else numbers)
        self.tally.said.append(said)
        if qid is not None:
            self.tally.qid.append(qid)

    def _is_right(self, cell: str | None, label: Any) -> float:
        """1 if a cell holds the class that was said, 0 if another one, NaN if it is empty."""
        if cell is None or self._classes is None:
            return np.nan
        return float(cell in self._classes and self._classes(cell) == label)


def _whole_queries(chunks: Iterator[Chunk], query: str) -> Iterator[Chunk]:
    """Chunks that end where a query does."""
    waiting: Chunk | None = None
    for chunk in chunks:
        both = chunk if waiting is None else waiting.followed_by(chunk)
        ids = [cell.strip() for cell in both.text(query)]
        end = next((row + 1 for row in range(len(ids) - 2, -1, -1) if ids[row] != ids[-1]), 0)
        if end:
            yield both.part(0, end)
        waiting = both.part(end, len(ids))
    if waiting is not None:
        yield waiting


def _stand_together(source: Source, query: str) -> bool:
    """Whether the rows of each query stand together, so that a chunk can hold whole queries."""
    seen: set[str] = set()
    last = None
    for chunk in CsvFile(source, Problems()).chunks([query]):
        for cell in map(str.strip, chunk.text(query)):
            if cell != last:
                if cell in seen:
                    return False
                seen.add(cell)
                last = cell
    return True


@dataclass(frozen=True, eq=False)
class _Rows:
    """Columns as a plan reads frames; those that it does not need are missing."""

    n_rows: int
    values: dict[str, NDArray[Any]]

    @property
    def columns(self) -> list[str]:
        return list(self.values)

    def __len__(self) -> int:
        return self.n_rows

    def __getitem__(self, name: str) -> NDArray[Any]:
        return self.values[name]
