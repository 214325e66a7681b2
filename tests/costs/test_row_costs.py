"""What rows know and pay: their selection, their bills and their mean prices."""

import numpy as np
import pytest

from miserly.costs import Costs, read_row_costs
from miserly.errors import CostError

LAB = {"lab": {"features": ["b", "c"], "setup": 10.0}}
COSTS = Costs({"a": 1.0, "b": 2.0, "c": 4.0}, groups=LAB, evaluation=0.5, unit="CAD")
KNOWN = np.array([[True, False, False], [False, True, False], [False, False, False], [False, False, False]])


def test_nothing_given_is_nothing():
    assert read_row_costs(COSTS, 3) is None


def test_mean_prices_are_those_of_rows_that_must_pay():
    # a is known in 1 of 4 rows; b in 1, whose laboratory is open; c in none.
    expected = read_row_costs(COSTS, 4, KNOWN).expected(COSTS)
    assert expected.feature.tolist() == [0.75, 1.5, 4.0] and expected.setup.tolist() == [7.5]
    assert expected.names == COSTS.names and expected.group_names == ("lab",)
    assert expected.evaluation == 0.5 and expected.unit == "CAD"


def test_weights_weigh_rows():
    some = read_row_costs(COSTS, 4, KNOWN, {"c": [0.0, 0.0, 0.0, 8.0]})
    weight = np.array([3.0, 0.0, 0.0, 1.0])
    expected = some.expected(COSTS, weight)
    assert expected.feature.tolist() == [0.25, 2.0, 2.0] and expected.setup.tolist() == [10.0]
    assert some.expected(COSTS, 2.0 * weight) == expected


def test_prices_that_are_those_of_the_list_are_expected_as_they_are():
    assert read_row_costs(COSTS, 4, prices={}).expected(COSTS) == COSTS
    assert read_row_costs(COSTS, 4, known=[]).expected(COSTS) == COSTS
    plain = Costs([1.0, 2.0])
    assert read_row_costs(plain, 4, prices=np.tile([1.0, 2.0], (4, 1))).expected(plain) == plain


@pytest.mark.parametrize("rows", [np.array([2, 0]), np.array([True, False, True, False])])
def test_rows_are_taken_with_their_prices(rows):
    some = read_row_costs(COSTS, 4, KNOWN, {"c": [0.0, 1.0, 2.0, 3.0], "lab": [5.0, 6.0, 7.0, 8.0]})
    everything = np.ones((4, 3), dtype=bool)
    np.testing.assert_array_equal(some.take(rows).of_each(everything[rows]), some.of_each(everything)[rows])
    alone = read_row_costs(COSTS, 4, KNOWN)
    np.testing.assert_array_equal(alone.take(rows).of_each(everything[rows]), alone.of_each(everything)[rows])


def test_what_a_row_pays_by_hand():
    # Row 0 knows a and pays 10 + 2 + 4; row 1 knows b, so the laboratory is open: 1 + 4; the others pay all.
    assert read_row_costs(COSTS, 4, KNOWN).of_each(np.ones((4, 3), dtype=bool)).tolist() == [
        16.0,
        5.0,
        17.0,
        17.0,
    ]


def test_a_function_of_prices_that_reads_what_must_be_paid_is_an_error():
    rows = np.ones((4, 3))
    with pytest.raises(CostError, match="free features only, and 'b' is none; free are 'a'"):
        read_row_costs(COSTS, rows, known=["a"], prices=lambda free: {"c": free["b"]})
    with pytest.raises(CostError, match="'b' is none; free are none"):
        read_row_costs(COSTS, rows, prices=lambda free: {"c": free["b"]})
    some = read_row_costs(COSTS, rows, prices=lambda free: {"c": free.get("b", 3.0)})
    assert some.prices.own[:, 2].tolist() == [3.0] * 4
