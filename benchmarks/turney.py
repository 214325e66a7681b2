"""Turney's setting (1995): the price of tests plus the price of mistakes, on four medical data sets.

    MISERLY_DATA=... python benchmarks/turney.py [--quick] [--sets pima bupa_liver] [--trials 10] [--jobs 1]

For every random split into two thirds and one third, every method learns from the larger part. A row of the
other part pays for its tests, with group discounts, and `penalty` if its answer is wrong. Figures are mean
costs of a row as a percentage of the standard cost: all tests, and the mistakes of the best constant answer.

- C4.5, EG2, CS-ID3, IDX: `cost_trees`, one tree each; they do not know the penalty;
- ICET-like: `icet`, a genetic search over the biases of EG2 for every penalty;
- frontier: `frontier` once per split, over four fast learners; for every penalty the model whose held-out
  rows cost least, tests and mistakes, is fitted to all training rows;
- constant: the most frequent class of the training rows, no test;
- total cost: `frontier(..., outcome_costs=...)` for some penalties, then `best(objective="total")`, all of it
  by the library alone; it does not know of delays.

Every method is evaluated twice: with delayed results, as in Turney's main experiment, and with all results
at once.
"""

from __future__ import annotations

import argparse
import json
import time
import warnings
from collections.abc import Callable, Iterator
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
from joblib import Parallel, delayed

from cost_trees import RULES, CostTree, PriceList, grow_tree, sorted_order
from delays import ordered_tests
from icet import GENERATIONS, BiasSearch
from miserly import Plan, frontier
from miserly.learners import BudgetedTreeClassifier, CostLassoClassifier, EarlyExit, GreedyMiserClassifier
from miserly.selection.cross_choice import steady_gains
from miserly.selection.evaluation import Candidate
from miserly.selection.hyperparameters import viewed_plan
from miserly.selection.requests import Request
from miserly.selection.results import Frontier
from turney_page import TOTAL, report
from turney_setting import PENALTIES, SETS, TOTAL_PENALTIES, Clinic, Outcome, each_bill

FIRST_SEED = 1000  # seeds below were looked at while this was being made
TRIALS = 10
TOTAL_TRIALS = 3
MAX_FITS = 24


def learners() -> list[Any]:
    """Those of "auto" that fit fastest."""
    miser = GreedyMiserClassifier()
    return [CostLassoClassifier(), miser, EarlyExit(miser), BudgetedTreeClassifier()]


# -- baselines ---------------------------------------------------------------------------------------------


def run_trees(clinic: Clinic, seed: int, quick: bool) -> Iterator[Outcome]:
    """The constant answer, and one tree by each rule."""
    train, test = clinic.split(seed)
    columns = np.ascontiguousarray(clinic.X[train].T)
    order = sorted_order(columns)
    label = np.bincount(clinic.y[train]).argmax()
    none = np.array([-1])
    trees = {"constant": CostTree(none, np.zeros(1), none, none, np.array([label]))}
    for rule in RULES:
        price = clinic.prices.alone
        trees[rule] = grow_tree(columns, clinic.y[train], order, clinic.n_classes, price, rule)
    for method, tree in trees.items():
        for delays, prices in each_bill(clinic.prices):
            tests, error = tree_bill(tree, clinic, test, prices)
            for penalty in PENALTIES:
                yield Outcome(clinic.name, seed, method, delays, penalty, tests, error)


def run_icet(clinic: Clinic, seed: int, quick: bool) -> Iterator[Outcome]:
    """A genetic search for every penalty, with delays and without."""
    train, test = clinic.split(seed)
    columns = np.ascontiguousarray(clinic.X[train].T)
    for delays, prices in each_bill(clinic.prices):
        for k, penalty in enumerate(PENALTIES):
            search = BiasSearch(columns, clinic.y[train], clinic.n_classes, prices, penalty)
            rng = np.random.default_rng([seed, k, delays])
            tree = search.run(rng, 3 if quick else GENERATIONS)
            tests, error = tree_bill(tree, clinic, test, prices)
            yield Outcome(clinic.name, seed, "ICET-like", delays, penalty, tests, error)


def tree_bill(tree: CostTree, clinic: Clinic, rows: Any, prices: PriceList) -> tuple[float, float]:
    """The mean price of the tests of a row, and the share of wrong answers."""
    answer, bought = tree.run(np.ascontiguousarray(clinic.X[rows].T), prices.delayed)
    return float(prices.of(bought).mean()), float(np.mean(answer != clinic.y[rows]))


# -- the frontier ------------------------------------------------------------------------------------------


