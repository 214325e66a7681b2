"""Compressed machines: small ones that answer as the full ones do."""

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.decomposition import PCA
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import MaxAbsScaler, MinMaxScaler, RobustScaler, StandardScaler
from sklearn.svm import SVC, SVR, NuSVC, OneClassSVM
from sklearn.utils.estimator_checks import parametrize_with_checks

from miserly import CompressedOneClassSVM, CompressedSVC, CompressedSVR, Costs, compress, load
from miserly.datasets import make_ring
from miserly.errors import DataError
from miserly.learners.kernel.libsvm_files import read_libsvm
from miserly.learners.kernel.svm_models import machine_of
from miserly.plan.store.format import dumps, loads

KERNELS = ["rbf", "poly", "sigmoid", "linear"]


def rows(n=500, seed=0, n_classes=2):
    """A circle cut into as many rings as there are classes."""
    X = np.random.default_rng(seed).normal(size=(n, 2))
    edges = np.linspace(0.9, 1.9, n_classes - 1) if n_classes > 2 else [1.2]
    return X, np.array(["a", "b", "c", "d"])[np.digitize(np.linalg.norm(X, axis=1), edges)]


def agreement(one, other, X):
    return (one.predict(X) == other.predict(X)).mean()


# -- how small ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(3))
def test_eight_vectors_trace_the_ring(seed):
    """Fig. 4.2 of the thesis: with 3 % of the vectors, 99 % of the answers are those of the full machine."""
    ring, fresh = make_ring(random_state=seed), make_ring(2000, random_state=seed + 100)
    svc = SVC(C=0.05, gamma=0.2).fit(ring.X, ring.y)
    assert 150 < len(svc.support_) < 350
    small = CompressedSVC(svc, n_vectors=8, random_state=0).fit(ring.X, ring.y)
    assert small.n_vectors_ == 8 and small.n_vectors_before_ == len(svc.support_)
    assert agreement(small, svc, fresh.X) >= 0.99


@pytest.mark.parametrize("kernel", KERNELS)
def test_every_kernel(kernel):
    X, y = rows()
    y = np.where(X[:, 0] + X[:, 1] > 0.3, "a", "b") if kernel in ("sigmoid", "linear") else y
    svc = SVC(kernel=kernel, gamma=0.5, degree=2, coef0=0.5 if kernel == "poly" else 0.0).fit(X, y)
    small = CompressedSVC(svc, n_vectors=4, random_state=0).fit(X, y)
    assert small.n_vectors_ <= 4 < len(svc.support_)
    assert agreement(small, svc, rows(seed=1)[0]) > 0.97


def test_several_classes_share_their_vectors():
    X, y = rows(800, n_classes=4)
    svc = SVC(C=10.0).fit(X, y)
    small = CompressedSVC(svc, n_vectors=20, random_state=0).fit(X, y)
    assert (small.machine_.coef != 0).all() and small.machine_.coef.shape == (6, 20)
    assert agreement(small, svc, rows(seed=1, n_classes=4)[0]) > 0.95
    run = (
        CompressedSVC(svc, n_vectors=20, costs=Costs([0, 0], evaluation=1.0), random_state=0).fit(X, y).run(X)
    )
    assert (run.cost == 20).all(), "each vector is evaluated once, whatever the number of pairs"


def test_moving_does_better_than_choosing_alone():
    X, y = rows()
    svc = SVC().fit(X, y)
    fresh = rows(3000, seed=1)[0]
    shares = [
        agreement(CompressedSVC(svc, n_vectors=5, move=move, random_state=0).fit(X, y), svc, fresh)
        for move in (True, False)
    ]
    assert shares[0] > shares[1] + 0.02
    assert CompressedSVC(svc, n_vectors=5, move=False).fit(X, y).n_iter_ == 0


def test_vectors_not_moved_are_support_vectors():
    X, y = rows()
    svc = SVC().fit(X, y)
    for start in ("lars", "omp", "random"):
        kept = CompressedSVC(svc, n_vectors=6, start=start, move=False, random_state=0).fit(X, y)
        known = {vector.tobytes() for vector in svc.support_vectors_}
        assert all(vector.tobytes() in known for vector in kept.machine_.vectors)


