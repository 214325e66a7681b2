"""The workers that fit models for a search: this process, or several other processes.

Every process reads the rows from one memory-mapped file and uses its share of the cores. A process that takes
too long or crashes is replaced, and its fit counts as failed. With a time limit every fit runs in another
process, because only a process can be stopped. A learner that cannot be pickled is fitted in this process.

The time to compile functions is not counted, because a machine compiles them once, in the first fit that
needs them. When this process ends, in whatever way, the other processes end as well, and no file with rows
remains.
"""

from __future__ import annotations

import ctypes
import math
import os
import signal
import sys
import threading
import time
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass
from functools import cached_property, partial
from pickle import PicklingError
from typing import Any, TypeAlias

import joblib
import numpy as np
from joblib.externals.loky.process_executor import (
    ProcessPoolExecutor,
    ShutdownExecutorError,
    TerminatedWorkerError,
)
from numpy.typing import NDArray

from miserly.data.rows import Rows
from miserly.selection.candidates import CandidateLearner
from miserly.selection.files import Cache, CompileClock, FittedPlan, SharedFile, digest_of, key_of, tell_clock
from miserly.selection.splits import Parts
from miserly.utils import compiled as _compiled
from miserly.utils.compiled import compile_seconds

__all__ = ["LEAST", "LONGEST", "Order", "Workers"]

Keep: TypeAlias = Callable[[FittedPlan], None]

_THREADS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS")

LONGEST = 0.2  # of the time limit, for all parts of one order
LEAST = 5.0  # seconds that every fit may take ...
_LEAST_WANTED = 60.0  # ... and those without which there is no result
_MOMENT = 0.05  # seconds between two checks of how long a fit takes
_PR_SET_PDEATHSIG = 1  # of Linux: the signal a process gets when the thread that started it ends


@dataclass(frozen=True, eq=False)
class Order:
    """The fits of a candidate learner with one value of its hyperparameter, one for each fold."""

    learner: CandidateLearner
    value: float
    fits: Sequence[Future[FittedPlan] | _Later]

    def wait(self) -> list[FittedPlan]:
        """The fits, once all are done; where one fails the rest are not begun."""
        try:
            return [fit.result() for fit in self.fits]
        except BaseException:
            self.cancel()
            raise

    def cancel(self) -> bool:
        """Start no more of its fits; whether none had started."""
        stopped = [fit.cancel() for fit in self.fits]
        return all(stopped)


@dataclass(frozen=True, eq=False)
class _Later:
    """A fit that starts when its result is needed."""

    result: Callable[[], FittedPlan]

    def cancel(self) -> bool:
        return True


class Workers:
    """Fits models in this process (one at a time, when results are needed) or in `n_jobs` processes.

    With a `time_limit`, the fits of an order may take a share of it, and no fit continues after the limit.
    """

    def __init__(
        self,
        rows: Rows,
        parts: Parts,
        n_jobs: int | None = None,
        cache: Cache | None = None,
        time_limit: float = math.inf,
    ) -> None:
        self.rows = rows
        self.parts = parts
        self.n_jobs = int(joblib.effective_n_jobs(n_jobs))
        self.cache = cache
        self._digests = [digest_of(rows.take(train)) for train, _ in parts] if cache is not None else []
        self._processes = None
        if self.n_jobs > 1 or math.isfinite(time_limit):
            self._processes = _Processes(rows, parts, self.n_jobs, time_limit)

    @property
    def at_once(self) -> int:
        """How many fits of one order run at the same time."""
        return min(self.n_jobs, len(self.parts))

    @property
    def longest(self) -> float:
        """How many seconds the fit of one part may take."""
        return math.inf if self._processes is None else max(LEAST, self._processes.longest)

    def now(self) -> float:
        """A time in seconds, of a clock that stops while functions are compiled."""
        there = 0.0 if self._processes is None else self._processes.compile_seconds()
        return time.monotonic() - compile_seconds() - there

    def begin(self, learner: CandidateLearner, value: float, wanted: bool = False) -> Order:
        """Start a fit for every fold; a `wanted` fit may take all the remaining time."""
        parts = range(len(self.parts))
        return Order(learner, value, [self._begin(learner, value, part, wanted) for part in parts])

    def _begin(
        self, learner: CandidateLearner, value: float, part: int, wanted: bool
    ) -> Future[FittedPlan] | _Later:
        keep = None
        if self.cache is not None:
            key = key_of(learner, value, self._digests[part])
            if key is not None:
                found = self.cache.find(key)
                if found is not None:
                    return _Later(lambda: found)
                keep = partial(self.cache.keep, key)
        if self._processes is not None:
            return self._processes.submit(learner, value, part, wanted, keep)
        rows, train = self.rows, self.parts[part][0]
        return _Later(lambda: _kept(_fit(learner, rows.take(train), value), keep))

    def __enter__(self) -> Workers:
        if self._processes is not None:
            self._processes.begin()
        return self

    def __exit__(self, *trouble: object) -> None:
        if self._processes is not None:
            self._processes.close()


