"""`miserly predict`: a saved plan on the rows of a file, in batches.

The file needs only the columns that the plan reads. Memory holds one batch.
"""

from __future__ import annotations

import contextlib
import shutil
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from importlib.util import find_spec
from pathlib import Path
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray
from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeRemainingColumn
from rich.text import Text

from miserly.cli.batches import Batch, Batches
from miserly.cli.console import Problems, amount, err, json_text, new_table, out, warn
from miserly.cli.options import RowOptions
from miserly.cli.resuming import ResumableTable, RunIdentity, resumable_table
from miserly.cli.row_terms import RowTerms
from miserly.cli.table_files import OpenTable
from miserly.cli.tables import Cells, CsvWriter, TableWriter, table_writer, warn_of_formulas
from miserly.cli.totals import RunTotals
from miserly.data.tasks import DEFAULT_METRICS
from miserly.errors import DataError, PlanError
from miserly.plan import Plan
from miserly.plan.engine.batch import Run, engine_for
from miserly.plan.engine.ranking import ranked

__all__ = ["Answers", "PredictOptions", "Predictions", "predict"]


@dataclass(frozen=True)
class PredictOptions:
    """The options of `miserly predict`."""

    budget: float | None = None
    query: str | None = None
    probabilities: bool = False
    keep: tuple[str, ...] = ()
    unknown: str = "missing"
    of_rows: RowOptions = field(default_factory=RowOptions)
    known_if_filled: bool = False

    @property
    def known(self) -> list[str]:
        return self.of_rows.known or []

    @property
    def prices(self) -> list[str]:
        return self.of_rows.prices or []


@dataclass(frozen=True, eq=False)
class Answers:
    """The predictions of a plan for some rows, and their costs."""

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


class Predictions:
    """A plan on the rows of a file.

    Parameters
    ----------
    plan : Plan
    source : OpenTable
    asked : PredictOptions
    problems : Problems
        Collects every cell that cannot be used.
    """

    def __init__(self, plan: Plan, source: OpenTable, asked: PredictOptions, problems: Problems) -> None:
        self.plan, self.asked = plan, asked
        self._source, self._problems = source, problems
        self._check_plan()
        self.batches = Batches(plan, source, asked.query, asked.keep, problems)
        self._check_columns()
        self.batches.terms = self._terms()
        self.totals = RunTotals(self._metric)

    @property
    def identity(self) -> RunIdentity:
        """What the predictions are made from."""
        asked, form, source = self.asked, self._source.form, self._source
        options = {
            "--budget": asked.budget, "--query": asked.query, "--proba": asked.probabilities,
            "--keep": list(asked.keep), "--unknown": asked.unknown, "--sep": form.sep,
            "--decimal": form.decimal, "--thousands": form.thousands or None, "--encoding": form.encoding,
        }  # fmt: skip
        if self.batches.terms is not None:
            options |= {
                "--known": asked.known, "--known-if-filled": asked.known_if_filled,
                "--prices": asked.prices, "files of --known and --prices": self.batches.terms.digests,
            }  # fmt: skip
        return RunIdentity(self.plan.digest, None if source.is_copy else source.path, options)

    def state(self) -> dict[str, Any]:
        """What is known about the rows so far, for a run that goes on later."""
        return {"totals": self.totals.state(), "cells": self.batches.state()}

    def restore(self, state: Mapping[str, Any]) -> None:
        """Go on after the rows of an earlier run."""
        self.totals = RunTotals.of(state["totals"])
        self.batches.restore(state["cells"], self.totals.n_rows)

    @property
    def _metric(self) -> str | None:
        """The metric of the plan's task, if the file has the target."""
        task = self.plan.info.get("task")
        if self.batches.target is None or (task == "ranking" and self.asked.query is None):
            return None
        return DEFAULT_METRICS.get(str(task))

    def _check_plan(self) -> None:
        plan, asked = self.plan, self.asked
        if plan.costs.names is None:
            raise DataError(
                f"this plan knows its {plan.n_features} columns only by number; run it from Python, "
                "or fit it on columns with names"
            )
        if plan.listwise and asked.query is None:
            raise DataError("this plan compares the documents of a query: give their column with --query")
        if asked.probabilities and not plan.has_probabilities:
            raise PlanError("--proba: this plan does not predict class probabilities")

    def _check_columns(self) -> None:
        plan, asked, present = self.plan, self.asked, set(self.batches.header)
        needed = [str(plan.costs.name(f)) for f in plan.features]
        for name in dict.fromkeys([*needed, *([asked.query] if asked.query else []), *asked.keep]):
            if name not in present:
                why = ", which the plan needs" if name in needed else ""
                self._problems.add(self._source.no_column(name, self.batches.header, why))
        taken = {"prediction", "cost", "features", *(_shares(plan) if asked.probabilities else ())}
        for name in taken & set(asked.keep):
            self._problems.add(f"--keep: the output has a column {name!r} of its own")
        self._problems.settle()

    def _terms(self) -> RowTerms | None:
        """What rows know and pay, if options say it."""
        asked, header = self.asked, self.batches.header
        filled = [name for name in _that_matter(self.plan) if name in header] if asked.known_if_filled else []
        terms = RowTerms(self.plan.costs, asked.known, asked.prices, self._source, header, filled)
        return terms if terms else None

    def __iter__(self) -> Iterator[Answers]:
        """Answers in batches; problems are raised after the last batch."""
        n_rows = self.totals.n_rows
        for batch in self.batches:
            n_rows += len(batch)
            yield self._answered(batch, n_rows)
        self.batches.report(self.batches.bad, "not a number", self._problems)
        infinite = "infinite; leave the cell empty if the value is missing"
        self.batches.report(self.batches.infinite, infinite, self._problems)
        if self.asked.unknown == "error":
            self.batches.report(self.batches.strange, "unknown to the plan", self._problems)
        self._problems.settle()
        if not n_rows:
            raise DataError(f"{self._source.name}: no rows")

    def _answered(self, batch: Batch, n_rows: int) -> Answers:
        """Run the plan on a batch; `n_rows` counts the rows so far, which decides whether to compile."""
        plan, asked = self.plan, self.asked
        given = {} if self.batches.terms is None else self.batches.terms.arguments(batch.terms)
        compiled = engine_for(plan, n_rows)
        run = plan.run(batch, budget=asked.budget, qid=batch.qid, compiled=compiled, **given)
        scores = ranked(run, batch.qid)
        table = scores[:, None] if scores.ndim == 1 else scores
        shares = plan.probabilities_from(table) if asked.probabilities else None
        predicted = plan.labels_from(table, amounts=run.amounts)
        self.totals.add(run, batch, predicted)
        return Answers(
            plan, run, predicted, shares, {name: list(values) for name, values in batch.kept.items()}
        )


