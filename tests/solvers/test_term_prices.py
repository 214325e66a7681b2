"""A cap on every way through a tree of classifiers."""

import numpy as np
import pytest

from miserly import Costs
from miserly.solvers.term_prices import PathCap, PurchaseState

NOTHING = np.zeros(0, dtype=np.int64)
LAB = Costs([1.0, 2.0, 4.0, 0.0], groups={"lab": {"features": [1, 2], "setup": 3.0}})


def cap(budget, costs=LAB, evaluation=0.0):
    n = len(costs)
    return PathCap(PurchaseState.of(np.eye(n, dtype=bool), np.full(n, evaluation), costs), budget, np.ones(n))


@pytest.mark.parametrize(
    ("budget", "payable"), [(0.0, [3]), (1.0, [0, 3]), (5.0, [0, 1, 3]), (7.0, [0, 1, 2, 3])]
)
def test_terms_that_do_not_fit_alone_are_not_offered(budget, payable):
    assert cap(budget).payable(NOTHING).tolist() == payable


def test_what_is_paid_on_the_way_costs_nothing_more():
    assert cap(9.0).payable(np.array([1])).tolist() == [
        0,
        1,
        2,
        3,
    ]  # 5 paid, 4 for feature 2: the lab is open
    assert cap(8.0).payable(np.array([1])).tolist() == [0, 1, 3]


def test_a_group_is_set_up_once():
    weights = np.array([[0.0], [1.0], [1.0], [0.0]])
    assert cap(9.0).affordable(NOTHING, weights).tolist() == [1, 2]  # 3 + 2 + 4
    assert cap(8.9).affordable(NOTHING, weights).tolist() == [1]


def test_free_terms_come_first_and_what_does_not_fit_is_passed_over():
    weights = np.array([[0.5], [9.0], [9.0], [0.1]])
    assert cap(2.0).affordable(NOTHING, weights).tolist() == [0, 3]


def test_evaluations_count():
    assert cap(1.0, evaluation=0.1).payable(NOTHING).tolist() == [3]
    assert cap(1.1, evaluation=0.1).payable(NOTHING).tolist() == [0, 3]


def test_a_cap_on_everything_does_not_bind():
    assert not cap(10.0).binds and cap(9.9).binds
