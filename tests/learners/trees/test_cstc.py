"""CSTC and CSCC: the quadrants, what each parameter changes, ranking, classes, cascades."""

import numpy as np
import pytest
from sklearn.exceptions import NotFittedError

from miserly import Costs, CSCCClassifier, CSTCClassifier, CSTCRegressor
from miserly.datasets import load_heart, make_quadrants
from miserly.errors import DataError
from miserly.metrics import get_metric
from miserly.plan import LEAVE, Tree


@pytest.fixture(scope="module")
def quadrants():
    return make_quadrants(1000, random_state=0), make_quadrants(3000, random_state=1)


def error_and_cost(model, data):
    return np.mean((model.predict(data.X) - data.y) ** 2), model.run(data.X).cost.mean()


@pytest.fixture(scope="module")
def corners():
    """Two classes by a product of two columns, which no single linear classifier can tell."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(1500, 5))
    return X, (X[:, 0] * np.where(X[:, 1] > 0, 1.0, -1.0) + 0.2 * rng.normal(size=1500) > 0).astype(int)


# -- the synthetic set ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("given", [{"mean_budget": 12.0}, {"tradeoff": 0.055}], ids=str)
def test_quadrants_cost_twelve_and_are_answered(quadrants, given):
    train, test = quadrants
    model = CSTCRegressor(costs=train.costs, random_state=0, **given).fit(train.X, train.y)
    error, cost = error_and_cost(model, test)
    assert error <= 0.01 and cost == pytest.approx(12.0, abs=0.1)


def test_a_single_node_does_worse_at_every_cost(quadrants):
    train, test = quadrants
    for tradeoff in np.geomspace(0.002, 0.2, 8):
        alone = CSTCRegressor(costs=train.costs, tradeoff=tradeoff, max_depth=1).fit(train.X, train.y)
        error, cost = error_and_cost(alone, test)
        assert error > 0.1 or cost > 40


# -- what parameters change ----------------------------------------------------------------------------------


def test_a_larger_tradeoff_costs_less():
    heart = load_heart()
    cost = [
        CSTCClassifier(costs=heart.costs, tradeoff=t, loss="squared", random_state=0)
        .fit(heart.X, heart.y)
        .expected_cost_
        for t in (0.0, 0.01, 0.1, 10.0)
    ]
    assert cost[0] > cost[1] > cost[2] > cost[3] == 0.0


def test_budgets_hold_on_average_on_rows_held_out():
    heart = load_heart()
    for budget in (0.0, 20.0):
        model = CSTCClassifier(costs=heart.costs, mean_budget=budget, max_sweeps=2, random_state=0)
        model.fit(heart.X, heart.y)
        assert model.expected_cost_ <= budget and model.tradeoff_ >= 0.001


def test_optimising_lowers_the_objective_and_the_error(corners):
    X, y = corners
    plain, optimised = (
        CSTCClassifier(tradeoff=0.002, optimise=optimise, prune=False, random_state=0).fit(X[:700], y[:700])
        for optimise in (False, True)
    )
    assert len(plain.objective_) == 1 and optimised.objective_[0] == plain.objective_[0]
    assert (np.diff(optimised.objective_) <= 1e-9).all()
    assert optimised.objective_[-1] < 0.9 * plain.objective_[-1]
    assert optimised.score(X[700:], y[700:]) > plain.score(X[700:], y[700:]) + 0.02


def test_pruning_takes_nodes_away_that_do_not_help():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(400, 4))
    y = X[:, 0] + rng.normal(size=400)  # one linear model is all there is to find
    sizes = [len(CSTCRegressor(prune=prune, random_state=0).fit(X, y).plan_.nodes) for prune in (False, True)]
    assert sizes[0] == 7 and sizes[1] < 7


def test_without_pruning_weights_are_repetitions():
    rng = np.random.default_rng(0)
    X, y, times = rng.normal(size=(80, 3)), rng.normal(size=80), rng.integers(1, 4, 80)
    model = CSTCRegressor(prune=False, optimise=False, tradeoff=0.01, max_depth=2)
    weighted = model.fit(X, y, sample_weight=times).predict(X)
    repeated = model.fit(np.repeat(X, times, axis=0), np.repeat(y, times)).predict(X)
    np.testing.assert_allclose(weighted, repeated, rtol=1e-6, atol=1e-6)


def test_regularisation_and_sweeps_matter(corners):
    X, y = corners
    base = CSTCClassifier(random_state=0, tradeoff=0.002, prune=False).fit(X, y)
    once = CSTCClassifier(random_state=0, tradeoff=0.002, prune=False, max_sweeps=1).fit(X, y)
    lasso = CSTCClassifier(random_state=0, tradeoff=0.002, prune=False, l1_regularization=0.05).fit(X, y)
    assert len(once.objective_) == 8 < len(base.objective_)
    assert base.objective_[-1] < once.objective_[-1]
    assert sum(len(n.terms) for n in lasso.plan_.nodes) < sum(len(n.terms) for n in base.plan_.nodes)


def test_early_stopping_keeps_the_best_sweep(corners):
    X, y = corners
    patient = CSTCClassifier(random_state=0, tradeoff=0.002).fit(X, y)
    stopped = CSTCClassifier(random_state=0, tradeoff=0.002, early_stopping=1).fit(X, y)
    assert len(stopped.objective_) <= len(patient.objective_)
    assert stopped.score(X, y) > 0.8


# -- terms ---------------------------------------------------------------------------------------------------


def test_boosted_terms_are_trees_and_miser_trees_use_fewer_features():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(600, 8))
    y = np.sin(2 * X[:, 0]) + X[:, 1] * (X[:, 2] > 0)
    plain, miser = (
        CSTCRegressor(
            terms="boosted", n_terms=30, step=0.3, term_tradeoff=t, tradeoff=1e-5, random_state=0
        ).fit(X, y)
        for t in (None, 0.02)
    )
    assert all(isinstance(term, Tree) for term in plain.plan_.terms)
    assert len(plain.plan_.terms) <= 30 and plain.score(X, y) > 0.9
    assert len(miser.features_) < len(plain.features_) and miser.score(X, y) > 0.8


def test_text_needs_boosted_terms():
    import pandas as pd

    town = np.array(["ulm", "pau"])[np.arange(200) % 2]
    frame = pd.DataFrame({"town": town, "size": np.arange(200.0)})
    y = (town == "ulm").astype(int)
    with pytest.raises(DataError, match="'town'"):
        CSTCClassifier().fit(frame, y)
    model = CSTCClassifier(terms="boosted", n_terms=5, random_state=0).fit(frame, y)
    assert model.score(frame, y) == 1.0


def test_a_group_is_set_up_once():
    """Two columns of one group tell as much as one expensive column; with the set-up they cost even more."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(500, 3))
    X[:, 2] = (X[:, 0] + X[:, 1]) / np.sqrt(2)
    y = X[:, 0] + X[:, 1]
    chosen = []
    for setup in (0.0, 50.0):
        costs = Costs([1.0, 1.0, 10.0], groups={"lab": {"features": [0, 1], "setup": setup}})
        model = CSTCRegressor(costs=costs, tradeoff=0.005, max_depth=1).fit(X, y)
        chosen.append(model.features_.tolist())
    assert chosen == [[0, 1], [2]]


