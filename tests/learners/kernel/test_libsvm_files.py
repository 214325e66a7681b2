"""LibSVM's model files: what is written is read again, and LibSVM's own programs score it alike."""

from __future__ import annotations

import shutil
import subprocess

import numpy as np
import pytest
from sklearn.datasets import dump_svmlight_file

from miserly.errors import DataError
from miserly.learners.kernel.libsvm_files import label_numbers, read_libsvm, write_libsvm
from miserly.solvers.kernel_machine import KernelFunction, KernelMachine, pairs_of

needs_libsvm = pytest.mark.skipif(
    shutil.which("svm-predict") is None or shutil.which("svm-train") is None,
    reason="LibSVM's programs are not installed (Debian: libsvm-tools)",
)

KERNELS = {
    "linear": KernelFunction("linear"),
    "poly": KernelFunction("poly", gamma=0.3, degree=2, coef0=0.7),
    "rbf": KernelFunction("rbf", gamma=0.21),
    "sigmoid": KernelFunction("sigmoid", gamma=0.5, coef0=-0.1),
}


def machine(n_classes=3, kind="classifier", kernel="rbf", n_vectors=7, share=1.0, classes=None):
    """Random vectors, some values zero; every pair of classes weighs a share of the vectors."""
    rng = np.random.default_rng(n_classes)
    n_decisions = len(pairs_of(n_classes)) if kind == "classifier" else 1
    vectors = rng.normal(size=(n_vectors, 5)) * (rng.random((n_vectors, 5)) < 0.7)
    coef = rng.normal(size=(n_decisions, n_vectors)) * (rng.random((n_decisions, n_vectors)) < share)
    if kind == "classifier":
        classes = np.arange(n_classes) * 10 - 5 if classes is None else classes
    return KernelMachine(KERNELS[kernel], vectors, coef, 0.1 * rng.normal(size=n_decisions), kind, classes)


def rows(n=300):
    rng = np.random.default_rng(9)
    return rng.normal(size=(n, 5)) * (rng.random((n, 5)) < 0.8)


