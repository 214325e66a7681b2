"""Pipelines, whose preprocessing is folded into the model, and hyperparameter searches."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from miserly.errors import DataError
from miserly.learners.wrap.adopt.folding.folding import fold
from miserly.learners.wrap.adopt.folding.transformers import columns_after, input_columns
from miserly.learners.wrap.adopt.model import AdoptedModel
from miserly.learners.wrap.adopt.registry import read_model
from miserly.learners.wrap.adopt.scikit.parts import Rounds

__all__ = ["read_pipeline", "read_search"]


def read_search(search: Any, rounds: Rounds = None) -> AdoptedModel:
    """Read the best model of a hyperparameter search."""
    if not hasattr(search, "best_estimator_"):
        raise DataError(f"this {type(search).__name__} is not fitted yet, or has refit=False")
    return read_model(search.best_estimator_, rounds)


def read_pipeline(pipeline: Any, rounds: Rounds = None) -> AdoptedModel:
    """Read a fitted pipeline whose last step is a model that `adopt` reads."""
    *steps, (_, last) = pipeline.steps
    if last is None or isinstance(last, str):
        raise DataError("the last step of the pipeline must be a model")
    model = read_model(last, rounds)
    first = next((step for _, step in steps if not (step is None or step == "passthrough")), None)
    if first is None:
        return model
    n_features = getattr(first, "n_features_in_", None)
    if n_features is None:
        raise DataError(f"the pipeline is not fitted, or {type(first).__name__} has no n_features_in_")
    columns = input_columns(int(n_features))
    for name, step in steps:
        columns = columns_after(step, columns, name)
    names = getattr(first, "feature_names_in_", None)
    folded = fold(model, columns, int(n_features), None if names is None else [str(name) for name in names])
    return replace(folded, origin=replace(folded.origin, objective=f"Pipeline of {type(last).__name__}"))