def _that_matter(plan: Plan) -> list[str]:
    """The features that the plan reads, and those that share a group with one of them."""
    costs = plan.costs
    groups = {group for f in plan.features for group in costs.groups_of(int(f))}
    members = {int(f) for group in groups for f in costs.members(group)}
    return [str(costs.name(f)) for f in sorted({*map(int, plan.features), *members})]


# -- where predictions go: a file, a pipe, JSON, or a terminal -----------------------------------------------

MOST_ROWS = 20  # of predictions shown in a terminal
IN_MEMORY = 1 << 20  # characters of output kept in memory until the last row; more go to disk


def predict(predictions: Predictions, path: Path | None, as_json: bool, resume: bool = False) -> None:
    """Run a plan on a file. Nothing is written or printed before all rows have been read without problems."""
    is_piped = path is None and not as_json and not out.is_terminal
    first = FirstRows()
    with tempfile.SpooledTemporaryFile(IN_MEMORY, "w+", encoding="utf-8", newline="") as spool:
        with _writer(predictions, path, resume) as writer, _progress(predictions) as show_progress:
            outlets: list[TableWriter] = [first] if writer is None else [first, writer]
            if as_json or is_piped:
                outlets.append(JsonRows(spool) if as_json else CsvWriter(spool))
            for answers in predictions:
                columns = answers.columns()
                for outlet in outlets:
                    outlet.add(columns)
                show_progress()
                if isinstance(writer, ResumableTable):
                    writer.note(predictions.state)
        if as_json:
            _print_record(predictions, spool)
        elif is_piped:
            _pour(spool)
    _warn(predictions, sum(outlet.n_guarded for outlet in outlets))
    if as_json:
        return
    if path is None and not is_piped:
        first.show(predictions.totals.n_rows)
    (err if is_piped else out).print(Text(summary(predictions)), soft_wrap=True)
    if path is not None:
        out.print(Text(f"written to {path}"), soft_wrap=True)


def _writer(
    predictions: Predictions, path: Path | None, resume: bool
) -> contextlib.AbstractContextManager[Any]:
    """Where the table goes, at the row where an earlier run has stopped."""
    if path is None:
        return contextlib.nullcontext()
    if path.suffix.lower() == ".parquet" and not find_spec("pyarrow"):
        if resume:
            raise DataError(f"{path}: --resume needs pyarrow for Parquet: pip install pyarrow")
        return table_writer(path)
    return _resumed(predictions, path, resume)


