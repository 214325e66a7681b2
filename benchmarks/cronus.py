"""Precision@5 against what a document costs, as in Figure 2 of the Cronus paper, and how long Cronus takes.

    MISERLY_DATA=... python benchmarks/cronus.py [--quick] [--rows 60000] [--trees 200]

On a generated set in the likeness of Yahoo's and a sample of MSLR-WEB10K. A document is relevant from grade
3 up (2 for MSLR, where 217 of 10,000 documents have more), and every other one counts ten times, as in the
paper: in the training weights, in the mean cost, and as ten documents when the best five are looked at.
Prices are the papers' tiers (1 to 200), evaluating a tree costs 1. Curves:

- GBRT: the boosted trees as they are, cut after more and more of them;
- single stage: the trees weighted again, all at once, as the objective leaves them and with weights refitted;
- initialised, optimised: the cascade before and after its stages are optimised together, weights refitted;
- cheap trees first, initialised and optimised: the same over trees whose own tradeoff falls from that of the
  cascade to a hundredth of it (the default of `CronusClassifier`);
- soft cascade, and-or: linear cascades with features assigned to stages by price (up to 5, 20, 50, 150, 200).

One point per tradeoff; costs count whole trees. What each curve pays to hold 97 % of GBRT's best precision
is chosen on the test documents themselves, for all curves alike.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np

from common import Problem, axes, divide, problem, save_picture, table, write
from miserly.data.target import Target
from miserly.datasets import Dataset, make_ranking
from miserly.learners import AndOrCascadeClassifier, CronusClassifier, SoftCascadeClassifier
from miserly.learners.cascades.cronus_fit import CascadeSettings, CronusFit, fit_cascade_terms
from miserly.learners.common.classifier_tree import ranking_scores
from miserly.learners.common.linear_fit import FitData, read_fit_data
from miserly.learners.common.progress import Steps
from miserly.learners.common.terms import BoostedTerms
from miserly.metrics import precision_at_k
from miserly.plan import Plan

COPIES = 10
HOLD = 0.97
TRADEOFFS = np.geomspace(5e-5, 3e-6, 7)
FALLING = np.geomspace(4e-4, 4e-6, 7)  # of cascades whose trees go by the tradeoff
LINEAR_TRADEOFFS = np.array([1e-4, 1e-5, 1e-6])
TIERS = (5, 20, 50, 150, 200)
SETTINGS = CascadeSettings(inflation=1.3, positive_weight=3.5, l1=0.0)

PAGE = """# Cronus

`{command}`: {trees} trees of depth 4. What a document costs on average where a curve first holds
97 % of GBRT's best precision@5, counting whole trees, and as a share of what GBRT pays for that, cut as short
as it may be.

{table}

![Precision@5 against the mean cost of a document](cronus.png)

Between neighbouring tradeoffs precision moves by about 0.005, and the best point of a curve is chosen on the
test documents: the share of a curve says less than its course in the picture. The sample of MSLR has 43 test
queries, and more trees make the boosted model worse there: its curves say little.

