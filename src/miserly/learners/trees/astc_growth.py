"""Growing a tree of classifiers from the root, node by node (Kusner et al. 2014, algorithm 1).

A node gets for free what its ancestors have paid, buys more terms by greedy least squares within its own
budget, fits least squares, and sends about half of its rows to each child. A child starts from its parent's
classifier and fits the residual. A term is added only if there is evidence for it; without any the child is
no worse than its parent. With every term added, this is least squares on all terms.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit

from miserly.learners.common.classifier_tree import ClassifierTree
from miserly.plan import LEAVE
from miserly.solvers.columns import TermColumns
from miserly.solvers.gram import Gram, gram
from miserly.solvers.least_squares import PIVOT, Evidence, greedy_least_squares, least_squares
from miserly.solvers.node_block import gap_threshold
from miserly.solvers.term_prices import PurchaseState

__all__ = ["TreeGrower", "path_budget"]

Floats: TypeAlias = NDArray[np.float64]
Ints: TypeAlias = NDArray[np.int64]

STEEPNESS = 10.0  # of soft traversal, per standard deviation of a node's scores
NEGLIGIBLE = 1e-3  # a row that reaches a node with less probability is left out there
NOISE = 4.0  # times what a number fitted to noise would take off the error: the usual "F to enter"
COARSE_PIVOT = 1e-5  # for Grams of float32 products


@dataclass(frozen=True, eq=False)
class _OpenNode:
    """A node to be grown: where it is, its rows with their weights, and what is paid on the way to it."""

    position: int  # 0 the root; the children of k are 2 k + 1 (up) and 2 k + 2 (low)
    rows: Ints
    weight: Floats | None
    gram: Gram
    market: PurchaseState
    weights: Floats  # (T, C): of the parent's classifier
    intercept: Floats  # (C,)
    scores: Floats  # (rows, C): of the parent's classifier
    spent: float = 0.0


@dataclass(frozen=True, eq=False)
class _GrownNode:
    """A node that is grown."""

    position: int
    weights: Floats  # (T, C)
    intercept: Floats  # (C,)
    direction: Floats  # (C,): of the scores that steer
    threshold: float  # NaN for a leaf


@dataclass(frozen=True, eq=False)
class TreeGrower:
    """Grows trees on one set of rows; the Gram of all rows is made once, also for many trees.

    Attributes
    ----------
    columns : TermColumns of (n, T)
        Ready columns of the terms.
    targets : array of (n, C)
    weight : array of (n,), optional
    max_depth : int
        Levels of nodes.
    min_rows : int
        Nodes with fewer rows are not made.
    freedom : array of (T,)
        How many numbers were fitted to make each column, counting its weight.
    soft : bool
        Whether rows reach both children, with probabilities, rather than one of them.
    """

    columns: TermColumns
    targets: Floats
    weight: Floats | None
    max_depth: int
    min_rows: int
    freedom: Floats
    soft: bool = False
    n_threads: int = 1

    @cached_property
    def _whole(self) -> Gram:
        return gram(self.columns, self.targets, self.weight, n_threads=self.n_threads)

    def grow(
        self, market: PurchaseState, budgets: Floats, path_budget: float = np.inf, tradeoff: float = 0.0
    ) -> ClassifierTree:
        """A tree whose node at position `k` may spend ``budgets[k]`` on top of what its ancestors did.

        What the nodes of one path spend together stays within `path_budget`.
        """
        n_rows, n_terms = self.columns.shape
        nothing = [np.zeros((size, self.targets.shape[1])) for size in (n_terms, 1, n_rows)]
        root = _OpenNode(
            0, np.arange(n_rows), self.weight, self._whole, market, nothing[0], nothing[1][0], nothing[2]
        )
        todo = [root]
        grown: list[_GrownNode] = []
        while todo:
            place = todo.pop()
            budget = min(float(budgets[place.position]), path_budget - place.spent)
            node, children = self._grow_node(place, budget, tradeoff)
            grown.append(node)
            todo += children
        return _tree_of(grown)

    def _grow_node(
        self, place: _OpenNode, budget: float, tradeoff: float
    ) -> tuple[_GrownNode, list[_OpenNode]]:
        left = place.gram.centred().less(place.weights, place.intercept)
        market = place.market.copy()
        exact = self.columns.dtype == np.float64
        choice = greedy_least_squares(
            left,
            market,
            budget,
            pivot=PIVOT if exact else COARSE_PIVOT,
            toll=2.0 * tradeoff * place.gram.weight,  # the loss is half the mean squared error
            evidence=Evidence(place.gram.weight if self.soft else len(place.rows), self.freedom, NOISE),
        )
        targets = self.targets.copy()
        targets[place.rows] -= place.scores
        added, shift, fitted = least_squares(
            left, choice.terms, self.columns, targets, place.rows, place.weight, self.n_threads
        )
        weights, intercept, scores = place.weights.copy(), place.intercept + shift, place.scores + fitted
        weights[choice.terms] += added
        direction = _direction(scores, place.weight)
        steering = scores @ direction
        threshold = _halving(steering, place.weight) if self._may_divide(place) else np.nan
        children = []
        if np.isfinite(threshold):
            grown = replace(
                place,
                market=market,
                spent=place.spent + choice.cost,
                weights=weights,
                intercept=intercept,
                scores=scores,
            )
            children = self._children(grown, steering, threshold)
        if not children:
            threshold = np.nan
        return _GrownNode(place.position, weights, intercept, direction, threshold), children

    def _may_divide(self, place: _OpenNode) -> bool:
        level = int(np.log2(place.position + 1)) + 1
        return level < self.max_depth and len(place.rows) >= 2 * self.min_rows

    def _children(self, place: _OpenNode, steering: Floats, threshold: float) -> list[_OpenNode]:
        """Both children of a grown node, or none if one of them would have too few rows."""
        shares = self._shares(steering, threshold, place.weight)
        if min(share.sum() for share in shares) < self.min_rows:
            return []
        smaller = int(np.argmin([np.count_nonzero(share) for share in shares]))
        sides: list[_OpenNode | None] = [None, None]
        for side in (smaller, 1 - smaller):
            reached = shares[side] > 0.0
            rows = place.rows[reached]
            weight = place.weight[reached] if place.weight is not None else None
            if self.soft:
                weight = shares[side][reached] * (1.0 if weight is None else weight)
            other = sides[1 - side]
            found = place.gram - other.gram if other is not None else self._gram_of(rows, weight)
            sides[side] = replace(
                place,
                position=2 * place.position + 1 + side,
                rows=rows,
                weight=weight,
                gram=found,
                scores=place.scores[reached],
            )
        return [side for side in sides if side is not None]

    def _gram_of(self, rows: Ints, weight: Floats | None) -> Gram:
        if weight is None:
            return gram(self.columns, self.targets, rows=rows, n_threads=self.n_threads)
        spread = np.zeros(self.columns.shape[0])
        spread[rows] = weight
        return gram(self.columns, self.targets, spread, rows=rows, n_threads=self.n_threads)

    def _shares(self, steering: Floats, threshold: float, weight: Floats | None) -> tuple[Floats, Floats]:
        """The probabilities of each row to go up and to go low, which sum to 1.

        A row that is negligible on one side belongs to the other side alone.
        """
        if not self.soft:
            up = (steering > threshold).astype(np.float64)
            return up, 1.0 - up
        middle = np.average(steering, weights=weight)
        deviation = np.sqrt(np.average((steering - middle) ** 2, weights=weight))
        up = expit(STEEPNESS / deviation * (steering - threshold))
        up = np.where(up < NEGLIGIBLE, 0.0, np.where(up > 1.0 - NEGLIGIBLE, 1.0, up))
        return up, 1.0 - up


def _direction(scores: Floats, weight: Floats | None) -> Floats:
    """The direction that steers: the only score, or the direction in which rows of different answers differ.

    Of several scores it is the first principal component of their means over the rows that each class is the
    answer for; where all rows have one answer, that of the scores themselves.

    >>> scores = np.array([[1.0, 0.0, 0.9], [1.0, 0.0, -0.9], [0.0, 1.0, 0.9], [0.0, 1.0, -0.9]])
    >>> np.abs(_direction(scores, None)).round(2).tolist()  # the third score varies most, and decides nothing
    [0.71, 0.71, 0.0]
    """
    n_scores = scores.shape[1]
    if n_scores == 1:
        return np.ones(1)
    points, mass = scores, np.ones(len(scores)) if weight is None else weight
    means, size = _of_answers(scores, mass)
    if len(size) > 1:
        points, mass = means, size
    spread = np.cov(points.T, aweights=mass, ddof=0)
    direction = np.linalg.eigh(spread)[1][:, -1]
    telling = direction[np.abs(direction) > 0.5 / np.sqrt(n_scores)]  # never empty
    return np.asarray(direction * np.sign(telling[-1]))


def _of_answers(scores: Floats, mass: Floats) -> tuple[Floats, Floats]:
    """Mean scores (A, C) of the rows of each answer that occurs, and the weight of these rows (A,)."""
    _, answer = np.unique(scores.argmax(axis=1), return_inverse=True)
    size = np.bincount(answer, mass).astype(np.float64)
    sums = [np.bincount(answer, mass * column) for column in scores.T]
    return np.array(sums).T / size[:, None], size


def _halving(steering: Floats, weight: Floats | None) -> float:
    """The threshold that best halves the weight; not finite where all rows score the same."""
    return gap_threshold(steering, weight, total=None if weight is None else float(weight.sum()))


def path_budget(budgets: Floats) -> float:
    """The most that the nodes of one path may spend together.

    >>> path_budget(np.array([2.0, 0.0, 0.0, 10.0, 10.0, 10.0, 9.0]))
    12.0
    """
    total = budgets.astype(np.float64)
    for k in range(1, len(total)):
        total[k] += total[(k - 1) // 2]
    return float(total.max())


def _tree_of(grown: list[_GrownNode]) -> ClassifierTree:
    """The tree of grown nodes, in the order of their positions."""
    grown = sorted(grown, key=lambda node: node.position)
    place = {node.position: k for k, node in enumerate(grown)}
    n_scores = len(grown[0].intercept)
    weights = np.array([node.weights for node in grown])
    intercept = np.array([node.intercept for node in grown])
    direction = np.array([node.direction for node in grown])
    several = n_scores > 1
    return ClassifierTree(
        up=np.array([place.get(2 * node.position + 1, LEAVE) for node in grown]),
        low=np.array([place.get(2 * node.position + 2, LEAVE) for node in grown]),
        weights=weights,
        intercept=intercept,
        threshold=np.nan_to_num([node.threshold for node in grown]),
        steer=np.einsum("ktc,kc->kt", weights, direction) if several else None,
        steer_intercept=np.einsum("kc,kc->k", intercept, direction) if several else None,
    )
