"""Nodes that choose what each row buys next."""

from __future__ import annotations

import pickle
from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from miserly import Costs, Plan
from miserly.errors import PlanError
from miserly.plan import MixtureAcquisition, Node, Raw
from miserly.plan.engine import beliefs as numpy_beliefs
from miserly.plan.engine.ahead import certain, possible, remaining
from miserly.plan.engine.beliefs import Beliefs
from miserly.plan.store.format import dumps, loads
from miserly.runtime import Interview

from ..random_plans import random_plan, random_rows

FIELDS = ("scores", "cost", "acquired", "exit", "stopped")
EYE = [[1.0, 0.0], [0.0, 1.0]]


def two_classes(**changes):
    """Means of -1 and 1 in the first feature, -2 and 2 in the second, variances of 1, independent."""
    parts = {
        "feature": [0, 1],
        "category": [-1, -1],
        "centre": [0.0, 0.0],
        "scale": [1.0, 1.0],
        "mean": [[-1.0, -2.0], [1.0, 2.0]],
        "covariance": [EYE, EYE],
        "weight": [0.5, 0.5],
        "label": [0, 1],
    }
    return MixtureAcquisition(**{**parts, **changes})


def plan_with(acquisition, costs=(1.0, 3.0), **parts):
    node = Node([], [], [], [0.0], inherits=False, acquisition=acquisition)
    costs = costs if isinstance(costs, Costs) else Costs(list(costs))
    return Plan(costs=costs, terms=[], nodes=[node], base=[0.25], link="logistic", **parts)


def acquired(plan, row, **given):
    return np.flatnonzero(plan.run([row], **given).acquired[0]).tolist()


# -- what is bought ------------------------------------------------------------------------------------------


def test_scores_are_the_log_odds_of_the_mixture():
    # log N(x; m, 1) - log N(x; -m, 1) = 2 m x: 2 * 0.5 + 4 * 0.25.
    run = plan_with(two_classes()).run([[0.5, 0.25]])
    assert run.scores == pytest.approx([2.0])
    assert run.cost.tolist() == [4.0]


def test_the_price_exponent_weighs_gain_against_price():
    # Between-class variances are 1 of 2 and 4 of 5: gains of 0.5 and 0.8, at prices of 1 and 3.
    for exponent, first in ((1.0, 0), (0.0, 1), (0.5, 0), (0.3, 1)):  # 0.8 / 3**0.3 = 0.575
        trail = plan_with(two_classes(price_exponent=exponent)).start()
        assert trail.next() == (first,), exponent


def test_a_feature_that_does_not_fit_is_passed_over():
    plan = plan_with(two_classes(price_exponent=0.0))
    run = plan.run([[1.0, 1.0]], budget=2.0)
    assert run.acquired.tolist() == [[True, False]] and run.cost.tolist() == [1.0]
    assert not run.stopped.any() and run.exit.tolist() == [0]
    assert plan.run([[1.0, 1.0]], budget=0.5).scores.tolist() == [0.0]  # nothing fits: the prior


def test_confidence_ends_the_node():
    plan = plan_with(two_classes(confidence=0.95))
    assert acquired(plan, [2.0, 0.0]) == [0]  # odds of e^4
    assert acquired(plan, [1.0, 0.0]) == [0, 1]  # odds of e^2, 0.88


def test_the_tradeoff_is_in_units_of_the_brier_score():
    # Covariances with the indicators of both classes are 1/2 and 1: decreases of 2/4/2 = 0.25 and 2/5 = 0.4.
    plan = plan_with(two_classes(tradeoff=0.2, price_exponent=0.0))
    assert acquired(plan, [0.0, 0.0]) == [0]  # 0.4 < 0.2 * 3
    assert acquired(plan_with(two_classes(tradeoff=0.26)), [0.0, 0.0]) == []
    assert acquired(plan_with(two_classes(tradeoff=0.13)), [0.0, 0.0]) == [0, 1]


def test_a_missing_value_is_paid_and_teaches_nothing():
    run = plan_with(two_classes()).run([[np.nan, 0.25]])
    assert run.scores == pytest.approx([1.0]) and run.cost.tolist() == [4.0]


