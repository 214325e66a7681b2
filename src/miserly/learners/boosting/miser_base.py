"""Greedy Miser: stage-wise regression whose trees pay for the features they use.

Each round fits a tree ``h`` to the negative gradients ``r`` of the loss, minimising (Xu et al. 2012, eq. 5)

    1/2 sum_i (r_i - h(x_i))^2 + tradeoff * sum_a unpaid(a) cost(a) [h splits on a]

per unit of *mean* loss, and adds ``step * h`` to the scores. A feature that a tree has used is paid, and free
for all later trees. `tradeoff` is the paper's lambda divided by n, `step` its eta, and `tree_budget` its B_t.
"""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import replace
from functools import partial
from numbers import Integral, Real
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import _fit_context
from sklearn.callback import CallbackSupportMixin
from sklearn.utils import check_random_state
from sklearn.utils._param_validation import Interval

from miserly.costs import Costs, Ledger
from miserly.data.frames import NumericTable
from miserly.data.rows import Rows, hold_out
from miserly.data.target import Target
from miserly.errors import CostError, DataError
from miserly.grow import Bins, Grower, GrowOptions
from miserly.grow.options import MAX_DEPTH
from miserly.learners.base import bind_costs
from miserly.learners.base.arguments import NOT_NEGATIVE, categorical_columns, class_weight_of, constraints
from miserly.learners.base.calibration import UNCHANGED
from miserly.learners.base.kinds import StagedEstimator
from miserly.learners.base.outcomes import calibration_of, price_mistakes
from miserly.learners.base.row_training import row_training
from miserly.learners.common.booster import Booster, account_for, max_trees_of, reserve_of
from miserly.learners.common.progress import RoundsBar
from miserly.learners.common.round import Round, nodes_of, terms_of
from miserly.learners.common.training import ScoreEvaluator, Training, ValidationCurve
from miserly.losses import Loss
from miserly.metrics import get_metric
from miserly.plan import Plan

__all__ = ["GreedyMiser"]

PATIENCE = 20  # rounds without improvement, for early_stopping=True


