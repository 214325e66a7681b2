"""Classifiers whose plan is a chain, looked at node by node."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from miserly.learners.base import PlanClassifier, decision_of
from miserly.plan import links
from miserly.plan.engine.staged import Stage

__all__ = ["StagedClassifier"]


class StagedClassifier(PlanClassifier):
    """A classifier whose plan is a chain: what it answers, and at what cost, after every node."""

    def staged_run(self, X: Any, count: str = "path") -> Iterator[Stage]:
        """Scores, features acquired and cost of every row after each node."""
        yield from self._stages(X, account=True, count=count)

    def staged_predict(self, X: Any) -> Iterator[NDArray[Any]]:
        """The answers after each node."""
        for stage in self._stages(X):
            yield self._labels(stage.scores)

    def staged_decision_function(self, X: Any) -> Iterator[NDArray[np.float64]]:
        """Scores before the link after each node."""
        for stage in self._stages(X):
            yield decision_of(stage.scores, len(self.classes_))

    def staged_predict_proba(self, X: Any) -> Iterator[NDArray[np.float64]]:
        """The probability of each class after each node."""
        for stage in self._stages(X):
            yield links.probabilities(self.plan_.link, stage.scores)

    def _stages(self, X: Any, account: bool = False, count: str = "path") -> Iterator[Stage]:
        rows = self._rows(X)
        return self.plan_.run_staged(
            rows, count=count, account=account, n_threads=self._threads, encoded=True
        )
