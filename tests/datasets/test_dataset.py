"""The container: rows that belong together stay together."""

from __future__ import annotations

import dataclasses
import pickle
import sys

import numpy as np
import pytest

from miserly.costs import Costs
from miserly.datasets import Dataset, make_ranking
from miserly.errors import DataError


def table(n: int = 40, **parts) -> Dataset:
    X = np.arange(2.0 * n).reshape(n, 2)
    return Dataset(
        **{"X": X, "y": np.arange(n) % 4, "costs": Costs([1, 2]), "feature_names": ("a", "b"), **parts}
    )


def test_a_data_set_cannot_be_changed():
    with pytest.raises(dataclasses.FrozenInstanceError):
        table().X = None


def test_taking_rows_takes_all_that_belongs_to_them():
    data = table(
        qid=np.arange(40) // 4,
        split=np.arange(40) % 2,
        extra={"fold": np.arange(40), "weights": np.arange(2), "note": np.array("x")},
    )
    for rows in ([3, 1], np.isin(np.arange(40), [1, 3])):
        taken = data.take(rows)
        order = np.arange(40)[rows]
        assert taken.X[:, 0].tolist() == (2.0 * order).tolist()
        assert taken.y.tolist() == (order % 4).tolist()
        assert taken.qid.tolist() == [0, 0]
        assert taken.split.tolist() == [1, 1]
        assert taken.extra["fold"].tolist() == order.tolist()
        assert taken.extra["weights"].tolist() == [0, 1]
        assert taken.costs == data.costs


def test_a_published_split_is_used():
    train, test = table(split=np.arange(40) % 5 == 0).train_test()
    assert (len(train), len(test)) == (32, 8)
    assert (test.X[:, 0] % 10 == 0).all()


def test_classes_keep_their_shares_in_a_drawn_split():
    train, test = table().train_test(random_state=0, test_size=0.2)
    assert np.bincount(test.y).tolist() == [2, 2, 2, 2]
    assert sorted([*train.X[:, 0], *test.X[:, 0]]) == table().X[:, 0].tolist()
    again = table().train_test(random_state=0, test_size=0.2)[1]
    assert (again.X == test.X).all()
    assert (table().train_test(random_state=1, test_size=0.2)[1].X != test.X).any()


def test_numbers_are_split_without_classes():
    train, test = table(y=np.linspace(0, 1, 40)).train_test(random_state=0)
    assert (len(train), len(test)) == (30, 10)


def test_queries_stay_whole():
    train, test = make_ranking(600, n_features=3, random_state=0).train_test(random_state=0)
    assert len(train) + len(test) == 600
    assert not set(train.qid.tolist()) & set(test.qid.tolist())
    assert len(test)


@pytest.mark.parametrize(
    ("parts", "words"),
    [
        ({"y": np.zeros(3)}, r"y of shape \(3,\) for 40 rows"),
        ({"qid": np.zeros(3)}, "qid of shape"),
        ({"feature_names": ("a",)}, "1 feature_names for 2 columns"),
        ({"costs": Costs([1])}, "1 costs for 2 columns"),
        ({"groups": np.zeros(5)}, "5 groups for 2 columns"),
    ],
)
def test_parts_that_do_not_fit_are_refused(parts, words):
    with pytest.raises(DataError, match=words):
        table(**parts)


def test_frame_has_names_and_words():
    pd = pytest.importorskip("pandas")
    X = np.array([[1.5, 0.0], [2.5, np.nan], [3.5, 1.0]])
    data = Dataset(X, np.arange(3), None, ("size", "colour"), categories={1: ("red", "blue")})
    frame = data.frame()
    assert list(frame.columns) == ["size", "colour"]
    assert frame["size"].tolist() == [1.5, 2.5, 3.5]
    assert frame["colour"].tolist()[::2] == ["red", "blue"]
    assert pd.isna(frame["colour"][1])


def test_without_pandas_a_frame_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(DataError, match=r"miserly\[frames\]"):
        table().frame()


def test_repr_and_pickle():
    data = table(qid=np.arange(40) // 4)
    assert repr(data) == "Dataset(40 rows, 2 features, 10 queries, Costs(2 features; total 3))"
    assert repr(table(costs=None)) == "Dataset(40 rows, 2 features, no costs)"
    assert (pickle.loads(pickle.dumps(data)).X == data.X).all()
