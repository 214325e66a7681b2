"""Learners: scikit-learn estimators that each end by building a plan."""

from __future__ import annotations

from importlib import import_module
from pkgutil import iter_modules
from typing import Any

from sklearn.base import OutlierMixin

from miserly.learners.anytime import (
    AFRClassifier,
)
from miserly.learners.base import PlanEstimator
from miserly.learners.boosting import (
    AdaBoostBTClassifier,
    AdaBoostRSClassifier,
    BudgetedTreeClassifier,
    GreedyMiserClassifier,
    GreedyMiserRanker,
    GreedyMiserRegressor,
    SpeedBoostClassifier,
)
from miserly.learners.cascades import (
    AndOrCascadeClassifier,
    CronusClassifier,
    SoftCascadeClassifier,
)
from miserly.learners.kernel import (
    CompressedOneClassSVM,
    CompressedSVC,
    CompressedSVR,
    ReducedSVC,
    compress,
)
from miserly.learners.linear import (
    Binariser,
    CostLassoClassifier,
    CostLassoRegressor,
)
from miserly.learners.trees import (
    ASTCClassifier,
    ASTCRegressor,
    CSCCClassifier,
    CSTCClassifier,
    CSTCRegressor,
)
from miserly.learners.wrap import (
    EarlyExit,
    Handover,
)

__all__ = [
    "AFRClassifier",
    "ASTCClassifier",
    "ASTCRegressor",
    "AdaBoostBTClassifier",
    "AdaBoostRSClassifier",
    "AndOrCascadeClassifier",
    "Binariser",
    "BudgetedTreeClassifier",
    "CSCCClassifier",
    "CSTCClassifier",
    "CSTCRegressor",
    "CompressedOneClassSVM",
    "CompressedSVC",
    "CompressedSVR",
    "CostLassoClassifier",
    "CostLassoRegressor",
    "CronusClassifier",
    "EarlyExit",
    "GreedyMiserClassifier",
    "GreedyMiserRanker",
    "GreedyMiserRegressor",
    "Handover",
    "PlanEstimator",
    "ReducedSVC",
    "SoftCascadeClassifier",
    "SpeedBoostClassifier",
    "all_learners",
    "compress",
]


def all_learners() -> list[type[Any]]:
    """Every public learner of labels: the classes with a plan that the families of learners export.

    >>> [learner.__name__ for learner in all_learners() if "Miser" in learner.__name__]
    ['GreedyMiserClassifier', 'GreedyMiserRanker', 'GreedyMiserRegressor']
    """
    found: dict[str, type[Any]] = {}
    for family in iter_modules(__path__):
        module = import_module(f"{__name__}.{family.name}")
        for name in getattr(module, "__all__", ()) if family.ispkg else ():
            thing = getattr(module, name)
            if (
                isinstance(thing, type)
                and issubclass(thing, PlanEstimator)
                and not issubclass(thing, OutlierMixin)
            ):
                found[name] = thing
    return [found[name] for name in sorted(found)]
