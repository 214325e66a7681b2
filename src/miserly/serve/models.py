"""The models that are served: read from files by the safe loader, and read again when the files change."""

from __future__ import annotations

import asyncio
import logging
import os
import re
import stat
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from miserly.errors import MiserlyError, ServeError
from miserly.plan import Plan, load
from miserly.runtime import OnDemand
from miserly.serve.garbage import freeze_loaded
from miserly.serve.problems import Problem, hint, one_line
from miserly.serve.settings import ServeSettings

__all__ = ["ModelFolder", "ServedModel", "model_name"]

SUFFIX = ".miser"
VERSIONS = 4  # kept for each name, so that open sessions can continue
MOST_MODELS = 1000
_FRESH = 2.0  # seconds: a file changed more recently may still be changing

_log = logging.getLogger("miserly.serve")

Signature = tuple[int, int, int]  # of a file: time of its last change, size, number
SourcesOf = Callable[[str], Any]


def model_name(path: Path) -> str:
    """Return the name of the model in a file: its stem, with characters that are not safe in a URL replaced.

    Parameters
    ----------
    path : Path
        The file.

    Returns
    -------
    str

    Examples
    --------
    >>> model_name(Path("plans/heart.miser")), model_name(Path("heart disease (2).miser"))
    ('heart', 'heart-disease-2')
    """
    name = re.sub(r"[^A-Za-z0-9._-]+", "-", path.stem).strip("-.")
    return name[:100] or "model"


@dataclass(frozen=True, eq=False)
class ServedModel:
    """One version of a model.

    Attributes
    ----------
    name : str
    plan : Plan
    digest : str
    served : OnDemand
        The plan with the server's sources.
    has_sources : bool
        Whether the server has sources for some features.
    loaded_at : float
        Seconds since 1970.
    columns : dict of str to int
        The column of each feature, by its name in JSON.
    sourced : frozenset
        The features for which the server has a source, by their names in the plan.
    """

    name: str
    plan: Plan
    digest: str
    served: OnDemand
    has_sources: bool
    loaded_at: float
    columns: dict[str, int]
    sourced: frozenset[Any]

    @classmethod
    def of(cls, name: str, plan: Plan, sources: Any = None, **rules: Any) -> ServedModel:
        """Return a model that is ready to answer. This compiles the walk through its plan.

        Parameters
        ----------
        name : str
            Its name.
        plan : Plan
            Its plan.
        sources : mapping, optional
            Sources of the server.
        **rules : object
            Options of `OnDemand`.

        Returns
        -------
        ServedModel
        """
        served = OnDemand(plan, sources or {}, **rules)
        columns = {str(plan.costs.name(f)): f for f in range(plan.n_features)}
        sourced = frozenset(
            plan.costs.name(f) for f, source in enumerate(served.sources) if not source.at_hand
        )
        return cls(name, plan, plan.digest, served, bool(sources), time.time(), columns, sourced)

    @property
    def title(self) -> str:
        """The title of the model for people."""
        title = self.plan.info.get("title")
        return title.strip() if isinstance(title, str) and title.strip() else self.name


@dataclass
class _Entry:
    """The state of one model name."""

    versions: list[ServedModel] = field(default_factory=list)  # the newest last
    problem: str | None = None
    signature: Signature | None = None  # of the last file that was read; None to read it again
    namesake: str | None = None  # the problem that another file has the same name
    present: bool = True


