"""Arguments for the `fit` of a wrapped estimator."""

from __future__ import annotations

from typing import Any

from sklearn.utils.validation import has_fit_parameter

from miserly.errors import DataError

__all__ = ["fit_arguments"]


def fit_arguments(estimator: Any, sample_weight: Any, qid: Any = None) -> dict[str, Any]:
    """Weights and queries as keyword arguments; queries only if the estimator takes them."""
    given: dict[str, Any] = {}
    if sample_weight is not None:
        if not has_fit_parameter(estimator, "sample_weight"):
            raise DataError(f"sample_weight is given, but {type(estimator).__name__}.fit does not take it")
        given["sample_weight"] = sample_weight
    if qid is not None and has_fit_parameter(estimator, "qid"):
        given["qid"] = qid
    return given
