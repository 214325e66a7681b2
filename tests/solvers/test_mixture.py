"""Class-conditional mixtures, and the order of columns that separate classes."""

from __future__ import annotations

import numpy as np
import pytest

from miserly.solvers.mixture import discriminant_order, fit_mixture


def two_classes(n=4000, seed=0):
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 2, n)
    return rng.normal(size=(n, 2)) @ [[1.0, 0.6], [0.0, 0.8]] + y[:, None] * [1.0, -1.0], y


def test_one_component_is_the_gaussian_of_the_class():
    X, y = two_classes()
    found = fit_mixture(X, y, 1, shrinkage=0.0)
    for k in (0, 1):
        np.testing.assert_allclose(found.mean[k], X[y == k].mean(axis=0))
        np.testing.assert_allclose(found.covariance[k], np.cov(X[y == k].T, bias=True))
    np.testing.assert_allclose(found.weight, np.bincount(y) / len(y))


def test_components_find_the_clusters_of_a_class():
    rng = np.random.default_rng(0)
    y = np.arange(2000) % 2
    X = rng.normal(size=(2000, 1)) * 0.1 + np.where(y == 1, 0.0, rng.choice([-3.0, 3.0], 2000))[:, None]
    found = fit_mixture(X, y, 2)
    assert np.sort(found.mean[found.label == 0].ravel()) == pytest.approx([-3.0, 3.0], abs=0.05)
    assert found.weight.sum() == pytest.approx(1.0)


def test_shrinkage_goes_to_the_class_and_to_all_classes():
    X, y = two_classes(n=200)
    plain, some, much = (fit_mixture(X, y, 1, shrinkage=value).covariance for value in (0.0, 5.0, 1e9))
    apart = [np.abs(one[0] - one[1]).max() for one in (plain, some, much)]
    assert apart[0] > apart[1] > apart[2] == pytest.approx(0.0, abs=1e-6)


def test_the_scale_of_weights_has_no_effect_and_weights_count():
    X, y = two_classes(n=400)
    weight = np.random.default_rng(1).integers(1, 4, len(y)).astype(float)
    one, tripled = (fit_mixture(X, y, 1, weight=factor * weight) for factor in (1.0, 3.0))
    for a, b in zip(one, tripled, strict=True):
        np.testing.assert_allclose(a, b, atol=1e-12)
    repeated = np.repeat(np.arange(len(y)), weight.astype(int))
    again = fit_mixture(X[repeated], y[repeated], 1, shrinkage=0.0)
    np.testing.assert_allclose(
        fit_mixture(X, y, 1, weight=weight, shrinkage=0.0).covariance, again.covariance
    )


def test_missing_values_leave_the_means_of_a_class():
    X, y = two_classes()
    holes = np.where(np.random.default_rng(2).random(X.shape) < 0.2, np.nan, X)
    np.testing.assert_allclose(fit_mixture(holes, y, 1).mean, fit_mixture(X, y, 1).mean, atol=0.1)


def test_the_order_ends_when_nothing_is_taken():
    X, y = two_classes()
    assert discriminant_order(X, y, 5, lambda gain: np.zeros(0, dtype=np.int64)) == []
