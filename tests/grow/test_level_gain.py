"""The gain of one more level of splits, chosen on one half of the rows and evaluated on the other."""

import numpy as np
import pytest

from miserly.grow import Bins
from miserly.grow.level_gain import level_gains


def gains(X, gradient, half, cells=None, hessian=None, categorical=None, **options):
    X = np.asarray(X, dtype=float)
    gradient = np.asarray(gradient, dtype=float).reshape(len(X), -1)
    cells = np.zeros(len(X), dtype=np.int64) if cells is None else np.asarray(cells)
    hessian = np.ones_like(gradient) if hessian is None else hessian
    binned = Bins.fit(X, categorical=categorical).transform(X)
    features = np.arange(X.shape[1])
    given = {"l2": 0.0, "min_samples": 1, **options}
    return level_gains(binned, features, cells, np.asarray(half), gradient, hessian, **given)


def test_a_split_is_chosen_on_one_half_and_evaluated_on_the_other():
    # Half 0 has the gradients -1 and 3, half 1 has -2 and 2; all hessians are 1.
    # Chosen on half 0: left v = 1, right v = -3, whole v = -(2) / 2 = -1. On half 1, -(v G + v^2 H / 2):
    #   left 2 - 1/2 = 1.5; right 6 - 9/2 = 1.5; whole: G = 0, H = 2: -(0 + 1) = -1.   1.5 + 1.5 + 1 = 4.
    # Chosen on half 1: left v = 2, right v = -2, whole v = 0. On half 0 (-1, 3):
    #   left 2 - 2 = 0; right 6 - 2 = 4; whole 0.                                      0 + 4 - 0 = 4.
    found = gains([[0], [1], [0], [1]], [-1, 3, -2, 2], [False, False, True, True])
    assert found.tolist() == [8.0]


def test_a_split_that_the_other_half_contradicts_has_a_negative_gain():
    # Half 0: left v = 1, right v = -1. On half 1, which is the opposite: (-1 - 1/2) twice. And vice versa.
    found = gains([[0], [1], [0], [1]], [-1, 1, 1, -1], [False, False, True, True])
    assert found.tolist() == [-6.0]


def test_gains_of_scores_and_of_cells_are_summed():
    X, gradient, half = [[0], [1], [0], [1]], np.array([-1.0, 3, -2, 2]), np.array([0, 0, 1, 1], dtype=bool)
    assert gains(X, np.column_stack([gradient, gradient]), half).tolist() == [16.0]
    twice = gains(X * 2, np.tile(gradient, 2), np.tile(half, 2), cells=[0] * 4 + [1] * 4)
    assert twice.tolist() == [16.0]


def test_l2_shrinks_the_values_of_leaves():
    # With l2 = 1 all values are halved: left 1/2, right -3/2, whole -2/3; on half 1:
    # (1 - 1/8) + (3 - 9/8) + 4/9; and left 1, right -1, whole 0 on half 0: (1 - 1/2) + (3 - 1/2).
    found = gains([[0], [1], [0], [1]], [-1, 3, -2, 2], [False, False, True, True], l2=1.0)
    assert found[0] == pytest.approx(0.875 + 1.875 + 4 / 9 + 0.5 + 2.5)


def test_small_sides_are_not_split_off():
    X, half = [[0], [1], [1], [0], [1], [1]], [False] * 3 + [True] * 3
    gradient = [-4, 1, 1, -4, 1, 1]
    assert gains(X, gradient, half)[0] > 0
    assert gains(X * 2, gradient * 2, half * 2, min_samples=3).tolist() == [0.0]


def test_missing_values_can_be_split_off():
    found = gains([[np.nan], [1], [np.nan], [1]], [-1, 3, -2, 2], [False, False, True, True])
    assert found.tolist() == [8.0]


def test_a_category_is_split_off_against_all_others():
    # The middle category is different: one split of numbers cannot separate it, one of categories can.
    X, gradient = [[0], [1], [2]] * 2, [-1, 2, -1] * 2
    half = [False] * 3 + [True] * 3
    as_numbers = gains(X, gradient, half)
    as_categories = gains(X, gradient, half, categorical=[True])
    assert as_categories[0] > as_numbers[0] > 0


def test_noise_with_many_values_gains_less_than_a_weak_binary_feature():
    rng = np.random.default_rng(0)
    noise, weak = rng.normal(size=2000), rng.integers(2, size=2000)
    gradient = np.where(rng.random(2000) < 0.5 + 0.05 * weak, -0.5, 0.5)
    half = rng.random(2000) < 0.5
    hessian = np.full((2000, 1), 0.25)
    found = gains(np.column_stack([noise, weak]), gradient, half, hessian=hessian, min_samples=5)
    assert found[0] < found[1]


def test_threads_do_not_change_the_gains():
    rng = np.random.default_rng(0)
    X, gradient = rng.normal(size=(3000, 40)), rng.normal(size=(3000, 12))
    half, cells = rng.random(3000) < 0.5, rng.integers(6, size=3000)
    one, two = (gains(X, gradient, half, cells=cells, n_threads=n) for n in (1, 2))
    np.testing.assert_array_equal(one, two)
