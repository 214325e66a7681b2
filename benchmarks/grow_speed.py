"""How fast the tree grower is, against LightGBM in the same process, and how much memory it takes.

    python benchmarks/grow_speed.py --rows 473134 --features 519 --trees 20

Boosting rounds of both are interleaved, never simultaneous, on the same data with the same limits and number
of threads; the figures are medians of the time per round, and their ratios to LightGBM's. On a machine that
others use, only the ratios mean anything; those of processor time need OMP_WAIT_POLICY=passive, or waiting
counts as work. Memory is the peak of a process of its own for each, raw float32 matrix included.
"""

from __future__ import annotations

import argparse
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np

from miserly.costs import Costs, Ledger
from miserly.grow import Bins, Grower, GrowOptions

STEP = 0.1
TIERS = {1: 123, 5: 31, 20: 191, 50: 125, 100: 16, 150: 32, 200: 1}  # cost: how many of 519 features have it


def make_data(n: int, d: int, seed: int = 0) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """A set like Yahoo's: correlated features, 60 % zeros, five grades, seven tiers of costs."""
    rng = np.random.default_rng(seed)
    latent = rng.standard_normal((n, 24), dtype=np.float32)
    mixing = rng.standard_normal((24, d), dtype=np.float32) * (rng.random((24, d)) < 0.25)
    X = np.empty((n, d), dtype=np.float32)
    for start in range(0, n, 20_000):
        rows = slice(start, start + 20_000)
        X[rows] = latent[rows] @ mixing
        X[rows] += 0.8 * rng.standard_normal(X[rows].shape, dtype=np.float32)
        X[rows][X[rows] < np.quantile(X[rows][:500], 0.6)] = 0
    signal = 0.9 * latent[:, 0] + 0.7 * latent[:, 1] * (latent[:, 2] > 0) + 0.5 * np.sin(2 * latent[:, 3])
    signal += 0.4 * np.abs(latent[:, 4]) + 0.3 * rng.standard_normal(n, dtype=np.float32)
    grade = np.digitize(signal, np.quantile(signal, [0.26, 0.62, 0.88, 0.97])).astype(np.float64)
    prices = np.repeat(list(TIERS), list(TIERS.values())).astype(float)
    return X, grade, rng.permutation(np.resize(prices, d))


class Ours:
    """Boosting with the grower: squared loss, or logistic loss with weights."""

    def __init__(self, grower, y, loss, weight=None, tradeoff=0.0, budget=None):
        self.grower, self.y, self.loss, self.weight, self.tradeoff = grower, y, loss, weight, tradeoff
        self.ledger = Ledger(grower.costs, budget)
        self.score = np.zeros(len(y))

    def round(self) -> None:
        if self.loss == "squared":
            target = self.y - self.score
            grown = self.grower.fit_tree(target, ledger=self.ledger, tradeoff=self.tradeoff)
        else:
            p = 1 / (1 + np.exp(-self.score))
            gradient, hessian = self.weight * (p - self.y), self.weight * p * (1 - p)
            grown = self.grower.fit_newton(
                gradient,
                hessian,
                ledger=self.ledger,
                tradeoff=self.tradeoff,
                total_weight=float(self.weight.sum()),
            )
        self.score += (STEP * grown.tree.value)[grown.leaf]


class Theirs:
    """Boosting with LightGBM, no penalties."""

    def __init__(self, dataset, y, loss, weight, args):
        import lightgbm

        params = lightgbm_params(args) | {"objective": "regression" if loss == "squared" else "binary"}
        dataset.set_label(y)
        dataset.set_weight(weight)
        self.booster = lightgbm.Booster(params, dataset)

    def round(self) -> None:
        self.booster.update()


def lightgbm_params(args: argparse.Namespace) -> dict:
    return {
        "num_threads": args.threads,
        "max_depth": args.depth,
        "num_leaves": 2**args.depth,
        "learning_rate": STEP,
        "min_data_in_leaf": 20,
        "max_bin": 255,
        "verbose": -1,
    }


def race(runners: dict[str, Ours | Theirs], trees: int) -> dict[str, np.ndarray]:
    """Median seconds per round of each, by the clock and of the processor; the first round is not counted."""
    times: dict[str, list[tuple[float, float]]] = {name: [] for name in runners}
    for _ in range(trees + 1):
        for name, runner in runners.items():
            clock, processor = time.perf_counter(), time.process_time()
            runner.round()
            times[name].append((time.perf_counter() - clock, time.process_time() - processor))
    return {name: np.median(t[1:], axis=0) for name, t in times.items()}


