"""miserly: models that pay for a feature only when it is worth its price.

Names are imported when first used, so that running a saved plan needs NumPy alone.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

__version__ = "0.1.0"

_HOME = {
    "Costs": "miserly.costs",
    "Ledger": "miserly.costs",
    "OutcomeCosts": "miserly.costs",
    "Plan": "miserly.plan",
    "load": "miserly.plan",
    "MiserlyError": "miserly.errors",
    "CostError": "miserly.errors",
    "DataError": "miserly.errors",
    "PlanError": "miserly.errors",
    "PlanFormatError": "miserly.errors",
    "GreedyMiserRegressor": "miserly.learners",
    "GreedyMiserClassifier": "miserly.learners",
    "GreedyMiserRanker": "miserly.learners",
    "EarlyExit": "miserly.learners",
    "thrift": "miserly.learners",
    "Handover": "miserly.learners",
    "ModelCalls": "miserly.learners",
    "adopt": "miserly.learners",
    "AdoptedClassifier": "miserly.learners",
    "AdoptedRegressor": "miserly.learners",
    "AdoptedRanker": "miserly.learners",
    "AnswerClassifier": "miserly.learners",
    "AnswerRegressor": "miserly.learners",
    "AFRClassifier": "miserly.learners",
    "AcquirerClassifier": "miserly.learners",
    "CSTCRegressor": "miserly.learners",
    "CSTCClassifier": "miserly.learners",
    "CSCCClassifier": "miserly.learners",
    "ASTCRegressor": "miserly.learners",
    "ASTCClassifier": "miserly.learners",
    "CostLassoRegressor": "miserly.learners",
    "CostLassoClassifier": "miserly.learners",
    "CronusClassifier": "miserly.learners",
    "SoftCascadeClassifier": "miserly.learners",
    "AndOrCascadeClassifier": "miserly.learners",
    "AdaBoostBTClassifier": "miserly.learners",
    "AdaBoostRSClassifier": "miserly.learners",
    "CompressedSVC": "miserly.learners",
    "CompressedSVR": "miserly.learners",
    "CompressedOneClassSVM": "miserly.learners",
    "compress": "miserly.learners",
    "ReducedSVC": "miserly.learners",
    "SpeedBoostClassifier": "miserly.learners",
    "BudgetedTreeClassifier": "miserly.learners",
    "BudgetedSelectorClassifier": "miserly.learners",
    "BudgetedSelectorRegressor": "miserly.learners",
    "PurchaseTreeClassifier": "miserly.learners",
    "Binariser": "miserly.learners",
    "BudgetedEstimator": "miserly.selection",
    "Frontier": "miserly.selection",
    "frontier": "miserly.selection",
}

__all__ = [*_HOME, "__version__"]


def __getattr__(name: str) -> Any:
    if name in _HOME:
        return getattr(import_module(_HOME[name]), name)
    raise AttributeError(f"module 'miserly' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
