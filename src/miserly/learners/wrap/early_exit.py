"""Early Exit: let examples leave a boosted model before its end (Cambazoglu et al. 2010).

Exit points stand every so many rounds of an additive chain. In classification an example leaves once it is
sure enough; in ranking a document leaves once it is too far behind the others of its query. The threshold is
given, or chosen on validation data: for a wanted saving, or for the most that can be saved without loss.
"""

from __future__ import annotations

import warnings
from dataclasses import replace
from numbers import Integral, Real
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import MetaEstimatorMixin, _fit_context, clone, is_classifier, is_regressor
from sklearn.callback import CallbackSupportMixin
from sklearn.frozen import FrozenEstimator
from sklearn.metrics import accuracy_score, r2_score
from sklearn.utils import check_random_state, get_tags
from sklearn.utils._param_validation import HasMethods, Interval, StrOptions
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import has_fit_parameter

from miserly.data.frames import is_frame
from miserly.data.holdout import validation_mask, without_new_categories
from miserly.data.rows import Rows
from miserly.data.target import check_classes, check_queries, check_target, check_weight
from miserly.errors import DataError, PlanError
from miserly.learners.base import PlanEstimator, as_columns, decision_of, threads_of
from miserly.learners.common.training import measure
from miserly.learners.wrap.exits import (
    LISTWISE,
    RULES,
    Staged,
    candidate_thresholds,
    check_threshold,
    exit_gates,
    leave,
)
from miserly.metrics import Metric, Queries, get_metric
from miserly.plan import LEAVE, Plan, links
from miserly.plan.engine.ranking import ranked, settle
from miserly.plan.gates import Gate

__all__ = ["EarlyExit"]


def _classifies(learner: Any) -> bool:
    return is_classifier(learner.estimator)


def _gives_probabilities(learner: Any) -> bool:
    return hasattr(learner.estimator, "predict_proba")


