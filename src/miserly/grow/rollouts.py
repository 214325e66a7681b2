"""What greedy trees of purchases make of some rows, after each of several first cuts.

A rollout starts with one of the cuts, and lets a greedy tree buy features on both sides until the budget is
spent. What counts is the impurity at the ends (see `miserly.grow.class_cuts`). A feature that helps little by
itself, but tells which one to buy next, is found in this way.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from miserly.costs import Ledger
from miserly.costs import prices as _prices
from miserly.grow.class_cuts import (
    ClassRows,
    best_cut,
    count_tables,
    impurity_of_weights,
    known_measures,
    rows_together,
)
from miserly.grow.compiled import build, compiled, prange, threaded, threads

__all__ = ["Greed", "rollouts"]

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

MOST_SPLITS = 32  # on a path of a greedy tree
ENOUGH = 1e-9  # share of the impurity that a split must take away

_fits = compiled(_prices.fits)
_price = compiled(_prices.row_price)
_mark_paid = compiled(_prices.mark_paid)


class Greed(NamedTuple):
    """How greedy trees buy.

    Parameters
    ----------
    kind : int
        Place of the impurity in `IMPURITIES`.
    power : array of (d,)
        New features are compared by the fall of the impurity divided by these numbers, in most cases a power
        of the price.
    min_rows : int
        Smallest number of rows on a side of a cut.
    """

    kind: int
    power: Floats
    min_rows: int


def rollouts(
    data: ClassRows,
    rows: Ints,
    starts: tuple[Ints, Ints],
    features: Ints,
    ledger: Ledger,
    greed: Greed,
    n_threads: int | None = None,
) -> Floats:
    """The impurity at the ends of greedy trees that begin with given cuts.

    Parameters
    ----------
    data : ClassRows
        All rows.
    rows : int array
        Those that the trees divide.
    starts : pair of int arrays
        The feature and the cut of the first split of each tree. The features fit the budget.
    features : int array
        The features that the trees may use.
    ledger : Ledger
        What is paid before, and the budget.
    greed : Greed
        How the trees buy.
    n_threads : int, optional
        Number of threads. It does not change the result.

    Returns
    -------
    array of (n_starts,)

    Examples
    --------
    The first feature tells nothing about the class by itself, but which of the others to buy:

    >>> from miserly.costs import Costs
    >>> from miserly.grow import Bins
    >>> X = np.array([[i & 1, i >> 1 & 1, i >> 2 & 1] for i in range(8)] * 9, dtype=float)
    >>> y = np.where(X[:, 0] > 0, X[:, 1], X[:, 2]).astype(int)
    >>> data = ClassRows.of(Bins.fit(X).transform(X), y, None, 2)
    >>> every, first = np.arange(3), (np.arange(3), np.zeros(3, dtype=int))
    >>> ledger, greed = Ledger(Costs(np.ones(3)), 2), Greed(0, np.ones(3), 1)
    >>> rollouts(data, np.arange(72), first, every, ledger, greed).tolist()
    [0.0, 18.0, 18.0]
    """
    costs = ledger.costs
    found = np.empty(len(starts[0]))
    prices = costs.prices
    accounts = (
        prices.own[None, :],
        prices.groups,
        prices.setup[None, :],
        costs.evaluation,
        ledger.budget,
        ledger.spent,
        ledger.paid.copy(),
        ledger.opened.copy(),
    )
    with threads(n_threads, len(rows) * len(features) * len(found)):
        build(_all_rollouts)(*data, rows, *starts, features, *accounts, *greed, found)
    return found


@threaded
def _all_rollouts(
    codes, n_bins, y, weight, n_classes, is_plain, rows, firsts, cuts, features,
    own, groups, setup, evaluation, budget, spent, paid, opened, kind, power, min_rows, found,
):  # fmt: skip
    for start in prange(len(firsts)):
        data = (codes, n_bins, y, weight, n_classes, is_plain)
        prices = (own, groups, setup, evaluation, budget)
        found[start] = _rollout(
            data, rows.copy(), firsts[start], cuts[start], features, prices, spent, paid, opened,
            kind, power, min_rows,
        )  # fmt: skip


@compiled
def _rollout(data, rows, first, cut, features, prices, spent, paid, opened, kind, power, min_rows):
    """The impurity at the ends of one greedy tree, which begins with a given cut."""
    codes, _, y, weight, n_classes, _ = data
    own, groups, setup, evaluation, _ = prices
    accounts = np.zeros((MOST_SPLITS + 1, len(paid)), np.bool_)
    groups_open = np.zeros((MOST_SPLITS + 1, len(opened)), np.bool_)
    spents = np.zeros(MOST_SPLITS + 1)
    accounts[0], groups_open[0], spents[0] = paid, opened, spent
    todo = np.zeros((2 * MOST_SPLITS + 2, 3), np.int64)  # parts of the rows, and the splits before them
    todo[0, 1], n_todo, total = len(rows), 1, 0.0
    known = known_measures(len(rows), kind, data[-1])
    is_first = True
    while n_todo > 0:
        n_todo -= 1
        low, high, depth = todo[n_todo]
        part = rows[low:high]
        if is_first:
            feature = first
            is_first = False
        else:
            sums = np.zeros(n_classes)
            for i in part:
                sums[y[i]] += weight[i]
            here = impurity_of_weights(sums, kind)
            feature = -1
            if depth < MOST_SPLITS and high - low >= 2 * min_rows:
                feature, cut = _next_split(
                    data, part, here, features, prices, spents[depth], accounts, groups_open, depth, kind,
                    known, power, min_rows,
                )  # fmt: skip
            if feature < 0:
                total += here
                continue
        after = depth + 1
        accounts[after], groups_open[after], spents[after] = (
            accounts[depth], groups_open[depth], spents[depth] + evaluation,
        )  # fmt: skip
        if not accounts[after, feature]:
            spents[after] += _price(after, feature, groups_open, own, groups, setup)
            _mark_paid(after, feature, accounts, groups_open, groups)
        middle = low + _divide(codes[feature], part, cut)
        todo[n_todo, 0], todo[n_todo, 1], todo[n_todo, 2] = middle, high, after
        todo[n_todo + 1, 0], todo[n_todo + 1, 1], todo[n_todo + 1, 2] = low, middle, after
        n_todo += 2
    return total


@compiled
def _next_split(
    data, rows, here, features, prices, spent, accounts, groups_open, depth, kind, known, power, min_rows
):  # fmt: skip
    """The feature and the cut of the next split of a greedy tree; feature -1 if there is none.

    The best split on a paid feature comes before a purchase if it lowers the impurity as much.
    """
    codes, n_bins, y, weight, n_classes, is_plain = data
    own, groups, setup, evaluation, budget = prices
    new = free = -1
    new_cut = free_cut = -1
    rate, new_fall, free_fall = 0.0, 0.0, 0.0
    part = rows_together(rows, y, weight)
    counts, sums = count_tables(n_bins.max() + 1, n_classes, is_plain)
    for f in features:
        price = 0.0 if accounts[depth, f] else _price(depth, f, groups_open, own, groups, setup)
        if not _fits(spent, price + evaluation, budget):
            continue
        n = n_bins[f] + 1
        impurity, cut = best_cut(codes[f], part, kind, known, min_rows, counts[:n], sums[:n])
        fall = here - impurity
        if fall <= ENOUGH * here:
            continue
        if accounts[depth, f]:
            if fall > free_fall:
                free, free_cut, free_fall = f, cut, fall
        elif fall / power[f] > rate:
            new, new_cut, new_fall, rate = f, cut, fall, fall / power[f]
    if free >= 0 and free_fall >= new_fall:
        return free, free_cut
    return new, new_cut


@compiled
def _divide(codes, rows, cut):
    """Put the rows in bins up to `cut` first, in their order; gives their number."""
    others, n_low, n_high = np.empty(len(rows), np.int64), 0, 0
    for i in rows:
        if codes[i] <= cut:
            rows[n_low] = i
            n_low += 1
        else:
            others[n_high] = i
            n_high += 1
    rows[n_low:] = others[:n_high]
    return n_low
