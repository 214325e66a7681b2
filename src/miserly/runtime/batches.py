"""Many requests together: batched sources, and streams."""

from __future__ import annotations

import asyncio
import time
from collections import deque
from collections.abc import AsyncIterable, AsyncIterator, Iterable, Iterator, Mapping
from functools import partial
from itertools import islice
from typing import TYPE_CHECKING, Any

from miserly.runtime.arguments import offer
from miserly.runtime.calls import Call, clock
from miserly.runtime.drivers import call_async, call_here, in_thread, with_timeout
from miserly.runtime.faults import Fault
from miserly.runtime.request import PredictionRequest
from miserly.utils.sources import entry_of

if TYPE_CHECKING:
    from miserly.runtime.on_demand import OnDemand
    from miserly.runtime.pool import ThreadPool
    from miserly.runtime.receipt import Receipt
    from miserly.runtime.runner import SourceRunner

__all__ = ["run_many", "run_together", "stream"]


def run_many(
    served: OnDemand,
    rows: Iterable[Any],
    budget: float | None,
    deadline: float | None,
    prices: Mapping[Any, float] | None,
    batch_size: int,
    offered: Iterable[Mapping[Any, Any] | None] | None = None,
) -> Iterator[Receipt]:
    """Receipts of many requests, batch by batch; see `OnDemand.predict_many`."""
    following, offers = iter(rows), iter(offered or ())
    while some := list(islice(following, batch_size)):
        requests = [PredictionRequest(served, raw, budget, deadline, None, prices) for raw in some]
        for request in requests:
            offer(request, next(offers, None))
        if served.runs_here and deadline is None:
            _run_here(requests)
        else:
            served.in_background(run_together(served, requests))
        for request in requests:
            yield served.answered(request)


class Unit:
    """Calls of one source for several requests, made as one; or one call, if the source is not batched."""

    def __init__(self, pairs: list[tuple[PredictionRequest, Call]]) -> None:
        self.pairs = pairs
        self.source = pairs[0][1].source
        self.end = min(request.end for request, _ in pairs)

    def begin(self) -> None:
        """Prepare all calls; those that cannot be made are out."""
        ready = []
        for request, call in self.pairs:
            failure = request.begin(call)
            if failure is None:
                ready.append((request, call))
            else:
                request.delay_after(call, failure)
                request.deliver(call, failure)
        self.pairs = ready
        for request, call in ready:
            if request.served.hooks is not None:
                request.served.hooks.before_source(request, call)

    def arguments(self) -> tuple[list[Any], dict[str, list[Any]]]:
        """The raw inputs, and the lists of what else the source asks for; None where a request lacks it."""
        names = dict.fromkeys(name for _, call in self.pairs for name in call.arguments)
        given = {name: [call.arguments.get(name) for _, call in self.pairs] for name in names}
        return [request.raw for request, _ in self.pairs], given

    def settle(self, results: Any, error: BaseException | None) -> float | None:
        """Deliver what is final; gives how long to wait until the rest is called again, None if all is."""
        again, longest = [], None
        for i, (request, call) in enumerate(self.pairs):
            outcome: Any
            try:
                if error is not None:
                    raise error
                outcome = request.read(call, entry_of(results, i, len(self.pairs)))
            except Exception as raised:
                outcome = Fault.of(raised)
            if request.served.hooks is not None:
                request.served.hooks.after_source(request, call, outcome)
            delay = request.delay_after(call, outcome)
            if delay is None:
                request.deliver(call, outcome)
            else:
                again.append((request, call))
                longest = max(longest or 0.0, delay)
        self.pairs = again
        return longest


def _units(requests: list[PredictionRequest]) -> tuple[list[PredictionRequest], list[Unit]]:
    """The requests that go on, and what to call for them now."""
    going: list[PredictionRequest] = []
    units: list[Unit] = []
    together: dict[Any, list[tuple[PredictionRequest, Call]]] = {}
    for request in requests:
        calls = request.wanted(together=True)
        if request.stopped_by:
            continue
        going.append(request)
        for call in calls:
            if call.source.rules.batched:
                together.setdefault((id(call.source), call.columns), []).append((request, call))
            else:
                units.append(Unit([(request, call)]))
    return going, [*units, *(Unit(pairs) for pairs in together.values())]


