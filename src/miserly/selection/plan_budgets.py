"""What each budget buys with one plan: estimates for ``plan.info["budgets"]``, shown by services and pages.

A plan answers inside any budget: it stops before the first purchase that does not fit. Every line has a cap,
the mean of a metric, its standard error and the mean cost, and says on which rows they were estimated.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from miserly.data.rows import Rows
from miserly.metrics import get_metric
from miserly.plan import Plan
from miserly.plan.purchases import purchases
from miserly.selection.certification import evaluate_once
from miserly.selection.evaluation import Evaluation
from miserly.selection.row_values import RowValues

if TYPE_CHECKING:
    from miserly.selection.offers import Offer
    from miserly.selection.results import Frontier

__all__ = ["BUDGETS", "BUDGETS_OF", "budget_steps", "budgets_of_offer", "budgets_on_rows", "with_budgets"]

BUDGETS, BUDGETS_OF = "budgets", "budgets_of"  # keys of `Plan.info`: the lines, the digest of their plan
_MOST = 9  # budgets of one plan


def budget_steps(plan: Plan, most: int = _MOST) -> list[float]:
    """Return budgets at which a plan can buy more, from 0 to the most that a row can pay.

    Parameters
    ----------
    plan : Plan
        The plan.
    most : int, default=9
        How many, at most.

    Returns
    -------
    list of float

    Examples
    --------
    >>> from miserly import Costs
    >>> from miserly.plan import Node, Raw
    >>> nodes = [Node([0], [0], [1.0], [0.0], up=1), Node([1], [0], [1.0], [0.0])]
    >>> plan = Plan(costs=Costs({"age": 1.0, "chol": 5.0}), terms=[Raw(0), Raw(1)], nodes=nodes, base=[0.0])
    >>> budget_steps(plan)
    [0.0, 1.0, 6.0]
    """
    top = plan.max_cost
    totals = sorted({round(one.total, 9) for one in purchases(plan) if 0.0 < one.total < top})
    if len(totals) > most - 2:
        places = np.linspace(0, len(totals) - 1, most - 2).round().astype(int)
        totals = [totals[place] for place in dict.fromkeys(places.tolist())]
    return [0.0, *totals, *([float(top)] if top > 0.0 else [])]


def budgets_of_offer(found: Frontier, offer: Offer) -> list[dict[str, Any]]:
    """Return what each budget buys with the plan of an offer, as estimated by cross-validation.

    Parameters
    ----------
    found : Frontier
        The search.
    offer : Offer
        The model that was chosen.

    Returns
    -------
    list of dict

    Notes
    -----
    The model of each fold is run under each cap, on the held-out rows of that fold. The model was chosen on
    the same rows, so the estimates are a little optimistic.
    """
    one, caps = offer.candidate, budget_steps(offer.plan)
    prices = found.chooser.refitter.prices(one)
    under = found.result.evaluator.evaluate_under_caps(one, caps, prices)
    what = "held-out rows of cross-validation, which also chose the model"
    return [_record(cap, found.metric, capped, what) for cap, capped in zip(caps, under, strict=True)]


def budgets_on_rows(plan: Plan, rows: Rows, metric: str, what: str) -> list[dict[str, Any]]:
    """Return what each budget buys with a plan, on rows that it was not fitted to.

    Parameters
    ----------
    plan : Plan
        The plan.
    rows : Rows
        The rows.
    metric : str
        The name of a metric.
    what : str
        Where the rows come from, in words.

    Returns
    -------
    list of dict
    """
    values = RowValues(get_metric(metric), rows.y)
    caps = budget_steps(plan)
    runs = [evaluate_once(plan.replace(budget=cap), rows, values, 1.0) for cap in caps]
    return [_record(cap, metric, run, what) for cap, run in zip(caps, runs, strict=True)]


def with_budgets(plan: Plan, budgets: Sequence[dict[str, Any]]) -> Plan:
    """Return the plan with a note of what each budget buys."""
    return plan.replace(info={**plan.info, BUDGETS: list(budgets), BUDGETS_OF: plan.digest})


def _record(cap: float, metric: str, found: Evaluation, rows: str) -> dict[str, Any]:
    value, error = found.mean_value, found.error
    return {
        "budget": cap,
        "metric": metric,
        "value": float(value) if np.isfinite(value) else None,
        "error": float(error) if np.isfinite(error) else None,
        "mean_cost": float(found.mean_cost),
        "rows": rows,
    }
