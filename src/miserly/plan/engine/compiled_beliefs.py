"""Compiled beliefs about rows: the same operations as `beliefs`, in loops."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from miserly.costs import prices as _prices
from miserly.plan import links
from miserly.plan.acquisition import MixtureTable
from miserly.plan.engine import beliefs as _beliefs
from miserly.plan.engine.beliefs import LEAST_PART, LEAST_SHARE, LEAST_VARIANCE, ONE, SURE, Beliefs
from miserly.plan.engine.threads import pieces, side_by_side
from miserly.utils.compiled import compiled

__all__ = ["acquire_rows", "decide", "gains", "observe_feature", "posterior", "restart"]

_part = compiled(forceinline=True)
_exp = _part(links.exp)
_fits = _part(_prices.fits)
_price = _part(_prices.row_price)
_mark_paid = _part(_prices.mark_paid)
_standardised = compiled()(_beliefs.standardised)
_power = compiled()(_beliefs.power)
restart = compiled()(_beliefs.restart)
_choose = compiled()(_beliefs.choose)


@compiled()
def _add_line(covariance, factor, count, c, q):
    """The new line of the factor of component `c`, not yet scaled: four earlier lines at a time."""
    line = factor[count, c]
    for f in range(line.shape[0]):
        line[f] = covariance[f]
    u = 0
    while u + 4 <= count:
        one, two, three, four = factor[u, c], factor[u + 1, c], factor[u + 2, c], factor[u + 3, c]
        a, b, g, h = one[q], two[q], three[q], four[q]
        for f in range(line.shape[0]):
            line[f] = (((line[f] - a * one[f]) - b * two[f]) - g * three[f]) - h * four[f]
        u += 4
    while u < count:
        one = factor[u, c]
        a = one[q]
        for f in range(line.shape[0]):
            line[f] -= a * one[f]
        u += 1
    return line


@compiled()
def observe(table, beliefs, q, z):
    """As `beliefs.observe`."""
    share, mean, variance, factor = beliefs.share, beliefs.mean, beliefs.variance, beliefs.factor
    count, sharpness = beliefs.seen[0], table.numbers[4]
    n_components, n = mean.shape
    errors, inverses = np.empty(n_components), np.empty(n_components)
    least, value = math.inf, np.float32(z)
    for c in range(n_components):
        if share[c] == 0.0:
            continue
        inverse = ONE / np.sqrt(variance[c, q])
        line = _add_line(table.covariance[c, q], factor, count, c, q)
        error = (value - mean[c, q]) * inverse
        own_mean, own_variance = mean[c], variance[c]
        for f in range(n):
            line[f] *= inverse
            rest = own_variance[f] - line[f] * line[f]
            own_variance[f] = rest if rest > LEAST_VARIANCE else LEAST_VARIANCE
            own_mean[f] += error * line[f]
        errors[c], inverses[c] = error, inverse
        least = min(least, errors[c] * errors[c])
    beliefs.seen[0] = count + 1
    total = 0.0
    for c in range(n_components):
        if share[c] > 0.0:
            squared = errors[c] * errors[c] - least
            share[c] = share[c] * (_exp(-0.5 * sharpness * squared) * _power(inverses[c], sharpness))
            total += share[c]
    kept = 0.0
    for c in range(n_components):
        if share[c] < LEAST_SHARE * total:
            share[c] = 0.0
        kept += share[c]
    for c in range(n_components):
        share[c] /= kept


@compiled()
def posterior(table, beliefs):
    """As `beliefs.posterior`."""
    share, start, chances = beliefs.share, table.start, beliefs.chances
    total = 0.0
    for c in range(share.shape[0]):
        total += share[c]
    top = 0.0
    for k in range(chances.shape[0]):
        chances[k] = 0.0
        for c in range(start[k], start[k + 1]):
            chances[k] += share[c]
        chances[k] /= total
        top = max(top, chances[k])
    return top


@compiled()
def gains(table, beliefs):
    """As `beliefs.gains`."""
    share, start, chances = beliefs.share, table.start, beliefs.chances
    n, n_classes = beliefs.mean.shape[1], chances.shape[0]
    means = np.zeros((n_classes, n), np.float32)
    mean, square = np.zeros(n, np.float32), np.zeros(n, np.float32)
    counts = np.zeros(n_classes, np.bool_)
    for k in range(n_classes):
        own = means[k]
        for c in range(start[k], start[k + 1]):
            if share[c] >= LEAST_PART:
                counts[k] = True
                part, centre, variance = np.float32(share[c]), beliefs.mean[c], beliefs.variance[c]
                for f in range(n):
                    own[f] += part * centre[f]
                    square[f] += part * (centre[f] * centre[f] + variance[f])
        if counts[k]:
            for f in range(n):
                mean[f] += own[f]
    ratio, drop = beliefs.ratio, beliefs.drop
    ratio[:], drop[:] = 0.0, 0.0
    for k in range(n_classes):
        if counts[k]:
            own, chance, root = means[k], chances[k], math.sqrt(chances[k])
            for f in range(n):
                covariance = np.float64(own[f]) - chance * np.float64(mean[f])
                drop[f] += covariance * covariance
                ratio[f] += covariance * covariance / root
    for f in range(n):
        rest = np.float64(square[f]) - np.float64(mean[f]) * np.float64(mean[f])
        rest = max(rest, np.float64(LEAST_VARIANCE))
        ratio[f] /= rest
        drop[f] /= rest


@compiled()
def decide(table, beliefs, due):
    """As `beliefs.decide`."""
    if posterior(table, beliefs) >= table.numbers[1] - SURE:
        return -1
    if beliefs.seen[0]:
        gains(table, beliefs)
    else:
        beliefs.ratio[:], beliefs.drop[:] = table.ratio, table.drop
    return _choose(table.first, beliefs.ratio, beliefs.drop, due, table.numbers[0], table.numbers[2])


@compiled()
def observe_feature(table, beliefs, p, x):
    if x == x:
        for q in range(table.first[p], table.first[p + 1]):
            observe(table, beliefs, q, _standardised(table, q, x))


@compiled()
def _acquire_row(table, beliefs, x, i, acquired, opened, spent, own, groups, setup, budget, due):
    """All purchases of row `i`, whose values are `x`."""
    pool = table.pool
    restart(table, beliefs)
    for p in range(pool.shape[0]):
        if acquired[i, pool[p]]:
            observe_feature(table, beliefs, p, np.float64(x[pool[p]]))
    while True:
        for p in range(pool.shape[0]):
            due[p] = -1.0
            if not acquired[i, pool[p]]:
                price = _price(i, pool[p], opened, own, groups, setup)
                due[p] = price if _fits(spent[i], price, budget) else -1.0
        p = decide(table, beliefs, due)
        if p < 0:
            return
        spent[i] += due[p]
        _mark_paid(i, pool[p], acquired, opened, groups)
        observe_feature(table, beliefs, p, np.float64(x[pool[p]]))


@compiled(nogil=True)
def _acquire_some(
    table, beliefs, X, rows, low, high, acquired, opened, spent, own, groups, setup, budget, chances
):
    """Acquire features for ``rows[low:high]``; `chances` gets their class probabilities."""
    due = np.empty(table.pool.shape[0])
    for r in range(low, high):
        i = rows[r]
        _acquire_row(table, beliefs, X[i], i, acquired, opened, spent, own, groups, setup, budget, due)
        for k in range(chances.shape[1]):
            chances[r, k] = beliefs.chances[k]


def acquire_rows(
    table: MixtureTable,
    X: NDArray[Any],
    rows: NDArray[np.int64],
    acquired: NDArray[np.bool_],
    opened: NDArray[np.bool_],
    spent: NDArray[np.float64],
    prices: _prices.RowPrices,
    budget: float,
    chances: NDArray[np.float64],
    n_threads: int | None = None,
) -> None:
    """As `beliefs.acquire_rows`, in threads."""

    def run_piece(low: int, high: int) -> None:
        beliefs = Beliefs.empty(table)
        books = (acquired, opened, spent, *prices, budget, chances)
        _acquire_some(table, beliefs, X, rows, low, high, *books)

    side_by_side(run_piece, pieces(len(rows), n_threads, len(rows)))
