"""The program of a plan, and the walk that runs it: in Python, or compiled once somebody asks for it."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from miserly.plan.engine import walk as _walk
from miserly.plan.engine.program import Program

if TYPE_CHECKING:
    from miserly.plan.plan import Plan

__all__ = ["stepper"]

_compiled_walk: Callable[..., int] | None = None  # once somebody has asked for it


def stepper(plan: Plan, compiled: bool = False) -> tuple[Program, Callable[..., int]]:
    """The program of a plan and the walk that runs it.

    Parameters
    ----------
    plan : Plan
    compiled : bool, default=False
        Compile the walk if numba is there, for all trails from now on. Compiling, or reading what was
        compiled before, takes longer than many walks in Python, so trails alone do not ask for it.

    Returns
    -------
    tuple of Program and callable
    """
    global _compiled_walk
    if compiled and _compiled_walk is None:
        from miserly.utils.compiled import is_compiling

        if is_compiling():
            from miserly.plan.engine.compiled_walk import walk

            _compiled_walk = walk
    compiled = _compiled_walk is not None
    program = plan.programs.get(compiled)
    if program is None:
        arrays = Program.of(plan)
        program = plan.programs[compiled] = arrays if compiled else arrays.as_lists()
    return program, _compiled_walk or _walk.walk
