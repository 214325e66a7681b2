"""Boosting with budgets: Greedy Miser, AdaBoostBT, AdaBoostRS, SpeedBoost, budgeted trees."""

from miserly.learners.boosting.adaboost_bt import AdaBoostBTClassifier
from miserly.learners.boosting.adaboost_rs import AdaBoostRSClassifier
from miserly.learners.boosting.budgeted_tree import BudgetedTreeClassifier
from miserly.learners.boosting.miser_classifier import GreedyMiserClassifier
from miserly.learners.boosting.miser_ranker import GreedyMiserRanker
from miserly.learners.boosting.miser_regressor import GreedyMiserRegressor
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
