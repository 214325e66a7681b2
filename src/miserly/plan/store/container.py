"""One file of one JSON header and some named arrays, checked byte by byte before anything is believed.

    magic (8) | version (8) | length of the file (8) | length of the header (8)
    header: JSON in UTF-8, padded with spaces to a multiple of 8
    arrays: raw, little-endian, one after the other, each padded with zeros to a multiple of 8
    SHA-256 of everything before it (32)

Nothing is compressed, so no array can be larger than the file it came in, and sizes are compared with the
file before any array is made. The checksum finds accidents. It does not stop an attacker, who can compute
it too, so nothing that is read here is trusted because the checksum was right.
"""

from __future__ import annotations

import hashlib
import json
import math
import struct
from collections.abc import Mapping, Sequence
from typing import Any, NoReturn, TypeAlias

import numpy as np
from numpy.typing import NDArray

from miserly.errors import PlanError, PlanFormatError

__all__ = [
    "MAGIC",
    "PREAMBLE",
    "VERSION",
    "Arrays",
    "Schema",
    "bounds",
    "check_bounds",
    "check_codes",
    "floats",
    "ints",
    "joined",
    "json_problem",
    "pack",
    "read_bools",
    "read_preamble",
    "unpack",
]

MAGIC = b"\x89MISER\r\n"  # the line end shows a transfer in text mode, the first byte that this is no text
VERSION = 9  # the newest; a file has the oldest that can hold it
PREAMBLE = struct.Struct("<8sQQQ")
MAX_DEPTH = 64  # of nested lists and objects in the header

Arrays: TypeAlias = dict[str, NDArray[Any]]
Schema: TypeAlias = Mapping[str, tuple[str, tuple[str | int, ...]]]  # name: dtype, dimensions

_DIGEST = hashlib.sha256().digest_size


def pack(header: Mapping[str, Any], arrays: Arrays, schema: Schema, version: int = 1) -> bytes:
    """The bytes of a file with this header and these arrays, in the order of the schema of its version."""
    directory: dict[str, Any] = {}
    chunks: list[bytes] = []
    offset = 0
    for name, (dtype, _) in schema.items():
        chunk = _padded(np.ascontiguousarray(arrays[name], dtype=dtype).tobytes(), b"\0")
        directory[name] = {"dtype": dtype, "shape": list(arrays[name].shape), "offset": offset}
        offset += len(chunk)
        chunks.append(chunk)
    text = _padded(_to_json({**header, "arrays": directory}), b" ")
    length = PREAMBLE.size + len(text) + offset + _DIGEST
    body = b"".join([PREAMBLE.pack(MAGIC, version, length, len(text)), text, *chunks])
    return body + hashlib.sha256(body).digest()


def unpack(data: bytes, schemas: Mapping[int, Schema]) -> tuple[int, dict[str, Any], Arrays]:
    """The version, the header (without its array directory) and the arrays, as read-only views of `data`."""
    length, header_length = read_preamble(data[: PREAMBLE.size])
    version = PREAMBLE.unpack(data[: PREAMBLE.size])[1]
    schema = schemas[version]
    check_length(len(data), length)
    if hashlib.sha256(memoryview(data)[:-_DIGEST]).digest() != data[-_DIGEST:]:
        raise PlanFormatError("the file was altered after it was written: its checksum is wrong")
    start, stop = PREAMBLE.size + header_length, length - _DIGEST
    if header_length % 8 or start > stop:
        raise PlanFormatError(f"a header of {header_length} bytes does not fit a file of {length}")
    header = _from_json(data[PREAMBLE.size : start])
    directory = header.pop("arrays", None)
    if not isinstance(directory, dict) or list(directory) != list(schema):
        raise PlanFormatError("the header does not list the arrays that a plan is made of, in their order")
    return version, header, _read_arrays(memoryview(data)[start:stop], directory, schema)


