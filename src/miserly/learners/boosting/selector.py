"""Boosted trees on the features that a budget buys best.

Greedy boosting buys a feature for the gain of its next tree, so its first trees spend a small budget. A selector
chooses all features first: purchase orders from both ends (`miserly.learners.common.purchase_orders`) compete on
validation rows, and swaps improve the best. A boosted model without any penalty is then fitted to the chosen
features.
"""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import replace
from numbers import Integral
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from sklearn.base import is_classifier
from sklearn.utils._param_validation import Interval

from miserly.costs import Costs, Ledger, read_budget
from miserly.data.rows import Rows
from miserly.data.target import Target
from miserly.grow import Bins, Grower, GrowOptions
from miserly.grow.grower import MAX_DEPTH
from miserly.learners.base import PlanClassifier, PlanRegressor
from miserly.learners.base.arguments import NOT_NEGATIVE, categorical_columns, constraints
from miserly.learners.base.kinds import WeightedFit
from miserly.learners.boosting.feature_choice import choose_features
from miserly.learners.boosting.feature_sets import FeatureSets, SetOptions, boost
from miserly.learners.common.booster import Booster, Round, nodes_of, reserve_of, terms_of
from miserly.learners.common.linear_fit import FitData, read_fit_data
from miserly.losses import Loss, Squared, log_loss
from miserly.metrics import get_metric
from miserly.plan import Plan

__all__ = ["BudgetedSelectorClassifier", "BudgetedSelectorRegressor"]

FIRST_ROUNDS = 0.25  # of the rounds: in these the features come one after the other


