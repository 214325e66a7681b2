"""A frame that is encoded once gives, for any of its rows, what the same rows of the frame give."""

from __future__ import annotations

import pickle

import numpy as np
import pandas as pd
import polars as pl
import pytest

from miserly import GreedyMiserClassifier, frontier
from miserly.data.arrays import EncodedFrame
from miserly.data.encoder import Encoder
from miserly.data.frames import MAX_CATEGORIES, encode_frame, first_text, read_frame
from miserly.data.rows import Rows, without_new_categories
from miserly.errors import DataError
from miserly.learners import CostLassoRegressor, EarlyExit, Handover
from miserly.learners.base import read_encoded_frames

N = 60


def mixed(library: str, narrow: bool = False) -> object:
    """Numbers, text, booleans, categories that are numbers, and a column that is mostly missing."""
    rng = np.random.default_rng(0)
    columns = {
        "age": rng.normal(size=N).astype(np.float32),
        "count": rng.integers(0, 9, N).astype(np.int8 if narrow else np.int64),
        "thal": rng.choice(["fixed", "normal", "reversible", "rare"], N, p=[0.4, 0.4, 0.17, 0.03]).tolist(),
        "smokes": rng.random(N) < 0.5,
        "note": [None] * (N - 2) + ["b", "a"],
        "maybe": [None if k % 3 else bool(k % 2) for k in range(N)],
    }
    if library == "polars":
        return pl.DataFrame(columns)
    return pd.DataFrame(columns).assign(grade=pd.Categorical(rng.choice([1, 2, 3, 10], N)))


def floats(library: str, dtype: type) -> object:
    columns = {name: np.random.default_rng(0).normal(size=N).astype(dtype) for name in "abc"}
    return pl.DataFrame(columns) if library == "polars" else pd.DataFrame(columns)


