"""Purchase trees: what a row buys next depends on what it has bought, and boosted trees answer."""

from __future__ import annotations

from numbers import Integral
from typing import Any, ClassVar

import numpy as np
from sklearn.utils._param_validation import Interval

from miserly.costs import Ledger, read_budget
from miserly.data.rows import Rows
from miserly.data.target import Target
from miserly.grow import Bins, GrowOptions
from miserly.grow.options import MAX_DEPTH
from miserly.learners.base import PlanClassifier
from miserly.learners.base.arguments import ONE_OR_MORE, categorical_columns, constraints
from miserly.learners.base.kinds import WeightedFit
from miserly.learners.boosting.feature_sets import SetOptions
from miserly.learners.boosting.purchase_choice import choose_purchases
from miserly.learners.boosting.purchase_plan import PurchaseModel, terms_and_nodes
from miserly.learners.boosting.selector_base import FEW_ROWS, L2, SET_DEPTH
from miserly.learners.common.booster import reserve_of
from miserly.learners.common.linear_fit import FitData, read_fit_data
from miserly.learners.common.masked_boosting import Boosting, masked_rounds
from miserly.learners.common.purchase_branches import Branch, bought_table
from miserly.learners.common.round import Round
from miserly.losses import Loss, log_loss
from miserly.metrics import get_metric
from miserly.plan import Plan

__all__ = ["PurchaseTreeClassifier"]

MOST_TREES = 30_000  # in all leaves together


