"""What choosing the best of many candidates really gives: each unit is judged by a choice made without it.

The best of many held-out figures is too good to be true, because luck was chosen too. So the units are dealt
into parts; for each part the best candidate inside the budget is chosen by all other parts, and only what it
does on this part is counted.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy import stats

from miserly.selection._judging import Candidate, mean_and_error

__all__ = ["SLACK", "Chosen", "choose", "cross_choose", "holm", "paired"]

Floats: TypeAlias = NDArray[np.float64]

_PARTS = 5
SLACK = 1e-9


@dataclass(frozen=True, eq=False)
class Chosen:
    """Costs and values by unit of a choice that never looked at the unit."""

    cost: Floats
    value: Floats


def choose(candidates: Sequence[Candidate], budget: float, sign: float) -> Candidate | None:
    """The best candidate whose mean cost is inside the budget, the cheapest of equals; None if none is."""
    inside = [one for one in candidates if one.mean_cost <= budget * (1.0 + SLACK)]
    return max(inside, key=lambda one: (sign * one.mean_value, -one.mean_cost), default=None)


def cross_choose(candidates: Sequence[Candidate], budget: float, sign: float, seed: int) -> Chosen | None:
    """What the best inside the budget reaches; None if some part finds no candidate inside."""
    candidates = sorted(candidates, key=lambda one: one.mean_cost)  # of equals, the cheapest
    values = np.array([sign * one.value for one in candidates])
    costs = np.array([one.unit_cost for one in candidates])
    n = values.shape[1]
    part = np.random.default_rng(seed).permutation(np.arange(n) % _PARTS)
    value, cost = np.empty(n), np.empty(n)
    for mine in (part == p for p in range(min(_PARTS, n))):
        inside = costs[:, ~mine].mean(axis=1) <= budget * (1.0 + SLACK)
        if not inside.any():
            return None
        gain = np.where(inside, np.nanmean(values[:, ~mine], axis=1), -np.inf)
        best = int(np.argmax(gain))
        value[mine], cost[mine] = sign * values[best, mine], costs[best, mine]
    return Chosen(cost, value)


def paired(one: Floats, other: Floats) -> tuple[float, float, float]:
    """The mean difference over units, its standard error, and the p-value of none (a paired t-test)."""
    mean, error = mean_and_error(one - other)
    if not error > 0.0:
        return mean, 0.0, 1.0 if mean == 0.0 else 0.0
    n = int((~np.isnan(one - other)).sum())
    return mean, error, float(2.0 * stats.t.sf(abs(mean / error), n - 1))


def holm(p_values: Sequence[float]) -> list[float]:
    """p-values corrected for there being several, by Holm's method.

    >>> [round(p, 3) for p in holm([0.01, 0.04, 0.03])]
    [0.03, 0.06, 0.06]
    """
    order = np.argsort(p_values, kind="stable")
    steps = np.array(p_values, dtype=np.float64)[order] * np.arange(len(order), 0, -1)
    adjusted = np.empty(len(order))
    adjusted[order] = np.minimum(np.maximum.accumulate(steps), 1.0) if len(order) else steps
    return [float(p) for p in adjusted]
