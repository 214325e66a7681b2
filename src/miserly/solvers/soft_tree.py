"""Trees and chains of linear classifiers with soft gates: their shape, numbers, and objective.

A row with score `f` at node `k` goes up with probability
``sigmoid(steepness_k (f . direction_k - threshold_k))``. The objective (Xu 2014, eqs. 3.13, 3.21 and 3.22;
`rho` is `l1`) over weights, intercepts and thresholds is

    sum_k [ sum_i mass_i emphasis_i r_i^k loss(f_i^k, target_i) + l1 sum_t |beta_t^k| + l2/2 |beta^k|^2 ]
      + sum_exits (sum_i mass_i p_i^exit) * sum_b price_b sqrt(sum_{k on the path} sum_{t in b} |beta_t^k|^2)

with `r` the probability of reaching a node (a tree, CSTC) or of leaving there (a cascade, CSCC). Masses sum
to 1. Intercepts cost nothing. Steepness and direction are fixed; with several scores per node the direction
is the combination of them that divides the rows.

The papers sum the losses of all nodes that a row meets, which is right if all paths have the same length. In
a pruned tree this would reward leaving early, by the losses of nodes not met, and descent would send every
row the shortest way. So here the loss of the node that a row leaves at counts once more for every level left.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit

from miserly.losses import PointwiseLoss
from miserly.solvers.term_prices import Blocks

__all__ = ["LEAVE", "SoftTree", "SoftTreeProblem", "TreeShape", "TreeState"]

Floats: TypeAlias = NDArray[np.float64]
LEAVE = -1  # no child: rows that go there leave with this node's answer


@dataclass(frozen=True)
class TreeShape:
    """Which node follows which; node 0 is the root, and children come after their parent.

    >>> TreeShape.full(2), TreeShape.chain(2)
    (TreeShape(up=(1, -1, -1), low=(2, -1, -1)), TreeShape(up=(1, -1), low=(-1, -1)))
    """

    up: tuple[int, ...]
    low: tuple[int, ...]

    @classmethod
    def full(cls, levels: int) -> TreeShape:
        """A balanced tree of so many levels of nodes."""
        inner = 2 ** (levels - 1) - 1
        ends = (LEAVE,) * (inner + 1)
        return cls(
            tuple(2 * k + 1 for k in range(inner)) + ends, tuple(2 * k + 2 for k in range(inner)) + ends
        )

    @classmethod
    def chain(cls, length: int) -> TreeShape:
        """A cascade: up is on to the next node, low is out."""
        return cls((*range(1, length), LEAVE), (LEAVE,) * length)

    def __len__(self) -> int:
        return len(self.up)

    def is_leaf(self, node: int) -> bool:
        return self.up[node] == LEAVE and self.low[node] == LEAVE

    @cached_property
    def parent(self) -> tuple[int, ...]:
        """The parent of each node, -1 for the root."""
        parent = [-1] * len(self)
        for node in range(len(self)):
            for child in (self.up[node], self.low[node]):
                if child != LEAVE:
                    parent[child] = node
        return tuple(parent)

    @cached_property
    def exits(self) -> tuple[int, ...]:
        """The nodes that rows may leave at."""
        return tuple(k for k in range(len(self)) if LEAVE in (self.up[k], self.low[k]))

    def path(self, node: int) -> list[int]:
        """The nodes from the root to this one."""
        path = [node]
        while self.parent[path[-1]] >= 0:
            path.append(self.parent[path[-1]])
        return path[::-1]

    def spare(self, node: int) -> int:
        """How many levels of the tree come after this node's."""
        return max(len(self.path(k)) for k in self.exits) - len(self.path(node))

    def below(self, node: int) -> list[int]:
        """This node and all that come after it."""
        found = [node]
        for k in found:
            found += [child for child in (self.up[k], self.low[k]) if child != LEAVE]
        return found

    def without(self, nodes: list[int]) -> tuple[TreeShape, list[int]]:
        """The shape without some nodes and all that follow them, and the nodes that remain."""
        gone = {k for node in nodes for k in self.below(node)}
        kept = [k for k in range(len(self)) if k not in gone]
        place = {k: i for i, k in enumerate(kept)} | {LEAVE: LEAVE}
        up, low = (tuple(place.get(side[k], LEAVE) for k in kept) for side in (self.up, self.low))
        return TreeShape(up, low), kept


