"""Claims about a candidate that are tested on held-out rows, by betting."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.stats import binom

from miserly.costs import mean_fits
from miserly.errors import DataError
from miserly.solvers.betting import PRIOR, outbids

__all__ = ["Claim", "CostClaims", "LossClaims", "Units", "column", "inside"]

Floats = NDArray[np.float64]

Ints = NDArray[np.int64]

# -- claims --------------------------------------------------------------------------------------------------

ROUNDING = 1e-9  # relative; values may exceed their bound by this much


@dataclass(frozen=True)
class Claim:
    """The claim that the mean of independent values, each between 0 and `upper`, is at most `limit`.

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
    """The independent units: rows, or groups of rows, which count by their mean."""

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
    """The claim that the mean cost is at most `limit`, or that at most a `share` of rows costs more."""

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
    """The claim that the mean value of a candidate is at most `limit` below that of each rival.

    If the loss to each rival is small, so is the loss to the best one. The rivals are tested one after the
    other. The level is not divided among them, because a wrong result needs a wrong test of the truly best
    rival. Rows without a value (NaN) do not count.
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
                f"value of candidate {k}: differs by {abs(lost[row]):g} from another candidate in row {row}, "
                f"more than the span of {span:g}; set span= of the Requirement to the largest difference"
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
