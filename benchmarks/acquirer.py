"""MNIST at 5 to 50 pixels: the adaptive acquirer and a budgeted tree, time to fit, and time of a purchase.

    MISERLY_DATA=... python benchmarks/acquirer.py [--quick] [--pixels 5 10 20 30 50] [--auto]

The standard split, 60,000 rows to learn from and 10,000 to test; every pixel costs 1, and a row may buy as
many as the budget says. One model for each budget. The learner and its hyperparameters were chosen on 5,000
rows of the training part, with models of 50,000 others. With --auto the acquirer is fitted at every budget,
and each fit chooses `noise` and `sharpness` on a validation set, which takes longer. --quick learns from
5,000 rows and tests on 1,000.
"""

from __future__ import annotations

import argparse
import io
import time

import numpy as np

from common import table, write
from miserly import AcquirerClassifier, BudgetedTreeClassifier
from miserly.datasets import load

PIXELS = (5, 10, 20, 30, 50)
GOAL = {5: 69.0, 10: 87.0, 20: 94.4, 30: 96.4, 50: 97.4}
TREE = {5: 1000}  # pixels at which a budgeted tree was better, and its number of splits
MANY = {10: (32, 144), 50: (64, 160)}  # pixels at which larger mixtures were better: components, pool
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


def learner(budget: int, auto: bool) -> AcquirerClassifier | BudgetedTreeClassifier:
    """The learner for so many pixels, on one thread."""
    if budget in TREE and not auto:
        return BudgetedTreeClassifier(budget=budget, max_nodes=TREE[budget], max_bins=63, n_jobs=1)
    components, pool = MANY.get(budget, (32, 100))
    chosen = {} if auto else {"noise": 0.1, "sharpness": 0.5}
    return AcquirerClassifier(
        budget=budget, n_components=components, pool_size=pool, random_state=0, n_jobs=1, **chosen
    )


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
