"""`miserly predict`: a saved plan on the rows of a file, in batches.

The file needs only the columns that the plan reads. Memory holds one batch, and a few numbers per row.
"""

from __future__ import annotations

import contextlib
import shutil
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray
from rich.text import Text

from miserly.cli.batches import Batch, Batches
from miserly.cli.console import Problems, amount, err, json_text, new_table, out, warn
from miserly.cli.table_files import OpenTable
from miserly.cli.tables import Cells, CsvWriter, TableWriter, table_writer, warn_of_formulas
from miserly.data.tasks import DEFAULT_METRICS
from miserly.errors import DataError, PlanError
from miserly.plan import Plan, links
from miserly.plan.engine.batch import Run, engine_for, ranked

__all__ = ["Answers", "PredictOptions", "Predictions", "RunTotals", "predict"]


@dataclass(frozen=True)
class PredictOptions:
    """The options of `miserly predict`."""

    budget: float | None = None
    query: str | None = None
    probabilities: bool = False
    keep: tuple[str, ...] = ()
    unknown: str = "missing"


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


@dataclass(eq=False)
class RunTotals:
    """The costs and the labels of all rows, for the summary."""

    costs: list[NDArray[np.float64]] = field(default_factory=list)
    n_features: int = 0
    n_stopped: int = 0
    truth: list[NDArray[Any]] = field(default_factory=list)
    predicted: list[NDArray[Any]] = field(default_factory=list)
    qid: list[NDArray[np.int64]] = field(default_factory=list)

    @property
    def cost(self) -> NDArray[np.float64]:
        return np.concatenate(self.costs)

    def add(self, run: Run, batch: Batch, predicted: NDArray[Any]) -> None:
        self.costs.append(run.cost)
        self.n_features += int(run.acquired.sum())
        self.n_stopped += int(run.stopped.sum())
        if batch.truth is None:
            return
        truth = batch.truth
        if truth.dtype == object:
            pairs = zip(truth.tolist(), predicted.tolist(), strict=True)
            self.truth.append(
                np.array([np.nan if one is None else float(one == other) for one, other in pairs])
            )
            return
        self.truth.append(truth)
        self.predicted.append(predicted)
        if batch.qid is not None:
            self.qid.append(batch.qid)

    def value(self, metric: str) -> float | None:
        """The metric over all rows; None if the label of some is missing."""
        truth = np.concatenate(self.truth) if self.truth else np.zeros(0)
        if not len(truth) or np.isnan(truth).any():
            return None
        if metric == "accuracy":
            return float(np.mean(truth))
        from miserly.metrics import get_metric

        qid = np.concatenate(self.qid) if self.qid else None
        return get_metric(metric).value(truth, np.concatenate(self.predicted), qid=qid)


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
        self.plan, self.asked, self.totals = plan, asked, RunTotals()
        self._source, self._problems = source, problems
        self._check_plan()
        self.batches = Batches(plan, source, asked.query, asked.keep, problems)
        self._check_columns()

    @property
    def metric(self) -> str | None:
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

    def __iter__(self) -> Iterator[Answers]:
        """Answers in batches; problems are raised after the last batch."""
        n_rows = 0
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
        run = plan.run(batch, budget=asked.budget, qid=batch.qid, compiled=engine_for(plan, n_rows))
        scores = ranked(run, batch.qid)
        table = scores[:, None] if scores.ndim == 1 else scores
        shares = links.probabilities(plan.link, table) if asked.probabilities else None
        predicted = links.labels(plan.link, table, plan.classes)
        self.totals.add(run, batch, predicted)
        return Answers(
            plan, run, predicted, shares, {name: list(values) for name, values in batch.kept.items()}
        )


# -- where predictions go: a file, a pipe, JSON, or a terminal -----------------------------------------------

MOST_ROWS = 20  # of predictions shown in a terminal
IN_MEMORY = 1 << 20  # characters of output kept in memory until the last row; more go to disk


def predict(predictions: Predictions, path: Path | None, as_json: bool) -> None:
    """Run a plan on a file. Nothing is written or printed before all rows have been read without problems."""
    is_piped = path is None and not as_json and not out.is_terminal
    first = FirstRows()
    with tempfile.SpooledTemporaryFile(IN_MEMORY, "w+", encoding="utf-8", newline="") as spool:
        with contextlib.nullcontext() if path is None else table_writer(path) as writer:
            outlets: list[TableWriter] = [first] if writer is None else [first, writer]
            if as_json or is_piped:
                outlets.append(JsonRows(spool) if as_json else CsvWriter(spool))
            for answers in predictions:
                columns = answers.columns()
                for outlet in outlets:
                    outlet.add(columns)
        if as_json:
            _print_record(predictions, spool)
        elif is_piped:
            _pour(spool)
    _warn(predictions, sum(outlet.n_guarded for outlet in outlets))
    if as_json:
        return
    if path is None and not is_piped:
        first.show(len(predictions.totals.cost))
    (err if is_piped else out).print(Text(summary(predictions)), soft_wrap=True)
    if path is not None:
        out.print(Text(f"written to {path}"), soft_wrap=True)


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
    totals, metric = predictions.totals, predictions.metric
    value = None if metric is None else totals.value(metric)
    return {
        "rows": len(totals.cost),
        "unit": predictions.plan.costs.unit,
        "mean_cost": float(totals.cost.mean()),
        "max_cost": float(totals.cost.max()),
        "stopped_by_budget": totals.n_stopped,
        "unknown_values": {name: len(cells) for name, cells in predictions.batches.strange.items()},
        **({} if value is None else {str(metric): value}),
    }


def _pour(spool: Any) -> None:
    spool.seek(0)
    shutil.copyfileobj(spool, sys.stdout)


def _warn(predictions: Predictions, n_guarded: int) -> None:
    for name, cells in predictions.batches.strange.items():
        words = sorted({text for _, text in cells})
        where = predictions.batches.place(cells[0][0], name)
        warn(
            f"{where}: unknown to the plan; {len(cells):,} rows have such categories there "
            f"({', '.join(words[:3])}), which are treated as missing"
        )
    warn_of_formulas(n_guarded)


def summary(predictions: Predictions) -> str:
    """The number of rows, their costs, and the metric if the file has the target."""
    totals, unit, metric = predictions.totals, predictions.plan.costs.unit, predictions.metric
    cost = totals.cost
    parts = [
        f"{len(cost):,} rows",
        f"{amount(float(cost.mean()), unit)} on average, {amount(float(cost.max()), unit)} at most",
        f"{totals.n_features / len(cost):.1f} features bought on average",
    ]
    if totals.n_stopped:
        parts.append(f"the budget stopped {totals.n_stopped:,} rows")
    value = None if metric is None else totals.value(metric)
    if value is not None:
        parts.append(f"{metric} {value:.4g}")
    return "; ".join(parts)


def _short(value: Any) -> str:
    return "" if value is None else f"{value:.4g}" if isinstance(value, float) else str(value)
