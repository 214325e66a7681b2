"""Ranking metrics and queries, against scikit-learn and by hand."""

from __future__ import annotations

import time
from itertools import permutations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn import metrics as sklearn_metrics

from miserly.errors import MetricError
from miserly.metrics import (
    Queries,
    get_metric,
    ndcg,
    per_query,
    precision_at_k,
)


@st.composite
def rankings(draw: st.DrawFn) -> tuple[np.ndarray, np.ndarray, np.ndarray, int]:
    """Grades, scores with many ties, query ids in any order, and k."""
    n = draw(st.integers(1, 30))
    column = lambda values: np.array(draw(st.lists(values, min_size=n, max_size=n)))  # noqa: E731
    y = column(st.integers(0, 4))
    score = column(st.sampled_from([-np.inf, -1.5, 0.0, -0.0, 0.25, 3.0]))
    return y, score, column(st.integers(-2, 4)), draw(st.integers(1, 8))


# -- NDCG ------------------------------------------------------------------------------------------------


@settings(deadline=None)
@given(rankings(), st.sampled_from(["exponential", "linear"]))
def test_ndcg_is_scikit_learns_query_by_query_ties_included(case, gain):
    y, score, qid, k = case
    score = np.maximum(score, -1e6)  # scikit-learn refuses infinite scores
    gains = 2.0**y - 1 if gain == "exponential" else y
    for query in np.unique(qid):
        rows = qid == query
        if rows.sum() > 1 and y[rows].any():  # scikit-learn has no NDCG of one row
            theirs = sklearn_metrics.ndcg_score(gains[rows][None], score[rows][None], k=k, ignore_ties=False)
            ours = ndcg(y[rows], score[rows], k=k, gain=gain)
            assert ours == pytest.approx(theirs, abs=1e-12)


@given(rankings(), st.sampled_from(["skip", "one", "zero"]))
def test_ndcg_is_the_mean_over_queries(case, empty):
    y, score, qid, k = case
    values = [ndcg(y[rows], score[rows], k=k, empty=empty) for _, rows in Queries(qid)]
    defined = [value for value in values if not np.isnan(value)]
    expected = np.mean(defined) if defined else np.nan
    assert ndcg(y, score, qid, k=k, empty=empty) == pytest.approx(expected, abs=1e-12, nan_ok=True)


@given(rankings(), st.randoms(use_true_random=False))
def test_the_order_of_rows_does_not_matter(case, random):
    y, score, qid, k = case
    shuffled = random.sample(range(len(y)), len(y))
    for metric in (ndcg, precision_at_k):
        before, after = metric(y, score, qid, k), metric(y[shuffled], score[shuffled], qid[shuffled], k)
        assert after == pytest.approx(before, abs=1e-12, nan_ok=True)


@settings(max_examples=30, deadline=None)
@given(st.lists(st.tuples(st.integers(0, 3), st.integers(0, 1)), min_size=2, max_size=5), st.integers(1, 5))
def test_ties_count_as_the_mean_over_their_orders(rows, k):
    y, score = np.array(rows).T
    consistent = [
        list(order) for order in permutations(range(len(y))) if (np.diff(score[list(order)]) <= 0).all()
    ]
    places = -np.arange(len(y), dtype=float)
    for metric in (ndcg, precision_at_k):
        mean = np.mean([metric(y[order], places, k=k) for order in consistent])
        assert metric(y, score, k=k) == pytest.approx(mean, abs=1e-12, nan_ok=True)


def test_one_score_for_all_rows_is_no_good_ranking_whatever_the_order_of_the_rows():
    best_first, best_last = [4, 0, 0, 0, 0, 0], [0, 0, 0, 0, 0, 4]
    flat = np.zeros(6)
    # The one relevant row is at each of six ranks equally often: the mean of the five discounts and a zero.
    expected = (1 / np.log2([2, 3, 4, 5, 6])).sum() / 6
    assert ndcg(best_first, flat) == ndcg(best_last, flat) == pytest.approx(expected)


def test_ndcg_by_hand():
    # Grades in the order of the scores: 1, 3, 0. Gains 1, 7, 0; best order 7, 1, 0.
    reached = 1 / np.log2(2) + 7 / np.log2(3)
    best = 7 / np.log2(2) + 1 / np.log2(3)
    assert ndcg([3, 0, 1], [0.5, 0.1, 0.9]) == pytest.approx(reached / best, abs=1e-15)
    assert ndcg([3, 0, 1], [0.5, 0.1, 0.9], k=1) == pytest.approx(1 / 7, abs=1e-15)
    # Linear gains 1, 3, 0 and 3, 1, 0.
    linear = (1 + 3 / np.log2(3)) / (3 + 1 / np.log2(3))
    assert ndcg([3, 0, 1], [0.5, 0.1, 0.9], gain="linear") == pytest.approx(linear, abs=1e-15)


def test_queries_without_relevant_rows():
    y, score, qid = [1, 0, 0, 0], [2, 1, 2, 1], ["a", "a", "b", "b"]
    assert ndcg(y, score, qid) == 1.0
    assert ndcg(y, score, qid, empty="one") == 1.0
    assert ndcg(y, score, qid, empty="zero") == 0.5
    assert np.isnan(ndcg([0, 0], [1, 2]))
    assert ndcg([0, 0], [1, 2], empty="one") == 1.0


