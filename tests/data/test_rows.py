"""Rows: labels, weights and queries stay with their rows, in arrays and in frames."""

from __future__ import annotations

import numpy as np
import pandas as pd
import polars as pl
import pytest

from miserly.data.frames import encode_frame
from miserly.data.rows import Rows

X = np.arange(8.0).reshape(4, 2)
TABLES = {
    "array": X,
    "pandas": pd.DataFrame(X, columns=["a", "b"], index=[7, 7, 3, 1]),
    "polars": pl.DataFrame(X, schema=["a", "b"]),
    "encoded": encode_frame(pd.DataFrame(X, columns=["a", "b"])),
}


def rows_of(table) -> Rows:
    return Rows(
        table, np.array([0, 1, 0, 1]), weight=np.array([2.0, 0.0, 2.0, 4.0]), qid=np.array([0, 0, 1, 1])
    )


def values_of(table) -> list[list[float]]:
    matrix = getattr(table, "values", table)
    return np.asarray(matrix if isinstance(matrix, np.ndarray) else table.to_numpy()).tolist()


@pytest.mark.parametrize("table", TABLES.values(), ids=TABLES)
@pytest.mark.parametrize(
    "which", [np.array([3, 0]), np.array([True, False, False, True])], ids=["numbers", "mask"]
)
def test_take_keeps_what_belongs_together(table, which):
    numbers = np.arange(4)[which]
    some = rows_of(table).take(which)
    assert values_of(some.X) == X[numbers].tolist() and len(some) == 2
    assert some.y.tolist() == [numbers[0] % 2, numbers[1] % 2]
    assert some.weight.tolist() == [[2.0, 0.0, 2.0, 4.0][k] for k in numbers]
    assert some.qid.tolist() == [k // 2 for k in numbers]


@pytest.mark.parametrize("table", TABLES.values(), ids=TABLES)
def test_rows_of_weight_zero_can_be_dropped(table):
    rows = rows_of(table).without_zero_weights()
    assert values_of(rows.X) == X[[0, 2, 3]].tolist() and rows.qid.tolist() == [0, 1, 1]
    assert rows.without_zero_weights() is rows


def test_the_scale_of_weights_has_no_effect():
    rows = rows_of(X).with_mean_weight_one()
    assert rows.weight.tolist() == [1.0, 0.0, 1.0, 2.0]
    assert Rows(X, np.zeros(4), weight=np.full(4, 3.0)).with_mean_weight_one().weight is None


def test_weights_and_queries_are_given_by_name():
    with pytest.raises(TypeError):
        Rows(X, np.zeros(4), np.ones(4))
