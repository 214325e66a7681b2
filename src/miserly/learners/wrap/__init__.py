"""Learners that wrap other learners: early exits and handovers; calls of models, and learners over them."""

from miserly.learners.wrap.answer_learners import AnswerClassifier, AnswerRegressor
from miserly.learners.wrap.calls import ModelCalls
from miserly.learners.wrap.early_exit import EarlyExit
from miserly.learners.wrap.handover import Handover

__all__ = [
    "AnswerClassifier",
    "AnswerRegressor",
    "EarlyExit",
    "Handover",
    "ModelCalls",
]
