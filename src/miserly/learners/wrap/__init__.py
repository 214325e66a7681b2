"""Learners that wrap other learners: early exits and handovers."""

from miserly.learners.wrap.early_exit import EarlyExit
from miserly.learners.wrap.handover import Handover

__all__ = [
    "EarlyExit",
    "Handover",
]
