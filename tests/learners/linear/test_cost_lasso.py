import numpy as np
import pytest
from sklearn.linear_model import Lasso

from miserly import CostLassoClassifier, CostLassoRegressor, Costs
from miserly.datasets import load_heart


@pytest.fixture(scope="module")
def numbers():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 5)) * [1.0, 20.0, 3.0, 0.1, 1.0] + [0.0, 5.0, -2.0, 1.0, 0.0]
    return X, X @ [2.0, 0.05, 0.3, 10.0, 0.0] + rng.normal(size=300)


def test_it_is_the_lasso_on_standardised_columns_divided_by_their_costs(numbers):
    X, y = numbers
    costs = np.array([5.0, 1.0, 2.0, 3.0, 1.0])
    model = CostLassoRegressor(costs=costs, tradeoff=0.05, refit=False).fit(X, y)
    scale = X.std(axis=0) * costs
    peer = Lasso(alpha=0.05, tol=1e-12).fit((X - X.mean(axis=0)) / scale, y)
    np.testing.assert_allclose(model.coef_[:, 0], peer.coef_ / scale, rtol=1e-5)
    np.testing.assert_allclose(model.predict(X), peer.predict((X - X.mean(axis=0)) / scale), atol=1e-5)


def test_refitting_undoes_the_shrinking(numbers):
    X, y = numbers
    fits = {refit: CostLassoRegressor(tradeoff=0.4, refit=refit).fit(X, y) for refit in (True, False)}
    np.testing.assert_array_equal(fits[True].features_, fits[False].features_)
    assert 0 < len(fits[True].features_) < 5
    assert fits[True].score(X, y) > fits[False].score(X, y)


def test_free_features_are_used_and_the_most_expensive_go_first_as_the_tradeoff_rises(numbers):
    X, y = numbers
    costs = [100.0, 1.0, 0.0, 1.0, 0.0]
    used = [
        CostLassoRegressor(costs=costs, tradeoff=tradeoff).fit(X, y).features_.tolist()
        for tradeoff in (1e-4, 0.1, 100.0)
    ]
    assert used == [[0, 1, 2, 3, 4], [1, 2, 3, 4], [2, 4]]


def test_the_smallest_tradeoff_inside_the_budget_is_taken(numbers):
    X, y = numbers
    model = CostLassoRegressor(costs=[5, 1, 2, 3, 1], budget=6.5).fit(X, y)
    assert model.cost_ <= 6.5 and model.tradeoff_ > model.tradeoff
    less = CostLassoRegressor(costs=[5, 1, 2, 3, 1], tradeoff=model.tradeoff_ / 1.05).fit(X, y)
    assert less.cost_ > 6.5 or model.cost_ >= 0.98 * 6.5
    assert CostLassoRegressor(costs=[5, 1, 2, 3, 1], budget=100, tradeoff=0.2).fit(X, y).tradeoff_ == 0.2


def test_a_set_up_is_weighed_for_the_whole_group(numbers):
    X, y = numbers
    for setup, bought in ((0.0, True), (50.0, False)):
        costs = Costs([1.0] * 5, groups={"lab": {"features": [0, 3], "setup": setup}})
        model = CostLassoRegressor(costs=costs, tradeoff=0.05).fit(X, y)
        assert bool({0, 3} & set(model.features_.tolist())) is bought


def test_with_less_money_the_most_telling_features_are_bought_first(numbers):
    X, y = numbers
    model = CostLassoRegressor(tradeoff=0.01).fit(X, y)
    errors = [np.mean((model.predict(X, budget=budget) - y) ** 2) for budget in range(6)]
    assert errors[0] == pytest.approx(np.var(y))
    assert np.all(np.diff(errors[:4]) < -0.01 * errors[0])


def test_three_classes_share_what_they_buy():
    heart = load_heart()
    y = heart.y + 2 * (heart.X[:, 0] > 60) * heart.y  # 0, 1, 3
    model = CostLassoClassifier(costs=heart.costs, budget=20).fit(heart.X, y)
    used = model.coef_[np.isin(np.arange(13), model.plan_.features)]
    assert model.coef_.shape == (13, 3) and (used != 0).all() and 0 < len(used) < 13
    assert model.predict_proba(heart.X).shape == (270, 3) and model.score(heart.X, y) > 0.6
    assert model.cost_ <= 20


def test_text_is_refused_by_name_and_truth_values_are_numbers():
    import pandas as pd

    frame = pd.DataFrame({"age": [1.0, 2.0, 3.0, 4.0], "smokes": [True, False, True, True]})
    CostLassoRegressor().fit(frame, [1.0, 2.0, 3.0, 4.0])
    with pytest.raises(ValueError, match="column 'town' holds categories"):
        CostLassoRegressor().fit(frame.assign(town=list("abca")), [1.0, 2.0, 3.0, 4.0])
