"""Looking ahead: what is bought when a budget cannot buy everything a round wants."""

import numpy as np
import pytest

from miserly import Costs
from miserly.learners import GreedyMiserClassifier, GreedyMiserRegressor
from miserly.plan.purchases import purchases

# The target is +1 in the middle two of four bands of `bands`. `noisy` is the target with one of eight turned
# round on either side. One split: noisy gains 1/2 * 16 * 0.75^2 = 4.5, bands 1/2 * (4 * 1 + 12 / 9) = 2.67.
# A tree of two levels: noisy still gains 4.5, bands explains everything, 1/2 * 16 = 8.
BANDS = np.repeat([0.0, 1.0, 2.0, 3.0], 4)
TARGET = np.where((BANDS == 1) | (BANDS == 2), 1.0, -1.0)
NOISY = TARGET.copy()
NOISY[[0, 4]] *= -1
X = np.column_stack([NOISY, BANDS])
SMALL = {"max_depth": 2, "min_samples_leaf": 1, "n_rounds": 1, "step": 1.0}


def test_single_splits_buy_the_wrong_feature_and_whole_trees_the_right_one():
    model = GreedyMiserRegressor(costs=[1.0, 1.0], budget=1, **SMALL)
    assert model.fit(X, TARGET).features_.tolist() == [0]
    assert model.set_params(lookahead=True).fit(X, TARGET).features_.tolist() == [1]
    np.testing.assert_allclose(model.predict(X), TARGET)


@pytest.mark.parametrize("budget", [None, 2.0])
def test_where_everything_fits_it_changes_nothing(budget):
    plain = GreedyMiserRegressor(costs=[1.0, 1.0], budget=budget, **SMALL).fit(X, TARGET)
    ahead = GreedyMiserRegressor(costs=[1.0, 1.0], budget=budget, lookahead=True, **SMALL).fit(X, TARGET)
    np.testing.assert_array_equal(plain.predict(X), ahead.predict(X))
    assert plain.features_.tolist() == ahead.features_.tolist() == [0, 1]


def test_the_first_class_does_not_spend_what_the_others_need():
    """Feature 0 tells the rare class 0 from the rest, feature 1 the two common classes apart."""
    rng = np.random.default_rng(0)
    y = np.repeat([0, 1, 2], [60, 300, 300])
    rows = np.column_stack([y == 0, y == 1]) + 0.3 * rng.standard_normal((len(y), 2))
    model = GreedyMiserClassifier(costs=[1.0, 1.0], budget=1, n_rounds=20).fit(rows, y)
    assert model.features_.tolist() == [0]
    model.set_params(lookahead=True).fit(rows, y)
    assert model.features_.tolist() == [1]


@pytest.mark.parametrize("budget", [0.0, 1.0, 3.5, 6.0, 9.0])
def test_the_budget_holds_with_groups_and_evaluations(budget):
    rng = np.random.default_rng(1)
    rows = rng.normal(size=(200, 4))
    target = rows @ [3.0, 2.0, 1.0, 0.5]
    costs = Costs([1.0, 2.0, 1.0, 0.5], groups={"g": {"features": [0, 1], "setup": 2.0}}, evaluation=0.1)
    model = GreedyMiserRegressor(costs=costs, budget=budget, n_rounds=20, lookahead=True).fit(rows, target)
    assert model.cost_ <= budget * (1 + 1e-9)
    used = costs.mask(model.plan_.features)
    assert model.ledger_.spent == pytest.approx(costs.of(used, evaluations=len(model.plan_.terms)))


# -- free and paid features come first -----------------------------------------------------------------------

PRICES = [0.0, 0.0, 12.0, 30.0, 30.0]


def patients():
    """Two free columns say something, the one for 12 says more, the last two nearly nothing."""
    rng = np.random.default_rng(4)
    rows = rng.normal(size=(1500, 5))
    return rows, (rows @ [1.0, 1.0, 1.6, 0.1, 0.1] + 0.5 * rng.normal(size=1500) > 0).astype(int)


@pytest.mark.parametrize("lookahead", [False, True])
@pytest.mark.parametrize("tradeoff", [0.0, 1e-4])
def test_a_small_budget_uses_free_features_before_what_it_cannot_pay(lookahead, tradeoff):
    rows, y = patients()
    model = GreedyMiserClassifier(costs=PRICES, budget=40, tradeoff=tradeoff, lookahead=lookahead)
    model.fit(rows[:1000], y[:1000])
    base = max(np.mean(y[1000:]), 1 - np.mean(y[1000:]))
    assert np.mean(model.predict(rows[1000:], budget=5) == y[1000:]) > base + 0.1
    assert 2 in model.features_  # what is worth its price is bought all the same
    assert model.score(rows[1000:], y[1000:]) > 0.85


def test_a_round_that_buys_buys_one_feature():
    rng = np.random.default_rng(5)
    rows = rng.normal(size=(1000, 4))
    model = GreedyMiserRegressor(costs=[1.0, 2.0, 3.0, 9.0], budget=6, n_rounds=60)
    bought = purchases(model.fit(rows, rows @ [1.0, 1.0, 1.0, 0.2]).plan_)
    assert max(len(one.items) for one in bought) == 1 and model.cost_ == 6.0


def test_a_budget_for_everything_is_no_budget_if_nothing_is_free():
    rows, y = patients()
    prices = [max(price, 1.0) for price in PRICES]
    models = [GreedyMiserClassifier(costs=prices, budget=b).fit(rows, y) for b in (None, sum(prices))]
    np.testing.assert_array_equal(*(model.decision_function(rows) for model in models))


@pytest.mark.parametrize("budget", [25.0, 30.0, 1000.0])
def test_free_features_come_first_whatever_the_budget_pays_for(budget):
    """An expensive column explains most, a free one a little; 30 pays for both."""
    rng = np.random.default_rng(6)
    rows = rng.normal(size=(600, 3))
    y = (2.0 * rows[:, 0] + rows[:, 1] > 0.0).astype(int)
    model = GreedyMiserClassifier(costs=[20.0, 0.0, 10.0], budget=budget).fit(rows, y)
    with_nothing = model.run(rows, budget=5.0)
    assert with_nothing.acquired[:, 1].all() and with_nothing.cost.max() == 0.0
    assert model.score(rows, y) > 0.95 > np.mean(model.predict(rows, budget=5.0) == y) > 0.55
