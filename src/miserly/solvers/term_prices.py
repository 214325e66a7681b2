"""What terms cost on top of the features that are already bought."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from miserly.costs import Costs

__all__ = ["groups_opened", "term_prices"]


def term_prices(
    uses: NDArray[np.bool_], evaluation: NDArray[np.float64], costs: Costs, bought: NDArray[np.bool_]
) -> NDArray[np.float64]:
    """The price of each term by itself: its unpaid features, the groups they open, and its evaluation.

    Parameters
    ----------
    uses : bool array of (n_terms, n_features)
        The raw features that each term needs.
    evaluation : array of (n_terms,)
    costs : Costs
    bought : bool array of (n_features,)

    Examples
    --------
    >>> costs = Costs([1.0, 2.0, 4.0], groups={"g": {"features": [0, 1], "setup": 5.0}})
    >>> uses = np.array([[True, True, False], [False, False, True]])
    >>> term_prices(uses, np.array([0.1, 0.1]), costs, np.zeros(3, bool)).tolist()
    [8.1, 4.1]
    >>> term_prices(uses, np.array([0.1, 0.1]), costs, np.array([True, False, False])).tolist()
    [2.1, 4.1]
    """
    missing = uses & ~bought
    features = missing @ costs.feature
    if not len(costs.setup):
        return np.asarray(features + evaluation)
    opened = np.unique(costs.group[bought])
    setup = costs.setup.copy()
    setup[opened[opened >= 0]] = 0.0
    return np.asarray(features + groups_opened(missing, costs) @ setup + evaluation)


def groups_opened(uses: NDArray[np.bool_], costs: Costs) -> NDArray[np.bool_]:
    """The groups (T, G) that features in a table (T, d) belong to; no table of features by groups is made.

    >>> costs = Costs([1.0, 2.0, 4.0], groups={"g": {"features": [0, 1], "setup": 5.0}})
    >>> groups_opened(np.array([[True, True, False], [False, False, True]]), costs).tolist()
    [[True], [False]]
    """
    opened = np.zeros((len(uses), len(costs.setup)), dtype=np.bool_)
    for group in range(len(costs.setup)):
        opened[:, group] = uses[:, costs.members(group)].any(axis=1)
    return opened
