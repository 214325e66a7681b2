"""Small budgets at unit prices: two learners and the frontier against two neural acquirers.

    MISERLY_DATA=... python benchmarks/small_budgets.py [--quick] [--sets splice dna] [--frontier 60]
                                                        [--sizes 1 2 3] [--tree] [--no-selector]
                                                        [--jobs 1] [--add] [--resume]

Every feature costs 1, and k features may be bought for a row. The selector (`BudgetedSelectorClassifier`) is
fitted at each k, and with `--tree` the purchase tree (`PurchaseTreeClassifier`). With `--frontier SECONDS`
the frontier searches all learners for all k together, within so many seconds, and takes the best on
validation rows at each k. GDFS (Covert et al. 2023) and a network like DIME (Gadgil et al. 2024, [its
page](dime.md)) buy row by row. The figures of GDFS and the row numbers of its splits are in the folder
`anchors` beside the data. All learn from its training and validation rows, and are evaluated on its test
rows.
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

from common import in_parallel, table, write, written
from miserly import BudgetedSelectorClassifier, PurchaseTreeClassifier, frontier
from miserly.datasets import load
from miserly.errors import BudgetWarning

SIZES = (1, 2, 3, 5, 10, 15, 20)
NAME = "small_budgets"
OURS = ("selector", "tree", "frontier")
LEARNERS = {"selector": BudgetedSelectorClassifier, "tree": PurchaseTreeClassifier}
NAMES = {"selector": "selector", "tree": "purchase tree", "frontier": "frontier"}
PEERS = {"gdfs": "GDFS", "dime": "DIME-like"}


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


def sizes_of(name: str, figures: dict[str, Any]) -> list[int]:
    """The numbers of features that are compared."""
    return [k for k in SIZES if str(k) in figures[name]["accuracy_at_k"]]


# -- ours ----------------------------------------------------------------------------------------------------


def measure(name: str, who: str, sizes: list[int], seconds: float) -> list[dict[str, Any]]:
    """One record for each number of features: what one of ours reaches on test rows."""
    X, y, X_test, y_test = rows_of(name, anchors()[1])
    fitted = by_frontier(X, y, sizes, seconds) if who == "frontier" else by_learner(who, X, y, sizes)
    records = []
    for k, (model, taken) in fitted.items():
        cost = model.run(X_test).cost
        assert cost.max() <= k * (1 + 1e-9), f"{who} passed the budget of {k} on {name}"
        accuracy = float(np.mean(model.predict(X_test) == y_test))
        record = {"set": name, "k": k, "n_test": len(y_test), who: accuracy, f"{who}_seconds": taken}
        records.append(record | {f"{who}_model": type(model).__name__})
    return records


def by_learner(who: str, X: np.ndarray, y: np.ndarray, sizes: list[int]) -> dict[int, tuple[Any, float]]:
    """A model for each number of features, and the CPU seconds that its fit took."""
    found = {}
    for k in sizes:
        start = time.process_time()
        model = LEARNERS[who](budget=k, random_state=0, n_jobs=1).fit(X, y)
        found[k] = (model, time.process_time() - start)
    return found


def by_frontier(
    X: np.ndarray, y: np.ndarray, sizes: list[int], seconds: float
) -> dict[int, tuple[Any, float]]:
    """The choice of one search for each number of features, and the seconds of the whole search."""
    start = time.perf_counter()
    budgets = [float(k) for k in sizes]
    found = frontier(
        "auto", X, y, budgets=budgets, task="classes", certify=0, time_limit=seconds, random_state=0
    )
    taken = time.perf_counter() - start
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", BudgetWarning)
        return {k: (found.best(budget=float(k)), taken) for k in sizes}


# -- the page ------------------------------------------------------------------------------------------------


def merged(records: list[dict[str, Any]], new: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Records by set and k, with the figures of `new` in the place of earlier ones of the same learner."""
    found = {(one["set"], one["k"]): one for one in records}
    for one in new:
        found[one["set"], one["k"]] = found.get((one["set"], one["k"]), {}) | one
    return sorted(found.values(), key=lambda one: (one["set"], one["k"]))


