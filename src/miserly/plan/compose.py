"""Plans made of plans: prefixes, segments of a chain, and handovers from one plan to another."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import ArrayLike, NDArray

from miserly.errors import PlanError
from miserly.plan import links
from miserly.plan.gates import Confidence, Onward
from miserly.plan.nodes import LEAVE, Node
from miserly.plan.plan import Plan
from miserly.plan.terms import Term

__all__ = [
    "can_hand_over",
    "hand_over",
    "handing_over_at",
    "is_chain",
    "keep_nodes",
    "last_restart",
    "segment",
    "shift_outputs",
    "suit_each_other",
]

_GATE = "handover"  # in a plan's info: the node after which rows may be handed over


# -- parts of one plan ---------------------------------------------------------------------------------------


def keep_nodes(plan: Plan, kept: ArrayLike) -> Plan:
    """The plan with some of its nodes alone; rows that would go past them leave instead.

    Parameters
    ----------
    plan : Plan
    kept : array of int
        The nodes to keep, in rising order. The parent of each must be among them.

    Returns
    -------
    Plan
        With the terms that the nodes use, and no others.

    Examples
    --------
    >>> from miserly import Costs
    >>> from miserly.plan import Node, Raw
    >>> nodes = [Node([0], [0], [1.0], [0.0], up=1), Node([1], [0], [1.0], [0.0])]
    >>> plan = Plan(costs=Costs([1.0, 5.0]), terms=[Raw(0), Raw(1)], nodes=nodes, base=[0.0])
    >>> keep_nodes(plan, [0]).max_cost, plan.max_cost
    (1.0, 6.0)
    """
    order = np.asarray(kept, dtype=np.int64)
    place = np.full(len(plan.nodes) + 1, LEAVE)  # the last is where LEAVE looks
    place[order] = np.arange(len(order))
    nodes = [plan.nodes[k] for k in order]
    used, terms = _used_terms(plan, nodes)
    moved = [
        replace(
            node,
            terms=np.searchsorted(used, node.terms),
            up=int(place[node.up]),
            low=int(place[node.low]),
        )
        for node in nodes
    ]
    return plan.replace(terms=terms, nodes=moved)


def segment(plan: Plan, first: int, last: int) -> Plan:
    """Nodes `first` to `last` (excluded) of a chain alone, from scores of zero.

    The segment has the terms that its nodes use, and no others: a plan checks all its terms, so each term is
    checked once, however many segments a chain is cut into. It answers with all scores of the plan.
    """
    used, terms = _used_terms(plan, plan.nodes[first:last])
    nodes = [
        replace(node, terms=np.searchsorted(used, node.terms), up=node.up - first if k + 1 < last else LEAVE)
        for k, node in enumerate(plan.nodes[first:last], start=first)
    ]
    return Plan(costs=plan.costs, terms=terms, nodes=nodes, base=np.zeros(plan.n_scores))


def node_alone(plan: Plan, k: int) -> Plan:
    """Node `k`, which reads only what is bought, as a plan that acquires what it reads, from given scores."""
    used, terms = _used_terms(plan, plan.nodes[k : k + 1])
    node = replace(
        plan.nodes[k],
        terms=np.searchsorted(used, plan.nodes[k].terms),
        inherits=True,
        gate=Onward(),
        up=LEAVE,
        low=LEAVE,
        bought_only=False,
    )
    return Plan(costs=plan.costs, terms=terms, nodes=[node], base=np.zeros(plan.n_scores))


def _used_terms(plan: Plan, nodes: Sequence[Node]) -> tuple[list[int], list[Term]]:
    used = sorted({t for node in nodes for t in node.terms.tolist()})
    return used, [plan.terms[t] for t in used]


def shift_outputs(plan: Plan, offset: ArrayLike, scale: float = 1.0) -> Plan:
    """The plan with every answer multiplied by a scale, and an offset added; rows go the same ways.

    Parameters
    ----------
    plan : Plan
        Its gates must not depend on probabilities.
    offset : array of (n_outputs,)
        What is added to the outputs.
    scale : float, default=1.0
        What the outputs are multiplied by before; above 0.

    Returns
    -------
    Plan

    Examples
    --------
    >>> from miserly import Costs
    >>> from miserly.plan import Node, Raw, Threshold
    >>> nodes = [Node([0], [0], [1.0], [0.0], gate=Threshold(2.0), up=1), Node([1], [0], [1.0], [0.0])]
    >>> plan = Plan(costs=Costs([1.0, 5.0]), terms=[Raw(0), Raw(1)], nodes=nodes, base=[0.0])
    >>> for one in (plan, shift_outputs(plan, [10.0]), shift_outputs(plan, [10.0], scale=0.5)):
    ...     print(one.run([[1.0, 4.0], [3.0, 4.0]]).scores.tolist(), one.run([[3.0, 4.0]]).cost.tolist())
    [1.0, 7.0] [6.0]
    [11.0, 17.0] [6.0]
    [10.5, 13.5] [6.0]
    """
    added = _wide(np.asarray(offset, dtype=np.float64), plan.n_scores)
    if plan.acquires and scale != 1.0:
        raise PlanError("the probabilities of a node that chooses what to buy cannot be scaled")
    scales = np.where(np.arange(plan.n_scores) < plan.n_outputs, scale, 1.0)
    nodes = []
    for node in plan.nodes:
        bias = node.bias * scales if node.inherits else node.bias * scales + added
        gate = node.gate.shifted(added, scales)
        nodes.append(replace(node, gate=gate, weights=node.weights * scales[node.channels], bias=bias))
    return plan.replace(base=plan.base * scales + added, nodes=nodes)


def is_chain(plan: Plan) -> bool:
    """Whether every row goes through all nodes, one after the other, and what it buys decides nothing."""
    if plan.acquires or plan.reads_bought:
        return False
    following = [*range(1, len(plan.nodes)), LEAVE]
    return all(
        not node.gate.decides and node.up == after
        for node, after in zip(plan.nodes, following[: len(plan.nodes)], strict=True)
    )


def last_restart(plan: Plan) -> int:
    """The first node of a chain that its final scores depend on: the last node that does not inherit."""
    if not is_chain(plan):
        return 0
    return max((k for k, node in enumerate(plan.nodes) if not node.inherits), default=0)


# -- two plans -----------------------------------------------------------------------------------------------


def hand_over(first: Plan, then: Plan, level: float) -> Plan:
    """A plan that answers as `first` where its most probable class has at least probability `level`.

    Other rows go on to `then`, which starts with scores of its own and pays only for what is not bought yet.

    Parameters
    ----------
    first : Plan
        A chain without gates and with class probabilities. If it has no nodes, its answer is the same for
        all rows, and it hands over all of them or none.
    then : Plan
        A plan with the same costs, link, classes and categories. Neither plan may have a budget.
    level : float
        Rows whose top probability is at least `level` are answered by `first`.

    Returns
    -------
    Plan

    Raises
    ------
    PlanError
        If `first` cannot hand over, or the two plans differ in what their answers mean.

    Examples
    --------
    >>> from miserly import Costs
    >>> from miserly.plan import Node, Raw
    >>> costs = Costs([1.0, 5.0])
    >>> node = Node([0], [0], [1.0], [0.0])
    >>> cheap, expensive = (
    ...     Plan(costs=costs, terms=[Raw(f)], nodes=[node], base=[0.0], link="logistic", classes=[0, 1])
    ...     for f in (0, 1)
    ... )
    >>> both = hand_over(cheap, expensive, level=0.9)  # |score| >= 2.2
    >>> run = both.run([[3.0, -1.0], [1.0, -1.0]])
    >>> run.scores.tolist(), run.cost.tolist()
    ([3.0, -1.0], [1.0, 6.0])
    """
    if not can_hand_over(first):
        raise PlanError("only a chain with class probabilities and without gates can hand over")
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
    """The plan of a handover with another `level`; a plan without a handover stays as it is."""
    place = plan.info.get(_GATE)
    if place is None:
        return plan
    nodes = list(plan.nodes)
    nodes[place] = replace(nodes[place], gate=Confidence(level))
    return plan.replace(nodes=nodes)


def can_hand_over(plan: Plan) -> bool:
    """Whether a plan can be the first of a handover."""
    return plan.has_probabilities and is_chain(plan)


def suit_each_other(first: Plan, then: Plan) -> bool:
    """Whether the answers of two plans mean the same."""
    return (
        first.costs == then.costs
        and (first.link, first.n_outputs) == (then.link, then.n_outputs)
        and np.array_equal(_labels(first), _labels(then))
        and first.categories == then.categories
        and first.budget == then.budget == np.inf
        and _decision(first) == _decision(then)
    )


def _labels(plan: Plan) -> NDArray[np.generic]:
    return np.arange(0) if plan.classes is None else plan.classes


def _decision(plan: Plan) -> object:
    return None if plan.decision is None else plan.decision.record()


def _moved(plan: Plan, n_nodes: int, n_terms: int, n_scores: int) -> list[Node]:
    """Nodes placed after `n_nodes` others; the root starts from the plan's own base."""
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
    """Nodes with a bias of zero for the scores that are new."""
    return [replace(node, bias=_wide(node.bias, n_scores)) for node in nodes]


def _wide(values: NDArray[np.float64], n_scores: int) -> NDArray[np.float64]:
    return np.concatenate([values, np.zeros(n_scores - len(values))])
