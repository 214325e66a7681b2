"""The adaptive acquirer: each row buys the features that tell its classes apart best."""

from __future__ import annotations

from dataclasses import replace
from numbers import Integral, Real
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import check_random_state
from sklearn.utils._param_validation import Interval, Options, StrOptions
from threadpoolctl import threadpool_limits

from miserly.costs import Costs
from miserly.data.rows import Rows, hold_out
from miserly.data.target import Target
from miserly.grow.options import MAX_DEPTH
from miserly.learners.anytime.corrections import CorrectionOptions, best_rounds, corrections, with_corrections
from miserly.learners.anytime.pool import PoolColumns, choose_pool, read_columns
from miserly.learners.base import PlanClassifier, bind_costs
from miserly.learners.base.arguments import (
    NOT_NEGATIVE,
    ONE_OR_MORE,
    POSITIVE,
    as_columns,
    categorical_columns,
    constraints,
)
from miserly.learners.base.kinds import WeightedFit
from miserly.learners.common.linear_fit import evened
from miserly.losses import log_loss
from miserly.plan import MixtureAcquisition, Node, Plan, links
from miserly.solvers.mixture import ClassMixture, fit_mixture

__all__ = ["AcquirerClassifier"]

NOISES = (0.1, 0.02, 0.3)  # the first one counts where there is no validation set, and where others are equal
SHARPNESSES = (0.75, 1.0, 0.5)
ROUNDS = (0, 30, 60)
LEAST_ROWS, MOST_VALIDATION = 50, 4_000  # rows of which a validation set is held out, and in it


