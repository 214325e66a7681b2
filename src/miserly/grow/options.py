"""Limits of trees."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from miserly.errors import DataError

__all__ = ["MAX_DEPTH", "GrowOptions"]

MAX_DEPTH = 16


@dataclass(frozen=True)
class GrowOptions:
    """Limits of every tree that a `Grower` grows.

    Parameters
    ----------
    max_depth : int, default=4
        Largest number of splits between the root and a leaf, 0 to 16.
    max_leaves : int, optional
        Largest number of leaves. By default only `max_depth` limits it.
    min_samples_leaf : int, default=20
        Smallest number of rows of positive weight in a leaf.
    min_hessian : float, default=1e-3
        Smallest sum of hessians in a leaf. For `fit_tree` the hessians are weights divided by their mean.
    l2 : float, default=0
        Added to the hessian of every leaf. It shrinks the values of leaves with few rows.

    Raises
    ------
    DataError
        If a value is out of range.
    """

    max_depth: int = 4
    max_leaves: int | None = None
    min_samples_leaf: int = 20
    min_hessian: float = 1e-3
    l2: float = 0.0

    def __post_init__(self) -> None:
        if not 0 <= self.max_depth <= MAX_DEPTH:
            raise DataError(f"max_depth must be from 0 to {MAX_DEPTH}, not {self.max_depth}")
        if self.max_leaves is not None and self.max_leaves < 1:
            raise DataError(f"max_leaves must be at least 1, not {self.max_leaves}")
        if self.min_samples_leaf < 1:
            raise DataError(f"min_samples_leaf must be at least 1, not {self.min_samples_leaf}")
        for name in ("min_hessian", "l2"):
            if not 0 <= getattr(self, name) < np.inf:
                raise DataError(f"{name} must be a number of at least 0, not {getattr(self, name)!r}")
