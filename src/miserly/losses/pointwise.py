"""Losses of independent rows: for classes, which are numbered 0, 1, 2, ..., and for numbers."""

from __future__ import annotations

import numpy as np
from scipy.special import expit, logsumexp

from miserly.losses.base import Floats, PointwiseLoss, Weight
from miserly.losses.kernels import LOGISTIC, SQUARED, SQUARED_HINGE

__all__ = ["Logistic", "MeanSquared", "Multinomial", "Squared", "SquaredHinge", "log_loss"]


# -- classes -------------------------------------------------------------------------------------------------


class Logistic(PointwiseLoss):
    """``log(1 + exp(s)) - y s`` for `y` in {0, 1}: the log loss of the probability ``sigmoid(s)``.

    Examples
    --------
    >>> round(Logistic().loss(np.array([0.0, 1.0]), np.zeros((2, 1)), None), 4)
    0.6931
    """

    link = "logistic"
    kernel = LOGISTIC
    max_curvature = 0.25

    def initial(self, y: Floats, weight: Weight) -> Floats:
        share = np.average(y, weights=weight)
        return np.array([np.log(share / (1.0 - share))])

    def each(self, y: Floats, score: Floats) -> Floats:
        return np.asarray(np.logaddexp(0.0, score[:, 0]) - y * score[:, 0])

    def gradient(self, y: Floats, score: Floats) -> Floats:
        return np.asarray(expit(score) - y[:, None])

    def curvature(self, y: Floats, score: Floats) -> Floats:
        positive = expit(score[:, 0])
        return np.asarray(positive * (1.0 - positive))

    def _newton(self, y: Floats, score: Floats) -> tuple[Floats, Floats]:
        positive = expit(score)  # once for both derivatives
        hessian = positive * (1.0 - positive)
        positive -= y[:, None]
        return positive, hessian


class Multinomial(PointwiseLoss):
    """``logsumexp(s) - s_y`` for `y` in 0..K-1: the log loss of the softmax of K scores.

    For trees, `gradient_hessian` gives the diagonal ``p (1 - p)`` times ``K / (K - 1)``. K scores are one too
    many (adding a constant to all changes nothing), so K trees that each take a Newton step on the plain
    diagonal overstep; the factor makes two classes agree with `Logistic`.

    Parameters
    ----------
    n_classes : int
        The number of classes, K.

    Examples
    --------
    >>> round(Multinomial(3).loss(np.array([0.0, 2.0]), np.zeros((2, 3)), None), 4)
    1.0986
    """

    link = "softmax"
    max_curvature = 0.5

    def __init__(self, n_classes: int) -> None:
        self.n_scores = n_classes

    def initial(self, y: Floats, weight: Weight) -> Floats:
        share = np.bincount(y.astype(np.int64), weights=weight, minlength=self.n_scores)
        return np.asarray(np.log(share / share.sum()))

    def loss(self, y: Floats, score: Floats, weight: Weight) -> float:
        # SciPy's sum keeps more digits where one class is nearly sure. `each`, which solvers call in every
        # step, takes the plain sum.
        each = logsumexp(score, axis=1) - _of_class(score, y)
        return float(np.average(each, weights=weight))

    def each(self, y: Floats, score: Floats) -> Floats:
        highest = score.max(axis=1)
        total = np.exp(score - highest[:, None]).sum(axis=1)
        return np.asarray(np.log(total) + highest - _of_class(score, y))

    def gradient(self, y: Floats, score: Floats) -> Floats:
        share = _softmax(score)
        share[np.arange(len(y)), y.astype(np.int64)] -= 1.0
        return share

    def curvature(self, y: Floats, score: Floats) -> Floats:
        share = _softmax(score)
        return np.asarray((share * (1.0 - share)).mean(axis=1))

    def hessian(self, y: Floats, score: Floats) -> Floats:
        share = _softmax(score)
        return np.asarray(share[:, :, None] * (np.eye(score.shape[1]) - share[:, None, :]))

    def _newton(self, y: Floats, score: Floats) -> tuple[Floats, Floats]:
        share = _softmax(score)
        hessian = np.subtract(1.0, share)
        hessian *= share
        hessian *= self.n_scores / (self.n_scores - 1.0)
        share[np.arange(len(y)), y.astype(np.int64)] -= 1.0
        return share, hessian


