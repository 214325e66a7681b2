"""What is wrong with rows, labels, weights or queries is reported by us, and where it is."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
import scipy.sparse

from miserly import (
    DataError,
    EarlyExit,
    GreedyMiserClassifier,
    GreedyMiserRanker,
    GreedyMiserRegressor,
    frontier,
)

N = 30
RNG = np.random.default_rng(0)
X = RNG.normal(size=(N, 3))
Y = (X[:, 0] > 0).astype(int)
HUGE = 10**400


def put(values, place, value):
    """The values as objects, with another one in one place."""
    changed = np.array(values, dtype=object)
    changed[place] = value
    return changed


ROWS = {
    "masked": (np.ma.masked_array(X, X > 1), "masked array"),
    "dates": (X.astype("datetime64[s]"), "hold dates or times"),
    "durations": (X.astype("timedelta64[s]"), "hold dates or times"),
    "complex": (X * 1j, "Complex data not supported"),
    "ragged": ([*X[:-1].tolist(), [1.0]], f"row {N - 1} has 1 values and row 0 has 3"),
    "text": (put(X, (3, 1), "abc"), "column 1, row 3: 'abc' is not a number"),
    "digits": (X.astype(str), "column 0, row 0: '.*' is not a number"),
    "an object": (put(X, (3, 1), {}), r"column 1, row 3: \{\} is not a number"),
    "huge": (put(X, (3, 1), HUGE), r"column 1, row 3: 1000.*\.\.\. is too large"),
    "huge in lists": (put(X, (3, 1), HUGE).tolist(), "column 1, row 3"),
    "infinity": (put(X, (3, 0), np.inf), r"column 0 holds infinity \(row 3\)"),
    "one dimension": (X[:, 0], "2D array|shape is"),
    "no rows": (X[:0], "0 sample|no rows"),
    "sparse": (scipy.sparse.csr_array(X), "call .toarray"),
    "structured": (np.zeros(N, dtype=[("a", float)]), "structured array"),
    "twins": (pd.DataFrame(X, columns=list("aab")), "two columns named 'a'"),
    "huge in a frame": (pd.DataFrame({"a": put(X[:, 0], 3, HUGE)}), "column 'a' has dtype object"),
}
LABELS = {
    "None": (None, "is None|rows and labels"),
    "None inside": (put(Y, 3, None), r"y\[3\] is None"),
    "NaN": (np.where(np.arange(N) == 3, np.nan, Y), r"y\[3\] is nan"),
    "infinity": (np.where(np.arange(N) == 3, np.inf, Y), r"y\[3\] is inf"),
    "masked": (np.ma.masked_array(Y, Y > 0), "y is a masked array"),
    "short": (Y[:-1], f"y has {N - 1} labels for {N} rows"),
    "two columns": (np.c_[Y, Y], "y should be a 1d array"),
    "dates": (Y.astype("datetime64[s]"), "y holds dates"),
    "complex": (Y * 1j, "Complex data"),
    "huge": (put(Y, 3, HUGE), r"y\[3\] is 1000"),
    "mixed": (put(Y, 3, "a"), r"y\[3\] is 'a'"),
    "an object": (put(Y, 3, {}), r"y\[3\] is \{\}"),
    "ragged": ([[1]] * (N - 1) + [[1, 2]], "y: "),
    "not there": (put(Y, 3, pd.NA), r"y\[3\] is <NA>"),
    "sparse": (scipy.sparse.csr_array(Y[None]), "y: Sparse"),
}
WEIGHTS = {
    "short": (np.ones(N - 1), f"sample_weight must hold {N} numbers"),
    "negative": (put(np.ones(N), 3, -1.0), r"sample_weight\[3\] is -1; weights must not be negative"),
    "NaN": (np.where(np.arange(N) == 3, np.nan, 1), r"sample_weight\[3\] is nan; weights must be finite"),
    "infinity": (np.where(np.arange(N) == 3, np.inf, 1), r"sample_weight\[3\] is inf"),
    "zero": (np.zeros(N), "sample_weight: .* non-zero"),
    "text": (["a"] * N, f"sample_weight must hold {N} numbers"),
    "two columns": (np.ones((N, 2)), f"sample_weight must hold {N} numbers"),
    "complex": (np.ones(N) * 1j, f"sample_weight must hold {N} numbers"),
    "None inside": (put(np.ones(N), 3, None), r"sample_weight\[3\] is None"),
    "masked": (np.ma.masked_array(np.ones(N), np.arange(N) == 3), "sample_weight is a masked array"),
    "huge": (put(np.ones(N), 3, HUGE), r"sample_weight\[3\] is inf"),
    "dates": (np.ones(N).astype("datetime64[s]"), f"sample_weight must hold {N} numbers"),
}
QUERIES = {
    "short": (np.zeros(N - 1), f"qid must name the query of each of {N} rows"),
    "None inside": (put(np.zeros(N, int), 3, None), r"qid\[3\] is None"),
    "NaN": (np.where(np.arange(N) == 3, np.nan, 0), r"qid\[3\] is nan"),
    "mixed": (put(np.zeros(N, int), 3, "a"), "qid must be all numbers or all text"),
    "an object": (put(np.zeros(N, int), 3, {}), r"qid\[3\] is \{\}"),
    "masked": (np.ma.masked_array(np.zeros(N), np.arange(N) == 3), "qid is a masked array"),
    "ragged": ([[1]] * (N - 1) + [[1, 2]], "qid must be one list"),
}


def search(learner, rows, labels):
    frontier([learner], rows, labels, max_fits=2, cv=2, certify=0)


@pytest.mark.parametrize("spoilt", ROWS)
@pytest.mark.parametrize("ask", [GreedyMiserClassifier.fit, search], ids=["fit", "frontier"])
def test_rows_that_cannot_be_read(ask, spoilt):
    rows, words = ROWS[spoilt]
    with pytest.raises(DataError, match=words):
        ask(GreedyMiserClassifier(n_rounds=2), rows, Y)


@pytest.fixture(scope="module")
def model():
    return GreedyMiserClassifier(n_rounds=5, min_samples_leaf=5).fit(X, Y)  # reads column 0


@pytest.mark.parametrize("spoilt", [name for name in ROWS if "frame" not in name and name != "twins"])
def test_rows_that_cannot_be_answered(model, spoilt):
    rows, words = ROWS[spoilt]
    with pytest.raises(DataError, match=words):
        model.predict(rows)


@pytest.mark.parametrize("spoilt", LABELS)
@pytest.mark.parametrize(
    ("ask", "learner"),
    [
        (GreedyMiserClassifier.fit, GreedyMiserClassifier(n_rounds=2)),
        (GreedyMiserRegressor.fit, GreedyMiserRegressor(n_rounds=2)),
        (EarlyExit.fit, EarlyExit(GreedyMiserClassifier(n_rounds=2), threshold=0.9)),
        (search, GreedyMiserClassifier(n_rounds=2)),
    ],
    ids=["classes", "numbers", "around", "frontier"],
)
def test_labels_that_cannot_be_learned(ask, learner, spoilt):
    labels, words = LABELS[spoilt]
    with pytest.raises(DataError, match=words):
        ask(learner, X, labels)


@pytest.mark.parametrize("spoilt", WEIGHTS)
def test_weights_that_are_none(spoilt):
    weight, words = WEIGHTS[spoilt]
    with pytest.raises(DataError, match=words):
        GreedyMiserClassifier(n_rounds=2).fit(X, Y, sample_weight=weight)


@pytest.mark.parametrize("spoilt", QUERIES)
def test_queries_that_are_none(model, spoilt):
    queries, words = QUERIES[spoilt]
    with pytest.raises(DataError, match=words):
        GreedyMiserRanker(n_rounds=2).fit(X, Y, qid=queries)
    with pytest.raises(DataError, match=words):
        model.plan_.run(X, qid=queries)


def test_one_weight_for_all_is_no_weight():
    plain, same = (
        GreedyMiserClassifier(n_rounds=2).fit(X, Y, sample_weight=w).predict_proba(X) for w in (None, 2)
    )
    np.testing.assert_array_equal(plain, same)
