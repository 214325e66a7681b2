"""Options of the selector at small budgets, at unit prices: `anytime`, and the size of the model.

    MISERLY_DATA=... python benchmarks/selector_options.py [--quick] [--sets splice letter] [--add]

Every feature costs 1, and k features may be bought for a row. *Each k* fits `BudgetedSelectorClassifier` at
each k, and *each k, auto* with `max_depth="auto"` and `n_rounds="auto"`. All others are fitted once, at
k = 20 (or all features), and answer for smaller k by `budget=` at prediction: *once* the selector as it is,
*anytime* with `anytime=True`, *anytime, auto* with all three options, and *masked* one boosted model that
learned from four copies of each row, in which only the first features of the order of *anytime* are known.
They learn from the training rows of the splits in the folder `anchors` beside the data, and are evaluated on
the validation rows, which also served to develop these options.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from typing import Any

import numpy as np

from common import in_parallel, table, write, written
from miserly import BudgetedSelectorClassifier
from miserly.costs import Costs
from miserly.data.rows import Rows
from miserly.datasets import load
from miserly.grow import Bins, GrowOptions
from miserly.learners.boosting import feature_sets
from miserly.learners.common.masked_boosting import Boosting, masked_rounds
from miserly.learners.common.round import add_rounds
from miserly.losses import log_loss
from small_budgets import SIZES, anchors

NAME = "selector_options"
SETS = (
    *("optdigits", "covertype_balanced15k", "phishing_websites", "splice", "higgs_sample"),
    *("nhanes_diabetes", "letter"),
)
COPIES = 4
AUTO = {"max_depth": "auto", "n_rounds": "auto"}
EACH: dict[str, dict[str, Any]] = {"each k": {}, "each k, auto": AUTO}
ONCE: dict[str, dict[str, Any]] = {
    "once": {},
    "anytime": {"anytime": True},
    "anytime, auto": {"anytime": True, **AUTO},
}
MASKED = "masked"


def measure(name: str) -> dict[str, Any]:
    """Accuracies on validation rows at each k, and CPU seconds of all fits, by way."""
    data, splits = load(name), anchors()[1]
    learn, validation = splits[f"{name}_tr"], splits[f"{name}_va"]
    X, y, X_new, y_new = data.X[learn], data.y[learn], data.X[validation], data.y[validation]
    sizes = [k for k in SIZES if k <= X.shape[1]]
    ways = {}
    for way, options in EACH.items():
        models, seconds = timed(lambda options=options: [fitted(X, y, k, **options) for k in sizes])
        accuracy = [float(np.mean(model.predict(X_new) == y_new)) for model in models]
        ways[way] = {"accuracy": accuracy, "seconds": seconds}
    for way, options in ONCE.items():
        model, seconds = timed(lambda options=options: fitted(X, y, sizes[-1], **options))
        accuracy = [float(np.mean(model.predict(X_new, budget=k) == y_new)) for k in sizes]
        ways[way] = {"accuracy": accuracy, "seconds": seconds}
    accuracy, seconds = timed(lambda: masked(X, y, X_new, y_new, model.order_, sizes))
    ways[MASKED] = {"accuracy": accuracy, "seconds": seconds}
    return {"set": name, "sizes": sizes, "ways": ways}


def timed(task: Callable[[], Any]) -> tuple[Any, float]:
    """A result and its CPU seconds. What earlier fits to the same rows know is forgotten first."""
    feature_sets._recent.clear()
    start = time.process_time()
    return task(), time.process_time() - start


def fitted(X: np.ndarray, y: np.ndarray, k: int, **options: Any) -> BudgetedSelectorClassifier:
    """A selector with a budget for k features."""
    return BudgetedSelectorClassifier(budget=k, random_state=0, n_jobs=1, **options).fit(X, y)


def masked(
    X: np.ndarray, y: np.ndarray, X_new: np.ndarray, y_new: np.ndarray, order: np.ndarray, sizes: list[int]
) -> list[float]:
    """Accuracies at each k of one boosted model on copies of rows, which know different prefixes."""
    classes, codes = np.unique(y, return_inverse=True)
    loss, n, d = log_loss(len(classes)), len(X), len(order)
    known = np.concatenate([np.random.default_rng(seed).integers(1, d + 1, n) for seed in range(COPIES)])
    bought = np.arange(d) < known[:, None]
    rows = Rows(np.tile(X[:, order], (COPIES, 1)), np.tile(codes.astype(np.float64), COPIES))
    base = loss.initial(rows.y, None)
    growth = GrowOptions(max_depth=6, min_samples_leaf=20, l2=1.0)
    binned = Bins.fit(rows.X).transform(rows.X)
    rounds = masked_rounds(binned, bought, rows, base, Boosting(loss, growth, 0.1, 100, 1))
    found = []
    for k in sizes:
        scores = np.tile(base, (len(X_new), 1))
        seen = np.where(np.arange(d) < k, X_new[:, order], np.nan)
        add_rounds(scores, rounds, seen, Costs(np.zeros(d)), 1)
        best = scores[:, 0] > 0 if len(classes) == 2 else scores.argmax(axis=1)
        found.append(float(np.mean(classes[best.astype(int)] == y_new)))
    return found


def report(records: list[dict[str, Any]], command: str, quick: bool, show: bool = True) -> None:
    """Write the page: accuracies in percent, one line for each set and way."""
    records = sorted(records, key=lambda one: one["set"])
    ways = [*EACH, *ONCE, MASKED]
    lines = []
    for one in records:
        for way in ways:
            accuracy = dict(zip(one["sizes"], one["ways"][way]["accuracy"], strict=True))
            cells = [f"{100 * accuracy[k]:.1f}" if k in accuracy else "" for k in SIZES]
            lines.append([one["set"], way, *cells, f"{one['ways'][way]['seconds']:.0f}"])
    mean = {
        way: 100 * np.mean([value for one in records for value in one["ways"][way]["accuracy"]])
        for way in ways
    }
    page = [
        "# Options of the selector at small budgets",
        __doc__.split("\n\n", 2)[2].strip(),
        "Accuracy in percent at each k, and CPU seconds of all fits. Those of *masked* leave out the choice.",
        "Means over all cells: " + "; ".join(f"{way} {mean[way]:.2f} %" for way in ways) + ".",
        f"`{command}`",
        table(["set", "fit", *map(str, SIZES), "seconds"], lines),
    ]
    write(NAME, "\n\n".join(page) + "\n", records, quick, show)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--sets", nargs="+", default=SETS)
    parser.add_argument("--add", action="store_true", help="add to the figures of earlier runs")
    args = parser.parse_args()
    names = ["splice"] if args.quick else args.sets
    command = "python benchmarks/selector_options.py" + (" --quick" if args.quick else "")
    command += "" if args.quick or tuple(names) == SETS else f" --sets {' '.join(names)}"
    records = [one for one in (written(NAME, args.quick) or []) if args.add and one["set"] not in names]
    for one in in_parallel(measure, [(name,) for name in names], 1):
        records.append(one)
        report(records, command, args.quick, show=False)
    report(records, command, args.quick)


if __name__ == "__main__":
    main()
