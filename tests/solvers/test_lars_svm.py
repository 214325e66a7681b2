"""Which vectors are kept: LARS by the book, greedy by brute force."""

import numpy as np
from sklearn.linear_model import Lars
from sklearn.svm import SVC, SVR

from miserly.learners.kernel.svm_models import machine_of
from miserly.solvers.kernel_machine import KernelFunction
from miserly.solvers.lars_svm import candidates_of, greedy_order, lars_order


def ring(n=160, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 2))
    return X, ((X**2).sum(axis=1) > 1.4).astype(int)


def random():
    return np.random.default_rng(0)


def test_lars_takes_the_vectors_that_scikit_learns_lars_takes():
    """The objective written out as least squares on stacked rows: |y - b - K a|^2 + |root(K) a|^2."""
    machine = machine_of(SVC(C=0.5).fit(*ring()))
    V = machine.vectors
    K = machine.kernel(V, V)
    root = np.linalg.cholesky(K + 1e-10 * np.eye(len(K))).T
    target = np.concatenate([np.sign(machine.coef[0]) - machine.intercept[0], np.zeros(len(K))])
    lars = Lars(n_nonzero_coefs=12, fit_intercept=False, jitter=None).fit(np.vstack([K, root]), target)
    found = lars_order(machine, 6, np.arange(len(V)), random())
    assert found.tolist() == lars.active_[:6]


def test_greedy_choice_is_that_of_brute_force():
    rng = np.random.default_rng(0)
    rows, vectors = rng.normal(size=(60, 2)), rng.normal(size=(9, 2))
    wanted, kernel = rng.normal(size=(60, 3)), KernelFunction("rbf", 0.7)
    K = kernel(rows, vectors)
    chosen = []
    for _ in range(4):
        left = {}
        for j in set(range(9)) - set(chosen):
            Z = np.column_stack([K[:, [*chosen, j]], np.ones(60)])
            left[j] = np.linalg.lstsq(Z, wanted, rcond=None)[1].sum()
        chosen.append(min(left, key=left.get))
    assert greedy_order(kernel, vectors, 4, rows, wanted).tolist() == chosen


def test_there_are_as_many_as_asked_for_also_of_twins():
    X, y = ring()
    X, y = np.vstack([X, X[:40]]), np.concatenate([y, y[:40]])  # LARS passes over rows that are there twice
    machine = machine_of(SVC().fit(X, y))
    order = lars_order(machine, 50, candidates_of(machine, random()), random())
    assert len(order) == len(set(order.tolist())) == 50


def test_several_decisions_share_what_is_chosen():
    X = np.random.default_rng(0).normal(size=(200, 2))
    machine = machine_of(SVC().fit(X, np.digitize(X[:, 0] + X[:, 1], [-0.7, 0.7])))
    order = lars_order(machine, 12, candidates_of(machine, random()), random())
    assert len(set(order.tolist())) == 12
    assert (machine.coef[:, order] != 0).any(axis=1).all(), "a pair of classes has no vector of its own"


def test_regressors_have_an_order_too():
    X, _ = ring()
    machine = machine_of(SVR().fit(X, X[:, 0] ** 2))
    assert len(lars_order(machine, 7, candidates_of(machine, random()), random())) == 7
