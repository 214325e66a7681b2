"""From budgets to a tradeoff: the one search of CSTC, CSCC, Cronus, the tiered cascades and the cost lasso.

A learner fits a model for a tradeoff, gives its mean cost on the validation set, and ranks it there. The
search does the rest: the smallest tradeoff that keeps a mean budget, further tradeoffs to compare, and the
best model of those that keep the budget.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Generic, TypeVar

import numpy as np
from numpy.typing import NDArray

from miserly.costs import Costs, fits, read_budget
from miserly.data.rows import Rows
from miserly.plan import Plan

__all__ = ["BudgetSearch", "PerTradeoff", "TradeoffModel", "first_guess", "larger_tradeoffs", "mean_cost"]

Model = TypeVar("Model")
Result = TypeVar("Result")

DECADE = 10.0
MAX_DECADES = 9  # up or down from the first guess
UNDER_A_CAP = (1e-3, 1e-2, 1e-1, 1.0)  # of the first guess: tradeoffs to try


def first_guess(y: NDArray[np.float64], costs: Costs) -> float:
    """The tradeoff to begin a search with: the variance of the target per unit of all costs."""
    return float(np.var(y) / costs.total) if costs.total > 0.0 and np.var(y) > 0.0 else 1.0


def larger_tradeoffs(lowest: float, first: float) -> list[float]:
    """The lowest tradeoff and larger ones, to compare under a cap.

    With a low tradeoff the cap is spent on the first features that seem useful. With a larger one each
    feature must be worth its price, and the same cap may buy more.

    >>> larger_tradeoffs(0.02, 1.0)
    [0.02, 0.1, 1.0]
    """
    return [lowest, *(factor * first for factor in UNDER_A_CAP if factor * first > lowest)]


def mean_cost(plan: Plan, samples: Rows | None, n_threads: int | None) -> float:
    """What rows pay on average; 0 without rows."""
    if samples is None:
        return 0.0
    cost = plan.run(samples.X, n_threads=n_threads, encoded=True).cost
    return float(np.average(cost, weights=samples.weight))


@dataclass(frozen=True, eq=False)
class TradeoffModel(Generic[Model]):
    """A model and the tradeoff it was fitted with; its expected cost and rank are computed when asked for."""

    tradeoff: float
    model: Model
    expected_cost: Callable[[Model], float] = field(repr=False)
    ranked: Callable[[Model], Any] = field(repr=False)

    @cached_property
    def cost(self) -> float:
        return self.expected_cost(self.model)

    @cached_property
    def rank(self) -> Any:
        return self.ranked(self.model)


@dataclass(eq=False)
class BudgetSearch(Generic[Model]):
    """Search for the tradeoff whose model keeps the budgets and ranks best on the validation set.

    Every tradeoff is fitted at most once.

    Attributes
    ----------
    fit : callable
        Fits the model of a tradeoff.
    expected_cost : callable
        The mean cost of a model on the validation set.
    rank : callable, optional
        How well a model does on the validation set: values that compare, larger is better. Not needed where
        no two models are compared.
    tradeoff : float
        The smallest tradeoff to use.
    first : float
        Where the search begins if that one costs too much.
    mean_budget : float, optional
        The limit on the expected cost; None for no limit.
    capped : bool
        Whether a cap leaves out terms. Then larger tradeoffs are compared too.
    neighbours : tuple of float
        Multiples of the tradeoff found that are compared with it.
    compare_all : bool
        Whether every model met on the way that keeps `mean_budget` is compared.
    repair : callable, optional
        Gives a model instead of the one found for `mean_budget`, or None to keep it. The new model is that of
        the smallest tradeoff.
    max_fits : int
        The most models fitted to find the tradeoff for `mean_budget`.
    close : float
        The search ends when the cost is within this share of the budget, or the tradeoff within this share of
        one that costs too much.

    Examples
    --------
    >>> search = BudgetSearch(lambda tradeoff: 8 / (1 + tradeoff), lambda cost: cost, mean_budget=2.0)
    >>> found = search.best()
    >>> 3.0 <= found.tradeoff < 3.1, 1.95 < found.cost <= 2.0
    (True, True)
    """

    fit: Callable[[float], Model]
    expected_cost: Callable[[Model], float]
    rank: Callable[[Model], Any] = lambda model: 0.0
    tradeoff: float = 0.0
    first: float = 1.0
    mean_budget: float | None = None
    capped: bool = False
    neighbours: tuple[float, ...] = ()
    compare_all: bool = False
    repair: Callable[[Model], Model | None] | None = None
    max_fits: int = 20
    close: float = 0.02
    tried: dict[float, TradeoffModel[Model]] = field(default_factory=dict, init=False)

    def __post_init__(self) -> None:
        if self.mean_budget is not None:
            self.mean_budget = read_budget(self.mean_budget)

    def best(self) -> TradeoffModel[Model]:
        """The candidate of the highest rank, and of the smallest tradeoff where ranks are equal."""
        candidates = [self.at(self.tradeoff)] if self.mean_budget is None else self._for_mean_budget()
        if self.capped:
            more = [self.at(one) for one in larger_tradeoffs(self.tradeoff, self.first)]
            candidates += [one for one in more if one not in candidates and self.keeps_budget(one)]
        if len(candidates) == 1:
            return candidates[0]
        return max(candidates, key=lambda one: (one.rank, -one.tradeoff))

    def at(self, tradeoff: float) -> TradeoffModel[Model]:
        """The candidate of a tradeoff, fitted if it is new."""
        if tradeoff not in self.tried:
            self.tried[tradeoff] = self._candidate(tradeoff, self.fit(tradeoff))
        return self.tried[tradeoff]

    def keeps_budget(self, candidate: TradeoffModel[Model]) -> bool:
        """Whether the expected cost is at most `mean_budget`."""
        return self.mean_budget is None or fits(0.0, candidate.cost, self.mean_budget)

    def smallest(self) -> TradeoffModel[Model]:
        """The candidate of the smallest tradeoff that keeps `mean_budget`.

        Decades up or down from `first` bracket it, then its logarithm is bisected. If the cost does not fall
        with the tradeoff throughout, some crossing is found. If even the largest tradeoff costs more, a
        warning says so and the cheapest candidate is given.
        """
        if self.keeps_budget(self.at(self.tradeoff)):
            return self.at(self.tradeoff)
        inside, outside = self._bracket(max(self.first, DECADE * self.tradeoff))
        if inside is None:
            return self._cheapest()
        return self._bisect(inside, outside)

    def _candidate(self, tradeoff: float, model: Model) -> TradeoffModel[Model]:
        return TradeoffModel(tradeoff, model, self.expected_cost, self.rank)

    def _for_mean_budget(self) -> list[TradeoffModel[Model]]:
        """The candidates to compare; the first is that of `smallest`, or of `repair`."""
        found = self.smallest()
        if self.repair is not None and (repaired := self.repair(found.model)) is not None:
            return [self._candidate(self.tradeoff, repaired)]
        met = list(self.tried.values()) if self.compare_all else []
        if found.tradeoff > 0.0:
            met += [self.at(factor * found.tradeoff) for factor in self.neighbours]
        return [found, *(one for one in met if one is not found and self.keeps_budget(one))]

    def _bracket(self, first: float) -> tuple[TradeoffModel[Model] | None, float]:
        """The last candidate that keeps the budget, if any, and the last tradeoff that does not."""
        inside = self.at(first)
        return self._down_from(inside) if self.keeps_budget(inside) else self._up_from(first)

    def _up_from(self, first: float) -> tuple[TradeoffModel[Model] | None, float]:
        """Decades up until one keeps the budget."""
        outside = first
        for decade in range(1, MAX_DECADES + 1):
            if not self._going:
                break
            candidate = self.at(first * DECADE**decade)
            if self.keeps_budget(candidate):
                return candidate, outside
            outside = candidate.tradeoff
        return None, outside

    def _down_from(self, first: TradeoffModel[Model]) -> tuple[TradeoffModel[Model], float]:
        """Decades down until one does not keep the budget."""
        inside = first
        for decade in range(1, MAX_DECADES + 1):
            tradeoff = first.tradeoff / DECADE**decade
            if tradeoff <= self.tradeoff or not self._going:
                break
            if not self.keeps_budget(self.at(tradeoff)):
                return inside, tradeoff
            inside = self.at(tradeoff)
        return inside, self.tradeoff

    def _bisect(self, inside: TradeoffModel[Model], outside: float) -> TradeoffModel[Model]:
        """Narrow a bracket between tradeoffs that differ in their logarithm."""
        assert self.mean_budget is not None
        if outside <= 0.0 or inside.tradeoff <= outside:
            return inside
        while self._going and inside.tradeoff > outside * (1.0 + self.close):
            if inside.cost >= self.mean_budget * (1.0 - self.close):
                break
            middle = math.sqrt(outside * inside.tradeoff)
            if self.keeps_budget(self.at(middle)):
                inside = self.at(middle)
            else:
                outside = middle
        return inside

    @property
    def _going(self) -> bool:
        return len(self.tried) < self.max_fits

    def _cheapest(self) -> TradeoffModel[Model]:
        cheapest = min(self.tried.values(), key=lambda one: one.cost)
        warnings.warn(
            f"no tradeoff up to {max(self.tried):g} keeps to the budget of {self.mean_budget:g}; "
            f"the cheapest model found costs {cheapest.cost:g} on average",
            stacklevel=4,
        )
        return cheapest


class PerTradeoff(Generic[Result]):
    """What is made for a tradeoff, and kept until another tradeoff is asked for.

    With ``depends=False`` it is made once, for the first tradeoff asked for.
    """

    def __init__(self, make: Callable[[float], Result], depends: bool) -> None:
        self.make, self.depends = make, depends
        self._last: tuple[float, Result] | None = None

    def at(self, tradeoff: float) -> Result:
        if self._last is None or (self.depends and self._last[0] != tradeoff):
            self._last = tradeoff, self.make(tradeoff)
        return self._last[1]
