"""AFR: one model for every budget, stopped wherever the money ends.

Z. Xu, M. J. Kusner, G. Huang, K. Q. Weinberger, Anytime Representation Learning, ICML 2013; thesis of Z. Xu,
section 2.2. Trees make up the dimensions of a representation, and a squared-hinge SVM weighs them; both are
learned together while what a purchase must be worth falls from block to block. At every purchase the model
is kept as it was: the plan is a chain of such snapshots, each with trees and weights of its own choice.
How it is grown, and where that differs from the thesis, is in `miserly.learners.anytime.builder`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from numbers import Integral, Real
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import _fit_context
from sklearn.utils import check_random_state
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.class_weight import compute_sample_weight
from threadpoolctl import threadpool_limits

from miserly.costs import Costs, Ledger
from miserly.data.frames import NumericTable
from miserly.data.rows import Rows
from miserly.data.target import Target
from miserly.errors import DataError
from miserly.grow import Bins, Grower, GrowOptions
from miserly.grow.binning import MAX_BINS
from miserly.grow.grower import MAX_DEPTH
from miserly.learners.anytime.builder import Builder, Recipe
from miserly.learners.anytime.members import averaged
from miserly.learners.anytime.representation import Division, OneVsRest, Parts
from miserly.learners.anytime.snapshot_plan import build_plan
from miserly.learners.base import bind_costs
from miserly.learners.common.booster import reserve_of
from miserly.learners.common.categories import categorical_columns
from miserly.learners.common.labels import encode_classes
from miserly.learners.common.linear_fit import evened
from miserly.learners.common.progress import Steps, outcome
from miserly.learners.common.staged import StagedClassifier

__all__ = ["AFRClassifier"]

_ONE_OR_MORE = Interval(Integral, 1, None, closed="left")

MEMBERS = 4  # representations for each snapshot, where there are
FEW_ROWS = 4_000  # or fewer, for then they depend much on how rows are divided, and
FEW_SNAPSHOTS = 40  # or fewer, times scores: each has some hundred trees of its own


class AFRClassifier(StagedClassifier):
    """Anytime representations: one model whose answers get better with whatever is spent.

    Parameters
    ----------
    costs : Costs, array, mapping of name to cost, or None
        What features cost; 1 each by default.
    tradeoff : float, optional
        What one unit of cost must bring in the first block, as a fall of the mean squared hinge loss (half
        the square of what a margin lacks). By default the largest of successive halves at which a first
        feature is bought, from where no gain could pay for the cheapest. Each block halves it.
    budget : float, optional
        What the whole model may cost at most. Answers for less need no other model:
        ``predict(X, budget=...)``.
    n_blocks : int, default=24
        How often the tradeoff is halved; a block at which no tree was grown yet does not count.
    n_dimensions : int, default=20
        The most dimensions that each block, and each class against the rest, adds.
    max_dimensions : int, optional
        The most that there are at any time, for each class against the rest: further trees join the last one.
    n_members : int or "auto", default="auto"
        How many representations each snapshot is the mean of: its own, and others that learn from what it has
        paid for, each with rows divided in its own way. It is the cure for few rows, where a representation
        depends much on how they were divided; purchases and bills are the same for any number. "auto" is 4 up
        to 4,000 rows, unless snapshots times classes (two count once) are more than 40, else 1. With
        `max_dimensions`, or where evaluating trees costs something, it must be 1, and "auto" is.
    n_trees : int, default=10
        How many trees of Greedy Miser each dimension begins with (more, where there would be too many
        dimensions), and the most that it grows after that, along the slopes of the validation loss. 10 rounds
        after a purchase may not buy.
    step : float, default=0.1
        How much of each tree Greedy Miser adds; also what the SVM's weights shrink to.
    subsample : float, default=0.5
        The share of the rows that each tree is fitted to, drawn anew for every tree.
    max_depth : int, default=4
    max_leaves : int, optional
    min_samples_leaf : int, default=20
    max_bins : int, default=255
    categorical_features : "from_dtype", list of columns, mask, or None
        As for `GreedyMiserClassifier`.
    class_weight : mapping, "balanced" or None
        What rows of each class count, on top of `sample_weight`.
    validation_fraction : float, default=0.2
        How much is set aside, to say how many trees are enough. The rest is halved: the SVM learns from one
        half and is judged by the other.
    random_state : int, RandomState or None
    n_jobs : int, optional
        Threads; all by default. The model does not depend on it.
    verbose : int, default=0
        1 shows what the fit is at.

    Attributes
    ----------
    plan_ : Plan
        A chain with one node per snapshot. Interrupted on the way to the next one, it answers from the last
        that is finished.
    snapshot_costs_ : array
        What each snapshot costs, counting whole trees.
    outer_losses_ : array
        The smooth share of errors of each snapshot on the rows that judge the SVM; where there are several
        representations, that of the first.
    tradeoffs_ : array
        The tradeoff of each block.
    cost_ : float
        What the last snapshot costs; `features_` are the features it pays for.

    Examples
    --------
    One model, at three budgets:

    >>> from miserly.datasets import load_heart
    >>> from miserly.learners import AFRClassifier
    >>> heart = load_heart()
    >>> model = AFRClassifier(costs=heart.costs, random_state=0).fit(heart.X, heart.y)
    >>> [bool((model.run(heart.X, budget=budget).cost <= budget).all()) for budget in (5, 50, 500)]
    [True, True, True]
    >>> bool(model.score(heart.X, heart.y) > 0.8)
    True
    """

    snapshot_costs_: NDArray[np.float64]
    outer_losses_: NDArray[np.float64]
    tradeoffs_: NDArray[np.float64]

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "costs": [None, Costs, Mapping, "array-like"],
        "tradeoff": [Interval(Real, 0, None, closed="left"), None],
        "budget": [Interval(Real, 0, None, closed="both"), None],
        "n_blocks": [_ONE_OR_MORE],
        "n_dimensions": [_ONE_OR_MORE],
        "max_dimensions": [_ONE_OR_MORE, None],
        "n_members": [_ONE_OR_MORE, StrOptions({"auto"})],
        "n_trees": [_ONE_OR_MORE],
        "step": [Interval(Real, 0, None, closed="neither")],
        "subsample": [Interval(Real, 0, 1, closed="right")],
        "max_depth": [Interval(Integral, 1, MAX_DEPTH, closed="both")],
        "max_leaves": [Interval(Integral, 2, None, closed="left"), None],
        "min_samples_leaf": [_ONE_OR_MORE],
        "max_bins": [Interval(Integral, 2, MAX_BINS, closed="both")],
        "categorical_features": [StrOptions({"from_dtype"}), "array-like", None],
        "class_weight": [Mapping, StrOptions({"balanced"}), None],
        "validation_fraction": [Interval(Real, 0, 1, closed="neither")],
        "random_state": ["random_state"],
        "n_jobs": [_ONE_OR_MORE, Interval(Integral, None, -1, closed="right"), None],
        "verbose": ["verbose"],
    }

    def __init__(
        self,
        *,
        costs: Any = None,
        tradeoff: float | None = None,
        budget: float | None = None,
        n_blocks: int = 24,
        n_dimensions: int = 20,
        max_dimensions: int | None = None,
        n_members: Any = "auto",
        n_trees: int = 10,
        step: float = 0.1,
        subsample: float = 0.5,
        max_depth: int = 4,
        max_leaves: int | None = None,
        min_samples_leaf: int = 20,
        max_bins: int = 255,
        categorical_features: Any = "from_dtype",
        class_weight: Any = None,
        validation_fraction: float = 0.2,
        random_state: Any = None,
        n_jobs: int | None = None,
        verbose: int = 0,
    ) -> None:
        self.costs = costs
        self.tradeoff = tradeoff
        self.budget = budget
        self.n_blocks = n_blocks
        self.n_dimensions = n_dimensions
        self.max_dimensions = max_dimensions
        self.n_members = n_members
        self.n_trees = n_trees
        self.step = step
        self.subsample = subsample
        self.max_depth = max_depth
        self.max_leaves = max_leaves
        self.min_samples_leaf = min_samples_leaf
        self.max_bins = max_bins
        self.categorical_features = categorical_features
        self.class_weight = class_weight
        self.validation_fraction = validation_fraction
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose

    # -- fitting -------------------------------------------------------------------------------------

    @_fit_context(prefer_skip_nested_validation=True)
    def fit(
        self,
        X: Any,
        y: ArrayLike,
        sample_weight: ArrayLike | None = None,
        qid: ArrayLike | None = None,
    ) -> AFRClassifier:
        """Fit to classes `y`; rows that share a `qid` stay together when rows are divided."""
        with Steps(self, bool(self.verbose)) as tell, threadpool_limits(1, "blas"):
            table = self.read_table(X, reset=True)
            costs = bind_costs(self.costs, self.n_features_in_ if table.names is None else table.names)
            samples = self._samples(table, Target(y, sample_weight, qid))
            self._check_members(costs)
            random = check_random_state(self.random_state)
            divided = [self._division(samples, random)]
            builders = [self._builder(samples, divided[0], table, costs, tell)]
            builders[0].run()
            for _ in range(1, self._n_members(builders[0], len(samples))):
                divided.append(self._division(samples, random))
                builders.append(self._builder(samples, divided[-1], table, costs, tell))
            self._keep(builders, samples, divided)
            tell(outcome(self))
        return self

    def _samples(self, table: NumericTable, given: Target) -> Rows:
        """Rows that count, their classes as codes, and weights with those of the classes worked in."""
        samples = given.checked(table.values, self, numeric=False).without_zero_weights()
        self.classes_, codes = encode_classes(samples.y)
        if self.class_weight is not None:
            by_class = compute_sample_weight(self.class_weight, samples.y)
            weight = by_class if samples.weight is None else samples.weight * by_class
            samples = replace(samples, weight=weight)
        return evened(replace(samples, y=codes).without_zero_weights())

    def _check_members(self, costs: Costs) -> None:
        why = self._alone(costs)
        if why and self.n_members != "auto" and self.n_members > 1:
            raise DataError(f"n_members={self.n_members}, but {why}: leave it at 'auto', or say 1")

    def _alone(self, costs: Costs) -> str:
        """Why a snapshot can have one representation only, if so."""
        if self.max_dimensions is not None:
            return "max_dimensions limits how many dimensions there are in all"
        return "evaluating a tree costs something" if costs.evaluation > 0 else ""

    def _n_members(self, builder: Builder, n_rows: int) -> int:
        """How many representations each snapshot of this builder is the mean of."""
        if self.n_members != "auto":
            return int(self.n_members)
        large = len(builder.snapshots) * len(builder.problems) > FEW_SNAPSHOTS
        return 1 if self._alone(builder.ledger.costs) or n_rows > FEW_ROWS or large else MEMBERS

    def _division(self, samples: Rows, random: np.random.RandomState) -> Division:
        return Division.of(samples, self.validation_fraction, int(random.randint(2**31 - 2)))

    def _builder(
        self, samples: Rows, division: Division, table: NumericTable, costs: Costs, tell: Steps
    ) -> Builder:
        rows, parts = samples.take(division.order), division.parts
        weight = np.ones(len(rows)) if rows.weight is None else rows.weight
        wanted = [1] if len(self.classes_) == 2 else range(len(self.classes_))
        problems = [OneVsRest(np.where(rows.y == k, 1.0, -1.0), weight, parts) for k in wanted]
        n_trees = 2 * self.n_blocks * self.n_dimensions * self.n_trees * len(problems)
        recipe = Recipe(
            self.n_blocks,
            self.n_dimensions,
            self.max_dimensions,
            self.n_trees,
            self.step,
            self.tradeoff,
            reserve_of(self.budget, None, n_trees, costs),
            self.subsample,
            division.seed,
        )
        grower = self._grower(rows.X, parts, table, costs)
        return Builder(problems, grower, Ledger(costs, self.budget), recipe, tell)

    def _grower(self, X: NDArray[Any], parts: Parts, table: NumericTable, costs: Costs) -> Grower:
        options = GrowOptions(
            max_depth=self.max_depth,
            max_leaves=self.max_leaves,
            min_samples_leaf=self.min_samples_leaf,
        )
        categorical = categorical_columns(self.categorical_features, table, self.n_features_in_)
        bins = Bins.fit(X[parts.learning], max_bins=self.max_bins, categorical=categorical, random_state=0)
        return Grower(bins.transform(X, n_threads=self.n_threads), costs, options, n_threads=self.n_threads)

    def _keep(self, builders: list[Builder], samples: Rows, divided: list[Division]) -> None:
        first, aside = builders[0], [one.aside for one in divided]
        trees, snapshots, judging = first.trees, first.snapshots, aside[0]
        if len(builders) > 1:
            trees, snapshots, judging = averaged(builders, aside, len(samples))
        self.snapshot_costs_ = np.array([snapshot.cost for snapshot in snapshots])
        self.outer_losses_ = np.array([snapshot.outer_loss for snapshot in snapshots])
        self.tradeoffs_ = np.array(first.tradeoffs)
        self.plan_ = build_plan(
            trees,
            snapshots,
            samples.take(divided[0].order),
            samples.take(judging),
            n_scores=len(first.problems),
            costs=first.ledger.costs,
            classes=self.plan_classes(),
            categories=self.categories_,
            info={"learner": type(self).__name__},
        )