class PurchaseTreeClassifier(PlanClassifier, WeightedFit):
    """Purchase tree: what a row buys next depends on the values that it has bought.

    A tree says what each row buys, and one boosted model answers from what it has bought. Use it for small
    budgets, where the best second feature depends on the first value. Trees that are grown in several ways
    are compared on validation rows, among them one with the same purchases for all rows.

    Parameters
    ----------
    costs : Costs, array-like, mapping of name to cost or None, default=None
        Costs of the features, of groups of features, and of evaluating a tree. By default each feature costs
        1 and trees cost nothing.
    budget : float or None, default=None
        Cap on the cost of each path: all its features, group set-ups and evaluations. No row ever pays more.
        By default all features are used.
    max_leaves : int, default=32
        Largest number of leaves, each with purchases of its own. With 1 all rows buy the same.
    step : float, default=0.1
        Learning rate: the factor by which each tree of the answer is multiplied before it is added.
    max_depth : int, default=6
        Largest depth of a tree of the answer. Purchase trees are compared by trees of depth 4 at most.
    n_rounds : int, default=100
        Number of rounds of the answer. Each round adds one tree per class (one tree if there are two
        classes).
    min_samples_leaf : int, default=20
        Smallest number of training rows in a leaf of a tree of the answer.
    max_bins : int, default=255
        Largest number of bins into which the values of a feature are grouped.
    categorical_features : "from_dtype", array-like or None, default="from_dtype"
        Columns that are split by category: a list of columns, or a boolean mask. By default the columns that
        a frame holds as text, categories or booleans. With None, codes are split as numbers.
    class_weight : mapping of class to weight, "balanced" or None, default=None
        Weights of the classes, by which the weights of the rows are multiplied. "balanced" gives all classes
        the same total weight. Classes that a mapping leaves out have weight 1.
    validation_fraction : float, default=0.25
        Share of the rows by which purchase trees are compared, the same share of each class, or whole queries
        if `qid` is given. The final model is fitted to all rows.
    metric : str, Metric or None, default=None
        Metric by which purchase trees are compared; accuracy by default. The loss decides between equal ones.
    random_state : int, RandomState or None, default=None
        Random seed of the divisions of the rows.
    n_jobs : int or None, default=None
        Number of threads. By default all cores. The model does not depend on it.

    Attributes
    ----------
    plan_ : Plan
        A node for each split of the purchase tree, and one for the answer in each leaf. Without splits, a
        chain with one node per round.
    classes_ : array of shape (n_classes,)
        The classes, sorted.
    cost_ : float
        Cost of the most expensive path.
    features_ : array
        The features that the model may need: names if there are names, else column numbers.
    n_leaves_ : int
        Number of leaves of the purchase tree.
    n_rounds_ : int
        Number of rounds of the answer.
    n_features_in_ : int
        Number of features seen by `fit`.
    feature_names_in_ : array of shape (n_features_in_,)
        Names of the features. It exists only if `X` had names.

    Notes
    -----
    Trees are grown in two ways. *By gains*, the tree grows by one purchase per leaf and step. Before a
    purchase a leaf is divided into at most four parts by a small tree on what it has bought. Each part
    chooses the feature with the largest gain per marginal price^alpha, and neighbours that choose the same
    are joined. The gain is that of one more level of splits, chosen on one half of the rows and evaluated
    on the other, on top of a short boosted model on what has been bought. With *looking ahead*, it includes
    the gain of the best purchase after it, which may depend on the value.

    *By rollouts*, each node takes the 32 features whose best split lowers the impurity of the classes most
    per marginal price^alpha. After each of them a greedy tree spends the rest of the budget. The feature
    whose tree ends with the least impurity is bought. The impurity is that of Gini, or the entropy. Splits
    on features that are paid come before purchases where they tell as much. Neighbours that buy the same
    are joined.

    Trees by gains with and without looking ahead, and trees by rollouts, each for alpha of 1, 0.5 and 0
    where prices differ, are evaluated by short boosted models on up to three validation sets; the worse
    half drops out after each. So are trees by gains with one leaf. If one by gains is best, or rows times
    features are at most a million, the best by gains is also grown with four other first purchases.
    Larger tables get no trees without looking ahead. Trees are compared on at most 10,000 rows. The tree
    of rollouts is then grown on all rows, up to 40 million values. By gains leaves have at least 60 rows,
    by rollouts 20 to 60 with the number of rows.

    The boosted model learns from all rows together: a value that a row has not bought is missing. Each leaf
    of the plan holds what its rows can meet of each tree: splits of features that are not bought, and splits
    that the path decides, are left out. So a plan has about as many trees as leaves times rounds times
    classes. There are fewer leaves where these would be more than 30,000.

    With a smaller budget at prediction, a row that is stopped before its leaf is answered by the class shares
    of the rows that went the same way.

    Examples
    --------
    The first feature tells which of the others is the label. A tree buys this one for each row:

    >>> import numpy as np
    >>> from miserly import BudgetedSelectorClassifier, PurchaseTreeClassifier
    >>> rng = np.random.default_rng(0)
    >>> X = rng.integers(2, size=(2000, 6)).astype(float)
    >>> y = np.where(X[:, 0] > 0, X[:, 1], X[:, 2])
    >>> for learner in (BudgetedSelectorClassifier, PurchaseTreeClassifier):
    ...     model = learner(budget=2, random_state=0).fit(X, y)
    ...     print(model.features_, model.cost_, round(model.score(X, y), 2))
    [0 2] 2.0 0.76
    [0 1 2] 2.0 1.0
    """

    n_leaves_: int
    n_rounds_: int

    default_metric: ClassVar[str] = "accuracy"
    chooses_by_metric = True  # a search sets `metric` to its own
    is_whole = True  # a search does not cut it after some rounds

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = constraints(
        *("costs", "budget", "step", "n_rounds", "min_samples_leaf", "max_bins", "categorical_features"),
        *("class_weight", "validation_fraction", "metric", "random_state", "n_jobs"),
        max_leaves=[ONE_OR_MORE],
        max_depth=[Interval(Integral, 1, MAX_DEPTH, closed="both")],
    )

    def __init__(
        self,
        *,
        costs: Any = None,
        budget: float | None = None,
        max_leaves: int = 32,
        step: float = 0.1,
        max_depth: int = 6,
        n_rounds: int = 100,
        min_samples_leaf: int = 20,
        max_bins: int = 255,
        categorical_features: Any = "from_dtype",
        class_weight: Any = None,
        validation_fraction: float = 0.25,
        metric: Any = None,
        random_state: Any = None,
        n_jobs: int | None = None,
    ) -> None:
        self.costs = costs
        self.budget = budget
        self.max_leaves = max_leaves
        self.step = step
        self.max_depth = max_depth
        self.n_rounds = n_rounds
        self.min_samples_leaf = min_samples_leaf
        self.max_bins = max_bins
        self.categorical_features = categorical_features
        self.class_weight = class_weight
        self.validation_fraction = validation_fraction
        self.metric = metric
        self.random_state = random_state
        self.n_jobs = n_jobs

    def _fit(self, X: Any, given: Target) -> None:
        rows = read_fit_data(self, X, given, self._encode, None)
        loss, budget = log_loss(len(self.classes_)), read_budget(self.budget)
        reserve = reserve_of(self.budget, None, self.n_rounds * loss.n_scores, rows.costs)
        root, bins = self._grow(rows, loss, budget - reserve)
        base = loss.initial(rows.training.y, rows.training.weight)
        rounds = self._boost(rows, loss, root, base)
        self.n_leaves_, self.n_rounds_ = len(root.leaves), len(rounds)
        model = PurchaseModel(root, bins, rounds, base, rows.training, loss, rows.costs, budget)
        terms, nodes = terms_and_nodes(model)
        is_divided = root.split is not None
        self.plan_ = Plan(
            costs=rows.costs,
            terms=terms,
            nodes=nodes,
            base=np.append(base, 0.0) if is_divided else base,  # the last score is that of the splits
            n_outputs=len(base),
            link=loss.link,
            classes=self.plan_classes(),
            categories=self.categories_,
            info={"learner": type(self).__name__},
        )

    def _grow(self, rows: FitData, loss: Loss, budget: float) -> tuple[Branch, Bins]:
        """The purchase tree with all training rows, and the bins of its splits."""
        training, ledger = rows.training, Ledger(rows.costs, budget)
        every = np.arange(len(training))
        categorical = self._categorical(rows)
        if ledger.fits(rows.costs.total):
            return Branch(every, tuple(range(len(rows.costs)))), self._bins(training, categorical, rows.seed)
        if not ledger.fits(ledger.prices()).any():
            return Branch(every), self._bins(training, categorical, rows.seed)
        options = SetOptions(
            loss=loss,
            metric=get_metric(self.metric or self.default_metric),
            is_classifier=True,
            validation_fraction=self.validation_fraction,
            growth=self._growth(training, SET_DEPTH),
            categorical=categorical,
            seed=rows.seed,
            n_threads=self.n_threads,
        )
        max_leaves = max(1, min(self.max_leaves, MOST_TREES // (self.n_rounds * loss.n_scores)))
        root, bins = choose_purchases(training, options, rows.costs, budget, max_leaves)
        root.place(bins.transform(training.X, self.n_threads), every)
        return root, bins

    def _boost(self, rows: FitData, loss: Loss, root: Branch, base: Any) -> list[Round]:
        """The boosted model on what all rows have bought."""
        training = rows.training
        growth = self._growth(training, MAX_DEPTH)
        options = Boosting(loss, growth, self.step, self.n_rounds, self.n_threads)
        bins = self._bins(training, self._categorical(rows), rows.seed)
        bought = bought_table([(leaf.bought, leaf.rows) for leaf in root.leaves], training.X.shape)
        binned = bins.transform(training.X, self.n_threads)
        return masked_rounds(binned, bought, training, base, options, rows.costs.evaluation)

    def _categorical(self, rows: FitData) -> Any:
        return categorical_columns(self.categorical_features, rows.table, self.n_features_in_)

    def _bins(self, training: Rows, categorical: Any, seed: int) -> Bins:
        return Bins.fit(training.X, self.max_bins, categorical, random_state=seed)

    def _growth(self, training: Rows, max_depth: int) -> GrowOptions:
        return GrowOptions(
            max_depth=min(self.max_depth, max_depth),
            min_samples_leaf=self.min_samples_leaf,
            l2=L2 * min(1.0, len(training) / FEW_ROWS),
        )
