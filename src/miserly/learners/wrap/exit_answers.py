"""Answers of a model with early exits: classes, scores and probabilities at the exit where each row left."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import is_classifier
from sklearn.utils.metaestimators import available_if

from miserly.learners.base import PlanEstimator, decision_of
from miserly.plan.engine.ranking import ranked

__all__ = ["ExitAnswers"]


def _wraps_classifier(learner: Any) -> bool:
    return is_classifier(learner.estimator)


def _has_probabilities_inside(learner: Any) -> bool:
    return hasattr(learner.estimator, "predict_proba")


class ExitAnswers(PlanEstimator):
    """The part of `EarlyExit` that answers; it has what the estimator inside has."""

    estimator: Any
    classes_: NDArray[Any]

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
        plan, given = self.plan_for(qid), self.run_arguments(X, unknown, known, prices)
        done = plan.run(budget=budget, qid=qid, account=False, **given)
        return self.answers_of(replace(done, scores=ranked(done, qid)))

    @available_if(_wraps_classifier)
    def decision_function(
        self,
        X: Any,
        budget: float | None = None,
        qid: ArrayLike | None = None,
        *,
        unknown: str = "error",
        known: Any = None,
        prices: Any = None,
    ) -> NDArray[np.float64]:
        """Compute the scores before the link, at the exit where each row left.

        Parameters
        ----------
        X : array-like or frame of shape (n, n_features)
            Rows to predict.
        budget : float, optional
            Cap on what each row pays.
        qid : array-like of shape (n,), optional
            Query of each row. The rules "proximity", "rank" and "capacity" need it.
        unknown : {"error", "missing"}, default="error"
            A value that is neither a known category nor missing is an error, or counts as missing.
        known, prices : optional
            As for `run`. They change answers only where there is a budget.

        Returns
        -------
        array of shape (n,) or (n, n_classes)
            With two classes one score per row, positive for the second class.
        """
        scores = self.raw_scores(X, budget, qid, unknown, known, prices)
        return decision_of(scores, len(self.classes_))

    @available_if(_has_probabilities_inside)
    def predict_proba(
        self,
        X: Any,
        budget: float | None = None,
        qid: ArrayLike | None = None,
        *,
        unknown: str = "error",
        known: Any = None,
        prices: Any = None,
    ) -> NDArray[np.float64]:
        """Compute the class probabilities, at the exit where each row left.

        Parameters
        ----------
        X : array-like or frame of shape (n, n_features)
            Rows to predict.
        budget : float, optional
            Cap on what each row pays.
        qid : array-like of shape (n,), optional
            Query of each row. The rules "proximity", "rank" and "capacity" need it.
        unknown : {"error", "missing"}, default="error"
            A value that is neither a known category nor missing is an error, or counts as missing.
        known, prices : optional
            As for `run`. They change answers only where there is a budget.

        Returns
        -------
        array of shape (n, n_classes)
            Probability of each class.
        """
        scores = self.raw_scores(X, budget, qid, unknown, known, prices)
        return self.fitted_plan().probabilities_from(scores)
