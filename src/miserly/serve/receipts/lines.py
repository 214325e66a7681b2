"""One line of the journal: a checksum, and a receipt as JSON."""

from __future__ import annotations

import hashlib
import json
import math
import os
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import orjson

from miserly.runtime import Receipt
from miserly.runtime.receipt import Entry, plain_value
from miserly.serve.receipts.checksums import checked

__all__ = ["Stamp", "encode_line", "first_id", "new_id", "session_mark"]

VERSION = 1  # of the record in a line
_OPTIONS = orjson.OPT_SERIALIZE_NUMPY


class Stamp(NamedTuple):
    """The facts about a receipt that a line holds in addition to the receipt.

    Attributes
    ----------
    id : str
        See `new_id`.
    at : float
        When the answer was given, in seconds since 1970.
    model : str
        The name under which the plan is served.
    key_id : str
        The id of the API key of the request (the start of its hash), or "".
    session_id : str or None
        The hash of the session that ended with this receipt; see `session_mark`.
    known : mapping or None
        The values of features that the request knew. They are written only if values are kept.
    """

    id: str
    at: float
    model: str
    key_id: str = ""
    session_id: str | None = None
    known: Mapping[Any, Any] | None = None


def new_id(at: float) -> str:
    """A unique identifier of a receipt. Identifiers sort by time.

    >>> new_id(1.0) < new_id(2.0), len(new_id(1.0))
    (True, 32)
    """
    return f"{first_id(at)}{os.urandom(8).hex()}"


def first_id(at: float) -> str:
    """The prefix of identifiers of a time. It is greater than all identifiers of earlier times.

    >>> first_id(1.5) < new_id(1.5) < first_id(1.6)
    True
    """
    return f"{max(0, int(at * 1e9)):016x}"


def session_mark(session_id: str) -> str:
    """The hash of a session in the database. It identifies a session but does not open it.

    >>> session_mark("kXq3")
    'b5853ca06ca1a4d91c9109e84627ea0c'
    """
    return hashlib.sha256(session_id.encode("utf-8", "surrogatepass")).hexdigest()[:32]


def encode_line(receipt: Receipt, stamp: Stamp, *, values: bool = False) -> bytes:
    """A receipt as a line of the journal.

    Without `values` the line omits values of features, and messages of sources, which may quote values.
    """
    plan, names = receipt.plan, receipt.plan.costs.name
    chances, classes = receipt.probabilities, plan.classes
    unused = [(entry.price or 0.0, entry.cost or 0.0) for entry in receipt.unused]
    record = {
        "v": VERSION,
        "id": stamp.id,
        "at": stamp.at,
        "model": stamp.model,
        "digest": plan.digest,
        "key_id": stamp.key_id,
        "session_id": stamp.session_id,
        "answer": plain_value(receipt.answer),
        "probabilities": None if chances is None else _by_class(classes, chances.tolist()),
        "cost": receipt.cost,
        "evaluation_cost": receipt.evaluation_cost,
        "unit": plan.costs.unit,
        "budget": receipt.budget if math.isfinite(receipt.budget) else None,
        "deadline": receipt.deadline,
        "own_prices": receipt.prices is not None,
        "stopped_by": receipt.stopped_by,
        "reason": receipt.reason if values else None,
        "node": receipt.node,
        "seconds": receipt.seconds,
        "has_values": values,
        "known": [str(name) for name in receipt.known],
        "known_values": {str(k): v for k, v in stamp.known.items()} if values and stamp.known else None,
        "trail": _purchases(receipt.entries, receipt.bill, names, values),
        "ahead": _purchases(receipt.unused, unused, names, values),
    }
    return checked(_json(record))


def _by_class(classes: Any, chances: Sequence[float]) -> dict[str, float]:
    names = range(len(chances)) if classes is None else classes
    return {str(name): chance for name, chance in zip(names, chances, strict=True)}


def _purchases(
    entries: Sequence[Entry], bill: Sequence[tuple[float, float]], names: Any, values: bool
) -> list[tuple[Any, ...]]:
    """A purchase, in the order of the columns that `tables` reads."""
    return [
        (
            str(names(entry.column)),
            entry.value if values else None,
            price,
            price if entry.reserved is None else entry.reserved,
            cost,
            entry.outcome,
            (entry.message or None) if values else None,
            entry.seconds,
            entry.retries,
        )
        for entry, (price, cost) in zip(entries, bill, strict=True)
    ]


def _json(record: dict[str, Any]) -> bytes:
    try:
        return orjson.dumps(record, default=plain_value, option=_OPTIONS)
    except TypeError:  # integers of more than 64 bits, text that is not valid Unicode
        return json.dumps(_clean(record), separators=(",", ":"), allow_nan=False).encode()


def _clean(value: Any) -> Any:
    if isinstance(value, dict):
        return {_clean(key): _clean(one) for key, one in value.items()}
    if isinstance(value, (list, tuple)):
        return [_clean(one) for one in value]
    plain = plain_value(value)
    return plain.encode("utf-8", "replace").decode() if isinstance(plain, str) else plain
