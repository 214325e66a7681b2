"""Drivers make the calls that a request wants: here, in threads, or in an event loop."""

from __future__ import annotations

import asyncio
import queue
import time
from collections.abc import Callable
from contextlib import suppress
from math import nan
from typing import TYPE_CHECKING, Any

import numpy as np

from miserly.runtime.calls import Call, Deliveries, clock
from miserly.runtime.faults import Fault, PoolExhausted
from miserly.runtime.pool import Job, ThreadPool
from miserly.runtime.receipt import Entry
from miserly.runtime.request import PredictionRequest
from miserly.runtime.sources import BoundSource
from miserly.utils.sources import entry_of

if TYPE_CHECKING:
    from miserly.runtime.hooks import Hooks

__all__ = [
    "call_async",
    "call_here",
    "in_thread",
    "run_async",
    "run_here",
    "run_in_threads",
    "run_plain",
    "with_timeout",
]

_EXACT = 2**53  # whole numbers below it are floats without loss

# -- here ----------------------------------------------------------------------------------------------------


def run_here(request: PredictionRequest) -> None:
    """Make all calls one after the other, in this thread."""
    while calls := request.wanted():
        for call in calls:
            request.deliver(call, call_here(request, call))


def call_here(request: PredictionRequest, call: Call) -> Deliveries | Fault:
    """Make one call in this thread, with its retries; gives its outcome."""
    hooks = request.served.hooks
    while True:
        outcome: Deliveries | Fault | None = request.begin(call)
        if outcome is None:
            if hooks is not None:
                hooks.before_source(request, call)
            try:
                outcome = request.read(call, _result(request, call))
            except Exception as error:
                outcome = Fault.of(error)
            if hooks is not None:
                hooks.after_source(request, call, outcome)
        delay = request.delay_after(call, outcome)
        if delay is None:
            return outcome
        time.sleep(delay)


def _result(request: PredictionRequest, call: Call) -> Any:
    source = call.source
    if source.rules.batched:
        arguments = {name: [value] for name, value in call.arguments.items()}
        return entry_of(source.function([request.raw], **arguments), 0, 1)
    return source.function(request.raw, **call.arguments)


def run_plain(
    request: PredictionRequest,
    calls: list[Callable[[Any], Any] | None],
    codes: list[dict[str, float]],
) -> None:
    """`run_here` for sources that take the raw input alone: the short way, as long as all goes well.

    `calls` has the function of each column, None if it is not so simple, `codes` the codes of categories.
    """
    trail, raw, entries, stash = request.trail, request.raw, request.entries, request.stash
    sources = request.served.sources
    brought: dict[int, tuple[Any, float]] = {}  # with another feature of its group: as given, and encoded
    f = trail.need
    while f >= 0:
        if f in brought:
            given, value = brought.pop(f)
            following = trail.put(f, value)
            entries.append(Entry(f, given, 0.0, trail.scores))
            f = following
            continue
        call, source = calls[f], sources[f]
        if call is None or source.breaker.failures:
            break
        begun, given, error = clock(), None, None
        try:
            given = call(raw)
        except Exception as raised:
            error = raised
        seconds, value, result = clock() - begun, nan, given
        if error is None and source.single:
            value = _quick_code(given, codes[f])
        elif error is None and type(result) is dict and _bring(result, source, codes, brought):
            given, value = brought.pop(f)
        if value - value == 0.0:  # finite
            following = trail.put(f, value)
            entries.append(Entry(f, given, seconds, trail.scores))
            f = following
            continue
        again = request.resolve(f, begun, result, error)
        if again is not None:
            request.deliver(again, call_here(request, again))
        request.use_stash()
        if stash:  # values of a group that the short way cannot take
            break
        f = -1 if request.stopped_by else trail.need
    for f, (given, value) in brought.items():
        request.keep(f, given, value)
    run_here(request)


def _quick_code(given: Any, codes: dict[str, float]) -> float:
    """The code of a value that needs no more checks, else NaN."""
    kind = type(given)
    if kind is str:
        return codes.get(given, nan)
    if (kind is float or kind is np.float64 or (kind is int and -_EXACT < given < _EXACT)) and not codes:
        return float(given)
    return nan


def _bring(
    result: dict[Any, Any], source: BoundSource, codes: list[dict[str, float]], brought: dict[int, Any]
) -> bool:
    """Take the values of a group; false, and nothing is taken, if some of them need more checks."""
    places = source.places
    if result.keys() != places.keys():
        return False
    read = {}
    for name, given in result.items():
        f = places[name]
        value = _quick_code(given, codes[f])
        if value - value != 0.0:
            return False
        read[f] = (given, value)
    brought.update(read)
    return True


