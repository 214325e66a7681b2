"""Soft and and-or cascades: stages use the features of their tier, and stages not worth it are left out."""

import numpy as np
import pytest

from miserly import AndOrCascadeClassifier, Costs, SoftCascadeClassifier
from miserly.learners.cascades.tiered import stages_by_price

COSTS = Costs([1.0, 2.0, 15.0, 40.0])
both = pytest.mark.parametrize("learner", [SoftCascadeClassifier, AndOrCascadeClassifier])


@pytest.fixture(scope="module")
def rare():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(1500, 4))
    y = (X[:, 0] + X[:, 1] > 0.5) & (X[:, 2] > 0) & (X[:, 3] > -1)
    return X[:1000], y[:1000], X[1000:], y[1000:]


def test_tiers_are_upper_bounds_of_prices_by_themselves():
    costs = Costs([1.0, 6.0, 3.0, 90.0], groups={"lab": {"features": [2], "setup": 4.0}})
    allowed = stages_by_price(costs, (5, 20, 50))
    assert allowed.tolist() == [[True, False, False, False], [True, True, True, False]]
    with pytest.raises(ValueError, match=r"no feature costs 0\.5 or less"):
        stages_by_price(costs, [0.5])


@both
def test_stages_read_only_the_features_of_their_tier(rare, learner):
    model = learner(costs=COSTS, tiers=(5, 20, 50), tradeoff=1e-5).fit(*rare[:2])
    nodes, terms = model.plan_.nodes, model.plan_.terms
    read = [{terms[t].feature for t in node.terms} for node in nodes]
    assert read == [{0, 1}, {0, 1, 2}, {0, 1, 2, 3}]


@both
def test_many_leave_early_and_few_positives_with_them(rare, learner):
    model = learner(costs=COSTS, tiers=3, tradeoff=1e-4).fit(*rare[:2])
    run = model.run(rare[2])
    early = run.exit < len(model.plan_.nodes) - 1
    assert early.mean() > 0.3 and early[rare[3]].mean() < 0.15
    assert model.score(rare[2], rare[3]) > 0.9
    assert run.cost.mean() < 0.75 * model.cost_


@both
def test_a_share_of_the_positives_may_be_missed(rare, learner):
    strict, lax = (learner(costs=COSTS, tradeoff=1e-4, miss=miss).fit(*rare[:2]) for miss in (0.005, 0.2))
    assert lax.run(rare[2]).cost.mean() <= strict.run(rare[2]).cost.mean()


@both
def test_stages_go_as_the_tradeoff_rises(rare, learner):
    sizes = [
        len(learner(costs=COSTS, tiers=3, tradeoff=tradeoff).fit(*rare[:2]).plan_.features)
        for tradeoff in (1e-5, 3e-2, 10.0)
    ]
    assert sizes[0] == 4 and sizes[0] > sizes[1] > sizes[2] == 0


@both
def test_a_budget_is_kept_on_average(rare, learner):
    model = learner(costs=COSTS, tiers=3, mean_budget=10.0, tradeoff=0.0, random_state=0).fit(*rare[:2])
    assert model.expected_cost_ <= 10.0 and model.run(rare[2]).cost.mean() < 12.5


@both
def test_heavier_positives_are_found_more_often(rare, learner):
    found = [
        learner(costs=COSTS, positive_weight=weight).fit(*rare[:2]).predict(rare[2])[rare[3]].mean()
        for weight in (0.3, 10.0)
    ]
    assert found[1] > found[0]
