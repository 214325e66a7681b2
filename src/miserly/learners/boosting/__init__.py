"""Boosting with budgets: Greedy Miser, AdaBoostBT, AdaBoostRS, SpeedBoost, budgeted trees and selectors."""

from miserly.learners.boosting.adaboost_bt import AdaBoostBTClassifier, SpeedBoostClassifier
from miserly.learners.boosting.adaboost_rs import AdaBoostRSClassifier
from miserly.learners.boosting.budgeted_tree import BudgetedTreeClassifier
from miserly.learners.boosting.greedy_miser import GreedyMiserClassifier, GreedyMiserRegressor
from miserly.learners.boosting.miser_ranker import GreedyMiserRanker
from miserly.learners.boosting.purchase_tree import PurchaseTreeClassifier
from miserly.learners.boosting.selector import BudgetedSelectorClassifier, BudgetedSelectorRegressor

__all__ = [
    "AdaBoostBTClassifier",
    "AdaBoostRSClassifier",
    "BudgetedSelectorClassifier",
    "BudgetedSelectorRegressor",
    "BudgetedTreeClassifier",
    "GreedyMiserClassifier",
    "GreedyMiserRanker",
    "GreedyMiserRegressor",
    "PurchaseTreeClassifier",
    "SpeedBoostClassifier",
]
