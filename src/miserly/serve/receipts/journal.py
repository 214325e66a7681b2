"""The journal: files of one process that hold receipts until they are in the database.

A journal is a lock file and numbered segments. Its process locks the lock file as long as it runs. So another
process can see that a journal is abandoned, and move the remaining receipts to the database.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import secrets
import threading
import time
import weakref
from collections import deque
from collections.abc import Iterator
from pathlib import Path

from miserly.errors import DataError, MiserlyError

__all__ = ["SYNCS", "Abandoned", "Journal", "NotKept", "abandoned", "foreign_journals"]

SYNCS = ("never", "interval", "always")
_LOCK, _SEGMENT = ".lock", ".jsonl"
_open_journals: weakref.WeakSet[Journal] = weakref.WeakSet()


class NotKept(MiserlyError):
    """A receipt could not be written to the journal: the disk or the journal is full, or the disk fails."""


class Journal:
    """A file that receipts are appended to, one line each.

    One call of `os.write` appends a line. An appended line survives any end of the process, also a crash.
    Whether it survives a power failure depends on `sync`.

    Parameters
    ----------
    folder : Path
        The folder of the journals. It is created if it is missing; only its owner can read it.
    mark : str
        The prefix of the file names. Journals with another mark belong to another database.
    sync : {"never", "interval", "always"}, default="never"
        When lines are flushed to disk: by the operating system, by `flush`, or after every line.
    limit : int, default=1 GiB
        Maximum number of bytes that wait in this journal.
    segment : int, default=16 MiB
        Size in bytes after which a new segment begins.

    Examples
    --------
    >>> import tempfile
    >>> journal = Journal(Path(tempfile.mkdtemp()), "demo")
    >>> journal.append(b"one\\n"); journal.append(b"two\\n")
    >>> journal.read(), journal.waiting_bytes
    (b'one\\ntwo\\n', 8)
    >>> journal.done(8); journal.waiting_bytes
    0
    >>> journal.close()
    """

    def __init__(
        self,
        folder: Path,
        mark: str,
        *,
        sync: str = "never",
        limit: int = 1 << 30,
        segment: int = 1 << 24,
    ) -> None:
        if sync not in SYNCS:
            raise DataError(f"sync must be one of {', '.join(SYNCS)}, not {sync!r}")
        self.folder, self.sync, self.limit, self._segment = folder, sync, limit, segment
        self.name = f"{mark}-{time.time_ns():x}-{os.getpid()}-{secrets.token_hex(3)}"
        self._segments: deque[Path] = deque()  # the last one is written to
        self._number = 0
        self._sizes: dict[Path, int] = {}
        self._moved = 0  # bytes of the first segment that are in the database
        self._torn = False  # the segment ends in a partial line that could not be removed
        self._unsynced = False
        self._mutex = threading.Lock()
        self.waiting_bytes = self.waiting_lines = 0
        self._fd = -1
        _make_folder(folder)
        self._lock_fd = _new_lock(folder / f"{self.name}{_LOCK}")
        self._next_segment()
        _open_journals.add(self)

    # -- writing -------------------------------------------------------------------------------------

    def append(self, line: bytes) -> None:
        """Write a line, which must end in a newline. Raises `NotKept` if that is not possible."""
        with self._mutex:
            if self.waiting_bytes + len(line) > self.limit:
                raise NotKept(f"the journal is full: {self.waiting_bytes:,} of {self.limit:,} bytes wait")
            try:
                if self._sizes[self._segments[-1]] >= self._segment:
                    self._next_segment()
                written = os.write(self._fd, b"\n" + line if self._torn else line)
            except OSError as error:
                raise NotKept(f"the journal cannot be written: {error.strerror}") from None
            expected = len(line) + self._torn
            if written != expected:
                self._cut(written)
                raise NotKept(f"the journal cannot be written: only {written} of {expected} bytes")
            self._torn = False
            self._count(written, 1)
            if self.sync == "always":
                self._sync()
            self._unsynced = True

    def flush(self) -> None:
        """Flush what was written to the disk, unless nothing was."""
        with self._mutex:
            if self._unsynced:
                self._sync()

    def _sync(self) -> None:
        try:
            os.fdatasync(self._fd)
            self._unsynced = False
        except OSError as error:
            raise NotKept(f"the journal cannot be flushed: {error.strerror}") from None

    def _count(self, n_bytes: int, n_lines: int) -> None:
        self._sizes[self._segments[-1]] += n_bytes
        self.waiting_bytes += n_bytes
        self.waiting_lines += n_lines

    def _cut(self, written: int) -> None:
        """Remove a partial line that was written when the disk became full."""
        try:
            os.ftruncate(self._fd, self._sizes[self._segments[-1]])
        except OSError:
            self._count(written, 0)
            self._torn = True

    def _next_segment(self) -> None:
        path = self.folder / f"{self.name}.{self._number:06d}{_SEGMENT}"
        fd = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
        if self._fd >= 0:
            if self.sync != "never":
                with contextlib.suppress(NotKept):
                    self._sync()
            os.close(self._fd)
        self._fd, self._number, self._torn = fd, self._number + 1, False
        self._segments.append(path)
        self._sizes[path] = 0

    # -- moving --------------------------------------------------------------------------------------

    def read(self, most: int = 1 << 19) -> bytes:
        """The next waiting lines, of about `most` bytes; empty if there are none."""
        with self._mutex:
            path, start = self._segments[0], self._moved
            size = self._sizes[path]
        if start >= size:
            return b""
        with open(path, "rb") as file:
            file.seek(start)
            data = file.read(min(most, size - start))
            if start + len(data) < size:
                data += file.readline(size - start - len(data))
        return data

    def done(self, n_bytes: int, n_lines: int | None = None) -> None:
        """Record that this number of bytes from `read` is in the database. Finished segments are deleted."""
        with self._mutex:
            self._moved += n_bytes
            self.waiting_bytes -= n_bytes
            self.waiting_lines -= n_lines or 0
            path = self._segments[0]
            if self._moved < self._sizes[path]:
                return
            if len(self._segments) > 1:
                self._segments.popleft()
                del self._sizes[path]
                path.unlink(missing_ok=True)
                self._moved = 0
            elif self._moved:
                os.ftruncate(self._fd, 0)
                self._sizes[path] = self._moved = 0
                self._torn = False

    def close(self) -> None:
        """Close the files. An empty journal is deleted. A journal with lines can be recovered later."""
        _open_journals.discard(self)
        with self._mutex:
            if self._fd < 0:
                return
            if not self.waiting_bytes:
                for path in self._segments:
                    path.unlink(missing_ok=True)
                (self.folder / f"{self.name}{_LOCK}").unlink(missing_ok=True)
            elif self.sync != "never":
                with contextlib.suppress(NotKept):
                    self._sync()
            self.forget()

    def forget(self) -> None:
        """Close only the descriptors, for a forked child process."""
        for fd in (self._fd, self._lock_fd):
            if fd >= 0:
                os.close(fd)
        self._fd = self._lock_fd = -1


class Abandoned:
    """A journal whose process has ended. The present process holds its lock.

    Parameters
    ----------
    lock : Path
        Its lock file.
    fd : int
        The descriptor that holds the lock.
    """

    def __init__(self, lock: Path, fd: int) -> None:
        self.lock, self._fd = lock, fd
        self.name = lock.name.removesuffix(_LOCK)

    def segments(self) -> list[Path]:
        """The files with its lines, in order."""
        return sorted(self.lock.parent.glob(f"{self.name}.*{_SEGMENT}"))

    def delete(self) -> None:
        """Delete its files: everything in them is in the database."""
        for path in self.segments():
            path.unlink(missing_ok=True)
        self.lock.unlink(missing_ok=True)

    def release(self) -> None:
        """Release the lock."""
        os.close(self._fd)


def abandoned(folder: Path, mark: str) -> Iterator[Abandoned]:
    """The journals with this mark whose processes have ended. Each is locked while it is read."""
    for lock in sorted(folder.glob(f"{mark}-*{_LOCK}")):
        try:
            fd = os.open(lock, os.O_RDONLY | os.O_CLOEXEC)
        except FileNotFoundError:  # another process has just moved it
            continue
        one = Abandoned(lock, fd)
        try:
            fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
            yield one
        except BlockingIOError:
            pass  # its process is still running
        finally:
            one.release()


def foreign_journals(folder: Path, mark: str) -> list[str]:
    """The names of journals in the folder that are for another database."""
    return sorted(path.name for path in folder.glob(f"*{_LOCK}") if not path.name.startswith(f"{mark}-"))


def _make_folder(folder: Path) -> None:
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    except OSError as error:
        raise DataError(
            f"{folder}: the folder of the journal cannot be made: {error.strerror}; give another one"
        ) from None


def _new_lock(path: Path) -> int:
    """Create a lock file. It is locked before it gets its name, so no process finds it unlocked."""
    draft = path.with_suffix(".new")
    try:
        fd = os.open(draft, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
    except OSError as error:
        raise DataError(f"{path.parent}: the journal cannot be written: {error.strerror}") from None
    fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
    os.rename(draft, path)
    return fd


def _forget_all() -> None:
    for journal in list(_open_journals):
        journal.forget()


os.register_at_fork(after_in_child=_forget_all)  # a child would hold the lock after its parent has ended
