"""Greedy Miser: stage-wise regression whose trees pay for the features they use.

Z. Xu, K. Q. Weinberger, O. Chapelle, The Greedy Miser: Learning under Test-time Budgets, ICML 2012 (eq. 5).
Each round fits a tree ``h`` to the negative gradients of the loss, minimising

    1/2 sum_i (r_i - h(x_i))^2 + tradeoff * sum_a unpaid(a) cost(a) [h splits on a]

with everything per unit of *mean* loss, and adds ``step * h``. Once a tree has used a feature it is paid, and
free for all later trees. Losses with second derivatives use them (a Newton step instead of the plain mean in
the leaves). `tradeoff` is the paper's lambda over n, `step` its eta, `tree_budget` its B_t. The paper says
both that a feature is charged iff not yet used and the reverse, and the first is meant; it limits rounds to
``B_t / eta``, and ``B_t / e``, with e the cost of evaluating a tree, is meant.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import _fit_context
from sklearn.utils._param_validation import StrOptions
from sklearn.utils.metaestimators import available_if

from miserly.errors import DataError, did_you_mean
from miserly.learners.base import PlanClassifier, PlanRegressor, decision_of, has_probabilities
from miserly.learners.boosting.miser_base import GreedyMiser
from miserly.learners.common.samples import Given, Samples, check_classes, check_grades
from miserly.losses import (
    LambdaRank,
    Logistic,
    Loss,
    Multinomial,
    Squared,
    SquaredHinge,
    WithinQueries,
)
from miserly.metrics import Queries, get_metric
from miserly.plan import links

__all__ = ["GreedyMiserClassifier", "GreedyMiserRanker", "GreedyMiserRegressor"]

_TWO_CLASSES = ("logistic", "squared_hinge")


class GreedyMiserRegressor(PlanRegressor, GreedyMiser):
    """Greedy Miser for numbers, by squared loss.

    Parameters
    ----------
    costs : Costs, array, mapping of name to cost, or None
        What features cost; 1 each by default.
    tradeoff : float, default=0
        What one unit of cost must bring: a feature of marginal cost `c` is bought only if it lowers the
        mean loss (here half the mean squared error) by more than ``tradeoff * c``. 0 is plain boosting.
    budget : float, optional
        What the whole model may cost at most: all features, set-ups and evaluations of its trees. Where
        evaluations cost something, up to a fifth of it (or `tree_budget`) is kept for the trees of `n_rounds`
        rounds and not spent on features. Unless it pays for everything, features that are free or paid come
        first: a round buys, and one feature only, where trees without it gain less than half as much, or
        where half of the rounds would end with money left.
    tree_budget : float, optional
        What evaluating trees may cost at most; needs ``costs.evaluation > 0``.
    lookahead : bool, default=False
        Whether to spend a `budget` that is running out with more care: what a round wants is weighed by whole
        trees instead of single splits, and bought one feature a round. Better models for a few more trees
        grown on the way; without a budget, or while all that is wanted fits, it changes nothing. At most 16
        wanted features are weighed in a round; on more than 64 columns fewer (2 at least) while the budget
        still buys many.
    step : float, default=0.1
        How much of each tree is added.
    max_depth : int, default=4
    n_rounds : int, default=100
    max_leaves : int, optional
    min_samples_leaf : int, default=20
    l2_regularization : float, default=0
    max_bins : int, default=255
    categorical_features : "from_dtype", list of columns, mask, or None
        Columns split by category. By default those that a frame holds as text, categories or truth values;
        listed columns of numbers must hold codes 0, 1, 2, ... With None, codes are split as numbers.
    early_stopping : bool or int, default=False
        Stop after so many rounds (20 for True) without getting better on validation data, and keep the
        rounds up to the best.
    validation_fraction : float, default=0.1
        How much is set aside for that, if `fit` is not given validation data.
    metric : str or Metric, optional
        What getting better means; the loss decides where the metric ties.
    warm_start : bool, default=False
        Whether the next `fit` goes on from this one's rounds, with everything paid so far.
    random_state : int, RandomState or None
    n_jobs : int, optional
        Threads; all by default. The model does not depend on it.
    verbose : int, default=0
        1 shows a progress bar.

    Attributes
    ----------
    plan_ : Plan
        A chain with one node per round, in the order of purchase.
    cost_ : float
        What the whole model costs; `features_` are the features it pays for.
    n_rounds_ : int
        How many rounds the model has, and `stopped_by_` why not more: "rounds", "no split", "budget",
        "tree budget", "early stopping", "callback" or "interrupt".
    validation_curve_ : array
        The metric on validation data after 0, 1, 2, ... rounds.
    ledger_ : Ledger
        What is paid, open and spent.
    feature_importances_ : array

    Examples
    --------
    The second feature is a little better, but not by what it costs:

    >>> import numpy as np
    >>> from miserly.learners import GreedyMiserRegressor
    >>> x = np.arange(200.0)
    >>> X, y = np.column_stack([x // 2, x]), np.sin(x / 30)
    >>> for tradeoff in (0, 0.01):
    ...     model = GreedyMiserRegressor(costs=[1, 10], tradeoff=tradeoff).fit(X, y)
    ...     print(model.cost_, round(model.score(X, y), 2))
    11.0 0.99
    1.0 0.99
    """

    default_metric = "mse"

    @_fit_context(prefer_skip_nested_validation=True)
    def fit(
        self,
        X: Any,
        y: ArrayLike,
        sample_weight: ArrayLike | None = None,
        qid: ArrayLike | None = None,
        X_val: Any = None,
        y_val: ArrayLike | None = None,
        qid_val: ArrayLike | None = None,
        sample_weight_val: ArrayLike | None = None,
    ) -> GreedyMiserRegressor:
        """Fit to numbers `y`; validation data, if given, is judged by and never learned from.

        Rows that belong together (the documents of a query, the visits of a patient) share a `qid`: they are
        set aside for validation together, and a metric such as "ndcg@5" looks at each group by itself.
        """
        validation = X_val, Given(y_val, sample_weight_val, qid_val, note="_val")
        self._fit(X, Given(y, sample_weight, qid), validation)
        return self

    def _loss_for(self, samples: Samples) -> Loss:
        return Squared()


class GreedyMiserClassifier(PlanClassifier, GreedyMiser):
    """Greedy Miser for two or more classes.

    With more than two classes every round grows one tree per class, and all of them share what is paid.

    Parameters
    ----------
    loss : {"auto", "logistic", "multinomial", "squared_hinge"}, default="auto"
        "auto" is logistic for two classes and multinomial for more. "squared_hinge" (two classes) has no
        probabilities.
    tradeoff : float, default=0
        What one unit of cost must bring in mean loss: log-loss, or half the squared hinge.
    costs, budget, tree_budget, lookahead, step, max_depth, n_rounds, ... :
        As for `GreedyMiserRegressor`. The metric of early stopping is accuracy by default.

    Examples
    --------
    >>> from miserly.datasets import load_heart
    >>> from miserly.learners import GreedyMiserClassifier
    >>> heart = load_heart()
    >>> model = GreedyMiserClassifier(costs=heart.costs, budget=30).fit(heart.X, heart.y)
    >>> model.cost_ <= 30
    True
    """

    default_metric = "accuracy"
    _numeric_target = False

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **GreedyMiser._parameter_constraints,
        "loss": [StrOptions({"auto", "logistic", "multinomial", "squared_hinge"})],
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

    @_fit_context(prefer_skip_nested_validation=True)
    def fit(
        self,
        X: Any,
        y: ArrayLike,
        sample_weight: ArrayLike | None = None,
        qid: ArrayLike | None = None,
        X_val: Any = None,
        y_val: ArrayLike | None = None,
        qid_val: ArrayLike | None = None,
        sample_weight_val: ArrayLike | None = None,
    ) -> GreedyMiserClassifier:
        """Fit to classes `y`; validation data, if given, is judged by and never learned from.

        Rows that share a `qid` are set aside for validation together.
        """
        validation = X_val, Given(y_val, sample_weight_val, qid_val, note="_val")
        self._fit(X, Given(y, sample_weight, qid), validation)
        return self

    def _encode(self, y: NDArray[Any], learn: bool) -> NDArray[np.float64]:
        check_classes(y)
        if learn:
            self.classes_, codes = np.unique(y, return_inverse=True)
            if len(self.classes_) < 2:
                only = self.classes_.tolist()[0]
                raise DataError(f"y holds only one class, {only!r}; a classifier needs at least two classes")
            return codes.astype(np.float64)
        place = {label: code for code, label in enumerate(self.classes_.tolist())}
        for label in np.unique(y).tolist():
            if label not in place:
                raise DataError(f"class {label!r} was not there at first{did_you_mean(label, place)}")
        return np.array([place[label] for label in y.tolist()], dtype=np.float64)

    def _loss_for(self, samples: Samples) -> Loss:
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

    def _has_probabilities(self) -> bool:
        return self.loss != "squared_hinge"

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_class = self.loss not in _TWO_CLASSES
        return tags

    def staged_decision_function(self, X: Any) -> Iterator[NDArray[np.float64]]:
        """Scores before the link after each round."""
        for stage in self._stages(X):
            yield decision_of(stage.scores, len(self.classes_))

    @available_if(has_probabilities)
    def staged_predict_proba(self, X: Any) -> Iterator[NDArray[np.float64]]:
        """The probability of each class after each round."""
        for stage in self._stages(X):
            yield links.probabilities(self.plan_.link, stage.scores)


class GreedyMiserRanker(GreedyMiser):
    """Greedy Miser for ordering the documents of queries.

    Parameters
    ----------
    loss : {"within_queries", "squared", "lambdarank"}, default="within_queries"
        Squared loss on the grades less their query's mean, so that nothing is bought to tell one query from
        another; squared loss on the plain grades, as in the paper; or pairs weighted by what they matter to
        NDCG@30, where the mean loss that `tradeoff` refers to is per query.
    tradeoff : float, default=0
        What one unit of cost must bring in mean loss: half the squared error of a document; with
        loss="lambdarank", the loss of a query.
    costs, budget, tree_budget, lookahead, step, max_depth, n_rounds, ... :
        As for `GreedyMiserRegressor`. The metric of early stopping is ndcg@5 by default, and validation rows
        are set aside by whole queries.

    Examples
    --------
    >>> import numpy as np
    >>> from miserly.learners import GreedyMiserRanker
    >>> x = np.tile(np.arange(10.0), 30)
    >>> qid = np.repeat(np.arange(30), 10)
    >>> model = GreedyMiserRanker(n_rounds=10).fit(x[:, None], x > 6, qid=qid)
    >>> model.score(x[:, None], x > 6, qid=qid)
    1.0
    """

    default_metric = "ndcg@5"

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **GreedyMiser._parameter_constraints,
        "loss": [StrOptions({"within_queries", "squared", "lambdarank"})],
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
        loss: str = "within_queries",
        max_leaves: int | None = None,
        min_samples_leaf: int = 20,
        l2_regularization: float = 0.0,
        max_bins: int = 255,
        categorical_features: Any = "from_dtype",
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

    @_fit_context(prefer_skip_nested_validation=True)
    def fit(
        self,
        X: Any,
        y: ArrayLike,
        sample_weight: ArrayLike | None = None,
        qid: ArrayLike | None = None,
        X_val: Any = None,
        y_val: ArrayLike | None = None,
        qid_val: ArrayLike | None = None,
        sample_weight_val: ArrayLike | None = None,
    ) -> GreedyMiserRanker:
        """Fit to grades of relevance `y` of documents of the queries `qid`, which must be given."""
        given = Given(y, sample_weight, qid, ranked=True)
        self._fit(X, given, (X_val, Given(y_val, sample_weight_val, qid_val, ranked=True, note="_val")))
        return self

    def _loss_for(self, samples: Samples) -> Loss:
        if self.loss == "squared":
            return Squared()
        if self.loss == "within_queries":
            return WithinQueries(Queries(samples.qid))
        check_grades(samples.y)
        return LambdaRank(Queries(samples.qid))

    def score(
        self, X: Any, y: ArrayLike, qid: ArrayLike | None = None, sample_weight: ArrayLike | None = None
    ) -> float:
        """The metric (ndcg@5 by default) of the predicted order; without `qid` all rows are one query."""
        metric = get_metric(self.metric or self.default_metric)
        return metric(y, self.predict(X), qid=qid, sample_weight=sample_weight)
