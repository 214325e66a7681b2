"""The adaptive acquirer: each row buys the features that tell its classes apart best."""

from __future__ import annotations

from dataclasses import replace
from numbers import Integral, Real
from typing import Any, ClassVar

import numpy as np
from sklearn.utils import check_random_state
from sklearn.utils._param_validation import Interval, Options, StrOptions
from threadpoolctl import threadpool_limits

from miserly.costs import Costs, read_budget
from miserly.data.rows import Rows
from miserly.data.target import Target
from miserly.grow.class_cuts import IMPURITIES
from miserly.grow.options import MAX_DEPTH
from miserly.learners.anytime.acquirer_choice import NO_TREE, AcquirerChoices, choose
from miserly.learners.anytime.acquirer_models import AcquirerPlans, FirstTree
from miserly.learners.anytime.corrections import CorrectionOptions, corrections, with_corrections
from miserly.learners.anytime.pool import PoolColumns, choose_pool, read_columns
from miserly.learners.anytime.tree_start import can_start
from miserly.learners.base import PlanClassifier, bind_costs
from miserly.learners.base.arguments import (
    NOT_NEGATIVE,
    ONE_OR_MORE,
    POSITIVE,
    categorical_columns,
    constraints,
)
from miserly.learners.base.kinds import WeightedFit
from miserly.learners.common.linear_fit import evened
from miserly.plan import Plan

__all__ = ["AcquirerClassifier"]

NOISES = (0.1, 0.02, 0.3)  # the first one counts where there is no validation set, and where others are equal
SHARPNESSES = (0.75, 1.0, 0.5)
ROUNDS = (0, 30, 60)
DEPTHS = (6, 2)
TREE_SHARES = (0.0, 0.5, 0.75, 1.0)
LEAST_ROWS = 50  # of which validation sets are held out


