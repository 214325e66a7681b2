"""Cronus: most examples leave early and cheaply, and every part of the method can be had by itself."""

import numpy as np
import pytest

from miserly import Costs, CronusClassifier
from miserly.datasets import make_ranking
from miserly.metrics import precision_at_k

COSTS = Costs([1.0, 1.0, 20.0, 20.0], evaluation=0.1)
SMALL = {"costs": COSTS, "n_terms": 25, "term_tradeoff": None, "max_depth": 2, "random_state": 0, "n_jobs": 1}


@pytest.fixture(scope="module")
def rare():
    """One in eight is positive; cheap columns rule most rows out, expensive ones decide about the rest."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(1600, 4))
    y = (X[:, 0] + X[:, 1] > 0.8) & (X[:, 2] + X[:, 3] > 0.3)
    return X[:1000], y[:1000], X[1000:], y[1000:]


@pytest.fixture(scope="module")
def fitted(rare):
    return CronusClassifier(tradeoff=3e-3, **SMALL).fit(*rare[:2])


def test_most_rows_leave_before_the_expensive_features(rare, fitted):
    run = fitted.run(rare[2])
    assert len(np.unique(run.exit)) > 1
    assert run.cost.mean() < 0.6 * fitted.cost_
    assert fitted.score(rare[2], rare[3]) > 0.92
    assert run.acquired[:, :2].mean() > run.acquired[:, 2:].mean() + 0.2
    early = run.exit < len(fitted.plan_.nodes) - 1
    assert rare[3][early].mean() < 0.3 * rare[3].mean()


def test_a_single_stage_has_one_node_and_pays_less_as_the_tradeoff_rises(rare):
    costs = []
    for tradeoff in (1e-6, 6e-3, 3e-2):
        model = CronusClassifier(tradeoff=tradeoff, n_stages=1, **SMALL).fit(*rare[:2])
        assert len(model.plan_.nodes) == 1
        costs.append(model.cost_)
    assert costs[0] > costs[1] > costs[2]


def test_optimising_lowers_the_objective_and_can_be_left_out(rare, fitted):
    assert fitted.objective_[-1] < fitted.objective_[0] and len(fitted.objective_) >= 2
    first = CronusClassifier(tradeoff=3e-3, optimise=False, **SMALL).fit(*rare[:2])
    assert len(first.objective_) == 0 and 1 < len(first.plan_.nodes) <= 10


def test_refitting_fits_better(rare):
    loss = []
    for refit in (True, False):
        model = CronusClassifier(tradeoff=4e-3, n_stages=1, refit=refit, **SMALL).fit(*rare[:2])
        share = model.predict_proba(rare[0])[np.arange(1000), rare[1].astype(int)]
        loss.append(-np.log(share).mean())
    assert loss[0] < loss[1]


def test_heavier_positives_are_found_more_often(rare):
    found = [
        CronusClassifier(positive_weight=weight, tradeoff=1e-3, **SMALL)
        .fit(*rare[:2])
        .predict(rare[2])[rare[3]]
        .mean()
        for weight in (0.3, 10.0)
    ]
    assert found[1] > found[0]


def test_of_several_settings_the_best_on_rows_held_out_is_taken(rare):
    lists = {"positive_weight": [0.01, 3.5], "inflation": [1.0, 1.3], "l1_regularization": [0.0, 10.0]}
    model = CronusClassifier(tradeoff=1e-4, optimise=False, **lists, **SMALL).fit(*rare[:2])
    assert model.settings_["positive_weight"] == 3.5 and model.settings_["l1_regularization"] == 0.0
    assert model.settings_["inflation"] in (1.0, 1.3)


def test_a_budget_is_kept_on_average(rare):
    for budget in (3.0, 12.0):
        model = CronusClassifier(mean_budget=budget, tradeoff=0.0, optimise=False, **SMALL).fit(*rare[:2])
        assert model.expected_cost_ <= budget
        assert model.run(rare[2]).cost.mean() < 1.25 * budget
        assert model.tradeoff_ > 0.0


def test_documents_that_left_earlier_rank_below_those_that_stayed():
    data = make_ranking(1500, 40, random_state=0, evaluation=1.0)
    train, test = data.train_test(random_state=0)
    model = CronusClassifier(costs=data.costs, tradeoff=3e-5, n_terms=20, random_state=0)
    model.fit(train.X, train.y >= 2, qid=train.qid)
    scores, exits = model.decision_function(test.X, qid=test.qid), model.run(test.X).exit
    assert len(np.unique(exits)) > 1
    for query in np.unique(test.qid):
        here = test.qid == query
        order = np.argsort(scores[here])
        assert (np.diff(exits[here][order]) >= 0).all()
    assert precision_at_k(test.y >= 2, scores, test.qid, k=5) > 1.2 * (test.y >= 2).mean()


def test_queries_are_evaluated_by_precision(rare):
    qid = np.arange(1000) // 10
    model = CronusClassifier(positive_weight=[1.0, 3.5], tradeoff=1e-4, optimise=False, **SMALL)
    assert model.fit(*rare[:2], qid=qid).settings_["positive_weight"] in (1.0, 3.5)


def test_linear_terms_are_the_features_themselves(rare):
    model = CronusClassifier(terms="linear", costs=COSTS, tradeoff=1e-3).fit(*rare[:2])
    assert {term.kind for term in model.plan_.terms} == {"raw"}
    assert model.score(rare[2], rare[3]) > 0.85


def test_set_ups_are_paid_for_by_groups(rare):
    def cost(setup):
        costs = Costs([1.0, 1.0, 1.0, 1.0], groups={"lab": {"features": [2, 3], "setup": setup}})
        model = CronusClassifier(**{**SMALL, "costs": costs}, tradeoff=1e-3).fit(*rare[:2])
        return model.run(rare[2]).acquired[:, 2:].mean()

    assert cost(200.0) < cost(0.0)


def test_three_classes_are_refused(rare):
    with pytest.raises(ValueError, match="Only binary classification is supported"):
        CronusClassifier().fit(rare[0], np.arange(1000) % 3)


def test_trees_of_greedy_miser_share_few_features():
    data = make_ranking(2000, 60, random_state=0)
    given = {"costs": data.costs, "n_terms": 20, "n_stages": 2, "optimise": False, "n_jobs": 1}
    plain, frugal = (
        CronusClassifier(tradeoff=1e-6, term_tradeoff=price, **given).fit(data.X, data.y >= 3)
        for price in (None, 1e-4)
    )
    assert 0 < frugal.cost_ < 0.3 * plain.cost_


def test_trees_that_begin_cheap_make_cheaper_cascades_that_are_no_worse():
    data = make_ranking(8000, 100, random_state=0, evaluation=1.0)
    first = data.qid < 250
    train, test, label = data.take(first), data.take(~first), data.y >= 3
    found = {}
    for kind in (None, "falling"):
        model = CronusClassifier(
            costs=data.costs, tradeoff=3e-4, term_tradeoff=kind, n_terms=80, optimise=False, random_state=0
        ).fit(train.X, label[first])
        scores = model.decision_function(test.X, qid=test.qid)
        found[kind] = model.run(test.X).cost.mean(), precision_at_k(label[~first], scores, test.qid)
    assert found["falling"][0] < 0.5 * found[None][0]
    assert found["falling"][1] > 0.97 * found[None][1] > 0.1


def test_of_the_cascades_inside_a_budget_the_best_is_taken(rare):
    given = {**SMALL, "term_tradeoff": "falling", "tradeoff": 0.0, "optimise": False}
    models = [CronusClassifier(mean_budget=budget, **given).fit(*rare[:2]) for budget in (5, 15, 30, 44)]
    found = [model.score(*rare[2:]) for model in models]
    assert found[-1] > found[0] + 0.05 and (np.diff(found) > -0.02).all()
    assert all(0 < model.expected_cost_ <= model.mean_budget and model.tradeoff_ > 0 for model in models)
