"""The checks that every price, every budget and every list of names passes."""

from __future__ import annotations

import math
from collections.abc import Sequence
from decimal import Decimal
from numbers import Real
from typing import Any

import numpy as np

from miserly.errors import CostError

__all__ = ["read_budget", "read_price", "refuse_duplicates"]


def read_price(value: Any, what: str) -> float:
    """A price as a number: finite, not negative, and really a number rather than something `float` takes.

    >>> read_price(np.float32(2.5), "feature 'age'")
    2.5
    """
    number = _number(value)
    if number is None:
        raise CostError(f"the cost of {what} must be a number, not {_shown(value)}")
    if math.isnan(number):
        raise CostError(f"the cost of {what} is missing (NaN)")
    if number < 0:
        raise CostError(f"the cost of {what} is negative ({number:g})")
    if math.isinf(number):
        raise CostError(f"the cost of {what} is infinite; leave the feature out instead")
    return number + 0.0  # -0.0 becomes 0.0, so that equal costs have equal bytes


def read_budget(budget: float | None) -> float:
    """A budget as a number: None is no limit; negative and NaN are errors.

    >>> read_budget(None), read_budget(5)
    (inf, 5.0)
    """
    if budget is None:
        return math.inf
    number = _number(budget)
    if number is None:
        raise CostError(f"a budget is a number or None, not {_shown(budget)}")
    if not number >= 0.0:
        raise CostError(f"a budget cannot be {number:g}: give 0 or more, or None for no limit")
    return number


def refuse_duplicates(names: Sequence[str], what: str) -> None:
    """`CostError` naming the first of `names` that comes a second time."""
    seen: set[str] = set()
    for name in names:
        if name in seen:
            raise CostError(f"{what} {name!r} appears twice")
        seen.add(name)


def _number(value: Any) -> float | None:
    """The value as a float, infinite where it is too large for one; None if it is no number.

    Truth values and text are refused: `float` would read True as 1 and "5" as 5.
    """
    if isinstance(value, bool) or not isinstance(value, (Real, Decimal)):
        return None
    try:
        return float(value)
    except OverflowError:
        return math.inf if value > 0 else -math.inf  # type: ignore[operator]


def _shown(value: Any) -> str:
    return repr(value.item() if isinstance(value, np.generic) else value)
