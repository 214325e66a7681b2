"""Moving vectors: exact gradients, losses that fall, and what the margin leaves free."""

import numpy as np
import pytest

from miserly.solvers.kernel_machine import DecisionTarget, KernelFunction, SmallMachine
from miserly.solvers.moving_vectors import (
    _JointObjective,
    _ProjectedObjective,
    fit_coefficients,
    move_vectors,
)

KERNELS = [
    KernelFunction("linear"),
    KernelFunction("rbf", gamma=0.3),
    KernelFunction("poly", gamma=0.4, degree=3, coef0=0.7),
    KernelFunction("poly", gamma=0.4, degree=1, coef0=0.0),
    KernelFunction("sigmoid", gamma=0.2, coef0=-0.1),
]
every_kernel = pytest.mark.parametrize("kernel", KERNELS, ids=lambda kernel: f"{kernel.name}{kernel.degree}")


def table(n=40, d=3, n_decisions=2, m=4):
    rng = np.random.default_rng(0)
    rows, vectors = rng.normal(size=(n, d)), rng.normal(size=(m, d))
    return rows, vectors, 1.5 * rng.normal(size=(n, n_decisions)), rng.gamma(2.0, size=n)


def slope_of(function, point, step=1e-6):
    """The gradient by central differences."""
    steps = step * np.eye(len(point))
    return np.array([(function(point + s)[0] - function(point - s)[0]) / (2 * step) for s in steps])


@every_kernel
def test_kernels_are_those_of_scikit_learn(kernel):
    from sklearn.metrics.pairwise import pairwise_kernels

    rows, vectors, _, _ = table()
    given = {"gamma": kernel.gamma, "degree": kernel.degree, "coef0": kernel.coef0}
    given = {} if kernel.name == "linear" else given
    wanted = pairwise_kernels(rows, vectors, metric=kernel.name, filter_params=True, **given)
    np.testing.assert_allclose(kernel(rows, vectors), wanted, rtol=1e-12)
    np.testing.assert_allclose(kernel.with_slope(rows, vectors)[0], wanted, rtol=1e-12)


@every_kernel
@pytest.mark.parametrize("weighted", [False, True])
def test_gradient_with_coefficients_solved_out(kernel, weighted):
    rows, vectors, wanted, weight = table(m=2)  # fewer than features: those of a linear kernel matter too
    aim = DecisionTarget.squared(rows, wanted, weight if weighted else None)
    objective = _ProjectedObjective(kernel, aim, SmallMachine(vectors, np.zeros((2, 2)), np.zeros(2)))
    _, gradient = objective(objective.start)
    assert np.abs(gradient).max() > 1e-4
    np.testing.assert_allclose(gradient, slope_of(objective, objective.start), atol=1e-6)


@every_kernel
@pytest.mark.parametrize("moves", [True, False])
@pytest.mark.parametrize("margin", [True, False])
def test_gradient_of_vectors_and_coefficients_together(kernel, moves, margin):
    rows, vectors, wanted, weight = table()
    rng = np.random.default_rng(1)
    emphasis = rng.random(wanted.shape)
    aim = (
        DecisionTarget.margin(rows, wanted, weight, emphasis)
        if margin
        else DecisionTarget.squared(rows, wanted, weight)
    )
    start = SmallMachine(vectors, rng.normal(size=(4, 2)), rng.normal(size=2))
    objective = _JointObjective(kernel, aim, start, moves=moves)
    assert len(objective.start) == 5 * 2 + (12 if moves else 0)
    point = objective.start + 0.1 * rng.normal(size=len(objective.start))
    _, gradient = objective(point)
    assert np.abs(gradient).max() > 1e-3
    np.testing.assert_allclose(gradient, slope_of(objective, point), atol=1e-6)


def test_many_features_in_single_precision():
    """The error and its gradient are those of double precision, also far from the origin."""
    rows, vectors, wanted, weight = table(n=60, d=300, m=5)
    kernel, far = KernelFunction("rbf", gamma=1 / 300), 50.0
    aim = DecisionTarget.margin(rows + far, wanted, weight)
    start = SmallMachine(vectors + far, np.full((5, 2), 0.3), np.zeros(2))
    for objective in (_ProjectedObjective(kernel, aim, start), _JointObjective(kernel, aim, start)):
        assert objective.kernels.single
        loss, gradient = objective(objective.start)
        objective.kernels.single, objective.kernels.rows = False, aim.rows
        exact, slope = objective(objective.start)
        assert loss != exact and abs(loss - exact) < 1e-5 * exact
        assert np.abs(gradient - slope).max() < 1e-4 * np.abs(slope).max()


