"""Losses for numbers: squared errors."""

from __future__ import annotations

import numpy as np

from miserly.losses.base import Floats, PointwiseLoss, Weight

__all__ = ["MeanSquared", "Squared"]


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
