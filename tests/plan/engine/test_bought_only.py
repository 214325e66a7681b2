"""Nodes that read only what a row has bought or knows."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from miserly import Costs, Plan
from miserly.errors import PlanError, PlanFormatError
from miserly.plan import MixtureAcquisition, Node, Raw, Settled, Threshold, Tree
from miserly.plan.compose import hand_over, is_chain, keep_nodes, segment
from miserly.plan.engine.ahead import certain, possible, remaining
from miserly.plan.engine.row_walker import walker
from miserly.plan.purchases import purchases
from miserly.plan.store.format import dumps, loads
from miserly.runtime import Interview, OnDemand

from ..mutations import assemble, take_apart
from ..random_plans import random_plan, random_rows

FIELDS = ("scores", "cost", "acquired", "exit", "stopped", "evaluated")
EYE = [[1.0, 0.0], [0.0, 1.0]]


def stump(feature, low, high, missing, evaluation=0.0):
    """`low` up to 0, `high` above, `missing` for a missing value (which goes left twice)."""
    return Tree(
        [feature, feature, -1, -1, -1], [0.0, -1e9, 0.0, 0.0, 0.0], [1, 3, 0, 0, 0], [2, 4, 0, 0, 0],
        [True, True, False, False, False], [0.0, 0.0, high, missing, low], evaluation=evaluation,
    )  # fmt: skip


def two_features(costs=(1.0, 3.0), **parts):
    """Buys feature 0, then 1, for their log odds, and adds 100 and 10 times what a stump of each says."""
    acquisition = MixtureAcquisition(
        [0, 1], [-1, -1], [0.0, 0.0], [1.0, 1.0], [[-1.0, -2.0], [1.0, 2.0]], [EYE, EYE], [0.5, 0.5], [0, 1]
    )
    nodes = [
        Node([], [], [], [0.0], inherits=False, acquisition=acquisition, up=1),
        Node([0, 1], [0, 0], [100.0, 10.0], [0.0], bought_only=True),
    ]
    terms = [stump(0, 1.0, 2.0, 5.0), stump(1, 1.0, 2.0, 5.0)]
    plan = {"costs": Costs(list(costs)), "terms": terms, "nodes": nodes, "base": [0.0], "link": "logistic"}
    return Plan(**{**plan, **parts})


ROW = [0.5, -0.25]  # log odds of 2 * 0.5 = 1 from feature 0 and of 4 * -0.25 = -1 from feature 1


# -- what it reads -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("compiled", [False, None])
def test_what_is_not_bought_is_missing(compiled):
    plan = two_features()
    for budget, score, cost in ((0.0, 550.0, 0.0), (1.0, 251.0, 1.0), (4.0, 210.0, 4.0)):
        run = plan.run([ROW], budget, compiled=compiled)
        assert (run.scores.tolist(), run.cost.tolist(), run.exit.tolist()) == ([score], [cost], [1]), budget
        assert not run.stopped.any() and not run.evaluated.any()


@pytest.mark.parametrize("compiled", [False, None])
def test_what_is_known_is_read_for_nothing(compiled):
    plan = two_features()
    for known, score in (([0], 251.0), ([1], 509.0), ([0, 1], 210.0)):
        run = plan.run([ROW], 0.0, known=known, compiled=compiled)
        assert (run.scores.tolist(), run.cost.tolist()) == ([score], [0.0]), known
        trail = plan.start(known={f: ROW[f] for f in known}, budget=0.0)
        assert trail.done and trail.scores == (score,)


def test_a_value_that_is_bought_and_missing_is_missing():
    assert two_features().run([[np.nan, -0.25]]).scores.tolist() == [500.0 + 10.0 - 1.0]


def test_what_was_given_but_not_bought_is_not_read():
    trail = two_features().start(budget=1.0)
    trail.tell({0: 0.5, 1: -0.25})  # feature 1 does not fit: it is kept, and not paid
    assert trail.done and trail.cost == 1.0 and trail.scores == (251.0,)


def test_values_that_are_not_bought_change_nothing():
    plan = two_features()
    one = plan.run([ROW], 1.0)
    for other in (np.nan, 7.0):
        assert plan.run([[ROW[0], other]], 1.0).scores == one.scores


def test_many_rows_are_read_in_blocks(monkeypatch):
    from miserly.plan.engine import reference

    plan, X = two_features(), np.random.default_rng(0).normal(size=(50, 2))
    whole = plan.run(X, 1.0)
    monkeypatch.setattr(reference, "_BLOCK", 7)
    for compiled in (False, None):
        np.testing.assert_array_equal(plan.run(X, 1.0, compiled=compiled).scores, whole.scores)


@pytest.mark.parametrize("compiled", [False, None])
def test_a_tree_that_was_read_for_nothing_is_paid_by_a_later_node(compiled):
    inside = Tree([0, -1, 1, -1, -1], [0.0] * 5, [1, 0, 3, 0, 0], [2, 0, 4, 0, 0], [False] * 5,
                  [0.0, 1.0, 0.0, 2.0, 3.0])  # fmt: skip
    nodes = [
        Node([0], [0], [0.0], [0.0], up=1),  # a row with feature 0 up to 0 does not buy feature 1
        Node([1], [0], [1.0], [0.0], bought_only=True, up=2),
        Node([1, 1], [0, 0], [1.0, 10.0], [0.0]),
    ]
    plan = Plan(costs=Costs([1.0, 2.0]), terms=[inside, stump(1, 1.0, 2.0, 5.0)], nodes=nodes, base=[0.0])
    run = plan.run([[-0.5, 1.0], [0.5, 1.0]], compiled=compiled)
    assert run.scores.tolist() == [5.0 + 2.0 + 20.0, 2.0 + 2.0 + 20.0] and run.cost.tolist() == [3.0, 3.0]
    assert plan.run([[-0.5, 1.0]], 1.0, compiled=compiled).scores.tolist() == [5.0]
    assert run.evaluated.all() and [p.n_terms for p in purchases(plan)] == [1, 0, 1] and plan.max_cost == 3.0


def shared(seed):
    """A plan whose first node buys feature 0 or ends, and whose last one acquires what it reads."""
    rng = np.random.default_rng(seed)
    trees = [stump(int(f), *rng.normal(size=3)) for f in rng.integers(0, 2, 4)]
    plan = two_features(terms=trees)
    sure = replace(plan.nodes[0].acquisition, confidence=0.7)  # some rows end before they have both
    read = Node([0, 1, 2], [0] * 3, rng.normal(size=3), [0.1], bought_only=True, up=2)
    paid = Node([1, 2, 3], [0] * 3, rng.normal(size=3), [0.0])
    nodes = [replace(plan.nodes[0], acquisition=sure), read, paid]
    return plan.replace(nodes=nodes)


@given(st.integers(0, 1000), st.sampled_from([0.0, 1.0, 3.0, None]))
@settings(max_examples=30, deadline=None)
def test_all_engines_agree_on_trees_that_later_nodes_pay_for(seed, budget):
    plan = shared(seed)
    X = np.random.default_rng(seed).normal(size=(6, 2))
    runs = [plan.run(X, budget, compiled=compiled) for compiled in (False, None)]
    for name in FIELDS:
        np.testing.assert_array_equal(*(getattr(run, name) for run in runs))
    for i, row in enumerate(X):
        trail = plan.start(budget=budget)
        while need := trail.next():
            trail.tell({f: row[f] for f in need})
        assert (trail.cost, trail.exit, trail.stopped) == tuple(
            getattr(runs[0], name)[i] for name in ("cost", "exit", "stopped")
        )
        assert trail.scores == (runs[0].scores[i],)


# -- stepping ------------------------------------------------------------------------------------------------


def test_a_trail_that_waits_answers_as_if_it_bought_nothing_more():
    plan = two_features()
    trail = plan.start()
    assert trail.next() == (0,) and trail.scores == (550.0,) and trail.exit == -1
    trail.tell({0: 0.5})
    assert trail.next() == (1,) and trail.scores == (251.0,) == tuple(plan.run([ROW], 1.0).scores)
    other = trail.copy()
    other.tell({1: 0.25})
    assert other.scores == (222.0,) and trail.next() == (1,) and trail.scores == (251.0,)
    trail.tell({1: -0.25})
    assert trail.done and trail.scores == (210.0,) and trail.exit == 1 and trail.cost == 4.0


def test_a_trail_that_ended_for_lack_of_money_goes_on_with_more():
    plan = two_features()
    trail = plan.start(budget=1.0)
    trail.tell({0: ROW[0]})
    assert trail.done and trail.exit == 1 and trail.scores == (251.0,)
    trail.set_budget(4.0)
    assert trail.next() == (1,) and trail.scores == (251.0,)
    trail.tell({1: ROW[1]})
    assert (trail.scores, trail.cost, trail.exit) == ((210.0,), 4.0, 1)


def test_an_interview_with_a_larger_budget_goes_on():
    interview = Interview(two_features(), budget=1.0)
    interview.reply(0.5)
    assert interview.question is None and interview.receipt().scores == pytest.approx((251.0,))
    interview.change_budget(4.0)
    interview.reply(-0.25)
    assert interview.receipt().scores == (210.0,) and interview.receipt().cost == 4.0


def test_other_prices_decide_what_it_reads():
    plan = two_features()
    run = plan.run([ROW] * 2, 1.0, prices={0: [1.0, 9.0], 1: [3.0, 1.0]})
    assert run.scores.tolist() == [251.0, 509.0] and run.cost.tolist() == [1.0, 1.0]
    trail = plan.start(budget=1.0, prices={0: 9.0, 1: 1.0})
    trail.tell({1: ROW[1]})
    assert trail.done and trail.scores == (509.0,)


def test_nothing_is_asked_for_such_a_node():
    plan = two_features()
    first = Node([2], [0], [1.0], [0.0], up=1)
    chain = plan.replace(
        terms=[*plan.terms, Raw(1)], nodes=[first, Node([1], [0], [1.0], [0.0], bought_only=True)]
    )
    trail = chain.start()
    assert certain(trail, onward=True) == [1] and possible(trail) == [] and remaining(trail) == ([], 3.0)
    assert [p.price for p in purchases(chain)] == [3.0, 0.0] and chain.max_cost == 3.0
    assert chain.features.tolist() == [1]
    assert plan.max_cost == 4.0 and [p.n_terms for p in purchases(plan)] == [0, 0]


def test_on_demand_answers_the_same():
    served = OnDemand(two_features(), sources={0: lambda _: 0.5, 1: lambda _: -0.25})
    for budget, score in ((1.0, 251.0), (None, 210.0)):
        assert served.predict(None, budget=budget).scores == (score,)


def test_a_row_at_a_time_needs_the_account():
    plan = two_features()
    nodes = [Node([0], [0], [1.0], [0.0], up=1), Node([1], [0], [1.0], [0.0], bought_only=True)]
    tree = Tree([0, -1, 1, -1, -1], [0.0] * 5, [1, 0, 3, 0, 0], [2, 0, 4, 0, 0], [False] * 5,
                [0.0, 1.0, 0.0, 2.0, 3.0])  # fmt: skip
    chain = plan.replace(terms=[tree, stump(1, 1.0, 2.0, 5.0)], nodes=nodes)
    X = np.array([[-1.0, 4.0], [1.0, 4.0]])
    assert chain.run(X).scores.tolist() == [1.0 + 5.0, 3.0 + 2.0]  # the first row did not buy feature 1
    assert [walker(chain)(row).tolist() for row in X] == [[6.0], [5.0]]
    assert chain.predict_proba(X).shape == (2, 2)


# -- plans that have one -------------------------------------------------------------------------------------


def test_terms_must_be_free_trees_of_features_that_are_acquired_before():
    plan = two_features()
    for terms, nodes, message in (
        ([Raw(0), Raw(1)], plan.nodes, "trees that cost nothing"),
        ([stump(0, 1, 2, 5, evaluation=0.1), plan.terms[1]], plan.nodes, "trees that cost nothing"),
        (plan.terms, [replace(plan.nodes[1])], "no node before it acquires 0"),
        ([*plan.terms, Raw(0)], [Node([2], [0], [1.0], [0.0], up=1), plan.nodes[1]], "acquires 1"),
    ):
        with pytest.raises(PlanError, match=message):
            plan.replace(terms=terms, nodes=nodes)
    with pytest.raises(PlanError, match="has no acquisition"):
        replace(plan.nodes[0], bought_only=True)
    with pytest.raises(PlanError, match="not in single precision"):
        replace(plan.nodes[1], single=True)


def test_a_sibling_does_not_acquire_for_it():
    tree = stump(0, 1.0, 2.0, 5.0)
    nodes = [Node([], [], [], [0.0], gate=Threshold(0.0), up=1, low=2), Node([0], [0], [1.0], [0.0]),
             Node([0], [0], [1.0], [0.0], bought_only=True)]  # fmt: skip
    with pytest.raises(
        PlanError, match="node 2 reads only what is bought, and no node before it acquires 'a'"
    ):
        Plan(costs=Costs({"a": 1.0}), terms=[tree], nodes=nodes, base=[0.0])


def test_a_gate_cannot_settle_an_answer_before_it():
    plan = two_features()
    nodes = [
        Node([0], [0], [1.0], [0.0], gate=Settled(), up=1),
        Node([0], [0], [1.0], [0.0], bought_only=True),
    ]
    with pytest.raises(PlanError, match="node 1 after it reads only what is bought"):
        plan.replace(nodes=nodes)


def test_a_plan_of_nodes_from_an_iterator():
    plan = two_features()
    again = plan.replace(nodes=iter(plan.nodes), terms=iter(plan.terms))
    assert again.looks_at_known and again.reads_bought and again.digest == plan.digest


def test_such_plans_are_no_sums():
    plan = two_features()
    nodes = [Node([2], [0], [1.0], [0.0], up=1), Node([0], [0], [1.0], [0.0], bought_only=True)]
    chain = plan.replace(terms=[*plan.terms, stump(0, 1.0, 2.0, 5.0)], nodes=nodes)
    assert not is_chain(chain) and not chain.can_stage and chain.looks_at_known
    with pytest.raises(PlanError, match="what rows buy decides"):
        chain.to_lightgbm(np.zeros((2, 2)))
    with pytest.raises(PlanError, match="can hand over"):
        hand_over(chain, chain, 0.9)
    with pytest.raises(PlanError, match="no node before it acquires"):
        segment(chain, 1, 2)


def test_it_goes_with_a_prefix_and_a_handover():
    plan = two_features()
    assert plan.prefix(1).run([ROW]).scores == pytest.approx([0.0]) and plan.prefix(1).terms == ()
    assert keep_nodes(plan, [0, 1]).digest == plan.digest
    cheap = plan.replace(terms=[Raw(0)], nodes=[Node([0], [0], [1.0], [0.0])])
    both = hand_over(cheap, plan, 0.9)  # |score| >= 2.2
    run = both.run([ROW, [3.0, 1.0]])
    assert run.scores.tolist() == [210.0, 3.0] and run.cost.tolist() == [4.0, 1.0]


def test_words_and_pictures_say_that_it_acquires_nothing():
    plan = two_features()
    assert "step 2 acquires nothing: what the row has not bought counts as missing" in plan.describe()
    assert "2 of 2 features" in plan.draw().svg


# -- files ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("variance", "version", "version_without"), [(1.0, 9, 9), (1.1, 8, 6)])
def test_files_are_of_the_oldest_version_that_holds_them(variance, version, version_without):
    """Half precision holds a variance of 1, and not one of 1.1."""
    plan = two_features()
    acquisition = replace(plan.nodes[0].acquisition, covariance=np.array([EYE, EYE]) * variance)
    plan = plan.replace(nodes=[replace(plan.nodes[0], acquisition=acquisition), plan.nodes[1]])
    data = dumps(plan)
    header, payload = take_apart(data)
    assert data[8:16] == version.to_bytes(8, "little")
    back = loads(data)
    assert back.digest == plan.digest and [node.bought_only for node in back.nodes] == [False, True]
    assert dumps(back) == data
    np.testing.assert_array_equal(back.run([ROW], 1.0).scores, plan.run([ROW], 1.0).scores)
    without = plan.replace(nodes=[plan.nodes[0], replace(plan.nodes[1], bought_only=False)])
    assert without.digest != plan.digest
    assert dumps(without)[8:16] == version_without.to_bytes(8, "little")
    with pytest.raises(PlanFormatError):
        loads(assemble(header, payload, version=7))


@pytest.mark.parametrize(("node", "value"), [(1, 2), (0, 1)])
def test_a_file_with_a_wrong_flag_is_refused(node, value):
    header, payload = take_apart(dumps(two_features()))
    at = header["arrays"]["node_bought_only"]["offset"] + node
    spoilt = payload[:at] + bytes([value]) + payload[at + 1 :]
    with pytest.raises(PlanFormatError):
        loads(assemble(header, spoilt, version=8))


@given(st.integers(0, 2**30))
@settings(max_examples=40, deadline=None)
def test_random_plans_come_back_and_answer_the_same(seed):
    plan = random_plan(seed)
    back, X = loads(dumps(plan)), random_rows(plan, seed)
    assert back.digest == plan.digest and back.reads_bought == plan.reads_bought
    np.testing.assert_array_equal(back.run(X, 4.0).scores, plan.run(X, 4.0).scores)
