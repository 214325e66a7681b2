"""How fast a boosted plan answers, against LightGBM's `predict` in the same process.

    python benchmarks/scoring_speed.py [--quick]

300 trees of depth 4, 100,000 rows of 136 float32 features, two threads each. All models take turns, and the
figures are medians of seven turns. The model is the same size for both, each fitted by its own learner.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable

import lightgbm as lgb
import numpy as np

from common import table, write
from miserly.learners import GreedyMiserRegressor

THREADS = 2
TURNS = 7
ROWS_ALONE = 2000  # how many single rows make one timing


def make_models(n_rows: int, n_features: int, n_trees: int) -> tuple[GreedyMiserRegressor, lgb.Booster]:
    rng = np.random.default_rng(0)
    X = rng.standard_normal((n_rows, n_features), dtype=np.float32)
    y = X @ rng.standard_normal(n_features) + np.sin(3 * X[:, 0]) + X[:, 1] * X[:, 2]
    ours = GreedyMiserRegressor(n_rounds=n_trees, n_jobs=THREADS).fit(X, y)
    parameters = {
        "objective": "regression",
        "max_depth": 4,
        "num_leaves": 16,
        "num_threads": THREADS,
        "verbose": -1,
    }
    return ours, lgb.train(parameters, lgb.Dataset(X, y), n_trees)


def race(runners: dict[str, Callable[[], object]]) -> dict[str, float]:
    """Median seconds of each, taking turns after one turn to warm up."""
    times: dict[str, list[float]] = {name: [] for name in runners}
    for _ in range(TURNS + 1):
        for name, work in runners.items():
            start = time.perf_counter()
            work()
            times[name].append(time.perf_counter() - start)
    return {name: float(np.median(seconds[1:])) for name, seconds in times.items()}


def batches(ours: GreedyMiserRegressor, theirs: lgb.Booster, X: np.ndarray) -> dict[str, float]:
    return race(
        {
            "LightGBM predict": lambda: theirs.predict(X, num_threads=THREADS),
            "model.predict": lambda: ours.predict(X),
            "plan.run, cost by path": lambda: ours.plan_.run(X, n_threads=THREADS),
            "plan.run, cost by tree": lambda: ours.plan_.run(X, count="tree", n_threads=THREADS),
        }
    )


def single_rows(ours: GreedyMiserRegressor, theirs: lgb.Booster, X: np.ndarray) -> dict[str, float]:
    """Seconds for one row at a time."""
    rows = [np.ascontiguousarray(row) for row in X[:ROWS_ALONE]]
    matrices = [row[None, :] for row in rows]
    walk = ours.plan_.walker()

    def each(answer: Callable[[np.ndarray], object], given: list[np.ndarray]) -> Callable[[], None]:
        def work() -> None:
            for one in given:
                answer(one)

        return work

    times = race(
        {
            "LightGBM predict": each(lambda row: theirs.predict(row, num_threads=1), matrices),
            "plan.walker()": each(walk, rows),
        }
    )
    return {name: seconds / len(rows) for name, seconds in times.items()}


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--quick", action="store_true")
    args = parser.parse_args()
    n_rows = 20_000 if args.quick else 100_000
    ours, theirs = make_models(10_000, 136, 300)
    X = np.random.default_rng(1).standard_normal((n_rows, 136), dtype=np.float32)
    together, alone = batches(ours, theirs, X), single_rows(ours, theirs, X)
    base, one = together["LightGBM predict"], alone["LightGBM predict"]
    lines = [(f"{n_rows:,} rows", who, f"{t * 1e3:.1f} ms", f"{t / base:.2f}") for who, t in together.items()]
    lines += [("1 row", who, f"{t * 1e6:.1f} us", f"{t / one:.2f}") for who, t in alone.items()]
    page = [
        "# Scoring speed",
        f"300 trees of depth 4, 136 float32 features, {THREADS} threads; medians of {TURNS} turns, taken in "
        "turn in one process. The last column is the time over LightGBM's.",
        "`python benchmarks/scoring_speed.py" + (" --quick`" if args.quick else "`"),
        table(("what", "who", "time", "ratio"), lines),
    ]
    write("scoring_speed", "\n\n".join(page) + "\n", {"batch": together, "one_row": alone}, args.quick)


if __name__ == "__main__":
    main()
