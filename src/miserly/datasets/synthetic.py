"""Synthetic sets of the papers.

Where a paper leaves a number open (such as the distance between regions), it is chosen here so that the set
has the properties that the paper states; the tests check them.
"""

from __future__ import annotations

import numpy as np

from miserly.costs import Costs
from miserly.datasets.dataset import Dataset
from miserly.errors import DataError

__all__ = ["make_quadrants", "make_ring", "make_xor_afr"]

XOR_PRICES = (1.0, 1.0, 1.0, 2.0, 5.0, 15.0, 25.0, 70.0, 100.0, 1000.0)
QUADRANT_MEANS = {"++": -3.0, "-+": -1.0, "+-": 1.0, "--": 3.0}


def make_xor_afr(n: int = 1000, random_state: int | np.random.Generator | None = None) -> Dataset:
    """XOR of four square regions, observed through ten noisy projections.

    A feature is the coordinate along a random direction plus Gaussian noise of variance 1 / cost, so more
    expensive features are more precise (thesis, Fig. 2.7).

    Parameters
    ----------
    n : int, default=1000
        Number of rows.
    random_state : int, Generator or None, default=None
        Random seed.

    Returns
    -------
    Dataset
        Two classes, ten features that cost from 1 to 1000. The last 36 % of the rows are the test set, as in
        the paper (640 and 360 of 1000).

    Examples
    --------
    >>> data = make_xor_afr(random_state=0)
    >>> data.X.shape, int(data.split.sum()), data.costs.total
    ((1000, 10), 360, 1220.0)
    """
    rng = _generator(n, random_state)
    side = rng.choice([-1.0, 1.0], size=(n, 2))
    points = side * rng.uniform(0.4, 1.2, size=(n, 2))
    angle = rng.uniform(0.0, np.pi, size=len(XOR_PRICES))
    noise = rng.standard_normal((n, len(XOR_PRICES))) / np.sqrt(XOR_PRICES)
    names = tuple(f"f{i}" for i in range(len(XOR_PRICES)))
    return Dataset(
        X=points @ np.array([np.cos(angle), np.sin(angle)]) + noise,
        y=(side[:, 0] * side[:, 1] > 0).astype(np.int64),
        costs=Costs(dict(zip(names, XOR_PRICES, strict=True))),
        feature_names=names,
        split=(np.arange(n) >= round(0.64 * n)).astype(np.int8),
        classes=("different signs", "same sign"),
        description="XOR of four regions behind ten noisy projections (AFR's synthetic set)",
    )


def make_quadrants(n: int = 1000, random_state: int | np.random.Generator | None = None) -> Dataset:
    """Regression where two cheap features tell which of four expensive features equals the label.

    The features sign(x) and sign(z) cost 1. Each of four experts costs 10; it equals the label in its own
    quadrant and is a random label elsewhere (thesis 3.7.1). Labels are N(mean of the quadrant, 1), higher
    where z < 0. The least cost of a perfect prediction is 12.

    Parameters
    ----------
    n : int, default=1000
        Number of rows.
    random_state : int, Generator or None, default=None
        Random seed.

    Returns
    -------
    Dataset
        Six features and a numeric label.

    Examples
    --------
    >>> data = make_quadrants(400, random_state=0)
    >>> data.feature_names, data.costs.of(["sign_x", "sign_z", "expert_--"])
    (('sign_x', 'sign_z', 'expert_++', 'expert_-+', 'expert_+-', 'expert_--'), 12.0)
    """
    rng = _generator(n, random_state)
    sign = np.where(rng.uniform(-1.0, 1.0, size=(n, 2)) > 0, 1.0, -1.0)
    means = np.array(list(QUADRANT_MEANS.values()))
    quadrant = np.where(sign[:, 0] > 0, 0, 1) + np.where(sign[:, 1] > 0, 0, 2)
    y = means[quadrant] + rng.standard_normal(n)
    experts = rng.choice(means, size=(n, 4)) + rng.standard_normal((n, 4))
    experts[np.arange(n), quadrant] = y
    names = ("sign_x", "sign_z", *(f"expert_{where}" for where in QUADRANT_MEANS))
    return Dataset(
        X=np.hstack([sign, experts]),
        y=y,
        costs=Costs(dict(zip(names, [1.0] * 2 + [10.0] * 4, strict=True))),
        feature_names=names,
        description="Four quadrants, each with its own expert feature (CSTC's synthetic set)",
    )


def make_ring(n: int = 600, random_state: int | np.random.Generator | None = None) -> Dataset:
    """Gaussian blob (class 0) inside a noisy ring (class 1), half of the points each (thesis, Fig. 4.2).

    The two coordinates are free; evaluating a kernel costs 1.

    Parameters
    ----------
    n : int, default=600
        Number of rows.
    random_state : int, Generator or None, default=None
        Random seed.

    Returns
    -------
    Dataset
        Two classes, two features.

    Examples
    --------
    >>> data = make_ring(random_state=0)
    >>> data.X.shape, int(data.y.sum()), data.costs.evaluation
    ((600, 2), 300, 1.0)
    """
    rng = _generator(n, random_state)
    inside = (n + 1) // 2
    blob = rng.standard_normal((inside, 2))
    angle = rng.uniform(0.0, 2.0 * np.pi, size=n - inside)
    radius = 4.0 + 0.6 * rng.standard_normal(n - inside)
    ring = radius[:, None] * np.column_stack([np.cos(angle), np.sin(angle)])
    order = rng.permutation(n)
    return Dataset(
        X=np.vstack([blob, ring])[order],
        y=np.repeat([0, 1], [inside, n - inside])[order],
        costs=Costs({"x": 0.0, "z": 0.0}, evaluation=1.0, unit="kernels"),
        feature_names=("x", "z"),
        classes=("blob", "ring"),
        description="A blob inside a ring (CVM's synthetic set)",
    )


def _generator(n: int, random_state: int | np.random.Generator | None) -> np.random.Generator:
    if n < 1:
        raise DataError(f"a data set needs at least one row, not {n}")
    return np.random.default_rng(random_state)
