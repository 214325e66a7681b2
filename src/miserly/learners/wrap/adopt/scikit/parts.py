"""What the readers of scikit-learn's models share."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Any

import numpy as np

from miserly.errors import DataError
from miserly.learners.wrap.adopt.folding.transformers import kinds_of
from miserly.learners.wrap.adopt.model import Origin

__all__ = ["Rounds", "common_parts", "is_sklearn", "kinds_of", "one_target", "refuse_rounds", "rounds_of"]

Rounds = tuple[int, int | None] | None


def is_sklearn(model: Any, *kinds: str) -> bool:
    """Whether a model is an instance of one of these scikit-learn classes. scikit-learn is not imported."""
    return not {*kinds}.isdisjoint(kinds_of(model))


def common_parts(model: Any, fitted: str) -> dict[str, Any]:
    """The fields of every adopted model: columns, names, classes and origin. A fit sets `fitted`."""
    if not hasattr(model, fitted):
        raise DataError(f"this {type(model).__name__} is not fitted yet")
    names = getattr(model, "feature_names_in_", None)
    classes = getattr(model, "classes_", None)
    if isinstance(classes, list):
        raise DataError("the model has several targets; fit one model for each")
    library = sys.modules.get("sklearn")
    return {
        "n_features": int(model.n_features_in_),
        "feature_names": None if names is None else [str(name) for name in names],
        "classes": None if classes is None else np.asarray(classes),
        "origin": Origin("scikit-learn", getattr(library, "__version__", ""), type(model).__name__),
    }


def one_target(model: Any, n_targets: int) -> None:
    """Raise `DataError` if a model predicts several numbers."""
    if n_targets != 1:
        raise DataError(f"this {type(model).__name__} has {n_targets} targets; fit one model for each")


def rounds_of(rounds: Rounds, available: Sequence[Any]) -> Sequence[Any]:
    """The rounds of boosting to use."""
    first, stop = (0, None) if rounds is None else rounds
    found = available[first:stop]
    if not len(found) or (stop is not None and stop > len(available)):
        raise DataError(f"iterations {rounds} are not among the {len(available)} rounds of the model")
    return found


def refuse_rounds(model: Any, rounds: Rounds) -> None:
    """Raise `DataError` if rounds are given for a model that is not boosted."""
    if rounds is not None:
        raise DataError(f"iterations are for boosted models; {type(model).__name__} is not boosted")
