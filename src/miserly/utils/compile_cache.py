"""Compiled functions in files, so that the next process need not compile them again.

It does what numba's own cache does, but never stops a program, and never runs what it should not:

- Files are looked for in several folders and written to the first that can be written: that of
  NUMBA_CACHE_DIR, the package's own, the user's cache folder, a temporary one. Where none can be written,
  every process compiles for itself. The last two are told by one warning.
- A file has a checksum, so that one that was cut short or otherwise damaged is compiled again.
- A file has a stamp of all that settles what is in it: the sources of the function and of the functions it
  calls, the constants they use, and the versions of Python and numba. numba's own stamp is of one source
  file, so that a new version of the package could run functions of the old one.
- There is one file for each function and its argument types, which appears whole or not at all, and there is
  no index; so processes that write at the same time do each other no harm.
"""

from __future__ import annotations

import hashlib
import os
import pickle
import stat
import sys
import tempfile
import types
import uuid
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import llvmlite
import numba
import numpy as np
from numba.core import config as _config
from numba.core.compiler import CompileResult
from numba.core.dispatcher import Dispatcher
from numba.core.serialize import dumps
from numba.misc.appdirs import AppDirs

from miserly.utils.warn import warn_once

__all__ = ["Kept", "is_compiled", "stamp_of"]

_PACKAGE = Path(__file__).resolve().parents[1]
_NAME = f"miserly-{hashlib.sha256(os.fsencode(_PACKAGE)).hexdigest()[:12]}"  # of this installation alone
_SIZE = hashlib.sha256().digest_size
config: Any = _config  # its names are made while it is loaded
_CONSTANTS = (bool, int, float, complex, str, bytes, tuple, np.generic, np.dtype, np.ndarray)


class Kept:
    """The compiled versions of one function; numba asks it first, and hands over what it made."""

    def __init__(self, kernel: Any) -> None:
        self._kernel = kernel
        self._stamp: bytes | None = None

    @property
    def cache_path(self) -> str | None:
        """The folder that files are written to, if any."""
        folder = _folders.writable()
        return None if folder is None else str(folder)

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        """The compiled function for some argument types, if there is a sound file with it."""
        target_context.refresh()
        key = self._key(sig, target_context.codegen())
        for folder in _folders.readable():
            kept = self._read(folder / self._file_name(key), key)
            if kept is not None:
                return CompileResult._rebuild(target_context, *kept)
        return None

    def save_overload(self, sig: Any, result: Any) -> None:
        """Keep a compiled function, if it can be kept."""
        if result.library.has_dynamic_globals or any(not one.can_cache for one in result.lifted):
            return
        key = self._key(sig, result.codegen)
        body = self._stamped() + dumps((key, result._reduce()))
        _folders.write(self._file_name(key), hashlib.sha256(body).digest() + body)

    def enable(self) -> None:
        """Part of what numba asks of a cache; this one is always in use."""

    def disable(self) -> None:
        """Part of what numba asks of a cache; this one is always in use."""

    def flush(self) -> None:
        """Part of what numba asks of a cache; `recompile` writes over the files."""

    def _key(self, sig: Any, codegen: Any) -> tuple[Any, ...]:
        switches = (config.BOUNDSCHECK, config.OPT, config.DEBUGINFO_DEFAULT)
        return (sig, codegen.magic_tuple(), switches, sorted(map(str, self._kernel.targetoptions.items())))

    def _file_name(self, key: tuple[Any, ...]) -> str:
        function = self._kernel.py_func
        home = function.__module__.removeprefix("miserly.")
        return f"{home}.{function.__qualname__}-{hashlib.sha256(str(key).encode()).hexdigest()[:16]}.nbc"

    def _stamped(self) -> bytes:
        if self._stamp is None:
            self._stamp = stamp_of(self._kernel)
        return self._stamp

    def _read(self, path: Path, key: tuple[Any, ...]) -> Any:
        try:
            content = path.read_bytes()
        except OSError:
            return None
        checksum, body = content[:_SIZE], content[_SIZE:]
        if hashlib.sha256(body).digest() != checksum:
            warn_once("damaged", f"compiled functions in {path.parent} are damaged; they are compiled again")
            return None
        if body[:_SIZE] != self._stamped():
            return None
        found, kept = pickle.loads(body[_SIZE:])
        return kept if found == key else None


def is_compiled(thing: Any) -> bool:
    """Whether something is a function that numba compiles."""
    return isinstance(thing, Dispatcher)


def stamp_of(kernel: Any) -> bytes:
    """A digest of all that settles what a function does, wherever it is: sources, constants, versions."""
    sources: dict[str, bytes] = {}
    constants: set[str] = set()
    waiting, seen = [kernel.py_func], set()
    while waiting:
        function = waiting.pop()
        if function in seen:
            continue
        seen.add(function)
        sources[function.__module__] = _source(function.__code__)
        for name, value in _globals_of(function):
            inner = value.py_func if is_compiled(value) else value
            if isinstance(inner, types.FunctionType):
                waiting.append(inner)
            elif isinstance(value, _CONSTANTS):
                constants.add(f"{function.__module__}.{name}={value!r}")
    versions = (sys.version_info[:3], numba.__version__, llvmlite.__version__, np.__version__)
    settled = (versions, sorted(sources.items()), sorted(constants))
    return hashlib.sha256(repr(settled).encode()).digest()


