"""Fitting soft trees: initialisation from the root down, block descent over the nodes, fine-tuning.

Every step lowers the objective of `soft_tree`: auxiliaries in closed form, leaves by ridge solves (Newton
steps where the loss is not quadratic), other nodes by L-BFGS through all that follows them. A weight that has
become zero stays zero, so columns are dropped as they vanish and steps get cheaper.
"""

from __future__ import annotations

from collections.abc import Callable, Generator
from dataclasses import dataclass, replace
from itertools import count
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from miserly.solvers.node_block import (
    NodeBlock,
    NodeWeights,
    SoftGate,
    gap_threshold,
    ridge,
    weighted_gram,
    weighted_moment,
)
from miserly.solvers.soft_tree import LEAVE, SoftTree, SoftTreeProblem, TreeShape, TreeState
from miserly.solvers.term_prices import PathCap

__all__ = ["DescentLimits", "cut_unreached", "descend", "fine_tune", "initialise"]

Floats: TypeAlias = NDArray[np.float64]

STEEPNESS = 10.0  # of a gate, over the deviation of its score
CLOSE = 0.1  # of what is negligible: ridge solutions that move by less have converged
FULL = 600  # parameters of a node: up to this number, Newton steps use the full Hessian
TUNING_ROUNDS = 25  # without prices there are no auxiliaries to wait for
VANISHED = 1e-3  # of what is negligible: a weight this small is on its way to zero and is dropped


@dataclass(frozen=True)
class DescentLimits:
    """Limits and tolerances of the descent.

    `negligible` is the size below which weights count as 0. `tolerance` is the relative reduction of the
    objective by a sweep over all nodes below which the descent ends.
    """

    negligible: float = 1e-4
    max_sweeps: int = 10
    tolerance: float = 1e-4
    max_rounds: int = 100  # of auxiliaries and ridge solves (or Newton steps) at a leaf
    inner_rounds: int = 3  # of auxiliaries and L-BFGS at other nodes
    inner_steps: int = 20  # of L-BFGS in each


# -- leaves --------------------------------------------------------------------------------------------------


