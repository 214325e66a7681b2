"""AdaBoostBT and SpeedBoost: boosting that chooses base learners by what they bring and what they cost.

The paper's `D_t` are the weights of the rows, its `gamma` the edge, and `B - B_t` the amount spent. The rules
are in `miserly.solvers.budget_rules`.

With several classes, every learner votes on all classes at once. SAMME, whose stumps name one class on each
side, was compared on letter, ann_thyroid, dna and page_blocks at four budgets each
(``benchmarks/budgeted_boosting.py``). On the 26 letters its error with all features is three times as large.
On the other sets both are close, and shared votes are ahead more often than not.
"""

from __future__ import annotations

from numbers import Real
from typing import Any, ClassVar

from sklearn.utils._param_validation import Interval, StrOptions

from miserly.learners.boosting.voting import VotingClassifier
from miserly.solvers.budget_rules import SelectionRule

__all__ = ["AdaBoostBTClassifier", "SpeedBoostClassifier"]


class AdaBoostBTClassifier(VotingClassifier):
    """AdaBoost that chooses each base learner by what it brings and what it costs.

    Every round adds the base learner that a rule rates best, by its reduction of the loss and its cost.
    Features are paid once, and no row ever pays more than the budget.

    Parameters
    ----------
    costs : Costs, array-like, mapping of name to cost or None, default=None
        Costs of the features, of groups of features, and of evaluating a base learner. By default each
        feature costs 1 and base learners cost nothing.
    budget : float or None, default=None
        Cap on the cost of the model for any row. One model also answers for smaller budgets
        (``predict(X, budget=...)``). By default there is no cap.
    rule : {"smoothed", "greedy", "early-stop", "hybrid"}, default="smoothed"
        Rating of a base learner of cost `cost` that lowers the logarithm of the loss by `drop`. "greedy" is
        ``drop / cost``. "smoothed" is ``drop / (tau * spent + cost)``: costs matter less the more is spent.
        "early-stop" is `drop`. "hybrid" is greedy until the best rating of new features has fallen to
        `switch` times that of the first round, and then smoothed.
    tau : float, default=1.0
        Weight of the amount spent in the smoothed rule. With 0 it is the greedy rule.
    switch : float, default=0.1
        Share of the first rating at which the hybrid rule changes.
    fill_budget : bool, default=True
        What to do if the best base learner no longer fits the budget: continue with the best one that does,
        or stop as in the paper (False). With False, a model for a small budget is the beginning of one for a
        large budget.
    base : {"stump", "tree"}, default="stump"
        Base learners. Stumps vote +1 or -1, as in the paper. Trees are grown under the rule, so every split
        is weighed against its cost, and every leaf has a vote of its own weight.
    max_depth : int, default=3
        Largest depth of trees. Stumps ignore it.
    n_rounds : int, default=400
        Largest number of rounds.
    max_bins : int, default=255
        Largest number of bins into which the values of a feature are grouped.
    categorical_features : "from_dtype", array-like or None, default="from_dtype"
        Columns that are split by category, one category against all others: a list of columns, or a boolean
        mask. By default the columns that a frame holds as text, categories or booleans. With None, all
        columns are split as numbers.
    class_weight : mapping of class to weight, "balanced" or None, default=None
        Weights of the classes, by which the weights of the rows are multiplied. "balanced" gives all classes
        the same total weight. Classes that a mapping leaves out have weight 1.
    random_state : int, RandomState or None, default=None
        Random seed of the rows that bins are computed from, where there are very many.
    n_jobs : int or None, default=None
        Number of threads. By default all cores. The model does not depend on it.
    verbose : int, default=0
        With 1, a progress bar is shown.

    Attributes
    ----------
    plan_ : Plan
        A chain with one node per round, in the order of training. The nodes add log-odds, which are twice the
        weighted votes. Before the first node the prediction is the most frequent class.
    classes_ : array of shape (n_classes,)
        The classes, sorted.
    cost_ : float
        Cost of the whole model.
    features_ : array
        The features that the model may need: names if there are names, else column numbers.
    n_rounds_ : int
        Number of rounds of the model.
    stopped_by_ : str
        Why training ended: "rounds", "budget", "no edge", or "perfect" (a base learner without errors leaves
        nothing to boost).
    ledger_ : Ledger
        The features that are paid, the groups that are open, and the amount spent.
    feature_importances_ : array of shape (n_features,)
        Share of each feature in the reduction of the logarithm of the loss. The shares sum to 1.
    n_features_in_ : int
        Number of features seen by `fit`.
    feature_names_in_ : array of shape (n_features_in_,)
        Names of the features. It exists only if `X` had names.

    Notes
    -----
    AdaBoost multiplies a bound on the training error by ``Z = sqrt(1 - edge^2)`` in every round; `drop` is
    ``-log Z``. With ``cost`` the original cost of a learner, paid or not, the rules minimise [1]_
    ``Z^(1 / cost)`` (greedy) and ``Z^(1 / (spent + cost))`` (smoothed).

    Differences from the paper:

    - Its update of the weights lacks a minus sign. Weights of correct rows fall: ``D exp(-alpha y h) / Z``.
    - Trees as base learners, `tau`, the hybrid rule and several classes are named there as future work or
      are additions.
    - With more than two classes, every base learner votes on each class against the others, with one weight
      per class, and the loss is the sum over the classes. The classes share the features that are paid.
    - Free features count in the rules as the cheapest feature that is not free.
    - `fill_budget` continues where the paper stops.
    - With ``rule="early-stop"``, stumps, a `budget` and `fill_budget`, costs play no part in training. The
      nodes of the plan are then reordered: free and cheap features come first, and constants replace the
      nodes that a row cannot pay for. The whole vote is the same except for rounding.

    References
    ----------
    .. [1] Y. Huang, B. Powers, L. Reyzin, "Training-Time Optimization of a Budgeted Booster", 2014.

    Examples
    --------
    Half of the columns are expensive copies of the others:

    >>> import numpy as np
    >>> from miserly import AdaBoostBTClassifier
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(400, 4)) @ np.hstack([np.eye(4), np.eye(4)])
    >>> y = X[:, :4].sum(axis=1) > 0
    >>> model = AdaBoostBTClassifier(costs=[1, 1, 1, 1, 5, 5, 5, 5], n_rounds=100).fit(X, y)
    >>> model.cost_, model.score(X, y)
    (4.0, 0.9975)
    >>> [round(float(np.mean(model.predict(X, budget=b) == y)), 2) for b in (0, 1, 2, 3, 4)]
    [0.51, 0.71, 0.68, 0.81, 1.0]
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **VotingClassifier._parameter_constraints,
        "rule": [StrOptions({"early-stop", "greedy", "smoothed", "hybrid"})],
        "tau": [Interval(Real, 0, None, closed="left")],
        "switch": [Interval(Real, 0, None, closed="left")],
        "fill_budget": ["boolean"],
    }

    def __init__(
        self,
        *,
        costs: Any = None,
        budget: float | None = None,
        rule: str = "smoothed",
        tau: float = 1.0,
        switch: float = 0.1,
        fill_budget: bool = True,
        base: str = "stump",
        max_depth: int = 3,
        n_rounds: int = 400,
        max_bins: int = 255,
        categorical_features: Any = "from_dtype",
        class_weight: Any = None,
        random_state: Any = None,
        n_jobs: int | None = None,
        verbose: int = 0,
    ) -> None:
        self.costs = costs
        self.budget = budget
        self.rule = rule
        self.tau = tau
        self.switch = switch
        self.fill_budget = fill_budget
        self.base = base
        self.max_depth = max_depth
        self.n_rounds = n_rounds
        self.max_bins = max_bins
        self.categorical_features = categorical_features
        self.class_weight = class_weight
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose

    @property
    def _is_reordered(self) -> bool:
        ignores_costs = self.rule == "early-stop" and self.fill_budget  # in training
        return ignores_costs and self.base == "stump" and self._is_limited

    def _rule(self) -> SelectionRule:
        return SelectionRule(self.rule, self.tau, self.switch)


class SpeedBoostClassifier(VotingClassifier):
    """Boosting that adds the base learner with the largest reduction of the loss per unit of cost.

    The weight of each vote is known in closed form, so no weights have to be tried. The result is close to
    `AdaBoostBTClassifier` with the greedy rule.

    Parameters
    ----------
    costs : Costs, array-like, mapping of name to cost or None, default=None
        Costs of the features, of groups of features, and of evaluating a base learner. By default each
        feature costs 1 and base learners cost nothing.
    budget : float or None, default=None
        Cap on the cost of the model for any row. One model also answers for smaller budgets
        (``predict(X, budget=...)``). By default there is no cap.
    fill_budget : bool, default=True
        What to do if the best base learner no longer fits the budget: continue with the best one that does,
        or stop (False). With False, a model for a small budget is the beginning of one for a
        large budget.
    base : {"stump", "tree"}, default="stump"
        Base learners. Stumps vote +1 or -1. Trees are grown under the rule, so every split
        is weighed against its cost, and every leaf has a vote of its own weight.
    max_depth : int, default=3
        Largest depth of trees. Stumps ignore it.
    n_rounds : int, default=400
        Largest number of rounds.
    max_bins : int, default=255
        Largest number of bins into which the values of a feature are grouped.
    categorical_features : "from_dtype", array-like or None, default="from_dtype"
        Columns that are split by category, one category against all others: a list of columns, or a boolean
        mask. By default the columns that a frame holds as text, categories or booleans. With None, all
        columns are split as numbers.
    class_weight : mapping of class to weight, "balanced" or None, default=None
        Weights of the classes, by which the weights of the rows are multiplied. "balanced" gives all classes
        the same total weight. Classes that a mapping leaves out have weight 1.
    random_state : int, RandomState or None, default=None
        Random seed of the rows that bins are computed from, where there are very many.
    n_jobs : int or None, default=None
        Number of threads. By default all cores. The model does not depend on it.
    verbose : int, default=0
        With 1, a progress bar is shown.

    Attributes
    ----------
    plan_ : Plan
        A chain with one node per round, in the order of training. The nodes add log-odds, which are twice the
        weighted votes. Before the first node the prediction is the most frequent class.
    classes_ : array of shape (n_classes,)
        The classes, sorted.
    cost_ : float
        Cost of the whole model.
    features_ : array
        The features that the model may need: names if there are names, else column numbers.
    n_rounds_ : int
        Number of rounds of the model.
    stopped_by_ : str
        Why training ended: "rounds", "budget", "no edge", or "perfect" (a base learner without errors leaves
        nothing to boost).
    ledger_ : Ledger
        The features that are paid, the groups that are open, and the amount spent.
    feature_importances_ : array of shape (n_features,)
        Share of each feature in the reduction of the logarithm of the loss. The shares sum to 1.
    n_features_in_ : int
        Number of features seen by `fit`.
    feature_names_in_ : array of shape (n_features_in_,)
        Names of the features. It exists only if `X` had names.

    Notes
    -----
    Each round maximises, over base learners and weights of their votes, the reduction of the exponential loss
    divided by the cost [1]_. For the best weight this is ``(1 - sqrt(1 - edge^2)) / cost`` ([2]_, appendix).

    Differences from the paper:

    - Only the exponential loss is offered.
    - The cost of a base learner is its original cost, also if its features are paid, as in [2]_.
    - With more than two classes, every base learner votes on each class against the others, with one weight
      per class, and the loss is the sum over the classes. The classes share the features that are paid.

    References
    ----------
    .. [1] A. Grubb, J. A. Bagnell, "SpeedBoost: Anytime Prediction with Uniform Near-Optimality",
       AISTATS 2012.
    .. [2] Y. Huang, B. Powers, L. Reyzin, "Training-Time Optimization of a Budgeted Booster", 2014.

    Examples
    --------
    >>> from miserly import SpeedBoostClassifier
    >>> from miserly.datasets import load_heart
    >>> heart = load_heart()
    >>> for budget in (10, 30, 300):
    ...     model = SpeedBoostClassifier(costs=heart.costs, budget=budget, n_rounds=50)
    ...     score = model.fit(heart.X, heart.y).score(heart.X, heart.y)
    ...     print(round(model.cost_, 2), round(score, 2))
    4.0 0.8
    11.27 0.81
    112.17 0.83
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **VotingClassifier._parameter_constraints,
        "fill_budget": ["boolean"],
    }

    def __init__(
        self,
        *,
        costs: Any = None,
        budget: float | None = None,
        fill_budget: bool = True,
        base: str = "stump",
        max_depth: int = 3,
        n_rounds: int = 400,
        max_bins: int = 255,
        categorical_features: Any = "from_dtype",
        class_weight: Any = None,
        random_state: Any = None,
        n_jobs: int | None = None,
        verbose: int = 0,
    ) -> None:
        self.costs = costs
        self.budget = budget
        self.fill_budget = fill_budget
        self.base = base
        self.max_depth = max_depth
        self.n_rounds = n_rounds
        self.max_bins = max_bins
        self.categorical_features = categorical_features
        self.class_weight = class_weight
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose

    def _rule(self) -> SelectionRule:
        return SelectionRule("speed")
