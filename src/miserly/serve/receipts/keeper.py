"""Store receipts: first in the journal, then in the database by a separate process."""

from __future__ import annotations

import logging
import os
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import orjson

from miserly.runtime import Receipt
from miserly.serve.receipts.database import DatabaseDown, ReceiptDatabase, SchemaError
from miserly.serve.receipts.journal import Journal, NotKept, abandoned, foreign_journals
from miserly.serve.receipts.lines import Stamp, encode_line, new_id, session_mark
from miserly.serve.receipts.process import DatabaseProcess, StoredLines

__all__ = ["KeeperStatus", "ReceiptKeeper", "recover"]

logger = logging.getLogger("miserly.serve.receipts")
_LONGEST_PAUSE = 10.0  # between two attempts to reach the database
_LOOK_EVERY = 15.0  # seconds between two searches for journals of ended processes
_CHUNK = 1 << 20  # bytes that are stored in one transaction


@dataclass(frozen=True)
class KeeperStatus:
    """The status of a `ReceiptKeeper`.

    Attributes
    ----------
    appended, moved, recovered : int
        Receipts written to the journal, moved to the database, and moved from journals of ended processes.
    lost : int
        Receipts that could not be written to the journal.
    damaged : int
        Damaged lines of journals, which were skipped.
    refused : int
        Receipts that the database refused because of their content. The file ``refused.jsonl`` holds them.
    waiting, waiting_bytes : int
        Receipts in the journal that are not in the database yet.
    waiting_seconds : float
        An upper bound of the time that the oldest of them has waited.
    problem : str or None
        The present problem.
    """

    appended: int
    moved: int
    recovered: int
    lost: int
    damaged: int
    refused: int
    waiting: int
    waiting_bytes: int
    waiting_seconds: float
    problem: str | None

    def to_dict(self) -> dict[str, Any]:
        """Return the status in plain values, for JSON.

        Returns
        -------
        dict
        """
        return asdict(self)


