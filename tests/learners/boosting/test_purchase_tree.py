"""Purchase trees: what a row buys next depends on what it has bought, and boosted trees answer."""

import numpy as np
import pytest

from miserly import BudgetedSelectorClassifier, Costs, PurchaseTreeClassifier
from miserly.grow import Bins
from miserly.learners.common.purchase_branches import Branch, Split, bought_table

SMALL = {"n_rounds": 30, "random_state": 0, "n_jobs": 1}


@pytest.fixture(scope="module")
def guide():
    """The first bit tells which of the next two is the label; three more are noise."""
    rng = np.random.default_rng(0)
    X = rng.integers(2, size=(1500, 6)).astype(float)
    return X, np.where(X[:, 0] > 0, X[:, 1], X[:, 2])


def test_rows_buy_the_feature_that_their_first_value_points_to(guide):
    X, y = guide
    model = PurchaseTreeClassifier(budget=2, **SMALL).fit(X, y)
    acquired = model.run(X).acquired
    high = X[:, 0] > 0
    assert model.score(X, y) == 1.0
    assert acquired[high].any(axis=0).tolist() == [True, True, False, False, False, False]
    assert acquired[~high].any(axis=0).tolist() == [True, False, True, False, False, False]
    assert BudgetedSelectorClassifier(budget=2, **SMALL).fit(X, y).score(X, y) < 0.8


def test_one_leaf_means_the_same_purchases_for_all_rows(guide):
    model = PurchaseTreeClassifier(budget=2, max_leaves=1, **SMALL).fit(*guide)
    assert model.n_leaves_ == 1
    assert len(model.features_) == 2


def test_looking_ahead_finds_a_feature_that_tells_nothing_alone():
    # The label is the parity of the first two bits. Feature 5 says a little alone.
    rng = np.random.default_rng(1)
    X = rng.integers(2, size=(3000, 7)).astype(float)
    y = np.where(X[:, 0] > 0, X[:, 1], 1 - X[:, 1])
    X[:, 5] = np.where(rng.random(3000) < 0.6, y, 1 - y)
    model = PurchaseTreeClassifier(budget=2, **SMALL).fit(X, y)
    assert sorted(model.features_) == [0, 1]
    assert model.score(X, y) == 1.0


@pytest.mark.parametrize("budget", [2.0, 4.5, 8.0])
def test_no_row_pays_more_than_the_budget(budget):
    rng = np.random.default_rng(1)
    X = rng.normal(size=(900, 6))
    X[rng.random(X.shape) < 0.1] = np.nan
    y = np.nan_to_num(np.where(X[:, 0] > 0, X[:, 1], X[:, 2]) + X[:, 3]) > 0
    groups = {"lab": {"features": [0, 1], "setup": 2.0}}
    costs = Costs([1.0, 1.0, 3.0, 1.5, 1.0, 1.0], groups=groups, evaluation=0.01)
    model = PurchaseTreeClassifier(costs=costs, budget=budget, **SMALL).fit(X, y)
    assert model.cost_ <= budget * (1 + 1e-9)
    assert model.run(X, count="tree").cost.max() <= budget * (1 + 1e-9)
    assert model.run(X).cost.max() > 0


def test_values_that_are_not_bought_change_nothing(guide):
    X, y = guide
    model = PurchaseTreeClassifier(budget=2, **SMALL).fit(X, y)
    run = model.run(X)
    hidden = np.where(run.acquired, X, np.nan)
    assert np.array_equal(model.run(hidden).scores, run.scores)


def test_a_row_that_is_stopped_is_answered_by_the_shares_of_its_side():
    rng = np.random.default_rng(0)
    X = rng.integers(2, size=(2000, 3)).astype(float)
    y = np.where(X[:, 0] > 0, X[:, 1], rng.random(2000) < 0.1 + 0.7 * X[:, 2])
    model = PurchaseTreeClassifier(budget=2, metric="log_loss", **SMALL).fit(X, y)
    low = X[:, 0] == 0
    share = model.predict_proba(X, budget=1)[low, 1]
    assert share == pytest.approx(y[low].mean(), abs=0.02)


def test_categories_divide_rows():
    # The letter tells which feature matters.
    rng = np.random.default_rng(0)
    X = rng.integers(2, size=(2400, 5)).astype(float)
    X[:, 0] = rng.integers(4, size=2400)
    y = X[np.arange(2400), 1 + X[:, 0].astype(int)]
    model = PurchaseTreeClassifier(budget=2, categorical_features=[0], **SMALL).fit(X, y)
    assert model.n_leaves_ == 4
    assert model.score(X, y) == 1.0


def test_a_split_as_a_term_agrees_with_its_bins():
    X = np.array([[0.0, 0], [1.0, 1], [2.0, 2], [np.nan, np.nan]])
    bins = Bins.fit(X, 32, np.array([False, True]))
    rows, binned = np.arange(4), bins.transform(X)
    for feature in (0, 1):
        for cut in (0, 1, 2):
            split = Split(feature, cut)
            low = split.goes_low(binned, rows)
            assert (split.term(bins, 0.0).evaluate(X, rows) > 0).tolist() == low.tolist()
            assert low.sum() == cut + 1


def test_rows_are_routed_to_leaves():
    X = np.array([[0.0, 5.0], [1.0, 6.0], [0.0, 7.0]])
    binned = Bins.fit(X).transform(X)
    leaves = (Branch(np.arange(0), (0, 1)), Branch(np.arange(0), (0,)))
    root = Branch(np.arange(0), (0,), Split(0, 0), leaves)
    reached = [(leaf.bought, rows) for leaf, rows in root.routed(binned, np.arange(3))]
    assert bought_table(reached, X.shape).tolist() == [[True, True], [True, False], [True, True]]
    root.place(binned, np.arange(3))
    assert [leaf.rows.tolist() for leaf in root.leaves] == [[0, 2], [1]]
