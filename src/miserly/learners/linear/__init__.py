"""Cost-weighted linear models, and the binariser."""

from miserly.learners.linear.binariser import Binariser
from miserly.learners.linear.cost_lasso import CostLassoClassifier, CostLassoRegressor

__all__ = [
    "Binariser",
    "CostLassoClassifier",
    "CostLassoRegressor",
]
