"""One row of an additive chain of trees, packed into few arrays, with the bits of the other engines."""

from dataclasses import replace

import numpy as np
import pytest

from miserly.costs import Costs
from miserly.plan import Node, Plan, Tree
from miserly.plan.engine.row_chain import row_chain_of
from miserly.plan.terms.categories import category_words
from tests.plan.random_plans import random_tree

D = 4  # column 0 holds category codes
CODES = [-1.0, -0.0, 5e-324, 0.5, 0, 1, 5, 60, 61, 61.5, 62, 63, 64, 127, 255, 255.5, 256, 1e30, np.nan]


def on_a_set(codes, missing_left, value):
    """One split of column 0 on a set of codes."""
    return Tree(
        np.array([0, -1, -1]), np.zeros(3), np.array([1, 0, 0]), np.array([2, 0, 0]),
        np.array([missing_left, False, False]), np.array([0.0, *value]), np.array([0, -1, -1]),
        category_words(codes)[None],
    )  # fmt: skip


def chain_of_trees(trees, n_scores, single, seed=0, bias=0.0):
    rng = np.random.default_rng(seed)
    cuts = np.array_split(np.arange(len(trees)), 7)
    nodes = [
        Node(
            some, rng.integers(0, n_scores, len(some)), rng.normal(size=len(some)), np.full(n_scores, bias),
            up=k + 1 if k < 6 else -1, single=single,
        )
        for k, some in enumerate(cuts)
    ]  # fmt: skip
    return Plan(costs=Costs([1.0] * D), terms=trees, nodes=nodes, base=rng.normal(size=n_scores))


def random_trees(seed, categorical):
    """Trees over all columns; with `categorical`, some split column 0 on sets, others on numbers."""
    rng = np.random.default_rng(seed)
    columns = None if categorical else [1, 2, 3]
    trees = [random_tree(rng, D, max_depth=int(depth), columns=columns) for depth in rng.integers(0, 9, 80)]
    trees = [tree for tree in trees if tree.span == 1]
    trees[7] = replace(trees[6], value=trees[6].value + 1.0)  # walked once with the tree before
    if categorical:
        trees += [on_a_set([0, 5, 60, 61], left, rng.normal(size=2)) for left in (False, True)]
        trees += [
            replace(tree, feature=np.where(tree.feature == 1, 0, tree.feature))
            for tree in random_trees(seed + 1, False)
        ]
    return trees


def rows(n):
    rng = np.random.default_rng(n)
    X = np.round(rng.normal(size=(n, D)), 1)  # thresholds are of one digit, too
    X[:, 0] = rng.choice(CODES, n)
    X[rng.random(X.shape) < 0.1] = np.nan
    return X


def assert_same_bits(plan, X):
    assert row_chain_of(plan) is row_chain_of(plan) is not None
    walk = plan.walker()
    expected = plan.run(X, account=False, compiled=False).scores.reshape(len(X), -1)
    assert (plan.run(X, account=False).scores.reshape(len(X), -1) == expected).all()
    assert all(walk(row).tobytes() == score.tobytes() for row, score in zip(X, expected, strict=True))
    return expected


@pytest.mark.parametrize("n_scores", [1, 3])
@pytest.mark.parametrize("categorical", [False, True])
@pytest.mark.parametrize("single", [False, True])
def test_a_row_has_the_bits_of_the_other_engines(n_scores, categorical, single):
    plan = chain_of_trees(random_trees(n_scores, categorical), n_scores, single)
    assert len(row_chain_of(plan).coded) == categorical
    X = rows(400)
    assert_same_bits(plan, X)
    assert_same_bits(plan, X.astype(np.float32))
    fortran = np.asfortranarray(X)
    walk = plan.walker()
    assert all((walk(a) == walk(b)).all() for a, b in zip(X, fortran, strict=True))


def test_codes_that_no_set_has_go_right_and_what_is_no_code_goes_as_missing_values():
    trees = [on_a_set([0, 5, 61], missing_left, [1.0, 0.0]) for missing_left in (True, False)]
    nodes = [Node([k], [k], [1.0], np.zeros(2), up=1 if k == 0 else -1) for k in range(2)]
    plan = Plan(costs=Costs([1.0]), terms=trees, nodes=nodes, base=np.zeros(2))
    found = assert_same_bits(plan, np.array(CODES)[:, None])
    by_code = dict(zip(CODES[:-1], found.tolist(), strict=False))
    assert by_code[5] == by_code[61] == by_code[-0.0] == [1.0, 1.0]  # in the set
    assert by_code[1] == by_code[62] == by_code[63] == by_code[255] == [0.0, 0.0]  # codes, in no set
    assert by_code[0.5] == by_code[-1.0] == by_code[256] == found[-1].tolist() == [1.0, 0.0]  # no codes


def test_other_chains_are_not_packed_and_give_the_same_answers():
    rng = np.random.default_rng(3)
    trees, X = random_trees(3, True), rows(100)
    large = [*trees, on_a_set([62], True, [1.0, 2.0])]
    wide = [*trees, *(tree for tree in (random_tree(rng, D) for _ in range(40)) if tree.span > 1)]
    plain = chain_of_trees(trees, 1, False)
    mixed = [replace(plain.nodes[0], single=True), *plain.nodes[1:]]
    first = plain.nodes[1]
    twice = replace(first, terms=np.append(first.terms[:-1], 0))
    others = [
        chain_of_trees(large, 1, False),
        chain_of_trees(wide, 1, False),
        chain_of_trees(trees, 1, False, bias=0.5),
        plain.replace(nodes=mixed),
        plain.replace(nodes=[plain.nodes[0], twice, *plain.nodes[2:]]),
    ]
    for plan in others:
        assert row_chain_of(plan) is None
        expected, walk = plan.run(X, compiled=False).scores, plan.walker()
        assert [float(walk(row)[0]) for row in X] == expected.tolist()
