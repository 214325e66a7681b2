"""One request to a plan on a server: a session of the service, and calls of local sources.

`PredictionRequest` implements the rules about calls, faults and time. The service decides which features are
needed, computes costs and answers, and receives the values from the sources.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from miserly.client.connection import DeadlinePassed, path_of
from miserly.client.plan import RemotePlan
from miserly.client.receipt import RemoteReceipt, receipt_of, receipt_so_far
from miserly.client.terms import RequestTerms
from miserly.costs.one_row import listed_price
from miserly.errors import ClientError, SourceError
from miserly.runtime.calls import Delivery, clock
from miserly.runtime.faults import DECLINED, NAN, VALUE
from miserly.runtime.receipt import DELIVERED, Entry
from miserly.runtime.request import PredictionRequest, next_number

if TYPE_CHECKING:
    from miserly.client.runner import RemoteRunner

__all__ = ["ModelChanged", "RemoteRequest"]

_MARGIN = 3.0  # round trips reserved for the last request
_MOST_MARGIN = 0.2  # largest share of the deadline that is reserved


class ModelChanged(Exception):
    """The service has loaded another version of the model."""


class RemoteTrail:
    """The local view of the path of a row through the plan.

    Parameters
    ----------
    plan : RemotePlan
        The plan.
    prices : mapping of feature or group to float, or None
        Prices that differ from those of the plan.
    known : mapping, or None
        Values that were known before the request.
    together : bool
        Whether to request all features that are certain to be needed, or only those of the present node.

    Attributes
    ----------
    wanted : list of int
        The columns that are requested now, in order.
    spent, budget : float
        The amount paid, and the cap.
    """

    def __init__(
        self,
        plan: RemotePlan,
        prices: Mapping[Any, float] | None,
        known: Mapping[Any, Any] | None,
        together: bool,
    ) -> None:
        costs = plan.costs
        self.plan, self._together = plan, together
        self._listed = [*costs.feature.tolist(), *costs.setup.tolist()]
        for name, price in (prices or {}).items():
            of_group = name in costs.group_names
            place = len(costs) + costs.group_names.index(name) if of_group else costs.index(name)
            self._listed[place] = float(price)
        self._known = {costs.index(name) for name in known or ()}
        self._open = {group for f in self._known for group in costs.groups_of(f)}
        self.waived: set[int] = set()
        self.wanted: list[int] = []
        self.spent, self.budget = 0.0, math.inf
        self.scores: tuple[float, ...] = ()

    @property
    def need(self) -> int:
        """The first requested column; -1 if there is none."""
        return self.wanted[0] if self.wanted else -1

    def update(self, session: Mapping[str, Any]) -> None:
        """Update from a session record of the service."""
        asked = session["wanted" if self._together else "needed"]
        self.wanted = [self.plan.columns[name] for name in asked]
        self.spent = session["cost"]
        self.budget = math.inf if session["budget"] is None else session["budget"]

    def price(self, f: int) -> float:
        """The current price of a column."""
        return self.price_of([f])

    def price_of(self, columns: list[int]) -> float:
        """The current total price of some columns."""
        total, opened = 0.0, set(self._open)
        for f in columns:
            if f not in self._known:
                groups = self.plan.costs.groups_of(f)
                total += listed_price(f, groups, opened, self._listed, len(self.plan.costs))
                opened.update(groups)
        return total

    def is_known(self, f: int) -> bool:
        """Whether a column needs no further call: it is known or not available."""
        return f in self._known or f in self.waived

    def pay(self, f: int) -> None:
        """Record that a column was bought."""
        self._known.add(f)
        self._open.update(self.plan.costs.groups_of(f))

    def lose(self, cost: float) -> None:
        """Record the cost of a call that failed."""
        self.spent += cost

    def waive(self, f: int) -> None:
        """Record that a column is not available."""
        self.waived.add(f)

    def resume(self) -> None:
        """Do nothing. The service continues when it receives the values."""


class RemoteRequest(PredictionRequest):
    """One request for an answer; see `Client.predict`."""

    is_remote = True

    __slots__ = (
        "budget",
        "error",
        "forgotten",
        "input",
        "limit",
        "lost",
        "n_sent",
        "runner",
        "session",
        "way",
    )

    def __init__(
        self,
        served: RemoteRunner,
        raw: Any,
        terms: RequestTerms,
    ) -> None:
        self.begun = clock()
        self.number = next_number()
        self.runner, self.way = served, RemoteTrail(served.plan, terms.prices, terms.known, served.together)
        base: Any = self  # the base class expects an `OnDemand` and a `Trail`
        base.served, base.trail = self.runner, self.way
        self.raw, self.known, self.prices = raw, terms.known, terms.prices
        self.budget, self.deadline, self.input = terms.cap, terms.deadline, terms.given
        self.limit = self.end = terms.end(self.begun)
        if terms.deadline is not None:
            self.end -= min(_MOST_MARGIN * terms.deadline, _MARGIN * served.connection.round_trip)
        self.entries, self.stash, self.unused, self.under_way = [], {}, [], set()
        self.stopped_by = self.reason = ""
        self.session: dict[str, Any] | None = None
        self.lost: dict[int, float] = {}  # cost of failed calls before the value arrived, by column
        self.forgotten = False
        self.n_sent = 0  # entries that were sent to the service
        self.error: SourceError | None = None

    # -- requested features -------------------------------------------------------------------------

    def certain(self) -> list[int]:
        """The columns that the service requests."""
        return [f for f in self.way.wanted if not self.way.is_known(f)]

    def use_stash(self) -> None:
        """Record the requested values that have arrived; `exchange` sends them to the service."""
        way, logged = self.way, {entry.column for entry in self.entries}
        for f in way.wanted:
            if f in self.stash:
                self._take(f, self.stash.pop(f))
            elif f in way.waived and f not in logged:  # its source failed for another feature
                facts = (way.price(f), 0.0, 0.0, 0, DECLINED, "its source has failed before")
                self.entries.append(Entry(f, None, 0.0, (), *facts))

    def _take(self, f: int, item: Delivery, use: bool = True) -> None:
        call, price = item.call, self.way.price(f)
        cost = price if item.cost is None else item.cost
        self.way.pay(f)
        asked = f in call.columns
        reserved = price if item.cost is None else call.reserved
        prices = (price, reserved, cost + call.lost)
        seconds, retries = (call.seconds, call.retries) if asked else (0.0, 0)
        self.entries.append(Entry(f, item.given, seconds, (), *prices, retries, item.outcome))
        self.lost[f] = call.lost
        call.lost = call.seconds = 0.0
        if item.cost is not None:
            call.reserved = 0.0

    def _raise(self, error: SourceError) -> None:
        self.error = error  # it is raised after the receipt was made

    # -- the service ---------------------------------------------------------------------------------

    async def exchange(self) -> None:
        """Begin the session, or send the values that have arrived, until the service requests others."""
        try:
            while not self.stopped_by:
                self.use_stash()
                if self.session is None:
                    await self._begin()
                elif self.n_sent < len(self.entries):
                    await self._change("values", {"fetched": self._fetched()})
                else:
                    return
        except DeadlinePassed:
            self.pass_deadline()
        except ClientError as error:
            self.stop("failure", str(error))
            error.receipt = self.receipt()
            raise

    async def finish(self) -> None:
        """Tell the service how the request ended, unless the service ended it."""
        if self.session is None:
            if self.stopped_by == "deadline":
                raise DeadlinePassed  # there is no answer at all
            return
        if self.session["state"] != "ended":
            body = {"by": self.stopped_by or "caller", "fetched": self._fetched()}
            try:
                await self._change("stop", body, keep=True)
            except DeadlinePassed:
                pass
            except ClientError as error:
                if self.deadline is None:
                    error.receipt = self.receipt()
                    raise

    def forget(self) -> None:
        """Delete the session on the service, in the background."""
        if self.session is not None and not self.forgotten:
            self.forgotten = True
            self.runner.connection.later("DELETE", path_of("v1", "sessions", self.session["id"]))

    async def _begin(self) -> None:
        body: dict[str, Any] = {
            "budget": self.budget,
            "known": self.runner.json_values(self.known),
            "prices": {str(name): float(price) for name, price in (self.prices or {}).items()},
        }
        if self.input is not None:
            body["input"] = dict(self.input)
        path = path_of("v1", "models", self.runner.plan.name, "sessions")
        # It is safe to begin a session twice, unless the service pays for features that it fetches itself.
        session = await self._call("POST", path, body, repeatable=not self.runner.plan.fetched)
        self.session = session
        if session["digest"] != self.runner.plan.digest:
            raise ModelChanged
        self._update(session)

    async def _change(self, what: str, body: dict[str, Any], keep: bool = False) -> None:
        """Change the session. If the response was lost, read the session to see if the change was made."""
        assert self.session is not None
        path, version = path_of("v1", "sessions", self.session["id"]), self.session["version"]
        sent = len(self.entries)
        try:
            session = await self._call("POST", f"{path}/{what}", {**body, "version": version})
        except ClientError as error:
            if error.code not in ("changed_meanwhile", "session_ended"):
                raise
            session = await self._call("GET", path)
            if session["version"] <= version:
                raise
        self.n_sent = sent
        self._update(session, keep)

    def _update(self, session: dict[str, Any], keep: bool = False) -> None:
        self.session = session
        self.way.update(session)
        if session["state"] == "ended" and not keep:
            self.stopped_by, self.reason = session["receipt"]["stopped_by"], session["receipt"]["reason"]

    async def _call(self, method: str, path: str, body: Any = None, **options: Any) -> Any:
        return await self.runner.connection.call(method, path, body, end=self.limit, **options)

    # -- what is sent --------------------------------------------------------------------------------

    def _fetched(self) -> list[dict[str, Any]]:
        """The entries that were not sent to the service yet."""
        asked = set(self.way.wanted)
        return [self._report(one) for one in self.entries[self.n_sent :] if one.column in asked]

    def _report(self, one: Entry) -> dict[str, Any]:
        name, cost, lost = self.runner.plan.costs.name(one.column), one.cost or 0.0, one.cost or 0.0
        report: dict[str, Any] = {"feature": str(name), "outcome": one.outcome}
        if one.outcome in DELIVERED:
            lost = self.lost[one.column]
            report["outcome"] = NAN if one.outcome == NAN else VALUE
            if one.outcome == VALUE:
                report["value"] = self.runner.json_value(one.column, one.value)
            if cost - lost != one.price:
                report |= {"cost": cost - lost, "reserved": one.reserved}
        return report | {"lost": lost, "seconds": one.seconds, "retries": one.retries}

    # -- receipts -------------------------------------------------------------------------------------

    def receipt(self) -> RemoteReceipt:  # type: ignore[override]
        """The receipt of the service, completed with local results."""
        session, plan = self.session, self.runner.plan
        own: dict[str, Any] = {
            "seconds": clock() - self.begun, "deadline": self.deadline, "request": self.number,
            "stopped_by": self.stopped_by, "reason": self.reason,
        }  # fmt: skip
        if session is not None and session["state"] == "ended":
            own["receipt_id"] = session.get("receipt_id")
            return receipt_of(session["receipt"], plan, self.entries, **own)
        own["known"] = tuple(self.known or ())
        return receipt_so_far(session, plan, self.entries, self.n_sent, **own)
