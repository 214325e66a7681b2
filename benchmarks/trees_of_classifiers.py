"""CSTC, ASTC and a single cost-weighted lasso: what each expected cost buys, and how long training takes.

    MISERLY_DATA=... python benchmarks/trees_of_classifiers.py [--quick] [--sets yahoo_like covertype]

As in figure 3 and tables 1 and 2 of Kusner et al. (2014). A CSTC of five levels is learned for each of some
tradeoffs. What each of its nodes buys is the budget of the same node of an ASTC, hard and soft. The lasso has
its own path. Features cost 1 each, but for `yahoo_like`, which has the papers' tiers of prices and is
evaluated by precision@5 (grades of 3 and more are relevant) instead of the error. Cost is what test rows pay
on average. All classifiers are fitted by least squares to 1 and -1, CSTC without pruning. Times are those of
one whole `fit` each, one after the other in one process.
"""

from __future__ import annotations

import argparse
import resource
import time
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from common import axes, save_picture, table, write
from miserly import (
    ASTCClassifier,
    ASTCRegressor,
    CostLassoClassifier,
    CostLassoRegressor,
    Costs,
    CSTCClassifier,
    CSTCRegressor,
)
from miserly.datasets import Dataset, load, make_ranking
from miserly.metrics import precision_at_k
from miserly.plan import LEAVE, Plan
from miserly.plan.purchases import purchases

LEVELS = 5
RELEVANT = 3
VEHICLES = (0, 1, 8, 9)  # of CIFAR-10, against animals
TRADEOFFS = {  # of CSTC, from hardly a feature to most of them
    "covertype": (0.35, 0.25, 0.1, 0.04, 0.01),
    "cifar10_gray20": (1.0, 0.5, 0.25, 0.12),
    "higgs_sample": (0.35, 0.25, 0.1, 0.04, 0.01),
    "yahoo_like": (0.03, 0.01, 0.003),
}
TEST_ROWS = 20_000  # of yahoo_like
LASSO = np.geomspace(0.1, 1e-5, 13)


@dataclass(frozen=True, eq=False)
class Task:
    """Two parts of a data set with two classes, and prices."""

    name: str
    train: Dataset
    test: Dataset
    costs: Costs

    @property
    def ranks(self) -> bool:
        return self.train.qid is not None

    def labels(self, part: Dataset) -> np.ndarray:
        return np.where(part.y >= RELEVANT, 1.0, -1.0) if self.ranks else part.y


def task(name: str, rows: int | None) -> Task:
    if name == "yahoo_like":
        data = make_ranking((rows or 141_397) + TEST_ROWS, 519, random_state=0)
        first = data.qid < data.qid[rows or 141_397]
        return Task(name, data.take(first), data.take(~first), data.costs)
    data = load(name)
    y = np.isin(data.y, VEHICLES) if name == "cifar10_gray20" else data.extra.get("y_binary", data.y)
    data = Dataset(data.X, np.asarray(y, dtype=int), None, data.feature_names, split=data.split)
    train, test = data.train_test(random_state=0, test_size=0.2)
    if rows is not None:
        train = train.take(np.arange(len(train)) < rows)
    return Task(name, train, test, Costs.uniform(data.feature_names))


# -- one set -------------------------------------------------------------------------------------------


def race(given: Task, tradeoffs: tuple[float, ...]) -> Iterator[dict[str, Any]]:
    """Every learner at every tradeoff: what it costs and reaches, and how long it took."""
    cstc, astc, lasso = (
        (CSTCRegressor, ASTCRegressor, CostLassoRegressor)
        if given.ranks
        else (CSTCClassifier, ASTCClassifier, CostLassoClassifier)
    )
    squared = {} if given.ranks else {"loss": "squared"}
    for tradeoff in tradeoffs:
        tree = cstc(
            costs=given.costs, tradeoff=tradeoff, max_depth=LEVELS, prune=False, random_state=0, **squared
        )
        yield measured("CSTC", tree, given, tradeoff)
        budgets = node_budgets(tree.plan_)
        for name, soft in (("ASTC", False), ("ASTC, soft", True)):
            other = astc(costs=given.costs, node_budget=budgets, max_depth=LEVELS, soft=soft, random_state=0)
            yield measured(name, other, given, tradeoff)
    for tradeoff in LASSO:
        yield measured("lasso", lasso(costs=given.costs, tradeoff=tradeoff), given, float(tradeoff))


