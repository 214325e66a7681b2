"""The `fit` of learners that take weights and queries."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any, Self

from numpy.typing import ArrayLike
from sklearn.base import _fit_context

from miserly.data.target import Target
from miserly.learners.base import PlanEstimator

__all__ = ["WeightedFit"]


class WeightedFit(PlanEstimator):
    """An estimator that is fitted to targets with weights and queries; subclasses define `_fit`."""

    @_fit_context(prefer_skip_nested_validation=True)
    def fit(
        self, X: Any, y: ArrayLike, sample_weight: ArrayLike | None = None, qid: ArrayLike | None = None
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

        Returns
        -------
        self
            The fitted estimator.
        """
        self._fit(X, Target(y, sample_weight, qid))
        return self

    @abstractmethod
    def _fit(self, X: Any, given: Target) -> None:
        """Set `plan_` and the other fitted attributes."""
