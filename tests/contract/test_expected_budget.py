"""A budget that is an average over rows set aside holds for fresh rows too, as far as averages can."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest

from miserly import Costs
from miserly.learners import all_learners

from .cases import SMALL, give, make, takes

LEARN, FRESH = 1500, 6000
LEARNERS = [learner for learner in all_learners() if getattr(learner, "budget_is_expected", False)]
COSTS = Costs([1.0, 6.0, 6.0, 6.0, 0.5, 3.0], groups={"lab": {"features": [1, 2], "setup": 2.0}})


@cache
def rows():
    """A cheap column says which of two dear ones matters, so different rows should pay differently."""
    rng = np.random.default_rng(5)
    X = rng.normal(size=(LEARN + FRESH, 6))
    y = np.where(X[:, 0] > 0, X[:, 1], X[:, 3]) + 1.5 * X[:, 5] + 0.3 * rng.normal(size=len(X))
    return X, y


@pytest.mark.parametrize("share", [0.3, 0.6])
@pytest.mark.parametrize("learner", LEARNERS, ids=lambda learner: learner.__name__)
def test_fresh_rows_keep_to_an_expected_budget_too(learner, share):
    X, y = rows()
    model = make(learner, "two classes")
    if takes(model, "two classes"):
        y = (y > 1.2).astype(int)
    budget = share * COSTS.total
    give(model, {**SMALL, "costs": COSTS, "budget": budget, "tradeoff": 0.0}).fit(X[:LEARN], y[:LEARN])
    cost = model.run(X[LEARN:]).cost
    # Both means are over few rows: five standard errors of their difference, and the budget was met exactly.
    aside = LEARN * model.validation_fraction
    assert cost.mean() <= budget + 5.0 * cost.std() * np.sqrt(1 / aside + 1 / FRESH)
    assert cost.mean() > 0.0  # there was something to keep to


def test_there_is_somebody_to_ask():
    assert len(LEARNERS) >= 6
