"""Limits of a connection before a request is complete: the size and the duration of its head.

uvicorn's fast protocol limits neither. A client that sends endless headers, or one byte a minute, could hold
memory and a connection without limit. uvicorn's own error responses are plain text; here they have the same
form as all other errors.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Any

from uvicorn.protocols.http.httptools_impl import STATUS_LINE, HttpToolsProtocol

from miserly.serve.problems import Problem, problem_body

__all__ = ["BoundedProtocol"]

HEAD_BYTES = 32 * 1024
URL_BYTES = 8 * 1024
HEAD_SECONDS = 10.0
CONNECTIONS = 2048  # for each worker
UNREAD_BYTES = 4 * 2**20  # of a refused body, read so that the client gets the response
UNREAD_SECONDS = 5.0
FRAMING = 8  # allowed overhead per byte of a chunked body; a one-byte chunk has 5


class _Refused(Exception):
    """Stops the parser. The response is in `problem`."""


class BoundedProtocol(HttpToolsProtocol):
    """uvicorn's HTTP protocol with limits on the head of a request, on connections, and on refused bodies."""

    problem: Problem | None = None
    _timer: asyncio.TimerHandle | None = None
    _in_head, _has_begun, _has_ended, _is_refused = True, False, False, False
    _head_is_read = False
    _n_head = _n_unread = _n_body = _n_framing = 0

    def connection_made(self, transport: Any) -> None:
        """Start a connection. The head must arrive in time."""
        super().connection_made(transport)
        if len(self.connections) > CONNECTIONS:
            self.refuse(Problem(503, "busy", "too many connections", headers={"Retry-After": "1"}))
        else:
            self._set_timer(HEAD_SECONDS)

    def connection_lost(self, exc: Exception | None) -> None:
        """End."""
        self._set_timer(None)
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        """Read some bytes. Stop if the head is too long or a refused request does not end."""
        if self._is_refused:
            self._n_unread += len(data)
        else:
            self._count(data)
        if self.transport.is_closing():
            return
        if self._n_head > HEAD_BYTES and not self._is_refused:
            self.refuse(_HEAD_TOO_LONG)
        elif self._n_unread > UNREAD_BYTES or self._n_framing > HEAD_BYTES + FRAMING * self._n_body:
            self.transport.close()

    def _count(self, data: bytes) -> None:
        """Read some bytes. Count the bytes of the head, and the overhead of a chunked body.

        Bytes that arrive together with the end of a request are not counted, because most may belong to it.
        """
        was_in_head, n_body = self._in_head, self._n_body
        self._has_ended = False
        super().data_received(data)
        if self._has_ended:
            return
        if self._in_head:
            self._n_head += len(data)
        elif not was_in_head:
            self._n_framing += len(data) - (self._n_body - n_body)

    # -- callbacks of the parser ---------------------------------------------------------------------

    def on_message_begin(self) -> None:
        """A request begins."""
        self._in_head, self._has_begun, self._head_is_read = True, True, False
        self._n_unread = self._n_body = self._n_framing = 0
        self._set_timer(HEAD_SECONDS)
        super().on_message_begin()

    def on_headers_complete(self) -> None:
        """The head is complete. Start to answer, unless it is too long."""
        self._in_head, self._n_head = False, 0
        self._set_timer(None)
        if len(self.url) > URL_BYTES:
            self.problem = Problem(414, "url_too_long", f"an address has at most {URL_BYTES} bytes")
        elif sum(len(name) + len(value) + 4 for name, value in self.headers) > HEAD_BYTES:
            self.problem = _HEAD_TOO_LONG
        else:
            self.problem = ambiguous(self.headers)
        if self.problem is not None:
            raise _Refused
        self._head_is_read = True
        super().on_headers_complete()

    def on_header(self, name: bytes, value: bytes) -> None:
        """Keep a header. Trailers of a chunked body are dropped, because their number has no limit."""
        if not self._head_is_read:
            super().on_header(name, value)

    def on_body(self, body: bytes) -> None:
        """A part of the body has arrived."""
        self._n_body += len(body)
        if self.cycle.response_complete:
            self._n_unread += len(body)
        super().on_body(body)

    def on_message_complete(self) -> None:
        """The whole body has arrived."""
        self._set_timer(None)
        self._in_head, self._has_begun, self._has_ended = True, False, True
        super().on_message_complete()

    def on_response_complete(self) -> None:
        """A response was sent, possibly before the whole body arrived."""
        super().on_response_complete()
        if self.cycle.more_body and not self.transport.is_closing():
            self._set_timer(UNREAD_SECONDS)

    # -- responses of the protocol itself ------------------------------------------------------------

    def send_400_response(self, msg: str) -> None:
        """Refuse bytes that are not HTTP."""
        self.refuse(self.problem or Problem(400, "not_http", "this is not a valid HTTP request"))

    def refuse(self, problem: Problem) -> None:
        """Send the response for a problem, and close the connection.

        Further bytes of the client are read for a while. If bytes stay unread, closing the connection
        discards the response.
        """
        if self.transport.is_closing() or self._is_refused:
            return
        self._is_refused = True
        if self.cycle is None or self.cycle.response_complete:  # else it would answer another request
            body = problem_body(problem)
            head = [
                STATUS_LINE[problem.status],
                b"content-type: application/json\r\nx-content-type-options: nosniff\r\nconnection: close\r\n",
                *(f"{name}: {value}\r\n".encode("ascii") for name, value in problem.headers.items()),
                b"content-length: %d\r\n\r\n" % len(body),
            ]
            self.transport.write(b"".join([*head, body]))
            if self.transport.can_write_eof():
                self.transport.write_eof()
                self._set_timer(UNREAD_SECONDS)
                return
        self.transport.close()

    def _set_timer(self, seconds: float | None) -> None:
        if self._timer is not None:
            self._timer.cancel()
        self._timer = None if seconds is None else self.loop.call_later(seconds, self._late)

    def _late(self) -> None:
        self._timer = None
        if self._has_begun and not self._is_refused and self._in_head:
            self.refuse(Problem(408, "slow_head", f"send a request within {HEAD_SECONDS:g} seconds"))
        elif not self.transport.is_closing():
            self.transport.close()


def ambiguous(headers: Sequence[tuple[bytes, bytes]]) -> Problem | None:
    """Return a problem if another server could interpret a head differently; None otherwise.

    A proxy may check the first of two keys or host names where this service would use the last one.

    >>> ambiguous([(b"host", b"a"), (b"accept", b"*/*")]) is None
    True
    >>> ambiguous([(b"host", b"a"), (b"host", b"b")]).message
    'a request has at most one Host header'
    """
    seen = set()
    for name, value in headers:
        if name in _ONCE:
            if name in seen:
                shown = name.decode("ascii").title()
                return Problem(400, "not_http", f"a request has at most one {shown} header")
            seen.add(name)
            if name == b"transfer-encoding" and value.strip().lower() != b"chunked":
                return Problem(400, "not_http", "the only Transfer-Encoding is chunked")
    return None


_ONCE = frozenset(
    {b"host", b"origin", b"authorization", b"x-api-key", b"content-type", b"transfer-encoding"}
)  # headers that decide what a request may do, or where its body ends
_HEAD_TOO_LONG = Problem(431, "head_too_long", f"the head of a request has at most {HEAD_BYTES} bytes")