def test_starts_and_losses_are_different():
    X, y = rows()
    svc = SVC().fit(X, y)
    given = [{"start": "lars"}, {"start": "omp"}, {"start": "random"}, {"loss": "squared"}]
    made = [CompressedSVC(svc, n_vectors=5, random_state=0, **one).fit(X, y).machine_ for one in given]
    assert len({machine.coef.tobytes() for machine in made}) == 4


# -- sizes ---------------------------------------------------------------------------------------------------


def test_sizes_as_number_ratio_and_budget():
    X, y = rows()
    svc = SVC().fit(X, y)
    costs = Costs([1.0, 2.0], evaluation=0.5)
    n = len(svc.support_)
    assert CompressedSVC(svc).fit(X, y).n_vectors_ == round(0.1 * n)
    assert CompressedSVC(svc, ratio=0.05).fit(X, y).n_vectors_ == round(0.05 * n)
    small = CompressedSVC(svc, budget=6.6, costs=costs).fit(X, y)
    assert small.n_vectors_ == 7 and small.cost_ == 6.5
    assert CompressedSVC(svc, ratio=0.02, budget=90.0, costs=costs).fit(X, y).n_vectors_ == round(0.02 * n)
    assert CompressedSVC(svc, budget=2.9, costs=costs).fit(X, y).n_vectors_ == 0
    with pytest.raises(DataError, match="not both"):
        CompressedSVC(svc, n_vectors=3, ratio=0.1).fit(X, y)


def test_with_room_for_all_vectors_nothing_changes():
    X, y = rows(n_classes=3)
    svc = SVC().fit(X, y)
    same = CompressedSVC(svc, ratio=1.0).fit(X, y)
    np.testing.assert_allclose(
        np.sort(same.machine_.decisions(X)), np.sort(machine_of(svc).decisions(X)), rtol=1e-9, atol=1e-9
    )
    np.testing.assert_array_equal(same.predict(X), svc.predict(X))


def test_less_money_gives_the_answer_of_a_smaller_machine():
    X, y = rows(800)
    costs = Costs([0.0, 0.0], evaluation=1.0)
    small = CompressedSVC(SVC(), n_vectors=16, costs=costs, random_state=0).fit(X, y)
    fresh, truth = rows(seed=1)
    scores = [np.mean(small.predict(fresh, budget=b) == truth) for b in (0, 4, 8, 16)]
    assert scores[0] < 0.6 < scores[1] and scores[3] > 0.95 and scores[2] > 0.9
    sizes = [1, 2, 4, 8, 16]
    assert [sizes[small.run(fresh, budget=b).exit.max()] for b in (3, 7, 15, 16)] == [2, 4, 8, 16]


# -- what goes in ------------------------------------------------------------------------------------------


def test_an_unfitted_estimator_is_trained_and_a_fitted_one_left_alone():
    X, y = rows()
    unfitted = SVC(C=5.0)
    trained = CompressedSVC(unfitted, n_vectors=6, random_state=0).fit(X, y)
    assert not hasattr(unfitted, "support_")
    fitted = SVC(C=5.0).fit(X, y)
    before = fitted.dual_coef_.copy()
    adopted = CompressedSVC(fitted, n_vectors=6, random_state=0).fit(X, y)
    np.testing.assert_array_equal(fitted.dual_coef_, before)
    np.testing.assert_array_equal(trained.machine_.coef, adopted.machine_.coef)


def test_a_fitted_estimator_is_not_learned_again():
    X, y = rows()
    svc = SVC().fit(X, y)
    turned = np.where(y == "a", "b", "a")
    assert agreement(CompressedSVC(svc, n_vectors=9, random_state=0).fit(X, turned), svc, X) > 0.97


