from dataclasses import replace

import numpy as np
import pytest
from scipy.optimize import approx_fprime
from sklearn.linear_model import LogisticRegression

from miserly.solvers.tiered import (
    TieredProblem,
    and_or_loss,
    fit_answers,
    fit_stages,
    objective,
    soft_cascade_loss,
)

LOSSES = {"soft": soft_cascade_loss, "and-or": and_or_loss}
WIDTHS = np.array([2, 3, 4])
ALLOWED = np.array([[1, 1, 0, 0], [1, 1, 1, 0], [1, 1, 1, 1]], dtype=bool)
losses = pytest.mark.parametrize("loss", list(LOSSES))


def make(loss, price=(0.01, 0.05, 0.2), n=400, l2=1e-3, widths=WIDTHS):
    rng = np.random.default_rng(0)
    H = rng.normal(size=(n, 4))
    positive = (H[:, 0] > 0.3) & (H[:, 2] > 0) & (H[:, 3] > -1)
    weight = rng.gamma(2.0, size=n)
    share = weight * np.where(positive, 3.0, 1.0)
    return TieredProblem(
        H.T.copy(),
        positive,
        share / share.sum(),
        weight / weight.sum(),
        widths,
        np.array(price),
        LOSSES[loss],
        l2,
    )


@losses
def test_slopes_are_those_of_finite_differences(loss):
    problem = make(loss)
    x = np.random.default_rng(1).normal(size=int(ALLOWED.sum()) + 3) * 0.5
    slope = objective(problem, x)[1]
    by_differences = approx_fprime(x, lambda x: objective(problem, x)[0], 1e-7)
    np.testing.assert_allclose(slope, by_differences, rtol=1e-4, atol=1e-6)


def test_the_objective_is_loss_ridge_and_expected_price():
    problem = make("soft")
    x = np.random.default_rng(1).normal(size=int(ALLOWED.sum()) + 3)
    weights = np.zeros((3, 4))
    weights[ALLOWED] = x[:9]
    passing = 1 / (1 + np.exp(-(problem.columns.T @ weights.T + x[9:])))
    P = passing.prod(axis=1)
    loss = -np.log(np.where(problem.positive, P, 1 - P))
    bill = 0.01 + 0.05 * passing[:, 0] + 0.2 * passing[:, 0] * passing[:, 1]
    expected = problem.share @ loss + problem.mass @ bill + 0.5e-3 * (weights**2).sum()
    assert objective(problem, x)[0] == pytest.approx(expected)


def test_one_soft_stage_is_logistic_regression():
    problem = make("soft", price=(0.0,), widths=np.array([4]))
    found = fit_stages(problem)
    peer = LogisticRegression(C=1e3, tol=1e-10, max_iter=1000)
    peer.fit(problem.columns.T, problem.positive, sample_weight=problem.share)
    np.testing.assert_allclose(found.weights[0], peer.coef_[0], rtol=1e-3)
    assert found.intercept[0] == pytest.approx(peer.intercept_[0], rel=1e-3)


def test_positives_pay_the_worst_stage_and_negatives_the_product():
    scores = np.array([[2.0, 0.5, 0.0], [-1.0, 0.5, 0.0]])
    loss, _ = and_or_loss(scores, np.array([True, True, False]))
    assert loss.tolist() == [4.0, 0.25, 1.0]  # (1 + 1)^2, (1 - 0.5)^2, 1 * 1


@losses
def test_stages_that_are_not_worth_their_price_are_left_out(loss):
    sizes = [
        len(fit_stages(make(loss, price=np.array([0.001, 0.005, 0.02]) * factor)).intercept)
        for factor in (0.1, 30.0, 1e4)
    ]
    assert sizes[0] == 3 and sizes[2] == 0 and sizes[0] >= sizes[1] >= sizes[2]


@losses
def test_stages_use_only_the_columns_they_may(loss):
    found = fit_stages(make(loss, price=(0.0, 0.0, 0.0)))
    assert len(found.intercept) > 1
    assert [len(weights) for weights in found.weights] == WIDTHS[: len(found.intercept)].tolist()
    assert not found.table(4)[~ALLOWED[: len(found.intercept)]].any()


@losses
def test_a_stage_more_never_starts_by_losing_what_was_reached(loss):
    """From scores of 0 a new stage soon does better; a free one does not make things worse."""
    values = [fit_stages(make(loss, price=np.zeros(3)).first(n)).value for n in (1, 2, 3)]
    assert values[0] > 1.05 * values[1] > 1.05 * values[2]


def test_answers_are_logistic_regressions_of_the_rows_that_come_to_a_stage():
    problem = make("and-or")
    reached = np.vstack([np.ones(400, bool), problem.columns[0] > 0])
    found = fit_answers(problem, reached)
    for k, (rows, width) in enumerate(zip(reached, (2, 3), strict=True)):
        peer = LogisticRegression(C=1e3, tol=1e-10, max_iter=1000)
        peer.fit(problem.columns[:width, rows].T, problem.positive[rows], sample_weight=problem.share[rows])
        np.testing.assert_allclose(found.weights[k], peer.coef_[0], rtol=0.01)
        assert found.intercept[k] == pytest.approx(peer.intercept_[0], rel=0.01)


@losses
def test_single_precision_changes_little(loss):
    problem = make(loss)
    narrow = replace(problem, columns=problem.columns.astype(np.float32))
    assert fit_stages(narrow).value == pytest.approx(fit_stages(problem).value, rel=1e-3)
