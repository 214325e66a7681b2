"""Stepping one example: answers, purchases and price of the batch run; asks once; answers any time."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from miserly.costs import Costs
from miserly.errors import DataError, PlanError
from miserly.plan import Node, Plan, Raw, Tree, category_words

from ..random_plans import random_plan, random_rows

seeds = st.integers(0, 2**32 - 1)
budgets = st.sampled_from([None, 0, 1, 3, 8, 20])
counts = st.sampled_from(["path", "tree"])


@given(seeds, budgets, counts)
@settings(max_examples=100, deadline=None)
def test_stepping_agrees_with_the_batch_run_and_never_asks_twice(seed, budget, count):
    plan = random_plan(seed)
    X = random_rows(plan, seed, n=4)
    run = plan.run(X, budget, count)
    for i, row in enumerate(X):
        trail, asked = plan.start(budget=budget, count=count), set()
        while need := trail.next():
            assert not asked & set(need) and trail.next() == need
            asked |= set(need)
            np.asarray(trail.answer())  # can always answer
            trail.tell({name: row[plan.costs.index(name)] for name in need})
        np.testing.assert_array_equal(np.asarray(trail.answer()), run.scores[i])
        np.testing.assert_array_equal(trail.acquired, run.acquired[i])
        np.testing.assert_array_equal(trail.evaluated, run.evaluated[i])
        assert (trail.cost, trail.exit, trail.stopped) == (run.cost[i], run.exit[i], run.stopped[i])
        assert {plan.costs.index(name) for name in asked} == set(np.flatnonzero(run.acquired[i]))


@given(seeds, budgets, counts)
@settings(max_examples=60, deadline=None)
def test_a_query_stepped_together_agrees_with_the_batch_run(seed, budget, count):
    plan = random_plan(seed, listwise=True)
    X = random_rows(plan, seed, n=6)
    run = plan.run(X, budget, count, qid=np.zeros(len(X)))
    trail = plan.start_query(len(X), budget=budget, count=count)
    while need := trail.next():
        trail.tell({i: {f: X[i, plan.costs.index(f)] for f in names} for i, names in need.items()})
    np.testing.assert_array_equal([np.asarray(answer) for answer in trail.answer()], run.scores)
    np.testing.assert_array_equal(trail.cost, run.cost)


@pytest.fixture
def plan():
    costs = Costs({"age": 1, "pain": 2, "chol": 5}, groups={"blood": {"features": ["chol"], "setup": 2}})
    pain = Tree([1, -1, -1], [0, 0, 0], [1, 0, 0], [2, 0, 0], [0, 0, 0], [0, 1.0, 2.0], [0, -1, -1],
                [category_words([1])])  # fmt: skip
    nodes = [
        Node([0], [0], [1.0], [0.0], up=1),
        Node([1], [0], [1.0], [0.0], up=2),
        Node([2], [0], [1.0], [0.0]),
    ]
    return Plan(
        costs=costs, terms=[Raw(0), pain, Raw(2)], nodes=nodes, base=[-60.0], link="logistic",
        classes=["well", "ill"], categories={1: ("none", "typical")},
    )  # fmt: skip


def test_answers_improve_step_by_step(plan):
    trail = plan.start()
    assert trail.next() == ("age",) and float(trail.answer()) == -60
    trail.tell({"age": 61})
    assert float(trail.answer()) == 1 and trail.answer().value == "ill" and trail.next() == ("pain",)
    trail.tell({"pain": "typical"})
    assert float(trail.answer()) == 2.0  # category 1 goes left: 1
    trail.tell({"chol": None})
    assert trail.done and trail.cost == 1 + 2 + 7
    np.testing.assert_allclose(trail.answer().probabilities, [1 - 1 / (1 + np.exp(-2)), 1 / (1 + np.exp(-2))])


def test_what_is_known_is_neither_asked_nor_paid(plan):
    trail = plan.start(known={"age": 61, "chol": 3})
    assert trail.next() == ("pain",)
    trail.tell({"pain": "none"})
    assert trail.done and trail.cost == 2 and trail.acquired.tolist() == [False, True, False]


def test_what_is_told_unasked_is_paid_when_it_is_used(plan):
    trail = plan.start(budget=3)
    trail.tell({"chol": 3, "age": 61})
    assert trail.cost == 1 and trail.next() == ("pain",)  # nothing is paid before it is given
    trail.tell({"pain": "none"})
    assert trail.stopped and trail.cost == 3  # chol is known but does not fit


def test_bad_news_is_refused_by_name(plan):
    trail = plan.start()
    with pytest.raises(PlanError, match=r"'agee'.*did you mean 'age'"):
        trail.tell({"agee": 3})
    with pytest.raises(DataError, match="'age' must be a number or None, not 'old'"):
        trail.tell({"age": "old"})
    trail.tell({"age": 61})
    with pytest.raises(PlanError, match="'age' is known already"):
        trail.tell({"age": 62})
    with pytest.raises(DataError, match="'pain': 'unheard of' is not among its categories"):
        trail.tell({"age": 61, "pain": "unheard of"})
    lenient = plan.start(known={"age": 61}, unknown="missing")
    lenient.tell({"pain": "unheard of"})
    assert lenient.next() == ("chol",)


def test_a_plan_without_nodes_answers_at_once(plan):
    trail = plan.replace(nodes=[], terms=[]).start()
    assert trail.done and float(trail.answer()) == -60 and trail.cost == 0


def test_columns_together_set_up_each_group_once():
    """0 and 1 share group a, 1 and 2 share b. Once 0 is paid, a is open, and 0 costs nothing more."""
    groups = {"a": {"features": [0, 1], "setup": 10.0}, "b": {"features": [1, 2], "setup": 100.0}}
    node = Node(range(4), [0] * 4, np.ones(4), [0.0])
    plan = Plan(
        costs=Costs([1.0, 2.0, 4.0, 8.0], groups=groups),
        terms=[Raw(f) for f in range(4)],
        nodes=[node],
        base=[0.0],
    )
    trail = plan.start()
    assert [trail.price(f) for f in range(4)] == [11.0, 112.0, 104.0, 8.0]
    assert [trail.price_of(some) for some in ([0, 1, 2], [2, 1], [])] == [117.0, 116.0, 0.0]
    trail.tell({0: 1.0})
    assert [trail.price_of(some) for some in ([0, 1], [0], [2, 3])] == [102.0, 0.0, 112.0]
