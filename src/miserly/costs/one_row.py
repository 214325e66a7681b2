"""The price of one purchase of one row: in parts, and from prices of its own.

The rule is that of `miserly.costs.prices.unpaid_price`. The compiled walk of one row
(`miserly.plan.engine.walk`) has the rule once more, on its flat arrays. Tests compare all forms.
"""

from __future__ import annotations

import math
from collections.abc import Container, Iterable, Sequence

from miserly.costs.prices import Bools, Floats, PriceList

__all__ = ["listed_price", "price_parts"]


def price_parts(f: int, opened: Bools, prices: PriceList) -> tuple[float, float, tuple[int, ...]]:
    """`unpaid_price` in parts: the own cost of `f`, the set-ups that are due, and the groups of these.

    >>> import numpy as np
    >>> prices = PriceList(np.array([1.0, 2.0]), np.array([[-1, -1], [0, 1]]), np.array([5.0, 7.0]))
    >>> price_parts(1, np.array([False, True]), prices)
    (2.0, 5.0, (0,))
    """
    opens = tuple(group for group in prices.groups[f].tolist() if group >= 0 and not opened[group])
    return float(prices.own[f]), math.fsum(prices.setup[group] for group in opens), opens


def listed_price(
    f: int, groups: Iterable[int], opened: Container[int], listed: Sequence[float] | Floats, n_features: int
) -> float:
    """`unpaid_price` for one row with prices of its own: `listed` has those of all features, then of groups.

    >>> listed_price(1, groups=(0, 1), opened={1}, listed=[1.0, 2.0, 5.0, 7.0], n_features=2)
    7.0
    """
    price = listed[f]
    for group in groups:
        if group not in opened:
            price += listed[n_features + group]
    return float(price)
