"""The order of terms: first what brings most per price of what is not bought yet."""

from __future__ import annotations

from itertools import product

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from miserly import Costs
from miserly.learners.common.tree_order import order_of_terms
from miserly.plan import Node, Plan, Raw, Tree
from miserly.plan.additive import exact_sums, sum_of, summands_of

from ...plan.additive_plans import random_additive
from ...plan.random_plans import random_rows


def stump(feature, size, evaluation=0.0):
    return Tree([feature, -1, -1], [0.0] * 3, [1, 0, 0], [2, 0, 0], [True] * 3, [0, -size, size],
                evaluation=evaluation)  # fmt: skip


def chain(terms, costs, link="identity"):
    last = len(terms) - 1
    nodes = [Node([t], [0], [1.0], [0.0], up=-1 if t == last else t + 1) for t in range(last + 1)]
    return Plan(costs=costs, terms=terms, nodes=nodes, base=[0.0], link=link)


ROWS = np.random.default_rng(0).normal(size=(300, 3))
SIGNS = np.array(list(product([-1.0, 1.0], repeat=3)))  # stumps over different features are not correlated


def test_most_per_price_comes_first_and_what_is_bought_is_free():
    # Feature 0 brings 4 for 4, and feature 1 brings 1.2 for 0.5 and is first. The small stump over it is free
    # then. Feature 2 brings 9 for 100.
    plan = chain([stump(2, 3.0), stump(0, 2.0), stump(1, 1.0), stump(1, 0.1)], Costs([4.0, 0.5, 100.0]))
    assert order_of_terms(plan, SIGNS).tolist() == [2, 3, 1, 0]


def test_the_set_up_of_a_group_is_paid_once():
    # Features 0 and 1 share a set-up of 9: once 0 is bought, 1 costs 1, and comes before 2, which costs 3.
    costs = Costs([1.0, 1.0, 3.0], groups={"blood": {"features": [0, 1], "setup": 9.0}})
    stumps = [stump(2, 1.0), stump(1, 1.0), stump(0, 9.0)]
    assert order_of_terms(chain(stumps, costs), SIGNS).tolist() == [2, 1, 0]
    alone = Costs([10.0, 10.0, 3.0])
    assert order_of_terms(chain(stumps, alone), SIGNS).tolist() == [2, 0, 1]


def test_rows_pay_for_the_splits_that_they_meet():
    # Both trees split on 0 first. The first reads 1 for nearly all rows, the other one for few of them.
    often = Tree([0, -1, 1, -1, -1], [-2.0, 0, 0, 0, 0], [1, 0, 3, 0, 0], [2, 0, 4, 0, 0], [0] * 5,
                 [0, -1.0, 0, -1.0, 1.0])  # fmt: skip
    rarely = Tree([0, -1, 1, -1, -1], [2.0, 0, 0, 0, 0], [1, 0, 3, 0, 0], [2, 0, 4, 0, 0], [0] * 5,
                  [0, -1.0, 0, -1.0, 1.0])  # fmt: skip
    plan = chain([often, rarely], Costs([1.0, 50.0, 1.0]))
    assert order_of_terms(plan, ROWS).tolist() == [1, 0]


def test_evaluations_are_part_of_the_price():
    plan = chain([stump(0, 1.0, 10.0), stump(0, 0.9, 0.1)], Costs([1.0, 1.0, 1.0]))
    assert order_of_terms(plan, ROWS).tolist() == [1, 0]


def test_terms_of_other_kinds_have_an_order_too():
    plan = chain([Raw(0), Raw(1)], Costs([5.0, 1.0, 1.0]), link="sign")
    assert order_of_terms(plan, ROWS).tolist() == [1, 0]


@given(st.integers(0, 2**32 - 1))
@settings(max_examples=25, deadline=None)
def test_every_term_comes_once_and_the_answer_stays(seed):
    plan = exact_sums(random_additive(seed, shared=True))
    X = random_rows(plan, seed, n=40)
    order = order_of_terms(plan, X)
    summands = summands_of(plan)
    assert sorted(order.tolist()) == list(range(len(summands)))
    again = sum_of(plan, [summands[t] for t in order])
    np.testing.assert_allclose(again.run(X).scores, plan.run(X).scores, rtol=0, atol=1e-12)
    np.testing.assert_array_equal(order, order_of_terms(plan, X))


def test_prefixes_are_closer_to_the_whole_model_at_the_same_price():
    rng = np.random.default_rng(1)
    costs = Costs(rng.choice([1.0, 5.0, 20.0], 3))
    terms = [stump(int(rng.integers(3)), float(rng.random())) for _ in range(30)]
    plan = exact_sums(chain(terms, costs))
    summands = summands_of(plan)
    other = sum_of(plan, [summands[t] for t in order_of_terms(plan, ROWS)])
    whole = plan.run(ROWS).scores

    def distance(plan, budget):
        return float(np.mean((plan.run(ROWS, budget=budget).scores - whole) ** 2))

    budgets = [1.0, 2.0, 6.0, 21.0, 25.0]
    assert all(distance(other, one) <= distance(plan, one) + 1e-12 for one in budgets)
    assert any(distance(other, one) < 0.9 * distance(plan, one) for one in budgets)
