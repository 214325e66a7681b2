"""Selectors for numbers and for classes: boosted trees on the features that a budget buys best."""

from __future__ import annotations

from typing import Any, ClassVar

from miserly.learners.base import PlanClassifier, PlanRegressor
from miserly.learners.base.arguments import constraints
from miserly.learners.boosting.selector_base import BudgetedSelector
from miserly.losses import Loss, Squared, log_loss

__all__ = ["BudgetedSelectorClassifier", "BudgetedSelectorRegressor"]


class BudgetedSelectorRegressor(PlanRegressor, BudgetedSelector):
    """Boosted regression trees on the features that a budget buys best.

    All features are chosen before the model is fitted, by their use together. This suits small budgets and
    many features, where greedy boosting spends everything in its first trees. The first trees use the
    features one after the other, so the model also answers for smaller budgets.

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
    max_depth : int or "auto", default=6
        Largest depth of a tree. With "auto" the depth of 4, 6 and 8 that is best on validation rows. Sets of
        features are compared by trees of depth 4 at most.
    n_rounds : int or "auto", default=100
        Number of rounds. Each round adds one tree. With "auto" the number from 25 to 300 that is best on
        validation rows.
    min_samples_leaf : int, default=20
        Smallest number of training rows in a leaf.
    max_bins : int, default=255
        Largest number of bins into which the values of a feature are grouped.
    categorical_features : "from_dtype", array-like or None, default="from_dtype"
        Columns that are split by category: a list of columns, or a boolean mask. By default the columns that
        a frame holds as text, categories or booleans. With None, codes are split as numbers.
    validation_fraction : float, default=0.25
        Share of the rows by which sets of features, and depths and rounds that are "auto", are compared, in
        whole queries if `qid` is given. The final model is fitted to all rows.
    metric : str, Metric or None, default=None
        Metric by which sets of features, depths and numbers of rounds are compared; "mse" by default. The
        loss decides between equal ones.
    anytime : bool, default=False
        Whether the model answers for smaller budgets as well as if it were fitted to the features that they
        buy. It then holds a boosted model for each of several prefixes of the order, and a fit takes longer.
    random_state : int, RandomState or None, default=None
        Random seed of the divisions of the rows.
    n_jobs : int or None, default=None
        Number of threads. By default all cores. The model does not depend on it.

    Attributes
    ----------
    plan_ : Plan
        A chain with one node per round, or with `anytime` one per prefix.
    cost_ : float
        Cost of the whole model, if a row evaluates every tree and needs every feature.
    features_ : array
        The features that the model may need: names if there are names, else column numbers.
    order_ : array
        The same features in the order of purchase.
    n_rounds_ : int
        Number of rounds of the model; with `anytime` of the model on all chosen features.
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
    validation sets. Leaf values have an L2 penalty of 1, or less with fewer than 2,000 rows: without it,
    leaves of rare classes take too large steps.

    If the depth or the number of rounds is "auto", depths are compared at 25, 50 and 100 rounds, and 150, 200
    and 300 rounds are tried with the best of them, on at most 40,000 rows. With fewer than 1,000 rows in a
    validation set there are up to five. With `anytime` each prefix has its own depth and number of rounds.

    If evaluating trees has a cost, up to a fifth of the budget is kept for it.

    With `anytime` there are boosted models on the first 1, 2, ..., 8, 10, 12, 14, 17, 20, ... features of the
    order, which is the best of several orders on validation rows, at budgets in equal ratios. A row answers
    with the last model that it can pay for. Where evaluating trees has a cost, it pays for the trees of all
    models up to there, and the models for smaller budgets have at most half of the trees.

    References
    ----------
    .. [1] I. Guyon, J. Weston, S. Barnhill, V. Vapnik, "Gene Selection for Cancer Classification using
       Support Vector Machines", Machine Learning 46, 2002.

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
    many features, where greedy boosting spends everything in its first trees. The first trees use the
    features one after the other, so the model also answers for smaller budgets.

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
    max_depth : int or "auto", default=6
        Largest depth of a tree. With "auto" the depth of 4, 6 and 8 that is best on validation rows. Sets of
        features are compared by trees of depth 4 at most.
    n_rounds : int or "auto", default=100
        Number of rounds. Each round adds one tree per class (one tree if there are two classes). With "auto"
        the number from 25 to 300 that is best on validation rows.
    min_samples_leaf : int, default=20
        Smallest number of training rows in a leaf.
    max_bins : int, default=255
        Largest number of bins into which the values of a feature are grouped.
    categorical_features : "from_dtype", array-like or None, default="from_dtype"
        Columns that are split by category: a list of columns, or a boolean mask. By default the columns that
        a frame holds as text, categories or booleans. With None, codes are split as numbers.
    class_weight : mapping of class to weight, "balanced" or None, default=None
        Weights of the classes, by which the weights of the rows are multiplied. "balanced" gives all classes
        the same total weight. Classes that a mapping leaves out have weight 1.
    validation_fraction : float, default=0.25
        Share of the rows by which sets of features, and depths and rounds that are "auto", are compared: the
        same share of each class, or whole queries if `qid` is given. The final model is fitted to all rows.
    metric : str, Metric or None, default=None
        Metric by which sets of features, depths and numbers of rounds are compared; accuracy by default. The
        loss decides between equal ones.
    anytime : bool, default=False
        Whether the model answers for smaller budgets as well as if it were fitted to the features that they
        buy. It then holds a boosted model for each of several prefixes of the order, and a fit takes longer.
    random_state : int, RandomState or None, default=None
        Random seed of the divisions of the rows.
    n_jobs : int or None, default=None
        Number of threads. By default all cores. The model does not depend on it.

    Attributes
    ----------
    plan_ : Plan
        A chain with one node per round, or with `anytime` one per prefix.
    classes_ : array of shape (n_classes,)
        The classes, sorted.
    cost_ : float
        Cost of the whole model, if a row evaluates every tree and needs every feature.
    features_ : array
        The features that the model may need: names if there are names, else column numbers.
    order_ : array
        The same features in the order of purchase.
    n_rounds_ : int
        Number of rounds of the model; with `anytime` of the model on all chosen features.
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
        max_depth: Any = 6,
        n_rounds: Any = 100,
        min_samples_leaf: int = 20,
        max_bins: int = 255,
        categorical_features: Any = "from_dtype",
        class_weight: Any = None,
        validation_fraction: float = 0.25,
        metric: Any = None,
        anytime: bool = False,
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
            max_bins=max_bins,
            categorical_features=categorical_features,
            validation_fraction=validation_fraction,
            metric=metric,
            anytime=anytime,
            random_state=random_state,
            n_jobs=n_jobs,
        )
        self.class_weight = class_weight

    def _loss(self) -> Loss:
        return log_loss(len(self.classes_))
