"""Every benchmark, one after the other, each in a process of its own.

    python benchmarks/run.py [--quick] [--only scoring_speed grow_speed]

`--quick` takes minutes, shows that everything works and leaves its pages in out/benchmarks; the pages in
docs/benchmarks come from the full run, which takes hours; what measures time comes first. Those that need
real data are left out, with a word, where MISERLY_DATA is not set.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path

HERE = Path(__file__).resolve().parent


@dataclass(frozen=True)
class Benchmark:
    quick: tuple[str, ...]  # arguments of a quick run
    full: tuple[str, ...] = ()
    needs_data: bool = False


BENCHMARKS = {
    "fit_speed": Benchmark(("--quick",), needs_data=True),
    "scoring_speed": Benchmark(("--quick",)),
    "adopt_speed": Benchmark(("--quick",)),
    "runtime_speed": Benchmark(("--quick",)),
    "serve_speed": Benchmark(("--quick",)),
    "serve_stress": Benchmark(("--quick",)),
    "email_triage": Benchmark(("--quick",)),
    "acquirer": Benchmark(("--quick",), needs_data=True),
    "grow_speed": Benchmark(
        ("--rows", "20000", "--features", "100", "--trees", "5"),
        ("--rows", "473134", "--features", "519", "--trees", "20"),
    ),
    "astc_speed": Benchmark(("--quick",)),
    "guarantee": Benchmark(("--quick",)),
    "guarantee_best": Benchmark(("--quick",)),
    "monitor": Benchmark(("--quick",), ("--runs", "60")),
    "text_cascade": Benchmark(("--quick",), needs_data=True),
    "frontier_race": Benchmark(("--quick",), needs_data=True),
    "cvm": Benchmark(("--quick",), needs_data=True),
    "cstc": Benchmark(("--quick",), needs_data=True),
    "cscc": Benchmark(("--quick",), needs_data=True),
    "afr": Benchmark(("--quick",), needs_data=True),
    "cronus": Benchmark(("--quick",), needs_data=True),
    "quality_at_budget": Benchmark(("--quick",), needs_data=True),
    "ranking_curves": Benchmark(("--quick",), needs_data=True),
    "ranking_losses": Benchmark(("--quick",), needs_data=True),
    "budgeted_boosting": Benchmark(("--quick",), needs_data=True),
    "turney": Benchmark(("--quick",), needs_data=True),
    "best_subsets": Benchmark(("--quick",), needs_data=True),
    "cube": Benchmark(("--quick",)),
    "selector_options": Benchmark(("--quick",), needs_data=True),
    "small_budgets": Benchmark(("--quick",), ("--tree", "--frontier", "120"), needs_data=True),
    "trees_of_classifiers": Benchmark(("--quick",), needs_data=True),
}


def run(name: str, quick: bool) -> str:
    """Run one benchmark; gives how it went, in words."""
    one = BENCHMARKS[name]
    if one.needs_data and not os.environ.get("MISERLY_DATA"):
        return "left out: set MISERLY_DATA to the folder of the data sets"
    command = [sys.executable, str(HERE / f"{name}.py"), *(one.quick if quick else one.full)]
    print(
        f"\n== {' '.join(Path(part).name if part.startswith('/') else part for part in command)}", flush=True
    )
    start = time.perf_counter()
    code = subprocess.run(command, check=False).returncode
    return f"{'done' if code == 0 else f'failed with code {code}'} after {time.perf_counter() - start:.0f} s"


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--only", nargs="+", choices=list(BENCHMARKS), default=list(BENCHMARKS))
    args = parser.parse_args()
    outcomes = {name: run(name, args.quick) for name in args.only}
    print("\n== summary")
    for name, outcome in outcomes.items():
        print(f"{name}: {outcome}")
    sys.exit(any(outcome.startswith("failed") for outcome in outcomes.values()))


if __name__ == "__main__":
    main()
