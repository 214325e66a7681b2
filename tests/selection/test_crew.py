"""Fits in several processes: the same as here, and one that hangs or dies harms nobody else."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
import time
from dataclasses import dataclass
from types import ModuleType

import numpy as np
import pandas as pd
import pytest

from miserly import CostLassoClassifier, Costs
from miserly.plan import Plan
from miserly.selection import _crew
from miserly.selection._crew import Crew
from miserly.selection._splits import Rows

from .tables import miser, sweep, table

PARTS = [(np.arange(30), np.arange(30, 40)), (np.arange(10, 40), np.arange(10))]


def steps():
    """A contender that does as its value says; made here, so that processes get it by value."""

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


def test_a_process_that_hangs_or_dies_is_replaced(monkeypatch):
    monkeypatch.setattr(_crew, "LEAST", 2.0)
    with Crew(rows(), PARTS[:1], n_jobs=2, time_limit=0.1) as crew:
        orders = [crew.begin(steps(), value) for value in (1, 2, 3, 4, 1)]
        first, *_, last = orders
        assert [fit.plan.base[0] for fit in first.wait()] == [1435.0]  # 0 + ... + 29, and 1,000
        with pytest.raises(ValueError, match="cannot"):
            orders[1].wait()
        with pytest.raises(TimeoutError, match="not done after 2 seconds"):
            orders[2].wait()
        with pytest.raises(RuntimeError, match="died"):
            orders[3].wait()
        assert [fit.plan.base[0] for fit in last.wait()] == [1435.0]


@pytest.mark.parametrize("n_jobs", [None, 2])
def test_what_no_other_process_can_read_is_fitted_here(monkeypatch, n_jobs):
    monkeypatch.setitem(sys.modules, "nowhere", ModuleType("nowhere"))
    contender = steps()
    for name, value in (("__module__", "nowhere"), ("__qualname__", "Steps")):
        setattr(type(contender), name, value)
    sys.modules["nowhere"].Steps = type(contender)
    monkeypatch.setenv("OMP_NUM_THREADS", "x")
    with Crew(rows(), PARTS, n_jobs=n_jobs, time_limit=60.0) as crew:
        orders = [crew.begin(contender, 1), crew.begin(steps(), 1)]
        assert [fit.plan.base[0] for fit in orders[0].wait()] == [435.0, 735.0]
        assert [fit.plan.base[0] for fit in orders[1].wait()] == [1435.0, 1735.0]


def test_what_cannot_be_pickled_is_fitted_here(monkeypatch):
    contender = steps()
    contender.name = threading.Lock()
    monkeypatch.setenv("OMP_NUM_THREADS", "x")
    with Crew(rows(), PARTS[:1], time_limit=60.0) as crew:
        assert [fit.plan.base[0] for fit in crew.begin(contender, 1).wait()] == [435.0]


def test_leaving_ends_what_goes_on():
    start = time.monotonic()
    with Crew(rows(), PARTS[:1], n_jobs=2) as crew:
        orders = [crew.begin(steps(), 3) for _ in range(3)]
        time.sleep(0.1)
        assert orders[2].cancel()  # nobody has come to it
    assert time.monotonic() - start < 30


ASKS = """
import os, signal, sys, time
import numpy as np
from miserly.selection._crew import Crew
from miserly.selection._splits import Rows

class Sleeps:
    name = "sleeps"

    def fit(self, rows, value):
        open(value, "w").write(str(os.getpid()))
        time.sleep(120)

if __name__ == "__main__":
    crew = Crew(Rows(np.zeros((4, 1)), np.zeros(4)), [(np.arange(4), np.arange(4))], n_jobs=2)
    crew.begin(Sleeps(), sys.argv[1])
    while not os.path.exists(sys.argv[1]) or not open(sys.argv[1]).read():
        time.sleep(0.1)
    os.kill(os.getpid(), signal.SIGKILL)
"""


@pytest.mark.skipif(sys.platform == "win32", reason="nobody is orphaned there")
def test_nobody_goes_on_once_whoever_asked_is_killed(tmp_path):
    (tmp_path / "asks.py").write_text(ASKS)
    told = tmp_path / "process"
    here = {**os.environ, "TMPDIR": str(tmp_path)}  # what is killed leaves its files behind
    subprocess.run([sys.executable, tmp_path / "asks.py", told], timeout=60, check=False, env=here)
    process, end = int(told.read_text()), time.monotonic() + 30
    while _is_alive(process) and time.monotonic() < end:
        time.sleep(0.2)
    assert not _is_alive(process)


def _is_alive(process):
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    return True


def test_a_fit_here_begins_when_it_is_waited_for(monkeypatch):
    monkeypatch.setenv("OMP_NUM_THREADS", "x")
    with Crew(rows(), PARTS) as crew:
        order = crew.begin(steps(), 1)
        assert order.cancel() and [fit.plan.base[0] for fit in order.wait()] == [435.0, 735.0]


def test_the_number_of_processes_changes_nothing():
    X, y, _ = table(90)
    one, two = (
        sweep([CostLassoClassifier(), miser()], X, y, max_fits=12, n_jobs=n, cv=2).points for n in (None, 2)
    )
    pd.testing.assert_frame_equal(one, two)


def test_one_at_a_time_can_be_stopped_too_and_what_is_wanted_is_waited_for(monkeypatch):
    monkeypatch.setattr(_crew, "LEAST", 0.5)
    with Crew(rows(), PARTS[:1], time_limit=2.0) as crew:
        with pytest.raises(TimeoutError, match=r"not done after 0\.5 seconds"):
            crew.begin(steps(), 3).wait()
        assert len(crew.begin(steps(), 5, wanted=True).wait()) == 1
