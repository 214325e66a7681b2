"""Additive chains: the plans of boosted models, where every node adds to the scores of the one before."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from miserly.costs import Costs
from miserly.plan import LEAVE, Node, Onward, Plan, Tree
from miserly.plan.engine.batch import run as run_plan

__all__ = ["Round", "Stage", "add_rounds", "is_additive", "nodes_of", "price_rows", "stages", "terms_of"]


@dataclass(frozen=True, eq=False)
class Round:
    """What one round of boosting adds: trees with the score each one adds to, and a constant.

    `gain` is what each feature's splits lowered the mean loss by.
    """

    trees: tuple[Tree, ...]
    channels: tuple[int, ...]
    bias: NDArray[np.float64]
    step: float
    gain: NDArray[np.float64]


def terms_of(rounds: Sequence[Round]) -> list[Tree]:
    """The trees of all rounds, in order."""
    return [tree for one in rounds for tree in one.trees]


def nodes_of(rounds: Sequence[Round]) -> list[Node]:
    """One node per round, each leading to the next."""
    nodes, first = [], 0
    for place, one in enumerate(rounds, start=1):
        terms = np.arange(first, first + len(one.trees))
        first += len(one.trees)
        nodes.append(
            Node(
                terms,
                np.array(one.channels, dtype=np.int64),
                np.full(len(terms), one.step),
                one.bias,
                up=place if place < len(rounds) else LEAVE,
            )
        )
    return nodes


def add_rounds(
    scores: NDArray[np.float64], rounds: Sequence[Round], X: NDArray[Any], costs: Costs, n_threads: int | None
) -> None:
    """Add what some rounds say about the rows of `X` to their scores (n, K), in place."""
    nothing = np.zeros(scores.shape[1])
    plan = Plan(costs=costs, terms=terms_of(rounds), nodes=nodes_of(rounds), base=nothing)
    scores += run_plan(plan, X, n_threads=n_threads, account=False).scores.reshape(scores.shape)


def is_additive(plan: Plan) -> bool:
    """Whether every example meets all nodes, one after the other, be they added or in place of others."""
    n = len(plan.nodes)
    return np.isinf(plan.budget) and all(
        isinstance(node.gate, Onward) and node.up == (k + 1 if k + 1 < n else LEAVE) and node.low == LEAVE
        for k, node in enumerate(plan.nodes)
    )


@dataclass(frozen=True, eq=False)
class Stage:
    """Where all rows stand after the first `n_nodes` nodes of a chain."""

    n_nodes: int
    scores: NDArray[np.float64]  # (n, n_scores)
    acquired: NDArray[np.bool_]  # (n, n_features)
    cost: NDArray[np.float64]  # (n,)


def stages(
    plan: Plan,
    X: NDArray[Any],
    stops: Iterable[int],
    *,
    count: str = "path",
    account: bool = True,
    compiled: bool | None = None,
    n_threads: int | None = None,
) -> Iterator[Stage]:
    """Stand after each number of nodes in `stops` (rising); every node is run once.

    The arrays of a stage are its own. Without `account`, `acquired` and `cost` stay zero.
    """
    scores = np.tile(plan.base, (len(X), 1))
    acquired = np.zeros((len(X), plan.n_features), dtype=np.bool_)
    evaluated: set[int] = set()
    done = 0
    for stop in stops:
        if stop > done:
            segment = _segment(plan, done, stop)
            part = run_plan(segment, X, count=count, account=account, compiled=compiled, n_threads=n_threads)
            anew = not all(node.inherits for node in plan.nodes[done:stop])
            scores = part.scores.reshape(scores.shape) + (0.0 if anew else scores)
            acquired = acquired | part.acquired if account else acquired
            evaluated.update(t for node in plan.nodes[done:stop] for t in node.terms.tolist())
            done = stop
        cost = np.zeros(len(X))
        if account:
            cost = price_rows(plan.costs, acquired) + sum(plan.terms[t].evaluation for t in sorted(evaluated))
        yield Stage(stop, scores, acquired, cost)


def _segment(plan: Plan, first: int, last: int) -> Plan:
    """Nodes `first` to `last` of a chain alone, from scores of zero, with the terms they use and no others.

    Each term is looked at once however many segments a chain is cut into: a plan checks all its terms.
    """
    used = sorted({t for node in plan.nodes[first:last] for t in node.terms.tolist()})
    nodes = [
        replace(
            node,
            terms=np.searchsorted(used, node.terms),
            up=node.up - first if k + 1 < last else LEAVE,
        )
        for k, node in enumerate(plan.nodes[first:last], start=first)
    ]
    terms = [plan.terms[t] for t in used]
    return Plan(costs=plan.costs, terms=terms, nodes=nodes, base=np.zeros(plan.n_scores))


def price_rows(costs: Costs, acquired: NDArray[np.bool_]) -> NDArray[np.float64]:
    """What each row's features and their groups cost, from a mask (n, n_features).

    >>> costs = Costs([1.0, 2.0], groups={"g": {"features": [0, 1], "setup": 5.0}})
    >>> price_rows(costs, np.array([[True, True], [False, False]])).tolist()
    [8.0, 0.0]
    """
    cost = acquired @ costs.feature
    for group, setup in enumerate(costs.setup):
        cost += setup * acquired[:, costs.members(group)].any(axis=1)
    return cost
