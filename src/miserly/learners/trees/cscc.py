"""CSCC: cost-sensitive cascades of classifiers, for problems with few positives."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from miserly.data.class_weights import class_weights, weigh_classes
from miserly.data.rows import Rows
from miserly.learners.base.arguments import constraints
from miserly.learners.common.classifier_tree import CascadeClassifier
from miserly.learners.trees.soft_tree_fit import Targets
from miserly.learners.trees.soft_trees import SoftTreeClassifier
from miserly.solvers.soft_tree import TreeShape

__all__ = ["CSCCClassifier"]


class CSCCClassifier(CascadeClassifier, SoftTreeClassifier):
    """Cost-sensitive cascade of classifiers (CSCC) for two classes, of which the second is rare.

    A chain of linear classifiers that are learned together. Rows whose score is at most a node's threshold
    leave there, most of them as members of the first class. The other rows go on to the next node, and the
    last node answers for all rows that remain.

    Parameters
    ----------
    costs : Costs, array-like, mapping of name to cost or None, default=None
        Costs of the features, of groups of features, and of evaluating a term. By default each feature costs
        1 and evaluations cost nothing.
    tradeoff : float, default=0.001
        Weight of one unit of expected cost against the mean log loss,
        class weights included, or with ``loss="squared"`` against the mean squared error to 1 and -1,
        without a factor 1/2 and averaged over the scores of a row.
        Costs enter as norms of weights. So this is the price of a weight of 1 on a column of standard
        deviation 1, and not the reduction of the loss that a feature must bring: the same value buys other
        features than in a Greedy Miser. With a budget it is the smallest tradeoff that is tried.
    budget : float or None, default=None
        Cap on the cost of every row. No path through the chain costs more, whole terms counted: a node weighs
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
        Weights of the classes in the loss, not in the costs; "balanced" gives both classes the same total
        weight, where rows count as much as their `sample_weight`. A class that a mapping leaves out has
        weight 1. Unless a `metric` is given, the accuracy on the validation set is weighted in the same way.
        By default both classes have weight 1.
    max_depth : int, default=4
        Number of classifiers in the chain.
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
        metric. With queries, a metric such as "precision@5" is a mean over queries.
    random_state : int, RandomState or None, default=None
        Random seed of the validation set, and of boosted trees.
    n_jobs : int or None, default=None
        Number of threads for boosted trees. By default all cores. The model does not depend on it.
    verbose : int, default=0
        With 1, the steps of the fit are shown.

    Attributes
    ----------
    plan_ : Plan
        A chain. Rows with low scores leave it.
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
    CSCC is CSTC with one node per level ([1]_, section 3.5). The nodes minimise together::

        sum_k [ mean_i w_i q_i^k loss(f_i^k, y_i) + rho |beta^k|_1 ]
          + tradeoff sum_k mean_i q_i^k sum_a cost_a sqrt(sum_{j <= k} (beta_a^j)^2)

    where ``f^k`` is the score of node `k`, ``w_i`` the class weight of row `i`, ``q_i^k`` the probability
    that it *leaves* at node `k`, and ``rho`` is `l1_regularization`. `CSTCClassifier` lists the steps of the
    fit and the differences from the papers; they are the same here, except that the loss of a row is counted
    only at the node where it leaves.

    References
    ----------
    .. [1] Z. Xu, "Supervised Machine Learning under Test-Time Resource Constraints", PhD thesis, Washington
       University in St. Louis, 2014, chapter 3.

    Examples
    --------
    >>> import numpy as np
    >>> from miserly.learners import CSCCClassifier
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(2000, 2))
    >>> y = (X[:, 0] > 1) & (X[:, 1] > 0)
    >>> model = CSCCClassifier(costs=[1, 20], tradeoff=0.002, random_state=0).fit(X, y)
    >>> print(f"{model.score(X, y):.2f} {model.run(X).cost.mean():.1f} {model.cost_:.0f}")
    1.00 4.0 21
    """

    _on_exit = True
    class_weight_in_loss = True

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
        max_depth: int = 4,
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
        return TreeShape.chain(self.max_depth)

    def _targets(self, samples: Rows) -> Targets:
        targets, weight = super()._targets(samples), self._class_weights(samples)
        return targets if weight is None else replace(targets, emphasis=weight[samples.y.astype(np.int64)])

    def _class_weights(self, samples: Rows) -> NDArray[np.float64] | None:
        if self.class_weight is None:
            return None
        labels = self.classes_[samples.y.astype(np.int64)]
        by_class = class_weights(self.class_weight, labels, samples.weight)
        weigh_classes(by_class, labels, samples.weight)  # raises if no row is left
        return np.array([by_class[label] for label in self.classes_.tolist()])