def with_peers(records: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Records with the figures of both acquirers."""
    gdfs = {name: one["accuracy_at_k"] for name, one in anchors()[0].items()}
    dime = {one["set"]: one["accuracy_at_k"] for one in written("dime", quick=False) or []}
    return [
        one | {who: by[one["set"]][str(one["k"])] for who, by in (("gdfs", gdfs), ("dime", dime)) if by}
        for one in records
    ]


def report(records: list[dict[str, Any]], command: str, quick: bool, show: bool = True) -> None:
    """Write the page: accuracies, and the differences to both acquirers in points."""
    records = with_peers(records)
    lines = []
    for one in records:
        peers = [f"{100 * one[peer]:.1f}" if peer in one else "" for peer in PEERS]
        error = 100 * np.sqrt(one["gdfs"] * (1 - one["gdfs"]) / one["n_test"])
        taken = [one.get(f"{who}_seconds") for who in OURS]
        seconds = " / ".join("-" if value is None else f"{value:.0f}" for value in taken)
        chosen = one.get("frontier_model", "")
        lines.append([one["set"], one["k"], *peers, f"{error:.1f}", *_cells(one), chosen, seconds])
    page = [
        "# Small budgets at unit prices",
        __doc__.split("\n\n", 2)[2].strip(),
        "Accuracy on test rows in percent, and in brackets the points above GDFS and above the DIME-like "
        "acquirer. ± is the standard error of one accuracy. Seconds are CPU seconds of a fit of the "
        "selector, which uses what it knows from smaller k, and of the purchase tree, and the time of the "
        "whole search of the frontier; - where they were not measured. Empty cells and sets that are not "
        "listed have not been run.",
        _summary(records),
        f"`{command}`",
        table(
            ["set", "k", *PEERS.values(), "±", *NAMES.values(), "chosen by the frontier", "seconds"], lines
        ),
    ]
    write(NAME, "\n\n".join(page) + "\n", records, quick, show)


def _cells(one: dict[str, Any]) -> list[str]:
    """The accuracy of each of ours, and its lead over each acquirer."""
    cells = []
    for who in OURS:
        leads = [f"{100 * (one[who] - one[peer]):+.1f}" for peer in PEERS if who in one and peer in one]
        cells.append(f"{100 * one[who]:.1f} ({', '.join(leads)})" if leads else "")
    return cells


def _summary(records: list[dict[str, Any]]) -> str:
    sentences = []
    for who in OURS:
        for peer, name in PEERS.items():
            both = [one for one in records if who in one and peer in one]
            lead = np.array([100 * (one[who] - one[peer]) for one in both])
            if not len(lead):
                continue
            behind = [f"{one['set']} at {one['k']}" for one, x in zip(both, lead, strict=True) if x < -0.5]
            listed = f" ({', '.join(behind)})" if behind else ""
            sentences.append(
                f"- The {NAMES[who]} is ahead of {name} in {int((lead > 0).sum())} of {len(lead)} cases, "
                f"more than 0.5 points behind in {len(behind)}{listed}, "
                f"and {lead.mean():+.1f} points on average."
            )
    return "\n".join(sentences)


# -- the runs ------------------------------------------------------------------------------------------------


def tasks(
    names: list[str],
    seconds: float,
    records: list[dict[str, Any]],
    jobs: int,
    ours: list[str],
    sizes: list[int],
) -> list[tuple[str, str, list[int], float]]:
    """What has no figure yet: set, learner, numbers of features, seconds. The longest come first.

    A learner is fitted at all k in one process, where the selector reuses what it knows, or in one process
    for each k if there are several.
    """
    figures = anchors()[0]
    done = {(one["set"], one["k"], who) for one in records for who in OURS if who in one}
    found = []
    for who in ("frontier", "tree", "selector"):
        for name in names if who in ours else []:
            able = [k for k in sizes_of(name, figures) if k in sizes]
            missing = [k for k in able if (name, k, who) not in done]
            parts = [[k] for k in reversed(missing)] if who != "frontier" and jobs > 1 else [missing]
            found += [(name, who, part, seconds) for part in parts if part]
    return found


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--sets", nargs="+", default=None)
    parser.add_argument("--frontier", type=float, default=0.0, help="seconds of each search; 0: no frontier")
    parser.add_argument("--sizes", nargs="+", type=int, default=SIZES, help="numbers of features")
    parser.add_argument("--tree", action="store_true", help="run the purchase tree")
    parser.add_argument("--no-selector", action="store_true", help="do not run the selector")
    parser.add_argument("--jobs", type=int, default=1, help="processes, each with one thread")
    parser.add_argument(
        "--add", action="store_true", help="add to the figures of earlier runs, or replace them"
    )
    parser.add_argument(
        "--resume", action="store_true", help="keep earlier figures, run only what is missing"
    )
    args = parser.parse_args()
    names = ["page_blocks"] if args.quick else args.sets or list(anchors()[0])
    records = written(NAME, args.quick) or [] if args.add or args.resume else []
    ours = ["frontier"] * (args.frontier > 0) + ["selector"] * (not args.no_selector)
    ours += ["tree"] * args.tree
    wanted = tasks(names, args.frontier, records if args.resume else [], args.jobs, ours, args.sizes)
    command = "python benchmarks/small_budgets.py" + (" --quick" if args.quick else "")
    command += f" --frontier {args.frontier:g}" if args.frontier else ""
    command += " --tree" if args.tree else ""
    for new in in_parallel(measure, wanted, args.jobs):
        print([(one["set"], one["k"], *(one.get(who) for who in OURS)) for one in new], flush=True)
        records = merged(records, new)
        report(records, command, args.quick, show=False)
    report(records, command, args.quick)


if __name__ == "__main__":
    main()
