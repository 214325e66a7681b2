"""How long a whole fit takes, against LightGBM's estimators in the same process.

    python benchmarks/fit_speed.py [--quick] [--turns 9] [--only adult magic]

`fit` as a user calls it: default parameters of both, 100 rounds, depth 4, no penalties, whatever is compiled
is in the cache. Both take turns, with one thread each and then with two. The figures are medians, and ratios
are medians of the ratios of the turns. On a machine that others use, ratios of processor time with one thread
are the most reliable; with two threads the ratios by the clock only mean something on an idle machine.
"""

from __future__ import annotations

import argparse
import os
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

os.environ.setdefault("OMP_WAIT_POLICY", "passive")  # or LightGBM's threads spin while others compute

import lightgbm as lgb
import numpy as np

from common import folder, table, write
from miserly.datasets import load
from miserly.learners import GreedyMiserClassifier, GreedyMiserRanker

ROUNDS, DEPTH = 100, 4
THREADS = (1, 2)


@dataclass(frozen=True)
class Race:
    """A data set, the largest ratio that is the goal, and the parameters of our learner."""

    data: str
    goal: float
    parameters: tuple[tuple[str, str], ...] = ()

    @property
    def name(self) -> str:
        return " ".join([self.data, *(value for _, value in self.parameters)])


RACES = (
    Race("heart_statlog", 1.0),
    Race("page_blocks", 0.9),
    Race("optdigits", 0.9),
    Race("magic", 0.9),
    Race("letter", 0.9),
    Race("adult", 0.9),
    Race("mq2008", 0.9),
    Race("mq2008", 0.9, (("loss", "lambdarank"),)),
)


def fits(race: Race, threads: int) -> tuple[tuple[int, int], dict[str, Callable[[], Any]]]:
    """The shape of the data, and a function that fits each of both."""
    data = load(race.data)
    X, y = np.ascontiguousarray(data.X, dtype=np.float32), data.y
    limits = {"n_estimators": ROUNDS, "max_depth": DEPTH, "num_leaves": 2**DEPTH, "verbose": -1}
    chosen: dict[str, Any] = dict(race.parameters)
    ours = {"n_rounds": ROUNDS, "max_depth": DEPTH, "n_jobs": threads} | chosen
    if data.qid is None:
        return X.shape, {
            "miserly": lambda: GreedyMiserClassifier(**ours).fit(X, y),
            "LightGBM": lambda: lgb.LGBMClassifier(**limits, n_jobs=threads).fit(X, y),
        }
    order = np.argsort(data.qid, kind="stable")
    X, y, qid = X[order], y[order], data.qid[order]
    sizes = np.unique(qid, return_counts=True)[1]
    return X.shape, {
        "miserly": lambda: GreedyMiserRanker(**ours).fit(X, y, qid=qid),
        "LightGBM": lambda: lgb.LGBMRanker(**limits, n_jobs=threads).fit(X, y, group=sizes),
    }


def seconds(work: Callable[[], Any]) -> tuple[float, float]:
    """Seconds by the clock, and of the processor."""
    clock, processor = time.perf_counter(), time.process_time()
    work()
    return time.perf_counter() - clock, time.process_time() - processor


def run(race: Race, threads: int, turns: int) -> dict[str, Any]:
    """Medians of the seconds of both, taking turns after one turn to warm up."""
    shape, both = fits(race, threads)
    for work in both.values():
        work()
    times = np.array([[seconds(work) for work in both.values()] for _ in range(turns)])
    (ours, our_work), (theirs, their_work) = np.median(times, axis=0)  # of (turns, both, clocks)
    ratio, work_ratio = np.median(times[:, 0] / times[:, 1], axis=0)
    return {
        "data": race.name,
        "rows": shape[0],
        "features": shape[1],
        "threads": threads,
        "miserly": float(ours),
        "lightgbm": float(theirs),
        "ratio": float(ratio),
        "miserly_processor": float(our_work),
        "lightgbm_processor": float(their_work),
        "processor_ratio": float(work_ratio),
        "goal": race.goal,
    }


def line(one: dict[str, Any]) -> Sequence[Any]:
    reached = "yes" if one["processor_ratio" if one["threads"] == 1 else "ratio"] <= one["goal"] else "no"
    return (
        one["data"],
        f"{one['rows']:,} x {one['features']}",
        one["threads"],
        f"{one['miserly'] * 1e3:.0f} ms",
        f"{one['lightgbm'] * 1e3:.0f} ms",
        f"{one['ratio']:.2f}",
        f"{one['processor_ratio']:.2f}",
        f"{one['goal']:.1f}: {reached}",
    )


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--turns", type=int, default=9)
    parser.add_argument("--only", nargs="+", help="names of data sets; the page is not written then")
    args = parser.parse_args()
    turns = 3 if args.quick else args.turns
    figures = []
    for race in RACES:
        if args.only and race.data not in args.only:
            continue
        for threads in THREADS:
            figures.append(run(race, threads, turns))
            print(*line(figures[-1]), flush=True)
    if args.only:
        return
    page = [
        "# Speed of a fit",
        f"`fit` with default parameters, {ROUNDS} rounds of depth {DEPTH}, against `LGBMClassifier` and "
        f"`LGBMRanker` with the same rounds, depth and threads; medians of {turns} turns, taken in turn in "
        "one process. Ratios are over LightGBM's. The goal is the largest ratio that is wanted: of processor "
        "time with one thread, which others on the machine hardly change, and by the clock with two.",
        "`python benchmarks/fit_speed.py" + (" --quick`" if args.quick else f" --turns {turns}`"),
        table(
            ("data", "size", "threads", "miserly", "LightGBM", "ratio", "processor", "goal"),
            map(line, figures),
        ),
    ]
    write("fit_speed", "\n\n".join(page) + "\n", figures, args.quick, show=False)
    print(folder(args.quick) / "fit_speed.md")


if __name__ == "__main__":
    main()
