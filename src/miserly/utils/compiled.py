"""How compiled functions are made, kept and timed: the one place that decides what numba is asked for.

`compiled` is numba's `njit` with a cache that never stops a program (`compile_cache`). Without a usable
numba the functions stay plain Python: plans then run in NumPy, learners that grow trees refuse to, and others
are slower.
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
    """Compile a function when it is first called; its compiled versions are kept for other processes.

    Parameters
    ----------
    **options :
        As for `numba.njit`, but for `cache`.

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
        from miserly.utils.compile_cache import Kept

        kernel = numba.njit(**options)(function)
        kernel._cache = Kept(kernel)
        return kernel

    return decorate


def is_compiling() -> bool:
    """Whether functions are compiled here: numba can be imported, and nobody has switched it off."""
    return numba is not None and not numba.config.DISABLE_JIT


def why_not() -> str:
    """Why functions are not compiled here; nothing where they are."""
    return "" if is_compiling() else MISSING or "NUMBA_DISABLE_JIT switches it off"


# -- how long compiling takes --------------------------------------------------------------------------------


class _Clock:
    """Seconds spent in numba's compiler, which also reads compiled functions from files.

    Only one thread at a time compiles; others may wait for it. `told` is called with the seconds of stretches
    that have ended, and the time when the present one began, whenever either changes.
    """

    def __init__(self) -> None:
        self.spent = 0.0
        self.since: float | None = None
        self.told: Callable[[float, float | None], None] | None = None
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
        if self.told is not None:
            self.told(spent, since)


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
    """How many seconds this process has spent compiling so far, in all its threads.

    >>> compile_seconds() >= 0.0
    True
    """
    since = clock.since
    return clock.spent + (0.0 if since is None else time.monotonic() - since)
