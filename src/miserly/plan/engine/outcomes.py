"""When no later node can change a decision by expected costs.

The probability of a class is proportional to its share: ``exp(score)``, the score itself, or
``1 / (1 + exp(-score))``. With shares `s_k` and costs `c[k, a]`, answer `a` is better than `b` if
``sum_k s_k (c[k, b] - c[k, a])`` is above 0. While each score stays between two bounds, this sum is smallest
if every class that speaks for `a` has its least share, and every other class its largest. So the decision is
settled if that smallest sum is above 0 for every `b`. No rule that knows only these bounds lets more rows
leave. A slack covers rounding.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from miserly.plan import links
from miserly.plan.link_base import BY_EACH, BY_LOG_ODDS, BY_SHARES

if TYPE_CHECKING:
    from miserly.plan.plan import Plan

__all__ = ["LEAST_SHARE", "decided", "outcome_table", "slack_of"]

Floats = NDArray[np.float64]

LEAST_SHARE = 1e-30  # smaller shares may be rounded to nothing, or up to the least one of float32
_SLACK, _SINGLE_SLACK = 1e-11, 2e-5  # relative, for what follows the scores


def outcome_table(plan: Plan) -> Floats:
    """What each answer costs by the true class, (n_classes, n_answers); empty if the plan has no decision.

    Costs are divided by the weights of training. Of answers that cost the same, only the first is ever given.
    """
    if plan.decision is None:
        return np.zeros((0, 0))
    assert plan.decision.weights is not None
    costs = plan.decision.costs
    _, first = np.unique(costs, axis=1, return_index=True)
    table = costs[:, np.sort(first)] / plan.decision.weights[:, None]
    return np.ascontiguousarray(table / max(float(table.max()), 1e-300))


def slack_of(plan: Plan) -> float:
    """The relative error of shares and expected costs, with room to spare."""
    return _SLACK if links.in_double(plan.link) == plan.link else _SINGLE_SLACK


def decided(plan: Plan, scores: Floats, least: Floats, most: Floats) -> NDArray[np.bool_]:
    """Which rows have an answer that cannot change while scores (n, n_outputs) stay between the bounds."""
    nodes, rule = plan.tables.nodes, links.LINKS[plan.link].chances
    ends: list[Any] = [least, scores, most]
    if rule == BY_LOG_ODDS:  # the score of the first class is 0
        ends = [np.column_stack([np.zeros(len(one)), one]) for one in ends]
    top = ends[2].max(axis=1)
    bounded = top < np.inf
    with np.errstate(invalid="ignore"):
        low, now, high = (_shares(one, top, rule) for one in ends)
        answer = _expected(now, nodes.outcomes).argmin(axis=1)
        wins = _wins(nodes.outcomes, nodes.slack, answer, low, high)
    if rule == BY_SHARES:
        wins &= _sum(low) > 0.0
    return np.asarray(bounded & wins)


def _shares(scores: Floats, top: Floats, rule: int) -> Floats:
    if rule == BY_SHARES:
        return scores
    if rule == BY_EACH:
        return np.asarray(1.0 / (1.0 + links.exp(-scores)))
    return np.asarray(links.exp(scores - top[:, None]))


def _sum(columns: Floats) -> Floats:
    total = np.zeros(len(columns))
    for k in range(columns.shape[1]):
        total += columns[:, k]
    return total


def _expected(shares: Floats, table: Floats) -> Floats:
    total = np.zeros((len(shares), table.shape[1]))
    for k in range(table.shape[0]):
        total += shares[:, k, None] * table[k]
    return total


def _wins(table: Floats, slack: float, answer: NDArray[np.int64], low: Floats, high: Floats) -> NDArray[Any]:
    """Whether the answer of each row is better than all others by more than the slack."""
    wins = np.ones(len(low), dtype=np.bool_)
    for b in range(table.shape[1]):
        total, size = np.zeros(len(low)), np.zeros(len(low))
        for k in range(table.shape[0]):
            own, other = table[k, answer], table[k, b]
            difference = other - own
            total += difference * np.where(difference > 0.0, low[:, k], high[:, k])
            size += (other + own) * (high[:, k] + LEAST_SHARE)
        wins &= (total > slack * size) | (answer == b)
    return wins
