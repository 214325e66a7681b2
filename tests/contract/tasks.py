"""Small tables to try learners on: two classes, three classes, numbers, grades of documents.

Each has missing values, a free column, a group with a set-up cost and a price for evaluating terms. Rows are
in two parts, those to learn from and fresh ones.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cache
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
from numpy.typing import NDArray

from miserly import Costs
from miserly.datasets import load_heart

__all__ = ["TASKS", "Rows", "Task"]

DOCUMENTS = 10  # of each query
N_LEARN, N_FRESH = 200, 40


@dataclass(frozen=True, eq=False)
class Rows:
    """Some rows with their labels, and their queries where documents are to be ranked."""

    X: NDArray[np.float64]
    y: NDArray[Any]
    qid: NDArray[np.int64] | None = None

    def __len__(self) -> int:
        return len(self.X)

    def take(self, rows: NDArray[Any]) -> Rows:
        return Rows(self.X[rows], self.y[rows], None if self.qid is None else self.qid[rows])

    def batches(self, size: int) -> list[NDArray[np.int64]]:
        """Row numbers in batches of about `size`; no query is torn apart."""
        bundle = np.arange(len(self)) if self.qid is None else self.qid
        names = np.unique(bundle)
        per_batch = size if self.qid is None else max(1, size // DOCUMENTS)
        return [
            np.flatnonzero(np.isin(bundle, names[k : k + per_batch])) for k in range(0, len(names), per_batch)
        ]

    def repeated(self, times: int) -> Rows:
        """The same rows again and again, as other queries each time."""
        qid = None
        if self.qid is not None:
            qid = np.concatenate([self.qid + k * (self.qid.max() + 1) for k in range(times)])
        return Rows(np.tile(self.X, (times, 1)), np.tile(self.y, times), qid)


@dataclass(frozen=True, eq=False)
class Task:
    """What is to be learned: the kind of label, rows, and what the columns cost."""

    name: str
    learn: Rows
    fresh: Rows
    costs: Costs

    @property
    def names(self) -> list[str]:
        return list(self.costs.names or ())

    def pandas(self, X: NDArray[np.float64]) -> pd.DataFrame:
        return pd.DataFrame({name: X[:, j] for j, name in enumerate(self.names)})

    def polars(self, X: NDArray[np.float64]) -> pl.DataFrame:
        return pl.DataFrame({name: X[:, j] for j, name in enumerate(self.names)}, nan_to_null=True)

    def without_missing(self) -> Task:
        """For learners that cannot use missing values."""
        parts = {part: getattr(self, part) for part in ("learn", "fresh")}
        return replace(self, **{k: replace(rows, X=np.nan_to_num(rows.X)) for k, rows in parts.items()})


def _split(X: Any, y: Any, qid: Any = None) -> tuple[Rows, Rows]:
    rows = Rows(X, y, qid)
    n = np.arange(len(X))
    return rows.take(n < N_LEARN), rows.take((n >= N_LEARN) & (n < N_LEARN + N_FRESH))


def _with_holes(X: NDArray[np.float64], share: float = 0.06) -> NDArray[np.float64]:
    holes = np.random.default_rng(1).random(X.shape) < share
    return np.where(holes, np.nan, X)


@cache
def two_classes() -> Task:
    """Heart disease, a few results missing, prices and groups as they are, and 0.61 for every evaluation."""
    heart = load_heart()
    order = np.random.default_rng(0).permutation(len(heart.X))
    label = np.array(["absence", "presence"])[heart.y[order]]
    prices = {**heart.costs.to_dict(), "evaluation": 0.61}
    return Task("two classes", *_split(_with_holes(heart.X[order]), label), costs=Costs.from_dict(prices))


def _table() -> tuple[NDArray[np.float64], NDArray[np.float64], Costs]:
    """Columns of several kinds, and a signal to which the expensive ones matter more."""
    rng = np.random.default_rng(2)
    n = N_LEARN + N_FRESH
    X = np.column_stack(
        [
            rng.normal(size=n),
            rng.normal(size=n),
            rng.integers(0, 5, n),
            rng.exponential(size=n),
            rng.normal(size=n) * 1e3,
            rng.random(n) < 0.3,
            rng.normal(size=n),
        ]
    ).astype(np.float64)
    signal = 1.5 * X[:, 0] + np.where(X[:, 1] > 0, X[:, 2], -X[:, 3]) + X[:, 4] / 1e3 + X[:, 5]
    costs = Costs(
        {"exam": 4.3, "scan": 7.1, "count": 0.7, "rate": 1.9, "weight": 0.3, "smokes": 0.0, "noise": 0.1},
        groups={"lab": {"features": ["count", "rate", "noise"], "setup": 1.3}},
        evaluation=0.21,
        unit="CAD",
    )
    return _with_holes(X), signal + 0.3 * rng.normal(size=n), costs


@cache
def three_classes() -> Task:
    X, signal, costs = _table()
    label = np.digitize(signal, np.quantile(signal, [0.4, 0.75])) * 10  # 0, 10, 20: no codes
    return Task("three classes", *_split(X, label), costs=costs)


@cache
def numbers() -> Task:
    X, signal, costs = _table()
    return Task("numbers", *_split(X, signal), costs=costs)


@cache
def documents() -> Task:
    """Queries of ten documents, mixed up, with grades 0 to 3."""
    X, signal, costs = _table()
    grade = np.digitize(signal, np.quantile(signal, [0.5, 0.75, 0.9]))
    query = np.arange(len(X)) // DOCUMENTS
    for part in (slice(0, N_LEARN), slice(N_LEARN, None)):
        query[part] = np.random.default_rng(3).permutation(query[part])
    return Task("documents", *_split(X, grade, query), costs=costs)


TASKS = {
    "two classes": two_classes,
    "three classes": three_classes,
    "numbers": numbers,
    "documents": documents,
}
