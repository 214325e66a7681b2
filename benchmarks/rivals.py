"""Greedy Miser, LightGBM and CatBoost behind one door: fit one member of a sweep, and give it round by round.

Every learner gets the same trees (depth 4, at least 20 rows in a leaf, 255 bins), the same step and the same
number of rounds. A *stage* is the scores of some rows after one more round, with what the features used so
far cost by the one ledger of `Costs`, whether the learner knows that cost or not.
"""

from __future__ import annotations

import json
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np

from common import Problem
from miserly import Costs
from miserly.cli.lightgbm_race import features_met
from miserly.learners import GreedyMiserClassifier, GreedyMiserRanker

STEP = 0.1
DEPTH = 4
MIN_ROWS = 20

Stages: TypeAlias = Iterator[tuple[np.ndarray, float]]  # scores (n, K) and the cost of the model, per round


def miser(problem: Problem, X: np.ndarray, rounds: int, **parameters: Any) -> tuple[Stages, Any]:
    """A Greedy Miser; `parameters` are its tradeoff and budget."""
    train = problem.train
    learner = GreedyMiserRanker if problem.ranks else GreedyMiserClassifier
    queries = {"qid": train.qid} if problem.ranks else {}
    model = learner(
        costs=problem.costs,
        step=STEP,
        max_depth=DEPTH,
        min_samples_leaf=MIN_ROWS,
        n_rounds=rounds,
        n_jobs=1,
        **parameters,
    ).fit(train.X, train.y, **queries)
    return _miser_stages(model, X), model


def _miser_stages(model: Any, X: np.ndarray) -> Stages:
    costs, used = model.plan_.costs, np.zeros(X.shape[1], dtype=bool)
    staged = model.staged_predict if isinstance(model, GreedyMiserRanker) else model.staged_decision_function
    first = 0
    for node, scores in zip(model.plan_.nodes, staged(X), strict=True):
        for tree in model.plan_.terms[first : first + len(node.terms)]:
            used[tree.features] = True
        first += len(node.terms)
        yield scores.reshape(len(X), -1), costs.of(used, evaluations=first)


def lightgbm(problem: Problem, X: np.ndarray, rounds: int, tradeoff: float) -> tuple[Stages, Any]:
    """LightGBM with CEGB's penalty on the first use of a feature.

    Its gain is twice the drop of the summed loss, so this penalty is that of the Miser's `tradeoff`.
    """
    import lightgbm as lgb

    train, parameters = problem.train, _LIGHTGBM | _lightgbm_objective(problem)
    if tradeoff > 0:
        parameters["cegb_tradeoff"] = 2 * len(train) * tradeoff
        parameters["cegb_penalty_feature_coupled"] = alone(problem.costs)
    data = lgb.Dataset(train.X, train.y, params=parameters)
    return _lightgbm_stages(lgb.train(parameters, data, rounds), X, problem.costs), None


def fit_lightgbm(
    problem: Problem, rounds: int, tradeoff: float, only: np.ndarray | None = None
) -> Callable[[np.ndarray], Stages]:
    """The same, perhaps on some features only, as what it gives round by round: scores and mean path cost."""
    import lightgbm as lgb

    train, parameters = problem.train, _LIGHTGBM | _lightgbm_objective(problem)
    if tradeoff > 0:
        parameters["cegb_tradeoff"] = 2 * len(train) * tradeoff
        parameters["cegb_penalty_feature_coupled"] = alone(problem.costs)
    columns = np.arange(train.X.shape[1]) if only is None else only
    data = lgb.Dataset(train.X[:, columns], train.y, params=parameters)
    booster = lgb.train(parameters, data, rounds)
    return lambda X: _lightgbm_paths(booster, X[:, columns], columns, X.shape[1], problem.costs)


