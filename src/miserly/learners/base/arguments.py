"""Parameters and scores that all learners treat alike: costs, threads, and the shapes of scores."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from miserly.costs import Costs

__all__ = ["as_columns", "bind_costs", "decision_of", "threads_of"]


def bind_costs(costs: Any, columns: int | Sequence[str]) -> Costs:
    """Bring the costs that a learner was given into the order of the columns.

    Parameters
    ----------
    costs : Costs, array, mapping or None
        None means a cost of 1 for each feature.
    columns : int or sequence of str
        Number of columns, or their names.

    Returns
    -------
    Costs
        Costs of the columns, in their order.

    Examples
    --------
    >>> bind_costs({"chol": 5.0, "age": 1.0}, ["age", "chol"]).feature.tolist(), bind_costs(None, 2).total
    ([1.0, 5.0], 2.0)
    """
    if costs is None:
        return Costs.uniform(columns)
    if not isinstance(costs, Costs):
        costs = Costs(costs)
    return cast(Costs, costs).bind(columns)


def threads_of(n_jobs: int | None) -> int | None:
    """Turn `n_jobs` into a number of threads.

    Parameters
    ----------
    n_jobs : int or None
        None and -1 mean all threads, -2 all but one, and so on.

    Returns
    -------
    int or None
        Number of threads; None means all.
    """
    if n_jobs is None or n_jobs > 0:
        return n_jobs
    return max(1, (os.cpu_count() or 1) + 1 + n_jobs)


def as_columns(scores: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return scores in two dimensions.

    Parameters
    ----------
    scores : array of (n,) or (n, K)
        Scores.

    Returns
    -------
    array of (n, 1) or (n, K)
        The same scores.
    """
    return scores[:, None] if scores.ndim == 1 else scores


def decision_of(scores: NDArray[np.float64], n_classes: int) -> NDArray[np.float64]:
    """Return scores in the form of scikit-learn's `decision_function`.

    Parameters
    ----------
    scores : array of (n, K)
        Scores before the link.
    n_classes : int
        Number of classes.

    Returns
    -------
    array of (n,) or (n, K)
        One number per row if there are two classes, positive for the second one.
    """
    if n_classes == 2 and scores.shape[1] == 2:
        return scores[:, 1] - scores[:, 0]
    return scores[:, 0] if scores.shape[1] == 1 else scores
