"""The rules by which budgeted boosting chooses: their order, their limits, and when hybrid turns."""

import numpy as np
import pytest

from miserly.solvers.budget_rules import SelectionRule, counted, greedy, largest_drop, smoothed, speed

DROP = np.array([0.30, 0.10, 0.02])
COST = np.array([6.0, 1.0, 0.1])


def test_each_rule_likes_another_learner_best():
    assert largest_drop(DROP, COST, 0.0).argmax() == 0
    assert greedy(DROP, COST, 0.0).argmax() == 2
    assert smoothed(DROP, COST, 2.0).argmax() == 0  # 0.3 / 8, 0.1 / 3, 0.02 / 2.1
    assert smoothed(DROP, COST, 0.3).argmax() == 1  # 0.3 / 6.3, 0.1 / 1.3, 0.02 / 0.4


def test_rules_are_the_papers_powers_of_the_bound():
    edge = np.array([0.4, 0.2, 0.05])
    drop = -0.5 * np.log(1 - edge**2)
    power = (1 - edge**2) ** (1 / COST)
    np.testing.assert_allclose(np.exp(-2 * greedy(drop, COST, 0.0)), power)
    np.testing.assert_allclose(speed(drop, COST, 0.0), (1 - np.sqrt(1 - edge**2)) / COST)
    np.testing.assert_allclose(speed(drop[2:], COST[2:], 0.0), greedy(drop[2:], COST[2:], 0.0), rtol=1e-3)


def test_smoothed_is_greedy_before_anything_is_spent_and_without_tau():
    np.testing.assert_array_equal(smoothed(DROP, COST, 0.0), greedy(DROP, COST, 0.0))
    np.testing.assert_array_equal(smoothed(DROP, COST, 5.0, tau=0.0), greedy(DROP, COST, 5.0))


def test_smoothed_likes_the_largest_drop_once_much_is_spent():
    assert smoothed(DROP, COST, 1e6).argmax() == 0


def test_what_is_free_counts_as_the_cheapest_that_is_not():
    np.testing.assert_array_equal(counted(np.array([0.0, 3.0, 0.5])), [0.5, 3.0, 0.5])
    np.testing.assert_array_equal(counted(np.zeros(3)), np.ones(3))


@pytest.mark.parametrize("scale", [1.0, 1000.0])
def test_hybrid_turns_when_what_is_new_brings_a_tenth_of_the_first(scale):
    rule = SelectionRule("hybrid", switch=0.1)
    cost = scale * np.ones(2)
    for drop, turned in ((0.5, False), (0.06, False), (0.04, True), (0.5, True)):
        rule.look(np.array([drop, 9.0]), cost, np.array([True, False]))  # the second is used already
        assert rule.switched == turned
    assert rule.score([1.0], [1.0], 1.0) == 0.5
