"""Calibration: one factor that turns scores of least squares into scores of probabilities."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize_scalar

from miserly.losses import log_loss

__all__ = ["steepness_of"]

LEAST, MOST = 0.1, 30.0


def steepness_of(
    scores: NDArray[np.float64], codes: NDArray[Any], weight: NDArray[np.float64] | None
) -> float:
    """The factor of scores (n, C) for which their logistic (C = 1) or softmax has the least log-loss.

    Being one positive factor, it changes no label. It is kept between 0.1 and 30.

    >>> scores = np.array([[-0.5], [-0.5], [-0.5], [0.5], [0.5], [0.5]])
    >>> round(steepness_of(scores, np.array([0, 0, 1, 1, 1, 0]), None), 2)  # two of three: log 2 / 0.5
    1.39
    """
    n_scores = scores.shape[1]
    loss = log_loss(max(2, n_scores))

    def loss_of(log_factor: float) -> float:
        return loss.loss(codes, np.exp(log_factor) * scores, weight)

    found = minimize_scalar(loss_of, bounds=(np.log(LEAST), np.log(MOST)), method="bounded")
    return float(np.exp(found.x))
