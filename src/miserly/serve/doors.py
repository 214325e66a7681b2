"""One ASGI middleware for all checks of a request before it reaches the routes.

It is one class, because each further ASGI layer costs a coroutine per message. The order of the checks is:
request id, host, CORS preflight, cross-site requests, API key, rate, body, concurrency, time. Each worker
counts rates and concurrency separately.
"""

from __future__ import annotations

import asyncio
import logging
import math
import os
import re
import time
from collections.abc import Awaitable, Callable, Mapping, MutableMapping
from ipaddress import ip_address
from typing import Any

from miserly.serve.browsers import Browsers, security_headers
from miserly.serve.keys import KeyRing
from miserly.serve.limits import ClientGone, RateLimit, client_network, read_body, replay, too_large
from miserly.serve.problems import Problem, problem_body
from miserly.serve.settings import ServeSettings

__all__ = ["Doors"]

Scope = MutableMapping[str, Any]
Headers = Mapping[bytes, bytes]
Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
Application = Callable[[Scope, Receive, Send], Awaitable[None]]

_log = logging.getLogger("miserly.serve")

PROBES = frozenset({"/healthz", "/readyz"})  # need no key and have no limits: a busy server is alive
PAGE = frozenset({"/", "/favicon.ico"})
PAGE_FOLDER = "/static/"
METRICS = "/metrics"
_REQUEST_ID = re.compile(rb"[A-Za-z0-9._-]{1,64}")
_FORWARDED = (b"forwarded", b"x-forwarded-for")