# -- in threads ----------------------------------------------------------------------------------------------


def run_in_threads(request: PredictionRequest, pool: ThreadPool) -> None:
    """Make the calls in threads of a pool, those that a node needs together at the same time."""
    _Threads(request, pool).run()


class _Threads:
    """The calls of one request that are under way in a pool."""

    def __init__(self, request: PredictionRequest, pool: ThreadPool) -> None:
        self.request, self.pool = request, pool
        self.hooks: Hooks | None = request.served.hooks
        self.inbox: queue.SimpleQueue[tuple[Call, int, Any, BaseException | None]] = queue.SimpleQueue()
        self.jobs: dict[Call, tuple[Job, float]] = {}  # and when it is given up
        self.waiting: dict[Call, float] = {}  # for a retry, until when

    def run(self) -> None:
        request = self.request
        try:
            while True:
                calls = [call for call in request.wanted(together=True) if not self._is_under_way(call)]
                if request.stopped_by:
                    return
                for call in calls:
                    self._start(call)
                if request.served.speculate:
                    for call in request.ahead():
                        if not self._is_under_way(call):
                            self._start(call)
                self._wait()
        finally:
            for job, _ in self.jobs.values():
                self.pool.abandon(job)

    def _is_under_way(self, call: Call) -> bool:
        """Whether a call for the same source is being made already; it then counts as asked for."""
        for other in (*self.jobs, *self.waiting):
            if other.source is call.source and set(call.columns) <= set(other.columns):
                other.ahead = other.ahead and call.ahead
                return True
        return False

    def _start(self, call: Call) -> None:
        failure = self.request.begin(call)
        if failure is None and self.pool.exhausted:
            failure = Fault.of(PoolExhausted(f"all {self.pool.size} threads are held by calls that hang"))
        if failure is not None:
            self._finish(call, failure)
            return
        if self.hooks is not None:
            self.hooks.before_source(self.request, call)
        request, inbox, number = self.request, self.inbox, call.retries
        job = self.pool.submit(
            lambda: _result(request, call), lambda result, error: inbox.put((call, number, result, error))
        )
        timeout = call.source.rules.timeout
        self.jobs[call] = job, (float("inf") if timeout is None else clock() + timeout)

    def _wait(self) -> None:
        """Until no call that is asked for is under way, or the deadline has passed."""
        request = self.request
        while any(not call.ahead for call in (*self.jobs, *self.waiting)) and not request.stopped_by:
            moment = min([request.end, *(end for _, end in self.jobs.values()), *self.waiting.values()])
            try:
                left = None if moment == float("inf") else max(0.0, moment - clock())
                call, number, result, error = self.inbox.get(timeout=left)
            except queue.Empty:
                self._time_passed()
                continue
            if call in self.jobs and call.retries == number:  # not given up before
                del self.jobs[call]
                outcome = request.read(call, result) if error is None else Fault.of(error)
                self._finish(call, outcome)

    def _time_passed(self) -> None:
        now, request = clock(), self.request
        if now >= request.end:
            request.pass_deadline()
            return
        for call, (job, end) in list(self.jobs.items()):
            if now >= end:
                self.pool.abandon(job)
                del self.jobs[call]
                self._finish(call, Fault.of(_too_slow(call.source, job, self.pool)))
        for call, until in list(self.waiting.items()):
            if now >= until:
                del self.waiting[call]
                self._start(call)

    def _finish(self, call: Call, outcome: Deliveries | Fault) -> None:
        if self.hooks is not None:
            self.hooks.after_source(self.request, call, outcome)
        delay = self.request.delay_after(call, outcome)
        if delay is None:
            self.request.deliver(call, outcome)
        else:
            self.waiting[call] = clock() + delay


def _too_slow(source: BoundSource, job: Job, pool: ThreadPool) -> Exception:
    timeout = source.rules.timeout
    if job.started:
        return TimeoutError(f"it had not answered after {timeout:g} seconds")
    return PoolExhausted(f"no thread was free for {timeout:g} seconds: {pool.n_hung} of {pool.size} hang")


# -- in an event loop ----------------------------------------------------------------------------------------


async def run_async(request: PredictionRequest, pool: ThreadPool) -> None:
    """Make the calls in the running event loop; sources that are not async in threads of a pool."""
    served = request.served
    simple = request.end == float("inf") and not served.speculate
    tasks: dict[Call, asyncio.Task[Any]] = {}
    try:
        while calls := await _next_calls(request):
            if simple and len(calls) == 1:
                request.deliver(calls[0], await call_async(request, calls[0], pool))
                continue
            await _call_together(request, calls, tasks, pool)
    finally:
        for task in tasks.values():
            task.cancel()


async def _next_calls(request: PredictionRequest) -> list[Call]:
    if request.is_remote:
        await request.exchange()
    return request.wanted(together=True)


async def _call_together(
    request: PredictionRequest, calls: list[Call], tasks: dict[Call, asyncio.Task[Any]], pool: ThreadPool
) -> None:
    """Start calls, and wait for those that the plan asks for."""
    more = request.ahead() if request.served.speculate else []
    for call in [*calls, *more]:
        other = next((one for one in tasks if one.source is call.source), None)
        if other is None:
            tasks[call] = asyncio.ensure_future(call_async(request, call, pool))
        else:
            other.ahead = other.ahead and call.ahead
    while asked := [task for call, task in tasks.items() if not call.ahead]:
        left = None if request.end == float("inf") else max(0.0, request.end - clock())
        await asyncio.wait(asked, timeout=left, return_when=asyncio.FIRST_COMPLETED)
        for call, task in list(tasks.items()):
            if task.done():
                del tasks[call]
                request.deliver(call, task.result())
        if request.stopped_by:
            return
        if clock() >= request.end and any(not call.ahead for call in tasks):
            request.pass_deadline()
            return


async def call_async(request: PredictionRequest, call: Call, pool: ThreadPool) -> Deliveries | Fault:
    """Make one call, with its retries; gives its outcome."""
    hooks = request.served.hooks
    limit = request.served.limit
    while True:
        outcome: Deliveries | Fault | None = request.begin(call)
        if outcome is None:
            if hooks is not None:
                hooks.before_source(request, call)
            try:
                if limit is None:
                    result = await _result_async(request, call, pool)
                else:
                    async with limit():
                        result = await _result_async(request, call, pool)
                outcome = request.read(call, result)
            except Exception as error:
                outcome = Fault.of(error)
            if hooks is not None:
                hooks.after_source(request, call, outcome)
        delay = request.delay_after(call, outcome)
        if delay is None:
            return outcome
        await asyncio.sleep(delay)


async def _result_async(request: PredictionRequest, call: Call, pool: ThreadPool) -> Any:
    source = call.source
    if source.at_hand:
        return source.function(request.raw)
    if not source.is_async:
        return await in_thread(lambda: _result(request, call), source, pool)
    if source.rules.batched:
        arguments = {name: [value] for name, value in call.arguments.items()}
        results = await with_timeout(source.function([request.raw], **arguments), source.rules.timeout)
        return entry_of(results, 0, 1)
    return await with_timeout(source.function(request.raw, **call.arguments), source.rules.timeout)


async def with_timeout(work: Any, timeout: float | None) -> Any:
    """The result of an awaitable, or a `TimeoutError`. One that ignores its cancellation is left behind."""
    if timeout is None:
        return await work
    task = asyncio.ensure_future(work)
    try:
        done, _ = await asyncio.wait([task], timeout=timeout)
    except asyncio.CancelledError:
        task.cancel()
        raise
    if not done:
        task.cancel()
        raise TimeoutError(f"it had not answered after {timeout:g} seconds")
    return task.result()


async def in_thread(function: Callable[[], Any], source: BoundSource, pool: ThreadPool) -> Any:
    """The result of a function that blocks, from a thread of the pool."""
    if pool.exhausted:
        raise PoolExhausted(f"all {pool.size} threads are held by calls that hang")
    loop = asyncio.get_running_loop()
    future: asyncio.Future[Any] = loop.create_future()

    def settle(result: Any, error: BaseException | None) -> None:
        if not future.done():
            if error is None:
                future.set_result(result)
            else:
                future.set_exception(error)

    def done(result: Any, error: BaseException | None) -> None:
        with suppress(RuntimeError):  # the loop has been closed: no request waits
            loop.call_soon_threadsafe(settle, result, error)

    job = pool.submit(function, done)
    try:
        finished, _ = await asyncio.wait([future], timeout=source.rules.timeout)
    except asyncio.CancelledError:
        pool.abandon(job)
        raise
    if not finished:
        pool.abandon(job)
        raise _too_slow(source, job, pool)
    return future.result()
