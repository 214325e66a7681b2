"""Files that are written completely or not at all.

A file is written under a temporary name in the same folder, flushed to the disk, and renamed. If the disk is
full, an error is raised or Ctrl-C is pressed, the old file stays as it was and the temporary file is removed.
"""

from __future__ import annotations

import contextlib
import os
import secrets
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Any

from miserly.errors import DataError, MiserlyError

__all__ = ["atomic_path", "atomic_write", "check_target", "check_writable", "open_draft", "replace_by"]

_KINDS = (
    (stat.S_ISDIR, "a folder; give the name of a file"),
    (stat.S_ISFIFO, "a named pipe, not a file"),
    (stat.S_ISCHR, "a device, not a file"),
    (stat.S_ISBLK, "a device, not a file"),
    (stat.S_ISSOCK, "a socket, not a file"),
)


def check_target(path: str | os.PathLike[str], error: type[MiserlyError] = DataError) -> None:
    """Raise `error` if a path exists and is not a regular, writable file: a link, folder, pipe or device.

    Links are not followed, because the file behind a link is not the file that was named.

    >>> check_target("/dev/null")
    Traceback (most recent call last):
    miserly.errors.DataError: /dev/null: this is a device, not a file
    """
    try:
        mode = os.lstat(path).st_mode
    except FileNotFoundError:
        return
    if stat.S_ISLNK(mode):
        raise error(
            f"{os.fspath(path)}: this is a link to {os.readlink(path)}; give the name of the file itself"
        )
    for is_kind, what in _KINDS:
        if is_kind(mode):
            raise error(f"{os.fspath(path)}: this is {what}")
    if not os.access(path, os.W_OK):
        raise error(f"{os.fspath(path)}: this file is write-protected")


def check_writable(path: Path) -> None:
    """Raise `DataError` if a file cannot be written: its folder, or what is there now, does not allow it."""
    if not path.parent.is_dir():
        raise DataError(f"{path}: there is no folder {path.parent}")
    check_target(path)
    if not os.access(path.parent, os.W_OK):
        raise DataError(f"{path}: no permission to write to this folder")


@contextlib.contextmanager
def atomic_write(
    path: str | os.PathLike[str],
    mode: str = "wb",
    *,
    encoding: str | None = None,
    newline: str | None = None,
    error: type[MiserlyError] = DataError,
) -> Iterator[IO[Any]]:
    """Open a file that replaces `path` when the block ends without an exception.

    Parameters
    ----------
    path : str or Path
        A regular file, or a new one. The permissions of an old file are kept.
    mode : {"wb", "w"}, default="wb"
        Whether to write bytes or text.
    encoding : str, optional
        Encoding of text; UTF-8 by default.
    newline : str, optional
        Line ends of text, as for `open`.
    error : type of MiserlyError, default=DataError
        Error to raise for a target that is not a regular file.

    Yields
    ------
    file
        The temporary file, open for writing.

    Examples
    --------
    >>> import tempfile
    >>> target = Path(tempfile.mkdtemp()) / "a.txt"
    >>> with atomic_write(target, "w") as file:
    ...     _ = file.write("whole")
    >>> target.read_text(), len(list(target.parent.iterdir()))
    ('whole', 1)
    """
    text = {} if "b" in mode else {"encoding": encoding or "utf-8", "newline": newline}
    with atomic_path(path, error) as draft, open(draft, mode, **text) as file:  # type: ignore[call-overload]
        yield file


@contextlib.contextmanager
def atomic_path(path: str | os.PathLike[str], error: type[MiserlyError] = DataError) -> Iterator[Path]:
    """Name of a temporary file that replaces `path` when the block ends, for code that needs a name.

    The file exists, is empty, and has the suffix of `path`. See `atomic_write`.
    """
    target = Path(path)
    check_target(target, error)
    draft = target.with_name(f".miserly-{secrets.token_hex(6)}{target.suffix}")
    try:
        _create(draft, target)
        yield draft
        _put(draft, target, error)
    except OSError as problem:
        if problem.filename in (None, str(draft)):
            problem.filename, problem.filename2 = str(target), None
        raise
    finally:
        draft.unlink(missing_ok=True)
    _flush(target.parent)


def open_draft(draft: Path, target: Path) -> IO[bytes]:
    """Open a file that is to replace `target`, for reading and writing; what is in it is kept.

    Only one process can have it open, on systems that lock files. See `replace_by`.
    """
    check_target(draft)
    mode = 0o600 if target.exists() else 0o666
    file = os.fdopen(os.open(draft, os.O_RDWR | os.O_CREAT | getattr(os, "O_NOFOLLOW", 0), mode), "r+b")
    try:
        import fcntl

        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        is_ours = draft.exists() and os.path.samestat(os.fstat(file.fileno()), draft.stat())
    except ImportError:
        is_ours = True
    except OSError:
        is_ours = False
    if not is_ours:
        file.close()
        raise DataError(f"{draft}: another process is writing to this file")
    return file


def replace_by(draft: Path, target: Path) -> None:
    """Put a file that is complete in the place of another one; see `atomic_path`."""
    _put(draft, target, DataError)
    _flush(target.parent)


def _put(draft: Path, target: Path, error: type[MiserlyError]) -> None:
    _finish(draft, target)
    check_target(target, error)  # it may have been created in the meantime
    os.replace(draft, target)


def _create(draft: Path, target: Path) -> None:
    """Create an empty file. One that replaces a private file is never readable by others."""
    mode = 0o600 if target.exists() else 0o666
    os.close(os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode))


def _finish(draft: Path, target: Path) -> None:
    """Flush the file to the disk, with the owner and permissions of the file that it replaces."""
    descriptor = os.open(draft, os.O_RDWR)
    try:
        if target.exists() and hasattr(os, "fchmod"):
            old = target.lstat()
            with contextlib.suppress(PermissionError):  # only root gives files away
                os.fchown(descriptor, old.st_uid, old.st_gid)
            os.fchmod(descriptor, stat.S_IMODE(old.st_mode))
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _flush(folder: Path) -> None:
    """Flush the new name to the disk. Not every system can open a folder; the file itself is flushed."""
    with contextlib.suppress(OSError):
        descriptor = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
