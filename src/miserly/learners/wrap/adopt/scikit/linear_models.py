"""Linear models of scikit-learn: one step of the chain for each column."""

from __future__ import annotations

from typing import Any

import numpy as np

from miserly.errors import DataError
from miserly.learners.wrap.adopt.model import Addend, AdoptedModel
from miserly.learners.wrap.adopt.scikit.parts import (
    Rounds,
    common_parts,
    is_sklearn,
    one_target,
    refuse_rounds,
)
from miserly.plan.terms import Raw

__all__ = ["read_linear"]

_EXPONENTIAL = ("PoissonRegressor", "GammaRegressor")


def read_linear(model: Any, rounds: Rounds = None) -> AdoptedModel:
    """Read a fitted model with `coef_` and `intercept_`, a classifier or a regressor."""
    refuse_rounds(model, rounds)
    parts = common_parts(model, "coef_")
    coef = model.coef_
    coef = np.asarray(coef.toarray() if hasattr(coef, "toarray") else coef, dtype=np.float64)
    coef = coef.reshape(-1, parts["n_features"])
    base = np.broadcast_to(np.asarray(model.intercept_, dtype=np.float64).ravel(), (len(coef),))
    used = np.flatnonzero((coef != 0.0).any(axis=0)).tolist()
    terms = [Raw(j) for j in used]
    steps = [
        [Addend(i, c, float(coef[c, j])) for c in range(len(coef)) if coef[c, j] != 0.0]
        for i, j in enumerate(used)
    ]
    if parts["classes"] is None:
        one_target(model, len(coef))
        return AdoptedModel("numbers", terms, steps, base, link=_number_link(model), **parts)
    if len(parts["classes"]) != max(2, len(coef)):
        raise DataError(f"this {type(model).__name__} has several labels for a row; fit one model for each")
    return AdoptedModel("classes", terms, steps, base, link=_class_link(model, len(coef)), **parts)


def _number_link(model: Any) -> str:
    if is_sklearn(model, "TweedieRegressor"):
        by_power = "identity" if model.power <= 0 else "log"
        return "exp" if (by_power if model.link == "auto" else model.link) == "log" else "identity"
    return "exp" if is_sklearn(model, *_EXPONENTIAL) else "identity"


def _class_link(model: Any, n_scores: int) -> str:
    if is_sklearn(model, "LogisticRegression", "LinearDiscriminantAnalysis"):
        return "logistic" if n_scores == 1 else "softmax"
    if is_sklearn(model, "SGDClassifier") and model.loss == "log_loss":
        return "logistic" if n_scores == 1 else "one_vs_rest_shares"
    return "sign" if n_scores == 1 else "largest"
