"""Fits in several processes: the same as here, and one that hangs or dies harms no other."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tempfile
import threading
import time
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType

import numpy as np
import pandas as pd
import pytest

from miserly import CostLassoClassifier, Costs
from miserly.data.rows import Rows
from miserly.plan import Plan
from miserly.selection import workers as _workers
from miserly.selection.workers import Workers

from .tables import miser, sweep, table

PARTS = [(np.arange(30), np.arange(30, 40)), (np.arange(10, 40), np.arange(10))]


def steps():
    """A learner that does as its value says; made here, so that processes get it by value."""

    @dataclass
    class Steps:
        name: str = "steps"

        def fit(self, rows, value):
            if value == 2:
                raise ValueError("cannot")
            if value == 3:
                time.sleep(60)
            if value == 4:
                os._exit(1)
            if value == 5:
                time.sleep(2)
            base = float(rows.X.sum()) + 1000.0 * os.environ["OMP_NUM_THREADS"].isdigit()
            self.plan_ = Plan(costs=Costs([1.0]), terms=[], nodes=[], base=[base])
            return self

    return Steps()


def rows():
    return Rows(np.arange(40.0)[:, None], np.zeros(40))


def test_processes_share_the_cores_and_take_no_more_threads_than_the_user_set(monkeypatch):
    monkeypatch.setattr(_workers.joblib, "cpu_count", lambda: 16)
    monkeypatch.delenv("MKL_NUM_THREADS", raising=False)
    monkeypatch.setenv("NUMBA_NUM_THREADS", "1")
    monkeypatch.setenv("OMP_NUM_THREADS", "6")
    monkeypatch.setenv("OPENBLAS_NUM_THREADS", "all")  # not a number: as if nothing was set
    given = _workers._threads_of_each(4)
    assert [given[f"{of}_NUM_THREADS"] for of in ("NUMBA", "OMP", "OPENBLAS", "MKL")] == ["1", "4", "4", "4"]


def test_a_process_that_hangs_or_dies_is_replaced(monkeypatch):
    monkeypatch.setattr(_workers, "LEAST", 2.0)
    with Workers(rows(), PARTS[:1], n_jobs=2, time_limit=0.1) as workers:
        orders = [workers.begin(steps(), value) for value in (1, 2, 3, 4, 1)]
        first, *_, last = orders
        assert [fit.plan.base[0] for fit in first.wait()] == [1435.0]  # 0 + ... + 29, and 1,000
        with pytest.raises(ValueError, match="cannot"):
            orders[1].wait()
        with pytest.raises(TimeoutError, match="not done after 2 seconds"):
            orders[2].wait()
        with pytest.raises(RuntimeError, match="died"):
            orders[3].wait()
        assert [fit.plan.base[0] for fit in last.wait()] == [1435.0]


@pytest.mark.parametrize("n_jobs", [pytest.param(None, marks=pytest.mark.long), 2])
def test_what_no_other_process_can_read_is_fitted_here(monkeypatch, n_jobs):
    monkeypatch.setitem(sys.modules, "nowhere", ModuleType("nowhere"))
    learner = steps()
    for name, value in (("__module__", "nowhere"), ("__qualname__", "Steps")):
        setattr(type(learner), name, value)
    sys.modules["nowhere"].Steps = type(learner)
    monkeypatch.setenv("OMP_NUM_THREADS", "x")
    with Workers(rows(), PARTS, n_jobs=n_jobs, time_limit=60.0) as workers:
        orders = [workers.begin(learner, 1), workers.begin(steps(), 1)]
        assert [fit.plan.base[0] for fit in orders[0].wait()] == [435.0, 735.0]
        assert [fit.plan.base[0] for fit in orders[1].wait()] == [1435.0, 1735.0]


def test_what_cannot_be_pickled_is_fitted_here(monkeypatch):
    learner = steps()
    learner.name = threading.Lock()
    monkeypatch.setenv("OMP_NUM_THREADS", "x")
    with Workers(rows(), PARTS[:1], time_limit=60.0) as workers:
        assert [fit.plan.base[0] for fit in workers.begin(learner, 1).wait()] == [435.0]


def test_leaving_ends_what_goes_on():
    start = time.monotonic()
    with Workers(rows(), PARTS[:1], n_jobs=2) as workers:
        orders = [workers.begin(steps(), 3) for _ in range(3)]
        time.sleep(0.1)
        assert orders[2].cancel()  # no worker has begun it
    assert time.monotonic() - start < 30


ASKS = """
import os, signal, sys, threading, time
import numpy as np
from miserly.selection import files as _files
from miserly.selection.workers import Workers
from miserly.data.rows import Rows

class Sleeps:
    name = "sleeps"

    def fit(self, rows, value):
        open(value, "w").close()
        time.sleep(120)

def die(mark, moment):
    while not moment and not os.path.exists(mark):
        time.sleep(0.01)
    time.sleep(moment)
    os.kill(os.getpid(), signal.SIGKILL)

