"""What can go wrong with a source: faults, fallbacks, retries, and the circuit breaker."""

from __future__ import annotations

import random
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from miserly.errors import SourceError
from miserly.utils.sources import Invalid

__all__ = ["FALLBACKS", "Breaker", "Fault", "Invalid", "PoolExhausted", "Unavailable", "delay_before"]

FALLBACKS = ("missing", "stop", "raise")
# Outcomes of a call. The first two bring a value or the news that there is none, and are never tried again.
VALUE, NULL, NAN, INVALID, FAILED, LATE, DECLINED, REFUSED, EXHAUSTED, CANCELLED = (
    "value", "null", "nan", "invalid", "failed", "late", "declined", "refused", "exhausted", "cancelled",
)  # fmt: skip
_NO_RETRY = (DECLINED, REFUSED, EXHAUSTED)


class Unavailable(SourceError):
    """A source raises this if it cannot get the feature and should not be asked again for this input."""


class PoolExhausted(SourceError):
    """No thread was free for a call, because other calls hang."""


@dataclass(frozen=True, slots=True)
class Fault:
    """Why a call brought no value.

    Attributes
    ----------
    outcome : str
        One of the outcomes above.
    message : str
    error : BaseException or None
    items : dict or None
        What was delivered all the same, where a value is NaN.
    """

    outcome: str
    message: str
    error: BaseException | None = None
    items: Any = None

    @property
    def may_retry(self) -> bool:
        """Whether another call may help."""
        return self.outcome not in _NO_RETRY

    @classmethod
    def of(cls, error: BaseException) -> Fault:
        """The failure that an exception of a source means."""
        if isinstance(error, Unavailable):
            return cls(DECLINED, str(error), error)
        if isinstance(error, TimeoutError):
            return cls(LATE, str(error) or "it timed out", error)
        if isinstance(error, PoolExhausted):
            return cls(EXHAUSTED, str(error), error)
        if isinstance(error, Invalid):
            return cls(INVALID, str(error), error)
        return cls(FAILED, f"{type(error).__name__}: {error}", error)


def delay_before(retry: int, backoff: float, draw: Callable[[], float] = random.random) -> float:
    """Seconds to wait before a retry, the first one being 0: doubled each time, with half of it at random.

    >>> delay_before(2, 0.1, lambda: 1.0)
    0.4
    """
    return backoff * 2.0**retry * (0.5 + 0.5 * draw())


class Breaker:
    """Stops calling a source that has failed many times in a row.

    After `failures` calls in a row have failed, the source is not called for `seconds`. Then one call is let
    through: if it succeeds all is as before, if not the wait begins again.

    Parameters
    ----------
    failures : int, default=10
        How many in a row.
    seconds : float, default=30.0
        How long the source is left alone.
    clock : callable, default=time.monotonic
        Gives the time in seconds.

    Examples
    --------
    >>> breaker = Breaker(failures=2)
    >>> breaker.failed(); breaker.failed()
    >>> breaker.lets_through()
    False
    """

    __slots__ = ("_clock", "_limit", "_lock", "_seconds", "_until", "failures")

    def __init__(
        self, failures: int = 10, seconds: float = 30.0, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self.failures = 0  # in a row
        self._limit, self._seconds, self._clock = failures, seconds, clock
        self._until = 0.0
        self._lock = threading.Lock()

    @property
    def is_open(self) -> bool:
        """Whether calls are refused now."""
        return self.failures >= self._limit and self._clock() < self._until

    def lets_through(self) -> bool:
        """Return whether a call may be made now.

        Returns
        -------
        bool
        """
        if self.failures < self._limit:
            return True
        with self._lock:
            now = self._clock()
            if now < self._until:
                return False
            self._until = now + self._seconds  # one call is let through; others wait for what it brings
            return True

    def succeeded(self) -> None:
        """Note that a call brought an answer."""
        if self.failures:
            with self._lock:
                self.failures = 0

    def failed(self) -> None:
        """Note that a call failed."""
        with self._lock:
            self.failures += 1
            if self.failures >= self._limit:
                self._until = self._clock() + self._seconds
