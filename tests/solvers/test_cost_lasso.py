import numpy as np
import pytest
from scipy.optimize import minimize
from sklearn.linear_model import Lasso, LinearRegression, LogisticRegression

from miserly.losses import Logistic, Multinomial, Squared
from miserly.solvers.cost_lasso import LassoWeights, Penalty, cost_lasso, refit

SQUARED, LOGISTIC, SOFTMAX = Squared(), Logistic(), Multinomial(3)
COSTS = np.array([1.0, 5.0, 0.0, 2.0, 0.5, 3.0])
GROUP = np.array([-1, 0, -1, 1, 0, 1])
OVERLAPPING = np.array([[-1, -1], [0, 1], [-1, -1], [0, 1], [0, -1], [1, -1]])
NO_GROUP = np.full(6, -1)


def name_of(loss):
    return type(loss).__name__


@pytest.fixture(scope="module")
def rows():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(120, 6)) @ (np.eye(6) + 0.3)
    X = (X - X.mean(axis=0)) / X.std(axis=0)
    signal = X @ [1.0, 2.0, 0.1, -1.0, 0.0, 0.3]
    return X, signal + rng.normal(size=120), rng.gamma(2.0, size=120)


def labels(rows, n_classes):
    return np.digitize(rows[1], np.quantile(rows[1], np.arange(1, n_classes) / n_classes)).astype(float)


def target(rows, loss):
    return rows[1] if loss is SQUARED else labels(rows, max(2, loss.n_scores))


def objective(rows, penalty, loss, found):
    X, _, weight = rows
    scores = X @ found.weights + found.intercept
    return loss.loss(target(rows, loss), scores, weight) + penalty.value(found.weights)


def test_without_groups_it_is_the_lasso_of_columns_divided_by_their_costs(rows):
    X, y, _ = rows
    costs = np.maximum(COSTS, 0.4)
    found = cost_lasso(X, y, Penalty(0.05 * costs, NO_GROUP, np.zeros(0)), tolerance=1e-12)
    peer = Lasso(alpha=0.05, tol=1e-12).fit(X / costs, y)
    np.testing.assert_allclose(found.weights[:, 0], peer.coef_ / costs, atol=1e-8)
    assert found.intercept[0] == pytest.approx(peer.intercept_)
    assert 0 < len(found.chosen) < 6


def test_two_classes_without_groups_are_penalised_logistic_regression(rows):
    X, _, weight = rows
    y, costs = labels(rows, 2), np.maximum(COSTS, 0.4)
    found = cost_lasso(
        X, y, Penalty(0.02 * costs, NO_GROUP, np.zeros(0)), loss=LOGISTIC, weight=weight, tolerance=1e-12
    )
    inverse = 1.0 / (0.02 * weight.sum())
    peer = LogisticRegression(C=inverse, l1_ratio=1.0, solver="saga", tol=1e-8, max_iter=10_000)
    peer.fit(X / costs, y, sample_weight=weight)
    np.testing.assert_allclose(found.weights[:, 0], peer.coef_[0] / costs, atol=1e-5)
    assert found.intercept[0] == pytest.approx(peer.intercept_[0], abs=1e-5)


@pytest.mark.parametrize("loss", [SQUARED, LOGISTIC, SOFTMAX], ids=name_of)
@pytest.mark.parametrize(("tradeoff", "group"), [(0.003, GROUP), (0.03, GROUP), (0.01, OVERLAPPING)])
def test_with_groups_no_smooth_relaxation_finds_a_lower_objective(rows, loss, tradeoff, group):
    """Norms with rounded corners, minimised by a method that knows nothing of proximal steps."""
    X, _, weight = rows
    penalty = Penalty(COSTS, group, np.array([4.0, 1.0])).times(tradeoff)
    found = cost_lasso(X, target(rows, loss), penalty, loss=loss, weight=weight, tolerance=1e-12)
    ours = objective(rows, penalty, loss, found)
    n_scores = found.weights.shape[1]

    def rounded(flat):
        here = LassoWeights(flat[: 6 * n_scores].reshape(6, n_scores), flat[6 * n_scores :])
        square = (here.weights**2).sum(axis=1)
        groups = [square[members].sum() for members in penalty.members]
        corner = penalty.each @ np.sqrt(square + 1e-12) + penalty.setup @ np.sqrt(np.add(groups, 1e-12))
        scores = X @ here.weights + here.intercept
        return loss.loss(target(rows, loss), scores, weight) + corner

    start = np.append(found.weights.ravel() * 0.9 + 0.01, found.intercept)
    assert ours <= minimize(rounded, start, method="L-BFGS-B").fun + 1e-6
    assert 2 in found.chosen  # what is free is not penalised


def test_a_set_up_is_saved_by_leaving_out_the_whole_group(rows):
    X, y, _ = rows
    chosen = [
        cost_lasso(X, y, Penalty(0.01 * COSTS, GROUP, np.array([setup, 0.0]))).chosen.tolist()
        for setup in (0.0, 5.0)
    ]
    assert 1 in chosen[0] and not {1, 4} & set(chosen[1])


def test_classes_share_what_is_bought(rows):
    found = cost_lasso(rows[0], labels(rows, 3), Penalty(0.03 * COSTS, NO_GROUP, np.zeros(0)), loss=SOFTMAX)
    used = found.weights != 0.0
    assert (used.all(axis=1) == used.any(axis=1)).all() and 0 < used.any(axis=1).sum() < 6


def test_a_fit_started_from_another_tradeoff_gives_what_a_single_fit_gives(rows):
    X, y, _ = rows
    penalty, tradeoffs = Penalty(COSTS, GROUP, np.array([4.0, 1.0])), np.geomspace(3.0, 1e-3, 6)
    path = [None]
    for tradeoff in tradeoffs:
        found = cost_lasso(X, y, penalty.times(tradeoff), start=path[-1], tolerance=1e-11)
        path.append(found)
        alone = cost_lasso(X, y, penalty.times(tradeoff), tolerance=1e-11)
        np.testing.assert_allclose(found.weights, alone.weights, atol=1e-7)
    sizes = [len(found.chosen) for found in path[1:]]
    assert sizes[0] == 1 and sizes[-1] == 6  # at first the free column alone


def test_refitting_is_plain_regression_on_the_columns_chosen(rows):
    X, y, weight = rows
    found = cost_lasso(X, y, Penalty(0.05 * COSTS, NO_GROUP, np.zeros(0)), weight=weight)
    fitted = refit(X, y, found, weight=weight)
    peer = LinearRegression().fit(X[:, found.chosen], y, sample_weight=weight)
    np.testing.assert_allclose(fitted.weights[found.chosen, 0], peer.coef_)
    np.testing.assert_array_equal(fitted.chosen, found.chosen)


@pytest.mark.parametrize("loss", [LOGISTIC, SOFTMAX], ids=name_of)
def test_refitting_lowers_the_loss_also_where_classes_are_separable(rows, loss):
    X, _, weight = rows
    y = target(rows, loss)
    X = np.column_stack([X[:, :5], y])
    found = cost_lasso(X, y, Penalty(0.02 * COSTS, NO_GROUP, np.zeros(0)), loss=loss, weight=weight)
    fitted = refit(X, y, found, loss=loss, weight=weight)
    before, after = (loss.loss(y, X @ one.weights + one.intercept, weight) for one in (found, fitted))
    assert after < 0.5 * before and np.isfinite(fitted.weights).all()