def test_what_is_known_is_observed_for_nothing():
    run = plan_with(two_classes()).run([[0.5, 0.25]], known=[0], budget=0.0)
    assert run.scores == pytest.approx([1.0]) and run.cost.tolist() == [0.0]


def test_what_an_earlier_node_bought_is_observed_first():
    plan = plan_with(two_classes())
    first = Node([0], [0], [0.0], [0.0], up=1)
    plan = plan.replace(terms=[Raw(1)], nodes=[first, *plan.nodes])
    run = plan.run([[0.5, 0.25]], budget=3.0)
    assert run.acquired.tolist() == [[False, True]] and run.scores == pytest.approx([1.0])


def test_an_open_group_makes_features_cheaper():
    costs = Costs([1.0, 1.0, 1.5], groups={"lab": {"features": [0, 1], "setup": 4.0}})
    like = two_classes(
        feature=[0, 1, 2], category=[-1] * 3, centre=[0.0] * 3, scale=[1.0] * 3,
        mean=[[-2.0, -1.0, -1.0], [2.0, 1.0, 1.0]], covariance=[np.eye(3)] * 2,
    )  # fmt: skip
    trail = plan_with(like, costs).start()
    order = []
    while need := trail.next():
        order += need
        trail.tell({need[0]: 0.0})
    assert order == [2, 0, 1]  # 0.5 / 1.5, 0.8 / 5 and, after the set-up, 0.5 / 1
    assert acquired(plan_with(like, costs), [0.0] * 3, budget=6.0) == [2]


def test_indicators_of_a_category_are_bought_together():
    like = two_classes(feature=[1, 1], category=[0, 2], mean=[[1.0, 0.0], [0.0, 1.0]])
    plan = plan_with(like)
    # log odds of (0, 0), (1, 0) and (0, 1) under means (1, 0) and (0, 1): the columns cancel, or count 1.
    assert plan.run([[9.0, 1.0], [9.0, 0.0], [9.0, 2.0]]).scores == pytest.approx([0.0, -1.0, 1.0])
    assert plan.run([[9.0, 1.0]]).cost.tolist() == [3.0]


def test_sharpness_is_a_power_of_densities():
    # Log odds of 2 m x, times the sharpness; other variances count with it too.
    assert plan_with(two_classes(sharpness=0.5)).run([[0.5, 0.25]]).scores == pytest.approx([1.0])
    like = two_classes(mean=np.zeros((2, 2)), covariance=[EYE, [[16.0, 0.0], [0.0, 1.0]]], sharpness=0.25)
    assert plan_with(like).run([[0.0, 0.0]]).scores == pytest.approx([-0.25 * np.log(4.0)])


def test_correlated_features_are_not_counted_twice():
    same = [[1.0, 0.999], [0.999, 1.0]]
    like = two_classes(mean=[[-1.0, -1.0], [1.0, 1.0]], covariance=[same, same])
    assert plan_with(like).run([[1.0, 1.0]]).scores == pytest.approx([2.0], abs=0.01)


def test_a_plan_of_a_file_runs_the_code_that_was_compiled_for_a_fitted_one():
    numba = pytest.importorskip("numba")
    plan = plan_with(two_classes())
    other = loads(dumps(plan))
    here, there = (one.nodes[0].acquisition.table for one in (plan, other))
    assert numba.typeof(here) == numba.typeof(there)


# -- the rules of runs ---------------------------------------------------------------------------------------


@given(st.integers(0, 2**30), st.booleans())
@settings(max_examples=60, deadline=None)
def test_cost_never_falls_as_the_budget_rises(seed, with_known):
    plan = random_plan(3 * seed)
    X = random_rows(plan, seed)
    known = np.random.default_rng(seed).random(X.shape) < 0.3 if with_known else None
    costs = [plan.run(X, budget, known=known).cost for budget in (0.0, 0.5, 1.0, 2.0, 3.5, 5.0, 8.0, None)]
    for smaller, larger in pairwise(costs):
        assert (smaller <= larger + 1e-9).all()


