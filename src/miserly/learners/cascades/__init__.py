"""Cascades: Cronus, soft cascades, and-or cascades."""

from miserly.learners.cascades.cronus import CronusClassifier
from miserly.learners.cascades.joint_cascades import AndOrCascadeClassifier, SoftCascadeClassifier

__all__ = [
    "AndOrCascadeClassifier",
    "CronusClassifier",
    "SoftCascadeClassifier",
]
