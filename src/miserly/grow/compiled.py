"""Compiling the functions of this room, and the number of threads that compiled code may use.

A function with loops over `prange` has two builds. One shares its loops among threads. The other uses a
single thread, takes less time to compile and starts no threads. `build` chooses between them, and between the
builds of all functions that they call. Both give the same result to the bit.

On Linux numba starts threads of GNU OpenMP, which do not survive a fork. A forked process that uses them is
killed. In such a process the build for a single thread is used, with a warning.
"""

from __future__ import annotations

import os
import sys
import threading
import types
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from typing import Any

from miserly.errors import warn_once
from miserly.utils import compiled as _compiled
from miserly.utils.compiled import is_compiling, prange

__all__ = ["SMALL", "build", "compiled", "inlined", "lean", "most_threads", "prange", "threaded", "threads"]

SMALL = 1 << 20  # work on fewer values is done by one thread

# Division by zero gives inf or NaN as in NumPy. The code checks divisors where that would matter.
compiled: Any = _compiled.compiled(error_model="numpy")
# For functions that create no arrays. They do not count references to those they are given, which would take
# longer than many of them do.
lean: Any = _compiled.compiled(error_model="numpy", _nrt=False)
# For functions that are called in one place: they become part of the caller, which is compiled once.
inlined: Any = _compiled.compiled(error_model="numpy", inline="always")
threaded: Any = _compiled.compiled(error_model="numpy", parallel=True)


# -- how many threads ----------------------------------------------------------------------------------------


class _ThreadLimit(threading.local):
    """The number of threads that compiled code may use in this Python thread; None outside of `threads`."""

    allowed: int | None = None


_limit = _ThreadLimit()
_forked_from_threads = False


@contextmanager
def threads(n: int | None, size: int = SMALL) -> Iterator[None]:
    """Within this context compiled code uses `n` threads: numba's own number if None, and at most all it has.

    Work on fewer than `SMALL` values is done by one thread, because starting more would take longer.

    >>> with threads(2, size=100):
    ...     most_threads()
    1
    """
    before = _limit.allowed
    _limit.allowed = _number(n, size)
    try:
        if _limit.allowed == 1:
            yield
        else:
            with _of_numba(_limit.allowed):
                yield
    finally:
        _limit.allowed = before


def most_threads() -> int:
    """The number of threads that may be used now."""
    if _limit.allowed is not None:
        return _limit.allowed
    if not is_compiling() or _forked_from_threads:
        return 1
    if _layer() is None:  # a call of get_num_threads would start threads
        return int(_compiled.numba.config.NUMBA_NUM_THREADS)
    return int(_compiled.numba.get_num_threads())


def _number(n: int | None, size: int) -> int:
    if not is_compiling() or size < SMALL:
        return 1
    most = int(_compiled.numba.config.NUMBA_NUM_THREADS)
    wanted = most_threads() if n is None else max(1, min(n, most))
    if _forked_from_threads and (wanted if n is not None else most) > 1:
        warn_once(
            "fork",
            "training uses one thread here: this process was forked from one that had started the threads of "
            "GNU OpenMP, which do not survive that. Start processes with 'spawn' or 'forkserver' to use more",
        )
        return 1
    return wanted


@contextmanager
def _of_numba(n: int) -> Iterator[None]:
    numba = _compiled.numba
    before = numba.get_num_threads()
    numba.set_num_threads(n)
    try:
        yield
    finally:
        numba.set_num_threads(before)


def _layer() -> str | None:
    """The threading layer of numba; None until its threads have been started."""
    try:
        return str(_compiled.numba.threading_layer())
    except ValueError:
        return None


def _after_fork() -> None:
    global _forked_from_threads
    gnu = is_compiling() and sys.platform == "linux" and _layer() == "omp"
    _forked_from_threads = _forked_from_threads or gnu


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)


# -- two builds of one function ------------------------------------------------------------------------------


def build(kernel: Any) -> Any:
    """The build of a compiled function for the number of threads that may be used now.

    Examples
    --------
    >>> import numpy as np
    >>> @threaded
    ... def fill(x):
    ...     for i in prange(len(x)):
    ...         x[i] = 1.0
    >>> ones = np.zeros(3)
    >>> with threads(2, size=3):
    ...     build(fill) is fill, build(fill)(ones)
    (False, None)
    >>> float(ones.sum())
    3.0
    """
    return kernel if _limit.allowed is not None and _limit.allowed > 1 else _for_one_thread(kernel)


@cache
def _for_one_thread(kernel: Any) -> Any:
    """A build that uses one thread, as do the functions it calls; `kernel` itself if it needs no change."""
    if not is_compiling():
        return kernel
    function = kernel.py_func
    called = _called_by(function)
    others = {name: _for_one_thread(value) for name, value in called.items()}
    same = all(others[name] is value for name, value in called.items())
    options = {**kernel.targetoptions}
    if same and not options.get("parallel"):
        return kernel
    twin = types.FunctionType(
        function.__code__,
        {**function.__globals__, **others},
        function.__name__,
        function.__defaults__,
        function.__closure__,
    )
    twin.__module__ = function.__module__
    twin.__qualname__ = f"{function.__qualname__}_in_one_thread"
    twin.__doc__ = function.__doc__
    options.pop("nopython", None)
    options.pop("parallel", None)
    return _compiled.compiled(**options)(twin)


def _called_by(function: Callable[..., Any]) -> dict[str, Any]:
    """The compiled functions that a function refers to, by name."""
    from miserly.utils.compile_cache import is_compiled

    names = function.__code__.co_names
    found = {name: function.__globals__.get(name) for name in names}
    return {name: value for name, value in found.items() if is_compiled(value)}
