"""Early Exit: rows leave a boosted model before its end (Cambazoglu et al. 2010)."""

from __future__ import annotations

from copy import copy
from dataclasses import replace
from functools import partial
from numbers import Real
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import MetaEstimatorMixin, _fit_context, clone, is_classifier, is_regressor
from sklearn.callback import CallbackSupportMixin
from sklearn.frozen import FrozenEstimator
from sklearn.metrics import accuracy_score, r2_score
from sklearn.utils import check_random_state, get_tags
from sklearn.utils._param_validation import HasMethods, Interval, StrOptions

from miserly.data.class_weights import weigh_validation
from miserly.data.frames import is_frame
from miserly.data.rows import Rows, validation_mask, without_new_categories
from miserly.data.target import Target, check_classes, check_no_missing, check_queries
from miserly.errors import DataError
from miserly.learners.base import threads_of
from miserly.learners.base.arguments import (
    ONE_OR_MORE,
    class_codes,
    class_weight_of,
    constraints,
    fit_arguments,
)
from miserly.learners.base.outcomes import decide_as_trained, outcomes_for
from miserly.learners.base.row_training import row_training
from miserly.learners.wrap import exits
from miserly.learners.wrap.exit_answers import ExitAnswers
from miserly.metrics import Metric, Queries, get_metric
from miserly.plan import Plan

__all__ = ["EarlyExit"]


