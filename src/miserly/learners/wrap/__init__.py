"""Learners that wrap other learners: early exits and handovers; and calls of models as features."""

from miserly.learners.wrap.calls import ModelCalls
from miserly.learners.wrap.early_exit import EarlyExit
from miserly.learners.wrap.handover import Handover

__all__ = [
    "EarlyExit",
    "Handover",
    "ModelCalls",
]