class ReceiptKeeper:
    """Stores receipts in a database. No answer waits for the database.

    `append` writes a receipt to the journal of this process, which takes microseconds. A thread reads the
    journal, and sends the receipts to another process that stores them in the database. While the database is
    down, receipts wait in the journal, up to `limit` bytes. If a process ends before its receipts are stored,
    the next process with the same folder stores them.

    Parameters
    ----------
    url : str or Path
        ``sqlite:///FILE`` or the path of a file, or ``postgresql+psycopg://USER:PASSWORD@HOST/NAME``.
    folder : str or Path, optional
        The folder of the journals. By default the name of the SQLite file with ``.pending`` appended, or
        ``receipts.pending`` for PostgreSQL.
    keep_values : bool, default=False
        Whether to keep the values of features. Retraining needs them.
    required : bool, default=False
        Whether `append` raises `NotKept` if a receipt cannot be kept. Otherwise it counts and logs the loss.
    sync : {"never", "interval", "always"}, default="never"
        When the journal is flushed to disk. The end of the process loses nothing in any case. A power
        failure may lose all that the system has not written ("never"), about a second ("interval"), or
        nothing ("always").
    limit : int, default=1 GiB
        Maximum number of bytes that wait in the journal of this process.
    interval : float, default=0.2
        Seconds between two transfers to the database.

    Examples
    --------
    >>> import tempfile
    >>> from miserly import Costs, Plan
    >>> from miserly.plan import Node, Raw
    >>> from miserly.runtime import OnDemand
    >>> nodes = [Node([0], [0], [1.0], [0.0])]
    >>> plan = Plan(costs=Costs({"x": 2.0}), terms=[Raw(0)], nodes=nodes, base=[0.0])
    >>> keeper = ReceiptKeeper(tempfile.mkdtemp() + "/receipts.db")
    >>> keeper.start()
    >>> id = keeper.append(OnDemand(plan).predict({"x": 1.0}), model="shop")
    >>> keeper.close()
    >>> keeper.status().moved
    1
    """

    def __init__(
        self,
        url: str | os.PathLike[str],
        folder: str | os.PathLike[str] | None = None,
        *,
        keep_values: bool = False,
        required: bool = False,
        sync: str = "never",
        limit: int = 1 << 30,
        interval: float = 0.2,
    ) -> None:
        self.database = ReceiptDatabase(url)
        self.folder = Path(self.database.default_folder if folder is None else folder)
        self.keep_values, self.required, self._interval = keep_values, required, interval
        self.journal = Journal(self.folder, self.database.mark, sync=sync, limit=limit)
        self.storing = DatabaseProcess(self.database.url.render_as_string(hide_password=False))
        self._counts = dict.fromkeys(("appended", "moved", "recovered", "lost", "damaged", "refused"), 0)
        self._problem: str | None = None  # of the database
        self._last_moved = time.time()
        self._is_full = False
        self.on_loss: Callable[[], None] | None = None  # called for each receipt that cannot be kept
        self._last_lost = -float("inf")  # when a lost receipt was logged
        self._stop = threading.Event()
        self._thread: threading.Thread | None = None

    # -- interface of the service ----------------------------------------------------------------------

    def start(self) -> None:
        """Connect to the database and begin to move receipts.

        If the database cannot be reached, a warning is logged and receipts wait in the journal. If it has
        other tables, `SchemaError` is raised.
        """
        for name in foreign_journals(self.folder, self.database.mark):
            logger.warning("%s in %s is of another database and was left there", name, self.folder)
        try:
            self.database.check()
        except DatabaseDown as error:
            self._trouble(error)
        self.database.close()  # from now on the other process is connected
        self._thread = threading.Thread(target=self._run, name="miserly-receipts", daemon=True)
        self._thread.start()

    def append(
        self,
        receipt: Receipt,
        *,
        model: str,
        key_id: str = "",
        session_id: str | None = None,
        known: Mapping[Any, Any] | None = None,
    ) -> str | None:
        """Write a receipt to the journal.

        Parameters
        ----------
        receipt : Receipt
            The receipt.
        model : str
            The name under which its plan is served.
        key_id : str, default=""
            The id of the API key of the request.
        session_id : str, optional
            The session that ended with it. Only its hash is stored, because the identifier opens the session.
        known : mapping, optional
            The values of features that the request knew. They are written only with `keep_values`.

        Returns
        -------
        str or None
            The identifier of the receipt; None if it could not be kept.

        Raises
        ------
        NotKept
            If it could not be kept, and receipts are `required`.
        """
        at = time.time()
        session = None if session_id is None else session_mark(session_id)
        stamp = Stamp(new_id(at), at, model, key_id, session, known)
        try:
            self.journal.append(encode_line(receipt, stamp, values=self.keep_values))
        except NotKept as error:
            self._lose(error)
            if self.required:
                raise
            return None
        self._is_full = False
        self._counts["appended"] += 1
        return stamp.id

    @property
    def is_full(self) -> bool:
        """Whether the last receipt could not be kept."""
        return self._is_full

    def status(self) -> KeeperStatus:
        """Return the status.

        Returns
        -------
        KeeperStatus
        """
        waiting = self.journal.waiting_lines
        return KeeperStatus(
            **self._counts,
            waiting=waiting,
            waiting_bytes=self.journal.waiting_bytes,
            waiting_seconds=max(0.0, time.time() - self._last_moved) if waiting else 0.0,
            problem=self._problem,
        )

    def close(self, seconds: float = 5.0) -> None:
        """Move waiting receipts, for at most `seconds`. The next process moves the rest.

        Parameters
        ----------
        seconds : float, default=5.0
            How long to wait for the database.
        """
        self._stop.set()
        if self._thread is not None:
            self._thread.join(seconds)
            if self._thread.is_alive():
                logger.warning("%d receipts stay in the journal", self.journal.waiting_lines)
                return  # the thread still uses the journal; the lock ends with the process
            self._thread = None
        if self.journal.waiting_lines:
            logger.warning("%d receipts stay in the journal", self.journal.waiting_lines)
        self.journal.close()
        self.database.close()
        self.storing.close()

    # -- the thread ----------------------------------------------------------------------------------

    def _run(self) -> None:
        pause, look_at, sync_at = 0.0, 0.0, 0.0
        while True:
            stopping = self._stop.wait(pause)
            now = time.monotonic()
            if self.journal.sync == "interval" and now >= sync_at:
                self._flush()
                sync_at = now + 1.0
            try:
                self.storing.check()
                if now >= look_at and not stopping:
                    self._recover()
                    look_at = now + _LOOK_EVERY
                self._move()
                self._well()
                pause = self._interval
            except Exception as error:  # receipts wait in the journal, and the thread continues
                self._trouble(error)
                pause = min(_LONGEST_PAUSE, max(self._interval, 2 * pause))
            if stopping:
                return

    def _move(self) -> None:
        while data := self.journal.read(_CHUNK):
            found = self._store(data, self.journal.name)
            self._counts["moved"] += found.stored
            self.journal.done(len(data), found.stored + len(found.refused))
            self._last_moved = found.last or time.time()
        self._last_moved = time.time()

    def _recover(self) -> None:
        for one in abandoned(self.folder, self.database.mark):
            for path in one.segments():
                with open(path, "rb") as file:
                    while data := file.read(_CHUNK):
                        found = self._store(data + file.readline(), path.name)
                        self._counts["recovered"] += found.stored
                if n := path.stat().st_size:
                    logger.info("moved %d bytes of receipts that %s had left", n, path.name)
            one.delete()

    def _store(self, lines: bytes, name: str) -> StoredLines:
        """Store the lines of the journal `name`. Receipts that the database refuses go to a file."""
        found = self.storing.store(lines)
        if found.damaged:
            self._counts["damaged"] += found.damaged
            logger.warning("%d damaged lines in %s were skipped", found.damaged, name)
        if found.refused:
            refused = b"".join(orjson.dumps(record) + b"\n" for record in found.refused)
            fd = os.open(self.folder / "refused.jsonl", os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
            try:
                os.write(fd, refused)
            finally:
                os.close(fd)
            self._counts["refused"] += len(found.refused)
            logger.error("the database refused %d receipts; they are in refused.jsonl", len(found.refused))
        return found

    def _flush(self) -> None:
        try:
            self.journal.flush()
        except NotKept as error:
            logger.error("%s", error)

    # -- problems -----------------------------------------------------------------------------

    def _lose(self, error: NotKept) -> None:
        self._is_full = True
        self._counts["lost"] += 1
        if self.on_loss is not None:
            self.on_loss()
        now = time.monotonic()
        if now - self._last_lost >= 1.0:
            self._last_lost = now
            logger.error("a receipt is not kept, %d so far: %s", self._counts["lost"], error)

    def _trouble(self, error: Exception) -> None:
        known = isinstance(error, (DatabaseDown, SchemaError))
        problem = str(error) if known else f"{type(error).__name__}: {error}"
        if problem != self._problem:
            waiting = self.journal.waiting_lines
            logger.error("receipts are not moved to the database, %d wait: %s", waiting, problem)
        self._problem = problem

    def _well(self) -> None:
        if self._problem is not None:
            logger.warning("receipts are moved to the database again")
        self._problem = None


def recover(url: str | os.PathLike[str], folder: str | os.PathLike[str] | None = None) -> KeeperStatus:
    """Move receipts from journals of ended processes to the database, without a service.

    Parameters
    ----------
    url : str or Path
        The database, as for `ReceiptKeeper`.
    folder : str or Path, optional
        The folder of the journals, as for `ReceiptKeeper`.

    Returns
    -------
    KeeperStatus
        The counts are in `recovered`, `damaged` and `refused`.
    """
    keeper = ReceiptKeeper(url, folder)
    try:
        keeper.storing.check()
        keeper._recover()
        return keeper.status()
    finally:
        keeper.close()
