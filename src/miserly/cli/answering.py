"""`miserly predict`: a saved plan over the rows of a file, which needs the columns it reads and no more."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from miserly.cli.tables import Columns, read_table
from miserly.errors import DataError, PlanError, did_you_mean
from miserly.plan import Plan, links
from miserly.plan.batch import Run
from miserly.plan.effort import engine_for
from miserly.plan.ranking import ranked

__all__ = ["Answers", "answer", "read_rows", "unknown_words"]

METRICS = {"classify": "accuracy", "regress": "mse", "rank": "ndcg@5"}


@dataclass(frozen=True, eq=False)
class Answers:
    """What a plan says about the rows of a file, and what that cost."""

    plan: Plan
    run: Run
    prediction: NDArray[Any]
    probabilities: NDArray[np.float64] | None

    def columns(self) -> dict[str, list[Any]]:
        """One list per column of the output."""
        shown: dict[str, list[Any]] = {"prediction": self.prediction.tolist()}
        if self.probabilities is not None:
            labels = range(self.probabilities.shape[1]) if self.plan.classes is None else self.plan.classes
            for label, column in zip(labels, self.probabilities.T, strict=True):
                shown[f"probability_{label}"] = [round(value, 6) for value in column.tolist()]
        shown["cost"] = [round(cost, 10) for cost in self.run.cost.tolist()]
        shown["features"] = self.run.acquired.sum(axis=1).tolist()
        return shown

    def judged(self, table: Columns, query: str | None) -> tuple[str, float] | None:
        """The metric of the plan's task and its value, if the file has the target of every row."""
        task, target = self.plan.info.get("task"), self.plan.info.get("target")
        if task not in METRICS or target not in table.columns or (task == "rank" and query is None):
            return None
        truth = table[target].tolist()
        if any(value is None or value != value for value in truth):
            return None
        if task == "classify":
            right = [
                str(_whole(value)) == str(said) for value, said in zip(truth, self.prediction, strict=True)
            ]
            return METRICS[task], float(np.mean(right))
        from miserly.metrics import get_metric

        qid = None if query is None else table[query].astype(str)
        return METRICS[task], get_metric(METRICS[task]).value(
            np.array(truth, float), self.prediction, qid=qid
        )


def _whole(value: Any) -> Any:
    """Classes that are whole numbers, as such: tables hold them as floats."""
    return int(value) if isinstance(value, float) and value.is_integer() else value


def read_rows(plan: Plan, path: Path, query: str | None) -> Columns:
    """The columns of a file that the plan, its query and its target (if it is there) need."""
    names = plan.costs.names
    if names is None:
        raise DataError(
            f"this plan knows its {plan.n_features} columns by number only; run it from Python, "
            "or fit it on columns with names"
        )
    needed = [names[f] for f in plan.features]
    words = [names[f] for f in plan.features if _has_words(plan, f)]
    numbers = [names[f] for f in plan.features if f not in plan.categories]
    also = [name for name in (query, plan.info.get("target")) if name]
    table = read_table(path, text=words, numbers=numbers, only=[*needed, *also])
    for name in needed:
        if name not in table.columns:
            near = did_you_mean(name, table.header)
            raise DataError(f"{path}: no column {name!r}, which the plan needs{near}")
    return table


def answer(
    plan: Plan, table: Columns, *, budget: float | None, query: str | None, probabilities: bool
) -> Answers:
    """Run the plan over the rows."""
    if plan.listwise and query is None:
        raise DataError("this plan compares the documents of a query: give their column with --query")
    if probabilities and plan.link not in ("logistic", "softmax"):
        raise PlanError("--proba: this plan does not answer with classes that have probabilities")
    qid = None if query is None else np.unique(table[query].astype(str), return_inverse=True)[1]
    engine = engine_for(plan, len(table))
    run = plan.run(_Rows(plan, table), budget=budget, qid=qid, compiled=engine, unknown="missing")
    scores = ranked(run, qid)
    table_of = scores[:, None] if scores.ndim == 1 else scores
    shares = links.probabilities(plan.link, table_of) if probabilities else None
    return Answers(plan, run, links.labels(plan.link, table_of, plan.classes), shares)


def unknown_words(plan: Plan, table: Columns) -> Iterator[tuple[str, list[Any], int]]:
    """Columns with words that the plan never met, some of the words, and in how many rows they stand."""
    for f, known in plan.categories.items():
        name = str(plan.costs.name(f))
        if f in plan.features and name in table.columns:
            strange = [v for v in table[name].tolist() if v is not None and v == v and v not in known]
            if strange:
                yield name, sorted(set(map(str, strange)))[:3], len(strange)


class _Rows:
    """A table as a plan reads frames; columns that it does not need may be missing."""

    def __init__(self, plan: Plan, table: Columns) -> None:
        needed = {str(plan.costs.name(f)) for f in plan.features}
        self.columns = [name for name in table.columns if name in needed]
        self._table = table

    def __len__(self) -> int:
        return len(self._table)

    def __getitem__(self, name: str) -> NDArray[Any]:
        return self._table[name]


def _has_words(plan: Plan, f: int) -> bool:
    """Whether a column holds words: those would be read as numbers where all happen to be digits."""
    return any(isinstance(value, str) for value in plan.categories.get(int(f), ()))
