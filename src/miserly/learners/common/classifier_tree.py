"""Trees and chains of linear classifiers over terms, and the plans they become.

Node `k` of `K` gives a row the scores ``values @ weights[k] + intercept[k]``, over the ready columns of
`terms`. It goes to ``up[k]`` if its steering score is greater than ``threshold[k]``, else to ``low[k]``;
where that is `LEAVE` it leaves with the scores of this node. With one score (C = 1) that score steers; with
several (C classes) a score of its own does, ``values @ steer[k] + steer_intercept[k]``, which is no answer.

Node 0 is the root, children come after their parent. A node's scores replace those of its parent. What is
zero costs nothing: a plan holds only terms that some node weighs, and a node pays only for those it weighs.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from miserly.costs import Costs
from miserly.errors import PlanError
from miserly.learners.common.terms import TermSet
from miserly.plan import LEAVE, Node, Onward, Plan, Threshold

__all__ = ["ClassifierTree", "build_plan"]

Floats: TypeAlias = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class ClassifierTree:
    """A tree (or a chain) of linear classifiers.

    Attributes
    ----------
    up, low : int arrays of (K,)
        The children of each node, or `LEAVE`.
    weights : array of (K, T) or (K, T, C)
        Of the ready columns.
    intercept : array of (K,) or (K, C)
    threshold : array of (K,)
        May be infinite: then all rows go the same way.
    steer : array of (K, T), optional
        What the gates read where C > 1, with `steer_intercept` (K,).
    """

    up: NDArray[np.int64]
    low: NDArray[np.int64]
    weights: Floats
    intercept: Floats
    threshold: Floats
    steer: Floats | None = None
    steer_intercept: Floats | None = None

    def __post_init__(self) -> None:
        put = object.__setattr__
        for name in ("up", "low"):
            put(self, name, np.asarray(getattr(self, name), dtype=np.int64))
        n = len(self.up)
        weights = np.asarray(self.weights, dtype=np.float64)
        put(self, "weights", weights[:, :, None] if weights.ndim == 2 else weights)
        put(self, "intercept", np.asarray(self.intercept, dtype=np.float64).reshape(n, -1))
        put(self, "threshold", np.asarray(self.threshold, dtype=np.float64))
        if self.steer is not None:
            put(self, "steer", np.asarray(self.steer, dtype=np.float64))
            offset = np.zeros(n) if self.steer_intercept is None else self.steer_intercept
            put(self, "steer_intercept", np.asarray(offset, dtype=np.float64))
        self._check()

    def _check(self) -> None:
        n, n_terms, n_scores = self.weights.shape
        shapes = {"low": (n,), "threshold": (n,), "intercept": (n, n_scores)}
        if self.steer is not None:
            shapes |= {"steer": (n, n_terms), "steer_intercept": (n,)}
        for name, shape in shapes.items():
            if getattr(self, name).shape != shape:
                raise PlanError(f"{name} of shape {getattr(self, name).shape}, but {shape} is right")
        divides = (self.up != LEAVE) | (self.low != LEAVE)
        if n_scores > 1 and divides.any() and self.steer is None:
            raise PlanError(f"{n_scores} scores, and none of them is named to steer: give `steer`")

    @property
    def n_nodes(self) -> int:
        return len(self.up)

    @property
    def n_scores(self) -> int:
        return int(self.weights.shape[2])

    def rescaled(self, factor: float, offset: float = 0.0) -> ClassifierTree:
        """The tree that answers ``factor * score + offset`` and sends all rows the same way (factor > 0)."""
        return replace(
            self,
            weights=factor * self.weights,
            intercept=factor * self.intercept + offset,
            threshold=factor * self.threshold + offset if self.steer is None else self.threshold,
        )

    def scores(self, node: int, values: Floats) -> Floats:
        """The scores (n, C) of a node for rows of ready columns."""
        return values @ self.weights[node] + self.intercept[node]

    def steering(self, node: int, values: Floats) -> Floats:
        """What the gate of a node reads, (n,)."""
        if self.steer is None or self.steer_intercept is None:
            return self.scores(node, values)[:, 0]
        return values @ self.steer[node] + self.steer_intercept[node]

    def ways(self, values: Floats) -> tuple[Floats, NDArray[np.int64]]:
        """The scores (n, C) that rows leave with, and the nodes (n,) they leave from."""
        at = np.zeros(len(values), dtype=np.int64)
        out = np.zeros((len(values), self.n_scores))
        for k in range(self.n_nodes):
            rows = np.flatnonzero(at == k)
            out[rows] = self.scores(k, values[rows])
            above = self.steering(k, values[rows]) > self.threshold[k]
            child = np.where(above, self.up[k], self.low[k])
            at[rows] = np.where(child == LEAVE, k, child)
        return out, at


def build_plan(
    tree: ClassifierTree,
    terms: TermSet,
    costs: Costs,
    link: str = "identity",
    base: ArrayLike = 0.0,
    classes: ArrayLike | None = None,
    info: Mapping[str, Any] | None = None,
    categories: Mapping[int, Sequence[Any]] | None = None,
) -> Plan:
    """The plan of a tree; `base` (C,) is the answer for rows that cannot afford the root.

    Examples
    --------
    >>> from miserly.data.rows import Rows
    >>> from miserly.learners.common.terms import LinearTerms
    >>> costs = Costs([1.0, 10.0])
    >>> terms = LinearTerms.fit(Rows(np.array([[0.0, 0.0], [2.0, 4.0]]), np.zeros(2)), costs)
    >>> tree = ClassifierTree(up=[1, -1], low=[-1, -1], weights=[[1.0, 0.0], [0.0, 1.0]], intercept=[0, 0],
    ...                       threshold=[0.0, np.inf])
    >>> run = build_plan(tree, terms, costs).run([[0.0, 3.0], [2.0, 3.0]])
    >>> run.scores.tolist(), run.cost.tolist()
    ([-1.0, 0.5], [1.0, 11.0])
    """
    steers = tree.steer is not None
    used = np.flatnonzero(np.any(_any_weight(tree), axis=0))
    place = np.full(terms.n_terms, -1, dtype=np.int64)
    place[used] = np.arange(len(used))
    nodes = [_node(tree, k, terms, place) for k in range(tree.n_nodes)]
    answers = np.broadcast_to(np.asarray(base, dtype=np.float64), (tree.n_scores,))
    return Plan(
        costs=costs,
        terms=[terms.plan_terms[t] for t in used],
        nodes=nodes,
        base=np.append(answers, 0.0) if steers else answers,
        link=link,
        n_outputs=tree.n_scores,
        classes=classes,
        categories=categories,
        info=info,
    )


def _any_weight(tree: ClassifierTree) -> NDArray[np.bool_]:
    """Which terms each node needs, (K, T)."""
    needs = (tree.weights != 0.0).any(axis=2)
    return needs if tree.steer is None else needs | (tree.steer != 0.0)


def _node(tree: ClassifierTree, k: int, terms: TermSet, place: NDArray[np.int64]) -> Node:
    """One node with its gate; weights term after term, so that each is evaluated when first met."""
    weights, bias = terms.weights_in_plan(tree.weights[k], tree.intercept[k])
    if tree.steer is not None and tree.steer_intercept is not None:
        steer, offset = terms.weights_in_plan(tree.steer[k], tree.steer_intercept[k])
        weights, bias = np.column_stack([weights, steer]), np.append(bias, offset)
    term, channel = np.nonzero(weights)
    up, low = int(tree.up[k]), int(tree.low[k])
    ends = up == LEAVE and low == LEAVE
    steering = tree.n_scores if tree.steer is not None else 0
    return Node(
        terms=place[term],
        channels=channel,
        weights=weights[term, channel],
        bias=bias,
        inherits=False,
        gate=Onward() if ends else Threshold(float(tree.threshold[k]), steering),
        up=up,
        low=low,
    )
