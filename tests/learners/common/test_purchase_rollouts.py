"""Purchase trees by rollouts."""

import numpy as np
import pytest

from miserly import PurchaseTreeClassifier
from miserly.costs import Costs, Ledger
from miserly.grow import Bins
from miserly.grow.class_cuts import ClassRows
from miserly.learners.common.purchase_rollouts import RolloutLimits, grow_by_rollouts


def selectors(n: int = 4000, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Two bits say which of four others is the label; each helps only once both are known."""
    X = np.random.default_rng(seed).integers(2, size=(n, 10)).astype(float)
    chosen = (2 * X[:, 0] + X[:, 1]).astype(int)
    return X, X[np.arange(n), 2 + chosen].astype(int)


def rows_of(X: np.ndarray, y: np.ndarray, weight: np.ndarray | None = None) -> ClassRows:
    return ClassRows.of(Bins.fit(X).transform(X), y, weight, int(y.max()) + 1)


def test_rollouts_look_ahead_over_several_purchases():
    X, y = selectors()
    root = grow_by_rollouts(rows_of(X, y), Ledger(Costs(np.ones(10)), 3), RolloutLimits(32, 20, 0.0, 0))
    assert sorted(set(root.leaves[0].bought) & {0, 1}) == [0, 1]
    assert len(root.leaves) == 4
    model = PurchaseTreeClassifier(budget=3, random_state=0).fit(X, y)
    assert model.score(*selectors(seed=1)) == 1.0


@pytest.mark.parametrize("kind", [0, 1])
@pytest.mark.parametrize("budget", [0.5, 2.0, 4.0, 7.0, 30.0])
@pytest.mark.parametrize("evaluation", [0.0, 0.3])
def test_no_path_costs_more_than_the_budget(kind, budget, evaluation):
    rng = np.random.default_rng(3)
    X = rng.normal(size=(900, 7))
    y = (X[:, 0] + X[:, 1] * (X[:, 2] > 0) + rng.normal(size=900) > 0).astype(int) + (X[:, 3] > 1)
    costs = Costs(
        rng.integers(4, size=7).astype(float),
        groups={"lab": {"features": [0, 2, 4], "setup": 1.0}},
        evaluation=evaluation,
    )
    root = grow_by_rollouts(rows_of(X, y), Ledger(costs, budget), RolloutLimits(16, 20, 0.5, kind))
    assert len(root.leaves) <= 16
    for leaf, depth in zip(root.leaves, root.depths, strict=True):
        assert costs.of(costs.mask(list(leaf.bought)), evaluations=depth) <= budget + 1e-9
    assert sum(len(leaf.rows) for leaf in root.leaves) == 900


def test_the_whole_budget_is_spent_where_features_tell_something():
    X, y = selectors(300)
    y = np.where(np.random.default_rng(1).random(300) < 0.3, 1 - y, y)
    root = grow_by_rollouts(rows_of(X, y), Ledger(Costs(np.ones(10)), 6), RolloutLimits(32, 100, 0.0, 0))
    assert {len(leaf.bought) for leaf in root.leaves} == {6}  # nodes of less than 200 rows buy on undivided


def test_trees_do_not_depend_on_threads_nor_on_the_unit_of_prices_or_weights():
    rng = np.random.default_rng(5)
    X = rng.normal(size=(2000, 12)).round(1)
    y = (X[:, 0] * X[:, 1] + X[:, 2] > 0).astype(int)
    prices, weight = rng.integers(1, 5, size=12).astype(float), rng.random(2000) + 0.5
    trees = []
    for scale, heavier, threads in ((1.0, 1.0, 1), (10.0, 1.0, 2), (1.0, 3.0, 1)):
        data, ledger = rows_of(X, y, heavier * weight), Ledger(Costs(scale * prices), scale * 8)
        root = grow_by_rollouts(data, ledger, RolloutLimits(16, 20, 0.5, 1), threads)
        trees.append([(leaf.bought, leaf.rows.tolist()) for leaf in root.leaves])
    assert trees[0] == trees[1] == trees[2]


def test_one_leaf_is_one_order_for_all_rows():
    X, y = selectors(1000)
    root = grow_by_rollouts(rows_of(X, y), Ledger(Costs(np.ones(10)), 3), RolloutLimits(1, 20, 0.0, 0))
    assert root.split is None and len(root.bought) == 3 and len(root.rows) == 1000