class EarlyExit(CallbackSupportMixin, MetaEstimatorMixin, PlanEstimator):
    """Exits along any additive model: `EarlyExit(GreedyMiserClassifier(...))` is Miser with Early Exit.

    Parameters
    ----------
    estimator : estimator with an additive plan
        Fitted here, unless `prefit` or frozen (scikit-learn's `FrozenEstimator`).
    rule : {"confidence", "proximity", "score", "rank", "capacity"}, default="confidence"
        Who leaves at an exit: whoever's most probable class has at least probability `threshold`;
        documents more than ``threshold (E - i) / (E - 1)`` below the `k`-th best of their query at exit `i`
        of E; scores of at most `threshold`; all but the best `threshold` documents of a query; all but a
        share of them that falls evenly to `threshold` at the last exit. Proximity, rank and capacity need
        `qid` when predicting.
    threshold : float, optional
        If given, nothing is chosen, and all rows are learned from.
    saving : float in [0, 1), optional
        The fraction of the mean cost to save. Of all thresholds that reach it on validation data, the one
        with the best metric is taken. Without `threshold` and `saving`, the one that saves most while the
        metric on validation data is not worse than without exits.
    every : int, default=10
        Rounds between exits.
    k : int, default=5
        Whose score the rule "proximity" compares with.
    validation_fraction : float, default=0.2
        How much is set aside to choose the threshold by; whole queries, or the same share of every class.
    prefit : bool, default=False
        Take `estimator` as it is, and choose the threshold on all rows given to `fit`.
    metric : str or Metric, optional
        accuracy, ndcg@5 or mse by default.
    random_state : int, RandomState or None

    Attributes
    ----------
    plan_ : Plan
    estimator_ : the fitted estimator
    threshold_ : float
        Infinite if no exit is worth having: then there are none.
    saving_ : float
        The fraction of the mean cost saved on validation data; NaN if there was none.
    candidates_ : record array
        `threshold`, `saving` and `metric` of everything that was tried.

    Examples
    --------
    >>> import numpy as np
    >>> from miserly.learners import EarlyExit, GreedyMiserClassifier
    >>> x = np.random.default_rng(0).normal(size=(2000, 5))
    >>> y = x @ [3.0, 1.0, 0.3, 0.1, 0.0] > 0
    >>> model = EarlyExit(GreedyMiserClassifier(costs=[1, 2, 4, 8, 16]), saving=0.5, random_state=0).fit(x, y)
    >>> full = model.estimator_.run(x).cost.mean()
    >>> bool(model.run(x).cost.mean() < 0.6 * full), bool(model.score(x, y) > 0.9)
    (True, True)
    """

    threshold_: float
    saving_: float
    candidates_: Any
    estimator_: Any

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "estimator": [HasMethods(["fit", "predict"])],
        "rule": [StrOptions(set(RULES))],
        "threshold": [Real, None],
        "saving": [Interval(Real, 0, 1, closed="left"), None],
        "every": [Interval(Integral, 1, None, closed="left")],
        "k": [Interval(Integral, 1, None, closed="left")],
        "validation_fraction": [Interval(Real, 0, 1, closed="neither")],
        "prefit": ["boolean"],
        "metric": [str, Metric, None],
        "random_state": ["random_state"],
    }

    def __init__(
        self,
        estimator: Any,
        *,
        rule: str = "confidence",
        threshold: float | None = None,
        saving: float | None = None,
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
    ) -> EarlyExit:
        """Fit the estimator (unless it is fitted), choose the threshold, and put the exits in its plan."""
        if self.threshold is not None and self.saving is not None:
            raise DataError("give a threshold or a saving, not both")
        rows = self._check(X, y, sample_weight, qid)
        if self.prefit or isinstance(self.estimator, FrozenEstimator):
            self.estimator_ = getattr(self.estimator, "estimator", self.estimator)
            judging = None if self.threshold is not None else rows
        else:
            learning, judging = self._divide(rows)
            self._fit_estimator(learning)
        self._take_over()
        self._place_exits(judging)
        return self

    def _check(self, X: Any, y: Any, weight: Any, qid: Any) -> Rows:
        """Rows that count; frames are left for the estimator to read."""
        values = self.read_table(X, reset=True).values
        labels = check_target(y, values, self, numeric=False)
        if is_classifier(self.estimator):
            check_classes(labels)
        queries = None if qid is None else check_queries(qid, len(labels))
        table = X if is_frame(X) else values
        rows = Rows(table, labels, weight=check_weight(weight, values), qid=queries)
        return rows.without_zero_weights()

    def _divide(self, rows: Rows) -> tuple[Rows, Rows | None]:
        """The rows to learn from and those to choose the threshold by, if it must be chosen."""
        if self.threshold is not None:
            return rows, None
        seed = int(check_random_state(self.random_state).randint(2**31 - 1))
        classes = rows.y if is_classifier(self.estimator) else None
        aside = validation_mask(len(rows.y), self.validation_fraction, seed, classes, rows.qid)
        aside = without_new_categories(rows.X, aside, rows.qid)
        return rows.take(~aside), rows.take(aside)

    def _fit_estimator(self, rows: Rows) -> None:
        """Fit a clone; callbacks set here reach it."""
        self.estimator_ = clone(self.estimator)
        given: dict[str, Any] = {}
        if rows.weight is not None:
            if not has_fit_parameter(self.estimator_, "sample_weight"):
                raise DataError(f"{type(self.estimator_).__name__} takes no sample_weight")
            given["sample_weight"] = rows.weight
        if rows.qid is not None and has_fit_parameter(self.estimator_, "qid"):
            given["qid"] = rows.qid
        fit = self._init_callback_context(max_subtasks=1)
        fit.call_on_fit_task_begin(estimator=self, X=rows.X, y=rows.y)
        task = fit.subcontext(task_name="fit estimator")
        with task.propagate_callback_context(self.estimator_):
            task.call_on_fit_task_begin(estimator=self, X=rows.X, y=rows.y)
            self.estimator_.fit(rows.X, rows.y, **given)
            task.call_on_fit_task_end(estimator=self, X=rows.X, y=rows.y)
        fit.call_on_fit_task_end(estimator=self, X=rows.X, y=rows.y)

    def _take_over(self) -> None:
        """What the fitted estimator knows of its columns and classes, after a look at whether it will do."""
        name = type(self.estimator_).__name__
        plan = getattr(self.estimator_, "plan_", None)
        if not isinstance(plan, Plan):
            raise DataError(f"{name} has no plan_: exits can be put into fitted learners of miserly only")
        if not plan.can_stage:
            raise PlanError(f"the plan of {name} is not an additive chain, so it has no place for exits")
        if self.rule == "confidence" and plan.link not in ("logistic", "softmax"):
            raise DataError(f"rule='confidence' needs class probabilities, which {name} does not have")
        if self.rule != "confidence" and plan.n_scores > 1:
            raise DataError(
                f"rule={self.rule!r} needs one score per row, and {name} has {plan.n_scores}. "
                "Only binary classification is supported with it"
            )
        self.copy_columns(self.estimator_)

    # -- the threshold -------------------------------------------------------------------------------

    def _place_exits(self, judging: Rows | None) -> None:
        plan = self.estimator_.plan_
        stops = list(range(self.every, len(plan.nodes), self.every))
        if judging is None:
            assert self.threshold is not None
            self.threshold_, self.saving_ = check_threshold(self.rule, self.threshold), np.nan
            self.__dict__.pop("candidates_", None)  # of an earlier fit
        else:
            self._choose(plan, stops, judging)
        self.plan_ = _with_gates(plan, stops, exit_gates(self.rule, self.threshold_, len(stops), self.k))

    def _choose(self, plan: Plan, stops: list[int], rows: Rows) -> None:
        """Try every candidate on one staged run over the validation rows."""
        staged = self._stage(plan, stops, rows)
        thresholds = candidate_thresholds(self.rule, staged, self.k) if stops else [np.inf]
        judged: dict[bytes, tuple[float, float]] = {}  # many thresholds come to the same
        tried = []
        for threshold in thresholds:
            exits = leave(staged, exit_gates(self.rule, threshold, staged.n_exits, self.k))
            key = exits.tobytes()
            if key not in judged:
                judged[key] = self._judge(plan.link, staged, exits, rows)
            tried.append((threshold, *judged[key]))
        fields = [("threshold", float), ("saving", float), ("metric", float)]
        self.candidates_ = np.array(tried, dtype=fields).view(np.recarray)
        chosen = self._pick(self.candidates_.saving, self.candidates_.metric)
        self.threshold_ = float(self.candidates_.threshold[chosen])
        self.saving_ = float(self.candidates_.saving[chosen])

    def _stage(self, plan: Plan, stops: list[int], rows: Rows) -> Staged:
        queries = None
        if self.rule in LISTWISE:
            queries = Queries(check_queries(rows.qid, len(rows.y)))
        read = self.read_table(rows.X, reset=False, unknown="missing").values
        met = list(plan.run_staged(read, [*stops, len(plan.nodes)], n_threads=self.n_threads, encoded=True))
        return Staged(
            np.array([stage.scores for stage in met]),
            np.array([stage.cost for stage in met]),
            plan.link,
            queries,
        )

    def _judge(self, link: str, staged: Staged, exits: NDArray[np.int64], rows: Rows) -> tuple[float, float]:
        """The saving and the metric on the validation rows if they leave at these exits."""
        scores, cost = staged.at(exits)
        if self._ranks() and rows.qid is not None:
            scores = settle(scores[:, 0], exits, rows.qid)[:, None]
        full = float(np.average(staged.cost[-1], weights=rows.weight))
        paid = float(np.average(cost, weights=rows.weight))
        y = rows.y if not is_classifier(self.estimator_) else _codes(rows.y, self.classes_)
        value = measure(self._metric(), link, scores, y, rows.qid, rows.weight)
        return (1.0 - paid / full if full > 0 else 0.0), value

    def _pick(self, saving: NDArray[np.float64], metric: NDArray[np.float64]) -> int:
        """The best metric among those that save enough; or the most saved with a metric like the full run's.

        The last candidate is the full run.
        """
        better = metric if self._metric().greater_is_better else -metric
        if self.saving is None:
            return int(np.lexsort((better, saving, better >= better[-1]))[-1])
        enough = saving >= self.saving
        if not enough.any():
            warnings.warn(
                f"exits every {self.every} rounds save at most {saving.max():.1%}, not {self.saving:.1%}",
                stacklevel=6,  # the caller of fit
            )
            return int(np.lexsort((better, saving))[-1])
        return int(np.lexsort((saving, better, enough))[-1])

    def _metric(self) -> Metric:
        default = "ndcg@5" if self._ranks() else "accuracy" if is_classifier(self.estimator) else "mse"
        return get_metric(self.metric or default)

    def _ranks(self) -> bool:
        """Whether answers order the documents of a query."""
        if is_classifier(self.estimator):
            return False
        return self.rule in LISTWISE or not is_regressor(self.estimator)

    # -- answering -----------------------------------------------------------------------------------

    def predict(
        self, X: Any, budget: float | None = None, qid: ArrayLike | None = None, *, unknown: str = "error"
    ) -> NDArray[Any]:
        """The answer for every row; for documents, scores that rank those who were sent away below."""
        done = self.plan_for(qid).run(
            self.read_rows(X, unknown),
            budget=budget,
            qid=qid,
            n_threads=self.n_threads,
            account=False,
            encoded=True,
        )
        return self.labels_from(as_columns(ranked(done, qid)))

    @available_if(_classifies)
    def decision_function(
        self, X: Any, budget: float | None = None, qid: ArrayLike | None = None, *, unknown: str = "error"
    ) -> NDArray[np.float64]:
        """Scores before the link, where each row left."""
        return decision_of(self.raw_scores(X, budget, qid, unknown), len(self.classes_))

    @available_if(_gives_probabilities)
    def predict_proba(
        self, X: Any, budget: float | None = None, qid: ArrayLike | None = None, *, unknown: str = "error"
    ) -> NDArray[np.float64]:
        """Class probabilities, where each row left."""
        return links.probabilities(self.fitted_plan().link, self.raw_scores(X, budget, qid, unknown))

    def score(
        self, X: Any, y: ArrayLike, sample_weight: ArrayLike | None = None, qid: ArrayLike | None = None
    ) -> float:
        """Accuracy, R^2, or the metric of a ranking."""
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
        if tags.classifier_tags is not None and self.rule != "confidence":
            tags.classifier_tags.multi_class = False
        tags.regressor_tags = inner.regressor_tags
        return tags


def _with_gates(plan: Plan, stops: list[int], gates: list[Gate]) -> Plan:
    """The chain with gates after so many nodes, where those who go low leave."""
    nodes = list(plan.nodes)
    for stop, gate in zip(stops, gates, strict=False):  # no gates at all where nobody is to leave
        nodes[stop - 1] = replace(nodes[stop - 1], gate=gate, low=LEAVE)
    return plan.replace(nodes=nodes, info={**plan.info, "early_exit": True})


def _codes(y: NDArray[Any], classes: NDArray[Any]) -> NDArray[np.int64]:
    codes = np.minimum(np.searchsorted(classes, y), len(classes) - 1)
    if (classes[codes] != y).any():
        unknown = y[classes[codes] != y].tolist()[0]
        raise DataError(f"class {unknown!r} is not among those the estimator was fitted to")
    return codes