class EarlyExit(CallbackSupportMixin, MetaEstimatorMixin, ExitAnswers):
    """Early exits for an estimator whose plan is a chain, such as a boosted model.

    After every `every` rounds some rows leave: rows with a sure class, or documents far behind the best of
    their query. The threshold is given, or chosen on a validation set.

    Parameters
    ----------
    estimator : estimator
        Learner of miserly whose plan is a chain, such as `GreedyMiserClassifier`. A clone is fitted, unless
        `prefit` is True or the estimator is a `FrozenEstimator`.
    rule : {"confidence", "proximity", "score", "rank", "capacity", "lossless"}, default="confidence"
        Rows that leave at exit `i` of `E`. "confidence": rows whose most probable class has at least
        probability `threshold`. "proximity": documents with a score more than
        ``threshold * (E - i) / (E - 1)`` below the `k`-th best of their query. "score": rows with a score of
        at most `threshold`. "rank": all but the best `threshold` documents of a query. "capacity": all but a
        share ``threshold ** (i / E)`` of the documents of a query. "proximity", "rank" and "capacity" need
        `qid` when predicting. "lossless": rows whose class no later tree can change, or, where the estimator
        does not classify, documents that can no longer be among the `k` best of their query. It has no
        threshold, and no class and no list of the `k` best ever differs from the estimator's.
    threshold : float or None, default=None
        Threshold of the rule. By default it is chosen on the validation set.
    saving : float or None, default=None
        Fraction of the mean cost to save, in [0, 1). Of the thresholds that save as much on the validation
        set, the one with the best metric is chosen. By default, the one is chosen that saves most with a
        metric not worse than without exits.
    tolerance : float, default=0.0
        By how much the metric on the validation set may be worse than without exits, if neither `threshold`
        nor `saving` is given.
    every : int, default=10
        Number of rounds between two exits.
    k : int, default=5
        Place in the ranking of a query that the rule "proximity" compares with. Number of documents that the
        rule "lossless" keeps in their order.
    validation_fraction : float, default=0.2
        Share of the rows in the validation set: whole queries, or the same share of every class.
    prefit : bool, default=False
        Whether `estimator` is fitted already. The threshold is then chosen on all rows given to `fit`.
    metric : str, Metric or None, default=None
        Metric on the validation set, whose rows have the `class_weight` of the estimator. By default
        "accuracy" for classifiers, "ndcg@5" for rankings and "mse" for regressors.
    random_state : int, RandomState or None, default=None
        Random seed of the validation split.

    Attributes
    ----------
    plan_ : Plan
        The plan of the estimator, with gates.
    estimator_ : estimator
        The fitted estimator.
    classes_ : array of shape (n_classes,)
        The classes, sorted. It exists only for classifiers.
    threshold_ : float
        The threshold. If it is infinite, the plan has no exits. NaN for the rule "lossless".
    saving_ : float
        Fraction of the mean cost that is saved on the validation set; NaN if there was none.
    candidates_ : record array
        Fields `threshold`, `saving` and `metric` of every threshold evaluated, if it was chosen.
    cost_ : float
        Cost of a row that stays to the end.
    features_ : array
        The features that some row may need: names if there are names, else column numbers.
    n_features_in_ : int
        Number of features seen by `fit`.
    feature_names_in_ : array of shape (n_features_in_,)
        Names of the features. It exists only if `X` had names.

    Notes
    -----
    The rules for rankings are those of [1]_. "confidence" is the rule for classes that [2]_ compares with.
    Differences from the paper:

    - Exits can be put into any plan that is a chain. In models that pay for features, such as Greedy Miser,
      exits save features as well as trees.
    - The threshold is chosen on a validation set. Candidates lie half way between two scores.
    - In a ranking, documents that leave are ranked below those that stay longer.

    References
    ----------
    .. [1] B. B. Cambazoglu, H. Zaragoza, O. Chapelle, J. Chen, C. Liao, Z. Zheng, J. Degenhardt, "Early Exit
       Optimizations for Additive Machine Learned Ranking Systems", WSDM 2010.
    .. [2] Z. Xu, K. Q. Weinberger, O. Chapelle, "The Greedy Miser: Learning under Test-time Budgets",
       ICML 2012.

    Examples
    --------
    >>> import numpy as np
    >>> from miserly import EarlyExit, GreedyMiserClassifier
    >>> X = np.random.default_rng(0).normal(size=(2000, 5))
    >>> y = X @ [3.0, 1.0, 0.3, 0.1, 0.0] > 0
    >>> miser = GreedyMiserClassifier(costs=[1, 2, 4, 8, 16])
    >>> model = EarlyExit(miser, saving=0.5, random_state=0).fit(X, y)
    >>> for one in (model.estimator_, model):
    ...     print(round(float(one.run(X).cost.mean()), 1), round(one.score(X, y), 3))
    31.0 0.996
    9.9 0.996
    """

    threshold_: float
    saving_: float
    candidates_: Any
    estimator_: Any

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = constraints(
        *("validation_fraction", "metric", "random_state"),
        estimator=[HasMethods(["fit", "predict"])],
        rule=[StrOptions({*exits.RULES, "lossless"})],
        threshold=[Real, None],
        saving=[Interval(Real, 0, 1, closed="left"), None],
        tolerance=[Interval(Real, 0, None, closed="left")],
        every=[ONE_OR_MORE],
        k=[ONE_OR_MORE],
        prefit=["boolean"],
    )

    def __init__(
        self,
        estimator: Any,
        *,
        rule: str = "confidence",
        threshold: float | None = None,
        saving: float | None = None,
        tolerance: float = 0.0,
        every: int = 10,
        k: int = 5,
        validation_fraction: float = 0.2,
        prefit: bool = False,
        metric: Any = None,
        random_state: Any = None,
    ) -> None:
        self.estimator = estimator
        self.rule = rule
        self.threshold = threshold
        self.saving = saving
        self.tolerance = tolerance
        self.every = every
        self.k = k
        self.validation_fraction = validation_fraction
        self.prefit = prefit
        self.metric = metric
        self.random_state = random_state

    # -- fitting -------------------------------------------------------------------------------------

    @_fit_context(prefer_skip_nested_validation=False)
    def fit(
        self,
        X: Any,
        y: ArrayLike,
        sample_weight: ArrayLike | None = None,
        qid: ArrayLike | None = None,
        *,
        known: Any = None,
        prices: Any = None,
        ordered: Any = None,
        never_ordered: str = "missing",
        outcome_costs: Any = None,
    ) -> EarlyExit:
        """Fit the estimator, unless it is fitted, choose the threshold, and put exits into its plan.

        Parameters
        ----------
        X : array-like or frame of shape (n, n_features)
            Training rows.
        y : array-like of shape (n,)
            Targets, as the estimator needs them.
        sample_weight : array-like of shape (n,), optional
            Weight of each row. By default every row has weight 1. Rows of weight 0 are left out.
        qid : array-like of shape (n,), optional
            Query of each row. Rankers and the rules "proximity", "rank" and "capacity" need it.
        known, prices : optional
            What each row has already, and what it pays, as for `run`. The model is trained at the mean price
            of each feature over the rows.
        ordered, never_ordered : optional
            Which features were ordered for which rows, and how rows count without them: see
            `ordering_weights`. By default all were ordered.
        outcome_costs : OutcomeCosts, mapping or array, optional
            What mistakes cost. Without `metric`, the threshold has the least total cost in validation.

        Returns
        -------
        self : EarlyExit
            The fitted estimator.
        """
        own = row_training(known, prices, ordered, never_ordered)
        if own is not None:
            return own.fit(self, X, y, sample_weight, qid=qid, outcome_costs=outcome_costs)
        if self.threshold is not None and self.saving is not None:
            raise DataError("give either threshold or saving, not both")
        if self.rule == "lossless" and (self.threshold, self.saving) != (None, None):
            raise DataError("rule='lossless' has no threshold and no saving to choose; leave both at None")
        rows = self._check(X, y, sample_weight, qid, outcome_costs)
        if self.prefit or isinstance(self.estimator, FrozenEstimator):
            self.estimator_ = getattr(self.estimator, "estimator", self.estimator)
            self._decide(rows)
            validation = rows if self._chooses else None
        else:
            training, validation = self._divide(rows)
            self._fit_estimator(training)
        self._adopt_attributes()
        self._place_exits(weigh_validation(class_weight_of(self.estimator_), rows, validation))
        return self

    def _check(self, X: Any, y: Any, weight: Any, qid: Any, outcome_costs: Any) -> Rows:
        """Checked rows of positive weight. Frames stay frames, for the estimator to read."""
        values = self.read_table(X, reset=True).values
        rows = Target(y, weight, qid).checked(values, self, numeric=False)
        if is_classifier(self.estimator):
            check_classes(rows.y)
        outcomes = outcomes_for(self, X, rows.y, outcome_costs)
        return replace(rows, X=X if is_frame(X) else values, outcomes=outcomes).without_zero_weights()

    def _decide(self, rows: Rows) -> None:
        """Let a fitted estimator that knows no outcome costs decide by them; it is not changed itself."""
        plan = getattr(self.estimator_, "plan_", None)
        if rows.outcomes is not None and plan is not None and plan.decision is None:
            self.estimator_ = copy(self.estimator_)
            decide_as_trained(self.estimator_, rows.X, rows.y, rows.weight, rows.outcomes)

    def _divide(self, rows: Rows) -> tuple[Rows, Rows | None]:
        """The training rows, and the validation set if the threshold must be chosen."""
        if not self._chooses:
            return rows, None
        seed = int(check_random_state(self.random_state).randint(2**31 - 1))
        classes = rows.y if is_classifier(self.estimator) else None
        held_out = validation_mask(len(rows.y), self.validation_fraction, seed, classes, rows.qid)
        held_out = without_new_categories(rows.X, held_out, rows.qid)
        return rows.take(~held_out), rows.take(held_out)

    def _fit_estimator(self, rows: Rows) -> None:
        """Fit a clone. Callbacks of this estimator are passed on to it."""
        self.estimator_ = clone(self.estimator)
        given = fit_arguments(self.estimator_, rows.weight, rows.qid, rows.outcomes)
        events = {"estimator": self, "X": rows.X, "y": rows.y}
        fit = self._init_callback_context(max_subtasks=1)
        fit.call_on_fit_task_begin(**events)
        task = fit.subcontext(task_name="fit estimator")
        with task.propagate_callback_context(self.estimator_):
            task.call_on_fit_task_begin(**events)
            self.estimator_.fit(rows.X, rows.y, **given)
            task.call_on_fit_task_end(**events)
        fit.call_on_fit_task_end(**events)

    def _adopt_attributes(self) -> None:
        """Check that the fitted estimator can have exits, and take its columns and classes."""
        plan = getattr(self.estimator_, "plan_", None)
        exits.check_plan(plan, self.rule, type(self.estimator_).__name__)
        self.copy_columns(self.estimator_)

    # -- the threshold -------------------------------------------------------------------------------

    def _place_exits(self, validation: Rows | None) -> None:
        plan = self.estimator_.plan_
        stops = list(range(self.every, len(plan.nodes), self.every))
        if validation is None:
            self.threshold_ = np.nan
            if self.threshold is not None:
                self.threshold_ = exits.check_threshold(self.rule, self.threshold)
            self.saving_ = np.nan
            self.__dict__.pop("candidates_", None)  # of an earlier fit
        else:
            self._choose(plan, stops, validation)
        if self.rule == "lossless":
            self.plan_ = exits.lossless_exits(plan, self.every, self.k)
            return
        gates = exits.exit_gates(self.rule, self.threshold_, len(stops), self.k)
        self.plan_ = exits.with_gates(plan, stops, gates)

    def _choose(self, plan: Plan, stops: list[int], rows: Rows) -> None:
        """Evaluate every candidate threshold on one staged run over the validation set."""
        staged, metric, wanted = self._stage(plan, stops, rows), self._metric(), self.saving
        evaluate = partial(exits.saving_and_total, staged, rows, plan)
        if rows.outcomes is not None and self.metric is None:
            metric, wanted = get_metric("total_cost"), self.saving or 0.0
        else:
            if is_classifier(self.estimator):
                rows = replace(rows, y=class_codes(rows.y, self.classes_))
            evaluate = partial(exits.saving_and_metric, staged, rows, metric, self._ranks())
        self.candidates_ = exits.evaluate_thresholds(self.rule, staged, self.k, evaluate)
        better, tolerance = metric.greater_is_better, self.tolerance
        one = self.candidates_[exits.choose_threshold(self.candidates_, better, wanted, tolerance)]
        self.threshold_, self.saving_ = float(one.threshold), float(one.saving)

    def _stage(self, plan: Plan, stops: list[int], rows: Rows) -> exits.StagedScores:
        listwise = self.rule in exits.LISTWISE
        queries = Queries(check_queries(rows.qid, len(rows.y))) if listwise else None
        read = self.read_table(rows.X, reset=False, unknown="missing")
        return exits.StagedScores.of(plan, read.values, stops, queries, self.n_threads)

    @property
    def _chooses(self) -> bool:
        """Whether a threshold is chosen on a validation set."""
        return self.threshold is None and self.rule != "lossless"

    def _metric(self) -> Metric:
        default = "ndcg@5" if self._ranks() else "accuracy" if is_classifier(self.estimator) else "mse"
        return get_metric(self.metric or default)

    def _ranks(self) -> bool:
        """Whether predictions rank the documents of a query."""
        if is_classifier(self.estimator):
            return False
        return self.rule in (*exits.LISTWISE, "lossless") or not is_regressor(self.estimator)

    # -- answering -----------------------------------------------------------------------------------

    def score(
        self, X: Any, y: ArrayLike, sample_weight: ArrayLike | None = None, qid: ArrayLike | None = None
    ) -> float:
        """Evaluate the predictions: accuracy, R^2, or the metric of a ranking.

        Parameters
        ----------
        X : array-like or frame of shape (n, n_features)
            Rows to predict.
        y : array-like of shape (n,)
            True targets.
        sample_weight : array-like of shape (n,), optional
            Weight of each row.
        qid : array-like of shape (n,), optional
            Query of each row.

        Returns
        -------
        float
            Accuracy of a classifier, R^2 of a regressor, or `metric` of a ranking.
        """
        check_no_missing(y)
        answers = self.predict(X, qid=qid)
        if self._ranks():
            return self._metric()(y, answers, qid=qid, sample_weight=sample_weight)
        measure_by = accuracy_score if is_classifier(self.estimator) else r2_score
        return float(measure_by(y, answers, sample_weight=sample_weight))

    @property
    def n_threads(self) -> int | None:
        return threads_of(getattr(self.estimator_, "n_jobs", None))

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        inner = get_tags(self.estimator)
        tags.estimator_type = inner.estimator_type
        tags.classifier_tags = inner.classifier_tags
        if tags.classifier_tags is not None and self.rule not in ("confidence", "lossless"):
            tags.classifier_tags.multi_class = False
        tags.regressor_tags = inner.regressor_tags
        return tags