@dataclass(eq=False)
class SoftTree:
    """The numbers of every node: K nodes, T terms, C scores."""

    shape: TreeShape
    weights: Floats  # (K, T, C)
    intercept: Floats  # (K, C)
    threshold: Floats  # (K,)
    steepness: Floats  # (K,)
    direction: Floats  # (K, C)

    @classmethod
    def zeros(cls, shape: TreeShape, n_terms: int, n_scores: int) -> SoftTree:
        k = len(shape)
        return cls(
            shape,
            np.zeros((k, n_terms, n_scores)),
            np.zeros((k, n_scores)),
            np.zeros(k),
            np.ones(k),
            np.ones((k, n_scores)),
        )

    def copy(self) -> SoftTree:
        return self.take(list(range(len(self.shape))), self.shape)

    def take(self, kept: list[int], shape: TreeShape) -> SoftTree:
        """Some of the nodes, as another shape."""
        arrays = (self.weights, self.intercept, self.threshold, self.steepness, self.direction)
        return SoftTree(shape, *(array[kept].copy() for array in arrays))

    def without(self, nodes: list[int]) -> SoftTree:
        """The tree without some nodes and all that follow them."""
        shape, kept = self.shape.without(nodes)
        return self.take(kept, shape)

    def active(self, node: int) -> NDArray[np.int64]:
        """The terms that a node uses."""
        return np.flatnonzero((self.weights[node] != 0).any(axis=1))

    def scores(self, columns: NDArray[np.floating], node: int) -> Floats:
        """Scores (n, C) of a node on terms (T, n)."""
        used = self.active(node)
        return np.asarray(columns[used].T @ self.weights[node, used] + self.intercept[node])

    def chance_up(self, node: int, scores: Floats) -> Floats:
        """The probability of going up (n,)."""
        margin = scores @ self.direction[node] - self.threshold[node]
        return np.asarray(expit(self.steepness[node] * margin))

    def clamp(self, negligible: float) -> None:
        """Weights below `negligible` become zeros."""
        self.weights[np.abs(self.weights) < negligible] = 0.0


@dataclass(frozen=True, eq=False)
class SoftTreeProblem:
    """What a tree is fitted to.

    Attributes
    ----------
    columns : array of (T, n)
        The values of the terms, term after term.
    target : array of (n,)
        Labels as the loss takes them: classes as 0, 1, 2, ...; numbers (n, C) for `MeanSquared`.
    mass : array of (n,)
        Weights of the rows. They sum to 1.
    emphasis : array of (n,)
        Weight of each row's loss on top of its mass. It has no effect on costs.
    blocks : Blocks
        Prices in the unit of the loss: tradeoff times cost.
    l1, l2 : float
    on_exit : bool
        Whether a row's loss at a node counts by its probability of leaving there, not of getting there.
    """

    columns: NDArray[np.floating]
    target: Floats
    mass: Floats
    emphasis: Floats
    loss: PointwiseLoss
    blocks: Blocks
    l1: float = 0.0
    l2: float = 0.0
    on_exit: bool = False

    @property
    def n_terms(self) -> int:
        return len(self.columns)

    @property
    def n_scores(self) -> int:
        return self.loss.n_scores

    def free(self) -> SoftTreeProblem:
        """The same without prices."""
        return replace(self, blocks=self.blocks.scaled(0.0))


