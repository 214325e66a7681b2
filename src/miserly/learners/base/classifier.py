"""`PlanClassifier`, the base class of classifiers."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import ClassifierMixin
from sklearn.utils.metaestimators import available_if

from miserly.learners.base.arguments import decision_of
from miserly.learners.base.estimator import PlanEstimator
from miserly.plan import links

__all__ = ["PlanClassifier", "has_probabilities"]


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
        self, X: Any, budget: float | None = None, *, unknown: str = "error"
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

        Returns
        -------
        array of (n,) or (n, n_classes)
            With two classes there is one score, positive for the second class.
        """
        return decision_of(self.raw_scores(X, budget, unknown=unknown), len(self.classes_))

    @available_if(has_probabilities)
    def predict_proba(
        self, X: Any, budget: float | None = None, *, unknown: str = "error"
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

        Returns
        -------
        array of (n, n_classes)
            Probabilities, in the order of `classes_`.
        """
        return links.probabilities(self.fitted_plan().link, self.raw_scores(X, budget, unknown=unknown))

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
