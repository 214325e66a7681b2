"""A sequential test of many means at once that holds at every look, and limits for means of a reference.

The hypothesis is that a mean is at most `limit` (or, the other way round, at least). A player bets against it
before each value: a stake s turns capital c into c (1 + s (value - limit)). If the hypothesis is true, the
capital is a supermartingale for every stake, so it ever reaches 1 / level with probability at most `level`
(Ville's inequality), however often one looks.

The capital of 1 is divided among stakes, each half of the one before, because the size of a change is not
known. And it is divided among times, because the time of a change is not known: half of it is bet from the
first value on, and a share of the rest is added before each value, less and less as time goes on. So there is
still capital to bet with after a long time without a change.

The limits of a reference sample of m values hold with a stated probability as well: exactly for shares
(Clopper and Pearson), by betting for other means. What they leave is charged to the same level. The fewer
values the reference has, the larger a change must be to be noticed.

References
----------
I. Waudby-Smith and A. Ramdas. Estimating means of bounded random variables by betting. Journal of the Royal
Statistical Society B, 2024. J. Shin, A. Ramdas and A. Rinaldo. E-detectors: a nonparametric framework for
sequential change detection. New England Journal of Statistics in Data Science, 2024.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["DriftTest", "mean_limits", "share_limits"]

Floats = NDArray[np.float64]

N_STAKES = 12
MOST = 0.9  # the share of its capital that one value may take
AT_ONCE = 0.5  # the share of the capital that is bet from the first value on
SPAN = 2000.0  # about equally much is added after each of so many values, then less and less
CEILING = 1e200  # of the capital; beyond it nothing more is to be shown
_STEPS = 60  # of a bisection


# -- limits of a reference -----------------------------------------------------------------------------------


def share_limits(low: int, high: int, n: int, level: float) -> tuple[float, float]:
    """Exact confidence limits of a share: the lower one for `low` of `n`, the upper one for `high` of `n`.

    Each is wrong with probability at most `level`.

    >>> [round(limit, 4) for limit in share_limits(10, 10, 200, 0.025)]
    [0.0242, 0.09]
    """
    return 1.0 - _upper_share(n - low, n, level), _upper_share(high, n, level)


def _upper_share(count: int, n: int, level: float) -> float:
    """The largest p for which at most `count` of `n` have a probability of `level` or more."""
    if count >= n:
        return 1.0
    k = np.arange(count + 1)
    logs = np.concatenate([[0.0], np.cumsum(np.log(np.arange(1, n + 1)))])
    choices = logs[n] - logs[k] - logs[n - k]

    def is_within(p: float) -> bool:
        terms = choices + k * math.log(p) + (n - k) * math.log1p(-p)
        top = float(terms.max())
        return top + math.log(float(np.exp(terms - top).sum())) >= math.log(level)

    return _bisect(is_within, max(count, 0.5) / (n + 1), 1.0)


def _bisect(is_within: Callable[[float], bool], low: float, high: float) -> float:
    """Where a condition that holds at `low` ends; the side where it does not hold."""
    if not is_within(low):
        return low
    for _ in range(_STEPS):
        middle = 0.5 * (low + high)
        if is_within(middle):
            low = middle
        else:
            high = middle
    return high


def mean_limits(lower: Floats, upper: Floats, most: float, level: float) -> tuple[float, float]:
    """Confidence limits of a mean of values in [0, most]; each is wrong with probability at most `level`.

    `lower` and `upper` are the values rounded down and up, in a random order.

    >>> values = np.tile([1.0, 3.0], 500)
    >>> [round(limit, 2) for limit in mean_limits(values, values, 5.0, 0.025)]
    [1.91, 2.09]
    """
    if most <= 0.0 or not len(upper):
        return 0.0, most
    return most - _upper_mean(most - lower, most, level), _upper_mean(upper, most, level)


def _upper_mean(values: Floats, most: float, level: float) -> float:
    """The least mean that the values refute, with all stakes fixed before the value they are bet on."""
    shares = values / most
    n = len(shares)
    seen = np.arange(1, n + 1)
    means = (0.5 + np.cumsum(shares)) / (seen + 1)
    variances = (0.25 + np.cumsum((shares - means) ** 2)) / (seen + 1)
    before = np.concatenate([[0.25], variances[:-1]])
    goal = -math.log(level)
    stakes = np.minimum(np.sqrt(2.0 * goal / (n * before)), MOST)

    def is_within(mean: float) -> bool:
        return float(np.log1p(stakes * (mean - shares)).sum()) < goal

    mean = float(shares.mean())
    return most * _bisect(is_within, mean, 1.0) if is_within(1.0) is False else most


# -- the test ------------------------------------------------------------------------------------------------


class DriftTest:
    """Bets against several hypotheses of the kind "this mean is at most `limit`", or at least.

    Parameters
    ----------
    limits : array of (..., k)
        The limit of each mean. Leading axes are independent streams.
    rising : bool array of (k,)
        Whether the alternative is that the mean is above its limit, or below it.
    most : array of (..., k)
        The largest possible values. Only those with a falling alternative need it; larger values count as
        much.

    Attributes
    ----------
    n : int
        How many values there were.
    capital : array of (..., k, N_STAKES)
        What each stake has made of a capital of 1.

    Examples
    --------
    >>> test = DriftTest(np.array([0.5]), np.array([True]), np.array([1.0]))
    >>> for _ in range(20):
    ...     test.add(np.array([1.0]))
    >>> bool(test.evidence[0] > 1000), test.since(0)
    (True, (0, 20, 20.0, 20.0))
    """

    _STATE = ("capital", "_score", "_start", "_total", "_squares")

    def __init__(self, limits: Floats, rising: NDArray[np.bool_], most: Floats) -> None:
        self._limits, self._most = limits, np.broadcast_to(most, limits.shape)
        self._signs = np.where(rising, 1.0, -1.0)
        room = np.where(rising, limits, self._most - limits)  # how far a value can be on the wrong side
        can_change = np.where(rising, limits < self._most, limits > 0.0) | (self._most <= 0.0)
        largest = np.where(can_change, MOST / np.maximum(room, 1e-300), 0.0)
        self._stakes = (
            self._signs[:, None] * np.minimum(largest, 1e12)[..., None] * 0.5 ** np.arange(N_STAKES)
        )
        self.n = 0
        shape = self._stakes.shape
        self.capital = np.zeros(shape)
        self._score, self._total, self._squares = np.zeros(shape), np.zeros(shape), np.zeros(shape)
        self._start = np.zeros(shape, dtype=np.int64)

    def add(self, values: Floats) -> None:
        """Take one value of each mean, (..., k)."""
        values = np.where(self._signs > 0, values, np.minimum(values, self._most))
        gains = 1.0 + self._stakes * (values - self._limits)[..., None]
        np.minimum((self.capital + _added(self.n)) * gains, CEILING, out=self.capital)
        # The change, if there is one, began where the sum of logarithms was last below 0.
        again = self._score <= 0.0
        self._score = np.where(again, 0.0, self._score) + np.log(gains)
        self._start = np.where(again, self.n, self._start)
        self._total = np.where(again, 0.0, self._total) + values[..., None]
        self._squares = np.where(again, 0.0, self._squares) + (values**2)[..., None]
        self.n += 1

    @property
    def evidence(self) -> Floats:
        """The capital of each hypothesis, (..., k): 1 / p is reached with probability p if it is true."""
        found: Floats = self.capital.mean(axis=-1)
        return found

    def since(self, k: int) -> tuple[int, int, float, float]:
        """Estimate when mean `k` changed: values before it, values since, their sum and sum of squares."""
        best = int(self.capital[k].argmax())
        start = int(self._start[k, best])
        return start, self.n - start, float(self._total[k, best]), float(self._squares[k, best])

    def to_dict(self) -> dict[str, Any]:
        """The state in plain values."""
        return {"n": self.n, **{name.strip("_"): getattr(self, name).tolist() for name in self._STATE}}

    def restore(self, record: dict[str, Any]) -> None:
        """Go on from the state of `to_dict`."""
        self.n = int(record["n"])
        for name in self._STATE:
            old = getattr(self, name)
            setattr(self, name, np.array(record[name.strip("_")], dtype=old.dtype).reshape(old.shape))


def _added(n: int) -> float:
    """The share of the capital that is added after `n` values; they sum to 1."""
    if n == 0:
        return AT_ONCE
    return (1.0 - AT_ONCE) * ((1.0 + (n - 1) / SPAN) ** -0.5 - (1.0 + n / SPAN) ** -0.5)
