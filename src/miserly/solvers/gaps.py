"""Thresholds in gaps between scores: where a gate divides rows, and no rounding error moves a row across."""

from __future__ import annotations

from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

__all__ = ["exit_threshold", "gap_threshold"]

Floats: TypeAlias = NDArray[np.float64]

SAME = 1e-9  # of the range (or of its own size): scores that differ by less are one score
DIGITS = 9  # of the shares that `exit_threshold` compares


def gap_threshold(
    scores: Floats,
    weight: Floats | None = None,
    share: float = 0.5,
    *,
    total: float | None = None,
    digits: int | None = None,
    by_size: bool = False,
) -> float:
    """The middle of the gap between distinct scores below which there is about a `share` of the weight.

    A quantile of scores with few values is one of them, and a threshold there depends on rounding errors.

    Parameters
    ----------
    scores : array of (n,)
    weight : array of (n,), optional
        1 each by default.
    share : float, default=0.5
        The share of the weight wanted below the threshold.
    total : float, optional
        What it is a share of; by default the weights added up in the order of the scores.
    digits : int, optional
        To how many digits shares are compared, so that of two gaps that are equally near the lower one is
        taken. By default rounding errors may decide.
    by_size : bool, default=False
        Whether distinct scores differ by more than a billionth of their own size, and not of the range of all
        scores.

    Returns
    -------
    float
        Minus infinity where there is no gap; with `digits`, also where no weight below the threshold is
        nearer to `share` than any gap.

    Examples
    --------
    >>> gap_threshold(np.array([0.0, 1.0, 1.0, 1.0, 4.0]))
    0.5
    >>> gap_threshold(np.array([0.0, 1.0, 1.0, 1.0, 4.0]), share=0.7)
    2.5
    >>> gap_threshold(np.ones(5))
    -inf
    """
    order = np.argsort(scores, kind="stable")
    ordered = scores[order]
    below = np.arange(1.0, len(scores) + 1.0) if weight is None else np.cumsum(weight[order])
    whole = float(below[-1]) if total is None else total
    size = 1.0 + np.abs(ordered[1:]) if by_size else ordered[-1] - ordered[0]
    gaps = np.flatnonzero(np.diff(ordered) > SAME * size)
    if not len(gaps):
        return -np.inf
    if digits is None:
        best = gaps[np.abs(below[gaps] - share * whole).argmin()]
    else:
        distance = np.abs(below[gaps] / whole - share).round(digits)
        if round(share, digits) <= distance.min():
            return -np.inf
        best = gaps[distance.argmin()]
    return float(0.5 * (ordered[best] + ordered[best + 1]))


def exit_threshold(scores: Floats, mass: Floats, leaving: float) -> float:
    """The threshold of a stage at which about a share `leaving` of the mass leaves.

    Minus infinity where letting no row leave is nearer to that share than any gap.

    >>> exit_threshold(np.array([0.0, 1.0, 1.0, 2.0]), np.ones(4), leaving=0.3)
    0.5
    >>> exit_threshold(np.ones(4), np.ones(4), leaving=0.3)
    -inf
    """
    return gap_threshold(scores, mass, leaving, total=float(mass.sum()), digits=DIGITS, by_size=True)
