"""Trees of classifiers that are learned as a whole (CSTC): the quadrants, what optimising brings, and speed.

    python benchmarks/cstc.py [--quick]

- *Quadrants* (thesis, 3.7.1): the least possible cost is 12. Ten draws, each with a mean budget of 12; with
  the tradeoff that does best on held-out rows, on a path from 0.05 to 0.25; and a single node, the best of a
  path at any cost up to 12.
- *Optimising*: real sets, tradeoffs on a path, the tree as initialised against the tree as optimised, by
  validation error and by the error on test rows, with what test rows cost.
- *Several classes*: one tree with a score per class against one tree per class, whose rows pay what any of
  the trees asks for.
- *Boosted terms*: plain trees against trees whose own tradeoff falls, cheap ones first (the default).
- *Speed*: one fit with boosted terms in a process of its own, with its peak memory, and how both grow.
"""

from __future__ import annotations

import argparse
import json
import resource
import subprocess
import sys
import time
from typing import Any

import numpy as np

from common import Problem, divide, problem, quality, table, write
from miserly import Costs
from miserly.datasets import Dataset, make_quadrants, make_ranking
from miserly.learners import CSTCClassifier, CSTCRegressor

SETS = ("magic", "ann_thyroid", "page_blocks", "heart_cleveland", "mq2008")
TRADEOFFS = (0.0003, 0.001, 0.003, 0.01)
MANY_CLASSES = ("ann_thyroid", "page_blocks")
BOOSTED = ("magic", "mq2008", "yahoo_like")
BOOSTED_TRADEOFFS = (0.001, 0.0003, 0.0001)
BASE = {"rows": 50_000, "terms": 500, "levels": 3}
GROWTH = ({}, {"rows": 25_000}, {"rows": 100_000}, {"terms": 250}, {"levels": 2}, {"levels": 4})


# -- quadrants -----------------------------------------------------------------------------------------------


def quadrants(seeds: int) -> list[dict[str, Any]]:
    rows = []
    for seed in range(seeds):
        train, test = make_quadrants(1000, random_state=seed), make_quadrants(4000, random_state=1000 + seed)
        model = CSTCRegressor(costs=train.costs, mean_budget=12.0, random_state=0).fit(train.X, train.y)
        nodes = [
            CSTCRegressor(costs=train.costs, tradeoff=t, max_depth=1, prune=False).fit(train.X, train.y)
            for t in np.geomspace(0.005, 0.25, 12)
        ]
        single = min(pair for pair in (on(node, test) for node in nodes) if pair[1] <= 12.1)
        path = on(best_on_path(train), test)
        rows.append({"seed": seed, "budget": on(model, test), "path": path, "single": single})
    return rows


def on(model: CSTCRegressor, data: Dataset) -> tuple[float, float]:
    """Error and cost."""
    return float(np.mean((model.predict(data.X) - data.y) ** 2)), float(model.run(data.X).cost.mean())


def best_on_path(train: Dataset) -> CSTCRegressor:
    """The model with the least error (to a hundredth) on a fifth of the rows; of several, the cheapest."""
    held_out = np.arange(len(train.y)) % 5 == 0
    learn, validation_set = train.take(~held_out), train.take(held_out)
    models = [
        CSTCRegressor(costs=train.costs, tradeoff=tradeoff, random_state=0).fit(learn.X, learn.y)
        for tradeoff in np.geomspace(0.05, 0.25, 12)
    ]
    outcomes = [on(model, validation_set) for model in models]
    best = min(range(len(models)), key=lambda k: (round(outcomes[k][0], 2), outcomes[k][1]))
    return models[best]


# -- optimising ----------------------------------------------------------------------------------------------


def fitted(data: Problem, **given: Any) -> Any:
    learner = CSTCRegressor if data.ranks else CSTCClassifier
    extra = {"qid": data.train.qid} if data.ranks else {}
    return learner(costs=data.costs, random_state=0, **given).fit(data.train.X, data.train.y, **extra)


