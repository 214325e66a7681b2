"""The hyperparameter of a learner that trades cost for quality, and the range that is searched."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.base import is_classifier

from miserly.costs import Costs
from miserly.data.rows import Rows
from miserly.errors import CostError, DataError
from miserly.selection.budgets import SearchBudgets

__all__ = [
    "Hyperparameter",
    "budget_hyperparameter",
    "cheapest_feature",
    "cost_range",
    "hyperparameters_of",
    "parameter_paths",
]


@dataclass(frozen=True)
class Hyperparameter:
    """One parameter that trades cost for quality, on a logarithmic scale.

    Attributes
    ----------
    name : str
    path : str
        The name that `set_params` takes, ``estimator__budget`` for example.
    cheap, expensive : float
        The ends of the range: the values of the cheapest and of the most expensive models.
    """

    name: str
    path: str
    cheap: float
    expensive: float

    @property
    def is_budget(self) -> bool:
        """Whether its value is what a model may cost."""
        return self.name in ("budget", "mean_budget")

    def first_values(self, n: int) -> list[float]:
        """The first values to try, three at most: the expensive end, the middle, the cheap end."""
        return [self.expensive, float(np.sqrt(self.expensive * self.cheap)), self.cheap][:n]


def parameter_paths(learner: Any) -> dict[str, str]:
    """The path of each parameter: its own name, or that of an inner estimator (`estimator__budget`)."""
    paths: dict[str, str] = {}
    for path in sorted(learner.get_params(deep=True), key=lambda path: path.count("__")):
        paths.setdefault(path.rpartition("__")[2], path)
    return paths


def hyperparameters_of(
    learner: Any, rows: Rows, costs: Costs, budgets: SearchBudgets
) -> list[Hyperparameter]:
    """The hyperparameters to search over: `node_budget`, `tradeoff` or `budget`; the Miser has the last two.

    No range goes beyond the largest budget of the search.
    """
    paths = parameter_paths(learner)
    given = learner.get_params(deep=True)
    low, high = cost_range(costs, learner, budgets)
    budget = [Hyperparameter("budget", paths["budget"], low, high)] if "budget" in paths else []
    if "costs" not in paths:
        raise DataError(f"{type(learner).__name__} has no parameter 'costs', so no price reaches it")
    if "node_budget" in paths:
        return [Hyperparameter("node_budget", paths["node_budget"], low, high)]
    if "tradeoff" in paths and given[paths["tradeoff"]] is not None:
        ends = _tradeoff_range(learner, rows, costs, budgets)
        tradeoff = Hyperparameter("tradeoff", paths["tradeoff"], *ends)
        both = paths.get("lookahead") == "lookahead" and given["budget"] is None
        return [tradeoff, *(budget if both else [])]
    if not budget:
        raise DataError(f"{type(learner).__name__} has no tradeoff and no budget: nothing to search over")
    return budget


def budget_hyperparameter(learner: Any, costs: Costs, budgets: SearchBudgets) -> Hyperparameter | None:
    """The budget of a learner with another hyperparameter; None if it has no budget, or the user set one."""
    paths = parameter_paths(learner)
    given = learner.get_params(deep=True)
    names = [name for name in ("budget", "mean_budget") if name in paths]
    if not names or any(given[paths[name]] is not None for name in names):
        return None
    return Hyperparameter(names[0], paths[names[0]], *cost_range(costs, learner, budgets))


def cost_range(costs: Costs, learner: Any, budgets: SearchBudgets) -> tuple[float, float]:
    """The cost of the cheapest feature, and of everything; at most the largest budget of the search."""
    everything = costs.total + costs.evaluation * learner.get_params().get("n_rounds", 1)
    if not everything > 0:
        raise CostError("everything is free: there is no cost to trade")
    most = min(float(everything), budgets.largest or np.inf)
    return min(cheapest_feature(costs), most), most


def cheapest_feature(costs: Costs) -> float:
    """The smallest cost of a row that acquires a feature with a cost."""
    prices = costs.marginals(np.zeros(len(costs), dtype=np.bool_)) + costs.evaluation
    return float(prices[prices > 0].min())


def _tradeoff_range(learner: Any, rows: Rows, costs: Costs, budgets: SearchBudgets) -> tuple[float, float]:
    """The tradeoff at which not even the cheapest feature is worth its cost, and one that hardly counts.

    The most that a model can gain is the loss of a constant answer.
    """
    if is_classifier(learner):
        share = np.unique(rows.y, return_counts=True)[1] / len(rows)
        loss = -float(share @ np.log(share))
    else:
        loss = 0.5 * float(np.var(rows.y.astype(np.float64)))
    cheapest, everything = cost_range(costs, learner, budgets)
    return 0.5 * loss / max(cheapest, 1e-3 * everything), 1e-3 * loss / everything
