"""Costs in the tiers of the papers, for data sets without costs of their own."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from miserly.costs import Costs

__all__ = ["TIERS", "tier_prices", "tiered_costs"]

# Number of features in each tier, of 519. The tiers are those of the papers. The cost of each feature of the
# Yahoo! set was never published, so these counts only follow the shape that the papers describe.
TIERS: dict[float, int] = {1.0: 123, 5.0: 31, 20.0: 191, 50.0: 125, 100.0: 16, 150.0: 32, 200.0: 1}


def tiered_costs(
    columns: int | Sequence[str], random_state: int | np.random.Generator | None = None, unit: str = ""
) -> Costs:
    """Assign costs of 1, 5, 20, 50, 100, 150 and 200 at random, in the proportions of `TIERS`.

    Parameters
    ----------
    columns : int or sequence of str
        Number of columns, or their names.
    random_state : int, Generator or None, default=None
        Random seed.
    unit : str, default=""
        Unit of the costs.

    Returns
    -------
    Costs
        One cost per column.

    Examples
    --------
    >>> sorted(tiered_costs(10, random_state=0).feature.tolist())
    [1.0, 1.0, 5.0, 20.0, 20.0, 20.0, 20.0, 50.0, 50.0, 150.0]
    """
    n = columns if isinstance(columns, (int, np.integer)) else len(columns)
    prices = np.random.default_rng(random_state).permutation(tier_prices(int(n)))
    if isinstance(columns, (int, np.integer)):
        return Costs(prices, unit=unit)
    return Costs(dict(zip(columns, prices, strict=True)), unit=unit)


def tier_prices(n_features: int) -> NDArray[np.float64]:
    """Costs of `n_features` features, cheapest first: the shares of the tiers, rounded to add up."""
    shares = np.array(list(TIERS.values())) * n_features / sum(TIERS.values())
    counts = np.floor(shares).astype(np.int64)
    largest_rest = np.argsort(counts - shares, kind="stable")
    counts[largest_rest[: n_features - counts.sum()]] += 1
    return np.repeat(list(TIERS), counts)
