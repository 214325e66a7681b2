"""What an acquisition believes about a row, in NumPy; `compiled_beliefs` has the same, equal to the bit.

Beliefs are the components of a mixture, conditioned on the values observed so far by an incremental Cholesky
factorisation: each observation adds one line to the factor of each component. Operations run over the columns
of the pool; sums over components go one after the other, as in compiled code. Means, variances and factors
are in single precision, which halves the memory that a purchase reads. Probabilities are in double precision.

The steps of a row are: observe what it knows, then again and again `gains`, `choose`, pay, `observe`.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from miserly.costs import RowPrices, fits
from miserly.costs.prices import mark_paid, prices_by_row
from miserly.plan import links
from miserly.plan.acquisition import MixtureTable

__all__ = [
    "Beliefs",
    "acquire_rows",
    "choose",
    "decide",
    "gains",
    "log_scores",
    "observe",
    "observe_feature",
    "posterior",
    "power",
    "prior_gains",
    "restart",
    "standardised",
]

Floats = NDArray[np.float64]
Singles = NDArray[np.float32]

ONE = np.float32(1.0)
LEAST_SHARE = 1e-6  # components that are less probable are given up
LEAST_PART = 1e-4  # components that are less probable do not count in gains
LEAST_VARIANCE = np.float32(1e-4)  # of a column given others
LEAST_CHANCE = 1e-12  # of a class, in scores
SURE = 1e-12  # tolerance of the confidence


class Beliefs(NamedTuple):
    """The components given what was observed, for one row at a time."""

    share: Floats  # (n_components,) their probabilities; 0 where given up
    mean: Singles  # (n_components, n_columns)
    variance: Singles
    factor: Singles  # (n_columns, n_components, n_columns), a line for each observation
    ratio: Floats  # (n_columns,) how well each column tells the classes apart, by `gains`
    drop: Floats  # (n_columns,) the expected decrease of the Brier score, by `gains`
    chances: Floats  # (n_classes,) by `posterior`
    seen: NDArray[np.int64]  # (1,) the number of observations

    @classmethod
    def empty(cls, table: MixtureTable) -> Beliefs:
        """Room for beliefs; `restart` makes them those about a row of which nothing is known."""
        c, n = table.mean.shape
        return cls(
            share=np.zeros(c),
            mean=np.zeros((c, n), dtype=np.float32),
            variance=np.zeros((c, n), dtype=np.float32),
            factor=np.empty((n, c, n), dtype=np.float32),
            ratio=np.zeros(n),
            drop=np.zeros(n),
            chances=np.zeros(len(table.start) - 1),
            seen=np.zeros(1, dtype=np.int64),
        )

    def copy(self) -> Beliefs:
        """The same beliefs, which change by themselves from here."""
        factor = np.empty_like(self.factor)
        factor[: self.seen[0]] = self.factor[: self.seen[0]]
        copies: dict[str, Any] = {
            name: part.copy() for name, part in self._asdict().items() if name != "factor"
        }
        return Beliefs(**copies, factor=factor)


def restart(table: MixtureTable, beliefs: Beliefs) -> None:
    """Forget the row."""
    beliefs.share[:] = table.weight
    beliefs.mean[:] = table.mean
    for c in range(table.mean.shape[0]):
        for q in range(table.mean.shape[1]):
            beliefs.variance[c, q] = table.covariance[c, q, q]
    beliefs.seen[0] = 0


def standardised(table: MixtureTable, q: int, x: float) -> float:
    """The value of column `q` where its feature has the value `x`."""
    code, clip = table.category[q], table.numbers[3]
    if code >= 0:
        x = 1.0 if x == code else 0.0
    return min(max((x - table.centre[q]) / table.scale[q], -clip), clip)


def observe(table: MixtureTable, beliefs: Beliefs, q: int, z: float) -> None:
    """Condition the components on the value `z` of column `q`."""
    t, live = int(beliefs.seen[0]), np.flatnonzero(beliefs.share)
    inverse = ONE / np.sqrt(beliefs.variance[live, q])
    line = table.covariance[live, q]
    for before in beliefs.factor[:t]:
        some = before[live]
        line -= some[:, q][:, None] * some
    line *= inverse[:, None]
    error = (np.float32(z) - beliefs.mean[live, q]) * inverse
    beliefs.factor[t, live] = line
    beliefs.variance[live] = np.maximum(LEAST_VARIANCE, beliefs.variance[live] - line * line)
    beliefs.mean[live] += error[:, None] * line
    beliefs.seen[0] = t + 1
    squared, sharpness = error.astype(np.float64) ** 2, table.numbers[4]
    density = links.exp(-0.5 * sharpness * (squared - squared.min()))
    density *= power(inverse.astype(np.float64), sharpness)
    weight = beliefs.share[live] * density
    weight[weight < LEAST_SHARE * _sum(weight)] = 0.0
    beliefs.share[live] = weight / _sum(weight)


def power(x: Any, exponent: float) -> Any:
    """``x ** exponent`` for quarters from 0 to 1, by square roots. For compiled code as well.

    >>> power(np.array([16.0]), 0.75).tolist()
    [8.0]
    """
    quarter = np.sqrt(np.sqrt(x))
    found = quarter
    for _ in range(round(4.0 * exponent) - 1):
        found = found * quarter
    return found


def observe_feature(table: MixtureTable, beliefs: Beliefs, p: int, x: float) -> None:
    """Observe the value `x` of feature `p` of the pool; a missing value teaches nothing."""
    if x == x:
        for q in range(int(table.first[p]), int(table.first[p + 1])):
            observe(table, beliefs, q, standardised(table, q, x))


def _sum(values: Floats) -> Any:
    """The sum of an array or of its lines, one after the other."""
    return np.add.accumulate(values, axis=0)[-1]


def posterior(table: MixtureTable, beliefs: Beliefs) -> float:
    """Set the probabilities of the classes; gives the largest."""
    shares, start = beliefs.share, table.start.tolist()
    total = _sum(shares)
    for k in range(len(start) - 1):
        beliefs.chances[k] = _sum(shares[start[k] : start[k + 1]]) / total
    return float(beliefs.chances.max())


def prior_gains(table: MixtureTable) -> MixtureTable:
    """The table with what each column tells while nothing is known. All rows begin with these gains."""
    beliefs = Beliefs.empty(table)
    restart(table, beliefs)
    posterior(table, beliefs)
    gains(table, beliefs)
    return table._replace(ratio=beliefs.ratio, drop=beliefs.drop)


def gains(table: MixtureTable, beliefs: Beliefs) -> None:
    """Set what each column is expected to tell about the class. `posterior` comes before."""
    start, n = table.start.tolist(), beliefs.mean.shape[1]
    means: list[tuple[Any, Floats]] = []
    mean, square = np.zeros(n, np.float32), np.zeros(n, np.float32)
    for k in range(len(start) - 1):
        own = np.arange(start[k], start[k + 1])
        own = own[beliefs.share[own] >= LEAST_PART]
        if own.size:
            share, centre = beliefs.share[own].astype(np.float32)[:, None], beliefs.mean[own]
            parts = share * (centre * centre + beliefs.variance[own])
            square = _sum(np.concatenate([square[None], parts]))
            own_mean = _sum(share * centre)
            means.append((beliefs.chances[k], own_mean.astype(np.float64)))
            mean = mean + own_mean
    mean, square = mean.astype(np.float64), square.astype(np.float64)
    between, drop = np.zeros(n), np.zeros(n)
    for chance, own_mean in means:
        covariance = own_mean - chance * mean
        drop = drop + covariance * covariance
        between = between + covariance * covariance / np.sqrt(chance)
    variance = np.maximum(square - mean * mean, np.float64(LEAST_VARIANCE))
    beliefs.ratio[:] = between / variance
    beliefs.drop[:] = drop / variance


def choose(first: Any, ratio: Any, drop: Any, due: Any, exponent: float, tradeoff: float) -> int:
    """The place in the pool of the feature to buy, -1 if none is worth it. For compiled code as well.

    `due` are prices, below 0 for features that were observed or do not fit the budget.
    """
    best, chosen = -1.0, -1
    for p in range(len(due)):
        price = due[p]
        if price < 0.0:
            continue
        gain, worth = 0.0, 0.0
        for q in range(first[p], first[p + 1]):
            gain, worth = max(gain, ratio[q]), max(worth, drop[q])
        if worth < tradeoff * price:
            continue
        if exponent == 0.0:
            score = gain
        elif price == 0.0:
            score = math.inf
        else:
            score = gain / (price if exponent == 1.0 else price**exponent)
        if score > best:
            best, chosen = score, p
    return chosen


def decide(table: MixtureTable, beliefs: Beliefs, due: Any) -> int:
    """The place in the pool of the feature to buy, -1 if the row is sure or none is worth it.

    `due` are prices as for `choose`. Afterwards the probabilities of the classes are up to date.
    """
    exponent, confidence, tradeoff, _, _ = table.numbers.tolist()
    if posterior(table, beliefs) >= confidence - SURE:
        return -1
    if beliefs.seen[0]:
        gains(table, beliefs)
    else:
        beliefs.ratio[:], beliefs.drop[:] = table.ratio, table.drop
    lists = (table.first.tolist(), beliefs.ratio.tolist(), beliefs.drop.tolist(), due.tolist())
    return choose(*lists, exponent, tradeoff)


def log_scores(chances: Any, n_outputs: int) -> list[float]:
    """Scores from the probabilities of the classes: logarithms, or with one output the log odds.

    >>> log_scores([0.5, 0.5], 1)
    [0.0]
    """
    logs = [math.log(max(chance, LEAST_CHANCE)) for chance in chances]
    return [logs[1] - logs[0]] if n_outputs == 1 else logs


# -- rows of a run -------------------------------------------------------------------------------------------


def acquire_rows(
    table: MixtureTable,
    X: NDArray[Any],
    rows: NDArray[np.int64],
    acquired: NDArray[np.bool_],
    opened: NDArray[np.bool_],
    spent: Floats,
    prices: RowPrices,
    budget: float,
    chances: Floats,
) -> None:
    """Acquire features for some rows, one row after the other; `chances` gets their class probabilities."""
    beliefs = Beliefs.empty(table)
    pool = table.pool
    for r, i in enumerate(rows.tolist()):
        restart(table, beliefs)
        left = [not taken for taken in acquired[i, pool].tolist()]
        for p in range(len(pool)):
            if not left[p]:
                observe_feature(table, beliefs, p, float(X[i, pool[p]]))
        while True:
            price = prices_by_row(np.full(len(pool), i), pool, acquired, opened, prices)
            due = np.where(left & fits(spent[i], price, budget), price, -1.0)
            p = decide(table, beliefs, due)
            if p < 0:
                break
            spent[i] += due[p]
            mark_paid(i, int(pool[p]), acquired, opened, prices.groups)
            left[p] = False
            observe_feature(table, beliefs, p, float(X[i, pool[p]]))
        chances[r] = beliefs.chances
