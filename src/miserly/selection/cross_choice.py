"""Estimates that account for the choice of the model, and comparisons of learners by such estimates.

Each unit is evaluated with a choice made without it. The best of many held-out values would be too
optimistic, because the choice also selects for chance. Therefore the units are divided into parts. For each
part the best candidate inside the budget is chosen on all other parts, and only its values on this part are
counted.

Values are smoothed along each hyperparameter before they are compared. A more expensive model is rarely
worse. If its held-out value is worse, half of the difference to an increasing curve is treated as noise, up
to a quarter of a standard error. With many rows this has no effect.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy import stats
from scipy.optimize import isotonic_regression

from miserly.costs import mean_fits
from miserly.selection.evaluation import Candidate, Evaluation
from miserly.selection.intervals import interval, mean_and_error
from miserly.selection.requests import Request

if TYPE_CHECKING:
    from miserly.selection.results import Frontier

__all__ = ["choose", "compare_learners", "cross_choose", "holm", "paired", "steady_gains"]

Floats: TypeAlias = NDArray[np.float64]

_PARTS = 5
_MOST_SMOOTHING = 0.25  # of a standard error: the most that a value is moved


def choose(candidates: Sequence[Candidate], budget: float, sign: float) -> Candidate | None:
    """The best candidate whose mean cost is inside the budget, the cheapest of equals; None if none is."""
    steady = dict(zip(candidates, steady_gains(candidates, sign), strict=True))
    inside = [one for one in candidates if mean_fits(one.mean_cost, budget)]
    return max(inside, key=lambda one: (steady[one], -one.mean_cost), default=None)


def steady_gains(candidates: Sequence[Candidate], sign: float) -> Floats:
    """The values of candidates (higher is better), smoothed along each hyperparameter."""
    gain = np.array([sign * one.mean_value for one in candidates])
    cost = np.array([one.mean_cost for one in candidates])
    error = np.array([one.error for one in candidates])
    return _steadied(gain, cost, error, _curves(candidates), _of_total(candidates))


def _of_total(candidates: Sequence[Candidate]) -> bool:
    return any(one.includes_cost for one in candidates)


def _curves(candidates: Sequence[Candidate]) -> NDArray[np.int64]:
    """Numbers that are equal for candidates of one hyperparameter of one learner."""
    learners = [one if one.trial is None else one.trial.learner for one in candidates]
    return np.unique([id(learner) for learner in learners], return_inverse=True)[1]


def _steadied(
    gain: Floats, cost: Floats, error: Floats, curve: NDArray[np.int64], of_total: bool = False
) -> Floats:
    """Gains moved half way to the nearest increasing curve, but no further than allowed.

    If the metric is a total that includes the cost, only its other part, the cost of mistakes, is smoothed.
    """
    if of_total:
        return _steadied(gain + cost, cost, error, curve) - cost
    rising = gain.copy()
    for mine in (np.flatnonzero(curve == k) for k in np.unique(curve)):
        order = mine[np.lexsort((gain[mine], cost[mine]))]
        rising[order] = isotonic_regression(gain[order]).x
    far = _MOST_SMOOTHING * np.nan_to_num(error)
    return gain + np.clip(0.5 * (rising - gain), -far, far)


def cross_choose(candidates: Sequence[Candidate], budget: float, sign: float, seed: int) -> Evaluation | None:
    """What the best inside the budget reaches; None if in some part no candidate is inside."""
    candidates = sorted(candidates, key=lambda one: one.mean_cost)  # of equals, the cheapest
    values = np.array([sign * one.value for one in candidates])
    costs = np.array([one.cost for one in candidates])
    curve, of_total = _curves(candidates), _of_total(candidates)
    n = values.shape[1]
    part = np.random.default_rng(seed).permutation(np.arange(n) % _PARTS)
    value, cost = np.empty(n), np.empty(n)
    for mine in (part == p for p in range(min(_PARTS, n))):
        spent = costs[:, ~mine].mean(axis=1)
        inside = mean_fits(spent, budget)
        if not inside.any():
            return None
        gain, error = _means_and_errors(values[:, ~mine])
        best = int(np.argmax(np.where(inside, _steadied(gain, spent, error, curve, of_total), -np.inf)))
        value[mine], cost[mine] = sign * values[best, mine], costs[best, mine]
    return Evaluation(cost=cost, value=value, shape=candidates[0].shape)


def _means_and_errors(values: Floats) -> tuple[Floats, Floats]:
    """The mean and the standard error of every row of a table, without NaN."""
    n = np.maximum((~np.isnan(values)).sum(axis=1), 1)
    return np.nanmean(values, axis=1), np.nanstd(values, axis=1) / np.sqrt(n)


def paired(one: Floats, other: Floats) -> tuple[float, float, float]:
    """The mean difference over units, its standard error, and the p-value of none (a paired t-test)."""
    mean, error = mean_and_error(one - other)
    if not error > 0.0:
        return mean, 0.0, 1.0 if mean == 0.0 else 0.0
    n = int((~np.isnan(one - other)).sum())
    return mean, error, float(2.0 * stats.t.sf(abs(mean / error), n - 1))


def holm(p_values: Sequence[float]) -> list[float]:
    """p-values corrected for their number by Holm's method.

    >>> [round(p, 3) for p in holm([0.01, 0.04, 0.03])]
    [0.03, 0.06, 0.06]
    """
    order = np.argsort(p_values, kind="stable")
    steps = np.array(p_values, dtype=np.float64)[order] * np.arange(len(order), 0, -1)
    adjusted = np.empty(len(order))
    adjusted[order] = np.minimum(np.maximum.accumulate(steps), 1.0) if len(order) else steps
    return [float(p) for p in adjusted]


# -- learners at equal budgets -------------------------------------------------------------------------------


def compare_learners(found: Frontier, rival: str, request: Request) -> list[dict[str, Any]]:
    """Every other learner against one of them, each with its best model for a request."""
    some = found.chooser.under(request.budget)
    constant = next(one for one in some if one.is_constant)
    reached = {
        name: cross_choose(
            [constant, *(one for one in some if one.learner == name)],
            request.mean_budget,
            found.sign,
            found.seed,
        )
        for name in found.learners
    }
    theirs = reached[rival]
    lines = []
    for name, own in reached.items():
        if name == rival or own is None or theirs is None:
            continue
        mean, error, p = paired(own.value, theirs.value)
        lines.append(
            {
                request.kind: request.amount,
                "learner": name,
                "against": rival,
                "value": float(np.nanmean(own.value)),
                **interval("difference", mean, error),
                "p": p,
            }
        )
    return lines
