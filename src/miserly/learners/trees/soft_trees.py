"""What CSTC and CSCC share: from rows and terms to a tree of classifiers, and from a budget to a tradeoff.

Initialise from the root down, prune on rows set aside, descend, clamp small weights to zero, fit the
answers anew.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from numbers import Integral, Real
from typing import Any, ClassVar, TypeAlias

import numpy as np
from numpy.typing import NDArray
from sklearn.utils._param_validation import Interval, StrOptions
from threadpoolctl import threadpool_limits

from miserly.costs import Costs, fits, read_budget
from miserly.learners.base import PlanEstimator
from miserly.learners.common.budget_search import first_guess, larger_tradeoffs, tradeoff_for_budget
from miserly.learners.common.classifier_tree import ClassifierTree, build_plan
from miserly.learners.common.linear_fit import LinearRows, fit_terms, read_rows
from miserly.learners.common.progress import Steps, outcome
from miserly.learners.common.samples import Given, Samples
from miserly.learners.common.terms import Terms
from miserly.learners.common.training import Judge
from miserly.losses import Loss, PointwiseLoss
from miserly.metrics import Metric, get_metric
from miserly.plan import Plan
from miserly.solvers.greedy import Market
from miserly.solvers.mixed_norm import Blocks, canonical
from miserly.solvers.path_cap import PathCap
from miserly.solvers.soft_tree import LEAVE, Problem, Shape, SoftTree, Standing
from miserly.solvers.tree_descent import Effort, cut_unreached, descend, fine_tune, initialise

__all__ = ["SoftTreeLearner", "Targets"]

Floats: TypeAlias = NDArray[np.float64]

_ONE_OR_MORE = Interval(Integral, 1, None, closed="left")
PATIENCE = 3  # sweeps without getting better, for early_stopping=True
RIDGE = 1e-4  # keeps weights finite where classes are separable and columns collinear
MAX_FITS = 10  # of trees, to find the tradeoff for a budget
LARGER = (1.25, 1.6)  # how much more than that may be better


@dataclass(frozen=True, eq=False)
class Targets:
    """What scores are fitted to: labels as the loss takes them, their typical size, the weight of each row's
    loss, and the loss.
    """

    values: Floats
    unit: float
    emphasis: Floats
    loss: PointwiseLoss


class SoftTreeLearner(PlanEstimator):
    """A tree or a chain of linear classifiers, learned by descent through soft gates.

    Subclasses say what the labels mean, and which shape a tree of so many levels has.
    """

    tradeoff_: float
    expected_cost_: float
    objective_: NDArray[np.float64]

    _on_exit: ClassVar[bool] = False
    _classes: ClassVar[bool] = False

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "costs": [None, Costs, Mapping, "array-like"],
        "tradeoff": [Interval(Real, 0, None, closed="left")],
        "budget": [Interval(Real, 0, None, closed="both"), None],
        "mean_budget": [Interval(Real, 0, None, closed="both"), None],
        "max_depth": [Interval(Integral, 1, 10, closed="both")],
        "terms": [StrOptions({"linear", "boosted"})],
        "n_terms": [_ONE_OR_MORE],
        "term_tradeoff": [Interval(Real, 0, None, closed="left"), StrOptions({"falling"}), None],
        "step": [Interval(Real, 0, None, closed="neither")],
        "l1_regularization": [Interval(Real, 0, None, closed="left")],
        "prune": ["boolean"],
        "optimise": ["boolean"],
        "max_sweeps": [_ONE_OR_MORE],
        "early_stopping": ["boolean", _ONE_OR_MORE],
        "validation_fraction": [Interval(Real, 0, 1, closed="neither")],
        "metric": [str, Metric, None],
        "random_state": ["random_state"],
        "n_jobs": [_ONE_OR_MORE, Interval(Integral, None, -1, closed="right"), None],
        "verbose": ["verbose"],
    }

    # -- what subclasses say -------------------------------------------------------------------------

    @abstractmethod
    def _shape(self) -> Shape:
        """The tree to begin with."""

    @abstractmethod
    def _targets(self, samples: Samples) -> Targets:
        """What the scores are fitted to."""

    @abstractmethod
    def _judged_by(self, samples: Samples) -> tuple[str, Loss]:
        """The metric by default, and the loss, of plain scores."""

    def _encode(self, y: NDArray[Any]) -> NDArray[np.float64]:
        """Labels as numbers."""
        return y

    def _answers(self, scores: Floats, samples: Samples) -> float:
        """The factor that turns scores into what the link expects."""
        return 1.0

    def _class_weights(self, samples: Samples) -> Floats | None:
        """How much the loss of each class counts, from the rows to learn from; None if all count the same."""
        return None

    def _squared_targets(self, samples: Samples) -> Floats | None:
        """What scores are fitted to by the squared error; None if they are fitted by `_judged_by`'s loss."""
        return None

    # -- fitting -------------------------------------------------------------------------------------

    def _fit(self, X: Any, given: Given) -> None:
        held = self.budget is not None or self.mean_budget is not None
        fraction = self.validation_fraction if self.prune or self.early_stopping or held else None
        with Steps(self, bool(self.verbose)) as tell:
            rows = read_rows(self, X, given, self._encode if self._classes else None, fraction)
            workshops = _Workshops(self, rows, tell)
            with threadpool_limits(1, "blas"):  # many small products: more threads would wait for each other
                made = workshops.chosen()
            self.tradeoff_, self.plan_ = made.tradeoff, made.plan
            self.objective_ = np.array(made.objective)
            if rows.judging is not None:
                self.expected_cost_ = workshops.expected_cost(made)
            tell(outcome(self))


