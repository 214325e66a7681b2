"""A cache directory of finished fits, from which an interrupted search resumes.

There is one file for each fit, named by a digest of everything that determines the fit: its training rows,
the learner with its parameters (prices and seed included) and the version of miserly. Files are saved plans,
which hold data only: a folder from elsewhere can change results but execute nothing. Files are written
atomically, so several processes may share a folder. Links in the folder are neither read nor replaced.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from pickle import PicklingError
from typing import Any

import joblib
import numpy as np

import miserly
from miserly.data.frames import is_frame, read_frame
from miserly.data.rows import Rows
from miserly.errors import DataError, PlanError, PlanFormatError
from miserly.plan import Plan
from miserly.plan.store.format import load_file
from miserly.selection.candidates import CandidateLearner

__all__ = ["Cache", "FittedPlan", "digest_of", "key_of"]

_NOTE = "frontier"  # where a plan's info has the key it is kept under
_IDLE = ("n_jobs", "verbose")  # parameters that no model depends on


@dataclass(frozen=True, eq=False)
class FittedPlan:
    """The plan of a fit, and the seconds it took."""

    plan: Plan
    seconds: float


class Cache:
    """A folder of plans."""

    def __init__(self, folder: Any) -> None:
        self.folder = Path(folder)
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
        except (FileExistsError, NotADirectoryError):
            raise DataError(f"cache: {self.folder} is no folder, nor can it be made one") from None

    def find(self, key: str) -> FittedPlan | None:
        """The fit that was saved under a key; None if there is none, or it is damaged."""
        path = self._path(key)
        try:
            plan = load_file(path, follow_links=False)
        except FileNotFoundError:
            return None
        except (PlanFormatError, OSError) as error:
            self._ignore(path, str(error))
            return None
        note = plan.info.get(_NOTE)
        if not isinstance(note, Mapping) or note.get("key") != key or not _is_time(note.get("seconds")):
            self._ignore(path, "it is the plan of something else")
            return None
        info = {name: note for name, note in plan.info.items() if name != _NOTE}
        return FittedPlan(plan.replace(info=info), float(note["seconds"]))

    def keep(self, key: str, fitted: FittedPlan) -> None:
        note = {_NOTE: {"key": key, "seconds": fitted.seconds}}
        try:
            fitted.plan.replace(info={**fitted.plan.info, **note}).save(self._path(key))
        except (PlanError, OSError) as error:
            warnings.warn(f"cache: a fit could not be kept in {self.folder}: {error}", stacklevel=2)

    def _path(self, key: str) -> Path:
        return self.folder / f"{key}.plan"

    def _ignore(self, path: Path, why: str) -> None:
        what = why if str(path) in why else f"{path}: {why}"
        warnings.warn(f"cache: {what}; it is fitted again", stacklevel=3)


def _is_time(seconds: Any) -> bool:
    return isinstance(seconds, (int, float)) and 0.0 <= seconds < np.inf


def digest_of(rows: Rows) -> str:
    """A digest of rows, labels and queries, and of the order they are in."""
    if is_frame(rows.X):
        table = read_frame(rows.X)
        given: Any = (table.names, table.categories, np.ascontiguousarray(table.values))
    else:
        given = np.ascontiguousarray(rows.X)
    return str(joblib.hash((given, rows.y, rows.qid), hash_name="sha1"))


def key_of(learner: CandidateLearner, value: float, rows: str) -> str | None:
    """The key of a fit to rows of this digest; None if a parameter has no digest."""
    try:
        parts = (miserly.__version__, rows, _key_part(learner.ready(value)))
        return str(joblib.hash(parts, hash_name="sha1"))
    except (PicklingError, TypeError, AttributeError) as error:
        warnings.warn(f"cache: fits of {learner.name} cannot be kept: {error}", stacklevel=2)
        return None


def _key_part(thing: Any) -> Any:
    """An estimator as its class and the parameters that models depend on; anything else as it is."""
    if not hasattr(thing, "get_params") or isinstance(thing, type):
        return thing
    params = thing.get_params(deep=False)
    kind = type(thing)
    return (
        f"{kind.__module__}.{kind.__qualname__}",
        {name: _key_part(given) for name, given in params.items() if name not in _IDLE},
    )
