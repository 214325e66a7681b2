"""The Greedy Miser for numbers and for classes."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from sklearn.utils._param_validation import StrOptions

from miserly.data.rows import Rows
from miserly.data.target import check_classes
from miserly.errors import DataError
from miserly.learners.base import PlanRegressor
from miserly.learners.base.arguments import class_codes, constraints
from miserly.learners.base.kinds import StagedClassifier
from miserly.learners.boosting.miser_base import GreedyMiser
from miserly.losses import Logistic, Loss, Multinomial, Squared, SquaredHinge

__all__ = ["GreedyMiserClassifier", "GreedyMiserRegressor"]


_TWO_CLASSES = ("logistic", "squared_hinge")


class GreedyMiserRegressor(PlanRegressor, GreedyMiser):
    """Gradient boosted regression trees that pay for the features they use.

    Every split weighs the reduction of the squared loss against the cost of the feature, if it is not paid
    yet. The model is a chain of trees, so it also answers for any smaller budget.

    Parameters
    ----------
    costs : Costs, array-like, mapping of name to cost or None, default=None
        Costs of the features, of groups of features, and of evaluating a tree. By default each feature costs
        1 and trees cost nothing.
    tradeoff : float, default=0.0
        Loss that one unit of cost must save. A feature of marginal cost `c` is bought only if it
        lowers the mean loss (half the squared error) by more than ``tradeoff * c``.
        With 0 this is gradient boosting without costs.
    budget : float or None, default=None
        Cap on the cost of the whole model: all its features, group set-ups and evaluations of trees. No row
        ever pays more. By default there is no cap.
    tree_budget : float or None, default=None
        Cap on the part of the cost that evaluates trees. It needs ``costs.evaluation > 0``. By default there
        is no such cap.
    lookahead : bool, default=False
        Whether to choose purchases by the gain of whole trees, instead of single splits, once the features
        that a round would buy no longer fit the `budget` together. Models are better and fits are slower.
        Without a budget it has no effect.
    step : float, default=0.1
        Learning rate: the factor by which each tree is multiplied before it is added.
    max_depth : int, default=4
        Largest depth of a tree.
    n_rounds : int, default=100
        Largest number of rounds. Each round adds one tree.
    max_leaves : int or None, default=None
        Largest number of leaves of a tree. By default only `max_depth` limits it.
    min_samples_leaf : int, default=20
        Smallest number of training rows in a leaf.
    l2_regularization : float, default=0.0
        L2 penalty on the values of the leaves.
    max_bins : int, default=255
        Largest number of bins into which the values of a feature are grouped.
    categorical_features : "from_dtype", array-like or None, default="from_dtype"
        Columns that are split by category: a list of columns, or a boolean mask. By default the columns that
        a frame holds as text, categories or booleans. Listed columns of numbers must hold the codes
        0, 1, 2, ... With None, codes are split as numbers.
    early_stopping : bool or int, default=False
        Number of rounds without improvement on the validation set after which training stops; True means 20.
        The model keeps the rounds up to the best one. With False, all rounds are kept.
    validation_fraction : float, default=0.1
        Share of the rows that early stopping uses as the validation set, in whole queries if `qid` is given.
        It is not used if `fit` is given a validation set.
    metric : str, Metric or None, default=None
        Metric on the validation set; "mse" by default. The loss decides between rounds with equal metric.
    warm_start : bool, default=False
        Whether the next `fit` continues with the rounds and purchases of this one.
    random_state : int, RandomState or None, default=None
        Random seed of the validation split, and of the rows that bins are computed from where there are very
        many.
    n_jobs : int or None, default=None
        Number of threads. By default all cores. The model does not depend on it.
    verbose : int, default=0
        With 1, a progress bar is shown.

    Attributes
    ----------
    plan_ : Plan
        A chain with one node per round, in the order of training.
    cost_ : float
        Cost of the whole model, if a row evaluates every tree and needs every feature.
    features_ : array
        The features that the model may need: names if there are names, else column numbers.
    n_rounds_ : int
        Number of rounds of the model.
    stopped_by_ : str
        Why training ended: "rounds", "no split", "budget", "tree budget", "early stopping", "callback" or
        "interrupt".
    validation_curve_ : array of shape (n_rounds + 1,)
        Metric on the validation set after 0, 1, 2, ... rounds. It exists only if there is a validation set.
    ledger_ : Ledger
        The features that are paid, the groups that are open, and the amount spent.
    feature_importances_ : array of shape (n_features,)
        Share of each feature in the reduction of the training loss. The shares sum to 1.
    n_features_in_ : int
        Number of features seen by `fit`.
    feature_names_in_ : array of shape (n_features_in_,)
        Names of the features. It exists only if `X` had names.

    Notes
    -----
    Round `t` fits a tree ``h`` to the negative gradients ``r`` of the loss. The tree minimises [1]_ (eq. 5)

    ``1/2 mean_i (r_i - h(x_i))^2 + tradeoff * sum_a unpaid(a) cost(a) [h splits on a]``

    and ``step * h`` is added to the scores. A feature is paid once: later trees use it for free.

    Differences from the paper:

    - `tradeoff` is the paper's lambda divided by the number of rows, so that it means the same for any number
      of rows.
    - The paper charges a feature if it is not yet used in section 4, and the reverse in section 5. Section 4
      is meant. It limits rounds to ``B_t / eta``. ``B_t / e``, with `e` the cost of a tree, is meant.
    - A group of features has a set-up cost, paid with its first feature (thesis, section 2.1).
    - The paper has no cap. Under a `budget`, a split that does not fit is not admitted. Up to a fifth of the
      budget (or `tree_budget`) is kept for evaluating trees. If the budget cannot buy everything, or some
      features are free, free and paid features come first: a round buys one feature, and only where trees on
      free and paid features gain less than half as much, or where half of the rounds would end with money
      left.

    References
    ----------
    .. [1] Z. Xu, K. Q. Weinberger, O. Chapelle, "The Greedy Miser: Learning under Test-time Budgets",
       ICML 2012.
    .. [2] Z. Xu, "Supervised Machine Learning Under Test-Time Resource Constraints: A Trade-off Between
       Accuracy and Cost", PhD thesis, Washington University in St. Louis, 2014, section 2.1.

    Examples
    --------
    The second feature is slightly better and ten times as expensive:

    >>> import numpy as np
    >>> from miserly import GreedyMiserRegressor
    >>> x = np.arange(200.0)
    >>> X, y = np.column_stack([x // 2, x]), np.sin(x / 30)
    >>> for tradeoff in (0, 0.01):
    ...     model = GreedyMiserRegressor(costs=[1, 10], tradeoff=tradeoff).fit(X, y)
    ...     print(model.cost_, round(model.score(X, y), 2))
    11.0 0.99
    1.0 0.99
    """

    default_metric = "mse"

    def _loss_for(self, samples: Rows) -> Loss:
        return Squared()


class GreedyMiserClassifier(StagedClassifier, GreedyMiser):
    """Gradient boosted classification trees that pay for the features they use.

    Every split weighs the reduction of the loss against the cost of the feature, if it is not paid yet. With
    more than two classes each round grows one tree per class, and all trees share the features that are paid.
    The model is a chain of trees, so it also answers for any smaller budget.

    Parameters
    ----------
    costs : Costs, array-like, mapping of name to cost or None, default=None
        Costs of the features, of groups of features, and of evaluating a tree. By default each feature costs
        1 and trees cost nothing.
    tradeoff : float, default=0.0
        Loss that one unit of cost must save. A feature of marginal cost `c` is bought only if it
        lowers the mean loss (log loss, or half the squared hinge) by more than ``tradeoff * c``.
        With 0 this is gradient boosting without costs.
    budget : float or None, default=None
        Cap on the cost of the whole model: all its features, group set-ups and evaluations of trees. No row
        ever pays more. By default there is no cap.
    tree_budget : float or None, default=None
        Cap on the part of the cost that evaluates trees. It needs ``costs.evaluation > 0``. By default there
        is no such cap.
    lookahead : bool, default=False
        Whether to choose purchases by the gain of whole trees, instead of single splits, once the features
        that a round would buy no longer fit the `budget` together. Models are better and fits are slower.
        Without a budget it has no effect.
    step : float, default=0.1
        Learning rate: the factor by which each tree is multiplied before it is added.
    max_depth : int, default=4
        Largest depth of a tree.
    n_rounds : int, default=100
        Largest number of rounds. Each round adds one tree per class (one tree if there are two classes).
    loss : {"auto", "logistic", "multinomial", "squared_hinge"}, default="auto"
        Loss to minimise. "auto" is "logistic" for two classes and "multinomial" for more. "squared_hinge" is
        for two classes and gives no probabilities.
    max_leaves : int or None, default=None
        Largest number of leaves of a tree. By default only `max_depth` limits it.
    min_samples_leaf : int, default=20
        Smallest number of training rows in a leaf.
    l2_regularization : float, default=0.0
        L2 penalty on the values of the leaves.
    max_bins : int, default=255
        Largest number of bins into which the values of a feature are grouped.
    categorical_features : "from_dtype", array-like or None, default="from_dtype"
        Columns that are split by category: a list of columns, or a boolean mask. By default the columns that
        a frame holds as text, categories or booleans. Listed columns of numbers must hold the codes
        0, 1, 2, ... With None, codes are split as numbers.
    class_weight : mapping of class to weight, "balanced" or None, default=None
        Weights of the classes, by which the weights of the rows are multiplied. "balanced" gives all classes
        the same total weight. Classes that a mapping leaves out have weight 1.
    early_stopping : bool or int, default=False
        Number of rounds without improvement on the validation set after which training stops; True means 20.
        The model keeps the rounds up to the best one. With False, all rounds are kept.
    validation_fraction : float, default=0.1
        Share of the rows that early stopping uses as the validation set, the same share of
        each class, or whole queries if `qid` is given.
        It is not used if `fit` is given a validation set.
    metric : str, Metric or None, default=None
        Metric on the validation set; accuracy by default. The loss decides between rounds with equal metric.
    warm_start : bool, default=False
        Whether the next `fit` continues with the rounds and purchases of this one.
    random_state : int, RandomState or None, default=None
        Random seed of the validation split, and of the rows that bins are computed from where there are very
        many.
    n_jobs : int or None, default=None
        Number of threads. By default all cores. The model does not depend on it.
    verbose : int, default=0
        With 1, a progress bar is shown.

    Attributes
    ----------
    plan_ : Plan
        A chain with one node per round, in the order of training.
    classes_ : array of shape (n_classes,)
        The classes, sorted.
    cost_ : float
        Cost of the whole model, if a row evaluates every tree and needs every feature.
    features_ : array
        The features that the model may need: names if there are names, else column numbers.
    n_rounds_ : int
        Number of rounds of the model.
    stopped_by_ : str
        Why training ended: "rounds", "no split", "budget", "tree budget", "early stopping", "callback" or
        "interrupt".
    validation_curve_ : array of shape (n_rounds + 1,)
        Metric on the validation set after 0, 1, 2, ... rounds. It exists only if there is a validation set.
    ledger_ : Ledger
        The features that are paid, the groups that are open, and the amount spent.
    feature_importances_ : array of shape (n_features,)
        Share of each feature in the reduction of the training loss. The shares sum to 1.
    n_features_in_ : int
        Number of features seen by `fit`.
    feature_names_in_ : array of shape (n_features_in_,)
        Names of the features. It exists only if `X` had names.

    Notes
    -----
    Round `t` fits a tree ``h`` to the negative gradients ``r`` of the loss. The tree minimises [1]_ (eq. 5)

    ``1/2 mean_i (r_i - h(x_i))^2 + tradeoff * sum_a unpaid(a) cost(a) [h splits on a]``

    and ``step * h`` is added to the scores. A feature is paid once: later trees use it for free.

    Differences from the paper:

    - `tradeoff` is the paper's lambda divided by the number of rows, so that it means the same for any number
      of rows.
    - The paper charges a feature if it is not yet used in section 4, and the reverse in section 5. Section 4
      is meant. It limits rounds to ``B_t / eta``. ``B_t / e``, with `e` the cost of a tree, is meant.
    - A group of features has a set-up cost, paid with its first feature (thesis, section 2.1).
    - The paper has no cap. Under a `budget`, a split that does not fit is not admitted. Up to a fifth of the
      budget (or `tree_budget`) is kept for evaluating trees. If the budget cannot buy everything, or some
      features are free, free and paid features come first: a round buys one feature, and only where trees on
      free and paid features gain less than half as much, or where half of the rounds would end with money
      left.
    - Losses with second derivatives use them: leaves take a Newton step instead of the mean gradient.

    References
    ----------
    .. [1] Z. Xu, K. Q. Weinberger, O. Chapelle, "The Greedy Miser: Learning under Test-time Budgets",
       ICML 2012.
    .. [2] Z. Xu, "Supervised Machine Learning Under Test-Time Resource Constraints: A Trade-off Between
       Accuracy and Cost", PhD thesis, Washington University in St. Louis, 2014, section 2.1.

    Examples
    --------
    >>> from miserly import GreedyMiserClassifier
    >>> from miserly.datasets import load_heart
    >>> heart = load_heart()
    >>> for budget in (10, 30, 300):
    ...     model = GreedyMiserClassifier(costs=heart.costs, budget=budget).fit(heart.X, heart.y)
    ...     print(round(model.cost_, 2), round(model.score(heart.X, heart.y), 2))
    9.2 0.86
    29.87 0.94
    298.1 0.98
    """

    default_metric = "accuracy"
    _numeric_target = False

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **GreedyMiser._parameter_constraints,
        "loss": [StrOptions({"auto", "logistic", "multinomial", "squared_hinge"})],
        **constraints("class_weight"),
    }

    def __init__(
        self,
        *,
        costs: Any = None,
        tradeoff: float = 0.0,
        budget: float | None = None,
        tree_budget: float | None = None,
        lookahead: bool = False,
        step: float = 0.1,
        max_depth: int = 4,
        n_rounds: int = 100,
        loss: str = "auto",
        max_leaves: int | None = None,
        min_samples_leaf: int = 20,
        l2_regularization: float = 0.0,
        max_bins: int = 255,
        categorical_features: Any = "from_dtype",
        class_weight: Any = None,
        early_stopping: bool | int = False,
        validation_fraction: float = 0.1,
        metric: Any = None,
        warm_start: bool = False,
        random_state: Any = None,
        n_jobs: int | None = None,
        verbose: int = 0,
    ) -> None:
        super().__init__(
            costs=costs,
            tradeoff=tradeoff,
            budget=budget,
            tree_budget=tree_budget,
            lookahead=lookahead,
            step=step,
            max_depth=max_depth,
            n_rounds=n_rounds,
            max_leaves=max_leaves,
            min_samples_leaf=min_samples_leaf,
            l2_regularization=l2_regularization,
            max_bins=max_bins,
            categorical_features=categorical_features,
            early_stopping=early_stopping,
            validation_fraction=validation_fraction,
            metric=metric,
            warm_start=warm_start,
            random_state=random_state,
            n_jobs=n_jobs,
            verbose=verbose,
        )
        self.loss = loss
        self.class_weight = class_weight

    def _targets(self, y: NDArray[Any], learn: bool) -> NDArray[np.float64]:
        if learn:
            return self._encode(y)
        check_classes(y)
        return class_codes(y, self.classes_).astype(np.float64)

    def _loss_for(self, samples: Rows) -> Loss:
        n_classes = len(self.classes_)
        if self.loss in _TWO_CLASSES and n_classes > 2:
            raise DataError(
                f"Only binary classification is supported with loss={self.loss!r}. "
                f"The type of the target is multiclass: y holds {n_classes} classes"
            )
        if self.loss == "squared_hinge":
            return SquaredHinge()
        if self.loss == "multinomial" or n_classes > 2:
            return Multinomial(n_classes)
        return Logistic()

    def gives_probabilities(self) -> bool:
        return self.loss != "squared_hinge"

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_class = self.loss not in _TWO_CLASSES
        return tags
