"""What the methods of `OnDemand` are given: plans, deadlines, and values that are offered."""

from __future__ import annotations

import os
from collections.abc import Mapping
from math import nan
from typing import TYPE_CHECKING, Any

from miserly.errors import SourceError
from miserly.plan import Plan, load

if TYPE_CHECKING:
    from miserly.runtime.request import PredictionRequest

__all__ = ["offer", "plan_of", "read_seconds"]


def plan_of(plan: Any) -> Plan:
    """Return a plan, that of a file or that of a fitted model."""
    if isinstance(plan, Plan):
        return plan
    if isinstance(plan, (str, bytes, os.PathLike)) or hasattr(plan, "read"):
        return load(plan)
    fitted = getattr(plan, "plan_", None)
    if isinstance(fitted, Plan):
        return fitted
    raise SourceError(f"OnDemand needs a plan, a file or a fitted model, not {type(plan).__name__}")


def read_seconds(deadline: float | None) -> float | None:
    """Return a deadline; `SourceError` unless it is at least 0."""
    if deadline is not None and not deadline >= 0:
        raise SourceError(f"a deadline is a number of seconds of at least 0, not {deadline!r}")
    return deadline


def offer(request: PredictionRequest, offered: Mapping[Any, Any] | None) -> None:
    """Give values to a request that are paid when the plan needs them."""
    for name, given in (offered or {}).items():
        f = request.served.plan.costs.index(name)
        request.keep(f, given, nan if given is None else request.served.encode(f, given))
