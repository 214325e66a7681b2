"""Measures of cost: the mean cost of a row, and the area under a curve of value against budget."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from miserly.errors import MetricError
from miserly.metrics.labels import read_weight, weighted_mean

__all__ = ["cost_curve_area", "expected_cost", "outcome_cost", "total_cost"]


def expected_cost(run_or_costs: Any, sample_weight: ArrayLike | None = None) -> float:
    """Mean cost per row.

    Parameters
    ----------
    run_or_costs : Run or array-like of shape (n_rows,)
        The result of ``model.run(X)`` (any object with an attribute `cost`), or the cost of each row.
    sample_weight : array-like of shape (n_rows,), optional
        Weight of each row.

    Returns
    -------
    float
        The weighted mean.

    Raises
    ------
    MetricError
        If the costs are not one number per row.

    Examples
    --------
    >>> expected_cost([1.0, 3.0, 5.0]), expected_cost([1.0, 3.0], sample_weight=[3, 1])
    (3.0, 1.5)
    """
    cost = np.asarray(getattr(run_or_costs, "cost", run_or_costs), dtype=np.float64)
    if cost.ndim != 1 or not len(cost) or np.isnan(cost).any():
        raise MetricError(f"costs are one number per row, not an array of shape {cost.shape} or with NaN")
    return weighted_mean(cost, read_weight(sample_weight, len(cost)))


def outcome_cost(
    y: ArrayLike, answers: ArrayLike, outcomes: Any, sample_weight: ArrayLike | None = None
) -> float:
    """Mean cost of what was answered, right or wrong.

    Parameters
    ----------
    y : array-like of shape (n_rows,)
        Actual class of each row.
    answers : array-like of shape (n_rows,)
        Answer to each row: a class, or an action such as "refer".
    outcomes : OutcomeCosts or OutcomeTable
        What outcomes cost.
    sample_weight : array-like of shape (n_rows,), optional
        Weight of each row.

    Returns
    -------
    float
        The weighted mean.

    Examples
    --------
    >>> from miserly import OutcomeCosts
    >>> costs = OutcomeCosts({("ill", "well"): 100, ("well", "ill"): 10})
    >>> outcome_cost(["ill", "well", "well", "ill"], ["well", "ill", "well", "ill"], costs)
    27.5
    """
    costs = outcomes.cost_of(y, answers)
    return weighted_mean(costs, read_weight(sample_weight, len(costs)))


def total_cost(
    y: ArrayLike,
    answers: ArrayLike,
    run_or_costs: Any,
    outcomes: Any,
    sample_weight: ArrayLike | None = None,
) -> float:
    """Mean cost of a row: what its tests cost, and what the answer cost.

    Parameters
    ----------
    y : array-like of shape (n_rows,)
        Actual class of each row.
    answers : array-like of shape (n_rows,)
        Answer to each row.
    run_or_costs : Run or array-like of shape (n_rows,)
        What the tests of each row cost, as for `expected_cost`.
    outcomes : OutcomeCosts or OutcomeTable
        What outcomes cost, in the same unit.
    sample_weight : array-like of shape (n_rows,), optional
        Weight of each row.

    Returns
    -------
    float
        The weighted mean.

    Examples
    --------
    >>> from miserly import OutcomeCosts
    >>> total_cost([1, 0], [0, 0], [2.0, 4.0], OutcomeCosts([[0, 10], [100, 0]]))
    53.0
    """
    mistakes = outcome_cost(y, answers, outcomes, sample_weight)
    return expected_cost(run_or_costs, sample_weight) + mistakes


def cost_curve_area(
    cost: ArrayLike,
    value: ArrayLike,
    max_cost: float,
    min_cost: float = 0.0,
    start: float | None = None,
    greater_is_better: bool = True,
) -> float:
    """Mean of the best value within a budget, over all budgets of a range.

    Each point (cost, value) is a model. At budget `b` the best value among the points of cost at most `b`
    counts.

    Parameters
    ----------
    cost : array-like of shape (n_points,)
        Cost of each model.
    value : array-like of shape (n_points,)
        Metric of each model.
    max_cost : float
        The largest budget.
    min_cost : float, default=0.0
        The smallest budget.
    start : float, optional
        Value without any purchase. It counts for budgets below the cheapest point, and where it is better
        than all points within the budget. Required unless some point costs no more than `min_cost`.
    greater_is_better : bool, default=True
        Whether larger values are better.

    Returns
    -------
    float
        The area under the step curve, divided by the length of the range.

    Raises
    ------
    MetricError
        If the points contain NaN, the range is empty, or no value is known at `min_cost`.

    Examples
    --------
    0.6 up to a cost of 4, then 0.9: (4 * 0.6 + 6 * 0.9) / 10.

    >>> round(cost_curve_area([0, 4], [0.6, 0.9], max_cost=10), 3)
    0.78
    """
    costs, values = (np.asarray(numbers, dtype=np.float64) for numbers in (cost, value))
    if costs.ndim != 1 or costs.shape != values.shape or np.isnan(costs).any() or np.isnan(values).any():
        raise MetricError("a cost curve needs one cost and one value per point, and no NaN")
    if not -np.inf < min_cost < max_cost < np.inf:
        raise MetricError(f"the range of budgets from {min_cost:g} to {max_cost:g} is empty or infinite")
    if start is not None:
        costs, values = np.append(costs, min_cost), np.append(values, start)
    if not (costs <= min_cost).any():
        raise MetricError(f"no point costs {min_cost:g} or less: give the value without purchases as start=")
    better = np.maximum if greater_is_better else np.minimum
    inside = costs < max_cost
    order = np.argsort(costs[inside], kind="stable")
    edges = np.maximum(costs[inside][order], min_cost)
    widths = np.diff(np.append(edges, max_cost))
    return float(widths @ better.accumulate(values[inside][order]) / (max_cost - min_cost))
