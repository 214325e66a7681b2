"""Fitting one tree of classifiers for a tradeoff: what CSTC and CSCC do with rows and terms.

Initialise from the root down, prune on the validation set, descend, clamp small weights to zero, fit the
answers again.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from miserly.costs import read_budget
from miserly.data.rows import Rows
from miserly.learners.common.classifier_tree import ClassifierTree, build_plan
from miserly.learners.common.linear_fit import FitData
from miserly.learners.common.progress import Steps
from miserly.learners.common.terms import TermSet
from miserly.learners.common.training import ScoreEvaluator
from miserly.losses import PointwiseLoss
from miserly.plan import Plan
from miserly.solvers.soft_tree import LEAVE, SoftTree, SoftTreeProblem, TreeShape, TreeState
from miserly.solvers.term_prices import Blocks, PathCap, PurchaseState, canonical
from miserly.solvers.tree_descent import DescentLimits, cut_unreached, descend, fine_tune, initialise

__all__ = ["FittedTree", "SoftTreeFit", "Targets"]

Floats: TypeAlias = NDArray[np.float64]

PATIENCE = 3  # sweeps without getting better, for early_stopping=True
RIDGE = 1e-4  # keeps weights finite where classes are separable and columns collinear


@dataclass(frozen=True, eq=False)
class Targets:
    """What scores are fitted to: labels as the loss takes them, their typical size, the weight of each row's
    loss, and the loss.
    """

    values: Floats
    unit: float
    emphasis: Floats
    loss: PointwiseLoss


@dataclass(frozen=True, eq=False)
class FittedTree:
    """A plan, the objective after every step, and the rank on the validation set if there is one."""

    plan: Plan
    objective: list[float]
    rank: tuple[float, float] | None


class SoftTreeFit:
    """Fits trees for different tradeoffs to the same rows and terms."""

    def __init__(
        self, learner: Any, rows: FitData, terms: TermSet, evaluator: ScoreEvaluator, report: Steps
    ) -> None:
        self.learner, self.rows, self.terms, self.report = learner, rows, terms, report
        self.link = evaluator.loss.link
        self.columns = np.ascontiguousarray(terms.values(rows.training.X).T)
        self.targets = learner._targets(rows.training)
        self.evaluator = evaluator
        if rows.validation is not None:
            self.evaluator = ScoreEvaluator(evaluator.metric, evaluator.loss, self.weighed(rows.validation))
            self.validation_columns = np.ascontiguousarray(terms.values(rows.validation.X).T)
        weight = rows.training.weight
        mass = np.ones(len(rows.training)) if weight is None else weight
        self.mass = canonical(mass / mass.sum())
        self.blocks = Blocks.of(terms.uses, terms.evaluation, rows.costs)
        self.limits = DescentLimits(negligible=1e-4 * self.targets.unit, max_sweeps=learner.max_sweeps)
        self.cap = None if learner.budget is None else self._cap(read_budget(learner.budget))

    def _cap(self, budget: float) -> PathCap | None:
        """The limit on every path through a tree; None if all terms together cost no more than the budget."""
        size = np.sqrt(np.maximum(0.0, (self.columns**2) @ self.mass - (self.columns @ self.mass) ** 2))
        cap = PathCap(PurchaseState.of(self.terms.uses, self.terms.evaluation, self.rows.costs), budget, size)
        return cap if cap.binds else None

    def weighed(self, samples: Rows) -> Rows:
        """The validation set with the weights of the loss; unchanged where a `metric` is given."""
        by_class = self.learner._class_weights(self.rows.training)
        if by_class is None or self.learner.metric is not None:
            return samples
        emphasis = by_class[samples.y.astype(np.int64)]
        return replace(samples, weight=emphasis if samples.weight is None else samples.weight * emphasis)

    def problem(self, tradeoff: float) -> SoftTreeProblem:
        return SoftTreeProblem(
            columns=self.columns,
            target=self.targets.values,
            mass=self.mass,
            emphasis=self.targets.emphasis,
            loss=self.targets.loss,
            blocks=self.blocks.scaled(tradeoff),
            l1=self.learner.l1_regularization,
            l2=RIDGE,
            on_exit=self.learner._on_exit,
        )

    def tree(self, tradeoff: float) -> FittedTree:
        """The tree of a tradeoff."""
        problem, learner = self.problem(tradeoff), self.learner
        self.report(f"tradeoff {tradeoff:.3g}: initialising")
        tree = initialise(problem, learner._shape(), self.limits, self.cap)
        if learner.prune:
            tree = self.prune(problem, tree)
        objective = [TreeState(problem, tree).objective()]
        if learner.optimise:
            self.report(f"tradeoff {tradeoff:.3g}: optimising {len(tree.shape)} nodes")
            tree, objective = self.descend(problem, tree, tradeoff)
            tree.clamp(self.limits.negligible)
        tree = cut_unreached(problem, tree)
        answers = fine_tune(problem, tree, self.limits)
        rank = None if self.rows.validation is None else self.rank(tree, answers)
        return FittedTree(self.plan(problem, tree, answers), objective, rank)

    def prune(self, problem: SoftTreeProblem, tree: SoftTree) -> SoftTree:
        """Take away nodes, the last ones first, as long as the metric on the validation set does not fall."""
        answers = fine_tune(problem, tree, self.limits)
        best = self.rank(tree, answers)
        for node in reversed(range(1, len(tree.shape))):
            if tree.shape.is_leaf(node):
                without = tree.without([node]), answers.without([node])
                rank = self.rank(*without)
                if rank >= best:
                    (tree, answers), best = without, rank
        return tree

    def descend(
        self, problem: SoftTreeProblem, tree: SoftTree, tradeoff: float
    ) -> tuple[SoftTree, list[float]]:
        """Optimise until the objective no longer falls, or the validation score no longer rises."""
        learner, limits = self.learner, self.limits
        patience = PATIENCE if learner.early_stopping is True else int(learner.early_stopping)
        watch = _EarlyStopping(lambda: self.tuned_rank(problem, tree), tree, patience) if patience else None

        def enough(objective: float) -> bool:
            self.report(f"tradeoff {tradeoff:.3g}: optimising, objective {objective:.6g}")
            return watch is not None and watch()

        history = descend(problem, tree, limits, enough)
        return tree if watch is None else watch.kept, history

    def tuned_rank(self, problem: SoftTreeProblem, tree: SoftTree) -> tuple[float, float]:
        """The rank of the tree as if it were finished now."""
        clamped = tree.copy()
        clamped.clamp(self.limits.negligible)
        return self.rank(clamped, fine_tune(problem, clamped, self.limits))

    def rank(self, tree: SoftTree, answers: SoftTree) -> tuple[float, float]:
        """How well a tree does on the validation set: by the metric, then by the loss it was fitted with.

        A metric of probabilities sees them calibrated, as the finished tree would give them.
        """
        made = _classifiers(tree, answers, False)
        scores, _ = made.ways(self.validation_columns.T)
        aims = self.learner._squared_targets(self.evaluator.samples)
        if aims is None:
            return self.evaluator.rank(scores, self.evaluator.value(scores))
        answered = scores
        if self.evaluator.metric.needs == "proba":
            learned = made.ways(self.columns.T)[0]
            answered = self.learner._answers(learned, self.rows.training) * scores
        better, _ = self.evaluator.rank(answered, self.evaluator.value(answered))
        error = ((scores - aims) ** 2).sum(axis=1)
        return better, -float(np.average(error, weights=self.evaluator.samples.weight))

    def plan(self, problem: SoftTreeProblem, tree: SoftTree, answers: SoftTree) -> Plan:
        mean = self._constant(problem)
        made = _classifiers(tree, answers, turn=not problem.on_exit)
        factor = self.learner._answers(made.ways(self.columns.T)[0], self.rows.training)
        return build_plan(
            made.rescaled(factor),
            self.terms,
            self.rows.costs,
            link=self.link,
            base=factor * mean,
            classes=self.learner.plan_classes(),
            info={"learner": type(self.learner).__name__},
            categories=self.learner.categories_,
        )

    def _constant(self, problem: SoftTreeProblem) -> Floats:
        """The scores of least loss that need no terms."""
        bare = replace(problem, columns=problem.columns[:0], blocks=problem.blocks.only(np.arange(0)))
        alone = SoftTree.zeros(TreeShape.chain(1), 0, problem.n_scores)
        return fine_tune(bare, alone, self.limits).intercept[0]


class _EarlyStopping:
    """Keeps the best state of a tree, and stops after some sweeps without a better one."""

    def __init__(self, rank: Callable[[], tuple[float, float]], tree: SoftTree, patience: int) -> None:
        self.rank, self.tree, self.patience = rank, tree, patience
        self.kept, self.best, self.waited = tree.copy(), rank(), 0

    def __call__(self) -> bool:
        rank = self.rank()
        self.waited += 1
        if rank > self.best:
            self.kept, self.best, self.waited = self.tree.copy(), rank, 0
        return self.waited >= self.patience


def _classifiers(tree: SoftTree, answers: SoftTree, turn: bool) -> ClassifierTree:
    """Gates of one tree, answers of another.

    With `turn`, a node that lets low scores leave and has only an upper child reads its score the other way
    round: in a tree, unlike a cascade, leaving says nothing about how good a row is.
    """
    shape = tree.shape
    up, low, threshold = np.array(shape.up), np.array(shape.low), tree.threshold.copy()
    steer = np.einsum("ktc,kc->kt", tree.weights, tree.direction)
    offset = np.einsum("kc,kc->k", tree.intercept, tree.direction)
    ends = (up == LEAVE) & (low == LEAVE)
    steer[ends], offset[ends] = 0.0, 0.0
    if turn:
        turned = (low == LEAVE) & (up != LEAVE)
        up[turned], low[turned] = low[turned], up[turned]
        for array in (steer, offset, threshold):
            array[turned] *= -1.0
    alone = len(shape) == 1
    return ClassifierTree(
        up=up,
        low=low,
        weights=answers.weights,
        intercept=answers.intercept,
        threshold=threshold,
        steer=None if alone else steer,
        steer_intercept=None if alone else offset,
    )
