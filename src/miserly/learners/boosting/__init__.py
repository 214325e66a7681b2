"""Boosting with budgets: Greedy Miser, AdaBoostBT, AdaBoostRS, SpeedBoost, budgeted trees."""

from miserly.learners.boosting.adaboost_bt import AdaBoostBTClassifier, SpeedBoostClassifier
from miserly.learners.boosting.adaboost_rs import AdaBoostRSClassifier
from miserly.learners.boosting.budgeted_tree import BudgetedTreeClassifier
from miserly.learners.boosting.greedy_miser import GreedyMiserClassifier, GreedyMiserRegressor
from miserly.learners.boosting.miser_ranker import GreedyMiserRanker

__all__ = [
    "AdaBoostBTClassifier",
    "AdaBoostRSClassifier",
    "BudgetedTreeClassifier",
    "GreedyMiserClassifier",
    "GreedyMiserRanker",
    "GreedyMiserRegressor",
    "SpeedBoostClassifier",
]