FRAMES = {
    **{f"{library}, mixed": mixed(library) for library in ("pandas", "polars")},
    **{f"{library}, narrow": mixed(library, narrow=True) for library in ("pandas", "polars")},
    **{f"{library}, float32": floats(library, np.float32) for library in ("pandas", "polars")},
    **{f"{library}, float64": floats(library, np.float64) for library in ("pandas", "polars")},
    "pandas, one block": pd.DataFrame(np.random.default_rng(1).normal(size=(N, 4)), columns=list("abcd")),
    "pandas, numbered columns": pd.DataFrame({0: np.arange(N), 1: ["x", "y"] * (N // 2)}),
}  # fmt: skip
SOME_ROWS = {
    "all": np.arange(N),
    "some": np.array([5, 3, 40, 41, 7, 7, 12]),
    "last": np.arange(N - 2, N),
    "one": np.array([5]),  # with one of the booleans
    "mask": np.arange(N) % 3 == 0,
}


@pytest.fixture(params=FRAMES)
def frame(request):
    return FRAMES[request.param]


@pytest.fixture(params=SOME_ROWS)
def some(request):
    return SOME_ROWS[request.param]


def native(frame, rows):
    return Rows(frame, np.zeros(N)).take(rows).X


def same(one: np.ndarray, other: np.ndarray) -> bool:
    return one.dtype == other.dtype and np.array_equal(one, other, equal_nan=True)


def test_some_rows_are_read_as_the_frame_of_these_rows(frame, some):
    expected, table = read_frame(native(frame, some)), read_frame(encode_frame(frame).take(some))
    assert same(table.values, expected.values)
    assert table.categories == expected.categories and table.names == expected.names
    assert table.values.flags.f_contiguous == expected.values.flags.f_contiguous


def test_other_rows_are_encoded_as_the_frame_of_these_rows(frame, some):
    known = read_frame(native(frame, np.arange(20)))
    encoder = Encoder(known.values.shape[1], known.names, known.categories)
    needed = [f for f in range(known.values.shape[1]) if not np.isnan(known.values[:, f]).all()]
    expected = encoder.rows(native(frame, some), needed, "missing")
    given = encoder.rows(encode_frame(frame).take(some), needed, "missing")
    assert np.array_equal(given[:, needed], expected[:, needed], equal_nan=True)


@pytest.mark.parametrize("library", ["pandas", "polars"])
def test_unknown_categories_raise_the_error_of_the_frame(library):
    frame = mixed(library)
    learned = np.flatnonzero(np.array(frame["thal"].to_list()) != "rare")
    known = read_frame(native(frame, learned))
    encoder = Encoder(known.values.shape[1], known.names, known.categories)
    with pytest.raises(DataError) as expected:
        encoder.rows(frame, [2])
    with pytest.raises(DataError) as raised:
        encoder.rows(encode_frame(frame), [2])
    assert str(raised.value) == str(expected.value) and "'rare'" in str(raised.value)


def test_a_column_without_values_in_training_raises_the_error_of_the_frame():
    frame = mixed("pandas")
    known = read_frame(frame.head(10))
    encoder = Encoder(known.values.shape[1], known.names, known.categories)
    with pytest.raises(DataError) as expected:
        encoder.rows(frame, unknown="missing")
    with pytest.raises(DataError) as raised:
        encoder.rows(encode_frame(frame), unknown="missing")
    assert str(raised.value) == str(expected.value) and "'note'" in str(raised.value)


def test_too_many_categories_matter_only_in_rows_that_are_read():
    names = [f"name {k}" for k in range(MAX_CATEGORIES + 1)]
    encoded = encode_frame(pd.DataFrame({"name": names}))
    assert len(read_frame(encoded[:MAX_CATEGORIES]).categories[0]) == MAX_CATEGORIES
    with pytest.raises(DataError, match=f"'name' has {MAX_CATEGORIES + 1} different values"):
        read_frame(encoded)


def test_it_stands_for_the_frame_elsewhere(frame):
    encoded = encode_frame(frame)
    held_out = np.arange(N) >= 40
    assert list(encoded.columns) == list(frame.columns) and encoded.shape == (N, len(frame.columns))
    assert first_text(encoded) == first_text(frame)
    expected = without_new_categories(frame, held_out, None)
    assert np.array_equal(without_new_categories(encoded, held_out, None), expected)
    assert same(pickle.loads(pickle.dumps(encoded)).values, encoded.values)


@pytest.mark.parametrize("library", ["pandas", "polars"])
def test_a_learner_fits_the_same_plan(library):
    frame, y = mixed(library), np.arange(N) % 2
    rows = np.arange(10, 50)
    one = GreedyMiserClassifier(n_rounds=5).fit(native(frame, rows), y[rows])
    other = GreedyMiserClassifier(n_rounds=5).fit(encode_frame(frame).take(rows), y[rows])
    assert one.plan_.digest == other.plan_.digest and one.plan_.info == other.plan_.info
    assert one.feature_names_in_.tolist() == other.feature_names_in_.tolist()
    whole = floats(library, float)
    target = np.linspace(0, 1, N)
    lasso = CostLassoRegressor(tradeoff=1e-3).fit(native(whole, rows), target[rows])
    again = CostLassoRegressor(tradeoff=1e-3).fit(encode_frame(whole).take(rows), target[rows])
    assert lasso.coef_.tobytes() == again.coef_.tobytes()


def searched(library):
    """Rows of a mixed frame, each many times, and labels that its columns tell."""
    rows = np.random.default_rng(0).integers(0, N, 400)
    frame = native(mixed(library), rows)
    normal = np.array(frame["thal"].to_list()) == "normal"
    return frame, ((frame["count"].to_numpy() > 4) | normal).astype(int)


class Peeking(GreedyMiserClassifier):
    """Says what it is fitted to."""

    seen: set[type] = set()

    def fit(self, X, y, **given):
        type(self).seen.add(type(X))
        return super().fit(X, y, **given)


def test_a_search_encodes_a_frame_once(monkeypatch):
    frame, y = searched("pandas")
    calls = []

    def counted(X):
        calls.append(type(X))
        return encode_frame(X)

    monkeypatch.setattr("miserly.data.frames.encode_frame", counted)
    monkeypatch.setattr("miserly.data.reading.encode_frame", counted)
    monkeypatch.setattr(Peeking, "seen", set())
    found = frontier([Peeking(n_rounds=3)], frame, y, cv=2, max_fits=4, certify=0, n_jobs=1, random_state=0)
    assert calls == [pd.DataFrame] and Peeking.seen == {EncodedFrame}
    model = found.best(budget=3)
    assert model.score(frame, y) > 0.8


class Foreign:
    """A learner of another library, which must get the user's own frame."""

    def __init__(self, learner=None):
        self.learner = learner

    def get_params(self, deep=True):
        return {"learner": self.learner}

    def fit(self, X, y):
        return self


def test_only_learners_that_read_tables_are_given_an_encoded_frame():
    miser = GreedyMiserClassifier()
    assert read_encoded_frames("auto") and read_encoded_frames(miser) and read_encoded_frames([miser, miser])
    assert read_encoded_frames([EarlyExit(miser), Handover(miser, miser)])
    assert not read_encoded_frames(Foreign()) and not read_encoded_frames([miser, Foreign()])
    assert not read_encoded_frames(EarlyExit(Foreign()))
    assert not read_encoded_frames(iter([miser]))  # reading it would use it up


@pytest.mark.parametrize("library", ["pandas", "polars"])
def test_a_search_finds_the_same_models(library):
    frame, y = searched(library)
    learners = [GreedyMiserClassifier(n_rounds=5), EarlyExit(GreedyMiserClassifier(n_rounds=20), every=5)]

    def search(given):
        return frontier(given, frame, y, cv=2, max_fits=8, certify=0.2, n_jobs=1, random_state=0)

    found, native_found = search(learners), search(iter(learners))
    assert isinstance(found.rows.X, EncodedFrame) and native_found.rows.X is frame
    assert found.points.equals(native_found.points) and len(found.points) > 8
    one, other = found.best(budget=3), native_found.best(budget=3)
    assert one.plan_.digest == other.plan_.digest
    assert np.array_equal(one.predict(frame), other.predict(frame))
