"""Searches over records in which some features were never ordered for some rows."""

from __future__ import annotations

import numpy as np
import pytest

from miserly import BudgetedEstimator, CostLassoRegressor, frontier
from miserly.errors import DataError
from miserly.learners import ordering_weights

COSTS = [0.0, 1.0]


def records(seed=0, n=1500):
    """What `b` brings depends on `a`, and `b` was ordered mostly where `a` is high."""
    rng = np.random.default_rng(seed)
    a, b = rng.normal(size=(2, n))
    y = (0.5 + a) * b + 0.5 * rng.normal(size=n)
    ordered = rng.random(n) < np.where(a > 0, 0.8, 0.15)
    return np.column_stack([a, b]), y, ordered


def searched(X, y, **given):
    return frontier(CostLassoRegressor(), X, y, costs=COSTS, certify=0.0, max_fits=4, random_state=0, **given)


def values(found):
    return [(one.mean_value, one.mean_cost) for one in found.candidates]


def gaps(X, ordered):
    X = X.copy()
    X[~ordered, 1] = np.nan
    return X


def test_options_are_the_weights_that_they_stand_for():
    X, y, ordered = records()
    X = gaps(X, ordered)
    for option in ("drop", "ipw"):
        weight = ordering_weights(X, {1: ordered}, COSTS, option)
        by_option = searched(X, y, ordered={1: ordered}, never_ordered=option)
        assert values(by_option) == values(searched(X, y, sample_weight=weight))
    missing = searched(X, y, ordered={1: ordered})
    assert values(missing) == values(searched(X, y))


def test_weights_are_multiplied_by_those_of_the_orders():
    X, y, ordered = records()
    X, own = gaps(X, ordered), np.random.default_rng(1).uniform(0.5, 2.0, len(y))
    both = searched(X, y, ordered={1: ordered}, never_ordered="ipw", sample_weight=own)
    weight = own * ordering_weights(X, {1: ordered}, COSTS, "ipw")
    assert values(both) == values(searched(X, y, sample_weight=weight))


def test_ipw_estimates_the_loss_of_all_rows_better_than_complete_cases():
    """The loss of the largest model on all rows, had everything been ordered, on average over five draws."""
    gap = {"drop": [], "ipw": []}
    for seed in range(5):
        X, y, ordered = records(seed)
        fresh, truth, _ = records(seed + 100, 20_000)
        for option in gap:
            found = searched(gaps(X, ordered), y, ordered={1: ordered}, never_ordered=option)
            one = max(found.candidates, key=lambda one: one.mean_cost)
            model = CostLassoRegressor(costs=COSTS, tradeoff=one.trial.value)
            model.fit(gaps(X, ordered), y, ordered={1: ordered}, never_ordered=option)
            gap[option].append(one.mean_value - np.mean((model.predict(fresh) - truth) ** 2))
    assert abs(np.mean(gap["ipw"])) < 0.5 * abs(np.mean(gap["drop"]))


def test_budgeted_estimator_takes_the_orders():
    X, y, ordered = records()
    X = gaps(X, ordered)
    model = BudgetedEstimator(
        learners=CostLassoRegressor(), mean_budget=1, costs=COSTS, max_fits=4, random_state=0
    ).fit(X, y, ordered={1: ordered}, never_ordered="drop")
    plain = BudgetedEstimator(
        learners=CostLassoRegressor(), mean_budget=1, costs=COSTS, max_fits=4, random_state=0
    ).fit(X[ordered], y[ordered])
    np.testing.assert_allclose(model.predict(X[ordered]), plain.predict(X[ordered]))


def test_options_without_orders_are_refused():
    X, y, _ = records(n=100)
    with pytest.raises(DataError, match="never_ordered='ipw' needs `ordered`"):
        searched(X, y, never_ordered="ipw")
