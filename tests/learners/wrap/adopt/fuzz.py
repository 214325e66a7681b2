"""Broken copies of a file: cut off, with changed, doubled and missing bytes."""

import numpy as np

_PIECES = [
    b"-1",
    b"0",
    b"99999999999999999999",
    b"nan",
    b"-inf",
    b"1e999",
    b"\xff",
    b"\x00" * 8,
    b"{",
    b"]",
    b" ",
]


def mutations(data, n, keep=0, seed=0):
    """Yield `n` broken copies; the first `keep` bytes stay, so that the kind of file is still seen."""
    rng = np.random.default_rng(seed)
    for i in range(n):
        copy = bytearray(data)
        place = int(rng.integers(keep, len(data)))
        if i % 5 == 0:
            yield bytes(copy[:place])
            continue
        if i % 5 == 1:
            for at in rng.integers(keep, len(data), 1 + i % 7).tolist():
                copy[at] = int(rng.integers(256))
        elif i % 5 == 2:
            piece = _PIECES[int(rng.integers(len(_PIECES)))]
            copy[place : place + len(piece)] = piece
        elif i % 5 == 3:
            del copy[place : place + int(rng.integers(1, 40))]
        else:
            digits = [at for at in range(place, min(place + 2000, len(data))) if 48 <= copy[at] <= 57]
            for at in digits[:3]:
                copy[at] = 48 + int(rng.integers(10))
        yield bytes(copy)