def test_a_query_weighs_as_its_rows_do_on_average():
    y, score, qid = [1, 0, 1, 0, 0], [2, 1, 1, 2, 0], [1, 1, 2, 2, 2]
    one, two = 1.0, 1 / np.log2(3)
    assert ndcg(y, score, qid) == pytest.approx((one + two) / 2)
    assert ndcg(y, score, qid, sample_weight=[3, 3, 1, 1, 1]) == pytest.approx((3 * one + two) / 4)
    assert ndcg(y, score, qid, sample_weight=[7] * 5) == pytest.approx((one + two) / 2)
    # Query 1 weighs nothing; query 2 weighs the mean of 0, 3, 3.
    assert ndcg(y, score, qid, sample_weight=[0, 0, 0, 3, 3]) == pytest.approx(two)


def test_k_may_pass_the_length_of_every_query():
    assert ndcg([0, 1], [1, 0], k=10**9) == ndcg([0, 1], [1, 0], k=2)


def test_documents_dropped_early_may_score_minus_infinity():
    assert ndcg([1, 0, 0], [1.0, -np.inf, -np.inf]) == 1.0


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: ndcg([1, 0], [1.0, np.nan]), "row 1 has no score"),
        (lambda: ndcg([1, np.nan, 0], [1, 2, 3]), "row 1 has no grade"),
        (lambda: ndcg([1, 0], [1, 2, 3]), r"\(2,\) and \(3,\)"),
        (lambda: ndcg([], []), "one grade and one score"),
        (lambda: ndcg([1, 0], [1, 2], qid=[1]), "query ids"),
        (lambda: ndcg([1, -1], [1, 2]), "from -1 to 1"),
        (lambda: ndcg([1, 101], [1, 2]), "exponential gain"),
        (lambda: ndcg([1, 0], [1, 2], gain="cubic"), "'cubic'"),
        (lambda: ndcg([1, 0], [1, 2], empty="half"), "'half'"),
        (lambda: ndcg([1, 0], [1, 2], k=0), "k is a number of rows"),
        (lambda: ndcg([1, 0], [1, 2], k=2.5), "k is a number of rows"),
        (lambda: ndcg([1, 0], [1, 2], sample_weight=[1]), "weights"),
        (lambda: ndcg([1, 0], [1, 2], sample_weight=[1, -1]), "not negative"),
        (lambda: ndcg([1, 0], [1, 2], sample_weight=[0, 0]), "not all zero"),
    ],
)
def test_what_cannot_be_ranked_is_refused(call, words):
    with pytest.raises(MetricError, match=words):
        call()


def test_large_rankings_take_no_loop_over_queries():
    rng = np.random.default_rng(0)
    n = 200_000
    y, score, qid = rng.integers(0, 5, n), rng.random(n), rng.permutation(np.arange(n) // 20)
    start = time.process_time()
    many = ndcg(y, score, qid)
    elapsed = time.process_time() - start
    start = time.process_time()
    few = [ndcg(y[rows], score[rows]) for _, (_, rows) in zip(range(200), Queries(qid), strict=False)]
    loop = (time.process_time() - start) * (n / 20) / 200
    assert 0.3 < many < 0.7
    assert abs(np.mean(few) - many) < 0.1
    assert elapsed < loop / 2


# -- precision -------------------------------------------------------------------------------------------


def test_precision_by_hand():
    y, score, qid = [3, 0, 4, 1, 0], [0.9, 0.8, 0.7, 0.1, 0.5], [1, 1, 1, 1, 2]
    # Query 1: rows 3, 0, 4, 1 in this order; query 2 has no relevant row.
    assert precision_at_k(y, score, qid, k=1) == pytest.approx((1 + 0) / 2)
    assert precision_at_k(y, score, qid, k=2) == pytest.approx((1 / 2 + 0) / 2)
    assert precision_at_k(y, score, qid, k=4) == pytest.approx((3 / 4 + 0) / 2)
    assert precision_at_k(y, score, qid, k=4, relevant=3) == pytest.approx((2 / 4 + 0) / 2)
    assert precision_at_k(y, score, qid, k=4, relevant=lambda grade: grade == 1) == pytest.approx(1 / 4 / 2)


def test_places_that_nothing_fills_are_no_hits():
    assert precision_at_k([1, 1], [2, 1], k=5) == pytest.approx(2 / 5)


def test_tied_rows_share_the_places_they_compete_for():
    # Three tied rows, one of them relevant, for two places.
    assert precision_at_k([1, 0, 0], [1, 1, 1], k=2) == pytest.approx((2 / 3) / 2)


# -- queries ---------------------------------------------------------------------------------------------


@given(st.lists(st.integers(-3, 3), max_size=30))
def test_queries_hold_every_row_once_in_order(qid):
    rows = {query: rows.tolist() for query, rows in Queries(qid)}
    assert rows == {q: [i for i, other in enumerate(qid) if other == q] for q in sorted(set(qid))}


def test_query_ids_may_be_text():
    assert [query for query, _ in Queries(["b", "a", "b"])] == ["a", "b"]


def test_per_query_gives_one_value_each():
    y, score, qid = [1, 0, 0, 1, 0], [2, 1, 2, 1, 0], [5, 5, 3, 5, 3]
    ids, values = per_query("ndcg@1", y, score, qid)
    assert ids.tolist() == [3, 5]
    assert np.isnan(values[0])
    assert values[1] == 1.0
    _, largest = per_query(lambda y, p: p.max(), y, score, qid)
    assert largest.tolist() == [2.0, 2.0]
    _, tables = per_query(get_metric("log_loss"), [0, 1], [[0.5, 0.5], [0.5, 0.5]], qid=[1, 2])
    assert tables == pytest.approx([np.log(2), np.log(2)])


def test_grades_up_to_100_have_an_exponential_gain_and_larger_ones_a_linear_gain():
    assert ndcg([0, 100], [1, 2]) == 1.0
    assert ndcg([0, 2000], [1, 2], gain="linear") == 1.0
