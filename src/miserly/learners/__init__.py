"""Learners: scikit-learn estimators that each end by building a plan."""

from __future__ import annotations

from importlib import import_module
from pkgutil import iter_modules
from typing import Any

from miserly.learners._compress import CompressedOneClassSVM, compress
from miserly.learners.adaboost_bt import AdaBoostBTClassifier
from miserly.learners.adaboost_rs import AdaBoostRSClassifier
from miserly.learners.afr import AFRClassifier
from miserly.learners.and_or import AndOrCascadeClassifier
from miserly.learners.astc import ASTCClassifier, ASTCRegressor
from miserly.learners.binariser import Binariser
from miserly.learners.budgeted_tree import BudgetedTreeClassifier
from miserly.learners.compressed_svc import CompressedSVC, CompressedSVR
from miserly.learners.cost_lasso import CostLassoClassifier, CostLassoRegressor
from miserly.learners.cronus import CronusClassifier
from miserly.learners.cscc import CSCCClassifier
from miserly.learners.cstc import CSTCClassifier, CSTCRegressor
from miserly.learners.early_exit import EarlyExit
from miserly.learners.handover import Handover
from miserly.learners.miser import GreedyMiserClassifier, GreedyMiserRanker, GreedyMiserRegressor
from miserly.learners.reduced_svc import ReducedSVC
from miserly.learners.soft_cascade import SoftCascadeClassifier
from miserly.learners.speedboost import SpeedBoostClassifier

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
    "ReducedSVC",
    "SoftCascadeClassifier",
    "SpeedBoostClassifier",
    "all_learners",
    "compress",
]


def all_learners() -> list[type[Any]]:
    """Every public learner, found by looking: classes with a plan in the ``__all__`` of a public module.

    >>> [learner.__name__ for learner in all_learners() if "Miser" in learner.__name__]
    ['GreedyMiserClassifier', 'GreedyMiserRanker', 'GreedyMiserRegressor']
    """
    from miserly.learners._base import PlanPredictor

    found: dict[str, type[Any]] = {}
    for module_info in iter_modules(__path__):
        if module_info.name.startswith("_"):
            continue
        module = import_module(f"{__name__}.{module_info.name}")
        for name in getattr(module, "__all__", ()):
            thing = getattr(module, name)
            if isinstance(thing, type) and issubclass(thing, PlanPredictor) and not name.startswith("_"):
                found[name] = thing
    return [found[name] for name in sorted(found)]
