"""One estimator for a budget: fitting it searches a frontier and keeps the best model for the budget."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.metrics import accuracy_score, r2_score
from sklearn.utils import ClassifierTags, RegressorTags
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from miserly.data.frames import is_frame
from miserly.data.target import check_classes, check_no_missing, check_queries, check_target
from miserly.data.tasks import TASKS, Task, read_task, task_of_metric
from miserly.learners.base import PlanEstimator
from miserly.learners.base.arguments import encode_classes
from miserly.metrics import get_metric
from miserly.plan.engine.batch import Run
from miserly.selection.frontier import frontier
from miserly.selection.requests import Request

__all__ = ["BudgetedEstimator"]


def _answers_with(method: str) -> Callable[[Any], bool]:
    """Whether the chosen model has a method; before `fit`, whether it may be a classifier."""

    def has(self: Any) -> bool:
        if hasattr(self, "best_estimator_"):
            return hasattr(self.best_estimator_, method)
        return self._known_task() in (None, "classes")

    return has


class BudgetedEstimator(PlanEstimator):
    """The best model for a budget, from any of several learners.

    `fit` searches over the learners (see `frontier`) and chooses the best model for the budget (see
    `Frontier.best`), which then makes all predictions.

    Parameters
    ----------
    budget : float, optional
        A cap in the unit of `costs`: no row ever pays more. None is no limit.
    mean_budget : float, optional
        What a row may cost on average. None is no limit.
    metric : str or Metric, optional
        Accuracy, mse or ndcg@5 by default; with outcome costs the total cost of tests and mistakes.
    outcome_costs : OutcomeCosts, mapping or matrix, optional
        What mistakes cost, for classes, as for `frontier`.
    costs : Costs, mapping or array, optional
        The costs of the features, as for learners. Each feature costs 1 by default.
    learners : "auto", estimator or list of estimators, default="auto"
        The learners to try; "auto" takes all that suit the labels.
    task : {"auto", "classes", "numbers", "ranking"}, default="auto"
        What the labels are; "auto" decides as `frontier` does. Before `fit` there are no labels. With "auto"
        and no metric, scikit-learn then cannot tell that this is a classifier, and `cross_val_score` does not
        stratify. Set the task in this case.
    confidence : float, optional
        The confidence of the guarantee that new rows keep `mean_budget` (and `max_loss`). With a confidence,
        a fifth of the rows is kept for the guarantee. Without one, all rows are used for training.
    max_loss : float, optional
        The cheapest model is chosen whose metric is at most this much worse than that of the best model at
        any cost.
    max_fits : int, default=40
        The total number of hyperparameter values that are tried.
    time_limit : float, optional
        Seconds after which no fit is started.
    cv : int, splitter, pair of row numbers or list of such pairs, optional
        How rows are held out, as for `frontier`.
    n_jobs : int, optional
        The number of processes that fit models.
    random_state : int, RandomState or None, optional
        Random seed of splits and learners.

    Attributes
    ----------
    best_estimator_ : estimator
        The chosen model.
    guarantee_ : tuple of Guarantee
        Its guarantees, with the evidence from the guarantee rows. Empty if nothing is guaranteed.
    plan_ : Plan
        Its plan, which is what runs.
    frontier_ : Frontier
        All models, for other budgets.
    task_ : {"classes", "numbers", "ranking"}
        What the labels are.
    classes_ : array of shape (n_classes,)
        The classes, for classification.

    Notes
    -----
    The model maximises the metric on held-out rows subject to the budget; with `max_loss` it minimises the
    mean cost subject to the loss. With `sample_weight` fits, metric and mean costs are weighted; guarantees
    of means are then refused, because they hold for unweighted rows only.

    Examples
    --------
    >>> from miserly import CostLassoClassifier, GreedyMiserClassifier
    >>> from miserly.datasets import load_heart
    >>> heart = load_heart()
    >>> learners = [CostLassoClassifier(), GreedyMiserClassifier(n_rounds=20, max_depth=2)]
    >>> model = BudgetedEstimator(30, costs=heart.costs, learners=learners, max_fits=12, random_state=0)
    >>> model = model.fit(heart.X, heart.y)
    >>> bool(model.run(heart.X).cost.max() <= 30), bool(model.score(heart.X, heart.y) > 0.75)
    (True, True)
    """

    def __init__(
        self,
        budget: float | None = None,
        *,
        mean_budget: float | None = None,
        metric: Any = None,
        outcome_costs: Any = None,
        costs: Any = None,
        learners: Any = "auto",
        task: str = "auto",
        confidence: float | None = None,
        max_loss: float | None = None,
        max_fits: int = 40,
        time_limit: float | None = None,
        cv: Any = None,
        n_jobs: int | None = None,
        random_state: Any = None,
    ) -> None:
        self.budget = budget
        self.mean_budget = mean_budget
        self.metric = metric
        self.outcome_costs = outcome_costs
        self.costs = costs
        self.learners = learners
        self.task = task
        self.confidence = confidence
        self.max_loss = max_loss
        self.max_fits = max_fits
        self.time_limit = time_limit
        self.cv = cv
        self.n_jobs = n_jobs
        self.random_state = random_state

    def fit(
        self,
        X: Any,
        y: Any,
        qid: ArrayLike | None = None,
        sample_weight: ArrayLike | None = None,
        *,
        known: Any = None,
        prices: Any = None,
        ordered: Any = None,
        never_ordered: str = "missing",
    ) -> BudgetedEstimator:
        """Search a frontier and keep the best model for the budget.

        Parameters
        ----------
        X : array or data frame of shape (n, n_features)
            The rows.
        y : array of shape (n,)
            The labels.
        qid : array of shape (n,), optional
            The query of each row, for ranking.
        sample_weight : array of shape (n,), optional
            The weight of each row: in fits, in the metric and in mean costs. Rows of weight 0 are left out.
        known, prices : optional
            What each row has already, and what it pays, as for `frontier`.
        ordered, never_ordered : optional
            Which features were ordered for which rows, and what is done about the others, as for `frontier`.

        Returns
        -------
        BudgetedEstimator
            The fitted estimator.
        """
        request = Request.read(self.budget, self.mean_budget, self.confidence, self.max_loss)
        table = self.read_table(X, reset=True)
        labels = self._read_labels(y, table.values, qid)
        self.frontier_ = frontier(
            self.learners,
            X if is_frame(X) else table.values,
            labels,
            costs=self.costs,
            known=known,
            prices=prices,
            ordered=ordered,
            never_ordered=never_ordered,
            qid=qid if self.task_ == "ranking" else None,
            sample_weight=sample_weight,
            task=self.task_,
            metric=self.metric,
            outcome_costs=self.outcome_costs,
            budgets=_of_interest(request, request.budget),
            mean_budgets=_of_interest(request, request.mean_budget),
            cv=self.cv,
            confidence=request.confidence if request.needs_rows else None,
            certify=None if request.needs_rows else 0.0,
            max_fits=self.max_fits,
            time_limit=self.time_limit,
            n_jobs=self.n_jobs,
            random_state=self.random_state,
        )
        self.best_estimator_ = self.frontier_.best(
            self.budget, mean_budget=self.mean_budget, confidence=request.confidence, max_loss=self.max_loss
        )
        self.plan_ = self.best_estimator_.plan_
        self.set_guarantee(self.best_estimator_.guarantee_)
        if self.task_ == "classes":
            self.classes_ = self.best_estimator_.classes_
        return self

    # -- answering -----------------------------------------------------------------------------------

    def run(
        self,
        X: Any,
        budget: float | None = None,
        count: str = "path",
        qid: ArrayLike | None = None,
        *,
        unknown: str = "error",
        known: Any = None,
        prices: Any = None,
    ) -> Run:
        return self._model().run(
            X, budget=budget, count=count, qid=qid, unknown=unknown, known=known, prices=prices
        )

    def predict(
        self,
        X: Any,
        budget: float | None = None,
        qid: ArrayLike | None = None,
        *,
        unknown: str = "error",
        known: Any = None,
        prices: Any = None,
    ) -> NDArray[Any]:
        return self._model().predict(X, budget=budget, qid=qid, unknown=unknown, known=known, prices=prices)

    @available_if(_answers_with("predict_proba"))
    def predict_proba(
        self,
        X: Any,
        budget: float | None = None,
        *,
        unknown: str = "error",
        known: Any = None,
        prices: Any = None,
    ) -> NDArray[np.float64]:
        """Predict the probability of each class.

        Parameters
        ----------
        X : array or data frame of shape (n, n_features)
            The rows.
        budget : float, optional
            A cap: no row pays more. None is that of the plan.
        unknown : {"error", "missing"}, default="error"
            Whether a category that `fit` has not seen is an error or counts as missing.
        known, prices : optional
            As for `run`. They change answers only where there is a budget.

        Returns
        -------
        array of shape (n, n_classes)
            The probabilities, in the order of `classes_`.
        """
        return self._model().predict_proba(X, budget=budget, unknown=unknown, known=known, prices=prices)

    @available_if(_answers_with("decision_function"))
    def decision_function(
        self,
        X: Any,
        budget: float | None = None,
        *,
        unknown: str = "error",
        known: Any = None,
        prices: Any = None,
    ) -> NDArray[np.float64]:
        """Compute scores before the link.

        Parameters
        ----------
        X : array or data frame of shape (n, n_features)
            The rows.
        budget : float, optional
            A cap: no row pays more. None is that of the plan.
        unknown : {"error", "missing"}, default="error"
            Whether a category that `fit` has not seen is an error or counts as missing.
        known, prices : optional
            As for `run`. They change answers only where there is a budget.

        Returns
        -------
        array of shape (n,) or (n, n_classes)
            For two classes one score per row, positive for the second class.
        """
        return self._model().decision_function(X, budget=budget, unknown=unknown, known=known, prices=prices)

    def score(
        self, X: Any, y: Any, sample_weight: ArrayLike | None = None, qid: ArrayLike | None = None
    ) -> float:
        """Compute the accuracy of classes, R² of numbers, or the metric of rankings.

        Parameters
        ----------
        X : array or data frame of shape (n, n_features)
            The rows.
        y : array of shape (n,)
            The true labels.
        sample_weight : array of shape (n,), optional
            The weights of the rows.
        qid : array of shape (n,), optional
            The query of each row, for ranking.

        Returns
        -------
        float
            The score.
        """
        check_no_missing(y)
        answers = self.predict(X, qid=qid)
        if self.task_ == "ranking":
            metric = get_metric(self.metric or "ndcg@5")
            return float(metric(y, answers, qid=qid, sample_weight=sample_weight))
        score = accuracy_score if self.task_ == "classes" else r2_score
        return float(score(y, answers, sample_weight=sample_weight))

    def _model(self) -> Any:
        check_is_fitted(self, "best_estimator_")
        return self.best_estimator_

    # -- the task ------------------------------------------------------------------------------------

    def _known_task(self) -> Task | None:
        """The task, from the labels of `fit` or, before it, from the parameters; None if it is not known."""
        if hasattr(self, "task_"):
            return self.task_
        if self.task != "auto":
            return next((task for task in TASKS if task == self.task), None)
        name = getattr(self.metric, "name", self.metric)
        return task_of_metric(name) if isinstance(name, str) else None

    def _read_labels(self, y: Any, X: NDArray[Any], qid: ArrayLike | None) -> NDArray[Any]:
        """Labels that suit the task; with "auto" they decide it."""
        labels = check_target(y, X, self, numeric=self.task == "numbers")
        queries = None if qid is None and self.task != "ranking" else check_queries(qid, len(X))
        name = getattr(self.metric, "name", self.metric)
        self.task_: Task = read_task(labels, self.task, qid=queries, metric=name).task
        if self.task_ == "classes":
            check_classes(labels)
            encode_classes(labels)  # at least two
        return labels

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        task = self._known_task()
        if task == "classes":
            tags.estimator_type, tags.classifier_tags = "classifier", ClassifierTags()
        elif task == "numbers":
            tags.estimator_type, tags.regressor_tags = "regressor", RegressorTags()
        return tags


def _of_interest(request: Request, budget: float) -> list[float] | None:
    """The budget of the search; none with `max_loss`, which needs the best model at any cost."""
    return [budget] if 0.0 < budget < np.inf and request.max_loss is None else None