class _Leaf:
    """A node that divides no rows: rows of `weight` (n,); `others` (B,) are the squares of its ancestors."""

    def __init__(
        self, problem: SoftTreeProblem, weight: Floats, others: Floats, terms: NDArray[np.int64]
    ) -> None:
        self.problem, self.weight, self.others, self.terms = problem, weight, others, terms
        self.columns = problem.columns[terms]
        self.blocks = problem.blocks.only(terms)
        self.leaving = float(weight.sum())
        self.gram: Floats = np.zeros((0, 0))
        self.moment: Floats = np.zeros((0, 0))

    def fit(self, line: NodeWeights | None, limits: DescentLimits) -> tuple[NDArray[np.int64], NodeWeights]:
        """The terms that remain and their weights; from `line`, or from scratch."""
        quadratic = self.problem.loss.least_squares
        close = limits.negligible * (CLOSE if quadratic else 1.0)
        step = self._ridge_steps(line) if quadratic else self._newton_steps(line)
        line = next(step)
        for _ in range(limits.max_rounds):
            before, line = line, step.send(line)
            change = np.abs(line.weights - before.weights).max(initial=0.0)
            stays = np.flatnonzero(np.abs(line.weights).max(axis=1) > VANISHED * limits.negligible)
            if len(stays) < len(self.terms):
                line = self._keep(stays, line)
            if change <= close:
                break
        return self.terms, line

    def _keep(self, stays: NDArray[np.int64], line: NodeWeights) -> NodeWeights:
        """Go on with some of the terms."""
        self.terms = self.terms[stays]
        self.blocks = self.problem.blocks.only(self.terms)
        size = len(line.weights) + 1  # of the Gram matrix, one or several of which there are
        one = np.append(stays, size - 1)
        all_ = np.concatenate([one + first for first in range(0, len(self.gram), size)])
        self.gram = self.gram[np.ix_(all_, all_)]
        if self.problem.loss.least_squares:
            self.moment = self.moment[one]
        else:
            self.columns = self.columns[stays]
        return NodeWeights(line.weights[stays], line.intercept)

    def _ridge_steps(self, line: NodeWeights | None) -> Generator[NodeWeights, NodeWeights, None]:
        """Ridge solutions, each for auxiliaries that are best for the line before."""
        problem = self.problem
        weight = self.weight * problem.emphasis * problem.loss.curvature(problem.target, problem.target)
        self.gram = weighted_gram(self.columns, weight)
        self.moment = weighted_moment(self.columns, weight, problem.target)
        line = yield line or NodeWeights(*ridge(self.gram, self.moment, _gentle(self.gram)))
        while True:
            penalty = _own_pull(problem, line) + self.leaving * self._pull(line)
            line = yield NodeWeights(*ridge(self.gram, self.moment, penalty))

    def _newton_steps(self, line: NodeWeights | None) -> Generator[NodeWeights, NodeWeights, None]:
        """Newton steps, each for auxiliaries that are best for the line before; L-BFGS where they are large.

        The curvature is computed again after 1, 2, 4, 8, ... steps.
        """
        n_scores = self.problem.n_scores
        if line is None:
            line = NodeWeights(np.zeros((len(self.terms), n_scores)), np.zeros(n_scores))
            block = self._block(line)
            self.gram = block.gram(line)
            gentle = replace(block, ridge=_gentle(self.gram), pull=np.zeros_like(block.pull))
            line = gentle.step(line, self.gram)
        line = yield line
        several = n_scores > 1
        large = several and n_scores * (len(self.terms) + 1) > FULL
        for k in count():
            block = self._block(line)
            if k & (k - 1) == 0:  # at steps 0, 1, 2, 4, 8, ...
                self.gram = block.hessian(line) if several and not large else block.gram(line)
            line = yield block.lower(line, self.gram, 10) if large else block.step(line, self.gram)

    def _block(self, line: NodeWeights) -> NodeBlock:
        problem = self.problem
        return NodeBlock(
            self.columns,
            problem.target,
            self.weight,
            problem.emphasis,
            problem.loss,
            chance=np.ones((1, len(self.weight))),
            up=np.array([True]),
            constant=np.zeros(1),
            pull=self._pull(line)[None],
            ridge=_own_pull(problem, line),
        )

    def _pull(self, line: NodeWeights) -> Floats:
        return self.blocks.pull(np.sqrt(self.others + self.blocks.squares(line.weights)))


def _own_pull(problem: SoftTreeProblem, line: NodeWeights) -> Floats:
    """The pull of the regularisation on each weight, its root replaced by a quadratic."""
    size = np.sqrt((line.weights**2).sum(axis=1))
    return np.asarray(problem.l2 + np.divide(problem.l1, size, out=np.zeros_like(size), where=size > 0))


def _gentle(gram: Floats) -> Floats:
    """A ridge penalty that keeps collinear columns from running away."""
    return np.full(len(gram) - 1, 1e-2 * np.diag(gram)[:-1].mean() if len(gram) > 1 else 0.0)


def _put(tree: SoftTree, node: int, terms: NDArray[np.int64], line: NodeWeights) -> None:
    tree.weights[node] = 0.0
    tree.weights[node, terms] = line.weights
    tree.intercept[node] = line.intercept


# -- initialisation ------------------------------------------------------------------------------------------


def initialise(
    problem: SoftTreeProblem, shape: TreeShape, limits: DescentLimits, cap: PathCap | None = None
) -> SoftTree:
    """Each node as if it were a leaf, from the root down; its gate divides its rows in two halves.

    Nodes whose score is the same for all their rows are left without children. With a `cap`, no way through
    the tree costs more: a node weighs only terms that fit, and where it wants too many at once, those that
    contribute most per price are kept and fitted again. Descent adds no terms, so the cap holds for good.
    """
    tree = SoftTree.zeros(shape, problem.n_terms, problem.n_scores)
    state = TreeState(problem, tree)
    stuck: list[int] = []
    for node in range(len(shape)):
        if set(shape.path(node)) & {child for k in stuck for child in (shape.up[k], shape.low[k])}:
            continue
        weight = problem.mass * state.reach(node)
        _initialise_node(state, node, weight, limits, cap)
        state.refresh(node)
        if not shape.is_leaf(node):
            if not _divide(tree, node, state.score[node], weight):
                stuck.append(node)
            state.refresh(node)
    return tree.without([c for k in stuck for c in (shape.up[k], shape.low[k]) if c != LEAVE])


