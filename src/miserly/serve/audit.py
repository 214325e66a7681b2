"""The audit log: one line of JSON for each answer. By default it holds no values of features.

A line is ASCII: line breaks, control characters and characters of other scripts are escaped, so that a name
cannot forge a line or change what a terminal shows. Session ids give access to a session, so only the start
of their hash is logged.
"""

from __future__ import annotations

import contextlib
import json
import logging
import os
import time
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

import orjson

from miserly.errors import ServeError
from miserly.runtime.receipt import plain_value
from miserly.serve.service import AnswerEvent

__all__ = ["Audit", "audit_line"]

_log = logging.getLogger("miserly.serve")
_STDERR = 2
_LOOK_EVERY = 5.0  # seconds between two checks whether the file was moved


class Audit:
    """Writes the audit log. Several workers may write to the same file: each line is one write.

    Parameters
    ----------
    target : str
        A file to append lines to, or ``-`` for the standard error stream. A file that was moved or removed
        is created again within seconds, so log rotation needs no signal.
    values : bool, default=False
        Whether lines hold the values that were acquired.
    on_failure : callable, optional
        Called when a line could not be written.
    """

    def __init__(
        self, target: str, *, values: bool = False, on_failure: Callable[[], None] | None = None
    ) -> None:
        self._path = None if target == "-" else target
        self._values = values
        self._on_failure = on_failure
        self._failed = False
        self._next_look = 0.0
        self._file = _STDERR if self._path is None else _open(self._path)

    def answered(self, event: AnswerEvent) -> None:
        """Write the line of one answer. A line that cannot be written does not stop the answer."""
        line = audit_line(event, self._values)
        try:
            if self._path is not None and time.monotonic() >= self._next_look:
                self._follow()
            if os.write(self._file, line) < len(line):
                raise OSError("only a part of a line was written")
            self._failed = False
        except (OSError, ServeError) as error:
            if not self._failed:  # logged once, not for every answer
                _log.error("the audit log cannot be written: %s", error)
            self._failed = True
            if self._on_failure is not None:
                self._on_failure()

    def close(self) -> None:
        """Close the file. It is opened again if there are more answers."""
        if self._path is not None and self._file >= 0:
            os.close(self._file)
            self._file, self._next_look = -1, 0.0

    def _follow(self) -> None:
        """Open the file again if it was moved or replaced."""
        assert self._path is not None
        self._next_look = time.monotonic() + _LOOK_EVERY
        with contextlib.suppress(FileNotFoundError):
            if self._file >= 0 and os.path.samestat(os.stat(self._path), os.fstat(self._file)):
                return
        old, self._file = self._file, _open(self._path)
        if old >= 0:
            os.close(old)


def audit_line(event: AnswerEvent, values: bool = False) -> bytes:
    """Return the line of one answer, with its line break."""
    receipt = event.receipt
    record: dict[str, Any] = {
        "time": datetime.fromtimestamp(event.at, UTC).isoformat(timespec="milliseconds"),
        "request": event.request_id,
        "key": event.caller.key_id,
        "session": event.session_id,
        "model": event.model.name,
        "digest": event.model.digest,
        "answer": plain_value(receipt.answer) if values else None,
        "cost": receipt.cost,
        "unit": receipt.plan.costs.unit,
        "acquired": [str(name) for name in receipt.acquired],
        "stopped_by": receipt.stopped_by,
        "seconds": round(receipt.seconds, 6),
    }
    if values:
        record["values"] = {str(name): plain_value(value) for name, value in receipt.values.items()}
    else:
        del record["answer"]
    return _ascii(record) + b"\n"


def _ascii(record: dict[str, Any]) -> bytes:
    try:
        line = orjson.dumps(record)
        if line.isascii() and b"\x7f" not in line:
            return line
    except TypeError:  # half of a surrogate pair, or a value that only `json` can write
        pass
    return json.dumps(record, ensure_ascii=True, default=str).replace("\x7f", "\\u007f").encode("ascii")


def _open(path: str) -> int:
    try:
        return os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o600)
    except OSError as error:
        raise ServeError(f"{path}: cannot write the audit log there: {error.strerror}") from None