@dataclass(frozen=True, eq=False)
class _Made:
    tradeoff: float
    plan: Plan
    objective: list[float]
    rank: tuple[float, float] | None  # on the rows set aside


class _Workshops:
    """One workshop for all tradeoffs; one for each where boosted terms go by the tradeoff."""

    def __init__(self, learner: SoftTreeLearner, rows: LinearRows, tell: Steps) -> None:
        self.learner, self.rows, self.tell = learner, rows, tell
        metric, loss = learner._judged_by(rows.learning)
        self.judge = Judge(get_metric(learner.metric or metric), loss, rows.learning)
        self._falls = learner.terms == "boosted" and learner.term_tradeoff == "falling"
        self._last: tuple[float, _Workshop] | None = None

    def at(self, tradeoff: float) -> _Workshop:
        if self._last is None or (self._falls and self._last[0] != tradeoff):
            self.tell("making terms")
            cap = read_budget(self.learner.budget)
            terms = fit_terms(self.learner, self.rows, self.judge.loss, tradeoff, cap)
            self._last = tradeoff, _Workshop(self.learner, self.rows, terms, self.judge, self.tell)
        return self._last[1]

    def make(self, tradeoff: float) -> _Made:
        return self.at(tradeoff).make(tradeoff)

    def chosen(self) -> _Made:
        """The tree that the learner's budgets ask for, the best one on the rows set aside."""
        mean_budget = read_budget(self.learner.mean_budget)
        capped = self.at(self.learner.tradeoff).cap is not None
        if self.learner.mean_budget is None:
            return self.best([self.make(one) for one in self.tradeoffs(capped)])
        inside = [self.within(mean_budget)]
        if capped:
            more = [self.make(one) for one in self.tradeoffs(capped)]
            inside += [made for made in more if fits(0.0, self.expected_cost(made), mean_budget)]
        return self.best(inside)

    def tradeoffs(self, capped: bool) -> list[float]:
        """The tradeoffs to try: the learner's, and larger ones where a cap makes it choose what to buy."""
        given = self.learner.tradeoff
        return larger_tradeoffs(given, self._first()) if capped else [given]

    def best(self, some: list[_Made]) -> _Made:
        return some[0] if len(some) == 1 else max(some, key=lambda made: (made.rank, -made.tradeoff))

    def _first(self) -> float:
        return first_guess(self.rows.learning.y, self.rows.costs)

    def within(self, budget: float) -> _Made:
        """The tree for a budget on what the rows set aside cost on average.

        Where the smallest tradeoff that keeps to it is found, somewhat larger ones may do as well or
        better: at the edge a node often buys too early what its children would choose better. The rows set
        aside decide.
        """
        found = tradeoff_for_budget(
            self.make,
            self.expected_cost,
            budget,
            lowest=self.learner.tradeoff,
            first=self._first(),
            max_fits=MAX_FITS,
        )
        if found.tradeoff == 0.0:
            return found.model
        more = [self.make(factor * found.tradeoff) for factor in LARGER]
        return self.best(
            [found.model, *(made for made in more if fits(0.0, self.expected_cost(made), budget))]
        )

    def expected_cost(self, made: _Made) -> float:
        """What the rows set aside pay on average; nothing if there are none, and no budget to keep."""
        rows = self.rows.judging
        if rows is None:
            return 0.0
        run = made.plan.run(rows.X, n_threads=self.learner._threads, encoded=True)
        return float(np.average(run.cost, weights=rows.weight))


