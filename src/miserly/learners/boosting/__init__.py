"""Boosting with budgets: Greedy Miser, AdaBoostBT, AdaBoostRS, SpeedBoost, budgeted trees."""

from miserly.learners.boosting.adaboost_bt import AdaBoostBTClassifier
from miserly.learners.boosting.adaboost_rs import AdaBoostRSClassifier
from miserly.learners.boosting.budgeted_tree import BudgetedTreeClassifier
from miserly.learners.boosting.greedy_miser import (
    GreedyMiserClassifier,
    GreedyMiserRanker,
    GreedyMiserRegressor,
)
from miserly.learners.boosting.speedboost import SpeedBoostClassifier

__all__ = [
    "AdaBoostBTClassifier",
    "AdaBoostRSClassifier",
    "BudgetedTreeClassifier",
    "GreedyMiserClassifier",
    "GreedyMiserRanker",
    "GreedyMiserRegressor",
    "SpeedBoostClassifier",
]
