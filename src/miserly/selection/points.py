"""What a sweep found at one budget, and how to choose among such points."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from miserly.errors import DataError
from miserly.metrics import get_metric

__all__ = ["Point", "one_standard_error"]


@dataclass(frozen=True)
class Point:
    """What one learner reaches at one budget.

    The value, its standard error and the costs are measured on held-out rows and say how well the whole
    procedure (choosing the tradeoff included) does at this budget. `model` is that procedure's outcome on all
    rows, ready to use.

    Attributes
    ----------
    learner : str
    budget : float
        What the model may cost at most.
    metric : str
    value : float
        The metric, averaged over the held-out parts.
    error : float
        The standard error of `value`.
    cost : float
        What a held-out row paid on average (path).
    whole_cost : float
        What a row would pay that met every feature of its model, averaged over the models.
    features : tuple
        What `model` may buy, in the order of buying.
    params : mapping
        What was chosen for `model`.
    unit : str
        What costs are in.
    """

    learner: str
    budget: float
    metric: str
    value: float
    error: float
    cost: float
    whole_cost: float
    features: tuple[Any, ...]
    params: Mapping[str, Any]
    unit: str = ""
    model: Any = field(default=None, repr=False, compare=False)


def one_standard_error(points: Sequence[Point]) -> Point:
    """The point of the least cost whose value is within one standard error of the best.

    >>> cheap, good = (Point("Miser", *numbers, (), {}) for numbers in (
    ...     (10, "accuracy", 0.80, 0.02, 9.0, 10.0), (90, "accuracy", 0.81, 0.02, 70.0, 90.0)))
    >>> one_standard_error([cheap, good]).budget
    10
    """
    if not points:
        raise DataError("there are no points to choose from")
    sign = 1.0 if get_metric(points[0].metric).greater_is_better else -1.0
    best = max(points, key=lambda point: sign * point.value)
    enough = sign * best.value - best.error
    return min((point for point in points if sign * point.value >= enough), key=lambda p: (p.cost, p.budget))
