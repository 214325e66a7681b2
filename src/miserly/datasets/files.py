"""Data sets by name: the bundled one, and the `.npz` files of the folder that MISERLY_DATA names.

A file holds `X`, `y` and `feature_names`, and where they exist `qid`, `split`, `classes`, `categorical`,
`categories`, `cost`, `cost_discounted`, `group`, `group_cost`, `group_names`, `currency`; other arrays are
passed on as they are. No file is ever unpickled.
"""

from __future__ import annotations

import json
import os
import zipfile
from dataclasses import replace
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from miserly.costs import Costs
from miserly.datasets.dataset import Dataset
from miserly.datasets.heart import load_heart
from miserly.errors import DataError, did_you_mean

__all__ = ["VARIABLE", "load", "names"]

VARIABLE = "MISERLY_DATA"
Arrays: TypeAlias = dict[str, NDArray[Any]]

_BUNDLED = {"heart_statlog": load_heart}
_UNDERSTOOD = {
    *("X", "y", "feature_names", "qid", "split", "split_names", "classes", "categorical", "categories"),
    *("levels", "group", "group_names", "group_cost", "cost_discounted", "currency"),
}


def names() -> tuple[str, ...]:
    """The names that `load` knows: the bundled set, and every file in the folder MISERLY_DATA names.

    >>> "heart_statlog" in names()
    True
    """
    folder = _folder()
    found = [] if folder is None else [path.stem for path in folder.glob("*.npz")]
    return tuple(sorted({*_BUNDLED, *found}))


def load(name: str, costs: Any = None) -> Dataset:
    """The data set of that name, with its real prices if it has them.

    Turney's rule (the first test of a group pays more) becomes a feature cost and a set-up. Sets without
    prices, or with some missing, have `costs=None`: pass your own, as `Costs` or as anything `Costs` takes.

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
        raise DataError(f"{VARIABLE} names {given!r}, which is no folder")
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
    labels = _words(arrays.get("group_names"))
    return Dataset(
        X=arrays["X"],
        y=arrays["y"],
        costs=_costs(arrays, columns),
        feature_names=columns,
        qid=arrays.get("qid"),
        split=arrays.get("split"),
        classes=_words(arrays.get("classes")),
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
    """The real prices; None if there are none or not for all.

    A feature's own cost is what it costs once its group is open, and the group's set-up is the rest of what
    the first feature of the group costs.
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
    """Which columns are categorical, and the words for their codes: per column, or the same for all."""
    if "levels" in arrays:
        n_columns = arrays["X"].shape[1]
        words = tuple(str(level) for level in arrays["levels"])
        return np.ones(n_columns, dtype=np.bool_), dict.fromkeys(range(n_columns), words)
    if "categorical" not in arrays:
        return None, None
    listed = arrays.get("categories", np.array([], dtype=str)).tolist()
    return arrays["categorical"], {i: tuple(json.loads(text)) for i, text in enumerate(listed) if text}


def _words(values: NDArray[Any] | None) -> tuple[str, ...] | None:
    return None if values is None else tuple(str(value) for value in values)