def _globals_of(function: types.FunctionType) -> Iterator[tuple[str, Any]]:
    """What a function finds in its module, by name, and in cells of functions around it."""
    names = {*function.__code__.co_names, *_inner_names(function.__code__)}
    yield from ((name, function.__globals__[name]) for name in names if name in function.__globals__)
    cells = zip(function.__code__.co_freevars, function.__closure__ or (), strict=True)
    yield from ((name, cell.cell_contents) for name, cell in cells)


def _inner_names(code: types.CodeType) -> Iterator[str]:
    for inner in code.co_consts:
        if isinstance(inner, types.CodeType):
            yield from inner.co_names
            yield from _inner_names(inner)


def _source(code: types.CodeType) -> bytes:
    """A digest of the file a function is in; of its code where there is no file."""
    try:
        return _digest_of_file(code.co_filename)
    except OSError:
        return hashlib.sha256(code.co_code + repr(code.co_consts).encode()).digest()


@cache
def _digest_of_file(path: str) -> bytes:
    return hashlib.sha256(Path(path).read_bytes()).digest()


# -- folders -------------------------------------------------------------------------------------------------


class _Folders:
    """Where files are looked for, and where new ones go."""

    def __init__(self) -> None:
        self._writable: Path | None = None
        self._refused: set[Path] = set()

    def readable(self) -> list[Path]:
        """Every folder that files may be read from, in the order in which they are looked at."""
        temporary = _temporary()
        found = [*_usual(), *([temporary] if temporary is not None and _is_private(temporary.parent) else [])]
        return [folder for folder in found if folder.is_dir()]

    def writable(self) -> Path | None:
        """The first folder that files can be written to; it is made if need be."""
        if self._writable is not None:
            return self._writable
        for folder in _usual():
            if folder not in self._refused and _can_write(folder):
                self._writable = folder
                return folder
        self._writable = self._temporary_one()
        return self._writable

    def _temporary_one(self) -> Path | None:
        folder = _temporary()
        if folder is not None and folder not in self._refused and _can_write_privately(folder):
            warn_once(
                "temporary",
                f"compiled functions are kept in {folder}, which may not last: neither the package's folder "
                "nor the user's cache folder can be written. Set NUMBA_CACHE_DIR to a folder that can be",
            )
            return folder
        warn_once(
            "nowhere",
            "compiled functions cannot be kept, so that every process compiles them again: no folder can be "
            "written. Set NUMBA_CACHE_DIR to a folder that can be",
        )
        return None

    def write(self, name: str, content: bytes) -> None:
        """Write a file, in the first folder that takes it."""
        while (folder := self.writable()) is not None:
            try:
                _write(folder / name, content)
                return
            except OSError:  # full, say
                self._refused.add(folder)
                self._writable = None


_folders = _Folders()


def _usual() -> list[Path]:
    chosen = [Path(config.CACHE_DIR) / _NAME] if config.CACHE_DIR else []
    own = AppDirs(appname="miserly", appauthor=False).user_cache_dir
    return [*chosen, _PACKAGE / "__pycache__", Path(own) / _NAME]


def _temporary() -> Path | None:
    """A folder of this user alone, or none where there is no place for temporary files."""
    try:
        root = tempfile.gettempdir()
        if os.path.samefile(root, os.curdir):  # where Python finds no other place
            return None
    except OSError:
        return None
    return Path(root) / f"miserly-{os.getuid() if hasattr(os, 'getuid') else 'cache'}" / _NAME


def _can_write(folder: Path) -> bool:
    try:
        folder.mkdir(parents=True, exist_ok=True)
        tempfile.TemporaryFile(dir=folder).close()
    except OSError:
        return False
    return True


def _can_write_privately(folder: Path) -> bool:
    """Whether a folder below one that nobody else can write to can be written, now that it is made."""
    try:
        folder.parent.mkdir(mode=0o700, exist_ok=True)
    except OSError:
        return False
    return _is_private(folder.parent) and _can_write(folder)


def _is_private(folder: Path) -> bool:
    """Whether a folder is this user's and nobody else can write to it: files there are executed."""
    try:
        seen = folder.lstat()
    except OSError:
        return False
    if not hasattr(os, "getuid"):
        return stat.S_ISDIR(seen.st_mode)
    return stat.S_ISDIR(seen.st_mode) and seen.st_uid == os.getuid() and not seen.st_mode & 0o077


def _write(path: Path, content: bytes) -> None:
    """Write a file that appears whole or not at all; others may read it, as they may the package."""
    temporary = path.with_name(f"{path.name}.{uuid.uuid4().hex}.tmp")
    try:
        with open(temporary, "xb") as file:
            file.write(content)
        os.replace(temporary, path)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise
