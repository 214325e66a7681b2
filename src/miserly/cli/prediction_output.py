"""Where predictions go: a file, a pipe, JSON, or a terminal."""

from __future__ import annotations

import contextlib
import shutil
import sys
import tempfile
from pathlib import Path
from typing import IO, Any, Protocol

from rich.text import Text

from miserly.cli.console import amount, err, json_text, out, warn
from miserly.cli.plan_output import new_table
from miserly.cli.predictions import Predictions
from miserly.cli.writers import CsvWriter, table_writer, warn_of_formulas

__all__ = ["predict"]

MOST_ROWS = 20  # of predictions shown in a terminal
IN_MEMORY = 1 << 20  # characters of output kept in memory until the last row; more go to disk


class Outlet(Protocol):
    """A target of predictions, which takes them in batches."""

    n_guarded: int

    def add(self, columns: dict[str, list[Any]]) -> None: ...


def predict(predictions: Predictions, path: Path | None, as_json: bool) -> None:
    """Run a plan on a file. Nothing is written or printed before all rows have been read without problems."""
    is_piped = path is None and not as_json and not out.is_terminal
    first = FirstRows()
    with tempfile.SpooledTemporaryFile(IN_MEMORY, "w+", encoding="utf-8", newline="") as spool:
        with contextlib.nullcontext() if path is None else table_writer(path) as writer:
            outlets: list[Outlet] = [first] if writer is None else [first, writer]
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

    def add(self, columns: dict[str, list[Any]]) -> None:
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

    def add(self, columns: dict[str, list[Any]]) -> None:
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
