"""Features that were never ordered: the weights of rows, and the bias that each option has."""

import numpy as np
import pandas as pd
import pytest

from miserly import CostLassoRegressor
from miserly.errors import CostError, DataError
from miserly.learners.base import ordering_weights

COSTS = [0.0, 0.0, 1.0]


def draw(seed, n=2500):
    """A free feature `a`, noise, and a paid one `b`, which is ordered mostly where `a` is high.

    y = (0.5 + a) b + noise, and a has mean 0: in the population the slope of y in b is 0.5. Where b was
    ordered, a is about 0.55 on average, and the slope is about 1.05.
    """
    rng = np.random.default_rng(seed)
    a, noise, b = rng.normal(size=(3, n))
    y = (0.5 + a) * b + 0.5 * rng.normal(size=n)
    ordered = rng.random(n) < np.where(a > 0, 0.8, 0.15)
    return np.column_stack([a, noise, b]), y, ordered


def slope_of_b(X, y, **given):
    model = CostLassoRegressor(costs=COSTS, tradeoff=1e-4).fit(X, y, **given)
    low, high = model.predict(np.array([[0.0, 0.0, 0.0], [0.0, 0.0, 1.0]]))
    return high - low


@pytest.fixture(scope="module")
def slopes():
    """The slope that each option finds, with several seeds."""
    found = {"everything ordered": [], "missing": [], "drop": [], "ipw": []}
    for seed in range(5):
        X, y, ordered = draw(seed)
        found["everything ordered"].append(slope_of_b(X, y))
        X[~ordered, 2] = np.nan
        for option in ("missing", "drop", "ipw"):
            found[option].append(slope_of_b(X, y, ordered={2: ordered}, never_ordered=option))
    return {option: np.array(values) for option, values in found.items()}


def test_the_policy_biases_models_that_take_no_notice_of_it(slopes):
    assert abs(slopes["everything ordered"].mean() - 0.5) < 0.05
    for option in ("missing", "drop"):
        error = slopes[option].std(ddof=1) / np.sqrt(5)
        assert slopes[option].mean() - 0.5 > 0.4 > 5 * error


def test_inverse_probabilities_remove_nearly_all_of_the_bias(slopes):
    assert abs(slopes["ipw"].mean() - 0.5) < 0.1
    assert abs(slopes["ipw"].mean() - 0.5) < 0.2 * (slopes["drop"].mean() - 0.5)


def test_weights_are_inverse_probabilities():
    X, _, ordered = draw(7, 6000)
    weight = ordering_weights(X, {2: ordered}, COSTS)
    assert (weight[~ordered] == 0.0).all() and (weight[ordered] >= 1.0).all()
    for side, probability in ((X[:, 0] > 0.1, 0.8), (X[:, 0] < -0.1, 0.15)):
        assert weight[ordered & side].mean() == pytest.approx(1.0 / probability, rel=0.1)
    assert weight.sum() == pytest.approx(len(X), rel=0.05)
    np.testing.assert_array_equal(ordering_weights(X, {2: ordered}, COSTS), weight)  # no randomness


def test_categories_explain_orders_too():
    X, _, ordered = draw(8, 3000)
    group = np.where(X[:, 0] > 0, "ward", "home")
    frame = pd.DataFrame({"group": group, "b": X[:, 2]})
    weight = ordering_weights(frame, pd.DataFrame({"b": ordered}), {"group": 0.0, "b": 3.0})
    assert weight[ordered & (group == "ward")].mean() == pytest.approx(1.0 / 0.8, rel=0.1)


def test_features_that_all_rows_know_explain_orders():
    X, _, ordered = draw(9)
    prices = [5.0, 1.0, 1.0]
    with pytest.warns(UserWarning, match="no feature is free"):
        constant = ordering_weights(X, {2: ordered}, prices)
    assert len(np.unique(constant)) == 2  # nothing is free: one weight, and 0
    explained = ordering_weights(X, {2: ordered}, prices, known=[0])
    assert explained[ordered & (X[:, 0] < 0)].mean() > 2 * explained[ordered & (X[:, 0] > 0)].mean()


def test_options_by_hand():
    X, ordered = np.zeros((20, 2)), np.ones((20, 2), dtype=bool)
    ordered[:8, 1] = False
    assert ordering_weights(X, ordered, never_ordered="missing").tolist() == [1.0] * 20
    assert ordering_weights(X, ordered, never_ordered="drop").tolist() == [0.0] * 8 + [1.0] * 12
    assert ordering_weights(X, np.ones((20, 2), dtype=bool), never_ordered="ipw").tolist() == [1.0] * 20


@pytest.mark.parametrize("price", [0.0, 1.0])
def test_weights_that_nothing_explains_are_uniform_and_warn(price):
    X, _, ordered = draw(7)
    mask = {2: ordered, 0: np.arange(len(X)) > 10}  # so feature 0 explains nothing, free or not
    words = "no feature is free and ordered for all rows.*the bias is that of 'drop'"
    with pytest.warns(UserWarning, match=words):
        weight = ordering_weights(X, mask, [price, 1.0, 1.0])
    dropped = ordering_weights(X, mask, [price, 1.0, 1.0], "drop")
    assert len(np.unique(weight)) == 2 and ((weight > 0) == (dropped > 0)).all()


@pytest.mark.parametrize(
    ("ordered", "option", "error", "message"),
    [
        ({2: True}, "drop", CostError, "no feature number 2 among 2"),
        (np.ones((3, 2), dtype=bool), "drop", CostError, r"ordered must hold booleans .*\(20, 2\)"),
        ({1: [0.5] * 20}, "ipw", CostError, r"ordered\[1\] must hold 20 booleans"),
        ({1: False}, "ipw", DataError, "every feature was ordered in 0 rows only; 1 in 0 of 20"),
        ({1: True}, "none", DataError, "never_ordered is"),
    ],
)
def test_what_is_wrong_is_named(ordered, option, error, message):
    with pytest.raises(error, match=message):
        ordering_weights(np.zeros((20, 2)), ordered, never_ordered=option)
