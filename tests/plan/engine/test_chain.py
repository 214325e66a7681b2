"""Additive chains of trees take a short way in compiled code, with the bits of NumPy."""

from dataclasses import replace

import numpy as np
import pytest

from miserly.costs import Costs
from miserly.plan import Node, Plan, Raw, Threshold, Tree
from miserly.plan.engine.chain import bills_of, chain_of
from tests.plan.random_plans import random_tree

D = 4  # column 0 holds category codes


def leaf(value):
    return Tree(np.array([-1]), *(np.zeros(1) for _ in range(4)), np.array([value]))


def chain(seed, n_scores, categorical, single=False):
    rng = np.random.default_rng(seed)
    trees = [leaf(0.3), *(random_tree(rng, D, max_depth=int(depth)) for depth in rng.integers(1, 9, 40))]
    if not categorical:
        trees = [tree for tree in trees if tree.plain]
    places = np.array_split(rng.permutation(len(trees)), 11)
    nodes = [
        Node(
            some,
            rng.integers(0, n_scores, len(some)),
            rng.normal(size=len(some)),
            rng.normal(size=n_scores) * (k % 2),
            up=k + 1 if k < 10 else -1,
            single=single and k % 3 > 0,
        )
        for k, some in enumerate(places)
    ]
    return Plan(costs=Costs([1.0] * D), terms=trees, nodes=nodes, base=rng.normal(size=n_scores))


def rows(n, dtype):
    """Numbers, and in column 0 codes, what is no code, and missing values."""
    rng = np.random.default_rng(n)
    X = rng.normal(size=(n, D))
    X[:, 0] = rng.integers(0, 7, n)
    X[::5, 0] = rng.choice([-1.0, 0.5, 255.0, 256.0, 300.0, 511.0, 512.0, 1e30, -0.0, 5e-324], len(X[::5]))
    X[rng.random(X.shape) < 0.1] = np.nan
    return X.astype(dtype)


@pytest.mark.parametrize("n_scores", [1, 3])
@pytest.mark.parametrize("categorical", [False, True])
@pytest.mark.parametrize("single", [False, True])
@pytest.mark.parametrize("narrow", [False, pytest.param(True, marks=pytest.mark.long)])
def test_scores_have_the_bits_of_numpy(n_scores, categorical, single, narrow, monkeypatch):
    if narrow:  # as large tables of float32 are run
        monkeypatch.setattr("miserly.plan.engine.batch._NARROW", 0)
    plan = chain(n_scores, n_scores, categorical, single)
    assert (len(chain_of(plan).tables) > 0) == categorical
    for n, dtype in ((3, np.float64), (16, np.float32), (300, np.float64), (300, np.float32)):
        X = rows(n, dtype)
        run = plan.run(X, account=False)
        expected = plan.run(X, account=False, compiled=False)
        assert (run.scores == expected.scores).all() and (run.exit == expected.exit).all()
    walk = plan.walker()
    assert all((walk(row) == score).all() for row, score in zip(X, run.scores, strict=True))


@pytest.mark.parametrize("missing_left", [False, True])
def test_sets_of_any_codes_in_trees_of_several_sizes(missing_left):
    rng = np.random.default_rng(0)
    trees = [
        Tree(
            np.array([0, -1, -1]), np.zeros(3), np.array([1, 0, 0]), np.array([2, 0, 0]),
            np.array([missing_left] * 3), np.array([0.0, 1.0, -1.0]), np.array([0, -1, -1]),
            rng.integers(0, 1 << 32, (1, size), dtype=np.uint32),
        )
        for size in (8, 24, 8, 16)
    ]  # fmt: skip
    nodes = [Node([k], [k], [1.0], np.zeros(4), up=k + 1 if k < 3 else -1) for k in range(4)]
    plan = Plan(costs=Costs([1.0]), terms=trees, nodes=nodes, base=np.zeros(4))
    assert chain_of(plan).tables.nbytes == 4 * 24 * 4
    X = np.append(np.arange(-2.0, 800.0), [np.nan, 62.5, 63.5, 2.0**31, 2.0**32, 2.0**63, 1e300, -1e300])[
        :, None
    ]
    expected = plan.run(X, compiled=False).scores
    assert (plan.run(X, account=False).scores == expected).all()
    walk = plan.walker()
    assert all((walk(row) == scores).all() for row, scores in zip(X, expected, strict=True))
    assert len(np.unique(expected, axis=0)) > 8


def test_single_precision_rounds_values_products_and_sums():
    # 0.1 and 0.7 are not float32 numbers, so the value, the product and each sum are rounded.
    nodes = [
        Node([k], [0], [np.float32(0.7)], [0.0], up=k + 1 if k < 2 else -1, single=True) for k in range(3)
    ]
    trees = [leaf(value) for value in (0.1, 1e8, -1e8)]
    plan = Plan(costs=Costs([1.0]), terms=trees, nodes=nodes, base=[np.float32(0.3)])
    expected = np.float32(0.3)
    for tree in trees:
        expected = expected + np.float32(0.7) * np.float32(tree.value[0])
    X = np.zeros((20, 1))
    stages = list(plan.run_staged(X, [1, 2, 3]))
    walked = plan.start()
    found = [
        *(plan.run(X, account=account, compiled=engine).scores[0] for account in (False, True)
          for engine in (False, True)),
        plan.walker()(X[0])[0], stages[-1].scores[0, 0], walked.scores[0],
    ]  # fmt: skip
    assert expected.dtype == np.float32 and set(map(float, found)) == {float(expected)}
    assert (
        float(expected) != plan.replace(nodes=[replace(one, single=False) for one in nodes]).run(X).scores[0]
    )


