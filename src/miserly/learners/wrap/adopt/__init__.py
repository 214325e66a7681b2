"""Models of other libraries as plans: `adopt`, its readers and estimators."""

from miserly.learners.wrap.adopt.adopt import adopt
from miserly.learners.wrap.adopt.estimators import (
    AdoptedClassifier,
    AdoptedRanker,
    AdoptedRegressor,
)
from miserly.learners.wrap.adopt.files import ModelFile
from miserly.learners.wrap.adopt.model import Addend, AdoptedModel, Origin
from miserly.learners.wrap.adopt.registry import Reader, register

__all__ = [
    "Addend",
    "AdoptedClassifier",
    "AdoptedModel",
    "AdoptedRanker",
    "AdoptedRegressor",
    "ModelFile",
    "Origin",
    "Reader",
    "adopt",
    "register",
]