def test_other_machines_and_mismatches_are_refused_in_words():
    X, y = rows()
    svc = SVC().fit(X, y)
    with pytest.raises(DataError, match="OneClassSVM, got PCA"):
        compress(PCA())
    with pytest.raises(DataError, match="not fitted"):
        compress(SVC())
    with pytest.raises(DataError, match="precomputed"):
        compress(SVC(kernel="precomputed").fit(X @ X.T, y))
    with pytest.raises(DataError, match="needs a classifier, got a regressor"):
        CompressedSVC(SVR()).fit(X, (y == "a").astype(float))
    with pytest.raises(DataError, match="fitted on 2 features, X has 3"):
        CompressedSVC(svc).fit(np.c_[X, X[:, 0]], y)
    with pytest.raises(DataError, match="'z', which is not a class"):
        CompressedSVC(svc).fit(X, np.where(y == "a", "z", y))


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("maker", [SVC, NuSVC])
def test_machines_decide_as_scikit_learn_does(maker, n_classes):
    X, y = rows(n_classes=n_classes)
    given = {"nu": 0.2} if maker is NuSVC else {}
    svc = maker(decision_function_shape="ovo", **given).fit(X, y)
    machine = machine_of(svc)
    theirs = svc.decision_function(X).reshape(len(X), -1) * (-1 if n_classes == 2 else 1)
    np.testing.assert_allclose(machine.decisions(X), theirs, rtol=1e-9, atol=1e-9)
    np.testing.assert_array_equal(machine.labels(X), svc.predict(X))


# -- without training rows -----------------------------------------------------------------------------------


def test_support_vectors_alone_are_enough():
    X, y = rows(800)
    svc = SVC().fit(X, y)
    small = compress(svc, n_vectors=10, random_state=0)
    assert isinstance(small, CompressedSVC) and agreement(small, svc, rows(seed=1)[0]) > 0.95
    again = clone(small).fit(X, y)  # as such a model is trained
    assert again.n_vectors_ == 10 and not hasattr(small.estimator, "support_")


def test_compress_keeps_names_and_prices():
    import pandas as pd

    X, y = rows()
    frame = pd.DataFrame(X, columns=["east", "north"])
    svc = SVC().fit(frame, y)
    small = compress(svc, n_vectors=5, X=frame, costs={"north": 3.0, "east": 1.0}, random_state=0)
    assert list(small.feature_names_in_) == ["east", "north"] and small.plan_.costs.names == ("east", "north")
    assert small.cost_ == 4.0
    small.predict(frame)


# -- pipelines -----------------------------------------------------------------------------------------------

STRETCH = np.array([1.0, 50.0])


SCALERS = [StandardScaler(), RobustScaler(), MinMaxScaler(), MaxAbsScaler(), StandardScaler(with_std=False)]


@pytest.mark.parametrize("kernel", ["linear", "rbf", "poly", "sigmoid"])
@pytest.mark.parametrize("scaler", SCALERS, ids=str)
def test_scalers_become_part_of_the_plan(scaler, kernel):
    X, y = rows()
    X = X * STRETCH + [3.0, 0.0]
    y = np.where(X[:, 0] + X[:, 1] / 50 > 3, "a", "b") if kernel in ("linear", "sigmoid") else y
    gamma = 1e-3 if scaler is SCALERS[-1] and kernel != "linear" else 0.5
    model = make_pipeline(scaler, SVC(kernel=kernel, gamma=gamma, degree=2)).fit(X, y)
    whole = compress(model, ratio=1.0, X=X)
    assert isinstance(whole, CompressedSVC)
    np.testing.assert_array_equal(whole.predict(X), model.predict(X))
    np.testing.assert_allclose(whole.decision_function(X), model.decision_function(X), atol=1e-8)
    np.testing.assert_allclose(loads(dumps(whole.plan_)).run(X).scores, whole.plan_.run(X).scores, atol=0)
    again = whole.to_sklearn()
    np.testing.assert_array_equal(again.predict(X), model.predict(X))