def measured(name: str, model: Any, given: Task, tradeoff: float) -> dict[str, Any]:
    start = time.perf_counter()
    model.fit(given.train.X, given.labels(given.train))
    seconds = time.perf_counter() - start
    run = model.run(given.test.X)
    if given.ranks:
        quality = precision_at_k(given.test.y, run.scores, given.test.qid, relevant=RELEVANT)
    else:
        quality = 1.0 - model.score(given.test.X, given.labels(given.test))
    found = {
        "learner": name,
        "tradeoff": tradeoff,
        "cost": float(run.cost.mean()),
        "quality": float(quality),
        "features": len(model.features_),
        "seconds": seconds,
        "peak_gb": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20,
    }
    print(given.name, found, flush=True)
    return found


def node_budgets(plan: Plan) -> np.ndarray:
    """What each node of a full tree buys, in the order of ASTC's `node_budget`; nothing if missing."""
    budgets = np.zeros(2**LEVELS - 1)
    bought = purchases(plan)
    todo = [(0, 0)] if plan.nodes else []
    for node, position in todo:
        budgets[position] = bought[node].price
        children = ((plan.nodes[node].up, 1), (plan.nodes[node].low, 2))
        todo += [(child, 2 * position + side) for child, side in children if child != LEAVE]
    return budgets


# -- the page ------------------------------------------------------------------------------------------


def speed_ups(found: list[dict[str, Any]]) -> str:
    """Tables 1 and 2: how many times faster ASTC is than the CSTC that its budgets are from."""
    rows = []
    for one in (one for one in found if one["learner"] == "CSTC"):
        line = [f"{one['tradeoff']:g}", f"{one['cost']:.1f}", one["quality"], f"{one['seconds']:.1f} s"]
        for name in ("ASTC", "ASTC, soft"):
            other = next(x for x in found if x["learner"] == name and x["tradeoff"] == one["tradeoff"])
            line += [f"{other['cost']:.1f}", other["quality"], f"{other['seconds']:.2f} s"]
            line.append(f"{one['seconds'] / other['seconds']:.1f}x")
        rows.append(line)
    head = ["tradeoff"]
    for name in ("CSTC", "ASTC", "ASTC, soft"):
        head += [f"{name}: cost", "quality", "time"] + (["faster"] if name != "CSTC" else [])
    return table(head, rows)


def picture(results: dict[str, list[dict[str, Any]]], quick: bool) -> None:
    figure, grid = axes(len(results), columns=2)
    colours = {"CSTC": "C0", "ASTC": "C3", "ASTC, soft": "C1", "lasso": "C7"}
    for ax, (name, found) in zip(grid, results.items(), strict=True):
        for learner, colour in colours.items():
            points = sorted((one["cost"], one["quality"]) for one in found if one["learner"] == learner)
            ax.plot(*zip(*points, strict=True), marker="o", ms=3, color=colour, label=learner)
        ranks = name == "yahoo_like"
        ax.set(
            title=name,
            ylabel="precision@5" if ranks else "test error",
            xscale="symlog" if ranks else "linear",
        )
        ax.set_xlabel("mean cost" if ranks else "mean number of features")
        ax.grid(alpha=0.3)
    grid[0].legend()
    save_picture(figure, "trees_of_classifiers", quick)


def report(results: dict[str, list[dict[str, Any]]], quick: bool) -> None:
    picture(results, quick)
    command = (
        f"python benchmarks/trees_of_classifiers.py{' --quick' if quick else ''} --sets {' '.join(results)}"
    )
    page = ["# Trees of classifiers", __doc__.split("\n\n", 2)[2].strip(), f"`{command}`"]
    page.append("![What each cost buys](trees_of_classifiers.png)")
    for name, found in results.items():
        quality = "precision@5" if name == "yahoo_like" else "test error"
        page += [f"## {name}", f"Quality is {quality}.", speed_ups(found)]
        peak = max(one["peak_gb"] for one in found)
        page.append(f"Peak memory of the process so far: {peak:.1f} GB, the data included.")
    write("trees_of_classifiers", "\n\n".join(page) + "\n", results, quick)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--sets", nargs="+", default=list(TRADEOFFS), choices=list(TRADEOFFS))
    args = parser.parse_args()
    results = {}
    for name in args.sets:
        given = task(name, 3000 if args.quick else None)
        results[name] = list(race(given, TRADEOFFS[name][:2] if args.quick else TRADEOFFS[name]))
        report(results, args.quick)  # after each: the last set takes longer than all others


if __name__ == "__main__":
    main()
