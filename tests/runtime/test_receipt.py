"""The parts of a receipt add up exactly, whichever way they are added."""

import math
from functools import reduce
from operator import add

import numpy as np
import pytest

from miserly.runtime.receipt import adding_up


@pytest.mark.parametrize("seed", range(4))
def test_parts_add_up_rounded_after_every_part_or_once(seed):
    rng = np.random.default_rng(seed)
    for _ in range(500):
        parts = np.round(rng.random(rng.integers(1, 12)) * 10.0 ** rng.integers(-3, 3), rng.integers(0, 6))
        total = reduce(add, rng.permutation(parts).tolist(), 0.0)
        found = adding_up(parts.tolist(), total)
        assert reduce(add, found, 0.0) == math.fsum(found) == sum(found) == total
        assert sum(found[:-1]) + found[-1] == math.fsum(found[:-1]) + found[-1] == total
        np.testing.assert_allclose(found, parts, rtol=0, atol=2e-15 * total)
        assert [part == 0 for part in found] == (parts == 0).tolist()


def test_parts_that_are_off_by_more_than_rounding_are_left_alone():
    assert adding_up([1.0, 2.0], 4.0) == [1.0, 2.0]
