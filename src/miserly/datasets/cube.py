"""The CUBE set, where a good first purchase depends on what is bought after it."""

from __future__ import annotations

import numpy as np

from miserly.costs import Costs
from miserly.datasets.dataset import Dataset
from miserly.errors import DataError

__all__ = ["CUBE_CLASSES", "make_cube"]

CUBE_CLASSES = 8


def make_cube(
    n: int = 1000,
    n_features: int = 20,
    noise: float = 0.1,
    random_state: int | np.random.Generator | None = None,
) -> Dataset:
    """Eight classes at the corners of a cube, each seen in three features of its own.

    The features ``k``, ``k + 1`` and ``k + 2`` of a row of class ``k`` are the three bits of ``k``, lowest
    first, with Gaussian noise. All other features are uniform between 0 and 1. So which features tell
    something depends on the class, and no feature tells the class alone (Rückstieß et al. 2013; Shim et al.
    2018).

    Parameters
    ----------
    n : int, default=1000
        Number of rows.
    n_features : int, default=20
        Number of features, at least 10. Those from 10 on are noise for every class.
    noise : float, default=0.1
        Standard deviation of the noise on the bits.
    random_state : int, Generator or None, default=None
        Random seed.

    Returns
    -------
    Dataset
        Eight classes of about equal size. Each feature costs 1.

    References
    ----------
    T. Rückstieß, C. Osendorfer, P. van der Smagt, "Minimizing data consumption with sequential online feature
    selection", 2013. H. Shim, S. J. Hwang, E. Yang, "Joint active feature acquisition and classification with
    variable-size set encoding", NeurIPS 2018.

    Examples
    --------
    >>> data = make_cube(5, random_state=0)
    >>> data.X.shape, data.y.tolist(), data.costs.total
    ((5, 20), [6, 5, 4, 2, 2], 20.0)
    """
    if n < 1 or n_features < CUBE_CLASSES + 2 or not noise >= 0.0:
        raise DataError(
            f"a cube needs at least one row, {CUBE_CLASSES + 2} features and a noise of 0 or more, "
            f"not n={n}, n_features={n_features}, noise={noise}"
        )
    rng = np.random.default_rng(random_state)
    y = rng.integers(CUBE_CLASSES, size=n)
    X = rng.uniform(size=(n, n_features))
    rows = np.arange(n)
    for bit in range(3):
        X[rows, y + bit] = (y >> bit & 1) + noise * rng.standard_normal(n)
    names = tuple(f"x{j}" for j in range(n_features))
    return Dataset(
        X=X,
        y=y,
        costs=Costs.uniform(names),
        feature_names=names,
        classes=tuple(map(str, range(CUBE_CLASSES))),
        description="Corners of a cube; which features tell something depends on the class (CUBE)",
    )
