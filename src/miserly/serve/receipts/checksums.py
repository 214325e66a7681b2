"""Lines of the journal and their checksums. It imports no plan, so the storing process stays small."""

from __future__ import annotations

import zlib
from typing import Any

import orjson

__all__ = ["checked", "read_line", "read_lines"]


def checked(text: bytes) -> bytes:
    """Return the journal line of a text without line breaks: checksum, text, and a line break."""
    return b"%08x %b\n" % (zlib.crc32(text), text)


def read_line(line: bytes) -> dict[str, Any] | None:
    """Return the record in a line (without line break); None if the line is damaged.

    >>> read_line(checked(b'{"v": 1}').rstrip()), read_line(b'00000000 {"v": 1}'), read_line(b"4b")
    ({'v': 1}, None, None)
    """
    try:
        if line[8:9] != b" " or int(line[:8], 16) != zlib.crc32(line[9:]):
            return None
        return orjson.loads(line[9:])
    except ValueError:
        return None


def read_lines(data: bytes) -> tuple[list[dict[str, Any]], int]:
    """Return the records in the lines of a file, and the number of damaged lines."""
    found = [read_line(line) for line in data.split(b"\n") if line]
    records = [record for record in found if record is not None]
    return records, len(found) - len(records)
