"""Small tables with prices, learners that are quick on them, and candidates of known figures."""

from __future__ import annotations

import numpy as np

from miserly import GreedyMiserClassifier
from miserly.selection import frontier
from miserly.selection.evaluation import Candidate

COSTS = [1.0, 5.0, 20.0]


def table(n=240, seed=0):
    """Three columns of cost 1, 5 and 20; the more expensive, the closer to what decides the label."""
    rng = np.random.default_rng(seed)
    truth = rng.normal(size=n)
    X = np.column_stack([truth + noise * rng.normal(size=n) for noise in (1.5, 0.7, 0.05)])
    return X, (truth > 0).astype(int), truth


def miser(**changes):
    return GreedyMiserClassifier(**{"n_rounds": 10, "max_depth": 2, **changes})


def sweep(learners, X, y, **options):
    quick = {"costs": COSTS, "cv": 3, "max_fits": 9, "certify": 0, "random_state": 0}
    return frontier(learners, X, y, **{**quick, **options})


def candidate(cost, value, trial=None):
    return Candidate(trial=trial, view={}, cost=cost, value=value, features=1.0, max_cost=float(cost.max()))
