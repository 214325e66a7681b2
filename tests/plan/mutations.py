"""Ways to spoil the file of a plan: by accident (the checksum stays), on purpose (it is computed again)."""

from __future__ import annotations

import copy
import hashlib
import json
import struct

import numpy as np

from miserly.plan.store.container import pack
from miserly.plan.store.packing import SCHEMAS

PREAMBLE = struct.Struct("<8sQQQ")
MAGIC = b"\x89MISER\r\n"

WHOLE = [0, 1, -1, 2, 3, 7, 8, 255, 256, 2**31 - 1, 2**31, -(2**31), 2**53 + 1, 2**63 - 1, -(2**63), 2**64]
REAL = [0.0, -0.0, 1.0, -1.0, 0.5, 1e-320, 1e308, -1e308, 1e100, 1e16, 1.5, 100.0]
JSON = [
    None, True, False, *WHOLE, 10**400, *REAL, "", "a", "\0", "é\u202e", "x" * 3000, "__import__('os')",
    [], {}, [[]], [0], [0, 0], [None], ["a", "a"], {"a": 1}, {"": {}}, [[[[[[[[]]]]]]]], list(range(300)),
    "identity", "logistic", "softmax", "sign", "str", "int8", "bool", "float16",
]  # fmt: skip
TOKENS = [b'"', b"{", b"[", b"]", b"}", b",", b"-", b"1e999", b"NaN", b"\\ud800"]


def signed(body):
    return body + hashlib.sha256(body).digest()


def assemble(header, payload, version=1):
    """A file of our own making, with a right checksum, whatever its content."""
    text = header if isinstance(header, bytes) else json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    length = PREAMBLE.size + len(text) + len(payload) + 32
    return signed(PREAMBLE.pack(MAGIC, version, length, len(text)) + text + payload)


def take_apart(data):
    """The header as JSON and the bytes of the arrays."""
    _, _, _, header_length = PREAMBLE.unpack(data[: PREAMBLE.size])
    start = PREAMBLE.size + header_length
    return json.loads(data[PREAMBLE.size : start]), data[start:-32]


def arrays_of(data):
    """The header without its directory, and copies of the arrays."""
    header, payload = take_apart(data)
    directory = header.pop("arrays")
    arrays = {
        name: np.frombuffer(payload, entry["dtype"], int(np.prod(entry["shape"])), entry["offset"])
        .reshape(entry["shape"])
        .copy()
        for name, entry in directory.items()
    }
    return header, arrays


def repacked(header, arrays):
    version = 3 if "budget" in header else 2 if "kernel_scale" in arrays else 1
    version = 6 if "node_mixture" in arrays else 5 if "node_single" in arrays else version
    return pack(header, arrays, SCHEMAS[version], version)


# -- accidents -----------------------------------------------------------------------------------------------


def accident(data, rng):
    """Bits flipped, bytes overwritten, pieces lost, repeated or exchanged; the checksum stays as it was."""
    spoilt = bytearray(data)
    i, j = sorted(rng.integers(0, len(data), 2).tolist())
    match rng.integers(7):
        case 0:
            spoilt[i] ^= 1 << int(rng.integers(8))
        case 1:
            spoilt[i:j] = rng.bytes(j - i)
        case 2:
            del spoilt[i:j]
        case 3:
            spoilt[i:i] = spoilt[i:j]
        case 4:
            spoilt[i:j] = bytes(j - i)
        case 5:
            del spoilt[i:]
        case 6:
            spoilt += rng.bytes(int(rng.integers(1, 40)))
    return bytes(spoilt)


# -- on purpose ----------------------------------------------------------------------------------------------


def random_bytes(data, rng):
    """Any bytes between the magic and the checksum, then signed again."""
    body = bytearray(data[:-32])
    for _ in range(rng.integers(1, 6)):
        body[int(rng.integers(8, len(body)))] = int(rng.integers(256))
    return signed(bytes(body))


