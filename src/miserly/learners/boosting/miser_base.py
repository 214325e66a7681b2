"""What the three Greedy Misers share: the fit, what it leaves behind, and looking at it stage by stage."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator, Mapping
from dataclasses import replace
from numbers import Integral, Real
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from sklearn.callback import CallbackSupportMixin
from sklearn.utils import check_random_state
from sklearn.utils._param_validation import Interval, StrOptions

from miserly.costs import Costs, Ledger
from miserly.data.frames import Table
from miserly.errors import CostError, DataError
from miserly.grow import Bins, Grower, GrowOptions
from miserly.grow.binning import MAX_BINS
from miserly.grow.grower import MAX_DEPTH
from miserly.learners.base import PlanEstimator, bind_costs
from miserly.learners.common.booster import Booster, account_for, max_trees_of, reserve_of
from miserly.learners.common.categories import categorical_columns
from miserly.learners.common.chain import Round, nodes_of, terms_of
from miserly.learners.common.progress import RoundsBar
from miserly.learners.common.samples import Given, Samples, set_aside
from miserly.learners.common.training import Judge, Training, Watch
from miserly.losses import Loss
from miserly.metrics import Metric, get_metric
from miserly.plan import Plan
from miserly.plan.engine.staged import Stage

__all__ = ["GreedyMiser"]

_ONE_OR_MORE = Interval(Integral, 1, None, closed="left")
PATIENCE = 20  # rounds without getting better, for early_stopping=True


class GreedyMiser(CallbackSupportMixin, PlanEstimator):
    """Stage-wise regression that pays for features (Xu et al. 2012, algorithm 1).

    Subclasses say what the labels mean: how to encode them, which loss, which metric.
    """

    n_rounds_: int
    stopped_by_: str
    ledger_: Ledger
    validation_curve_: NDArray[np.float64]
    _rounds: list[Round]
    _start: Plan  # the plan before any round
    _seed: int

    default_metric: ClassVar[str]

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "costs": [None, Costs, Mapping, "array-like"],
        "tradeoff": [Interval(Real, 0, None, closed="left")],
        "budget": [Interval(Real, 0, None, closed="both"), None],
        "tree_budget": [Interval(Real, 0, None, closed="both"), None],
        "lookahead": ["boolean"],
        "step": [Interval(Real, 0, None, closed="neither")],
        "max_depth": [Interval(Integral, 1, MAX_DEPTH, closed="both")],
        "n_rounds": [_ONE_OR_MORE],
        "max_leaves": [Interval(Integral, 2, None, closed="left"), None],
        "min_samples_leaf": [_ONE_OR_MORE],
        "l2_regularization": [Interval(Real, 0, None, closed="left")],
        "max_bins": [Interval(Integral, 2, MAX_BINS, closed="both")],
        "categorical_features": [StrOptions({"from_dtype"}), "array-like", None],
        "early_stopping": ["boolean", _ONE_OR_MORE],
        "validation_fraction": [Interval(Real, 0, 1, closed="neither")],
        "metric": [str, Metric, None],
        "warm_start": ["boolean"],
        "random_state": ["random_state"],
        "n_jobs": [_ONE_OR_MORE, Interval(Integral, None, -1, closed="right"), None],
        "verbose": ["verbose"],
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

    # -- what subclasses say -------------------------------------------------------------------------

    _numeric_target: ClassVar[bool] = True

    def _encode(self, y: NDArray[Any], learn: bool) -> NDArray[np.float64]:
        """Labels as the loss wants them; `learn` what they may be, or hold them to what was learned."""
        return y

    @abstractmethod
    def _loss_for(self, samples: Samples) -> Loss:
        """The loss on some rows."""

    # -- fitting -------------------------------------------------------------------------------------

    def _fit(self, X: Any, given: Given, validation: tuple[Any, Given]) -> None:
        """Read, split, boost, and keep what came out; an interrupted fit keeps the rounds done."""
        going_on = self.warm_start and hasattr(self, "plan_")
        if going_on and self.n_rounds < self.n_rounds_:
            raise DataError(f"n_rounds={self.n_rounds}, but {self.n_rounds_} rounds are done already")
        table = self._read(X, reset=not going_on)
        samples = self._samples(table.values, given, learn=not going_on)
        if not going_on:
            self._seed = int(check_random_state(self.random_state).randint(2**31 - 1))
        learning, judging = self._divide(samples, *validation)
        training = self._prepare(learning, judging, table, going_on)
        try:
            self._boost(training, X, given.y)
        except KeyboardInterrupt:
            training.stopped_by = "interrupt"
            self._keep(training)
            raise
        self._keep(training)

    def _samples(self, values: NDArray[Any], given: Given, learn: bool) -> Samples:
        """Checked rows that count; labels are learned only after rows of no weight are gone."""
        samples = given.checked(values, self, self._numeric_target).without_zero_weights()
        return replace(samples, y=self._encode(samples.y, learn)).with_mean_weight_one()

    def _divide(self, samples: Samples, X_val: Any, given: Given) -> tuple[Samples, Samples | None]:
        """The rows to learn from, and those to judge by if there are any."""
        if X_val is not None:
            return samples, self._samples(
                self._read(X_val, reset=False, unknown="missing").values, given, learn=False
            )
        if not self.early_stopping:
            return samples, None
        classes = None if self._numeric_target else samples.y
        return set_aside(samples, self.validation_fraction, self._seed, classes)

    def _prepare(self, learning: Samples, judging: Samples | None, table: Table, going_on: bool) -> Training:
        """Bins, ledger and scores, from the start or from where the last fit ended."""
        costs = bind_costs(self.costs, self.n_features_in_ if table.names is None else table.names)
        loss = self._loss_for(learning)
        rounds = self._take_up(costs) if going_on else []
        if not going_on:
            self._start = Plan(
                costs=costs,
                terms=(),
                nodes=(),
                base=loss.initial(learning.y, learning.weight),
                link=loss.link,
                classes=self._plan_classes(),
                categories=self._categories,
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
            paid_first=ledger.budget < costs.total,
            all_trees=self.n_rounds * loss.n_scores,
        )
        return Training(booster, self._watch(judging, rounds), self._patience, rounds)

    def _take_up(self, costs: Costs) -> list[Round]:
        """The rounds of the last fit, if the costs are still the same."""
        if costs != self.plan_.costs:
            raise CostError("a warm start goes on with the costs it began with; these are others")
        return list(self._rounds)

    def _grower(self, X: NDArray[Any], table: Table, costs: Costs) -> Grower:
        options = GrowOptions(
            max_depth=self.max_depth,
            max_leaves=self.max_leaves,
            min_samples_leaf=self.min_samples_leaf,
            l2=self.l2_regularization,
        )
        categorical = categorical_columns(self.categorical_features, table, self.n_features_in_)
        bins = Bins.fit(X, max_bins=self.max_bins, categorical=categorical, random_state=self._seed)
        return Grower(bins.transform(X, n_threads=self._threads), costs, options, n_threads=self._threads)

    def _scores_so_far(self, X: NDArray[Any], rounds: list[Round]) -> NDArray[np.float64]:
        """Scores of the training rows, column after column in memory, as trees are fitted to columns."""
        if not rounds:
            return np.asfortranarray(np.tile(self._start.base, (len(X), 1)))
        done = self._plan_of(rounds).run(X, n_threads=self._threads, account=False, encoded=True)
        return np.asfortranarray(done.scores.reshape(len(X), -1))

    def _watch(self, judging: Samples | None, rounds: list[Round]) -> Watch | None:
        if judging is None:
            return None
        judge = Judge(get_metric(self.metric or self.default_metric), self._loss_for(judging), judging)
        watch = Watch(judge, self._start.base, self._start.costs, self._threads)
        for one in rounds:
            watch.see(one)
        return watch

    @property
    def _patience(self) -> int | None:
        if self.early_stopping is True:
            return PATIENCE
        return int(self.early_stopping) or None

    def _boost(self, training: Training, X: Any, y: Any) -> None:
        """Round after round, telling callbacks and the progress bar."""
        costs = self._start.costs
        fit = self._init_callback_context(max_subtasks=self.n_rounds - len(training.rounds))
        fit.call_on_fit_task_begin(estimator=self, X=X, y=y)
        with RoundsBar(self.n_rounds, costs.unit, visible=bool(self.verbose)) as bar:
            going = len(training.rounds) < self.n_rounds
            while going:
                task = fit.subcontext(task_name="round")
                task.call_on_fit_task_begin(estimator=self, X=X, y=y)
                going = training.advance() and len(training.rounds) < self.n_rounds
                bar.show(len(training.rounds), training.booster.ledger.spent, training.standing())
                if task.call_on_fit_task_end(
                    estimator=self,
                    X=X,
                    y=y,
                    reconstruction_attributes=lambda: {"plan_": self._plan_of(training.rounds)},
                ):
                    going, training.stopped_by = False, "callback"
        fit.call_on_fit_task_end(
            estimator=self,
            X=X,
            y=y,
            reconstruction_attributes=lambda: {"plan_": self._plan_of(training.kept)},
        )

    # -- what is left behind -------------------------------------------------------------------------

    def _keep(self, training: Training) -> None:
        self._rounds = training.kept
        self.plan_ = self._plan_of(self._rounds)
        self.n_rounds_ = len(self._rounds)
        self.stopped_by_ = training.stopped_by
        self.ledger_ = Ledger(self.plan_.costs, self.budget)
        account_for(self.ledger_, self._rounds)
        if training.watch is not None:
            self.validation_curve_ = np.array(training.watch.curve)
        elif hasattr(self, "validation_curve_"):
            del self.validation_curve_

    def _plan_of(self, rounds: list[Round]) -> Plan:
        return self._start.replace(terms=terms_of(rounds), nodes=nodes_of(rounds))

    @property
    def feature_importances_(self) -> NDArray[np.float64]:
        """How much of the fall of the loss is due to each feature's splits; sums to 1."""
        gain = np.sum([np.zeros(self.n_features_in_), *(one.gain for one in self._rounds)], axis=0)
        return np.asarray(gain / gain.sum() if gain.any() else gain)

    # -- stage by stage ------------------------------------------------------------------------------

    def staged_run(self, X: Any, count: str = "path") -> Iterator[Stage]:
        """Scores, features acquired and cost of every row after each round."""
        yield from self._stages(X, account=True, count=count)

    def staged_predict(self, X: Any) -> Iterator[NDArray[Any]]:
        """The answers after each round."""
        for stage in self._stages(X):
            yield self._labels(stage.scores)

    def _stages(self, X: Any, account: bool = False, count: str = "path") -> Iterator[Stage]:
        rows = self._rows(X)
        return self.plan_.run_staged(
            rows, count=count, account=account, n_threads=self._threads, encoded=True
        )
