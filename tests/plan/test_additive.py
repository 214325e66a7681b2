"""Plans that are sums: any order gives the same bits, and merged trees give the same scores."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from miserly import Costs
from miserly.errors import PlanError
from miserly.plan import Node, Plan, Raw, Settled, Tree
from miserly.plan.additive import exact_sums, is_additive, merge_trees, sum_of, summands_of

from .additive_plans import random_additive, vars_of, with_gates
from .random_plans import random_rows

seeds = st.integers(0, 2**32 - 1)


def one_feature_tree(rng, feature, depth):
    """A random tree over a single feature, with thresholds that other trees share."""
    columns = {name: [] for name in ("feature", "threshold", "left", "right", "missing_left", "value")}

    def grow(level):
        place = len(columns["feature"])
        leaf = level == depth or rng.random() < 0.2
        row = (-1 if leaf else feature, rng.integers(-2, 3), 0, 0, rng.random() < 0.5, rng.normal())
        for column, entry in zip(columns.values(), row, strict=True):
            column.append(entry)
        if not leaf:
            columns["left"][place] = grow(level + 1)
            columns["right"][place] = grow(level + 1)
        return place

    grow(0)
    return Tree(**columns)


@given(seeds)
@settings(max_examples=80, deadline=None)
def test_after_exact_sums_every_order_gives_the_same_bits(seed):
    plan = exact_sums(random_additive(seed))
    X = random_rows(plan, seed)
    order = np.random.default_rng(seed).permutation(len(plan.nodes))
    summands = summands_of(plan)
    other = sum_of(plan, [summands[i] for i in order])
    np.testing.assert_array_equal(plan.run(X).scores, other.run(X).scores)
    np.testing.assert_array_equal(plan.base, other.base)


@given(seeds)
@settings(max_examples=80, deadline=None)
def test_exact_sums_change_no_more_than_rounding(seed):
    plan = random_additive(seed, shared=True)
    X = random_rows(plan, seed)
    before, after = plan.run(X), exact_sums(plan).run(X)
    np.testing.assert_allclose(before.scores, after.scores, rtol=0, atol=1e-13)
    np.testing.assert_allclose(before.cost, after.cost, rtol=0, atol=1e-9)
    np.testing.assert_array_equal(before.acquired, after.acquired)


@given(seeds, st.integers(1, 6))
@settings(max_examples=80, deadline=None)
def test_merged_trees_give_the_same_bits_and_cost_no_more(seed, n):
    rng = np.random.default_rng(seed)
    plan = random_additive(seed)
    same = [replace(tree, value=rng.normal(size=len(tree.value))) for tree in plan.terms]
    alone = [one_feature_tree(rng, 1, int(rng.integers(0, 4))) for _ in range(n)]
    terms = [*plan.terms, *same, *alone]
    channels = rng.integers(0, plan.n_scores, len(terms))
    channels[: 2 * len(same)] = np.tile(channels[: len(same)], 2)
    nodes = [
        Node([t], [c], [0.5], np.zeros(plan.n_scores), up=t + 1 if t + 1 < len(terms) else -1)
        for t, c in enumerate(channels)
    ]
    plan = exact_sums(plan.replace(terms=terms, nodes=nodes, costs=Costs(plan.costs.feature, evaluation=0.0)))
    merged = merge_trees(plan)
    assert len(merged.terms) <= len(plan.terms) - len(same)
    X = random_rows(plan, seed, n=60)
    X[:, 1] = rng.choice([-2.5, -2, -1, 0, 0.5, 1, 2, 9, np.nan, np.inf, -np.inf], len(X))
    before, after = (each.run(X, encoded=True) for each in (plan, merged))
    np.testing.assert_array_equal(before.scores, after.scores)
    assert (after.cost <= before.cost + 1e-9).all()


def test_stumps_over_one_feature_become_one_tree():
    # AdaBoost's plans are stumps: 20 of them over two features are two trees.
    rng = np.random.default_rng(0)
    trees = [
        Tree(
            [f, -1, -1],
            [rng.normal(), 0, 0],
            [1, 0, 0],
            [2, 0, 0],
            [True] * 3,
            [0, -1.0, 1.0],
            evaluation=1.0,
        )
        for f in rng.integers(0, 2, 20)
    ]
    nodes = [Node([t], [0], [rng.random()], [0.0], up=t + 1 if t < 19 else -1) for t in range(20)]
    plan = exact_sums(Plan(costs=Costs([1.0, 1.0]), terms=trees, nodes=nodes, base=[0.0]))
    X = rng.normal(size=(50, 2))
    merged = merge_trees(plan)
    np.testing.assert_array_equal(plan.run(X).scores, merged.run(X).scores)
    assert plan.run(X).cost.tolist() == [22.0] * 50 and merged.run(X).cost.tolist() == [4.0] * 50
    assert merged.terms[0].depth <= 5


def test_a_tree_that_cancels_out_is_not_paid_for():
    one = Tree([0, -1, -1], [0.0] * 3, [1, 0, 0], [2, 0, 0], [True] * 3, [0, 1.0, 2.0])
    other = replace(one, value=np.array([0.0, 2.0, 1.0]))
    nodes = [Node([0], [0], [1.0], [0.5], up=1), Node([1], [0], [1.0], [0.0])]
    merged = merge_trees(Plan(costs=Costs([5.0]), terms=[one, other], nodes=nodes, base=[0.0]))
    run = merged.run([[1.0], [-1.0], [np.nan]])
    assert run.scores.tolist() == [3.5, 3.5, 3.5] and run.cost.tolist() == [0.0] * 3


def test_the_answer_before_the_first_node_stays():
    plan = random_additive(3)
    assert exact_sums(plan).predict(random_rows(plan, 3), budget=0.0) is not None
    np.testing.assert_allclose(merge_trees(exact_sums(plan)).base, plan.base, atol=1e-13)


def test_terms_that_are_no_trees_stay_as_they_are():
    nodes = [Node([0], [0], [0.3], [0.1], up=1), Node([1], [0], [2.0], [0.2])]
    plan = Plan(costs=Costs([1.0, 1.0]), terms=[Raw(0), Raw(1)], nodes=nodes, base=[0.0])
    for same in (exact_sums(plan), merge_trees(plan)):
        assert same.run([[1.0, 2.0]]).scores[0] == pytest.approx(4.6)


def test_what_is_not_a_sum_is_refused():
    gates = with_gates(random_additive(1, n_nodes=3), [Settled()])
    assert not is_additive(gates)
    with pytest.raises(PlanError, match="is a sum of its terms"):
        exact_sums(gates)
    assert vars_of(gates.terms[0])["evaluation"] == gates.costs.evaluation