def _threads_of_each(n: int) -> dict[str, str]:
    """Environment variables that give each of `n` processes its share of the cores this one may use.

    If the user has set fewer threads, this number is used.
    """
    share: int = max(1, joblib.cpu_count() // n)

    def threads(name: str) -> int:
        asked = os.environ.get(name, "")
        return min(share, int(asked)) if asked.isdecimal() and int(asked) > 0 else share

    return {name: str(threads(name)) for name in _THREADS}


class _Processes:
    """Threads, each with its own process, which is started with the first fit."""

    def __init__(self, rows: Rows, parts: Parts, n: int, time_limit: float) -> None:
        self._given = rows, [train for train, _ in parts]
        self._n, self._limit = n, time_limit
        self.longest = LONGEST * time_limit * min(n, len(parts)) / len(parts)
        self._clocks: list[CompileClock] = []
        self._end = self._now() + time_limit
        self._env = _threads_of_each(n)
        self._threads = ThreadPoolExecutor(n, thread_name_prefix="frontier")
        self._own = threading.local()
        self._alive: set[ProcessPoolExecutor] = set()
        self._lock = threading.Lock()
        self._closed = False

    def begin(self) -> None:
        """With a time limit, start all processes before the clock."""
        if math.isinf(self._limit):
            return
        all_there = threading.Barrier(self._n)
        for there in [self._threads.submit(self._start, all_there) for _ in range(self._n)]:
            there.result()
        self._end = self._now() + self._limit

    def _start(self, all_there: threading.Barrier) -> None:
        """The process of one thread; a thread waits for the others, so that each takes one."""
        self._process().submit(int).result()
        all_there.wait()

    def submit(self, *asked: Any) -> Future[FittedPlan]:
        """CandidateLearner, value, part, whether it is wanted by all means, and what to do with it then."""
        return self._threads.submit(self._fit, *asked)

    def close(self) -> None:
        """Stop all fits."""
        with self._lock:
            self._closed = True
            alive = list(self._alive)
        for process in alive:
            process.shutdown(wait=True, kill_workers=True)
        self._threads.shutdown(wait=True, cancel_futures=True)
        for clock in self._clocks:
            clock.close()
        if "_file" in self.__dict__:
            self._file.close()

    def compile_seconds(self) -> float:
        """The time that processes spent compiling: the mean over all of them."""
        return sum(clock.seconds() for clock in [*self._clocks]) / self._n

    def _now(self) -> float:
        return time.monotonic() - self.compile_seconds()

    def _fit(
        self, learner: CandidateLearner, value: float, part: int, wanted: bool, keep: Keep | None
    ) -> FittedPlan:
        process = self._process()
        limit = math.inf
        try:
            process.submit(int).result()  # the process is running: its time starts now
            limit = max(LEAST, min(self.longest, self._end - self._now()))
            limit = max(_LEAST_WANTED, self._limit) if wanted else limit
            asked = process.submit(_fit_there, learner, part, value)
            if not _is_done(asked, limit, self._own.clock):
                self._dismiss(process)
                raise TimeoutError(f"stopped: not done after {limit:.3g} seconds")
            fitted = asked.result()
        except (TerminatedWorkerError, ShutdownExecutorError):
            self._dismiss(process)
            raise RuntimeError("the process of this fit died, possibly because memory ran out") from None
        except (BrokenProcessPool, PicklingError):
            self._dismiss(process)
            rows, trains = self._given
            fitted = _fit(learner, rows.take(trains[part]), value)
        return _kept(fitted, keep)

    def _process(self) -> ProcessPoolExecutor:
        if getattr(self._own, "process", None) is None:
            with self._lock:
                if self._closed:
                    raise RuntimeError("the search is over")
                self._own.clock = CompileClock()
                self._clocks.append(self._own.clock)
                given = (self._file.path, self._own.clock.path, os.getpid())
                self._own.process = ProcessPoolExecutor(
                    1, initializer=_receive, initargs=given, env=self._env
                )
                self._alive.add(self._own.process)
        return self._own.process

    def _dismiss(self, process: ProcessPoolExecutor) -> None:
        self._own.process = None
        self._own.clock.stop()
        process.shutdown(wait=False, kill_workers=True)
        with self._lock:
            self._alive.discard(process)

    @cached_property
    def _file(self) -> SharedFile:
        """Rows and parts, for all processes."""
        shared = SharedFile()
        joblib.dump(self._given, shared.file)
        shared.file.flush()
        return shared


def _is_done(asked: Future[FittedPlan], limit: float, clock: CompileClock) -> bool:
    """Wait until a fit is done or has taken so many seconds, without compiling; whether it is done."""
    begun = time.monotonic() - clock.seconds()
    left = limit
    while left > 0.0 and not asked.done():
        wait([asked], timeout=max(left, _MOMENT) if left < math.inf else None)
        left = limit - (time.monotonic() - clock.seconds() - begun)
    return asked.done()


# -- in a process --------------------------------------------------------------------------------------------

_received: list[tuple[Rows, list[NDArray[np.int64]]]] = []


def _receive(rows: str, clock: str, parent: int) -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent ends fits
    _end_with(parent)
    _compiled.clock.on_change = tell_clock(clock)
    _received[:] = [joblib.load(rows, mmap_mode="r")]


def _end_with(parent: int) -> None:
    """End this process when its parent ends, however it ends, even if it has already."""
    if sys.platform == "linux":  # at once, also while compiled code runs
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
    if os.name == "posix":
        threading.Thread(target=_watch, args=(parent,), daemon=True).start()


def _watch(parent: int) -> None:
    while os.getppid() == parent:
        time.sleep(1.0)
    os._exit(1)


def _fit_there(learner: CandidateLearner, part: int, value: float) -> FittedPlan:
    rows, trains = _received[0]
    return _fit(learner, rows.take(trains[part]), value)


def _fit(learner: CandidateLearner, rows: Rows, value: float) -> FittedPlan:
    start = time.monotonic() - compile_seconds()
    plan = learner.fit(rows, value).plan_
    return FittedPlan(plan, time.monotonic() - compile_seconds() - start)


def _kept(fitted: FittedPlan, keep: Keep | None) -> FittedPlan:
    if keep is not None:
        keep(fitted)
    return fitted
