"""Squared-hinge SVMs against scikit-learn's, and derivatives of the outer loss against differences."""

import numpy as np
import pytest
from sklearn.svm import LinearSVC

from miserly.solvers.margin import Margin, outer_loss, outer_slopes

SLOPE = 5.0


def rows(seed, n=120, size=4, weighted=True):
    rng = np.random.default_rng(seed)
    columns = rng.normal(size=(size, n)) * rng.uniform(0.3, 2.0, size=(size, 1))
    sign = np.where(columns[0] - 0.5 * columns[-1] + rng.normal(size=n) > 0.3, 1.0, -1.0)
    weight = rng.gamma(2.0, size=n) if weighted else np.ones(n)
    return columns, sign, weight


def solved(columns, sign, weight, C=1.0, prior=None):
    svm = Margin(sign, weight, C)
    if prior is not None:
        svm.prior = prior
    svm.solve(columns)
    return svm


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("C", [0.01, 1.0, 50.0])
@pytest.mark.parametrize("weighted", [False, True])
def test_the_svm_is_that_of_scikit_learn(seed, C, weighted):
    columns, sign, weight = rows(seed, weighted=weighted)
    svm = solved(columns, sign, weight, C)
    # liblinear's loss has no half, and it shrinks the bias unless its column is large.
    peer = LinearSVC(loss="squared_hinge", C=C / 2, intercept_scaling=1e3, tol=1e-10, max_iter=200_000)
    peer.fit(columns.T, sign, sample_weight=weight)
    np.testing.assert_allclose(svm.w, peer.coef_[0], rtol=1e-4, atol=1e-5)
    np.testing.assert_allclose(svm.b, peer.intercept_[0], rtol=1e-3, atol=1e-4)
    decision = peer.decision_function(columns.T)
    assert svm.objective() <= svm._objective(peer.coef_[0], decision) * (1 + 1e-12)


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("scale", [1e-3, 1.0, 1e3])
def test_the_solution_has_no_slope(seed, scale):
    columns, sign, weight = rows(seed)
    svm = solved(scale * columns, sign, weight, C=3.0)
    short = weight * sign * np.maximum(0.0, 1.0 - sign * svm.decision)
    size = 1.0 + np.abs(svm.w).max()
    np.testing.assert_allclose((svm.w - 3.0 * scale * columns @ short) / size, 0.0, atol=1e-8 * max(1, scale))
    assert abs(short.sum()) < 1e-8


def test_rows_far_on_the_wrong_side_need_the_line_search():
    rng = np.random.default_rng(0)
    columns = np.concatenate([rng.normal(size=30), [200.0, 300.0, -250.0]])[None]
    sign = np.where(columns[0] > 0, 1.0, -1.0)
    sign[-3:] *= -1.0
    svm = solved(columns, sign, np.ones(33), C=100.0)
    short = sign * np.maximum(0.0, 1.0 - sign * svm.decision)
    np.testing.assert_allclose(svm.w, 100.0 * columns @ short, rtol=1e-6)


def test_solving_again_after_changes_is_solving_afresh():
    columns, sign, weight = rows(1, n=400, size=12)
    rng = np.random.default_rng(2)
    svm = solved(columns[:8], sign, weight)
    for turn in range(30):
        s = turn % 8
        columns[s] += 0.2 * rng.normal(size=400)
        svm.C *= 1.1
        size = 8 + turn // 10
        svm.solve(columns[:size], [s])
        fresh = solved(columns[:size], sign, weight, svm.C)
        np.testing.assert_allclose(svm.w, fresh.w, rtol=1e-9, atol=1e-10)
        np.testing.assert_allclose(svm.b, fresh.b, rtol=1e-9, atol=1e-10)
        np.testing.assert_allclose(svm.decision, svm.w @ columns[:size] + svm.b, atol=1e-10)


def test_rows_of_double_weight_are_two_rows():
    columns, sign, _ = rows(3)
    twice = np.arange(len(sign)) % 3 == 0
    one = solved(columns, sign, 1.0 + twice)
    two = solved(
        np.hstack([columns, columns[:, twice]]),
        np.append(sign, sign[twice]),
        np.ones(len(sign) + twice.sum()),
    )
    np.testing.assert_allclose([*one.w, one.b], [*two.w, two.b], rtol=1e-9)


def test_a_constant_representation_gives_the_bias_alone():
    columns, sign, weight = rows(4)
    svm = solved(np.zeros_like(columns), sign, weight)
    assert not svm.w.any()
    assert svm.b == pytest.approx(np.average(sign, weights=weight))


def test_separable_rows_with_a_large_C_end():
    x = np.array([[-2.0, -1.5, 1.5, 2.0]])
    svm = solved(x, np.sign(x[0]), np.ones(4), C=1e8)
    assert svm.w[0] == pytest.approx(1 / 1.5, rel=1e-6) and abs(svm.b) < 1e-6


def test_weights_shrink_to_the_prior():
    columns, sign, weight = rows(7)
    prior = np.array([0.5, -1.0, 0.0, 2.0])
    np.testing.assert_allclose(solved(columns, sign, weight, 1e-9, prior).w, prior, atol=1e-6)
    svm = solved(columns, sign, weight, 2.0, prior)
    short = weight * sign * np.maximum(0.0, 1.0 - sign * svm.decision)
    np.testing.assert_allclose(svm.w - prior, 2.0 * columns @ short, atol=1e-9)


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("C", [0.05, 1.0, 20.0])
@pytest.mark.parametrize("prior", [None, np.array([0.3, -0.2, 1.0])], ids=["zero", "prior"])
def test_derivatives_are_those_of_differences(seed, C, prior):
    columns, sign, weight = rows(seed, n=60, size=3)
    outer, outer_sign, outer_weight = rows(seed + 100, n=40, size=3)

    def loss(inner, other, C):
        svm = solved(inner, sign, weight, C, prior)
        return outer_loss(outer_sign, outer_weight, svm.w @ other + svm.b, SLOPE)

    def difference(inner, other, step):
        plus, minus = (loss(inner[k], other[k], C) for k in (0, 1))
        return (plus - minus) / (2 * step)

    slopes = outer_slopes(
        solved(columns, sign, weight, C, prior), columns, outer, outer_sign, outer_weight, SLOPE
    )
    assert slopes.loss == pytest.approx(loss(columns, outer, C), rel=1e-12)
    step = 1e-6
    by_C = (loss(columns, outer, C * (1 + step)) - loss(columns, outer, C * (1 - step))) / (2 * step * C)
    assert slopes.by_C == pytest.approx(by_C, abs=1e-6)
    for s in range(3):
        inner, other = slopes.of(s)
        for values, found in ((columns, inner), (outer, other)):
            for i in range(values.shape[1]):
                moved = np.zeros_like(values)
                moved[s, i] = step
                sides = (values + moved, values - moved)
                fixed = (outer, outer) if values is columns else (columns, columns)
                pair = (sides, fixed) if values is columns else (fixed, sides)
                assert found[i] == pytest.approx(difference(*pair, step), abs=1e-6)


def test_rows_outside_the_support_do_not_matter_to_it():
    columns, sign, weight = rows(5)
    svm = solved(columns, sign, weight)
    outside = np.flatnonzero(sign * svm.decision > 1.05)
    assert len(outside) > 3
    slopes = outer_slopes(svm, columns, *rows(6)[:1], *rows(6)[1:], SLOPE)
    assert not slopes.of(0)[0][outside].any()
    columns[:, outside] *= 1.001
    again = solved(columns, sign, weight)
    np.testing.assert_allclose(again.w, svm.w, rtol=1e-12)