class TreeState:
    """Scores, probabilities and losses of the rows of a problem at every node of a tree.

    The tree may change; `refresh` a node after changing it.
    """

    def __init__(self, problem: SoftTreeProblem, tree: SoftTree) -> None:
        self.problem, self.tree = problem, tree
        n, k = len(problem.target), len(tree.shape)
        self.score = np.zeros((k, n, problem.n_scores))
        self.chance = np.zeros((k, n))  # of going up, for rows that are there
        self.loss = np.zeros((k, n))
        for node in range(k):
            self.refresh(node)

    def refresh(self, node: int) -> None:
        problem, tree = self.problem, self.tree
        self.score[node] = tree.scores(problem.columns, node)
        self.loss[node] = problem.emphasis * problem.loss.each(problem.target, self.score[node])
        if not tree.shape.is_leaf(node):
            self.chance[node] = tree.chance_up(node, self.score[node])

    def reach(self, node: int) -> Floats:
        """The probability of getting to a node (n,)."""
        shape = self.tree.shape
        reach: Floats = np.ones(len(self.problem.target))
        path = shape.path(node)
        for k, child in pairwise(path):
            reach *= self.chance[k] if child == shape.up[k] else 1.0 - self.chance[k]
        return np.asarray(reach)

    def leaving(self, node: int) -> Floats:
        """The probability of leaving at a node, for rows that are there (n,)."""
        at, slope = self._leaving_line(node)
        return np.asarray(at + slope * self.chance[node])

    def own_line(self, node: int) -> tuple[float, float]:
        """How the weight of a node's own loss depends on the chance of going up: ``at + slope * chance``.

        In a tree, a row that leaves before the last level has the loss of this node on all levels left.
        """
        at, slope = self._leaving_line(node)
        if self.problem.on_exit:
            return at, slope
        spare = self.tree.shape.spare(node)
        return 1.0 + spare * at, spare * slope

    def _leaving_line(self, node: int) -> tuple[float, float]:
        shape = self.tree.shape
        if shape.is_leaf(node):
            return 1.0, 0.0
        out_up, out_low = float(shape.up[node] == LEAVE), float(shape.low[node] == LEAVE)
        return out_low, out_up - out_low

    def onward(self, node: int) -> tuple[Floats, dict[int, Floats]]:
        """For rows at a node: the loss from there on, and the chance of leaving at each exit below."""
        at, slope = self.own_line(node)
        loss = (at + slope * self.chance[node]) * self.loss[node]
        if self.tree.shape.is_leaf(node):
            return loss, {node: np.ones_like(loss)}
        leaving: dict[int, Floats] = {}
        for up in (True, False):
            share = self.chance[node] if up else 1.0 - self.chance[node]
            further, exits = self.side(node, up)
            loss = loss + share * further
            for exit_, chance in exits.items():
                leaving[exit_] = leaving.get(exit_, 0.0) + share * chance
        return loss, leaving

    def side(self, node: int, up: bool) -> tuple[Floats, dict[int, Floats]]:
        """`onward` of the child on one side; rows that leave there have no further loss."""
        child = self.tree.shape.up[node] if up else self.tree.shape.low[node]
        if child != LEAVE:
            return self.onward(child)
        n = len(self.problem.target)
        return np.zeros(n), {node: np.ones(n)}

    def path_squares(self, node: int, without: int | None = None) -> Floats:
        """Squared weights in every block (B,) of the path to a node, perhaps without those of one node."""
        blocks = self.problem.blocks
        found = [blocks.squares(self.tree.weights[k]) for k in self.tree.shape.path(node) if k != without]
        return np.asarray(np.sum([np.zeros(len(blocks.price)), *found], axis=0))

    def objective(
        self, auxiliary: dict[int, Floats] | None = None, l1: dict[int, Floats] | None = None
    ) -> float:
        """The objective; relaxed where auxiliaries of paths (by exit) and of weights (by node) are given."""
        problem, tree = self.problem, self.tree
        loss, leaving = self.onward(0)
        value = float(problem.mass @ loss)
        for exit_, chance in leaving.items():
            squares = self.path_squares(exit_)
            roots = _root(squares, (auxiliary or {}).get(exit_))
            value += float(problem.mass @ chance) * float(problem.blocks.price @ roots)
        for node in range(len(tree.shape)):
            squares = (tree.weights[node] ** 2).sum(axis=1)
            value += problem.l1 * float(_root(squares, (l1 or {}).get(node)).sum())
            value += 0.5 * problem.l2 * float(squares.sum())
        return value


def _root(squares: Floats, auxiliary: Floats | None) -> Floats:
    """Square roots, or the quadratic in their place."""
    if auxiliary is None:
        return np.sqrt(squares)
    ratio = np.divide(squares, auxiliary, out=np.zeros_like(squares), where=auxiliary > 0)
    return np.asarray(0.5 * (ratio + auxiliary))
