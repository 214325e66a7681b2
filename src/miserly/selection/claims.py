"""The claims that held-out rows must show of a candidate, and the test of a claim by betting.

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

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import ndtri
from scipy.stats import binom

from miserly.costs import mean_fits
from miserly.errors import DataError
from miserly.utils.compiled import compiled

__all__ = ["Claim", "CostClaims", "LossClaims", "Units", "column", "inside", "lowest_level", "lowest_limit",
           "outbids"]  # fmt: skip

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


@compiled(nogil=True)
def lowest_level(values: Floats, upper: float, limit: float, levels: Floats) -> float:
    """The least of falling levels down to which, one by one, the claim is refuted: a p-value."""
    found = 1.0
    for level in levels:
        if not outbids(values, upper, limit, level):
            return found
        found = level
    return found


Ints = NDArray[np.int64]

# -- claims --------------------------------------------------------------------------------------------------

ROUNDING = 1e-9  # relative; values may exceed their bound by this much


@dataclass(frozen=True)
class Claim:
    """That the mean of independent values, each between 0 and `upper`, is at most `limit`.

    Values are in a random order, so that the first ones are a random sample.
    """

    values: Floats
    upper: float
    limit: float
    counts: bool = False  # values are 0 and 1 only: the exact binomial test is used

    def split(self, share: float) -> tuple[Claim, Claim]:
        """The same claim about the first `share` of the units, and about the others."""
        n = max(1, int(share * len(self.values)))
        return replace(self, values=self.values[:n]), replace(self, values=self.values[n:])

    @property
    def margin(self) -> float:
        """How far the units are below the limit, in their standard deviations."""
        seen, n = self.values, len(self.values)
        prior = PRIOR * max(self.limit * (self.upper - self.limit), 0.0)
        variance = (prior + n * seen.var()) / (PRIOR + n)
        return float((self.limit - seen.mean()) / np.sqrt(variance + 1e-300))

    def is_shown(self, level: float) -> bool:
        """Whether the units refute that the mean is above the limit."""
        if self.counts:
            return bool(binom.cdf(int(self.values.sum()), len(self.values), self.limit) <= level)
        return bool(outbids(self.values, self.upper, self.limit, level))


class Units:
    """The independent units: rows, or groups of rows, of which the mean counts."""

    def __init__(self, groups: ArrayLike | None, n_rows: int) -> None:
        self.grouped = groups is not None
        self._code: Ints = np.arange(n_rows)
        if groups is not None:
            _, self._code = np.unique(np.asarray(groups), return_inverse=True)
        if self._code.shape != (n_rows,):
            raise DataError(f"groups of shape {self._code.shape} for {n_rows} rows")
        self._sizes = np.bincount(self._code)

    def __len__(self) -> int:
        return len(self._sizes)

    def means(self, values: Floats) -> Floats:
        """The values of units, in the same random order every time: rows may be sorted."""
        means = np.bincount(self._code, weights=values) / self._sizes if self.grouped else values
        return means[np.random.default_rng(0).permutation(len(self))]


class CostClaims:
    """Of each candidate: its mean cost is at most `limit`, or at most a `share` of rows costs more."""

    def __init__(
        self, candidates: Sequence[Any], groups: ArrayLike | None, limit: float, share: float | None = None
    ) -> None:
        n = np.size(candidates[0].cost)
        self.units = Units(groups, n)
        self._limit, self._share = limit, share
        self._upper = [float(one.max_cost) for one in candidates]
        self._cost = [
            inside(column(one.cost, f"cost of candidate {k}", n), one.max_cost, f"cost of candidate {k}")
            for k, one in enumerate(candidates)
        ]

    def is_certain(self, k: int) -> bool:
        return mean_fits(self._upper[k], self._limit)

    def of(self, k: int) -> Iterator[Claim]:
        if self._share is None:
            yield Claim(self.units.means(self._cost[k]), self._upper[k], self._limit)
        else:
            above = (~mean_fits(self._cost[k], self._limit)).astype(np.float64)
            yield Claim(self.units.means(above), 1.0, self._share, counts=not self.units.grouped)


class LossClaims:
    """Of each candidate: its mean value is at most `limit` below that of each rival.

    A candidate loses little to the best rival if it loses little to each: they are tested one after the
    other. The level is not divided among them: a wrong result needs the test of the true best to be wrong.
    Rows without a value (NaN) do not count.
    """

    def __init__(
        self,
        candidates: Sequence[Any],
        groups: ArrayLike | None,
        limit: float,
        span: float,
        reference: ArrayLike | None,
    ) -> None:
        there = ~np.isnan(np.asarray(candidates[0].value, dtype=np.float64))
        self.units = Units(groups if groups is None else np.asarray(groups)[there], int(there.sum()))
        self._limit, self._span = limit, span
        self._value = [
            column(one.value, f"value of candidate {k}", there=there) for k, one in enumerate(candidates)
        ]
        self._rivals = self._value
        if reference is not None:
            same = [k for k, one in enumerate(candidates) if one.value is reference]
            self._rivals = [self._value[same[0]] if same else column(reference, "reference", there=there)]

    def is_certain(self, k: int) -> bool:
        return self._limit >= self._span

    def of(self, k: int) -> Iterator[Claim]:
        for rival in self._rivals:
            if rival is not self._value[k]:
                yield Claim(self._lost(k, rival), 2.0 * self._span, self._limit + self._span)

    def _lost(self, k: int, rival: Floats) -> Floats:
        """The loss of each unit plus the span: 0 to twice the span."""
        lost, span = rival - self._value[k], self._span
        row = int(np.abs(lost).argmax())
        if abs(lost[row]) > span * (1.0 + ROUNDING):
            raise DataError(
                f"value of candidate {k}: {abs(lost[row]):g} away from another's in row {row}, more than the "
                f"span of {span:g}; give the Requirement the largest difference between two values of a row"
            )
        return self.units.means(np.clip(lost, -span, span) + span)


# -- reading -------------------------------------------------------------------------------------------------


def column(
    values: ArrayLike, what: str, n: int | None = None, there: NDArray[np.bool_] | None = None
) -> Floats:
    """Finite numbers, one per row; with `there`, of these rows, the others being NaN."""
    read = np.asarray(values, dtype=np.float64)
    if read.ndim != 1 or len(read) == 0:
        raise DataError(f"{what}: shape {read.shape}; give one number for each of the held-out rows")
    n = n if there is None else len(there)
    if n is not None and len(read) != n:
        raise DataError(f"{what}: {len(read)} rows where others have {n}; all must be of the same rows")
    there = np.ones(len(read), dtype=np.bool_) if there is None else there
    wrong = np.flatnonzero(np.where(there, ~np.isfinite(read), ~np.isnan(read)))
    if len(wrong):
        row = int(wrong[0])
        raise DataError(f"{what}: {read[row]} in row {row}; leave such rows out for all candidates alike")
    return read if there.all() else read[there]


def inside(values: Floats, upper: float, what: str) -> Floats:
    """Values between 0 and `upper`, but for rounding."""
    if not 0.0 <= upper < np.inf:
        raise DataError(
            f"{what}: an upper bound of {upper}; give the largest possible value, a finite number"
        )
    outside = np.flatnonzero((values < 0.0) | (values > upper * (1.0 + ROUNDING)))
    if len(outside):
        row = int(outside[0])
        raise DataError(
            f"{what}: {values[row]:g} in row {row} is not between 0 and the upper bound {upper:g}"
        )
    return np.clip(values, 0.0, upper)