class AcquirerClassifier(PlanClassifier, WeightedFit):
    """Adaptive acquirer: each row buys the features that tell its classes apart best, one after the other.

    A Gaussian mixture for each class models a pool of features. After each purchase it gives the class
    probabilities of the row, and what each other feature would tell. The row buys the best feature that
    fits what is left of the budget. It ends when it is sure enough, or when no feature is worth its price.
    Boosted trees then correct the probabilities, by the values that the row has bought. One model serves
    all budgets: ``predict(X, budget=...)``.

    Parameters
    ----------
    costs : Costs, array-like, mapping of name to cost or None, default=None
        Costs of the features and of groups of features. By default each feature costs 1.
    tradeoff : float, default=0.0
        A feature is bought only if it is expected to lower the squared error of the class probabilities of
        the row (the Brier score, summed over the classes) by `tradeoff` for each unit of its price. The
        default buys features as long as they fit the budget.
    budget : float or None, default=None
        Cap on the cost of every row. By default there is no cap.
    confidence : float, default=1.0
        A row buys no more once the mixture gives a class a probability of `confidence`. By default it ends
        when one class is certain.
    price_exponent : float, default=0.5
        Features are compared by what they tell divided by ``price ** price_exponent``, from 0 to 1. With 0
        the price matters only for what fits the budget.
    pool_size : int, default=80
        Largest number of features in the pool. A purchase takes time in proportion to it.
    n_components : int, default=16
        Largest number of Gaussian components for each class. A component needs 50 training rows.
    shrinkage : float, default=0.5
        How strongly covariances are shrunk: each component to its class, and each class to all classes, as
        if these had `shrinkage` rows for each column.
    noise : float or "auto", default="auto"
        Variance added to each standardised column. More noise makes the model less sure. "auto" takes the
        best of 0.02, 0.1 and 0.3 on the validation set, at the budget.
    sharpness : {0.25, 0.5, 0.75, 1.0} or "auto", default="auto"
        The power of the density of each value. Below 1 it makes up for what the mixture does not know about
        how values depend on each other. "auto" takes the best of 0.5, 0.75 and 1 on the validation set.
    n_rounds : int or "auto", default="auto"
        Number of rounds of boosting that correct the scores of the mixture. Each round adds one tree per
        class (one tree if there are two classes). "auto" takes 60, 30 or none, as the validation set finds
        best, and at most 2,000 trees. There are no trees if evaluating a tree has a cost.
    max_depth : int or "auto", default="auto"
        Largest depth of these trees, in splits. "auto" takes 6 or 2, as the validation set finds best.
    tree_share : float or "auto", default="auto"
        Share of the budget that a tree spends before the mixture chooses. "auto" takes 0, 0.5, 0.75 or 1,
        as the validation set finds best, where the budget buys 2 to 20 features. Without a budget, or if
        evaluating a tree has a cost, there is no tree.
    tree_impurity : {"gini", "entropy", "auto"}, default="auto"
        The impurity that this tree lowers. "auto" takes what the validation set finds best.
    validation_fraction : float, default=0.2
        Share of the rows in a validation set, at most 4,000 rows. Up to three such sets are held out, one
        after the other, until they have 3,000 rows together. They are held out only while `noise`,
        `sharpness`, `tree_share`, `tree_impurity`, `n_rounds` and `max_depth` are chosen.
    categorical_features : "from_dtype", array-like or None, default="from_dtype"
        Columns whose categories become indicators: a list of columns, or a boolean mask. By default the
        columns that a frame holds as text, categories or booleans. Listed columns of numbers must hold the
        codes 0, 1, 2, ... With None, codes are numbers.
    class_weight : mapping of class to weight, "balanced" or None, default=None
        Weights of the classes, by which the weights of the rows are multiplied. "balanced" gives all
        classes the same total weight. Classes that a mapping leaves out have weight 1.
    random_state : int, RandomState or None, default=None
        Random seed of k-means, of the rows that choose the pool, and of the rows and budgets that trees
        learn from.
    n_jobs : int or None, default=None
        Number of threads of predictions. By default all cores. The model does not depend on it.

    Attributes
    ----------
    plan_ : Plan
        A node for each split of the tree that spends first, if there is one. In each of its leaves, or at
        once, a node that chooses what each row buys, and one with the boosted trees, if there are any.
    classes_ : array of shape (n_classes,)
        The classes, sorted.
    cost_ : float
        Cost of all features of the pool, or the budget if that is less.
    features_ : array
        The features of the pool: names if there are names, else column numbers.
    noise_ : float
        The noise of the model.
    sharpness_ : float
        The sharpness of the model.
    tree_share_ : float
        Share of the budget that the tree may spend before the mixture chooses.
    tree_impurity_ : str
        The impurity that the tree lowers.
    n_rounds_ : int
        Number of rounds of boosting.
    max_depth_ : int
        Largest depth of the boosted trees.
    n_features_in_ : int
        Number of features seen by `fit`.
    feature_names_in_ : array of shape (n_features_in_,)
        Names of the features. It exists only if `X` had names.

    Notes
    -----
    With the class probabilities `p_k` of a row so far, and the covariance `c_k` of a feature with the
    indicator of class `k`, a purchase has the largest ``sum_k c_k^2 / sqrt(p_k) / variance``, divided by
    ``price ** price_exponent``. It is worth its price if ``sum_k c_k^2 / variance``, the expected decrease of
    the Brier score by a linear prediction, is at least ``tradeoff * price``. `MixtureAcquisition` has the
    rules in full, and `miserly.solvers.mixture` the estimates.

    Models of the validation set are compared by accuracy, and where that is equal by log loss. The mixture
    of the model is fitted to all rows.

    The tree that spends first is grown by rollouts, as in `PurchaseTreeClassifier`, on the features of the
    pool. Where it has too few rows to divide further, the mixture goes on. With
    a smaller budget at prediction, a row that is stopped in the tree is answered by the class shares of the
    rows that went the same way.

    The boosted trees start from the scores of the mixture, with a step of 0.1. They are grown on training
    rows that have bought what the mixture buys for them; a value that is not bought is missing. Each row is
    there at two budgets, drawn from 0 and eight budgets in equal ratios from the least price to the largest
    cost. If the model has a budget, one of the two is that budget. In predictions, too, the trees read only
    what the row has bought or knows. They do not change what it buys. "auto" compares log losses on the
    validation set, at budgets drawn in the same way. Of many rows only a part is used: as many as make
    600,000 purchases, rows times trees up to 20 million, and rows times features up to 20 million.

    Values are standardised and clipped to 6 standard deviations. A categorical feature is one indicator for
    each of its most frequent categories, at most 16, which are bought together. In training, a missing
    value counts as the mean of its class. In predictions it is paid, and tells nothing.

    The pool is taken by stepwise discriminant analysis per ``price ** price_exponent``. Features that cost
    more than the budget are left out.

    Examples
    --------
    >>> from miserly import AcquirerClassifier
    >>> from miserly.datasets import load_heart
    >>> heart = load_heart()
    >>> model = AcquirerClassifier(costs=heart.costs, random_state=0).fit(heart.X, heart.y)
    >>> for budget in (5, 50, 500):
    ...     cost = model.run(heart.X, budget=budget).cost.mean()
    ...     correct = model.predict(heart.X, budget=budget) == heart.y
    ...     print(round(float(cost), 1), round(float(correct.mean()), 2))
    4.0 0.79
    29.9 0.85
    324.0 0.92
    """

    is_whole = True  # a search does not cut it after some rounds
    keeps_budget = True

    noise_: float
    sharpness_: float
    tree_share_: float
    tree_impurity_: str
    n_rounds_: int
    max_depth_: int

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = constraints(
        *("costs", "tradeoff", "budget", "categorical_features", "class_weight", "random_state", "n_jobs"),
        "validation_fraction",
        confidence=[Interval(Real, 0, 1, closed="right")],
        price_exponent=[Interval(Real, 0, 1, closed="both")],
        pool_size=[Interval(Integral, 1, 1000, closed="both")],
        n_components=[ONE_OR_MORE],
        shrinkage=[NOT_NEGATIVE],
        noise=[POSITIVE, StrOptions({"auto"})],
        sharpness=[Options(Real, {0.25, 0.5, 0.75, 1.0}), StrOptions({"auto"})],
        n_rounds=[Interval(Integral, 0, None, closed="left"), StrOptions({"auto"})],
        max_depth=[Interval(Integral, 1, MAX_DEPTH, closed="both"), StrOptions({"auto"})],
        tree_share=[Interval(Real, 0, 1, closed="both"), StrOptions({"auto"})],
        tree_impurity=[StrOptions({*IMPURITIES, "auto"})],
    )

    def __init__(
        self,
        *,
        costs: Any = None,
        tradeoff: float = 0.0,
        budget: float | None = None,
        confidence: float = 1.0,
        price_exponent: float = 0.5,
        pool_size: int = 80,
        n_components: int = 16,
        shrinkage: float = 0.5,
        noise: Any = "auto",
        sharpness: Any = "auto",
        n_rounds: Any = "auto",
        max_depth: Any = "auto",
        tree_share: Any = "auto",
        tree_impurity: str = "auto",
        validation_fraction: float = 0.2,
        categorical_features: Any = "from_dtype",
        class_weight: Any = None,
        random_state: Any = None,
        n_jobs: int | None = None,
    ) -> None:
        self.costs = costs
        self.tradeoff = tradeoff
        self.budget = budget
        self.confidence = confidence
        self.price_exponent = price_exponent
        self.pool_size = pool_size
        self.n_components = n_components
        self.shrinkage = shrinkage
        self.noise = noise
        self.sharpness = sharpness
        self.n_rounds = n_rounds
        self.max_depth = max_depth
        self.tree_share = tree_share
        self.tree_impurity = tree_impurity
        self.validation_fraction = validation_fraction
        self.categorical_features = categorical_features
        self.class_weight = class_weight
        self.random_state = random_state
        self.n_jobs = n_jobs

    def _fit(self, X: Any, given: Target) -> None:
        table = self.read_table(X, reset=True)
        costs = bind_costs(self.costs, table.names or self.n_features_in_)
        samples = given.checked(table.values, self, numeric=False).without_zero_weights()
        samples = evened(replace(samples, y=self._encode(samples.y).astype(np.int64)))
        categorical = categorical_columns(self.categorical_features, table, self.n_features_in_)
        seed = int(check_random_state(self.random_state).randint(2**31 - 2))
        with threadpool_limits(1):
            columns = read_columns(samples, categorical)
            pool = choose_pool(
                samples, columns, costs, self.budget, self.pool_size, self.price_exponent, seed
            )
            options = CorrectionOptions(categorical, DEPTHS[0], seed, self.n_threads)
            self.plan_ = self._chosen_plan(samples, pool, self._plans(costs, options))

    def _plans(self, costs: Costs, options: CorrectionOptions) -> AcquirerPlans:
        rules = {name: float(getattr(self, name)) for name in ("price_exponent", "confidence", "tradeoff")}
        return AcquirerPlans(
            costs=costs,
            budget=self.budget,
            n_components=self.n_components,
            shrinkage=self.shrinkage,
            rules=rules,
            options=options,
            parts={
                "classes": self.plan_classes(),
                "categories": self.categories_,
                "info": {"learner": type(self).__name__},
            },
            n_classes=len(self.classes_),
        )

    def _chosen_plan(self, samples: Rows, pool: PoolColumns | None, plans: AcquirerPlans) -> Plan:
        """The plan, with its hyperparameters as given or as validation sets find best."""
        choices = self._choices(pool, plans.costs)
        found = choices.first
        if pool is not None and choices.is_open and len(samples) >= LEAST_ROWS:
            found = choose(plans, pool, samples, choices, self.validation_fraction)
        self.noise_, self.sharpness_, tree, self.n_rounds_, self.max_depth_ = found
        self.tree_share_, self.tree_impurity_ = tree
        if pool is None:
            return plans.plan(samples, [])
        mixture = plans.mixture(samples, pool, plans.options.seed)
        plan = plans.plan(samples, [plans.node(pool, mixture, self.noise_, self.sharpness_)])
        plan = plans.started(plan, samples, pool, tree)
        if not self.n_rounds_:
            return plan
        options = replace(plans.options, max_depth=self.max_depth_)
        grown = corrections(plan, samples, self.n_rounds_, options)
        self.n_rounds_ = len(grown)
        return with_corrections(plan, grown)

    def _choices(self, pool: PoolColumns | None, costs: Costs) -> AcquirerChoices:
        """The values of each hyperparameter to compare."""
        has_trees = pool is not None and costs.evaluation == 0.0
        can_begin = pool is not None and can_start(costs, np.unique(pool.feature), read_budget(self.budget))
        return AcquirerChoices(
            noise=NOISES if self.noise == "auto" else (float(self.noise),),
            sharpness=SHARPNESSES if self.sharpness == "auto" else (float(self.sharpness),),
            tree=self._trees() if can_begin else [NO_TREE],
            n_rounds=(0,) if not has_trees else ROUNDS if self.n_rounds == "auto" else (self.n_rounds,),
            max_depth=DEPTHS if self.max_depth == "auto" else (self.max_depth,),
        )

    def _trees(self) -> list[FirstTree]:
        """Shares and impurities of the tree for the first purchases; without a share the latter is unused."""
        shares = TREE_SHARES if self.tree_share == "auto" else (float(self.tree_share),)
        kinds = IMPURITIES if self.tree_impurity == "auto" else (self.tree_impurity,)
        return [(share, kind) for share in shares for kind in (kinds if share else kinds[:1])]
