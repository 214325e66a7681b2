"""The process that stores receipts. Its computations delay no answer.

It turns lines of a journal into rows of tables, which takes longer than the prediction itself. A thread would
hold the interpreter lock for much of that time, and answers would have to wait.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from contextlib import suppress
from multiprocessing import Pipe
from multiprocessing.connection import Connection
from typing import Any, NamedTuple

import orjson

from miserly.serve.receipts.checksums import read_lines
from miserly.serve.receipts.database import DatabaseDown, ReceiptDatabase, SchemaError

__all__ = ["DatabaseProcess", "StoredLines"]

_ERRORS = {"DatabaseDown": DatabaseDown, "SchemaError": SchemaError}


class StoredLines(NamedTuple):
    """The result of storing lines of a journal.

    Attributes
    ----------
    stored : int
        Receipts that are in the database now.
    damaged : int
        Number of damaged lines.
    refused : list of dict
        Receipts that the database refuses because of their content.
    last : float or None
        When the last answer was given, in seconds since 1970.
    """

    stored: int
    damaged: int
    refused: list[dict[str, Any]]
    last: float | None


class DatabaseProcess:
    """A database of receipts that another process writes to. The process is started when it is needed.

    Parameters
    ----------
    url : str
        The address of the database, with its password.

    Notes
    -----
    The process ends when the pipe to it is closed. This also happens when the parent process is killed. If
    it ends for another reason, the current call raises `DatabaseDown`, and the next call starts another one.
    """

    def __init__(self, url: str) -> None:
        self._url = url
        self._pipe: Connection | None = None
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def pid(self) -> int | None:
        """The id of the process; None if it is not running."""
        return None if self._process is None else self._process.pid

    def check(self) -> None:
        """Connect to the database. Raises the errors of `ReceiptDatabase.check`."""
        self._ask(b"")

    def store(self, lines: bytes) -> StoredLines:
        """Store the receipts in lines of a journal. Raises the errors of `ReceiptDatabase.add`."""
        return StoredLines(**self._ask(lines))

    def close(self) -> None:
        """End the process."""
        if self._pipe is not None:
            self._pipe.close()
        if self._process is not None:
            self._process.wait()
        self._pipe = self._process = None

    def _ask(self, lines: bytes) -> dict[str, Any]:
        if self._pipe is None:
            self._start()
        assert self._pipe is not None
        try:
            self._pipe.send_bytes(lines)
            reply = orjson.loads(self._pipe.recv_bytes())
        except (OSError, EOFError):
            self.close()
            raise DatabaseDown("the process that stores receipts has ended") from None
        if "error" in reply:
            raise _ERRORS.get(reply["error"], RuntimeError)(reply["message"])
        return reply["found"]

    def _start(self) -> None:
        here, there = Pipe()
        command = [sys.executable, "-P", "-m", __name__, str(there.fileno())]
        environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
        with there:
            self._process = subprocess.Popen(
                command,
                env=environment,
                pass_fds=[there.fileno()],
                stdin=subprocess.DEVNULL,
                start_new_session=True,  # Ctrl-C must reach only the service
            )
        self._pipe = here
        here.send_bytes(self._url.encode())


def serve(pipe: Connection) -> None:
    """Store the lines that arrive through a pipe, until the pipe is closed."""
    database = ReceiptDatabase(pipe.recv_bytes().decode())
    while True:
        lines = pipe.recv_bytes()
        try:
            found = _store(database, lines)
            reply: dict[str, Any] = {"found": None if found is None else found._asdict()}
        except Exception as error:  # the error is sent to the other side
            known = type(error).__name__ in _ERRORS
            message = str(error) if known else f"{type(error).__name__}: {error}"
            reply = {"error": type(error).__name__, "message": message}
        pipe.send_bytes(orjson.dumps(reply))


def _store(database: ReceiptDatabase, lines: bytes) -> StoredLines | None:
    database.check()
    if not lines:
        return None
    records, damaged = read_lines(lines)
    refused = database.add(records) if records else []
    last = records[-1]["at"] if records else None
    return StoredLines(len(records) - len(refused), damaged, refused, last)


def main(number: str) -> None:
    """Serve the pipe with this file descriptor."""
    signal.signal(signal.SIGTERM, signal.SIG_IGN)  # of a whole group: the service ends first, and says when
    with suppress(EOFError, OSError):  # the other side has ended
        serve(Connection(int(number)))


if __name__ == "__main__":
    main(sys.argv[1])
