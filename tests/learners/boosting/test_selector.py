"""Selectors: features chosen together for a budget, then boosted trees on them."""

from dataclasses import replace

import numpy as np
import pytest

from miserly import (
    BudgetedSelectorClassifier,
    BudgetedSelectorRegressor,
    Costs,
    GreedyMiserClassifier,
    frontier,
)
from miserly.data.rows import Rows
from miserly.grow import GrowOptions
from miserly.learners.boosting import feature_choice, feature_sets
from miserly.learners.boosting.feature_choice import best_order, choose_features, improve_by_swaps
from miserly.learners.boosting.feature_sets import FeatureSets, SetOptions
from miserly.losses import Logistic
from miserly.metrics import get_metric
from miserly.selection.hyperparameters import views_of
from miserly.selection.requests import SearchBudgets

SMALL = {"n_rounds": 30, "random_state": 0, "n_jobs": 1}


@pytest.fixture(scope="module")
def parity():
    """Ten bits. The label is the parity of two of them, with a third bit that says a little."""
    rng = np.random.default_rng(0)
    X = rng.integers(2, size=(1500, 10)).astype(float)
    y = (X[:, 3] != X[:, 7]).astype(int)
    flip = (rng.random(1500) < 0.3) & (X[:, 0] > 0)
    return X, np.where(flip, 1, y)


def sets_of(X, y, metric="accuracy"):
    options = SetOptions(
        loss=Logistic(),
        metric=get_metric(metric),
        is_classifier=True,
        validation_fraction=0.25,
        growth=GrowOptions(l2=1.0),
        categorical=np.zeros(X.shape[1], dtype=np.bool_),
        seed=0,
        n_threads=1,
    )
    return FeatureSets(Rows(X, y.astype(float)), options)


def test_features_that_matter_only_together_are_found(parity):
    X, y = parity
    model = BudgetedSelectorClassifier(budget=2, **SMALL).fit(X, y)
    greedy = GreedyMiserClassifier(budget=2, **SMALL).fit(X, y)
    assert sorted(model.features_) == [3, 7]
    assert model.score(X, y) > 0.9 > 0.7 > greedy.score(X, y)


def test_level_gain_sees_the_second_bit_of_a_parity(parity):
    sets = sets_of(*parity)
    assert sets.level_gain(()).argmax() == 0
    assert sets.level_gain((3,)).argmax() == 7
    assert sets.level_gain((3,))[3] == -np.inf


@pytest.mark.parametrize("budget", [2.0, 4.5, 8.0])
def test_no_row_pays_more_than_the_budget(budget):
    rng = np.random.default_rng(1)
    X = rng.normal(size=(600, 6))
    X[rng.random(X.shape) < 0.1] = np.nan
    y = np.nan_to_num(X) @ [1, 1, 1, 0.5, 0, 0] > 0
    groups = {"lab": {"features": [0, 1], "setup": 2.0}}
    costs = Costs([1.0, 1.0, 3.0, 1.5, 1.0, 1.0], groups=groups, evaluation=0.01)
    model = BudgetedSelectorClassifier(costs=costs, budget=budget, **SMALL).fit(X, y)
    assert model.cost_ <= budget
    assert model.run(X, count="tree").cost.max() <= budget
    assert model.run(X).cost.max() > 0


def test_swaps_never_worsen_the_validation_metric(parity):
    sets, costs = sets_of(*parity), Costs(np.ones(10))
    for start in ([0, 1], [0, 3], [5, 6], [3, 7]):
        found = improve_by_swaps(start, sets, costs, 2.0)
        assert sets.rank(tuple(sorted(found))) >= sets.rank(tuple(sorted(start)))
        assert len(found) <= 2
    assert sorted(improve_by_swaps([0, 3], sets, costs, 2.0)) == [3, 7]


def test_a_swap_may_buy_several_features_for_the_price_of_one():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(1000, 3))
    y = X[:, 0] + X[:, 1] > 0
    sets, costs = sets_of(X, y), Costs([1.0, 1.0, 2.0])
    assert sorted(improve_by_swaps([2], sets, costs, 2.0)) == [0, 1]


def test_the_metric_decides_between_sets():
    # Feature 0 tells 6 % of the rows surely, and feature 1 moves all probabilities, but changes no answer.
    rng = np.random.default_rng(0)
    n = 4000
    rare, tilt = rng.random(n) < 0.06, rng.random(n) < 0.5
    y = rare | (rng.random(n) < np.where(tilt, 0.38, 0.02))
    X = np.column_stack([rare, tilt]).astype(float)
    chosen = {
        metric: BudgetedSelectorClassifier(budget=1, metric=metric, **SMALL).fit(X, y).features_.tolist()
        for metric in ("accuracy", "log_loss")
    }
    assert chosen == {"accuracy": [0], "log_loss": [1]}


