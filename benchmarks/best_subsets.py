"""How much room a budget leaves: the Miser against boosting on *every* subset of the features of `magic`.

    MISERLY_DATA=... python benchmarks/best_subsets.py [--quick]

`magic` has ten features, so all 1,023 subsets can be tried: one boosted model each (the same trees, step and
rounds as in quality_at_budget.py), of all of which the best on validation data is taken at each budget. The
Miser has its sweep, LightGBM and CatBoost theirs.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from itertools import combinations

import numpy as np
from joblib import Parallel, delayed

from common import Problem, problem, quality, table, write
from miserly import GreedyMiserClassifier
from quality_at_budget import (
    FULL,
    N_BUDGETS,
    QUICK,
    SLACK,
    Candidate,
    Effort,
    all_candidates,
    choose,
    constant,
)
from rivals import DEPTH, MIN_ROWS, STEP

SEEDS = (10, 11, 12)


def every_subset(given: Problem, rounds: int) -> Iterator[Candidate]:
    """The best round of a model for each subset, after the answer that costs nothing."""
    yield constant(given)
    n_features = given.train.X.shape[1]
    for size in range(1, n_features + 1):
        for subset in combinations(range(n_features), size):
            yield one_subset(given, np.array(subset), rounds)


def one_subset(given: Problem, subset: np.ndarray, rounds: int) -> Candidate:
    parts = (given.train, given.validation, given.test)
    train, validation, test = (part.X[:, subset] for part in parts)
    model = GreedyMiserClassifier(
        step=STEP, max_depth=DEPTH, min_samples_leaf=MIN_ROWS, n_rounds=rounds, n_jobs=1
    ).fit(train, given.train.y)
    staged = [model.staged_decision_function(X) for X in (validation, test)]
    best = max(
        (
            quality(given.validation, given.metric, on_validation[:, None]),
            -t,
            quality(given.test, given.metric, on_test[:, None]),
        )
        for t, (on_validation, on_test) in enumerate(zip(*staged, strict=True))
    )
    used = np.isin(np.arange(given.train.X.shape[1]), subset)
    return Candidate(given.costs.of(used), best[0], best[2])


def race(seed: int, effort: Effort) -> dict[str, float]:
    """The mean over budgets of every candidate learner, on one draw."""
    given = problem("magic", seed)
    prices = given.costs.feature
    budgets = np.geomspace(prices[prices > 0].min(), given.costs.total, N_BUDGETS)
    found = {
        who: list(all_candidates(who, given, budgets, effort)) for who in ("Miser", "LightGBM", "CatBoost")
    }
    found["every subset"] = list(every_subset(given, effort.rounds))
    means = {who: np.mean([choose(some, b).test for b in budgets]) for who, some in found.items()}
    subsets = found["every subset"]
    by_hindsight = [max(one.test for one in subsets if one.cost <= b * SLACK) for b in budgets]
    means["every subset, chosen on test data"] = np.mean(by_hindsight)
    return {who: round(float(value), 6) for who, value in means.items()}


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--jobs", type=int, default=2)
    args = parser.parse_args()
    effort, seeds = (QUICK, SEEDS[:1]) if args.quick else (FULL, SEEDS)
    results = Parallel(args.jobs)(delayed(race)(seed, effort) for seed in seeds)
    head = ["seed", *results[0]]
    rows = [[seed, *one.values()] for seed, one in zip(seeds, results, strict=True)]
    rows.append(["mean", *(float(np.mean([one[who] for one in results])) for who in results[0])])
    command = "python benchmarks/best_subsets.py" + (" --quick" if args.quick else "")
    page = ["# Every subset", __doc__.split("\n\n", 2)[2].strip(), f"`{command}`", table(head, rows)]
    write(
        "best_subsets", "\n\n".join(page) + "\n", dict(zip(map(str, seeds), results, strict=True)), args.quick
    )


if __name__ == "__main__":
    main()
