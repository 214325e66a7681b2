"""`miserly fit`: from a table in a file to a saved plan."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from miserly.cli.cells import Format
from miserly.cli.console import Misuse, shell_word
from miserly.cli.csv_files import opened
from miserly.cli.problems import Problems
from miserly.cli.tables import Columns, numbers_only, read_table, refuse_dates, refuse_strays
from miserly.costs import Costs
from miserly.data import frames as _frames
from miserly.data.tasks import read_task
from miserly.errors import CostError, did_you_mean
from miserly.plan import Plan
from miserly.plan.engine.effort import engine_for

__all__ = ["Fitted", "Problem", "Settings", "fit_problem", "guess_task", "noted", "read_problem"]

SCORES = {"classes": "accuracy", "numbers": "r2", "ranking": "ndcg@5"}  # what a fit is reported by
NUMBER_METRICS = ("mse", "mae", "r2")


@dataclass(frozen=True, eq=False)
class Problem:
    """What there is to learn: rows as numbers, labels, queries, and what columns are called and cost."""

    X: NDArray[np.float64]
    y: NDArray[Any]
    qid: NDArray[Any] | None
    names: tuple[str, ...]
    categories: dict[int, tuple[Any, ...]]
    costs: Costs
    task: str
    target: str
    query: str | None
    source: str = ""  # the name of the table

    def take(self, rows: NDArray[np.bool_]) -> tuple[Any, Any, Any]:
        return self.X[rows], self.y[rows], None if self.qid is None else self.qid[rows]


@dataclass(frozen=True)
class Settings:
    """How to learn."""

    budget: float | None
    tradeoff: float
    rounds: int
    depth: int
    validation: float
    seed: int
    verbose: bool


@dataclass(frozen=True, eq=False)
class Fitted:
    """What came of it; `value` and `mean_cost` are those of the rows set aside, if any were."""

    plan: Plan
    stopped_by: str
    metric: str
    value: float | None
    mean_cost: float | None
    n_validation: int


# -- reading -------------------------------------------------------------------------------------------------


def read_problem(
    path: Path,
    target: str,
    *,
    query: str | None = None,
    ignore: Sequence[str] = (),
    words: Sequence[str] = (),
    costs: Path | None = None,
    task: str = "auto",
    metric: str | None = None,
    form: Format | None = None,
) -> Problem:
    """What a table holds, with columns sorted into target, query and features; those in `words` are text.

    A metric of numbers says that the target holds numbers. Everything that is wrong with the table and its
    prices is told in one go.
    """
    problems = Problems()
    with opened(path, form) as source:
        table = read_table(source, problems, text=words)
    for name in dict.fromkeys([target, *([query] if query else []), *ignore, *words]):
        if name not in table:
            problems.add(source.no_column(name, table.header))
    others = {target, *([query] if query else []), *ignore}
    features = table.without(others)
    if not features.columns:
        problems.add(f"{source.name}: no columns are left to learn from")
    if task == "auto" and query is None and metric in NUMBER_METRICS:
        task = "numbers"
    if target in table:
        task = _task(task, query, table[target])
    prices = None
    if others <= set(table.header):  # else columns that are not features would seem to lack a price
        prices = _costs(costs, features.columns, others, source.name, problems)
    X, categories = _matrix(features, words, problems)
    labels = _labels(table, target, task, problems) if target in table else None
    qid = _queries(table, query, problems) if query is not None and query in table else None
    problems.settle()
    assert labels is not None and prices is not None
    return Problem(
        X, labels, qid, tuple(features.columns), categories, prices, task, target, query, source.name
    )


def _task(task: str, query: str | None, labels: NDArray[Any]) -> str:
    if task == "auto":
        return "ranking" if query is not None else guess_task(labels)
    if task == "ranking" and query is None:
        raise Misuse("ranking needs --query, the column that says which rows belong together")
    if task != "ranking" and query is not None:
        raise Misuse(f"--query is for ranking; with --task {task}, leave its column out with --ignore")
    return task


def guess_task(labels: NDArray[Any]) -> str:
    """Classes or numbers, by the rule of `frontier`: see `read_task`.

    >>> guess_task(np.array([0.0, 1.0, 1.0])), guess_task(np.array([0.5, 1.25]))
    ('classes', 'numbers')
    """
    return read_task(labels).task


def _labels(table: Columns, target: str, task: str, problems: Problems) -> NDArray[Any]:
    labels = table[target] if task == "classes" else numbers_only(table, target, problems)
    _refuse_missing(table, target, "target", problems)
    if task != "classes":
        return labels
    if labels.dtype == object:
        refuse_dates(table, target, problems)
        return np.array(labels.tolist())
    return labels.astype(np.int64) if (labels == np.rint(labels)).all() else labels


def _queries(table: Columns, query: str, problems: Problems) -> NDArray[Any]:
    values = table[query]
    _refuse_missing(table, query, "query", problems)
    return np.unique(values.astype(str) if values.dtype == object else values, return_inverse=True)[1]


def _refuse_missing(table: Columns, name: str, what: str, problems: Problems) -> None:
    missing = [row for row, value in enumerate(table[name].tolist()) if value is None or value != value]
    if missing:
        problems.add(f"{table.place(missing[0], name)}: the {what} is missing{table.also(missing[1:])}")


def _matrix(
    features: Columns, words: Sequence[str], problems: Problems
) -> tuple[NDArray[np.float64], dict[int, tuple[Any, ...]]]:
    """Columns as numbers, and what the codes of those with text or booleans stand for."""
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
        if name not in words:
            if refuse_dates(features, name, problems):
                continue
            refuse_strays(features, name, problems)
        categories[place] = _categories(features, name, problems)
        codes = {value: float(code) for code, value in enumerate(categories[place])}
        X[:, place] = [codes.get(value, np.nan) for value in values.tolist()]
    return X, categories


def _categories(features: Columns, name: str, problems: Problems) -> tuple[Any, ...]:
    present = {value for value in features[name].tolist() if value is not None}
    if present <= {False, True}:
        return (False, True)
    if len(present) > _frames.MAX_CATEGORIES:
        problems.add(
            f"{features.source.name}: column {name!r} holds {len(present)} different words, and at most "
            f"{_frames.MAX_CATEGORIES} can be categories; group the rare ones, or --ignore {shell_word(name)}"
        )
    return tuple(sorted(present))


def _costs(
    path: Path | None, names: Sequence[str], others: Collection[str], data: str, problems: Problems
) -> Costs | None:
    """What the columns cost. Prices of columns that are not features, such as ignored ones, do not count."""
    if path is None:
        return Costs.uniform(tuple(names)) if names else None
    features, costs = set(names), Costs.read(path)
    record = costs.to_dict()
    prices, groups = record["features"], record["groups"]
    if isinstance(prices, dict):
        columns = f"(the columns are those of {data})"
        for name in names:
            if name not in prices:
                near = did_you_mean(name, prices)
                problems.add(f"{path}: no cost for column {name!r}{near} {columns}")
        for name in prices:
            if name not in features and name not in others:
                near = did_you_mean(name, names)
                problems.add(f"{path}: a cost for {name!r}, which is no column{near} {columns}")
        if not features <= set(prices):
            return None
        kept = {
            label: {**group, "features": [one for one in group["features"] if one in features]}
            for label, group in groups.items()
            if features & set(group["features"])
        }
        costs = Costs.from_dict(
            {**record, "features": {name: prices[name] for name in names}, "groups": kept}
        )
    try:
        return costs.bind(tuple(names))
    except CostError as error:
        problems.add(f"{path}: {error} (the columns are those of {data})")
        return None


# -- learning ------------------------------------------------------------------------------------------------


def fit_problem(problem: Problem, settings: Settings) -> Fitted:
    """Fit a Greedy Miser; the number of rounds is chosen on rows set aside, unless there are to be none."""
    learner = _learner(problem, settings)
    if not settings.validation:
        fitted = learner.fit(problem.X, problem.y, **_ranked(problem.qid))
        plan = _finished(fitted.plan_, problem)
        return Fitted(plan, fitted.stopped_by_, SCORES[problem.task], None, None, 0)
    from miserly.data.holdout import validation_mask

    classes = problem.y if problem.task == "classes" else None
    aside = validation_mask(len(problem.y), settings.validation, settings.seed, classes, problem.qid)
    X, y, qid = problem.take(~aside)
    X_val, y_val, qid_val = problem.take(aside)
    given = {"X_val": X_val, "y_val": y_val, **_ranked(qid), **_ranked(qid_val, "_val")}
    fitted = learner.fit(X, y, **given)
    plan = _finished(fitted.plan_, problem)
    mean_cost = float(fitted.plan_.run(X_val, compiled=engine_for(plan, len(X_val))).cost.mean())
    value = float(fitted.score(X_val, y_val, **_ranked(qid_val)))
    return Fitted(plan, fitted.stopped_by_, SCORES[problem.task], value, mean_cost, int(aside.sum()))


def _learner(problem: Problem, settings: Settings) -> Any:
    from miserly import learners

    kinds = {
        "classes": learners.GreedyMiserClassifier,
        "numbers": learners.GreedyMiserRegressor,
        "ranking": learners.GreedyMiserRanker,
    }
    return kinds[problem.task](
        costs=problem.costs,
        budget=settings.budget,
        tradeoff=settings.tradeoff,
        n_rounds=settings.rounds,
        max_depth=settings.depth,
        categorical_features=sorted(problem.categories),
        early_stopping=bool(settings.validation),
        metric="log_loss" if problem.task == "classes" else None,  # accuracy on a few rows is a coarse judge
        random_state=settings.seed,
        verbose=int(settings.verbose),
    )


def _ranked(qid: NDArray[Any] | None, note: str = "") -> dict[str, Any]:
    return {} if qid is None else {f"qid{note}": qid}


def _finished(plan: Plan, problem: Problem) -> Plan:
    """The plan with the words for its codes and a note of what it was learned from."""
    return noted(plan.replace(categories=problem.categories), problem)


def noted(plan: Plan, problem: Problem) -> Plan:
    """The plan with a note of what it was learned from."""
    info = {**plan.info, "task": problem.task, "target": problem.target, "rows": len(problem.y)}
    if problem.query is not None:
        info["query"] = problem.query
    return plan.replace(info=info)
