"""Ranking metrics: queries, NDCG and precision at k.

A *query* is a set of rows that are ranked against each other; the rows of a query need not be adjacent. Where
scores are tied, a ranking metric is the mean over all orders of the tied rows: a model that gives all rows
the same score gets the value of a random order, never that of the best order.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, Literal, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from miserly.errors import MetricError
from miserly.metrics.labels import read_weight, weighted_mean

__all__ = ["Queries", "ndcg", "precision_at_k"]

Floats: TypeAlias = NDArray[np.float64]
Ints: TypeAlias = NDArray[np.int64]


class Queries:
    """The rows of each query.

    Iterating gives the id and the row numbers of each query, in the order of the ids.

    Parameters
    ----------
    qid : array-like of shape (n_rows,) or None
        Query of each row. None makes all rows one query.
    n_rows : int, optional
        Number of rows: required for ``qid=None``, otherwise checked against the length of `qid`.

    Attributes
    ----------
    ids : ndarray of shape (n_queries,)
        The sorted ids.
    code : ndarray of shape (n_rows,)
        Position of each row's query in `ids`.
    sizes : ndarray of shape (n_queries,)
        Number of rows of each query.

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
        parts = np.split(rows, np.cumsum(self.sizes))[:-1]  # the part after the last query is empty
        return zip(self.ids.tolist(), parts, strict=True)

    def sums_at_top(self, gain: Floats, score: Floats, worth: Floats) -> Floats:
        """Sum of gain times the weight of the rank, for each query.

        Rows of equal score share the weights of the ranks that they occupy together. This is the mean over
        all their orders.

        Parameters
        ----------
        gain : ndarray of shape (n_rows,)
            Gain of each row.
        score : ndarray of shape (n_rows,)
            Score of each row; the largest score has rank 0.
        worth : ndarray of shape (n_ranks,)
            Weight of each rank; later ranks have weight zero.

        Returns
        -------
        ndarray of shape (n_queries,)
            The sums, in the order of `ids`.
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


def ndcg(
    y: ArrayLike,
    score: ArrayLike,
    qid: ArrayLike | None = None,
    k: int = 5,
    gain: Literal["exponential", "linear"] = "exponential",
    empty: Literal["skip", "one", "zero"] = "skip",
    sample_weight: ArrayLike | None = None,
) -> float:
    """Normalised discounted cumulative gain at `k`, averaged over queries.

    Rank `r` = 1, 2, ... discounts the gain of a row by ``1 / log2(1 + r)``. The sum over the first `k` rows
    is divided by the sum in the best order. Ties count as the mean over their orders, as in scikit-learn's
    `ndcg_score`.

    Parameters
    ----------
    y : array-like of shape (n_rows,)
        Grade of each row, 0 or more.
    score : array-like of shape (n_rows,)
        Predicted score of each row.
    qid : array-like of shape (n_rows,), optional
        Query of each row. All rows are one query by default.
    k : int, default=5
        Number of ranks that count.
    gain : {"exponential", "linear"}, default="exponential"
        Gain of grade `y`: ``2**y - 1``, or `y` itself.
    empty : {"skip", "one", "zero"}, default="skip"
        Value of a query without a relevant row, which has no best order: left out, 1 or 0.
    sample_weight : array-like of shape (n_rows,), optional
        Weight of each row. The weight of a query is the mean over its rows.

    Returns
    -------
    float
        The weighted mean over queries, NaN if no query is left.

    Raises
    ------
    MetricError
        If grades or scores are missing, or an option is unknown.

    Examples
    --------
    The better of two rows comes second: 1 / log2(3).

    >>> round(ndcg([0, 1], [0.9, 0.1]), 6)
    0.63093

    Both scores are equal, so it comes first in half of the orders: (1 + 1 / log2(3)) / 2.

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
        return weighted_mean(reached[ranked] / best[ranked], weight[ranked])
    if empty not in ("one", "zero"):
        raise MetricError(f"empty queries are 'skip', 'one' or 'zero', not {empty!r}")
    values = np.full(len(queries), 1.0 if empty == "one" else 0.0)
    values[ranked] = reached[ranked] / best[ranked]
    return weighted_mean(values, weight)


def precision_at_k(
    y: ArrayLike,
    score: ArrayLike,
    qid: ArrayLike | None = None,
    k: int = 5,
    relevant: float | Callable[[NDArray[Any]], ArrayLike] = 1.0,
    sample_weight: ArrayLike | None = None,
) -> float:
    """Share of relevant rows among the first `k` of each query, averaged over queries.

    A query of fewer than `k` rows is still divided by `k`.

    Parameters
    ----------
    y : array-like of shape (n_rows,)
        Grade of each row.
    score : array-like of shape (n_rows,)
        Predicted score of each row.
    qid : array-like of shape (n_rows,), optional
        Query of each row. All rows are one query by default.
    k : int, default=5
        Number of ranks that count.
    relevant : float or callable, default=1.0
        The smallest grade of a relevant row, or a function from grades to booleans.
    sample_weight : array-like of shape (n_rows,), optional
        Weight of each row. The weight of a query is the mean over its rows.

    Returns
    -------
    float
        The weighted mean over queries.

    Raises
    ------
    MetricError
        If grades or scores are missing, or `k` is less than 1.

    Examples
    --------
    >>> precision_at_k([3, 0, 4, 1], [0.9, 0.8, 0.7, 0.1], k=2, relevant=3)
    0.5
    """
    grades, score, queries, weight = _read_ranking(y, score, qid, sample_weight)
    hits = np.asarray(relevant(grades) if callable(relevant) else grades >= relevant, dtype=np.float64)
    worth = np.full(_depth(k, queries), 1.0 / k)
    return weighted_mean(queries.sums_at_top(hits, score, worth), weight)


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
    weight = read_weight(sample_weight, len(grades))
    return grades, scores, queries, np.bincount(queries.code, weight) / queries.sizes


def _gains(grades: Floats, kind: str) -> Floats:
    if kind not in ("exponential", "linear"):
        raise MetricError(f"the gain is 'exponential' or 'linear', not {kind!r}")
    if grades.min() < 0 or (kind == "exponential" and grades.max() > 100):
        raise MetricError(f"grades from {grades.min():g} to {grades.max():g} have no {kind} gain")
    return np.exp2(grades) - 1.0 if kind == "exponential" else grades


def _depth(k: int, queries: Queries) -> int:
    """Number of ranks that count: `k`, or the length of the longest query if that is less."""
    if isinstance(k, bool) or not isinstance(k, (int, np.integer)) or k < 1:
        raise MetricError(f"k is a number of rows, 1 or more, not {k!r}")
    return min(int(k), int(queries.sizes.max()))