class BudgetedSelector(WeightedFit):
    """Base of both selectors. Subclasses define the encoding of the labels, the loss and the default metric."""

    n_rounds_: int
    order_: NDArray[Any]

    default_metric: ClassVar[str]

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = constraints(
        *("costs", "budget", "step", "n_rounds", "min_samples_leaf", "max_bins", "categorical_features"),
        *("validation_fraction", "metric", "random_state", "n_jobs"),
        max_depth=[Interval(Integral, 1, MAX_DEPTH, closed="both")],
        l2_regularization=[NOT_NEGATIVE],
    )

    def __init__(
        self,
        *,
        costs: Any = None,
        budget: float | None = None,
        step: float = 0.1,
        max_depth: int = 4,
        n_rounds: int = 100,
        min_samples_leaf: int = 20,
        l2_regularization: float = 1.0,
        max_bins: int = 255,
        categorical_features: Any = "from_dtype",
        validation_fraction: float = 0.25,
        metric: Any = None,
        random_state: Any = None,
        n_jobs: int | None = None,
    ) -> None:
        self.costs = costs
        self.budget = budget
        self.step = step
        self.max_depth = max_depth
        self.n_rounds = n_rounds
        self.min_samples_leaf = min_samples_leaf
        self.l2_regularization = l2_regularization
        self.max_bins = max_bins
        self.categorical_features = categorical_features
        self.validation_fraction = validation_fraction
        self.metric = metric
        self.random_state = random_state
        self.n_jobs = n_jobs

    @abstractmethod
    def _loss(self) -> Loss:
        """The loss, once classes are known."""

    def _fit(self, X: Any, given: Target) -> None:
        rows = read_fit_data(self, X, given, self._encode if is_classifier(self) else None, None)
        loss, budget = self._loss(), read_budget(self.budget)
        reserve = reserve_of(self.budget, None, self.n_rounds * loss.n_scores, rows.costs)
        chosen = self._choose(rows, loss, budget - reserve)
        rounds = self._boost(rows, loss, chosen, budget)
        used = {feature for tree in terms_of(rounds) for feature in tree.features.tolist()}
        order = np.array([feature for feature in chosen if feature in used], dtype=np.int64)
        self.order_ = order if rows.table.names is None else np.array(rows.table.names)[order]
        self.n_rounds_ = len(rounds)
        self.plan_ = Plan(
            costs=rows.costs,
            terms=terms_of(rounds),
            nodes=nodes_of(rounds),
            base=loss.initial(rows.training.y, rows.training.weight),
            link=loss.link,
            classes=self.plan_classes(),
            categories=self.categories_,
            info={"learner": type(self).__name__},
        )

    def _choose(self, rows: FitData, loss: Loss, budget: float) -> list[int]:
        """The features to buy, the most useful first."""
        if Ledger(rows.costs, budget).fits(rows.costs.total):
            return list(range(len(rows.costs)))
        if not Ledger(rows.costs, budget).fits(rows.costs.marginals(rows.costs.mask([]))).any():
            return []
        options = SetOptions(
            loss=loss,
            metric=get_metric(self.metric or self.default_metric),
            is_classifier=is_classifier(self),
            validation_fraction=self.validation_fraction,
            growth=self._growth,
            categorical=categorical_columns(self.categorical_features, rows.table, self.n_features_in_),
            seed=rows.seed,
            n_threads=self.n_threads,
        )
        return choose_features(FeatureSets(rows.training, options), rows.costs, budget)

    def _boost(self, rows: FitData, loss: Loss, chosen: list[int], budget: float) -> list[Round]:
        """Rounds of boosting on the chosen features, whose trees fit what is left of the budget."""
        if not chosen:
            return []
        samples = rows.training
        free = Costs(np.zeros(len(chosen)), evaluation=rows.costs.evaluation)
        booster = Booster(
            loss=loss,
            samples=replace(samples, X=samples.X[:, :0]),
            grower=self._grower(samples, chosen, rows, free),
            ledger=Ledger(free, budget - rows.costs.of(rows.costs.mask(chosen))),
            scores=np.asfortranarray(np.tile(loss.initial(samples.y, samples.weight), (len(samples), 1))),
            tradeoff=0.0,
            step=self.step,
        )
        rounds = _boost_in_order(booster, len(chosen), self.n_rounds)
        columns = np.array(chosen, dtype=np.int32)
        return [_on_columns(one, columns, len(rows.costs)) for one in rounds]

    def _grower(self, samples: Rows, chosen: list[int], rows: FitData, free: Costs) -> Grower:
        X = np.ascontiguousarray(samples.X[:, chosen])
        categorical = categorical_columns(self.categorical_features, rows.table, self.n_features_in_)
        bins = Bins.fit(X, self.max_bins, categorical[chosen], random_state=rows.seed)
        return Grower(bins.transform(X, self.n_threads), free, self._growth, self.n_threads)

    @property
    def _growth(self) -> GrowOptions:
        return GrowOptions(
            max_depth=self.max_depth, min_samples_leaf=self.min_samples_leaf, l2=self.l2_regularization
        )


def _boost_in_order(booster: Booster, n_features: int, n_rounds: int) -> list[Round]:
    """Rounds in which features come one after the other first, so that a prefix answers smaller budgets."""
    n_first = min(n_features - 1, int(FIRST_ROUNDS * n_rounds))
    rounds: list[Round] = []
    for number in range(n_first):
        booster.features = np.arange(n_features) <= number * n_features // (n_first + 1)
        rounds += boost(booster, 1)
    booster.features = None
    return rounds + boost(booster, n_rounds - len(rounds))


def _on_columns(one: Round, columns: NDArray[np.int32], n_features: int) -> Round:
    """A round whose trees were grown on some columns, as a round on all of them."""
    trees = tuple(
        replace(tree, feature=np.where(tree.feature < 0, tree.feature, columns[tree.feature]))
        for tree in one.trees
    )
    gain = np.zeros(n_features)
    gain[columns] = one.gain
    return replace(one, trees=trees, gain=gain)


