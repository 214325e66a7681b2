"""Metrics of labels, probabilities and numbers, mostly scikit-learn's.

Except for `accuracy`, each has the signature of `Metric.function`: ``(y, prediction, qid, weight, classes)``.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn import metrics as _sklearn

from miserly.errors import MetricError
from miserly.metrics.influence import f1_counts, ratio_rows

__all__ = [
    "accuracy",
    "balanced_accuracy",
    "by_sklearn",
    "f1",
    "log_loss",
    "r2",
    "read_weight",
    "roc_auc",
    "weighted_mean",
]

Ints: TypeAlias = NDArray[np.int64]


def accuracy(y: ArrayLike, predicted: ArrayLike, sample_weight: ArrayLike | None = None) -> float:
    """Share of rows whose predicted label is the true one.

    Parameters
    ----------
    y : array-like of shape (n_rows,)
        True labels.
    predicted : array-like of shape (n_rows,)
        Predicted labels.
    sample_weight : array-like of shape (n_rows,), optional
        Weight of each row.

    Returns
    -------
    float
        The weighted share, from 0 to 1.

    Examples
    --------
    >>> accuracy(["yes", "no", "no", "no"], ["yes", "no", "no", "yes"])
    0.75
    """
    return float(_sklearn.accuracy_score(y, predicted, sample_weight=sample_weight))


def by_sklearn(
    function: Callable[..., Any], y: Any, predicted: Any, qid: Any, weight: Any, classes: Any
) -> float:
    """Value of a metric of scikit-learn that takes ``(y, predicted, sample_weight=)``."""
    return float(function(y, predicted, sample_weight=weight))


def r2(y: Any, predicted: Any, qid: Any, weight: Any, classes: Any) -> float:
    """Coefficient of determination; NaN for a single row."""
    return float(_sklearn.r2_score(y, predicted, sample_weight=weight)) if len(y) > 1 else float("nan")


def balanced_accuracy(y: Any, predicted: Any, qid: Any, weight: Any, classes: Any) -> float:
    """Mean recall over the classes that occur; scikit-learn's own function warns about the others."""
    recall = _sklearn.recall_score(
        y, predicted, labels=np.unique(y), average="macro", sample_weight=weight, zero_division=np.nan
    )
    return float(recall)


def log_loss(y: Any, proba: Any, qid: Any, weight: Any, classes: Any) -> float:
    """Mean of -log p(true class); p is clipped 2e-16 away from 0 and 1, so a row adds at most 36.04."""
    table = np.asarray(proba, dtype=np.float64)
    table = np.column_stack([1.0 - table, table]) if table.ndim == 1 else table
    sums = table.sum(axis=1)
    right = (table >= 0).all(axis=1) & (table <= 1).all(axis=1) & (abs(sums - 1.0) < 1e-5)
    if not right.all():
        row = int(right.argmin())
        raise MetricError(f"row {row}: {table[row].tolist()} are not the probabilities of the classes")
    codes = _codes(y, classes, table.shape[1])
    least = np.finfo(np.float64).eps
    true = np.clip(table[np.arange(len(codes)), codes] / sums, least, 1.0 - least)
    return float(np.average(-np.log(true), weights=weight))


def roc_auc(y: Any, score: Any, qid: Any, weight: Any, classes: Any) -> float:
    """Area under the ROC curve; with more than two classes, the mean of each class against the rest."""
    table = score[:, None] if score.ndim == 1 else score
    n_classes = max(table.shape[1], 2)
    codes = _codes(y, classes, n_classes)
    if len(np.unique(codes)) < n_classes:
        return float("nan")
    positive = {1: table[:, -1]} if n_classes == 2 else dict(enumerate(table.T))
    areas = [
        _sklearn.roc_auc_score(codes == c, column, sample_weight=weight) for c, column in positive.items()
    ]
    return float(np.mean(areas))


def f1(y: Any, predicted: Any, qid: Any, weight: Any, classes: Any) -> float:
    """F1 of the second class; with more than two classes, the mean over those that occur."""
    known = np.unique(np.concatenate([y, predicted]) if classes is None else np.asarray(classes))
    if len(known) == 1 and known.dtype.kind in "iufb":
        known = np.array([0, 1])
    truth, guess = (_codes(np.asarray(given), known, len(known)) for given in (y, predicted))
    rows = ratio_rows(f1_counts(truth, guess, len(known)), weight)
    return float(np.average(rows, weights=weight))


def _codes(y: NDArray[Any], classes: ArrayLike | None, n_columns: int) -> Ints:
    """Column of each row's true class. Without `classes`, columns are the sorted labels, or 0, 1, ..."""
    present, inverse = np.unique(y, return_inverse=True)
    if classes is None:
        classes = present if len(present) == n_columns else np.arange(n_columns)
    known = np.asarray(classes).tolist()
    column = {label: i for i, label in enumerate(known)}
    if len(column) != n_columns or not set(present.tolist()) <= set(column):
        raise MetricError(
            f"{n_columns} columns of predictions for the classes {known} and the labels {present.tolist()}: "
            "give classes= in the order of the columns"
        )
    return np.array([column[label] for label in present.tolist()])[inverse]


Floats: TypeAlias = NDArray[np.float64]


def read_weight(sample_weight: ArrayLike | None, n_rows: int) -> Floats:
    """Return one weight per row, checked; 1 each for None."""
    if sample_weight is None:
        return np.ones(n_rows)
    weight = np.asarray(sample_weight, dtype=np.float64)
    if weight.shape != (n_rows,):
        raise MetricError(f"weights of shape {weight.shape} for {n_rows} rows")
    if not np.isfinite(weight).all() or (weight < 0).any() or not weight.any():
        raise MetricError("weights must be finite, not negative, and not all zero")
    return weight


def weighted_mean(values: Floats, weight: Floats) -> float:
    """Return the weighted mean, or NaN if the weights sum to zero."""
    return float(np.average(values, weights=weight)) if weight.any() else float("nan")
