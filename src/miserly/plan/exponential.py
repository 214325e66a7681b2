"""The exponential, written out in plain operations.

Compiled code, NumPy and single-row stepping give the same bits: the exponentials of different libraries
differ in the last place.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

__all__ = ["exp", "exp_of_float"]

_LOG2E = 1.4426950408889634
_LN2_HIGH = 6.93147180369123816490e-01
_LN2_LOW = 1.90821492927058770002e-10
_FACTORS = (
    1.0 / 479001600.0, 1.0 / 39916800.0, 1.0 / 3628800.0, 1.0 / 362880.0, 1.0 / 40320.0, 1.0 / 5040.0,
    1.0 / 720.0, 1.0 / 120.0, 1.0 / 24.0, 1.0 / 6.0, 0.5, 1.0, 1.0,
)  # fmt: skip


def exp(x: Any) -> Any:
    """The exponential of a float64 array or scalar, to about one unit in the last place.

    Works unchanged under numba. Arguments are clipped to +-700.

    >>> float(exp(np.float64(0.0))), bool(abs(exp(np.float64(1.0)) - np.e) < 1e-15)
    (1.0, True)
    """
    x = np.minimum(np.maximum(x, -700.0), 700.0)
    k = np.rint(x * _LOG2E)
    r = (x - k * _LN2_HIGH) - k * _LN2_LOW
    p = 1.0 / 6227020800.0
    p = p * r + 1.0 / 479001600.0
    p = p * r + 1.0 / 39916800.0
    p = p * r + 1.0 / 3628800.0
    p = p * r + 1.0 / 362880.0
    p = p * r + 1.0 / 40320.0
    p = p * r + 1.0 / 5040.0
    p = p * r + 1.0 / 720.0
    p = p * r + 1.0 / 120.0
    p = p * r + 1.0 / 24.0
    p = p * r + 1.0 / 6.0
    p = p * r + 0.5
    p = p * r + 1.0
    p = p * r + 1.0
    return np.ldexp(p, np.int64(k))


def exp_of_float(x: float) -> float:
    """The same bits as `exp`, for one Python float: a tenth of the time that an array of one takes.

    >>> exp_of_float(1.25) == float(exp(np.float64(1.25)))
    True
    """
    if x != x:
        return x
    x = min(max(x, -700.0), 700.0)
    k = round(x * _LOG2E)
    r = (x - k * _LN2_HIGH) - k * _LN2_LOW
    p = 1.0 / 6227020800.0
    for factor in _FACTORS:
        p = p * r + factor
    return math.ldexp(p, k)
