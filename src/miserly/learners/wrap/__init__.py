"""Learners that wrap other models: early exits, handovers, calls of models, and models of other libraries."""

from miserly.learners.wrap.adopt import AdoptedClassifier, AdoptedRanker, AdoptedRegressor, adopt
from miserly.learners.wrap.answer_learners import AnswerClassifier, AnswerRegressor
from miserly.learners.wrap.calls import ModelCalls
from miserly.learners.wrap.early_exit import EarlyExit
from miserly.learners.wrap.handover import Handover
from miserly.learners.wrap.thrift_steps import Thrift, ThriftStep, thrift

__all__ = [
    "AdoptedClassifier",
    "AdoptedRanker",
    "AdoptedRegressor",
    "AnswerClassifier",
    "AnswerRegressor",
    "EarlyExit",
    "Handover",
    "ModelCalls",
    "Thrift",
    "ThriftStep",
    "adopt",
    "thrift",
]
