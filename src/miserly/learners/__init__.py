"""Learners: scikit-learn estimators that each end by building a plan."""

from __future__ import annotations

from importlib import import_module
from inspect import isabstract
from pkgutil import walk_packages
from typing import Any

from sklearn.base import OutlierMixin

from miserly.learners.anytime import (
    AcquirerClassifier,
    AFRClassifier,
)
from miserly.learners.base import PlanEstimator, ordering_weights
from miserly.learners.boosting import (
    AdaBoostBTClassifier,
    AdaBoostRSClassifier,
    BudgetedSelectorClassifier,
    BudgetedSelectorRegressor,
    BudgetedTreeClassifier,
    GreedyMiserClassifier,
    GreedyMiserRanker,
    GreedyMiserRegressor,
    PurchaseTreeClassifier,
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
    AdoptedClassifier,
    AdoptedRanker,
    AdoptedRegressor,
    AnswerClassifier,
    AnswerRegressor,
    EarlyExit,
    Handover,
    ModelCalls,
    adopt,
    thrift,
)
from miserly.learners.wrap.adopt.estimators import Adopted
from miserly.learners.wrap.answer_learners import AnswerLearner

__all__ = [
    "AFRClassifier",
    "ASTCClassifier",
    "ASTCRegressor",
    "AcquirerClassifier",
    "AdaBoostBTClassifier",
    "AdaBoostRSClassifier",
    "AdoptedClassifier",
    "AdoptedRanker",
    "AdoptedRegressor",
    "AndOrCascadeClassifier",
    "AnswerClassifier",
    "AnswerRegressor",
    "Binariser",
    "BudgetedSelectorClassifier",
    "BudgetedSelectorRegressor",
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
    "ModelCalls",
    "PlanEstimator",
    "PurchaseTreeClassifier",
    "ReducedSVC",
    "SoftCascadeClassifier",
    "SpeedBoostClassifier",
    "adopt",
    "all_learners",
    "compress",
    "ordering_weights",
    "thrift",
]


_SPECIAL = (OutlierMixin, AnswerLearner, Adopted)  # learners that are not fitted to any table with labels


def all_learners() -> list[type[Any]]:
    """Find all learners: the `PlanEstimator` classes in the ``__all__`` of the modules of this package.

    Abstract base classes are left out, and so are outlier detectors, which have no labels, and learners that
    need the columns of `ModelCalls` (`AnswerClassifier`, `AnswerRegressor`): they suit no other table. The
    estimators of `adopt` are left out, because they learn nothing from rows.

    Returns
    -------
    list of type
        The classes, sorted by name.

    Examples
    --------
    >>> [learner.__name__ for learner in all_learners() if "Miser" in learner.__name__]
    ['GreedyMiserClassifier', 'GreedyMiserRanker', 'GreedyMiserRegressor']
    """
    found: dict[str, type[Any]] = {}
    for info in walk_packages(__path__, f"{__name__}."):
        module = import_module(info.name)
        for name in getattr(module, "__all__", ()):
            thing = getattr(module, name)
            if isinstance(thing, type) and issubclass(thing, PlanEstimator) and not isabstract(thing):
                found[name] = thing
    return [found[name] for name in sorted(found) if not issubclass(found[name], _SPECIAL)]
