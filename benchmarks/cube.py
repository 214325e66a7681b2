"""CUBE: learners against an acquirer that knows the generator.

    python benchmarks/cube.py [--quick] [--learners acquirer] [--jobs 1]

The set (`miserly.datasets.make_cube`) has eight classes and 20 features of price 1. Each class shows its
number in three features of its own; all others are uniform noise. The *oracle* knows the densities: after
every value it computes the class probabilities by Bayes' rule. It buys the feature that lowers the expected
impurity of the classes most, and at last the one with the highest expected accuracy. The better of two
impurities, entropy and the Brier score, is reported. This looks one purchase ahead, so the best policy may be
better, and a learner may be ahead. Learners are fitted to 4,000 rows for each number of purchases, and all
are evaluated on the same 4,000 test rows.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from typing import Any

import numpy as np
from scipy.stats import norm

from common import in_parallel, table, write
from miserly import AcquirerClassifier, BudgetedSelectorClassifier, PurchaseTreeClassifier
from miserly.datasets import make_cube
from miserly.datasets.cube import CUBE_CLASSES

NAME = "cube"
SIZES = (3, 5, 10)
NOISES = (0.1, 0.3)
LEARNERS = {
    "acquirer": AcquirerClassifier,
    "purchase tree": PurchaseTreeClassifier,
    "selector": BudgetedSelectorClassifier,
}
N_TRAIN, N_TEST = 4_000, 4_000
N_INFORMATIVE = CUBE_CLASSES + 2
LEAST = 1e-12
Impurity = Callable[[np.ndarray], np.ndarray]  # of class probabilities in the last axis


def densities(values: np.ndarray, feature: int, noise: float) -> np.ndarray:
    """The density (n, 8) of some values of a feature in each class."""
    found = np.tile(((values >= 0) & (values <= 1)).astype(float)[:, None], CUBE_CLASSES)
    for label in range(max(0, feature - 2), min(CUBE_CLASSES, feature + 1)):
        found[:, label] = norm.pdf(values, (label >> (feature - label)) & 1, noise)
    return found


def entropy(p: np.ndarray) -> np.ndarray:
    return -(p * np.log(np.maximum(p, LEAST))).sum(axis=-1)


def brier(p: np.ndarray) -> np.ndarray:
    return 1.0 - (p**2).sum(axis=-1)


def error(p: np.ndarray) -> np.ndarray:
    return 1.0 - p.max(axis=-1)


def oracle(X: np.ndarray, y: np.ndarray, k: int, noise: float, impurity: Impurity) -> float:
    """The accuracy of the oracle after k purchases."""
    grid = np.linspace(-4 * noise, 1 + 4 * noise, 61)
    tables = [densities(grid, feature, noise) for feature in range(N_INFORMATIVE)]
    tables = [one / one.sum(axis=0) for one in tables]
    p = np.full((len(X), CUBE_CLASSES), 1 / CUBE_CLASSES)
    bought = np.zeros((len(X), N_INFORMATIVE), dtype=bool)
    for number in range(k):
        measure = error if number == k - 1 else impurity
        expected = np.empty((len(X), N_INFORMATIVE))
        for feature, likelihood in enumerate(tables):
            joint = p[:, None, :] * likelihood
            mass = joint.sum(axis=2)
            after = joint / np.maximum(mass, LEAST)[:, :, None]
            expected[:, feature] = (mass * measure(after)).sum(axis=1)
        choice = np.where(bought, np.inf, expected).argmin(axis=1)
        for feature in range(N_INFORMATIVE):
            rows = choice == feature
            p[rows] *= densities(X[rows, feature], feature, noise)
        p /= p.sum(axis=1, keepdims=True)
        bought[np.arange(len(X)), choice] = True
    return float(np.mean(p.argmax(axis=1) == y))


def measure(who: str, noise: float, k: int, n_train: int) -> dict[str, Any]:
    """The accuracy of a learner, or of the oracle, on test rows."""
    train = make_cube(n_train, noise=noise, random_state=0)
    test = make_cube(N_TEST, noise=noise, random_state=1)
    record = {"noise": noise, "k": k, "who": who}
    if who == "oracle":
        both = [oracle(test.X, test.y, k, noise, impurity) for impurity in (entropy, brier)]
        return record | {"accuracy": max(both)}
    model = LEARNERS[who](costs=train.costs, budget=k, random_state=0, n_jobs=1).fit(train.X, train.y)
    assert model.run(test.X).cost.max() <= k * (1 + 1e-9)
    return record | {"accuracy": float(model.score(test.X, test.y))}


def report(records: list[dict[str, Any]], command: str, quick: bool) -> None:
    """Write the page: accuracies in percent, and the points behind the oracle."""
    found = {(one["noise"], one["k"], one["who"]): 100 * one["accuracy"] for one in records}
    lines = []
    for noise, k in sorted({(one["noise"], one["k"]) for one in records}):
        best = found[noise, k, "oracle"]
        ours = [found.get((noise, k, who)) for who in LEARNERS]
        cells = ["" if value is None else f"{value:.1f} ({value - best:+.1f})" for value in ours]
        lines.append([noise, k, f"{best:.1f}", *cells])
    page = [
        "# CUBE",
        __doc__.split("\n\n", 2)[2].strip(),
        f"`{command}`. Accuracy on test rows in percent, and in brackets the points above the oracle. What "
        "has no figure was not run.",
        table(["noise", "k", "oracle", *LEARNERS], [[f"{line[0]:g}", *line[1:]] for line in lines]),
    ]
    write(NAME, "\n\n".join(page) + "\n", records, quick)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--quick", action="store_true", help="2,000 training rows, one noise")
    parser.add_argument("--learners", nargs="+", choices=LEARNERS, default=list(LEARNERS))
    parser.add_argument("--jobs", type=int, default=1, help="processes, each with one thread")
    args = parser.parse_args()
    n_train, noises = (2_000, NOISES[:1]) if args.quick else (N_TRAIN, NOISES)
    every = ["oracle", *args.learners]
    wanted = [(who, noise, k, n_train) for who in every for noise in noises for k in SIZES]
    command = "python benchmarks/cube.py" + (" --quick" if args.quick else "")
    if len(args.learners) < len(LEARNERS):
        command += " --learners " + " ".join(map(repr, args.learners))
    report(list(in_parallel(measure, wanted, args.jobs)), command, args.quick)


if __name__ == "__main__":
    main()
