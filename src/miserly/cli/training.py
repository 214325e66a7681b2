"""`miserly fit`: from a table in a file to a saved plan."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from miserly import _frames
from miserly.cli.console import Misuse
from miserly.cli.tables import Columns, place_of, read_table, refuse_strays, words_to_numbers
from miserly.costs import Costs
from miserly.errors import CostError, DataError
from miserly.plan import Plan
from miserly.plan.effort import engine_for

__all__ = ["Fitted", "Problem", "Settings", "fit_problem", "guess_task", "noted", "read_problem"]

SCORES = {"classify": "accuracy", "regress": "r2", "rank": "ndcg@5"}  # what a fit is reported by
NUMBER_METRICS = ("mse", "mae", "r2")
_MOST_CLASSES = 20  # whole numbers with more values than this are taken for numbers, not classes


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
) -> Problem:
    """What a table holds, with columns sorted into target, query and features; those in `words` are text.

    A metric of numbers says that the target holds numbers.
    """
    table = read_table(path, text=words)
    for name in words:
        table[name]  # is there
    labels = table[target]
    qid = None if query is None else _queries(table, query)
    features = table.without({target, *([query] if query else []), *ignore})
    if not features.columns:
        raise DataError(f"{path}: no columns are left to learn from")
    if task == "auto" and query is None and metric in NUMBER_METRICS:
        task = "regress"
    task = _task(task, query, labels)
    names = tuple(features.columns)
    X, categories = _matrix(features, words)
    return Problem(
        X=X,
        y=_labels(table, target, task),
        qid=qid,
        names=names,
        categories=categories,
        costs=_costs(costs, names, path),
        task=task,
        target=target,
        query=query,
    )


def _task(task: str, query: str | None, labels: NDArray[Any]) -> str:
    if task == "auto":
        return "rank" if query is not None else guess_task(labels)
    if task == "rank" and query is None:
        raise Misuse("ranking needs --query, the column that says which rows belong together")
    if task != "rank" and query is not None:
        raise Misuse(f"--query is for ranking; with --task {task}, leave its column out with --ignore")
    return task


def guess_task(labels: NDArray[Any]) -> str:
    """Classes if labels are words, truth values or few different whole numbers; else numbers.

    >>> guess_task(np.array([0.0, 1.0, 1.0])), guess_task(np.array([0.5, 1.25]))
    ('classify', 'regress')
    """
    if labels.dtype == object:
        return "classify"
    known = labels[~np.isnan(labels)]
    few = len(np.unique(known)) <= min(_MOST_CLASSES, max(2, len(known) // 5))
    return "classify" if few and (known == np.rint(known)).all() else "regress"


def _labels(table: Columns, target: str, task: str) -> NDArray[Any]:
    labels = table[target]
    if task != "classify":
        labels = words_to_numbers(table, target)
    missing = np.array([value is None or value != value for value in labels.tolist()])
    if missing.any():
        raise DataError(f"{place_of(table.path, int(missing.argmax()), target)}: the target is missing")
    if task != "classify":
        return labels
    if labels.dtype == object:
        return np.array(labels.tolist())
    return labels.astype(np.int64) if (labels == np.rint(labels)).all() else labels


def _queries(table: Columns, query: str) -> NDArray[Any]:
    values = table[query]
    missing = np.array([value is None or value != value for value in values.tolist()])
    if missing.any():
        raise DataError(f"{place_of(table.path, int(missing.argmax()), query)}: the query is missing")
    return np.unique(values.astype(str) if values.dtype == object else values, return_inverse=True)[1]


def _matrix(
    features: Columns, words: Sequence[str]
) -> tuple[NDArray[np.float64], dict[int, tuple[Any, ...]]]:
    """Columns as numbers, and what the codes of those with words stand for."""
    categories: dict[int, tuple[Any, ...]] = {}
    X = np.empty((len(features), len(features.columns)))
    for place, name in enumerate(features.columns):
        values = features[name]
        if values.dtype != object:
            X[:, place] = values
            continue
        if name not in words:
            refuse_strays(features, name)
        categories[place] = _categories(features, name)
        codes = {value: float(code) for code, value in enumerate(categories[place])}
        X[:, place] = [codes.get(value, np.nan) for value in values.tolist()]
    if np.isinf(X).any():
        row, column = np.argwhere(np.isinf(X))[0]
        place_in_file = place_of(features.path, int(row), features.columns[column])
        raise DataError(f"{place_in_file}: infinity; leave it empty if the value is missing")
    return X, categories


def _categories(features: Columns, name: str) -> tuple[Any, ...]:
    present = {value for value in features[name].tolist() if value is not None}
    if present <= {False, True}:
        return (False, True)
    if len(present) > _frames.MAX_CATEGORIES:
        raise DataError(
            f"{features.path}: column {name!r} holds {len(present)} different words, and at most "
            f"{_frames.MAX_CATEGORIES} can be categories; group the rare ones, or --ignore {name}"
        )
    return tuple(sorted(present))


def _costs(path: Path | None, names: tuple[str, ...], data: Path) -> Costs:
    if path is None:
        return Costs.uniform(names)
    costs = Costs.read(path)
    try:
        return costs.bind(names)
    except CostError as error:
        raise CostError(f"{path}: {error} (the columns are those of {data})") from None


# -- learning ------------------------------------------------------------------------------------------------


def fit_problem(problem: Problem, settings: Settings) -> Fitted:
    """Fit a Greedy Miser; the number of rounds is chosen on rows set aside, unless there are to be none."""
    learner = _learner(problem, settings)
    if not settings.validation:
        fitted = learner.fit(problem.X, problem.y, **_ranked(problem.qid))
        plan = _finished(fitted.plan_, problem)
        return Fitted(plan, fitted.stopped_by_, SCORES[problem.task], None, None, 0)
    from miserly.learners._samples import rows_aside

    classes = problem.y if problem.task == "classify" else None
    aside = rows_aside(len(problem.y), settings.validation, settings.seed, classes, problem.qid)
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
        "classify": learners.GreedyMiserClassifier,
        "regress": learners.GreedyMiserRegressor,
        "rank": learners.GreedyMiserRanker,
    }
    return kinds[problem.task](
        costs=problem.costs,
        budget=settings.budget,
        tradeoff=settings.tradeoff,
        n_rounds=settings.rounds,
        max_depth=settings.depth,
        categorical_features=sorted(problem.categories),
        early_stopping=bool(settings.validation),
        metric="log_loss" if problem.task == "classify" else None,  # accuracy on a few rows is a coarse judge
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
