"""The budgets of a search: how far it goes, and in which order learners are fitted at them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from miserly.costs import Costs
from miserly.errors import CostError
from miserly.utils.checks import read_budget

__all__ = ["SearchBudgets", "SearchEffort", "read_budgets", "why_nothing_helps"]

_MOST = 8  # budgets at which one learner is fitted; the others lie between two of these


@dataclass(frozen=True)
class SearchBudgets:
    """The budgets that a search is made for; none if every cost is of interest.

    Attributes
    ----------
    amounts : tuple of float
        Budgets in increasing order.
    on_average : bool
        Whether all of them are mean budgets. Then only one learner is fitted at them first: a model whose
        rows pay different amounts is better at a mean budget, and other hyperparameters find such models.
    """

    amounts: tuple[float, ...] = ()
    on_average: bool = False

    @property
    def caps(self) -> tuple[float, ...]:
        """The budgets, unless all of them are mean budgets."""
        return () if self.on_average else self.amounts

    @property
    def largest(self) -> float:
        """The largest budget; infinite if there is none."""
        return max(self.amounts, default=np.inf)

    def to_fit_at(self, everything: float) -> tuple[float, ...]:
        """The budgets to fit at: the largest first, then each as far as possible from those before it.

        A budget above the cost of `everything` is replaced by that cost. Of many budgets, eight are fitted
        at. A model of a larger budget, stopped early, serves those between.

        >>> SearchBudgets((5.0, 10.0, 20.0, 30.0, 50.0)).to_fit_at(784.0)
        (50.0, 5.0, 20.0, 10.0, 30.0)
        """
        left = sorted({min(budget, everything) for budget in self.amounts if budget > 0.0})
        if not left:
            return ()
        logs = np.log(left)
        order = [len(left) - 1]
        while len(order) < min(len(left), _MOST):
            away = np.abs(logs[:, None] - logs[order]).min(axis=1)
            order.append(int(np.argmax(away)))
        return tuple(left[place] for place in order)


@dataclass(frozen=True)
class SearchEffort:
    """How many values a search tried, how long it took, whether time ended it, and what failed."""

    n_fits: int
    seconds: float
    out_of_time: bool
    failures: Sequence[str] = ()  # in words


def read_budgets(budgets: Sequence[float]) -> list[float]:
    """Budgets without duplicates, in increasing order."""
    found = sorted({read_budget(budget) for budget in budgets})
    if not found:
        raise CostError("an empty list of budgets")
    return found


def why_nothing_helps(costs: Costs, budget: float, effort: SearchEffort) -> str:
    """Why no model inside a budget is better than a constant answer."""
    prices = costs.marginals(np.zeros(len(costs), dtype=np.bool_)) + costs.evaluation
    cheapest = int(np.argmin(prices))
    if prices[cheapest] > budget:
        unit = f" {costs.unit}" if costs.unit else ""
        return (
            f"nothing fits the budget: the cheapest feature, {costs.name(cheapest)!r}, costs "
            f"{prices[cheapest]:g}{unit}"
        )
    if effort.failures and len(effort.failures) >= effort.n_fits - 1:  # all but the constant
        return f"every fit failed; the first: {effort.failures[0]}"
    failed = f" ({len(effort.failures)} failed; the first: {effort.failures[0]})" if effort.failures else ""
    if effort.out_of_time:
        return f"time ran out after {effort.n_fits} fits, {effort.seconds:.0f} seconds{failed}"
    return f"no feature that fits the budget helps, by held-out rows of {effort.n_fits} fits{failed}"
