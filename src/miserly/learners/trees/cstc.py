"""CSTC for numbers, grades of documents, and classes."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

from miserly.data.rows import Rows
from miserly.learners.base import PlanClassifier, PlanRegressor
from miserly.learners.base.arguments import constraints
from miserly.learners.trees.soft_tree_fit import Targets
from miserly.learners.trees.soft_trees import SoftTreeClassifier, SoftTreeLearner
from miserly.losses import Loss, MeanSquared, Squared
from miserly.solvers.soft_tree import TreeShape

__all__ = ["CSTCClassifier", "CSTCRegressor"]


class CSTCRegressor(PlanRegressor, SoftTreeLearner):
    """Cost-sensitive tree of classifiers (CSTC) for numbers, or for the grades of documents.

    Every node of a small binary tree is a linear model, which answers and sends rows on by its score. All
    nodes are learned together: cheap features near the root decide which rows get which expensive ones.

    Parameters
    ----------
    costs : Costs, array-like, mapping of name to cost or None, default=None
        Costs of the features, of groups of features, and of evaluating a term. By default each feature costs
        1 and evaluations cost nothing.
    tradeoff : float, default=0.001
        Weight of one unit of expected cost against the mean squared error, without the factor 1/2 that the
        mean loss of other learners has.
        Costs enter as norms of weights. So this is the price of a weight of 1 on a column of standard
        deviation 1, and not the reduction of the loss that a feature must bring: the same value buys other
        features than in a Greedy Miser. With a budget it is the smallest tradeoff that is tried.
    budget : float or None, default=None
        Cap on the cost of every row. No path through the tree costs more, whole terms counted: a node weighs
        only terms that still fit, first those that contribute most to its score per price. If the cap leaves
        out terms, several tradeoffs from `tradeoff` up are fitted, and the best one on the validation set is
        taken. By default there is no cap.
    mean_budget : float or None, default=None
        Limit on the mean cost of the rows of the validation set. The smallest tradeoff from `tradeoff` up
        that keeps it is found, and compared with somewhat larger ones on the validation set. May be given
        together with `budget`. By default there is no limit.
    max_depth : int, default=3
        Levels of nodes: 3 are a root, two children and four grandchildren.
    terms : {"linear", "boosted"}, default="linear"
        What the classifiers weigh: standardised features, or boosted regression trees.
    n_terms : int, default=100
        Number of boosted trees. It has no effect on linear terms.
    term_tradeoff : "falling", float or None, default="falling"
        Tradeoff of the boosted trees, which are those of Greedy Miser. "falling" lowers it from `tradeoff`
        for the first tree to a hundredth of it for the last, so that cheap trees come first and expensive
        ones build on them. A number is used for all trees. With None or 0, costs do not matter for the trees.
    step : float, default=0.1
        Learning rate of the boosted trees.
    l1_regularization : float, default=0.0
        Penalty on the absolute value of every weight of every node.
    prune : bool, default=True
        Whether nodes are removed that do not improve the metric on the validation set.
    optimise : bool, default=True
        Whether all nodes are optimised together. With False, each node stays as it was initialised, by
        itself.
    max_sweeps : int, default=10
        Largest number of times that each node is optimised.
    early_stopping : bool or int, default=False
        Number of sweeps without improvement on the validation set after which `optimise` ends; True means 3.
        The best state is kept. With False, sweeps end when the objective no longer falls.
    validation_fraction : float, default=0.2
        Share of the rows in the validation set, in whole queries if `qid` is given. It is held out if
        `prune`, `early_stopping`, `budget` or `mean_budget` needs it.
    metric : str, Metric or None, default=None
        Metric on the validation set. By default "mse", and "ndcg@5" if `fit` is given queries. The loss
        decides between models with equal metric.
    random_state : int, RandomState or None, default=None
        Random seed of the validation set, and of boosted trees.
    n_jobs : int or None, default=None
        Number of threads for boosted trees. By default all cores. The model does not depend on it.
    verbose : int, default=0
        With 1, the steps of the fit are shown.

    Attributes
    ----------
    plan_ : Plan
        A binary tree.
    cost_ : float
        Cost of the most expensive path.
    features_ : array
        The features that the model may need: names if there are names, else column numbers.
    tradeoff_ : float
        The tradeoff of the model.
    expected_cost_ : float
        Mean cost of the rows of the validation set. It exists only if there is a validation set.
    objective_ : array
        The objective before `optimise`, and after each node that was optimised. It never rises.
    n_features_in_ : int
        Number of features seen by `fit`.
    feature_names_in_ : array of shape (n_features_in_,)
        Names of the features. It exists only if `X` had names.

    Notes
    -----
    The nodes minimise together, over their weights ``beta``, intercepts and thresholds ([2]_, eq. 3.13)::

        sum_k [ mean_i p_i^k loss(f_i^k, y_i) + rho |beta^k|_1 ]
          + tradeoff sum_leaves mean_i p_i^leaf sum_a cost_a sqrt(sum_{k on the path} (beta_a^k)^2)

    where ``f^k`` is the score of node `k`, ``p_i^k`` the probability that row `i` reaches it, and ``rho`` is
    `l1_regularization`. A row goes to the upper child with probability ``sigmoid(s (f - theta))``. The steps
    are: initialise each node from the root down as if it were a leaf, prune, optimise node by node, set small
    weights to 0, and fit the answers of every node again without prices.

    Differences from the papers, and what they leave open:

    - The steepness ``s`` of a gate is 10 divided by the standard deviation of the node's scores at
      initialisation. It stays fixed.
    - Thresholds start in the middle of the gap between distinct scores that is nearest to the median.
    - The final fit of a node uses all terms that its path has paid for: those of its ancestors are free.
      Gates still read the scores they were optimised with.
    - The set-up cost of a group is one more norm, over all terms that use the group.
    - In a pruned tree the loss of the node where a row leaves counts once more for every level that is left.
      Otherwise leaving early would save the losses of the nodes not met.
    - A ridge penalty of 1e-4 keeps weights finite.

    References
    ----------
    .. [1] Z. Xu, M. J. Kusner, K. Q. Weinberger, M. Chen, "Cost-Sensitive Tree of Classifiers", ICML 2013.
    .. [2] Z. Xu, "Supervised Machine Learning under Test-Time Resource Constraints", PhD thesis, Washington
       University in St. Louis, 2014, chapter 3.

    Examples
    --------
    Two cheap features decide which of four expensive ones holds the answer:

    >>> from miserly.datasets import make_quadrants
    >>> from miserly.learners import CSTCRegressor
    >>> data = make_quadrants(1000, random_state=0)
    >>> model = CSTCRegressor(costs=data.costs, tradeoff=0.05, random_state=0).fit(data.X, data.y)
    >>> print(f"{model.score(data.X, data.y):.3f} {model.run(data.X).cost.mean():.2f}")
    1.000 12.00
    """

    def _shape(self) -> TreeShape:
        return TreeShape.full(self.max_depth)

    def _targets(self, samples: Rows) -> Targets:
        deviation = np.sqrt(np.cov(samples.y, aweights=samples.weight, ddof=0))
        unit = float(deviation) if deviation > 0 else 1.0
        return Targets(samples.y[:, None], unit, np.ones(len(samples)), MeanSquared())

    def _evaluated_by(self, samples: Rows) -> tuple[str, Loss]:
        return ("mse" if samples.qid is None else "ndcg@5"), Squared()


class CSTCClassifier(PlanClassifier, SoftTreeClassifier):
    """Cost-sensitive tree of classifiers (CSTC) for two or more classes.

    Every node of a small binary tree is a linear classifier, which answers and sends rows on by its score.
    All nodes are learned together: cheap features near the root decide which rows get which expensive ones.

    Parameters
    ----------
    costs : Costs, array-like, mapping of name to cost or None, default=None
        Costs of the features, of groups of features, and of evaluating a term. By default each feature costs
        1 and evaluations cost nothing.
    tradeoff : float, default=0.001
        Weight of one unit of expected cost against the mean log loss, or with ``loss="squared"`` against the
        mean squared error to 1 and -1, without a factor 1/2 and averaged over the scores of a row.
        Costs enter as norms of weights. So this is the price of a weight of 1 on a column of standard
        deviation 1, and not the reduction of the loss that a feature must bring: the same value buys other
        features than in a Greedy Miser. With a budget it is the smallest tradeoff that is tried.
    budget : float or None, default=None
        Cap on the cost of every row. No path through the tree costs more, whole terms counted: a node weighs
        only terms that still fit, first those that contribute most to its score per price. If the cap leaves
        out terms, several tradeoffs from `tradeoff` up are fitted, and the best one on the validation set is
        taken. By default there is no cap.
    mean_budget : float or None, default=None
        Limit on the mean cost of the rows of the validation set. The smallest tradeoff from `tradeoff` up
        that keeps it is found, and compared with somewhat larger ones on the validation set. May be given
        together with `budget`. By default there is no limit.
    loss : {"log_loss", "squared"}, default="log_loss"
        Loss of the scores: the log loss, or the squared error to 1 and -1, which is faster to fit. Both give
        probabilities; with "squared" one factor for all scores is calibrated by the log loss.
    class_weight : mapping of class to weight, "balanced" or None, default=None
        Weights of the classes, by which the weights of the rows are multiplied. "balanced" gives all classes
        the same total weight. Classes that a mapping leaves out have weight 1.
    max_depth : int, default=3
        Levels of nodes: 3 are a root, two children and four grandchildren.
    terms : {"linear", "boosted"}, default="linear"
        What the classifiers weigh: standardised features, or boosted regression trees.
    n_terms : int, default=100
        Number of boosted trees. It has no effect on linear terms.
    term_tradeoff : "falling", float or None, default="falling"
        Tradeoff of the boosted trees, which are those of Greedy Miser. "falling" lowers it from `tradeoff`
        for the first tree to a hundredth of it for the last, so that cheap trees come first and expensive
        ones build on them. A number is used for all trees. With None or 0, costs do not matter for the trees.
    step : float, default=0.1
        Learning rate of the boosted trees.
    l1_regularization : float, default=0.0
        Penalty on the absolute value of every weight of every node.
    prune : bool, default=True
        Whether nodes are removed that do not improve the metric on the validation set.
    optimise : bool, default=True
        Whether all nodes are optimised together. With False, each node stays as it was initialised, by
        itself.
    max_sweeps : int, default=10
        Largest number of times that each node is optimised.
    early_stopping : bool or int, default=False
        Number of sweeps without improvement on the validation set after which `optimise` ends; True means 3.
        The best state is kept. With False, sweeps end when the objective no longer falls.
    validation_fraction : float, default=0.2
        Share of the rows in the validation set, in whole queries if `qid` is given. It is held out if
        `prune`, `early_stopping`, `budget` or `mean_budget` needs it.
    metric : str, Metric or None, default=None
        Metric on the validation set; "accuracy" by default. The loss decides between models with equal
        metric.
    random_state : int, RandomState or None, default=None
        Random seed of the validation set, and of boosted trees.
    n_jobs : int or None, default=None
        Number of threads for boosted trees. By default all cores. The model does not depend on it.
    verbose : int, default=0
        With 1, the steps of the fit are shown.

    Attributes
    ----------
    plan_ : Plan
        A binary tree.
    cost_ : float
        Cost of the most expensive path.
    features_ : array
        The features that the model may need: names if there are names, else column numbers.
    tradeoff_ : float
        The tradeoff of the model.
    expected_cost_ : float
        Mean cost of the rows of the validation set. It exists only if there is a validation set.
    objective_ : array
        The objective before `optimise`, and after each node that was optimised. It never rises.
    classes_ : array
        The classes, in the order of the columns of `predict_proba`.
    n_features_in_ : int
        Number of features seen by `fit`.
    feature_names_in_ : array of shape (n_features_in_,)
        Names of the features. It exists only if `X` had names.

    Notes
    -----
    The nodes minimise together, over their weights ``beta``, intercepts and thresholds ([2]_, eq. 3.13)::

        sum_k [ mean_i p_i^k loss(f_i^k, y_i) + rho |beta^k|_1 ]
          + tradeoff sum_leaves mean_i p_i^leaf sum_a cost_a sqrt(sum_{k on the path} (beta_a^k)^2)

    where ``f^k`` is the score of node `k`, ``p_i^k`` the probability that row `i` reaches it, and ``rho`` is
    `l1_regularization`. A row goes to the upper child with probability ``sigmoid(s (f - theta))``. The steps
    are: initialise each node from the root down as if it were a leaf, prune, optimise node by node, set small
    weights to 0, and fit the answers of every node again without prices.

    Differences from the papers, and what they leave open:

    - The steepness ``s`` of a gate is 10 divided by the standard deviation of the node's scores at
      initialisation. It stays fixed.
    - Thresholds start in the middle of the gap between distinct scores that is nearest to the median.
    - The final fit of a node uses all terms that its path has paid for: those of its ancestors are free.
      Gates still read the scores they were optimised with.
    - The set-up cost of a group is one more norm, over all terms that use the group.
    - In a pruned tree the loss of the node where a row leaves counts once more for every level that is left.
      Otherwise leaving early would save the losses of the nodes not met.
    - A ridge penalty of 1e-4 keeps weights finite.
    - Several classes share one tree. A node then has one score per class, and its gate reads their first
      principal component. With one tree per class, rows would pass through all trees; on two data sets that
      was less accurate at every tradeoff tried (``benchmarks/cstc.py``).

    References
    ----------
    .. [1] Z. Xu, M. J. Kusner, K. Q. Weinberger, M. Chen, "Cost-Sensitive Tree of Classifiers", ICML 2013.
    .. [2] Z. Xu, "Supervised Machine Learning under Test-Time Resource Constraints", PhD thesis, Washington
       University in St. Louis, 2014, chapter 3.

    Examples
    --------
    >>> from miserly.datasets import load_heart
    >>> from miserly.learners import CSTCClassifier
    >>> heart = load_heart()
    >>> model = CSTCClassifier(costs=heart.costs, mean_budget=30, random_state=0).fit(heart.X, heart.y)
    >>> print(f"{model.score(heart.X, heart.y):.2f} {model.expected_cost_:.0f}")
    0.80 30
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **SoftTreeClassifier._parameter_constraints,
        **constraints("class_weight"),
    }

    def __init__(
        self,
        *,
        costs: Any = None,
        tradeoff: float = 0.001,
        budget: float | None = None,
        mean_budget: float | None = None,
        loss: str = "log_loss",
        class_weight: Any = None,
        max_depth: int = 3,
        terms: str = "linear",
        n_terms: int = 100,
        term_tradeoff: float | str | None = "falling",
        step: float = 0.1,
        l1_regularization: float = 0.0,
        prune: bool = True,
        optimise: bool = True,
        max_sweeps: int = 10,
        early_stopping: bool | int = False,
        validation_fraction: float = 0.2,
        metric: Any = None,
        random_state: Any = None,
        n_jobs: int | None = None,
        verbose: int = 0,
    ) -> None:
        super().__init__(
            costs=costs,
            tradeoff=tradeoff,
            budget=budget,
            mean_budget=mean_budget,
            max_depth=max_depth,
            terms=terms,
            n_terms=n_terms,
            term_tradeoff=term_tradeoff,
            step=step,
            l1_regularization=l1_regularization,
            prune=prune,
            optimise=optimise,
            max_sweeps=max_sweeps,
            early_stopping=early_stopping,
            validation_fraction=validation_fraction,
            metric=metric,
            random_state=random_state,
            n_jobs=n_jobs,
            verbose=verbose,
        )
        self.loss = loss
        self.class_weight = class_weight

    def _shape(self) -> TreeShape:
        return TreeShape.full(self.max_depth)
