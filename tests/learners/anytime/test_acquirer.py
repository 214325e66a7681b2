"""The adaptive acquirer: pools, categories, budgets and what its parameters change."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pandas as pd
import pytest

from miserly import AcquirerClassifier, Costs


def branching(n=1500, seed=0):
    """The sign of column 0 says whether column 1 or column 2 has the class; three columns are noise."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 6))
    X[:, 0] = np.where(X[:, 0] > 0, 3.0, -3.0) + 0.3 * X[:, 0]
    y = (np.where(X[:, 0] > 0, X[:, 1], X[:, 2]) > 0).astype(int)
    return X, y


def three_digits(n=1200, seed=0):
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 3, n)
    return rng.normal(size=(n, 4)) + np.eye(3)[y] @ rng.normal(size=(3, 4)) * 2.0, y


FIXED = {"noise": 0.1, "sharpness": 1.0, "random_state": 0}


def test_rows_buy_different_features():
    X, y = branching()
    model = AcquirerClassifier(budget=3, **FIXED).fit(X, y)
    fresh, labels = branching(seed=1)
    run = model.run(fresh)
    assert (run.cost <= 3).all() and len(np.unique(run.acquired, axis=0)) > 1
    assert model.score(fresh, labels) > 0.75


def test_one_model_serves_all_budgets():
    X, y = three_digits()
    model = AcquirerClassifier(**FIXED).fit(X, y)
    scores = [np.mean(model.predict(X, budget=budget) == y) for budget in (0, 1, 2, 4)]
    assert scores == sorted(scores) and scores[-1] > scores[0] + 0.3
    assert model.run(X, budget=0).cost.max() == 0.0


def test_confidence_and_tradeoff_save_purchases():
    X, y = three_digits()
    cost = [
        AcquirerClassifier(**FIXED, **given).fit(X, y).run(X).cost.mean()
        for given in ({}, {"confidence": 0.9}, {"confidence": 0.7}, {"tradeoff": 0.01}, {"tradeoff": 0.05})
    ]
    assert cost[0] > cost[1] > cost[2] and cost[0] > cost[3] > cost[4]


def test_the_price_exponent_prefers_cheap_features():
    X, y = three_digits()
    X = np.column_stack([X, X + 0.3 * np.random.default_rng(1).normal(size=X.shape)])
    costs = [10.0] * 4 + [1.0] * 4
    first = {
        exponent: AcquirerClassifier(costs=costs, price_exponent=exponent, **FIXED)
        .fit(X, y)
        .plan_.start()
        .next()[0]
        for exponent in (0.0, 1.0)
    }
    assert first[0.0] < 4 <= first[1.0]


def test_the_pool_holds_what_separates_the_classes_and_fits_the_budget():
    X, y = branching()
    assert set(AcquirerClassifier(pool_size=2, **FIXED).fit(X, y).features_) == {1, 2}
    costs = Costs([1.0, 9.0, 1.0, 1.0, 1.0, 1.0])
    model = AcquirerClassifier(costs=costs, budget=5, **FIXED).fit(X, y)
    assert 1 not in model.features_ and model.cost_ == 5.0
    nothing = AcquirerClassifier(costs=costs, budget=0.5, **FIXED).fit(X, y)
    assert len(nothing.features_) == 0 and len(np.unique(nothing.predict(X))) == 1


def test_categories_are_indicators_bought_together():
    rng = np.random.default_rng(0)
    y = rng.integers(0, 3, 900)
    colour = np.where(rng.random(900) < 0.8, np.array(["red", "green", "blue"])[y], "red")
    frame = pd.DataFrame({"colour": colour, "noise": rng.normal(size=900)})
    model = AcquirerClassifier(costs={"colour": 2.0, "noise": 1.0}, budget=2, **FIXED).fit(frame, y)
    acquisition = model.plan_.nodes[0].acquisition
    assert np.count_nonzero(acquisition.category >= 0) == 3
    assert model.score(frame, y) > 0.8 and model.run(frame).cost.max() == 2.0
    plain = AcquirerClassifier(categorical_features=None, **FIXED).fit(frame, y)
    assert (plain.plan_.nodes[0].acquisition.category == -1).all()


def test_more_components_fit_classes_of_several_clusters():
    rng = np.random.default_rng(0)
    blobs = rng.choice([-4.0, 0.0, 4.0], size=2000)
    z = (blobs == 0.0).astype(int)
    X = blobs[:, None] + 0.3 * rng.normal(size=(2000, 1))
    one, four = (AcquirerClassifier(n_components=n, **FIXED).fit(X, z) for n in (1, 4))
    assert len(one.plan_.nodes[0].acquisition.weight) == 2 < len(four.plan_.nodes[0].acquisition.weight)
    right = [np.log(model.predict_proba(X)[np.arange(2000), z]).mean() for model in (one, four)]
    assert right[0] < right[1] and four.score(X, z) > 0.99


