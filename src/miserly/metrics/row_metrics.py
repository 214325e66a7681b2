"""Metrics that users define: a function that gives one number per row, whose mean is the metric."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from miserly.errors import MetricError
from miserly.metrics.registry import Metric

__all__ = ["row_metric"]

_NEEDS = ("label", "score", "proba")


def row_metric(
    function: Callable[..., Any] | None = None,
    *,
    greater_is_better: bool,
    name: str | None = None,
    needs: Literal["label", "score", "proba"] = "label",
    bounds: tuple[float, float] | None = None,
) -> Any:
    """Make a metric of a function that gives one number per row.

    The metric is the mean of these numbers, weighted where there are weights. So all that holds for accuracy
    holds for it: standard errors, intervals, paired comparisons and, with `bounds`, guarantees.

    Parameters
    ----------
    function : callable
        Called with ``(y, prediction)``; returns an array of one finite number per row. Without it a decorator
        is returned.
    greater_is_better : bool
        Whether larger numbers are better.
    name : str, optional
        Name of the metric; that of the function by default.
    needs : {"label", "score", "proba"}, default="label"
        What `prediction` is: predicted classes or numbers (n,); scores (n,) or (n, n_scores); or
        probabilities (n, n_classes), in the order of the sorted classes.
    bounds : (float, float), optional
        The smallest and the largest number that a row can have. Guarantees of a loss need them.

    Returns
    -------
    Metric
        The metric, for `frontier`, `BudgetedEstimator` and learners.

    Raises
    ------
    MetricError
        If an argument cannot be used.

    Examples
    --------
    A missed case counts ten times as much as a false alarm:

    >>> @row_metric(greater_is_better=False, bounds=(0.0, 10.0))
    ... def harm(y, predicted):
    ...     return np.where(y == predicted, 0.0, np.where(y == 1, 10.0, 1.0))
    >>> harm.name, harm([1, 1, 0, 0], [1, 0, 1, 0])
    ('harm', 2.75)
    """
    if function is None:
        return partial(row_metric, greater_is_better=greater_is_better, name=name, needs=needs, bounds=bounds)
    if not callable(function) or isinstance(function, Metric):
        raise MetricError(f"row_metric needs a function of (y, prediction), not {function!r}")
    if needs not in _NEEDS:
        raise MetricError(f"needs is one of {', '.join(_NEEDS)}, not {needs!r}")
    named = name if name is not None else getattr(function, "__name__", type(function).__name__)
    rows = _RowFunction(function, named, _read_bounds(bounds))
    return Metric(named, bool(greater_is_better), needs, rows.mean, rows=rows, bounds=rows.bounds)


def _read_bounds(bounds: Any) -> tuple[float, float] | None:
    if bounds is None:
        return None
    low, high = (float(end) for end in bounds)
    if not (np.isfinite(low) and np.isfinite(high) and low < high):
        raise MetricError(f"bounds are the smallest and the largest number of a row, not {bounds!r}")
    return low, high


class _RowFunction:
    """A function of users, with checks of what it returns."""

    def __init__(self, function: Callable[..., Any], name: str, bounds: tuple[float, float] | None) -> None:
        self.function, self.name, self.bounds = function, name, bounds

    def __call__(self, y: NDArray[Any], prediction: NDArray[Any]) -> NDArray[np.float64]:
        found = np.asarray(self.function(y, prediction))
        if found.shape != (len(y),):
            what = f"an array of shape {found.shape}" if found.ndim else "a single number"
            raise MetricError(
                f"metric {self.name} gives {what} for {len(y)} rows; one number per row is needed"
            )
        if found.dtype.kind not in "iufb":
            raise MetricError(f"metric {self.name} gives values of type {found.dtype}; numbers are needed")
        values = found.astype(np.float64)
        if not np.isfinite(values).all():
            row = int(np.flatnonzero(~np.isfinite(values))[0])
            raise MetricError(
                f"metric {self.name} gives {values[row]:g} for row {row}; finite numbers are needed"
            )
        if self.bounds is not None and len(values):
            low, high = self.bounds
            if values.min() < low or values.max() > high:
                row = int(np.flatnonzero((values < low) | (values > high))[0])
                raise MetricError(
                    f"metric {self.name} gives {values[row]:g} for row {row}, outside its bounds "
                    f"{low:g} to {high:g}"
                )
        return values

    def mean(self, y: Any, prediction: Any, qid: Any, weight: Any, classes: Any) -> float:
        return float(np.average(self(y, prediction), weights=weight))
