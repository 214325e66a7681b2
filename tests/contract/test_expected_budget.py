"""A mean budget is kept on held-out rows, and on fresh rows as far as averages can be."""

from __future__ import annotations

from functools import cache
from inspect import signature

import numpy as np
import pytest

from miserly import Costs
from miserly.learners import all_learners

from ..turns import in_turn
from .cases import SMALL, give, make, takes

LEARN, FRESH = 1500, 6000
LEARNERS = [learner for learner in all_learners() if "mean_budget" in signature(learner).parameters]
COSTS = Costs([1.0, 6.0, 6.0, 6.0, 0.5, 3.0], groups={"lab": {"features": [1, 2], "setup": 2.0}})


@cache
def rows():
    """A cheap column says which of two expensive ones matters, so different rows should pay differently."""
    rng = np.random.default_rng(5)
    X = rng.normal(size=(LEARN + FRESH, 6))
    y = np.where(X[:, 0] > 0, X[:, 1], X[:, 3]) + 1.5 * X[:, 5] + 0.3 * rng.normal(size=len(X))
    return X, y


def fitted(learner, **given):
    X, y = rows()
    model = make(learner, "two classes")
    if takes(model, "two classes"):
        y = (y > 1.2).astype(int)
    return give(model, {**SMALL, "costs": COSTS, "tradeoff": 0.0, **given}).fit(X[:LEARN], y[:LEARN])


@pytest.mark.parametrize(("learner", "share"), in_turn(LEARNERS, [0.3, 0.6], one_in=2))
def test_fresh_rows_keep_to_a_mean_budget_too(learner, share):
    budget = share * COSTS.total
    model = fitted(learner, mean_budget=budget)
    cost = model.run(rows()[0][LEARN:]).cost
    # Both means are over few rows: five standard errors of their difference, and the budget was met exactly.
    held_out = LEARN * model.validation_fraction
    assert cost.mean() <= budget + 5.0 * cost.std() * np.sqrt(1 / held_out + 1 / FRESH)
    assert cost.mean() > 0.0  # there was something to keep to


@pytest.mark.parametrize("learner", LEARNERS, ids=lambda learner: learner.__name__)
def test_a_cap_and_a_mean_are_kept_together(learner):
    cap, mean = 0.55 * COSTS.total, 0.35 * COSTS.total
    model = fitted(learner, budget=cap, mean_budget=mean)
    assert model.expected_cost_ <= mean * (1 + 1e-12)
    assert model.run(rows()[0], count="tree").cost.max() <= cap * (1 + 1e-12)


def test_there_is_somebody_to_ask():
    assert len(LEARNERS) >= 8
