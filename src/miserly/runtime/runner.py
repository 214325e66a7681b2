"""What calls sources: rules, threads and event loops, for a plan that is here or elsewhere."""

from __future__ import annotations

import asyncio
import threading
import weakref
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, Self
from weakref import WeakKeyDictionary

import numpy as np

from miserly.data.encoder import check_unknown
from miserly.errors import SourceError
from miserly.runtime.hooks import Hooks
from miserly.runtime.pool import LoopThread, ThreadPool
from miserly.runtime.sources import Source, bind_sources

if TYPE_CHECKING:
    from miserly.runtime.request import PredictionRequest

__all__ = ["THREADS", "SourceRunner"]

THREADS = 32


class SourceRunner:
    """Sources that are tied to a plan, and the threads and event loops that call them.

    Parameters
    ----------
    plan : object
        With `costs`, `features`, `n_features`, `categories` and `encoder`, as a `Plan` has them.
    sources : mapping of feature or group to callable, or None
        As for `OnDemand`.
    defaults : Source
        The rules of sources that have none of their own.
    concurrency : int, optional
        As for `OnDemand`.
    speculate : bool, default=False
        As for `OnDemand`.
    hooks : object or mapping, optional
        As for `OnDemand`.
    unknown : {"error", "missing"}, default="error"
        As for `OnDemand`.
    threads : int, default=32
        As for `OnDemand`.
    """

    def __init__(
        self,
        plan: Any,
        sources: Mapping[Any, Any] | None,
        defaults: Source,
        *,
        concurrency: int | None = None,
        speculate: bool = False,
        hooks: Any = None,
        unknown: str = "error",
        threads: int = THREADS,
    ) -> None:
        self.plan = plan
        check_unknown(unknown)
        for name, number in (("concurrency", concurrency), ("threads", threads)):
            if number is not None and not (isinstance(number, int) and number >= 1):
                raise SourceError(f"{name} is a whole number of at least 1, not {number!r}")
        self.unknown = unknown
        self.speculate = speculate
        self.hooks = None if hooks is None else Hooks(hooks)
        self.sources = bind_sources(plan, sources or {}, defaults)
        self._concurrency = concurrency
        self._pool = ThreadPool(max(threads, concurrency or 1))
        weakref.finalize(self, self._pool.close)
        self._limits: WeakKeyDictionary[Any, asyncio.Semaphore] = WeakKeyDictionary()
        self._loop: LoopThread | None = None
        self._lock = threading.Lock()
        used = [self.sources[f] for f in plan.features.tolist()]
        self._is_async = any(source.is_async for source in used)
        self._needs_threads = (
            (concurrency or 1) > 1 or speculate or any(s.rules.timeout is not None for s in used)
        )
        self._is_plain = self.hooks is None and not self._is_async and not self._needs_threads
        self._codes: list[dict[str, float]] = [
            {value: float(code) for code, value in enumerate(values) if type(value) is str} or {"": np.nan}
            if (values := plan.categories.get(f))
            else {}
            for f in range(plan.n_features)
        ]

    def answered(self, request: PredictionRequest) -> Any:
        """Return the receipt of a request that has ended, after the hook has seen it.

        Parameters
        ----------
        request : PredictionRequest
            One that has ended.

        Returns
        -------
        Receipt
        """
        receipt = request.receipt()
        if self.hooks is not None:
            self.hooks.on_answer(receipt)
        return receipt

    def encode(self, f: int, given: Any) -> float:
        """Return a value as the number that the plan computes with.

        Parameters
        ----------
        f : int
            Its column.
        given : object
            A number, a category, or a missing value.

        Returns
        -------
        float
        """
        codes = self._codes[f]
        if type(given) is float and not codes and given - given == 0.0:  # finite: the short way
            return given
        if type(given) is str and codes.get(given, np.nan) == codes.get(given):
            return codes[given]
        return self.plan.encoder.value(f, given, self.unknown)

    @property
    def pool(self) -> ThreadPool:
        """The threads that calls run in."""
        return self._pool

    @property
    def limit(self) -> Callable[[], asyncio.Semaphore] | None:
        """What async calls wait for, if their number is limited."""
        return None if self._concurrency is None else self._semaphore

    def _semaphore(self) -> asyncio.Semaphore:
        loop = asyncio.get_running_loop()
        if loop not in self._limits:
            self._limits[loop] = asyncio.Semaphore(self._concurrency or 1)
        return self._limits[loop]

    @property
    def runs_here(self) -> bool:
        """Whether all sources can be called in the thread of the caller."""
        return not self._is_async and not self._needs_threads

    def in_background(self, work: Any) -> Any:
        """Run a coroutine in an event loop of a thread of its own, and wait for it.

        Parameters
        ----------
        work : coroutine
            What to run.

        Returns
        -------
        object
            What it gives.
        """
        with self._lock:
            if self._loop is None:
                self._loop = LoopThread()
                weakref.finalize(self, self._loop.close)
        return self._loop.run(work)

    def close(self) -> None:
        """End the threads. Calls that hang keep theirs until they return."""
        self._pool.close()
        if self._loop is not None:
            self._loop.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
