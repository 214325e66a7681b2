"""The part of Universal Binary JSON that XGBoost writes: objects, arrays, typed arrays, numbers, text.

Each length is checked against the remaining data before it is used. The depth is limited.
"""

from __future__ import annotations

import struct
from typing import Any

import numpy as np

from miserly.errors import DataError

__all__ = ["parse_ubjson"]

MAX_DEPTH = 64
_MAX_ITEMS = 50_000_000
_NUMBERS = {b"i": ">i1", b"U": ">u1", b"I": ">i2", b"l": ">i4", b"L": ">i8", b"d": ">f4", b"D": ">f8"}
_FORMATS = {b"i": ">b", b"U": ">B", b"I": ">h", b"l": ">i", b"L": ">q", b"d": ">f", b"D": ">d"}
_LENGTHS = frozenset((b"i", b"U", b"I", b"l", b"L"))
_CONSTANTS = {b"T": True, b"F": False, b"Z": None}


def parse_ubjson(data: bytes) -> Any:
    """Read a document.

    Parameters
    ----------
    data : bytes
        The document.

    Returns
    -------
    object
        Dictionaries, lists, NumPy arrays for typed arrays, numbers, text, booleans and None.

    Raises
    ------
    DataError
        If it is not a document, or incomplete.

    Examples
    --------
    >>> parse_ubjson(b"{i\\x01aSi\\x02hii\\x01b[i\\x05i\\x06]}")
    {'a': 'hi', 'b': [5, 6]}
    """
    reader = _Bytes(data)
    value = reader.value(reader.take(1), 0)
    if reader.place != len(data):
        raise DataError(f"the binary JSON ends at byte {reader.place} of {len(data)}")
    return value


class _Bytes:
    """Bytes that are read from the beginning to the end."""

    def __init__(self, data: bytes) -> None:
        self.data = data
        self.place = 0
        self.items = 0

    def take(self, n: int) -> bytes:
        end = self.place + n
        if n < 0 or end > len(self.data):
            raise DataError(f"the binary JSON is incomplete: {n} bytes are missing at byte {self.place}")
        part = self.data[self.place : end]
        self.place = end
        return part

    def value(self, kind: bytes, depth: int) -> Any:
        self.items += 1
        if depth > MAX_DEPTH or self.items > _MAX_ITEMS:
            raise DataError(f"the binary JSON is nested too deeply or too large at byte {self.place}")
        if kind in _FORMATS:
            size = struct.calcsize(_FORMATS[kind])
            return struct.unpack(_FORMATS[kind], self.take(size))[0]
        if kind == b"S":
            return self.text()
        if kind == b"{":
            return self.object(depth)
        if kind == b"[":
            return self.array(depth)
        if kind in _CONSTANTS:
            return _CONSTANTS[kind]
        raise DataError(f"the binary JSON has an unknown type at byte {self.place - 1}")

    def length(self) -> int:
        kind = self.take(1)
        if kind not in _LENGTHS:
            raise DataError(f"the binary JSON has no length at byte {self.place - 1}")
        n = self.value(kind, 0)
        if n < 0:
            raise DataError(f"the binary JSON has a negative length at byte {self.place}")
        return int(n)

    def text(self) -> str:
        part = self.take(self.length())
        try:
            return part.decode("utf-8")
        except UnicodeDecodeError:
            raise DataError(f"the binary JSON holds text that is not UTF-8 at byte {self.place}") from None

    def object(self, depth: int) -> dict[str, Any]:
        found: dict[str, Any] = {}
        while self.data[self.place : self.place + 1] != b"}":
            name = self.text()
            if name in found:
                raise DataError(f"the binary JSON has two entries of the same name at byte {self.place}")
            found[name] = self.value(self.take(1), depth + 1)
        self.take(1)
        return found

    def array(self, depth: int) -> Any:
        kind = b""
        if self.data[self.place : self.place + 1] == b"$":
            self.take(1)
            kind = self.take(1)
            if kind not in _NUMBERS or self.data[self.place : self.place + 1] != b"#":
                raise DataError(f"the binary JSON has an array of an unknown type at byte {self.place}")
        if self.data[self.place : self.place + 1] == b"#":
            self.take(1)
            n = self.length()
            if kind:
                dtype = np.dtype(_NUMBERS[kind])
                return np.frombuffer(self.take(n * dtype.itemsize), dtype=dtype)
            if n > len(self.data) - self.place:
                raise DataError(f"the binary JSON has an array of {n} items at byte {self.place}")
            return [self.value(self.take(1), depth + 1) for _ in range(n)]
        found = []
        while (first := self.take(1)) != b"]":
            found.append(self.value(first, depth + 1))
        return found
