"""A table in a file as what learners take: numbers, labels, queries, categories and costs."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from miserly.cli.cells import Format
from miserly.cli.console import Misuse, Problems, listing, note, shell_word
from miserly.cli.options import RowOptions, TableOptions
from miserly.cli.row_terms import read_row_terms
from miserly.cli.table_files import OpenTable, opened
from miserly.cli.tables import TableColumns, numbers_only, read_table, refuse_dates, refuse_strays
from miserly.costs import Costs, RowCosts, read_row_costs
from miserly.data import frames as _frames
from miserly.data.tasks import read_task
from miserly.errors import CostError, did_you_mean
from miserly.plan import Plan
from miserly.plan.facts import range_facts
from miserly.plan.metadata import FEATURES, merge_notes

__all__ = ["NUMBER_METRICS", "TrainingTable", "guess_task", "noted", "read_training_table"]

NUMBER_METRICS = ("mse", "mae", "r2")


@dataclass(frozen=True, eq=False)
class TrainingTable:
    """Rows as numbers, labels, queries, and the names, categories and costs of columns."""

    X: NDArray[np.float64]
    y: NDArray[Any]
    qid: NDArray[Any] | None
    names: tuple[str, ...]
    categories: dict[int, tuple[Any, ...]]
    costs: Costs
    task: str  # "classes", "numbers" or "ranking"
    options: TableOptions
    source: str  # the name of the table
    row_costs: RowCosts | None = None  # what single rows know and pay

    @property
    def target(self) -> str:
        return self.options.target

    def terms(self, rows: NDArray[Any] | slice = slice(None)) -> dict[str, Any]:
        """The arguments `known` and `prices` of fits, runs and searches, for some rows."""
        if self.row_costs is None:
            return {}
        return self.row_costs.take(np.arange(len(self.y))[rows]).run_arguments

    def take(self, rows: NDArray[np.bool_]) -> tuple[Any, Any, Any]:
        return self.X[rows], self.y[rows], None if self.qid is None else self.qid[rows]


# -- reading -------------------------------------------------------------------------------------------------


def read_training_table(
    options: TableOptions,
    form: Format | None = None,
    metric: str | None = None,
    of_rows: RowOptions | None = None,
) -> TrainingTable:
    """Read a table and sort its columns into target, query and features.

    A metric for numbers makes the target numbers. All problems of the table and its prices are reported
    together. Columns that say what rows know or pay (`of_rows`) are not features.
    """
    with opened(options.data, form) as source:
        return _read(source, options, metric, of_rows or RowOptions())


def _read(source: OpenTable, options: TableOptions, metric: str | None, of_rows: RowOptions) -> TrainingTable:
    target, query = options.target, options.query
    ignore, declared, task = options.ignore or (), options.categories or (), options.task.value
    problems = Problems()
    table = read_table(source, problems, text=declared)
    for name in dict.fromkeys([target, *([query] if query else []), *ignore, *declared]):
        if name not in table:
            problems.add(source.no_column(name, table.header))
    others = {target, *([query] if query else []), *ignore, *of_rows.columns(table.header)}
    features = table.without(others)
    if not features.columns:
        problems.add(f"{source.name}: no columns are left to learn from")
    if task == "auto" and query is None and metric in NUMBER_METRICS:
        task = "numbers"
    if target in table:
        task = _task(task, query, table[target])
    prices = None
    if others <= set(table.header):  # else columns that are not features would seem to lack a price
        prices = _costs(options, features.columns, others, source.name, problems)
    X, categories = _matrix(features, declared, problems)
    labels = _labels(table, target, task, problems) if target in table else None
    qid = _queries(table, query, problems) if query is not None and query in table else None
    problems.settle()
    assert labels is not None and prices is not None
    terms = read_row_terms(prices, of_rows.known or (), of_rows.prices or (), source, table.header)
    own = read_row_costs(prices, len(X), terms["known"], terms["prices"])
    names = tuple(features.columns)
    return TrainingTable(X, labels, qid, names, categories, prices, task, options, source.name, own)


def _task(task: str, query: str | None, labels: NDArray[Any]) -> str:
    if task == "auto":
        return "ranking" if query is not None else guess_task(labels)
    if task == "ranking" and query is None:
        raise Misuse("ranking needs --query, the column with the query of each row")
    if task != "ranking" and query is not None:
        raise Misuse(f"--query is for ranking; with --task {task}, leave its column out with --ignore")
    return task


def guess_task(labels: NDArray[Any]) -> str:
    """Classes or numbers, by the rule of `frontier`: see `read_task`.

    >>> guess_task(np.array([0.0, 1.0, 1.0])), guess_task(np.array([0.5, 1.25]))
    ('classes', 'numbers')
    """
    return read_task(labels).task


def _labels(table: TableColumns, target: str, task: str, problems: Problems) -> NDArray[Any]:
    labels = table[target] if task == "classes" else numbers_only(table, target, problems)
    _refuse_missing(table, target, "target", problems)
    if task != "classes":
        return labels
    if labels.dtype == object:
        refuse_dates(table, target, problems)
        return np.array(labels.tolist())
    return labels.astype(np.int64) if (labels == np.rint(labels)).all() else labels


def _queries(table: TableColumns, query: str, problems: Problems) -> NDArray[Any]:
    values = table[query]
    _refuse_missing(table, query, "query", problems)
    return np.unique(values.astype(str) if values.dtype == object else values, return_inverse=True)[1]


def _refuse_missing(table: TableColumns, name: str, what: str, problems: Problems) -> None:
    missing = [row for row, value in enumerate(table[name].tolist()) if value is None or value != value]
    if missing:
        problems.add(f"{table.place(missing[0], name)}: the {what} is missing{table.also(missing[1:])}")


def _matrix(
    features: TableColumns, declared: Sequence[str], problems: Problems
) -> tuple[NDArray[np.float64], dict[int, tuple[Any, ...]]]:
    """Columns as numbers, and the categories of those with text or booleans."""
    categories: dict[int, tuple[Any, ...]] = {}
    X = np.full((len(features), len(features.columns)), np.nan)
    for place, name in enumerate(features.columns):
        values = features[name]
        if values.dtype != object:
            X[:, place] = values
            infinite = np.flatnonzero(np.isinf(values)).tolist()
            if infinite:
                problems.add(
                    f"{features.place(infinite[0], name)}: infinity; leave it empty if the value is missing"
                    f"{features.also(infinite[1:])}"
                )
            continue
        if name not in declared:
            if refuse_dates(features, name, problems):
                continue
            refuse_strays(features, name, problems)
        categories[place] = _categories(features, name, problems)
        codes = {value: float(code) for code, value in enumerate(categories[place])}
        X[:, place] = [codes.get(value, np.nan) for value in values.tolist()]
    return X, categories


def _categories(features: TableColumns, name: str, problems: Problems) -> tuple[Any, ...]:
    present = {value for value in features[name].tolist() if value is not None}
    if present <= {False, True}:
        return (False, True)
    if len(present) > _frames.MAX_CATEGORIES:
        problems.add(
            f"{features.source.name}: column {name!r} has {len(present)} categories, and at most "
            f"{_frames.MAX_CATEGORIES} are possible; group the rare ones, or --ignore {shell_word(name)}"
        )
    return tuple(sorted(present))


def _costs(
    options: TableOptions, names: Sequence[str], others: Collection[str], data: str, problems: Problems
) -> Costs | None:
    """The costs of the columns. Costs without a column are left out, with a note unless `others` has them."""
    path, default = options.costs, options.default_cost
    if path is None:
        return Costs.uniform(tuple(names), 1.0 if default is None else default) if names else None
    costs, columns = Costs.read(path), f"(the columns are those of {data})"
    priced = costs.names
    if priced is not None:
        spare = [f"{one!r}{did_you_mean(one, names)}" for one in priced if one not in {*names, *others}]
        if spare:
            note(f"{path}: costs without a column are left out: {listing(spare)} {columns}")
        lacking = [one for one in names if one not in priced]
        if lacking and default is None:
            for name in lacking:
                near = did_you_mean(name, priced) or "; --default-cost gives one"
                problems.add(f"{path}: no cost for column {name!r}{near} {columns}")
            return None
    try:
        return costs.bind(tuple(names), default)
    except CostError as error:
        problems.add(f"{path}: {error} {columns}")
        return None


def noted(plan: Plan, table: TrainingTable) -> Plan:
    """The plan with a note about the table that it was fitted to, and the ranges of its features."""
    info = {**plan.info, "task": table.task, "target": table.target, "rows": len(table.y)}
    info[FEATURES] = merge_notes(plan.info, range_facts(plan, table.X))
    if table.options.query is not None:
        info["query"] = table.options.query
    return plan.replace(info=info)
