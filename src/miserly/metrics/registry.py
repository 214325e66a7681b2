"""Metrics by name: `Metric`, the table of names, and a metric within each query."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn import metrics as _sklearn

from miserly.errors import MetricError, did_you_mean
from miserly.metrics.labels import balanced_accuracy, by_sklearn, f1, log_loss, r2, read_weight, roc_auc
from miserly.metrics.ranking import Queries, ndcg, precision_at_k

__all__ = ["Metric", "get_metric", "per_query"]


@dataclass(frozen=True)
class Metric:
    """A metric and what is needed to use it, as returned by `get_metric`.

    Calling it with labels and predictions gives its value.

    Parameters
    ----------
    name : str
        Name of the metric.
    greater_is_better : bool
        Whether larger values are better.
    needs : {"label", "score", "proba"}
        What to pass as prediction: labels or numbers, scores, or probabilities.
    function : callable
        Called with ``(y, prediction, qid, sample_weight, classes)``; NaN where the metric is not defined.
    undefined : str, default="nothing to average over"
        Why the metric may be undefined; part of the error message.
    rows : callable, optional
        Of a metric made by `row_metric`: called with ``(y, prediction)``, gives one number per row.
    bounds : (float, float), optional
        The smallest and the largest number that `rows` can give.
    """

    name: str
    greater_is_better: bool
    needs: Literal["label", "score", "proba"]
    function: Callable[..., float]
    undefined: str = "nothing to average over"
    rows: Callable[..., NDArray[np.float64]] | None = None
    bounds: tuple[float, float] | None = None

    def __call__(
        self,
        y: ArrayLike,
        prediction: ArrayLike,
        qid: ArrayLike | None = None,
        sample_weight: ArrayLike | None = None,
        classes: ArrayLike | None = None,
    ) -> float:
        """Return the value of the metric; `MetricError` where it is not defined. See `value`."""
        value = self.value(y, prediction, qid, sample_weight, classes)
        if np.isnan(value):
            raise MetricError(f"{self.name} is not defined here: {self.undefined}")
        return value

    def value(
        self,
        y: ArrayLike,
        prediction: ArrayLike,
        qid: ArrayLike | None = None,
        sample_weight: ArrayLike | None = None,
        classes: ArrayLike | None = None,
    ) -> float:
        """Value of the metric, or NaN where it is not defined.

        Parameters
        ----------
        y : array-like of shape (n_rows,)
            True labels, numbers or grades.
        prediction : array-like of shape (n_rows,) or (n_rows, n_classes)
            Predictions of the kind that `needs` names.
        qid : array-like of shape (n_rows,), optional
            Query of each row, for ranking metrics. All rows are one query by default.
        sample_weight : array-like of shape (n_rows,), optional
            Weight of each row.
        classes : array-like of shape (n_classes,), optional
            Class of each column of `prediction`. By default the sorted labels of `y`, or 0, 1, ... where
            not every class occurs.

        Returns
        -------
        float
            The value.

        Raises
        ------
        MetricError
            If the numbers of rows differ or are zero.
        """
        truth, guess = np.asarray(y), np.asarray(prediction)
        if len(truth) != len(guess) or not len(truth):
            raise MetricError(f"{self.name}: {len(guess)} predictions for {len(truth)} rows")
        weight = None if sample_weight is None else read_weight(sample_weight, len(truth))
        return self.function(truth, guess, qid, weight, classes)

    @property
    def sign(self) -> float:
        """1 if larger values are better, else -1: a value times this is a gain."""
        return 1.0 if self.greater_is_better else -1.0

    def better(self, one: float, other: float) -> bool:
        """Whether one value is strictly better than another.

        Parameters
        ----------
        one : float
            A value of this metric.
        other : float
            The value to compare it with.

        Returns
        -------
        bool
            True if `one` is better; False if it is equal or worse.
        """
        return one > other if self.greater_is_better else one < other


def _at_k(
    function: Callable[..., float], k: int, y: Any, score: Any, qid: Any, weight: Any, classes: Any
) -> float:
    return function(y, score, qid, k=k, sample_weight=weight)


def _needs_prices(name: str, *given: Any) -> float:
    raise MetricError(
        f"{name} needs what mistakes cost: frontier(..., metric={name!r}, outcome_costs=...), or "
        f"miserly.metrics.{name} for predictions of any model"
    )


_PLAIN = {
    metric.name: metric
    for metric in (
        Metric("accuracy", True, "label", partial(by_sklearn, _sklearn.accuracy_score)),
        Metric("balanced_accuracy", True, "label", balanced_accuracy),
        Metric("f1", True, "label", f1, "no row is positive, nor predicted to be"),
        Metric("log_loss", False, "proba", log_loss),
        Metric("roc_auc", True, "score", roc_auc, "not every class occurs among the rows"),
        Metric("mse", False, "label", partial(by_sklearn, _sklearn.mean_squared_error)),
        Metric("mae", False, "label", partial(by_sklearn, _sklearn.mean_absolute_error)),
        Metric("r2", True, "label", r2, "it needs two rows"),
        Metric("outcome_cost", False, "label", partial(_needs_prices, "outcome_cost")),
        Metric("total_cost", False, "label", partial(_needs_prices, "total_cost")),
    )
}
_AT_K: dict[str, Callable[..., float]] = {"ndcg": ndcg, "precision": precision_at_k}


def get_metric(name: str | Metric) -> Metric:
    """Return the metric of a name.

    Parameters
    ----------
    name : str or Metric
        One of "accuracy", "balanced_accuracy", "f1", "log_loss", "roc_auc", "mse", "mae", "r2", and "ndcg@k"
        and "precision@k" for any `k`. "outcome_cost" (of mistakes) and "total_cost" (of tests and mistakes)
        are for `frontier` with outcome costs. A `Metric`, such as `row_metric` makes, is returned as it is.
        "f1" is that of the second class and, with more than two classes, the mean over classes; "roc_auc" is
        then the mean of each class against the rest.

    Returns
    -------
    Metric
        The metric; call it with labels and predictions.

    Raises
    ------
    MetricError
        If there is no metric of that name.

    Examples
    --------
    >>> metric = get_metric("ndcg@3")
    >>> metric.name, metric.greater_is_better, metric.needs
    ('ndcg@3', True, 'score')
    >>> round(metric([2, 0, 1, 0, 0], [0.9, 0.5, 0.1, 0.4, 0.2], qid=[1, 1, 1, 2, 2]), 6)
    0.96394
    """
    if isinstance(name, Metric):
        return name
    if callable(name):
        raise MetricError(
            "a metric must be a name or a Metric, not a function. If the function gives one number per row, "
            "make a metric of it with row_metric(function, greater_is_better=...)"
        )
    if str(name) in _PLAIN:
        return _PLAIN[str(name)]
    at_k = re.fullmatch(r"(ndcg|precision)@([1-9]\d{0,8})", str(name))
    if at_k is None:
        known = [*_PLAIN, "ndcg@5", "precision@5"]
        hint = did_you_mean(name, known) or "."
        raise MetricError(f"unknown metric {name!r}{hint} Known: {', '.join(known)}")
    function = partial(_at_k, _AT_K[at_k[1]], int(at_k[2]))
    return Metric(str(name), True, "score", function, "no query has a relevant row")


def per_query(
    metric: str | Metric | Callable[[NDArray[Any], NDArray[Any]], float],
    y: ArrayLike,
    prediction: ArrayLike,
    qid: ArrayLike,
) -> tuple[NDArray[Any], NDArray[np.float64]]:
    """Evaluate a metric within each query.

    Parameters
    ----------
    metric : str, Metric or callable
        Name of a metric, a metric, or a function of ``(y, prediction)``.
    y : array-like of shape (n_rows,)
        True labels, numbers or grades.
    prediction : array-like of shape (n_rows,) or (n_rows, n_classes)
        Predictions of the kind that the metric needs.
    qid : array-like of shape (n_rows,)
        Query of each row.

    Returns
    -------
    ids : ndarray of shape (n_queries,)
        Ids of the queries, sorted.
    values : ndarray of shape (n_queries,)
        The metric within each query, NaN where it is not defined.

    Examples
    --------
    >>> ids, values = per_query("accuracy", [1, 0, 1], [1, 1, 1], qid=[4, 4, 9])
    >>> ids.tolist(), values.tolist()
    ([4, 9], [0.5, 1.0])
    """
    within = metric if callable(metric) and not isinstance(metric, Metric) else get_metric(metric).value
    y, prediction = np.asarray(y), np.asarray(prediction)
    queries = Queries(qid, len(y))
    return queries.ids, np.array([within(y[rows], prediction[rows]) for _, rows in queries], dtype=np.float64)