class Doors:
    """ASGI middleware that checks every request before the routes get it, and completes every response.

    Parameters
    ----------
    app : ASGI application
        The application that gets the accepted requests.
    settings : ServeSettings
        Keys, limits, origins and hosts.
    on_response : callable, optional
        Called with the scope, the status and the seconds of every response; see `Metrics.responded`.
    grace : float, default=2.0
        Seconds after ``settings.timeout`` until a request is cancelled. Routes normally answer within the
        timeout, from the features bought so far.
    clock : callable, default=time.perf_counter
        A function that returns the time in seconds.
    """

    def __init__(
        self,
        app: Application,
        settings: ServeSettings,
        on_response: Callable[[Scope, int, float], None] | None = None,
        grace: float = 2.0,
        clock: Callable[[], float] = time.perf_counter,
    ) -> None:
        self._app = app
        self._keys = KeyRing(settings.keys)
        self._browsers = Browsers(settings.cors, settings.allowed_hosts)
        self._rate = None if settings.rate is None else RateLimit(settings.rate, settings.burst)
        self._max_body, self._body_timeout = settings.max_body, settings.body_timeout
        self._timeout, self._most = settings.timeout + grace, settings.concurrency
        self._on_response, self._clock = on_response, clock
        self.under_way = 0

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        if scope["type"] != "http":
            await self._not_http(scope, receive, send)
            return
        began = self._clock()
        headers = dict(scope["headers"])
        state = scope.setdefault("state", {})
        number = state["request_id"] = _request_id(headers)
        state["key_id"] = ""
        path = scope["path"]
        is_page = path in PAGE or path.startswith(PAGE_FOLDER)
        added = [*security_headers(is_page), (b"x-request-id", number.encode("ascii"))]
        reply = _Response(send, self._browsers.add_headers(headers, added), scope["method"] == "HEAD")
        inner = scope if not reply.no_body else {**scope, "method": "GET"}
        try:
            preflight = self._browsers.check(scope["method"], headers)
            if preflight is None:
                self._check(scope, headers, path, is_page)
                await self._answer(inner, receive, reply, headers, path)
            else:
                await reply.whole(204, preflight)
        except Problem as problem:
            await reply.problem(problem)
        except ClientGone:
            reply.status = 499  # as in the logs of nginx: no response was possible
        except Exception as error:
            if reply.ended:  # the failure was sent and logged
                return
            _log.error("request %s failed", number, exc_info=error)
            if reply.started:  # the status was already sent: close the connection
                raise
            await reply.problem(crash(number))
        finally:
            if self._on_response is not None:
                self._on_response(inner, reply.status, self._clock() - began)

    # -- before the body -----------------------------------------------------------------------------

    def _check(self, scope: Scope, headers: Headers, path: str, is_page: bool) -> None:
        """Raise a problem if the head of a request shows that it must be refused."""
        if path in PROBES:
            return
        client = (scope.get("client") or ("",))[0]
        if self._keys and not is_page and not (path == METRICS and _is_local(client, headers)):
            key_id = self._keys.key_id(headers)
            if key_id is None:
                self._slow_down("refused " + client_network(client))
                raise no_key(headers)
            scope["state"]["key_id"] = key_id
        elif path == METRICS and not _is_local(client, headers):
            raise Problem(
                403, "local_only", "without API keys, metrics are for clients on this machine alone"
            )
        self._slow_down(scope["state"]["key_id"] or client_network(client))
        length = headers.get(b"content-length", b"0")
        if len(length) > 15 or (length.isdigit() and int(length) > self._max_body):
            raise too_large(self._max_body)

    def _slow_down(self, client: str) -> None:
        if self._rate is not None and (wait := self._rate.wait(client, self._clock())):
            raise Problem(
                429,
                "too_many_requests",
                "this client sends more requests than it may; wait for the seconds in Retry-After",
                headers={"Retry-After": str(math.ceil(wait))},
            )

    # -- the body and the answer ---------------------------------------------------------------------

    async def _answer(
        self, scope: Scope, receive: Receive, reply: _Response, headers: Headers, path: str
    ) -> None:
        has_body = b"transfer-encoding" in headers or headers.get(b"content-length", b"0") != b"0"
        counted, is_read = False, not has_body
        limit = asyncio.timeout(self._timeout if is_read else self._body_timeout)
        try:
            async with limit:
                if has_body:
                    body = await read_body(receive, self._max_body)
                    receive, is_read = replay(body, receive), True
                    limit.reschedule(asyncio.get_running_loop().time() + self._timeout)
                    check_type(headers, body)
                if path not in PROBES:
                    self._enter()
                    counted = True
                await self._app(scope, receive, reply)
        except TimeoutError:
            if not limit.expired() or reply.started:
                raise
            raise self._late(is_read) from None
        finally:
            self.under_way -= counted

    def _enter(self) -> None:
        if self.under_way >= self._most:
            message = "too many requests are under way; send this one again later"
            raise Problem(503, "busy", message, headers={"Retry-After": "1"})
        self.under_way += 1

    def _late(self, is_read: bool) -> Problem:
        if is_read:
            message = f"this request was not answered within {self._timeout:g} seconds"
            return Problem(503, "timeout", message, headers={"Retry-After": "1"})
        message = f"the body of this request did not arrive within {self._body_timeout:g} seconds"
        return Problem(408, "slow_body", message, headers={"Connection": "close"})

    async def _not_http(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            await self._app(scope, receive, send)
        else:  # a web socket, which the service does not support
            await receive()
            await send({"type": "websocket.close", "code": 1000})


class _Response:
    """The `send` of one request. It adds headers to the response, and omits the body for HEAD."""

    __slots__ = ("_added", "_send", "ended", "no_body", "started", "status")

    def __init__(self, send: Send, added: list[tuple[bytes, bytes]], no_body: bool) -> None:
        self._send, self._added, self.no_body = send, added, no_body
        self.started = self.ended = False
        self.status = 500

    async def __call__(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            self.started, self.status = True, message["status"]
            message["headers"] = [*message.get("headers", ()), *self._added]
        else:
            self.ended = not message.get("more_body", False)
            if self.no_body:
                message = {**message, "body": b""}
        await self._send(message)

    async def problem(self, problem: Problem) -> None:
        """Send the response for a problem."""
        body = problem_body(problem)
        given = [(name.lower().encode(), value.encode()) for name, value in problem.headers.items()]
        kind = [(b"content-type", b"application/json"), (b"content-length", str(len(body)).encode())]
        await self.whole(problem.status, kind + given, body)

    async def whole(self, status: int, headers: list[tuple[bytes, bytes]], body: bytes = b"") -> None:
        """Send a whole response."""
        await self({"type": "http.response.start", "status": status, "headers": headers})
        await self({"type": "http.response.body", "body": body})


# -- small checks --------------------------------------------------------------------------------------


def check_type(headers: Headers, body: bytes) -> None:
    """Raise a 415 for a body that is not plain JSON."""
    if not body:
        return
    kind = headers.get(b"content-type", b"").partition(b";")[0].strip().lower()
    if kind != b"application/json":
        raise Problem(415, "not_json", "send the body as JSON, with Content-Type: application/json")
    if headers.get(b"content-encoding", b"identity").strip().lower() != b"identity":
        raise Problem(415, "compressed", "send the body without a Content-Encoding")


def no_key(headers: Headers) -> Problem:
    """Return the problem for a request without a valid key."""
    is_wrong = b"x-api-key" in headers or b"authorization" in headers
    message = (
        "this API key is not valid" if is_wrong else "send an API key as X-API-Key or Authorization: Bearer"
    )
    code = "wrong_key" if is_wrong else "no_key"
    return Problem(401, code, message, headers={"WWW-Authenticate": 'Bearer realm="miserly"'})


def crash(number: str) -> Problem:
    """Return the problem for an internal error of the server."""
    return Problem(500, "internal", f"an error of the server; it was logged with the request id {number}")


def _request_id(headers: Headers) -> str:
    """Return the id that the client sent, if it is short and plain; otherwise a new one."""
    given = headers.get(b"x-request-id")
    if given is not None and _REQUEST_ID.fullmatch(given):
        return given.decode("ascii")
    return os.urandom(8).hex()


def _is_local(client: str, headers: Headers) -> bool:
    """Return whether a request comes from this machine, and not through a proxy on it."""
    if any(name in headers for name in _FORWARDED):
        return False
    try:
        return ip_address(client).is_loopback
    except ValueError:
        return not client  # a Unix socket
