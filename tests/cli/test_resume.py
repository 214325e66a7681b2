"""`miserly predict --resume`: an interrupted run goes on, and no row is lost, repeated or out of order."""

from __future__ import annotations

import errno
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from miserly import EarlyExit, GreedyMiserRanker, load
from miserly.cli import batches, predictions, resuming
from miserly.cli.table_files import CsvFile, ParquetFile
from miserly.cli.totals import ExactSum

from .running import QUICK, complaint, run, table

N_ROWS = 1020
# A process that notes its progress after each of many small batches. It takes its time over each, so that it
# is killed before it ends, however fast the machine.
CHILD = """
import sys, time
from miserly.cli import app, batches, predictions, resuming
from miserly.cli.table_files import CsvFile, ParquetFile
answered = predictions.Predictions._answered
def slowly(self, batch, n_rows):
    time.sleep(0.02)
    return answered(self, batch, n_rows)
predictions.Predictions._answered = slowly
resuming.SECONDS = 0.0
batches.ROWS = 23
for file in (CsvFile, ParquetFile):
    file.chunk_cells, file.fewest_rows = 30, 1
app(sys.argv[1:])
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A table with line breaks in its ids, also in Parquet with several row groups, and a plan."""
    path = tmp_path_factory.mktemp("resume")
    frame = table(N_ROWS)[["age", "chol", "thal", "disease"]]
    frame["id"] = [f"p{i}" if i % 7 else f"p{i},\n=x" for i in range(N_ROWS)]
    frame.loc[::50, "thal"] = "odd"
    frame.to_csv(path / "a.csv", index=False)
    frame.to_parquet(path / "a.parquet", row_group_size=70)
    frame[frame["thal"] != "odd"].head(300).to_csv(path / "fit.csv", index=False)
    done = run(
        "fit", path / "fit.csv", "--target", "disease", "--ignore", "id", *QUICK, "--out", path / "m.miser"
    )
    assert done.exit_code == 0, done.output
    return path


@pytest.fixture
def small_batches(monkeypatch):
    """Each of many small batches is noted."""
    monkeypatch.setattr(resuming, "SECONDS", 0.0)
    monkeypatch.setattr(batches, "ROWS", 23)
    for file in (CsvFile, ParquetFile):
        monkeypatch.setattr(file, "chunk_cells", 30)
        monkeypatch.setattr(file, "fewest_rows", 1)


def words(folder, kind, out, *more):
    given = ("--keep", "id", "--proba", "--budget", 50)
    return [str(w) for w in ("predict", folder / "m.miser", folder / kind, *given, "--out", out, *more)]


def whole(folder, kind, out, *more):
    """The output of a run that nothing interrupts, and what it prints."""
    done = run(*words(folder, kind, out, *more))
    assert done.exit_code == 0, done.output
    return out.read_bytes(), done


def interrupt_after(monkeypatch, n_batches, error=KeyboardInterrupt):
    """The run stops after some batches."""
    real, count = predictions.Predictions._answered, []

    def answered(self, batch, n_rows):
        count.append(1)
        if len(count) > n_batches:
            raise error
        return real(self, batch, n_rows)

    monkeypatch.setattr(predictions.Predictions, "_answered", answered)


def noted_rows(out):
    try:
        return json.loads(Path(f"{out}.progress").read_text())["rows"]
    except (FileNotFoundError, ValueError):
        return 0


# -- killed --------------------------------------------------------------------------------------------------


def killed(command, out, n_rows):
    """Start a run, and kill it when it has noted so many rows."""
    process = subprocess.Popen([sys.executable, "-c", CHILD, *command], stdout=subprocess.DEVNULL)
    end = time.monotonic() + 60
    while noted_rows(out) < n_rows and process.poll() is None and time.monotonic() < end:
        time.sleep(0.001)
    process.send_signal(signal.SIGKILL)
    assert process.wait() == -signal.SIGKILL  # it had not ended before


