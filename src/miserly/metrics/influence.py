"""Metrics that are no means over rows, as one number per row: the area under the ROC curve, and F1.

A row's number is the metric, plus how much the row moves it (the empirical influence function). Their mean is
the metric, and the standard error of that mean is the standard error of the metric: for the area this is
DeLong's, for F1 that of the delta method. Differences of two models on the same rows are compared in the same
way, so tests of paired rows hold for these metrics too.
"""

from __future__ import annotations

from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

__all__ = ["area_rows", "centred", "f1_counts", "ratio_rows"]

Floats: TypeAlias = NDArray[np.float64]


def area_rows(positive: NDArray[np.bool_], score: Floats, weight: Floats | None = None) -> Floats:
    """The area under the ROC curve, as one number per row.

    Parameters
    ----------
    positive : array of bool (n,)
        Whether a row is of the positive class.
    score : array of (n,)
        Scores; higher ones say "positive".
    weight : array of (n,), optional
        Weights of the rows.

    Returns
    -------
    array of (n,)
        Numbers whose (weighted) mean is the area. Without weights, their variance divided by their number is
        DeLong's variance of the area [1]_. All are NaN if a class has no row with a weight above zero.

    References
    ----------
    .. [1] E. R. DeLong, D. M. DeLong, D. L. Clarke-Pearson, "Comparing the Areas under Two or More Correlated
       Receiver Operating Characteristic Curves: A Nonparametric Approach", Biometrics 44(3), 1988.

    Examples
    --------
    >>> rows = area_rows(np.array([False, False, True, True]), np.array([0.1, 0.4, 0.35, 0.8]))
    >>> float(rows.mean())
    0.75
    """
    n = len(score)
    weight = np.ones(n) if weight is None else weight
    place = np.unique(score, return_inverse=True)[1]
    sides = [np.where(positive == side, weight, 0.0) for side in (True, False)]
    totals = [float(side.sum()) for side in sides]
    if not min(totals) > 0.0:
        return np.full(n, np.nan)
    of_positive, of_negative = (np.bincount(place, weights=side) for side in sides)
    below = np.cumsum(of_negative) - 0.5 * of_negative
    above = totals[0] - np.cumsum(of_positive) + 0.5 * of_positive
    placement = np.where(positive, below[place] / totals[1], above[place] / totals[0])
    area = float(sides[0] @ placement) / totals[0]
    moved = placement - area
    rows = np.empty(n)
    for mine, total in ((positive, totals[0]), (~positive, totals[1])):
        rows[mine] = area + moved[mine] * (weight.sum() / total) * _exact(int(mine.sum()), n)
    return rows


def _exact(n_side: int, n: int) -> float:
    """The factor that makes the variance of all rows the sum of the variances of the two classes."""
    return float(np.sqrt(n_side / (n_side - 1.0) * (n - 1.0) / n)) if n_side > 1 else 1.0


def f1_counts(truth: NDArray[np.int64], guess: NDArray[np.int64], n_classes: int) -> Floats:
    """What each row adds to the numerators and denominators of F1.

    Parameters
    ----------
    truth : array of int (n,)
        Codes of the true classes.
    guess : array of int (n,)
        Codes of the predicted classes.
    n_classes : int
        Number of classes. For two classes there is one F1, that of the second; else one for each class.

    Returns
    -------
    array of (n, 2, n_scores)
        Twice the true positives, and true plus predicted positives.

    Examples
    --------
    >>> f1_counts(np.array([0, 1, 1]), np.array([1, 1, 0]), 2)[:, :, 0].tolist()
    [[0.0, 1.0], [2.0, 2.0], [0.0, 1.0]]
    """
    wanted = np.array([1]) if n_classes == 2 else np.arange(n_classes)
    true, chosen = truth[:, None] == wanted, guess[:, None] == wanted
    return np.stack([2.0 * (true & chosen), true.astype(np.float64) + chosen], axis=1)


def ratio_rows(counts: Floats, weight: Floats | None = None) -> Floats:
    """The mean of ratios of sums, as one number per row: F1, and its mean over classes.

    Parameters
    ----------
    counts : array of (n, 2, n_scores)
        What each row adds to numerators and denominators.
    weight : array of (n,), optional
        Weights of the rows.

    Returns
    -------
    array of (n,)
        Numbers whose (weighted) mean is the mean of the ratios; ratios of 0 to 0 are left out, and if there
        is no other, all numbers are NaN.

    Examples
    --------
    Two of three rows that are positive, or predicted to be, are wrong:

    >>> counts = f1_counts(np.array([0, 1, 1]), np.array([1, 1, 0]), 2)
    >>> float(ratio_rows(counts).mean())
    0.5
    """
    top, bottom = np.average(counts, axis=0, weights=weight)
    there = bottom > 0.0
    if not there.any():
        return np.full(len(counts), np.nan)
    ratio = top[there] / bottom[there]
    moved = (counts[:, 0, there] - ratio * counts[:, 1, there]) / bottom[there]
    rows: Floats = (ratio + moved).mean(axis=1)
    return rows


def centred(values: Floats, weight: Floats | None) -> Floats:
    """Numbers with weights as numbers without: their plain mean is the weighted one.

    The deviation of each number from the weighted mean is multiplied by its weight. So the standard error of
    the plain mean is that of the weighted mean, as the ratio of two sums that it is.

    Parameters
    ----------
    values : array of (n,)
        Numbers, NaN where there is none.
    weight : array of (n,) or None
        Weights. None changes nothing.

    Returns
    -------
    array of (n,)
        The numbers.

    Examples
    --------
    >>> centred(np.array([1.0, 0.0, 0.0]), np.array([4.0, 2.0, 2.0])).tolist()
    [1.25, 0.125, 0.125]
    """
    if weight is None:
        return values
    known = ~np.isnan(values)
    if not known.any() or not weight[known].any():
        return np.full(len(values), np.nan)
    mean = np.average(values[known], weights=weight[known])
    moved: Floats = mean + weight / weight[known].mean() * (values - mean)
    return moved
