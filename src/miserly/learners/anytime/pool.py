"""The columns that an acquirer models, and the pool of features that it may buy.

A feature of numbers is one column. A categorical feature is an indicator for each of its most frequent
categories. `choose_pool` is the one place that decides which features an acquirer may buy.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from miserly.costs import Costs, fits, read_budget
from miserly.data.rows import Rows
from miserly.solvers.mixture import discriminant_order

__all__ = ["PoolColumns", "choose_pool", "read_columns"]

CLIP = 6.0  # standard deviations
MOST_CATEGORIES = 16  # indicators of a feature
MOST_ROWS = 10_000  # that choose the pool
MOST_SCREENED = 1_000  # columns whose covariances are compared

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class PoolColumns:
    """Columns made from features: feature, category, centre and scale, as `MixtureAcquisition` has them.

    Parameters
    ----------
    feature, category : int arrays of (n_columns,)
        The feature of each column, and the code of its category or -1.
    centre, scale : arrays of (n_columns,)
        Mean and standard deviation.
    clip : float, default=6.0
        Largest absolute value.
    """

    feature: Ints
    category: Ints
    centre: Floats
    scale: Floats
    clip: float = CLIP

    def take(self, columns: Ints) -> PoolColumns:
        """Some of the columns."""
        return replace(
            self,
            feature=self.feature[columns],
            category=self.category[columns],
            centre=self.centre[columns],
            scale=self.scale[columns],
        )

    def standardised(self, X: NDArray[Any]) -> Floats:
        """The values of the columns in rows, NaN where they are missing."""
        raw = _raw(X, self.feature, self.category)
        return np.clip((raw - self.centre) / self.scale, -self.clip, self.clip)


def _raw(X: NDArray[Any], feature: Ints, category: Ints) -> Floats:
    raw = X[:, feature].astype(np.float64)
    coded = category >= 0
    raw[:, coded] = np.where(np.isnan(raw[:, coded]), np.nan, raw[:, coded] == category[coded])
    return raw


def read_columns(samples: Rows, categorical: NDArray[np.bool_]) -> PoolColumns:
    """The columns of all features that have more than one value.

    Parameters
    ----------
    samples : Rows
        Training rows.
    categorical : bool array of (n_features,)
        Features that become indicators of their categories.

    Returns
    -------
    PoolColumns
    """
    pairs = [(f, code) for f in range(samples.X.shape[1]) for code in _codes(samples, f, categorical[f])]
    feature, category = np.array(pairs, dtype=np.int64).reshape(-1, 2).T
    weight = np.ones(len(samples)) if samples.weight is None else samples.weight
    centre, scale = np.zeros(len(feature)), np.zeros(len(feature))
    for q in range(len(feature)):
        values = _raw(samples.X, feature[q : q + 1], category[q : q + 1])[:, 0]
        known = np.isfinite(values)
        if known.any():
            centre[q] = np.average(values[known], weights=weight[known])
            scale[q] = np.sqrt(np.average((values[known] - centre[q]) ** 2, weights=weight[known]))
    varies = np.flatnonzero(scale > 1e-9 * np.maximum(1.0, np.abs(centre)))
    return PoolColumns(feature, category, centre, scale).take(varies)


def _codes(samples: Rows, f: int, categorical: bool) -> list[int]:
    """The codes of the indicators of a feature; -1 for a feature of numbers."""
    if not categorical:
        return [-1]
    values = samples.X[:, f]
    known = np.isfinite(values) & (values >= 0)
    weight = None if samples.weight is None else samples.weight[known]
    share = np.bincount(values[known].astype(np.int64), weight)
    return np.argsort(-share, kind="stable")[: min(MOST_CATEGORIES, np.count_nonzero(share))].tolist()


def choose_pool(
    samples: Rows,
    columns: PoolColumns,
    costs: Costs,
    budget: float | None,
    size: int,
    price_exponent: float,
    seed: int,
) -> PoolColumns | None:
    """The columns of the features to model, in the order of stepwise discriminant analysis.

    Parameters
    ----------
    samples : Rows
        Training rows, with classes as codes.
    columns : PoolColumns
        The columns of all features.
    costs : Costs
        Prices of the features.
    budget : float or None
        Features that cost more are left out.
    size : int
        Largest number of features.
    price_exponent : float
        Gains are divided by the price to this power.
    seed : int
        Random seed of the rows that are used, if there are very many.

    Returns
    -------
    PoolColumns or None
        None if no feature varies, or none fits the budget.
    """
    limit, nothing = read_budget(budget), np.zeros(len(costs), dtype=np.bool_)
    affordable = np.asarray(fits(0.0, costs.marginals(nothing), limit))
    columns = columns.take(np.flatnonzero(affordable[columns.feature]))
    if not len(columns.feature):
        return None
    some = samples
    if len(samples) > MOST_ROWS:
        some = samples.take(np.sort(np.random.default_rng(seed).permutation(len(samples))[:MOST_ROWS]))
    values = np.nan_to_num(columns.standardised(some.X))
    kept = _screened(values, some, columns, costs, price_exponent)
    columns, values = columns.take(kept), values[:, kept]
    bought = nothing.copy()

    def take(gain: Floats) -> Ints:
        score = _per_price(gain, columns, costs.marginals(bought), price_exponent)
        score[bought[columns.feature]] = -1.0
        if score.max() < 0.0:
            return np.zeros(0, dtype=np.int64)
        f = columns.feature[score.argmax()]
        bought[f] = True
        return np.flatnonzero(columns.feature == f)

    steps = discriminant_order(values, some.y, size, take, weight=some.weight)
    return columns.take(np.concatenate(steps))


def _screened(
    values: Floats, samples: Rows, columns: PoolColumns, costs: Costs, price_exponent: float
) -> Ints:
    """All columns, or of very many, those of the features that separate the classes best by themselves."""
    if len(columns.feature) <= MOST_SCREENED:
        return np.arange(len(columns.feature))
    weight = np.ones(len(values)) if samples.weight is None else samples.weight
    between = np.zeros(values.shape[1])
    for k in np.unique(samples.y):
        rows = samples.y == k
        between += weight[rows].sum() * np.average(values[rows], axis=0, weights=weight[rows]) ** 2
    price = costs.marginals(np.zeros(len(costs), dtype=np.bool_))
    score = _per_price(between, columns, price, price_exponent)
    order = dict.fromkeys(columns.feature[np.argsort(-score, kind="stable")][:MOST_SCREENED].tolist())
    return np.flatnonzero(np.isin(columns.feature, list(order)))


def _per_price(gain: Floats, columns: PoolColumns, price: Floats, price_exponent: float) -> Floats:
    """Gains of columns by the price of their features; free features come first."""
    own = price[columns.feature]
    largest = gain.max(initial=0.0) + 1.0
    paid = np.where(own > 0.0, own, 1.0) ** price_exponent
    return np.where(own > 0.0, gain / paid, gain + (largest / paid.min() if price_exponent else 0.0))
