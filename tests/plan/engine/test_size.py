"""Work and memory grow with the size of a plan, whatever its shape: a file cannot make a run explode."""

from __future__ import annotations

import tracemalloc

import numpy as np
import pytest

from miserly import Costs, DataError, Plan
from miserly.plan import Kernel, Node, Raw, Threshold, Tree, links
from miserly.plan.store.format import dumps

ROWS = np.ones((5, 4))


def forks(n):
    """A line of `n` forks; every node reads a term of its own."""
    nodes = []
    for i in range(n):
        up = 2 * i + 2 if i < n - 1 else -1
        nodes.append(Node([2 * i], [0], [1.0], [0.0], gate=Threshold(0.0), up=up, low=2 * i + 1))
        nodes.append(Node([2 * i + 1], [0], [1.0], [0.0]))
    return Plan(costs=Costs([1.0] * 4), terms=[Raw(i % 4) for i in range(2 * n)], nodes=nodes, base=[0.0])


def peak(work):
    tracemalloc.start()
    try:
        work()
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


def step(plan, count):
    trail = plan.start(count=count)
    while need := trail.next():
        trail.tell(dict.fromkeys(need, 1.0))


@pytest.mark.parametrize(
    "work",
    [
        lambda plan: plan.tables,
        lambda plan: plan.run(ROWS, compiled=False),
        lambda plan: plan.run(ROWS, compiled=False).evaluated,
        lambda plan: step(plan, "path"),
        lambda plan: step(plan, "tree"),
        lambda plan: plan.max_cost,
    ],
    ids=["tables", "run", "evaluated", "step", "step whole", "most"],
)
def test_memory_of_a_line_of_forks_grows_with_the_file(work):
    plan = forks(1500)  # a set for each node would take 70 times the file
    assert peak(lambda: work(plan)) < 12 * len(dumps(plan))


def test_terms_are_fresh_once_on_every_way():
    """Both children of a fork evaluate term 1 for the first time; below, it is known."""
    nodes = [
        Node([0, 0], [0, 0], [1.0, 1.0], [0.0], gate=Threshold(0.0), up=1, low=2),
        Node([1], [0], [1.0], [0.0], up=3),
        Node([0, 1], [0, 0], [1.0, 1.0], [0.0]),
        Node([1, 0, 2], [0, 0, 0], [1.0, 1.0, 1.0], [0.0]),
    ]
    plan = Plan(costs=Costs([1.0] * 3), terms=[Raw(0), Raw(1), Raw(2)], nodes=nodes, base=[0.0])
    assert plan.tables.nodes.fresh.tolist() == [True, False, True, False, True, False, False, True]


def test_evaluated_terms_are_those_on_the_way_and_what_was_begun():
    plan = forks(3)
    run = plan.run([[1.0] * 4, [-1.0] * 4, [1.0, -9.0, -9.0, 1.0]], compiled=False)
    assert run.exit.tolist() == [4, 1, 3]
    assert [np.flatnonzero(row).tolist() for row in run.evaluated] == [[0, 2, 4], [0, 1], [0, 2, 3]]
    stopped = plan.run([[1.0] * 4], budget=1.0, compiled=False)
    assert np.flatnonzero(stopped.evaluated[0]).tolist() == [0, 2]


def test_votes_are_counted_as_pair_by_pair():
    scores = np.random.default_rng(0).normal(size=(7, 45))
    scores[0, :3] = 0.0
    wins = np.zeros((7, 10))
    for k, (i, j) in enumerate(links.pairs_of(10)):
        wins[:, i] += scores[:, k] > 0
        wins[:, j] += ~(scores[:, k] > 0)
    np.testing.assert_array_equal(links.votes(scores), wins)


def test_votes_of_many_classes_are_counted_by_class_and_not_by_pair(monkeypatch):
    monkeypatch.setattr(links, "pairs_of", lambda n: pytest.fail(f"a list of the pairs of {n} classes"))
    plan = Plan(costs=Costs([1.0]), terms=[], nodes=[], base=np.linspace(-1, 1, 1999000), link="votes")
    assert plan.predict([[0.0]] * 5).shape == (5,)


def test_a_group_is_set_up_once_by_a_whole_tree():
    tree = Tree([0, 1, -1, -1, -1], [0.0] * 5, [1, 3, -1, -1, -1], [2, 4, -1, -1, -1], [True] * 5, [1.0] * 5)
    costs = Costs([1.0, 2.0, 4.0], groups={"blood": {"features": [0, 1, 2], "setup": 10.0}})
    nodes = [Node([0], [0], [1.0], [0.0], up=1), Node([1], [0], [1.0], [0.0])]
    plan = Plan(costs=costs, terms=[tree, Raw(2)], nodes=nodes, base=[0.0])
    trail = plan.start(count="tree")
    assert trail.next() == (0, 1) and trail.cost == 0.0
    trail.tell({0: 1.0, 1: 1.0})
    assert trail.next() == (2,) and trail.cost == 13.0
    poor = plan.start(count="tree", budget=12)
    assert poor.stopped and not poor.acquired.any() and poor.cost == 0.0


@pytest.mark.parametrize("kernel", ["linear", "rbf", "poly", "sigmoid"])
@pytest.mark.parametrize("count", ["path", "tree"])
def test_wide_kernels_are_summed_in_blocks_to_the_same_bits(kernel, count):
    rng = np.random.default_rng(0)
    terms = [Kernel(rng.normal(size=150), kernel, gamma=0.01, fill=rng.normal(size=150)) for _ in range(3)]
    nodes = [Node([0, 1], [0, 0], [1.0, -2.0], [0.0], up=1), Node([2, 0], [0, 0], [1.0, 3.0], [0.0])]
    groups = {"lab": {"features": list(range(40, 90)), "setup": 7.0}}
    plan = Plan(costs=Costs(rng.random(150), groups=groups), terms=terms, nodes=nodes, base=[0.0])
    rows = rng.normal(size=(6, 150))
    rows[rng.random(rows.shape) < 0.1] = np.nan
    for budget in (None, 20.0):
        plain, fast = (plan.run(rows, budget, count, compiled=compiled) for compiled in (False, True))
        for name in ("scores", "cost", "acquired", "exit", "stopped", "evaluated"):
            np.testing.assert_array_equal(getattr(plain, name), getattr(fast, name), err_msg=name)


# -- one row at a time ---------------------------------------------------------------------------------------


def chain_of_trees():
    tree = Tree([3, -1, -1], [0.0] * 3, [1, -1, -1], [2, -1, -1], [True] * 3, [0.0, 1.0, 2.0])
    return Plan(costs=Costs([1.0] * 4), terms=[tree], nodes=[Node([0], [0], [1.0], [0.0])], base=[0.0])


@pytest.mark.parametrize("plan", [chain_of_trees(), forks(2)], ids=["short way", "long way"])
def test_a_walker_refuses_rows_of_another_length(plan):
    walk = plan.walker()
    row = np.array([1.0, 2.0, 3.0, 4.0])
    np.testing.assert_array_equal(walk(row), plan.run(row[None]).scores)
    np.testing.assert_array_equal(walk(row.astype(int)), plan.run(row[None]).scores)
    np.testing.assert_array_equal(walk(row.tolist()), plan.run(row[None]).scores)
    for wrong in (row[:3], row[:0], np.zeros(5), row[None], np.float64(1.0), np.zeros((4, 1))):
        with pytest.raises(DataError, match="a row must have 4 values"):
            walk(wrong)
    with pytest.raises(DataError, match=r"holds no numbers.*'x'"):
        walk(np.array([1.0, 2.0, 3.0, "x"], dtype=object))
