"""`miserly compress`: models of scikit-learn and of LibSVM in, models of both and plans out."""

from __future__ import annotations

import json
import shutil
import subprocess

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import dump_svmlight_file
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MinMaxScaler, StandardScaler
from sklearn.svm import SVC, SVR, OneClassSVM

from miserly import load
from miserly.learners.kernel.compression import _emphasis
from miserly.learners.kernel.libsvm_files import read_libsvm, write_libsvm
from miserly.learners.kernel.svm_models import machine_of
from miserly.solvers.kernel_machine import KernelMachine

from .running import complaint, run

skops = pytest.importorskip("skops.io", reason="skops is not installed")

NAMES = ["x", "z"]
RINGS = np.array(["inner", "middle", "outer"])


def rows(n=400, n_classes=2, seed=0):
    """Rings about the middle."""
    X = np.random.default_rng(seed).normal(size=(n, 2)) * [1.0, 3.0]
    inner = X[:, 0] ** 2 + (X[:, 1] / 3) ** 2
    return X, np.digitize(inner, np.quantile(inner, np.arange(1, n_classes) / n_classes))


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Models of two and three classes, and their rows, in every form."""
    path = tmp_path_factory.mktemp("compress")
    for n_classes in (2, 3):
        X, y = rows(n_classes=n_classes)
        frame = pd.DataFrame(X, columns=NAMES)
        words = RINGS[y]
        frame.assign(ring=words).to_csv(path / f"rows{n_classes}.csv", index=False)
        dump_svmlight_file(X, y, str(path / f"rows{n_classes}.svm"), zero_based=False)
        skops.dump(SVC(C=10.0, gamma=0.3).fit(frame, words), path / f"svc{n_classes}.skops")
        write_libsvm(machine_of(SVC(C=10.0, gamma=0.3).fit(X, y)), path / f"svc{n_classes}.model")
    return path


def answers(path, X):
    return skops.load(path).predict(pd.DataFrame(X, columns=NAMES))


# -- what it does --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("n_classes", [2, 3])
def test_a_scikit_learn_model_comes_back_small_in_every_form(folder, n_classes):
    outs = [folder / f"small{n_classes}{suffix}" for suffix in (".skops", ".model", ".miser")]
    files = [word for path in outs for word in ("--out", path)]
    done = run("compress", folder / f"svc{n_classes}.skops", "--data", folder / f"rows{n_classes}.csv",
               "--target", "ring", "--vectors", 20, *files)  # fmt: skip
    assert done.exit_code == 0, done.output
    X, _ = rows(n_classes=n_classes, seed=1)
    small = answers(outs[0], X)
    assert np.mean(small == answers(folder / f"svc{n_classes}.skops", X)) > 0.9
    np.testing.assert_array_equal(load(outs[2]).predict(pd.DataFrame(X, columns=NAMES)), small)
    machine = read_libsvm(outs[1], n_features=2)
    np.testing.assert_array_equal(RINGS[machine.labels(X)], small)
    assert machine.n_vectors == 20 and load(outs[2]).max_cost == 20.0


def test_a_plan_counts_kernels(folder):
    run("compress", folder / "svc3.skops", "--vectors", 12, "--out", folder / "count.miser")
    done = run("predict", folder / "count.miser", folder / "rows3.csv", "--budget", 5)
    assert "5 kernels on average, 5 kernels at most" in done.stderr


def test_classes_may_come_in_any_order_in_a_libsvm_model(folder):
    X, y = rows(n_classes=3)
    given = machine_of(SVC(C=10.0, gamma=0.3).fit(X, y))
    turned = KernelMachine(  # classes 2, 1, 0; pairs 21, 20, 10
        given.kernel, given.vectors, -given.coef[[2, 1, 0]], -given.intercept[[2, 1, 0]], classes=[2, 1, 0]
    )
    np.testing.assert_array_equal(turned.labels(X), given.labels(X))
    counts, turned_counts = (_emphasis(machine, machine.decisions(X)) for machine in (given, turned))
    np.testing.assert_array_equal(turned_counts[:, [2, 1, 0]], counts)
    write_libsvm(turned, folder / "turned.model")
    done = run("compress", folder / "turned.model", "--data", folder / "rows3.svm", "--vectors", 20,
               "--out", folder / "turned_small.model", "--json")  # fmt: skip
    assert json.loads(done.stdout)["accuracy"] > 0.9
    assert read_libsvm(folder / "turned_small.model").classes.tolist() == [2, 1, 0]


def test_what_came_of_it_is_reported(folder):
    done = run("compress", folder / "svc2.skops", "--data", folder / "rows2.csv", "--target", "ring",
               "--vectors", 12, "--out", folder / "small.skops")  # fmt: skip
    first, second, third = done.stdout.splitlines()
    assert first.startswith("57 support vectors reduced to 12 (21.1 %), rbf kernel")
    assert second.startswith("on a test set of 80 rows: the prediction of the full model for ")
    assert "; accuracy " in second and ", full model " in second
    assert third == f"saved to {folder / 'small.skops'} (scikit-learn SVC)"


def test_words_as_classes_become_numbers_for_libsvm_and_that_is_reported(folder):
    done = run("compress", folder / "svc2.skops", "--vectors", 4, "--out", folder / "words.model")
    assert "0 is 'inner', 1 is 'middle'" in done.stderr


def test_a_libsvm_model_needs_no_scikit_learn_model(folder):
    done = run("compress", folder / "svc3.model", "--data", folder / "rows3.svm", "--ratio", 0.2,
               "--out", folder / "ratio.model", "--json")  # fmt: skip
    assert done.exit_code == 0, done.output
    record = json.loads(done.stdout)
    assert record["vectors"] == round(0.2 * record["vectors_before"]) and record["rows_test"] == 80
    assert record["agreement"] > 0.9 and abs(record["accuracy"] - record["accuracy_before"]) < 0.08
    assert done.stderr == ""


@pytest.mark.skipif(
    shutil.which("svm-predict") is None, reason="LibSVM is not installed (Debian: libsvm-tools)"
)
@pytest.mark.parametrize("n_classes", [2, 3])
def test_svm_predict_scores_what_was_made_alike(folder, n_classes):
    small = folder / f"scored{n_classes}.model"
    done = run("compress", folder / f"svc{n_classes}.model", "--data", folder / f"rows{n_classes}.svm",
               "--vectors", 10, "--out", small, "--out", folder / "scored.skops")  # fmt: skip
    assert done.exit_code == 0, done.output
    data = folder / f"rows{n_classes}.svm"
    subprocess.run(["svm-predict", data, small, folder / "predicted"], check=True, capture_output=True)
    X, _ = rows(n_classes=n_classes)
    expected = skops.load(folder / "scored.skops").predict(X)
    np.testing.assert_array_equal(np.loadtxt(folder / "predicted"), expected)


def test_without_rows_support_vectors_have_to_do(folder):
    done = run("compress", folder / "svc2.model", "--vectors", 10, "--out", folder / "none.model", "--json")
    record = json.loads(done.stdout)
    assert record["rows_test"] == 0 and record["agreement"] is None
    X, _ = rows(seed=1)
    full, small = (read_libsvm(folder / name, 2).labels(X) for name in ("svc2.model", "none.model"))
    assert np.mean(full == small) > 0.95


@pytest.mark.parametrize("scaler", [StandardScaler(), MinMaxScaler((0, 2))])
def test_scalers_stay_in_front_of_a_kernel_that_cannot_take_them_in(folder, scaler):
    X, y = rows()
    model = make_pipeline(scaler, SVC(C=10.0)).fit(X, y)
    skops.dump(model, folder / "pipe.skops")
    done = run("compress", folder / "pipe.skops", "--data", folder / "rows2.csv", "--target", "ring", "--out",
               folder / "small_pipe.skops", "--out", folder / "pipe.model", "--vectors", 12)  # fmt: skip
    assert done.exit_code == 0, done.output
    assert "scale rows as the model's pipeline does before you give them to LibSVM" in done.stderr
    small = skops.load(folder / "small_pipe.skops")
    assert np.mean(small.predict(X) == model.predict(X)) > 0.9
    ready = model[:-1].transform(X)
    np.testing.assert_array_equal(read_libsvm(folder / "pipe.model", 2).labels(ready), small.predict(X))
    done = run("compress", folder / "pipe.skops", "--data", folder / "rows2.csv", "--target", "ring", "--out",
               folder / "pipe.miser", "--vectors", 12)  # fmt: skip
    assert done.exit_code == 0, done.output
    plan = load(folder / "pipe.miser")
    np.testing.assert_array_equal(plan.run(X).scores > 0, small.decision_function(X) > 0)


def test_without_a_name_it_is_saved_beside_the_model(folder):
    done = run("compress", folder / "svc2.model", "--ratio", 0.1)
    assert done.exit_code == 0, done.output
    full, small = (read_libsvm(folder / name, 2) for name in ("svc2.model", "svc2-small.model"))
    assert small.n_vectors < full.n_vectors


def test_a_scaler_before_a_linear_kernel_becomes_part_of_the_machine(folder):
    X, _ = rows()
    model = make_pipeline(StandardScaler(), SVC(kernel="linear")).fit(X, X[:, 0] + X[:, 1] > 0.5)
    skops.dump(model, folder / "linear.skops")
    done = run("compress", folder / "linear.skops", "--vectors", 3, "--out", folder / "linear.model")
    assert "scaled" not in done.stderr
    agree = read_libsvm(folder / "linear.model", 2).labels(X).astype(bool) == model.predict(X)
    assert agree.mean() > 0.98


@pytest.mark.parametrize("model", [SVR(C=10.0), OneClassSVM(nu=0.3, gamma=0.05)])
def test_numbers_and_outliers(folder, model):
    X, _ = rows()
    y = X[:, 0] ** 2 + X[:, 1]
    model.fit(X, y)
    skops.dump(model, folder / "other.skops")
    pd.DataFrame(X, columns=NAMES).assign(height=y).to_csv(folder / "height.csv", index=False)
    done = run("compress", folder / "other.skops", "--data", folder / "height.csv", "--target", "height",
               "--vectors", 30, "--out", folder / "other_small.skops", "--json")  # fmt: skip
    assert done.exit_code == 0, done.output
    record, small = json.loads(done.stdout), skops.load(folder / "other_small.skops")
    assert type(small) is type(model) and record["agreement"] > 0.9
    if isinstance(model, SVR):
        assert np.mean((small.predict(X) - model.predict(X)) ** 2) < 0.1 * np.var(model.predict(X))
        assert record["mse"] < 0.2 * np.var(y)
        words = run("compress", folder / "other.skops", "--data", folder / "rows2.csv", "--target", "ring",
                    "--vectors", 3, "--out", folder / "no.skops")  # fmt: skip
        assert "the model predicts numbers, and the target holds '" in complaint(words)
    else:
        assert np.mean(small.predict(X) == model.predict(X)) > 0.9


# -- mistakes ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("words", "reported"),
    [
        (("none.skops",), "none.skops: no such file"),
        (("rows2.csv",), "rows2.csv, line 1: 'x,z,ring' is not a keyword of LibSVM models"),
        (("svc2.skops", "--data", "rows2.csv"), "line 2, column 'ring': 'inner' is not a number"),
        (("svc2.skops", "--data", "rows2.csv", "--target", "rign"), "no column 'rign'; did you mean 'ring'"),
        (("svc2.skops", "--data", "other.csv"), "no column 'z', which the model needs"),
        (("svc2.model", "--data", "narrow.csv"), "1 columns for a model of 2 features"),
        (("broken.skops",), "not a sound skops file"),
        (("forest.skops",), "OneClassSVM, got DummyClassifier"),
        (("svc2.model", "--data", "holes.csv"), "holes.csv, line 3, column 'z': the value is missing"),
    ],
)
def test_mistakes_are_reported_in_one_line(folder, words, reported, monkeypatch):
    from sklearn.dummy import DummyClassifier

    monkeypatch.chdir(folder)
    pd.DataFrame(rows()[0], columns=["x", "y"]).to_csv("other.csv", index=False)
    pd.DataFrame({"x": [1.0, 2.0]}).to_csv("narrow.csv", index=False)
    pd.DataFrame({"x": [1.0, 2.0], "z": [1.0, None]}).to_csv("holes.csv", index=False)
    (folder / "broken.skops").write_bytes(b"PK\x03\x04 not really")
    skops.dump(DummyClassifier().fit([[0.0]], [0]), "forest.skops")
    assert reported in complaint(run("compress", *words, "--out", "out.model"))


def test_models_with_types_that_are_not_trusted_are_refused(folder, monkeypatch):
    monkeypatch.setattr(skops, "get_untrusted_types", lambda **_: ["os.system"])
    done = run("compress", folder / "svc2.skops", "--out", folder / "out.model")
    assert "does not trust: os.system" in complaint(done)
