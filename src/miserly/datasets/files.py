"""Data sets by name: the bundled one, and the `.npz` files of the folder in MISERLY_DATA.

A file holds `X`, `y` and `feature_names`, and where they exist `qid`, `split`, `classes`, `categorical`,
`categories`, `cost`, `cost_discounted`, `group`, `group_cost`, `group_names`, `currency`; other arrays are
kept in `Dataset.extra`. No file is ever unpickled.
"""

from __future__ import annotations

import json
import os
import zipfile
from dataclasses import replace
from importlib.resources import as_file, files
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from miserly.costs import Costs
from miserly.datasets.dataset import Dataset
from miserly.errors import DataError, did_you_mean

__all__ = ["VARIABLE", "load", "load_heart", "names"]

VARIABLE = "MISERLY_DATA"
Arrays: TypeAlias = dict[str, NDArray[Any]]

_UNDERSTOOD = {
    *("X", "y", "feature_names", "qid", "split", "split_names", "classes", "categorical", "categories"),
    *("levels", "group", "group_names", "group_cost", "cost_discounted", "currency"),
}


def names() -> tuple[str, ...]:
    """Names of the data sets that `load` can read.

    Returns
    -------
    tuple of str
        The bundled set and the `.npz` files of the folder in the environment variable MISERLY_DATA, sorted.

    Raises
    ------
    DataError
        If MISERLY_DATA is not a folder.

    Examples
    --------
    >>> "heart_statlog" in names()
    True
    """
    folder = _folder()
    found = [] if folder is None else [path.stem for path in folder.glob("*.npz")]
    return tuple(sorted({*_BUNDLED, *found}))


def load(name: str, costs: Any = None) -> Dataset:
    """Load a data set by name, with its real costs if it has them.

    Parameters
    ----------
    name : str
        One of `names`.
    costs : Costs, array-like or mapping of str to float, optional
        Costs to use instead of those of the file.

    Returns
    -------
    Dataset
        The data set. Its `costs` is None if the file lacks the cost of some feature and none are passed.

    Raises
    ------
    DataError
        If there is no such data set, or its file is damaged.

    Notes
    -----
    In Turney's costs the first test of a group costs more than the others. The difference becomes the set-up
    cost of the group.

    Examples
    --------
    >>> load("heart_statlog").costs.unit
    'CAD'
    >>> load("heart_statlog", costs=range(13)).costs.of(["thal"])
    12.0
    """
    data = _BUNDLED[name]() if name in _BUNDLED else _read(_path(name))
    if costs is None:
        return data
    given = costs if isinstance(costs, Costs) else Costs(costs)
    return replace(data, costs=given.bind(data.feature_names))


def _folder() -> Path | None:
    given = os.environ.get(VARIABLE)
    if not given:
        return None
    if not Path(given).is_dir():
        raise DataError(f"{VARIABLE} names {given!r}, which is not a folder")
    return Path(given)


def _path(name: str) -> Path:
    folder = _folder()
    if folder is None:
        raise DataError(
            f"no data set {name!r} is bundled{did_you_mean(name, _BUNDLED) or '.'} "
            f"For others, set {VARIABLE} to the folder of their .npz files"
        )
    if name not in names():
        raise DataError(f"no data set {name!r} in {folder}{did_you_mean(name, names())}")
    return folder / f"{name}.npz"


def _read(path: Path) -> Dataset:
    arrays = _read_arrays(path)
    columns = tuple(str(name) for name in arrays["feature_names"])
    categorical, categories = _categories(arrays)
    structural = "group" in arrays and "group_cost" not in arrays
    labels = _texts(arrays.get("group_names"))
    return Dataset(
        X=arrays["X"],
        y=arrays["y"],
        costs=_costs(arrays, columns),
        feature_names=columns,
        qid=arrays.get("qid"),
        split=arrays.get("split"),
        classes=_texts(arrays.get("classes")),
        description=path.stem,
        categorical=categorical,
        categories=categories,
        groups=arrays["group"].astype(np.int64) if structural else None,
        group_names=labels if structural else None,
        extra={key: values for key, values in arrays.items() if key not in _UNDERSTOOD},
    )


def _read_arrays(path: Path) -> Arrays:
    try:
        with np.load(path, allow_pickle=False) as archive:
            arrays = {key: archive[key] for key in archive.files}
    except (zipfile.BadZipFile, ValueError, EOFError) as error:
        raise DataError(f"{path} is not a sound .npz file ({error})") from None
    for key in ("X", "y", "feature_names"):
        if key not in arrays:
            raise DataError(f"{path} has no array {key!r}")
    return arrays


def _costs(arrays: Arrays, columns: tuple[str, ...]) -> Costs | None:
    """Real costs, or None if some are missing.

    The cost of a feature is its cost after its group is set up. The set-up cost of a group is the rest of
    what its first feature costs.
    """
    cost = arrays.get("cost")
    if cost is None or not np.isfinite(cost).all():
        return None
    groups = {}
    if "group_cost" in arrays:
        cost = arrays["cost_discounted"]
        for g, setup in enumerate(arrays["group_cost"].tolist()):
            members = [columns[i] for i in np.flatnonzero(arrays["group"] == g)]
            groups[str(arrays["group_names"][g])] = {"features": members, "setup": setup}
    unit = str(arrays.get("currency", ""))
    return Costs(dict(zip(columns, cost.tolist(), strict=True)), groups=groups, unit=unit)


def _categories(arrays: Arrays) -> tuple[NDArray[np.bool_] | None, dict[int, tuple[str, ...]] | None]:
    """Mask of categorical columns, and the names of their codes: per column, or the same for all."""
    if "levels" in arrays:
        n_columns = arrays["X"].shape[1]
        labels = tuple(str(level) for level in arrays["levels"])
        return np.ones(n_columns, dtype=np.bool_), dict.fromkeys(range(n_columns), labels)
    if "categorical" not in arrays:
        return None, None
    listed = arrays.get("categories", np.array([], dtype=str)).tolist()
    return arrays["categorical"], {i: tuple(json.loads(text)) for i, text in enumerate(listed) if text}


def _texts(values: NDArray[Any] | None) -> tuple[str, ...] | None:
    return None if values is None else tuple(str(value) for value in values)


# -- the bundled table ---------------------------------------------------------------------------------------


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


_BUNDLED = {"heart_statlog": load_heart}