def test_scalers_one_after_the_other():
    X, y = rows()
    X = X * STRETCH + [3.0, 0.0]
    model = make_pipeline(RobustScaler(), MinMaxScaler((-2, 2)), SVC()).fit(X, y)
    small = compress(model, n_vectors=8, X=X, random_state=0)
    assert agreement(small, model, X) > 0.95
    assert agreement(small.to_sklearn(), small, X) == 1.0


def test_an_estimator_may_be_a_pipeline(tmp_path):
    X, y = rows()
    X = X * STRETCH
    small = CompressedSVC(make_pipeline(StandardScaler(), SVC()), n_vectors=12, random_state=0).fit(X, y)
    assert small.score(X, y) > 0.93
    with pytest.raises(DataError, match="LibSVM file cannot hold the scaler"):
        small.to_libsvm(tmp_path / "small.model")
    small = CompressedSVC(make_pipeline(StandardScaler(), SVC(kernel="linear")), n_vectors=1)
    weight, sides = np.random.default_rng(0).random(len(X)), np.where(X[:, 0] > 0, "a", "b")
    assert small.fit(X, sides, sample_weight=weight).score(X, sides) > 0.97


def test_other_steps_stay_in_front():
    X, y = rows()
    model = make_pipeline(PCA(2), SVC()).fit(X, y)
    small = compress(model, n_vectors=8, X=X, random_state=0)
    assert isinstance(small, Pipeline) and agreement(small, model, X) > 0.95
    with pytest.raises(DataError, match=r"'pca'.*miserly\.compress"):
        CompressedSVC(make_pipeline(PCA(2), SVC())).fit(X, y)


# -- regressors and outliers ---------------------------------------------------------------------------------


def test_regressors():
    X = np.random.default_rng(0).uniform(-3, 3, size=(500, 1))
    y = np.sin(2 * X[:, 0])
    svr = SVR(C=10.0, epsilon=0.01).fit(X, y)
    small, kept = (compress(svr, n_vectors=6, X=X, move=move, random_state=0) for move in (True, False))
    assert isinstance(small, CompressedSVR) and len(svr.support_) > 40
    moved, chosen = (np.abs(model.predict(X) - svr.predict(X)).mean() for model in (small, kept))
    assert moved < 0.01 and moved < 0.5 * chosen


def test_outlier_detectors():
    X = np.random.default_rng(0).normal(size=(600, 2))
    full = OneClassSVM(nu=0.2).fit(X)
    fresh = np.random.default_rng(1).normal(size=(2000, 2)) * 1.5
    for small in (
        compress(full, n_vectors=10, X=X, random_state=0),
        CompressedOneClassSVM(OneClassSVM(nu=0.2), n_vectors=10, random_state=0).fit(X),
    ):
        assert isinstance(small, CompressedOneClassSVM)
        assert agreement(small, full, fresh) > 0.98
        assert set(small.predict(fresh)) == {-1, 1} == set(small.fit_predict(X))
        np.testing.assert_array_equal(small.predict(fresh) > 0, small.decision_function(fresh) > 0)


WEIGHTS = "check_sample_weight_equivalence_on_dense_data"


@parametrize_with_checks(
    [CompressedOneClassSVM(n_vectors=12, max_iter=12, random_state=0)],
    expected_failed_checks=lambda _: {WEIGHTS: "nu is a share of the rows: one of weight two is not two"},
)
def test_scikit_learn_is_content_with_outlier_detectors(estimator, check):
    check(estimator)


# -- what comes out ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["two", "four", "numbers", "outliers"])
def test_every_way_out_answers_the_same(kind, tmp_path):
    X, y = rows(n_classes=4 if kind == "four" else 2)
    target = {"numbers": X[:, 0] ** 2, "outliers": None}.get(kind, y)
    full = {"numbers": SVR(), "outliers": OneClassSVM()}.get(kind, SVC()).fit(X, target)
    small = compress(full, n_vectors=9, X=X, random_state=0)
    fresh = rows(seed=1)[0]
    answers = small.predict(fresh)
    small.to_libsvm(tmp_path / "small.model")
    small.plan_.save(tmp_path / "small.miser")
    theirs = small.to_sklearn()
    assert type(theirs) is type(full)
    read = read_libsvm(tmp_path / "small.model").labels(fresh)
    if kind in ("two", "four"):
        read = small.classes_[read.astype(int)]
    for other in (theirs.predict(fresh), read, load(tmp_path / "small.miser").predict(fresh)):
        if kind == "numbers":
            np.testing.assert_allclose(other, answers, rtol=1e-9, atol=1e-9)
        else:
            np.testing.assert_array_equal(other, answers)
    if kind != "numbers":
        np.testing.assert_allclose(
            theirs.decision_function(fresh), small.decision_function(fresh), rtol=1e-7, atol=1e-9
        )