def _initialise_node(
    state: TreeState, node: int, weight: Floats, limits: DescentLimits, cap: PathCap | None
) -> None:
    """The weights of a node as if it were a leaf with rows of `weight`."""
    problem, tree = state.problem, state.tree
    others = state.path_squares(node, without=node)

    def fit(terms: NDArray[np.int64]) -> None:
        _put(tree, node, *_Leaf(problem, weight, others, terms).fit(None, limits))
        tree.weights[node][np.abs(tree.weights[node]) < limits.negligible] = 0.0

    if cap is None:
        fit(np.arange(problem.n_terms))
        return
    above = [tree.active(k) for k in tree.shape.path(node)[:-1]]
    paid = np.unique(np.concatenate([np.zeros(0, dtype=np.int64), *above]))
    fit(cap.payable(paid))
    wanted = tree.active(node)
    kept = cap.affordable(paid, tree.weights[node])
    if len(kept) < len(wanted):
        fit(kept)


def _divide(tree: SoftTree, node: int, score: Floats, weight: Floats) -> bool:
    """Set the gate of a node by the scores of its rows; False if they are all the same."""
    share = weight / weight.sum()
    centred = score - share @ score
    covariance = centred.T @ (share[:, None] * centred)
    direction = np.linalg.eigh(covariance)[1][:, -1]
    direction = direction * np.sign(direction[np.abs(direction).argmax()])
    steering = score @ direction
    deviation = float(np.sqrt(share @ (steering - share @ steering) ** 2))
    spread = np.abs(steering).max()
    if not deviation > 1e-9 * spread or not deviation > 0.0:
        return False
    tree.direction[node] = direction
    tree.steepness[node] = STEEPNESS / deviation
    tree.threshold[node] = gap_threshold(steering, share)
    return True


# -- block descent -------------------------------------------------------------------------------------------


def descend(
    problem: SoftTreeProblem,
    tree: SoftTree,
    limits: DescentLimits,
    enough: Callable[[float], bool] | None = None,
) -> list[float]:
    """Lower the objective node by node, in place; gives it at the start and after every node.

    `enough` is called with the objective after every sweep; if it gives True, descent ends.
    """
    state = TreeState(problem, tree)
    history = [state.objective()]
    for _ in range(limits.max_sweeps):
        history += sweep(state, limits)
        fall = history[-1 - len(tree.shape)] - history[-1]
        if (enough is not None and enough(history[-1])) or fall <= limits.tolerance * abs(history[-1]):
            break
    return history


def sweep(state: TreeState, limits: DescentLimits) -> list[float]:
    """Every node once; gives the objective after each."""
    history = []
    for node in range(len(state.tree.shape)):
        if state.tree.shape.is_leaf(node):
            _visit_leaf(state, node, limits)
        else:
            _visit_inner(state, node, limits)
        state.refresh(node)
        history.append(state.objective())
    return history


def _visit_leaf(state: TreeState, node: int, limits: DescentLimits) -> None:
    problem, tree = state.problem, state.tree
    terms = tree.active(node)
    weight = problem.mass * state.reach(node)
    times, _ = state.own_line(node)
    counted = replace(problem, emphasis=times * problem.emphasis)
    leaf = _Leaf(counted, weight, state.path_squares(node, without=node), terms)
    _put(tree, node, *leaf.fit(NodeWeights(tree.weights[node, terms], tree.intercept[node]), limits))