def test_an_expensive_feature_is_bought_if_it_is_worth_it():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(1000, 4))
    y = X[:, 3] + 0.3 * X[:, :3].sum(axis=1)
    costs = Costs([1.0, 1.0, 1.0, 3.0])
    model = BudgetedSelectorRegressor(costs=costs, budget=3, **SMALL).fit(X, y)
    assert model.features_.tolist() == [3]
    assert BudgetedSelectorRegressor(costs=costs, budget=2, **SMALL).fit(X, y).cost_ == 2.0


def test_a_smaller_budget_at_prediction_is_answered_by_the_first_features(parity):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(2000, 6))
    y = X @ [3, 2, 1, 0.5, 0, 0] > 0
    model = BudgetedSelectorClassifier(budget=4, **SMALL).fit(X, y)
    scores = [float(np.mean(model.predict(X, budget=k) == y)) for k in range(5)]
    assert scores == sorted(scores) and scores[1] > 0.7
    assert model.order_[:2].tolist() == [0, 1]


def test_without_a_budget_all_features_may_be_used():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(500, 4))
    model = BudgetedSelectorRegressor(**SMALL).fit(X, X.sum(axis=1))
    assert model.cost_ == 4.0 and model.n_rounds_ == 30


def test_a_budget_for_nothing_gives_a_constant():
    X, y = np.random.default_rng(0).normal(size=(100, 2)), np.arange(100) % 3
    model = BudgetedSelectorClassifier(costs=[2.0, 2.0], budget=1.0, **SMALL).fit(X, y)
    assert model.cost_ == 0.0 and len(np.unique(model.predict(X))) == 1


def test_evaluations_of_trees_are_part_of_the_budget():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(500, 4))
    costs = Costs(np.ones(4), evaluation=0.1)
    model = BudgetedSelectorRegressor(costs=costs, budget=2.5, **SMALL).fit(X, X.sum(axis=1))
    assert len(model.features_) == 2 and model.n_rounds_ == 5
    assert model.cost_ == pytest.approx(2.5)


def test_validation_fraction_changes_the_evaluation_of_a_set(parity):
    X, y = parity
    more = replace(sets_of(X, y).options, validation_fraction=0.5)
    assert FeatureSets(Rows(X, y.astype(float)), more).rank((3, 7)) != sets_of(X, y).rank((3, 7))


def test_rare_classes_do_not_diverge():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(1500, 3))
    y = np.where(X[:, 0] > 2.2, 1, np.where(X[:, 1] > 2.2, 2, 0))
    model = BudgetedSelectorClassifier(budget=2, **SMALL).fit(X[:1000], y[:1000])
    assert get_metric("log_loss")(y[1000:], model.predict_proba(X[1000:])) < 0.1


def test_many_rows_are_subsampled_for_the_choice(monkeypatch, parity):
    monkeypatch.setattr("miserly.learners.boosting.feature_sets.MAX_ROWS", 400)
    X, y = parity
    sets = sets_of(X, y)
    assert sets.work == 400 * 5 * 20
    assert sorted(choose_features(sets, Costs(np.ones(10)), 2.0)) == [3, 7]


def test_what_is_kept_of_earlier_fits_is_bounded_and_changes_nothing(monkeypatch, parity):
    X, y = parity
    fits = [BudgetedSelectorClassifier(budget=2, random_state=0, n_jobs=1).fit(X, y) for _ in range(2)]
    assert 0 < len(feature_sets._recent) <= feature_sets.N_TABLES
    monkeypatch.setattr(feature_sets, "MOST_BYTES", 1)
    fits.append(BudgetedSelectorClassifier(budget=2, random_state=0, n_jobs=1).fit(X, y))
    assert not feature_sets._recent
    assert len({fit.plan_.digest for fit in fits}) == 1


# -- models for all smaller budgets --------------------------------------------------------------------------


@pytest.fixture(scope="module")
def sums():
    """Six features, of which the first four matter less and less."""
    X = np.random.default_rng(0).normal(size=(1500, 6))
    return X, X @ [3, 2, 1, 0.5, 0, 0] > 0


def test_an_anytime_model_answers_at_each_budget_like_a_model_of_its_own(sums):
    X, y = sums
    model = BudgetedSelectorClassifier(budget=4, anytime=True, **SMALL).fit(X, y)
    assert model.order_[:3].tolist() == [0, 1, 2] and len(model.plan_.nodes) == 4
    for k in (1, 2, 3, 4):
        columns = model.order_[:k]
        alone = BudgetedSelectorClassifier(**SMALL).fit(X[:, columns], y)
        np.testing.assert_allclose(
            model.predict_proba(X, budget=k), alone.predict_proba(X[:, columns]), atol=1e-12
        )
        assert model.run(X, budget=k).cost.max() <= k
    ordinary = BudgetedSelectorClassifier(budget=4, **SMALL).fit(X, y)
    mine, other = (get_metric("log_loss")(y, one.predict_proba(X, budget=2)) for one in (model, ordinary))
    assert mine < 0.7 * other


