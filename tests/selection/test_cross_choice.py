"""Choosing among candidates whose figures are partly luck."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest

from miserly.selection.cross_choice import choose, cross_choose, steady_gains

from .tables import candidate


def on_a_path(costs, shares, n=100):
    """Candidates of one hyperparameter: all rows cost the same, and a share of them is right."""
    trial = SimpleNamespace(learner=object())
    return [
        candidate(np.full(n, cost), (np.arange(n) < round(share * n)).astype(float), trial)
        for cost, share in zip(costs, shares, strict=True)
    ]


def test_a_rising_curve_is_left_as_it_is():
    found = on_a_path([1.0, 2.0, 3.0], [0.5, 0.6, 0.7])
    assert steady_gains(found, 1.0) == pytest.approx([0.5, 0.6, 0.7])


def test_where_a_more_expensive_model_is_worse_both_move_towards_each_other():
    found = on_a_path([1.0, 2.0, 3.0], [0.5, 0.61, 0.59])
    assert steady_gains(found, 1.0) == pytest.approx([0.5, 0.605, 0.595])


def test_no_figure_moves_by_more_than_a_quarter_of_its_error():
    found = on_a_path([1.0, 2.0], [0.9, 0.1], n=10_000)
    error = np.sqrt(0.9 * 0.1 / 10_000)
    assert steady_gains(found, 1.0) == pytest.approx([0.9 - error / 4, 0.1 + error / 4], rel=1e-3)


def test_losses_are_steadied_as_gains_are():
    found = on_a_path([1.0, 2.0], [0.40, 0.42])
    assert steady_gains(found, -1.0) == pytest.approx([-0.405, -0.415])


def test_candidates_of_different_hyperparameters_do_not_meet():
    found = on_a_path([1.0], [0.7]) + on_a_path([2.0], [0.5])
    assert steady_gains(found, 1.0) == pytest.approx([0.7, 0.5])


def test_a_lucky_model_gives_way_to_one_whose_neighbours_agree():
    """0.64 between neighbours of 0.60 and 0.57 against 0.635 of another learner."""
    lucky = on_a_path([1.0, 2.0, 3.0], [0.60, 0.64, 0.57])
    other = on_a_path([2.0], [0.635])
    assert choose(lucky + other, 5.0, 1.0) is other[0]
    assert choose(lucky, 5.0, 1.0) is lucky[1]


def test_what_choosing_gives_is_what_the_chosen_ones_do():
    found = on_a_path([1.0, 2.0], [0.5, 1.0])
    honest = cross_choose(found, 2.0, 1.0, seed=0)
    assert honest.value.mean() == 1.0
    assert honest.cost.mean() == 2.0
    assert cross_choose(found, 0.5, 1.0, seed=0) is None


def test_the_losses_of_the_chosen_ones_come_back_as_losses():
    """Inside, losses are gains with the other sign; what comes out is in the unit of the metric."""
    loss = np.linspace(0.25, 4.0, 20)
    only = candidate(np.ones(20), loss)
    reached = cross_choose([only], budget=2.0, sign=-1.0, seed=0)
    assert reached.value == pytest.approx(loss) and reached.cost == pytest.approx(np.ones(20))