@pytest.mark.parametrize(
    ("kind", "end"),
    [("a.csv", "csv"), ("a.parquet", "parquet"), pytest.param("a.csv", "parquet", marks=pytest.mark.long)],
)
def test_killed_runs_go_on_to_the_same_bytes(folder, tmp_path, kind, end):
    wanted, plain = whole(folder, kind, tmp_path / f"whole.{end}")
    out = tmp_path / f"out.{end}"
    out.write_bytes(b"old")
    killed(words(folder, kind, out), out, 100)  # a run need not know that it will be resumed
    for n_rows in (300, 600):
        assert 0 < noted_rows(out) < N_ROWS and out.read_bytes() == b"old"
        killed(words(folder, kind, out, "--resume"), out, n_rows)
    n_noted = noted_rows(out)
    done = run(*words(folder, kind, out, "--resume"))  # with large batches
    assert done.exit_code == 0, done.output
    assert out.read_bytes() == wanted
    assert f"going on after {n_noted:,} rows of an earlier run" in done.stderr
    assert done.stdout.splitlines()[0] == plain.stdout.splitlines()[0]  # costs and accuracy of all rows
    assert done.stderr.splitlines()[1:] == plain.stderr.splitlines()  # warnings about all rows
    assert {path.name for path in tmp_path.iterdir()} == {f"whole.{end}", f"out.{end}"}
    frame = pd.read_csv(out) if end == "csv" else pd.read_parquet(out)
    ids = [f"p{i}" if i % 7 else f"p{i},\n=x" for i in range(N_ROWS)]
    assert frame["id"].tolist() == ids


# -- interrupted anywhere ------------------------------------------------------------------------------------


@pytest.mark.parametrize("n_batches", [1, 2, 30])
@pytest.mark.parametrize("end", ["csv", "parquet"])
def test_a_run_can_stop_after_any_batch(folder, tmp_path, monkeypatch, small_batches, n_batches, end):
    wanted, _ = whole(folder, f"a.{end}", tmp_path / f"whole.{end}")
    out = tmp_path / f"out.{end}"
    with monkeypatch.context() as patch:
        interrupt_after(patch, n_batches)
        done = run(*words(folder, f"a.{end}", out))
    n_noted = noted_rows(out)
    assert done.exit_code == 130 and n_noted
    assert f"the same command with --resume goes on after {n_noted:,} rows" in done.stderr
    with Path(f"{out}.part").open("ab") as part:
        part.write(b"half a row that was written after the note")
    done = run(*words(folder, f"a.{end}", out, "--resume"))
    assert done.exit_code == 0 and out.read_bytes() == wanted, done.output
    assert f"going on after {n_noted:,} rows of an earlier run" in done.stderr


def test_a_run_that_stopped_before_its_last_step_takes_it(folder, tmp_path, monkeypatch, small_batches):
    """All rows are there, but the file is not in its place."""

    def interrupted(self):
        raise KeyboardInterrupt

    wanted, _ = whole(folder, "a.parquet", tmp_path / "whole.parquet")
    out = tmp_path / "out.parquet"
    with monkeypatch.context() as patch:
        patch.setattr(resuming.ResumableTable, "finish", interrupted)
        assert run(*words(folder, "a.parquet", out)).exit_code == 130
    assert noted_rows(out) == N_ROWS
    assert run(*words(folder, "a.parquet", out, "--resume")).exit_code == 0
    assert out.read_bytes() == wanted


def test_queries_stay_whole_in_a_run_that_goes_on(tmp_path, monkeypatch, small_batches):
    frame = table(600)
    qid = np.repeat(np.arange(100), 6)
    model = EarlyExit(GreedyMiserRanker(n_rounds=20), rule="proximity", threshold=0.1, k=2)
    plan = model.fit(frame[["age", "chol"]], frame["grade"], qid=qid).plan_
    plan.replace(info={**plan.info, "task": "ranking", "target": "grade"}).save(tmp_path / "m.miser")
    frame.to_csv(tmp_path / "a.csv", index=False)
    command = ("predict", tmp_path / "m.miser", tmp_path / "a.csv", "--query", "patient", "--out")
    plain = run(*command, tmp_path / "whole.csv")
    assert "ndcg@5" in plain.stdout
    with monkeypatch.context() as patch:
        interrupt_after(patch, 9)
        assert run(*command, tmp_path / "out.csv").exit_code == 130
    assert noted_rows(tmp_path / "out.csv") % 6 == 0
    done = run(*command, tmp_path / "out.csv", "--resume")
    assert (tmp_path / "out.csv").read_bytes() == (tmp_path / "whole.csv").read_bytes()
    assert done.stdout.splitlines()[0] == plain.stdout.splitlines()[0]


