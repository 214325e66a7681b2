"""Sample weights of metrics: the check that all of them pass, and the weighted mean."""

from __future__ import annotations

from typing import TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from miserly.errors import MetricError

__all__ = ["read_weight", "weighted_mean"]

Floats: TypeAlias = NDArray[np.float64]


def read_weight(sample_weight: ArrayLike | None, n_rows: int) -> Floats:
    """Return one weight per row, checked; 1 each for None."""
    if sample_weight is None:
        return np.ones(n_rows)
    weight = np.asarray(sample_weight, dtype=np.float64)
    if weight.shape != (n_rows,):
        raise MetricError(f"weights of shape {weight.shape} for {n_rows} rows")
    if not np.isfinite(weight).all() or (weight < 0).any() or not weight.any():
        raise MetricError("weights must be finite, not negative, and not all zero")
    return weight


def weighted_mean(values: Floats, weight: Floats) -> float:
    """Return the weighted mean, or NaN if the weights sum to zero."""
    return float(np.average(values, weights=weight)) if weight.any() else float("nan")
