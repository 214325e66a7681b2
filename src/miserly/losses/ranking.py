"""Losses for the documents of queries: squared error within queries, and LambdaRank."""

from __future__ import annotations

import numpy as np

from miserly.grow.compiled import build
from miserly.losses.base import Floats, Loss, Weight
from miserly.losses.lambdarank import pair_gradients, pair_loss
from miserly.metrics import Queries

__all__ = ["LambdaRank", "WithinQueries"]


class WithinQueries(Loss):
    """Squared error within queries: ``1/2 (e - mean of e over the query)^2`` with ``e = y - s``.

    A number added to every document of a query changes no order, so it changes no loss either. The plain
    squared loss rewards trees that separate easy queries from hard ones, and a budget goes to features of the
    query, not of the document. The means are weighted; the second derivatives are those of `Squared`, which
    bound the true ones from above.

    Parameters
    ----------
    queries : Queries
        The query of each row.

    Examples
    --------
    >>> from miserly.metrics import Queries
    >>> loss = WithinQueries(Queries(np.array([1, 1, 2, 2])))
    >>> y, score = np.array([0.0, 2.0, 5.0, 5.0]), np.zeros((4, 1))
    >>> loss.loss(y, score, None), loss.residual(y, score, None).tolist()
    (0.25, [-1.0, 1.0, 0.0, 0.0])
    """

    least_squares = True

    def __init__(self, queries: Queries) -> None:
        self.queries = queries

    def initial(self, y: Floats, weight: Weight) -> Floats:
        return np.array([np.average(y, weights=weight)])

    def loss(self, y: Floats, score: Floats, weight: Weight) -> float:
        return float(np.average(0.5 * self.residual(y, score, weight) ** 2, weights=weight))

    def gradient_hessian(self, y: Floats, score: Floats, weight: Weight) -> tuple[Floats, Floats]:
        hessian = np.ones(score.shape) if weight is None else weight[:, None].copy()
        return -self.residual(y, score, weight)[:, None] * hessian, hessian

    def residual(self, y: Floats, score: Floats, weight: Weight) -> Floats:
        code = self.queries.code
        error = y - score[:, 0]
        weight = np.ones(len(error)) if weight is None else weight
        mean = np.bincount(code, weight * error) / np.bincount(code, weight)
        return np.asarray(error - mean[code])


class LambdaRank(Loss):
    """LambdaRank: pairs of documents of one query, weighted by the change of NDCG if they were swapped.

    The loss is

        mean over queries of  sum_{y_i > y_j} |change of NDCG@k| log(1 + exp(s_j - s_i))

    The change is taken at the current order and held fixed in the derivatives. Where scores are tied it is
    the mean over all orders of the tied documents, so the order of the rows never matters. Pairs with both
    documents below place `k` change nothing and are left out. A query with one document, or whose documents
    all have one grade, gives no gradients. The weight of a query is the mean weight of its documents.

    Parameters
    ----------
    queries : Queries
        The query of each row.
    k : int, default=30
        The number of places of each query that count.

    Examples
    --------
    >>> from miserly.metrics import Queries
    >>> loss = LambdaRank(Queries(np.array([0, 0])))
    >>> round(loss.loss(np.array([1.0, 0.0]), np.array([[0.0], [2.0]]), None), 4)
    0.785
    """

    def __init__(self, queries: Queries, k: int = 30) -> None:
        self.queries = queries
        self.k = k
        self._order = np.argsort(queries.code, kind="stable")  # rows of query q: order[start[q]:start[q + 1]]
        self._start = np.concatenate([[0], np.cumsum(queries.sizes)])

    def initial(self, y: Floats, weight: Weight) -> Floats:
        return np.zeros(1)

    def loss(self, y: Floats, score: Floats, weight: Weight) -> float:
        per_query = pair_loss(y, score[:, 0], self._order, self._start, self.k)
        return float(np.average(per_query, weights=self._query_weight(weight)))

    def gradient_hessian(self, y: Floats, score: Floats, weight: Weight) -> tuple[Floats, Floats]:
        query_weight = self._query_weight(weight)
        if query_weight is None:
            query_weight = np.ones(len(self.queries))
        gradient, hessian = np.zeros(score.shape), np.zeros(score.shape)
        build(pair_gradients)(
            y,
            score[:, 0],
            self._order,
            self._start,
            self.k,
            query_weight,
            gradient[:, 0],
            hessian[:, 0],
        )
        return gradient, hessian

    def total_weight(self, y: Floats, weight: Weight) -> float:
        query_weight = self._query_weight(weight)
        return float(len(self.queries)) if query_weight is None else float(query_weight.sum())

    def _query_weight(self, weight: Weight) -> Weight:
        return None if weight is None else np.bincount(self.queries.code, weight) / self.queries.sizes
