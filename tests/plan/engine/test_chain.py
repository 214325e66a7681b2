"""Additive chains of trees take a short way in compiled code, with the bits of NumPy."""

from dataclasses import replace

import numpy as np
import pytest

from miserly.costs import Costs
from miserly.plan import Node, Plan, Raw, Threshold, Tree
from miserly.plan.engine.chain import chain_of
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
def test_scores_have_the_bits_of_numpy(n_scores, categorical, single):
    plan = chain(n_scores, n_scores, categorical, single)
    assert (len(chain_of(plan).tables) > 0) == categorical
    for n, dtype in ((3, np.float64), (16, np.float32), (300, np.float64), (300, np.float32)):
        X = rows(n, dtype)
        run = plan.run(X, account=False)
        expected = plan.run(X, account=False, compiled=False)
        assert (run.scores == expected.scores).all() and (run.exit == expected.exit).all()
    walk = plan.walker()
    assert all((walk(row) == score).all() for row, score in zip(X, run.scores, strict=True))


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
