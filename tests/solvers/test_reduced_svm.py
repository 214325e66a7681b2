"""Reduced-SVM: each fit is the minimum of its objective, and growing lowers it."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from scipy.optimize import minimize

from miserly.solvers.kernel_machine import KernelFunction
from miserly.solvers.reduced_svm import _Growth, _stops, reduced_svm

PENALTY = 0.02


def rows(n=80, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 2))
    inner = (X**2).sum(axis=1) + 0.3 * rng.normal(size=n)
    return X, np.column_stack([np.where(inner < 1.4, 1.0, -1.0), np.where(X[:, 0] > 0, 1.0, -1.0)])


def objective(X, targets, kernel, chosen, coef, intercept, weight):
    values = kernel(X, X[chosen])
    short = np.maximum(0.0, 1.0 - targets * (values @ coef.T + intercept))
    norm = sum(row @ kernel(X[chosen], X[chosen]) @ row for row in coef)
    return 0.5 * (PENALTY * norm + np.average((short**2).sum(axis=1), weights=weight))


@pytest.mark.parametrize(
    "kernel", [KernelFunction("rbf", 0.7), KernelFunction("poly", 0.5, 2, 1.0), KernelFunction("linear")]
)
@pytest.mark.parametrize("weighted", [False, True])
def test_every_fit_is_the_minimum_of_its_objective(kernel, weighted):
    X, targets = rows()
    weight = np.random.default_rng(1).gamma(2.0, size=len(X)) if weighted else None
    chosen, snapshots = reduced_svm(
        X, targets, kernel, 9, penalty=PENALTY, weight=weight, random=np.random.default_rng(2)
    )
    for snapshot in snapshots:
        some = chosen[: snapshot.size]

        def loss(at, some=some):
            coef, intercept = at[:-2].reshape(2, -1), at[-2:]
            return objective(X, targets, kernel, some, coef, intercept, weight)

        start = np.concatenate([snapshot.coef.ravel(), snapshot.intercept])
        assert snapshot.objective == pytest.approx(loss(start), rel=1e-6)
        assert loss(start) <= minimize(loss, 0.0 * start, tol=1e-12).fun * (1 + 1e-6)


def test_the_objective_falls_as_vectors_join():
    X, targets = rows(200)
    _, snapshots = reduced_svm(
        X, targets, KernelFunction("rbf", 0.7), 40, penalty=1e-3, random=np.random.default_rng(0)
    )
    values = [snapshot.objective for snapshot in snapshots]
    assert all(later < before for before, later in pairwise(values))
    assert snapshots[-1].size == 40


def test_the_vector_that_joins_would_lower_the_objective_most_by_itself():
    """A step along one coefficient, measured, against what slope and curvature predict."""
    X, targets = rows(60)
    kernel = KernelFunction("rbf", 0.7)
    growth = _Growth(X, targets, kernel, PENALTY, None)
    growth.fit()
    growth.add(3)
    before = growth.fit()
    candidates = np.arange(10, 40)
    drop = []
    for row in candidates:
        best = 0.0
        for k in range(2):
            coef = np.column_stack([before.coef[k], 0.0])

            def along(step, k=k, row=row, coef=coef):
                both = np.array([[coef[0, 0], step[0]]])
                return objective(X, targets[:, [k]], kernel, [3, row], both, before.intercept[[k]], None)

            best += along([0.0]) - minimize(along, [0.0], tol=1e-12).fun
        drop.append(best)
    chosen = growth.best(candidates)
    assert drop[chosen] >= 0.95 * max(drop)  # by one Newton step; rows may pass the margin on the way
    assert drop[chosen] > 1.5 * np.median(drop)


def test_equal_rows_and_kernels_that_are_not_positive_do_no_harm():
    X, targets = rows(30)
    X, targets = np.vstack([X, X]), np.vstack([targets, targets])
    for kernel in (KernelFunction("rbf", 0.7), KernelFunction("sigmoid", 2.0, coef0=-1.0)):
        _, snapshots = reduced_svm(X, targets, kernel, 60, penalty=1e-4, random=np.random.default_rng(0))
        assert all(np.isfinite(snapshot.coef).all() for snapshot in snapshots)
        assert snapshots[-1].objective <= snapshots[0].objective


def test_only_candidates_join_and_each_once():
    X, targets = rows(50)
    candidates = np.array([4, 8, 15, 16, 23, 42])
    chosen, _ = reduced_svm(
        X,
        targets,
        KernelFunction(),
        20,
        penalty=PENALTY,
        candidates=candidates,
        random=np.random.default_rng(0),
    )
    assert sorted(chosen.tolist()) == candidates.tolist()


def test_sizes_of_fits_are_powers_of_two_and_no_more_than_a_tenth_apart():
    stops = sorted(_stops(300))
    assert {0, 1, 2, 4, 8, 16, 32, 64, 128, 256, 300} <= set(stops)
    assert all(b <= max(a + 1, 1.1 * a) for a, b in pairwise(stops))
    assert stops[-1] == 300 and len(stops) < 60
