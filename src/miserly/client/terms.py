"""The terms of a request: what it may cost and take, and what is known."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from miserly.costs import read_budget

__all__ = ["RequestTerms"]


@dataclass(frozen=True)
class RequestTerms:
    """What a request may cost and take, and what is known.

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
        """The budget as JSON has it: None if there is no cap."""
        cap = read_budget(self.budget)
        return None if cap == math.inf else cap
