"""One or several threads, in this process or one that was started from it: always the same trees."""

from __future__ import annotations

import os
import subprocess
import sys
from contextlib import nullcontext

import numba
import numpy as np
import pytest

from miserly import Costs
from miserly.costs import Ledger
from miserly.grow import Bins, Grower, GrowOptions, compiled
from miserly.grow.compiled import build, most_threads, threads
from miserly.grow.growth import grow
from miserly.grow.histogram import fill


@pytest.fixture
def all_is_large(monkeypatch):
    monkeypatch.setattr(compiled, "SMALL", 1)


def tree(n_threads):
    rng = np.random.default_rng(0)
    X, target = rng.normal(size=(20_000, 9)), rng.normal(size=20_000)
    costs = Costs(np.ones(9))
    grower = Grower(Bins.fit(X).transform(X, n_threads), costs, GrowOptions(max_depth=4), n_threads)
    grown = grower.fit_tree(target, ledger=Ledger(costs), tradeoff=1e-5)
    return [grown.leaf, *(np.asarray(part) for part in vars(grown.tree).values() if part is not None)]


@pytest.mark.skipif(numba.config.NUMBA_NUM_THREADS < 2, reason="numba was given one thread")
def test_both_builds_grow_the_same_tree(all_is_large):
    for one, two in zip(tree(1), tree(2), strict=True):
        np.testing.assert_array_equal(one, two)


def test_functions_that_share_nothing_among_threads_have_one_build():
    assert build(fill) is fill
    assert build(grow) is not grow and build(grow) is build(grow)


def test_numbers_of_threads_nest(all_is_large, monkeypatch):
    monkeypatch.setattr(compiled, "_of_numba", lambda n: nullcontext())  # numba may have one thread only
    monkeypatch.setattr(numba.config, "NUMBA_NUM_THREADS", 8)
    with threads(3):
        assert most_threads() == 3
        with threads(None, size=0):
            assert most_threads() == 1
        with threads(99):
            assert most_threads() == 8
        assert most_threads() == 3


STARTS = """
import multiprocessing, os, sys, warnings
import numpy as np
from joblib import Parallel, delayed
from miserly import Costs, GreedyMiserClassifier
from miserly.grow import compiled

compiled.SMALL = 1  # threads even for these few values
warnings.simplefilter("error", RuntimeWarning)

def fit(depth=0):
    X = np.random.default_rng(0).normal(size=(300, 4))
    y = (X[:, 0] > 0).astype(int)
    with warnings.catch_warnings(record=True) as warned:
        warnings.simplefilter("always", RuntimeWarning)
        model = GreedyMiserClassifier(costs=Costs(np.ones(4)), n_rounds=2, random_state=0).fit(X, y)
        GreedyMiserClassifier(costs=Costs(np.ones(4)), n_rounds=2, random_state=0).fit(X, y)
    if depth:
        return in_fork(depth - 1)
    scores = model.plan_.run(np.tile(X, (20, 1))).scores
    return float(scores.sum()), sum("forked" in str(one.message) for one in warned)

def in_fork(depth=0):
    read, write = os.pipe()
    child = os.fork()
    if child == 0:
        os.write(write, repr(fit(depth)).encode())
        os._exit(0)
    os.close(write)
    with open(read) as answer:
        given = answer.read()
    os.waitpid(child, 0)
    return eval(given)

def in_pool(method):
    with multiprocessing.get_context(method).Pool(1) as pool:
        return pool.apply_async(fit).get(100)

if __name__ == "__main__":
    print("here", fit())
    print("os.fork", in_fork())
    print("fork in fork", in_fork(1))
    print("fork", in_pool("fork"))
    print("spawn", in_pool("spawn"))
    print("forkserver", in_pool("forkserver"))
    print("joblib", *Parallel(n_jobs=2)(delayed(fit)() for _ in range(1)))
"""


@pytest.mark.skipif(
    sys.platform != "linux", reason="elsewhere processes are not forked, or OpenMP survives it"
)
def test_fits_in_processes_started_after_a_fit(tmp_path):
    """GNU's OpenMP ends a process that was forked after its threads were started: these use one thread."""
    (tmp_path / "starts.py").write_text(STARTS)
    env = {**os.environ, "NUMBA_NUM_THREADS": "2", "NUMBA_THREADING_LAYER": "omp"}
    done = subprocess.run(
        [sys.executable, tmp_path / "starts.py"],
        env=env,
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    given_lines = [line.rsplit(" (", 1) for line in done.stdout.splitlines()]
    answers = {name: eval(f"({given}") for name, given in given_lines}
    assert len(answers) == 7, done.stderr
    assert {score for score, _ in answers.values()} == {answers["here"][0]}
    warned = {name for name, (_, times) in answers.items() if times}
    assert warned == {"os.fork", "fork"}  # the process between the two of "fork in fork" has warned already
    assert {times for _, times in answers.values()} == {0, 1}