class SquaredHinge(PointwiseLoss):
    """``1/2 max(0, 1 - z s)^2`` with ``z = 2 y - 1`` for `y` in {0, 1}.

    The half keeps the second derivative at 1 inside the margin, as for `Squared`; outside it is 0.

    Examples
    --------
    >>> SquaredHinge().each(np.array([1.0, 0.0]), np.array([[0.5], [3.0]])).tolist()
    [0.125, 8.0]
    """

    link = "sign"
    kernel = SQUARED_HINGE
    max_curvature = 1.0

    def initial(self, y: Floats, weight: Weight) -> Floats:
        # Between -1 and 1 every row is inside its margin, and the loss is the squared one.
        return np.array([np.average(2.0 * y - 1.0, weights=weight)])

    def each(self, y: Floats, score: Floats) -> Floats:
        return 0.5 * _inside(y, score)[:, 0] ** 2

    def gradient(self, y: Floats, score: Floats) -> Floats:
        return -(2.0 * y - 1.0)[:, None] * _inside(y, score)

    def curvature(self, y: Floats, score: Floats) -> Floats:
        return (_inside(y, score)[:, 0] > 0.0).astype(np.float64)


def log_loss(n_classes: int) -> Logistic | Multinomial:
    """Return the log loss of so many classes: one score for two of them, one score each for more.

    Parameters
    ----------
    n_classes : int
        The number of classes, 2 or more.

    Returns
    -------
    Logistic or Multinomial
        The loss.

    Examples
    --------
    >>> log_loss(2).n_scores, log_loss(3).n_scores
    (1, 3)
    """
    return Logistic() if n_classes == 2 else Multinomial(n_classes)


def _softmax(score: Floats) -> Floats:
    share = score - score.max(axis=1, keepdims=True)
    np.exp(share, out=share)
    share /= share.sum(axis=1, keepdims=True)
    return np.asarray(share)


def _of_class(score: Floats, y: Floats) -> Floats:
    """The score of each row's own class."""
    return score[np.arange(len(y)), y.astype(np.int64)]


def _inside(y: Floats, score: Floats) -> Floats:
    """How far each row is inside the margin."""
    return np.maximum(0.0, 1.0 - (2.0 * y - 1.0)[:, None] * score)


# -- numbers -------------------------------------------------------------------------------------------------


class Squared(PointwiseLoss):
    """``1/2 (y - s)^2``, one score per row.

    With the half, the impurity of a regression tree is in the unit of the loss.

    Examples
    --------
    >>> y, score = np.array([1.0, 3.0]), np.zeros((2, 1))
    >>> Squared().initial(y, None).tolist(), Squared().loss(y, score, None)
    ([2.0], 2.5)
    """

    least_squares = True
    kernel = SQUARED
    max_curvature = 1.0

    def initial(self, y: Floats, weight: Weight) -> Floats:
        return np.array([np.average(y, weights=weight)])

    def each(self, y: Floats, score: Floats) -> Floats:
        return 0.5 * (y - score[:, 0]) ** 2

    def gradient(self, y: Floats, score: Floats) -> Floats:
        return score - y[:, None]

    def curvature(self, y: Floats, score: Floats) -> Floats:
        return np.ones(len(score))


class MeanSquared(PointwiseLoss):
    """``mean over k of (y_k - s_k)^2`` for targets (n, K): no factor 1/2, and a mean over the scores.

    CSTC and CSCC minimise this one, as their papers do. With one score it is twice `Squared`.

    Parameters
    ----------
    n_scores : int, default=1
        The number of scores per row.

    Examples
    --------
    >>> MeanSquared().each(np.zeros((2, 1)), np.array([[1.0], [3.0]])).tolist()
    [1.0, 9.0]
    """

    least_squares = True

    def __init__(self, n_scores: int = 1) -> None:
        self.n_scores = n_scores
        self.max_curvature = 2.0 / n_scores

    def initial(self, y: Floats, weight: Weight) -> Floats:
        return np.asarray(np.average(y, axis=0, weights=weight))

    def each(self, y: Floats, score: Floats) -> Floats:
        return np.asarray(((score - y) ** 2).mean(axis=1))

    def gradient(self, y: Floats, score: Floats) -> Floats:
        return np.asarray((2.0 / score.shape[1]) * (score - y))

    def curvature(self, y: Floats, score: Floats) -> Floats:
        return np.full(len(score), 2.0 / score.shape[1])

    def residual(self, y: Floats, score: Floats, weight: Weight) -> Floats:
        return y - score
