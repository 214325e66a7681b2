"""Two plans in turn: whoever the first one leaves in doubt is handed over to the second.

The second starts its scores afresh, but not its bill: what the first has bought stays bought.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from miserly.errors import PlanError
from miserly.plan import links
from miserly.plan.nodes import LEAVE, Confidence, Node, Onward
from miserly.plan.plan import Plan

__all__ = ["can_hand_over", "hand_over", "handing_over_at", "is_chain", "suit_each_other"]

_GATE = "handover"  # in a plan's info: the node after which some are handed over


def hand_over(first: Plan, then: Plan, level: float) -> Plan:
    """A plan that answers as `first` where its most probable class has at least probability `level`.

    Everybody else goes on to `then`. `first` must be a chain that nobody leaves before its end. A first plan
    that asks nothing cannot tell one example from another: it hands over all of them, or none.

    Examples
    --------
    >>> from miserly import Costs
    >>> from miserly.plan import Node, Raw
    >>> costs = Costs([1.0, 5.0])
    >>> cheap, dear = (Plan(costs=costs, terms=[Raw(f)], nodes=[Node([0], [0], [1.0], [0.0])], base=[0.0],
    ...                     link="logistic", classes=[0, 1]) for f in (0, 1))
    >>> both = hand_over(cheap, dear, level=0.9)  # |score| >= 2.2
    >>> run = both.run([[3.0, -1.0], [1.0, -1.0]])
    >>> run.scores.tolist(), run.cost.tolist()
    ([3.0, -1.0], [1.0, 6.0])
    """
    if not can_hand_over(first):
        raise PlanError("only a chain with class probabilities that nobody leaves early can hand over")
    if not suit_each_other(first, then):
        raise PlanError(
            "plans that follow one another need the same costs, link, classes and categories, and no budget "
            "of their own"
        )
    if not then.nodes:
        return first
    if not first.nodes:
        sure = links.probabilities(first.link, first.base[None, : first.n_outputs]).max() >= level
        return first if sure else then
    n_scores, place = max(first.n_scores, then.n_scores), len(first.nodes) - 1
    return first.replace(
        terms=[*first.terms, *then.terms],
        nodes=[
            *_widened(first.nodes[:-1], n_scores),
            *_widened([replace(first.nodes[-1], gate=Confidence(level), up=place + 1)], n_scores),
            *_moved(then, len(first.nodes), len(first.terms), n_scores),
        ],
        base=_wide(first.base, n_scores),
        n_outputs=first.n_outputs,
        info={**first.info, _GATE: place},
    )


def handing_over_at(plan: Plan, level: float) -> Plan:
    """The same plan with another level; one that hands nobody over stays as it is."""
    place = plan.info.get(_GATE)
    if place is None:
        return plan
    nodes = list(plan.nodes)
    nodes[place] = replace(nodes[place], gate=Confidence(level))
    return plan.replace(nodes=nodes)


def is_chain(plan: Plan) -> bool:
    """Whether everybody goes through all nodes, one after the other."""
    following = [*range(1, len(plan.nodes)), LEAVE]
    return all(
        isinstance(node.gate, Onward) and node.up == after
        for node, after in zip(plan.nodes, following[: len(plan.nodes)], strict=True)
    )


def can_hand_over(plan: Plan) -> bool:
    """Whether a plan can be the first of two."""
    return plan.link in ("logistic", "softmax") and is_chain(plan)


def suit_each_other(first: Plan, then: Plan) -> bool:
    """Whether answers of two plans mean the same."""
    return (
        first.costs == then.costs
        and (first.link, first.n_outputs) == (then.link, then.n_outputs)
        and np.array_equal(_labels(first), _labels(then))
        and first.categories == then.categories
        and first.budget == then.budget == np.inf
    )


def _labels(plan: Plan) -> NDArray[np.generic]:
    return np.arange(0) if plan.classes is None else plan.classes


def _moved(plan: Plan, n_nodes: int, n_terms: int, n_scores: int) -> list[Node]:
    """Nodes that come after so many others; the root starts from the plan's base, whoever comes to it."""
    root = plan.nodes[0]
    if root.inherits:
        root = replace(root, bias=root.bias + plan.base, inherits=False)
    return [
        replace(
            node,
            terms=node.terms + n_terms,
            up=node.up if node.up == LEAVE else node.up + n_nodes,
            low=node.low if node.low == LEAVE else node.low + n_nodes,
        )
        for node in _widened([root, *plan.nodes[1:]], n_scores)
    ]


def _widened(nodes: Sequence[Node], n_scores: int) -> list[Node]:
    """Nodes of plans with more scores, which they leave at nothing."""
    return [replace(node, bias=_wide(node.bias, n_scores)) for node in nodes]


def _wide(values: NDArray[np.float64], n_scores: int) -> NDArray[np.float64]:
    return np.concatenate([values, np.zeros(n_scores - len(values))])
