"""The connection to a service: requests with retries, and errors that say what to do.

All requests run in the event loop of one thread. So a client can be used from several threads and event
loops, and its connections stay open between requests.
"""

from __future__ import annotations

import asyncio
import json
import os
import random
import ssl
import weakref
from collections.abc import Coroutine, Mapping
from concurrent.futures import Future, wait
from contextlib import suppress
from typing import Any
from urllib.parse import quote

from miserly.errors import ClientError, UnreachableError
from miserly.runtime.calls import clock
from miserly.runtime.faults import delay_before
from miserly.runtime.pool import LoopThread

try:
    import httpx
except ImportError as error:  # pragma: no cover
    raise ImportError("miserly.client needs httpx: pip install 'miserly[client]'") from error

__all__ = ["Connection", "DeadlinePassed", "path_of"]

_AGAIN = ("busy", "too_many_sessions", "store_unavailable")  # 503: the request had no effect
_KEPT_OPEN = 2.0  # seconds; less than servers keep idle connections
_BACKOFF = 0.1  # seconds before the first retry
_CONNECTIONS = 32
_LAST = 2.0  # seconds for requests in the background
_NOT_SENT = (httpx.ConnectError, httpx.ConnectTimeout, httpx.PoolTimeout)


class DeadlinePassed(Exception):
    """The deadline of a request has passed."""


def path_of(*parts: str) -> str:
    """Return a URL path from its parts.

    >>> path_of("v1", "models", "a b")
    '/v1/models/a%20b'
    """
    return "".join(f"/{quote(part, safe='')}" for part in parts)


class Connection:
    """The connection to a service.

    Parameters
    ----------
    url : str
        Its address.
    api_key : str or None
        Sent with every request.
    timeout : float
        Maximum time of one request, in seconds.
    retries : int
        Maximum number of retries, if a retry is safe and may succeed.
    verify : bool, str, Path or ssl.SSLContext
        How its certificate is checked; as for `Client`.
    transport : httpx.AsyncBaseTransport, optional
        An httpx transport that replaces the network.
    """

    def __init__(
        self,
        url: str,
        api_key: str | None,
        timeout: float,
        retries: int,
        verify: Any,
        transport: httpx.AsyncBaseTransport | None = None,
    ) -> None:
        self.url = url.rstrip("/")
        self._timeout, self._retries = timeout, retries
        headers = {"Accept": "application/json"} | ({} if api_key is None else {"X-API-Key": api_key})
        limits = httpx.Limits(max_connections=_CONNECTIONS, keepalive_expiry=_KEPT_OPEN)
        try:
            self._http = httpx.AsyncClient(
                base_url=self.url, headers=headers, verify=_trust(verify), limits=limits, timeout=timeout,
                transport=transport, follow_redirects=False,
            )  # fmt: skip
        except (httpx.InvalidURL, UnicodeError, ValueError, OSError) as error:
            raise ClientError(f"a client cannot be made for {url!r}: {error}") from error
        if self._http.base_url.scheme not in ("http", "https") or not self._http.base_url.host:
            raise ClientError(f"the URL of a service begins with http:// or https://, not {url!r}")
        self._loop: LoopThread | None = LoopThread()
        self._end = weakref.finalize(self, _end, self._loop, self._http)
        self._left: set[Future[None]] = set()  # requests in the background
        self.round_trip = 0.01  # running estimate, in seconds

    # -- requests ------------------------------------------------------------------------------------

    async def call(
        self, method: str, path: str, body: Mapping[str, Any] | None = None, **options: Any
    ) -> Any:
        """Make a request from any event loop; see `request`."""
        return await self.arun(self.request(method, path, body, **options))

    async def request(
        self,
        method: str,
        path: str,
        body: Mapping[str, Any] | None = None,
        *,
        end: float = float("inf"),
        repeatable: bool = True,
    ) -> Any:
        """Make a request, and return the content of its response.

        Parameters
        ----------
        method, path : str
            The HTTP method and the path.
        body : mapping, optional
            Sent as JSON.
        end : float
            The deadline, as a time of `clock`.
        repeatable : bool, default=True
            Whether the request can be repeated safely.

        Returns
        -------
        object
            The JSON of the response; None if it has none.

        Raises
        ------
        ClientError
            If there is no answer.
        DeadlinePassed
            If the deadline has passed.
        """
        content = None if body is None else _encoded(body)
        retry = 0
        while True:
            try:
                return await self._once(method, path, content, end)
            except ClientError as error:
                delay = self._delay(error, retry, repeatable)
                if delay is None or clock() + delay >= end:
                    raise
            await asyncio.sleep(delay)
            retry += 1

    async def _once(self, method: str, path: str, content: bytes | None, end: float) -> Any:
        left = end - clock()
        if left <= 0:
            raise DeadlinePassed
        timeout = min(self._timeout, left)
        headers = {} if content is None else {"Content-Type": "application/json"}
        begun = clock()
        try:
            async with asyncio.timeout(timeout):  # for the whole request; timeouts of httpx are per phase
                response = await self._http.request(
                    method, path, content=content, headers=headers, timeout=httpx.Timeout(timeout, pool=None)
                )
        except (TimeoutError, httpx.TimeoutException) as error:
            if timeout == left:
                raise DeadlinePassed from error
            what = f"{self.url} did not answer within {timeout:g} seconds"
            raise _unreachable(what, error) from error
        except httpx.HTTPError as error:
            what = f"{self.url} cannot be reached: {error or type(error).__name__}"
            raise _unreachable(what, error) from error
        self.round_trip = 0.8 * self.round_trip + 0.2 * (clock() - begun)
        return _read(response, self.url)

    def _delay(self, error: ClientError, retry: int, repeatable: bool) -> float | None:
        """Seconds until the next attempt; None if the request is not repeated."""
        if retry >= self._retries:
            return None
        delay = delay_before(retry, _BACKOFF)
        if isinstance(error, UnreachableError):
            return delay if repeatable or isinstance(error.__cause__, _NOT_SENT) else None
        if error.status == 429 or (error.status == 503 and error.code in _AGAIN):
            after = error.retry_after
            return delay if after is None else after + 0.1 * delay * random.random()
        gateway = error.status in (502, 503, 504) and error.code is None
        return delay if gateway and repeatable else None

    # -- the thread ----------------------------------------------------------------------------------

    @property
    def _thread(self) -> LoopThread:
        if self._loop is None:
            raise ClientError("the client is closed")
        return self._loop

    def run(self, work: Coroutine[Any, Any, Any]) -> Any:
        """Run a coroutine in the thread of the connection, and wait for its result."""
        try:
            thread = self._thread
        except ClientError:
            work.close()
            raise
        return thread.run(work)

    async def arun(self, work: Coroutine[Any, Any, Any]) -> Any:
        """Run a coroutine in the thread of the connection, and await its result in any event loop."""
        try:
            future = self._thread.submit(work)
        except ClientError:
            work.close()
            raise
        return await asyncio.wrap_future(future)

    def later(self, method: str, path: str) -> None:
        """Make a request in the background, and ignore failures."""
        if self._loop is not None:
            future = self._loop.submit(self._quietly(method, path))
            self._left.add(future)
            future.add_done_callback(self._left.discard)

    async def _quietly(self, method: str, path: str) -> None:
        with suppress(ClientError, DeadlinePassed):
            await self.request(method, path, end=clock() + _LAST)

    def close(self) -> None:
        """Close all connections, and end the thread."""
        if self._loop is not None:
            self._loop = None
            wait(list(self._left), timeout=_LAST)
            self._end()


