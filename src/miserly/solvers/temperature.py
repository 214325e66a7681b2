"""Scores of another model as log odds: one slope for the scores of all classes, by log loss.

With the scores x_ik of row i for class k, its class y_i and the weight m_i of the row (mean 1), `class_slope`
minimises over the slope a

    mean_i m_i [log sum_k exp(a x_ik) - a x_iy] + (a d)^2 / (2 V n)

where d is the standard deviation of the scores within a row. 1 / a is known as the temperature. For two
classes and one score x_i, `score_line` minimises the logistic loss of ``a x_i + b`` with the same penalty of
a; d is then the standard deviation of x. The penalty is that of a normal prior of ``a d`` with the variance
V = 100. It matters only if a model is always right, where the loss alone has no minimum.
"""

from __future__ import annotations

from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy.special import logsumexp

__all__ = ["class_slope", "score_line"]

Floats: TypeAlias = NDArray[np.float64]
Ints: TypeAlias = NDArray[np.int64]

VARIANCE = 100.0
MAX_STEPS = 200
CLOSE = 1e-15  # steps that would decrease the objective by less end the search


def class_slope(scores: Floats, y: Ints, weight: Floats | None = None) -> float:
    """Find the slope of the scores of several classes.

    Parameters
    ----------
    scores : array of (n, n_classes)
        The scores of a model.
    y : array of int (n,)
        The class of each row, 0, 1, ...
    weight : array of (n,), optional
        Weights of the rows. By default each row counts the same.

    Returns
    -------
    float
        The slope; 0 if no row has different scores.

    Examples
    --------
    The class with score 1 is right in three of four rows: exp(a) / (exp(a) + 2) = 3 / 4, so exp(a) = 6.

    >>> y = np.tile([0, 0, 0, 1], 10_000)
    >>> round(float(np.exp(class_slope(np.tile([1.0, 0.0, 0.0], (len(y), 1)), y))), 3)
    6.0
    """
    centred = scores - scores.mean(axis=1, keepdims=True)  # changes no probability
    spread = float(np.sqrt(np.average((centred**2).mean(axis=1), weights=weight)))
    if not spread > 0.0:
        return 0.0
    return float(_newton((centred / spread)[:, :, None], y, weight, np.ones(1))[0] / spread)


def score_line(score: Floats, y: Ints, weight: Floats | None = None) -> tuple[float, float]:
    """Find the slope and the intercept that turn one score into the log odds of the second of two classes.

    Parameters
    ----------
    score : array of (n,)
        The scores of a model.
    y : array of int (n,)
        The class of each row, 0 or 1.
    weight : array of (n,), optional
        Weights of the rows. By default each row counts the same.

    Returns
    -------
    slope, intercept : float
        The slope is 0 if all scores are equal.

    Examples
    --------
    Class 1 has the odds 1 / 3 at score 0, and 3 at score 1:

    >>> score = np.repeat([0.0, 1.0], 20_000)
    >>> y = np.concatenate([np.tile([1, 0, 0, 0], 5_000), np.tile([1, 1, 1, 0], 5_000)])
    >>> slope, intercept = score_line(score, y)
    >>> round(float(np.exp(-intercept)), 2), round(float(np.exp(slope + intercept)), 2)
    (3.0, 3.0)
    """
    mean = float(np.average(score, weights=weight))
    spread = float(np.sqrt(np.average((score - mean) ** 2, weights=weight)))
    ready = (score - mean) / spread if spread > 0.0 else np.zeros_like(score)
    second = np.column_stack([ready, np.ones_like(ready)])
    columns = np.stack([np.zeros_like(second), second], axis=1)  # class 0 has the score 0
    slope, intercept = _newton(columns, y, weight, np.array([1.0, 0.0]))
    slope = slope / spread if spread > 0.0 else 0.0
    return float(slope), float(intercept - slope * mean)


def _newton(columns: Floats, y: Ints, weight: Floats | None, penalised: Floats) -> Floats:
    """Weights of columns (n, n_classes, n_weights) by Newton's method with halved steps."""
    n = len(y)
    share = np.full(n, 1.0 / n) if weight is None else weight / weight.sum()
    penalty = penalised / (VARIANCE * n)
    own = columns[np.arange(n), y]

    def value_of(weights: Floats) -> float:
        scores = columns @ weights
        return float(share @ (logsumexp(scores, axis=1) - own @ weights) + 0.5 * penalty @ weights**2)

    weights = np.zeros(len(penalised))
    value = value_of(weights)
    for _ in range(MAX_STEPS):
        scores = columns @ weights
        odds = np.exp(scores - scores.max(axis=1, keepdims=True))
        odds /= odds.sum(axis=1, keepdims=True)
        mean = np.einsum("nk,nkp->np", odds, columns)
        gradient = share @ (mean - own) + penalty * weights
        curvature = np.einsum("n,nk,nkp,nkq->pq", share, odds, columns, columns, optimize=True)
        curvature += np.diag(penalty) - (share[:, None] * mean).T @ mean
        step = np.linalg.lstsq(curvature, -gradient)[0]
        if not -gradient @ step > CLOSE:
            break
        size = 1.0
        while (after := value_of(weights + size * step)) > value and size > CLOSE:
            size *= 0.5
        if after > value:
            break
        weights, value = weights + size * step, after
    return weights