@every_kernel
def test_moving_lowers_the_loss_of_both_kinds(kernel):
    rows, vectors, _, _ = table(n=200)
    wanted = 3.0 * np.sin(rows[:, :1]) * rows[:, 1:2]
    for aim in (DecisionTarget.squared(rows, wanted), DecisionTarget.margin(rows, wanted)):
        stays = fit_coefficients(kernel, vectors, aim)
        moved = move_vectors(kernel, vectors, aim, max_iter=60)
        before, after = (aim.loss(kernel, small) for small in (stays, moved))
        if kernel.name == "linear" or kernel.degree == 1:  # vectors that span the space are as good as any
            assert after <= before * (1 + 1e-6)
        else:
            assert after < 0.9 * before


def test_coefficients_are_those_of_least_squares():
    """One vector, K = k(x, v): slope and mean by hand."""
    kernel = KernelFunction("linear")
    rows = np.array([[0.0], [1.0], [2.0]])
    small = fit_coefficients(
        kernel, np.array([[1.0]]), DecisionTarget.squared(rows, np.array([[1.0], [3.0], [5.0]]))
    )
    np.testing.assert_allclose(small.coef, [[2.0]], rtol=1e-7)
    np.testing.assert_allclose(small.intercept, [1.0], rtol=1e-7)


def test_beyond_the_margin_there_is_no_error():
    """Values 1 and 4 times the kernel: as squares no line of slope 1 fits, with the margin many do."""
    kernel = KernelFunction("linear")
    rows = np.array([[-4.0], [-0.5], [0.5], [1.0], [5.0]])
    wanted = np.array([[-9.0], [-0.5], [0.5], [1.0], [2.0]])
    vector = np.array([[1.0]])
    margin = fit_coefficients(kernel, vector, DecisionTarget.margin(rows, wanted))
    assert DecisionTarget.margin(rows, wanted).loss(kernel, margin) < 1e-8
    np.testing.assert_allclose(margin.coef, [[1.0]], atol=1e-3)
    squared = fit_coefficients(kernel, vector, DecisionTarget.squared(rows, wanted))
    assert abs(squared.coef[0, 0] - 1.0) > 0.1


def test_a_sum_of_kernels_is_found_again():
    """Four rows that decide like two vectors: two vectors are enough, wherever they start."""
    kernel = KernelFunction("rbf", gamma=0.5)
    rng = np.random.default_rng(0)
    rows, true = rng.normal(size=(300, 2)), np.array([[-1.0, 0.0], [1.0, 0.5]])
    wanted = kernel(rows, true) @ np.array([[2.0], [-1.0]])
    found = move_vectors(kernel, rows[:2], DecisionTarget.squared(rows, wanted), max_iter=300)
    order = found.vectors[:, 0].argsort()
    np.testing.assert_allclose(found.vectors[order], true, atol=1e-3)


def test_rows_held_out_stop_a_search_that_only_learns_noise():
    kernel = KernelFunction("rbf", gamma=2.0)
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(120, 2))
    wanted = rows[:, :1] + rng.normal(size=(120, 1))
    aim = DecisionTarget.squared(rows, wanted)
    learn, held_out = aim.take(np.arange(60)), aim.take(np.arange(60, 120))
    fitted = move_vectors(kernel, rows[:15], learn, max_iter=200)
    stopped = move_vectors(kernel, rows[:15], learn, validation=held_out, max_iter=200)
    assert held_out.loss(kernel, stopped) < held_out.loss(kernel, fitted)
    assert learn.loss(kernel, stopped) > learn.loss(kernel, fitted)


def test_progress_is_reported_in_words():
    rows, vectors, wanted, _ = table()
    messages = []
    move_vectors(
        KERNELS[1], vectors, DecisionTarget.squared(rows, wanted), max_iter=30, watch=messages.append
    )
    assert len(messages) > 2 and messages[0].startswith("4 vectors, error ")


def test_no_vectors_answer_the_mean():
    rows, _, wanted, _ = table()
    small = fit_coefficients(KERNELS[1], rows[:0], DecisionTarget.squared(rows, wanted))
    np.testing.assert_allclose(small.intercept, wanted.mean(axis=0))


def test_the_search_goes_on_with_other_rows():
    """What is right on some rows only is unlearned on others."""
    rng = np.random.default_rng(0)
    kernel = KernelFunction("rbf", gamma=0.5)
    centres = rng.normal(size=(30, 2))
    coef = rng.normal(size=(30, 1))
    drawn = []

    def more():
        rows = rng.normal(size=(60, 2))
        drawn.append(rows)
        return DecisionTarget.squared(rows, kernel(rows, centres) @ coef)

    aim = more()
    held_out = DecisionTarget.squared(rows := rng.normal(size=(2000, 2)), kernel(rows, centres) @ coef)
    same, others = (move_vectors(kernel, centres[:8], aim, more=m, max_iter=100) for m in (None, more))
    assert len(drawn) == 4, "one for every 25 steps"
    assert held_out.loss(kernel, others) < held_out.loss(kernel, same)
