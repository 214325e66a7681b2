"""Means over units, their standard errors, and 95 % intervals."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy import stats

__all__ = ["PLAIN", "IntervalShape", "interval", "mean_and_error"]

Floats: TypeAlias = NDArray[np.float64]

_NO_ERROR = 1e-12  # standard errors and distances from 0 or 1 that are rounding
_WIDTH = 1.96  # standard errors on each side of a 95 % interval


@dataclass(frozen=True)
class IntervalShape:
    """How an interval is made of a mean and its standard error.

    Attributes
    ----------
    is_logit : bool
        Whether the interval is made for the logarithm of the odds, and turned back. A share near 1 then has a
        longer lower side, and no end beyond 0 or 1.
    freedom : float
        Degrees of freedom of Student's distribution; infinite for the normal one.
    """

    is_logit: bool = False
    freedom: float = np.inf

    def ends(self, mean: float, error: float) -> tuple[float, float]:
        """The ends of the 95 % interval.

        >>> IntervalShape().ends(0.9, 0.1)
        (0.704, 1.096)
        >>> low, high = IntervalShape(is_logit=True, freedom=19.0).ends(0.9, 0.05)
        >>> round(low, 3), round(high, 3)
        (0.738, 0.966)

        If the metric is 1, the standard error is 0. The interval is then that of a share of 1 among as many
        independent rows as the rarest class has:

        >>> low, high = IntervalShape(is_logit=True, freedom=19.0).ends(1.0, 0.0)
        >>> round(low, 3), high  # 0.025 ** (1 / 20)
        (0.832, 1.0)
        """
        if self.is_logit and error <= _NO_ERROR and (mean <= _NO_ERROR or mean >= 1.0 - _NO_ERROR):
            far = 0.0 if np.isinf(self.freedom) else 1.0 - 0.025 ** (1.0 / (self.freedom + 1.0))
            return max(mean - far, 0.0), min(mean + far, 1.0)
        width = _WIDTH if np.isinf(self.freedom) else float(stats.t.ppf(0.975, self.freedom))
        if not self.is_logit or not 0.0 < mean < 1.0:
            return mean - width * error, mean + width * error
        odds, far = mean / (1.0 - mean), float(np.exp(width * error / (mean * (1.0 - mean))))
        return odds / (odds + far), odds * far / (1.0 + odds * far)


PLAIN = IntervalShape()


def mean_and_error(values: Floats) -> tuple[float, float]:
    """The mean over units and its standard error; units without a value do not count."""
    known = values[~np.isnan(values)]
    error = known.std(ddof=1) / np.sqrt(len(known)) if len(known) > 1 else np.nan
    return float(known.mean()), float(error)


def interval(name: str, mean: float, error: float, shape: IntervalShape = PLAIN) -> Mapping[str, float]:
    """A mean with the ends of its 95 % interval, as in tables."""
    low, high = shape.ends(mean, error)
    return {name: mean, f"{name}_low": low, f"{name}_high": high}
