"""Thresholds between scores: in the middle of a gap, never at a score, and nearest to the share wanted."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from miserly.solvers.node_block import exit_threshold, gap_threshold


def test_the_median_is_replaced_by_the_nearest_gap():
    assert gap_threshold(np.array([-1.0, -1.0, -1.0, 1.0]), np.ones(4)) == 0.0
    assert gap_threshold(np.array([0.0, 1.0, 2.0]), np.array([1.0, 1.0, 5.0])) == 1.5
    scores = np.repeat([0.0, 1.0, 2.0], [6, 3, 1])
    assert gap_threshold(scores) == 0.5
    assert gap_threshold(scores, np.repeat([0.1, 3.0, 5.0], [6, 3, 1])) == 1.5


@pytest.mark.parametrize("scores", [np.ones(5), np.ones(1)])
def test_scores_without_a_gap_have_no_threshold(scores):
    assert gap_threshold(scores) == -np.inf
    assert gap_threshold(scores, np.ones(len(scores)), digits=9, by_size=True) == -np.inf


def test_scores_that_differ_by_rounding_are_one_score():
    scores = np.array([1.0, 1.0 + 1e-12, 1.0 + 2e-12, 5.0, 5.0 + 1e-12])
    assert gap_threshold(scores) == pytest.approx(3.0)
    assert exit_threshold(scores, np.ones(5), 0.4) == pytest.approx(3.0)
    near = np.array([0.0, 1e-10, 2e-10, 3e-10])  # apart by the range of all, not by their own size
    assert gap_threshold(near) == pytest.approx(1.5e-10)
    assert exit_threshold(near, np.ones(4), 0.5) == -np.inf


def test_a_stage_loses_no_row_where_that_is_nearer_than_any_gap():
    scores, mass = np.array([3.0, 1.0, 2.0, 4.0, 5.0]), np.array([1.0, 1.0, 1.0, 1.0, 6.0])
    assert exit_threshold(scores, mass, 0.1) == 1.5
    assert exit_threshold(scores, mass, 0.4) == 4.5
    assert exit_threshold(scores, mass, 0.04) == -np.inf
    assert exit_threshold(np.array([0.0, 1.0]), np.ones(2), 0.15) == -np.inf


def test_of_two_gaps_that_are_equally_near_an_exit_takes_the_lower_one_whatever_the_weights_sum_to():
    for scale in (1.0, 1 / 3, 0.1, 7.0):
        assert exit_threshold(np.arange(5.0), np.full(5, scale), 0.5) == 1.5


@settings(max_examples=80, deadline=None)
@given(
    scores=st.lists(st.integers(-4, 4), min_size=2, max_size=12),
    weights=st.lists(st.integers(1, 5), min_size=12, max_size=12),
    share=st.floats(0.05, 0.95),
)
def test_no_other_gap_is_nearer_to_the_share_wanted(scores, weights, share):
    score, weight = np.array(scores, dtype=float), np.array(weights[: len(scores)], dtype=float)
    values = np.unique(score)
    found = gap_threshold(score, weight, share)
    if len(values) == 1:
        assert found == -np.inf
        return
    middles = 0.5 * (values[1:] + values[:-1])
    distance = [abs(weight[score < middle].sum() - share * weight.sum()) for middle in middles]
    assert found in middles
    assert distance[middles.tolist().index(found)] == pytest.approx(min(distance))
