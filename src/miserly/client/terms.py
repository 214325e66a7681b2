"""The terms of a request: budget, deadline, prices and known values."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from miserly.costs import read_budget

__all__ = ["RequestTerms"]


@dataclass(frozen=True)
class RequestTerms:
    """Budget, deadline, prices and known values of a request.

    Attributes
    ----------
    budget, deadline : float or None
        As for `Client.predict`.
    known, prices, given : mapping or None
        As for `Client.predict`; `given` is its `input`.
    """

    budget: float | None
    deadline: float | None
    known: Mapping[Any, Any] | None
    prices: Mapping[Any, float] | None
    given: Mapping[str, Any] | None

    def end(self, begun: float) -> float:
        """Return the time at which a request is over."""
        return math.inf if self.deadline is None else begun + self.deadline

    @property
    def cap(self) -> float | None:
        """The budget for JSON; None if there is no cap."""
        cap = read_budget(self.budget)
        return None if cap == math.inf else cap