Initialising ten stages over {n_trees} trees and {n_rows} rows takes {seconds:.0f} s with tradeoff 1e-5, and
{again:.0f} s with 3e-6, the Gram of all rows being known by then (two cores).
"""

Point = dict[str, float]


def problems(rows: int, seed: int = 0) -> Iterator[Problem]:
    data = relevant(make_ranking(rows, random_state=seed, evaluation=1.0), 3)
    rest, test = divide(data, seed, share=0.3)
    yield Problem("yahoo_like", data.costs, rest, rest, test)
    given = problem("mslr_web10k_sample", seed, evaluation=1.0)
    train, _, test = (relevant(part, 2) for part in (given.train, given.validation, given.test))
    yield Problem(given.name, given.costs, train, train, test)


def relevant(data: Dataset, grade: int) -> Dataset:
    """Labels 1 from a grade up, else 0."""
    return replace(data, y=(data.y >= grade).astype(np.int64))


# -- evaluating --------------------------------------------------------------------------------------------


def copies(part: Dataset) -> np.ndarray:
    return np.where(part.y, 1, COPIES)


def precision(part: Dataset, scores: np.ndarray) -> float:
    """Precision@5 with every document that is not relevant there ten times."""
    rows = np.repeat(np.arange(len(scores)), copies(part))
    return float(precision_at_k(part.y[rows], scores[rows], part.qid[rows], k=5))


def evaluate(plan: Plan, part: Dataset, tradeoff: float) -> Point:
    tree, path = (plan.run(part.X, count=count) for count in ("tree", "path"))
    weight = copies(part)
    return {
        "tradeoff": float(tradeoff),
        "precision": precision(part, ranking_scores(tree, part.qid)),
        "tree": float(np.average(tree.cost, weights=weight)),
        "path": float(np.average(path.cost, weights=weight)),
        "stages": len(plan.nodes),
    }


# -- models ------------------------------------------------------------------------------------------------


def cronus_fit(given: Problem, trees: int) -> CronusFit:
    """Everything that curves over plain trees share: rows, trees and their leaf codes."""
    learner = CronusClassifier(costs=given.costs, n_terms=trees, term_tradeoff=None, random_state=0)
    train = given.train
    rows = read_fit_data(learner, train.X, Target(train.y, copies(train)), learner._encode, None)
    return made_of(learner, rows, rows)


def made_of(learner: CronusClassifier, rows: FitData, rows_of_trees: FitData) -> CronusFit:
    silent = Steps(learner, visible=False)
    return CronusFit(
        learner, rows, fit_cascade_terms(learner, rows_of_trees, silent, learner.tradeoff), silent
    )


def prefixes(given: Problem, terms: BoostedTerms, every: int) -> list[Point]:
    """The boosted model after more and more trees."""
    test = given.test
    values = terms.values(test.X)
    points = []
    for n in [1, 2, 5, *range(every, terms.n_terms + 1, every)]:
        cost = given.costs.of(terms.uses[:n].any(axis=0), evaluations=n)
        points.append({"trees": n, "precision": precision(test, values[:, :n].sum(axis=1)), "tree": cost})
    return points


def cronus(made: CronusFit, test: Dataset, tradeoffs: np.ndarray, **parameters: Any) -> list[Point]:
    made.learner.set_params(**parameters)
    return [evaluate(made.make(SETTINGS, tradeoff).plan, test, tradeoff) for tradeoff in tradeoffs]


def cheap_first(given: Problem, trees: int, tradeoffs: np.ndarray, optimise: bool) -> list[Point]:
    """Cascades as the learner makes them, each over trees of its own."""
    train, points = given.train, []
    for tradeoff in tradeoffs:
        model = CronusClassifier(
            costs=given.costs, tradeoff=tradeoff, n_terms=trees, optimise=optimise, random_state=0
        )
        model.fit(train.X, train.y, sample_weight=copies(train))
        points.append(evaluate(model.plan_, given.test, tradeoff))
    return points


def linear(given: Problem, learner: type[Any], tradeoffs: np.ndarray) -> list[Point]:
    """A cascade with features assigned to stages by price."""
    train, points = given.train, []
    for tradeoff in tradeoffs:
        model = learner(costs=given.costs, tradeoff=tradeoff, tiers=TIERS)
        model.fit(train.X, train.y, sample_weight=copies(train))
        points.append(evaluate(model.plan_, given.test, tradeoff))
    return points


def curves(given: Problem, trees: int, thin: int) -> dict[str, list[Point]]:
    made, test = cronus_fit(given, trees), given.test
    some = TRADEOFFS[::thin]
    return {
        "GBRT": prefixes(given, made.terms, max(1, trees // 40)),
        "single stage": cronus(made, test, some, n_stages=1, optimise=False, refit=False),
        "single stage, refitted": cronus(made, test, some, n_stages=1, optimise=False, refit=True),
        "initialised": cronus(made, test, some, n_stages=10, optimise=False, refit=True),
        "optimised": cronus(made, test, some, n_stages=10, optimise=True, refit=True),
        "cheap trees first, initialised": cheap_first(given, trees, FALLING[::thin], optimise=False),
        "cheap trees first, optimised": cheap_first(given, trees, FALLING[::thin], optimise=True),
        "soft cascade": linear(given, SoftCascadeClassifier, LINEAR_TRADEOFFS[::thin]),
        "and-or": linear(given, AndOrCascadeClassifier, LINEAR_TRADEOFFS[::thin]),
    }


def timing(rows: int, trees: int) -> dict[str, float]:
    """Seconds for the initialisation of ten stages; trees are boosted on a part of the rows."""
    data = relevant(make_ranking(rows, random_state=0, evaluation=1.0), 3)
    learner = CronusClassifier(
        costs=data.costs, n_terms=trees, term_tradeoff=None, optimise=False, random_state=0
    )
    read = read_fit_data(learner, data.X, Target(data.y, copies(data)), learner._encode, None)
    part = data.take(np.arange(min(rows, 3_000)))
    few = read_fit_data(learner, part.X, Target(part.y, copies(part)), learner._encode, None)
    made = made_of(learner, read, few)
    start = time.perf_counter()
    made.make(SETTINGS, 1e-5)
    first = time.perf_counter()
    made.make(SETTINGS, 3e-6)
    return {
        "n_rows": rows,
        "n_trees": made.terms.n_terms,
        "seconds": first - start,
        "again": time.perf_counter() - first,
    }


# -- the page ----------------------------------------------------------------------------------------------


def standing(found: dict[str, list[Point]], name: str) -> list[list[Any]]:
    """For each curve, the cheapest point that holds 97 % of GBRT's best precision."""
    best = max(point["precision"] for point in found["GBRT"])
    reference, rows = None, []
    for curve, points in found.items():
        holding = [point for point in points if point["precision"] >= HOLD * best]
        if not holding:
            top = max(points, key=lambda point: point["precision"])
            rows.append([name, curve, "none", "", "", f"{top['precision'] / best:.3f} at {top['tree']:.0f}"])
            continue
        point = min(holding, key=lambda point: point["tree"])
        reference = reference or point["tree"]
        path = f"{point['path']:.0f}" if "path" in point else ""
        share = f"{point['tree'] / reference:.2f}"
        rows.append([name, curve, f"{point['tree']:.0f}", path, share, f"{point['precision'] / best:.3f}"])
    return rows


