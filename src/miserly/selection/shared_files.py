"""Temporary files that the processes of a search share, and that are always removed at its end.

On Linux such a file has no name in any folder: it is gone once no process has it open, however those
processes ended. Others open it by way of the process that made it. Elsewhere it is in a temporary folder,
which joblib's resource tracker, a process of its own, removes if this process ends without doing so.
"""

from __future__ import annotations

import mmap
import os
import shutil
import struct
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import IO

from joblib.externals.loky.backend import resource_tracker

__all__ = ["CompileClock", "SharedFile", "tell_clock"]

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
        """Let the file go; where it has a name, other processes must have closed it."""
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
        """Count no further: the other process is ended, maybe while it compiles."""
        self.seconds()
        self._memory.close()

    def close(self) -> None:
        self.stop()
        self._shared.close()


def tell_clock(path: str) -> Callable[[float, float | None], None]:
    """A function for the other process to call with what its clock shows (`clock.on_change`)."""
    with open(path, "r+b") as file:
        memory = mmap.mmap(file.fileno(), _CLOCK.size)

    def tell(spent: float, since: float | None) -> None:
        memory[:] = _CLOCK.pack(spent, since or 0.0)

    return tell
