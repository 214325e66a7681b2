"""Threads for sources that block: bounded in number, and able to leave a call that hangs behind."""

from __future__ import annotations

import asyncio
import queue
import threading
import warnings
from collections import deque
from collections.abc import Callable
from concurrent.futures import Future
from contextlib import suppress
from typing import Any

from miserly.errors import SourceError

__all__ = ["Job", "LoopThread", "ThreadPool"]


class Job:
    """A function that a thread runs; `done` gets its result or its error.

    Attributes
    ----------
    started, finished, abandoned : bool
    """

    __slots__ = ("abandoned", "done", "finished", "function", "started")

    def __init__(
        self, function: Callable[[], Any], done: Callable[[Any, BaseException | None], None]
    ) -> None:
        self.function, self.done = function, done
        self.started = self.finished = self.abandoned = False


class ThreadPool:
    """A pool of daemon threads that are started when they are needed.

    A thread cannot be stopped from outside. A call that hangs is abandoned: no request waits for it, but it
    keeps its thread until it returns. When all threads are held by such calls, further calls fail until one
    returns, and a warning says so.

    Parameters
    ----------
    size : int
        The largest number of threads.
    name : str
        The beginning of the names of the threads.

    Attributes
    ----------
    size : int

    Examples
    --------
    >>> import queue
    >>> inbox = queue.SimpleQueue()
    >>> job = ThreadPool(2).submit(lambda: 41 + 1, lambda result, error: inbox.put(result))
    >>> inbox.get()
    42
    """

    def __init__(self, size: int, name: str = "miserly-source") -> None:
        self.size, self._name = size, name
        # An event loop calls `submit` and `abandon`. They take no lock but to start a thread: a thread that
        # was interrupted while it held one would stop the loop. Single operations of these three are atomic.
        self._jobs: queue.SimpleQueue[Job | None] = queue.SimpleQueue()
        self._idle: deque[None] = deque(maxlen=size)  # an item for each thread that no job is meant for
        self._hanging: set[Job] = set()
        self._lock = threading.RLock()  # of what follows; `close` may be called by the garbage collector
        self._threads = 0
        self._closed = False
        self._warned = False

    @property
    def n_threads(self) -> int:
        """The number of threads that are alive."""
        return self._threads

    @property
    def n_hung(self) -> int:
        """The number of threads that are held by abandoned calls."""
        return len(self._hanging)

    @property
    def exhausted(self) -> bool:
        """Whether every thread is held by an abandoned call."""
        return len(self._hanging) >= self.size

    def submit(self, function: Callable[[], Any], done: Callable[[Any, BaseException | None], None]) -> Job:
        """Run a function in a thread as soon as one is free.

        Parameters
        ----------
        function : callable
            Without arguments.
        done : callable
            Called in the thread with the result, or None, and the error, or None. Not called for a job that
            was abandoned.

        Returns
        -------
        Job
        """
        if self._closed:
            raise RuntimeError("the pool is closed")
        job = Job(function, done)
        self._jobs.put(job)
        try:
            self._idle.pop()
        except IndexError:
            if self._threads < self.size:
                self._start_thread()
        return job

    def _start_thread(self) -> None:
        with self._lock:
            if self._threads >= self.size or self._closed:
                return
            self._threads += 1
        threading.Thread(target=self._work, name=self._name, daemon=True).start()

    def abandon(self, job: Job) -> None:
        """Do not wait for a job any more. If it has not started, it never will.

        Parameters
        ----------
        job : Job
        """
        if job.abandoned or job.finished:
            return
        job.abandoned = True
        if job.started:
            self._hanging.add(job)
            if job.finished:  # meanwhile, and perhaps before it was added
                self._hanging.discard(job)
        else:
            job.function = _nothing  # it stays in the queue: without the request that it was for
        if self.exhausted and not self._warned:
            self._warned = True
            warnings.warn(
                f"all {self.size} threads for sources are held by calls that hang; further calls fail until "
                "one of them returns. Give such a source a timeout of its own, or make it async",
                RuntimeWarning,
                stacklevel=2,
            )

    def close(self) -> None:
        """End all threads that are idle; others end with their calls."""
        with self._lock:
            self._closed = True
            for _ in range(self._threads):
                self._jobs.put(None)

    def _work(self) -> None:
        while (job := self._jobs.get()) is not None:
            self._run(job)
            del job  # not kept while the thread waits
            self._idle.append(None)
        with self._lock:
            self._threads -= 1

    def _run(self, job: Job) -> None:
        job.started = True  # before `abandoned` is read: `abandon` writes and reads them the other way round
        result, error = None, None
        if not job.abandoned:
            try:
                result = job.function()
            except BaseException as raised:
                error = raised
        job.finished = True
        self._hanging.discard(job)
        if not job.abandoned:
            job.done(result, error)


def _nothing() -> None:
    """Stand for a function that is not needed any more."""


class LoopThread:
    """An event loop in a thread of its own, for async sources of requests that are not async."""

    def __init__(self) -> None:
        self._loop = asyncio.new_event_loop()
        threading.Thread(target=_serve, args=(self._loop,), name="miserly-loop", daemon=True).start()

    def run(self, work: Any) -> Any:
        """Run a coroutine there, and wait for its result."""
        try:
            running = asyncio.get_running_loop()
        except RuntimeError:
            running = None
        if running is self._loop:
            work.close()
            raise SourceError("predict was called by an async source of the same OnDemand; use apredict")
        future = self.submit(work)
        try:
            return future.result()
        except BaseException:
            future.cancel()
            raise

    def submit(self, work: Any) -> Future[Any]:
        """Begin to run a coroutine there."""
        return asyncio.run_coroutine_threadsafe(work, self._loop)

    def close(self) -> None:
        """End the thread."""
        with suppress(RuntimeError):  # it is closed
            self._loop.call_soon_threadsafe(self._loop.stop)


def _serve(loop: asyncio.AbstractEventLoop) -> None:
    """Run a loop until it is stopped; then cancel what is left in it."""
    try:
        loop.run_forever()
        left = asyncio.all_tasks(loop)
        for task in left:
            task.cancel()
        if left:
            loop.run_until_complete(asyncio.wait(left, timeout=1.0))
    finally:
        loop.close()
