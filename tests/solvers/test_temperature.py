"""The slope of another model's scores: the minimum of the stated objective, found by slow references."""

import numpy as np
import pytest
from scipy.optimize import approx_fprime, minimize
from scipy.special import log_softmax
from sklearn.linear_model import LogisticRegression

from miserly.solvers.temperature import VARIANCE, class_slope, score_line

rng = np.random.default_rng(0)
N, K = 300, 5
Y = rng.integers(0, K, N)
SCORES = 3.0 * rng.normal(size=(N, K)) + 4.0 * np.eye(K)[Y] + 10.0
WEIGHT = rng.gamma(2.0, size=N)
WEIGHT /= WEIGHT.mean()


def objective(slope, scores, y, weight):
    """As in the module: written again, row by row."""
    total, deviation = 0.0, 0.0
    for x, k, m in zip(scores, y, weight, strict=True):
        total -= m * log_softmax(slope * x)[k]
        deviation += m * np.var(x)
    n = len(y)
    return total / n + slope**2 * (deviation / n) / (2 * VARIANCE * n)


@pytest.mark.parametrize("weight", [None, WEIGHT], ids=["no weights", "weights"])
def test_the_slope_is_the_minimum_of_the_objective(weight):
    slope = class_slope(SCORES, Y, weight)
    given = (SCORES, Y, np.ones(N) if weight is None else weight)
    wanted = minimize(lambda a: objective(a[0], *given), [0.0], method="Nelder-Mead", tol=1e-12).x[0]
    assert slope == pytest.approx(wanted, rel=1e-5) and slope > 0.1
    gradient = approx_fprime([slope], lambda a: objective(a[0], *given), 1e-6)
    assert abs(gradient[0]) < 1e-5


def test_weights_change_the_slope():
    assert class_slope(SCORES, Y, WEIGHT) != pytest.approx(class_slope(SCORES, Y), rel=1e-3)


@pytest.mark.parametrize("weight", [None, WEIGHT], ids=["no weights", "weights"])
def test_the_line_of_two_classes_is_a_logistic_regression(weight):
    x, y = SCORES[:, 0], (Y == 0).astype(int)
    slope, intercept = score_line(x, y, weight)
    mean = np.average(x, weights=weight)
    spread = np.sqrt(np.average((x - mean) ** 2, weights=weight))
    peer = LogisticRegression(C=VARIANCE, tol=1e-12, max_iter=10_000)
    peer.fit(((x - mean) / spread)[:, None], y, sample_weight=weight)
    assert slope == pytest.approx(peer.coef_[0, 0] / spread, rel=1e-6)
    assert intercept == pytest.approx(peer.intercept_[0] - slope * mean, rel=1e-6)


def test_two_columns_and_one_difference_give_the_same_slope_without_an_intercept():
    """Softmax of two scores is the logistic function of their difference; both classes are alike here."""
    x = rng.normal(size=200)
    x, y = np.concatenate([x, -x]), np.concatenate([np.ones(200, int), np.zeros(200, int)])
    slope, intercept = score_line(x, y)
    # Within a row (0, x) the standard deviation is |x| / 2, so the penalty is a quarter: too little to see.
    assert class_slope(np.column_stack([np.zeros(400), x]), y) == pytest.approx(slope, rel=1e-2)
    assert intercept == pytest.approx(0.0, abs=1e-9)


@pytest.mark.parametrize("factor", [1e-6, 10.0, 1e6])
def test_scores_in_another_unit_give_the_same_probabilities(factor):
    assert factor * class_slope(factor * SCORES, Y) == pytest.approx(class_slope(SCORES, Y), rel=1e-6)
    slope, intercept = score_line(SCORES[:, 0], (Y == 0).astype(int))
    other, same = score_line(factor * SCORES[:, 0], (Y == 0).astype(int))
    assert (factor * other, same) == pytest.approx((slope, intercept), rel=1e-6)


def test_a_model_that_is_always_right_has_a_finite_slope():
    slope = class_slope(np.eye(3)[np.tile([0, 1, 2], 50)], np.tile([0, 1, 2], 50))
    assert 5.0 < slope < 100.0
    slope, _ = score_line(np.tile([0.0, 1.0], 50), np.tile([0, 1], 50))
    assert 5.0 < slope < 100.0


def test_a_model_that_is_always_wrong_has_a_negative_slope():
    assert class_slope(-SCORES, Y) == pytest.approx(-class_slope(SCORES, Y))


def test_scores_that_say_nothing_have_no_slope():
    assert class_slope(np.full((6, 3), 7.0), np.tile([0, 1, 2], 2)) == 0.0
    slope, intercept = score_line(np.full(4, 7.0), np.array([1, 1, 1, 0]))
    assert slope == 0.0 and intercept == pytest.approx(np.log(3.0))
