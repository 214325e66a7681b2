"""The arithmetic of prices: the price of a purchase, and whether it fits a budget.

Every price in the package is computed here, that of one purchase of one row in `one_row`. The rules are:

    price of a feature = 0 if it is paid, else its own cost + the set-ups of its groups that are not open
    price of a set A   = own costs of A + the set-up of each group that A touches

`unpaid_price`, `row_price`, `mark_paid` and `fits` are written for compiled code as well. They use plain
loops over array elements and call no other function, so a room that compiles can wrap them
(``compiled(unpaid_price)``) and this room needs NumPy alone.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple, TypeAlias, overload

import numpy as np
from numpy.typing import NDArray

__all__ = [
    "BudgetState",
    "PriceList",
    "RowPrices",
    "fits",
    "groups_of_rows",
    "marginal_prices",
    "mark_paid",
    "mean_fits",
    "mean_limit",
    "n_evaluations",
    "opened_by",
    "prices_by_row",
    "row_price",
    "row_prices",
    "row_totals",
    "set_price",
    "terms_price",
    "unpaid_price",
]

Floats: TypeAlias = NDArray[np.float64]
Ints: TypeAlias = NDArray[np.int64]
Bools: TypeAlias = NDArray[np.bool_]

# A budget of 0.3 must admit prices of 0.1 and 0.2, whose sum in floating point is above 0.3. The tolerance is
# relative. It is about ten thousand rounding errors, and far below any price that matters.
TOLERANCE = 1e-12
# A mean over rows has a rounding error for each row. Sums of 4 million rows are off by 1e-9 at worst.
MEAN_TOLERANCE = 1e-9


class PriceList(NamedTuple):
    """The prices of `Costs` as arrays.

    Parameters
    ----------
    own : array of (d,)
        The own cost of each feature.
    groups : int array of (d, m)
        The groups of each feature. Rows with fewer than `m` groups end in -1.
    setup : array of (groups,)
        The set-up cost of each group.

    Examples
    --------
    >>> prices = PriceList(np.array([1.0, 2.0]), np.array([[-1], [0]]), np.array([5.0]))
    >>> set_price(np.array([True, True]), prices)
    8.0
    """

    own: Floats
    groups: Ints
    setup: Floats


class RowPrices(NamedTuple):
    """The prices of many rows: as `PriceList`, with one line of prices for all rows, or one for each.

    Parameters
    ----------
    own : array of (1, d) or (n, d)
        The own cost of each feature.
    groups : int array of (d, m)
        The groups of each feature. Rows with fewer than `m` groups end in -1.
    setup : array of (1, groups) or (n, groups)
        The set-up cost of each group.

    Examples
    --------
    >>> prices = RowPrices(np.array([[1.0, 2.0], [1.0, 0.0]]), np.array([[-1], [0]]), np.array([[5.0]]))
    >>> row_totals(np.array([[True, True], [False, True]]), prices).tolist()
    [8.0, 5.0]
    """

    own: Floats
    groups: Ints
    setup: Floats


class BudgetState(NamedTuple):
    """The arrays of a `Ledger`, for compiled code. They are shared: a purchase changes the ledger too.

    Parameters
    ----------
    paid : bool array of (1, d)
        The features that are paid.
    opened : bool array of (1, groups)
        The groups whose set-up is paid.
    account : array of (2,)
        The amount spent, and the budget.
    prices : PriceList
        The prices.

    Examples
    --------
    >>> from miserly.costs import Costs, Ledger
    >>> ledger = Ledger(Costs([1.0, 4.0]), budget=5)
    >>> state = ledger.budget_state()
    >>> mark_paid(0, 1, state.paid, state.opened, state.prices.groups)
    >>> ledger.is_paid(1), state.account.tolist()
    (True, [0.0, 5.0])
    """

    paid: Bools
    opened: Bools
    account: Floats
    prices: PriceList


# -- what fits -----------------------------------------------------------------------------------------------


@overload
def fits(spent: float, price: float, budget: float) -> bool: ...
@overload
def fits(spent: float | Floats, price: Floats, budget: float) -> Bools: ...
def fits(spent: Any, price: Any, budget: Any) -> Any:
    """Whether `price` can be paid on top of `spent` within `budget`. Free purchases always fit.

    Parameters
    ----------
    spent : float or array
        Amount already paid.
    price : float or array
        Price of the purchase.
    budget : float
        Cap on the total.

    Returns
    -------
    bool or array of bool
        A sum that exceeds the budget only by rounding (`TOLERANCE`) fits.

    Examples
    --------
    >>> fits(0.1, 0.2, 0.3), fits(0.1, 0.21, 0.3), fits(5.0, 0.0, 1.0)
    (True, False, True)
    >>> fits(1.0, np.array([0.0, 1.0, 2.0]), 2.0).tolist()
    [True, True, False]
    """
    return (price == 0.0) | (spent + price <= budget * (1.0 + TOLERANCE))


@overload
def mean_fits(mean: float, budget: float) -> bool: ...
@overload
def mean_fits(mean: Floats, budget: float) -> Bools: ...
def mean_fits(mean: Any, budget: Any) -> Any:
    """Whether a cost that was averaged over rows is at most `budget`.

    Parameters
    ----------
    mean : float or array
        Mean cost, or a bound on it.
    budget : float
        Cap on the mean.

    Returns
    -------
    bool or array of bool
        A mean that exceeds the budget only by rounding (`MEAN_TOLERANCE`) is inside.

    Examples
    --------
    >>> mean_fits(0.3 * (1 + 1e-10), 0.3), mean_fits(0.31, 0.3)
    (True, False)
    """
    return mean <= mean_limit(budget)


def mean_limit(budget: float) -> float:
    """Return the largest mean cost that fits a budget.

    Parameters
    ----------
    budget : float
        Cap on the mean.

    Returns
    -------
    float
        The budget and its tolerance (`MEAN_TOLERANCE`).
    """
    return budget * (1.0 + MEAN_TOLERANCE)


def n_evaluations(budget: float, evaluation: float) -> float:
    """How many terms can be evaluated within a budget, if each evaluation costs `evaluation`, not zero.

    >>> n_evaluations(0.3, 0.1), n_evaluations(0.29, 0.1), n_evaluations(math.inf, 0.1)
    (3.0, 2.0, inf)
    """
    number = max(0.0, float(np.floor(budget / evaluation)))  # 0.3 / 0.1 is less than 3
    return number + fits(0.0, (number + 1.0) * evaluation, budget) if math.isfinite(number) else number


# -- one purchase, for one of many accounts ------------------------------------------------------------------


def unpaid_price(row: int, f: int, opened: Bools, own: Floats, groups: Ints, setup: Floats) -> float:
    """What feature `f`, which is not paid, costs account `row` now.

    Parameters
    ----------
    row : int
        The account. A ledger has one, number 0. A run has one for each row of data.
    f : int
        Column of the feature.
    opened : bool array of (accounts, groups)
        Groups whose set-up is paid.
    own, groups, setup : arrays
        The fields of a `PriceList`, one by one: compiled code is slower if it is given a tuple.

    Returns
    -------
    float

    Examples
    --------
    >>> prices = PriceList(np.array([1.0, 2.0]), np.array([[-1], [0]]), np.array([5.0]))
    >>> [float(unpaid_price(0, f, np.array([[False]]), *prices)) for f in (0, 1)]
    [1.0, 7.0]
    """
    price = own[f]
    for k in range(groups.shape[1]):
        g = groups[f, k]
        if g >= 0 and not opened[row, g]:
            price += setup[g]
    return price


def row_price(row: int, f: int, opened: Bools, own: Floats, groups: Ints, setup: Floats) -> float:
    """As `unpaid_price`, at the prices of account `row`: `own` and `setup` are those of `RowPrices`."""
    price = own[min(row, own.shape[0] - 1), f]
    for k in range(groups.shape[1]):
        g = groups[f, k]
        if g >= 0 and not opened[row, g]:
            price += setup[min(row, setup.shape[0] - 1), g]
    return price


def prices_by_row(rows: Ints, features: Ints, paid: Bools, opened: Bools, prices: RowPrices) -> Floats:
    """What ``features[i]`` costs account ``rows[i]`` now: as `row_price`, and 0 if it is paid.

    Parameters
    ----------
    rows, features : int arrays of (k,)
    paid : bool array of (accounts, d)
    opened : bool array of (accounts, groups)
    prices : RowPrices

    Returns
    -------
    array of (k,)
    """
    price = prices.own[0 if len(prices.own) == 1 else rows, features].astype(np.float64)
    for group in prices.groups[features].T:
        if (closed := group >= 0).any():
            closed[closed] = ~opened[rows[closed], group[closed]]
            price[closed] += prices.setup[np.minimum(rows[closed], len(prices.setup) - 1), group[closed]]
    price[paid[rows, features]] = 0.0
    return price


def mark_paid(row: int, f: int, paid: Bools, opened: Bools, groups: Ints) -> None:
    """Note that account `row` has paid feature `f` and its groups are open."""
    paid[row, f] = True
    for k in range(groups.shape[1]):
        if groups[f, k] >= 0:
            opened[row, groups[f, k]] = True


# -- one account ---------------------------------------------------------------------------------------------


def opened_by(paid: Bools, prices: PriceList) -> Bools:
    """The groups that the paid features have opened.

    >>> prices = PriceList(np.ones(3), np.array([[1], [-1], [0]]), np.ones(2))
    >>> opened_by(np.array([True, True, False]), prices).tolist()
    [False, True]
    """
    opened = np.zeros(len(prices.setup), dtype=np.bool_)
    touched = prices.groups[paid]
    opened[touched[touched >= 0]] = True
    return opened


def marginal_prices(paid: Bools, opened: Bools, prices: PriceList) -> Floats:
    """What each feature costs one account now, given the masks `paid` (d,) and `opened` (groups,)."""
    due = np.append(np.where(opened, 0.0, prices.setup), 0.0)  # the last entry is for group -1, no group
    price = prices.own
    for group in prices.groups.T:  # one by one: the order of `unpaid_price`
        price = price + due[group]
    return np.where(paid, 0.0, price)


# -- sets of features ----------------------------------------------------------------------------------------


def set_price(features: Bools, prices: PriceList, evaluation: float = 0.0) -> float:
    """The price of a set of features bought together, plus `evaluation`. The sum is exactly rounded."""
    return math.fsum([*prices.own[features], *prices.setup[opened_by(features, prices)], evaluation])


def terms_price(features: Bools, evaluations: Iterable[float], prices: PriceList) -> float:
    """The price of a set of features bought together, plus that of evaluating the terms that read them."""
    return set_price(features, prices) + math.fsum(evaluations)


def row_prices(table: Bools, prices: PriceList, paid: Bools | None = None) -> Floats:
    """The price of each row of a table of features, where the features in `paid` are paid already.

    Parameters
    ----------
    table : bool array of (n, d)
        The features that each row buys.
    prices : PriceList
    paid : bool array of (d,), optional
        Features that cost nothing any more; their groups are open.

    Returns
    -------
    array of (n,)

    Examples
    --------
    >>> prices = PriceList(np.array([1.0, 2.0, 4.0]), np.array([[0], [0], [-1]]), np.array([5.0]))
    >>> table = np.array([[True, True, False], [False, False, True]])
    >>> row_prices(table, prices).tolist()
    [8.0, 4.0]
    >>> row_prices(table, prices, paid=np.array([True, False, False])).tolist()
    [2.0, 4.0]
    """
    due = prices.setup
    if paid is not None:
        table = table & ~paid
        due = np.where(opened_by(paid, prices), 0.0, due)
    total: Floats = table @ prices.own
    for group, touched in _touched(table, prices):
        total += due[group] * touched
    return total


def row_totals(table: Bools, prices: RowPrices, known: Bools | None = None) -> Floats:
    """The price of each row of a table of features (n, d), at the prices of the row.

    What a row has in `known` (n, d) costs it nothing, and opens its groups.
    """
    due = np.broadcast_to(prices.setup, (len(table), prices.setup.shape[1]))
    if known is not None:
        table = table & ~known
        due = np.where(groups_of_rows(known, prices), 0.0, due)
    total: Floats = np.where(table, prices.own, 0.0).sum(axis=1)
    for group, touched in _touched(table, prices):
        total += due[:, group] * touched
    return total


def groups_of_rows(table: Bools, prices: PriceList | RowPrices) -> Bools:
    """The groups (n, groups) that each row of a table of features (n, d) touches.

    >>> prices = PriceList(np.ones(3), np.array([[0], [0], [-1]]), np.array([5.0]))
    >>> groups_of_rows(np.array([[True, True, False], [False, False, True]]), prices).tolist()
    [[True], [False]]
    """
    found = np.zeros((len(table), prices.setup.shape[-1]), dtype=np.bool_)
    for group, touched in _touched(table, prices):
        found[:, group] = touched
    return found


def _touched(table: Bools, prices: PriceList | RowPrices) -> Iterator[tuple[int, Bools]]:
    """Each group that has columns here, and the rows that touch it; one at a time, to save memory."""
    for group in np.unique(prices.groups[prices.groups >= 0]).tolist():
        members = np.flatnonzero((prices.groups == group).any(axis=1))
        touched: Bools = np.any(table[:, members], axis=1)
        yield group, touched
