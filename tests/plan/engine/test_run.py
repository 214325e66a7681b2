"""The rules of a run, on random plans of every shape and on one computed by hand."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from miserly.costs import Costs
from miserly.errors import CostError, DataError, PlanError
from miserly.plan import Confidence, Node, Plan, Proximity, Rank, Raw, Threshold, Tree

from ..random_plans import random_plan, random_rows

BUDGETS = (None, 0, 1, 3, 8, 20)
FIELDS = ("scores", "cost", "acquired", "exit", "stopped", "pending", "begun")
seeds = st.integers(0, 2**32 - 1)


def setting(seed):
    plan = random_plan(seed, listwise=seed % 2 == 1)
    X = random_rows(plan, seed, dtype=np.float32 if seed % 3 else np.float64)
    qid = np.random.default_rng(seed).integers(0, 4, len(X))
    return plan, X, qid


@given(seeds, st.sampled_from(BUDGETS), st.sampled_from(["path", "tree"]))
@settings(max_examples=150, deadline=None)
def test_compiled_and_plain_numpy_give_the_same_bits(seed, budget, count):
    plan, X, qid = setting(seed)
    fast = plan.run(X, budget, count, qid, compiled=True)
    plain = plan.run(X, budget, count, qid, compiled=False)
    for name in FIELDS:
        np.testing.assert_array_equal(getattr(fast, name), getattr(plain, name), err_msg=name)


@pytest.mark.long  # it compiles an engine that only large tables of float32 need
@given(seeds, st.sampled_from(BUDGETS), st.sampled_from(["path", "tree"]))
@settings(max_examples=150, deadline=None)
def test_large_tables_of_float32_run_as_they_are_with_the_same_bits(seed, budget, count):
    plan, X, qid = setting(seed)
    narrow = X.astype(np.float32)
    plain = plan.run(narrow, budget, count, qid, compiled=False)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("miserly.plan.engine.batch._NARROW", 0)
        fast = plan.run(narrow, budget, count, qid, compiled=True)
    for name in FIELDS:
        np.testing.assert_array_equal(getattr(fast, name), getattr(plain, name), err_msg=name)


def test_only_large_tables_of_float32_need_an_engine_of_their_own(monkeypatch):
    """Half a minute of compiling costs more than copying a small table."""
    from miserly.plan.engine import batch

    plan = random_plan(0)
    X = random_rows(plan, 0, dtype=np.float32)
    assert batch._checked(plan, X).dtype == np.float64
    monkeypatch.setattr(batch, "_NARROW", X.size - 1)
    assert batch._checked(plan, X).dtype == np.float32 and np.shares_memory(batch._checked(plan, X), X)


@given(seeds, st.sampled_from(["path", "tree"]))
@settings(max_examples=100, deadline=None)
def test_no_row_exceeds_the_budget_and_cost_never_falls_as_it_rises(seed, count):
    plan, X, qid = setting(seed)
    before = np.zeros(len(X))
    for budget in (0.0, 0.5, 1.0, 2.0, 5.0, 11.0, 1e9):
        cost = plan.run(X, budget, count, qid).cost
        assert (cost <= budget).all()
        assert (cost >= before).all()
        before = cost
    np.testing.assert_array_equal(before, plan.run(X, None, count, qid).cost)


@given(seeds, st.sampled_from([0.0, 1.0, 5.0, 11.0]), st.sampled_from(["path", "tree"]))
@settings(max_examples=60, deadline=None)
def test_a_plan_keeps_its_own_budget_however_it_is_run(seed, budget, count):
    plan, X, qid = setting(seed)
    held = plan.replace(budget=budget)
    assert held.max_cost <= budget
    for given_one in (None, np.inf, 100.0, budget / 2):
        mine = held.run(X, given_one, count, qid)
        theirs = plan.run(X, budget if given_one is None else min(budget, given_one), count, qid)
        for name in ("scores", "cost", "acquired", "exit", "stopped"):
            np.testing.assert_array_equal(getattr(mine, name), getattr(theirs, name), err_msg=name)
    if not plan.listwise:
        walk, short = held.walker(), held.run(X, qid=qid)
        for row, scores in zip(X, short.scores, strict=True):
            np.testing.assert_array_equal(walk(row), np.atleast_1d(scores))
            trail = held.start(budget=100.0, count=count)
            while need := trail.next():
                trail.tell({name: row[plan.costs.index(name)] for name in need})
            assert trail.cost <= budget


@pytest.mark.parametrize("budget", [-1.0, np.nan, "much"])
def test_what_is_no_budget_is_refused(budget):
    with pytest.raises(CostError, match="budget"):
        setting(0)[0].replace(budget=budget)


@pytest.mark.parametrize("compiled", [True, False])
def test_a_list_wise_gate_stays_shut_where_the_budget_kept_a_document_away(compiled):
    # Two documents, one better. With 2 to spend, the better one cannot pay the 2.5 of its branch, and the
    # other must not go on as the best of those left: with 3 to spend it would be the one that leaves.
    expensive = Tree([0, -1, 1, -1, -1], [0.5, 0, 0, 0, 0], [1, 0, 3, 0, 0], [2, 0, 4, 0, 0], [0] * 5,
                [0, 1.0, 0, 2.0, 3.0])  # fmt: skip
    nodes = [Node([0], [0], [1.0], [0.0], gate=Rank(k=1), up=1), Node([1], [0], [1.0], [0.0])]
    plan = Plan(costs=Costs([1.0, 1.5, 1.0]), terms=[expensive, Raw(2)], nodes=nodes, base=[0.0])
    X, qid = np.array([[0.0, 0.0, 9.0], [1.0, 1.0, 9.0]]), [7, 7]
    little, more = (plan.run(X, budget, qid=qid, compiled=compiled) for budget in (2.0, 3.0))
    assert little.exit.tolist() == [0, -1] and little.stopped.tolist() == [True, True]
    assert little.cost.tolist() == [1.0, 1.0] and little.scores.tolist() == [1.0, 0.0]
    assert more.exit.tolist() == [0, 0] and more.stopped.tolist() == [False, True]
    assert more.cost.tolist() == [1.0, 2.5] and more.scores.tolist() == [1.0, 3.0]


@given(seeds, st.sampled_from(BUDGETS), st.sampled_from(["path", "tree"]))
@settings(max_examples=100, deadline=None)
def test_cost_is_the_ledger_of_what_was_acquired_and_evaluated(seed, budget, count):
    plan, X, qid = setting(seed)
    run = plan.run(X, budget, count, qid)
    evaluations = np.array([term.evaluation for term in plan.terms])
    ledger = [plan.costs.of(row) for row in run.acquired] + run.evaluated @ evaluations
    np.testing.assert_allclose(run.cost, ledger, atol=1e-9)


@given(seeds)
@settings(max_examples=60, deadline=None)
def test_path_costs_at_most_what_whole_trees_cost(seed):
    plan, X, qid = setting(seed)
    assume(not (plan.acquires or plan.reads_bought))  # what a row has bought changes its answer
    path, tree = plan.run(X, count="path", qid=qid), plan.run(X, count="tree", qid=qid)
    assert (path.cost <= tree.cost + 1e-9).all()
    assert (path.cost <= plan.max_cost + 1e-9).all() and (tree.cost <= plan.max_cost + 1e-9).all()
    np.testing.assert_array_equal(path.scores, tree.scores)


@given(seeds, st.sampled_from(BUDGETS), st.sampled_from(["path", "tree"]))
@settings(max_examples=100, deadline=None)
def test_what_was_not_acquired_cannot_change_the_answer(seed, budget, count):
    plan, X, qid = setting(seed)
    run = plan.run(X, budget, count, qid)
    for other in (np.nan, 1e6):
        again = plan.run(np.where(run.acquired, X, other), budget, count, qid)
        for name in FIELDS:
            np.testing.assert_array_equal(getattr(run, name), getattr(again, name))


@given(seeds, st.sampled_from(BUDGETS))
@settings(max_examples=60, deadline=None)
def test_order_of_rows_and_batches_do_not_matter(seed, budget):
    plan, X, qid = setting(seed)
    run = plan.run(X, budget, qid=qid)
    order = np.random.default_rng(seed).permutation(len(X))
    shuffled = plan.run(X[order], budget, qid=qid[order])
    np.testing.assert_array_equal(shuffled.scores, run.scores[order])
    np.testing.assert_array_equal(shuffled.cost, run.cost[order])
    one_query = plan.run(X[qid == 0], budget, qid=qid[qid == 0])
    np.testing.assert_array_equal(one_query.scores, run.scores[qid == 0])


def test_threads_and_the_short_way_for_chains_give_the_same_bits():
    rng = np.random.default_rng(0)
    stumps = [Tree([j % 3, -1, -1], [0.1 * j, 0, 0], [1, 0, 0], [2, 0, 0], [j % 2 == 0, 0, 0], [0, j, -j / 3])
              for j in range(7)]  # fmt: skip
    nodes = [Node([j], [j % 2], [0.1], [0.0, j / 10], up=j + 1 if j < 6 else -1) for j in range(7)]
    plan = Plan(costs=Costs([1, 2, 3]), terms=stumps, nodes=nodes, base=[0.3, -0.2], link="softmax")
    X = np.where(rng.random((5000, 3)) < 0.1, np.nan, rng.normal(size=(5000, 3)))
    slow = plan.run(X, compiled=False)

    for n_threads in (1, 2):
        np.testing.assert_array_equal(plan.run(X, n_threads=n_threads).scores, slow.scores)
        np.testing.assert_array_equal(plan.run(X, n_threads=n_threads).cost, slow.cost)
        np.testing.assert_array_equal(plan.run(X, n_threads=n_threads, account=False).scores, slow.scores)


@pytest.fixture
def heart():
    """age (1) decides first; the young leave at score -1, the old pay the blood group (2 + 5) for chol."""
    costs = Costs(
        {"age": 1, "chol": 5, "fbs": 3}, groups={"blood": {"features": ["chol", "fbs"], "setup": 2}}
    )
    stump = Tree(
        [1, -1, -1], [240.0, 0, 0], [1, 0, 0], [2, 0, 0], [True, 0, 0], [0, -3.0, 4.0], evaluation=0.5
    )
    nodes = [
        Node([0], [0], [0.1], [-5.0], inherits=False, gate=Threshold(0.0), up=1),  # 0.1 age - 5 > 0
        Node([1], [0], [1.0], [0.0]),
    ]
    return Plan(costs=costs, terms=[Raw(0, 60.0), stump], nodes=nodes, base=[0.25])


@pytest.mark.parametrize("compiled", [True, False])
def test_a_small_plan_by_hand(heart, compiled):
    X = np.array([[40.0, 300, 0], [60.0, 300, 0], [60.0, 200, 0], [np.nan, np.nan, 0]])
    run = heart.run(X, compiled=compiled)
    # 40: -1, leaves. 60: 1 + 4. 60: 1 - 3. Missing age counts as 60; missing chol goes left: 1 - 3.
    np.testing.assert_allclose(run.scores, [-1, 5, -2, -2])
    np.testing.assert_allclose(run.cost, [1, 1 + 0.5 + 7, 8.5, 8.5])
    assert run.exit.tolist() == [0, 1, 1, 1]
    assert run.acquired.sum(axis=1).tolist() == [1, 2, 2, 2]
    # With 8.4 the evaluation (0.5) is paid but the blood test (7) does not fit: the answer is the root's.
    tight = heart.run(X, budget=8.4, compiled=compiled)
    np.testing.assert_allclose(tight.scores, [-1, 1, 1, 1])
    np.testing.assert_allclose(tight.cost, [1, 1.5, 1.5, 1.5])
    # Counted by whole trees, the stump is bought together with its evaluation or not at all.
    np.testing.assert_allclose(heart.run(X, 8.4, "tree", compiled=compiled).cost, [1, 1, 1, 1])
    # Too poor even for the root: the base, for nothing.
    poor = heart.run(X, budget=0.9, compiled=compiled)
    np.testing.assert_allclose(poor.scores, 0.25)
    assert (poor.cost == 0).all() and (poor.exit == -1).all() and poor.stopped.all()


def test_a_budget_that_equals_the_sum_on_paper_admits_it():
    costs = Costs([0.1, 0.2])
    plan = Plan(costs=costs, terms=[Raw(0), Raw(1)], nodes=[Node([0, 1], [0, 0], [1, 1], [0])], base=[0.0])
    run = plan.run(np.array([[1.0, 2.0]]), budget=0.3)
    assert run.scores[0] == 3.0 and run.cost[0] == 0.3 and not run.stopped[0]


def test_confident_rows_leave_early():
    nodes = [Node([0], [0], [1.0], [0.0], gate=Confidence(0.9), up=1), Node([1], [0], [1.0], [0.0])]
    plan = Plan(costs=Costs([1, 1]), terms=[Raw(0), Raw(1)], nodes=nodes, base=[0.0], link="logistic")
    # logit(0.9) is 2.197
    run = plan.run(np.array([[2.2, 9], [2.19, 9], [-2.2, 9]]))
    assert run.cost.tolist() == [1, 2, 1] and run.exit.tolist() == [0, 1, 0]


def test_documents_far_below_the_kth_best_of_their_query_leave():
    nodes = [Node([0], [0], [1.0], [0.0], gate=Proximity(slack=1.0, k=2), up=1), Node([1], [0], [1.0], [0.0])]
    plan = Plan(costs=Costs([1, 1]), terms=[Raw(0), Raw(1)], nodes=nodes, base=[0.0])
    X = np.array([[5.0, 0], [4, 0], [3, 0], [2.9, 0], [-9, 0]])
    # second best is 4: those below 3 leave; the last row is a query of its own
    assert plan.run(X, qid=[0, 0, 0, 0, 1]).exit.tolist() == [1, 1, 1, 0, 1]
    assert plan.run(X).exit.tolist() == [1] * 5  # without qid every row is its own query


def test_frames_are_read_by_name_and_unneeded_columns_may_be_missing(heart):
    pandas, polars = pytest.importorskip("pandas"), pytest.importorskip("polars")
    for library in (pandas, polars):
        frame = library.DataFrame({"chol": [300.0, None], "age": [60, 40]})
        np.testing.assert_allclose(heart.run(frame).scores, [5, -1])
        with pytest.raises(DataError, match="no column 'chol', which the model reads; did you mean 'chl'"):
            heart.run(library.DataFrame({"chl": [300.0], "age": [60]}))
        with pytest.raises(DataError, match=r"'chol' holds no numbers.*row 0: 'high'"):
            heart.run(library.DataFrame({"chol": ["high"], "age": [60]}))


def test_columns_of_a_frame_may_be_called_by_numbers():
    costs = Costs({"0": 1.0, "1": 2.0})
    plan = Plan(costs=costs, terms=[Raw(1)], nodes=[Node([0], [0], [1.0], [0.0])], base=[0.0])
    frame = pd.DataFrame([[1.0, 2.0], [3.0, 4.0]], columns=[0, 1])
    assert plan.run(frame).scores.tolist() == [2.0, 4.0]


def test_bad_calls_say_what_is_wrong(heart):
    X = np.zeros((2, 3))
    with pytest.raises(DataError, match="3 columns"):
        heart.run(np.zeros((2, 4)))
    with pytest.raises(PlanError, match="count is 'path' or 'tree'"):
        heart.run(X, count="both")
    with pytest.raises(ValueError, match="budget cannot be -1"):
        heart.run(X, budget=-1)
    with pytest.raises(ValueError, match="budget cannot be nan"):
        heart.run(X, budget=float("nan"))
    with pytest.raises(DataError, match="qid must name the query of each of 2 rows"):
        heart.run(X, qid=[1])
    assert len(heart.run(np.zeros((0, 3))).scores) == 0


def test_prefix_keeps_the_first_nodes_and_drops_unused_terms(heart):
    short = heart.prefix(1)
    assert len(short.terms) == 1 and short.run(np.array([[60.0, 300, 0]])).scores[0] == 1.0
    assert heart.max_cost == 8.5 and short.max_cost == 1.0
