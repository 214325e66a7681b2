"""One call of a source for one request, and what it delivers."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Any, NamedTuple

from miserly.runtime.sources import BoundSource

__all__ = ["Call", "Deliveries", "Delivery", "by_source", "clock"]

clock = time.perf_counter


class Delivery(NamedTuple):
    """The value of one feature, as a source gave it."""

    value: float  # encoded
    given: Any
    cost: float | None  # what the source says it cost
    outcome: str
    call: Call


Deliveries = dict[int, Delivery]  # by column


class Call:
    """One source that is called for one request, retries included.

    Attributes
    ----------
    source : BoundSource
    columns : tuple of int
        The columns that the plan asks for.
    reserved : float
        The amount reserved for it.
    retries : int
        Calls made after the first one.
    ahead : bool
        Whether the plan may come to need it, but does not yet.
    """

    __slots__ = ("ahead", "arguments", "begun", "columns", "lost", "price", "reserved", "retries", "seconds",
                 "source")  # fmt: skip

    def __init__(self, source: BoundSource, columns: tuple[int, ...], price: float, ahead: bool) -> None:
        self.source, self.columns, self.price, self.ahead = source, columns, price, ahead
        bound = source.rules.bound
        self.reserved = price if bound is None else float(bound)
        self.retries = 0
        self.lost = 0.0  # billed for calls that failed
        self.arguments: dict[str, Any] = {}
        self.begun = clock()
        self.seconds = 0.0


def by_source(sources: Sequence[BoundSource], columns: Sequence[int]) -> list[tuple[BoundSource, list[int]]]:
    """The columns that each source gets, in the order in which they come first."""
    found: dict[int, tuple[BoundSource, list[int]]] = {}
    for f in columns:
        found.setdefault(id(sources[f]), (sources[f], []))[1].append(f)
    return list(found.values())