def test_an_anytime_model_of_all_features_has_an_order(sums):
    X, y = sums
    model = BudgetedSelectorClassifier(anytime=True, **SMALL).fit(X[:, ::-1], y)
    assert model.order_[:4].tolist() == [5, 4, 3, 2]
    assert np.mean(model.predict(X[:, ::-1], budget=2) == y) > 0.9


def test_the_trees_of_an_anytime_model_fit_the_budget():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(500, 4))
    costs = Costs(np.ones(4), evaluation=0.1)
    model = BudgetedSelectorRegressor(costs=costs, budget=4.0, anytime=True, **SMALL)
    model.fit(X, X @ [4, 3, 2, 1])
    # 0.8 are kept for trees, so 3 features are bought, and 1.0 is left: 2 trees, 2 trees and 6 trees.
    assert [len(node.terms) for node in model.plan_.nodes] == [2, 2, 6] and model.n_rounds_ == 6
    assert model.cost_ == pytest.approx(4.0)
    assert model.run(X, budget=1.2).exit.tolist() == [0] * 500


def test_a_prefix_that_says_nothing_has_no_model():
    X = np.column_stack([np.zeros(300), np.random.default_rng(0).normal(size=300)])
    model = BudgetedSelectorClassifier(anytime=True, **SMALL).fit(X, X[:, 1] > 0)
    assert (
        len(model.plan_.nodes) <= 2 and model.features_.tolist() == [1] and model.score(X, X[:, 1] > 0) > 0.95
    )
    constant = BudgetedSelectorClassifier(anytime=True, **SMALL).fit(X[:, :1], X[:, 1] > 0)
    assert constant.plan_.nodes == () and constant.n_rounds_ == 0 and constant.cost_ == 0.0


def test_the_order_of_an_anytime_model_is_good_from_its_first_features_on(parity):
    X, y = parity
    sets, costs = sets_of(X, y), Costs(np.ones(10))
    found = best_order([5, 6, 0, 7, 3], sets, costs)
    assert sorted(found) == [0, 3, 5, 6, 7] and set(found[:3]) == {0, 3, 7}


def test_the_order_of_an_anytime_model_puts_cheap_features_first_if_they_help():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(1000, 3))
    y = 2.0 * X[:, 0] + X[:, 1] + 0.7 * X[:, 2] > 0
    costs = Costs([10.0, 1.0, 1.0])
    assert best_order([0, 1, 2], sets_of(X, y), costs) == [1, 2, 0]
    assert best_order([1, 2, 0], sets_of(X, y), Costs(np.ones(3)))[0] == 0
    model = BudgetedSelectorClassifier(costs=costs, anytime=True, **SMALL).fit(X, y)
    assert np.mean(model.predict(X, budget=2) == y) > 0.65


def test_a_search_takes_one_anytime_model_for_all_budgets(sums):
    X, y = sums
    learner = BudgetedSelectorClassifier(anytime=True, **SMALL)
    found = frontier([learner], X, y, budgets=[1, 2, 4], certify=0, random_state=0, n_jobs=1)
    models = [found.best(budget=budget) for budget in (1, 2, 4)]
    assert [model.cost_ for model in models] == [1.0, 2.0, 4.0]
    assert models[1].score(X, y) > 0.88
    assert {tuple(view) for view in views_of(learner, Costs(np.ones(6)), SearchBudgets())} == {
        ("up_to_cost",)
    }


def test_a_search_takes_a_model_whose_size_is_chosen(sums):
    X, y = sums
    learner = BudgetedSelectorClassifier(max_depth="auto", n_rounds="auto", random_state=0, n_jobs=1)
    found = frontier([learner], X[:600], y[:600], budgets=[2], certify=0, random_state=0, n_jobs=1)
    assert found.best(budget=2).score(X[600:], y[600:]) > 0.85


class Given:
    """Sets of features of which those with 0 and 1 are best, which no gain says."""

    def total_gain(self, features):
        return np.arange(6.0)

    level_gain = total_gain

    def rank(self, features):
        return float({0, 1} <= set(features)), 0.0


def test_an_order_may_begin_with_what_a_quarter_of_the_money_chooses(monkeypatch):
    def choose(sets, costs, budget):
        return [0, 5, 1] if budget <= 1.5 else []

    monkeypatch.setattr(feature_choice, "choose_features", choose)
    assert best_order([5, 4, 3, 2, 1, 0], Given(), Costs(np.ones(6))) == [0, 5, 1, 4, 3, 2]
    assert best_order([4, 3, 2, 1, 0], Given(), Costs(np.ones(6))) == [0, 1, 4, 3, 2]
