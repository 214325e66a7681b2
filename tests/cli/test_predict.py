"""`miserly predict` in a stream: the same answers in any batches, columns to keep, odd cells."""

from __future__ import annotations

import csv
import json
import os
import subprocess
import sys

import numpy as np
import pandas as pd
import pytest

from miserly import EarlyExit, GreedyMiserRanker, load
from miserly.cli import batches
from miserly.cli.table_files import CsvFile, ParquetFile

from .running import QUICK, complaint, complaints, run, table


@pytest.fixture
def row_by_row(monkeypatch):
    """Files are read and answered a few rows at a time."""
    for file in (CsvFile, ParquetFile):
        monkeypatch.setattr(file, "chunk_cells", 12)
        monkeypatch.setattr(file, "fewest_rows", 1)
    monkeypatch.setattr(batches, "ROWS", 7)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    path = tmp_path_factory.mktemp("predict")
    frame = table()[["age", "chol", "thal", "disease"]].assign(id=[f"p{i}" for i in range(120)])
    frame.to_csv(path / "heart.csv", index=False)
    frame.to_parquet(path / "heart.parquet")
    done = run(
        "fit", path / "heart.csv", "--target", "disease", "--ignore", "id", *QUICK, "--out", path / "m.miser"
    )
    assert done.exit_code == 0, done.output
    return path


# -- streams -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["heart.csv", "heart.parquet"])
def test_batches_change_nothing(folder, request, name):
    words = ("predict", folder / "m.miser", folder / name, "--proba", "--keep", "id", "--json")
    at_once = run(*words)
    request.getfixturevalue("row_by_row")
    assert at_once.exit_code == 0, at_once.output
    assert run(*words).stdout == at_once.stdout
    assert json.loads(at_once.stdout)["accuracy"] > 0.8


@pytest.mark.parametrize("scattered", [False, True])
def test_queries_stay_whole(tmp_path, row_by_row, scattered):
    """Proximity exits compare the documents of a query, also where its rows are scattered over the file."""
    frame = table(120)
    X, qid = frame[["age", "chol"]], np.repeat(np.arange(20), 6)
    model = EarlyExit(GreedyMiserRanker(n_rounds=30), rule="proximity", threshold=0.1, k=2)
    model.fit(X, frame["grade"], qid=qid).plan_.save(tmp_path / "m.miser")
    order = np.random.default_rng(0).permutation(120) if scattered else np.arange(120)
    X, qid = X.iloc[order], qid[order]
    X.assign(patient=[f"q{q}" for q in qid]).to_csv(tmp_path / "a.csv", index=False)
    done = run("predict", tmp_path / "m.miser", tmp_path / "a.csv", "--query", "patient", "--json")
    predicted = [row["prediction"] for row in json.loads(done.stdout)["predictions"]]
    np.testing.assert_allclose(predicted, model.predict(X, qid=qid), rtol=1e-12)


def test_memory_does_not_grow_with_the_file(folder, tmp_path):
    """Eight times the rows may take a few bytes more for each, not their text."""
    rows = (folder / "heart.csv").read_text().splitlines()

    def peak(times):
        path = tmp_path / f"{times}.csv"
        path.write_text("\n".join([rows[0], *rows[1:] * times]) + "\n")
        command = [sys.executable, "-m", "miserly", "predict", str(folder / "m.miser"), str(path), "--out",
                   str(tmp_path / "out.csv")]  # fmt: skip
        process = subprocess.Popen(command, stdout=subprocess.DEVNULL)
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        assert process.returncode == 0
        return usage.ru_maxrss * 1024, path.stat().st_size

    (few, short), (many, long) = peak(250), peak(2000)
    assert long - short > 4_000_000
    assert many - few < 4 * (long - short)  # 1.5 bytes for each byte of the file; whole tables took 13.8


# -- columns that are kept -----------------------------------------------------------------------------------


