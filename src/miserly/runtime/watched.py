"""The means that a monitor watches: their limits by the reference, and their values in one receipt."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from miserly.plan import Plan
from miserly.runtime.drift_test import mean_limits, share_limits
from miserly.runtime.reference import Outcome, Reference, Spread, class_number, classes_of

__all__ = ["WATCHED", "Mean", "means_of", "values_of"]

Floats = NDArray[np.float64]
Limits = tuple[float, float, float]  # the expected mean, and its limits

FAILURE_RATE = 0.01  # accepted if neither the user nor the reference gives one
WATCHED = ("price", "tariff", "answers", "failures")


@dataclass(frozen=True, slots=True)
class Mean:
    """One mean that is watched, in one direction.

    Attributes
    ----------
    quantity : str
        One of `WATCHED`.
    what : str
        In words.
    rising : bool
        Whether a mean above the limit, or one below it, is drift.
    limit, most : float
        The limit by the reference, and the largest value.
    expected, lower, upper : float
        The mean in the reference, and its limits.
    kind : {"price", "share", "ratio"}
        How it is printed.
    """

    quantity: str
    what: str
    rising: bool
    limit: float
    most: float
    expected: float
    lower: float
    upper: float
    kind: str


def means_of(plan: Plan, reference: Reference, level: float, failure_rate: float | None) -> list[Mean]:
    """What to watch. The limits of each quantity are all right but with probability `level`."""
    n, costs, ratios = reference.n, reference.costs, reference.ratios
    most = max(plan.max_cost, costs[-1][1])
    means = _both("price", "mean cost", _spread_limits(costs, most, level / 2), most, "price")
    most = 2.0 if ratios is None else max(2.0, ratios[-1][1])
    ratio = (1.0, 1.0, 1.0) if ratios is None else _spread_limits(ratios, most, level / 2)
    means += _both("tariff", "paid over listed price", ratio, most, "ratio")
    if failure_rate is not None or reference.failures is None:
        rate = FAILURE_RATE if failure_rate is None else float(failure_rate)
        failing = (rate, 0.0, rate)
    else:
        failing = (reference.failures / n, *share_limits(reference.failures, reference.failures, n, level))
    means.append(_both("failures", "failure rate", failing, 1.0, "share")[0])
    return means + (_classes(plan, reference, level) if reference.shares else _numbers(reference, level))


def _classes(plan: Plan, reference: Reference, level: float) -> list[Mean]:
    """The share of each class; of two classes, that of the second."""
    means, n, labels, shares = [], reference.n, classes_of(plan), reference.shares or ()
    watched = range(1, 2) if len(labels) == 2 else range(len(labels))
    for i in watched:
        limits = (shares[i] / n, *share_limits(shares[i], shares[i], n, level / (2 * len(watched))))
        means += _both("answers", f"share of {labels[i]!r}", limits, 1.0, "share")
    return means


def _numbers(reference: Reference, level: float) -> list[Mean]:
    """The shares of answers below some answers of the reference.

    Of a new answer, P(below the k-th of n) is at most, and P(at most the k-th) at least, a variable that is
    Beta(k, n + 1 - k), whatever the ties. `share_limits` of k and k - 1 are its quantiles.
    """
    means, n, outputs = [], reference.n, reference.quantiles or ()
    each = level / (2 * max(1, sum(len(places) for places in outputs)))
    for j, places in enumerate(outputs):
        answers = f"answers of output {j}" if len(outputs) > 1 else "answers"
        for k, value in places:
            limits = (k / n, *share_limits(k, k - 1, n, each))
            below, _ = _both("answers", f"share of {answers} below {value:.4g}", limits, 1.0, "share")
            _, above = _both("answers", f"share of {answers} of at most {value:.4g}", limits, 1.0, "share")
            means += [below, above]
    return means


def _both(quantity: str, what: str, limits: Limits, most: float, kind: str) -> list[Mean]:
    """A mean that is watched in both directions."""
    expected, lower, upper = limits
    rest = (most, expected, lower, upper, kind)
    return [Mean(quantity, what, True, upper, *rest), Mean(quantity, what, False, lower, *rest)]


def _spread_limits(spread: Spread, most: float, level: float) -> Limits:
    """Mean and confidence limits of grouped values."""
    counts = [n for _, _, n in spread]
    lower, upper = (np.repeat([group[side] for group in spread], counts) for side in (0, 1))
    order = np.random.default_rng(0).permutation(len(lower))
    mean = float((lower.mean() + upper.mean()) / 2)
    return mean, *mean_limits(lower[order], upper[order], most, level)


def values_of(seen: Outcome, reference: Reference, index: Mapping[Any, int]) -> Floats:
    """One value for each mean of `means_of`. `index` has the number of each class."""
    first = [seen.cost, seen.cost, seen.ratio, seen.ratio, float(seen.failed)]
    if reference.shares is not None:
        chosen = np.zeros(len(index))
        chosen[class_number(index, seen.answer)] = 1.0
        return np.concatenate([first, np.repeat(chosen[1:] if len(chosen) == 2 else chosen, 2)])
    outputs = np.atleast_1d(np.asarray(seen.answer, dtype=np.float64))
    more = [
        float(side)
        for answer, places in zip(outputs.tolist(), reference.quantiles or (), strict=True)
        for _, value in places
        for side in (answer < value, answer <= value)
    ]
    return np.array([*first, *more])
