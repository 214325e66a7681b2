"""One request: which calls it needs, what their results mean, and when it ends. It makes no calls itself.

`drivers` make the calls: in the thread of the caller, in other threads, or in an event loop. All rules about
money, faults and time are here, so they are the same for each of them.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from itertools import count
from typing import TYPE_CHECKING, Any

import numpy as np

from miserly.costs import fits
from miserly.errors import DataError, SourceError
from miserly.plan.engine.ahead import certain, possible
from miserly.plan.engine.stepping import Trail
from miserly.runtime.calls import Call, Deliveries, Delivery, by_source, clock
from miserly.runtime.faults import (
    CANCELLED,
    DECLINED,
    EXHAUSTED,
    INVALID,
    LATE,
    NAN,
    NULL,
    REFUSED,
    VALUE,
    Fault,
    Invalid,
    delay_before,
)  # fmt: skip
from miserly.runtime.receipt import DELIVERED, Entry, Receipt
from miserly.runtime.sources import Priced
from miserly.utils.checks import is_missing, read_price

if TYPE_CHECKING:
    from miserly.runtime.on_demand import OnDemand

__all__ = ["PredictionRequest", "next_number"]

next_number = count(1).__next__  # of requests in this process
_ENDED = "the request had ended before"
_LATE = "it had not answered by the deadline"


class PredictionRequest:
    """One request for an answer; see `OnDemand.predict`."""

    is_remote = False  # whether the plan is elsewhere, so that `exchange` comes before `wanted`

    __slots__ = ("begun", "deadline", "end", "entries", "known", "number", "prices", "raw", "reason",
                 "served", "stash", "stopped_by", "trail", "under_way", "unused")  # fmt: skip

    def __init__(
        self,
        served: OnDemand,
        raw: Any,
        budget: float | None,
        deadline: float | None,
        known: Mapping[Any, Any] | None,
        prices: Mapping[Any, float] | None,
    ) -> None:
        self.begun = clock()
        self.number = next_number()
        self.served, self.raw, self.known, self.prices = served, raw, known, prices
        self.trail = Trail(served.plan, known, budget, unknown=served.unknown, prices=prices)
        self.deadline = deadline
        self.end = float("inf") if deadline is None else self.begun + deadline
        self.entries: list[Entry] = []
        self.stash: Deliveries = {}  # values that have come and are not used yet
        self.unused: list[Entry] = []
        self.under_way: set[Call] = set()
        self.stopped_by = self.reason = ""

    # -- what to do next -----------------------------------------------------------------------------

    def wanted(self, together: bool = False) -> list[Call]:
        """The calls to make now; none when the request has ended.

        Parameters
        ----------
        together : bool, default=False
            All that the node needs for certain, to be called at the same time, or one at a time.

        Returns
        -------
        list of Call
        """
        self.use_stash()
        if self.stopped_by:
            return []
        if clock() >= self.end:
            self.pass_deadline()
            return []
        columns = [f for f in self.certain() if f not in self.stash] if together else [self.trail.need]
        calls: list[Call] = []
        due, extra = self._due()
        capped = self.trail.budget < np.inf
        for source, some in by_source(self.served.sources, columns):
            if calls and capped and (source.may_differ or calls[0].source.may_differ):
                break  # what is certain is so by listed prices
            if calls and source.asks:
                break  # it gets the values of those before it
            before, together_with = self.trail.price_of(due), self.trail.price_of([*due, *some])
            call = Call(source, tuple(some), together_with - before, ahead=False)
            extra += call.reserved - call.price
            if not fits(self.trail.spent, together_with + extra, self.trail.budget):
                if not calls:
                    self.stop("budget", f"a call for {source.name!r} may cost {call.reserved:g}")
                break
            due += some
            calls.append(call)
        return calls

    def certain(self) -> list[int]:
        """The columns that the node needs whatever their values are."""
        return certain(self.trail)

    def ahead(self) -> list[Call]:
        """Calls for what the next nodes may need, if the budget allows all that the plan could still buy.

        A source that may cost more than its listed price is not called ahead.
        """
        columns = [f for f in possible(self.trail) if f not in self.stash]
        made = {call for call in (*self.under_way, *(one.call for one in self.stash.values())) if call.ahead}
        spent = sum(entry.cost or 0.0 for entry in self.unused) + sum(call.reserved for call in made)
        left = self.trail.budget - self.served.plan.max_cost - spent
        calls = []
        for source, some in by_source(self.served.sources, columns):
            call = Call(source, tuple(some), self.trail.price_of(some), ahead=True)
            if call.reserved <= left and not source.may_differ:
                left -= call.reserved
                calls.append(call)
        return calls

    def _due(self) -> tuple[list[int], float]:
        """The columns that have come, are asked for and not paid at listed prices; and what others cost."""
        due = [f for f, item in self.stash.items() if f in item.call.columns and not item.call.ahead]
        priced = sum(self.stash[f].cost or 0.0 for f in due)
        return [f for f in due if self.stash[f].cost is None], priced

    async def exchange(self) -> None:
        """Bring the request up to date with a plan that is elsewhere."""

    # -- a call ---------------------------------------------------------------------------------------

    def begin(self, call: Call) -> Fault | None:
        """Prepare a call; gives why it cannot be made."""
        if self.stopped_by:
            return Fault(CANCELLED, _ENDED)
        self.under_way.add(call)
        if not call.source.breaker.lets_through():
            return Fault(REFUSED, "its circuit breaker is open after many failures in a row")
        if call.source.asks:
            try:
                call.arguments = call.source.signature.arguments(self.acquired())
            except Invalid as error:
                return Fault(DECLINED, str(error), error)
        return None

    def acquired(self) -> dict[Any, Any]:
        """The values acquired or known so far, by feature."""
        name = self.served.plan.costs.name
        values = dict(self.known or {})
        values.update(
            (name(entry.column), entry.value) for entry in self.entries if entry.outcome in DELIVERED
        )
        return values

    def read(self, call: Call, result: Any) -> Deliveries | Fault:
        """What a result brings: items by column, or why it cannot be used."""
        cost = None
        items: Deliveries = {}
        try:
            if isinstance(result, Priced):
                cost, result = read_price(result.cost, "the cost of a Priced value"), result.value
            for f, given in call.source.by_column(result).items():
                try:
                    items[f] = self._item(call, f, given, cost)
                except (DataError, TypeError, ValueError, OverflowError) as error:
                    if f in call.columns:
                        raise Invalid(str(error)) from error
                cost = None if cost is None else 0.0  # the first one pays for all
        except (SourceError, ValueError) as error:
            return Fault(INVALID, str(error), error)
        for f in call.columns:
            if f not in items:
                return Fault(INVALID, f"it gave no value for {self.served.plan.costs.name(f)!r}")
            if items[f].outcome == NAN:
                return Fault(NAN, "it gave NaN; give None where there is no value", items=items)
        return items

    def _item(self, call: Call, f: int, given: Any, cost: float | None) -> Delivery:
        if given is None:
            return Delivery(np.nan, None, cost, NULL, call)
        value = self.served.encode(f, given)
        # An unknown category that counts as missing is a value; NaN is none.
        return Delivery(value, given, cost, NAN if value != value and is_missing(given) else VALUE, call)

    def delay_after(self, call: Call, outcome: Deliveries | Fault) -> float | None:
        """Seconds to wait before the call is made again; None if this outcome is final."""
        if self.stopped_by:
            return None
        call.seconds = clock() - call.begun
        rules, breaker = call.source.rules, call.source.breaker
        if not isinstance(outcome, Fault):
            breaker.succeeded()
            return None
        if outcome.outcome not in (DECLINED, REFUSED, EXHAUSTED):
            breaker.failed()
        self._bill_failure(call, outcome)
        if not outcome.may_retry or call.retries >= (rules.retries or 0):
            return None
        due, extra = self._due()
        spent = self.trail.spent + self.trail.price_of(due) + extra
        if rules.charge_on_failure and not fits(spent, call.reserved, self.trail.budget):
            return None
        delay = delay_before(call.retries, rules.backoff or 0.0)
        if clock() + delay >= self.end:
            return None
        call.retries += 1
        return delay

    def _bill_failure(self, call: Call, failure: Fault) -> None:
        if call.source.rules.charge_on_failure and failure.outcome not in (REFUSED, EXHAUSTED, NAN):
            call.lost += call.price
            if not call.ahead:
                self.trail.lose(call.price)

    def resolve(self, f: int, begun: float, given: Any = None, error: Exception | None = None) -> Call | None:
        """Take what the first call for column `f` brought; gives the call if it is to be made again."""
        call = Call(self.served.sources[f], (f,), self.trail.price(f), ahead=False)
        call.begun = begun
        outcome = self.read(call, given) if error is None else Fault.of(error)
        delay = self.delay_after(call, outcome)
        if delay is not None:
            time.sleep(delay)
            return call
        self.deliver(call, outcome)
        return None

    def deliver(self, call: Call, outcome: Deliveries | Fault) -> None:
        """Take the final outcome of a call; what comes when the request has ended is not looked at."""
        if self.stopped_by:
            return
        self.under_way.discard(call)
        if isinstance(outcome, Fault) and outcome.items is None:
            self._fail(call, outcome)
            return
        items = outcome.items if isinstance(outcome, Fault) else outcome
        for f, item in (items or {}).items():
            if not self.trail.is_known(f):
                self.stash[f] = item
        if isinstance(outcome, Fault) and not call.ahead:
            self._fall_back(call, outcome)

    def _fail(self, call: Call, failure: Fault) -> None:
        """Nothing came: log it, and go on by the rules of the source."""
        self.log(call, failure)
        if not call.ahead:
            self._fall_back(call, failure)

    def log(self, call: Call, failure: Fault) -> None:
        """Note what was asked for and did not come."""
        for f in call.columns:
            prices = (self.trail.price(f), call.reserved, call.lost)
            rest = (call.retries, failure.outcome, failure.message)
            entry = Entry(f, None, call.seconds, self.trail.scores, *prices, *rest)
            call.lost = call.reserved = call.seconds = 0.0  # the first one has it
            (self.unused if call.ahead else self.entries).append(entry)

    def _fall_back(self, call: Call, failure: Fault) -> None:
        fallback = call.source.rules.fallback
        if fallback == "missing":
            if failure.items is None:
                for f in call.source.columns:  # one call brings them all: none of them is asked for again
                    if not self.trail.is_known(f):
                        self.trail.waive(f)
                self.trail.resume()
                first = len(self.entries) - len(call.columns)  # they were logged last
                last, scores = self.entries[first:], self.trail.scores
                self.entries[first:] = [one._replace(scores=scores) for one in last]
            return
        name = call.source.name
        self.stop("failure", f"the source of {name!r}: {failure.message}")
        if fallback == "raise":
            error = SourceError(f"the source of {name!r} failed ({failure.outcome}): {failure.message}")
            error.__cause__ = failure.error
            self._raise(error)

    def _raise(self, error: SourceError) -> None:
        """Raise the error of a source that must not fail, with the receipt."""
        error.receipt = self.receipt()
        if self.served.hooks is not None:
            self.served.hooks.on_answer(error.receipt)
        raise error

    # -- what has come --------------------------------------------------------------------------------

    def keep(self, f: int, given: Any, value: float) -> None:
        """Keep a value that is not asked for yet, in case the plan needs it."""
        call = Call(self.served.sources[f], (), 0.0, ahead=False)
        self.stash.setdefault(f, Delivery(value, given, None, NULL if given is None else VALUE, call))

    def use_stash(self) -> None:
        """Give the plan what it needs of what has come."""
        trail = self.trail
        while not self.stopped_by:
            f = trail.need
            if f < 0:
                if trail.stopped:
                    self.stop("budget", f"nothing more fits {trail.budget:g}")
                else:
                    self.stop("answered", "the plan has no more questions")
            elif f in self.stash:
                self._take(f, self.stash.pop(f))
            else:
                return

    def _take(self, f: int, item: Delivery, use: bool = True) -> None:
        """Pay for a value that has come, and if it is of use give it to the plan."""
        trail, call = self.trail, item.call
        price = trail.price(f)
        if item.cost is None and use:
            trail.put(f, item.value)
        else:
            trail.settle(f, item.value, price if item.cost is None else item.cost)
            if use:
                trail.resume()
        cost = price if item.cost is None else item.cost
        reserved = price if item.cost is None else call.reserved
        asked = f in call.columns
        entry = Entry(
            f, item.given, call.seconds if asked else 0.0, trail.scores, price, reserved, cost + call.lost,
            call.retries if asked else 0, item.outcome,
        )  # fmt: skip
        self.entries.append(entry)
        call.lost = call.seconds = 0.0  # the first one has it
        if item.cost is not None:
            call.reserved = 0.0
            if not fits(0.0, cost, reserved) and np.isfinite(trail.budget) and use:
                name = self.served.plan.costs.name(f)
                self.stop("budget", f"{name!r} cost {cost:g}, more than the {reserved:g} reserved for it")

    # -- the end --------------------------------------------------------------------------------------

    def pass_deadline(self) -> None:
        """End the request because its time is over."""
        self.stop("deadline", f"{self.deadline:g} seconds are over")

    def stop(self, by: str, reason: str) -> None:
        """End the request, pay for what was asked for and has come, and leave behind what has not."""
        if self.stopped_by:
            return
        self.stopped_by, self.reason = by, reason
        fault = Fault(LATE, _LATE) if by == "deadline" else Fault(CANCELLED, _ENDED)
        for call in self.under_way:
            call.seconds = clock() - call.begun
            self._bill_failure(call, fault)
            self.log(call, fault)
        self.under_way.clear()
        for f, item in [one for one in self.stash.items() if one[0] in one[1].call.columns]:
            if not item.call.ahead:
                self._take(f, item, use=False)
            else:
                price = self.trail.price(f) if item.cost is None else item.cost
                rest = (self.trail.scores, price, item.call.reserved, price)
                self.unused.append(Entry(f, item.given, item.call.seconds, *rest))
        self.stash.clear()

    def set_budget(self, budget: float) -> None:
        """Change the cap from here on: a request that is not over, or that the old cap ended, goes on."""
        if self.stopped_by in ("", "budget") or (self.stopped_by == "answered" and self.trail.plan.acquires):
            self.stopped_by = self.reason = ""
            self.trail.set_budget(budget)
            self.use_stash()

    def receipt(self) -> Receipt:
        """The receipt, when the request has ended."""
        trail = self.trail
        return Receipt(
            self.served.plan, trail.cost, trail.evaluation_cost, self.stopped_by, self.reason, trail.exit,
            trail.scores, clock() - self.begun, trail.budget, self.deadline,
            tuple(self.known) if self.known else (), self.entries,
            None if self.prices is None else trail.listed_prices, self.unused, self.number, trail.amounts,
        )  # fmt: skip
