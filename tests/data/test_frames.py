"""Frames become numbers, names and categories, or a clear error that names the column."""

import datetime

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from miserly.data.arrays import refuse_infinities
from miserly.data.encoder import Encoder
from miserly.data.frames import is_frame, read_frame
from miserly.errors import DataError

MIXED = {"age": [61.0, None, 40.0], "thal": ["normal", None, "fixed"], "smokes": [True, None, False]}
EXPECTED = [[61.0, 1.0, 1.0], [np.nan, np.nan, np.nan], [40.0, 0.0, 0.0]]


def pandas_frame():
    frame = pd.DataFrame(MIXED)
    return frame.assign(smokes=frame["smokes"].astype("boolean"))


FRAMES = [pandas_frame(), pl.DataFrame(MIXED), pa.table(MIXED)]
KINDS = ["pandas", "polars", "pyarrow"]


@pytest.mark.parametrize("frame", FRAMES, ids=KINDS)
def test_text_and_truth_values_become_codes_and_missing_values_nan(frame):
    table = read_frame(frame)
    assert table.names == ("age", "thal", "smokes")
    assert table.categories == {1: ("fixed", "normal"), 2: (False, True)}
    np.testing.assert_array_equal(table.values, EXPECTED)


@pytest.mark.parametrize("frame", FRAMES, ids=KINDS)
def test_reading_with_known_categories_gives_the_same_codes(frame):
    learned = read_frame(frame)
    encoder = Encoder(3, learned.names, learned.categories)
    np.testing.assert_array_equal(encoder.rows(frame), EXPECTED)


@pytest.mark.parametrize("make", [pd.DataFrame, pl.DataFrame], ids=["pandas", "polars"])
def test_unknown_categories_are_missing_if_asked(make):
    rows = Encoder(1, ("c",), {0: ("a", "b")}).rows(make({"c": ["b", "z"]}), unknown="missing")
    np.testing.assert_array_equal(rows, [[1.0], [np.nan]])


@pytest.mark.parametrize(
    "column",
    [
        pd.Series(["u", None, "v"], dtype="category"),
        pd.Series(["u", None, "v"], dtype="string"),
        pd.Series(["u", None, "v"], dtype=object),
        pl.Series(["u", None, "v"], dtype=pl.Categorical),
        pl.Series(["u", None, "v"], dtype=pl.Enum(["v", "u"])),
    ],
    ids=["category", "string", "object", "polars categorical", "polars enum"],
)
def test_every_kind_of_text_column_is_categorical(column):
    frame = pl.DataFrame({"c": column}) if isinstance(column, pl.Series) else pd.DataFrame({"c": column})
    table = read_frame(frame)
    assert table.categories == {0: ("u", "v")}
    np.testing.assert_array_equal(table.values[:, 0], [0.0, np.nan, 1.0])


def test_categories_may_be_numbers():
    table = read_frame(pd.DataFrame({"c": pd.Categorical([30, 10, None])}))
    assert table.categories == {0: (10, 30)}
    np.testing.assert_array_equal(table.values[:, 0], [1.0, 0.0, np.nan])


def test_narrow_numbers_stay_float32_and_wide_ones_make_float64():
    narrow = pd.DataFrame({"a": np.float32([1.5, 2.5]), "b": np.int8([1, 2]), "c": ["x", "y"]})
    assert read_frame(narrow).values.dtype == np.float32
    assert read_frame(narrow.assign(d=np.int64([1, 2**40 + 1]))).values.dtype == np.float64
    assert read_frame(narrow.assign(d=np.int64([1, 2**40 + 1]))).values[1, 3] == 2**40 + 1


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_plain_float_frames_are_not_copied(dtype):
    frame = pd.DataFrame(np.arange(6, dtype=dtype).reshape(2, 3), columns=list("abc"))
    table = read_frame(frame)
    assert table.values.dtype == dtype
    assert np.shares_memory(table.values, frame.to_numpy())


def test_nullable_and_decimal_and_empty_columns_are_numbers():
    frame = pl.DataFrame({"i": [1, None], "empty": [None, None]}).with_columns(
        pl.Series("d", ["1.5", None]).cast(pl.Decimal(10, 2))
    )
    np.testing.assert_array_equal(read_frame(frame).values, [[1, np.nan, 1.5], [np.nan] * 3])
    nullable = pd.DataFrame({"i": pd.array([1, None], dtype="Int64")})
    np.testing.assert_array_equal(read_frame(nullable).values, [[1.0], [np.nan]])


def test_columns_without_text_names_have_no_names():
    assert read_frame(pd.DataFrame(np.zeros((2, 2)))).names is None


@pytest.mark.parametrize(
    ("frame", "words"),
    [
        (
            pd.DataFrame({"price": np.array([1, 2.5], dtype=object)}),
            "'price' has dtype object and holds float and i",
        ),
        (
            pd.DataFrame({"mix": np.array([1, "x"], dtype=object)}),
            "'mix' has dtype object and holds int and s",
        ),
        (pd.DataFrame({"when": pd.to_datetime(["2020-01-01"])}), "'when' has type Datetime"),
        (pd.DataFrame({"long": pd.to_timedelta([1])}), "'long' has type Duration"),
        (pl.DataFrame({"day": [datetime.date(2020, 1, 1)]}), "'day' has type Date"),
        (pl.DataFrame({"many": [[1, 2]]}), "'many' has type List"),
        (pd.DataFrame({"z": np.array([1j, 2])}), "'z' has type Unknown"),
        (pd.DataFrame({"zip": [str(i) for i in range(256)]}), "'zip' has 256 different values; at most 255"),
        (
            pd.DataFrame({"c": pd.Categorical(pd.to_datetime(["2020-01-01"]))}),
            "'c' has categories of type Timestamp",
        ),
    ],
)
def test_columns_that_cannot_be_read_are_named(frame, words):
    with pytest.raises(DataError, match=words):
        read_frame(frame)


def test_columns_that_changed_their_kind_since_fitting_are_named():
    with pytest.raises(DataError, match="'c' holds numbers, but held categories such as 'a'"):
        Encoder(1, ("c",), {0: ("a", "b")}).rows(pd.DataFrame({"c": [1, 2]}))
    with pytest.raises(DataError, match="'c' holds no numbers, but did when"):
        Encoder(1, ("c",)).rows(pd.DataFrame({"c": ["1", "2"]}))


def test_lazy_frames_are_refused():
    with pytest.raises(DataError, match="collect"):
        is_frame(pl.DataFrame({"a": [1]}).lazy())


def test_what_is_a_frame():
    assert all(is_frame(frame) for frame in FRAMES)
    assert not is_frame(np.zeros((2, 2)))
    assert not is_frame([[1.0, 2.0]])


def test_infinity_is_named_by_column_and_row():
    values = np.zeros((40_000, 3), dtype=np.float32)
    values[:, 1] = np.nan
    refuse_infinities(values)
    values[30_000, 2] = -np.inf
    with pytest.raises(DataError, match=r"column 2 holds infinity \(row 30000\)"):
        refuse_infinities(values)
    with pytest.raises(DataError, match="column 'chol' holds infinity"):
        refuse_infinities(values, ["age", "fbs", "chol"])
