"""Cronus: a cascade over the trees of a boosted model, for two classes of which the second is rare."""

from __future__ import annotations

from dataclasses import replace
from itertools import product
from numbers import Integral, Real
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from sklearn.utils._param_validation import Interval, StrOptions
from threadpoolctl import threadpool_limits

from miserly.data.target import Target
from miserly.learners.base.arguments import ONE_OR_MORE, POSITIVE, constraints
from miserly.learners.cascades.cronus_fit import CascadeSettings, CronusSearch
from miserly.learners.common.classifier_tree import CascadeClassifier, exact_weights
from miserly.learners.common.linear_fit import read_fit_data
from miserly.learners.common.progress import Steps, outcome
from miserly.plan import Plan

__all__ = ["CronusClassifier"]


class CronusClassifier(CascadeClassifier):
    """Cronus: a cascade over boosted trees, for two classes of which the second is rare.

    The trees of a boosted model get new weights in every stage of a cascade. Rows with low scores leave
    early, most of them as members of the first class, and only the others pay for expensive features.

    Parameters
    ----------
    costs : Costs, array-like, mapping of name to cost or None, default=None
        Costs of the features, of groups of features, and of evaluating a tree. By default each feature costs
        1 and evaluations cost nothing.
    tradeoff : float, default=1e-4
        Loss that one unit of cost must save in the mean: half the squared error to 1 and -1. With a budget it
        is the smallest tradeoff that is tried.
    budget : float or None, default=None
        Cap on the cost of every row. All trees together cost no more; linear terms are chosen within it by
        greedy least squares. Several tradeoffs from `tradeoff` up are fitted, and the best one on the
        validation set is taken. By default there is no cap.
    mean_budget : float or None, default=None
        Limit on the mean cost of the rows of the validation set. The smallest tradeoff from `tradeoff` up
        that keeps it is searched for, and the best cascade met on the way that keeps it is taken. May be
        given together with `budget`. By default there is no limit.
    n_stages : int, default=10
        Largest number of stages. With 1 the trees get new weights, and no row leaves early.
    rejection : float, default=0.15
        Share of the remaining rows that leaves at each stage, before `optimise`.
    inflation : float or array-like of float, default=1.3
        Cost multiplier for each earlier stage during initialisation. With a list, the best value on the
        validation set is taken.
    positive_weight : float or array-like of float, default=3.5
        Weight of the second class in the loss. With a list, the best value on the validation set is taken.
    l1_regularization : float or array-like of float, default=0.0
        Penalty on the absolute value of every weight. With a list, the best value on the validation set is
        taken.
    optimise : bool, default=True
        Whether all stages are optimised together after each was initialised by itself.
    refit : bool, default=True
        Whether the weights are fitted again without prices in the end.
    terms : {"boosted", "linear"} or Plan, default="boosted"
        What the stages weigh: boosted regression trees, standardised features, or the trees of a model that
        is fitted already, given as its plan (``terms=model.plan_``). The plan must be a sum of trees over the
        same columns, such as that of a booster or of an adopted model.
    n_terms : int, default=100
        Number of boosted trees. It has no effect on linear terms.
    term_tradeoff : "falling", float or None, default="falling"
        Tradeoff of the boosted trees, which are those of Greedy Miser. "falling" lowers it from `tradeoff`
        for the first tree to a hundredth of it for the last, so that cheap trees come first and expensive
        ones build on them. A number is used for all trees. With None or 0, costs do not matter for the trees,
        as in the paper.
    step : float, default=0.1
        Learning rate of the boosted trees.
    max_depth : int, default=4
        Largest depth of a boosted tree.
    min_samples_leaf : int, default=20
        Smallest number of training rows in a leaf of a boosted tree.
    validation_fraction : float, default=0.2
        Share of the rows in the validation set, in whole queries if `qid` is given. It is held out for a
        `budget`, a `mean_budget`, or a list of values to choose from.
    metric : str, Metric or None, default=None
        Metric on the validation set. By default "accuracy", and "precision@5" if `fit` is given queries.
    class_weight : mapping of class to weight, "balanced" or None, default=None
        Weights of the classes, by which the weights of the rows are multiplied. "balanced" gives all classes
        the same total weight. Classes that a mapping leaves out have weight 1.
    random_state : int, RandomState or None, default=None
        Random seed of the validation set, and of boosted trees.
    n_jobs : int or None, default=None
        Number of threads. By default all cores. The model does not depend on it.
    verbose : int, default=0
        With 1, the steps of the fit are shown.

    Attributes
    ----------
    plan_ : Plan
        A chain of at most `n_stages` nodes. Rows with low scores leave it. Stages at which no row left are
        not in it.
    cost_ : float
        Cost of a row that passes every stage.
    features_ : array
        The features that the model may need: names if there are names, else column numbers.
    tradeoff_ : float
        The tradeoff of the model.
    expected_cost_ : float
        Mean cost of the rows of the validation set. It exists only if there is a validation set.
    settings_ : dict
        The values of `inflation`, `positive_weight` and `l1_regularization` of the model.
    objective_ : array
        The joint objective before `optimise`, and after each cycle.
    classes_ : array
        Both classes, in the order of the columns of `predict_proba`.
    n_features_in_ : int
        Number of features seen by `fit`.
    feature_names_in_ : array of shape (n_features_in_,)
        Names of the features. It exists only if `X` had names.

    Notes
    -----
    The stages minimise together, over weights ``beta^k``, intercepts and thresholds ([1]_, eq. 8)::

        1/2 sum_i w_i sum_k q_i^k (h_i . beta^k - y_i)^2 + rho sum_k |beta^k|_1
          + lambda sum_a cost_a sqrt(sum_k d_k^2 sum_{t uses a} (beta_t^k)^2)

    where ``h_i`` are the values of the trees on row `i`, ``q_i^k`` the probability that it leaves at stage
    `k`, ``d_k`` the share of rows that reach it, and ``y_i`` is 1 or -1. In the paper's symbols `n_stages` is
    K, `rejection` epsilon, `inflation` delta, `positive_weight` omega+, `l1_regularization` rho and
    `tradeoff` lambda.

    Differences from the paper, and what it leaves open:

    - A row is answered by the score of the stage it leaves at, as the loss assumes, and not by -1.
    - Weights are fitted again, without prices, on the trees chosen and those evaluated at earlier stages.
      Without this a single stage is no better than a boosted model that is cut short.
    - Trees are boosted cheap ones first (`term_tradeoff`). Nearly every tree of a plain boosted model needs
      expensive features, which leaves nothing for early stages.
    - The steepness of the soft gates is 50 per standard deviation of a stage's scores. With an absolute 50
      every row passed.
    - Set-up costs of groups are one more norm, over all trees that use the group.
    - Prices are multiplied by ``inflation ** (K - k)`` at stage `k`; the paper has the other sign.

    If several values are given for `inflation`, `positive_weight` or `l1_regularization`, a cascade is
    initialised for every combination, and the best one on the validation set is taken.

    References
    ----------
    .. [1] M. Chen, Z. Xu, K. Q. Weinberger, O. Chapelle, D. Kedem, "Classifier Cascade for Minimizing Feature
       Evaluation Cost", AISTATS 2012.

    Examples
    --------
    >>> import numpy as np
    >>> from miserly.learners import CronusClassifier
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(2000, 2))
    >>> y = (X[:, 0] > 1) & (X[:, 1] > 0)
    >>> model = CronusClassifier(costs=[1, 20], n_terms=30, random_state=0).fit(X, y)
    >>> print(f"{model.score(X, y):.2f} {model.run(X).cost.mean():.1f}")
    1.00 4.0
    """

    tradeoff_: float
    expected_cost_: float
    settings_: dict[str, float]
    objective_: NDArray[np.float64]

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = constraints(
        *(
            "costs",
            "tradeoff",
            "budget",
            "mean_budget",
            "optimise",
            "n_terms",
            "term_tradeoff",
            "step",
        ),
        *("min_samples_leaf", "validation_fraction", "metric", "class_weight"),
        *("random_state", "n_jobs", "verbose"),
        terms=[StrOptions({"boosted", "linear"}), Plan],
        n_stages=[ONE_OR_MORE],
        rejection=[Interval(Real, 0, 1, closed="neither")],
        inflation=[Interval(Real, 1, None, closed="left"), "array-like"],
        positive_weight=[POSITIVE, "array-like"],
        l1_regularization=[Interval(Real, 0, None, closed="left"), "array-like"],
        refit=["boolean"],
        max_depth=[Interval(Integral, 1, 7, closed="both")],
    )

    def __init__(
        self,
        *,
        costs: Any = None,
        tradeoff: float = 1e-4,
        budget: float | None = None,
        mean_budget: float | None = None,
        n_stages: int = 10,
        rejection: float = 0.15,
        inflation: float = 1.3,
        positive_weight: float = 3.5,
        l1_regularization: float = 0.0,
        optimise: bool = True,
        refit: bool = True,
        terms: str | Plan = "boosted",
        n_terms: int = 100,
        term_tradeoff: float | str | None = "falling",
        step: float = 0.1,
        max_depth: int = 4,
        min_samples_leaf: int = 20,
        validation_fraction: float = 0.2,
        metric: Any = None,
        class_weight: Any = None,
        random_state: Any = None,
        n_jobs: int | None = None,
        verbose: int = 0,
    ) -> None:
        self.costs = costs
        self.tradeoff = tradeoff
        self.budget = budget
        self.mean_budget = mean_budget
        self.n_stages = n_stages
        self.rejection = rejection
        self.inflation = inflation
        self.positive_weight = positive_weight
        self.l1_regularization = l1_regularization
        self.optimise = optimise
        self.refit = refit
        self.terms = terms
        self.n_terms = n_terms
        self.term_tradeoff = term_tradeoff
        self.step = step
        self.max_depth = max_depth
        self.min_samples_leaf = min_samples_leaf
        self.validation_fraction = validation_fraction
        self.metric = metric
        self.random_state = random_state
        self.class_weight = class_weight
        self.n_jobs = n_jobs
        self.verbose = verbose

    def _fit(self, X: Any, given: Target) -> None:
        settings = self._settings()
        validates = self.budget is not None or self.mean_budget is not None or len(settings) > 1
        fraction = self.validation_fraction if validates else None
        with Steps(self, bool(self.verbose)) as report:
            rows = read_fit_data(self, X, given, self._encode, fraction)
            search = CronusSearch(self, replace(rows, training=exact_weights(rows.training)), report)
            with threadpool_limits(search.blas_threads, "blas"):
                best = search.best_settings(settings) if len(settings) > 1 else settings[0]
                found = search.best(best)
            self.settings_, self.tradeoff_, self.plan_ = best.named(), found.tradeoff, found.model.plan
            self.objective_ = np.array(found.model.objective)
            if rows.validation is not None:
                self.expected_cost_ = found.cost
            report(outcome(self))

    def _settings(self) -> list[CascadeSettings]:
        """All combinations of the values given."""
        given = (self.inflation, self.positive_weight, self.l1_regularization)
        return [
            CascadeSettings(*map(float, one)) for one in product(*(np.atleast_1d(values) for values in given))
        ]
