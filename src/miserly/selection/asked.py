"""The budgets that a search is asked for: how far it goes, and in which order they are served."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from miserly.costs import Costs

__all__ = ["Asked", "Effort", "why_nothing_helps"]

_MOST = 8  # budgets at which one learner is fitted; the others lie between two of these


@dataclass(frozen=True)
class Asked:
    """Budgets in rising order; none where any cost is of interest.

    Attributes
    ----------
    budgets : tuple of float
    on_average : bool
        Whether none of them is a cap. Then one learner that is held to them is enough to begin with: models
        that may cost some rows more than others do better at a mean, and other hyperparameters find these.
    """

    budgets: tuple[float, ...] = ()
    on_average: bool = False

    @property
    def caps(self) -> tuple[float, ...]:
        """The budgets, if not all of them are means."""
        return () if self.on_average else self.budgets

    @property
    def limit(self) -> float:
        """The largest budget; infinite where none is asked for."""
        return max(self.budgets, default=np.inf)

    def to_fit_at(self, everything: float) -> tuple[float, ...]:
        """The budgets to fit at: the largest first, then each as far as possible from those before it.

        A budget above the price of `everything` buys no more than that. Of many budgets eight are fitted at;
        models of a larger budget, stopped earlier, serve those between.

        >>> Asked((5.0, 10.0, 20.0, 30.0, 50.0)).to_fit_at(784.0)
        (50.0, 5.0, 20.0, 10.0, 30.0)
        """
        left = sorted({min(budget, everything) for budget in self.budgets if budget > 0.0})
        if not left:
            return ()
        logs = np.log(left)
        order = [len(left) - 1]
        while len(order) < min(len(left), _MOST):
            away = np.abs(logs[:, None] - logs[order]).min(axis=1)
            order.append(int(np.argmax(away)))
        return tuple(left[place] for place in order)


@dataclass(frozen=True)
class Effort:
    """What a search did: how many values it tried, for how long, whether time ended it, what failed."""

    n_fits: int
    seconds: float
    out_of_time: bool
    failures: Sequence[str] = ()  # in words


def why_nothing_helps(costs: Costs, budget: float, effort: Effort) -> str:
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
