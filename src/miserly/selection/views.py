"""Views of a fitted model: one fit gives several models of different costs.

A view is a mapping with one entry: ``rounds`` (the first rounds of a boosted model), ``up_to_cost`` (the
first nodes of a chain whose features fit under a cost), ``threshold`` (of early exits) or ``handover``
(the threshold at which rows are handed over). The empty view is the whole model.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from copy import copy
from dataclasses import replace
from typing import Any

import numpy as np

from miserly.costs import Costs, fits
from miserly.learners import EarlyExit, GreedyMiserClassifier
from miserly.learners.base.kinds import StagedClassifier
from miserly.plan import Plan
from miserly.plan.compose import handing_over_at
from miserly.plan.gates import Confidence
from miserly.plan.purchases import purchases
from miserly.selection.budgets import SearchBudgets
from miserly.selection.hyperparameters import cost_range

__all__ = ["View", "n_nodes", "numbers_of_nodes", "viewed", "viewed_plan", "views_of"]

View = Mapping[str, float]

_N_ROUNDS = 5  # numbers of rounds at which one boosted model is evaluated
_N_COSTS = 16  # costs at which one anytime model is evaluated
_THRESHOLDS = (0.6, 0.7, 0.8, 0.9, 0.95, 0.98)


def views_of(learner: Any, costs: Costs, budgets: SearchBudgets) -> tuple[View, ...]:
    """The views of a fit of a learner; every budget of the search is a cost at which a chain may end."""
    if isinstance(learner, EarlyExit):
        chosen = learner.threshold is not None or learner.saving is not None or learner.rule != "confidence"
        return ({},) if chosen else tuple({"threshold": value} for value in _THRESHOLDS)
    if isinstance(learner, StagedClassifier) and not isinstance(learner, GreedyMiserClassifier):
        limits = np.geomspace(*cost_range(costs, learner, budgets), _N_COSTS)
        wanted = {float(limit) for limit in limits} | {b for b in budgets.amounts if 0.0 < b < np.inf}
        return tuple({"up_to_cost": limit} for limit in sorted(wanted))
    most = learner.get_params().get("n_rounds")
    if most is None:
        return ({},)
    rounds = {round(number) for number in np.geomspace(min(5, most), most, _N_ROUNDS)}
    smaller = [budget for budget in budgets.amounts if 0.0 < budget < budgets.largest]
    return (*({"rounds": number} for number in sorted(rounds)), *({"up_to_cost": b} for b in smaller))


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
