"""Small data sets for the grower's tests."""

from __future__ import annotations

import numpy as np
import pytest

from miserly.costs import Costs


def grid(values, bits=20):
    """Rounded to multiples of 2**-bits: sums of such numbers are exact in float64 too, so ties are ties."""
    return np.round(np.asarray(values) * 2.0**bits) / 2.0**bits


class Data:
    """Mixed columns: continuous, coarse, constant, missing values, categories, copies."""

    def __init__(self, seed, n=260, missing=True, categorical=True):
        rng = np.random.default_rng(seed)
        latent = rng.normal(size=(n, 4))
        columns = [latent[:, 0], np.round(latent[:, 1] * 2), latent[:, 2] + rng.normal(size=n), np.ones(n)]
        columns += [columns[1], -latent[:, 0], rng.integers(0, 2, n), rng.normal(size=n)]
        X = np.column_stack(columns).astype(np.float32)
        if missing:
            X[rng.random(n) < 0.2, 2] = np.nan
            X[latent[:, 3] > 0.8, 7] = np.nan
        codes = rng.integers(0, 9, n)
        effect = rng.normal(size=9)
        self.categorical = None
        if categorical:
            X = np.column_stack([X, codes.astype(np.float32)])
            if missing:
                X[rng.random(n) < 0.1, 8] = np.nan
            self.categorical = np.arange(9) == 8
        signal = latent[:, 0] + np.abs(latent[:, 1]) + 0.5 * latent[:, 3] + effect[codes]
        self.X = X
        self.y = grid(signal + 0.3 * rng.normal(size=n))
        self.label = (signal > np.median(signal)).astype(float)
        self.weight = rng.integers(1, 9, n) / 4.0
        d = X.shape[1]
        prices = rng.choice([0.0, 1.0, 2.0, 5.0, 10.0], d)
        self.costs = Costs(prices)
        groups = {"a": {"features": [0, 2], "setup": 3.0}, "b": {"features": [5, 7], "setup": 0.5}}
        self.grouped = Costs(prices, groups=groups)


@pytest.fixture(scope="session")
def data():
    made = {}

    def get(seed, **rest):
        key = (seed, *sorted(rest.items()))
        if key not in made:
            made[key] = Data(seed, **rest)
        return made[key]

    return get
