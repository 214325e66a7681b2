"""Threads for sources that block: bounded in number, and able to leave a call that hangs behind."""

from __future__ import annotations

import asyncio
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
        self._lock = threading.Condition()
        self._jobs: deque[Job] = deque()
        self._threads = 0
        self._idle = 0
        self._hung = 0
        self._closed = False
        self._warned = False

    @property
    def n_threads(self) -> int:
        """The number of threads that are alive."""
        return self._threads

    @property
    def n_hung(self) -> int:
        """The number of threads that are held by abandoned calls."""
        return self._hung

    @property
    def exhausted(self) -> bool:
        """Whether every thread is held by an abandoned call."""
        return self._hung >= self.size

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
        job = Job(function, done)
        with self._lock:
            if self._closed:
                raise RuntimeError("the pool is closed")
            self._jobs.append(job)
            if self._idle >= len(self._jobs):
                self._lock.notify()
            elif self._threads < self.size:
                self._threads += 1
                threading.Thread(target=self._work, name=self._name, daemon=True).start()
            else:
                self._lock.notify()
        return job

    def abandon(self, job: Job) -> None:
        """Do not wait for a job any more. If it has not started, it never will.

        Parameters
        ----------
        job : Job
        """
        with self._lock:
            if job.abandoned or job.finished:
                return
            job.abandoned = True
            if job.started:
                self._hung += 1
            else:
                self._jobs.remove(job)
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
            self._lock.notify_all()

    def _work(self) -> None:
        while True:
            with self._lock:
                while not self._jobs:
                    if self._closed:
                        self._threads -= 1
                        return
                    self._idle += 1
                    self._lock.wait()
                    self._idle -= 1
                job = self._jobs.popleft()
                job.started = True
            result, error = None, None
            try:
                result = job.function()
            except BaseException as raised:
                error = raised
            with self._lock:
                job.finished = True
                abandoned = job.abandoned
                if abandoned:
                    self._hung -= 1
            if not abandoned:
                job.done(result, error)
            del job, result, error


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