@pytest.mark.parametrize("kernel", KERNELS)
def test_rows_on_a_boundary_get_the_plans_answer(kernel):
    """Without a budget matrix products decide, but not where rounding might: there the plan does."""
    X, _ = rows()
    y = np.digitize(X.sum(axis=1), [-0.8, 0.8])
    small = CompressedSVC(SVC(kernel=kernel, gamma=0.3), n_vectors=9, random_state=0).fit(X, y)
    left, right = X[:200], X[200:400]
    for _ in range(60):  # ever nearer to where one answer becomes another
        middle = (left + right) / 2
        first = small.plan_.predict(middle) == small.plan_.predict(left)
        left, right = np.where(first[:, None], middle, left), np.where(first[:, None], right, middle)
    for near in (left, right):
        machine = small.machine_
        assert machine.doubtful(near, machine.decisions(near)).sum() > 20
        np.testing.assert_array_equal(small.predict(near), small.plan_.predict(near))
    assert machine.doubtful(X, machine.decisions(X)).mean() < 0.01


def test_missing_values_are_filled_with_means():
    X, y = rows()
    holes = X.copy()
    holes[::7, 0] = np.nan
    small = CompressedSVC(n_vectors=8, random_state=0).fit(holes, y)
    filled = np.where(np.isnan(holes), np.nanmean(holes, axis=0), holes)
    np.testing.assert_array_equal(small.predict(holes), small.predict(filled))


def test_a_large_machine_is_looked_at_in_samples(monkeypatch):
    """Neither all rows nor all candidates at once: what is looked at stays within the limits."""
    from miserly.learners.kernel import compression as _compression

    X, y = rows(1500)
    svc = SVC(C=0.01).fit(X, y)
    looked, move = [], _compression.move_vectors

    def watched(kernel, vectors, target, validation, **given):
        looked.append(len(target) + len(validation))
        return move(kernel, vectors, target, validation=validation, **given)

    monkeypatch.setattr(_compression, "move_vectors", watched)
    monkeypatch.setattr("miserly.solvers.lars_svm.MAX_CANDIDATES", 50)
    assert len(svc.support_) > 0.75 * len(X)
    small = compress(svc, n_vectors=10, X=X, max_rows=600, random_state=0)
    compress(svc, n_vectors=10, X=np.vstack([X, X]), max_rows=600, random_state=0)
    assert looked == [4 * 600 + 360, 600], (
        "three times as many synthetic rows are added where the rows are memorised, and others to validate on"
    )
    assert agreement(small, svc, rows(seed=1)[0]) > 0.95


def test_a_machine_that_has_memorised_its_rows_is_compared_on_synthetic_rows_too():
    rng = np.random.default_rng(0)
    X, fresh = rng.normal(size=(300, 40)), rng.normal(size=(2000, 40))
    y = (X[:, :3].sum(axis=1) > 0).astype(int)
    svc = SVC(C=10.0, gamma=0.05).fit(X, y)
    assert len(svc.support_) > 0.9 * len(X)
    small = compress(svc, n_vectors=20, X=X, random_state=0)
    own_rows = np.vstack([X] * 2)  # half of the rows are support vectors: no synthetic rows
    plain = compress(svc, n_vectors=20, X=own_rows, random_state=0)
    assert agreement(small, svc, fresh) > agreement(plain, svc, fresh) + 0.01
