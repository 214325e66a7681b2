"""NDCG@5 against what a document costs, as in Figure 1 of the Greedy Miser paper.

    MISERLY_DATA=... python benchmarks/ranking_curves.py [--quick] [--rows 60000]

On MSLR-WEB10K (a sample), MQ2008 and a generated set in the likeness of Yahoo's. Prices are the papers'
tiers (1 to 200) and evaluating a tree costs 1. Curves:

- GBRT: the model without costs, cut after more and more trees;
- subsets: GBRT on the features that cost at most 1, 20, 100, 200;
- Early Exit: documents leave GBRT by the proximity rule, from strict to lenient;
- Miser: one model per tradeoff, cut where validation data say;
- Miser + Early Exit: the same rule on the cheapest Miser that holds 99 % of GBRT on validation data.

All have squared loss on the grades, as in the paper. Costs are means over test documents: whole trees, as in
the paper, and by path, which is what a run pays.
The sample of MSLR has only 43 test queries and 11 for validation: its curves are rough.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np

from common import Problem, axes, divide, problem, save_picture, table, write
from miserly import Costs
from miserly.datasets import Dataset, make_ranking
from miserly.learners import EarlyExit, GreedyMiserRanker
from miserly.metrics import ndcg

REAL_SETS = ("mslr_web10k_sample", "mq2008")
TRADEOFFS = np.geomspace(1e-6, 3e-3, 12)
CAPS = (1, 20, 100, 200)  # most expensive feature of each subset
HOLD = 0.99
EVERY = 10  # rounds between exits, and between points of a curve

Point = dict[str, float]


def problems(rows: int, seed: int = 0) -> Iterator[Problem]:
    for name in REAL_SETS:
        yield problem(name, seed, evaluation=1.0)
    data = make_ranking(rows, random_state=seed, evaluation=1.0)
    rest, test = divide(data, seed, share=0.2)
    yield Problem("yahoo_like", data.costs, *divide(rest, seed), test)


# -- models ------------------------------------------------------------------------------------------------


def fit(given: Problem, rounds: int, tradeoff: float = 0.0, costs: Costs | None = None) -> GreedyMiserRanker:
    """A ranker cut after the round that does best on validation data."""
    train, validation = given.train, given.validation
    model = GreedyMiserRanker(
        costs=costs or given.costs,
        loss="squared",  # as in the paper
        tradeoff=tradeoff,
        n_rounds=rounds,
        early_stopping=rounds,
    )
    return model.fit(
        train.X, train.y, qid=train.qid, X_val=validation.X, y_val=validation.y, qid_val=validation.qid
    )


def evaluate(model: Any, given: Problem) -> Point:
    """Validation and test NDCG@5 of a model, and the mean cost of a test document."""
    point = {}
    for name, part in (("validation", given.validation), ("test", given.test)):
        listwise = {"qid": part.qid} if isinstance(model, EarlyExit) else {}
        point[name] = ndcg(part.y, model.predict(part.X, **listwise), part.qid)
    for count in ("tree", "path"):
        run = model.plan_.run(given.test.X, count=count, qid=given.test.qid)
        point[count] = float(run.cost.mean())
    return point


def prefixes(model: GreedyMiserRanker, given: Problem) -> list[Point]:
    """The model after 1, 10, 20, ... rounds."""
    X, points = given.test.X, []
    staged = zip(
        model.staged_predict(given.validation.X),
        model.staged_run(X, count="tree"),
        model.staged_run(X, count="path"),
        strict=True,
    )
    for t, (of_validation, by_tree, by_path) in enumerate(staged, start=1):
        if t == 1 or t % EVERY == 0:
            points.append(
                {
                    "validation": ndcg(given.validation.y, of_validation, given.validation.qid),
                    "test": ndcg(given.test.y, by_tree.scores[:, 0], given.test.qid),
                    "tree": float(by_tree.cost.mean()),
                    "path": float(by_path.cost.mean()),
                }
            )
    return points


def subset(given: Problem, cap: float, rounds: int) -> Point | None:
    """GBRT on the features that cost at most `cap`; the others are made constant, so no tree needs them."""
    cheap = given.costs.feature <= cap
    if not cheap.any():
        return None
    blank = {part: _blank(getattr(given, part), ~cheap) for part in ("train", "validation", "test")}
    return evaluate(fit(Problem(given.name, given.costs, **blank), rounds), given)


def _blank(part: Dataset, columns: np.ndarray) -> Dataset:
    X = part.X.copy()
    X[:, columns] = 0.0
    return replace(part, X=X)


def exits(model: GreedyMiserRanker, given: Problem, n_settings: int) -> list[Point]:
    """Early Exit by proximity, from dropping nearly all documents at once to dropping hardly any."""
    scores = model.predict(given.validation.X)
    spread = float(scores.max() - scores.min())
    points = []
    for threshold in spread * np.geomspace(0.02, 1.0, n_settings):
        early = EarlyExit(model, rule="proximity", threshold=float(threshold), every=EVERY, prefit=True)
        points.append(evaluate(early.fit(given.train.X, given.train.y, qid=given.train.qid), given))
    return points


# -- one set -----------------------------------------------------------------------------------------------


def curves(given: Problem, rounds: int, n_settings: int) -> dict[str, list[Point]]:
    plain = fit(given, rounds)
    step = max(1, len(TRADEOFFS) // n_settings)
    misers = [fit(given, rounds, tradeoff) for tradeoff in TRADEOFFS[::step]]
    evaluated = [evaluate(model, given) for model in misers]
    full = evaluate(plain, given)
    best = misers[_cheapest_that_holds(evaluated, full["validation"])]
    return {
        "GBRT": [*prefixes(plain, given), full],
        "subsets": [point for cap in CAPS if (point := subset(given, cap, rounds))],
        "Early Exit": exits(plain, given, n_settings),
        "Miser": evaluated,
        "Miser + Early Exit": exits(best, given, n_settings),
    }


def _cheapest_that_holds(points: list[Point], full: float) -> int:
    """The cheapest of the points that hold 99 % of `full` on validation data, or the best of them all."""
    holding = [i for i, point in enumerate(points) if point["validation"] >= HOLD * full]
    if holding:
        return min(holding, key=lambda i: points[i]["tree"])
    return max(range(len(points)), key=lambda i: points[i]["validation"])


def standing(found: dict[str, list[Point]], name: str) -> list[list[Any]]:
    """For each curve, the point chosen on validation data to hold 99 % of GBRT, evaluated on test data."""
    full = found["GBRT"][-1]
    rows = [
        [name, "GBRT, whole", full["test"], "1.000", f"{full['tree']:.0f}", f"{full['path']:.0f}", "1.000"]
    ]
    for curve, points in found.items():
        chosen = points[_cheapest_that_holds(points, full["validation"])]
        held, cost = chosen["test"] / full["test"], chosen["tree"] / full["tree"]
        rows.append(
            [
                name,
                curve,
                chosen["test"],
                f"{held:.3f}",
                f"{chosen['tree']:.0f}",
                f"{chosen['path']:.0f}",
                f"{cost:.3f}",
            ]
        )
    return rows


def at_99_on_test(found: dict[str, list[Point]], curve: str) -> str:
    """The least share of GBRT's cost at which some point of a curve holds 99 % on the test data itself."""
    full = found["GBRT"][-1]
    shares = [p["tree"] / full["tree"] for p in found[curve] if p["test"] >= HOLD * full["test"]]
    return f"{min(shares):.3f}" if shares else "none"