# -- ranking and classes -------------------------------------------------------------------------------------


def test_queries_are_evaluated_as_rankings():
    rng = np.random.default_rng(0)
    qid = np.repeat(np.arange(60), 10)
    X = rng.normal(size=(600, 4))
    grade = np.clip(np.round(X[:, 0] + np.abs(X[:, 1])), 0, 3)
    model = CSTCRegressor(random_state=0).fit(X, grade, qid=qid)
    assert get_metric("ndcg@5")(grade, model.predict(X), qid=qid) > 0.9
    by_error = CSTCRegressor(random_state=0, metric="mse").fit(X, grade, qid=qid)
    assert model.plan_.can_rank and by_error.plan_.can_rank


@pytest.mark.parametrize("loss", ["log_loss", "squared"])
def test_classes_share_one_tree(loss):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(900, 4))
    y = np.digitize(X[:, 0] + 0.3 * X[:, 1], [-0.5, 0.5])
    model = CSTCClassifier(loss=loss, tradeoff=0.03, random_state=0).fit(X[:600], y[:600])
    assert model.score(X[600:], y[600:]) > 0.9
    shares = model.predict_proba(X[600:])
    assert shares.shape == (300, 3) and np.log(shares[np.arange(300), y[600:]]).mean() > -0.4
    assert {0, 1} <= set(model.features_.tolist())


def test_one_class_is_refused():
    with pytest.raises(DataError, match="one class"):
        CSTCClassifier().fit(np.ones((20, 2)), np.zeros(20))
    with pytest.raises(NotFittedError):
        CSTCClassifier().predict(np.ones((2, 2)))


# -- cascades ------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def rare():
    """A cheap column rules most rows out; an expensive one finds the positives among the rest."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(3000, 2))
    return X, ((X[:, 0] > 1.0) & (X[:, 1] > 0.0)).astype(int)


def test_cascades_let_negatives_leave_cheaply(rare):
    X, y = rare
    model = CSCCClassifier(costs=[1.0, 20.0], tradeoff=0.002, random_state=0).fit(X, y)
    run = model.run(X)
    assert all(node.low == LEAVE for node in model.plan_.nodes) and len(model.plan_.nodes) > 1
    assert run.cost[y == 1].mean() > 2 * run.cost[y == 0].mean()
    assert model.score(X, y) > 0.93 and run.cost.mean() < 12


def test_class_weights_find_more_of_the_rare_class(rare):
    X, y = rare
    found = []
    for class_weight in (None, {0: 1.0, 1: 5.0}, "balanced"):
        model = CSCCClassifier(
            costs=[1.0, 20.0], tradeoff=0.002, class_weight=class_weight, prune=False, random_state=0
        ).fit(X, y)
        found.append(model.predict(X)[y == 1].mean())
    assert found[0] < found[1] <= found[2] + 0.02 and found[2] > 0.9


def test_cascades_take_two_classes_only():
    with pytest.raises(DataError, match="Only binary classification"):
        CSCCClassifier().fit(np.random.default_rng(0).normal(size=(30, 2)), np.arange(30) % 3)