@given(st.integers(0, 2**30))
@settings(max_examples=40, deadline=None)
def test_a_copy_of_a_trail_goes_its_own_way(seed):
    plan = random_plan(3 * seed)
    X = random_rows(plan, seed, n=2)
    trail = plan.start(budget=6.0)
    for _ in range(plan.n_features):
        if trail.done:
            break
        other = trail.copy()
        while other.need >= 0:
            other.put(other.need, X[1, other.need])
        assert other.done and trail.need >= 0
        trail.put(trail.need, X[0, trail.need])
    alone = plan.run(X[:1], budget=6.0)
    assert trail.done and trail.cost == alone.cost[0]
    np.testing.assert_array_equal(np.array(trail.scores), np.atleast_1d(alone.scores[0]))


def test_a_trail_answers_from_what_it_has_observed():
    trail = plan_with(two_classes()).start()
    assert trail.answer().scores == 0.0 and trail.next() == (0,)
    trail.tell({0: 0.5})
    assert trail.answer().scores == pytest.approx(1.0) and trail.next() == (1,)


def test_a_trail_with_another_budget_chooses_again():
    trail = plan_with(two_classes(price_exponent=0.0)).start()
    assert trail.next() == (1,)
    trail.set_budget(2.0)
    assert trail.next() == (0,)
    trail.tell({0: 0.5})
    assert trail.done and trail.cost == 1.0 and not trail.stopped


def test_a_trail_that_ended_for_lack_of_money_goes_on_with_more():
    plan, row = plan_with(two_classes()), [0.5, 0.25]
    trail = plan.start(budget=1.0)
    trail.tell({0: row[0]})
    assert trail.done and trail.exit == 0
    other = trail.copy()
    trail.set_budget(4.0)
    assert trail.next() == (1,) and trail.exit == -1 and other.done
    assert trail.answer().scores == other.answer().scores == plan.run([row], budget=1.0).scores[0]
    trail.tell({1: row[1]})
    run = plan.run([row])
    assert (trail.answer().scores, trail.cost, trail.exit) == (run.scores[0], run.cost[0], 0)


def test_an_interview_that_ended_for_lack_of_money_goes_on_with_more():
    interview = Interview(plan_with(two_classes()), budget=1.0)
    interview.reply(0.5)
    assert interview.stopped_by == "answered" and interview.question is None
    interview.change_budget(4.0)
    assert interview.question.feature == 1 and interview.cost == 1.0
    interview.reply(0.25)
    assert interview.receipt().cost == 4.0 and interview.receipt().scores == pytest.approx((2.0,))


def test_a_feature_that_is_waived_teaches_nothing():
    trail = plan_with(two_classes()).start()
    trail.waive(0)
    trail.resume()
    assert trail.next() == (1,)
    trail.tell({1: 0.25})
    assert trail.cost == 3.0 and trail.answer().scores == pytest.approx(1.0)


def test_what_may_come_is_the_pool_and_what_is_certain_is_one_feature():
    trail = plan_with(two_classes()).start()
    assert certain(trail, onward=True) == [0] and possible(trail) == [1]
    assert remaining(trail) == ([1], 4.0)


def test_compiled_and_numpy_beliefs_are_equal_over_many_observations():
    pytest.importorskip("numba")
    from miserly.plan.engine import compiled_beliefs

    rng = np.random.default_rng(0)
    n, c = 30, 24
    half = rng.normal(size=(c, n, n))
    like = MixtureAcquisition(
        np.arange(n), np.full(n, -1), np.zeros(n), np.ones(n), rng.normal(size=(c, n)),
        half @ half.transpose(0, 2, 1) / n + 0.1 * np.eye(n), np.full(c, 1 / c), np.arange(c) // 8,
        price_exponent=0.37, sharpness=0.75,
    )  # fmt: skip
    plan = Plan(costs=Costs(rng.uniform(0.5, 2.0, n)), terms=[], base=np.zeros(3), link="softmax",
                nodes=[Node([], [], [], np.zeros(3), inherits=False, acquisition=like)])  # fmt: skip
    X = rng.normal(size=(20, n))
    for budget in (None, 12.0):
        runs = [plan.run(X, budget, compiled=compiled) for compiled in (False, True)]
        for name in FIELDS:
            np.testing.assert_array_equal(*(getattr(run, name) for run in runs))
    one, other = Beliefs.empty(like.table), Beliefs.empty(like.table)
    for engine, state in ((numpy_beliefs, one), (compiled_beliefs, other)):
        engine.restart(like.table, state)
        for q in range(0, n, 2):
            engine.observe_feature(like.table, state, q, X[0, q])
        engine.posterior(like.table, state)
        engine.gains(like.table, state)
    for name in ("share", "mean", "variance", "ratio", "drop", "chances"):
        np.testing.assert_array_equal(getattr(one, name), getattr(other, name), err_msg=name)


