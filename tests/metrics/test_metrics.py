"""Ranking measures against scikit-learn and by hand, costs, and metrics by name."""

from __future__ import annotations

import pickle
import time
from itertools import permutations
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn import metrics as sklearn_metrics

from miserly.errors import MetricError, MiserlyError
from miserly.metrics import (
    Queries,
    accuracy,
    cost_curve_area,
    expected_cost,
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
        (lambda: ndcg([1, 2000], [1, 2]), "exponential gain"),
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


# -- costs -----------------------------------------------------------------------------------------------


def test_expected_cost_of_a_run_or_of_costs():
    assert expected_cost(SimpleNamespace(cost=np.array([2.0, 4.0]))) == 3.0
    assert expected_cost(np.array([2.0, 4.0]), sample_weight=[1, 3]) == 3.5
    with pytest.raises(MetricError, match="one number per row"):
        expected_cost([])
    with pytest.raises(MetricError, match="one number per row"):
        expected_cost([1.0, np.nan])


def test_area_by_hand():
    # 0.5 until 2, 0.7 until 5, 0.8 until 8; the point at 6 is worse than that at 5, the one at 9 too dear.
    cost, value = [5, 0, 2, 6, 9], [0.8, 0.5, 0.7, 0.6, 0.99]
    assert cost_curve_area(cost, value, max_cost=8) == pytest.approx((2 * 0.5 + 3 * 0.7 + 3 * 0.8) / 8)
    assert cost_curve_area(cost, value, max_cost=8, min_cost=4) == pytest.approx((0.7 + 3 * 0.8) / 4)


def test_area_of_a_loss_takes_the_smallest():
    assert cost_curve_area([0, 5, 6], [4.0, 1.0, 2.0], 10, greater_is_better=False) == pytest.approx(2.5)


def test_area_needs_a_value_for_every_budget():
    with pytest.raises(MetricError, match="start="):
        cost_curve_area([1, 4], [0.6, 0.9], max_cost=10)
    assert cost_curve_area([1, 4], [0.6, 0.9], max_cost=10, start=0.5) == pytest.approx(
        (0.5 + 3 * 0.6 + 6 * 0.9) / 10
    )
    assert cost_curve_area([], [], max_cost=10, start=0.5) == 0.5
    assert cost_curve_area([20], [0.9], max_cost=10, start=0.5) == 0.5


@given(
    st.lists(st.tuples(st.integers(0, 20), st.integers(0, 10)), min_size=1, max_size=10),
    st.integers(0, 5),
    st.integers(6, 25),
)
def test_area_is_the_mean_over_unit_steps_of_budget(points, low, high):
    cost, value = np.array(points).T
    steps = [max([0, *value[cost <= budget]]) for budget in range(low, high)]
    area = cost_curve_area(cost, value, max_cost=high, min_cost=low, start=0)
    assert area == pytest.approx(np.mean(steps))


def test_area_refuses_what_is_no_range():
    for low, high in ((5, 5), (5, 4), (0, np.inf), (0, np.nan)):
        with pytest.raises(MetricError, match="range"):
            cost_curve_area([0], [1], max_cost=high, min_cost=low)
    with pytest.raises(MetricError, match="one cost and one value"):
        cost_curve_area([0, 1], [1], max_cost=2)


# -- metrics by name -------------------------------------------------------------------------------------

NAMES = ["accuracy", "balanced_accuracy", "log_loss", "roc_auc", "mse", "mae", "r2", "ndcg@5", "precision@3"]


@pytest.mark.parametrize(
    ("name", "greater", "needs"),
    [
        ("accuracy", True, "label"),
        ("balanced_accuracy", True, "label"),
        ("log_loss", False, "proba"),
        ("roc_auc", True, "score"),
        ("mse", False, "label"),
        ("mae", False, "label"),
        ("r2", True, "label"),
        ("ndcg@5", True, "score"),
        ("precision@12", True, "score"),
    ],
)
def test_metrics_say_what_they_need(name, greater, needs):
    metric = get_metric(name)
    assert (metric.name, metric.greater_is_better, metric.needs) == (name, greater, needs)
    assert metric.better(1.0, 0.5) is greater
    assert not metric.better(1.0, 1.0)
    assert get_metric(metric) is metric
    assert pickle.loads(pickle.dumps(metric)).name == name


@pytest.mark.parametrize(
    ("name", "near"),
    [
        ("acuracy", "'accuracy'"),
        ("logloss", "'log_loss'"),
        ("auc", "'roc_auc'"),
        ("ndcg", "'ndcg@5'"),
        ("ndcg@0", "'ndcg@5'"),
        ("ndcg@-1", "'ndcg@5'"),
        ("precision@", "'precision@5'"),
    ],
)
def test_unknown_metrics_come_with_the_nearest(name, near):
    with pytest.raises(MiserlyError, match=f"unknown metric.*did you mean {near}"):
        get_metric(name)


def test_metrics_are_scikit_learns():
    rng = np.random.default_rng(1)
    y, label, weight = rng.integers(0, 3, 60), rng.integers(0, 3, 60), rng.random(60)
    proba = rng.dirichlet([1, 1, 1], 60)
    for w in (None, weight):
        expected = {
            "accuracy": sklearn_metrics.accuracy_score(y, label, sample_weight=w),
            "balanced_accuracy": sklearn_metrics.balanced_accuracy_score(y, label, sample_weight=w),
            "mse": sklearn_metrics.mean_squared_error(y, label, sample_weight=w),
            "mae": sklearn_metrics.mean_absolute_error(y, label, sample_weight=w),
            "r2": sklearn_metrics.r2_score(y, label, sample_weight=w),
        }
        for name, value in expected.items():
            assert get_metric(name)(y, label, sample_weight=w) == pytest.approx(value, abs=1e-15)
        loss = sklearn_metrics.log_loss(y, proba, sample_weight=w)
        assert get_metric("log_loss")(y, proba, sample_weight=w) == pytest.approx(loss, abs=1e-12)
    area = sklearn_metrics.roc_auc_score(y, proba, multi_class="ovr")
    assert get_metric("roc_auc")(y, proba) == pytest.approx(area, abs=1e-12)


def test_ranking_metrics_by_name_are_the_functions():
    y, score, qid, weight = [1, 0, 2, 0], [1, 2, 3, 4], [1, 1, 2, 2], [1, 1, 5, 5]
    assert get_metric("ndcg@1")(y, score, qid, weight) == ndcg(y, score, qid, k=1, sample_weight=weight)
    assert get_metric("precision@2")(y, score, qid) == precision_at_k(y, score, qid, k=2)


def test_log_loss_of_a_certain_mistake_is_finite():
    loss = get_metric("log_loss")
    assert loss([1, 0], [0.0, 1.0]) == pytest.approx(36.04, abs=0.01)
    assert loss([1, 0], np.array([[1, 0], [0, 1]], dtype=np.float32)) == pytest.approx(36.04, abs=0.01)
    assert loss([1, 0], [1.0, 0.0]) == pytest.approx(0.0, abs=1e-12)


def test_log_loss_takes_single_precision_tables():
    table = np.random.default_rng(0).dirichlet(np.ones(7), 50).astype(np.float32)
    y = np.arange(50) % 7
    assert get_metric("log_loss")(y, table) == pytest.approx(
        -np.log(table[np.arange(50), y]).mean(), rel=1e-5
    )


def test_columns_follow_the_classes_given():
    loss, area = get_metric("log_loss"), get_metric("roc_auc")
    y = ["no", "yes", "yes"]
    assert loss(y, [0.1, 0.9, 0.9]) == pytest.approx(-np.log(0.9))
    table = [[0.9, 0.1], [0.1, 0.9], [0.1, 0.9]]
    assert loss(y, table) == pytest.approx(-np.log(0.9))
    assert loss(y, np.array(table)[:, ::-1], classes=["yes", "no"]) == pytest.approx(-np.log(0.9))
    assert area(y, table) == area(y, [0.1, 0.9, 0.9]) == 1.0
    assert area(y, table, classes=["yes", "no"]) == 0.0


def test_classes_that_do_not_occur_are_counted_from_zero_or_given():
    third = [[0.2, 0.3, 0.5], [0.6, 0.3, 0.1]]
    assert get_metric("log_loss")([2, 0], third) == pytest.approx(-(np.log(0.5) + np.log(0.6)) / 2)
    assert get_metric("log_loss")(["c", "a"], third, classes=["a", "b", "c"]) == pytest.approx(
        -(np.log(0.5) + np.log(0.6)) / 2
    )
    with pytest.raises(MetricError, match="classes="):
        get_metric("log_loss")(["c", "a"], third)
    with pytest.raises(MetricError, match="classes="):
        get_metric("log_loss")(["d", "a"], third, classes=["a", "b", "c"])


def test_what_is_no_probability_is_refused_with_its_row():
    for table in ([[0.5, 0.5], [0.5, 0.6]], [[0.5, 0.5], [1.5, -0.5]], [0.5, 1.5], [0.5, np.nan]):
        with pytest.raises(MetricError, match="row 1"):
            get_metric("log_loss")([0, 1], table)


def test_metrics_that_are_not_defined_say_why():
    with pytest.raises(MetricError, match=r"ndcg@5 is not defined here: no query has a relevant row"):
        get_metric("ndcg@5")([0, 0], [1, 2])
    with pytest.raises(MetricError, match="roc_auc is not defined here: not every class"):
        get_metric("roc_auc")([1, 1], [1, 2])
    with pytest.raises(MetricError, match="r2 is not defined here"):
        get_metric("r2")([1], [1])
    for name in NAMES:
        with pytest.raises(MetricError, match=f"{name}: 1 predictions for 2 rows"):
            get_metric(name)([0, 1], [1])


def test_labels_never_predicted_or_never_true_do_not_disturb_balanced_accuracy():
    # Class 0: one of two; class 1: one of one; class 2 is predicted, but never true.
    assert get_metric("balanced_accuracy")([0, 0, 1], [0, 2, 1]) == pytest.approx(0.75)


def test_accuracy_of_text_labels_with_weights():
    assert accuracy(["a", "b"], ["a", "a"], sample_weight=[3, 1]) == 0.75
