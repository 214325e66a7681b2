"""Gates that leave once nothing can change: no class and no list of the best ever differs."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from miserly import Costs
from miserly.errors import PlanError
from miserly.plan import Confidence, Decision, Node, Plan, Raw, Settled, SettledTop, Threshold, Tree, links
from miserly.plan.engine.rest import narrowed
from miserly.plan.store.format import dumps, loads

from ..additive_plans import random_additive, with_gates
from ..random_plans import random_rows

seeds = st.integers(0, 2**32 - 1)
BUDGETS = [None, 0.0, 1.0, 3.0, 8.0]
FIELDS = ("scores", "cost", "acquired", "exit", "stopped")


def stump(feature, low, high, threshold=0.0):
    return Tree([feature, -1, -1], [threshold, 0, 0], [1, 0, 0], [2, 0, 0], [True] * 3, [0, low, high])


def chain(stumps, gate, **rest):
    """One stump per node, the gate after each but the last."""
    last = len(stumps) - 1
    nodes = [
        Node([k], [0], [1.0], [0.0], gate=gate, up=k + 1) if k < last else Node([k], [0], [1.0], [0.0])
        for k in range(last + 1)
    ]
    given = {"link": "logistic", "classes": ["no", "yes"], "base": [0.0], "costs": Costs([1.0, 10.0, 100.0])}
    return Plan(terms=stumps, nodes=nodes, **{**given, **rest})


def random_decision(plan, rng):
    """A decision with round costs, often equal ones, and some actions."""
    n = links.n_labels(plan.link, plan.n_outputs)
    actions = ["ask", "wait"][: rng.integers(0, 3)]
    costs = rng.integers(0, 6, (n, n + len(actions))) * rng.choice([0.5, 1.0, 20.0])
    costs[np.arange(n), np.arange(n)] *= rng.random() < 0.2
    return Decision(costs, actions, rng.choice([1.0, 2.0, 10.0], n))


def gated(seed):
    rng = np.random.default_rng(seed)
    links_of = [None, "one_vs_rest", "one_vs_rest_shares", "proportions", "logistic_single", "softmax_single"]
    plain = random_additive(seed, links_of[seed % 7 % 6], shared=True, single=seed % 3 == 0)
    if plain.has_probabilities and seed % 2:
        plain = plain.replace(decision=random_decision(plain, rng))
    kinds = [None, Settled(0), Settled(1), Settled(1), Confidence(0.99), Threshold(5.0)]
    usable = kinds if links.has_confidence(plain.link) else kinds[:4]
    gates = [usable[i] for i in rng.integers(0, len(usable), len(plain.nodes))]
    return plain, with_gates(plain, gates)


# -- rules worked out by hand --------------------------------------------------------------------------------


def test_a_row_leaves_once_the_rest_cannot_change_its_sign():
    # The second stump adds -1 or 1, the third -3 or 3: after the first, only a score beyond 4 is settled;
    # after the second, one beyond 3.
    stumps = [stump(0, -2.0, 5.0), stump(1, -1.0, 1.0), stump(2, -3.0, 3.0)]
    run = chain(stumps, Settled(0)).run([[1.0, 1.0, 1.0], [-1.0, -1.0, 1.0], [-1.0, 1.0, 1.0]])
    assert run.exit.tolist() == [0, 2, 2]
    assert run.cost.tolist() == [1.0, 111.0, 111.0]
    wider = chain([stump(0, -2.5, 5.0), *stumps[1:]], Settled(0)).run([[-1.0, -1.0, 1.0]])
    assert wider.exit.tolist() == [1] and wider.cost.tolist() == [11.0]


def test_a_tie_is_not_settled():
    # 2 - 2 = 0 is class "no", 2 is class "yes".
    assert chain([stump(0, 1.0, 2.0), stump(1, -2.0, 0.0)], Settled(0)).run([[1.0, 1.0, 0.0]]).exit == [1]


def test_leaves_that_bought_features_rule_out_do_not_count():
    # Feature 0 is known after the first node: where it is positive, the second tree adds 1 at least.
    second = Tree([0, -1, 1, -1, -1], [0.0] * 5, [1, 0, 3, 0, 0], [2, 0, 4, 0, 0], [True] * 5,
                  [0, -9.0, 0, 1.0, 2.0])  # fmt: skip
    stumps = [stump(0, -1.0, 1.0), second]
    row = [[1.0, 5.0, 0.0]]
    assert chain(stumps, Settled(0)).run(row).cost.tolist() == [11.0]
    assert chain(stumps, Settled(1)).run(row).cost.tolist() == [1.0]


def test_a_budget_that_stops_a_row_on_the_way_does_not_change_its_class():
    # All in all the rest adds 2 or more, but a row that stops after the second node would have -1 - 2 + ...
    stumps = [stump(0, 1.0, 1.5), stump(1, -2.0, -1.6), stump(2, 4.0, 4.5)]
    plan = chain(stumps, Settled(0))
    assert plan.run([[1.0, 1.0, 1.0]]).exit.tolist() == [2]
    assert plan.predict([[1.0, 1.0, 1.0]], budget=20.0).tolist() == ["no"]


def test_each_class_is_compared_with_the_others():
    # Class 0 leads by 3; the rest can give class 1 two more and take one from class 0 (a tie), or one more.
    for most, exit in ((2.0, 1), (1.9, 0)):
        nodes = [
            Node([0], [0], [1.0], [0.0] * 3, gate=Settled(0), up=1),
            Node([1, 2], [1, 0], [1.0, 1.0], [0.0] * 3),
        ]
        terms = [stump(0, 3.0, 3.0), stump(1, 0.0, most), stump(1, -1.0, 0.0)]
        plan = Plan(costs=Costs([1.0, 1.0]), terms=terms, nodes=nodes, base=[0.0] * 3, link="softmax")
        assert plan.run([[0.0, -1.0]]).exit.tolist() == [exit]


def test_documents_leave_once_they_cannot_be_among_the_best():
    # After the first node scores are 0, 3, 5; the rest adds -1 or 1. Two places: 0 + 1 < 3 - 1, so 0 leaves.
    steps = [Tree([0, -1, 0, -1, -1], [0.5, 0, 1.5, 0, 0], [1, 0, 3, 0, 0], [2, 0, 4, 0, 0], [0] * 5,
                  [0, 0.0, 0, 3.0, 5.0]), stump(1, -1.0, 1.0)]  # fmt: skip
    X, qid = np.array([[0.0, 1.0, 0.0], [1.0, 1.0, 0.0], [2.0, -1.0, 0.0]]), [4, 4, 4]
    for known in (0, 1):
        plan = chain(steps, SettledTop(2, known), link="identity", classes=None)
        run = plan.run(X, qid=qid)
        assert run.exit.tolist() == [0, 1, 1] and run.cost.tolist() == [1.0, 11.0, 11.0]
        assert plan.run(X, qid=[1, 2, 3]).exit.tolist() == [1, 1, 1]


def test_decisions_are_settled_by_what_mistakes_cost():
    # A missed case costs 9, so "yes" is the answer where its odds are above 1/9: scores above -2.197. The
    # second stump adds -1 or 1. After the first, -1 - 1 > -2.197 settles "yes", and -4 + 1 < -2.197 "no".
    decision = Decision([[0.0, 1.0], [9.0, 0.0]])
    for first, left in ((-1.0, True), (-4.0, True), (-2.0, False), (-3.0, False)):
        stumps = [stump(0, first, 9.0), stump(1, -1.0, 1.0)]
        plan = chain(stumps, Settled(0), costs=Costs([1.0, 10.0]), decision=decision)
        for compiled in (False, True):
            run = plan.run([[-1.0, 1.0], [-1.0, -1.0]], compiled=compiled)
            assert run.exit.tolist() == ([0, 0] if left else [1, 1])
    # An action that costs 0.3 is best where the odds are neither below 1/29 nor above 7/3.
    asked = Decision([[0.0, 1.0, 0.3], [9.0, 0.0, 0.3]], actions=["ask"])
    for first, left in ((-1.0, True), (0.0, False), (-2.5, False), (2.0, True), (-4.5, True)):
        plan = chain([stump(0, first, 9.0), stump(1, -1.0, 1.0)], Settled(0), costs=Costs([1.0, 10.0]),
                     decision=asked)  # fmt: skip
        assert (plan.run([[-1.0, 1.0]]).exit[0] == 0) == left


def test_answers_that_cost_the_same_are_one():
    decision = Decision([[0.0, 1.0, 0.0, 5.0], [4.0, 0.0, 4.0, 5.0]], actions=["same", "never"])
    plan = chain([stump(0, -4.0, 9.0), stump(1, -1.0, 1.0)], Settled(0), costs=Costs([1.0, 1.0]),
                 decision=decision)  # fmt: skip
    assert plan.run([[-1.0, 1.0]]).exit.tolist() == [0] and plan.predict([[-1.0, 1.0]]).tolist() == ["no"]


# -- properties ----------------------------------------------------------------------------------------------


@given(seeds, st.sampled_from(BUDGETS), st.sampled_from(["path", "tree"]))
@settings(max_examples=150, deadline=None)
def test_no_class_differs_and_no_row_pays_more(seed, budget, count):
    plain, plan = gated(seed)
    X = random_rows(plan, seed)
    only_settled = with_gates(plain, [node.gate if node.gate.needs_rest else None for node in plan.nodes])
    one, other = (each.run(X, budget, count) for each in (plain, only_settled))
    np.testing.assert_array_equal(plain.predict(X, budget), only_settled.predict(X, budget))
    assert (other.cost <= one.cost).all()
    stayed = other.exit == one.exit
    np.testing.assert_array_equal(one.scores[stayed], other.scores[stayed])


@given(seeds, st.sampled_from(BUDGETS), st.sampled_from(["path", "tree"]))
@settings(max_examples=100, deadline=None)
def test_compiled_code_numpy_and_stepping_agree(seed, budget, count):
    plan = gated(seed)[1]
    X = random_rows(plan, seed, n=6)
    fast, plain = (plan.run(X, budget, count, compiled=compiled) for compiled in (True, False))
    for name in FIELDS:
        np.testing.assert_array_equal(getattr(fast, name), getattr(plain, name), err_msg=name)
    quick = plan.run(X, budget, count, account=False)
    np.testing.assert_array_equal(quick.scores, fast.scores)
    for i, row in enumerate(X):
        trail = plan.start(budget=budget, count=count)
        while need := trail.next():
            trail.tell({name: row[plan.costs.index(name)] for name in need})
        assert trail.exit == fast.exit[i] and trail.cost == pytest.approx(fast.cost[i], abs=1e-9)
        np.testing.assert_array_equal(trail.acquired, fast.acquired[i])
        np.testing.assert_array_equal(np.ravel(trail.scores), np.ravel(fast.scores[i]))


@given(seeds, st.integers(1, 4), st.sampled_from([0, 1]))
@settings(max_examples=100, deadline=None)
def test_the_best_documents_and_their_order_never_differ(seed, k, known):
    plain = random_additive(seed, "identity")
    plan = with_gates(plain, [SettledTop(k, known)] * len(plain.nodes))
    X = random_rows(plan, seed, n=24)
    qid = np.random.default_rng(seed).integers(0, 4, len(X))
    full, run, slow = plain.run(X), plan.run(X, qid=qid), plan.run(X, qid=qid, compiled=False)
    for name in FIELDS:
        np.testing.assert_array_equal(getattr(run, name), getattr(slow, name), err_msg=name)
    ranked = plan.predict(X, qid=qid)
    assert (run.cost <= full.cost).all()
    for q in np.unique(qid):
        rows = np.flatnonzero(qid == q)
        worst = np.sort(full.scores[rows])[-min(k, len(rows))]
        best = rows[full.scores[rows] >= worst]  # with ties
        np.testing.assert_array_equal(ranked[best], full.scores[best])
        assert (ranked[np.setdiff1d(rows, best)] < worst).all()
        query = plan.start_query(len(rows))
        while need := query.next():
            query.tell({i: {f: X[rows[i], plan.costs.index(f)] for f in names} for i, names in need.items()})
        np.testing.assert_array_equal([answer.value for answer in query.answer()], ranked[rows])
        np.testing.assert_allclose(query.cost, run.cost[rows], atol=1e-9)


@given(seeds)
@settings(max_examples=60, deadline=None)
def test_bounds_hold_for_whatever_the_unknown_features_are(seed):
    plan = random_additive(seed)
    rng = np.random.default_rng(seed)
    X = random_rows(plan, seed, n=8)
    known = rng.random(X.shape) < 0.5
    low, high = narrowed(plan, 0, X, np.arange(len(X)), known)
    start = np.array([stage.scores for stage in plan.run_staged(X, [1])])[0]
    for again in range(5):
        Z = np.where(known, X, random_rows(plan, seed + again + 1, n=8))
        Z0 = np.array([stage.scores for stage in plan.run_staged(Z, [1])])[0]
        for stage in plan.run_staged(Z):
            added = stage.scores - Z0
            assert (added >= low - 1e-9).all() and (added <= high + 1e-9).all()
    assert start.shape == low.shape


# -- files, words and mistakes -------------------------------------------------------------------------------


def test_saved_and_loaded_gates_decide_alike():
    plan = gated(5)[1].replace(budget=7.0)
    X = random_rows(plan, 5)
    np.testing.assert_array_equal(loads(dumps(plan)).run(X).scores, plan.run(X).scores)
    top = chain([stump(0, 0.0, 1.0)] * 2, SettledTop(3, 0), link="identity", classes=None)
    assert loads(dumps(top)).nodes[0].gate == SettledTop(3, 0)


def test_words_say_when_rows_leave():
    plan = chain([stump(0, -1.0, 1.0), stump(1, -1.0, 1.0)], Settled())
    assert "if no later step can change the answer" in plan.describe()
    assert "no later step can change the answer" in plan.draw().svg


def test_features_of_any_value_settle_nothing():
    nodes = [Node([0], [0], [1.0], [0.0], gate=Settled(), up=1), Node([1], [0], [0.1], [0.0])]
    plan = Plan(costs=Costs([1.0, 1.0]), terms=[Raw(0), Raw(1)], nodes=nodes, base=[0.0], link="sign")
    assert plan.run([[1e9, 0.0]]).exit.tolist() == [1]


@pytest.mark.parametrize(
    ("nodes", "link", "message"),
    [
        ([Node([], [], [], [0.0], gate=Settled())], "identity", "gives numbers and not classes"),
        ([Node([], [], [], [0.0], gate=Settled(), up=1), Node([], [], [], [0.0], False)], "sign",
         "node 1 after it starts from new scores"),
        ([Node([], [], [], [0.0], gate=Settled(), up=1, low=2), Node([], [], [], [0.0]),
          Node([], [], [], [0.0])], "sign", "rows that go low must leave"),
        ([Node([], [], [], [0.0], gate=Settled(), up=1),
          Node([], [], [], [0.0], gate=Threshold(), up=2, low=3), Node([], [], [], [0.0]),
          Node([], [], [], [0.0])], "sign", "two children"),
    ],
)  # fmt: skip
def test_plans_that_cannot_be_settled_are_refused(nodes, link, message):
    with pytest.raises(PlanError, match=message):
        Plan(costs=Costs([1.0]), terms=[], nodes=nodes, base=[0.0], link=link)


@pytest.mark.parametrize("gate", [Settled(2), SettledTop(0), SettledTop(3, 0.5)], ids=str)
def test_gates_without_meaning_are_refused(gate):
    with pytest.raises(PlanError, match="known=0 or known=1"):
        Node([], [], [], [0.0], gate=gate)
