"""The task: whether labels are classes, numbers, or grades of documents to rank. One rule for the library."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from miserly.errors import DataError
from miserly.utils.checks import as_number, shown

__all__ = ["DEFAULT_METRICS", "TASKS", "Task", "TaskChoice", "read_task", "task_of_metric"]

Task: TypeAlias = Literal["classes", "numbers", "ranking"]

TASKS: tuple[Task, ...] = ("classes", "numbers", "ranking")
DEFAULT_METRICS: dict[str, str] = {"classes": "accuracy", "numbers": "mse", "ranking": "ndcg@5"}
MAX_CLASSES = 20  # largest number of different whole numbers that count as classes,
ROWS_PER_CLASS = 5  # with so many rows each on average, unless there are two
_METRICS: dict[str, Task] = {  # metrics of one task
    **dict.fromkeys(("accuracy", "balanced_accuracy", "f1", "log_loss", "roc_auc"), "classes"),
    **dict.fromkeys(("outcome_cost", "total_cost"), "classes"),
    **dict.fromkeys(("mse", "mae", "r2"), "numbers"),
    **dict.fromkeys(("ndcg", "precision"), "ranking"),
}


@dataclass(frozen=True)
class TaskChoice:
    """The task that labels were taken for, and why.

    Parameters
    ----------
    task : {"classes", "numbers", "ranking"}
        The task.
    why : str
        The reason.
    """

    task: Task
    why: str

    def __str__(self) -> str:
        return f"labels taken as {self.task}: {self.why}"


def read_task(
    y: NDArray[Any], task: str = "auto", *, qid: Any = None, metric: str | None = None
) -> TaskChoice:
    """Find the task of labels: `task` itself or, for "auto", by one rule.

    Queries mean ranking. Otherwise a metric of classes or of numbers decides. Text and booleans are classes,
    numbers with fractions are numbers. Whole numbers are classes if there are two different ones, or at most
    20 with five rows each on average; otherwise they are numbers.

    Parameters
    ----------
    y : array of (n,)
        Labels.
    task : {"auto", "classes", "numbers", "ranking"}, default="auto"
        The task, if it is known.
    qid : array of (n,), optional
        Queries.
    metric : str, optional
        Name of a metric.

    Returns
    -------
    TaskChoice
        The task, and why.

    Raises
    ------
    DataError
        If `task` is none of these, ranking has no queries, or labels that are to be numbers are not.

    Examples
    --------
    >>> print(read_task(np.array(["yes", "no", "no"])))
    labels taken as classes: they are text
    >>> print(read_task(np.array([0, 1, 1, 0])))
    labels taken as classes: 2 different whole numbers in 4 rows
    >>> print(read_task(np.array([151, 75, 141, 206, 135, 97])))
    labels taken as numbers: 6 different whole numbers in 6 rows
    """
    taken = _choice(np.asarray(y), task, qid, metric)
    if taken.task != "classes":
        _check_numbers(np.asarray(y), taken)
    return taken


def _choice(y: NDArray[Any], task: str, qid: Any, metric: str | None) -> TaskChoice:
    if task == "ranking" and qid is None:
        raise DataError('task="ranking" needs qid, the query of each row')
    if task in TASKS:
        return TaskChoice(task, "as asked for")
    if task != "auto":
        raise DataError(f'task is "auto", "classes", "numbers" or "ranking", not {task!r}')
    if qid is not None:
        return TaskChoice("ranking", "rows belong to queries")
    of_metric = task_of_metric(metric)
    if of_metric in ("classes", "numbers"):
        return TaskChoice(of_metric, f"the metric is {metric}")
    return _by_labels(y)


def _check_numbers(y: NDArray[Any], taken: TaskChoice) -> None:
    if y.dtype.kind in "biuf":
        return
    for row, label in enumerate(y.ravel().tolist()):
        if as_number(label) is None:
            raise DataError(
                f'{taken}, but row {row} holds {shown(label)}; give task="classes" and a metric of classes'
            )


def task_of_metric(metric: str | None) -> Task | None:
    """The task that a metric is for; None if it is for several.

    >>> task_of_metric("mae"), task_of_metric("ndcg@5"), task_of_metric(None)
    ('numbers', 'ranking', None)
    """
    return None if metric is None else _METRICS.get(metric.partition("@")[0])


def _by_labels(y: NDArray[Any]) -> TaskChoice:
    if y.dtype.kind == "b":
        return TaskChoice("classes", "they are booleans")
    if y.dtype.kind not in "iuf":
        return TaskChoice("classes", "they are text" if y.dtype.kind in "US" else "they are not all numbers")
    known = y[~np.isnan(y)] if y.dtype.kind == "f" else y
    if (known != np.rint(known)).any():
        return TaskChoice("numbers", "they have fractions")
    n, rows = len(np.unique(known)), len(known)
    few = n <= max(2, min(MAX_CLASSES, rows // ROWS_PER_CLASS))
    return TaskChoice("classes" if few else "numbers", f"{n} different whole numbers in {rows} rows")
