"""Measures of cost, by hand and against sums over unit steps."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from miserly.errors import MetricError
from miserly.metrics import (
    cost_curve_area,
    expected_cost,
)


def test_expected_cost_of_a_run_or_of_costs():
    assert expected_cost(SimpleNamespace(cost=np.array([2.0, 4.0]))) == 3.0
    assert expected_cost(np.array([2.0, 4.0]), sample_weight=[1, 3]) == 3.5
    with pytest.raises(MetricError, match="one number per row"):
        expected_cost([])
    with pytest.raises(MetricError, match="one number per row"):
        expected_cost([1.0, np.nan])


def test_area_by_hand():
    # 0.5 until 2, 0.7 until 5, 0.8 until 8; 6 is worse than 5, and 9 is above the range.
    cost, value = [5, 0, 2, 6, 9], [0.8, 0.5, 0.7, 0.6, 0.99]
    assert cost_curve_area(cost, value, max_cost=8) == pytest.approx((2 * 0.5 + 3 * 0.7 + 3 * 0.8) / 8)
    assert cost_curve_area(cost, value, max_cost=8, min_cost=4) == pytest.approx((0.7 + 3 * 0.8) / 4)


def test_area_of_a_loss_takes_the_smallest():
    assert cost_curve_area([0, 5, 6], [4.0, 1.0, 2.0], 10, greater_is_better=False) == pytest.approx(2.5)


def test_area_needs_a_value_for_every_budget():
    with pytest.raises(MetricError, match="start="):
        cost_curve_area([1, 4], [0.6, 0.9], max_cost=10)
    assert cost_curve_area([1, 4], [0.6, 0.9], max_cost=10, start=0.5) == pytest.approx(
        (0.5 + 3 * 0.6 + 6 * 0.9) / 10
    )
    assert cost_curve_area([], [], max_cost=10, start=0.5) == 0.5
    assert cost_curve_area([20], [0.9], max_cost=10, start=0.5) == 0.5


@given(
    st.lists(st.tuples(st.integers(0, 20), st.integers(0, 10)), min_size=1, max_size=10),
    st.integers(0, 5),
    st.integers(6, 25),
)
def test_area_is_the_mean_over_unit_steps_of_budget(points, low, high):
    cost, value = np.array(points).T
    steps = [max([0, *value[cost <= budget]]) for budget in range(low, high)]
    area = cost_curve_area(cost, value, max_cost=high, min_cost=low, start=0)
    assert area == pytest.approx(np.mean(steps))


def test_area_refuses_what_is_no_range():
    for low, high in ((5, 5), (5, 4), (0, np.inf), (0, np.nan)):
        with pytest.raises(MetricError, match="range"):
            cost_curve_area([0], [1], max_cost=high, min_cost=low)
    with pytest.raises(MetricError, match="one cost and one value"):
        cost_curve_area([0, 1], [1], max_cost=2)
