"""Metrics by name: what they need, that they are scikit-learn's, and where they are undefined."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
from sklearn import metrics as sklearn_metrics

from miserly.errors import MetricError, MiserlyError
from miserly.metrics import (
    accuracy,
    get_metric,
    ndcg,
    precision_at_k,
)

CLASSES = ["accuracy", "balanced_accuracy", "f1", "log_loss", "roc_auc"]
NAMES = [*CLASSES, "mse", "mae", "r2", "ndcg@5", "precision@3"]


@pytest.mark.parametrize(
    ("name", "greater", "needs"),
    [
        ("accuracy", True, "label"),
        ("balanced_accuracy", True, "label"),
        ("f1", True, "label"),
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
    assert metric.sign == (1.0 if greater else -1.0)
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
    with pytest.raises(MiserlyError, match=r"unknown metric 'zz'\. Known: accuracy, "):
        get_metric("zz")


def test_metrics_are_scikit_learns():
    rng = np.random.default_rng(1)
    y, label, weight = rng.integers(0, 3, 60), rng.integers(0, 3, 60), rng.random(60)
    proba = rng.dirichlet([1, 1, 1], 60)
    for w in (None, weight):
        expected = {
            "accuracy": sklearn_metrics.accuracy_score(y, label, sample_weight=w),
            "balanced_accuracy": sklearn_metrics.balanced_accuracy_score(y, label, sample_weight=w),
            "f1": sklearn_metrics.f1_score(y, label, average="macro", sample_weight=w),
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
