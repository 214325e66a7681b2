"""How much of a budget to keep for evaluating trees: test metric under hard budgets, by the share kept.

MISERLY_DATA=... python benchmarks/reserve.py
"""

from __future__ import annotations

import numpy as np

from miserly.costs import Costs
from miserly.datasets import load, tiered_costs
from miserly.learners import GreedyMiserClassifier, GreedyMiserRanker
from miserly.learners.common import booster as _boosting

SHARES = (0.0, 0.2, 1 / 3, 0.5)
FRACTIONS = (0.02, 0.05, 0.1, 0.2, 0.4, 0.7)  # of the price of all features


def score(name: str, seed: int, fraction: float) -> float:
    """The test metric of one model that costs at most `fraction` of all features and 20 trees."""
    data = load(name)
    prices = tiered_costs(data.X.shape[1], random_state=seed)
    costs = Costs(prices.feature, evaluation=1.0)
    train, test = data.train_test(random_state=seed)
    options = {"costs": costs, "budget": fraction * costs.total + 20, "n_rounds": 60, "random_state": 0}
    if data.qid is not None:
        ranker = GreedyMiserRanker(loss="squared", **options).fit(train.X, train.y, qid=train.qid)
        return ranker.score(test.X, test.y, qid=test.qid)
    return GreedyMiserClassifier(**options).fit(train.X[::3], train.y[::3]).score(test.X, test.y)


def main() -> None:
    print("| set | " + " | ".join(f"{share:.0%} kept" for share in SHARES) + " |")
    print("| --- |" + " --- |" * len(SHARES))
    for name in ("magic", "mq2008", "letter"):
        means = []
        for share in SHARES:
            _boosting.RESERVE = share
            means.append(np.mean([score(name, seed, f) for seed in (0, 1) for f in FRACTIONS]))
        print(f"| {name} | " + " | ".join(f"{mean:.4f}" for mean in means) + " |", flush=True)


if __name__ == "__main__":
    main()