def test_columns_are_kept_as_they_are(folder, tmp_path):
    (tmp_path / "a.csv").write_text('id,age,chol,thal\n007,50,200,normal\n" x, ""y""",60,,fixed\n,61,199,\n')
    done = run("predict", folder / "m.miser", tmp_path / "a.csv", "--keep", "id", "--keep", "thal", "--out",
               tmp_path / "out.csv")  # fmt: skip
    assert done.exit_code == 0, done.output
    with (tmp_path / "out.csv").open(newline="") as file:
        written = list(csv.reader(file))
    assert written[0] == ["id", "thal", "prediction", "cost", "features"]
    assert [row[:2] for row in written[1:]] == [["007", "normal"], [' x, "y"', "fixed"], ["", ""]]


def test_columns_of_parquet_keep_their_type(tmp_path, folder):
    frame = table(30)[["age", "chol", "thal"]].assign(number=np.arange(30), gap=None)
    frame.loc[29, "gap"] = "x"
    frame.to_parquet(tmp_path / "a.parquet")
    keep = ("--keep", "number", "--keep", "gap")
    done = run("predict", folder / "m.miser", tmp_path / "a.parquet", *keep, "--out", tmp_path / "b.parquet")
    assert done.exit_code == 0, done.output
    written = pd.read_parquet(tmp_path / "b.parquet")
    assert written["number"].tolist() == list(range(30)) and written["gap"].tolist()[-1] == "x"


def test_columns_that_cannot_be_kept_are_named(folder):
    done = run("predict", folder / "m.miser", folder / "heart.csv", "--keep", "cost", "--keep", "idd")
    assert [line.rpartition(": ")[2] for line in complaints(done)] == [
        "no column 'cost'; did you mean 'chol'?",
        "no column 'idd'; did you mean 'id'?",
        "the output has a column 'cost' of its own",
    ]


# -- odd cells -----------------------------------------------------------------------------------------------


def test_one_bad_cell_does_not_void_its_column(tmp_path):
    """Booleans in 2,000 rows and one that is none: only that one counts as missing."""
    rng = np.random.default_rng(0)
    smokes = rng.random(2000) < 0.5
    frame = pd.DataFrame({"smokes": smokes, "age": rng.normal(size=2000), "ill": smokes})
    frame.to_csv(tmp_path / "a.csv", index=False)
    learn = ("fit", tmp_path / "a.csv", "--target", "ill", *QUICK, "--out", tmp_path / "m.miser")
    assert run(*learn).exit_code == 0
    frame["smokes"] = frame["smokes"].astype(object)
    frame.loc[1200, "smokes"] = "maybe"
    frame.to_csv(tmp_path / "b.csv", index=False)
    done = run("predict", tmp_path / "m.miser", tmp_path / "b.csv", "--out", tmp_path / "out.csv")
    assert done.exit_code == 0
    assert (
        "b.csv, line 1202, column 'smokes': unknown to the plan; 1 rows have such categories" in done.stderr
    )
    written = pd.read_csv(tmp_path / "out.csv")["prediction"].to_numpy()
    others = np.arange(2000) != 1200
    np.testing.assert_array_equal(written[others], smokes[others])
    done = run("predict", tmp_path / "m.miser", tmp_path / "b.csv", "--unknown", "error")
    assert "line 1202, column 'smokes': 'maybe' is unknown to the plan" in complaint(done)


def test_booleans_and_numbers_are_known_however_they_are_written(tmp_path):
    frame = pd.DataFrame({"smokes": [True, False] * 100, "grade": pd.Categorical([1, 2, 3, 1] * 50)})
    from miserly import GreedyMiserClassifier

    y = (frame["smokes"] & (frame["grade"] == 3)).to_numpy()
    model = GreedyMiserClassifier(n_rounds=20, max_depth=2).fit(frame, y)
    model.plan_.save(tmp_path / "m.miser")
    (tmp_path / "a.csv").write_text("smokes,grade\nTRUE,3\nfalse,3.0\nTrue,1\ntrue,3\n")
    done = run("predict", tmp_path / "m.miser", tmp_path / "a.csv", "--json")
    assert done.stderr == "" and json.loads(done.stdout)["unknown_values"] == {}
    predicted = [row["prediction"] for row in json.loads(done.stdout)["predictions"]]
    asked = pd.DataFrame({"smokes": [True, False, True, True], "grade": pd.Categorical([3, 3, 1, 3])})
    assert predicted == model.predict(asked).tolist()


