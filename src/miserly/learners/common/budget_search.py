"""From a budget to a tradeoff: the smallest one that keeps a mean, or several to try under a cap."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Generic, TypeVar

import numpy as np
from numpy.typing import NDArray

from miserly.costs import Costs, fits

__all__ = ["Found", "first_guess", "larger_tradeoffs", "tradeoff_for_budget"]

Model = TypeVar("Model")

DECADE = 10.0
MAX_DECADES = 9  # up or down from the first guess
UNDER_A_CAP = (1e-3, 1e-2, 1e-1, 1.0)  # of the first guess: tradeoffs to try


def first_guess(y: NDArray[np.float64], costs: Costs) -> float:
    """A tradeoff to begin a search with: the variance of the target per unit of all costs."""
    return float(np.var(y) / costs.total) if costs.total > 0.0 and np.var(y) > 0.0 else 1.0


def larger_tradeoffs(lowest: float, first: float) -> list[float]:
    """Tradeoffs to try where a cap leaves out what a low tradeoff would buy: the lowest, and larger ones.

    With a low one a cap is spent on the first things that seem useful; with a larger one each must be worth
    its price, and more may come of the same cap.

    >>> larger_tradeoffs(0.02, 1.0)
    [0.02, 0.1, 1.0]
    """
    return [lowest, *(factor * first for factor in UNDER_A_CAP if factor * first > lowest)]


@dataclass(frozen=True, eq=False)
class Found(Generic[Model]):
    """A model, the tradeoff it was fitted with, and what it costs on average."""

    tradeoff: float
    model: Model
    cost: float


def tradeoff_for_budget(
    fit: Callable[[float], Model],
    expected_cost: Callable[[Model], float],
    budget: float,
    *,
    lowest: float = 0.0,
    first: float = 1.0,
    max_fits: int = 20,
    close: float = 0.02,
) -> Found[Model]:
    """The model of the smallest tradeoff from `lowest` up whose expected cost is at most `budget`.

    Decades up or down from `first` bracket it, then the logarithm is bisected until the cost is within
    `close` of the budget, the bracket is within `close`, or `max_fits` models are fitted. Of a model whose
    cost is no falling function of the tradeoff, some crossing is found. If even the largest tradeoff
    costs more, a warning says so and the cheapest model is given.

    Examples
    --------
    >>> found = tradeoff_for_budget(lambda t: 8 / (1 + t), lambda cost: cost, budget=2.0)
    >>> 3.0 <= found.tradeoff < 3.1, 1.95 < found.cost <= 2.0
    (True, True)
    """
    search = _Search(fit, expected_cost, budget, max_fits)
    if not search.fits(lowest):
        search.bracket(lowest, max(first, DECADE * lowest))
    if search.inside is None:
        cheapest = min(search.tried, key=lambda one: one.cost)
        warnings.warn(
            f"no tradeoff up to {search.tried[-1].tradeoff:g} keeps to the budget of {budget:g}; "
            f"the cheapest model found costs {cheapest.cost:g} on average",
            stacklevel=3,
        )
        return cheapest
    search.bisect(close)
    return search.inside


class _Search(Generic[Model]):
    """Models tried so far; `inside` is that of the smallest tradeoff inside the budget, `outside` the other
    end of the bracket."""

    def __init__(
        self,
        fit: Callable[[float], Model],
        expected_cost: Callable[[Model], float],
        budget: float,
        max_fits: int,
    ) -> None:
        self.fit = fit
        self.expected_cost = expected_cost
        self.budget = budget
        self.max_fits = max_fits
        self.tried: list[Found[Model]] = []
        self.inside: Found[Model] | None = None
        self.outside: float | None = None

    @property
    def going(self) -> bool:
        return len(self.tried) < self.max_fits

    def fits(self, tradeoff: float) -> bool:
        """Whether the model of a tradeoff is inside the budget."""
        model = self.fit(tradeoff)
        one = Found(tradeoff, model, self.expected_cost(model))
        self.tried.append(one)
        if fits(0.0, one.cost, self.budget):
            self.inside = one
            return True
        self.outside = tradeoff
        return False

    def bracket(self, lowest: float, first: float) -> None:
        """Go up until a model fits, or down until one does not."""
        if not self.fits(first):
            for decade in range(1, MAX_DECADES + 1):
                if self.going and self.fits(first * DECADE**decade):
                    return
            return
        for decade in range(1, MAX_DECADES + 1):
            tradeoff = first / DECADE**decade
            if tradeoff <= lowest or not self.going or not self.fits(tradeoff):
                return

    def bisect(self, close: float) -> None:
        """Narrow the bracket, between tradeoffs that differ in their logarithm."""
        assert self.inside is not None
        low = self.outside
        if low is None or low <= 0.0 or self.inside.tradeoff <= low:
            return
        while self.going and self.inside.tradeoff > low * (1.0 + close):
            if self.inside.cost >= self.budget * (1.0 - close):
                return
            middle = math.sqrt(low * self.inside.tradeoff)
            if not self.fits(middle):
                low = middle
