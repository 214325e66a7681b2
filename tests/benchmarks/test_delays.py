"""What plans order if results are delayed; benchmarks/delays.py."""

import numpy as np

import delays
from miserly import Costs, Plan
from miserly.plan import Node, Raw, Threshold
from miserly.plan.terms import Tree

COSTS = Costs([1.0, 5.0, 8.0, 2.0])
DELAYED = np.array([False, True, True, False])


def tree(feature, left, right, value):
    n = len(feature)
    return Tree(feature, np.full(n, 0.5), left, right, np.zeros(n, dtype=bool), value)


def test_a_tree_orders_the_subtree_of_its_first_delayed_test():
    # x0: left leaf; right x1: left x2 with leaves; right leaf
    term = tree(
        [0, -1, 1, 2, -1, -1, -1], [1, -1, 3, 5, -1, -1, -1], [2, -1, 4, 6, -1, -1, -1], np.arange(7.0)
    )
    plan = Plan(costs=COSTS, terms=[term], nodes=[Node([0], [0], [1.0], [0.0])], base=[0.0])
    X = np.array([[0, 0, 0, 0], [1, 1, 0, 0], [1, 0, 0, 0]], dtype=float)
    ordered = delays.ordered_tests(plan, X, DELAYED)
    assert ordered.astype(int).tolist() == [[1, 0, 0, 0], [1, 1, 1, 0], [1, 1, 1, 0]]
    assert plan.run(X).acquired[1].astype(int).tolist() == [1, 1, 0, 0]  # one after the other, it is less


def test_known_values_leave_out_what_the_row_cannot_need():
    # the second tree asks x2 only if x0 is above 0.5, and x3 else
    first = tree([1, -1, -1], [1, -1, -1], [2, -1, -1], np.arange(3.0))
    second = tree(
        [0, 3, 2, -1, -1, -1, -1], [1, 3, 5, -1, -1, -1, -1], [2, 4, 6, -1, -1, -1, -1], np.arange(7.0)
    )
    ask = tree([0, -1, -1], [1, -1, -1], [2, -1, -1], np.arange(3.0))
    nodes = [
        Node([0], [0], [1.0], [0.0], inherits=True, up=1),
        Node([1], [0], [1.0], [0.0], inherits=True, up=2),
        Node([2], [0], [1.0], [0.0], inherits=True),
    ]
    plan = Plan(costs=COSTS, terms=[ask, first, second], nodes=nodes, base=[0.0])
    X = np.array([[0, 0, 0, 0], [1, 0, 0, 0]], dtype=float)
    ordered = delays.ordered_tests(plan, X, DELAYED)
    assert ordered.astype(int).tolist() == [[1, 1, 0, 1], [1, 1, 1, 0]]


def test_exits_before_the_first_delayed_test_save_and_later_ones_do_not():
    nodes = [
        Node([0], [0], [1.0], [0.0], gate=Threshold(0.0), up=1),
        Node([1], [0], [1.0], [0.0], gate=Threshold(0.0), up=2),
        Node([2], [0], [1.0], [0.0]),
    ]
    plan = Plan(costs=COSTS, terms=[Raw(0), Raw(1), Raw(2)], nodes=nodes, base=[0.0])
    X = np.array([[-1, 0, 0, 0], [1, -1, 0, 0], [1, 1, 0, 0]], dtype=float)
    assert delays.ordered_tests(plan, X, DELAYED).sum(axis=1).tolist() == [1, 3, 3]
    assert plan.run(X).acquired.sum(axis=1).tolist() == [1, 2, 3]


def test_without_delays_it_is_what_the_plan_acquires():
    plan = Plan(costs=COSTS, terms=[Raw(1)], nodes=[Node([0], [0], [1.0], [0.0])], base=[0.0])
    X = np.zeros((2, 4))
    assert (delays.ordered_tests(plan, X, np.zeros(4, dtype=bool)) == plan.run(X).acquired).all()
