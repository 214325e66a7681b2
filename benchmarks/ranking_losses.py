"""Which loss a ranker should spend a budget by: within queries, on the plain grades, or lambdarank.

    MISERLY_DATA=... python benchmarks/ranking_losses.py [--quick]

For each loss, 100 rounds without a budget and with small ones, NDCG@5 on all queries that were not trained
on. Prices and splits are drawn again with every seed; leads are paired, draw by draw.
"""

from __future__ import annotations

import argparse
from typing import Any

import numpy as np

from common import Problem, problem, quality, table, write
from miserly.learners import GreedyMiserRanker

SEEDS = {"mslr_web10k_sample": 20, "mq2008": 10}
SHARES = (None, 0.1, 0.03, 0.01)  # of the price of all features
TRADEOFFS = {"within_queries": 1e-5, "squared": 1e-5, "lambdarank": 1e-4}


def ndcg(given: Problem, loss: str, share: float | None) -> float:
    """NDCG@5 on validation and test queries together, of a model trained on the others."""
    budget = None if share is None else share * given.costs.total
    model = GreedyMiserRanker(
        costs=given.costs, loss=loss, tradeoff=TRADEOFFS[loss], budget=budget, n_rounds=100, n_jobs=1
    ).fit(given.train.X, given.train.y, qid=given.train.qid)
    parts = (given.validation, given.test)
    values = [quality(part, "ndcg@5", model.predict(part.X)[:, None]) for part in parts]
    return float(np.average(values, weights=[len(np.unique(part.qid)) for part in parts]))


def lines(name: str, found: np.ndarray) -> list[list[Any]]:
    """One line per budget: the mean of every loss, and the paired lead of the first over the second."""
    rows = []
    for b, share in enumerate(SHARES):
        lead = found[:, 0, b] - found[:, 1, b]
        error = lead.std(ddof=1) / np.sqrt(len(lead)) if len(lead) > 1 else np.nan
        budget = "none" if share is None else f"{100 * share:g} % of all"
        rows.append(
            [name, budget, *map(float, found[:, :, b].mean(axis=0)), f"{lead.mean():+.4f} ± {error:.4f}"]
        )
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--quick", action="store_true")
    quick = parser.parse_args().quick
    rows, figures = [], {}
    for name, draws in SEEDS.items():
        problems = [problem(name, seed) for seed in range(2 if quick else draws)]
        found = np.array([[[ndcg(one, loss, b) for b in SHARES] for loss in TRADEOFFS] for one in problems])
        rows += lines(name, found)
        figures[name] = found.round(6).tolist()
    head = ["set", "budget", *TRADEOFFS, "within queries less squared"]
    command = "python benchmarks/ranking_losses.py" + (" --quick" if quick else "")
    page = ["# Losses for ranking", __doc__.split("\n\n", 2)[2].strip(), f"`{command}`", table(head, rows)]
    write("ranking_losses", "\n\n".join(page) + "\n", figures, quick)


if __name__ == "__main__":
    main()
