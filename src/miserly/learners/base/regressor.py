"""`PlanRegressor`, the base class of regressors."""

from __future__ import annotations

from sklearn.base import RegressorMixin

from miserly.learners.base.estimator import PlanEstimator

__all__ = ["PlanRegressor"]


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
