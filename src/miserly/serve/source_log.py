"""The log of failures of sources. Clients see only that a source failed; the log says why."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable

from miserly.runtime.faults import CANCELLED, DECLINED
from miserly.runtime.receipt import DELIVERED
from miserly.serve.problems import one_line
from miserly.serve.service import AnswerEvent

__all__ = ["SourceLog"]

_log = logging.getLogger("miserly.serve")
_EVERY = 60.0  # seconds between two lines about the same failure
_LONGEST = 300  # characters of a message


class SourceLog:
    """Logs failures of the server's sources, with at most one line a minute for the same failure.

    Parameters
    ----------
    values : bool
        Whether lines hold the messages of errors, which may quote values of features. Otherwise a line holds
        only the type of the error.
    clock : callable, default=time.monotonic
        A function that returns the time in seconds.
    """

    def __init__(self, values: bool, clock: Callable[[], float] = time.monotonic) -> None:
        self._values, self._clock = values, clock
        self._seen: dict[tuple[str, str, str], tuple[float, int]] = {}  # last time, failures since

    def answered(self, event: AnswerEvent) -> None:
        """Log the failures of an answer.

        Parameters
        ----------
        event : AnswerEvent
            The answer.
        """
        model = event.model
        if not model.has_sources:
            return
        for entry in event.receipt.entries:
            if entry.outcome in DELIVERED and entry.outcome != "nan":
                continue
            name = model.plan.costs.name(entry.column)
            if name in model.sourced and entry.outcome not in (DECLINED, CANCELLED):
                self._failed((model.name, str(name), entry.outcome), entry.message)

    def _failed(self, what: tuple[str, str, str], message: str) -> None:
        now = self._clock()
        last, skipped = self._seen.get(what, (-_EVERY, 0))
        if now - last < _EVERY:
            self._seen[what] = last, skipped + 1
            return
        self._seen[what] = now, 0
        model, feature, outcome = what
        why = message[:_LONGEST] if self._values else _kind(message, outcome)
        more = f" ({skipped} more in the last {now - last:.0f} seconds)" if skipped else ""
        line = f"model {model}: the source of {feature}: {outcome}{why and f': {why}'}{more}"
        _log.warning("%s", one_line(line))


def _kind(message: str, outcome: str) -> str:
    """The type of the error that a message begins with; empty for other messages.

    >>> _kind("OSError: no route to 10.0.0.7", "failed")
    'OSError'
    """
    return message.partition(":")[0] if outcome == "failed" and ":" in message else ""