def show(title: str, times: dict[str, np.ndarray]) -> None:
    print(f"{title:10}   by the clock, ratio    processor, ratio")
    for name, (clock, processor) in times.items():
        by_clock, by_processor = times[name] / times["LightGBM"]
        print(f"  {name:10} {clock * 1e3:8.1f} ms {by_clock:6.3f}", end="")
        print(f"    {processor * 1e3:8.1f} ms {by_processor:6.3f}", flush=True)


def speed(args: argparse.Namespace) -> None:
    import lightgbm

    X, y, prices = make_data(args.rows, args.features)
    costs = Costs(prices)
    start = time.perf_counter()
    binned = Bins.fit(X).transform(X, args.threads)
    print(f"binning: {time.perf_counter() - start:.2f} s", end="")
    start = time.perf_counter()
    dataset = lightgbm.Dataset(X, y, params=lightgbm_params(args), free_raw_data=False).construct()
    print(f", LightGBM's {time.perf_counter() - start:.2f} s")
    grower = Grower(binned, costs, GrowOptions(max_depth=args.depth), args.threads)
    weight = np.random.default_rng(1).uniform(0.5, 2.0, args.rows)
    label = (y >= 2).astype(float)

    runners = {
        "LightGBM": Theirs(dataset, y, "squared", None, args),
        "ours": Ours(grower, y, "squared"),
        "tradeoff": Ours(grower, y, "squared", tradeoff=1e-5),
        "budget 50": Ours(grower, y, "squared", tradeoff=1e-5, budget=50.0),
    }
    show("squared ", race(runners, args.trees))
    runners = {
        "LightGBM": Theirs(dataset, label, "logistic", weight, args),
        "ours": Ours(grower, label, "logistic", weight),
        "tradeoff": Ours(grower, label, "logistic", weight, tradeoff=1e-5),
    }
    show("logistic", race(runners, args.trees))


def memory(args: argparse.Namespace) -> None:
    """Peak resident memory of a process that loads the matrix, bins it and grows five trees."""
    X, y, prices = make_data(args.rows, args.features)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "data.npz"
        np.savez(path, X=X, y=y, prices=prices)
        del X
        peaks = {}
        for who in ("ours", "LightGBM"):
            command = [sys.executable, __file__, *sys.argv[1:], "--child", who, "--data", str(path)]
            peaks[who] = float(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
    print(
        f"memory: ours {peaks['ours']:.0f} MB, LightGBM {peaks['LightGBM']:.0f} MB, "
        f"ratio {peaks['ours'] / peaks['LightGBM']:.3f}"
    )


def child(args: argparse.Namespace) -> None:
    with np.load(args.data) as data:
        X, y, prices = data["X"], data["y"], data["prices"]
    runner: Ours | Theirs
    if args.child == "ours":
        binned = Bins.fit(X).transform(X, args.threads)
        runner = Ours(
            Grower(binned, Costs(prices), GrowOptions(max_depth=args.depth), args.threads), y, "squared"
        )
    else:
        import lightgbm

        dataset = lightgbm.Dataset(X, y, params=lightgbm_params(args), free_raw_data=False).construct()
        runner = Theirs(dataset, y, "squared", None, args)
    for _ in range(5):
        runner.round()
    print(peak_memory())


def peak_memory() -> float:
    """The most resident memory this process had, in MB; on Linux ru_maxrss would count the parent's too."""
    status = Path("/proc/self/status")
    if status.exists():
        return next(int(line.split()[1]) for line in status.open() if line.startswith("VmHWM")) / 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--rows", type=int, default=100_000)
    parser.add_argument("--features", type=int, default=519)
    parser.add_argument("--trees", type=int, default=20)
    parser.add_argument("--depth", type=int, default=4)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--skip", choices=["speed", "memory"], action="append", default=[])
    parser.add_argument("--child", choices=["ours", "LightGBM"], help=argparse.SUPPRESS)
    parser.add_argument("--data", help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.child:
        child(args)
        return
    jobs: dict[str, Callable[[argparse.Namespace], None]] = {"speed": speed, "memory": memory}
    for name, job in jobs.items():
        if name not in args.skip:
            job(args)


if __name__ == "__main__":
    main()
