"""Trees of classifiers: CSTC, CSCC and ASTC."""

from miserly.learners.trees.astc import ASTCClassifier, ASTCRegressor
from miserly.learners.trees.cscc import CSCCClassifier
from miserly.learners.trees.cstc_classifier import CSTCClassifier
from miserly.learners.trees.cstc_regressor import CSTCRegressor

__all__ = [
    "ASTCClassifier",
    "ASTCRegressor",
    "CSCCClassifier",
    "CSTCClassifier",
    "CSTCRegressor",
]