def test_shrinkage_pulls_covariances_together():
    X, y = three_digits(n=300)
    apart = []
    for shrinkage in (0.0, 100.0):
        covariance = (
            AcquirerClassifier(shrinkage=shrinkage, **FIXED).fit(X, y).plan_.nodes[0].acquisition.covariance
        )
        apart.append(np.ptp(covariance, axis=0).max())
    assert apart[0] > 3 * apart[1]


def test_noise_and_sharpness_are_chosen_or_given():
    X, y = three_digits()
    model = AcquirerClassifier(budget=2, random_state=0).fit(X, y)
    assert model.noise_ in (0.02, 0.1, 0.3) and model.sharpness_ in (0.5, 0.75, 1.0)
    assert model.plan_.nodes[0].acquisition.sharpness == model.sharpness_
    given = AcquirerClassifier(noise=0.2, sharpness=0.25).fit(X, y)
    assert (given.noise_, given.sharpness_) == (0.2, 0.25)
    sure = [
        AcquirerClassifier(**{**FIXED, "noise": noise}).fit(X, y).predict_proba(X).max(axis=1).mean()
        for noise in (0.02, 2.0)
    ]
    assert sure[0] > sure[1]
    with pytest.raises(ValueError, match="sharpness"):
        AcquirerClassifier(sharpness=0.6).fit(X, y)


def stripes(n=1500, seed=0):
    """The class alternates in five stripes of column 0, so one Gaussian of each class says little."""
    X = np.random.default_rng(seed).uniform(0.0, 5.0, size=(n, 3))
    return X, np.array(["even", "odd"])[(np.floor(X[:, 0]) % 2).astype(int)]


def test_rounds_of_trees_correct_the_mixture():
    (X, y), (fresh, labels) = stripes(), stripes(seed=1)
    models = {
        n: AcquirerClassifier(n_components=1, n_rounds=n, **FIXED).fit(X, y) for n in (0, 5, 60, "auto")
    }
    assert {n: model.n_rounds_ for n, model in models.items()} == {0: 0, 5: 5, 60: 60, "auto": 60}
    assert [len(models[n].plan_.terms) for n in (0, 5, 60)] == [0, 5, 60]
    right = {n: model.score(fresh, labels) for n, model in models.items()}
    assert right[0] < 0.7 < 0.9 < right[60] and right["auto"] == right[60]
    bought = [model.run(fresh, budget=1).acquired for model in models.values()]
    assert all(np.array_equal(one, bought[0]) for one in bought)  # what is bought stays the same
    none = AcquirerClassifier(costs=Costs([1.0] * 3, evaluation=0.1), n_rounds=5, **FIXED).fit(X, y)
    assert none.n_rounds_ == 0 and none.plan_.terms == ()


def test_the_depth_of_trees_is_limited():
    X, y = stripes()
    for depth in (1, 3):
        model = AcquirerClassifier(n_components=1, n_rounds=20, max_depth=depth, **FIXED).fit(X, y)
        assert max(term.depth for term in model.plan_.terms) == depth


def test_each_class_has_its_trees():
    X, y = three_digits()
    model = AcquirerClassifier(n_rounds=4, **FIXED).fit(X, y)
    assert len(model.plan_.terms) == 12 and np.unique(model.plan_.nodes[1].channels).tolist() == [0, 1, 2]


def test_a_model_with_trees_runs_without_scikit_learn(tmp_path):
    X, y = stripes(400)
    model = AcquirerClassifier(n_rounds=5, budget=2, **FIXED).fit(X, y)
    model.plan_.save(tmp_path / "model.miser")
    np.save(tmp_path / "X.npy", X[:50])
    code = """
import sys
sys.modules["sklearn"] = None
import numpy as np
from miserly import load
plan, X = load("model.miser"), np.load("X.npy")
np.save("scores.npy", [plan.run(X, budget).scores for budget in (0, 1, 2)])
"""
    subprocess.run([sys.executable, "-c", code], cwd=tmp_path, check=True)
    expected = [model.run(X[:50], budget=budget).scores for budget in (0, 1, 2)]
    np.testing.assert_array_equal(np.load(tmp_path / "scores.npy"), expected)


def test_few_rows_give_no_trees():
    X, y = stripes(30)
    assert AcquirerClassifier(random_state=0).fit(X, y).n_rounds_ == 0
    assert AcquirerClassifier(n_rounds=5, random_state=0).fit(X[:9], y[:9]).n_rounds_ == 0
