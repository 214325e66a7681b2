"""Small budgets at unit prices: the selector and the frontier against a neural acquirer (GDFS).

    MISERLY_DATA=... python benchmarks/small_budgets.py [--quick] [--sets splice dna] [--frontier 60]

Every feature costs 1, and k features may be bought for a row. The selector (`BudgetedSelectorClassifier`) is
fitted at each k. With `--frontier SECONDS` the frontier searches all learners for all k together, within so
many seconds. GDFS (Covert et al. 2023) buys row by row; its figures and the row numbers of its splits are in
the folder `anchors` beside the data. Both of ours learn from its training and validation rows, and all are
evaluated on its test rows.
"""

from __future__ import annotations

import argparse
import json
import os
import time
import warnings
from pathlib import Path
from typing import Any

import numpy as np

from common import folder, table, write
from miserly import BudgetedSelectorClassifier, frontier
from miserly.datasets import load
from miserly.errors import BudgetWarning

SIZES = (1, 2, 3, 5, 10, 15, 20)
NAME = "small_budgets"


def anchors() -> tuple[dict[str, Any], Any]:
    """The figures of GDFS by set, and the row numbers of its splits."""
    place = Path(os.environ["MISERLY_DATA"]).parent / "anchors"
    figures = json.loads((place / "gdfs.json").read_text(encoding="utf-8"))["results"]
    return figures, np.load(place / "gdfs_splits.npz")


def rows_of(name: str, splits: Any) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Rows to learn from and test rows, each with labels."""
    data = load(name)
    learn = np.concatenate([splits[f"{name}_tr"], splits[f"{name}_va"]])
    test = splits[f"{name}_te"]
    return data.X[learn], data.y[learn], data.X[test], data.y[test]


def by_selector(X: np.ndarray, y: np.ndarray, sizes: list[int]) -> dict[int, tuple[Any, float]]:
    """A selector for each number of features, and the CPU seconds that its fit took."""
    found = {}
    for k in sizes:
        start = time.process_time()
        model = BudgetedSelectorClassifier(budget=k, random_state=0, n_jobs=1).fit(X, y)
        found[k] = (model, time.process_time() - start)
    return found


def by_frontier(
    X: np.ndarray, y: np.ndarray, sizes: list[int], seconds: float
) -> dict[int, tuple[Any, float]]:
    """The choice of one search for each number of features, and the seconds of the whole search."""
    start = time.perf_counter()
    found = frontier(
        "auto", X, y, budgets=[float(k) for k in sizes], certify=0, time_limit=seconds, random_state=0
    )
    taken = time.perf_counter() - start
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", BudgetWarning)
        return {k: (found.best(budget=float(k)), taken) for k in sizes}


def measure(name: str, seconds: float) -> list[dict[str, Any]]:
    """One record for each number of features."""
    figures, splits = anchors()
    X, y, X_test, y_test = rows_of(name, splits)
    theirs = figures[name]["accuracy_at_k"]
    sizes = [k for k in SIZES if k <= X.shape[1] and str(k) in theirs]
    racers = {"selector": by_selector(X, y, sizes)}
    if seconds:
        racers["frontier"] = by_frontier(X, y, sizes, seconds)
    records = []
    for k in sizes:
        record: dict[str, Any] = {"set": name, "k": k, "n_test": len(y_test), "gdfs": theirs[str(k)]}
        for who, models in racers.items():
            model, taken = models[k]
            assert model.run(X_test).cost.max() <= k * (1 + 1e-9)
            record[who] = float(np.mean(model.predict(X_test) == y_test))
            record[f"{who}_seconds"] = taken
            record[f"{who}_model"] = type(model).__name__
        records.append(record)
    return records


def report(records: list[dict[str, Any]], command: str, quick: bool) -> None:
    """Write the page: accuracies, and the difference to GDFS in points."""
    lines = []
    for one in records:
        ours = [who for who in ("selector", "frontier") if who in one]
        cells = [f"{100 * one[who]:.1f} ({100 * (one[who] - one['gdfs']):+.1f})" for who in ours]
        cells += [""] * (2 - len(cells))
        error = 100 * np.sqrt(one["gdfs"] * (1 - one["gdfs"]) / one["n_test"])
        taken = [one.get(f"{who}_seconds") for who in ours]
        seconds = " / ".join("-" if value is None else f"{value:.0f}" for value in taken)
        lines.append([one["set"], one["k"], f"{100 * one['gdfs']:.1f} ± {error:.1f}", *cells, seconds])
    page = [
        "# Small budgets at unit prices",
        __doc__.split("\n\n", 2)[2].strip(),
        "Accuracy on test rows in percent, and in brackets the points above GDFS. ± is the standard error of "
        "one accuracy. Seconds are CPU seconds of the selector's fit, which uses what it knows from smaller "
        "k, and the time of the whole search of the frontier; - where they were not measured. Sets that are "
        "not listed have not been run.",
        _summary(records),
        f"`{command}`",
        table(["set", "k", "GDFS", "selector", "frontier", "seconds"], lines),
    ]
    write(NAME, "\n\n".join(page) + "\n", records, quick)


def _summary(records: list[dict[str, Any]]) -> str:
    sentences = []
    for who in ("selector", "frontier"):
        lead = np.array([100 * (one[who] - one["gdfs"]) for one in records if who in one])
        if len(lead):
            sentences.append(
                f"The {who} is ahead in {int((lead > 0).sum())} of {len(lead)} cases, more than 0.5 points "
                f"behind in {int((lead < -0.5).sum())}, and {lead.mean():+.1f} points on average."
            )
    return " ".join(sentences)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--sets", nargs="+", default=None)
    parser.add_argument("--frontier", type=float, default=0.0, help="seconds of each search; 0: no frontier")
    parser.add_argument("--add", action="store_true", help="add to the figures of earlier runs")
    args = parser.parse_args()
    names = ["page_blocks"] if args.quick else args.sets or list(anchors()[0])
    kept = folder(args.quick) / f"{NAME}.json"
    records = json.loads(kept.read_text(encoding="utf-8")) if args.add and kept.exists() else []
    command = "python benchmarks/small_budgets.py" + (" --quick" if args.quick else "")
    command += f" --frontier {args.frontier:g}" if args.frontier else ""
    for name in names:
        records = [one for one in records if one["set"] != name] + measure(name, args.frontier)
        report(records, command, args.quick)


if __name__ == "__main__":
    main()
