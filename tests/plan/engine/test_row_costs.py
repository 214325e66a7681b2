"""Rows that know some features, and rows that pay their own prices: the same in every way to run a plan."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from miserly.costs import Costs, read_row_costs
from miserly.errors import CostError
from miserly.plan import Node, Plan, Raw, Threshold

from ..random_plans import random_plan, random_rows

FIELDS = ("scores", "cost", "acquired", "exit", "stopped", "pending", "begun")
BUDGETS = (None, 0, 1, 3, 8, 20)
seeds = st.integers(0, 2**32 - 1)
counts = st.sampled_from(["path", "tree"])


def setting(seed, listwise=False):
    """A plan, rows, what each knows, and their prices: of features, and of the set-ups of groups."""
    plan = random_plan(seed, listwise)
    X = random_rows(plan, seed)
    rng = np.random.default_rng(seed + 1)
    known = rng.random(X.shape) < rng.choice([0.0, 0.3, 0.7])
    prices = {plan.costs.name(f): price for f, price in enumerate(rng.choice([0.0, 0.7, 3.1], X.shape).T)}
    prices |= {name: rng.choice([0.0, 2.3], len(X)) for name in plan.costs.group_names}
    if rng.random() < 0.3:
        del prices[plan.costs.name(0)]
    return plan, X, known, prices


def step(plan, x, known, prices, budget, count):
    """One row by a trail."""
    have = {plan.costs.name(f): x[f] for f in np.flatnonzero(known)}
    trail = plan.start(have, budget, count, prices=prices)
    while need := trail.next():
        trail.tell({name: x[plan.costs.index(name)] for name in need})
    return trail


@given(seeds, st.sampled_from(BUDGETS), counts)
@settings(max_examples=120, deadline=None)
def test_both_engines_and_stepping_agree_row_by_row(seed, budget, count):
    plan, X, known, prices = setting(seed)
    fast, plain = (
        plan.run(X, budget, count, compiled=compiled, known=known, prices=prices)
        for compiled in (True, False)
    )
    for name in FIELDS:
        np.testing.assert_array_equal(getattr(fast, name), getattr(plain, name), err_msg=name)
    for i, x in enumerate(X):
        own = {name: price[i] for name, price in prices.items()}
        trail = step(plan, x, known[i], own, budget, count)
        assert fast.cost[i] == trail.cost and fast.exit[i] == trail.exit and fast.stopped[i] == trail.stopped
        np.testing.assert_array_equal(fast.acquired[i], trail.acquired)
        np.testing.assert_array_equal(np.atleast_1d(fast.scores[i]), np.atleast_1d(trail.answer().scores))


@given(seeds, st.sampled_from(BUDGETS), counts)
@settings(max_examples=60, deadline=None)
def test_engines_agree_where_documents_are_compared(seed, budget, count):
    plan, X, known, prices = setting(seed, listwise=True)
    qid = np.random.default_rng(seed).integers(0, 4, len(X))
    fast, plain = (
        plan.run(X, budget, count, qid, compiled, known=known, prices=prices) for compiled in (True, False)
    )
    for name in FIELDS:
        np.testing.assert_array_equal(getattr(fast, name), getattr(plain, name), err_msg=name)


@given(seeds, st.sampled_from(BUDGETS), counts)
@settings(max_examples=60, deadline=None)
def test_cost_is_that_of_what_was_acquired_and_evaluated(seed, budget, count):
    plan, X, known, prices = setting(seed)
    run = plan.run(X, budget, count, known=known, prices=prices)
    assert not (run.acquired & known).any()
    bill = read_row_costs(plan.costs, len(X), known, prices).of_each(run.acquired)
    evaluations = run.evaluated @ np.array([term.evaluation for term in plan.terms])
    np.testing.assert_allclose(run.cost, bill + evaluations, atol=1e-9)
    assert budget is None or (run.cost <= budget).all()


@given(seeds, counts)
@settings(max_examples=60, deadline=None)
def test_prices_of_the_plan_and_nothing_known_change_nothing(seed, count):
    plan, X, *_ = setting(seed)
    own = np.tile(plan.costs.feature, (len(X), 1))
    for budget in (None, 3.0):
        before = plan.run(X, budget, count)
        for given_ones in (
            {"prices": own},
            {"known": np.zeros(X.shape, bool)},
            {"known": []},
            {"prices": {}},
        ):
            after = plan.run(X, budget, count, **given_ones)
            for name in FIELDS:
                np.testing.assert_array_equal(getattr(after, name), getattr(before, name), err_msg=name)


@given(seeds)
@settings(max_examples=60, deadline=None)
def test_a_row_that_knows_more_never_pays_more_and_never_ends_earlier(seed):
    plan, X, known, _ = setting(seed)
    assume(not (plan.acquires or plan.reads_bought))  # what a row knows changes its answer
    for budget in (1.0, 4.0, None):
        without, with_it = plan.run(X, budget), plan.run(X, budget, known=known)
        assert (with_it.stopped <= without.stopped).all()
        if budget is None:
            assert (with_it.cost <= without.cost + 1e-9).all()
            np.testing.assert_array_equal(with_it.scores, without.scores)


@given(seeds, counts)
@settings(max_examples=40, deadline=None)
def test_rows_of_other_batches_and_threads_pay_the_same(seed, count):
    plan, X, known, prices = setting(seed)
    whole = plan.run(X, 4.0, count, known=known, prices=prices)
    order = np.random.default_rng(seed).permutation(len(X))
    shuffled = plan.run(
        X[order],
        4.0,
        count,
        known=known[order],
        prices={name: price[order] for name, price in prices.items()},
    )
    for name in FIELDS:
        np.testing.assert_array_equal(getattr(shuffled, name), getattr(whole, name)[order], err_msg=name)


def test_threads_pay_the_prices_of_their_own_rows():
    plan, X, known, prices = setting(3)
    X, known = np.tile(X, (120, 1)), np.tile(known, (120, 1))
    prices = {name: np.tile(price, 120) for name, price in prices.items()}
    one, two = (plan.run(X, 4.0, n_threads=n, compiled=True, known=known, prices=prices) for n in (1, 2))
    assert len(X) > 2048 and len(np.unique(one.cost)) > 3
    np.testing.assert_array_equal(one.cost, two.cost)


@given(seeds, counts)
@settings(max_examples=40, deadline=None)
def test_stages_pay_what_runs_of_prefixes_pay(seed, count):
    plan, X, known, prices = setting(seed)
    if not plan.can_stage:
        return
    stages = list(plan.run_staged(X, count=count, known=known, prices=prices))
    if not stages:
        return
    whole = plan.run(X, count=count, known=known, prices=prices)
    np.testing.assert_allclose(stages[-1].cost, whole.cost, atol=1e-9)
    np.testing.assert_array_equal(stages[-1].acquired, whole.acquired)


# -- by hand -------------------------------------------------------------------------------------------------


@pytest.fixture
def clinic():
    """Age is free. Two blood tests share a set-up of 5; a row above 0 goes on to the second."""
    costs = Costs(
        {"age": 0.0, "fbs": 1.0, "chol": 2.0}, groups={"blood": {"features": ["fbs", "chol"], "setup": 5.0}}
    )
    nodes = [Node([0, 1], [0, 0], [0.0, 1.0], [0.0], gate=Threshold(0.0), up=1), Node([2], [0], [1.0], [0.0])]
    return Plan(costs=costs, terms=[Raw(0), Raw(1), Raw(2)], nodes=nodes, base=[0.0])


ROWS = pd.DataFrame({"age": [70.0, 40.0], "fbs": [1.0, 1.0], "chol": [3.0, 3.0]})


def test_known_features_cost_nothing_and_open_their_group(clinic):
    # Both rows read fbs (5 + 1), then chol (2). The second knows fbs, so chol costs it 2 and no set-up.
    known = np.array([[False, False, False], [False, True, False]])
    run = clinic.run(ROWS, known=known)
    assert run.cost.tolist() == [8.0, 2.0]
    assert run.acquired.tolist() == [[True, True, True], [True, False, True]]
    within = clinic.run(ROWS, budget=6.0, known=known)
    assert within.stopped.tolist() == [True, False] and within.scores.tolist() == [1.0, 4.0]
    assert clinic.predict(ROWS, budget=6.0, known=known).tolist() == [1.0, 4.0]


@pytest.mark.parametrize(
    "known",
    [
        ["fbs"],
        [1],
        "fbs",
        {"fbs": True},
        {"fbs": [True, True]},
        pd.DataFrame({"fbs": [True, True]}),
        np.array([False, True, False]),
    ],
)
def test_ways_to_say_what_all_rows_know(clinic, known):
    assert clinic.run(ROWS, known=known).cost.tolist() == [2.0, 2.0]


@pytest.mark.parametrize(
    "prices",
    [
        np.array([[0.0, 1.0, 4.0], [0.0, 1.0, 0.0]]),
        {"chol": [4.0, 0.0]},
        pd.DataFrame({"chol": [4, 0]}),
        lambda free: {"chol": np.where(free["age"] > 65, 4.0, 0.0)},
        lambda free: np.column_stack(
            [0 * free["age"], 0 * free["age"] + 1, np.where(free["age"] > 65, 4, 0)]
        ),
    ],
)
def test_ways_to_give_prices(clinic, prices):
    assert clinic.run(ROWS, prices=prices).cost.tolist() == [10.0, 6.0]


def test_set_ups_of_groups_by_row(clinic):
    assert clinic.run(ROWS, prices={"blood": [0.0, 1.0]}).cost.tolist() == [3.0, 4.0]
    assert clinic.run(ROWS, prices={"blood": 0.0, "fbs": [1.0, 9.0]}).cost.tolist() == [3.0, 11.0]


def test_a_function_sees_free_features_alone_and_what_all_rows_know(clinic):
    seen = []

    def look(free):
        seen.append({name: values.tolist() for name, values in free.items()})
        return {}

    clinic.run(ROWS, prices=look)
    clinic.run(ROWS, prices=look, known=["fbs"])
    clinic.run(ROWS, prices=look, known=np.array([[False, True, False], [False] * 3]))
    age = {"age": [70.0, 40.0]}
    assert seen == [age, {**age, "fbs": [1.0, 1.0]}, age]


def test_a_function_gets_categories_as_they_were_given():
    plan = Plan(
        costs=Costs({"plan": 0.0, "mri": 9.0}),
        terms=[Raw(1)],
        nodes=[Node([0], [0], [1.0], [0.0])],
        base=[0.0],
        categories={0: ("basic", "full")},
    )
    rows = pd.DataFrame({"plan": ["basic", "full"], "mri": [1.0, 2.0]})
    run = plan.run(rows, prices=lambda free: {"mri": np.where(free["plan"] == "full", 1.0, 9.0)})
    assert run.cost.tolist() == [9.0, 1.0]


@pytest.mark.parametrize(
    ("given_ones", "message"),
    [
        ({"known": np.zeros((3, 3), bool)}, r"known must hold booleans and be of shape \(2, 3\)"),
        ({"known": np.zeros((2, 3))}, r"known must hold booleans .* not float64"),
        ({"known": np.zeros(2, bool)}, r"known must be of shape \(2, 3\), not \(2,\)"),
        ({"known": ["fbz"]}, "no feature 'fbz'.*fbs"),
        ({"known": {"fbz": True}}, "known: no feature 'fbz'.*fbs"),
        ({"known": {"fbs": [1, 0]}}, r"known\['fbs'\] must hold 2 booleans"),
        ({"prices": np.zeros((2, 2))}, r"prices must be of shape \(2, 3\), not \(2, 2\)"),
        ({"prices": {"chl": 1.0}}, "prices: no feature 'chl'.*chol"),
        ({"prices": {"chol": [1.0, -1.0]}}, r"the cost of 'chol' in row 1 is negative \(-1\)"),
        ({"prices": {"chol": [np.nan, 1.0]}}, "the cost of 'chol' in row 0 is missing"),
        ({"prices": {"chol": [1.0, np.inf]}}, "the cost of 'chol' in row 1 is infinite"),
        ({"prices": {"chol": ["1", "2"]}}, "the cost of 'chol' in row 0 must be a number, not '1'"),
        ({"prices": {"blood": [1.0]}}, r"the price of group 'blood' must be 2 numbers"),
        ({"prices": lambda free: None}, "the function for prices must give prices, not None"),
    ],
)
def test_what_is_wrong_is_named(clinic, given_ones, message):
    with pytest.raises(CostError, match=message):
        clinic.run(ROWS, **given_ones)


def test_a_function_needs_rows_that_are_not_encoded(clinic):
    with pytest.raises(CostError, match="not encoded"):
        clinic.run(clinic.encode(ROWS), encoded=True, prices=lambda free: {})