def evaluated(model: Any, data: Problem) -> dict[str, float]:
    found = {}
    for name, part in (("validation", data.validation), ("test", data.test)):
        run = model.run(part.X)
        scores = run.scores if run.scores.ndim == 2 else run.scores[:, None]
        found[name] = quality(part, data.metric, scores)
        found["cost"] = float(run.cost.mean())
    return found


def optimising(sets: tuple[str, ...], seeds: int) -> list[dict[str, Any]]:
    rows = []
    for name in sets:
        for seed in range(seeds):
            data = problem(name, seed)
            for tradeoff in TRADEOFFS:
                pair = [
                    evaluated(fitted(data, tradeoff=tradeoff, optimise=optimise), data)
                    for optimise in (False, True)
                ]
                rows.append({"set": name, "seed": seed, "tradeoff": tradeoff, "pair": pair})
    return rows


def summary(rows: list[dict[str, Any]]) -> list[tuple[Any, ...]]:
    lines = []
    for name in dict.fromkeys(row["set"] for row in rows):
        pairs = [row["pair"] for row in rows if row["set"] == name]
        means = [
            [np.mean([p[k][what] for p in pairs]) for k in (0, 1)] for what in ("validation", "test", "cost")
        ]
        better = sum(after["validation"] > before["validation"] for before, after in pairs)
        lines.append((name, *(float(v) for pair in means for v in pair), f"{better} of {len(pairs)}"))
    return lines


# -- several classes -----------------------------------------------------------------------------------------


def several_classes(seeds: int) -> list[tuple[Any, ...]]:
    lines = []
    for name in MANY_CLASSES:
        for seed in range(seeds):
            data = problem(name, seed)
            for tradeoff in TRADEOFFS[1:]:
                one = evaluated(fitted(data, tradeoff=tradeoff), data)
                lines.append((name, seed, tradeoff, one["test"], one["cost"], *one_per_class(data, tradeoff)))
    return lines


def one_per_class(data: Problem, tradeoff: float) -> tuple[float, float]:
    """Test accuracy and cost of one tree per class; a row pays once for whatever any of them acquires."""
    scores, acquired = [], np.zeros(data.test.X.shape, dtype=bool)
    for label in np.unique(data.train.y):
        model = CSTCClassifier(costs=data.costs, tradeoff=tradeoff, random_state=0)
        model.fit(data.train.X, (data.train.y == label).astype(int))
        run = model.run(data.test.X)
        scores.append(run.scores)
        acquired |= run.acquired
    right = np.unique(data.train.y)[np.argmax(scores, axis=0)] == data.test.y
    return float(right.mean()), float(np.mean([data.costs.of(row) for row in acquired]))


# -- boosted terms -------------------------------------------------------------------------------------------


def boosted_terms(sets: tuple[str, ...], seeds: int) -> list[tuple[Any, ...]]:
    """Test quality and cost with plain trees and with cheap ones first, means over splits."""
    lines = []
    for name in sets:
        parts = [ranking(seed) if name == "yahoo_like" else problem(name, seed) for seed in range(seeds)]
        for tradeoff in BOOSTED_TRADEOFFS:
            line: list[Any] = [name, tradeoff]
            for kind in (None, "falling"):
                given = {"tradeoff": tradeoff, "terms": "boosted", "term_tradeoff": kind}
                found = [evaluated(fitted(data, **given), data) for data in parts]
                line += [float(np.mean([one[what] for one in found])) for what in ("test", "cost")]
            lines.append(tuple(line))
    return lines


def ranking(seed: int) -> Problem:
    data = make_ranking(15_000, 200, random_state=seed)
    rest, test = divide(data, seed, share=0.3)
    train, validation = divide(rest, seed, share=0.2)
    return Problem("yahoo_like", data.costs, train, validation, test)


# -- speed ---------------------------------------------------------------------------------------------------


