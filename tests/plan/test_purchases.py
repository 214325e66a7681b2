"""What each node newly buys, and what the costliest way through a plan costs."""

from __future__ import annotations

import time

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from miserly.costs import Costs
from miserly.errors import PlanError
from miserly.plan import LEAVE, Node, Plan, Raw, Tree
from miserly.plan.purchases import bill, purchases, stretches

from .random_plans import random_plan
from .sample_plans import chain, heart, ranking, stump, tree_of_classifiers, two_steps


def way_to(plan, k):
    way = []
    while k >= 0:
        way.append(k)
        k = int(plan.parents[k])
    return way[::-1]


def cost_of(plan, way):
    """The bill of a way by its definition: each feature, group and term once."""
    terms = {t for k in way for t in plan.nodes[k].paid_terms}
    features = {f for t in terms for f in plan.terms[t].features.tolist()}
    features |= {f for k in way if (one := plan.nodes[k].acquisition) for f in one.pool}
    return plan.costs.of(sorted(features)) + sum(plan.terms[t].evaluation for t in terms)


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 10_000))
def test_totals_and_the_greatest_cost_agree_with_their_definition(seed):
    plan = random_plan(seed)
    bought = purchases(plan)
    totals = [cost_of(plan, way_to(plan, k)) for k in range(len(plan.nodes))]
    assert [purchase.total for purchase in bought] == pytest.approx(totals)
    assert plan.max_cost == pytest.approx(max(totals, default=0.0))
    for k, purchase in enumerate(bought):
        before = bought[plan.parents[k]].total if k else 0.0
        assert purchase.price == pytest.approx(purchase.total - before, abs=1e-9)


def test_the_first_feature_of_a_group_pays_the_set_up():
    first, second = purchases(two_steps())
    assert [(item.own, item.setup) for item in first.items] == [(1.0, 0.0)]
    assert [(item.own, item.setup) for item in second.items] == [(5.17, 2.1)]


def test_siblings_do_not_share_purchases():
    nodes = [Node([], [], [], [0.0], up=1, low=2), Node([0], [0], [1.0], [0.0]), Node([0], [0], [1.0], [0.0])]
    plan = Plan(costs=Costs([3.0]), terms=[Raw(0)], nodes=nodes, base=[0.0])
    assert [purchase.price for purchase in purchases(plan)] == [0.0, 3.0, 3.0]


def test_features_of_a_tree_come_in_the_order_of_its_splits():
    tree = Tree([1, 0, -1, -1, -1], [0.0] * 5, [1, 3, 0, 0, 0], [2, 4, 0, 0, 0], [False] * 5, [0.0] * 5)
    (bought,) = purchases(chain([tree], costs=Costs([1.0, 1.0])))
    assert [item.feature for item in bought.items] == [1, 0]


def test_a_term_is_evaluated_once():
    plan = ranking().replace(
        nodes=[Node([0, 0], [0, 0], [1.0, 1.0], [0.0], up=1), Node([0], [0], [1.0], [0.0])]
    )
    assert [purchase.evaluation for purchase in purchases(plan)] == [0.01, 0.0]
    assert plan.max_cost == pytest.approx(1.01)


def test_nodes_that_buy_nothing_share_a_row_of_the_bill():
    plan = chain([stump(j, 0.5, 0, 1) for j in (0, 0, 0, 1, 1)], costs=Costs([1.0, 2.0]))
    rows = bill(range(5), purchases(plan))
    assert [(row.first, row.last, len(row.purchase.items)) for row in rows] == [
        (0, 0, 1), (1, 2, 0), (3, 3, 1), (4, 4, 0),
    ]  # fmt: skip


def test_a_tree_is_cut_into_stretches_at_its_forks():
    assert [part.nodes for part in stretches(tree_of_classifiers(2))] == [(0,), (1,), (2,)]
    assert [part.nodes for part in stretches(heart(3))] == [(0, 1, 2)]
    root = stretches(tree_of_classifiers(3))[0]
    assert (root.up, root.low) == (1, 2)


@pytest.mark.parametrize("shape", ["chain", "snapshots"])
def test_long_plans_are_summed_quickly(shape):
    n = 3000
    if shape == "chain":
        plan = chain([stump(j % 50, 0.5, 0, 1, evaluation=0.1) for j in range(n)], costs=Costs(np.ones(50)))
    else:  # every node scores all terms so far again, as an anytime representation does
        nodes = []
        for k in range(1, 301):
            up = k if k < 300 else LEAVE
            nodes.append(Node(np.arange(10 * k), np.zeros(10 * k), np.ones(10 * k), [0.0], False, up=up))
        terms = [stump(j % 50, 0.5, 0, 1, evaluation=0.1) for j in range(n)]
        plan = Plan(costs=Costs(np.ones(50)), terms=terms, nodes=nodes, base=[0.0])
    start = time.process_time()
    assert plan.max_cost == pytest.approx(50 + 0.1 * n)
    assert time.process_time() - start < 1.0


def test_a_plan_with_a_circle_can_be_shown_by_the_error_that_refuses_it():
    """Tools that show the variables of a traceback call `repr`, which must end."""
    nodes = [Node([0], [0], [1.0], [0.0], up=1), Node([1], [0], [1.0], [0.0], up=0)]
    with pytest.raises(PlanError, match="children come after their parent") as refused:
        Plan(costs=Costs([1.0, 2.0]), terms=[Raw(0), Raw(1)], nodes=nodes, base=[0.0])
    plan = refused.traceback[-1].frame.f_locals["plan"]
    assert repr(plan) == "Plan(2 nodes, 2 terms, 2 of 2 features, at most 3)"