class ModelFolder:
    """The models in a file or a folder, by name.

    Parameters
    ----------
    settings : ServeSettings
        Their location, and limits of loading.
    sources : callable, optional
        Takes the name of a model and returns its sources.

    Attributes
    ----------
    n_reloads, n_failures : int
        Number of files that were loaded, and that could not be loaded.
    """

    def __init__(self, settings: ServeSettings, sources: SourcesOf | None = None) -> None:
        self._settings = settings
        self._path = Path(settings.models)
        self._is_folder = self._path.is_dir()
        self._sources = sources or (lambda name: None)
        self._entries: dict[str, _Entry] = {}
        self.n_reloads = 0
        self.n_failures = 0

    # -- looking up ----------------------------------------------------------------------------------

    def get(self, name: str) -> ServedModel:
        """Return the newest version of a model.

        Parameters
        ----------
        name : str
            Its name.

        Returns
        -------
        ServedModel

        Raises
        ------
        Problem
            404 if no model has this name.
        """
        entry = self._entries.get(name)
        if entry is None or not entry.present or not entry.versions:
            raise Problem(404, "no_model", f"there is no model of this name{hint(name, self.names)}")
        return entry.versions[-1]

    def at(self, name: str, digest: str) -> ServedModel:
        """Return one version of a model, which may be an older one.

        Parameters
        ----------
        name : str
            Its name.
        digest : str
            The digest of its plan.

        Returns
        -------
        ServedModel

        Raises
        ------
        Problem
            410 if that version is no longer kept.
        """
        entry = self._entries.get(name)
        for model in reversed(entry.versions if entry is not None else []):
            if model.digest == digest:
                return model
        raise Problem(410, "model_changed", "this version of the model is no longer served; begin again")

    @property
    def names(self) -> list[str]:
        """The sorted names of the models that are served."""
        return sorted(name for name, one in self._entries.items() if one.present and one.versions)

    @property
    def problems(self) -> dict[str, str]:
        """For each file that cannot be loaded, the model name and the reason."""
        found = {name: one.problem or one.namesake for name, one in sorted(self._entries.items())}
        return {name: problem for name, problem in found.items() if problem}

    # -- files ---------------------------------------------------------------------------------------

    def refresh(self) -> None:
        """Load files that are new or changed. This is slow: do not call it in the event loop."""
        try:
            files = self._files()
        except OSError as error:
            _log.error("cannot look for models: %s", error)
            return
        seen: dict[str, list[Path]] = {}
        for path in files:
            seen.setdefault(model_name(path), []).append(path)
        for name, paths in seen.items():
            self._refresh_one(name, paths[0])
            self._report_namesake(name, paths)
        for name, entry in self._entries.items():
            if name not in seen and entry.present:
                entry.present, entry.problem, entry.signature, entry.namesake = False, None, None, None
                _log.info("model %s: its file is gone", name)

    def _files(self) -> list[Path]:
        """The files that may hold models: the given file, or all files of the folder."""
        if not self._is_folder:
            return [self._path] if os.path.lexists(self._path) else []
        found = sorted(path for path in self._path.iterdir() if path.suffix == SUFFIX)
        if len(found) > MOST_MODELS:
            _log.error("%d models are too many; the first %d are served", len(found), MOST_MODELS)
        return found[:MOST_MODELS]

    def _refresh_one(self, name: str, path: Path) -> None:
        entry = self._entries.setdefault(name, _Entry())
        entry.present, data = True, None
        try:
            signature, data = self._read(path, entry.signature)
            if data is None:
                return
            entry.signature = signature
            plan = load(data)
            if (
                not entry.versions
                or plan.digest != entry.versions[-1].digest
                or plan.info != entry.versions[-1].plan.info
            ):
                self._add(name, entry, plan)
            entry.problem = None
        except (MiserlyError, OSError, MemoryError, RuntimeError) as error:  # a loop of links: RuntimeError
            reason = (error.strerror or "") if isinstance(error, OSError) else str(error)
            if data is None:  # not readable: it may be unchanged when it is readable again
                entry.signature = None
            if isinstance(error, RuntimeError) and not isinstance(error, MiserlyError):
                reason = "it cannot be read"
            self._report(name, path, f"the file on disk cannot be loaded: {reason or 'out of memory'}")

    def _report(self, name: str, path: Path, problem: str) -> None:
        """Keep the problem of a file, and log it if it is new."""
        entry = self._entries[name]
        if problem != entry.problem:
            self.n_failures += 1
            _log.error("model %s: %s: %s", name, one_line(str(path)), problem)
        entry.problem = problem

    def _report_namesake(self, name: str, paths: list[Path]) -> None:
        """Log once that several files have the same model name. The first one is served."""
        entry, problem = self._entries[name], None
        if len(paths) > 1:
            problem = f"{paths[1].name}: another file, {paths[0].name}, has the same model name"
            if problem != entry.namesake:
                self.n_failures += 1
                _log.error("model %s: %s", name, one_line(problem))
        entry.namesake = problem

    def _add(self, name: str, entry: _Entry, plan: Plan) -> None:
        settings = self._settings
        rules = {
            "timeout": settings.source_timeout,
            "retries": settings.retries,
            "threads": settings.source_threads,
        }
        model = ServedModel.of(name, plan, self._sources(name), **rules)
        others = [one for one in entry.versions if one.digest != model.digest]
        entry.versions = [*others, model][-VERSIONS:]
        self.n_reloads += 1
        _log.info("model %s: serving %s", name, model.digest[:12])

    def _read(self, path: Path, known: Signature | None) -> tuple[Signature | None, bytes | None]:
        """The signature and the bytes of a file; no bytes if the file has not changed."""
        real = path.resolve(strict=True)
        if self._is_folder and not real.is_relative_to(self._path.resolve()):
            raise ServeError("it is a link to a file outside the folder")
        found = os.stat(real, follow_symlinks=False)
        _check_file(found, self._settings.max_model_bytes)
        if known == _signature(found):
            return known, None
        flags = os.O_RDONLY | os.O_CLOEXEC | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_NOFOLLOW", 0)
        with open(os.open(real, flags), "rb") as file:
            found = os.fstat(file.fileno())
            _check_file(found, self._settings.max_model_bytes)  # it may have been replaced since
            data = file.read(found.st_size + 1)
        return (None if time.time() - found.st_mtime < _FRESH else _signature(found)), data

    # -- hot reload ----------------------------------------------------------------------------------

    @asynccontextmanager
    async def watched(self) -> AsyncIterator[None]:
        """Load all models, then again whenever their files change, until the end of the block."""
        await asyncio.to_thread(self.refresh)
        task = asyncio.create_task(self._watch()) if self._settings.reload_every > 0 else None
        try:
            yield
        finally:
            if task is not None:
                task.cancel()
                with suppress(asyncio.CancelledError):
                    await task

    async def _watch(self) -> None:
        while True:
            await asyncio.sleep(self._settings.reload_every)
            try:
                before = self.n_reloads
                await asyncio.to_thread(self.refresh)
                if self.n_reloads != before:
                    freeze_loaded()
            except Exception:  # the service continues with the loaded models
                _log.exception("looking for changed models failed")


def _signature(found: os.stat_result) -> Signature:
    return found.st_mtime_ns, found.st_size, found.st_ino


def _check_file(found: os.stat_result, most: int) -> None:
    if not stat.S_ISREG(found.st_mode):
        raise ServeError("it is not a regular file")
    if found.st_size > most:
        raise ServeError(f"it has {found.st_size} bytes, more than the {most} allowed (max_model_bytes)")