# -- here ----------------------------------------------------------------------------------------------------


def _run_here(requests: list[PredictionRequest]) -> None:
    while requests:
        requests, units = _units(requests)
        for unit in units:
            if not unit.source.rules.batched:
                request, call = unit.pairs[0]
                request.deliver(call, call_here(request, call))
                continue
            while unit.pairs:
                unit.begin()
                if not unit.pairs:
                    break
                delay = _call(unit)
                if delay:
                    time.sleep(delay)


def _call(unit: Unit) -> float | None:
    raws, given = unit.arguments()
    results, error = None, None
    try:
        results = unit.source.function(raws, **given)
    except Exception as raised:
        error = raised
    return unit.settle(results, error)


# -- in an event loop ----------------------------------------------------------------------------------------


async def run_together(served: SourceRunner, requests: list[PredictionRequest]) -> None:
    """Answer requests in the running event loop, with one call of a batched source for all at a step."""
    while requests:
        await exchange_all(requests)
        requests, units = _units(requests)
        tasks = {asyncio.ensure_future(_make(unit, served.pool)): unit for unit in units}
        try:
            await _finish(tasks)
        finally:
            for task in tasks:
                task.cancel()


async def exchange_all(requests: list[PredictionRequest]) -> None:
    """Bring all requests whose plan is elsewhere up to date, at the same time."""
    if remote := [request.exchange() for request in requests if request.is_remote]:
        for result in await asyncio.gather(*remote, return_exceptions=True):
            if isinstance(result, BaseException):
                raise result


async def _finish(tasks: dict[asyncio.Task[None], Unit]) -> None:
    """Wait for all tasks, those that pass their deadline excepted."""
    pending = set(tasks)
    while pending:
        end = min(tasks[task].end for task in pending)
        left = None if end == float("inf") else max(0.0, end - clock())
        done, pending = await asyncio.wait(pending, timeout=left, return_when=asyncio.FIRST_COMPLETED)
        for task in done:
            task.result()
        for task in [task for task in pending if clock() >= tasks[task].end]:
            task.cancel()
            pending.discard(task)
            for request, _ in tasks[task].pairs:
                request.pass_deadline()


async def _make(unit: Unit, pool: ThreadPool) -> None:
    """Make the calls of a unit, with their retries, and deliver what they bring."""
    if not unit.source.rules.batched:
        request, call = unit.pairs[0]
        outcome = await call_async(request, call, pool)
        unit.pairs = []
        request.deliver(call, outcome)
        return
    while unit.pairs:
        unit.begin()
        if not unit.pairs:
            return
        raws, given = unit.arguments()
        source, results, error = unit.source, None, None
        try:
            if source.is_async:
                results = await with_timeout(source.function(raws, **given), source.rules.timeout)
            else:
                results = await in_thread(partial(source.function, raws, **given), source, pool)
        except Exception as raised:
            error = raised
        delay = unit.settle(results, error)
        if delay:
            await asyncio.sleep(delay)


async def stream(
    served: OnDemand,
    rows: Iterable[Any] | AsyncIterable[Any],
    budget: float | None,
    deadline: float | None,
    concurrency: int,
) -> AsyncIterator[Receipt]:
    """Receipts of a stream of requests, in order; see `OnDemand.stream`."""
    under_way: deque[asyncio.Task[Receipt]] = deque()
    try:
        async for raw in _each(rows):
            under_way.append(asyncio.ensure_future(served.apredict(raw, budget, deadline)))
            if len(under_way) >= concurrency:
                yield await under_way.popleft()
        while under_way:
            yield await under_way.popleft()
    finally:
        for task in under_way:
            task.cancel()


async def _each(rows: Iterable[Any] | AsyncIterable[Any]) -> AsyncIterator[Any]:
    if isinstance(rows, AsyncIterable):
        async for raw in rows:
            yield raw
    else:
        for raw in rows:
            yield raw