@pytest.mark.parametrize("kind", ["csv", "parquet"])
def test_zeros_and_ones_are_booleans(tmp_path, kind):
    """A boolean column that another program writes as 0 and 1: the same answers, and no value is missing."""
    rng = np.random.default_rng(0)
    smokes = rng.random(300) < 0.5
    frame = pd.DataFrame({"smokes": smokes, "age": rng.normal(size=300), "ill": smokes})
    frame.to_csv(tmp_path / "a.csv", index=False)
    learn = ("fit", tmp_path / "a.csv", "--target", "ill", *QUICK, "--out", tmp_path / "m.miser")
    assert run(*learn).exit_code == 0
    numbers = frame.assign(smokes=smokes.astype(int), ill=smokes.astype(int))
    getattr(numbers, f"to_{kind}")(tmp_path / f"b.{kind}", index=False)
    done = run("predict", tmp_path / "m.miser", tmp_path / f"b.{kind}", "--json", "--unknown", "error")
    record = json.loads(done.stdout)
    assert done.stderr == "" and record["unknown_values"] == {} and record["accuracy"] == 1.0
    assert [row["prediction"] for row in record["predictions"]] == smokes.tolist()


def test_all_bad_numbers_are_reported_and_nothing_is_written(folder, tmp_path, row_by_row):
    lines = ["age,chol,thal", *["50,200,normal"] * 40]
    lines[9], lines[31], lines[38] = "50,2OO,normal", "5O,200,normal", "50,1.000,5,normal"
    lines[39], lines[40], lines[1] = "50,x,normal", "50,1e999,normal", "50,-inf,normal"
    (tmp_path / "a.csv").write_text("\n".join(lines))
    plan = load(folder / "m.miser")
    assert {"age", "chol"} <= {plan.costs.name(f) for f in plan.features}
    predicted = complaints(
        run("predict", folder / "m.miser", tmp_path / "a.csv", "--out", tmp_path / "never.csv")
    )
    assert sorted(line.partition(", line ")[2] for line in predicted) == [
        "10, column 'chol': '2OO' is not a number; also in line 40",
        "2, column 'chol': '-inf' is infinite; leave the cell empty if the value is missing; also in line 41",
        "32, column 'age': '5O' is not a number",
        "39: 4 values for 3 columns",
    ]
    piped = run("predict", folder / "m.miser", tmp_path / "a.csv")
    assert piped.exit_code == 1 and piped.stdout == "" and not (tmp_path / "never.csv").exists()


# -- formulas ------------------------------------------------------------------------------------------------


def test_cells_that_a_spreadsheet_would_run_are_guarded(folder, tmp_path):
    ids = ["=1+1", "+cmd|x", "-2-3", "@SUM(A1)", "\tx", "-5.25", "+1e3", "-", "plain", "a=b"]
    rows = "".join(f'"{one}",50,200,normal\n' for one in ids)
    (tmp_path / "a.csv").write_text(f"=id,age,chol,thal\n{rows}")
    words = ("predict", folder / "m.miser", tmp_path / "a.csv", "--keep", "=id", "--out")
    done = run(*words, tmp_path / "b.csv")
    assert "6 cells look like formulas of a spreadsheet" in done.stderr
    with (tmp_path / "b.csv").open(newline="") as file:
        first = [row[0] for row in csv.reader(file)]
    assert first == ["'=id", "'=1+1", "'+cmd|x", "'-2-3", "'@SUM(A1)", "'\tx", *ids[5:]]
    run(*words, tmp_path / "b.parquet")
    assert pd.read_parquet(tmp_path / "b.parquet")["=id"].tolist() == ids
