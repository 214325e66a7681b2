"""What compiled code knows of a ledger: prices now, what fits, and buying."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from miserly.costs import fits as _fits
from miserly.grow.compiled import compiled

__all__ = ["Purse", "buy", "price", "prune"]

fits = compiled(_fits)


class Purse(NamedTuple):
    """The arrays of a ledger, shared with it (what is bought here is paid there), and those of its costs."""

    paid: NDArray[np.bool_]
    opened: NDArray[np.bool_]
    account: NDArray[np.float64]  # spent, budget
    own: NDArray[np.float64]
    group: NDArray[np.int64]
    setup: NDArray[np.float64]


@compiled
def price(purse, f):
    """What feature `f` costs now, as `Ledger.price`."""
    if purse.paid[f]:
        return 0.0
    group = purse.group[f]
    if group < 0 or purse.opened[group]:
        return purse.own[f]
    return purse.own[f] + purse.setup[group]


@compiled
def buy(purse, f):
    """Pay for feature `f` and open its group."""
    purse.account[0] += price(purse, f)
    purse.paid[f] = True
    if purse.group[f] >= 0:
        purse.opened[purse.group[f]] = True


@compiled
def prune(purse, features, n, may_buy):
    """Keep of the first `n` features those paid, and if one `may_buy` those that fit; gives how many.

    What does not fit now will not fit later in the tree: opening a group makes its other features cheaper
    by the set-up, but that has then been spent.
    """
    kept = 0
    for k in range(n):
        f = features[k]
        if purse.paid[f] or (may_buy and fits(purse.account[0], price(purse, f), purse.account[1])):
            features[kept] = f
            kept += 1
    return kept
