"""Losses: one family for trees and linear scores, each loss with its value, gradient and curvature.

`base` says what a loss is; `pointwise` and `ranking` hold the losses. Scores are arrays (n, K). Every loss is
a weighted mean over rows (over queries for `LambdaRank`), so that a `tradeoff` means the same for any number
of rows.
"""

from miserly.losses.base import Loss, PointwiseLoss
from miserly.losses.pointwise import Logistic, MeanSquared, Multinomial, Squared, SquaredHinge, log_loss
from miserly.losses.ranking import LambdaRank, WithinQueries

__all__ = [
    "LambdaRank",
    "Logistic",
    "Loss",
    "MeanSquared",
    "Multinomial",
    "PointwiseLoss",
    "Squared",
    "SquaredHinge",
    "WithinQueries",
    "log_loss",
]
