"""Parts of a plan, and two plans in turn: by hand, and as compiled code has it."""

import numpy as np
import pytest

import miserly
from miserly import Costs
from miserly.errors import PlanError
from miserly.plan import LEAVE, Confidence, Node, Plan, Raw, Threshold
from miserly.plan.compose import (
    can_hand_over,
    hand_over,
    handing_over_at,
    is_chain,
    keep_nodes,
    suit_each_other,
)

COSTS = Costs({"a": 1.0, "b": 5.0, "c": 20.0}, groups={"lab": {"features": ["b", "c"], "setup": 2.0}})
ROWS = np.array([[4.0, -1.0, 1.0], [1.0, -1.0, 1.0], [-1.0, 3.0, -2.0], [-4.0, 3.0, -2.0]])


def plan(*nodes, features=(0, 1, 2), base=(0.25,), costs=COSTS, **rest):
    given = {"link": "logistic", "classes": ["no", "yes"], **rest}
    return Plan(costs=costs, terms=[Raw(f) for f in features], nodes=nodes, base=base, **given)


def cheap(**rest):
    return plan(Node([0], [0], [1.0], [0.0]), features=[0], **rest)


def tree():
    """b; where that is above zero c decides, and an answer of 9 else."""
    return plan(
        Node([0], [0], [1.0], [0.5], gate=Threshold(0.0), up=1, low=2),
        Node([1], [0], [3.0], [0.0], inherits=False),
        Node([], [], [], [9.0], inherits=False),
        features=[1, 2],
        base=[0.0],
    )


def test_by_hand():
    """Scores of the first are 4.25, 1.25, -0.75, -3.75; 0.9 is 2.197."""
    both = hand_over(cheap(), tree(), 0.9)
    for compiled in (False, True):
        run = both.run(ROWS, compiled=compiled)
        assert run.scores.tolist() == [4.25, 9.0, -6.0, -3.75]
        assert run.cost.tolist() == [1.0, 1.0 + 7.0, 1.0 + 7.0 + 20.0, 1.0]
        assert run.acquired.tolist() == [[1, 0, 0], [1, 1, 0], [1, 1, 1], [1, 0, 0]]
    assert both.predict(ROWS).tolist() == ["yes", "yes", "no", "no"]
    assert both.max_cost == 28.0


def test_no_row_or_every_row():
    first, then = cheap(), tree()
    no_row, every_row = hand_over(first, then, 0.5), hand_over(first, then, 1.01)
    np.testing.assert_array_equal(no_row.run(ROWS).scores, first.run(ROWS).scores)
    np.testing.assert_array_equal(every_row.run(ROWS).scores, then.run(ROWS).scores)
    assert (every_row.run(ROWS).cost == then.run(ROWS).cost + 1.0).all()


def test_what_the_first_bought_is_not_paid_again():
    again = plan(Node([0, 1], [0, 0], [1.0, 1.0], [0.0]))  # a and b
    assert hand_over(cheap(), again, 1.01).run(ROWS).cost.tolist() == [8.0] * 4


def test_another_level(tmp_path):
    both = hand_over(cheap(), tree(), 0.9)
    lower = handing_over_at(both, 0.6)
    assert lower.run(ROWS).exit.tolist() == [0, 0, 0, 0] and both.run(ROWS).exit.tolist() == [0, 3, 2, 0]
    lower.save(tmp_path / "both.miser")
    read = handing_over_at(miserly.load(tmp_path / "both.miser"), 0.9)
    np.testing.assert_array_equal(read.run(ROWS).scores, both.run(ROWS).scores)
    assert handing_over_at(tree(), 0.1).nodes[0].gate == Threshold(0.0)


def test_scores_that_only_steer_are_made_room_for():
    wide = plan(
        Node([0, 0], [0, 1], [1.0, 2.0], [0.0, 0.0], gate=Threshold(-1.0, channel=1), up=1),
        Node([1], [0], [1.0], [0.0, 0.0]),
        features=[1, 2],
        base=[0.0, 0.0],
        n_outputs=1,
    )
    for first, then, width in ((cheap(), wide, 2), (plan(Node([0], [0], [1.0], [0.0, 0.0]), base=[0.25, 7.0],
                                                         n_outputs=1), cheap(), 2)):  # fmt: skip
        both = hand_over(first, then, 1.01)
        assert both.n_scores == width and both.n_outputs == 1
        np.testing.assert_array_equal(both.run(ROWS).scores, then.run(ROWS).scores)


def test_a_plan_that_asks_nothing_hands_over_all_or_none():
    silent = plan(base=[1.0])  # 0.73
    assert hand_over(silent, tree(), 0.7).nodes == () and len(hand_over(silent, tree(), 0.8).nodes) == 3
    assert hand_over(cheap(), silent, 0.99).run(ROWS).scores.tolist() == [4.25, 1.25, -0.75, -3.75]


def test_a_budget_stops_rows_on_their_way():
    run = hand_over(cheap(), tree(), 0.9).run(ROWS, budget=10.0)
    assert run.cost.tolist() == [1.0, 8.0, 8.0, 1.0] and run.scores.tolist() == [4.25, 9.0, 3.5, -3.75]