class AcquirerClassifier(PlanClassifier, WeightedFit):
    """Adaptive acquirer: each row buys the features that tell its classes apart best, one after the other.

    A Gaussian mixture for each class models a pool of features. After each purchase it gives the class
    probabilities of the row, and what each other feature would tell. The row buys the best feature that fits
    what is left of the budget. It ends when it is sure enough, or when no feature is worth its price. Boosted
    trees then correct the probabilities, by the values that the row has bought. One model serves all budgets:
    ``predict(X, budget=...)``.

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
        How strongly covariances are shrunk: each component to its class, and each class to all classes, as if
        these had `shrinkage` rows for each column.
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
    max_depth : int, default=6
        Largest depth of these trees, in splits.
    validation_fraction : float, default=0.2
        Share of the rows in the validation set, at most 4,000 rows. It is held out only while `noise`,
        `sharpness` and `n_rounds` are chosen.
    categorical_features : "from_dtype", array-like or None, default="from_dtype"
        Columns whose categories become indicators: a list of columns, or a boolean mask. By default the
        columns that a frame holds as text, categories or booleans. Listed columns of numbers must hold the
        codes 0, 1, 2, ... With None, codes are numbers.
    class_weight : mapping of class to weight, "balanced" or None, default=None
        Weights of the classes, by which the weights of the rows are multiplied. "balanced" gives all classes
        the same total weight. Classes that a mapping leaves out have weight 1.
    random_state : int, RandomState or None, default=None
        Random seed of k-means, of the rows that choose the pool, and of the rows and budgets that trees learn
        from.
    n_jobs : int or None, default=None
        Number of threads of predictions. By default all cores. The model does not depend on it.

    Attributes
    ----------
    plan_ : Plan
        One node, which chooses what each row buys, and one with the trees, if there are any.
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
    n_rounds_ : int
        Number of rounds of boosting.
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

    Models of the validation set are compared by accuracy, and where that is equal by log loss. The mixture of
    the model is fitted to all rows.

    The trees start from the scores of the mixture, with a step of 0.1. They are grown on training rows that
    have bought what the mixture buys for them; a value that is not bought is missing. Each row is there at
    two budgets, drawn from 0 and eight budgets in equal ratios from the least price to the largest cost. If
    the model has a budget, one of the two is that budget. In predictions, too, the trees read only what the
    row has bought or knows. They do not change what it buys. "auto" compares log losses on the validation
    set, at budgets drawn in the same way. Of many rows only a part is used: as many as make 600,000
    purchases, rows times trees up to 20 million, and rows times features up to 20 million.

    Values are standardised and clipped to 6 standard deviations. A categorical feature is one indicator for
    each of its most frequent categories, at most 16, which are bought together. In training, a missing value
    counts as the mean of its class. In predictions it is paid, and tells nothing.

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
    4.0 0.77
    29.9 0.82
    324.0 0.91
    """

    is_whole = True  # a search does not cut it after some rounds

    noise_: float
    sharpness_: float
    n_rounds_: int

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
        max_depth=[Interval(Integral, 1, MAX_DEPTH, closed="both")],
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
        max_depth: int = 6,
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
            options = CorrectionOptions(categorical, self.max_depth, seed, self.n_threads)
            self.plan_ = self._chosen_plan(samples, pool, costs, options)

    def _chosen_plan(
        self, samples: Rows, pool: PoolColumns | None, costs: Costs, options: CorrectionOptions
    ) -> Plan:
        """The plan, with noise, sharpness and trees as given or as the validation set finds best."""
        noises = NOISES if self.noise == "auto" else (float(self.noise),)
        sharpnesses = SHARPNESSES if self.sharpness == "auto" else (float(self.sharpness),)
        has_trees = pool is not None and costs.evaluation == 0.0
        rounds = ROUNDS if self.n_rounds == "auto" else (self.n_rounds,)
        rounds = rounds if has_trees else (0,)
        self.noise_, self.sharpness_, self.n_rounds_ = noises[0], sharpnesses[0], rounds[0]
        if pool is None:
            return self._plan(samples, [], costs)
        is_open = len(noises) + len(sharpnesses) + len(rounds) > 3
        if is_open and len(samples) >= LEAST_ROWS:
            training, rows = hold_out(samples, self.validation_fraction, options.seed, samples.y)
            training = _with_all_classes(training, samples)
            found = self._mixture(training, pool, options.seed)
            rows = rows.take(np.arange(min(len(rows), MOST_VALIDATION)))

            def plan_of(noise: float, sharpness: float) -> Plan:
                return self._plan(samples, [self._node(pool, found, noise, sharpness)], costs)

            def rank(noise: float, sharpness: float) -> tuple[float, float]:
                return self._rank(plan_of(noise, sharpness), rows)

            self.noise_ = max(noises, key=lambda noise: rank(noise, sharpnesses[0]))
            self.sharpness_ = max(sharpnesses, key=lambda sharpness: rank(self.noise_, sharpness))
            plan = plan_of(self.noise_, self.sharpness_)
            self.n_rounds_ = best_rounds(plan, training, rows, rounds, options)
        mixture = self._mixture(samples, pool, options.seed)
        plan = self._plan(samples, [self._node(pool, mixture, self.noise_, self.sharpness_)], costs)
        if not self.n_rounds_:
            return plan
        grown = corrections(plan, samples, self.n_rounds_, options)
        self.n_rounds_ = len(grown)
        return with_corrections(plan, grown)

    def _rank(self, plan: Plan, rows: Rows) -> tuple[float, float]:
        """Accuracy on a validation set, and the negative log loss."""
        scores = as_columns(plan.run(rows.X, n_threads=self.n_threads, encoded=True).scores)
        loss = log_loss(len(self.classes_)).loss(rows.y.astype(np.float64), scores, rows.weight)
        right = links.labels(plan.link, scores, None) == rows.y
        return float(np.average(right, weights=rows.weight)), -loss

    def _mixture(self, samples: Rows, pool: PoolColumns, seed: int) -> ClassMixture:
        return fit_mixture(
            pool.standardised(samples.X),
            samples.y,
            self.n_components,
            weight=samples.weight,
            shrinkage=self.shrinkage,
            seed=seed,
        )

    def _node(self, pool: PoolColumns, mixture: ClassMixture, noise: float, sharpness: float) -> Node:
        """The node that chooses, with the mixture of the pool."""
        acquisition = MixtureAcquisition(
            pool.feature,
            pool.category,
            pool.centre,
            pool.scale,
            mixture.mean,
            mixture.covariance + noise * np.eye(len(pool.feature)),
            mixture.weight,
            mixture.label,
            price_exponent=float(self.price_exponent),
            confidence=float(self.confidence),
            tradeoff=float(self.tradeoff),
            clip=pool.clip,
            sharpness=sharpness,
        )
        none, n_scores = np.zeros(0), 1 if len(self.classes_) == 2 else len(self.classes_)
        codes = none.astype(np.int64)
        return Node(codes, codes, none, np.zeros(n_scores), inherits=False, acquisition=acquisition)

    def _plan(self, samples: Rows, nodes: list[Node], costs: Costs) -> Plan:
        base = _log_prior(samples, len(self.classes_))
        return Plan(
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


def _with_all_classes(training: Rows, samples: Rows) -> Rows:
    """The training rows, or all rows if whole queries were held out and a class is missing."""
    return training if len(np.unique(training.y)) == len(np.unique(samples.y)) else samples


def _log_prior(samples: Rows, n_classes: int) -> NDArray[np.float64]:
    """The answer without any feature: log odds of the second of two classes, else logarithms of shares."""
    share = np.bincount(samples.y, samples.weight, minlength=n_classes)
    logs = np.log(share / share.sum())
    return np.array([logs[1] - logs[0]]) if n_classes == 2 else logs