def _visit_inner(state: TreeState, node: int, limits: DescentLimits) -> None:
    tree = state.tree
    further = state.side(node, True), state.side(node, False)
    weight = state.problem.mass * state.reach(node)
    gram = None
    for _ in range(limits.inner_rounds):
        terms = tree.active(node)
        line = NodeWeights(tree.weights[node, terms], tree.intercept[node], float(tree.threshold[node]))
        block = _inner_block(state, node, terms, weight, further)
        if gram is None or len(gram) != len(terms) + 1:
            gram = block.gram(line)
        new = block.lower(line, gram, limits.inner_steps)
        new.weights[np.abs(new.weights).max(axis=1) < VANISHED * limits.negligible] = 0.0
        _put(tree, node, terms, new)
        tree.threshold[node] = new.threshold
        if np.abs(new.weights - line.weights).max(initial=0.0) <= limits.negligible:
            break


def _inner_block(
    state: TreeState,
    node: int,
    terms: NDArray[np.int64],
    weight: Floats,
    further: tuple[tuple[Floats, dict[int, Floats]], tuple[Floats, dict[int, Floats]]],
) -> NodeBlock:
    """The block of a node with auxiliaries at their best."""
    problem, tree = state.problem, state.tree
    (loss_up, exits_up), (loss_low, exits_low) = further
    ends = [*exits_up, *exits_low]
    blocks = problem.blocks.only(terms)
    others = [state.path_squares(k, without=node) for k in ends]
    own = blocks.squares(tree.weights[node, terms])
    auxiliaries = [np.sqrt(squares + own) for squares in others]
    pull = np.array([blocks.pull(z) for z in auxiliaries])
    constant = [_constant(blocks.price, *pair) for pair in zip(others, auxiliaries, strict=True)]
    at, slope = state.own_line(node)
    line = NodeWeights(tree.weights[node, terms], tree.intercept[node])
    return NodeBlock(
        problem.columns[terms],
        problem.target,
        weight,
        problem.emphasis,
        problem.loss,
        chance=np.array([*exits_up.values(), *exits_low.values()]),
        up=np.arange(len(ends)) < len(exits_up),
        constant=np.array(constant),
        pull=pull,
        ridge=_own_pull(problem, line),
        gate=SoftGate(float(tree.steepness[node]), tree.direction[node], at, slope, loss_up, loss_low),
    )


def _constant(price: Floats, others: Floats, auxiliary: Floats) -> float:
    """What the relaxed cost of a path would be if this node had no weights."""
    ratio = np.divide(others, auxiliary, out=np.zeros_like(others), where=auxiliary > 0)
    return float(0.5 * price @ (ratio + auxiliary))


# -- finishing -----------------------------------------------------------------------------------------------


def cut_unreached(problem: SoftTreeProblem, tree: SoftTree) -> SoftTree:
    """The tree without nodes that no row gets to once every row goes one way only."""
    state, shape = TreeState(problem, tree), tree.shape
    at = np.zeros(len(problem.target), dtype=np.int64)
    met = np.zeros(len(shape), dtype=np.bool_)
    for node in range(len(shape)):
        here = at == node
        met[node] = here.any()
        child = np.where(state.chance[node] > 0.5, shape.up[node], shape.low[node])
        at = np.where(here & (child != LEAVE), child, at)
    return tree.without([k for k in range(len(shape)) if not met[k]])


def fine_tune(problem: SoftTreeProblem, tree: SoftTree, limits: DescentLimits) -> SoftTree:
    """The answers of every node fitted again without prices, over the terms its path has paid for.

    A node that rows leave at is fitted to those rows; one that all pass on from, to all of them. Only answers
    change: gates go on reading the scores they were made for.
    """
    free, state, answers = problem.free(), TreeState(problem, tree), tree.copy()
    limits = replace(limits, max_rounds=min(limits.max_rounds, TUNING_ROUNDS))
    none = np.zeros(len(free.blocks.price))
    for node in range(len(tree.shape)):
        weight = problem.mass * state.reach(node)
        if node in tree.shape.exits:
            weight = weight * state.leaving(node)
        path = [tree.active(k) for k in tree.shape.path(node)]
        terms = np.unique(np.concatenate(path))
        leaf = _Leaf(free, weight, none, terms)
        _put(answers, node, *leaf.fit(None, limits))
    return answers
