"""What the rest of a chain can still add to the scores of a row, for gates that settle answers.

For node `k` the bounds hold for the end of the chain and for every node on the way: whatever number of later
nodes a row finishes, each score changes by at least `low` (0 or less) and at most `high` (0 or more). Sums of
floating point numbers are rounded. With `m` additions ahead the error is at most ``error * (|score| + size)``
where `error` is four times ``m + 8`` units of rounding and `size` the largest sum of absolute values ahead. A
link that rounds its probabilities needs a gap between scores; `size` holds it, too.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from miserly.plan import links
from miserly.plan.engine.outcomes import decided
from miserly.plan.nodes import LEAVE, Node

if TYPE_CHECKING:
    from miserly.plan.plan import Plan

__all__ = [
    "Rest",
    "bounds_of_row",
    "bounds_of_scores",
    "by_signs",
    "following",
    "narrowed",
    "needs_rest",
    "problem_after",
    "settled",
]

ROUNDING = 4.0 * 2.0**-53
SINGLE_ROUNDING = 4.0 * 2.0**-24  # if some node or the link rounds to float32
_OPERATIONS = 8  # more than those of the comparison itself

Floats = NDArray[np.float64]


def needs_rest(plan: Plan) -> bool:
    """Whether some gate of the plan looks at the rest of the chain."""
    return any(node.gate.needs_rest for node in plan.nodes)


def following(node: Node) -> int:
    """The only child of a node of a chain; LEAVE at its end."""
    return node.up if node.up != LEAVE else node.low


def by_signs(plan: Plan) -> bool:
    """Whether each output decides by its sign, and not the largest of several."""
    return plan.n_outputs == 1 or plan.link == "votes"


def problem_after(plan: Plan, k: int) -> str | None:
    """Why a gate of node `k` cannot look at the rest of the chain, as the end of "node 3 has ..."."""
    node = plan.nodes[k]
    if node.low != LEAVE:
        return "a gate that settles answers, so rows that go low must leave"
    while True:
        if node.up != LEAVE and node.low != LEAVE:
            return "a gate that settles answers, but nodes after it have two children"
        k = following(node)
        if k == LEAVE:
            return None
        node = plan.nodes[k]
        if not node.inherits:
            return f"a gate that settles answers, but node {k} after it starts from new scores"
        if node.acquisition is not None:
            return f"a gate that settles answers, but node {k} after it chooses its purchases"
        if node.bought_only:
            return f"a gate that settles answers, but node {k} after it reads only what is bought"


class Rest(NamedTuple):
    """Bounds for each node and score; no nodes where no gate of the plan needs them."""

    low: Floats  # (n_nodes, n_scores), 0 or less
    high: Floats  # 0 or more
    size: Floats
    error: Floats  # (n_nodes,)

    @classmethod
    def of(cls, plan: Plan) -> Rest:
        """The bounds over all leaves of later trees."""
        n = len(plan.nodes) if needs_rest(plan) else 0
        low, high, size = (np.zeros((n, plan.n_scores)) for _ in range(3))
        additions = np.zeros(n)
        ranges = [term.bounds for term in plan.terms] if n else []
        for k in reversed(range(n)):
            child = following(plan.nodes[k])
            if child == LEAVE:
                continue
            node = plan.nodes[child]
            if not node.inherits or LEAVE not in (plan.nodes[k].up, plan.nodes[k].low):
                low[k], high[k], size[k] = -np.inf, np.inf, np.inf
                continue
            least, most = node.bias.copy(), node.bias.copy()
            weight = np.abs(node.bias)
            for t, c, w in zip(
                node.terms.tolist(), node.channels.tolist(), node.weights.tolist(), strict=True
            ):
                smaller, larger = _scaled(w, *ranges[t])
                least[c] += smaller
                most[c] += larger
                weight[c] += max(abs(smaller), abs(larger))
            low[k] = np.minimum(0.0, least + low[child])
            high[k] = np.maximum(0.0, most + high[child])
            size[k] = weight + size[child]
            additions[k] = additions[child] + len(node.terms) + 1
        single = plan.link != links.in_double(plan.link) or any(node.single for node in plan.nodes)
        error = (SINGLE_ROUNDING if single else ROUNDING) * (additions + _OPERATIONS)
        return cls(low, high, size + links.label_gap(plan.link) / error[:, None], error)


def _scaled(weight: float, low: float, high: float) -> tuple[float, float]:
    """The range of a weighted value; a weight of 0 gives 0, also for values without bounds."""
    if weight == 0.0:
        return 0.0, 0.0
    one, other = weight * low, weight * high
    return min(one, other), max(one, other)


def narrowed(
    plan: Plan, k: int, X: NDArray[Any], rows: NDArray[np.int64], known: NDArray[np.bool_]
) -> tuple[Floats, Floats]:
    """The bounds (n, n_scores) after node `k` for some rows, over the leaves that each row can reach.

    `known` (n, n_features) marks the features that each of the rows has bought.
    """
    sums = np.zeros((2, len(rows), plan.n_scores))
    low, high = np.zeros((len(rows), plan.n_scores)), np.zeros((len(rows), plan.n_scores))
    child = following(plan.nodes[k])
    while child != LEAVE:
        node = plan.nodes[child]
        sums += node.bias
        for t, c, w in zip(node.terms.tolist(), node.channels.tolist(), node.weights.tolist(), strict=True):
            if w != 0.0:
                ends = plan.terms[t].reachable(X, rows, known)
                sums[0, :, c] += np.minimum(w * ends[0], w * ends[1])
                sums[1, :, c] += np.maximum(w * ends[0], w * ends[1])
        low, high = np.minimum(low, sums[0]), np.maximum(high, sums[1])
        child = following(node)
    return low, high


def bounds_of_scores(
    plan: Plan,
    k: int,
    scores: Floats,
    X: NDArray[Any],
    rows: NDArray[np.int64],
    known: NDArray[np.bool_] | None,
) -> tuple[Floats, Floats]:
    """The least and the largest final scores (n, n_scores) of rows at node `k`, rounding included.

    `known` (n, n_features) are the features that each row has bought; None counts all leaves.
    """
    nodes = plan.tables.nodes
    if known is None:
        low, high = nodes.rest_low[k], nodes.rest_high[k]
    else:
        low, high = narrowed(plan, k, X, rows, known)
    margin = nodes.rest_error[k] * (np.abs(scores) + nodes.rest_size[k])
    return scores + (low - margin), scores + (high + margin)


def bounds_of_row(
    plan: Plan, k: int, scores: Floats, values: Floats, known: NDArray[np.bool_]
) -> tuple[float, float]:
    """The least and the largest final score of one document at a list-wise gate; its score at other gates."""
    gate = plan.nodes[k].gate
    if not gate.needs_rest:
        return float(scores[0]), float(scores[0])
    bought = known[None] if gate.looks_at_known else None
    row = np.zeros(1, dtype=np.int64)
    least, most = bounds_of_scores(plan, k, scores[None], values[None], row, bought)
    return float(least[0, 0]), float(most[0, 0])


def settled(plan: Plan, scores: Floats, least: Floats, most: Floats) -> NDArray[np.bool_]:
    """Which rows have an answer that cannot change while scores stay between `least` and `most`."""
    n = plan.n_outputs
    least, most = least[:, :n], most[:, :n]
    if plan.decision is not None:
        return decided(plan, scores[:, :n], least, most)
    if by_signs(plan):
        return np.asarray(((least > 0.0) | (most < 0.0)).all(axis=1))
    place = np.arange(len(scores))
    top = scores[:, :n].argmax(axis=1)
    others = most.copy()
    others[place, top] = -np.inf
    return np.asarray(least[place, top] > others.max(axis=1))