def test_problems_before_the_interruption_are_reported(folder, tmp_path, monkeypatch, small_batches):
    lines = (folder / "fit.csv").read_text().splitlines()
    lines[5], lines[9], lines[200] = "50,2OO,normal,absence,x", "1,2", "50,x,normal,absence,x"
    (tmp_path / "b.csv").write_text("\n".join(lines))
    command = ("predict", folder / "m.miser", tmp_path / "b.csv", "--out", tmp_path / "out.csv")
    plain = run(*command)
    assert plain.exit_code == 1 and plain.stderr.count("error:") == 2
    assert "'2OO' is not a number; also in line 201" in plain.stderr
    assert {path.name for path in tmp_path.iterdir()} == {"b.csv"}  # the same errors would come again
    with monkeypatch.context() as patch:
        interrupt_after(patch, 5)
        run(*command)
    done = run(*command, "--resume")
    assert done.exit_code == 1 and done.stderr.splitlines()[1:] == plain.stderr.splitlines()


def test_a_full_disk_keeps_what_is_noted(folder, tmp_path, monkeypatch, small_batches):
    wanted, _ = whole(folder, "a.csv", tmp_path / "whole.csv")
    with monkeypatch.context() as patch:
        interrupt_after(patch, 7, OSError(errno.ENOSPC, "No space left on device"))
        done = run(*words(folder, "a.csv", tmp_path / "out.csv"))
    assert "no space left on device; the same command with --resume goes on" in complaint(done)
    assert run(*words(folder, "a.csv", tmp_path / "out.csv", "--resume")).exit_code == 0
    assert (tmp_path / "out.csv").read_bytes() == wanted


# -- other runs ----------------------------------------------------------------------------------------------


@pytest.fixture
def stopped(folder, tmp_path, monkeypatch, small_batches):
    """An interrupted run on a table and a model of its own."""
    for name in ("a.csv", "m.miser", "fit.csv"):
        (tmp_path / name).write_bytes((folder / name).read_bytes())
    with monkeypatch.context() as patch:
        interrupt_after(patch, 20)
        assert run(*words(tmp_path, "a.csv", tmp_path / "out.csv")).exit_code == 130
    return tmp_path


def refused(stopped, *more):
    part = (stopped / "out.csv.part").read_bytes()
    reason = complaint(run(*words(stopped, "a.csv", stopped / "out.csv", "--resume", *more)))
    assert reason.endswith("run it without --resume to begin again")
    assert (stopped / "out.csv.part").read_bytes() == part
    return reason


def test_another_table_is_refused(stopped):
    text = (stopped / "a.csv").read_text()
    at = text.rindex("normal")
    times = (stopped / "a.csv").stat()
    (stopped / "a.csv").write_text(text[:at] + "fixed " + text[at + 6 :])  # as long as before
    os.utime(stopped / "a.csv", ns=(times.st_atime_ns, times.st_mtime_ns))
    assert "the table is not that of the earlier run" in refused(stopped)


def test_another_model_is_refused(stopped):
    plan = load(stopped / "m.miser")
    plan.replace(base=plan.base + 0.1).save(stopped / "m.miser")
    assert "the model is not that of the earlier run" in refused(stopped)
    plan.replace(info={}).save(stopped / "m.miser")  # notes of the model do not matter
    assert run(*words(stopped, "a.csv", stopped / "out.csv", "--resume")).exit_code == 0


def test_other_options_are_refused_by_name(stopped):
    reason = refused(stopped, "--budget", 6, "--keep", "age", "--unknown", "missing")
    assert "--budget was 50.0 in the earlier run, and is 6.0" in reason
    assert "--keep was id in the earlier run, and is id, age" in reason and "--unknown" not in reason


@pytest.mark.parametrize("damage", ["{}", "[1]", "not JSON", '{"run": {}, "bytes": "x"}'])
def test_a_damaged_note_is_refused(stopped, damage):
    (stopped / "out.csv.progress").write_text(damage)
    refused(stopped)


