"""Every file that a command writes appears whole or not at all, and no input is replaced by mistake."""

from __future__ import annotations

import errno
import os
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from miserly import Costs, EarlyExit, GreedyMiserClassifier
from miserly.datasets import write_svmlight
from miserly.plan import load
from miserly.report import plot_remaining

from .running import COSTS, QUICK, complaint, run, table

OLD = b"an old result"


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    path = tmp_path_factory.mktemp("outputs")
    table()[["age", "chol", "thal", "disease"]].to_csv(path / "heart.csv", index=False)
    (path / "costs.csv").write_text(COSTS)
    done = run("fit", path / "heart.csv", "--target", "disease", *QUICK, "--out", path / "heart.miser")
    assert done.exit_code == 0, done.output
    return path


@pytest.fixture
def full_disk(monkeypatch):
    """Every file that is flushed to the disk finds it full."""

    def full(descriptor):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)


def commands(folder, out):
    """Every command that writes a file, with the file."""
    learn = ("--target", "disease", "--costs", folder / "costs.csv")
    search = (*learn, "--learners", "greedymiser", "--max-fits", 2)
    predict = ("predict", folder / "heart.miser", folder / "heart.csv")
    return {
        "predictions": (out / "a.csv", (*predict, "--out", out / "a.csv")),
        "predictions in Parquet": (out / "a.parquet", (*predict, "--out", out / "a.parquet")),
        "a drawing": (out / "a.svg", ("show", folder / "heart.miser", "--draw", out / "a.svg")),
        "a plan": (out / "a.miser", ("fit", folder / "heart.csv", *learn, *QUICK, "--out", out / "a.miser")),
        "a report": (out / "a.html", ("frontier", folder / "heart.csv", *search, "--out", out / "a.html")),
        "a data set": (out / "b.csv", ("datasets", "heart", "--out", out / "b.csv")),
        "prices": (
            out / "c.toml",
            ("datasets", "heart", "--out", out / "d.csv", "--costs-out", out / "c.toml"),
        ),
    }


WRITERS = list(commands(Path(), Path()))


@pytest.mark.parametrize("what", WRITERS)
def test_a_full_disk_leaves_the_old_file(folder, tmp_path, full_disk, what):
    path, words = commands(folder, tmp_path)[what]
    path.write_bytes(OLD)
    done = run(*words)
    assert done.exit_code == 1 and "no space left on device" in done.stderr.lower(), done.output
    assert path.read_bytes() == OLD
    assert {one.name for one in tmp_path.iterdir()} <= {path.name, "d.csv"}


@pytest.mark.parametrize("what", WRITERS)
def test_nothing_is_written_through_a_link(folder, tmp_path, what):
    path, words = commands(folder, tmp_path)[what]
    (tmp_path / "precious").write_bytes(OLD)
    path.symlink_to(tmp_path / "precious")
    assert "this is a link to" in complaint(run(*words))
    assert (tmp_path / "precious").read_bytes() == OLD and path.is_symlink()


def test_an_interrupt_leaves_the_old_predictions(folder, tmp_path, monkeypatch):
    """Ctrl-C after some rows have been answered."""
    from miserly.cli import batches, predictions
    from miserly.cli.table_files import CsvFile

    answered, real = [], predictions.Predictions._answered

    def interrupted(self, batch, n_rows):
        if answered:
            raise KeyboardInterrupt
        answered.append(len(batch))
        return real(self, batch, n_rows)

    monkeypatch.setattr(CsvFile, "chunk_cells", 30)
    monkeypatch.setattr(CsvFile, "fewest_rows", 1)
    monkeypatch.setattr(batches, "ROWS", 10)
    monkeypatch.setattr(predictions.Predictions, "_answered", interrupted)
    (tmp_path / "a.csv").write_bytes(OLD)
    done = run("predict", folder / "heart.miser", folder / "heart.csv", "--out", tmp_path / "a.csv")
    assert done.exit_code == 130 and 0 < answered[0] < 120
    assert (tmp_path / "a.csv").read_bytes() == OLD and len(list(tmp_path.iterdir())) == 1


