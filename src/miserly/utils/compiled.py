"""Compiled functions: the decorator, whether numba is usable, and the time spent compiling.

`compiled` is numba's `njit` with the cache of `compile_cache`. Without a usable numba the functions stay
plain Python: plans run in NumPy, learners that grow trees raise an error, and other learners are slower.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from typing import Any

NOT_INSTALLED = "it is not installed"
numba: Any
prange: Any

try:
    import numba
    from numba import prange

    MISSING = ""
except Exception as error:  # a broken numba raises ImportError, OSError, SystemError and more
    numba, prange = None, range
    MISSING = NOT_INSTALLED if isinstance(error, ModuleNotFoundError) else f"{type(error).__name__}: {error}"

__all__ = [
    "MISSING",
    "NOT_INSTALLED",
    "clock",
    "compile_seconds",
    "compiled",
    "is_compiling",
    "prange",
    "why_not",
]


def compiled(**options: Any) -> Callable[[Callable[..., Any]], Any]:
    """Compile a function when it is first called, and cache the result for other processes.

    Parameters
    ----------
    **options
        Options of `numba.njit`, except `cache`.

    Returns
    -------
    callable
        A decorator. It returns the function unchanged where numba is not usable.

    Examples
    --------
    >>> @compiled(nogil=True)
    ... def double(x):
    ...     return 2 * x
    >>> double(21)
    42
    """

    def decorate(function: Callable[..., Any]) -> Any:
        if not is_compiling():
            return function
        from miserly.utils.compile_cache import FileCache

        kernel = numba.njit(**options)(function)
        kernel._cache = FileCache(kernel)
        return kernel

    return decorate


def is_compiling() -> bool:
    """Whether functions are compiled: numba can be imported and NUMBA_DISABLE_JIT is not set."""
    return numba is not None and not numba.config.DISABLE_JIT


def why_not() -> str:
    """Reason why functions are not compiled; an empty string if they are."""
    return "" if is_compiling() else MISSING or "NUMBA_DISABLE_JIT switches it off"


# -- time spent compiling ------------------------------------------------------------------------------------


class _Clock:
    """Seconds spent in numba's compiler, reading compiled functions from files included.

    Only one thread at a time compiles; others may wait for it. `on_change` is called whenever compiling
    starts or ends, with the seconds spent so far and the time when the present compilation began.
    """

    def __init__(self) -> None:
        self.spent = 0.0
        self.since: float | None = None
        self.on_change: Callable[[float, float | None], None] | None = None
        self._depth = 0
        self._lock = threading.RLock()

    def enter(self) -> None:
        with self._lock:
            self._depth += 1
            if self._depth == 1:
                self._set(self.spent, time.monotonic())

    def leave(self) -> None:
        with self._lock:
            self._depth -= 1
            if self._depth == 0 and self.since is not None:
                self._set(self.spent + time.monotonic() - self.since, None)

    def _set(self, spent: float, since: float | None) -> None:
        self.spent, self.since = spent, since
        if self.on_change is not None:
            self.on_change(spent, since)


clock = _Clock()
if numba is not None:
    from numba.core import event as _event

    class _Listener(_event.Listener):
        def on_start(self, event: Any) -> None:
            clock.enter()

        def on_end(self, event: Any) -> None:
            clock.leave()

    _event.register("numba:compiler_lock", _Listener())


def compile_seconds() -> float:
    """Seconds that this process has spent compiling so far, in all its threads.

    >>> compile_seconds() >= 0.0
    True
    """
    since = clock.since
    return clock.spent + (0.0 if since is None else time.monotonic() - since)
