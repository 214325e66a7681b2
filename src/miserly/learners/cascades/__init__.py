"""Cascades: Cronus, soft cascades, and-or cascades."""

from miserly.learners.cascades.and_or import AndOrCascadeClassifier
from miserly.learners.cascades.cronus import CronusClassifier
from miserly.learners.cascades.soft_cascade import SoftCascadeClassifier

__all__ = [
    "AndOrCascadeClassifier",
    "CronusClassifier",
    "SoftCascadeClassifier",
]