def picture(results: dict[str, dict[str, list[Point]]], quick: bool) -> None:
    figure, grid = axes(len(results))
    for ax, (name, found) in zip(grid, results.items(), strict=True):
        for curve, points in found.items():
            ordered = sorted(points, key=lambda point: point["tree"])
            ax.plot([p["tree"] for p in ordered], [p["test"] for p in ordered], marker=".", label=curve)
        ax.set(xscale="log", title=name, xlabel="mean cost of a document", ylabel="NDCG@5, test")
        ax.grid(alpha=0.3)
    grid[-1].legend(fontsize=8, loc="lower right")
    save_picture(figure, "ranking_curves", quick)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--rows", type=int, help="of the generated set")
    args = parser.parse_args()
    rows = args.rows or (10_000 if args.quick else 60_000)
    rounds, n_settings = (60, 4) if args.quick else (200, 12)
    results = {}
    for given in problems(rows):
        results[given.name] = curves(given, rounds, n_settings)
        print(f"{given.name} done", flush=True)
    picture(results, args.quick)
    head = ["set", "curve", "NDCG@5", "of GBRT's", "cost, whole trees", "cost, by path", "of GBRT's cost"]
    lines = [line for name, found in results.items() for line in standing(found, name)]
    names = list(next(iter(results.values())))
    least = [[name, *(at_99_on_test(found, curve) for curve in names)] for name, found in results.items()]
    command = f"python benchmarks/ranking_curves.py{' --quick' if args.quick else ''} --rows {rows}"
    page = [
        "# NDCG@5 against cost",
        __doc__.split("\n\n", 2)[2].strip(),
        f"Depth 4, step 0.1, squared loss on the grades, up to {rounds} rounds, exits every {EVERY}.",
        f"`{command}`",
        "![NDCG@5 against cost](ranking_curves.png)",
        "The cheapest point of each curve that holds 99 % of GBRT's NDCG@5 on *validation* data, and what it "
        "does on test data:",
        table(head, lines),
        "The least share of GBRT's cost (whole trees) at which some point holds 99 % on *test* data, chosen "
        "there, and so a little flattering to every curve:",
        table(["set", *names], least),
    ]
    write("ranking_curves", "\n\n".join(page) + "\n", results, args.quick)


if __name__ == "__main__":
    main()
