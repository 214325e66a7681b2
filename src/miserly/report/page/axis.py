"""An axis of costs, logarithmic where they lie far apart."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from miserly.report.page.words import price_text
from miserly.selection.round_budgets import WIDE

__all__ = ["WIDE", "Axis"]


class Axis:
    """The positions of costs: on a logarithmic scale if they span a factor of 20, with a place for zero.

    >>> near, far = Axis([0, 10, 30]), Axis([0, 1, 300])
    >>> near.is_wide, near.place(0), far.is_wide, far.place(300), 0.5 < far.place(0) < 1
    (False, 0.0, True, 300.0, True)
    """

    def __init__(self, costs: Sequence[float]) -> None:
        paid = [cost for cost in costs if cost > 0] or [1.0]
        self.low, self.high = min(paid), max(paid)
        self.is_wide = self.high / self.low > WIDE
        self.free = self.low / (self.high / self.low) ** 0.08  # a little to the left of the cheapest
        self.has_free = min(costs, default=1.0) == 0.0

    def place(self, cost: float) -> float:
        """The position of a cost on the axis."""
        return float(f"{max(cost, self.free) if self.is_wide else cost:.6g}")

    def layout(self, title: str) -> dict[str, Any]:
        """The axis in plotly's format."""
        if not self.is_wide:
            room = 0.05 * self.high
            return {"title": {"text": title}, "range": [-room, self.high + room]}
        ticks = _round_ticks(self.low, self.high)
        named = [price_text(tick) for tick in ticks]
        left = self.free if self.has_free else self.low
        room = 0.06 * np.log10(self.high / left)
        return {
            "type": "log",
            "title": {"text": title},
            "tickvals": [self.free, *ticks] if self.has_free else ticks,
            "ticktext": ["0", *named] if self.has_free else named,
            "range": [np.log10(left) - room, np.log10(self.high) + room],
        }


def _round_ticks(low: float, high: float) -> list[float]:
    """Three ticks a decade, or fewer if there are many decades."""
    decades = np.log10(high / low)
    digits = (1, 2, 5) if decades < 2.2 else (1, 3) if decades < 3.5 else (1,)
    powers = range(int(np.floor(np.log10(low))), int(np.ceil(np.log10(high))) + 1)
    every = [float(f"{digit * 10.0**power:.12g}") for power in powers for digit in digits]
    return [tick for tick in every if low <= tick <= high]
