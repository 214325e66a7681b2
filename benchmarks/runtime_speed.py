"""What `OnDemand` adds to the bare compiled walker, and how fast stepping is with NumPy alone.

    python benchmarks/runtime_speed.py [--quick]

Three boosted models of 100 trees buy about 5, 20 and 50 features for a row, from sources that only look into
the row. All ways to predict take turns in one process. The difference of `OnDemand.predict` and the walker
(`Plan.walker`) is fitted by a line over the number of purchases: what a request adds, and what a call adds.
Stepping with NumPy alone runs in a process of its own, where numba does not compile.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import subprocess
import sys
import time
from collections.abc import Callable
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

from common import table, write
from miserly.plan import Plan, load
from miserly.runtime import OnDemand

SIZES = (5, 20, 50)
TURNS, ROWS = 60, 20
GOALS = {"sync": (30.0, 3.0), "async": (None, 60.0)}
CHAIN_GOAL = 2000.0  # microseconds

clock = time.perf_counter
Way = Callable[[list[Any]], list[float]]  # seconds of each row


def make_plan(n_features: int, n_trees: int, seed: int = 0) -> tuple[Plan, np.ndarray]:
    """A boosted model that uses all features, and rows to predict."""
    from miserly.learners import GreedyMiserRegressor  # here, because a process without numba imports this

    rng = np.random.default_rng(seed)
    X = rng.standard_normal((4000, n_features))
    y = X @ rng.uniform(0.5, 1.5, n_features) + rng.standard_normal(4000)
    model = GreedyMiserRegressor(n_rounds=n_trees, max_depth=4, step=0.3, n_jobs=1).fit(X, y)
    return model.plan_, rng.standard_normal((ROWS, n_features))


def look_up(f: int) -> Callable[[Any], float]:
    return lambda raw: raw[f]


def look_up_later(f: int) -> Callable[[Any], Any]:
    async def look(raw: Any) -> float:
        return raw[f]

    return look


def look_up_five(first: int) -> Callable[[Any], dict[int, float]]:
    return lambda raw: {f: raw[f] for f in range(first, first + 5)}


class Watch:
    """Hooks that do next to nothing."""

    def __init__(self) -> None:
        self.calls = 0

    def before_source(self, call: Any) -> None:
        self.calls += 1

    def after_source(self, call: Any) -> None:
        self.calls += 1


def ways(plan: Plan) -> dict[str, Way]:
    """What takes turns: each predicts all rows, one by one, and gives the seconds of each."""
    walk = plan.walker()
    sources = {f: look_up(f) for f in range(plan.n_features)}
    plain, watched = OnDemand(plan, sources), OnDemand(plan, sources, hooks=Watch())
    groups = {tuple(range(f, f + 5)): look_up_five(f) for f in range(0, plan.n_features, 5)}
    by_five = OnDemand(plan, groups)
    later = OnDemand(plan, {f: look_up_later(f) for f in range(plan.n_features)})

    def awaited(rows: list[Any]) -> list[float]:
        async def work() -> list[float]:
            seconds = []
            for row in rows:
                begun = clock()
                await later.apredict(row)
                seconds.append(clock() - begun)
            return seconds

        return asyncio.run(work())

    return {
        "walker": each(walk),
        "sync": each(plain.predict),
        "sync, answer read": each(lambda row: plain.predict(row).answer),
        "sync, five features a call": each(by_five.predict),
        "sync, with hooks": each(watched.predict),
        "async": awaited,
        "threads, with a deadline": each(lambda row: plain.predict(row, deadline=60.0)),
    }


def each(answer: Callable[[Any], Any]) -> Way:
    def work(rows: list[Any]) -> list[float]:
        seconds = []
        for row in rows:
            begun = clock()
            answer(row)
            seconds.append(clock() - begun)
        return seconds

    return work


def race(found: dict[str, Way], X: np.ndarray, turns: int) -> dict[str, float]:
    """Mean microseconds for a row, each in its fastest turn: what it takes where nothing else runs."""
    arrays, lists = list(X), [row.tolist() for row in X]
    times: dict[str, list[list[float]]] = {name: [] for name in found}
    for _ in range(turns + 1):
        for name, work in found.items():
            times[name].append(work(arrays if name == "walker" else lists))
    return {name: 1e6 * float(np.min(some[1:], axis=0).mean()) for name, some in times.items()}


def without_numba(path: str) -> dict[str, float]:
    """Microseconds of one prediction by stepping and by `OnDemand`; called where numba does not compile."""
    plan = load(path)
    rows = np.random.default_rng(1).standard_normal((ROWS, plan.n_features)).tolist()
    served = OnDemand(plan, {f: look_up(f) for f in range(plan.n_features)})

    def step(row: list[float]) -> None:
        trail = plan.start()
        while need := trail.next():
            trail.tell({f: row[f] for f in need})
        trail.answer()

    purchases = float(np.mean([len(served.predict(row).entries) for row in rows]))
    found = race({"stepping": each(step), "OnDemand": each(served.predict)}, np.array(rows), TURNS)
    return {"purchases": purchases, **found}


def numpy_alone(n_trees: int = 300) -> dict[str, float]:
    plan, _ = make_plan(136, n_trees)
    with TemporaryDirectory() as folder:
        path = os.path.join(folder, "chain.miser")
        plan.save(path)
        command = [sys.executable, __file__, "--without-numba", path]
        environment = {**os.environ, "NUMBA_DISABLE_JIT": "1"}
        done = subprocess.run(command, env=environment, check=True, stdout=subprocess.PIPE, text=True)
    return json.loads(done.stdout)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--without-numba", metavar="PLAN", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.without_numba:
        print(json.dumps(without_numba(options.without_numba)))
        return
    turns = 10 if options.quick else TURNS
    purchases, times = [], []
    for n in SIZES:
        plan, X = make_plan(n, 100)
        purchases.append(float(plan.run(X).acquired.sum(axis=1).mean()))
        times.append(race(ways(plan), X, turns))
    lines, figures = [], {"purchases": purchases, "times": times}
    for name in times[0]:
        added = [time_[name] - time_["walker"] for time_ in times]
        slope, start = np.polyfit(purchases, added, 1)
        figures[name] = {"request": start, "call": slope}
        shown = [f"{time_[name]:.1f}" for time_ in times]
        goal = GOALS.get(name, (None, None))
        words = " + ".join(f"{g:g}" for g in goal if g is not None)
        lines.append(
            [name, *shown, *(["", ""] if name == "walker" else [f"{start:.1f}", f"{slope:.2f}"]), words]
        )
    alone = numpy_alone()
    figures["NumPy alone"] = alone
    head = [
        "way",
        *(f"{n:.1f} purchases" for n in purchases),
        "added by a request",
        "added by a call",
        "goal",
    ]
    page = [
        "# Speed of the runtime",
        "Microseconds for one row of a boosted model of 100 trees. The walker is compiled and gets the whole "
        "row; the others ask a source for each feature. All take turns in one process; the figures are "
        f"means over {ROWS} rows, of the fastest of {turns} turns of each. What is added to the walker is "
        "a line over the number of purchases.",
        "`python benchmarks/runtime_speed.py" + (" --quick`" if options.quick else "`"),
        table(head, lines),
        "Where numba does not compile, a chain of 300 trees over 136 features "
        f"({alone['purchases']:.0f} purchases) takes {alone['stepping'] / 1000:.2f} ms by stepping and "
        f"{alone['OnDemand'] / 1000:.2f} ms by `OnDemand.predict` (goal: {CHAIN_GOAL / 1000:g} ms).",
    ]
    write("runtime_speed", "\n\n".join(page) + "\n", figures, options.quick)


if __name__ == "__main__":
    main()
