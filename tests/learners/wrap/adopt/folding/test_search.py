"""The number found is the last one, to the bit, that meets a condition."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from miserly.learners.wrap.adopt.folding.columns import Numbers
from miserly.learners.wrap.adopt.folding.search import largest_true

LARGEST = np.finfo(np.float64).max
numbers = st.floats(-1e30, 1e30)
scales = st.floats(1e-30, 1e30)


@settings(max_examples=200, deadline=None)
@given(numbers, numbers, scales, scales)
def test_scaled_numbers_compare_as_raw_ones(threshold, center, scale, factor):
    column = Numbers(0, (("subtract", center), ("divide", scale), ("multiply", factor), ("add", -center)))
    for narrow in (np.float64, np.float32):

        def goes_left(x, narrow=narrow):
            with np.errstate(over="ignore"):
                return column(x).astype(narrow).astype(np.float64) <= threshold

        (found,) = largest_true(goes_left, 1)
        if np.isfinite(found):
            assert goes_left(np.array([found]))[0]
        if found < LARGEST:
            above = -LARGEST if found == -np.inf else np.nextafter(found, np.inf)
            assert not goes_left(np.array([above]))[0]


def test_a_condition_that_always_or_never_holds():
    found = largest_true(lambda x: np.array([True, False]), 2)
    assert found.tolist() == [LARGEST, -np.inf]


def test_zero_and_the_smallest_numbers():
    thresholds = np.array([0.0, -0.0, 5e-324, -5e-324, 1e-310])
    found = largest_true(lambda x: x <= thresholds, 5)
    assert (found == thresholds).all()
