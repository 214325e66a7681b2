"""API keys of the service. Only their hashes are stored."""

from __future__ import annotations

import hashlib
import hmac
import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from miserly.errors import ServeError

__all__ = ["KeyRing", "describe_keys", "read_keys"]

SHORTEST = 16  # characters
_HASHED = re.compile(r"sha256:[0-9a-f]{64}")
_PRINTABLE = re.compile(r"[!-~]+")


class KeyRing:
    """The accepted API keys.

    Parameters
    ----------
    keys : iterable of str
        Keys of at least 16 characters without blanks, or ``sha256:`` and the hash of a key in 64 hex digits.

    Examples
    --------
    >>> ring = KeyRing(["correct-horse-battery"])
    >>> ring.key_id({b"authorization": b"Bearer correct-horse-battery"})
    '622493693890'
    >>> ring.key_id({b"x-api-key": b"another"}) is None
    True
    """

    def __init__(self, keys: Iterable[str]) -> None:
        self._hashes = tuple(_hash_of(key, number) for number, key in enumerate(keys, start=1))

    def __bool__(self) -> bool:
        return bool(self._hashes)

    def key_id(self, headers: Mapping[bytes, bytes]) -> str | None:
        """Return the id of the key of a request (the start of its hash); None if the key is not valid."""
        given = given_key(headers)
        if not given:
            return None
        found = hashlib.sha256(given).digest()
        valid = False
        for known in self._hashes:  # compare with all, so that the time does not depend on the key
            valid |= hmac.compare_digest(found, known)
        return found.hex()[:12] if valid else None


def given_key(headers: Mapping[bytes, bytes]) -> bytes:
    """Return the key in ``X-API-Key`` or ``Authorization: Bearer``; empty if missing or contradictory."""
    given = headers.get(b"x-api-key")
    scheme, _, token = headers.get(b"authorization", b"").partition(b" ")
    if scheme.lower() != b"bearer":  # other schemes may be meant for a proxy
        return given or b""
    return token.strip() if given is None or given == token.strip() else b""


def read_keys(path: str | Path) -> tuple[str, ...]:
    """Return the keys in a file, one per line. Empty lines and lines that start with # are skipped."""
    try:
        lines = Path(path).read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        reason = getattr(error, "strerror", None) or "it is not UTF-8 text"
        raise ServeError(f"{path}: cannot read the file of API keys: {reason}") from None
    keys = tuple(line.strip() for line in lines if line.strip() and not line.lstrip().startswith("#"))
    if not keys:
        raise ServeError(f"{path}: there is no API key in this file; write one in each line")
    KeyRing(keys)
    return keys


def describe_keys(openapi: dict[str, Any]) -> None:
    """Declare in an OpenAPI description that all paths under /v1 need a key."""
    openapi["components"]["securitySchemes"] = {
        "bearer": {"type": "http", "scheme": "bearer"},
        "key": {"type": "apiKey", "in": "header", "name": "X-API-Key"},
    }
    for path, methods in openapi["paths"].items():
        if path.startswith("/v1/"):
            for operation in methods.values():
                operation["security"] = [{"bearer": []}, {"key": []}]


def _hash_of(key: str, number: int) -> bytes:
    if key.startswith("sha256:"):
        if not _HASHED.fullmatch(key):
            raise ServeError(f"API key {number}: write sha256: and 64 hex digits in lower case")
        return bytes.fromhex(key.removeprefix("sha256:"))
    if len(key) < SHORTEST or not _PRINTABLE.fullmatch(key):
        raise ServeError(
            f"API key {number}: a key has at least {SHORTEST} printable ASCII characters and no blanks, for "
            "example the output of: openssl rand -hex 24"
        )
    return hashlib.sha256(key.encode("ascii")).digest()
