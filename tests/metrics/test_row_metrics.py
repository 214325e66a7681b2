"""Metrics of users: a function that gives one number per row."""

import numpy as np
import pytest

from miserly.errors import MetricError
from miserly.metrics import Metric, get_metric, row_metric


def harm(y, predicted):
    return np.where(y == predicted, 0.0, np.where(y == 1, 10.0, 1.0))


def test_the_metric_is_the_mean():
    metric = row_metric(harm, greater_is_better=False)
    assert isinstance(metric, Metric) and get_metric(metric) is metric
    assert (metric.name, metric.sign, metric.needs) == ("harm", -1.0, "label")
    assert metric([1, 1, 0, 0], [1, 0, 1, 0]) == 2.75
    assert metric([1, 1, 0, 0], [1, 0, 1, 0], sample_weight=[0, 3, 1, 0]) == 7.75


def test_it_is_a_decorator_too():
    @row_metric(greater_is_better=True, name="half right", needs="proba")
    def sure(y, proba):
        return proba[np.arange(len(y)), y]

    assert (sure.name, sure.needs) == ("half right", "proba")
    assert sure([0, 1], np.array([[0.7, 0.3], [0.5, 0.5]])) == pytest.approx(0.6)


@pytest.mark.parametrize(
    ("function", "words"),
    [
        (lambda y, p: float(np.mean(y == p)), "f gives a single number for 3 rows"),
        (lambda y, p: np.zeros((3, 2)), r"an array of shape \(3, 2\) for 3 rows"),
        (lambda y, p: np.array([0.0, np.nan, 1.0]), "nan for row 1; finite numbers are needed"),
        (lambda y, p: np.array([0.0, np.inf, 1.0]), "inf for row 1"),
        (lambda y, p: np.array(["a", "b", "c"]), "numbers are needed"),
        (lambda y, p: np.array([0.0, 2.0, 1.0]), "2 for row 1, outside its bounds 0 to 1"),
    ],
)
def test_wrong_values_are_refused_in_words(function, words):
    metric = row_metric(function, greater_is_better=True, name="f", bounds=(0, 1))
    with pytest.raises(MetricError, match=words):
        metric([0, 1, 1], [0, 1, 0])


def test_wrong_arguments_are_refused_in_words():
    with pytest.raises(MetricError, match="row_metric\\(function, greater_is_better="):
        get_metric(harm)
    with pytest.raises(MetricError, match="needs is one of"):
        row_metric(harm, greater_is_better=False, needs="labels")
    with pytest.raises(MetricError, match="needs a function"):
        row_metric("accuracy", greater_is_better=False)
    for bounds in ((1.0, 1.0), (0.0, np.inf)):
        with pytest.raises(MetricError, match="bounds are"):
            row_metric(harm, greater_is_better=False, bounds=bounds)
    with pytest.raises(TypeError, match="greater_is_better"):
        row_metric(harm)
