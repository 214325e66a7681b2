"""The CUBE set: three features tell each class, and which ones depends on the class."""

import numpy as np
import pytest

from miserly.datasets import make_cube
from miserly.errors import DataError


def test_the_same_seed_gives_the_same_data():
    one, same, other = (
        make_cube(50, random_state=3),
        make_cube(50, random_state=3),
        make_cube(50, random_state=4),
    )
    assert (one.X == same.X).all()
    assert (one.X != other.X).any()
    assert one.X.shape == (50, 20)
    assert one.costs.total == 20.0


def test_a_row_shows_the_bits_of_its_class_in_three_features():
    data = make_cube(400, noise=0.0, random_state=0)
    rows = np.arange(400)
    bits = np.stack([data.X[rows, data.y + bit] for bit in range(3)])
    assert np.array_equal(bits.T @ [1, 2, 4], data.y)


def test_all_other_features_are_uniform():
    data = make_cube(8000, noise=0.1, random_state=0)
    others = data.X[data.y == 5][:, [0, 1, 2, 3, 4, 8, 9, 19]]
    assert (others > 0).all()
    assert (others < 1).all()
    assert others.mean(axis=0) == pytest.approx(0.5, abs=0.05)
    assert others.std(axis=0) == pytest.approx(12**-0.5, abs=0.03)


@pytest.mark.parametrize("wrong", [{"n": 0}, {"n_features": 9}, {"noise": -0.1}])
def test_wrong_sizes_are_refused(wrong):
    with pytest.raises(DataError, match="a cube needs"):
        make_cube(**{"n": 5, **wrong})
