"""Small data sets for the learners' tests."""

from __future__ import annotations

import numpy as np
import pytest


class Sets:
    """Rows whose label depends on a few of their columns, as numbers, classes and grades of queries."""

    def __init__(self, n=400, seed=0):
        rng = np.random.default_rng(seed)
        self.X = rng.normal(size=(n, 6))
        signal = self.X[:, 0] + 2.0 * (self.X[:, 1] > 0) + 0.5 * np.abs(self.X[:, 2])
        self.y = signal + 0.2 * rng.normal(size=n)
        self.label = (self.y > np.median(self.y)).astype(int)
        self.classes = np.digitize(self.y, np.quantile(self.y, [0.3, 0.7]))
        self.grade = np.digitize(self.y, np.quantile(self.y, [0.5, 0.8, 0.95]))
        self.qid = np.repeat(np.arange(n // 10), 10)
        self.weight = rng.integers(1, 5, n) / 2.0
        self.costs = [5.0, 3.0, 2.0, 1.0, 1.0, 0.0]


@pytest.fixture(scope="session")
def sets():
    return Sets()
