"""svmlight and LETOR files."""

from __future__ import annotations

import bz2
import gzip
import time

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from miserly.costs import Costs
from miserly.datasets import read_svmlight, write_svmlight
from miserly.errors import DataError

LETOR = b"""# a header
2 qid:10 1:0.5 3:1 #docid = GX008-86 inc = 1 prob = 0.086
0 qid:10 2:-3e-1

1 qid:7 1:1 2:2 3:3
"""


def refusal(path, text: bytes) -> str:
    path.write_bytes(text)
    with pytest.raises(DataError) as caught:
        read_svmlight(path)
    return str(caught.value)


def test_a_letor_file_by_hand(tmp_path):
    (tmp_path / "S1.txt").write_bytes(LETOR)
    data = read_svmlight(tmp_path / "S1.txt")
    assert data.X.tolist() == [[0.5, 0, 1], [0, np.float32(-0.3), 0], [1, 2, 3]]
    assert data.X.dtype == np.float32
    assert data.y.tolist() == [2, 0, 1]
    assert data.y.dtype == np.int64
    assert data.qid.tolist() == [10, 10, 7]
    assert data.feature_names == ("f1", "f2", "f3")
    assert data.costs is None


@pytest.mark.parametrize(("suffix", "compress"), [(".gz", gzip.compress), (".bz2", bz2.compress)])
def test_compressed_files(tmp_path, suffix, compress):
    path = tmp_path / f"S1.txt{suffix}"
    path.write_bytes(compress(LETOR))
    assert read_svmlight(path).qid.tolist() == [10, 10, 7]
    path.write_bytes(compress(LETOR)[:-9])
    with pytest.raises(DataError, match="not a sound compressed file"):
        read_svmlight(path)
    path.write_bytes(b"plain text")
    with pytest.raises(DataError, match="not a sound compressed file"):
        read_svmlight(path)


def test_columns_count_from_zero_if_there_is_a_column_zero(tmp_path):
    (tmp_path / "zero").write_bytes(b"1 1:5\n0 0:2 1:3\n")
    data = read_svmlight(tmp_path / "zero")
    assert data.X.tolist() == [[0, 5], [2, 3]]
    assert data.feature_names == ("f0", "f1")
    assert data.qid is None


def test_a_test_set_can_be_made_as_wide_as_its_training_set(tmp_path):
    (tmp_path / "narrow").write_bytes(b"1 1:5\n")
    data = read_svmlight(tmp_path / "narrow", n_features=4, costs=Costs([1, 2, 3, 4]))
    assert data.X.tolist() == [[5, 0, 0, 0]]
    assert data.costs.names == ("f1", "f2", "f3", "f4")
    (tmp_path / "wide").write_bytes(b"1 5:5\n")
    with pytest.raises(DataError, match=r"wide: n_features was set to 4"):
        read_svmlight(tmp_path / "wide", n_features=4)


