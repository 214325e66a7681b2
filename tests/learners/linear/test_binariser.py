"""The binariser: which questions it asks, what they read, what they cost."""

import numpy as np
import pytest
from sklearn.utils.estimator_checks import parametrize_with_checks

from miserly import AdaBoostBTClassifier, Binariser, CostError, Costs, DataError


@parametrize_with_checks([Binariser(), Binariser(max_thresholds=3)])
def test_scikit_learn_is_content(estimator, check):
    check(estimator)


def test_there_is_a_threshold_between_any_two_values():
    rng = np.random.default_rng(0)
    X = np.column_stack([rng.permutation(30), rng.integers(0, 4, 30), np.ones(30)]).astype(float)
    binariser = Binariser().fit(X)
    assert np.bincount(binariser.feature_, minlength=3).tolist() == [29, 3, 0]
    columns = binariser.transform(X)
    assert columns.dtype == np.uint8
    np.testing.assert_array_equal(columns[:, :29].sum(axis=1), X[:, 0])  # how many thresholds lie below


def test_thresholds_can_be_fewer():
    X = np.arange(100.0)[:, None]
    assert Binariser(max_thresholds=4).fit_transform(X).mean(axis=0).tolist() == [0.8, 0.6, 0.4, 0.2]


def test_categories_are_asked_for_one_by_one_and_what_is_missing_stays_missing():
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame({"town": ["aye", "bex", "pau", None], "sex": ["f", "m", "f", "f"]})
    binariser = Binariser().fit(frame)
    assert binariser.get_feature_names_out().tolist() == ["town = aye", "town = bex", "town = pau", "sex = m"]
    columns = binariser.transform(frame)
    np.testing.assert_array_equal(columns[:, 3], [0, 1, 0, 0])
    np.testing.assert_array_equal(columns[:3, :3], np.eye(3))
    assert np.isnan(columns[3, :3]).all()
    stranger = pandas.DataFrame({"town": ["zug"], "sex": ["m"]})
    with pytest.raises(DataError, match="'town', row 0: 'zug' is not among its categories"):
        binariser.transform(stranger)
    unknown = binariser.transform(stranger, unknown="missing")
    assert np.isnan(unknown[0, :3]).all() and unknown[0, 3] == 1


def test_listed_columns_of_codes_are_categories():
    X = np.array([[0.0], [1.0], [2.0]])
    assert Binariser(categorical_features=[0]).fit(X).get_feature_names_out().tolist() == [
        "x0 = 0",
        "x0 = 1",
        "x0 = 2",
    ]


def test_a_feature_is_paid_once_for_all_columns_that_read_it():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(80, 3))
    binariser = Binariser().fit(X)
    costs = binariser.costs(Costs([3.0, 1.0, 2.0], evaluation=0.5, unit="ms"))
    assert costs.total == 6.0 and (costs.evaluation, costs.unit) == (0.5, "ms")
    assert costs.of(np.flatnonzero(binariser.feature_ == 0)) == 3.0
    model = AdaBoostBTClassifier(costs=costs, n_rounds=30, budget=40, rule="early-stop")
    model.fit(binariser.transform(X), X[:, 0] + X[:, 1] > 0)
    used = np.unique(binariser.feature_[model.plan_.features])
    assert model.cost_ == pytest.approx(np.array([3.0, 1.0, 2.0])[used].sum() + 0.5 * len(model.plan_.terms))


def test_columns_can_have_prices_of_their_own():
    binariser = Binariser().fit(np.array([[1.0], [2.0], [3.0]]))
    assert binariser.costs([0.3, 0.4], per="column").total == pytest.approx(0.7)
    assert binariser.costs(per="column").total == 2.0
    with pytest.raises(CostError, match="'feature' or 'column'"):
        binariser.costs(per="row")


def test_columns_are_in_the_groups_of_their_features():
    binariser = Binariser().fit(np.array([[1.0, 1.0, 1.0], [2.0, 2.0, 2.0], [3.0, 3.0, 3.0]]))
    costs = binariser.costs(Costs([1.0, 4.0, 9.0], groups={"lab": {"features": [0, 1], "setup": 2.0}}))
    first, second, third = (np.flatnonzero(binariser.feature_ == f) for f in range(3))
    assert (costs.of(first), costs.of(second), costs.of(third), costs.total) == (3.0, 6.0, 9.0, 16.0)
    assert costs.marginal(second[0], bought=first[:1]) == 4.0