class BudgetedSelectorRegressor(PlanRegressor, BudgetedSelector):
    """Boosted regression trees on the features that a budget buys best.

    All features are chosen before the model is fitted, by their use together. This suits small budgets and
    many features, where greedy boosting spends everything in its first trees. The first trees use the features
    one after the other, so the model also answers for smaller budgets.

    Parameters
    ----------
    costs : Costs, array-like, mapping of name to cost or None, default=None
        Costs of the features, of groups of features, and of evaluating a tree. By default each feature costs
        1 and trees cost nothing.
    budget : float or None, default=None
        Cap on the cost of the whole model: all its features, group set-ups and evaluations of trees. No row
        ever pays more. By default all features are used.
    step : float, default=0.1
        Learning rate: the factor by which each tree is multiplied before it is added.
    max_depth : int, default=4
        Largest depth of a tree.
    n_rounds : int, default=100
        Number of rounds. Each round adds one tree.
    min_samples_leaf : int, default=20
        Smallest number of training rows in a leaf.
    l2_regularization : float, default=1.0
        L2 penalty on the values of the leaves. Without it, leaves of rare classes take too large steps.
    max_bins : int, default=255
        Largest number of bins into which the values of a feature are grouped.
    categorical_features : "from_dtype", array-like or None, default="from_dtype"
        Columns that are split by category: a list of columns, or a boolean mask. By default the columns that
        a frame holds as text, categories or booleans. With None, codes are split as numbers.
    validation_fraction : float, default=0.25
        Share of the rows by which sets of features are compared, in whole queries if `qid` is given. The final
        model is fitted to all rows.
    metric : str, Metric or None, default=None
        Metric by which sets of features are compared; "mse" by default. The loss decides between equal ones.
    random_state : int, RandomState or None, default=None
        Random seed of the divisions of the rows.
    n_jobs : int or None, default=None
        Number of threads. By default all cores. The model does not depend on it.

    Attributes
    ----------
    plan_ : Plan
        A chain with one node per round.
    cost_ : float
        Cost of the whole model, if a row evaluates every tree and needs every feature.
    features_ : array
        The features that the model may need: names if there are names, else column numbers.
    order_ : array
        The same features in the order of purchase.
    n_rounds_ : int
        Number of rounds of the model.
    n_features_in_ : int
        Number of features seen by `fit`.
    feature_names_in_ : array of shape (n_features_in_,)
        Names of the features. It exists only if `X` had names.

    Notes
    -----
    For each power `alpha` of 1, 0.5 and 0 there are two candidate sets. *Backward elimination* [1]_ starts
    with all features that fit alone, and drops the feature whose splits gain least per marginal
    price^alpha until the rest fits; the money left buys what was dropped last. *Forward selection* buys
    the feature with the largest gain per marginal price^alpha, where the gain is that of one more
    level of splits in the leaves of a small tree on the features bought, chosen on one half of the rows and
    evaluated on the other. The set that is best on validation rows is then improved by swaps: one feature is
    dropped, and the money is spent again.

    Sets are compared by short boosted models (20 rounds) on at most 10,000 rows. Small tables have up to five
    validation sets.

    If evaluating trees has a cost, up to a fifth of the budget is kept for it.

    References
    ----------
    .. [1] I. Guyon, J. Weston, S. Barnhill, V. Vapnik, "Gene Selection for Cancer Classification using Support
       Vector Machines", Machine Learning 46, 2002.

    Examples
    --------
    >>> import numpy as np
    >>> from miserly import BudgetedSelectorRegressor
    >>> X = np.random.default_rng(0).normal(size=(1000, 8))
    >>> y = X[:, 2] * X[:, 5] + 0.3 * X[:, 1]
    >>> model = BudgetedSelectorRegressor(budget=2, random_state=0).fit(X, y)
    >>> model.features_, model.cost_, round(model.score(X, y), 2)
    (array([2, 5]), 2.0, 0.9)
    """

    default_metric = "mse"

    def _loss(self) -> Loss:
        return Squared()