def _lightgbm_paths(booster: Any, X: np.ndarray, columns: np.ndarray, d: int, costs: Costs) -> Stages:
    trees = []
    for tree in booster.dump_model()["tree_info"]:
        trees.append(np.zeros((tree["num_leaves"], d), dtype=bool))
        trees[-1][:, columns] = features_met(tree, len(columns))
    leaves = booster.predict(X, pred_leaf=True).reshape(len(X), -1)
    each = booster.num_model_per_iteration()
    met, scores = np.zeros((len(X), d), dtype=bool), 0.0
    for t in range(booster.current_iteration()):
        one = booster.predict(X, start_iteration=t, num_iteration=1, raw_score=True)
        scores = scores + one.reshape(len(X), -1)
        for k in range(t * each, (t + 1) * each):
            met |= trees[k][leaves[:, k]]
        yield scores, float(costs.of_each(met).mean())


_LIGHTGBM = {
    "learning_rate": STEP,
    "max_depth": DEPTH,
    "num_leaves": 2**DEPTH,
    "min_data_in_leaf": MIN_ROWS,
    "max_bin": 255,
    "num_threads": 1,
    "verbose": -1,
}


def _lightgbm_objective(problem: Problem) -> dict[str, Any]:
    if problem.ranks:
        return {"objective": "regression"}
    if problem.n_classes == 2:
        return {"objective": "binary"}
    return {"objective": "multiclass", "num_class": problem.n_classes}


def _lightgbm_stages(booster: Any, X: np.ndarray, costs: Costs) -> Stages:
    scores: Any = 0.0
    trees_per_round = booster.num_model_per_iteration()
    for t in range(booster.current_iteration()):
        one = booster.predict(X, start_iteration=t, num_iteration=1, raw_score=True)
        scores = scores + one.reshape(len(X), -1)
        used = booster.feature_importance("split", iteration=t + 1) > 0
        yield scores, costs.of(used, evaluations=(t + 1) * trees_per_round)


def catboost(problem: Problem, X: np.ndarray, rounds: int, tradeoff: float) -> tuple[Stages, Any]:
    """CatBoost with its penalty on the first use of a feature, in units of its own score."""
    return fit_catboost(problem, rounds, tradeoff)(X), None


def fit_catboost(problem: Problem, rounds: int, tradeoff: float) -> Callable[[np.ndarray], Stages]:
    """The same, as what it gives round by round. Its trees ask every row for all their features."""
    from catboost import CatBoostClassifier, CatBoostRegressor

    train = problem.train
    learner = CatBoostRegressor if problem.ranks else CatBoostClassifier
    penalties = {"first_feature_use_penalties": alone(problem.costs), "penalties_coefficient": tradeoff}
    model = learner(
        iterations=rounds,
        learning_rate=STEP,
        depth=DEPTH,
        border_count=254,
        thread_count=1,
        random_seed=0,
        allow_writing_files=False,
        verbose=False,
        **(penalties if tradeoff > 0 else {}),
    ).fit(train.X, train.y)
    return lambda X: _catboost_stages(model, X, problem.costs)


def _catboost_stages(model: Any, X: np.ndarray, costs: Costs) -> Stages:
    used = np.zeros(X.shape[1], dtype=bool)
    staged = model.staged_predict(X, prediction_type="RawFormulaVal", thread_count=1)
    for t, (tree, scores) in enumerate(zip(_catboost_trees(model), staged, strict=True), start=1):
        used[[split["float_feature_index"] for split in tree["splits"] or ()]] = True
        yield np.asarray(scores).reshape(len(X), -1), costs.of(used, evaluations=t)


def _catboost_trees(model: Any) -> list[dict[str, Any]]:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "model.json"
        model.save_model(str(path), format="json")
        trees: list[dict[str, Any]] = json.loads(path.read_text())["oblivious_trees"]
        return trees


def alone(costs: Costs) -> list[float]:
    """What each feature costs bought alone: learners without groups are given this."""
    return [costs.marginal(costs.name(f)) for f in range(len(costs))]


RIVALS: dict[str, Callable[..., tuple[Stages, Any]]] = {
    "Miser": miser,
    "LightGBM": lightgbm,
    "CatBoost": catboost,
}