def test_labels_may_be_numbers_and_values_missing(tmp_path):
    (tmp_path / "numbers").write_bytes(b"1.5 1:nan 2:1\n-2 1:2\n")
    data = read_svmlight(tmp_path / "numbers")
    assert data.y.tolist() == [1.5, -2.0]
    assert np.isnan(data.X[0, 0])


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (b"", "no rows"),
        (b"# nothing\n\n", "no rows"),
        (b"1 qid:1 1:1\nx qid:1 1:1\n", "line 2: the label 'x' is not a finite number"),
        (b"1 qid:1 1:1\nnan qid:1 1:1\n", "line 2: the label 'nan' is not a finite number"),
        (b"# c\n\n1 qid:1 1:1\n1 qid:1 1:z\n", "line 4: the value of column 1, 'z', is not a number"),
        (b"1 1:1\n1 1:\n", "line 2: the value of column 1, '', is not a number"),
        (b"1 1:1\n1 a:1\n", "line 2: 'a:1' is not column:value"),
        (b"1 1:1\n1 7\n", "line 2: '7' is not column:value"),
        (b"1 1:1\n1 -2:7\n", "line 2: '-2:7' is not column:value"),
        (b"1 99999999999:1\n", "line 1: column 99999999999 makes a table of 1 rows"),
        (b"1 1:1\n1 3:1 2:1\n", "line 2: column 2 comes after column 3"),
        (b"1 1:1\n1 3:1 3:1\n", "line 2: column 3 comes after column 3"),
        (b"1 qid:1 1:1\n1 1:1\n", "line 2: some rows have a query id and some have none"),
        (b"1 1:1\n1 qid:1 1:1\n", "line 2: some rows have a query id and some have none"),
        (b"1 qid:1 1:1\n1 qid:one 1:1\n", "line 2: 'one' is not a query id"),
        (b"1 qid: 1:1\n", "line 1: '' is not a query id"),
        (b"1 qid:99999999999999999999 1:1\n", "line 1: '99999999999999999999' is not a query id"),
        (b"\xff\xfe\x00 1:1\n", "line 1: the label"),
    ],
)
def test_mistakes_come_with_file_and_line(tmp_path, text, words):
    message = refusal(tmp_path / "wrong.txt", text)
    assert words in message
    assert str(tmp_path / "wrong.txt") in message


def test_a_missing_file_is_the_systems_own_error(tmp_path):
    for name in ("nowhere.txt", "nowhere.txt.gz"):
        with pytest.raises(FileNotFoundError):
            read_svmlight(tmp_path / name)


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    X=arrays(np.float32, st.tuples(st.integers(1, 6), st.integers(1, 5)), elements={"allow_nan": False,
             "allow_infinity": False}),
    with_queries=st.booleans(),
    suffix=st.sampled_from(["", ".gz", ".bz2"]),
)  # fmt: skip
def test_what_is_written_is_read_back(tmp_path, X, with_queries, suffix):
    n, d = X.shape
    y, qid = np.arange(n) % 3, np.arange(n, dtype=np.int32)[::-1] - 2 if with_queries else None
    write_svmlight(tmp_path / f"data{suffix}", X, y, qid)
    data = read_svmlight(tmp_path / f"data{suffix}", n_features=d)
    assert (data.X == X).all()
    assert (data.y == y).all()
    assert data.qid is None if qid is None else (data.qid == qid).all()


@pytest.mark.parametrize(
    ("parts", "words"),
    [
        ({"X": [[1.0, np.nan]]}, "row 0, column 1: svmlight files hold no missing"),
        ({"X": [1.0]}, "do not make a table"),
        ({"y": [1, 2]}, "do not make a table"),
        ({"y": [np.inf]}, "row 0: the label"),
        ({"qid": ["a"]}, "whole number per row"),
        ({"qid": [1, 2]}, "whole number per row"),
    ],
)
def test_what_a_file_cannot_hold_is_refused(tmp_path, parts, words):
    with pytest.raises(DataError, match=words):
        write_svmlight(tmp_path / "data", **{"X": [[1.0, 2.0]], "y": [1], **parts})
    assert not (tmp_path / "data").exists()


def test_reading_time_grows_with_the_rows_and_not_with_their_square(tmp_path):
    seconds = {}
    for n in (10_000, 150_000):
        (tmp_path / "data").write_bytes(b"1 qid:1 1:1\n" * n)
        start = time.process_time()
        read_svmlight(tmp_path / "data")
        seconds[n] = time.process_time() - start
    assert seconds[150_000] < 40 * seconds[10_000]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("0 1:1\n1 2000000000:1\n", "line 2: column 2000000000 makes a table of 2 rows and 2000000000 col"),
        ("1 99999999999999999999:1\n", "line 1: '99999999999999999999:1' has too large a column"),
        ("1 3000000000:1 1:1\n", "line 1: '3000000000:1' has too large a column"),
    ],
)
def test_a_column_that_no_memory_holds_is_named_by_its_line(tmp_path, text, words):
    (tmp_path / "rows").write_text(text)
    with pytest.raises(DataError, match=words):
        read_svmlight(tmp_path / "rows")
