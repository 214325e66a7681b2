"""The words for one plan: names of its features, groups, classes and scores, and its prices as text."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from miserly.plan.links import LINKS
from miserly.plan.show.phrases import listing, plain

if TYPE_CHECKING:
    from miserly.plan.plan import Plan

__all__ = ["Wording"]


class Wording:
    """The words for one plan."""

    def __init__(self, plan: Plan) -> None:
        self.plan = plan
        self.unit = plain(plan.costs.unit)
        self._decimals = _decimals(plan)

    def feature(self, i: int) -> str:
        name = self.plan.costs.name(i)
        return plain(name) if isinstance(name, str) else f"feature {name}"

    def features(self, columns: Sequence[int], limit: int = 6) -> str:
        """Several features in one phrase; no more than `limit` of them are named."""
        shown = columns if len(columns) <= limit else columns[: limit - 1]
        return listing([self.feature(i) for i in shown], len(columns) - len(shown))

    def group(self, g: int) -> str:
        return plain(self.plan.costs.group_names[g])

    def amount(self, value: float) -> str:
        """A price without its unit, with as many decimals as this plan's prices need."""
        return f"{value:.6g}" if self._decimals is None else f"{value:.{self._decimals}f}"

    def price(self, value: float) -> str:
        return f"{self.amount(value)} {self.unit}" if self.unit else self.amount(value)

    def label(self, i: int) -> str:
        """Class number `i`, in quotes where it is text."""
        if self.plan.classes is None:
            return f"class {i}"
        label = self.plan.classes[i]
        return f'"{plain(label)}"' if isinstance(label, str) else str(label)

    def score(self, channel: int) -> str:
        """The name of one of the scores."""
        plan = self.plan
        if plan.n_scores == 1:
            return "the score"
        if channel < plan.n_outputs and plan.classes is not None and plan.n_outputs > 1:
            return f"the score of {LINKS[plan.link].output_words(channel, self)}"
        return f"score {channel + 1}"


def _decimals(plan: Plan) -> int | None:
    """0 if all prices are whole, 2 if they are in hundredths, None where neither holds."""
    evaluations = list({term.evaluation for term in plan.terms})
    prices = np.concatenate([plan.costs.feature, plan.costs.setup, evaluations])
    if prices.size and prices.max() > 1e9:
        return None
    for digits in (0, 2):
        if np.allclose(np.round(prices, digits), prices, rtol=0.0, atol=1e-9):
            return digits
    return None
