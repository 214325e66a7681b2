"""Training rows with their labels, weights and queries: checking them, and setting some aside."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils import column_or_1d
from sklearn.utils.validation import _check_sample_weight, assert_all_finite, check_consistent_length

from miserly.errors import DataError

__all__ = [
    "Given",
    "Samples",
    "check_grades",
    "check_queries",
    "check_target",
    "check_weight",
    "rows_aside",
    "set_aside",
]

MAX_GRADE = 30  # the gain of a grade is 2**grade - 1


@dataclass(frozen=True, eq=False)
class Samples:
    """Rows, their labels, and where there are any, their weights and queries."""

    X: NDArray[Any]
    y: NDArray[Any]
    weight: NDArray[np.float64] | None = None
    qid: NDArray[Any] | None = None

    def __len__(self) -> int:
        return len(self.y)

    def take(self, rows: NDArray[Any]) -> Samples:
        """Some of the rows."""
        pick = [None if part is None else part[rows] for part in (self.weight, self.qid)]
        return Samples(self.X[rows], self.y[rows], *pick)

    def without_zero_weights(self) -> Samples:
        """Only rows that count; a row of weight zero must not even have a say in where bins begin."""
        if self.weight is None or (self.weight > 0).all():
            return self
        return self.take(self.weight > 0)

    def with_mean_weight_one(self) -> Samples:
        """Weights that average 1 (None if all are equal), so that their scale can play no part."""
        if self.weight is None or (self.weight == self.weight[0]).all():
            return replace(self, weight=None)
        return replace(self, weight=self.weight / self.weight.mean())


@dataclass(frozen=True, eq=False)
class Given:
    """Labels, weights and queries as the user gave them, before anything is checked."""

    y: Any
    weight: Any = None
    qid: Any = None
    ranked: bool = False  # whether there must be queries
    note: str = ""  # what to add to the names of the arguments in errors: "_val" for validation data

    def checked(self, X: NDArray[Any], estimator: Any, numeric: bool) -> Samples:
        """Labels, weights and queries that fit the rows `X`."""
        y = check_target(self.y, X, estimator, numeric, self.note)
        weight = check_weight(self.weight, X, self.note)
        has_queries = self.ranked or self.qid is not None
        return Samples(X, y, weight, check_queries(self.qid, len(X), self.note) if has_queries else None)


def check_target(y: Any, X: Any, estimator: Any, numeric: bool, note: str = "") -> NDArray[Any]:
    """Labels as one column as long as `X`; numbers where numbers are wanted."""
    name = type(estimator).__name__
    if y is None:
        raise DataError(
            f"This {name} estimator requires y to be passed, but the target y is None."
            if not note
            else f"X{note} needs y{note}, its labels"
        )
    labels = column_or_1d(y, warn=True)
    check_consistent_length(X, labels)
    if labels.dtype.kind == "f" or labels.dtype == object:
        assert_all_finite(labels, input_name=f"y{note}", estimator_name=name)
    if not numeric:
        return labels
    try:
        return labels.astype(np.float64)
    except (TypeError, ValueError) as error:
        raise DataError(f"y{note} must hold numbers: {error}") from None


def check_weight(sample_weight: Any, X: Any, note: str = "") -> NDArray[np.float64] | None:
    """Weights as one non-negative number per row, not all zero."""
    if sample_weight is None:
        return None
    weight: NDArray[np.float64] = _check_sample_weight(sample_weight, X, dtype=np.float64)
    if (weight < 0).any():
        row = int(np.flatnonzero(weight < 0)[0])
        raise DataError(f"sample_weight{note}[{row}] is {weight[row]:g}; weights must not be negative")
    return weight


def check_queries(qid: ArrayLike | None, n: int, note: str = "") -> NDArray[Any]:
    """The query of each row."""
    if qid is None:
        raise DataError(f"a ranker needs qid{note}, the query of each row: fit(X, y, qid{note}=...)")
    queries = np.asarray(qid)
    if queries.shape != (n,):
        raise DataError(f"qid{note} must name the query of each of {n} rows; its shape is {queries.shape}")
    return queries


def check_grades(y: NDArray[np.float64]) -> None:
    """Grades of relevance are whole numbers from 0."""
    wrong = (y != np.floor(y)) | (y < 0) | (y > MAX_GRADE)
    if wrong.any():
        row = int(np.flatnonzero(wrong)[0])
        raise DataError(
            f"y[{row}] is {y[row]:g}; lambdarank needs grades, whole numbers from 0 to {MAX_GRADE}"
        )


# -- setting some aside ------------------------------------------------------------------------------------


def set_aside(
    samples: Samples, fraction: float, seed: int, classes: Sequence[Any] | NDArray[Any] | None = None
) -> tuple[Samples, Samples]:
    """Split rows into those to learn from and those to judge by.

    Whole queries where there are queries; the same share of every class where `classes` (the class of each
    row) are given, and always one row of each class to learn from.
    """
    aside = rows_aside(len(samples), fraction, seed, classes, samples.qid)
    return samples.take(~aside), samples.take(aside)


def rows_aside(
    n: int,
    fraction: float,
    seed: int,
    classes: Sequence[Any] | NDArray[Any] | None = None,
    qid: NDArray[Any] | None = None,
) -> NDArray[np.bool_]:
    """Which of `n` rows `set_aside` sets aside."""
    random = np.random.default_rng(seed)
    if qid is not None:
        aside = _whole_queries(qid, fraction, random)
    else:
        aside = _rows_by_class(np.zeros(n) if classes is None else classes, fraction, random)
    if not aside.any() or aside.all():
        what = "queries" if qid is not None else "rows"
        raise DataError(f"too few {what} to set {fraction:g} of them aside for validation (n_samples={n})")
    return aside


def _whole_queries(qid: NDArray[Any], fraction: float, random: np.random.Generator) -> NDArray[np.bool_]:
    names, number = np.unique(qid, return_inverse=True)
    wanted = max(1, round(fraction * len(names)))
    chosen = random.permutation(len(names))[:wanted]
    return np.isin(number, chosen)


def _rows_by_class(classes: Any, fraction: float, random: np.random.Generator) -> NDArray[np.bool_]:
    """Rows at even distances in a list that is shuffled, then ordered by class."""
    classes = np.asarray(classes)
    shuffled = random.permutation(len(classes))
    listed = shuffled[np.argsort(classes[shuffled], kind="stable")]
    first_of_class = np.append(True, classes[listed][1:] != classes[listed][:-1])
    spare = listed[~first_of_class]
    wanted = min(len(spare), max(1, round(fraction * len(classes))))
    places = (np.arange(wanted) + 0.5) * len(spare) / max(1, wanted)
    aside = np.zeros(len(classes), dtype=np.bool_)
    aside[spare[places.astype(np.int64)]] = True
    return aside
