"""The bundled table: heart disease, with the costs of its tests."""

from __future__ import annotations

from importlib.resources import as_file, files

import numpy as np

from miserly.costs import Costs
from miserly.datasets.dataset import Dataset

__all__ = ["load_heart"]


def load_heart() -> Dataset:
    """Statlog heart disease: 270 patients, 13 tests, costs in Canadian dollars.

    Returns
    -------
    Dataset
        Two classes, 13 features. The first test of a group (blood, a thallium scan, an exercise test) pays
        the set-up cost of the group; every further test pays only its own cost.

    Notes
    -----
    Data: UCI Machine Learning Repository, CC BY 4.0; see `data/heart_statlog_LICENSE.txt`. Costs: [1]_.

    References
    ----------
    .. [1] P. D. Turney, Cost-sensitive classification: empirical evaluation of a hybrid genetic decision tree
       induction algorithm, JAIR 2, 1995.

    Examples
    --------
    >>> data = load_heart()
    >>> data.X.shape, data.classes
    ((270, 13), ('absence', 'presence'))
    >>> round(data.costs.of(["chol"]), 2), round(data.costs.marginal("fbs", bought=["chol"]), 2)
    (7.27, 3.1)
    """
    folder = files("miserly.datasets") / "data"
    with as_file(folder / "heart_statlog_costs.csv") as path:
        costs = Costs.read(path)
    with as_file(folder / "heart_statlog.csv") as path:
        table = np.loadtxt(path, delimiter=",", skiprows=1)
    assert costs.names is not None
    return Dataset(
        X=np.ascontiguousarray(table[:, :-1]),
        y=table[:, -1].astype(np.int64),
        costs=costs,
        feature_names=costs.names,
        classes=("absence", "presence"),
        description="Statlog (Heart), UCI, CC BY 4.0; test costs of Turney (1995) in Canadian dollars",
    )
