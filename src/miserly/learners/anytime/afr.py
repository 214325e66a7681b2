"""AFR, anytime feature representations: one model for all budgets.

How the model grows, and the differences from the thesis, are in `miserly.learners.anytime.builder`.
"""

from __future__ import annotations

from dataclasses import replace
from numbers import Integral, Real
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import check_random_state
from sklearn.utils._param_validation import Interval, StrOptions
from threadpoolctl import threadpool_limits

from miserly.costs import Costs, Ledger
from miserly.data.frames import NumericTable
from miserly.data.rows import Rows
from miserly.data.target import Target
from miserly.errors import DataError
from miserly.grow import Bins, Grower, GrowOptions
from miserly.grow.options import MAX_DEPTH
from miserly.learners.anytime.builder import Builder
from miserly.learners.anytime.representation import Division, OneVsRest, Parts
from miserly.learners.anytime.snapshots import averaged, build_plan
from miserly.learners.anytime.tree_source import AFROptions
from miserly.learners.base import bind_costs
from miserly.learners.base.arguments import NOT_NEGATIVE, ONE_OR_MORE, categorical_columns, constraints
from miserly.learners.base.kinds import StagedClassifier, WeightedFit
from miserly.learners.common.booster import reserve_of
from miserly.learners.common.linear_fit import evened
from miserly.learners.common.progress import Steps, outcome

__all__ = ["AFRClassifier"]

N_MEMBERS = 4  # representations per snapshot with n_members="auto", if there are at most
MAX_ROWS = 4_000  # rows, because few rows make representations depend on the division, and at most
MAX_SNAPSHOTS = 40  # snapshots times scores, because each has hundreds of trees of its own


