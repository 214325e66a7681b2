"""AFR, one model for every budget, against Greedy Miser retrained for each.

    MISERLY_DATA=... python benchmarks/afr.py [--quick] [--draws 3] [--sets pima adult]

The figure of a curve is the mean, over ten budgets (geometric from the cheapest feature to all of them), of
the accuracy on test rows; for the ranking sets, of precision@5, documents being relevant from grade 2 up (1
for MQ2008). Costs count whole trees. At most 4,000 rows are learned from. Models:

- AFR: one fit; each budget is given to `run`;
- start: what AFR starts from, one Greedy Miser tree for each dimension and the SVM on top: no further trees
  in a dimension, no restarts;
- AFR, no slopes: all of AFR but the trees along the slopes of the outer loss;
- AFR, one each: one representation for each snapshot, where AFR by default takes the mean of several;
- Miser: a fit with a hard budget for each budget, rounds chosen on a fifth of the rows;
- GBRT: the same without prices, cut where a budget ends;
- Early Exit: exits every 5 rounds of that GBRT; the threshold of the largest *mean* cost that fits a budget;
- SVM: a linear one over all features, where the budget pays for all.

The synthetic set of Fig. 2.7 (thesis) is drawn from seeds that nothing was chosen on.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from dataclasses import replace
from typing import Any
from unittest.mock import patch

import numpy as np
from sklearn.impute import SimpleImputer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import LinearSVC

from common import axes, divide, problem, save_picture, table, write
from miserly import AFRClassifier, Costs, EarlyExit, GreedyMiserClassifier
from miserly.datasets import Dataset, make_ranking, make_xor_afr, tiered_costs
from miserly.learners.anytime.builder import Builder
from miserly.metrics import precision_at_k

SETS = ("pima", "heart_cleveland", "magic", "adult", "ann_thyroid", "dna", "ranking", "mq2008")
SMALL = {"pima": 10, "heart_cleveland": 10}  # draws of sets with few test rows
FIRST_SEED = 10  # 0 to 7 were looked at while AFR was being made; of the synthetic set 100 to 129
N_BUDGETS = 10
MAX_ROWS = 4_000
ROUNDS = 200
XOR_BUDGETS = (5.0, 10.0, 30.0, 60.0, 100.0, 200.0, 1220.0)
XOR = {"n_dimensions": 2, "max_depth": 3}
THRESHOLDS = (0.6, 0.7, 0.8, 0.9, 0.95, 0.98, 0.99, 0.999, 1.0)

PAGE = """# AFR

`{command}`: means over {draws} draws of each set ({small}). For each model the mean over ten budgets of
accuracy (precision@5 for `ranking` and `mq2008`). One AFR against a Greedy Miser retrained for each budget;
Early Exit is given the budget on average, the others for every row.

{table}

"to Miser" is AFR's figure less the Miser's, "to start" AFR's less that of what it starts from, "slopes" what
its trees along the slopes of the outer loss add, all else equal: with the same purchases and the same trees
of the Miser they change little either way; "members" what several representations for each snapshot add, on
sets of few rows. "outer" is the smooth share of errors on the rows that evaluate the
SVM, of the first snapshot and of the last.

![What each budget buys](afr.png)

## The synthetic set

Ten fresh draws (seeds 200 to 209), two dimensions per block, depth 3, evaluation for nothing: test accuracy
at each budget. The aim was a mean of 0.965 and no draw below 0.93 at 100.

{xor}

## How long it takes

