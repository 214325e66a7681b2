"""Purchase orders: which features a budget buys, given how much features gain.

Both builders rank features by gain per marginal price to the power `alpha`. With 1 a feature must be worth
its price. With 0 prices only decide what fits. Which power is better depends on the data and on the budget,
so callers compare several.

- `backward_set` starts with all features that fit alone, and drops the least until the rest fits together.
  Features that matter only together are kept together.
- `forward_set` starts with nothing, and buys the best until nothing fits.

The caller gives a function from a set of features to gains, so these functions know nothing of models. Prices
are those of a `Ledger`: groups open with their first feature.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from miserly.costs import Costs, Ledger

__all__ = [
    "GainOf",
    "backward_order",
    "backward_set",
    "best_per_price",
    "fill",
    "forward_set",
    "saved_prices",
]

Floats = NDArray[np.float64]
GainOf = Callable[[tuple[int, ...]], Floats]  # from sorted features to a gain for each column

ONE_BY_ONE = 16  # features: while there are more, several are bought or dropped for each new set of gains
BATCH = 0.125  # of the features that are kept so far, at a time ...
WIDE_BATCH = 0.4  # ... and of more than `WIDE` features when dropping
WIDE = 64


def forward_set(gain_of: GainOf, ledger: Ledger, alpha: float) -> list[int]:
    """Buy the feature that gains most per price^alpha, until none fits or none gains.

    With more than 16 bought features, an eighth as many are bought for each call of `gain_of`.

    Parameters
    ----------
    gain_of : callable
        Gives the gain of every column if a set of features is paid. Columns that cannot be bought have minus
        infinity.
    ledger : Ledger
        What is paid, and the budget. The features are bought from it.
    alpha : float
        Power of the price.

    Returns
    -------
    list of int
        The features bought, in order.

    Examples
    --------
    The first feature gains more, and less for its price:

    >>> costs, gains = Costs([4.0, 1.0, 1.0]), np.array([3.0, 2.0, 1.0])
    >>> [forward_set(lambda paid: gains, Ledger(costs, 5.0), alpha) for alpha in (0.0, 1.0)]
    [[0, 1], [1, 2]]
    """
    bought: list[int] = []
    while True:
        gain = gain_of(_paid(ledger))
        ranked = best_per_price(gain, ledger, alpha)
        if not ranked:
            return bought
        for feature in ranked[: _batch(int(ledger.paid.sum()), BATCH)]:
            if ledger.affordable(feature):
                ledger.buy(feature)
                bought.append(feature)


def backward_set(gain_of: GainOf, ledger: Ledger, alpha: float) -> list[int]:
    """Drop the feature that gains least per price^alpha until the rest fits; refill with what is left.

    The price of a feature is what dropping it saves: the set-up of a group is saved with its last feature.
    While there are more than 16 features, an eighth of them is dropped for each call of `gain_of`, and two
    fifths while there are more than 64. Features without gain are dropped at once. Money that is left at the
    end buys the features that were dropped last.

    Parameters
    ----------
    gain_of : callable
        Gives the gain of every column of a model on a set of features.
    ledger : Ledger
        What is paid, and the budget. The features are bought from it.
    alpha : float
        Power of the price.

    Returns
    -------
    list of int
        The features bought, the one that would be dropped last first.

    Examples
    --------
    >>> costs, gains = Costs([4.0, 1.0, 1.0]), np.array([3.0, 2.0, 1.0])
    >>> [backward_set(lambda kept: gains, Ledger(costs, 5.0), alpha) for alpha in (0.0, 1.0)]
    [[0, 1], [1, 2]]
    """
    costs = ledger.costs
    kept = ledger.fits(ledger.prices())
    limit = ledger.left
    dropped: list[int] = []
    while True:
        ranked, n_useless = _least_first(gain_of, costs, kept, alpha)
        if Ledger(costs, limit).fits(costs.of(kept)):
            break
        share = WIDE_BATCH if len(ranked) > WIDE else BATCH
        for feature in ranked[: max(n_useless, _batch(len(ranked), share))]:
            kept[feature] = False
            dropped.append(feature)
            if Ledger(costs, limit).fits(costs.of(kept)):
                break
    return fill([*ranked[::-1], *dropped[::-1]], ledger)


def backward_order(gain_of: GainOf, costs: Costs, kept: NDArray[np.bool_], alpha: float) -> list[int]:
    """Order a set of features by backward elimination, as `backward_set` does, down to nothing.

    Parameters
    ----------
    gain_of : callable
        Gives the gain of every column of a model on a set of features.
    costs : Costs
        The prices.
    kept : bool array of (d,)
        The set.
    alpha : float
        Power of the price.

    Returns
    -------
    list of int
        The features of the set, the one that is dropped last first.

    Examples
    --------
    >>> costs, gains = Costs([4.0, 1.0, 1.0]), np.array([3.0, 2.0, 1.0])
    >>> [backward_order(lambda kept: gains, costs, np.ones(3, dtype=bool), alpha) for alpha in (0.0, 1.0)]
    [[0, 1, 2], [1, 2, 0]]
    """
    left = kept.copy()
    dropped: list[int] = []
    while left.any():
        ranked, n_useless = _least_first(gain_of, costs, left, alpha)
        for feature in ranked[: max(n_useless, _batch(len(ranked), BATCH))]:
            left[feature] = False
            dropped.append(feature)
    return dropped[::-1]


def fill(order: Sequence[int], ledger: Ledger) -> list[int]:
    """Buy features in order, and skip those that do not fit.

    Parameters
    ----------
    order : sequence of int
        Features.
    ledger : Ledger
        What is paid, and the budget. The features are bought from it.

    Returns
    -------
    list of int
        The features bought, in order.

    Examples
    --------
    >>> fill([2, 0, 1], Ledger(Costs([4.0, 1.0, 1.0]), 2.0))
    [2, 1]
    """
    bought = []
    for feature in order:
        if not ledger.is_paid(feature) and ledger.affordable(feature):
            ledger.buy(feature)
            bought.append(feature)
    return bought


def best_per_price(gain: Floats, ledger: Ledger, alpha: float) -> list[int]:
    """The features that are not paid, fit the budget and gain something, the best per price^alpha first.

    Parameters
    ----------
    gain : array of (d,)
        The gain of each column.
    ledger : Ledger
        What is paid, and the budget.
    alpha : float
        Power of the price.

    Returns
    -------
    list of int
        Features. Free ones come first.

    Examples
    --------
    >>> best_per_price(np.array([1.0, 5.0, 0.0, 9.0]), Ledger(Costs([1.0, 2.0, 1.0, 8.0]), 3.0), alpha=1.0)
    [1, 0]
    """
    prices = ledger.prices()
    able = np.flatnonzero(~ledger.paid & ledger.fits(prices) & (gain > 0.0))
    rate = _rate(gain[able], prices[able], alpha)
    return [int(f) for f in able[np.lexsort((able, -rate))]]


def saved_prices(costs: Costs, kept: NDArray[np.bool_]) -> Floats:
    """What a set of features costs less without each of them.

    Parameters
    ----------
    costs : Costs
        The prices.
    kept : bool array of (d,)
        The set.

    Returns
    -------
    array of (d,)
        Own costs, with the set-up of each group of which it is the only feature in the set.

    Examples
    --------
    >>> costs = Costs([1.0, 2.0, 3.0], groups={"lab": {"features": [1, 2], "setup": 10.0}})
    >>> saved_prices(costs, np.array([True, True, True])).tolist()
    [1.0, 2.0, 3.0]
    >>> saved_prices(costs, np.array([True, True, False])).tolist()
    [1.0, 12.0, 0.0]
    """
    own, groups, setup = costs.prices
    members = np.zeros(len(setup) + 1)  # the last is for -1, no group
    np.add.at(members, groups[kept].ravel(), 1.0)
    alone = np.append(setup, 0.0) * (members == 1.0)
    return np.asarray(np.where(kept, own + alone[groups].sum(axis=1), 0.0))


def _least_first(
    gain_of: GainOf, costs: Costs, kept: NDArray[np.bool_], alpha: float
) -> tuple[list[int], int]:
    """The features of a set, those of least gain per price^alpha first, and how many gain nothing."""
    features = np.flatnonzero(kept)
    gain = gain_of(tuple(features.tolist()))[features]
    saved = saved_prices(costs, kept)[features]
    ranked = features[np.lexsort((features, _rate(gain, saved, alpha)))]
    return ranked.tolist(), int((gain <= 0.0).sum())


def _paid(ledger: Ledger) -> tuple[int, ...]:
    return tuple(int(f) for f in np.flatnonzero(ledger.paid))


def _batch(n: int, share: float) -> int:
    return 1 if n <= ONE_BY_ONE else max(1, int(share * n))


def _rate(gain: Floats, price: Floats, alpha: float) -> Floats:
    """Gain per price^alpha; infinite for features that gain something and are free."""
    free = price == 0.0
    rate = gain / np.where(free, 1.0, price) ** alpha
    return np.asarray(np.where(free & (gain > 0.0), np.inf, rate))