if __name__ == "__main__":
    mark, moment, named = sys.argv[1], float(sys.argv[2]), sys.argv[3] == "named"
    if named:
        _files._PROCESSES = "/nowhere"  # as outside of Linux
    rows = Rows(np.zeros((4000, 10)), np.zeros(4000))
    threading.Thread(target=die, args=(mark, moment)).start()
    with Workers(rows, [(np.arange(4), np.arange(4))], n_jobs=2) as workers:
        for order in [workers.begin(Sleeps(), mark) for _ in range(2)]:
            order.wait()
"""


@pytest.mark.skipif(sys.platform != "linux", reason="looks for processes in /proc")
@pytest.mark.parametrize("moment, files", [(0.0, "nameless"), (0.3, "nameless"), (0.0, "named")])
def test_a_parent_that_is_killed_leaves_no_process_and_no_rows(tmp_path, moment, files):
    """While processes fit (0), or so many seconds after the first was asked for: they are starting then."""
    _kill(tmp_path, moment, files)


@pytest.mark.long
@pytest.mark.skipif(sys.platform != "linux", reason="looks for processes in /proc")
@pytest.mark.parametrize("files", ["nameless", "named"])
@pytest.mark.parametrize("moment", np.random.default_rng(0).exponential(1.0, 12).round(3).tolist())
def test_a_parent_that_is_killed_at_any_moment_leaves_nothing(tmp_path, moment, files):
    _kill(tmp_path, moment, files)


def _kill(tmp_path, moment, files):
    (tmp_path / "asks.py").write_text(ASKS)
    temporary = tmp_path / "temporary"
    temporary.mkdir()
    here = {**os.environ, "TMPDIR": str(temporary)}
    asks = [sys.executable, tmp_path / "asks.py", tmp_path / "mark", str(moment), files]
    assert subprocess.run(asks, timeout=60, check=False, env=here).returncode == -signal.SIGKILL
    end = time.monotonic() + 60
    while _processes_with(f"TMPDIR={temporary}") and time.monotonic() < end:
        time.sleep(0.2)
    assert _processes_with(f"TMPDIR={temporary}") == []
    assert list(temporary.rglob("*")) == []


def _processes_with(setting):
    """The command lines of all processes with an environment variable."""
    found = []
    for process in Path("/proc").glob("[0-9]*"):
        try:
            if setting.encode() in (process / "environ").read_bytes().split(b"\0"):
                found.append((process / "cmdline").read_bytes())
        except OSError:  # it has just ended
            continue
    return found


def test_the_file_of_rows_has_no_name_where_it_can_do_without(tmp_path, monkeypatch):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    with Workers(rows(), PARTS[:1], n_jobs=2) as workers:
        assert [fit.plan.base[0] for fit in workers.begin(steps(), 1).wait()] == [1435.0]
        assert (list(tmp_path.iterdir()) == []) == (sys.platform == "linux")
    assert list(tmp_path.iterdir()) == []


def compiles(seconds):
    """A learner whose fit compiles for so long, as its process sees it."""

    @dataclass
    class Compiles:
        name: str = "compiles"

        def fit(self, rows, value):
            from miserly.utils.compiled import clock

            clock.enter()
            time.sleep(seconds)
            clock.leave()
            time.sleep(value)
            self.plan_ = Plan(costs=Costs([1.0]), terms=[], nodes=[], base=[0.0])
            return self

    return Compiles()


def test_compiling_is_no_part_of_the_time_of_a_fit(monkeypatch):
    monkeypatch.setattr(_workers, "LEAST", 1.0)
    with Workers(rows(), PARTS[:1], time_limit=0.1) as workers:
        before = workers.now()
        (fit,) = workers.begin(compiles(2.5), 0.1).wait()
        assert fit.seconds < 1.0 and workers.now() - before < 2.0
        with pytest.raises(TimeoutError, match="not done after 1 seconds"):
            workers.begin(compiles(0.5), 60.0).wait()
        after = workers.now()
        time.sleep(0.1)
        assert workers.now() - after >= 0.09  # the clock of a process that was ended stands still


def test_a_fit_here_begins_when_it_is_waited_for(monkeypatch):
    monkeypatch.setenv("OMP_NUM_THREADS", "x")
    with Workers(rows(), PARTS) as workers:
        order = workers.begin(steps(), 1)
        assert order.cancel() and [fit.plan.base[0] for fit in order.wait()] == [435.0, 735.0]


def test_the_number_of_processes_changes_nothing():
    X, y, _ = table(90)
    one, two = (
        sweep([CostLassoClassifier(), miser()], X, y, max_fits=12, n_jobs=n, cv=2).points for n in (None, 2)
    )
    pd.testing.assert_frame_equal(one, two)


def test_one_at_a_time_can_be_stopped_too_and_what_is_wanted_is_waited_for(monkeypatch):
    monkeypatch.setattr(_workers, "LEAST", 0.5)
    with Workers(rows(), PARTS[:1], time_limit=2.0) as workers:
        with pytest.raises(TimeoutError, match=r"not done after 0\.5 seconds"):
            workers.begin(steps(), 3).wait()
        assert len(workers.begin(steps(), 5, wanted=True).wait()) == 1
