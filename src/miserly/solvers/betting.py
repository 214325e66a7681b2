"""The test of a mean by betting.

The hypothesis of the test is that a mean is `limit` or more. Values are in [0, upper]. A player starts with
capital 1 and bets before each value that it is below `limit`: a stake s turns capital c into
c (1 + s (limit - value)). If the mean is `limit` or more, the capital is a supermartingale for all stakes and
all distributions, so it reaches 1 / level with probability at most `level` (Ville's inequality). The
hypothesis is rejected if it does, and this test holds for every n.

The stakes decide only the power of the test. Here they hedge a bet that pays 1 / level or nothing after the
last value: with a share p of that capital reached, k values to come and their standard deviation d, the
stake is pdf(q) / (p d sqrt(k)), where q is the normal quantile of p. For many values the test is close to the
one-sided z-test: for 1,000 uniform values the margin is 6 % larger. The stakes of Waudby-Smith and Ramdas
(2024), which do not depend on p, need 25 % more.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri

from miserly.utils.compiled import compiled

__all__ = ["PRIOR", "lowest_limit", "outbids"]

Floats = NDArray[np.float64]

AIM = 0.95  # play for 1 / AIM of what is needed: near the goal stakes of the rule vanish
MOST = 0.9  # the share of its capital that a value of `upper` may take away
PRIOR = 4.0  # the variance starts as if so many values had been 0 or `upper`: rare expensive rows come late

_LEAST = -40.0  # logarithms of p in the table of stakes
_PER_UNIT = 50


def _stake_table() -> Floats:
    """pdf(q) / p for log p from `_LEAST` to 0."""
    log_share = np.linspace(_LEAST, 0.0, int(-_LEAST) * _PER_UNIT + 1)
    quantile = ndtri(np.exp(np.minimum(log_share, -1e-12)))
    density: Floats = np.exp(-0.5 * quantile**2) / np.sqrt(2 * np.pi)
    return density / np.exp(log_share)


_STAKES = _stake_table()


@compiled(nogil=True)
def outbids(values: Floats, upper: float, limit: float, level: float) -> bool:
    """Whether "the mean is `limit` or more" is refuted: if true, with probability `level` at most."""
    if limit <= 0.0 or level <= 0.0:
        return False
    if limit >= upper:
        return limit > upper
    n = len(values)
    log_share = np.log(level)
    total, squares = 0.0, 0.0
    worst = PRIOR * limit * (upper - limit)
    for done in range(n):
        spread = squares - total * total / done if done else 0.0
        variance = (worst + max(spread, 0.0)) / (PRIOR + done)
        place = max((log_share + np.log(AIM) - _LEAST) * _PER_UNIT, 0.0)
        left = min(int(place), len(_STAKES) - 2)
        steep = _STAKES[left] + (place - left) * (_STAKES[left + 1] - _STAKES[left])
        stake = min(steep / np.sqrt(variance * (n - done)), MOST / (upper - limit))
        value = values[done]
        log_share += np.log(1.0 + stake * (limit - value))
        if log_share >= 0.0:
            return True
        total += value
        squares += value * value
    return False


@compiled(nogil=True)
def lowest_limit(values: Floats, upper: float, level: float, shares: Floats) -> float:
    """The least of rising limits (`shares` of `upper`) above which, one by one, every one is refuted.

    Only the first limit not above the true mean can be refuted wrongly with consequence, so this is an upper
    confidence bound of level `level`, however coarse the limits.
    """
    bound = upper
    for k in range(len(shares) - 1, -1, -1):
        limit = shares[k] * upper
        if not outbids(values, upper, limit, level):
            return bound
        bound = limit
    return bound
