"""Rules for clients that are browsers: hosts, origins, and security headers.

A page of another site must not use this service through the browser of a user who can reach it.
CORS alone does not prevent that: a browser sends simple requests first and hides only the response.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from miserly.errors import ServeError
from miserly.serve.problems import Problem

__all__ = ["Browsers", "security_headers"]

HeaderList = list[tuple[bytes, bytes]]

_ORIGIN = re.compile(r"https?://([a-z0-9.-]+|\[[0-9a-f:]+\])(:\d{1,5})?")
_SAFE = frozenset({"GET", "HEAD", "OPTIONS"})
_COMMON: HeaderList = [
    (b"x-content-type-options", b"nosniff"),
    (b"referrer-policy", b"no-referrer"),
    (b"cross-origin-opener-policy", b"same-origin"),
    (b"x-frame-options", b"DENY"),
]
_PAGE: HeaderList = [
    *_COMMON,
    (
        b"content-security-policy",
        b"default-src 'self'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'; object-src 'none'",
    ),
]
_API: HeaderList = [
    *_COMMON,
    (b"content-security-policy", b"default-src 'none'; frame-ancestors 'none'"),
    (b"cache-control", b"no-store"),
]
_PREFLIGHT: HeaderList = [
    (b"access-control-allow-methods", b"GET, POST, PATCH, DELETE"),
    (b"access-control-allow-headers", b"Authorization, Content-Type, X-API-Key, X-Request-ID"),
    (b"access-control-max-age", b"600"),
]


def security_headers(is_page: bool) -> HeaderList:
    """Return the headers of every response of the page or of the API."""
    return _PAGE if is_page else _API


class Browsers:
    """Rules for requests of browsers.

    Parameters
    ----------
    origins : sequence of str
        Origins of other pages that may call the service, such as ``https://ward.example.org``.
    hosts : sequence of str
        Allowed host names of the service, without ports. If empty, any name is allowed.
    """

    def __init__(self, origins: Sequence[str], hosts: Sequence[str]) -> None:
        for origin in origins:
            if not _ORIGIN.fullmatch(origin):
                raise ServeError(
                    f"{origin!r} is not an origin: https://host or https://host:port, in lower case"
                )
        self._origins = frozenset(origin.encode("ascii") for origin in origins)
        self._hosts = frozenset(host.lower().encode("idna") for host in hosts)

    def check(self, method: str, headers: Mapping[bytes, bytes]) -> HeaderList | None:
        """Raise a problem for a request to another host or from another site.

        Returns the headers of the response to a CORS preflight, None for other requests.
        """
        host = headers.get(b"host", b"")
        if self._hosts and _host_name(host) not in self._hosts:
            raise Problem(
                421,
                "wrong_host",
                "this service is not known under the name in the Host header (--allowed-host)",
            )
        origin = headers.get(b"origin")
        if origin is None:
            return None
        is_preflight = method == "OPTIONS" and b"access-control-request-method" in headers
        if is_preflight and origin in self._origins:
            return _PREFLIGHT
        is_ours = origin in self._origins or origin.partition(b"//")[2] == host
        if not is_ours and (is_preflight or method not in _SAFE):
            raise Problem(403, "wrong_origin", "pages of this origin may not use this service (--cors)")
        return None

    def add_headers(self, headers: Mapping[bytes, bytes], added: HeaderList) -> HeaderList:
        """Add the CORS headers, if any, to the headers of a response."""
        if self._origins:
            added.append((b"vary", b"Origin"))
            origin = headers.get(b"origin", b"")
            if origin in self._origins:
                added.append((b"access-control-allow-origin", origin))
                added.append((b"access-control-expose-headers", b"X-Request-ID, Retry-After"))
        return added


def _host_name(host: bytes) -> bytes:
    """Return a Host header without its port, in lower case.

    >>> _host_name(b"Example.org:8000"), _host_name(b"[::1]:8000")
    (b'example.org', b'[::1]')
    """
    name = host.lower()
    if name.startswith(b"["):
        return name.partition(b"]")[0] + b"]"
    return name.partition(b":")[0]
