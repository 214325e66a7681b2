"""The replies of an interview: values that a person gave and calls of sources, as JSON keeps them.

A call of a source was made by this process (`Fetched`), or elsewhere (`Reported`).
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from miserly.errors import DataError, SourceError
from miserly.runtime.calls import Call, Deliveries, Delivery
from miserly.runtime.faults import DECLINED, NULL, VALUE, Fault, Unavailable
from miserly.runtime.receipt import DELIVERED, plain_value
from miserly.runtime.request import PredictionRequest
from miserly.runtime.sources import BoundSource, Source

__all__ = [
    "NOT_AVAILABLE",
    "Fetched",
    "Reply",
    "Reported",
    "SourceReport",
    "asked_call",
    "mapping_of",
    "pairs_of",
    "read_reply",
    "settle",
]

NOT_AVAILABLE = "not available"
REPORTED = "as the client says"
_ASKED = Source(bool, retries=0, backoff=0.0, fallback="missing", charge_on_failure=False)


@dataclass(frozen=True, slots=True)
class Reply:
    """What a person answered to one question.

    Attributes
    ----------
    column : int
        The feature.
    value : object
        As it was given; None if there is none.
    declined : bool
        Whether the person cannot get it.
    seconds : float
        How long it took.
    cap : float or None
        The budget at that time.
    """

    column: int
    value: Any
    declined: bool
    seconds: float
    cap: float | None

    def outcome(self, request: PredictionRequest, call: Call) -> Deliveries | Fault:
        """Return what the reply brings; a `Fault` that is not "declined" says why it cannot be used."""
        if self.declined:
            return Fault.of(Unavailable(NOT_AVAILABLE))
        return request.read(call, self.value)

    def apply(self, request: PredictionRequest) -> None:
        """Give the reply to the request.

        Raises
        ------
        DataError
            If the value cannot be used. Nothing has changed then.
        """
        call = asked_call(request, self.column)
        outcome = self.outcome(request, call)
        if isinstance(outcome, Fault) and outcome.outcome != DECLINED:
            raise DataError(outcome.message) from outcome.error
        call.seconds = self.seconds
        request.deliver(call, outcome)
        request.use_stash()

    def to_dict(self) -> dict[str, Any]:
        """Return the reply in plain values, for JSON."""
        return {
            "column": self.column,
            "value": plain_value(self.value),
            "declined": self.declined,
            "seconds": self.seconds,
            "cap": self.cap,
        }


@dataclass(frozen=True, slots=True)
class Fetched:
    """What one call of a source brought.

    Attributes
    ----------
    columns : tuple of int
        The features that the plan asked for.
    items : tuple of tuple, or None
        Column, value as given, cost (None if it is the listed price) and outcome of each feature that came.
    fault : tuple of (str, str), or None
        Outcome and message of a call that failed.
    price, reserved, lost, seconds : float
        As in `Call`.
    retries : int
        As in `Call`.
    cap : float or None
        The budget at that time.
    """

    columns: tuple[int, ...]
    items: tuple[tuple[int, Any, float | None, str], ...] | None
    fault: tuple[str, str] | None
    price: float
    reserved: float
    lost: float
    seconds: float
    retries: int
    cap: float | None

    @classmethod
    def of(cls, call: Call, outcome: Deliveries | Fault, cap: float | None) -> Fetched:
        """The call and its final outcome."""
        fault = (outcome.outcome, outcome.message) if isinstance(outcome, Fault) else None
        items = outcome.items if isinstance(outcome, Fault) else outcome
        kept = [(int(f), plain_value(one.given), one.cost, one.outcome) for f, one in (items or {}).items()]
        columns = tuple(map(int, call.columns))
        return cls(
            columns, None if items is None else tuple(kept), fault, call.price, call.reserved, call.lost,
            call.seconds, call.retries, cap,
        )  # fmt: skip

    def apply(self, request: PredictionRequest) -> None:
        """Give the request again what the call brought; the source is not called."""
        call = self.call(request)
        settle(request, call, self.outcome(request, call))

    def call(self, request: PredictionRequest) -> Call:
        """Return the call; what was billed for its failures is paid."""
        call = Call(request.served.sources[self.columns[0]], self.columns, self.price, ahead=False)
        call.reserved, call.seconds, call.retries = self.reserved, self.seconds, self.retries
        for amount in self._lost():
            call.lost += amount
            request.trail.lose(amount)
        return call

    def _lost(self) -> list[float]:
        """What was billed for calls that failed: the price for each of them, as it was paid; or a sum."""
        n = round(self.lost / self.price) if self.lost and self.price else 0
        is_price = 1 <= n <= self.retries + 1 and math.isclose(n * self.price, self.lost)
        return [self.price] * n if is_price else [self.lost] if self.lost else []

    def outcome(self, request: PredictionRequest, call: Call) -> Deliveries | Fault:
        """Return what the call brought."""
        items = None
        if self.items is not None:
            items = {f: Delivery(self._code(request, f, given), given, cost, outcome, call)
                     for f, given, cost, outcome in self.items}  # fmt: skip
        return (items or {}) if self.fault is None else Fault(*self.fault, items=items)

    @staticmethod
    def _code(request: PredictionRequest, f: int, given: Any) -> float:
        return math.nan if given is None else request.served.encode(f, given)

    def to_dict(self) -> dict[str, Any]:
        """Return the call in plain values, for JSON."""
        return {
            "columns": list(self.columns),
            "items": None if self.items is None else [list(one) for one in self.items],
            "fault": None if self.fault is None else list(self.fault),
            **{name: getattr(self, name) for name in _NUMBERS},
        }


_NUMBERS = ("price", "reserved", "lost", "seconds", "retries", "cap")


@dataclass(frozen=True, slots=True)
class SourceReport:
    """What a source that was called elsewhere brought for one feature.

    Attributes
    ----------
    feature : str or int
        The feature.
    value : object
        As it was given; None if there is none.
    outcome : str
        As in `Acquisition`.
    cost : float or None
        What was paid, if it is not the listed price.
    reserved : float or None
        What was reserved for it, if it is not the listed price.
    lost : float
        What was paid for calls that failed.
    seconds : float
        How long it took.
    retries : int
        Calls made after the first one.

    Examples
    --------
    >>> SourceReport("chol", 240.0, cost=4.5).outcome
    'value'
    """

    feature: Any
    value: Any = None
    outcome: str = VALUE
    cost: float | None = None
    reserved: float | None = None
    lost: float = 0.0
    seconds: float = 0.0
    retries: int = 0

    def fetched(self, request: PredictionRequest, cap: float | None) -> Fetched:
        """Return the call as it is kept.

        Parameters
        ----------
        request : PredictionRequest
            The request that it is for.
        cap : float or None
            The budget at that time.

        Returns
        -------
        Fetched
        """
        f = int(request.served.plan.costs.index(self.feature))
        price = request.trail.price(f)
        outcome = NULL if self.outcome == VALUE and self.value is None else self.outcome
        fault = None if outcome in (VALUE, NULL) else (outcome, REPORTED)
        items = ((f, plain_value(self.value), self.cost, outcome),) if outcome in DELIVERED else None
        reserved = price if self.reserved is None else self.reserved
        return Fetched((f,), items, fault, price, reserved, self.lost, self.seconds, self.retries, cap)


@dataclass(frozen=True, slots=True)
class Reported:
    """What sources that were called elsewhere brought at the same time.

    Attributes
    ----------
    calls : tuple of Fetched
        One for each feature.
    cap : float or None
        The budget at that time.
    """

    calls: tuple[Fetched, ...]
    cap: float | None

    def apply(self, request: PredictionRequest) -> None:
        """Give the request what the calls brought; the plan goes on when it has all of it."""
        for one in self.calls:
            call = one.call(request)
            with suppress(SourceError):
                request.deliver(call, one.outcome(request, call))
        request.use_stash()

    def leave(self, request: PredictionRequest, by: str, reason: str) -> None:
        """End a request: what has come is paid, and the plan does not go on with it."""
        for one in self.calls:
            call = one.call(request)
            outcome = one.outcome(request, call)
            if isinstance(outcome, Fault) and outcome.items is None:
                request.log(call, outcome)
            else:
                items = outcome.items if isinstance(outcome, Fault) else outcome
                request.stash.update(items)
        request.stop(by, reason)

    def to_dict(self) -> dict[str, Any]:
        """Return the calls in plain values, for JSON."""
        return {"calls": [one.to_dict() for one in self.calls], "cap": self.cap}


def settle(request: PredictionRequest, call: Call, outcome: Deliveries | Fault) -> None:
    """Give the outcome of a source to a request. A source whose fallback is "raise" ends it."""
    with suppress(SourceError):
        request.deliver(call, outcome)
    request.use_stash()


def asked_call(request: PredictionRequest, f: int) -> Call:
    """Return the call that a person answers: a value that the person cannot get counts as missing."""
    found = request.served.sources[f]
    name = request.served.plan.costs.name(f)
    source = BoundSource(name, bool, (f,), (name,), True, _ASKED, found.signature, at_hand=True)
    return Call(source, (f,), request.trail.price(f), ahead=False)


def read_reply(record: Mapping[str, Any]) -> Reply | Fetched | Reported:
    """Return the reply that a `to_dict` is of."""
    if "column" in record:
        return Reply(**record)
    if "calls" in record:
        return Reported(tuple(map(_read_fetched, record["calls"])), record["cap"])
    return _read_fetched(record)


def _read_fetched(record: Mapping[str, Any]) -> Fetched:
    items, fault = record["items"], record["fault"]
    return Fetched(
        columns=tuple(record["columns"]),
        items=None if items is None else tuple((f, v, c, o) for f, v, c, o in items),
        fault=None if fault is None else (fault[0], fault[1]),
        **{name: record[name] for name in _NUMBERS},
    )


def pairs_of(given: Mapping[Any, Any] | None) -> list[list[Any]] | None:
    """Return a mapping as a list of pairs of plain values, or None."""
    return None if given is None else [[plain_value(name), plain_value(one)] for name, one in given.items()]


def mapping_of(pairs: Iterable[tuple[Any, Any]] | None) -> dict[Any, Any] | None:
    """Return the mapping that `pairs_of` was given."""
    return None if pairs is None else dict(pairs)