class AFRClassifier(StagedClassifier, WeightedFit):
    """Anytime feature representations: one model that answers for any budget.

    Trees make up the dimensions of a representation, and a linear SVM weighs them. Both are learned together
    while the tradeoff falls and more features are bought. A snapshot of the model is kept for each cost, and
    a row is answered by the most expensive snapshot that it can pay for.

    Parameters
    ----------
    costs : Costs, array-like, mapping of name to cost or None, default=None
        Costs of the features, of groups of features, and of evaluating a tree. By default each feature costs
        1 and trees cost nothing.
    tradeoff : float or None, default=None
        Mean loss (half the squared hinge) that one unit of cost must save in the first block. Each further
        block halves it. By default it is the largest value at which a first feature is bought, among halves
        of one at which none is.
    budget : float or None, default=None
        Cap on the cost of the whole model. Smaller budgets need no other model: ``predict(X, budget=...)``.
        By default there is no cap.
    n_blocks : int, default=24
        Number of blocks, each with half the tradeoff of the one before. Blocks before the first tree do not
        count.
    n_dimensions : int, default=20
        Largest number of dimensions that a block adds, for each class against the rest.
    max_dimensions : int or None, default=None
        Largest number of dimensions in all, for each class against the rest. Further trees join the last
        dimension. By default there is no limit.
    n_members : int or "auto", default="auto"
        Number of representations that each snapshot is the mean of. Each is trained on another division of
        the rows, which helps if there are few rows. Purchases and costs are the same for any number. "auto"
        is 4 for at most 4,000 rows and 40 snapshots times scores, else 1. With `max_dimensions`, or if
        evaluating trees costs something, it must be 1.
    n_trees : int, default=10
        Number of trees of Greedy Miser that a dimension starts with (more if there would be too many
        dimensions), and largest number of trees that it then grows along the derivatives.
    step : float, default=0.1
        Learning rate of Greedy Miser, and the value that the weights of the SVM shrink to.
    subsample : float, default=0.5
        Share of the rows that each tree is fitted to, drawn again for each tree.
    max_depth : int, default=4
        Largest depth of a tree.
    max_leaves : int or None, default=None
        Largest number of leaves of a tree. By default only `max_depth` limits it.
    min_samples_leaf : int, default=20
        Smallest number of training rows in a leaf.
    max_bins : int, default=255
        Largest number of bins into which the values of a feature are grouped.
    categorical_features : "from_dtype", array-like or None, default="from_dtype"
        Columns that are split by category: a list of columns, or a boolean mask. By default the columns that
        a frame holds as text, categories or booleans. Listed columns of numbers must hold the codes
        0, 1, 2, ... With None, codes are split as numbers.
    class_weight : mapping of class to weight, "balanced" or None, default=None
        Weights of the classes, by which the weights of the rows are multiplied. "balanced" gives all classes
        the same total weight. Classes that a mapping leaves out have weight 1.
    validation_fraction : float, default=0.2
        Share of the rows in the validation set, which decides how many trees are kept. The other rows are
        divided in halves: the SVM is solved on one half, and evaluated on the other.
    random_state : int, RandomState or None, default=None
        Random seed of the divisions and of the samples of rows.
    n_jobs : int or None, default=None
        Number of threads. By default all cores. The model does not depend on it.
    verbose : int, default=0
        With 1, the progress of the fit is shown.

    Attributes
    ----------
    plan_ : Plan
        A chain with one node per snapshot.
    classes_ : array of shape (n_classes,)
        The classes, sorted.
    cost_ : float
        Cost of the last snapshot.
    features_ : array
        The features that the last snapshot may need: names if there are names, else column numbers.
    snapshot_costs_ : array of shape (n_snapshots,)
        Cost of each snapshot, for all features of its trees.
    outer_losses_ : array of shape (n_snapshots,)
        Smooth error rate of each snapshot on the rows that evaluate the SVM. If there are several members, it
        is that of the first.
    tradeoffs_ : array of shape (n_blocks,)
        Tradeoff of each block.
    n_features_in_ : int
        Number of features seen by `fit`.
    feature_names_in_ : array of shape (n_features_in_,)
        Names of the features. It exists only if `X` had names.

    Notes
    -----
    Inner problem, on half `T` of the training rows, with decisions ``J = w.phi + b`` [1]_:

    ``1/2 |w|^2 + C/2 sum_{i in T} mu_i max(0, 1 - y_i J_i)^2``

    Outer loss, on the other half `V`, with ``sigma_a(z) = 1 / (1 + exp(a z))`` and ``a = 5``:

    ``sum_{i in V} mu_i sigma_a(y_i J_i)``

    Trees are fitted to the derivatives of the outer loss by the representation, through the solution of the
    inner problem. With several classes there is one SVM for each class against the rest. All share the
    features that are paid, and their scores are calibrated by Platt scaling.

    Corrections of the thesis: its outer loss omits ``y_i``, its derivative omits ``a`` and ``mu_i``, and its
    condition to stop has the sign of a descent direction.

    Differences from the thesis: purchases are decided by rounds of Greedy Miser, boosting restarts when the
    cost has grown by half, weights shrink towards those of boosting, C is chosen on validation rows, trees
    are fitted to samples of the rows, and snapshots of small sets are means of several members. The reasons
    are in the module `miserly.learners.anytime.builder`.

    References
    ----------
    .. [1] Z. Xu, M. J. Kusner, G. Huang, K. Q. Weinberger, "Anytime Representation Learning", ICML 2013.
    .. [2] Z. Xu, "Supervised Machine Learning Under Test-Time Resource Constraints: A Trade-off Between
       Accuracy and Cost", PhD thesis, Washington University in St. Louis, 2014, section 2.2.

    Examples
    --------
    One model, at three budgets:

    >>> from miserly import AFRClassifier
    >>> from miserly.datasets import load_heart
    >>> heart = load_heart()
    >>> model = AFRClassifier(costs=heart.costs, random_state=0).fit(heart.X, heart.y)
    >>> for budget in (5, 50, 500):
    ...     cost = model.run(heart.X, budget=budget).cost.mean()
    ...     correct = model.predict(heart.X, budget=budget) == heart.y
    ...     print(round(float(cost), 1), round(float(correct.mean()), 2))
    4.0 0.8
    11.3 0.82
    320.9 0.91
    """

    snapshot_costs_: NDArray[np.float64]
    outer_losses_: NDArray[np.float64]
    tradeoffs_: NDArray[np.float64]

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = constraints(
        *("costs", "budget", "step", "min_samples_leaf", "max_bins", "categorical_features"),
        *("class_weight", "validation_fraction", "random_state", "n_jobs", "verbose"),
        tradeoff=[NOT_NEGATIVE, None],
        n_blocks=[ONE_OR_MORE],
        n_dimensions=[ONE_OR_MORE],
        max_dimensions=[ONE_OR_MORE, None],
        n_members=[ONE_OR_MORE, StrOptions({"auto"})],
        n_trees=[ONE_OR_MORE],
        subsample=[Interval(Real, 0, 1, closed="right")],
        max_depth=[Interval(Integral, 1, MAX_DEPTH, closed="both")],
        max_leaves=[Interval(Integral, 2, None, closed="left"), None],
    )

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

    def _fit(self, X: Any, given: Target) -> None:
        with Steps(self, bool(self.verbose)) as progress, threadpool_limits(1, "blas"):
            table = self.read_table(X, reset=True)
            costs = bind_costs(self.costs, table.names or self.n_features_in_)
            samples = self._samples(table, given)
            self._check_members(costs)
            random = check_random_state(self.random_state)
            divided = [self._division(samples, random)]
            builders = [self._builder(samples, divided[0], table, costs, progress)]
            builders[0].run()
            for _ in range(1, self._n_members(builders[0], len(samples))):
                divided.append(self._division(samples, random))
                builders.append(self._builder(samples, divided[-1], table, costs, progress))
            self._keep(builders, samples, divided)
            progress(outcome(self))

    def _samples(self, table: NumericTable, given: Target) -> Rows:
        """Rows of positive weight, with classes as codes."""
        samples = given.checked(table.values, self, numeric=False).without_zero_weights()
        return evened(replace(samples, y=self._encode(samples.y)))

    def _check_members(self, costs: Costs) -> None:
        reason = self._single_member(costs)
        if reason and self.n_members != "auto" and self.n_members > 1:
            raise DataError(f"n_members must be 1 or 'auto' if {reason}, got {self.n_members}")

    def _single_member(self, costs: Costs) -> str:
        """Why a snapshot can have one member only; empty if it can have several."""
        if self.max_dimensions is not None:
            return "max_dimensions limits the number of dimensions"
        return "evaluating a tree costs something" if costs.evaluation > 0 else ""

    def _n_members(self, builder: Builder, n_rows: int) -> int:
        """Number of representations that each snapshot is the mean of."""
        if self.n_members != "auto":
            return int(self.n_members)
        is_large = n_rows > MAX_ROWS or len(builder.snapshots) * len(builder.problems) > MAX_SNAPSHOTS
        return 1 if is_large or self._single_member(builder.ledger.costs) else N_MEMBERS

    def _division(self, samples: Rows, random: np.random.RandomState) -> Division:
        return Division.of(samples, self.validation_fraction, int(random.randint(2**31 - 2)))

    def _builder(
        self, samples: Rows, division: Division, table: NumericTable, costs: Costs, progress: Steps
    ) -> Builder:
        rows, parts = samples.take(division.order), division.parts
        weight = np.ones(len(rows)) if rows.weight is None else rows.weight
        wanted = [1] if len(self.classes_) == 2 else range(len(self.classes_))
        problems = [OneVsRest(np.where(rows.y == k, 1.0, -1.0), weight, parts) for k in wanted]
        n_trees = 2 * self.n_blocks * self.n_dimensions * self.n_trees * len(problems)
        options = AFROptions(
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
        return Builder(problems, grower, Ledger(costs, self.budget), options, progress)

    def _grower(self, X: NDArray[Any], parts: Parts, table: NumericTable, costs: Costs) -> Grower:
        options = GrowOptions(
            max_depth=self.max_depth,
            max_leaves=self.max_leaves,
            min_samples_leaf=self.min_samples_leaf,
        )
        categorical = categorical_columns(self.categorical_features, table, self.n_features_in_)
        bins = Bins.fit(X[parts.training], max_bins=self.max_bins, categorical=categorical, random_state=0)
        return Grower(bins.transform(X, n_threads=self.n_threads), costs, options, n_threads=self.n_threads)

    def _keep(self, builders: list[Builder], samples: Rows, divided: list[Division]) -> None:
        first, validation = builders[0], [one.validation for one in divided]
        trees, snapshots, rows = first.trees, first.snapshots, validation[0]
        if len(builders) > 1:
            trees, snapshots, rows = averaged(builders, validation, len(samples))
        self.snapshot_costs_ = np.array([snapshot.cost for snapshot in snapshots])
        self.outer_losses_ = np.array([snapshot.outer_loss for snapshot in snapshots])
        self.tradeoffs_ = np.array(first.tradeoffs)
        self.plan_ = build_plan(
            trees,
            snapshots,
            samples.take(divided[0].order),
            samples.take(rows),
            n_scores=len(first.problems),
            costs=first.ledger.costs,
            classes=self.plan_classes(),
            categories=self.categories_,
            info={"learner": type(self).__name__},
        )
