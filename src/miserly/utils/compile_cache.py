"""Cache of compiled functions in files, shared by processes.

It replaces numba's own cache. It never stops a program, and never runs a function that is out of date:

- Files are read from several folders and written to the first writable one: NUMBA_CACHE_DIR, the package's
  folder, the user's cache folder, a temporary folder. If none is writable, every process compiles for itself.
  The last two cases give one warning.
- A file has a checksum. A damaged file is compiled again.
- A file has a digest of everything that determines its content: the sources of the function and of the
  functions that it calls, the constants they use, and the versions of Python and numba. numba's own digest
  covers one source file, so a new version of the package could run functions of the old one.
- There is one file for each function and its argument types. It is replaced atomically and there is no index,
  so processes may write at the same time.
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

from miserly.errors import warn_once

__all__ = ["FileCache", "is_compiled", "stamp_of"]

_PACKAGE = Path(__file__).resolve().parents[1]
_NAME = f"miserly-{hashlib.sha256(os.fsencode(_PACKAGE)).hexdigest()[:12]}"  # differs between installations
_SIZE = hashlib.sha256().digest_size
config: Any = _config  # numba defines its names at import
_CONSTANTS = (bool, int, float, complex, str, bytes, tuple, np.generic, np.dtype, np.ndarray)


class FileCache:
    """Cache of the compiled versions of one function, with the interface that numba expects."""

    def __init__(self, kernel: Any) -> None:
        self._kernel = kernel
        self._stamp: bytes | None = None

    @property
    def cache_path(self) -> str | None:
        """Folder that files are written to, if any."""
        folder = _folders.writable()
        return None if folder is None else str(folder)

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        """Return the compiled function for some argument types, or None if no valid file has it."""
        target_context.refresh()
        key = self._key(sig, target_context.codegen())
        for folder in _folders.readable():
            found = self._read(folder / self._file_name(key), key)
            if found is not None:
                return CompileResult._rebuild(target_context, *found)
        return None

    def save_overload(self, sig: Any, result: Any) -> None:
        """Write a compiled function, if numba can serialise it."""
        if result.library.has_dynamic_globals or any(not one.can_cache for one in result.lifted):
            return
        key = self._key(sig, result.codegen)
        body = self._stamped() + dumps((key, result._reduce()))
        _folders.write(self._file_name(key), hashlib.sha256(body).digest() + body)

    def enable(self) -> None:
        """Do nothing: numba requires the method, and this cache is always in use."""

    def disable(self) -> None:
        """Do nothing: numba requires the method, and this cache is always in use."""

    def flush(self) -> None:
        """Do nothing: numba requires the method, and `recompile` overwrites the files."""

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
        found, function = pickle.loads(body[_SIZE:])
        return function if found == key else None


def is_compiled(thing: Any) -> bool:
    """Whether an object is a function that numba compiles."""
    return isinstance(thing, Dispatcher)


def stamp_of(kernel: Any) -> bytes:
    """Digest of everything that determines a compiled function: sources, constants, versions."""
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
    inputs = (versions, sorted(sources.items()), sorted(constants))
    return hashlib.sha256(repr(inputs).encode()).digest()


def _globals_of(function: types.FunctionType) -> Iterator[tuple[str, Any]]:
    """Names and values that a function uses from its module and from enclosing functions."""
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
    """Digest of the file that defines a function; of its code where there is no file."""
    try:
        return _digest_of_file(code.co_filename)
    except OSError:
        return hashlib.sha256(code.co_code + repr(code.co_consts).encode()).digest()


@cache
def _digest_of_file(path: str) -> bytes:
    return hashlib.sha256(Path(path).read_bytes()).digest()


# -- folders -------------------------------------------------------------------------------------------------


class _Folders:
    """Folders that files are read from, and the one that they are written to."""

    def __init__(self) -> None:
        self._writable: Path | None = None
        self._refused: set[Path] = set()

    def readable(self) -> list[Path]:
        """Folders that files may be read from, in order."""
        temporary = _temporary()
        found = [*_usual(), *([temporary] if temporary is not None and _is_private(temporary.parent) else [])]
        return [folder for folder in found if folder.is_dir()]

    def writable(self) -> Path | None:
        """First folder that files can be written to, created if necessary; None if there is none."""
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
                f"compiled functions are stored in {folder}, which may not last: neither the package's "
                "folder nor the user's cache folder is writable. Set NUMBA_CACHE_DIR to a writable folder",
            )
            return folder
        warn_once(
            "nowhere",
            "compiled functions cannot be stored, so every process compiles them again: no folder is "
            "writable. Set NUMBA_CACHE_DIR to a writable folder",
        )
        return None

    def write(self, name: str, content: bytes) -> None:
        """Write a file to the first folder that accepts it."""
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
    """Temporary folder of this user, or None where there is no place for temporary files."""
    try:
        root = tempfile.gettempdir()
        if os.path.samefile(root, os.curdir):  # Python's last resort
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
    """Create a folder inside one that only this user can write to; gives whether that worked."""
    try:
        folder.parent.mkdir(mode=0o700, exist_ok=True)
    except OSError:
        return False
    return _is_private(folder.parent) and _can_write(folder)


def _is_private(folder: Path) -> bool:
    """Whether only this user can read and write a folder. Files there are executed."""
    try:
        seen = folder.lstat()
    except OSError:
        return False
    if not hasattr(os, "getuid"):
        return stat.S_ISDIR(seen.st_mode)
    return stat.S_ISDIR(seen.st_mode) and seen.st_uid == os.getuid() and not seen.st_mode & 0o077


def _write(path: Path, content: bytes) -> None:
    """Write a file atomically; other users may read it, as they may read the package."""
    temporary = path.with_name(f"{path.name}.{uuid.uuid4().hex}.tmp")
    try:
        with open(temporary, "xb") as file:
            file.write(content)
        os.replace(temporary, path)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise
