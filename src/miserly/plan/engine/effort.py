"""When compiled code is worth waiting for."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from miserly.plan.plan import Plan

__all__ = ["engine_for"]

# Plain NumPy walks a million trees down for one row each in about 0.3 seconds; compiling takes much longer.
_MUCH = 3_000_000


def engine_for(plan: Plan, n_rows: int) -> bool | None:
    """What to pass as `compiled` for one run in a process of its own: False where NumPy is done sooner.

    >>> from miserly import Costs, Plan
    >>> engine_for(Plan(costs=Costs([1.0]), terms=[], nodes=[], base=[0.0]), n_rows=100)
    False
    """
    return False if n_rows * len(plan.terms) < _MUCH else None