{rows:,} rows, {features} features, on one thread: {trees} trees of AFR in {afr:.0f} s, as many rounds of
Greedy Miser in {miser:.0f} s, {ratio:.1f} times as long.
"""

Scores = Callable[[float], np.ndarray]


# -- data --------------------------------------------------------------------------------------------------


def parts(name: str, seed: int) -> tuple[Dataset, Dataset, Costs]:
    """Training rows, test rows and prices."""
    if name == "ranking":
        data = make_ranking(6_000, random_state=seed)
        train, test = divide(data, seed, 0.3)
        return relevant(train, 2), relevant(test, 2), data.costs
    given = problem(name, seed)
    train, test = given.train, given.test
    costs = descriptors(given.costs, seed) if name == "dna" else given.costs
    if name == "mq2008":
        return relevant(train, 1), relevant(test, 1), costs
    chosen = np.random.default_rng(seed).permutation(len(train.X))[:MAX_ROWS]
    return train.take(np.sort(chosen)), test, costs


def relevant(data: Dataset, grade: int) -> Dataset:
    return replace(data, y=(data.y >= grade).astype(np.int64))


def descriptors(costs: Costs, seed: int) -> Costs:
    """Columns in threes, as they code one letter: a row that reads one has paid for all."""
    names = list(costs.names or range(len(costs)))
    groups = [names[k : k + 3] for k in range(0, len(names), 3)]
    prices = tiered_costs([str(k) for k in range(len(groups))], random_state=seed).feature
    setups = {f"place {k}": {"features": group, "setup": float(prices[k])} for k, group in enumerate(groups)}
    return Costs(dict.fromkeys(names, 0.0), groups=setups)


def budgets_of(costs: Costs) -> np.ndarray:
    prices = np.array([costs.marginal(costs.name(f)) for f in range(len(costs))])
    return np.geomspace(prices[prices > 0].min(), costs.total, N_BUDGETS)


def evaluate(test: Dataset, scores: np.ndarray) -> float:
    """Accuracy, or precision@5, of scores before the link."""
    if test.qid is not None:
        return float(precision_at_k(test.y, scores, test.qid, k=5))
    label = scores.argmax(axis=1) if scores.ndim == 2 else (scores > 0).astype(int)
    return float(np.mean(label == test.y))


# -- models ------------------------------------------------------------------------------------------------


def run_of(model: Any, test: Dataset) -> Scores:
    return lambda budget: model.run(test.X, budget=budget, count="tree").scores


def miser(train: Dataset, costs: Costs, seed: int, **parameters: Any) -> GreedyMiserClassifier:
    """Rounds by early stopping; depth 3 for several classes, as the paper has it."""
    model = GreedyMiserClassifier(
        costs=costs,
        n_rounds=ROUNDS,
        early_stopping=30,
        validation_fraction=0.2,
        max_depth=4 if len(np.unique(train.y)) == 2 else 3,
        random_state=seed,
        n_jobs=1,
        **parameters,
    )
    return model.fit(train.X, train.y, qid=train.qid)


def afr(train: Dataset, costs: Costs, seed: int, **parameters: Any) -> AFRClassifier:
    depth = 4 if len(np.unique(train.y)) == 2 else 3
    model = AFRClassifier(costs=costs, max_depth=depth, random_state=seed, n_jobs=1, **parameters)
    return model.fit(train.X, train.y, qid=train.qid)


def without(step: str) -> Any:
    """AFR as it would be if it left out one of its steps."""
    return patch.object(Builder, step, lambda *_: None)


def early_exit(
    boosted: GreedyMiserClassifier, train: Dataset, test: Dataset, budgets: np.ndarray
) -> list[float]:
    """At each budget the threshold of the largest mean cost that fits, or else the commonest class."""
    met = []
    for threshold in THRESHOLDS:
        model = EarlyExit(boosted, threshold=threshold, every=5, prefit=True).fit(train.X, train.y)
        run = model.run(test.X, count="tree")
        met.append((float(run.cost.mean()), evaluate(test, run.scores)))
    nothing = evaluate(test, boosted.run(test.X, budget=0.0).scores)
    return [max([(-1.0, nothing), *(p for p in met if p[0] <= budget)])[1] for budget in budgets]


def linear(train: Dataset, test: Dataset, costs: Costs, nothing: float, budgets: np.ndarray) -> list[float]:
    model = make_pipeline(SimpleImputer(), StandardScaler(), LinearSVC(random_state=0))
    value = evaluate(test, model.fit(train.X, train.y).decision_function(test.X))
    return [value if budget >= costs.total * (1 - 1e-9) else nothing for budget in budgets]


def race(name: str, seed: int) -> dict[str, Any]:
    """Every model on one draw of one set."""
    train, test, costs = parts(name, seed)
    budgets = budgets_of(costs)
    model, one_each = afr(train, costs, seed), afr(train, costs, seed, n_members=1)
    with without("_descend"):
        no_slopes = afr(train, costs, seed)
        with without("_restart_if_due"):
            start = afr(train, costs, seed, n_trees=1, n_members=1)
    boosted = miser(train, costs, seed)
    nothing = evaluate(test, boosted.run(test.X, budget=0.0).scores)
    curves = {
        "AFR": [evaluate(test, run_of(model, test)(budget)) for budget in budgets],
        "start": [evaluate(test, run_of(start, test)(budget)) for budget in budgets],
        "AFR, no slopes": [evaluate(test, run_of(no_slopes, test)(budget)) for budget in budgets],
        "AFR, one each": [evaluate(test, run_of(one_each, test)(budget)) for budget in budgets],
        "Miser": [
            evaluate(test, run_of(miser(train, costs, seed, budget=budget), test)(np.inf))
            for budget in budgets
        ],
        "GBRT": [evaluate(test, run_of(boosted, test)(budget)) for budget in budgets],
        "Early Exit": early_exit(boosted, train, test, budgets),
        "SVM": linear(train, test, costs, nothing, budgets),
    }
    return {
        "budgets": budgets.tolist(),
        "curves": curves,
        "outer": [float(model.outer_losses_[0]), float(model.outer_losses_[-1])],
        "snapshots": len(model.snapshot_costs_),
    }


def synthetic(seeds: range) -> np.ndarray:
    """Test accuracy (seeds, budgets)."""
    found = []
    for seed in seeds:
        data = make_xor_afr(random_state=seed)
        train, test = data.take(data.split == 0), data.take(data.split == 1)
        model = AFRClassifier(costs=data.costs, random_state=seed, n_jobs=1, **XOR).fit(train.X, train.y)
        found.append([evaluate(test, run_of(model, test)(budget)) for budget in XOR_BUDGETS])
    return np.array(found)


def timing(rows: int, features: int) -> dict[str, float]:
    """Seconds of one fit each, with as many trees."""
    data = relevant(make_ranking(rows, features, random_state=0), 2)
    costs = data.costs
    assert costs is not None
    GreedyMiserClassifier(costs=costs, n_rounds=2, n_jobs=1).fit(data.X[:2000], data.y[:2000])  # compile
    begin = time.perf_counter()
    model = AFRClassifier(costs=costs, random_state=0, n_jobs=1).fit(data.X, data.y)
    middle = time.perf_counter()
    trees = len(model.plan_.terms)
    GreedyMiserClassifier(costs=costs, tradeoff=1e-5, n_rounds=trees, n_jobs=1).fit(data.X, data.y)
    afr_s, miser_s = middle - begin, time.perf_counter() - middle
    return {
        "rows": len(data.X),
        "features": features,
        "trees": trees,
        "afr": afr_s,
        "miser": miser_s,
        "ratio": afr_s / miser_s,
    }


# -- the page ----------------------------------------------------------------------------------------------


def line(name: str, draws: list[dict[str, Any]]) -> list[Any]:
    mean = {curve: float(np.mean([d["curves"][curve] for d in draws])) for curve in draws[0]["curves"]}
    first, last = np.mean([d["outer"] for d in draws], axis=0)
    return [
        name,
        *mean.values(),
        f"{mean['AFR'] - mean['Miser']:+.4f}",
        f"{mean['AFR'] - mean['start']:+.4f}",
        f"{mean['AFR'] - mean['AFR, no slopes']:+.4f}",
        f"{mean['AFR'] - mean['AFR, one each']:+.4f}",
        f"{first:.3f} to {last:.3f}",
    ]


def picture(results: dict[str, list[dict[str, Any]]], quick: bool) -> None:
    figure, grid = axes(len(results), columns=4)
    for ax, (name, draws) in zip(grid, results.items(), strict=True):
        budgets = np.mean([d["budgets"] for d in draws], axis=0)
        for k, curve in enumerate(draws[0]["curves"]):
            if curve in ("start", "AFR, no slopes", "AFR, one each"):
                continue
            y = np.mean([d["curves"][curve] for d in draws], axis=0)
            wide = curve in ("AFR", "Miser")
            ax.plot(budgets, y, color=f"C{k}", marker=".", linewidth=2 if wide else 1, label=curve)
        ax.set(title=name, xlabel="budget", xscale="log")
        ax.grid(alpha=0.3)
    grid[0].legend(fontsize=7)
    save_picture(figure, "afr", quick)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--draws", type=int, default=3)
    parser.add_argument("--sets", nargs="+", choices=SETS, default=list(SETS))
    args = parser.parse_args()
    draws, sets = (1, ["pima", "ann_thyroid"]) if args.quick else (args.draws, args.sets)
    xor = synthetic(range(200, 202 if args.quick else 210))
    print(xor.mean(axis=0), xor.min(axis=0), flush=True)
    results: dict[str, list[dict[str, Any]]] = {}
    for name in sets:
        some = draws if args.quick else max(draws, SMALL.get(name, 0))
        results[name] = [race(name, FIRST_SEED + k) for k in range(some)]
        print(line(name, results[name]), flush=True)
    timed = timing(10_000, 136) if args.quick else timing(100_000, 136)
    lines = [line(name, found) for name, found in results.items()]
    differences = ["to Miser", "to start", "slopes", "members"]
    head = ["set", *next(iter(results.values()))[0]["curves"], *differences, "outer"]
    steps = table(
        ["budget", *(f"{b:g}" for b in XOR_BUDGETS)],
        [["mean", *xor.mean(axis=0).tolist()], ["worst", *xor.min(axis=0).tolist()]],
    )
    command = f"python benchmarks/afr.py{' --quick' if args.quick else ''}"
    small = ", ".join(f"{name} {n}" for name, n in SMALL.items())
    text = PAGE.format(
        command=command, draws=draws, small=small, table=table(head, lines), xor=steps, **timed
    )
    write("afr", text, {"curves": results, "synthetic": xor.tolist(), "timing": timed}, args.quick)
    picture(results, args.quick)


if __name__ == "__main__":
    main()