def run_frontier(clinic: Clinic, seed: int, quick: bool) -> Iterator[Outcome]:
    """One search; for every penalty the model that costs least on held-out rows, tests and mistakes."""
    train, test = clinic.split(seed)
    found = frontier(
        learners(),
        clinic.X[train],
        clinic.y[train],
        costs=clinic.costs,
        max_fits=10 if quick else MAX_FITS,
        certify=0,
        random_state=seed,
    )
    candidates = found.candidates
    errors = 1.0 - steady_gains(candidates, found.sign)  # smoothed, as `best` does
    for delays, prices in each_bill(clinic.prices):
        tests = np.array([held_out_bill(found, one, prices) for one in candidates])
        for penalty in PENALTIES:
            chosen = candidates[int(np.argmin(tests + penalty * errors))]
            model = found.chooser.refitter.fit(chosen, found.rows, Request.read(None, None))
            paid, error = plan_bill(model.plan_, clinic, test, prices)
            note = f"{chosen.learner} {chosen.params}"
            yield Outcome(clinic.name, seed, "frontier", delays, penalty, paid, error, note)


def run_total(clinic: Clinic, seed: int, quick: bool) -> Iterator[Outcome]:
    """For some penalties, a search by tests and mistakes together, and the choice of the library."""
    train, test = clinic.split(seed)
    for penalty in TOTAL_PENALTIES:
        found = frontier(
            learners(),
            clinic.X[train],
            clinic.y[train],
            costs=clinic.costs,
            outcome_costs=penalty * (1.0 - np.eye(clinic.n_classes)),
            max_fits=10 if quick else MAX_FITS,
            certify=0,
            random_state=seed,
        )
        model = found.best(objective="total")
        for delays, prices in each_bill(clinic.prices):
            paid, error = plan_bill(model.plan_, clinic, test, prices)
            yield Outcome(clinic.name, seed, TOTAL, delays, penalty, paid, error, type(model).__name__)


def held_out_bill(found: Frontier, one: Candidate, prices: PriceList) -> float:
    """The mean price of the tests of a held-out row."""
    if not prices.delayed.any():
        return one.mean_cost
    paid = [
        prices.of(ordered_tests(viewed_plan(plan, one.view), rows.X, prices.delayed))
        for plan, rows in zip(one.trial.plans, found.result.evaluator.held_out, strict=True)
    ]
    return float(np.concatenate(paid).mean())


def plan_bill(plan: Plan, clinic: Clinic, rows: Any, prices: PriceList) -> tuple[float, float]:
    """The mean price of the tests of a row, and the share of wrong answers."""
    X = clinic.X[rows]
    paid = prices.of(ordered_tests(plan, X, prices.delayed))
    return float(paid.mean()), float(np.mean(plan.predict(X) != clinic.y[rows]))


# -- running -----------------------------------------------------------------------------------------------

PARTS: dict[str, Callable[[Clinic, int, bool], Iterator[Outcome]]] = {
    "trees": run_trees,
    "icet": run_icet,
    "frontier": run_frontier,
    "total": run_total,
}


def run_part(part: str, name: str, seed: int, quick: bool) -> dict[str, Any]:
    """One part of one trial, as JSON can hold it."""
    start = time.process_time()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        outcomes = [asdict(one) for one in PARTS[part](Clinic.read(name), seed, quick)]
    seconds = time.process_time() - start
    return {"part": part, "set": name, "seed": seed, "seconds": seconds, "outcomes": outcomes}


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--sets", nargs="+", default=list(SETS), choices=SETS)
    parser.add_argument("--parts", nargs="+", default=list(PARTS), choices=list(PARTS))
    parser.add_argument("--trials", type=int, default=TRIALS)
    parser.add_argument("--first-seed", type=int, default=FIRST_SEED)
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument(
        "--keep", type=Path, help="file of finished parts; an interrupted run resumes from it"
    )
    args = parser.parse_args()
    sets, trials = (["bupa_liver"], 2) if args.quick else (args.sets, args.trials)
    most = {"total": min(trials, TOTAL_TRIALS)}
    wanted = [
        (p, s, args.first_seed + t) for p in args.parts for t in range(most.get(p, trials)) for s in sets
    ]
    done = read_kept(args.keep)
    todo = [job for job in wanted if job not in done]
    runs = Parallel(args.jobs, return_as="generator_unordered")(
        delayed(run_part)(*j, args.quick) for j in todo
    )
    for one in runs:
        print(f"{one['part']} {one['set']} {one['seed']}: {one['seconds']:.0f} s", flush=True)
        done[one["part"], one["set"], one["seed"]] = one
        if args.keep is not None:
            with args.keep.open("a", encoding="utf-8") as file:
                file.write(json.dumps(one) + "\n")
    outcomes = [Outcome(**record) for job in wanted for record in done[job]["outcomes"]]
    seconds = {part: [done[job]["seconds"] for job in wanted if job[0] == part] for part in args.parts}
    names = ", ".join(type(one).__name__ for one in learners())
    settings = f"The frontier: {names}; `max_fits={MAX_FITS}`."
    report(outcomes, seconds, settings, __doc__.split("\n\n", 2)[2].strip(), args.quick)


def read_kept(path: Path | None) -> dict[tuple[str, str, int], dict[str, Any]]:
    """The parts that a file has."""
    if path is None or not path.exists():
        return {}
    found = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    return {(one["part"], one["set"], one["seed"]): one for one in found}


if __name__ == "__main__":
    main()