def one_fit(rows: int, terms: int, levels: int) -> dict[str, float]:
    """Seconds and peak memory of this process for one fit, trees to weigh included."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((rows, 100), dtype=np.float32)
    signal = (
        np.sin(2 * X[:, 0]) + X[:, 1] * X[:, 2] + np.abs(X[:, 3]) + 0.3 * X[:, 4:24] @ rng.normal(size=20)
    )
    y = signal + np.where(X[:, 5] > 0, X[:, 6], X[:, 7] * X[:, 8]) + 0.5 * rng.normal(size=rows)
    costs = Costs(list(rng.choice([1.0, 5.0, 20.0, 50.0, 100.0], size=100)), evaluation=0.1)
    model = CSTCRegressor(
        costs=costs, tradeoff=0.001, max_depth=levels, terms="boosted", n_terms=terms, prune=False, n_jobs=1
    )
    CSTCRegressor(terms="boosted", n_terms=2).fit(X[:500], y[:500])  # so that nothing is compiled below
    start = time.perf_counter()
    model.fit(X, y)
    seconds = time.perf_counter() - start
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6
    visits = len(model.objective_) - 1
    return {"seconds": seconds, "GB": peak, "r2": float(model.score(X, y)), "visits": visits}


def speed(quick: bool) -> list[dict[str, float]]:
    found = []
    for change in GROWTH[:1] if quick else GROWTH:
        size = {**BASE, **change} if not quick else {"rows": 5_000, "terms": 50, "levels": 3}
        command = [sys.executable, __file__, "--fit", json.dumps(size)]
        done = subprocess.run(command, check=True, capture_output=True, text=True)
        found.append({**size, **json.loads(done.stdout.splitlines()[-1])})
    return found


# -- the page ------------------------------------------------------------------------------------------------


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--fit", type=json.loads, help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.fit:
        print(json.dumps(one_fit(**args.fit)))
        return
    seeds = 1 if args.quick else 3
    squares = quadrants(2 if args.quick else 10)
    timed = speed(args.quick)
    gains = optimising(SETS[:1] if args.quick else SETS, seeds)
    shared = several_classes(1) if not args.quick else []
    grown = boosted_terms(BOOSTED[:1] if args.quick else BOOSTED, 1 if args.quick else 2)
    path = ", ".join(map(str, TRADEOFFS))
    page = [
        "# CSTC",
        "`python benchmarks/cstc.py" + (" --quick`" if args.quick else "`"),
        "## Quadrants",
        "Error (mean squared) and cost on 4,000 fresh rows; the least possible cost is 12.",
        table(
            (
                "draw",
                "mean_budget=12",
                "cost",
                "best on a path",
                "cost",
                "single node, cost up to 12",
                "cost",
            ),
            [(row["seed"], *row["budget"], *row["path"], *row["single"]) for row in squares],
        ),
        "## What optimising brings",
        f"Accuracy (mq2008: NDCG@5), means over {seeds} splits and the tradeoffs {path}: the tree as "
        "initialised and pruned, and after optimising its nodes together.",
        table(
            (
                "set",
                "validation",
                "optimised",
                "test",
                "optimised",
                "cost",
                "optimised",
                "better (validation)",
            ),
            summary(gains),
        ),
        "## Several classes",
        "Test accuracy and cost of one tree with a score per class, and of one tree per class.",
        table(("set", "split", "tradeoff", "one tree", "cost", "a tree per class", "cost"), shared),
        "## Boosted terms",
        "Accuracy (ranking: NDCG@5) and cost on test rows, means over splits: plain boosted trees as terms, "
        "and with trees whose own tradeoff falls from that of the model to a hundredth of it.",
        table(("set", "tradeoff", "plain trees", "cost", "cheap trees first", "cost"), grown),
        "## Speed",
        "One fit on one thread without pruning, boosting of the terms included (100 features), and its peak "
        "memory.",
        table(
            ("rows", "terms", "levels", "seconds", "GB", "R2", "node visits"),
            [
                (*(f[k] for k in BASE), *(round(f[k], 2) for k in ("seconds", "GB", "r2")), f["visits"])
                for f in timed
            ],
        ),
    ]
    figures = {"quadrants": squares, "optimising": gains, "classes": shared, "boosted": grown, "speed": timed}
    write("cstc", "\n\n".join(page) + "\n", figures, args.quick)


if __name__ == "__main__":
    main()
