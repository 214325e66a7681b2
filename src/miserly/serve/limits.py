"""Limits of one worker: the request rate of each client, and the size and duration of a body."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, MutableMapping
from ipaddress import ip_address
from typing import Any

from miserly.serve.problems import Problem

__all__ = ["ClientGone", "RateLimit", "client_network", "read_body", "replay"]

Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]


class ClientGone(Exception):
    """The client closed the connection before it had sent the whole request."""


class RateLimit:
    """A token bucket for each client.

    A bucket is one number: the time at which it will be full again. Full buckets are deleted. If `most`
    buckets are in use, the oldest quarter is deleted too, which bounds memory. Their clients then start
    again with a full bucket.

    Parameters
    ----------
    rate : float
        Requests a second.
    burst : float, optional
        Maximum number of requests at once, after a pause. By default the number for one second, at least 1.
    most : int, default=20000
        Maximum number of buckets.

    Examples
    --------
    >>> limit = RateLimit(rate=2.0, burst=2)
    >>> [limit.wait("ann", now=0.0) for _ in range(3)]
    [0.0, 0.0, 0.5]
    >>> limit.wait("ann", now=0.5), limit.wait("bob", now=0.5)
    (0.0, 0.0)
    """

    def __init__(self, rate: float, burst: float | None = None, most: int = 20_000) -> None:
        self._step = 1.0 / rate
        self._depth = (max(1.0, rate) if burst is None else burst) * self._step
        self._most = most
        self._full_at: dict[str, float] = {}

    def __len__(self) -> int:
        return len(self._full_at)

    def wait(self, client: str, now: float) -> float:
        """Return 0 and count the request if it is allowed; otherwise the seconds until one is allowed."""
        full_at = self._full_at.get(client, 0.0)
        if full_at < now:
            full_at = now
        late = full_at + self._step - now - self._depth
        if late > 1e-9:
            return late
        if client not in self._full_at and len(self._full_at) >= self._most:
            self._forget(now)
        self._full_at[client] = full_at + self._step
        return 0.0

    def _forget(self, now: float) -> None:
        self._full_at = {client: at for client, at in self._full_at.items() if at > now}
        if len(self._full_at) >= self._most:
            kept = list(self._full_at.items())[len(self._full_at) // 4 :]
            self._full_at = dict(kept)


def client_network(host: str) -> str:
    """Return the address that identifies a client: IPv4 in full, IPv6 without its last 64 bits.

    >>> client_network("203.0.113.7"), client_network("2001:db8:1:2:3:4:5:6")
    ('203.0.113.7', '2001:db8:1:2::')
    """
    if ":" not in host:
        return host
    try:
        address = ip_address(host.partition("%")[0])
    except ValueError:
        return host
    return str(ip_address(int(address) >> 64 << 64)) if address.version == 6 else host


async def read_body(receive: Receive, most: int) -> bytes:
    """Return the whole body of a request. Raise a 413 as soon as it is longer than `most` bytes."""
    message = await receive()
    if message["type"] == "http.request" and not message.get("more_body", False):  # the usual case
        body: bytes = message.get("body", b"")
        if len(body) > most:
            raise too_large(most)
        return body
    parts: list[bytes] = []
    size = 0
    while True:
        if message["type"] == "http.disconnect":
            raise ClientGone
        part = message.get("body", b"")
        size += len(part)
        if size > most:
            raise too_large(most)
        parts.append(part)
        if not message.get("more_body", False):
            return b"".join(parts)
        message = await receive()


def too_large(most: int) -> Problem:
    """Return the problem for a body that is too large."""
    return Problem(413, "too_large", f"the body of a request has at most {most} bytes")


def replay(body: bytes, receive: Receive) -> Receive:
    """Return a `receive` that first gives a body that was already read, then the messages of the client."""
    waiting: list[Message] = [{"type": "http.request", "body": body, "more_body": False}]

    async def receive_again() -> Message:
        return waiting.pop() if waiting else await receive()

    return receive_again