def read_preamble(data: bytes) -> tuple[int, int]:
    """The lengths of the file and of its header, once the magic and the version are known."""
    if data[: len(MAGIC)] != MAGIC[: len(data)] or not data:
        raise PlanFormatError("this is not a saved plan (it does not begin as one)")
    if len(data) < PREAMBLE.size:
        raise PlanFormatError(f"the file is truncated: it ends after {len(data)} bytes")
    _, version, length, header_length = PREAMBLE.unpack(data)
    if version > VERSION:
        raise PlanFormatError(
            f"the file has format version {version}, and this miserly reads up to version {VERSION}: "
            "upgrade miserly to load it"
        )
    if version < 1:
        raise PlanFormatError(f"there is no format version {version}")
    if length < PREAMBLE.size + _DIGEST:
        raise PlanFormatError(f"a file of {length} bytes is too short for a plan")
    return length, header_length


def check_length(found: int, written: int) -> None:
    if found != written:
        what = "truncated" if found < written else "followed by bytes that are not its own"
        raise PlanFormatError(f"the file is {what}: {found} bytes where {written} were written")


# -- arrays ----------------------------------------------------------------------------------------------


def _read_arrays(payload: memoryview, directory: Mapping[str, Any], schema: Schema) -> Arrays:
    """Views of the arrays, which must fill the payload one after the other, with nothing between."""
    arrays: Arrays = {}
    offset = 0
    for name, (dtype, dimensions) in schema.items():
        shape = _read_shape(name, directory[name], dtype, len(dimensions), offset, len(payload))
        count = math.prod(shape)
        stop = offset + count * np.dtype(dtype).itemsize
        end = stop + -stop % 8
        if end > len(payload):
            raise PlanFormatError(f"array {name!r} of shape {shape} goes past the end of the file")
        if any(payload[stop:end]):
            raise PlanFormatError(f"array {name!r} is followed by bytes that belong to nothing")
        arrays[name] = np.frombuffer(payload, dtype=dtype, count=count, offset=offset).reshape(shape)
        offset = end
    if offset != len(payload):
        raise PlanFormatError(f"{len(payload) - offset} bytes after the last array belong to nothing")
    return arrays


def _read_shape(name: str, entry: Any, dtype: str, ndim: int, offset: int, room: int) -> tuple[int, ...]:
    """The shape of one array, if its entry says what the schema says and its place is the next free one."""
    if not isinstance(entry, dict) or set(entry) != {"dtype", "shape", "offset"}:
        raise PlanFormatError(f"array {name!r} needs a dtype, a shape and an offset, and nothing else")
    if entry["dtype"] != dtype:
        raise PlanFormatError(f"array {name!r} must have dtype {dtype!r}, not {_short(entry['dtype'])}")
    if type(entry["offset"]) is not int or entry["offset"] != offset:
        raise PlanFormatError(f"array {name!r} must begin at {offset}, not at {_short(entry['offset'])}")
    shape = entry["shape"]
    if not isinstance(shape, list) or len(shape) != ndim:
        raise PlanFormatError(f"array {name!r} must have {ndim} dimensions, not the shape {_short(shape)}")
    if any(type(size) is not int or not 0 <= size <= room for size in shape):
        raise PlanFormatError(f"array {name!r} cannot have the shape {_short(shape)} in a file of this size")
    return tuple(shape)


def _padded(data: bytes, filler: bytes) -> bytes:
    return data + filler * (-len(data) % 8)


# -- the header ------------------------------------------------------------------------------------------


def json_problem(value: Any, depth: int = 0) -> str | None:
    """What keeps `value` from being plain JSON, with the way to it; None if nothing does.

    >>> json_problem({"rounds": [1, {2}]})
    "['rounds'][1] is a set, which JSON cannot hold"
    """
    if depth > MAX_DEPTH:
        return f" is nested more than {MAX_DEPTH} levels deep"
    if isinstance(value, dict):
        return _object_problem(value, depth)
    if isinstance(value, (list, tuple)):
        for i, item in enumerate(value):
            problem = json_problem(item, depth + 1)
            if problem:
                return f"[{i}]{problem}"
        return None
    return _scalar_problem(value)


def _object_problem(record: dict[Any, Any], depth: int) -> str | None:
    for key, item in record.items():
        if not isinstance(key, str):
            return f" has the key {_short(key)}, but keys must be text"
        problem = _text_problem(key) or json_problem(item, depth + 1)
        if problem:
            return f"[{_short(key)}]{problem}"
    return None


