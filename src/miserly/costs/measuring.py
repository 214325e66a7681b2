"""Measured costs: how long real sources take on samples.

All sources are called on a sample before the next sample, and all samples in a round before the next round.
A slow minute of the machine therefore meets all sources alike. Times are wall times of `perf_counter_ns`
around the call alone; nothing is subtracted.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping, Sequence
from contextlib import nullcontext
from time import perf_counter_ns
from typing import Any

from miserly.costs.timings import CALLS, UNITS, Measurement, TimedSource
from miserly.errors import SourceError, did_you_mean
from miserly.utils.checks import shown
from miserly.utils.sources import (
    Invalid,
    entry_of,
    is_batched,
    read_signature,
)

__all__ = ["measure"]


def measure(
    sources: Mapping[Any, Any],
    samples: Sequence[Any],
    *,
    repeats: int = 5,
    unit: str = "ms",
    price: str = "warm",
    groups: Mapping[str, Sequence[str]] | None = None,
    batch_size: int | None = None,
) -> Measurement:
    """Time sources on samples; `Costs.measure` gives the costs alone.

    Sources are called in an order in which each gets the features that it asks for. The time of a source
    does not include the sources that it builds on.

    Parameters
    ----------
    sources : mapping of feature or group to callable
        As for `miserly.runtime.OnDemand`: each takes the raw input, and features acquired before by the names
        of its parameters. It may be ``async``, a `Source` (whose rules are ignored) or `batched`.
        A source that gives a mapping, or whose key is a tuple of features, gets a group.
    samples : sequence of object
        Raw inputs. They should be like those that come later: long and short, common and rare.
    repeats : int, default=5
        How many rounds over all samples.
    unit : {"ms", "s", "us"}, default="ms"
        Unit of the times, and of the costs.
    price : {"warm", "new", "cold", "mean"}, default="warm"
        Which time is the price: the median of calls after the first round, the median of the first calls with
        each sample (for sources that remember their inputs), the very first call, or the mean of calls after
        the first round.
    groups : mapping of str to sequence of str, optional
        The features of groups whose sources give a list instead of a mapping.
    batch_size : int, optional
        How many samples a batched source gets at once. Its time is divided by them. All by default.

    Returns
    -------
    Measurement
        Its `costs` are `Costs`. The price of a group is its set-up, and its features cost 0 then, because
        one call gets all of them.

    Raises
    ------
    SourceError
        If a source is not as it must be, two sources give the same feature, or a source failed on all
        samples. Failures on some samples are in the measurement and are not timed.

    Examples
    --------
    >>> import time
    >>> sources = {"length": len, "score": lambda text, length: time.sleep(0.002) or length / 2.0}
    >>> found = measure(sources, ["a text", "another text"], repeats=2)
    >>> found.costs.names, bool(2 <= found.costs.feature[1] < 100)
    (('length', 'score'), True)
    """
    samples = _read_samples(samples)
    for what, value, choices in (("unit", unit, tuple(UNITS)), ("price", price, CALLS)):
        if value not in choices:
            raise SourceError(f"{what} must be one of {', '.join(choices)}, not {value!r}")
    for what, number in (("repeats", repeats), ("batch_size", 1 if batch_size is None else batch_size)):
        if not isinstance(number, int) or number < 1:
            raise SourceError(f"{what} must be a whole number of at least 1, not {number!r}")
    records = _records(sources, groups or {})
    together = (batch_size or len(samples)) if any(one.batched for one in records) else 1
    _outside_loops(records, lambda: _rounds(records, samples, repeats, together))
    _check(records, len(samples))
    timings = tuple(one.timing(UNITS[unit]) for one in records)
    return Measurement(timings, unit=unit, price=price, n_samples=len(samples), repeats=repeats)


# -- reading -------------------------------------------------------------------------------------------------


def _read_samples(samples: Any) -> list[Any]:
    if isinstance(samples, (str, bytes, Mapping)) or hasattr(samples, "columns"):
        raise SourceError(f"samples are a list of raw inputs, not one {type(samples).__name__}")
    read = list(samples)
    if not read:
        raise SourceError("measuring needs at least one sample")
    return read


def _records(sources: Mapping[Any, Any], groups: Mapping[str, Sequence[str]]) -> list[TimedSource]:
    if not sources:
        raise SourceError("there is no source to measure")
    for name in groups:
        if name not in sources:
            raise SourceError(f"group {name!r} has no source{did_you_mean(name, sources)}")
    return [_record(key, given, groups.get(key)) for key, given in sources.items()]


def _record(key: Any, given: Any, members: Sequence[str] | None) -> TimedSource:
    function = given if callable(given) else getattr(given, "function", None)  # a `Source` has one
    if not callable(function):
        raise SourceError(f"the source of {key!r} must be a callable or a Source, not {shown(given)}")
    if members is None and isinstance(key, tuple):
        members = key
    many = is_batched(function) or (given is not function and bool(getattr(given, "batched", False)))
    return TimedSource(
        key=key,
        function=function,
        signature=read_signature(function, key),
        batched=many,
        features=[key] if members is None else list(members),
        is_group=None if members is None else True,
        is_open=members is None,
    )


def _check(records: list[TimedSource], n_samples: int) -> None:
    owner: dict[Any, TimedSource] = {}
    known = [feature for one in records for feature in one.features]
    for one in records:
        if not one.sound:
            problem = one.problems.most_common(1)[0][0]
            missing = [name for name, has_default in one.signature.asks if not has_default]
            hints = [did_you_mean(name, known) for name in missing if name not in known]
            raise SourceError(
                f"the source of {one.name!r} failed on all {n_samples} samples: {problem}{''.join(hints[:1])}"
            )
        for feature in one.features:
            other = owner.setdefault(feature, one)
            if other is not one:
                raise SourceError(f"the sources of {other.name!r} and {one.name!r} both give {feature!r}")


# -- calling -------------------------------------------------------------------------------------------------


def _outside_loops(records: list[TimedSource], work: Callable[[], None]) -> None:
    """Do the work in a thread of its own if some source is async and an event loop is running here."""
    if not any(one.signature.is_async for one in records):
        work()
        return
    import asyncio  # here, because reading costs must stay quick

    try:
        asyncio.get_running_loop()
    except RuntimeError:
        work()
        return
    raised: list[BaseException] = []

    def guarded() -> None:
        try:
            work()
        except BaseException as error:
            raised.append(error)

    thread = threading.Thread(target=guarded, name="miserly-measure")
    thread.start()
    thread.join()
    if raised:
        raise raised[0]


def _rounds(records: list[TimedSource], samples: list[Any], repeats: int, together: int) -> None:
    with _runner() if any(one.signature.is_async for one in records) else nullcontext() as runner:
        for k in range(repeats):
            for start in range(0, len(samples), together):
                rows = range(start, min(start + together, len(samples)))
                _visit(records, samples, rows, k == 0, runner)


def _runner() -> Any:
    from asyncio import Runner

    return Runner()


def _visit(
    records: list[TimedSource], samples: list[Any], rows: Sequence[int], first_round: bool, runner: Any
) -> None:
    """Call all sources on some samples, each after those that it builds on."""
    values: dict[int, dict[Any, Any]] = {i: {} for i in rows}
    waiting = list(records)
    while waiting:
        there = {name for given in values.values() for name in given}
        record = min(waiting, key=lambda one: _rank(one, there, samples[rows[0]]))
        waiting.remove(record)
        ready = {}
        for i in rows:
            try:
                ready[i] = record.signature.arguments(_with_raw(record, values[i], samples[i]))
            except Invalid as error:
                record.fail(i, str(error))
        if record.batched and ready:
            _call_batched(record, samples, ready, values, first_round, runner)
        elif not record.batched:
            for i, given in ready.items():
                result, took, problem = _timed(record, runner, samples[i], given)
                _take(record, i, result, took, problem, values[i], first_round)


def _rank(record: TimedSource, there: set[Any], raw: Any) -> int:
    """When to call a source: 0 now, then those that could get more, last those that lack something."""
    asks = record.signature.asks
    if any(not (name in there or has_default or _in_raw(raw, name)) for name, has_default in asks):
        return 3
    if record.signature.asks_all:
        return 2
    return int(any(name not in there for name, has_default in asks if has_default))


def _in_raw(raw: Any, name: str) -> bool:
    return isinstance(raw, Mapping) and name in raw


def _with_raw(record: TimedSource, values: dict[Any, Any], raw: Any) -> dict[Any, Any]:
    """Values acquired so far, with entries of the raw input that have no source and that are asked for."""
    more = {
        name: raw[name]
        for name, has_default in record.signature.asks
        if not has_default and name not in values and _in_raw(raw, name)
    }
    return {**values, **more} if more else values


def _call_batched(
    record: TimedSource,
    samples: list[Any],
    ready: dict[int, dict[str, Any]],
    values: dict[int, dict[Any, Any]],
    first_round: bool,
    runner: Any,
) -> None:
    names = {name for given in ready.values() for name in given}
    given = {name: [one.get(name) for one in ready.values()] for name in names}
    results, took, problem = _timed(record, runner, [samples[i] for i in ready], given)
    for place, i in enumerate(ready):
        result, wrong = None, problem
        try:
            result = None if problem else entry_of(results, place, len(ready))
        except Invalid as error:
            wrong = str(error)
        _take(record, i, result, took / len(ready), wrong, values[i], first_round)


def _timed(record: TimedSource, runner: Any, raw: Any, given: dict[str, Any]) -> tuple[Any, int, str]:
    """What one call gave, its nanoseconds, and what went wrong."""
    try:
        if record.signature.is_async:
            result, took = runner.run(_awaited(record.function, raw, given))
        else:
            result, took = _called(record.function, raw, given)
        return result, took, ""
    except Exception as error:
        return None, 0, f"{type(error).__name__}: {error}"


def _called(function: Callable[..., Any], raw: Any, given: dict[str, Any]) -> tuple[Any, int]:
    begun = perf_counter_ns()
    result = function(raw, **given)
    return result, perf_counter_ns() - begun


async def _awaited(function: Callable[..., Any], raw: Any, given: dict[str, Any]) -> tuple[Any, int]:
    begun = perf_counter_ns()
    result = await function(raw, **given)
    return result, perf_counter_ns() - begun


def _take(
    record: TimedSource,
    sample: int,
    result: Any,
    nanoseconds: float,
    problem: str,
    values: dict[Any, Any],
    first_round: bool,
) -> None:
    """Note the time of a call if its result is sound, else what is wrong with it."""
    try:
        if problem:
            raise Invalid(problem)
        values.update(record.read(result))
    except Invalid as error:
        record.fail(sample, str(error))
    else:
        record.note(sample, first_round, nanoseconds)
