"""Sessions: their records between two requests, and the stores that hold them."""

from __future__ import annotations

import hashlib
import math
import secrets
import time
from abc import ABC, abstractmethod
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass, fields, replace
from typing import Any, NamedTuple

import orjson

from miserly.serve.problems import Problem
from miserly.serve.settings import ServeSettings

__all__ = ["MemoryStore", "SessionRecord", "SessionStore", "full", "new_session_id", "place_of"]

_MOST_WAIT = 60  # largest Retry-After, in seconds


def new_session_id() -> str:
    """Return an id that cannot be guessed."""
    return secrets.token_urlsafe(24)


def place_of(session_id: str) -> str:
    """Return the hash under which a session is stored, so that the store reveals no session id."""
    return hashlib.sha256(session_id.encode("utf-8", "surrogatepass")).hexdigest()


@dataclass(frozen=True)
class SessionRecord:
    """The stored record of a session.

    Parameters
    ----------
    model : str
        The name of its model.
    digest : str
        The digest of its plan.
    key_id : str
        The id of the API key that began it.
    version : int
        Starts at 1 and increases with each change.
    state : dict
        The interview, as `Interview.state` gives it. It holds the values of features that were given.
    ended : bool
        Whether the interview has ended.
    reported : bool
        Whether the receipt of its end was passed on.
    unused : tuple of str
        The features of the last change that were given but not needed.
    """

    model: str
    digest: str
    key_id: str
    version: int
    state: dict[str, Any]
    ended: bool = False
    reported: bool = False
    unused: tuple[str, ...] = ()

    def changed(self, state: dict[str, Any], ended: bool, unused: tuple[str, ...]) -> SessionRecord:
        """Return the next version.

        Parameters
        ----------
        state : dict
            As in the record.
        ended : bool
            As in the record.
        unused : tuple of str
            As in the record.

        Returns
        -------
        SessionRecord
        """
        return replace(
            self, version=self.version + 1, state=state, ended=ended, reported=False, unused=unused
        )

    def to_bytes(self) -> bytes:
        """Return the record as JSON.

        Returns
        -------
        bytes

        Raises
        ------
        Problem
            422 if its `input` is nested too deeply to be written as JSON.
        """
        try:
            return orjson.dumps({one.name: getattr(self, one.name) for one in fields(self)})
        except TypeError:
            message = "input is nested too deeply to be kept; 200 levels are allowed"
            raise Problem(422, "invalid_input", message, "input") from None

    @classmethod
    def from_bytes(cls, data: bytes) -> SessionRecord:
        """Return the record from the output of `to_bytes`.

        Parameters
        ----------
        data : bytes
            JSON.

        Returns
        -------
        SessionRecord
        """
        record = orjson.loads(data)
        return cls(**{**record, "unused": tuple(record["unused"])})


class SessionStore(ABC):
    """Where sessions are kept.

    The methods read and write records. A subclass implements the storage of bytes. The key of a session is a
    hash of its id. All methods raise a `Problem` with 503 if the store cannot be reached.

    Parameters
    ----------
    settings : ServeSettings
        The time to live, and the limits.
    """

    def __init__(self, settings: ServeSettings) -> None:
        self._settings = settings

    async def create(self, session_id: str, record: SessionRecord) -> None:
        """Keep a new session.

        Parameters
        ----------
        session_id : str
            A new id.
        record : SessionRecord
            The session.

        Raises
        ------
        Problem
            With 413 if the session is too large, with 503 if the store is full.
        """
        await self._insert(place_of(session_id), record.version, self._bytes_of(record))

    async def get(self, session_id: str) -> SessionRecord | None:
        """Return a session; None if there is none, or it has expired.

        Parameters
        ----------
        session_id : str
            Its id.

        Returns
        -------
        SessionRecord or None
        """
        data = await self._find(place_of(session_id))
        return None if data is None else SessionRecord.from_bytes(data)

    async def replace(self, session_id: str, record: SessionRecord, expected: int) -> bool:
        """Store a new version of a session if the stored version is `expected`.

        Parameters
        ----------
        session_id : str
            Its id.
        record : SessionRecord
            The new version.
        expected : int
            The version that it follows.

        Returns
        -------
        bool
            Whether it was kept.

        Raises
        ------
        Problem
            As `create`.
        """
        return await self._update(place_of(session_id), record.version, self._bytes_of(record), expected)

    async def delete(self, session_id: str) -> bool:
        """Forget a session.

        Parameters
        ----------
        session_id : str
            Its id.

        Returns
        -------
        bool
            Whether there was one.
        """
        return await self._remove(place_of(session_id))

    async def touch(self, session_id: str) -> None:
        """Restart the time to live of a session.

        Parameters
        ----------
        session_id : str
            Its id.
        """
        await self._prolong(place_of(session_id))

    @abstractmethod
    async def count(self) -> int:
        """Return the number of sessions."""

    @abstractmethod
    async def ping(self) -> str | None:
        """Return None, or a sentence that says why the store cannot be used."""

    @abstractmethod
    async def close(self) -> None:
        """Close connections, and delete sessions that only this process holds."""

    # -- what a store implements -----------------------------------------------------------------------

    @abstractmethod
    async def _insert(self, place: str, version: int, data: bytes) -> None:
        """Keep a new session; raises `full` if there is no room."""

    @abstractmethod
    async def _find(self, place: str) -> bytes | None:
        """Return the bytes under a key; None if there are none."""

    @abstractmethod
    async def _update(self, place: str, version: int, data: bytes, expected: int) -> bool:
        """Replace version `expected`. Returns whether it existed; raises `full` if there is no room."""

    @abstractmethod
    async def _remove(self, place: str) -> bool:
        """Delete the bytes under a key, and return whether there were any."""

    @abstractmethod
    async def _prolong(self, place: str) -> None:
        """Start the time to live of a session again."""

    def _bytes_of(self, record: SessionRecord) -> bytes:
        """Return a record as bytes. Raises a problem if it is too large."""
        data, most = record.to_bytes(), self._settings.max_session_size
        if len(data) > most:
            message = f"this session would take {len(data)} bytes, more than the {most} allowed for one"
            raise Problem(413, "session_too_large", message)
        return data


