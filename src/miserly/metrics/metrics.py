"""How good predictions are, and what they cost: ranking measures, expected cost, and metrics by name.

A *query* is a set of rows that are ranked against each other; rows of one query need not stand together.
Where scores are tied, a ranking measure is the mean over every order the tied rows could be listed in: a
model that gives all rows the same score gets what a random order gets, never the best order.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any, Literal, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn import metrics as _sklearn

from miserly.errors import MetricError, did_you_mean
from miserly.metrics.labels import balanced_accuracy, by_sklearn, log_loss, r2, roc_auc

__all__ = [
    "Metric",
    "Queries",
    "accuracy",
    "cost_curve_area",
    "expected_cost",
    "get_metric",
    "ndcg",
    "per_query",
    "precision_at_k",
]

Floats: TypeAlias = NDArray[np.float64]
Ints: TypeAlias = NDArray[np.int64]


class Queries:
    """Which rows belong to which query.

    Iterating gives each query's id and row numbers, in the order of the ids. `qid=None` makes all
    `n_rows` rows one query.

    Examples
    --------
    >>> [(query, rows.tolist()) for query, rows in Queries([7, 3, 7])]
    [(3, [1]), (7, [0, 2])]
    """

    def __init__(self, qid: ArrayLike | None, n_rows: int | None = None) -> None:
        if qid is None:
            qid = np.zeros(n_rows or 0, dtype=np.int64)
        qid = np.asarray(qid)
        if qid.ndim != 1 or (n_rows is not None and len(qid) != n_rows):
            raise MetricError(f"query ids of shape {qid.shape} for {n_rows} rows")
        self.ids, code = np.unique(qid, return_inverse=True)
        self.code: Ints = code.astype(np.int64)
        self.sizes: Ints = np.bincount(self.code, minlength=len(self.ids))

    def __len__(self) -> int:
        return len(self.ids)

    def __iter__(self) -> Iterator[tuple[Any, Ints]]:
        rows = np.argsort(self.code, kind="stable")
        parts = np.split(rows, np.cumsum(self.sizes))[:-1]  # what is past the last query is empty
        return zip(self.ids.tolist(), parts, strict=True)

    def sums_at_top(self, gain: Floats, score: Floats, worth: Floats) -> Floats:
        """Per query, the sum of gain times the worth of the rank; ranks past `worth` are worth nothing.

        Rows of equal score share the worth of the ranks they take up together, which is the mean over all
        their orders.
        """
        order = np.lexsort((-score, self.code))
        query = np.repeat(np.arange(len(self)), self.sizes)  # the same as self.code[order]
        rank = np.arange(len(order)) - np.repeat(np.cumsum(self.sizes) - self.sizes, self.sizes)
        score = score[order]
        fresh = rank == 0
        fresh[1:] |= score[1:] != score[:-1]
        first = np.flatnonzero(fresh)  # the first row of every run of equal scores
        length = np.diff(np.append(first, len(order)))
        up_to = np.concatenate([[0.0], np.cumsum(worth)])
        start, end = np.minimum([rank[first], rank[first] + length], len(worth))
        mean_gain = np.add.reduceat(gain[order], first) / length
        shares = mean_gain * (up_to[end] - up_to[start])
        return np.bincount(query[first], weights=shares, minlength=len(self)).astype(np.float64)


# -- ranking -------------------------------------------------------------------------------------------


def ndcg(
    y: ArrayLike,
    score: ArrayLike,
    qid: ArrayLike | None = None,
    k: int = 5,
    gain: Literal["exponential", "linear"] = "exponential",
    empty: Literal["skip", "one", "zero"] = "skip",
    sample_weight: ArrayLike | None = None,
) -> float:
    """Normalised discounted cumulative gain of the first `k` rows of each query, averaged over queries.

    The gain of grade `y` is ``2**y - 1`` ("exponential") or `y` ("linear"); rank `r` = 1, 2, ... discounts it
    by ``1 / log2(1 + r)``; the sum is divided by that of the best order. Ties count as the mean over their
    orders, as in scikit-learn's `ndcg_score`.

    A query without a relevant row has no best order: it is left out (`empty="skip"`) or counts as one or
    zero. If no query is left the result is NaN. A query weighs as much as its rows do on average.

    Examples
    --------
    The better of two rows comes second: 1 / log2(3).

    >>> round(ndcg([0, 1], [0.9, 0.1]), 6)
    0.63093

    All scores tied, half of the time it comes first: (1 + 1 / log2(3)) / 2.

    >>> round(ndcg([0, 1], [0.5, 0.5]), 6)
    0.815465
    """
    grades, score, queries, weight = _read_ranking(y, score, qid, sample_weight)
    gains = _gains(grades, gain)
    worth = 1.0 / np.log2(2.0 + np.arange(_depth(k, queries)))
    best = queries.sums_at_top(gains, gains, worth)
    reached = queries.sums_at_top(gains, score, worth)
    ranked = best > 0
    if empty == "skip":
        return _mean(reached[ranked] / best[ranked], weight[ranked])
    if empty not in ("one", "zero"):
        raise MetricError(f"empty queries are 'skip', 'one' or 'zero', not {empty!r}")
    values = np.full(len(queries), 1.0 if empty == "one" else 0.0)
    values[ranked] = reached[ranked] / best[ranked]
    return _mean(values, weight)


def precision_at_k(
    y: ArrayLike,
    score: ArrayLike,
    qid: ArrayLike | None = None,
    k: int = 5,
    relevant: float | Callable[[NDArray[Any]], ArrayLike] = 1.0,
    sample_weight: ArrayLike | None = None,
) -> float:
    """The share of relevant rows among the first `k` of each query, averaged over queries.

    A row is relevant if its grade is at least `relevant`, or if the function `relevant` says so. A query of
    fewer than `k` rows is still divided by `k`: places that nothing fills are not hits.

    Examples
    --------
    >>> precision_at_k([3, 0, 4, 1], [0.9, 0.8, 0.7, 0.1], k=2, relevant=3)
    0.5
    """
    grades, score, queries, weight = _read_ranking(y, score, qid, sample_weight)
    hits = np.asarray(relevant(grades) if callable(relevant) else grades >= relevant, dtype=np.float64)
    worth = np.full(_depth(k, queries), 1.0 / k)
    return _mean(queries.sums_at_top(hits, score, worth), weight)


def per_query(
    metric: str | Metric | Callable[[NDArray[Any], NDArray[Any]], float],
    y: ArrayLike,
    prediction: ArrayLike,
    qid: ArrayLike,
) -> tuple[NDArray[Any], Floats]:
    """The ids of the queries, and the metric within each; NaN where it is not defined.

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


