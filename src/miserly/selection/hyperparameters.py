"""What a search varies: a hyperparameter of a learner that trades cost for quality, and views of a fit."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from copy import copy
from dataclasses import dataclass, replace
from numbers import Integral
from typing import Any

import numpy as np
from sklearn.base import is_classifier

from miserly.costs import Costs, fits
from miserly.data.rows import Rows
from miserly.errors import CostError, DataError
from miserly.learners import EarlyExit, GreedyMiserClassifier
from miserly.learners.base.kinds import StagedClassifier
from miserly.plan import Plan
from miserly.plan.compose import handing_over_at
from miserly.plan.gates import Confidence
from miserly.plan.purchases import purchases
from miserly.selection.requests import SearchBudgets

__all__ = ["Hyperparameter", "View", "budget_hyperparameter", "cheapest_feature", "cost_range",
           "hyperparameters_of", "n_nodes", "numbers_of_nodes", "parameter_paths", "viewed", "viewed_plan",
           "views_of"]  # fmt: skip


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
    natural : float, optional
        The value at which one unit of cost equals one unit of the cost of mistakes. It is tried first.
    """

    name: str
    path: str
    cheap: float
    expensive: float
    natural: float | None = None

    @property
    def is_budget(self) -> bool:
        """Whether its value is what a model may cost."""
        return self.name in ("budget", "mean_budget")

    def first_values(self, n: int) -> list[float]:
        """The first values to try, three at most: the expensive end, the middle, the cheap end.

        A natural value comes before these.
        """
        some = [self.expensive, float(np.sqrt(self.expensive * self.cheap)), self.cheap][:n]
        return some if self.natural is None else [self.natural, *some]


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

    No range goes beyond the largest budget of the search. A learner without any of them has none.
    """
    paths = parameter_paths(learner)
    given = learner.get_params(deep=True)
    low, high = cost_range(costs, learner, budgets)
    budget = [Hyperparameter("budget", paths["budget"], low, high)] if "budget" in paths else []
    if "costs" not in paths:
        raise DataError(
            f"{type(learner).__name__} has no parameter 'costs', so it cannot take costs into account"
        )
    if "node_budget" in paths:
        return [Hyperparameter("node_budget", paths["node_budget"], low, high)]
    if "tradeoff" in paths and given[paths["tradeoff"]] is not None:
        ends = _tradeoff_range(learner, rows, costs, budgets)
        tradeoff = Hyperparameter("tradeoff", paths["tradeoff"], *ends, _natural_tradeoff(rows, ends))
        both = paths.get("lookahead") == "lookahead" and given["budget"] is None
        return [tradeoff, *(budget if both else [])]
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
    n_rounds = learner.get_params().get("n_rounds", 1)
    everything = costs.total + costs.evaluation * (int(n_rounds) if isinstance(n_rounds, Integral) else 1)
    if not everything > 0:
        raise CostError("all features are free: a search needs a feature with a cost")
    most = min(float(everything), budgets.largest or np.inf)
    return min(cheapest_feature(costs), most), most


def cheapest_feature(costs: Costs) -> float:
    """The smallest cost of a row that acquires a feature with a cost."""
    prices = costs.marginals(np.zeros(len(costs), dtype=np.bool_)) + costs.evaluation
    return float(prices[prices > 0].min())


def _tradeoff_range(learner: Any, rows: Rows, costs: Costs, budgets: SearchBudgets) -> tuple[float, float]:
    """The tradeoff at which not even the cheapest feature is worth its cost, and one that has little effect.

    The most that a model can gain is the loss of a constant answer.
    """
    if is_classifier(learner):
        share = np.unique(rows.y, return_counts=True)[1] / len(rows)
        loss = -float(share @ np.log(share))
    else:
        loss = 0.5 * float(np.var(rows.y.astype(np.float64)))
    cheapest, everything = cost_range(costs, learner, budgets)
    return 0.5 * loss / max(cheapest, 1e-3 * everything), 1e-3 * loss / everything


def _natural_tradeoff(rows: Rows, ends: tuple[float, float]) -> float | None:
    """The tradeoff that prices the loss in money: one over the mean cost of a mistake; None if unknown."""
    if rows.outcomes is None:
        return None
    return float(np.clip(1.0 / rows.outcomes.weights(rows.y).mean(), min(ends), max(ends)))


# -- views ---------------------------------------------------------------------------------------------------
#
# One fit gives several models of different costs, its views. A view is a mapping with one entry: ``rounds``
# (the first rounds of a boosted model), ``up_to_cost`` (the first nodes of a chain whose features fit under a
# cost), ``threshold`` (of early exits) or ``handover`` (the threshold at which rows are handed over). The
# empty view is the whole model.

View = Mapping[str, float]

_N_ROUNDS = 5  # numbers of rounds at which one boosted model is evaluated
_N_COSTS = 16  # costs at which one anytime model is evaluated
_THRESHOLDS = (0.6, 0.7, 0.8, 0.9, 0.95, 0.98)


def views_of(learner: Any, costs: Costs, budgets: SearchBudgets) -> tuple[View, ...]:
    """The views of a fit of a learner; every budget of the search is a cost at which a chain may end."""
    if isinstance(learner, EarlyExit):
        chosen = learner.threshold is not None or learner.saving is not None or learner.rule != "confidence"
        return ({},) if chosen else tuple({"threshold": value} for value in _THRESHOLDS)
    if _is_anytime(learner):
        limits = np.geomspace(*cost_range(costs, learner, budgets), _N_COSTS)
        wanted = {float(limit) for limit in limits} | {b for b in budgets.amounts if 0.0 < b < np.inf}
        return tuple({"up_to_cost": limit} for limit in sorted(wanted))
    most = learner.get_params().get("n_rounds")
    if most is None or getattr(learner, "is_whole", False):
        return ({},)
    smaller: list[View] = [{"up_to_cost": b} for b in budgets.amounts if 0.0 < b < budgets.largest]
    if isinstance(most, str):  # the fit chooses
        return ({}, *smaller)
    rounds = {round(number) for number in np.geomspace(min(5, most), most, _N_ROUNDS)}
    return (*({"rounds": number} for number in sorted(rounds)), *smaller)


def _is_anytime(learner: Any) -> bool:
    """Whether the nodes of a fitted plan answer at rising costs, each by itself."""
    is_staged = isinstance(learner, StagedClassifier) and not isinstance(learner, GreedyMiserClassifier)
    return is_staged or bool(getattr(learner, "anytime", False))


def viewed(model: Any, view: View) -> Any:
    """A fitted model in a view."""
    if not view:
        return model
    other = copy(model)
    other.plan_ = viewed_plan(model.plan_, view)
    if "threshold" in view:
        other.threshold = other.threshold_ = view["threshold"]
    if "handover" in view:
        other.threshold = view["handover"]
    return other


def viewed_plan(plan: Plan, view: View) -> Plan:
    """A plan in a view: the plan itself, a prefix of it, or the plan with other exits."""
    if not view:
        return plan
    if "handover" in view:
        return handing_over_at(plan, view["handover"])
    if "threshold" not in view:
        return plan.prefix(n_nodes(plan, view))
    gate = Confidence(view["threshold"])
    moved = [replace(node, gate=gate) if isinstance(node.gate, Confidence) else node for node in plan.nodes]
    return plan.replace(nodes=moved)


def n_nodes(plan: Plan, view: View) -> int:
    """The number of nodes of a chain in a view: a number of rounds, or all that fit under a cost."""
    return numbers_of_nodes(plan, [view])[0]


def numbers_of_nodes(plan: Plan, views: Sequence[View]) -> list[int]:
    """The number of nodes of a chain in each view."""
    totals = (
        [purchase.total for purchase in purchases(plan)]
        if any("up_to_cost" in view for view in views)
        else []
    )

    def number(view: View) -> int:
        if "rounds" in view:
            return min(int(view["rounds"]), len(plan.nodes))
        return int(fits(0.0, np.array(totals), view["up_to_cost"]).sum())

    return [number(view) for view in views]
