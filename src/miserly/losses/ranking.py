"""Losses for the documents of queries: squared error within queries, and LambdaRank."""

from __future__ import annotations

import numpy as np

from miserly.grow.compiled import build
from miserly.losses.base import Floats, Loss, Weight
from miserly.metrics import Queries
from miserly.utils.compiled import compiled, prange

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
        per_query = _pair_loss(y, score[:, 0], self._order, self._start, self.k)
        return float(np.average(per_query, weights=self._query_weight(weight)))

    def gradient_hessian(self, y: Floats, score: Floats, weight: Weight) -> tuple[Floats, Floats]:
        query_weight = self._query_weight(weight)
        if query_weight is None:
            query_weight = np.ones(len(self.queries))
        gradient, hessian = np.zeros(score.shape), np.zeros(score.shape)
        build(_pair_gradients)(
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


# -- pair sums of LambdaRank, compiled ---------------------------------------------------------------------

# Documents of a query are put in order of their scores; places that share one score form a *block*. The
# discount of a place `r` is ``1 / log2(2 + r)`` above place `k` and 0 below it, so that the change of NDCG@k
# by swapping two documents is the difference of their gains times that of their discounts, over the best
# DCG@k. Between two blocks the mean over all orders of tied documents is the difference of the blocks' mean
# discounts; inside a block it is the mean absolute difference of two of its places.


@compiled()
def _discount(place, k):  # type: ignore[no-untyped-def]
    return 1.0 / np.log2(2.0 + place) if place < k else 0.0


@compiled()
def _best_dcg(gains, k):  # type: ignore[no-untyped-def]
    best = np.sort(gains)[::-1]
    total = 0.0
    for place in range(min(k, best.shape[0])):
        total += best[place] * _discount(place, k)
    return total


@compiled()
def _blocks(ordered, k):  # type: ignore[no-untyped-def]
    """Of each place: the mean discount of its block, the mean difference inside it, where it ends."""
    n = ordered.shape[0]
    mean, inside, end = np.empty(n), np.empty(n), np.empty(n, np.int64)
    first = 0
    while first < n:
        last = first + 1
        while last < n and ordered[last] == ordered[first]:
            last += 1
        size = last - first
        total, spread = 0.0, 0.0
        for place in range(first, last):
            discount = _discount(place, k)
            total += discount
            spread += discount * (size - 1 - 2 * (place - first))
        for place in range(first, last):
            mean[place] = total / size
            inside[place] = 2.0 * spread / (size * (size - 1.0)) if size > 1 else 0.0
            end[place] = last
        first = last
    return mean, inside, end


@compiled()
def _prepare(y, score, rows, k):  # type: ignore[no-untyped-def]
    """The rows of one query in order of score, their gains over the best DCG (0 if there is none), blocks."""
    order = rows[np.argsort(-score[rows], kind="mergesort")]
    gain = 2.0 ** y[order] - 1.0
    best = _best_dcg(gain, k)
    if best > 0.0:
        gain /= best
    else:
        gain[:] = 0.0
    mean, inside, end = _blocks(score[order], k)
    return order, gain, mean, inside, end


@compiled()
def _change(a, b, gain, mean, inside, end):  # type: ignore[no-untyped-def]
    """The mean change of NDCG if the documents at places a < b were swapped."""
    return abs(gain[a] - gain[b]) * (inside[a] if b < end[a] else mean[a] - mean[b])


@compiled(parallel=True)
def _pair_gradients(y, score, order, start, k, query_weight, gradient, hessian):  # type: ignore[no-untyped-def]
    """Add the derivatives of every query's pairs to `gradient` and `hessian`.

    No two queries share a row, so they can be done side by side with the same result.
    """
    for q in prange(start.shape[0] - 1):
        rows, gain, mean, inside, end = _prepare(y, score, order[start[q] : start[q + 1]], k)
        for a in range(rows.shape[0]):
            if mean[a] == 0.0:
                break  # this block and all that follow lie below place k
            for b in range(a + 1, rows.shape[0]):
                if gain[a] == gain[b]:
                    continue
                change = _change(a, b, gain, mean, inside, end) * query_weight[q]
                high, low = (rows[a], rows[b]) if gain[a] > gain[b] else (rows[b], rows[a])
                wrong = 1.0 / (1.0 + np.exp(score[high] - score[low]))
                gradient[high] -= change * wrong
                gradient[low] += change * wrong
                hessian[high] += change * wrong * (1.0 - wrong)
                hessian[low] += change * wrong * (1.0 - wrong)


@compiled()
def _pair_loss(y, score, order, start, k):  # type: ignore[no-untyped-def]
    """The loss of each query."""
    losses = np.zeros(start.shape[0] - 1)
    for q in range(start.shape[0] - 1):
        rows, gain, mean, inside, end = _prepare(y, score, order[start[q] : start[q + 1]], k)
        for a in range(rows.shape[0]):
            if mean[a] == 0.0:
                break
            for b in range(a + 1, rows.shape[0]):
                if gain[a] == gain[b]:
                    continue
                high, low = (rows[a], rows[b]) if gain[a] > gain[b] else (rows[b], rows[a])
                difference = score[low] - score[high]
                soft = max(difference, 0.0) + np.log1p(np.exp(-abs(difference)))
                losses[q] += _change(a, b, gain, mean, inside, end) * soft
    return losses