def _read_ranking(
    y: ArrayLike, score: ArrayLike, qid: ArrayLike | None, sample_weight: ArrayLike | None
) -> tuple[Floats, Floats, Queries, Floats]:
    """Grades, scores, queries and the weight of each query, checked."""
    grades, scores = (np.asarray(values, dtype=np.float64) for values in (y, score))
    if grades.ndim != 1 or grades.shape != scores.shape or not len(grades):
        raise MetricError(
            f"one grade and one score per row are needed, not {grades.shape} and {scores.shape}"
        )
    for name, values in (("grade", grades), ("score", scores)):
        if np.isnan(values).any():
            raise MetricError(f"row {int(np.isnan(values).argmax())} has no {name} (NaN)")
    queries = Queries(qid, len(grades))
    weight = _read_weight(sample_weight, len(grades))
    return grades, scores, queries, np.bincount(queries.code, weight) / queries.sizes


def _gains(grades: Floats, kind: str) -> Floats:
    if kind not in ("exponential", "linear"):
        raise MetricError(f"the gain is 'exponential' or 'linear', not {kind!r}")
    if grades.min() < 0 or (kind == "exponential" and grades.max() > 100):
        raise MetricError(f"grades from {grades.min():g} to {grades.max():g} have no {kind} gain")
    return np.exp2(grades) - 1.0 if kind == "exponential" else grades


def _depth(k: int, queries: Queries) -> int:
    """How many ranks matter: `k`, or the length of the longest query if that is less."""
    if isinstance(k, bool) or not isinstance(k, (int, np.integer)) or k < 1:
        raise MetricError(f"k is a number of rows, 1 or more, not {k!r}")
    return min(int(k), int(queries.sizes.max()))


# -- costs ---------------------------------------------------------------------------------------------


def expected_cost(run_or_costs: Any, sample_weight: ArrayLike | None = None) -> float:
    """The mean cost per row, of a run (anything with `.cost`) or of the costs themselves.

    >>> expected_cost([1.0, 3.0, 5.0]), expected_cost([1.0, 3.0], sample_weight=[3, 1])
    (3.0, 1.5)
    """
    cost = np.asarray(getattr(run_or_costs, "cost", run_or_costs), dtype=np.float64)
    if cost.ndim != 1 or not len(cost) or np.isnan(cost).any():
        raise MetricError(f"costs are one number per row, not an array of shape {cost.shape} or with NaN")
    return _mean(cost, _read_weight(sample_weight, len(cost)))


