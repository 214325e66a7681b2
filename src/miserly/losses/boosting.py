"""What boosting lowers: squared (also within queries), logistic, multinomial, squared hinge, lambdarank.

Every loss is a weighted *mean* over examples (over queries for lambdarank), so that a `tradeoff` means the
same for any number of rows. Scores are arrays (n, K). `gradient_hessian` gives the derivatives of
``total_weight * loss``, row by row, which is what trees sum up; dividing by `total_weight` is left to
whoever compares a gain with a price.
"""

from __future__ import annotations

from typing import ClassVar, TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit, logsumexp

from miserly.grow.compiled import build
from miserly.losses.lambdarank import pair_gradients, pair_loss
from miserly.metrics import Queries

__all__ = ["LambdaRank", "Logistic", "Loss", "Multinomial", "Squared", "SquaredHinge", "WithinQueries"]

Floats: TypeAlias = NDArray[np.float64]
Weight: TypeAlias = NDArray[np.float64] | None


class Loss:
    """What all losses share: one score per row, examples weighted one by one.

    `least_squares` marks losses whose trees are plain regression trees on the `residual` (the second
    derivative is 1 everywhere); `link` says how scores become answers.
    """

    link: ClassVar[str] = "identity"
    least_squares: ClassVar[bool] = False
    n_scores: int = 1

    def initial(self, y: Floats, weight: Weight) -> Floats:
        """The constant scores (K,) to start from: those of least loss."""
        raise NotImplementedError

    def loss(self, y: Floats, score: Floats, weight: Weight) -> float:
        """The weighted mean loss."""
        return float(np.average(self._each(y, score), weights=weight))

    def gradient_hessian(self, y: Floats, score: Floats, weight: Weight) -> tuple[Floats, Floats]:
        """First and second derivatives of ``total_weight * loss`` by each score, two arrays (n, K)."""
        gradient, hessian = self._derivatives(y, score)
        if weight is not None:
            gradient *= weight[:, None]
            hessian *= weight[:, None]
        return gradient, hessian

    def total_weight(self, y: Floats, weight: Weight) -> float:
        """What the mean divides by."""
        return float(len(y)) if weight is None else float(weight.sum())

    def residual(self, y: Floats, score: Floats, weight: Weight) -> Floats:
        """What is left to fit (n,), for a loss of least squares."""
        return y - score[:, 0]

    def _each(self, y: Floats, score: Floats) -> Floats:
        raise NotImplementedError

    def _derivatives(self, y: Floats, score: Floats) -> tuple[Floats, Floats]:
        raise NotImplementedError


class Squared(Loss):
    """``1/2 (y - s)^2``: with the half, the impurity of a tree is in the unit of the loss.

    >>> y, score = np.array([1.0, 3.0]), np.zeros((2, 1))
    >>> Squared().initial(y, None).tolist(), Squared().loss(y, score, None)
    ([2.0], 2.5)
    """

    least_squares = True

    def initial(self, y: Floats, weight: Weight) -> Floats:
        return np.array([np.average(y, weights=weight)])

    def _each(self, y: Floats, score: Floats) -> Floats:
        return 0.5 * (y - score[:, 0]) ** 2

    def _derivatives(self, y: Floats, score: Floats) -> tuple[Floats, Floats]:
        return score - y[:, None], np.ones(score.shape)


class Logistic(Loss):
    """``log(1 + exp(s)) - y s`` for `y` in {0, 1}: the log-loss of the probability ``sigmoid(s)``."""

    link = "logistic"

    def initial(self, y: Floats, weight: Weight) -> Floats:
        share = np.average(y, weights=weight)
        return np.array([np.log(share / (1.0 - share))])

    def _each(self, y: Floats, score: Floats) -> Floats:
        return np.logaddexp(0.0, score[:, 0]) - y * score[:, 0]

    def _derivatives(self, y: Floats, score: Floats) -> tuple[Floats, Floats]:
        positive = expit(score)
        hessian = positive * (1.0 - positive)
        positive -= y[:, None]
        return positive, hessian


class Multinomial(Loss):
    """``logsumexp(s) - s_y`` for `y` in 0..K-1: the log-loss of the softmax of K scores.

    The second derivatives are the diagonal ``p (1 - p)`` times ``K / (K - 1)``. K scores are one too many
    (adding a constant to all changes nothing), so K trees that each take a Newton step on the plain
    diagonal overstep; the factor makes two classes agree with `Logistic`.
    """

    link = "softmax"

    def __init__(self, n_classes: int) -> None:
        self.n_scores = n_classes

    def initial(self, y: Floats, weight: Weight) -> Floats:
        share = np.bincount(y.astype(np.int64), weights=weight, minlength=self.n_scores)
        return np.asarray(np.log(share / share.sum()))

    def _each(self, y: Floats, score: Floats) -> Floats:
        return np.asarray(logsumexp(score, axis=1) - score[np.arange(len(y)), y.astype(np.int64)])

    def _derivatives(self, y: Floats, score: Floats) -> tuple[Floats, Floats]:
        share = np.exp(score - score.max(axis=1, keepdims=True))
        share /= share.sum(axis=1, keepdims=True)
        hessian = share * (1.0 - share)
        hessian *= self.n_scores / (self.n_scores - 1.0)
        share[np.arange(len(y)), y.astype(np.int64)] -= 1.0
        return share, hessian


class SquaredHinge(Loss):
    """``1/2 max(0, 1 - z s)^2`` with ``z = 2 y - 1`` for `y` in {0, 1}.

    The half keeps the second derivative at 1 inside the margin, as for `Squared`; outside it is 0.
    """

    link = "sign"

    def initial(self, y: Floats, weight: Weight) -> Floats:
        # Between -1 and 1 every example is inside its margin, and the loss is the squared one.
        return np.array([np.average(2.0 * y - 1.0, weights=weight)])

    def _each(self, y: Floats, score: Floats) -> Floats:
        return 0.5 * np.maximum(0.0, 1.0 - (2.0 * y - 1.0) * score[:, 0]) ** 2

    def _derivatives(self, y: Floats, score: Floats) -> tuple[Floats, Floats]:
        sign = (2.0 * y - 1.0)[:, None]
        inside = np.maximum(0.0, 1.0 - sign * score)
        return -sign * inside, (inside > 0.0).astype(np.float64)


class WithinQueries(Loss):
    """``1/2 (e - mean of e over the query)^2`` with ``e = y - s``: squared loss on what orders documents.

    A number added to every document of a query changes no order, so it changes no loss either. Plain squared
    loss rewards trees for telling easy queries from hard ones, and a budget goes to features that know the
    query and not the document. The means are weighted; the second derivatives are those of `Squared`, which
    bound the true ones from above.

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
    """Pairs of documents of one query, weighted by what swapping them would change in NDCG at `k`:

        loss = mean over queries of  sum_{y_i > y_j} |change of NDCG@k| log(1 + exp(s_j - s_i))

    The change is taken at the current order and held fixed in the derivatives. Where scores are tied it is
    the mean over all orders of the tied documents, so the order of the rows never matters. Pairs with both
    documents below place `k` change nothing and are left out. A query with one document, or whose documents
    all have one grade, gives no gradients. The weight of a query is the mean weight of its documents.
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
