"""Compiled pair sums of lambdarank, query by query.

Documents of a query are put in order of their scores; places that share one score form a *block*. The
discount of a place `r` is ``1 / log2(2 + r)`` above place `k` and 0 below it, so that the change of NDCG@k by
swapping two documents is the difference of their gains times that of their discounts, over the best DCG@k.
Between two blocks the mean over all orders of tied documents is the difference of the blocks' mean
discounts; inside a block it is the mean absolute difference of two of its places.
"""

from __future__ import annotations

import numpy as np

from miserly.utils.compiled import compiled, prange

__all__ = ["pair_gradients", "pair_loss"]


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
def pair_gradients(y, score, order, start, k, query_weight, gradient, hessian):  # type: ignore[no-untyped-def]
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
def pair_loss(y, score, order, start, k):  # type: ignore[no-untyped-def]
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