class GreedyMiser(CallbackSupportMixin, StagedEstimator):
    """Base of the Greedy Miser estimators (Xu et al. 2012, algorithm 1).

    Subclasses define the encoding of the labels, the loss, and the default metric.
    """

    n_rounds_: int
    stopped_by_: str
    ledger_: Ledger
    validation_curve_: NDArray[np.float64]
    _rounds: list[Round]
    _start: Plan  # the plan before any round
    _seed: int

    default_metric: ClassVar[str]

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = constraints(
        *("costs", "tradeoff", "budget", "step", "n_rounds", "min_samples_leaf", "max_bins"),
        *(
            "categorical_features",
            "early_stopping",
            "validation_fraction",
            "metric",
            "random_state",
            "n_jobs",
        ),
        "verbose",
        tree_budget=[Interval(Real, 0, None, closed="both"), None],
        lookahead=["boolean"],
        max_depth=[Interval(Integral, 1, MAX_DEPTH, closed="both")],
        max_leaves=[Interval(Integral, 2, None, closed="left"), None],
        l2_regularization=[NOT_NEGATIVE],
        warm_start=["boolean"],
    )

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
        self.costs = costs
        self.tradeoff = tradeoff
        self.budget = budget
        self.tree_budget = tree_budget
        self.lookahead = lookahead
        self.step = step
        self.max_depth = max_depth
        self.n_rounds = n_rounds
        self.max_leaves = max_leaves
        self.min_samples_leaf = min_samples_leaf
        self.l2_regularization = l2_regularization
        self.max_bins = max_bins
        self.categorical_features = categorical_features
        self.early_stopping = early_stopping
        self.validation_fraction = validation_fraction
        self.metric = metric
        self.warm_start = warm_start
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose

    # -- defined by subclasses -----------------------------------------------------------------------

    _numeric_target: ClassVar[bool] = True
    _needs_queries: ClassVar[bool] = False

    def _targets(self, y: NDArray[Any], learn: bool) -> NDArray[np.float64]:
        """Labels as numbers for the loss. Without `learn`, only labels known from the first fit are valid."""
        return y

    @abstractmethod
    def _loss_for(self, samples: Rows) -> Loss:
        """The loss on some rows."""

    # -- fitting -------------------------------------------------------------------------------------

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
        *,
        known: Any = None,
        prices: Any = None,
        ordered: Any = None,
        never_ordered: str = "missing",
        outcome_costs: Any = None,
        calibrate: bool = True,
    ) -> Self:
        """Fit the model round by round.

        An interrupted fit (``KeyboardInterrupt``) keeps the rounds that are done.

        Parameters
        ----------
        X : array-like or frame of shape (n, n_features)
            Training rows. NaN is a missing value. Columns of a frame may hold text, categories or booleans.
        y : array-like of shape (n,)
            Targets: numbers for the regressor, classes for the classifier, and grades of relevance for the
            ranker.
        sample_weight : array-like of shape (n,), optional
            Weight of each row. By default every row has weight 1. Rows of weight 0 are left out.
        qid : array-like of shape (n,), optional
            Query of each row. The ranker needs it. Rows of one query (or one patient) go to the training set
            or to the validation set together. Metrics such as "ndcg@5" are computed for each query.
        X_val : array-like or frame of shape (n_val, n_features), optional
            Validation set. The model does not learn from it. Without it, and with `early_stopping`, a part
            `validation_fraction` of the training rows is the validation set.
        y_val : array-like of shape (n_val,), optional
            Targets of `X_val`.
        qid_val : array-like of shape (n_val,), optional
            Queries of `X_val`.
        sample_weight_val : array-like of shape (n_val,), optional
            Weights of `X_val`.
        known, prices : optional
            What each row has already, and what it pays, as for `run`. The model is trained at the mean price
            of each feature over the rows.
        ordered, never_ordered : optional
            Which features were ordered for which rows, and how rows count without them: see
            `ordering_weights`. By default all were ordered.
        outcome_costs : OutcomeCosts, mapping or array, optional
            What mistakes cost, for the classifier: rows are weighted by it, and the plan answers with the
            class or action of least expected cost.
        calibrate : bool, default=True
            With `outcome_costs`: whether the probabilities are calibrated first, by copies of the model that
            are fitted to four fifths of the rows: one, or five if there are at most 2,000 rows.

        Returns
        -------
        self : GreedyMiser
            The fitted estimator.
        """
        own = row_training(known, prices, ordered, never_ordered)
        if own is not None:
            rest = {"qid_val": qid_val, "sample_weight_val": sample_weight_val, "calibrate": calibrate}
            rest |= {"X_val": X_val, "y_val": y_val, "qid": qid, "outcome_costs": outcome_costs}
            return own.fit(self, X, y, sample_weight, **rest)
        priced = price_mistakes(self, X, y, sample_weight, outcome_costs)
        weight, by_class = sample_weight if priced is None else priced.weight, class_weight_of(self)
        given = Target(y, weight, qid, ranked=self._needs_queries, class_weight=by_class)
        given_val = Target(y_val, sample_weight_val, qid_val, ranked=self._needs_queries, suffix="_val")
        is_resumed = self.warm_start and hasattr(self, "plan_")
        if is_resumed and self.n_rounds < self.n_rounds_:
            raise DataError(
                f"n_rounds={self.n_rounds} is less than the {self.n_rounds_} rounds of the earlier fit; "
                "with warm_start=True, n_rounds counts all rounds"
            )
        table = self.read_table(X, reset=not is_resumed)
        samples = self._samples(table.values, given, learn=not is_resumed)
        given_val = replace(given_val, class_weight=given.weights_of_classes())
        if not is_resumed:
            self._seed = int(check_random_state(self.random_state).randint(2**31 - 1))
        learning, validation = self._divide(samples, X_val, given_val)
        training = self._prepare(learning, validation, table, is_resumed)
        try:
            self._boost(training, X, y)
        except KeyboardInterrupt:
            training.stopped_by = "interrupt"
            self._keep(training)
            raise
        self._keep(training)
        if priced is not None:
            priced.decide(self, calibration_of(self, priced, X, y, qid) if calibrate else UNCHANGED)
        return self

    def _samples(self, values: NDArray[Any], given: Target, learn: bool) -> Rows:
        """Checked rows. Rows of weight 0 are dropped before classes are learned."""
        samples = given.checked(values, self, self._numeric_target).without_zero_weights()
        return replace(samples, y=self._targets(samples.y, learn)).with_mean_weight_one()

    def _divide(self, samples: Rows, X_val: Any, given: Target) -> tuple[Rows, Rows | None]:
        """The training rows, and the validation set if there is one."""
        if X_val is not None:
            rows = self.read_table(X_val, reset=False, unknown="missing").values
            return samples, self._samples(rows, given, learn=False)
        if not self.early_stopping:
            return samples, None
        classes = None if self._numeric_target else samples.y
        return hold_out(samples, self.validation_fraction, self._seed, classes)

    def _prepare(
        self, learning: Rows, validation: Rows | None, table: NumericTable, is_resumed: bool
    ) -> Training:
        """Bins, ledger and scores, from the start or from the end of the last fit."""
        costs = bind_costs(self.costs, table.names or self.n_features_in_)
        loss = self._loss_for(learning)
        rounds = self._earlier_rounds(costs) if is_resumed else []
        if not is_resumed:
            self._start = Plan(
                costs=costs,
                terms=(),
                nodes=(),
                base=loss.initial(learning.y, learning.weight),
                link=loss.link,
                classes=self.plan_classes(),
                categories=self.categories_,
                info={"learner": type(self).__name__},
            )
        ledger = Ledger(costs, self.budget)
        booster = Booster(
            loss=loss,
            samples=replace(learning, X=learning.X[:0]),
            grower=self._grower(learning.X, table, costs),
            ledger=ledger,
            scores=self._scores_so_far(learning.X, rounds),
            tradeoff=self.tradeoff,
            step=self.step,
            n_trees=account_for(ledger, rounds),
            max_trees=max_trees_of(self.tree_budget, costs),
            reserve=reserve_of(self.budget, self.tree_budget, self.n_rounds * loss.n_scores, costs),
            lookahead=bool(self.lookahead),
            paid_first=ledger.budget < costs.total or bool((costs.feature == 0.0).any()),
            all_trees=self.n_rounds * loss.n_scores,
        )
        return Training(booster, self._validation_curve(validation, rounds), self._patience, rounds)

    def _earlier_rounds(self, costs: Costs) -> list[Round]:
        """The rounds of the last fit, if the costs are still the same."""
        if costs != self.plan_.costs:
            raise CostError("a warm start needs the costs of the earlier fit, but `costs` has changed")
        return list(self._rounds)

    def _grower(self, X: NDArray[Any], table: NumericTable, costs: Costs) -> Grower:
        options = GrowOptions(
            max_depth=self.max_depth,
            max_leaves=self.max_leaves,
            min_samples_leaf=self.min_samples_leaf,
            l2=self.l2_regularization,
        )
        categorical = categorical_columns(self.categorical_features, table, self.n_features_in_)
        bins = Bins.fit(X, max_bins=self.max_bins, categorical=categorical, random_state=self._seed)
        return Grower(bins.transform(X, n_threads=self.n_threads), costs, options, n_threads=self.n_threads)

    def _scores_so_far(self, X: NDArray[Any], rounds: list[Round]) -> NDArray[np.float64]:
        """Scores of the training rows, in column-major order because trees are fitted to columns."""
        if not rounds:
            return np.asfortranarray(np.tile(self._start.base, (len(X), 1)))
        done = self._plan_of(rounds).run(X, n_threads=self.n_threads, account=False, encoded=True)
        return np.asfortranarray(done.scores.reshape(len(X), -1))

    def _validation_curve(self, validation: Rows | None, rounds: list[Round]) -> ValidationCurve | None:
        if validation is None:
            return None
        metric = get_metric(self.metric or self.default_metric)
        evaluator = ScoreEvaluator(metric, self._loss_for(validation), validation)
        curve = ValidationCurve(evaluator, self._start.base, self._start.costs, self.n_threads)
        for one in rounds:
            curve.add(one)
        return curve

    @property
    def _patience(self) -> int | None:
        if self.early_stopping is True:
            return PATIENCE
        return int(self.early_stopping) or None

    def _boost(self, training: Training, X: Any, y: Any) -> None:
        """Run the rounds: one at a time if callbacks want to see each, else in blocks."""
        costs = self._start.costs
        fit = self._init_callback_context(max_subtasks=self.n_rounds - len(training.rounds))
        fit.call_on_fit_task_begin(estimator=self, X=X, y=y)
        has_callbacks = bool(getattr(self, "_skl_callbacks", ()))
        with RoundsBar(self.n_rounds, costs.unit, visible=bool(self.verbose)) as bar:
            left = self.n_rounds - len(training.rounds)
            while left > 0:
                goes_on = self._round_for(fit, training, X, y) if has_callbacks else training.advance(left)
                bar.show(len(training.rounds), training.booster.ledger.spent, training.status())
                left = self.n_rounds - len(training.rounds) if goes_on else 0
        fit.call_on_fit_task_end(
            estimator=self,
            X=X,
            y=y,
            reconstruction_attributes=lambda: {"plan_": self._plan_of(training.kept)},
        )

    def _round_for(self, fit: Any, training: Training, X: Any, y: Any) -> bool:
        """Run one round as a task of callbacks. Returns whether to go on."""
        task = fit.subcontext(task_name="round")
        task.call_on_fit_task_begin(estimator=self, X=X, y=y)
        goes_on = training.advance()
        fitted = partial(self._fitted_attributes, training)
        if task.call_on_fit_task_end(estimator=self, X=X, y=y, reconstruction_attributes=fitted):
            goes_on, training.stopped_by = False, "callback"
        return goes_on

    def _fitted_attributes(self, training: Training) -> dict[str, Any]:
        return {"plan_": self._plan_of(training.rounds)}

    # -- fitted attributes ---------------------------------------------------------------------------

    def _keep(self, training: Training) -> None:
        self._rounds = training.kept
        self.plan_ = self._plan_of(self._rounds)
        self.n_rounds_ = len(self._rounds)
        self.stopped_by_ = training.stopped_by
        self.ledger_ = Ledger(self.plan_.costs, self.budget)
        account_for(self.ledger_, self._rounds)
        if training.validation is not None:
            self.validation_curve_ = np.array(training.validation.values)
        elif hasattr(self, "validation_curve_"):
            del self.validation_curve_

    def _plan_of(self, rounds: list[Round]) -> Plan:
        return self._start.replace(terms=terms_of(rounds), nodes=nodes_of(rounds))

    @property
    def feature_importances_(self) -> NDArray[np.float64]:
        """Share of each feature in the reduction of the training loss; the shares sum to 1."""
        gain = np.sum([np.zeros(self.n_features_in_), *(one.gain for one in self._rounds)], axis=0)
        return np.asarray(gain / gain.sum() if gain.any() else gain)
