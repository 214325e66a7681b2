"""Rows and labels for models of other libraries: missing values, categories, and values at the limits."""

import numpy as np

N_TRAIN, N_TEST = 2000, 10_000
N_CATEGORIES = 12


def make_rows(n, *, missing, categorical, seed=0):
    """Six columns: three of numbers, whole numbers with zeros, one of tenths, and codes if `categorical`."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 6))
    X[:, 3] = rng.integers(-2, 3, n)
    X[:, 4] = np.round(X[:, 4], 1)
    if categorical:
        X[:, 5] = rng.integers(0, N_CATEGORIES, n)
    if missing:
        X[rng.random(X.shape) < 0.15] = np.nan
    known = np.nan_to_num(X)
    signal = known[:, 0] + known[:, 1] * known[:, 3] + (known[:, 5] % 3 == 1) + 0.3 * rng.normal(size=n)
    return X, signal


def new_rows(categorical, seed=1):
    """10,000 rows to compare, with missing values, zeros and values of extreme size."""
    X, _ = make_rows(N_TEST, missing=True, categorical=categorical, seed=seed)
    X[0] = np.nan
    X[1] = 0.0
    for row, value in enumerate([1e-36, -1e-36, 1e-35, -1e-35, 1e30, -1e30, -0.0, 1e-45, 5e-324], start=2):
        X[row, :5] = value
    return X


def labels_for(kind, signal):
    """Labels that suit an objective."""
    return {
        "numbers": lambda: signal,
        "two": lambda: (signal > 0).astype(np.int64),
        "four": lambda: np.digitize(signal, [-1.0, 0.0, 1.0]),
        "positive": lambda: np.exp(signal / 3),
        "share": lambda: 1.0 / (1.0 + np.exp(-signal)),
    }[kind]()


def differences(found, expected):
    """The largest difference, relative to the size of the expected numbers."""
    found, expected = np.asarray(found, dtype=np.float64), np.asarray(expected, dtype=np.float64)
    assert found.shape == expected.shape
    return float(np.max(np.abs(found - expected) / np.maximum(np.abs(expected), 1e-30)))