def _trust(verify: Any) -> Any:
    """The `verify` option of httpx: as given, or made from a file or folder of certificates."""
    if isinstance(verify, (str, os.PathLike)):
        path = os.fspath(verify)
        is_folder = os.path.isdir(path)
        return ssl.create_default_context(
            cafile=None if is_folder else path, capath=path if is_folder else None
        )
    return verify


def _end(thread: LoopThread, http: httpx.AsyncClient) -> None:
    """Close connections, then end their thread."""
    closed = thread.submit(http.aclose())
    closed.add_done_callback(lambda _: thread.close())
    wait([closed], timeout=_LAST)


def _encoded(body: Mapping[str, Any]) -> bytes:
    try:
        return json.dumps(body, allow_nan=False, ensure_ascii=True).encode("ascii")
    except (TypeError, ValueError) as error:
        raise ClientError(f"a request can hold only what JSON can: {error}") from error


def _unreachable(what: str, cause: Exception) -> UnreachableError:
    error = UnreachableError(what)
    error.__cause__ = cause
    return error


def _read(response: httpx.Response, url: str) -> Any:
    """The content of a response. Raises the error that the response reports."""
    if response.status_code == 204:
        return None
    try:
        record = response.json()
    except (ValueError, UnicodeDecodeError):
        record = None
    if response.is_success and record is not None:
        return record
    found = record.get("error") if isinstance(record, dict) else None
    if not isinstance(found, dict):
        what = "its answer is not that of miserly serve" if response.is_success else "it gave no reason"
        raise ClientError(f"{url} answered with the status {response.status_code}; {what}",
                          response.status_code)  # fmt: skip
    code, field = found.get("code"), found.get("field")
    error = ClientError(f"{_message(found, url)}", response.status_code, code, field)
    error.retry_after = _seconds(response.headers.get("Retry-After"))
    raise error


def _message(found: Mapping[str, Any], url: str) -> str:
    message, code, field = str(found.get("message")), found.get("code"), found.get("field")
    if code == "no_key":
        return f"{url} needs an API key: give api_key"
    if code == "wrong_key":
        return f"{url} does not know this API key"
    return f"{message} ({field})" if field and str(field) not in message else message


def _seconds(text: str | None) -> float | None:
    try:
        return None if text is None else max(0.0, float(text))
    except ValueError:  # Retry-After may also be a date
        return None
