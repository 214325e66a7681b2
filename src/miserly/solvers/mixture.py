"""Class-conditional Gaussian mixtures, and an order of the columns that separate classes.

`fit_mixture` estimates, for each class `k`, a mixture of Gaussian components. K-means finds the components,
which minimises the squared distances of rows to the centres of their own class::

    sum_i w_i |x_i - m_c(i)|^2

The covariance of a component is shrunk in three steps. With the scatter ``S`` of rows around the centres of
their components, their total weight ``n`` (mean weight 1), `d` columns and ``s = shrinkage * d``::

    pooled     P   = (sum_k S_k + s diag(sum_k S_k) / n) / (n + s)
    class      W_k = (S_k + s P) / (n_k + s)
    component  C_c = (S_c + s W_k) / (n_c + s)

so that few rows lean on their class, and a class with few rows on all classes. Missing values are replaced by
the mean of the column in the class.

`discriminant_order` is stepwise discriminant analysis. Each step takes the column with the largest ratio of
its variance to its variance within the classes, both given the columns taken before (Wilks' lambda), less 1
and per price.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.cluster import KMeans

__all__ = ["ClassMixture", "discriminant_order", "fit_mixture"]

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

RIDGE = 0.05  # added to the variance of standardised columns where they are put in order
LEAST_ROWS = 50  # rows for each component
MOST_ITERATIONS = 40  # of k-means
LEAST_REST = 0.02  # share of the variance of a column that others must leave for it to be taken


class ClassMixture(NamedTuple):
    """A mixture of Gaussian components for each class; components are in the order of classes."""

    weight: Floats  # (n_components,), sums to 1
    label: Ints  # (n_components,)
    mean: Floats  # (n_components, d)
    covariance: Floats  # (n_components, d, d)


def fit_mixture(
    X: Floats,
    y: Ints,
    n_components: int,
    *,
    weight: Floats | None = None,
    shrinkage: float = 0.5,
    seed: int = 0,
) -> ClassMixture:
    """Fit a mixture of Gaussian components to each class.

    Parameters
    ----------
    X : array of (n, d)
        Standardised columns. Missing values are NaN.
    y : int array of (n,)
        Classes 0, 1, ..., each with a row.
    n_components : int
        Largest number of components of a class. There are fewer in classes with fewer than 50 rows for each.
    weight : array of (n,), optional
        Weights of the rows. Their scale has no effect.
    shrinkage : float, default=0.5
        Rows for each column that the covariance of the class, and of all classes, counts as.
    seed : int, default=0
        Random seed of k-means.

    Returns
    -------
    ClassMixture

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> y = np.arange(4000) % 2
    >>> X = rng.normal(size=(4000, 1)) * 0.5 + np.where(y == 1, 2.0, 0.0)[:, None]
    >>> found = fit_mixture(X, y, 1)
    >>> (found.mean.round(1) + 0.0).tolist(), found.weight.tolist()
    ([[0.0], [2.0]], [0.5, 0.5])
    """
    given = np.ones(len(X)) if weight is None else weight / weight.mean()
    filled = _filled(X, y, given)
    cluster = _clusters(filled, y, n_components, given, seed)
    label = np.array([y[cluster == c][0] for c in range(cluster.max() + 1)], dtype=np.int64)
    sizes, means, scatters = _moments(filled, cluster, given)
    n, d = float(given.sum()), filled.shape[1]
    prior = shrinkage * d
    total = scatters.sum(axis=0)
    pooled = (total + prior * np.diag(np.diag(total)) / n) / (n + prior)
    covariance = np.empty_like(scatters)
    for k in range(int(label.max()) + 1):
        own = np.flatnonzero(label == k)
        of_class = (scatters[own].sum(axis=0) + prior * pooled) / (sizes[own].sum() + prior)
        for c in own:
            covariance[c] = (scatters[c] + prior * of_class) / (sizes[c] + prior)
    return ClassMixture(sizes / n, label, means, covariance)


def _clusters(X: Floats, y: Ints, n_components: int, weight: Floats, seed: int) -> Ints:
    """The cluster of each row by k-means within its class, numbered in the order of classes."""
    cluster, first = np.zeros(len(y), dtype=np.int64), 0
    for k in range(int(y.max()) + 1):
        rows = np.flatnonzero(y == k)
        some = max(1, min(n_components, len(rows) // LEAST_ROWS, len(np.unique(X[rows], axis=0))))
        if some > 1:
            means = KMeans(some, n_init=1, max_iter=MOST_ITERATIONS, random_state=seed)
            means.fit(X[rows], sample_weight=weight[rows])
            _, own = np.unique(means.labels_, return_inverse=True)
            cluster[rows] = first + own
        else:
            cluster[rows] = first
        first = int(cluster[rows].max()) + 1
    return cluster


def discriminant_order(
    X: Floats,
    y: Ints,
    n_steps: int,
    take: Callable[[Floats], Ints],
    *,
    weight: Floats | None = None,
) -> list[Ints]:
    """Take columns one after the other, by how well they separate classes, given those taken before.

    Parameters
    ----------
    X : array of (n, d)
        Standardised columns, without missing values.
    y : int array of (n,)
        Classes 0, 1, ..., each with a row.
    n_steps : int
        Number of steps.
    take : callable
        Gets what each column brings, and returns the columns to take; no columns end the order.
    weight : array of (n,), optional
        Weights of the rows.

    Returns
    -------
    list of int arrays
        The columns of each step.

    Examples
    --------
    The second column separates the classes, and the third repeats it.

    >>> rng = np.random.default_rng(0)
    >>> y = np.arange(1000) % 2
    >>> X = rng.normal(size=(1000, 3)) + 0.1 * y[:, None]
    >>> X[:, 1] += 2 * y
    >>> X[:, 2] = X[:, 1] + 0.1 * X[:, 2]
    >>> steps = discriminant_order(X, y, 2, lambda gain: np.array([gain.argmax()]))
    >>> [columns.tolist() for columns in steps]
    [[1], [0]]
    """
    given = np.ones(len(X)) if weight is None else weight / weight.mean()
    _, _, scatters = _moments(X, y, given)
    ridge = RIDGE * np.eye(X.shape[1])
    within = scatters.sum(axis=0) / len(X) + ridge
    total = _moments(X, np.zeros(len(X), dtype=np.int64), given)[2][0] / len(X) + ridge
    least = LEAST_REST * np.diag(total) + 2.0 * RIDGE  # a copy of another column keeps twice the ridge
    steps: list[Ints] = []
    left = np.ones(X.shape[1], dtype=np.bool_)
    for _ in range(n_steps):
        gain = np.diag(total) / np.diag(within) - 1.0
        columns = take(np.where(left & (np.diag(total) > least), gain, 0.0))
        if not len(columns):
            break
        steps.append(columns)
        left[columns] = False
        for q in columns:
            within, total = _given(within, q), _given(total, q)
    return steps


def _given(covariance: Floats, q: int) -> Floats:
    """A covariance given column `q`; the ridge keeps its own variance above 0."""
    line = covariance[q] / np.sqrt(max(covariance[q, q], RIDGE))
    rest = covariance - np.outer(line, line)
    rest[np.diag_indices_from(rest)] = np.maximum(np.diag(rest), 1e-9)
    return rest


def _moments(X: Floats, cluster: Ints, weight: Floats) -> tuple[Floats, Floats, Floats]:
    """The weight, the mean and the scatter of each cluster."""
    n = int(cluster.max()) + 1
    sizes, means = np.zeros(n), np.zeros((n, X.shape[1]))
    scatters = np.zeros((n, X.shape[1], X.shape[1]))
    for c in range(n):
        rows = np.flatnonzero(cluster == c)
        own = weight[rows]
        sizes[c] = own.sum()
        means[c] = own @ X[rows] / sizes[c]
        rest = (X[rows] - means[c]) * np.sqrt(own)[:, None]
        scatters[c] = rest.T @ rest
    return sizes, means, scatters


def _filled(X: Floats, y: Ints, weight: Floats) -> Floats:
    """Missing values replaced by the mean of the column in the class, or in all classes."""
    missing = np.isnan(X)
    if not missing.any():
        return X
    X = np.where(missing, 0.0, X)
    present = weight[:, None] * ~missing
    overall = (present * X).sum(axis=0) / np.maximum(present.sum(axis=0), 1e-12)
    for k in range(int(y.max()) + 1):
        rows = y == k
        size = present[rows].sum(axis=0)
        mean = np.where(size > 0, (present[rows] * X[rows]).sum(axis=0) / np.maximum(size, 1e-12), overall)
        X[rows] = np.where(missing[rows], mean, X[rows])
    return X
