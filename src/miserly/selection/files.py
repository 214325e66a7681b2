"""Files of a search: a cache directory of finished fits, and temporary files that its processes share.

An interrupted search resumes from the cache. There is one file for each fit, named by a digest of everything
that determines the fit: its training rows, the learner with its parameters (prices and seed included) and the
version of miserly. Files are saved plans, which hold data only: a folder that is not trusted can change
results but cannot execute code. Files are written atomically, so several processes may share a folder. Links
in the folder are neither read nor replaced.
"""

from __future__ import annotations

import mmap
import os
import shutil
import struct
import tempfile
import time
import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from pickle import PicklingError
from typing import IO, Any

import joblib
import numpy as np
from joblib.externals.loky.backend import resource_tracker

import miserly
from miserly.data.frames import is_frame, read_frame
from miserly.data.rows import Rows
from miserly.errors import DataError, PlanError, PlanFormatError
from miserly.plan import Plan
from miserly.plan.store.format import load_file
from miserly.selection.candidates import CandidateLearner

__all__ = ["Cache", "CompileClock", "FittedPlan", "SharedFile", "digest_of", "key_of", "tell_clock"]

_NOTE = "frontier"  # where a plan's info has the key it is kept under
_IDLE = ("n_jobs", "verbose")  # parameters that do not change the model


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
            raise DataError(f"cache: {self.folder} is not a folder and cannot be created") from None

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
            self._ignore(path, "it is the plan of another fit")
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
    """A digest of rows, labels, queries and weights, and of the order they are in."""
    if is_frame(rows.X):
        table = read_frame(rows.X)
        given: Any = (table.names, table.categories, np.ascontiguousarray(table.values))
    else:
        given = np.ascontiguousarray(rows.X)
    parts: tuple[Any, ...] = (given, rows.y, rows.qid)
    if rows.weight is not None:
        parts = (*parts, rows.weight)
    if rows.outcomes is not None:
        table = rows.outcomes
        parts = (*parts, table.classes, table.actions, np.ascontiguousarray(table.table))
        if table.amounts is not None:
            parts = (*parts, table.names, table.typical, table.amounts.columns, table.amounts.factors)
    if rows.row_costs is not None:
        parts = (*parts, rows.row_costs.known, tuple(rows.row_costs.prices))
    return str(joblib.hash(parts, hash_name="sha1"))


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


# -- temporary files -----------------------------------------------------------------------------------------
#
# They are always removed at the end of a search. On Linux such a file has no name in any folder: the system
# deletes it when no process has it open, however those processes ended. Other processes open it through
# /proc of the process that created it. On other systems it is in a temporary folder. joblib's resource
# tracker, a separate process, removes this folder if this process ends without doing so.

_PREFIX = "miserly-"
_PROCESSES = "/proc"
_CLOCK = struct.Struct("=dd")  # seconds of compiling that are over, and when the present one began (0: none)


class SharedFile:
    """A temporary file, open here, that processes started from here can open by its `path`."""

    def __init__(self) -> None:
        self._folder: str | None = None
        self.file: IO[bytes] = tempfile.TemporaryFile(prefix=_PREFIX)  # noqa: SIM115
        self.path = f"{_PROCESSES}/{os.getpid()}/fd/{self.file.fileno()}"
        try:
            open(self.path, "rb").close()
        except OSError:
            self.file.close()
            self._open_in_folder()

    def _open_in_folder(self) -> None:
        self._folder = tempfile.mkdtemp(prefix=_PREFIX)
        resource_tracker.register(self._folder, "folder")
        self.path = str(Path(self._folder) / "shared")
        self.file = open(self.path, "w+b")  # noqa: SIM115

    def close(self) -> None:
        """Close the file. If it has a name, it is removed; other processes must have closed it before."""
        self.file.close()
        if self._folder is not None:
            shutil.rmtree(self._folder, ignore_errors=True)
            resource_tracker.unregister(self._folder, "folder")
            self._folder = None


class CompileClock:
    """How many seconds another process has spent compiling so far, while it goes on."""

    def __init__(self) -> None:
        self._shared = SharedFile()
        self._shared.file.write(_CLOCK.pack(0.0, 0.0))
        self._shared.file.flush()
        self._memory = mmap.mmap(self._shared.file.fileno(), _CLOCK.size)
        self._last = 0.0
        self.path = self._shared.path

    def seconds(self) -> float:
        """The seconds so far; once it is stopped, those until then."""
        if not self._memory.closed:
            spent, since = _CLOCK.unpack(self._memory[:])
            self._last = float(spent + (time.monotonic() - since if since else 0.0))
        return self._last

    def stop(self) -> None:
        """Stop counting: the other process is ended, possibly while it compiles."""
        self.seconds()
        self._memory.close()

    def close(self) -> None:
        self.stop()
        self._shared.close()


def tell_clock(path: str) -> Callable[[float, float | None], None]:
    """A function that the other process calls with the state of its clock (`clock.on_change`)."""
    with open(path, "r+b") as file:
        memory = mmap.mmap(file.fileno(), _CLOCK.size)

    def tell(spent: float, since: float | None) -> None:
        memory[:] = _CLOCK.pack(spent, since or 0.0)

    return tell
