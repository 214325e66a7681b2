"""Anytime models: one model for all budgets."""

from miserly.learners.anytime.acquirer import AcquirerClassifier
from miserly.learners.anytime.afr import AFRClassifier

__all__ = [
    "AFRClassifier",
    "AcquirerClassifier",
]
