"""MNIST at 5 to 50 pixels: the adaptive acquirer and a purchase tree, time to fit, and time of a purchase.

    MISERLY_DATA=... python benchmarks/acquirer.py [--quick] [--pixels 5 10 20 30 50] [--auto]

The standard split, 60,000 rows to learn from and 10,000 to test; every pixel costs 1, and a row may buy as
many as the budget says. One model for each budget. The learner and its hyperparameters were chosen on 5,000
rows of the training part (at 5 and 10 pixels on 10,000), with models of the others. With --auto the acquirer
is fitted at every budget, and each fit chooses its hyperparameters on a validation set, which takes longer.
--quick learns from 5,000 rows and tests on 1,000.
"""

from __future__ import annotations

import argparse
import io
import time

import numpy as np

from common import table, write
from miserly import AcquirerClassifier, PurchaseTreeClassifier
from miserly.datasets import load

PIXELS = (5, 10, 20, 30, 50)
GOAL = {5: 69.0, 10: 87.0, 20: 94.4, 30: 96.4, 50: 97.4}
TREES = (5,)  # pixels at which a purchase tree was better
SMALL = {"n_components": 16, "pool_size": 80}
LARGE = {"n_components": 32, "pool_size": 100}
CHOSEN = {  # and at each of them the trees of the answer were better than none
    10: SMALL | {"tree_share": 0.75, "tree_impurity": "gini"},
    20: SMALL,
    30: LARGE,
    50: {"n_components": 64, "pool_size": 160},
}
FIXED = {"noise": 0.1, "sharpness": 0.5, "n_rounds": 60, "max_depth": 6, "tree_share": 0.0}
HEAD = (
    "pixels",
    "learner",
    "accuracy %",
    "goal %",
    "mean cost",
    "fit, CPU s",
    "purchase, CPU µs",
    "file, MB",
)

PAGE = """# The adaptive acquirer

`{command}`: MNIST, the standard split, {rows:,} rows to learn from. One model for each budget, on one thread.

{table}
"""


def learner(budget: int, auto: bool) -> AcquirerClassifier | PurchaseTreeClassifier:
    """The learner for so many pixels, on one thread."""
    if auto:
        return AcquirerClassifier(budget=budget, random_state=0, n_jobs=1)
    if budget in TREES:
        return PurchaseTreeClassifier(budget=budget, random_state=0, n_jobs=1)
    chosen = FIXED | CHOSEN.get(budget, SMALL)
    return AcquirerClassifier(budget=budget, random_state=0, n_jobs=1, **chosen)


def measure(budget: int, train, test, auto: bool) -> tuple[float, ...]:
    """Accuracy in percent, mean cost, CPU seconds of the fit, CPU microseconds of a purchase, megabytes."""
    model = learner(budget, auto)
    start = time.process_time()
    model.fit(train.X, train.y)
    fitted = time.process_time() - start
    model.run(test.X[:10])  # compiles
    start = time.process_time()
    run = model.run(test.X)
    micro = 1e6 * (time.process_time() - start) / run.cost.sum()
    file = io.BytesIO()
    model.plan_.save(file)
    right = np.mean(model.labels_from(run.scores) == test.y)
    return 100.0 * float(right), float(run.cost.mean()), fitted, micro, len(file.getvalue()) / 1e6


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--auto", action="store_true")
    parser.add_argument("--pixels", type=int, nargs="+", default=PIXELS)
    given = parser.parse_args()
    data = load("mnist")
    train, test = (data.take(np.flatnonzero(data.split == part)) for part in (0, 1))
    if given.quick:
        train, test = train.take(np.arange(5000)), test.take(np.arange(1000))
    rows = []
    for budget in given.pixels:
        accuracy, cost, seconds, micro, size = measure(budget, train, test, given.auto)
        goal = str(GOAL.get(budget, ""))
        rows.append(
            [
                budget,
                type(learner(budget, given.auto)).__name__,
                f"{accuracy:.2f}",
                goal,
                f"{cost:.1f}",
                f"{seconds:.0f}",
                f"{micro:.0f}",
                f"{size:.1f}",
            ]
        )
        print(*rows[-1], flush=True)
    command = "python benchmarks/acquirer.py" + " --auto" * given.auto
    text = PAGE.format(command=command, rows=len(train), table=table(HEAD, rows))
    write("acquirer", text, [dict(zip(HEAD, row, strict=True)) for row in rows], given.quick)


if __name__ == "__main__":
    main()
