"""How long one ASTC tree of depth 5 takes to train, and how much memory, on data like the Yahoo challenge's.

    python benchmarks/astc_speed.py [--rows 141397] [--features 519] [--turns 3] [--quick]

Rows, features and prices are those of `make_ranking`, float32. Each budget of a node is one line, and soft
traversal another. The first fit, of a few rows, compiles and is not timed. Memory is the peak of the whole
process, the data included.
"""

from __future__ import annotations

import argparse
import os
import resource
import time
from typing import Any

import numpy as np

from common import table, write
from miserly import ASTCRegressor
from miserly.datasets import Dataset, make_ranking

BUDGETS = (2, 10, 50, 300)  # of one node; five of them on each way


def peak() -> float:
    """The most memory this process has had, in GB."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20


def timed(data: Dataset, turns: int, **given: Any) -> dict[str, Any]:
    """One tree: the median time of some fits, what it costs and how much it explains."""
    model = ASTCRegressor(costs=data.costs, max_depth=5, random_state=0, **given)
    seconds = []
    for _ in range(turns):
        start = time.perf_counter()
        model.fit(data.X, data.y)
        seconds.append(time.perf_counter() - start)
    some = slice(0, 20_000)
    return {
        "given": given,
        "seconds": float(np.median(seconds)),
        "cost": float(model.run(data.X[some]).cost.mean()),
        "features": len(model.features_),
        "r2": float(model.score(data.X[some], data.y[some])),
        "peak_gb": peak(),
    }


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--rows", type=int, default=141_397)
    parser.add_argument("--features", type=int, default=519)
    parser.add_argument("--turns", type=int, default=3)
    parser.add_argument("--quick", action="store_true", help="20,000 rows of 100 features, once")
    args = parser.parse_args()
    if args.quick:
        args.rows, args.features, args.turns = 20_000, 100, 1
    data = make_ranking(args.rows, args.features, random_state=0)
    before = peak()
    ASTCRegressor(max_depth=2).fit(data.X[:5000], data.y[:5000])
    cases: list[dict[str, Any]] = [{"node_budget": budget} for budget in BUDGETS]
    cases.append({"node_budget": 50, "soft": True})
    found = [timed(data, args.turns, **given) for given in cases]
    lines = [
        (
            ", ".join(f"{name}={value}" for name, value in one["given"].items()),
            f"{one['seconds']:.2f} s",
            f"{one['cost']:.0f}",
            one["features"],
            f"{one['r2']:.3f}",
            f"{one['peak_gb']:.2f} GB",
        )
        for one in found
    ]
    page = [
        "# Training speed of ASTC",
        f"One tree of five levels, {args.rows:,} rows, {args.features} float32 features, "
        f"{os.cpu_count()} cores; medians of {args.turns}. Cost is what a row pays on average, R^2 that of "
        f"training rows. Memory is the peak of the process so far; {before:.2f} GB are for the data alone.",
        "`python benchmarks/astc_speed.py" + (" --quick`" if args.quick else "`"),
        table(("tree", "time", "cost", "features", "R^2", "memory"), lines),
    ]
    write("astc_speed", "\n\n".join(page) + "\n", found, args.quick)


if __name__ == "__main__":
    main()
