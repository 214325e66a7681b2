"""The adaptive acquirer: each row buys the features that tell its classes apart best."""

from __future__ import annotations

from dataclasses import replace
from numbers import Integral, Real
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import check_random_state
from sklearn.utils._param_validation import Interval
from threadpoolctl import threadpool_limits

from miserly.data.rows import Rows
from miserly.data.target import Target
from miserly.learners.anytime.pool import Columns, choose_pool, read_columns
from miserly.learners.base import PlanClassifier, bind_costs
from miserly.learners.base.arguments import NOT_NEGATIVE, ONE_OR_MORE, categorical_columns, constraints
from miserly.learners.base.kinds import WeightedFit
from miserly.learners.common.linear_fit import evened
from miserly.plan import MixtureAcquisition, Node, Plan
from miserly.solvers.mixture import fit_mixture

__all__ = ["AcquirerClassifier"]


class AcquirerClassifier(PlanClassifier, WeightedFit):
    """Adaptive acquirer: each row buys the features that tell its classes apart best, one after the other.

    A Gaussian mixture for each class models a pool of features. After each purchase it gives the class
    probabilities of the row, and what each other feature would tell. The row buys the best feature that fits
    what is left of the budget. It ends when it is sure enough, or when no feature is worth its price. One
    model serves all budgets: ``predict(X, budget=...)``.

    Parameters
    ----------
    costs : Costs, array-like, mapping of name to cost or None, default=None
        Costs of the features and of groups of features. By default each feature costs 1.
    tradeoff : float, default=0.0
        A feature is bought only if it is expected to lower the squared error of the class probabilities of the
        row (the Brier score, summed over the classes) by `tradeoff` for each unit of its price. The default
        buys features as long as they fit the budget.
    budget : float or None, default=None
        Cap on the cost of every row. By default there is no cap.
    confidence : float, default=1.0
        A row buys no more once the probability of a class reaches `confidence`. By default it ends when one
        class is certain.
    price_exponent : float, default=0.5
        Features are compared by what they tell divided by ``price ** price_exponent``, from 0 to 1. With 0
        the price matters only for what fits the budget.
    pool_size : int, default=80
        Largest number of features in the pool. Fits and predictions take time in proportion to its square.
    n_components : int, default=8
        Largest number of Gaussian components for each class. A component needs 30 training rows.
    shrinkage : float, default=2.0
        How strongly covariances are shrunk: each component to its class, and each class to all classes, as if
        these had `shrinkage` rows for each column.
    categorical_features : "from_dtype", array-like or None, default="from_dtype"
        Columns whose categories become indicators: a list of columns, or a boolean mask. By default the
        columns that a frame holds as text, categories or booleans. Listed columns of numbers must hold the
        codes 0, 1, 2, ... With None, codes are numbers.
    class_weight : mapping of class to weight, "balanced" or None, default=None
        Weights of the classes, by which the weights of the rows are multiplied. "balanced" gives all classes
        the same total weight. Classes that a mapping leaves out have weight 1.
    random_state : int, RandomState or None, default=None
        Random seed of k-means, and of the rows that choose the pool.
    n_jobs : int or None, default=None
        Number of threads of predictions. By default all cores. The model does not depend on it.

    Attributes
    ----------
    plan_ : Plan
        One node, which chooses what each row buys.
    classes_ : array of shape (n_classes,)
        The classes, sorted.
    cost_ : float
        Cost of all features of the pool, or the budget if that is less.
    features_ : array
        The features of the pool: names if there are names, else column numbers.
    n_features_in_ : int
        Number of features seen by `fit`.
    feature_names_in_ : array of shape (n_features_in_,)
        Names of the features. It exists only if `X` had names.

    Notes
    -----
    With the class probabilities `p_k` of a row so far, and the covariance `c_k` of a feature with the
    indicator of class `k`, a purchase is chosen by ``sum_k c_k^2 / p_k / variance / price ** price_exponent``:
    the share of the variance of the feature that lies between the classes. It is worth its price if ``sum_k
    c_k^2 / variance``, the expected decrease of the Brier score by a linear prediction, is at least
    ``tradeoff * price``. `MixtureAcquisition` has the rules in full, and `miserly.solvers.mixture` the
    estimates.

    Values are standardised and clipped to 6 standard deviations. A categorical feature is one indicator for
    each of its most frequent categories, at most 16, which are bought together. In training, a missing value
    counts as the mean of its class. In predictions it is paid, and tells nothing.

    The pool is taken by stepwise discriminant analysis per ``price ** price_exponent``. Features that cost more
    than the budget are left out.

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
    4.0 0.74
    29.9 0.79
    321.7 0.92
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = constraints(
        *("costs", "tradeoff", "budget", "categorical_features", "class_weight", "random_state", "n_jobs"),
        confidence=[Interval(Real, 0, 1, closed="right")],
        price_exponent=[Interval(Real, 0, 1, closed="both")],
        pool_size=[Interval(Integral, 1, 1000, closed="both")],
        n_components=[ONE_OR_MORE],
        shrinkage=[NOT_NEGATIVE],
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
        n_components: int = 8,
        shrinkage: float = 2.0,
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
            nodes = [] if pool is None else [self._node(samples, pool, seed)]
        base = _log_prior(samples, len(self.classes_))
        self.plan_ = Plan(
            costs=costs,
            terms=[],
            nodes=nodes,
            base=base,
            link="logistic" if len(base) == 1 else "softmax",
            classes=self.plan_classes(),
            categories=self.categories_,
            info={"learner": type(self).__name__},
            budget=self.budget,
        )

    def _node(self, samples: Rows, columns: Columns, seed: int) -> Node:
        """The node that chooses, with the mixture of the pool."""
        found = fit_mixture(
            columns.standardised(samples.X),
            samples.y,
            self.n_components,
            weight=samples.weight,
            shrinkage=self.shrinkage,
            seed=seed,
        )
        acquisition = MixtureAcquisition(
            columns.feature,
            columns.category,
            columns.centre,
            columns.scale,
            found.mean,
            found.covariance,
            found.weight,
            found.label,
            price_exponent=float(self.price_exponent),
            confidence=float(self.confidence),
            tradeoff=float(self.tradeoff),
            clip=columns.clip,
        )
        n_scores = 1 if len(self.classes_) == 2 else len(self.classes_)
        return Node([], [], [], np.zeros(n_scores), inherits=False, acquisition=acquisition)


def _log_prior(samples: Rows, n_classes: int) -> NDArray[np.float64]:
    """The answer without any feature: log odds of the second of two classes, else logarithms of shares."""
    share = np.bincount(samples.y, samples.weight, minlength=n_classes)
    logs = np.log(share / share.sum())
    return np.array([logs[1] - logs[0]]) if n_classes == 2 else logs
