"""ReducedSVC: what it reaches, what its plan does on the way, and how it leaves the house."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.svm import SVC

from miserly import Costs, ReducedSVC
from miserly.learners.kernel.libsvm_files import read_libsvm
from miserly.plan import Kernel


def rings(n=600, seed=0, n_classes=2):
    """Classes by the distance from the middle."""
    X = np.random.default_rng(seed).normal(size=(n, 2))
    edges = np.quantile((X**2).sum(axis=1), np.arange(1, n_classes) / n_classes)
    return X, np.digitize((X**2).sum(axis=1), edges)


@pytest.mark.parametrize("n_classes", [2, 4])
def test_few_vectors_do_nearly_as_well_as_a_whole_svm(n_classes):
    X, y = rings(n_classes=n_classes)
    fresh, truth = rings(seed=1, n_classes=n_classes)
    noisy = np.random.default_rng(2).random(len(y)) < 0.1
    y = np.where(noisy, (y + 1) % n_classes, y)  # which makes many support vectors
    whole = SVC(C=10.0).fit(X, y)
    model = ReducedSVC(n_vectors=20, penalty=1e-4, random_state=0).fit(X, y)
    assert len(whole.support_) > 5 * model.n_vectors_
    assert model.score(fresh, truth) > whole.score(fresh, truth) - 0.03


def test_more_vectors_do_better():
    X, fresh = (np.random.default_rng(seed).random(size=(600, 2)) for seed in (0, 1))
    y, truth = (np.floor(4 * some).sum(axis=1) % 2 for some in (X, fresh))  # the squares of a board
    scores = [
        ReducedSVC(n_vectors=m, gamma=20.0, penalty=1e-4, random_state=0).fit(X, y).score(fresh, truth)
        for m in (4, 16, 64)
    ]
    assert scores[0] + 0.05 < scores[1] < scores[2]


def test_a_budget_pays_for_features_first_and_then_for_vectors():
    X, y = rings()
    costs = Costs([2.0, 3.0], evaluation=0.5)
    for budget, n_vectors in [(4.9, 0), (5.0, 0), (7.6, 5), (1000.0, 100)]:
        model = ReducedSVC(costs=costs, budget=budget, random_state=0).fit(X, y)
        assert model.n_vectors_ == n_vectors and model.cost_ <= budget
        assert len(model.plan_.terms) == n_vectors


def test_with_less_money_the_plan_answers_as_the_smaller_machine():
    X, y = rings()
    costs = Costs([1.0, 1.0], evaluation=1.0)
    large = ReducedSVC(n_vectors=20, costs=costs, random_state=0).fit(X, y)
    small = ReducedSVC(n_vectors=8, costs=costs, random_state=0).fit(X, y)
    np.testing.assert_allclose(large.decision_function(X, budget=10.0), small.decision_function(X))
    assert large.run(X, budget=11.0).cost.max() == 11.0  # the ninth kernel is paid, and of no use yet


@pytest.mark.parametrize("n_classes", [2, 4])
def test_machine_plan_and_libsvm_file_answer_alike(n_classes, tmp_path):
    X, y = rings(n_classes=n_classes)
    model = ReducedSVC(n_vectors=15, random_state=0).fit(X, 10 * y)
    np.testing.assert_array_equal(model.machine_.labels(X), model.predict(X))
    model.to_libsvm(tmp_path / "m")
    np.testing.assert_array_equal(read_libsvm(tmp_path / "m").labels(X), model.predict(X))
    if n_classes == 2:
        np.testing.assert_allclose(-model.machine_.decisions(X)[:, 0], model.decision_function(X))


def test_missing_values_stand_at_the_mean():
    X, y = rings()
    X[::7, 0] = np.nan
    model = ReducedSVC(n_vectors=10, random_state=0).fit(X, y)
    mean = np.nanmean(X[:, 0])
    np.testing.assert_allclose(
        model.decision_function([[np.nan, 0.3]]), model.decision_function([[mean, 0.3]])
    )
    term = model.plan_.terms[0]
    assert isinstance(term, Kernel) and term.fill is not None and term.fill[0] == pytest.approx(mean)


def test_gamma_is_that_of_svc():
    X, y = rings()
    model = ReducedSVC(n_vectors=3, random_state=0).fit(X, y)
    assert model.machine_.kernel.gamma == pytest.approx(SVC().fit(X, y)._gamma)
    assert ReducedSVC(n_vectors=3, gamma=0.3).fit(X, y).machine_.kernel.gamma == 0.3


def test_the_penalty_shrinks():
    X, y = rings()
    norms = [
        np.abs(ReducedSVC(n_vectors=10, penalty=p, random_state=0).fit(X, y).machine_.coef).sum()
        for p in (1e-5, 1e-1)
    ]
    assert norms[1] < norms[0] / 2
