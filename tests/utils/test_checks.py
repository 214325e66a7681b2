"""Checks of costs, budgets, values, names and query ids."""

from __future__ import annotations

import math
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest

from miserly.errors import CostError, DataError
from miserly.utils.checks import (
    as_number,
    check_queries,
    is_missing,
    read_budget,
    read_price,
    refuse_duplicates,
    refuse_masked,
    shown,
)


@pytest.mark.parametrize("value", [2, 2.0, np.int8(2), np.float32(2), Decimal(2), Fraction(2)])
def test_any_kind_of_number_is_a_cost(value):
    assert read_price(value, "age") == 2.0 and type(read_price(value, "age")) is float


@pytest.mark.parametrize(
    "value, message",
    [
        (True, "the cost of age must be a number, not True"),
        ("5", "the cost of age must be a number, not '5'"),
        (None, "must be a number"),
        (2j, "must be a number"),
        (float("nan"), "the cost of age is missing"),
        (-0.5, r"the cost of age is negative \(-0.5\)"),
        (float("inf"), "infinite; leave the feature out"),
        (10**400, "infinite"),
    ],
)
def test_what_is_not_a_cost_is_refused(value, message):
    with pytest.raises(CostError, match=message):
        read_price(value, "age")


def test_negative_zero_is_zero():
    assert math.copysign(1.0, read_price(-0.0, "age")) == 1.0


def test_budgets():
    assert read_budget(None) == math.inf == read_budget(np.inf)
    assert read_budget(0) == 0.0
    for wrong in (-1, float("nan"), "10", False):
        with pytest.raises(CostError, match="budget"):
            read_budget(wrong)


def test_numbers_too_large_for_a_float_are_infinite():
    assert as_number(10**400) == math.inf and as_number(-(10**400)) == -math.inf
    assert as_number(np.bool_(True)) is None


def test_a_name_that_occurs_twice_is_named():
    refuse_duplicates(["a", "b"], "column")
    with pytest.raises(CostError, match="column 'b' appears twice"):
        refuse_duplicates(["a", "b", "c", "b"], "column")


@pytest.mark.parametrize(
    "qid", [[3, 3, 1], ["a", "b", "a"], np.array([1.0, 2.0, 2.0]), [Fraction(1, 2), 2, 3]]
)
def test_query_ids_are_numbers_or_text(qid):
    assert check_queries(qid, 3).tolist() == list(qid)


@pytest.mark.parametrize(
    "qid, message",
    [
        ([1, 2], r"must name the query of each of 3 rows; its shape is \(2,\)"),
        ([[1], [2], [3]], r"its shape is \(3, 1\)"),
        ([[1], [2, 3], [4]], "not lists of several lengths"),
        ([1.0, float("nan"), 2.0], r"qid\[1\] is nan; every row needs a query"),
        (["a", None, "b"], r"qid\[1\] is None"),
        (np.array(["a", 1, "b"], dtype=object), "all numbers or all text"),
        (np.array([1, (2,), 3], dtype=object), r"all numbers or all text; qid\[1\] is \(2,\)"),
        (np.ma.masked_array([1, 2, 3], [False, True, False]), "qid is a masked array"),
    ],
)
def test_query_ids_that_cannot_be_used_are_refused(qid, message):
    with pytest.raises(DataError, match=message):
        check_queries(qid, 3)


def test_masked_arrays_are_refused_even_without_masked_values():
    with pytest.raises(DataError, match="y is a masked array"):
        refuse_masked(np.ma.masked_array([1, 2]), "y")


def test_missing_values():
    pandas = pytest.importorskip("pandas")
    for value in (None, float("nan"), np.float32("nan"), Decimal("NaN"), pandas.NA, pandas.NaT):
        assert is_missing(value)
    for value in (0, 0.0, "", "nan", False, Decimal(0), np.inf):
        assert not is_missing(value)


def test_values_in_messages_are_plain_and_short():
    assert shown(np.int64(3)) == "3" and shown("a") == "'a'"
    assert len(shown("x" * 200)) == 80 and shown("x" * 200).endswith("...")