def cost_curve_area(
    cost: ArrayLike,
    value: ArrayLike,
    max_cost: float,
    min_cost: float = 0.0,
    start: float | None = None,
    greater_is_better: bool = True,
) -> float:
    """The mean, over budgets from `min_cost` to `max_cost`, of the best value to be had for that budget.

    Each point (cost, value) is a model; at budget `b` the best value among points of cost <= `b` counts.
    `start` is the value without paying anything, for budgets that no point fits (and a floor elsewhere); it
    is needed unless some point costs no more than `min_cost`.

    Examples
    --------
    0.6 up to a cost of 4, then 0.9: (4 * 0.6 + 6 * 0.9) / 10.

    >>> round(cost_curve_area([0, 4], [0.6, 0.9], max_cost=10), 3)
    0.78
    """
    costs, values = (np.asarray(numbers, dtype=np.float64) for numbers in (cost, value))
    if costs.ndim != 1 or costs.shape != values.shape or np.isnan(costs).any() or np.isnan(values).any():
        raise MetricError("a cost curve needs one cost and one value per point, and no NaN")
    if not -np.inf < min_cost < max_cost < np.inf:
        raise MetricError(f"the range of budgets from {min_cost:g} to {max_cost:g} is empty or endless")
    if start is not None:
        costs, values = np.append(costs, min_cost), np.append(values, start)
    if not (costs <= min_cost).any():
        raise MetricError(f"no point costs {min_cost:g} or less: give the value without paying as start=")
    better = np.maximum if greater_is_better else np.minimum
    inside = costs < max_cost
    order = np.argsort(costs[inside], kind="stable")
    edges = np.maximum(costs[inside][order], min_cost)
    widths = np.diff(np.append(edges, max_cost))
    return float(widths @ better.accumulate(values[inside][order]) / (max_cost - min_cost))


def _read_weight(sample_weight: ArrayLike | None, n_rows: int) -> Floats:
    if sample_weight is None:
        return np.ones(n_rows)
    weight = np.asarray(sample_weight, dtype=np.float64)
    if weight.shape != (n_rows,):
        raise MetricError(f"weights of shape {weight.shape} for {n_rows} rows")
    if not np.isfinite(weight).all() or (weight < 0).any() or not weight.any():
        raise MetricError("weights must be finite, not negative, and not all zero")
    return weight


def _mean(values: Floats, weight: Floats) -> float:
    return float(np.average(values, weights=weight)) if weight.any() else float("nan")


# -- labels, probabilities, numbers ------------------------------------------------------------------------


def accuracy(y: ArrayLike, predicted: ArrayLike, sample_weight: ArrayLike | None = None) -> float:
    """The share of rows whose predicted label is the true one.

    >>> accuracy(["yes", "no", "no", "no"], ["yes", "no", "no", "yes"])
    0.75
    """
    return float(_sklearn.accuracy_score(y, predicted, sample_weight=sample_weight))


# -- metrics by name -----------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Metric:
    """A metric with what one must know to use it: made by `get_metric`.

    `needs` says what to hand over as prediction: "label" (or number), "score", or "proba".
    """

    name: str
    greater_is_better: bool
    needs: Literal["label", "score", "proba"]
    function: Callable[..., float]
    undefined: str = "nothing to average over"

    def __call__(
        self,
        y: ArrayLike,
        prediction: ArrayLike,
        qid: ArrayLike | None = None,
        sample_weight: ArrayLike | None = None,
        classes: ArrayLike | None = None,
    ) -> float:
        """The metric's value; `MetricError` where it is not defined. `classes` names a table's columns."""
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
        """The metric's value, NaN where it is not defined."""
        truth, guess = np.asarray(y), np.asarray(prediction)
        if len(truth) != len(guess) or not len(truth):
            raise MetricError(f"{self.name}: {len(guess)} predictions for {len(truth)} rows")
        weight = None if sample_weight is None else _read_weight(sample_weight, len(truth))
        return self.function(truth, guess, qid, weight, classes)

    def better(self, one: float, other: float) -> bool:
        """Whether `one` is strictly better than `other`."""
        return one > other if self.greater_is_better else one < other


def _at_k(
    function: Callable[..., float], k: int, y: Any, score: Any, qid: Any, weight: Any, classes: Any
) -> float:
    return function(y, score, qid, k=k, sample_weight=weight)


_PLAIN = {
    metric.name: metric
    for metric in (
        Metric("accuracy", True, "label", partial(by_sklearn, _sklearn.accuracy_score)),
        Metric("balanced_accuracy", True, "label", balanced_accuracy),
        Metric("log_loss", False, "proba", log_loss),
        Metric("roc_auc", True, "score", roc_auc, "not every class occurs among the rows"),
        Metric("mse", False, "label", partial(by_sklearn, _sklearn.mean_squared_error)),
        Metric("mae", False, "label", partial(by_sklearn, _sklearn.mean_absolute_error)),
        Metric("r2", True, "label", r2, "it needs two rows"),
    )
}
_AT_K: dict[str, Callable[..., float]] = {"ndcg": ndcg, "precision": precision_at_k}


def get_metric(name: str | Metric) -> Metric:
    """The metric of that name.

    One of accuracy, balanced_accuracy, log_loss, roc_auc, mse, mae, r2, and ndcg@k and precision@k for any k.

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
    if str(name) in _PLAIN:
        return _PLAIN[str(name)]
    at_k = re.fullmatch(r"(ndcg|precision)@([1-9]\d{0,8})", str(name))
    if at_k is None:
        known = [*_PLAIN, "ndcg@5", "precision@5"]
        raise MetricError(f"unknown metric {name!r}{did_you_mean(name, known)} Known: {', '.join(known)}")
    function = partial(_at_k, _AT_K[at_k[1]], int(at_k[2]))
    return Metric(str(name), True, "score", function, "no query has a relevant row")