def _scalar_problem(value: Any) -> str | None:
    if value is None or isinstance(value, bool):
        return None
    if isinstance(value, str):
        return _text_problem(value)
    if isinstance(value, int):
        # Python itself declines to write or read numbers of very many digits.
        return None if abs(value).bit_length() <= 1024 else " is a whole number of too many digits"
    if isinstance(value, float):
        return None if math.isfinite(value) else f" is {value!r}, which JSON cannot hold"
    return f" is a {type(value).__name__}, which JSON cannot hold"


def _text_problem(text: str) -> str | None:
    try:
        text.encode()
    except UnicodeEncodeError:
        return f" holds text that is not valid Unicode: {_short(text)}"
    return None


def _to_json(header: Mapping[str, Any]) -> bytes:
    for key, value in header.items():
        problem = json_problem(value)
        if problem:
            raise PlanError(f"this plan cannot be saved: {key}{problem}")
    return json.dumps(header, ensure_ascii=False, allow_nan=False, separators=(",", ":")).encode()


def _from_json(text: bytes) -> dict[str, Any]:
    try:
        header = json.loads(
            text.decode(), object_pairs_hook=_object, parse_constant=_no_constant, parse_float=_finite
        )
    except PlanFormatError:
        raise
    except (ValueError, RecursionError) as error:
        raise PlanFormatError(f"the header cannot be read: {str(error)[:200]}") from None
    if not isinstance(header, dict):
        raise PlanFormatError("the header is not a JSON object")
    problem = json_problem(header)
    if problem:
        raise PlanFormatError(f"the header{problem}")
    return header


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    record = dict(pairs)
    if len(record) != len(pairs):
        raise PlanFormatError("the header has an object in which a key appears twice")
    return record


def _no_constant(name: str) -> NoReturn:
    raise PlanFormatError(f"the header holds {name}, which is no number")


def _finite(text: str) -> float:
    value = float(text)
    if not math.isfinite(value):
        raise PlanFormatError(f"the header holds {_short(text)}, which no float can hold")
    return value


def _short(value: Any) -> str:
    """A value as it may be quoted in a message: a hostile one can be long, or too long to print."""
    try:
        text = repr(value)
    except ValueError:
        return f"a {type(value).__name__} of too many digits"
    return text if len(text) <= 80 else text[:77] + "..."


# -- lists of numbers as arrays, and checks of what ties arrays to each other ----------------------------


def bounds(lengths: Sequence[int]) -> NDArray[np.int64]:
    """Where parts of these lengths begin when they lie end to end, and where the last one ends."""
    return np.concatenate([[0], np.cumsum(lengths, dtype=np.int64)]).astype(np.int64)


def joined(parts: Sequence[Any]) -> NDArray[Any]:
    """Arrays end to end."""
    return np.concatenate(parts) if parts else np.zeros(0)


def floats(values: Sequence[float]) -> NDArray[np.float64]:
    """Numbers as float64."""
    return np.array(values, dtype=np.float64)


def ints(values: Sequence[int]) -> NDArray[np.int64]:
    """Numbers as int64."""
    return np.array(values, dtype=np.int64)


def read_bools(arrays: Arrays, name: str) -> NDArray[np.bool_]:
    """An array of zeros and ones as booleans."""
    if arrays[name].size and arrays[name].max() > 1:
        raise PlanFormatError(f"{name!r} must hold zeros and ones")
    return arrays[name].view(np.bool_)


def check_bounds(arrays: Arrays, name: str, total: int) -> None:
    """Refuse offsets that do not rise from 0 to `total`."""
    found = arrays[name]
    if not found.size or found[0] != 0 or found[-1] != total or (found[1:] < found[:-1]).any():
        raise PlanFormatError(f"the offsets {name!r} must rise from 0 to {total}")


def check_codes(arrays: Arrays, name: str, kinds: Mapping[int, str]) -> None:
    """Refuse numbers that stand for nothing."""
    if not set(np.unique(arrays[name]).tolist()) <= set(kinds):
        known = ", ".join(kinds[code] for code in sorted(kinds))
        raise PlanFormatError(f"{name!r} holds a kind that is not among {known}")
