"""LightGBM with its own penalties on features (CEGB), with costs counted as for other models.

A row pays once for each feature that it meets in the trees so far, and for the set-ups of their groups.
LightGBM's penalties do not know groups: each feature is penalised by its cost with the set-up of its group.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from miserly.costs import Costs
from miserly.data.rows import Rows

__all__ = ["PENALTIES", "ROUNDS", "BoostedStage", "features_met", "fit_lightgbm", "stages"]

Floats = NDArray[np.float64]

ROUNDS = (1, 2, 3, 5, 8, 12, 18, 27, 40, 60, 100)  # numbers of rounds at which a model is evaluated
PENALTIES = (0.0, *np.geomspace(1e-7, 1e-1, 11).tolist())  # from none to one that allows no feature
_SETTINGS = {"learning_rate": 0.1, "max_depth": 4, "num_leaves": 16, "max_bin": 255, "num_threads": 1,
             "verbose": -1, "deterministic": True}  # fmt: skip


@dataclass(frozen=True, eq=False)
class BoostedStage:
    """A model after some rounds: raw scores (n, K), and the cost of each row."""

    rounds: int
    scores: Floats
    cost: Floats


def fit_lightgbm(
    rows: Rows, costs: Costs, n_classes: int, penalty: float, categorical: list[int], seed: int
) -> Any:
    """Boosted trees. The gain of a split on a new feature must exceed a penalty.

    LightGBM's gain is twice the decrease of the summed loss, so `penalty` has the meaning of `tradeoff`.
    """
    import lightgbm as lgb

    rows = rows if rows.qid is None else rows.take(np.argsort(rows.qid, kind="stable"))
    settings = {**_SETTINGS, **_objective(rows, n_classes), "seed": seed}
    if penalty > 0:
        settings["cegb_tradeoff"] = 2 * len(rows.y) * penalty
        settings["cegb_penalty_feature_coupled"] = [costs.marginal(costs.name(f)) for f in range(len(costs))]
    sizes = None if rows.qid is None else np.unique(rows.qid, return_counts=True)[1]
    data = lgb.Dataset(rows.X, rows.y, group=sizes, params=settings, categorical_feature=categorical)
    return lgb.train(settings, data, ROUNDS[-1])


def _objective(rows: Rows, n_classes: int) -> dict[str, Any]:
    if n_classes == 2:
        return {"objective": "binary"}
    if n_classes > 2:
        return {"objective": "multiclass", "num_class": n_classes}
    grades = (
        rows.qid is not None and (rows.y == np.rint(rows.y)).all() and 0 <= rows.y.min() <= rows.y.max() < 31
    )
    return {"objective": "lambdarank" if grades else "regression"}


def stages(booster: Any, X: Floats, costs: Costs) -> Iterator[BoostedStage]:
    """The model after each number of rounds in `ROUNDS`."""
    trees = [features_met(tree, X.shape[1]) for tree in booster.dump_model()["tree_info"]]
    leaves = booster.predict(X, pred_leaf=True).reshape(len(X), -1)
    each, last = booster.num_model_per_iteration(), booster.current_iteration()
    met = np.zeros(X.shape, dtype=np.bool_)
    done = 0
    for rounds in (r for r in ROUNDS if r <= last):
        for k in range(done * each, rounds * each):
            met |= trees[k][leaves[:, k]]
        done = rounds
        scores = booster.predict(X, num_iteration=rounds, raw_score=True).reshape(len(X), -1)
        yield BoostedStage(rounds, scores, costs.of_each(met) + costs.evaluation * rounds * each)


def features_met(tree: dict[str, Any], n_features: int) -> NDArray[np.bool_]:
    """The features on the path to each leaf: (leaves, n_features)."""
    found = np.zeros((tree["num_leaves"], n_features), dtype=np.bool_)
    waiting: list[tuple[dict[str, Any], tuple[int, ...]]] = [(tree["tree_structure"], ())]
    while waiting:
        node, seen = waiting.pop()
        if "split_feature" in node:
            seen = (*seen, int(node["split_feature"]))
            waiting += [(node["left_child"], seen), (node["right_child"], seen)]
        else:
            found[node.get("leaf_index", 0), list(seen)] = True
    return found