def picture(results: dict[str, dict[str, list[Point]]], quick: bool) -> None:
    figure, (*grid, names) = axes(len(results) + 1)
    colours = dict(zip(next(iter(results.values())), ["black", *(f"C{k}" for k in range(10))], strict=False))
    for ax, (name, found) in zip(grid, results.items(), strict=True):
        for curve, points in found.items():
            paid = [point for point in points if point["tree"] > 0]  # nothing has no place on this axis
            ordered = sorted(paid, key=lambda point: point["tree"])
            style = {"linestyle": "--"} if curve == "GBRT" else {"marker": "."}
            x, y = ([point[key] for point in ordered] for key in ("tree", "precision"))
            ax.plot(x, y, label=curve, color=colours[curve], **style)
        best = max(point["precision"] for point in found["GBRT"])
        ax.set(
            title=name,
            xlabel="mean cost of a document",
            ylabel="precision@5, test",
            xscale="log",
            xlim=(10, None),
            ylim=(0.4 * best, None),
        )
        ax.grid(alpha=0.3)
    names.set_axis_off()
    names.legend(*grid[0].get_legend_handles_labels(), loc="center left")
    save_picture(figure, "cronus", quick)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--rows", type=int, default=60_000)
    parser.add_argument("--trees", type=int, default=200)
    args = parser.parse_args()
    rows, trees, thin = (6_000, 50, 3) if args.quick else (args.rows, args.trees, 1)
    results = {given.name: curves(given, trees, thin) for given in problems(rows)}
    timed = timing(20_000, 100) if args.quick else timing(141_397, 1_000)
    lines = [row for name, found in results.items() for row in standing(found, name)]
    head = ["set", "curve", "cost", "by path", "of GBRT's", "precision, of GBRT's best"]
    command = f"python benchmarks/cronus.py{' --quick' if args.quick else ''}"
    text = PAGE.format(command=command, trees=trees, table=table(head, lines), **timed)
    write("cronus", text, {"curves": results, "timing": timed}, args.quick)
    picture(results, args.quick)


if __name__ == "__main__":
    main()
