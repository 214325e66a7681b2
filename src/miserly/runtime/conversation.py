"""What goes on in an interview: replies are given to a request, sources are called, all can begin again."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Mapping
from itertools import takewhile
from typing import Any

from miserly.costs import read_budget
from miserly.errors import DataError, SourceError
from miserly.runtime.calls import Call, Deliveries, clock
from miserly.runtime.drivers import call_async, with_timeout
from miserly.runtime.faults import Fault
from miserly.runtime.on_demand import OnDemand
from miserly.runtime.questions import Question
from miserly.runtime.receipt import Receipt
from miserly.runtime.replies import Fetched, Reply, Reported, SourceReport, asked_call, settle
from miserly.runtime.request import PredictionRequest

__all__ = ["Conversation", "served_of"]


class Conversation:
    """The parts of an `Interview` that give replies to a request.

    Parameters
    ----------
    plan : Plan, str, Path, a fitted model, or OnDemand
        As for `Interview`.
    budget : float, optional
        As for `Interview`.
    known : mapping of feature to value, optional
        As for `Interview`.
    prices : mapping of feature or group to float, optional
        As for `Interview`.
    raw : mapping, optional
        As for `Interview`.
    """

    def __init__(
        self,
        plan: Any,
        budget: float | None = None,
        known: Mapping[Any, Any] | None = None,
        prices: Mapping[Any, float] | None = None,
        raw: Mapping[Any, Any] | None = None,
    ) -> None:
        self._served = served_of(plan)
        self._cap = budget
        self._known = dict(known) if known else None
        self._prices = dict(prices) if prices else None
        self._raw = dict(raw) if raw else {}
        self._begun = self._asked = clock()
        self._replies: list[Reply | Fetched | Reported] = []
        self._kept: dict[int, tuple[Any, bool]] = {}  # given before they are asked for: value, declined
        self._question: Question | None = None
        self._receipt: Receipt | None = None
        self._seconds: float | None = None  # how long it took, when it has ended
        self._reported = False  # whether hooks have seen the receipt
        self._left: tuple[str, str, Reported] | None = None  # by whom, why, and what had come, if it was left
        self._restart()

    @property
    def stopped_by(self) -> str:
        """Why the interview has ended, as in `Receipt`; empty if it has not."""
        return self._request.stopped_by

    def check(self, feature: Any, value: Any) -> None:
        """Check a value of a feature.

        Parameters
        ----------
        feature : str or int
            By name or by column.
        value : object
            A number or a category, or None.

        Raises
        ------
        DataError
            If the value cannot be used.
        """
        f = self._served.plan.costs.index(feature)
        outcome = self._request.read(asked_call(self._request, f), value)
        if isinstance(outcome, Fault):
            raise DataError(outcome.message) from outcome.error

    # -- sources -------------------------------------------------------------------------------------

    def fetch(self, seconds: float | None = None) -> None:
        """Call the sources of the `OnDemand` for what they can get, until a person must answer.

        Parameters
        ----------
        seconds : float, optional
            Calls that have not answered by then have failed.
        """
        self._served.in_background(self.afetch(seconds))

    async def afetch(self, seconds: float | None = None) -> None:
        """Call the sources, as `fetch` does, in the running event loop. What they bring is in the trail.

        Parameters
        ----------
        seconds : float, optional
            As for `fetch`.
        """
        request, end = self._request, None if seconds is None else clock() + seconds
        while calls := self._calls():
            request.raw = {**self._raw, **request.acquired()}
            outcomes = await asyncio.gather(*(self._outcome(call, end) for call in calls))
            for call, outcome in zip(calls, outcomes, strict=True):
                self._replies.append(Fetched.of(call, outcome, self._cap))
                settle(request, call, outcome)
            self._use_kept()

    async def _outcome(self, call: Call, end: float | None) -> Deliveries | Fault:
        """The final outcome of a call, which is late after the end."""
        left = None if end is None else max(0.0, end - clock())
        try:
            return await with_timeout(call_async(self._request, call, self._served.pool), left)
        except TimeoutError as error:
            outcome, retries = Fault.of(error), call.retries
            self._request.delay_after(call, outcome)  # bills it, if its rules say so
            call.retries = retries
            return outcome

    def _calls(self) -> list[Call]:
        """The calls of sources to make now: those that come before the next question."""
        trail, sources = self._request.trail, self._served.sources
        if self.stopped_by or trail.need < 0 or sources[trail.need].at_hand:
            return []
        return list(takewhile(lambda call: not call.source.at_hand, self._request.wanted(together=True)))

    # -- sources elsewhere ---------------------------------------------------------------------------

    def report(self, reports: Iterable[SourceReport]) -> None:
        """Say what sources elsewhere brought for some features of `wanted`, or that they failed.

        Parameters
        ----------
        reports : iterable of SourceReport
            One for each feature. All of it is paid. A feature that a source could not get counts as missing.

        Raises
        ------
        DataError
            If a value cannot be used. Nothing has changed then.
        """
        reported = self._read_reports(reports)
        reported.apply(self._request)
        self._replies.append(reported)
        self._question = None
        self._use_kept()
        self._asked = clock()

    def _read_reports(self, reports: Iterable[SourceReport]) -> Reported:
        found = list(reports)
        for one in found:
            if one.value is not None:
                self.check(one.feature, one.value)
        return Reported(tuple(one.fetched(self._request, self._cap) for one in found), self._cap)

    def _leave(self, by: str, reason: str, reported: Reported) -> None:
        """End the interview before the plan does."""
        if not self.stopped_by:
            self._left = by, reason, reported
            reported.leave(self._request, by, reason)
        self._question = None

    # -- parts ---------------------------------------------------------------------------------------

    def _asks(self) -> bool:
        """Whether a person is asked now."""
        need = self._request.trail.need
        return not self.stopped_by and need >= 0 and self._served.sources[need].at_hand

    def _restart(self, replies: Iterable[Reply | Fetched | Reported] = ()) -> None:
        """Begin again, and give these replies."""
        self._replies = list(replies)
        first = self._replies[0].cap if self._replies else self._cap
        self._request = request = PredictionRequest(
            self._served, None, first, None, self._known, self._prices
        )
        request.begun = self._begun
        self._question = self._receipt = self._seconds = self._left = None
        self._reported = False
        for one in self._replies:
            request.set_budget(read_budget(one.cap))
            one.apply(request)
        request.set_budget(read_budget(self._cap))
        request.wanted()
        self._asked = clock()

    def _answer(self, value: Any, declined: bool) -> None:
        if not self._asks():
            raise SourceError("the interview has ended: there is no question to answer")
        self._apply(value, declined)
        self._use_kept()

    def _apply(self, value: Any, declined: bool) -> None:
        reply = Reply(self._request.trail.need, value, declined, clock() - self._asked, self._cap)
        reply.apply(self._request)
        self._replies.append(reply)
        self._question = None
        self._asked = clock()

    def _use_kept(self) -> None:
        """Answer questions with values that were given before."""
        while self._asks() and self._request.trail.need in self._kept:
            self._apply(*self._kept.pop(self._request.trail.need))


def served_of(plan: Any) -> OnDemand:
    """Return what serves a plan: itself, or one that has no sources and compiles nothing."""
    return plan if isinstance(plan, OnDemand) else OnDemand(plan, compiled=False)