class BudgetedSelectorClassifier(PlanClassifier, BudgetedSelector):
    """Boosted classification trees on the features that a budget buys best.

    All features are chosen before the model is fitted, by their use together. This suits small budgets and
    many features, where greedy boosting spends everything in its first trees. The first trees use the features
    one after the other, so the model also answers for smaller budgets.

    Parameters
    ----------
    costs : Costs, array-like, mapping of name to cost or None, default=None
        Costs of the features, of groups of features, and of evaluating a tree. By default each feature costs
        1 and trees cost nothing.
    budget : float or None, default=None
        Cap on the cost of the whole model: all its features, group set-ups and evaluations of trees. No row
        ever pays more. By default all features are used.
    step : float, default=0.1
        Learning rate: the factor by which each tree is multiplied before it is added.
    max_depth : int, default=4
        Largest depth of a tree.
    n_rounds : int, default=100
        Number of rounds. Each round adds one tree per class (one tree if there are two classes).
    min_samples_leaf : int, default=20
        Smallest number of training rows in a leaf.
    l2_regularization : float, default=1.0
        L2 penalty on the values of the leaves. Without it, leaves of rare classes take too large steps.
    max_bins : int, default=255
        Largest number of bins into which the values of a feature are grouped.
    categorical_features : "from_dtype", array-like or None, default="from_dtype"
        Columns that are split by category: a list of columns, or a boolean mask. By default the columns that
        a frame holds as text, categories or booleans. With None, codes are split as numbers.
    class_weight : mapping of class to weight, "balanced" or None, default=None
        Weights of the classes, by which the weights of the rows are multiplied. "balanced" gives all classes
        the same total weight. Classes that a mapping leaves out have weight 1.
    validation_fraction : float, default=0.25
        Share of the rows by which sets of features are compared, the same share of each class, or whole
        queries if `qid` is given. The final model is fitted to all rows.
    metric : str, Metric or None, default=None
        Metric by which sets of features are compared; accuracy by default. The loss decides between equal
        ones.
    random_state : int, RandomState or None, default=None
        Random seed of the divisions of the rows.
    n_jobs : int or None, default=None
        Number of threads. By default all cores. The model does not depend on it.

    Attributes
    ----------
    plan_ : Plan
        A chain with one node per round.
    classes_ : array of shape (n_classes,)
        The classes, sorted.
    cost_ : float
        Cost of the whole model, if a row evaluates every tree and needs every feature.
    features_ : array
        The features that the model may need: names if there are names, else column numbers.
    order_ : array
        The same features in the order of purchase.
    n_rounds_ : int
        Number of rounds of the model.
    n_features_in_ : int
        Number of features seen by `fit`.
    feature_names_in_ : array of shape (n_features_in_,)
        Names of the features. It exists only if `X` had names.

    Notes
    -----
    `BudgetedSelectorRegressor` says how features are chosen. With several classes the gains of all scores are
    summed.

    Examples
    --------
    The label is the parity of two of ten bits. Neither helps alone:

    >>> import numpy as np
    >>> from miserly import BudgetedSelectorClassifier
    >>> X = np.random.default_rng(0).integers(2, size=(2000, 10)).astype(float)
    >>> y = X[:, 3] != X[:, 7]
    >>> model = BudgetedSelectorClassifier(budget=2, random_state=0).fit(X, y)
    >>> model.features_, model.cost_, model.score(X, y)
    (array([3, 7]), 2.0, 1.0)
    """

    default_metric = "accuracy"

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **BudgetedSelector._parameter_constraints,
        **constraints("class_weight"),
    }

    def __init__(
        self,
        *,
        costs: Any = None,
        budget: float | None = None,
        step: float = 0.1,
        max_depth: int = 4,
        n_rounds: int = 100,
        min_samples_leaf: int = 20,
        l2_regularization: float = 1.0,
        max_bins: int = 255,
        categorical_features: Any = "from_dtype",
        class_weight: Any = None,
        validation_fraction: float = 0.25,
        metric: Any = None,
        random_state: Any = None,
        n_jobs: int | None = None,
    ) -> None:
        super().__init__(
            costs=costs,
            budget=budget,
            step=step,
            max_depth=max_depth,
            n_rounds=n_rounds,
            min_samples_leaf=min_samples_leaf,
            l2_regularization=l2_regularization,
            max_bins=max_bins,
            categorical_features=categorical_features,
            validation_fraction=validation_fraction,
            metric=metric,
            random_state=random_state,
            n_jobs=n_jobs,
        )
        self.class_weight = class_weight

    def _loss(self) -> Loss:
        return log_loss(len(self.classes_))
