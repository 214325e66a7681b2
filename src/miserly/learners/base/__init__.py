"""The base classes of all learners, public: `PlanEstimator`, `PlanClassifier`, `PlanRegressor`."""

from miserly.learners.base.arguments import as_columns, bind_costs, decision_of, threads_of
from miserly.learners.base.estimator import PlanEstimator, read_encoded_frames
from miserly.learners.base.kinds import PlanClassifier, PlanRegressor, has_probabilities
from miserly.learners.base.ordering import ordering_weights

__all__ = [
    "PlanClassifier",
    "PlanEstimator",
    "PlanRegressor",
    "as_columns",
    "bind_costs",
    "decision_of",
    "has_probabilities",
    "ordering_weights",
    "read_encoded_frames",
    "threads_of",
]