def svm(program, *words):
    done = subprocess.run([program, *map(str, words)], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def scored(model, folder, X):
    """What `svm-predict` says about the rows."""
    dump_svmlight_file(X, np.zeros(len(X)), str(folder / "rows"), zero_based=False)
    svm("svm-predict", folder / "rows", model, folder / "predicted")
    return np.loadtxt(folder / "predicted")


# -- there and back ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("n_classes", [2, 3, 5])
@pytest.mark.parametrize("share", [1.0, 0.3])
def test_what_is_written_is_read_again(kernel, n_classes, share, tmp_path):
    given = machine(n_classes, kernel=kernel, share=share)
    write_libsvm(given, tmp_path / "m")
    found = read_libsvm(tmp_path / "m", n_features=5)
    assert found.kernel == given.kernel and found.kind == "classifier"
    np.testing.assert_array_equal(found.classes, given.classes)
    np.testing.assert_array_equal(found.intercept, given.intercept)
    assert found.n_vectors == (given.coef != 0).any(axis=0).sum()  # once each, however often written
    np.testing.assert_allclose(found.decisions(rows()), given.decisions(rows()), rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("kind", ["regressor", "one-class"])
def test_machines_with_one_decision_are_read_again(kind, tmp_path):
    given = machine(kind=kind)
    assert write_libsvm(given, tmp_path / "m") == 7
    found = read_libsvm(tmp_path / "m", n_features=5)
    assert found.kind == kind and found.classes is None
    np.testing.assert_array_equal(found.coef, given.coef)
    np.testing.assert_array_equal(found.vectors, given.vectors)


def test_a_vector_is_written_no_more_often_than_its_pairs_need(tmp_path):
    # Of classes 0 to 3, pairs 01 02 03 12 13 23: one vector for all pairs of class 2, one for 01 alone.
    coef = np.array([[0.0, 1.0], [1.0, 0.0], [0.0, 0.0], [1.0, 0.0], [0.0, 0.0], [-1.0, 0.0]])
    given = KernelMachine(KERNELS["rbf"], np.eye(2), coef, np.zeros(6), classes=np.arange(4))
    assert write_libsvm(given, tmp_path / "m") == 2
    assert "nr_sv 1 0 1 0" in (tmp_path / "m").read_text()
    everywhere = KernelMachine(KERNELS["rbf"], np.eye(2), np.ones((6, 2)), np.zeros(6), classes=np.arange(4))
    assert write_libsvm(everywhere, tmp_path / "m") == 2 * 3


def test_with_two_classes_a_vector_is_of_the_class_it_speaks_for(tmp_path):
    given = KernelMachine(KERNELS["linear"], np.eye(2), [[0.5, -0.25]], [0.125], classes=np.array([-1, 1]))
    write_libsvm(given, tmp_path / "m")
    assert (tmp_path / "m").read_text() == (
        "svm_type c_svc\nkernel_type linear\nnr_class 2\ntotal_sv 2\nrho -0.125\nlabel -1 1\nnr_sv 1 1\nSV\n"
        "0.5 1:1.0 \n-0.25 2:1.0 \n"
    )


def test_classes_that_are_no_whole_numbers_are_written_as_positions(tmp_path):
    write_libsvm(machine(classes=np.array(["a", "b", "c"])), tmp_path / "m")
    assert read_libsvm(tmp_path / "m").classes.tolist() == [0, 1, 2]
    assert label_numbers(np.array([0.5, 1.5])) == [0, 1]


def test_the_number_of_features_is_what_vectors_reach_or_what_is_given(tmp_path):
    given = KernelMachine(KERNELS["rbf"], np.eye(3)[:, :2], [[1.0, 2.0, 3.0]], [0.0], "regressor")
    write_libsvm(given, tmp_path / "m")
    assert read_libsvm(tmp_path / "m").n_features == 2
    assert read_libsvm(tmp_path / "m", n_features=6).n_features == 6
    with pytest.raises(DataError, match="reads 2 features, but the data has 1"):
        read_libsvm(tmp_path / "m", n_features=1)


# -- LibSVM's own programs -----------------------------------------------------------------------------------


@needs_libsvm
@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("n_classes", [2, 5])
def test_svm_predict_votes_as_we_do(kernel, n_classes, tmp_path):
    given = machine(n_classes, kernel=kernel)
    write_libsvm(given, tmp_path / "m")
    predicted = scored(tmp_path / "m", tmp_path, rows())
    np.testing.assert_array_equal(predicted, given.labels(rows()))
    assert len(np.unique(predicted)) >= min(n_classes, 3)


@needs_libsvm
@pytest.mark.parametrize(("kind", "tolerance"), [("regressor", 1e-5), ("one-class", 0.0)])
def test_svm_predict_gives_our_numbers(kind, tolerance, tmp_path):
    given = machine(kind=kind)
    write_libsvm(given, tmp_path / "m")
    predicted = scored(tmp_path / "m", tmp_path, rows())
    np.testing.assert_allclose(
        predicted, given.labels(rows()), rtol=tolerance, atol=tolerance
    )  # six digits printed
    assert len(np.unique(predicted)) > 1


@needs_libsvm
@pytest.mark.parametrize(
    "options",
    ["-s 0 -t 2 -g 0.4", "-s 1 -t 0", "-s 0 -t 1 -d 2 -g 0.5 -r 1", "-s 0 -t 3 -g 0.05", "-s 0 -b 1"],
)
def test_models_of_svm_train_are_read(options, tmp_path):
    X = rows(150)
    y = 3 - np.digitize(X[:, 0] + X[:, 1] ** 2, [0.0, 1.2])  # 3, 2, 1: an order of LibSVM's own
    dump_svmlight_file(X, y, str(tmp_path / "train"), zero_based=False)
    svm("svm-train", "-q", *options.split(), tmp_path / "train", tmp_path / "m")
    found = read_libsvm(tmp_path / "m", n_features=5)
    fresh = rows(300)[150:]
    np.testing.assert_array_equal(found.labels(fresh), scored(tmp_path / "m", tmp_path, fresh))
    assert found.n_vectors > 3


@needs_libsvm
@pytest.mark.parametrize("options", ["-s 3", "-s 4", "-s 2 -n 0.3"])
def test_numbers_and_one_class_models_of_svm_train_are_read(options, tmp_path):
    X = rows(150)
    dump_svmlight_file(X, X[:, 0] - np.abs(X[:, 1]), str(tmp_path / "train"), zero_based=False)
    svm("svm-train", "-q", *options.split(), tmp_path / "train", tmp_path / "m")
    found = read_libsvm(tmp_path / "m", n_features=5)
    predicted = scored(tmp_path / "m", tmp_path, rows())
    np.testing.assert_allclose(found.labels(rows()), predicted, rtol=1e-5, atol=1e-5)


# -- files that are no sound models --------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ("svm_type c_svc", "model c_svc", "m, line 1: 'model' is not a keyword.*begins with svm_type"),
        ("svm_type c_svc", "svm_type knn", "line 1: svm_type 'knn' is not one of c_svc"),
        ("kernel_type rbf", "kernel_type precomputed", "line 2: kernel_type 'precomputed' is not one of"),
        ("gamma 0.21", "gamma", "line 3: 'gamma' needs 1 values, not 0"),
        ("gamma 0.21", "gamma wide", "line 3: 'gamma' needs numbers, not 'wide'"),
        ("gamma 0.21", "gamma nan", "line 3: 'gamma' needs finite numbers"),
        ("gamma 0.21\n", "", "no line 'gamma'"),
        ("nr_class 3", "nr_class 1", "line 4: 'nr_class' must be at least 2"),
        ("nr_class 3", "nr_class 4", "'rho' needs 6 values, not 3"),
        ("total_sv 14", "total_sv 15", "ends after 14 of its 15 support vectors"),
        ("total_sv 14", "total_sv 13", "line 23: more support vectors than the 13"),
        ("nr_sv ", "nr_sv 1", "line 8: 'nr_sv' must add up to the 14 vectors"),
        ("\nSV\n", "\n", "line 9: .* is not a keyword of LibSVM models"),
        (" 1:", " 0:", "line 1[0-9]: a support vector needs 2 coefficients, then column:value"),
        (" 1:", " x:", "a support vector needs 2 coefficients"),
        (" 1:", " 1.5:", "a support vector needs 2 coefficients"),
        (" 1:", " 1 ", "a support vector needs 2 coefficients"),
        (" 1:", " 9:1 1:", "a support vector needs 2 coefficients"),
    ],
)
def test_broken_files_are_refused_with_the_line(old, new, words, tmp_path):
    path = tmp_path / "m"
    write_libsvm(machine(3), path)
    text = path.read_text()
    assert old in text
    path.write_text(text.replace(old, new, 1))
    with pytest.raises(DataError, match=words):
        read_libsvm(path)


def test_files_that_end_early_or_are_no_text_are_refused(tmp_path):
    path = tmp_path / "m"
    write_libsvm(machine(3), path)
    whole = path.read_bytes()
    for length in range(0, len(whole) - 200, 37):
        path.write_bytes(whole[:length])
        with pytest.raises(DataError, match=str(path)):
            read_libsvm(path)
    path.write_bytes(b"\x80\x04\x95")
    with pytest.raises(DataError, match="text file"):
        read_libsvm(path)


def test_a_column_beyond_all_measure_is_refused_not_made(tmp_path):
    path = tmp_path / "m"
    write_libsvm(machine(kind="regressor"), path)
    path.write_text(path.read_text().rstrip() + " 99999999999:1\n")
    with pytest.raises(DataError, match="do not fit in memory"):
        read_libsvm(path)