def test_an_input_is_replaced_only_by_force(folder, tmp_path):
    own = tmp_path / "heart.csv"
    own.write_bytes((folder / "heart.csv").read_bytes())
    (tmp_path / "link.csv").hardlink_to(own)
    for out in (own, tmp_path / "link.csv"):
        done = run("predict", folder / "heart.miser", own, "--out", out)
        assert "this file is also read; give another name, or --force" in complaint(done, code=2)
        assert own.read_bytes() == (folder / "heart.csv").read_bytes()
    assert run("predict", folder / "heart.miser", own, "--out", own, "--force").exit_code == 0
    assert (
        pd.read_csv(own).columns.tolist() == ["prediction", "cost", "features"]
        and len(pd.read_csv(own)) == 120
    )


def test_no_command_replaces_what_it_reads(folder, tmp_path):
    for name in ("heart.csv", "costs.csv", "heart.miser"):
        (tmp_path / name).write_bytes((folder / name).read_bytes())
    before = {path: path.read_bytes() for path in tmp_path.iterdir()}
    data, costs, model = (tmp_path / name for name in ("heart.csv", "costs.csv", "heart.miser"))
    learn = (data, "--target", "disease", "--costs", costs)
    for words in (
        ("fit", *learn, "--out", data),
        ("fit", *learn, "--out", costs),
        ("frontier", *learn, "--budget", 30, "--save", costs),
        ("predict", model, data, "--out", data),
    ):
        assert "this file is also read" in complaint(run(*words), code=2)
    assert {path: path.read_bytes() for path in tmp_path.iterdir()} == before


def test_two_results_do_not_go_to_one_file(tmp_path):
    files = ("--out", tmp_path / "a.csv", "--costs-out", tmp_path / "a.csv")
    assert "two results cannot go to one file" in complaint(run("datasets", "heart", *files), code=2)


# -- from Python ---------------------------------------------------------------------------------------------


def test_files_written_from_python_are_whole_or_not_there(folder, tmp_path, full_disk):
    plan = load(folder / "heart.miser")
    X, y = np.ones((3, 2)), np.array([0, 1, 0])
    for name, write in {
        "a.toml": Costs({"a": 1}).write,
        "a.svg": plan.draw().save,
        "a.svm": lambda path: write_svmlight(path, X, y),
        "a.svm.gz": lambda path: write_svmlight(path, X, y),
        "a.model": lambda path: _write_machine(path),
        "a.png": lambda path: plot_remaining(*_stages(), path),
    }.items():
        (tmp_path / name).write_bytes(OLD)
        with pytest.raises(OSError, match="No space left"):
            write(tmp_path / name)
        assert (tmp_path / name).read_bytes() == OLD
    assert not [path for path in tmp_path.iterdir() if path.name.startswith(".")]


def _write_machine(path):
    from sklearn.svm import SVC

    from miserly.learners.kernel.libsvm_files import write_libsvm
    from miserly.learners.kernel.svm_models import machine_of

    write_libsvm(machine_of(SVC().fit([[0.0], [1.0], [2.0]], [0, 1, 0])), path)


def _stages():
    """A model with exits, and rows for it."""
    frame = table(60)
    model = EarlyExit(GreedyMiserClassifier(n_rounds=3, max_depth=1), threshold=0.8, random_state=0)
    return model.fit(frame[["age"]], frame["disease"]), frame[["age"]]


def test_pictures_without_an_ending_get_one(tmp_path):
    plot_remaining(*_stages(), tmp_path / "picture")
    assert [path.name for path in tmp_path.iterdir()] == ["picture.png"]


def test_compressed_files_are_what_their_names_say(tmp_path):
    import gzip

    write_svmlight(tmp_path / "a.svm.gz", np.array([[1.0, 2.0]]), np.array([1]))
    assert gzip.decompress((tmp_path / "a.svm.gz").read_bytes()) == b"1 1:1 2:2\n"
    assert b"miserly" not in (tmp_path / "a.svm.gz").read_bytes()