class _Workshop:
    """Makes trees for different tradeoffs from the same rows and terms."""

    def __init__(
        self, learner: SoftTreeLearner, rows: LinearRows, terms: Terms, judge: Judge, tell: Steps
    ) -> None:
        self.learner, self.rows, self.terms, self.tell = learner, rows, terms, tell
        self.link = judge.loss.link
        self.columns = np.ascontiguousarray(terms.values(rows.learning.X).T)
        self.targets = learner._targets(rows.learning)
        self.judge = judge
        if rows.judging is not None:
            self.judge = Judge(judge.metric, judge.loss, self.weighed(rows.judging))
            self.judged_columns = np.ascontiguousarray(terms.values(rows.judging.X).T)
        weight = rows.learning.weight
        mass = np.ones(len(rows.learning)) if weight is None else weight
        self.mass = canonical(mass / mass.sum())
        self.blocks = Blocks.of(terms.uses, terms.evaluation, rows.costs)
        self.effort = Effort(negligible=1e-4 * self.targets.unit, max_sweeps=learner.max_sweeps)
        self.cap = None if learner.budget is None else self._cap(read_budget(learner.budget))

    def _cap(self, budget: float) -> PathCap | None:
        """What limits every way through a tree; None if all terms together cost no more than the budget."""
        size = np.sqrt(np.maximum(0.0, (self.columns**2) @ self.mass - (self.columns @ self.mass) ** 2))
        cap = PathCap(Market.of(self.terms.uses, self.terms.evaluation, self.rows.costs), budget, size)
        return cap if cap.binds else None

    def weighed(self, samples: Samples) -> Samples:
        """Rows to judge by, weighed as the loss weighs them; with a metric of one's own, as they are."""
        by_class = self.learner._class_weights(self.rows.learning)
        if by_class is None or self.learner.metric is not None:
            return samples
        emphasis = by_class[samples.y.astype(np.int64)]
        return replace(samples, weight=emphasis if samples.weight is None else samples.weight * emphasis)

    def problem(self, tradeoff: float) -> Problem:
        return Problem(
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

    def make(self, tradeoff: float) -> _Made:
        """The plan of a tradeoff, and the objective after every step."""
        problem, learner = self.problem(tradeoff), self.learner
        self.tell(f"tradeoff {tradeoff:.3g}: initialising")
        tree = initialise(problem, learner._shape(), self.effort, self.cap)
        if learner.prune:
            tree = self.prune(problem, tree)
        objective = [Standing(problem, tree).objective()]
        if learner.optimise:
            self.tell(f"tradeoff {tradeoff:.3g}: optimising {len(tree.shape)} nodes")
            tree, objective = self.descend(problem, tree, tradeoff)
            tree.clamp(self.effort.negligible)
        tree = cut_unreached(problem, tree)
        answers = fine_tune(problem, tree, self.effort)
        rank = None if self.rows.judging is None else self.rank(tree, answers)
        return _Made(tradeoff, self.plan(problem, tree, answers), objective, rank)

    def prune(self, problem: Problem, tree: SoftTree) -> SoftTree:
        """Take away nodes, the last ones first, as long as the metric on the rows set aside does not fall."""
        answers = fine_tune(problem, tree, self.effort)
        best = self.rank(tree, answers)
        for node in reversed(range(1, len(tree.shape))):
            if tree.shape.is_leaf(node):
                without = tree.without([node]), answers.without([node])
                rank = self.rank(*without)
                if rank >= best:
                    (tree, answers), best = without, rank
        return tree

    def descend(self, problem: Problem, tree: SoftTree, tradeoff: float) -> tuple[SoftTree, list[float]]:
        """Optimise until the objective stands still, or until rows set aside see no progress."""
        learner, effort = self.learner, self.effort
        patience = PATIENCE if learner.early_stopping is True else int(learner.early_stopping)
        watch = _Watch(lambda: self.tuned_rank(problem, tree), tree, patience) if patience else None

        def enough(objective: float) -> bool:
            self.tell(f"tradeoff {tradeoff:.3g}: optimising, objective {objective:.6g}")
            return watch is not None and watch()

        history = descend(problem, tree, effort, enough)
        return tree if watch is None else watch.kept, history

    def tuned_rank(self, problem: Problem, tree: SoftTree) -> tuple[float, float]:
        """`rank`, as if the tree were finished now."""
        clamped = tree.copy()
        clamped.clamp(self.effort.negligible)
        return self.rank(clamped, fine_tune(problem, clamped, self.effort))

    def rank(self, tree: SoftTree, answers: SoftTree) -> tuple[float, float]:
        """How well a tree does on the rows set aside: by the metric, then by the loss it was fitted by.

        A metric of probabilities sees them calibrated, as the finished tree would give them.
        """
        made = _classifiers(tree, answers, False)
        scores, _ = made.ways(self.judged_columns.T)
        aims = self.learner._squared_targets(self.judge.samples)
        if aims is None:
            return self.judge.rank(scores, self.judge.value(scores))
        answered = scores
        if self.judge.metric.needs == "proba":
            learned = made.ways(self.columns.T)[0]
            answered = self.learner._answers(learned, self.rows.learning) * scores
        better, _ = self.judge.rank(answered, self.judge.value(answered))
        error = ((scores - aims) ** 2).sum(axis=1)
        return better, -float(np.average(error, weights=self.judge.samples.weight))

    def plan(self, problem: Problem, tree: SoftTree, answers: SoftTree) -> Plan:
        mean = self._constant(problem)
        made = _classifiers(tree, answers, turn=not problem.on_exit)
        factor = self.learner._answers(made.ways(self.columns.T)[0], self.rows.learning)
        return build_plan(
            made.rescaled(factor),
            self.terms,
            self.rows.costs,
            link=self.link,
            base=factor * mean,
            classes=self.learner._plan_classes(),
            info={"learner": type(self.learner).__name__},
            categories=self.learner._categories,
        )

    def _constant(self, problem: Problem) -> Floats:
        """The scores of least loss that need no terms."""
        bare = replace(problem, columns=problem.columns[:0], blocks=problem.blocks.only(np.arange(0)))
        alone = SoftTree.zeros(Shape.chain(1), 0, problem.n_scores)
        return fine_tune(bare, alone, self.effort).intercept[0]


class _Watch:
    """Keeps the best state of a tree; enough is when it has not been bettered for some sweeps."""

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