# -- plans that have one -------------------------------------------------------------------------------------


def test_such_a_plan_cannot_be_run_in_stages_or_hand_over():
    plan = plan_with(two_classes())
    assert not plan.can_stage and plan.acquires and plan.looks_at_known
    with pytest.raises(PlanError, match="run in stages"):
        list(plan.run_staged([[0.0, 0.0]], [1]))


def test_nodes_that_share_an_acquisition_store_it_once():
    one = plan_with(two_classes())
    shared = one.nodes[0].acquisition
    nodes = [replace(one.nodes[0], up=1), one.nodes[0]]
    plan = one.replace(nodes=nodes)
    loaded = loads(dumps(plan))
    assert loaded.nodes[0].acquisition is loaded.nodes[1].acquisition
    assert len(dumps(plan)) < len(dumps(one)) + 200
    assert loaded.digest == plan.digest != one.digest
    assert pickle.loads(pickle.dumps(plan)).digest == plan.digest
    np.testing.assert_array_equal(loaded.nodes[0].acquisition.covariance, shared.covariance)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"scale": [1.0, 0.0]}, "scales finite and above 0"),
        ({"feature": [0, 0]}, "has a column twice"),
        ({"feature": [[0, 1]]}, "a scale for each column"),
        ({"category": [-2, -1]}, "category below -1"),
        ({"confidence": 0.0}, "a confidence up to 1"),
        ({"price_exponent": 1.5}, "price exponent from 0 to 1"),
        ({"tradeoff": np.inf}, "tradeoff .* finite"),
        ({"clip": 0.0}, "clips values"),
        ({"sharpness": 0.6}, "sharpness"),
        ({"mean": [[0.0], [1.0]]}, "a mean, a covariance and a class"),
        ({"mean": [[0.0, 0.0], [np.nan, 0.0]]}, "from -1e"),
        ({"label": [0, 0]}, "two or more classes"),
        ({"label": [1, 0]}, "in the order of their classes"),
        ({"weight": [0.0, 1.0]}, "weights of components"),
        ({"covariance": [[[1.0, 0.5], [0.0, 1.0]], EYE]}, "symmetric"),
        ({"covariance": [[[1.0, 2.0], [2.0, 1.0]], EYE]}, "positive definite"),
    ],
)
def test_what_makes_no_sense_is_refused(changes, message):
    with pytest.raises(PlanError, match=message):
        two_classes(**changes)


def test_a_plan_that_does_not_suit_its_acquisition_is_refused():
    with pytest.raises(PlanError, match="feature 1, which is not among 1"):
        plan_with(two_classes(), costs=[1.0])
    with pytest.raises(PlanError, match="2 classes, but 3 outputs"):
        Plan(costs=Costs([1.0, 1.0]), terms=[], base=np.zeros(3), link="softmax",
             nodes=[Node([], [], [], np.zeros(3), acquisition=two_classes())])  # fmt: skip
    with pytest.raises(PlanError, match="has no terms"):
        Node([0], [0], [1.0], [0.0], acquisition=two_classes())


def test_words_say_how_it_chooses():
    plan = plan_with(two_classes(confidence=0.9, tradeoff=0.01, price_exponent=0.5))
    text = plan.describe()
    assert "in an order that depends on the row" in text
    assert "step 1 chooses what each row buys next, among 2 features" in text
    assert "per price to the power of 0.5" in text and "it begins with feature 0" in text
    assert "a class has a probability of 0.9" in text and "0.01 of the Brier score" in text
    assert "the order depends on the row" in plan.draw().svg
