"""Comparisons within a frontier: learners at equal budgets, and choices before and after other prices."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from miserly.selection.cross_choice import cross_choose, paired
from miserly.selection.evaluation import interval
from miserly.selection.requests import Request
from miserly.selection.tables import shown

if TYPE_CHECKING:
    from miserly.selection.results import Frontier

__all__ = ["change_of", "compare_learners"]


def compare_learners(found: Frontier, rival: str, request: Request) -> list[dict[str, Any]]:
    """Every other learner against one of them, each with its best model for a request."""
    some = found.chooser.under(request.budget)
    constant = next(one for one in some if one.is_constant)
    reached = {
        name: cross_choose(
            [constant, *(one for one in some if one.learner == name)],
            request.mean_budget,
            found.sign,
            found.seed,
        )
        for name in found.learners
    }
    theirs = reached[rival]
    lines = []
    for name, own in reached.items():
        if name == rival or own is None or theirs is None:
            continue
        mean, error, p = paired(own.value, theirs.value)
        lines.append(
            {
                request.kind: request.amount,
                "learner": name,
                "against": rival,
                "value": float(np.nanmean(own.value)),
                **interval("difference", mean, error),
                "p": p,
            }
        )
    return lines


def change_of(old: Frontier, new: Frontier, request: Request) -> dict[str, Any]:
    """The model chosen for a request at the old prices, its cost at the new ones, and the choice now."""
    was, now = old.chosen(request), new.chosen(request)
    again = new.chooser.under(request.budget)
    still = next(one for one in again if one.trial is was.trial and one.view == was.view)
    return {
        request.kind: request.amount,
        "before": shown(was),
        "cost_before": was.mean_cost,
        "cost_of_it_now": still.mean_cost,
        "value_before": was.mean_value,
        "now": shown(now),
        "cost": now.mean_cost,
        "value": now.mean_value,
        "better": now is not still,
    }