def test_two_threads_give_the_same_scores():
    plan, X = chain(0, 1, True), rows(5000, np.float64)
    one, two = (plan.run(X, account=False, n_threads=n).scores for n in (1, 2))
    assert (one == two).all()


def test_other_plans_are_no_chains():
    plain = chain(0, 1, True)
    first = plain.nodes[0]
    gate = Node(first.terms, first.channels, first.weights, first.bias, gate=Threshold(0.0), up=1)
    assert chain_of(plain) is chain_of(plain) is not None
    assert chain_of(plain.replace(nodes=[gate, *plain.nodes[1:]])) is None
    assert chain_of(plain.replace(terms=[Raw(0), *plain.terms[1:]])) is None


# -- bills ---------------------------------------------------------------------------------------------------

BOOKS = ("scores", "cost", "acquired", "exit", "stopped", "evaluated")


def priced_chain(seed, depth=6):
    """A chain with prices whose sums depend on their order, a group, and evaluations."""
    rng = np.random.default_rng(seed)
    trees = [random_tree(rng, D, 0.1 * (j % 3), int(rng.integers(0, depth + 1))) for j in range(30)]
    trees[7] = replace(trees[6], value=trees[6].value + 1.0)  # walked once with the tree before
    costs = Costs([0.1, 0.7, 1e-3, 5.17], groups={"lab": {"features": [1, 3], "setup": 2.3}})
    cuts = np.array_split(np.arange(30), 8)
    nodes = [
        Node(some, np.zeros(len(some), int), rng.normal(size=len(some)), [0.1], up=k + 1 if k < 7 else -1)
        for k, some in enumerate(cuts)
    ]
    return Plan(costs=costs, terms=trees, nodes=nodes, base=[0.5])


def assert_the_same(plan, X, **given):
    plain, fast = (plan.run(X, compiled=engine, **given) for engine in (False, True))
    for name in BOOKS:
        np.testing.assert_array_equal(getattr(plain, name), getattr(fast, name), err_msg=name)
    return fast


@pytest.mark.parametrize("count", ["path", "tree"])
@pytest.mark.parametrize("depth", [4, 9], ids=["shallow", "deep"])
def test_bills_have_the_bits_of_numpy(count, depth):
    rng = np.random.default_rng(depth)
    plan, X = priced_chain(depth, depth), rows(200, np.float64)
    known = rng.random(X.shape) < 0.3
    for given in ({}, {"known": known}, {"prices": rng.random(X.shape)}, {"budget": plan.max_cost}):
        assert not assert_the_same(plan, X, count=count, **given).stopped.any()
    for budget in (0.0, 0.3, 1.0, 3.0, plan.max_cost - 0.01):  # one that stops rows, for most of them
        assert_the_same(plan, X, count=count, budget=budget)
    assert_the_same(plan.replace(budget=1.5), X, count=count)
    assert_the_same(plan, X[:0], count=count)
    assert_the_same(plan, X[:1], count=count)


@pytest.mark.parametrize("narrow", [False, pytest.param(True, marks=pytest.mark.long)])
def test_chains_larger_than_a_tile_have_the_bits_of_numpy(narrow, monkeypatch):
    if narrow:
        monkeypatch.setattr("miserly.plan.engine.batch._NARROW", 0)
    monkeypatch.setattr("miserly.plan.engine.chain._TILE_NODES", 64)
    plan = priced_chain(3)
    assert len(chain_of(plan).tiles) > 4
    assert_the_same(plan, rows(100, np.float32))
    assert_the_same(plan, rows(100, np.float32), account=False)


def test_trees_like_a_line_take_the_long_way():
    # Leaf j of a line of n splits meets j of them: n * n / 2 steps, more than memory in proportion to n.
    n = 200
    feature, left, right = np.full(2 * n + 1, -1), np.zeros(2 * n + 1, int), np.zeros(2 * n + 1, int)
    feature[: 2 * n : 2], left[: 2 * n : 2] = np.arange(n) % D, np.arange(1, 2 * n, 2)
    right[: 2 * n : 2] = np.arange(2, 2 * n + 1, 2)
    value = np.arange(2 * n + 1.0)
    line = Tree(feature, np.linspace(-2, 2, 2 * n + 1), left, right, np.zeros(2 * n + 1, bool), value)
    plan = Plan(costs=Costs([0.1] * D), terms=[line], nodes=[Node([0], [0], [1.0], [0.0])], base=[0.0])
    assert bills_of(plan) is None and bills_of(priced_chain(0)) is not None
    assert_the_same(plan, np.abs(rows(50, np.float64)))
