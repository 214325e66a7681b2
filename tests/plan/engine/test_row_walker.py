"""The walker: rows as lists and objects are read as `Plan.run` reads them, with the same errors."""

from decimal import Decimal
from itertools import product

import numpy as np
import pytest

from miserly import Costs
from miserly.errors import DataError
from miserly.plan import Node, Plan, Tree
from miserly.plan.terms.categories import category_words

pd = pytest.importorskip("pandas")

NAMES = ("blue", "green", "red")
PLACES = (1, 2, 4)


def split(feature, threshold=None, codes=None, missing_left=True):
    words = np.zeros((0, 8), np.uint32) if codes is None else category_words(codes)[None]
    return Tree(
        np.array([feature, -1, -1]), np.array([threshold or 0.0, 0.0, 0.0]), np.array([1, 0, 0]),
        np.array([2, 0, 0]), np.array([missing_left, False, False]), np.array([0.0, 0.3, -1.7]),
        np.array([-1 if codes is None else 0, -1, -1]), words,
    )  # fmt: skip


def plan_of(categories):
    trees = [split(0, 0.5), split(0, 2.0, missing_left=False), split(1, codes=[0, 2]), split(2, codes=[1])]
    weights, base = [1.0, 0.1, 0.7, 2.0], [0.2]
    nodes = [Node([k], [0], [weights[k]], [0.0], up=k + 1 if k < 3 else -1) for k in range(4)]
    return Plan(costs=Costs([1.0] * 4), terms=trees, nodes=nodes, base=base, categories=categories)


@pytest.fixture(scope="module")
def plan():
    return plan_of({1: NAMES, 2: PLACES})


def test_a_row_of_objects_has_the_scores_of_run(plan):
    values = [0.4, 1, -3, np.float64(0.7), np.float32(0.7), None, np.nan, np.int8(2), 2**60, Decimal("0.4")]
    colours = ["blue", "green", "red", None, np.nan, np.str_("red"), pd.NA]
    rows = np.array(list(product([*values, pd.NA, pd.NaT], colours, [1, 2, 4.0, None, np.int64(2)], ["-"])))
    expected, walk = plan.run(rows, compiled=False).scores.tolist(), plan.walker()
    assert rows.dtype == object and len(set(expected)) > 10
    assert [float(walk(row)[0]) for row in rows] == expected
    assert [float(walk(row.tolist())[0]) for row in rows] == expected


@pytest.mark.parametrize("row", [
    [np.inf, "blue", 1, 0.0], ["0.4", "blue", 1, 0.0], [True, "blue", 1, 0.0], [10**400, "blue", 1, 0.0],
    [0.4, "bleu", 1, 0.0], [0.4, 1.0, 1, 0.0], [0.4, "blue", 3, 0.0], [0.4, "blue", True, 0.0],
    [0.4, "blue", "1", 0.0], [0.4, ["blue"], 1, 0.0],
])  # fmt: skip
def test_what_run_refuses_is_refused_with_the_same_words(plan, row):
    as_objects = np.empty(4, dtype=object)
    as_objects[:] = row
    try:
        expected = plan.run(as_objects[None]).scores.tolist()
    except DataError as error:
        with pytest.raises(DataError) as caught:
            plan.walker()(as_objects)
        assert str(caught.value) == str(error)
    else:
        assert plan.walker()(as_objects).tolist() == expected


def test_codes_are_walked_by_the_plan_without_categories(plan):
    row = np.array([0.4, "red", 4, None], dtype=object)
    codes = plan.encode(row[None])[0]
    assert plan.replace(categories={}).walker()(codes).tolist() == plan.walker()(row).tolist()
    with pytest.raises(DataError, match="must have 4 values"):
        plan.walker()([0.4, "red", 4])
