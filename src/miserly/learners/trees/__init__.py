"""Trees of classifiers: CSTC, CSCC and ASTC."""

from miserly.learners.trees.astc import ASTCClassifier, ASTCRegressor
from miserly.learners.trees.cscc import CSCCClassifier
from miserly.learners.trees.cstc import CSTCClassifier, CSTCRegressor

__all__ = [
    "ASTCClassifier",
    "ASTCRegressor",
    "CSCCClassifier",
    "CSTCClassifier",
    "CSTCRegressor",
]