def preamble(data, rng):
    """Another version, another length."""
    numbers = [int(n) for n in PREAMBLE.unpack(data[: PREAMBLE.size])[1:]]
    which = int(rng.integers(3))
    near = numbers[which] + int(rng.integers(-64, 64))
    numbers[which] = max(0, int(rng.choice([near, *map(abs, WHOLE[:-1])])))
    return signed(PREAMBLE.pack(MAGIC, *numbers) + data[PREAMBLE.size : -32])


def array_numbers(data, rng):
    """One to three numbers of the arrays set to what makes programs stumble."""
    header, arrays = arrays_of(data)
    full = [name for name in arrays if arrays[name].size]
    for _ in range(rng.integers(1, 4)):
        array = arrays[full[rng.integers(len(full))]].reshape(-1)
        with np.errstate(over="ignore"):  # numbers beyond float32
            array[rng.integers(len(array))] = awkward_number(array, rng)
    return repacked(header, arrays)


def awkward_number(array, rng):
    if array.dtype.kind == "f":
        return rng.choice([*REAL, np.nan, np.inf, -np.inf, rng.normal()])
    info = np.iinfo(array.dtype)
    near = int(array[rng.integers(len(array))]) + int(rng.integers(-2, 3))
    value = [near, *WHOLE][rng.integers(len(WHOLE) + 1)]
    return min(max(value, info.min), info.max)


def array_sizes(data, rng):
    """Arrays that grew, shrank, or took another's numbers, in a file that is otherwise well laid out."""
    header, arrays = arrays_of(data)
    for _ in range(rng.integers(1, 4)):
        name = list(arrays)[rng.integers(len(arrays))]
        rows = int(max(0, len(arrays[name]) + rng.integers(-3, 4)))
        match rng.integers(3):
            case 0:
                arrays[name] = np.resize(arrays[name], (rows, *arrays[name].shape[1:]))
            case 1 if arrays[name].ndim == 2:
                arrays[name] = np.resize(arrays[name], (len(arrays[name]), rows))
            case _:
                schema = SCHEMAS[max(SCHEMAS)]
                same = [other for other in arrays if schema[other] == schema[name]]
                arrays[name] = arrays[same[rng.integers(len(same))]]
    return repacked(header, arrays)


def header_values(data, rng):
    """Something in the header replaced, removed, added or exchanged."""
    header, payload = take_apart(data)
    for _ in range(rng.integers(1, 3)):
        mutate_json(header, rng)
    return assemble(header, payload, version=data[8])


def mutate_json(header, rng):
    places = list(containers(header))
    place = places[rng.integers(len(places))]
    keys = list(place) if isinstance(place, dict) else list(range(len(place)))
    value = copy.deepcopy(JSON[rng.integers(len(JSON))])
    if not keys or rng.random() < 0.1:
        if isinstance(place, dict):
            place[str(value)[:5]] = value
        else:
            place.append(value)
        return
    key = keys[rng.integers(len(keys))]
    match rng.integers(4):
        case 0:
            del place[key]
        case 1:
            place[key] = copy.deepcopy(place[keys[rng.integers(len(keys))]])
        case _:
            place[key] = value


def containers(value):
    """Every object and list inside a JSON value, the outermost first."""
    if isinstance(value, (dict, list)):
        yield value
        for item in value.values() if isinstance(value, dict) else value:
            yield from containers(item)


def header_text(data, rng):
    """Characters of the JSON text changed, so that it may not even be JSON."""
    header, payload = take_apart(data)
    text = bytearray(json.dumps(header).encode())
    for _ in range(rng.integers(1, 4)):
        i = int(rng.integers(len(text)))
        match rng.integers(3):
            case 0:
                text[i] = int(rng.integers(256))
            case 1:
                text[i : i + 1] = rng.choice(
                    [b'"', b"{", b"[", b"]", b"}", b",", b"-", b"1e999", b"NaN", b"\\ud800"]
                )
            case 2:
                del text[i : i + int(rng.integers(1, 30))]
    return assemble(bytes(text), payload)


ON_PURPOSE = (random_bytes, preamble, array_numbers, array_sizes, header_values, header_text)