@pytest.mark.parametrize(
    "first",
    [
        tree(),
        plan(Node([0], [0], [1.0], [0.0], gate=Confidence(0.9), up=1), Node([1], [0], [1.0], [0.0])),
        plan(Node([0], [0], [1.0], [0.0]), link="sign"),
    ],
    ids=["a tree", "exits", "no probabilities"],
)
def test_not_every_plan_can_be_the_first(first):
    assert not can_hand_over(first)
    with pytest.raises(PlanError, match="only a chain"):
        hand_over(first, tree(), 0.9)


@pytest.mark.parametrize(
    "then",
    [
        cheap(costs=Costs([1.0, 5.0, 21.0])),
        cheap(classes=["yes", "no"]),
        cheap(link="sign"),
        cheap(categories={0: ("x", "y")}),
        cheap(budget=3.0),
    ],
    ids=["costs", "classes", "link", "categories", "budget"],
)
def test_plans_must_mean_the_same(then):
    assert not suit_each_other(cheap(), then)
    with pytest.raises(PlanError, match="follow one another"):
        hand_over(cheap(), then, 0.9)


def test_chains():
    assert is_chain(plan()) and is_chain(cheap()) and not is_chain(tree())


def test_it_is_described_and_drawn():
    both = hand_over(cheap(), tree(), 0.9)
    assert "probability of at least 0.9" in both.describe() and "<svg" in both.draw().svg
    line = hand_over(cheap(), plan(Node([0], [0], [1.0], [0.0])), 0.9)
    assert "a row that goes on to step 2 starts with a new score there" in line.describe()


def test_kept_nodes_have_the_terms_they_use_and_rows_leave_where_others_were():
    whole = tree()
    part = keep_nodes(whole, [0, 2])
    assert (part.nodes[0].up, part.nodes[0].low) == (LEAVE, 1)
    assert len(part.terms) == len({t for k in (0, 2) for t in whole.nodes[k].terms.tolist()})
    first = keep_nodes(whole, [0])
    np.testing.assert_array_equal(first.run(ROWS).exit, 0)


def snapshots():
    """A chain of three nodes, of which the second starts again from zero."""
    nodes = [
        Node([0], [0], [1.0], [0.5], up=1),
        Node([1, 0], [0, 0], [2.0, 1.0], [0.25], inherits=False, up=2),
        Node([2], [0], [-1.0], [0.0]),
    ]
    terms = [Raw(0), Raw(1), Raw(2, evaluation=0.5)]
    return Plan(costs=Costs([1.0, 5.0, 10.0]), terms=terms, nodes=nodes, base=[7.0])


@pytest.mark.parametrize("count", ["path", "tree"])
@pytest.mark.parametrize("compiled", [True, False])
def test_stages_are_runs_of_prefixes(count, compiled):
    chain = snapshots()
    rows = np.random.default_rng(0).normal(size=(20, 3))
    for stage in chain.run_staged(rows, count=count, compiled=compiled):
        alone = chain.prefix(stage.n_nodes).run(rows, count=count)
        np.testing.assert_allclose(stage.scores[:, 0], alone.scores, rtol=1e-14)
        np.testing.assert_array_equal(stage.acquired, alone.acquired)
        np.testing.assert_allclose(stage.cost, alone.cost, rtol=1e-15)
    stops = [stage.n_nodes for stage in chain.run_staged(rows, [0, 2, 2])]
    assert stops == [0, 2, 2]


@pytest.mark.parametrize("compiled", [True, False])
def test_without_accounts_only_the_nodes_that_decide_the_answer_run(compiled):
    chain = snapshots()
    assert len(chain.answering_part.nodes) == 2
    assert (other := tree()).answering_part is other
    rows = np.random.default_rng(0).normal(size=(20, 3))
    short, whole = chain.run(rows, account=False, compiled=compiled), chain.run(rows)
    np.testing.assert_array_equal(short.scores, whole.scores)
    np.testing.assert_array_equal(short.exit, whole.exit)
    assert not short.cost.any() and not short.acquired.any() and not short.stopped.any()
    held = chain.replace(budget=3.0)  # a budget is kept all the same
    np.testing.assert_array_equal(held.run(rows, account=False).scores, held.run(rows).scores)
    np.testing.assert_array_equal(held.run(rows).scores, chain.run(rows, budget=3.0).scores)


def test_plans_with_gates_or_a_budget_are_not_run_in_stages():
    for other in (tree(), snapshots().replace(budget=3.0)):
        assert not other.can_stage
        with pytest.raises(PlanError, match="run in stages"):
            next(iter(other.run_staged(np.zeros((1, other.n_features)))))


def test_encoded_rows_are_run_as_they_are():
    chain = snapshots()
    rows = np.random.default_rng(0).normal(size=(5, 3))
    np.testing.assert_array_equal(chain.run(chain.encode(rows), encoded=True).scores, chain.run(rows).scores)
    with pytest.raises(PlanError, match="encoded rows are a float matrix, not list"):
        chain.run(rows.tolist(), encoded=True)
    with pytest.raises(PlanError, match="encoded rows are a float matrix of 3 columns, not float64 of"):
        chain.run(rows[:, :2], encoded=True)
