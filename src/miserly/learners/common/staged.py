"""Estimators whose plan is a chain: predictions and costs after every node."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.metaestimators import available_if

from miserly.learners.base import PlanClassifier, PlanEstimator, decision_of, has_probabilities
from miserly.plan import links
from miserly.plan.engine.staged import Stage

__all__ = ["StagedClassifier", "StagedEstimator"]


class StagedEstimator(PlanEstimator):
    """An estimator whose plan is a chain, evaluated node by node."""

    def staged_run(self, X: Any, count: str = "path") -> Iterator[Stage]:
        """Run every row and stop after each node of the plan.

        Parameters
        ----------
        X : array-like or frame of shape (n, n_features)
            Rows to predict.
        count : {"path", "tree"}, default="path"
            Features that a row pays for: those of the splits it meets, or all of every tree it evaluates.

        Yields
        ------
        Stage
            Scores, acquired features and cost of every row after one more node.
        """
        yield from self._stages(X, account=True, count=count)

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
            yield self.labels_from(stage.scores)

    def _stages(self, X: Any, account: bool = False, count: str = "path") -> Iterator[Stage]:
        rows = self.read_rows(X)
        return self.plan_.run_staged(
            rows, count=count, account=account, n_threads=self.n_threads, encoded=True
        )


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
            yield links.probabilities(self.plan_.link, stage.scores)