def test_a_part_that_is_too_short_is_refused(stopped):
    with (stopped / "out.csv.part").open("r+b") as part:
        part.truncate(10)
    assert "rows are missing" in refused(stopped)


def test_without_resume_a_run_begins_again(stopped, folder, tmp_path):
    wanted, _ = whole(folder, "a.csv", tmp_path / "whole.csv")
    done = run(*words(stopped, "a.csv", stopped / "out.csv", "--budget", 50))
    assert done.exit_code == 0 and (stopped / "out.csv").read_bytes() == wanted
    assert not (stopped / "out.csv.part").exists() and not (stopped / "out.csv.progress").exists()


def test_nothing_to_go_on_with_runs_all_rows(folder, tmp_path):
    wanted, _ = whole(folder, "a.csv", tmp_path / "whole.csv")
    done = run(*words(folder, "a.csv", tmp_path / "out.csv", "--resume"))
    assert done.exit_code == 0 and (tmp_path / "out.csv").read_bytes() == wanted
    assert "no earlier run to go on with: all rows are run" in done.stderr


def test_two_runs_do_not_write_to_one_file(folder, tmp_path, monkeypatch, small_batches):
    out, seen = tmp_path / "out.csv", []
    real = predictions.Predictions._answered

    def answered(self, batch, n_rows):
        if not seen:
            seen.append(None)
            seen[0] = run(*words(folder, "a.csv", out))
        return real(self, batch, n_rows)

    monkeypatch.setattr(predictions.Predictions, "_answered", answered)
    assert run(*words(folder, "a.csv", out)).exit_code == 0
    assert "another process is writing to this file" in complaint(seen[0])
    assert len(pd.read_csv(out)) == N_ROWS


@pytest.mark.parametrize("more", [("--json", "--out", "a.csv"), ()])
def test_resume_needs_a_file_to_go_on_with(folder, more):
    done = run("predict", folder / "m.miser", folder / "a.csv", "--resume", *more)
    assert "--resume needs --out" in complaint(done, code=2)


def test_links_in_the_place_of_drafts_are_refused(folder, tmp_path):
    (tmp_path / "precious").write_bytes(b"old")
    for name in ("out.csv.part", "out.csv.progress"):
        (tmp_path / name).symlink_to(tmp_path / "precious")
        assert "this is a link to" in complaint(run(*words(folder, "a.csv", tmp_path / "out.csv")))
        assert (tmp_path / "precious").read_bytes() == b"old"
        (tmp_path / name).unlink()


# -- parts ---------------------------------------------------------------------------------------------------


def test_columns_that_begin_with_many_empty_cells_keep_their_type(folder, tmp_path, small_batches):
    frame = table(120)[["age", "chol", "thal"]]
    frame = frame.assign(gap=[None] * 119 + ["x"], when=pd.to_datetime("2024-01-31"), small=np.int8(3))
    frame["kind"] = pd.Categorical(["a", "b"] * 60)
    frame.to_parquet(tmp_path / "a.parquet")
    keep = [word for name in ("gap", "when", "small", "kind") for word in ("--keep", name)]
    done = run("predict", folder / "m.miser", tmp_path / "a.parquet", *keep, "--out", tmp_path / "b.parquet")
    assert done.exit_code == 0, done.output
    written = pd.read_parquet(tmp_path / "b.parquet")
    assert written["gap"].isna().tolist() == [True] * 119 + [False] and written["gap"].iloc[-1] == "x"
    assert written["small"].dtype == np.int8
    assert written["when"].tolist() == frame["when"].tolist() and written["kind"].tolist() == ["a", "b"] * 60


def test_sums_are_exact_in_any_batches():
    from fractions import Fraction

    rng = np.random.default_rng(0)
    values = rng.normal(size=5000) * 10.0 ** rng.integers(-300, 300, 5000)
    values[:3] = 5e-324, -0.0, 0.0
    exact = sum(map(Fraction, values.tolist()))
    for sizes in ([5000], [1] * 100 + [4900], [17] * 294 + [2]):
        total = ExactSum()
        for part in np.split(values, np.cumsum(sizes)[:-1]):
            total.add(part)
        assert total.over(7) == float(exact / 7)
