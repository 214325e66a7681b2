"""With tradeoff 0 the grower is a plain gradient booster, and predicts what LightGBM predicts.

That must hold where both see the same bins (columns of small whole numbers, one bin per value), have the same
limits, and neither samples. LightGBM keeps gradients in float32, hence the tolerance, and guesses the number
of rows from their hessians where these differ, so leaves are bounded by hessian and not by number.
"""

from __future__ import annotations

import numpy as np
import pytest

from miserly.costs import Costs, Ledger
from miserly.grow import Bins, Grower, GrowOptions

lightgbm = pytest.importorskip("lightgbm")

ROUNDS, STEP, DEPTH, MIN_HESSIAN = 50, 0.1, 4, 10.0


def whole_numbers(seed=0, n=3_000, d=8):
    rng = np.random.default_rng(seed)
    X = np.round(rng.normal(size=(n, d)) * 15)
    score = X[:, 0] / 15 + np.abs(X[:, 1]) / 15 + (X[:, 2] > 0) * X[:, 3] / 15
    return X, score + 0.5 * rng.normal(size=n), rng


def lightgbm_scores(X, y, objective, weight, missing):
    params = {
        "objective": objective,
        "learning_rate": STEP,
        "max_depth": DEPTH,
        "num_leaves": 2**DEPTH,
        "min_data_in_leaf": 0,
        "min_sum_hessian_in_leaf": MIN_HESSIAN,
        "max_bin": 1000,
        "min_data_in_bin": 1,
        "enable_bundle": False,
        "feature_pre_filter": False,
        "boost_from_average": False,
        "use_missing": missing,
        "deterministic": True,
        "force_col_wise": True,
        "num_threads": 1,
        "verbose": -1,
    }
    data = lightgbm.Dataset(X, y, weight=weight, params=params)
    return lightgbm.train(params, data, ROUNDS).predict(X, raw_score=True)


def our_scores(X, y, objective, weight):
    costs = Costs.uniform(X.shape[1])
    options = GrowOptions(max_depth=DEPTH, min_samples_leaf=1, min_hessian=MIN_HESSIAN)
    grower = Grower(Bins.fit(X).transform(X), costs, options)
    ledger = Ledger(costs)
    score = np.zeros(len(y))
    w = np.ones(len(y)) if weight is None else weight
    for _ in range(ROUNDS):
        if objective == "regression":
            grown = grower.fit_tree(y - score, weight, ledger=ledger)
        else:
            p = 1 / (1 + np.exp(-score))
            grown = grower.fit_newton(w * (p - y), w * p * (1 - p), ledger=ledger, total_weight=w.sum())
        score += STEP * grown.tree.value[grown.leaf]
    return score


@pytest.mark.parametrize("objective", ["regression", "binary"])
@pytest.mark.parametrize("weighted", [False, True], ids=["plain", "weighted"])
@pytest.mark.parametrize("missing", [False, True], ids=["complete", "missing"])
def test_predictions_equal_lightgbm(objective, weighted, missing):
    X, y, rng = whole_numbers()
    if objective == "binary":
        y = (y > np.median(y)).astype(float)
    if missing:
        X[rng.random(X.shape) < 0.1] = np.nan
    weight = rng.uniform(0.5, 2.0, len(y)) if weighted else None
    if weighted:
        weight /= weight.mean()
    theirs = lightgbm_scores(X, y, objective, weight, missing)
    ours = our_scores(X, y, objective, weight)
    np.testing.assert_allclose(ours, theirs, rtol=0, atol=1e-6)
