"""The setting of Turney (1995): medical data sets, test prices and delays, splits and the standard cost."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from cost_trees import Bools, Floats, Ints, PriceList
from miserly import Costs
from miserly.datasets import load

SETS = ("heart_cleveland", "pima", "bupa_liver", "ann_thyroid")
TOTAL_PENALTIES = (100.0, 1000.0, 10000.0)
PENALTIES = (10.0, 50.0, 100.0, 500.0, 1000.0, 5000.0, 10000.0)


@dataclass(frozen=True, eq=False)
class Clinic:
    """A data set with test prices, without missing values."""

    name: str
    X: Floats
    y: Ints
    costs: Costs
    delayed: Bools

    @classmethod
    def read(cls, name: str) -> Clinic:
        """A set by its name; missing values are those of the nearest row."""
        data = load(name)
        assert data.costs is not None
        X = filled(np.asarray(data.X, dtype=np.float64))
        y = np.unique(data.y, return_inverse=True)[1].astype(np.int64)
        return cls(name, X, y, data.costs, np.asarray(data.extra["delayed"], dtype=np.bool_))

    @cached_property
    def prices(self) -> PriceList:
        return price_list(self.costs, self.delayed)

    @property
    def n_classes(self) -> int:
        return int(self.y.max()) + 1

    def standard_cost(self, penalty: float) -> float:
        """All tests, and the mistakes of the best constant answer: 100 % in all tables."""
        share = np.bincount(self.y) / len(self.y)
        return self.prices.total + float(1.0 - share.max()) * penalty

    def split(self, seed: int) -> tuple[Ints, Ints]:
        """Two thirds of the rows to learn from and one third to test on, at random."""
        order = np.random.default_rng(seed).permutation(len(self.y))
        n = round(2 * len(order) / 3)
        return order[:n], order[n:]


@dataclass(frozen=True)
class Outcome:
    """What one method paid for tests and how often it was wrong, on the test rows of one split."""

    clinic: str
    seed: int
    method: str
    delays: bool
    penalty: float
    tests: float
    error: float
    note: str = ""

    @property
    def total(self) -> float:
        return self.tests + self.penalty * self.error


def each_bill(prices: PriceList) -> Iterator[tuple[bool, PriceList]]:
    """With delayed results, and with all results at once."""
    yield True, prices
    yield False, prices.at_once()


def price_list(costs: Costs, delayed: Bools) -> PriceList:
    """The prices of `Costs` as arrays."""
    known = costs.to_dict()
    group = np.full(len(costs), -1)
    setup = []
    for g, one in enumerate(known.get("groups", {}).values()):
        group[[costs.index(name) for name in one["features"]]] = g
        setup.append(float(one["setup"]))
    own = np.array([float(price) for price in known["features"].values()])
    return PriceList(own, np.array(setup), group, delayed)


def filled(X: NDArray[np.float64]) -> Floats:
    """Missing values replaced by those of the nearest row that has them.

    Columns are scaled to run from 0 to 1, distances are sums of absolute differences, and a difference is 1
    if one of the two values is missing.
    """
    low, high = np.nanmin(X, axis=0), np.nanmax(X, axis=0)
    scaled = (X - low) / np.where(high > low, high - low, 1.0)
    complete = X.copy()
    for i in np.flatnonzero(np.isnan(X).any(axis=1)):
        distance = np.nan_to_num(np.abs(scaled - scaled[i]), nan=1.0).sum(axis=1)
        distance[i] = np.inf
        for f in np.flatnonzero(np.isnan(X[i])):
            complete[i, f] = X[np.where(np.isnan(X[:, f]), np.inf, distance).argmin(), f]
    return complete
