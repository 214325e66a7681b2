"""Losses of linear scores (n, C), row by row: squared, logistic, multinomial.

Targets have the shape of the scores: numbers, or 1 and -1, for the squared loss; 0 and 1 for the others. The
squared loss has no factor 1/2 and is a mean over the C scores of a row.
"""

from __future__ import annotations

from typing import ClassVar, TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit

__all__ = ["LinearLoss", "Logistic", "Multinomial", "Squared"]

Floats: TypeAlias = NDArray[np.float64]


class LinearLoss:
    """What the solvers need of a loss. `quadratic` marks the one that a single linear solve minimises."""

    quadratic: ClassVar[bool] = False

    def each(self, score: Floats, target: Floats) -> Floats:
        """The loss of each row (n,)."""
        raise NotImplementedError

    def gradient(self, score: Floats, target: Floats) -> Floats:
        """Derivatives by the scores (n, C)."""
        raise NotImplementedError

    def curvature(self, score: Floats) -> Floats:
        """Second derivatives, about: one number per row (n,) for all its scores."""
        raise NotImplementedError

    def hessian(self, score: Floats) -> Floats:
        """Second derivatives in full (n, C, C)."""
        curvature = self.curvature(score)
        return np.asarray(curvature[:, None, None] * np.eye(score.shape[1]))


class Squared(LinearLoss):
    """``mean over c of (score_c - target_c)^2``.

    >>> Squared().each(np.array([[1.0], [3.0]]), np.zeros((2, 1))).tolist()
    [1.0, 9.0]
    """

    quadratic = True

    def each(self, score: Floats, target: Floats) -> Floats:
        return np.asarray(((score - target) ** 2).mean(axis=1))

    def gradient(self, score: Floats, target: Floats) -> Floats:
        return np.asarray((2.0 / score.shape[1]) * (score - target))

    def curvature(self, score: Floats) -> Floats:
        return np.full(len(score), 2.0 / score.shape[1])


class Logistic(LinearLoss):
    """``log(1 + exp(score)) - target * score`` with one score and targets 0 and 1."""

    def each(self, score: Floats, target: Floats) -> Floats:
        return np.asarray((np.logaddexp(0.0, score) - target * score)[:, 0])

    def gradient(self, score: Floats, target: Floats) -> Floats:
        return np.asarray(expit(score) - target)

    def curvature(self, score: Floats) -> Floats:
        share = expit(score[:, 0])
        return np.asarray(share * (1.0 - share))


class Multinomial(LinearLoss):
    """``logsumexp(score) - score of the row's class``; targets are 1 for that class and 0 for the others."""

    def each(self, score: Floats, target: Floats) -> Floats:
        highest = score.max(axis=1)
        total = np.exp(score - highest[:, None]).sum(axis=1)
        return np.asarray(np.log(total) + highest - (score * target).sum(axis=1))

    def gradient(self, score: Floats, target: Floats) -> Floats:
        return _shares(score) - target

    def curvature(self, score: Floats) -> Floats:
        share = _shares(score)
        return np.asarray((share * (1.0 - share)).mean(axis=1))

    def hessian(self, score: Floats) -> Floats:
        share = _shares(score)
        return np.asarray(share[:, :, None] * (np.eye(score.shape[1]) - share[:, None, :]))


def _shares(score: Floats) -> Floats:
    """The softmax of each row."""
    share = np.exp(score - score.max(axis=1, keepdims=True))
    return np.asarray(share / share.sum(axis=1, keepdims=True))
