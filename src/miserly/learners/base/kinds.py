"""Kinds of learners: classifiers, regressors, those whose plan is a chain, and those that take weights."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import ClassifierMixin, RegressorMixin, _fit_context
from sklearn.utils.metaestimators import available_if

from miserly.data.target import Target, check_no_missing
from miserly.learners.base.arguments import class_weight_of, decision_of, encode_classes
from miserly.learners.base.calibration import UNCHANGED
from miserly.learners.base.estimator import PlanEstimator
from miserly.learners.base.outcomes import calibration_of, price_mistakes
from miserly.learners.base.row_training import row_training
from miserly.plan.engine.staged import Stage

__all__ = [
    "PlanClassifier",
    "PlanRegressor",
    "StagedClassifier",
    "StagedEstimator",
    "WeightedFit",
    "has_probabilities",
]


def has_probabilities(learner: Any) -> bool:
    """Whether a classifier has, or will have, class probabilities; for `available_if`.

    Parameters
    ----------
    learner : PlanClassifier
        The classifier.

    Returns
    -------
    bool
        What `PlanClassifier.gives_probabilities` returns.
    """
    return bool(learner.gives_probabilities())


class PlanClassifier(ClassifierMixin, PlanEstimator):
    """Base class of classifiers. A subclass sets `classes_` in `fit`, before it builds the plan.

    The link of the plan says what scores are: "logistic" and "softmax" give probabilities.

    Attributes
    ----------
    plan_ : Plan
        The fitted plan.
    classes_ : array of (n_classes,)
        The classes, sorted.

    Examples
    --------
    A classifier that predicts the most frequent of two classes:

    >>> from miserly.learners.base import bind_costs
    >>> from miserly.plan import Node, Plan
    >>> class Prior(PlanClassifier):
    ...     def __init__(self, *, costs=None):
    ...         self.costs = costs
    ...
    ...     def fit(self, X, y):
    ...         table = self.read_table(X, reset=True)
    ...         self.classes_, codes = np.unique(y, return_inverse=True)
    ...         odds = np.log(codes.mean() / (1.0 - codes.mean()))
    ...         self.plan_ = Plan(
    ...             costs=bind_costs(self.costs, table.names or self.n_features_in_),
    ...             terms=[],
    ...             nodes=[Node([], [], [], [0.0])],
    ...             base=[odds],
    ...             link="logistic",
    ...             classes=self.plan_classes(),
    ...         )
    ...         return self
    >>> model = Prior().fit([[0.0], [1.0], [2.0], [3.0]], ["no", "yes", "no", "no"])
    >>> model.predict([[5.0]]).tolist(), model.predict_proba([[5.0]]).round(2).tolist()
    (['no'], [[0.75, 0.25]])
    """

    classes_: NDArray[Any]

    def decision_function(
        self,
        X: Any,
        budget: float | None = None,
        *,
        unknown: str = "error",
        known: Any = None,
        prices: Any = None,
    ) -> NDArray[np.float64]:
        """Compute the scores of rows before the link.

        Parameters
        ----------
        X : array or frame of (n, n_features)
            Rows to predict.
        budget : float or None, default=None
            No row pays more than this.
        unknown : {"error", "missing"}, default="error"
            A value that is no known category is an error, or counts as missing.
        known, prices : optional
            As for `run`. They change answers only where there is a budget.

        Returns
        -------
        array of (n,) or (n, n_classes)
            With two classes there is one score, positive for the second class.
        """
        scores = self.raw_scores(X, budget, unknown=unknown, known=known, prices=prices)
        return decision_of(scores, len(self.classes_))

    def score(self, X: Any, y: ArrayLike, sample_weight: ArrayLike | None = None) -> float:
        """Compute the accuracy of the predictions.

        Parameters
        ----------
        X : array or frame of (n, n_features)
            Rows to predict.
        y : array-like of (n,)
            True classes.
        sample_weight : array-like of (n,) or None, default=None
            Weights of rows.

        Returns
        -------
        float
            Accuracy.

        Raises
        ------
        DataError
            If a class is missing.
        """
        check_no_missing(y)
        return float(super().score(X, y, sample_weight))

    @available_if(has_probabilities)
    def predict_proba(
        self,
        X: Any,
        budget: float | None = None,
        *,
        unknown: str = "error",
        known: Any = None,
        prices: Any = None,
    ) -> NDArray[np.float64]:
        """Compute the probability of each class.

        Parameters
        ----------
        X : array or frame of (n, n_features)
            Rows to predict.
        budget : float or None, default=None
            No row pays more than this.
        unknown : {"error", "missing"}, default="error"
            A value that is no known category is an error, or counts as missing.
        known, prices : optional
            As for `run`. They change answers only where there is a budget.

        Returns
        -------
        array of (n, n_classes)
            Probabilities, in the order of `classes_`.
        """
        scores = self.raw_scores(X, budget, unknown=unknown, known=known, prices=prices)
        return self.fitted_plan().probabilities_from(scores)

    def _encode(self, y: NDArray[Any]) -> NDArray[np.float64]:
        """Set `classes_`, and return classes as codes."""
        self.classes_, codes = encode_classes(y)
        return codes

    def plan_classes(self) -> NDArray[Any]:
        """Return the classes for the plan's `classes`.

        Returns
        -------
        array of (n_classes,)
            `classes_`, with text as text and not as objects.
        """
        return np.array(self.classes_.tolist())

    def gives_probabilities(self) -> bool:
        """Whether `predict_proba` is available. Before `fit`, a subclass may know better by its parameters.

        Returns
        -------
        bool
            True if the plan has probabilities, or if there is no plan yet.
        """
        plan = getattr(self, "plan_", None)
        return plan is None or plan.has_probabilities


class PlanRegressor(RegressorMixin, PlanEstimator):
    """Base class of regressors, whose predictions are numbers.

    `PlanEstimator` says how to write one.

    Attributes
    ----------
    plan_ : Plan
        The fitted plan.

    Examples
    --------
    >>> from miserly import GreedyMiserRegressor
    >>> issubclass(GreedyMiserRegressor, PlanRegressor), len(PlanRegressor.__abstractmethods__)
    (True, 1)
    """


class StagedEstimator(PlanEstimator):
    """An estimator whose plan is a chain, evaluated node by node."""

    def staged_run(
        self, X: Any, count: str = "path", *, known: Any = None, prices: Any = None
    ) -> Iterator[Stage]:
        """Run every row and stop after each node of the plan.

        Parameters
        ----------
        X : array-like or frame of shape (n, n_features)
            Rows to predict.
        count : {"path", "tree"}, default="path"
            Features that a row pays for: those of the splits it meets, or all of every tree it evaluates.
        known, prices : optional
            What each row has already, and what it pays, as for `run`. They change costs, not answers.

        Yields
        ------
        Stage
            Scores, acquired features and cost of every row after one more node.
        """
        yield from self._stages(X, known, prices, account=True, count=count)

    def staged_predict(self, X: Any) -> Iterator[NDArray[Any]]:
        """Predict after each node of the plan.

        Parameters
        ----------
        X : array-like or frame of shape (n, n_features)
            Rows to predict.

        Yields
        ------
        array of shape (n,)
            Predictions after one more node.
        """
        for stage in self._stages(X):
            yield self.answers_of(stage)

    def _stages(
        self, X: Any, known: Any = None, prices: Any = None, account: bool = False, count: str = "path"
    ) -> Iterator[Stage]:
        given = self.run_arguments(X, known=known, prices=prices)
        return self.plan_.run_staged(**given, count=count, account=account)


class StagedClassifier(PlanClassifier, StagedEstimator):
    """A classifier whose plan is a chain, evaluated node by node."""

    def staged_decision_function(self, X: Any) -> Iterator[NDArray[np.float64]]:
        """Compute the scores before the link after each node of the plan.

        Parameters
        ----------
        X : array-like or frame of shape (n, n_features)
            Rows to predict.

        Yields
        ------
        array of shape (n,) or (n, n_classes)
            Scores after one more node. With two classes there is one score, positive for the second class.
        """
        for stage in self._stages(X):
            yield decision_of(stage.scores, len(self.classes_))

    @available_if(has_probabilities)
    def staged_predict_proba(self, X: Any) -> Iterator[NDArray[np.float64]]:
        """Compute the class probabilities after each node of the plan.

        Parameters
        ----------
        X : array-like or frame of shape (n, n_features)
            Rows to predict.

        Yields
        ------
        array of shape (n, n_classes)
            Probability of each class after one more node.
        """
        for stage in self._stages(X):
            yield self.plan_.probabilities_from(stage.scores)


class WeightedFit(PlanEstimator):
    """An estimator that is fitted to targets with weights and queries; subclasses define `_fit`."""

    @_fit_context(prefer_skip_nested_validation=True)
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
        calibrate: bool = True,
    ) -> Self:
        """Fit the model.

        Parameters
        ----------
        X : array or frame of (n, n_features)
            Training rows. Missing values are NaN, or what the frame has for them.
        y : array of (n,)
            Targets: numbers for a regressor, classes for a classifier.
        sample_weight : array of (n,) or None, default=None
            Weights of the rows. Their scale has no effect. By default each row counts the same.
        qid : array of (n,) or None, default=None
            Query of each row. Learners that hold out rows hold out whole queries, and metrics of rankings are
            means over queries. Other learners check it and do not use it.
        known, prices : optional
            What each row has already, and what it pays, as for `run`. The model is trained at the mean price
            of each feature over the rows.
        ordered, never_ordered : optional
            Which features were ordered for which rows, and how rows count without them: see
            `ordering_weights`. By default all were ordered.
        outcome_costs : OutcomeCosts, mapping, array or None, default=None
            What mistakes cost, for classifiers: rows are weighted by it, and the plan answers with the class
            or action of least expected cost.
        calibrate : bool, default=True
            With `outcome_costs`: whether the probabilities are calibrated first, by copies of the model that
            are fitted to four fifths of the rows: one, or five if there are at most 2,000 rows.

        Returns
        -------
        self
            The fitted estimator.
        """
        own = row_training(known, prices, ordered, never_ordered)
        if own is not None:
            rest = {"qid": qid, "outcome_costs": outcome_costs, "calibrate": calibrate}
            return own.fit(self, X, y, sample_weight, **rest)
        priced = price_mistakes(self, X, y, sample_weight, outcome_costs)
        weight = sample_weight if priced is None else priced.weight
        self._fit(X, Target(y, weight, qid, class_weight=class_weight_of(self)))
        if priced is not None:
            priced.decide(self, calibration_of(self, priced, X, y, qid) if calibrate else UNCHANGED)
        return self

    @abstractmethod
    def _fit(self, X: Any, given: Target) -> None:
        """Set `plan_` and the other fitted attributes."""

    def _encode(self, y: NDArray[Any]) -> NDArray[np.float64]:
        """Targets as numbers."""
        return y
