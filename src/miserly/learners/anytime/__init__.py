"""Anytime models: one model for every budget."""

from miserly.learners.anytime.afr import AFRClassifier

__all__ = [
    "AFRClassifier",
]