def full(seconds: float) -> Problem:
    """Return the problem for a full store, with the seconds until there is room."""
    wait = str(max(1, min(_MOST_WAIT, math.ceil(seconds))))
    message = "no more sessions can be kept now; try again later, or delete a session"
    return Problem(503, "too_many_sessions", message, headers={"Retry-After": wait})


class _Kept(NamedTuple):
    expires: float
    version: int
    data: bytes


class MemoryStore(SessionStore):
    """Sessions in the memory of one process.

    Their number and total size are limited. A session is never deleted before it expires: a full store
    accepts no new session.

    Parameters
    ----------
    settings : ServeSettings
        The time to live, and the limits.
    clock : callable, default=time.monotonic
        A function that returns the time in seconds.
    """

    def __init__(self, settings: ServeSettings, clock: Callable[[], float] = time.monotonic) -> None:
        super().__init__(settings)
        self._clock = clock
        self._kept: OrderedDict[str, _Kept] = OrderedDict()  # in the order of expiry
        self._bytes = 0

    @property
    def n_bytes(self) -> int:
        """The total size of all sessions in bytes."""
        return self._bytes

    async def count(self) -> int:
        self._collect()
        return len(self._kept)

    async def ping(self) -> str | None:
        return None

    async def close(self) -> None:
        self._kept.clear()
        self._bytes = 0

    async def _insert(self, place: str, version: int, data: bytes) -> None:
        self._collect()
        if len(self._kept) >= self._settings.max_sessions or not self._has_room(len(data)):
            raise self._full()
        self._put(place, version, data)

    async def _find(self, place: str) -> bytes | None:
        self._collect()
        found = self._kept.get(place)
        return None if found is None else found.data

    async def _update(self, place: str, version: int, data: bytes, expected: int) -> bool:
        self._collect()
        found = self._kept.get(place)
        if found is None or found.version != expected:
            return False
        if len(data) > len(found.data) and not self._has_room(len(data) - len(found.data)):
            raise self._full()
        self._put(place, version, data)
        return True

    async def _remove(self, place: str) -> bool:
        self._collect()
        return self._drop(place)

    async def _prolong(self, place: str) -> None:
        found = self._kept.get(place)
        if found is not None:
            self._put(place, found.version, found.data)

    def _put(self, place: str, version: int, data: bytes) -> None:
        self._drop(place)
        self._kept[place] = _Kept(self._clock() + self._settings.session_ttl, version, data)
        self._bytes += len(data)

    def _drop(self, place: str) -> bool:
        found = self._kept.pop(place, None)
        if found is not None:
            self._bytes -= len(found.data)
        return found is not None

    def _collect(self) -> None:
        """Delete expired sessions."""
        now = self._clock()
        while self._kept and next(iter(self._kept.values())).expires <= now:
            self._drop(next(iter(self._kept)))

    def _has_room(self, more: int) -> bool:
        return self._bytes + more <= self._settings.max_session_bytes

    def _full(self) -> Problem:
        first = next(iter(self._kept.values()), None)
        return full(0.0 if first is None else first.expires - self._clock())
