"""`miserly datasets`: list the available data sets, or write one of them to files."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from rich.text import Text

from miserly import datasets
from miserly.cli.console import amount, err, new_table, out, shell_line
from miserly.cli.tables import warn_of_formulas, write_table
from miserly.datasets import Dataset
from miserly.errors import DataError

__all__ = ["full_name", "print_datasets", "print_written", "set_record", "set_records", "write_set"]

BUNDLED = "heart_statlog"
TARGET, QUERY = "target", "qid"


def full_name(name: str) -> str:
    """A name, or the beginning of one: of the bundled set, or of a single other one."""
    known = (
        [BUNDLED] if BUNDLED.startswith(name) else [one for one in datasets.names() if one.startswith(name)]
    )
    return known[0] if len(known) == 1 and name not in datasets.names() else name


# -- listing -------------------------------------------------------------------------------------------------


def set_records() -> list[dict[str, Any]]:
    """All data sets as JSON."""
    with err.status("reading"):
        return [set_record(name, datasets.load(name)) for name in datasets.names()]


def set_record(name: str, data: Dataset) -> dict[str, Any]:
    return {
        "name": name,
        "rows": len(data),
        "features": data.X.shape[1],
        "task": "ranking" if data.qid is not None else "classes",
        "classes": None if data.qid is not None else len(np.unique(data.y)),
        "queries": None if data.qid is None else len(np.unique(data.qid)),
        "cost_of_all_features": None if data.costs is None else data.costs.total,
        "unit": None if data.costs is None else data.costs.unit,
    }


def print_datasets() -> None:
    """Print all data sets with their sizes and prices, and how to load them."""
    table = new_table("name", "rows", "features", "target", "price of all", right=("rows", "features"))
    table.columns[0].no_wrap = True
    for one in set_records():
        kind = f"{one['classes']} classes" if one["queries"] is None else f"{one['queries']:,} queries"
        total = one["cost_of_all_features"]
        prices = "none" if total is None else amount(total, one["unit"])
        table.add_row(Text(one["name"]), f"{one['rows']:,}", f"{one['features']:,}", kind, prices)
    out.print(table)
    hint = (
        "miserly datasets NAME --out FILE.csv --costs-out COSTS.csv writes one. In Python: "
        "miserly.datasets.load(NAME). MISERLY_DATA names a folder of more .npz files."
    )
    out.print(Text(hint, style="dim"))


# -- writing -------------------------------------------------------------------------------------------------


def write_set(name: str, table: Path, costs: Path | None) -> dict[str, Any]:
    """Write a data set in the format that `frontier` and `fit` read. Returns its record."""
    data = datasets.load(name)
    if costs is not None and data.costs is None:
        raise DataError(f"{name} has no costs to write; without --costs every feature costs 1")
    warn_of_formulas(write_table(table, _columns(data)))
    if costs is not None and data.costs is not None:
        data.costs.write(costs)
    query = None if data.qid is None else _free(QUERY, data)
    files = {"table": str(table), "costs": None if costs is None else str(costs)}
    return {**set_record(name, data), **files, "target": _free(TARGET, data), "query": query}


def print_written(record: dict[str, Any]) -> None:
    """Print what was written, and the next command."""
    out.print(
        Text(f"{record['rows']:,} rows, {record['features']:,} features written to {record['table']}"),
        soft_wrap=True,
    )
    words = ["miserly", "frontier", record["table"], "--target", record["target"]]
    words += ["--query", record["query"]] if record["query"] else []
    words += ["--costs", record["costs"]] if record["costs"] else []
    out.print(Text(f"next: {shell_line(*words)}", style="dim"), soft_wrap=True)


def _columns(data: Dataset) -> dict[str, list[Any]]:
    """Features, queries in ranking, and the target; categories instead of codes if they are known."""
    columns: dict[str, list[Any]] = {}
    for place, name in enumerate(data.feature_names):
        words = (data.categories or {}).get(place)
        columns[name] = _cells(data.X[:, place]) if words is None else _worded(data.X[:, place], words)
    if data.qid is not None:
        columns[_free(QUERY, data)] = data.qid.tolist()
    classes = data.classes
    columns[_free(TARGET, data)] = (
        _cells(data.y) if classes is None else [classes[int(code)] for code in data.y.tolist()]
    )
    return columns


def _cells(values: NDArray[Any]) -> list[Any]:
    """Numbers, whole ones as such; None where one is missing."""
    numbers = values.astype(np.float64) if values.dtype != np.float32 else values
    known = numbers[~np.isnan(numbers)]
    if (known == np.rint(known)).all() and (np.abs(known) < 2**53).all():
        return [None if value != value else int(value) for value in numbers.tolist()]
    return [None if value != value else float(str(value)) for value in numbers]  # 0.1, not 0.100000001


def _worded(codes: NDArray[Any], words: tuple[str, ...]) -> list[Any]:
    return [None if code != code else words[int(code)] for code in codes.tolist()]


def _free(name: str, data: Dataset) -> str:
    """A name for a column that is no feature."""
    while name in data.feature_names:
        name += "_"
    return name