@contextlib.contextmanager
def _resumed(predictions: Predictions, path: Path, resume: bool) -> Iterator[ResumableTable]:
    with resumable_table(path, predictions.identity, resume, predictions.batches.kept_types) as table:
        if table.state is not None:
            predictions.restore(table.state)
        if resume:
            rows = f"going on after {table.n_rows:,} rows of an earlier run"
            err.print(Text(rows if table.n_rows else "no earlier run to go on with: all rows are run"))
        yield table


@contextlib.contextmanager
def _progress(predictions: Predictions) -> Iterator[Callable[[], None]]:
    """A bar in a terminal that is gone when all rows are done."""
    if not err.is_terminal:
        yield lambda: None
        return
    columns = (BarColumn(), TaskProgressColumn(), TextColumn("{task.description}"), TimeRemainingColumn())
    with Progress(*columns, console=err, transient=True) as bar:
        task = bar.add_task("", total=1.0)
        yield lambda: bar.update(
            task, completed=predictions.batches.share, description=f"{predictions.totals.n_rows:,} rows"
        )


class FirstRows:
    """The first rows, for a terminal."""

    def __init__(self) -> None:
        self.n_guarded = 0
        self._columns: dict[str, list[Any]] = {}

    def add(self, columns: Cells) -> None:
        for name, values in columns.items():
            known = self._columns.setdefault(name, [])
            known += values[: MOST_ROWS - len(known)]

    def show(self, n_rows: int) -> None:
        columns = self._columns
        numbers = [
            name for name, values in columns.items() if all(isinstance(one, (int, float)) for one in values)
        ]
        table = new_table(
            "row", *map(str, columns), right=("row", *(n for n in numbers if n != "prediction"))
        )
        for row, values in enumerate(zip(*columns.values(), strict=True), 1):
            table.add_row(str(row), *(Text(_short(value)) for value in values))
        out.print(table)
        if n_rows > MOST_ROWS:
            more = f"... and {n_rows - MOST_ROWS:,} more rows; --out FILE.csv writes all"
            out.print(Text(more, style="dim"))


class JsonRows:
    """Rows as JSON objects, separated by commas."""

    def __init__(self, file: IO[str]) -> None:
        self.n_guarded = 0
        self._file = file
        self._comma = ""

    def add(self, columns: Cells) -> None:
        for values in zip(*columns.values(), strict=True):
            self._file.write(f"{self._comma}    {json_text(dict(zip(columns, values, strict=True)))}")
            self._comma = ",\n"


def _print_record(predictions: Predictions, rows: Any) -> None:
    """Print one JSON document. Its last entry is the spooled rows."""
    head = json_text(_record(predictions), indent=2)
    sys.stdout.write(f'{head.removesuffix("}").rstrip()},\n  "predictions": [\n')
    _pour(rows)
    sys.stdout.write("\n  ]\n}\n")


def _record(predictions: Predictions) -> dict[str, Any]:
    totals = predictions.totals
    value = totals.value()
    return {
        "rows": totals.n_rows,
        "unit": predictions.plan.costs.unit,
        "mean_cost": totals.mean_cost,
        "max_cost": totals.max_cost,
        "stopped_by_budget": totals.n_stopped,
        "unknown_values": {name: cells.count for name, cells in predictions.batches.strange.items()},
        **({} if value is None else {str(totals.metric): value}),
    }


def _pour(spool: Any) -> None:
    spool.seek(0)
    shutil.copyfileobj(spool, sys.stdout)


def _warn(predictions: Predictions, n_guarded: int) -> None:
    for name, cells in predictions.batches.strange.items():
        where = predictions.batches.place(cells.lines[0], name)
        warn(
            f"{where}: unknown to the plan; {cells.count:,} rows have such categories there "
            f"({', '.join(cells.texts)}), which are treated as missing"
        )
    warn_of_formulas(n_guarded)


def summary(predictions: Predictions) -> str:
    """The number of rows, their costs, and the metric if the file has the target."""
    totals, unit = predictions.totals, predictions.plan.costs.unit
    parts = [
        f"{totals.n_rows:,} rows",
        f"{amount(totals.mean_cost, unit)} on average, {amount(totals.max_cost, unit)} at most",
        f"{totals.n_features / totals.n_rows:.1f} features bought on average",
    ]
    if totals.n_stopped:
        parts.append(f"the budget stopped {totals.n_stopped:,} rows")
    value = totals.value()
    if value is not None:
        parts.append(f"{totals.metric} {value:.4g}")
    return "; ".join(parts)


def _short(value: Any) -> str:
    return "" if value is None else f"{value:.4g}" if isinstance(value, float) else str(value)
