"""The purchases of one row that steps through a node with an acquisition."""

from __future__ import annotations

from types import ModuleType
from typing import TYPE_CHECKING, Any

import numpy as np

from miserly.plan.engine import beliefs as _beliefs
from miserly.plan.engine import walk as _walk
from miserly.plan.engine.beliefs import Beliefs, log_scores
from miserly.plan.engine.program import EXIT, KNOWN_AT, N_SCORES, NODE, PHASE, VALUES_AT, Program

if TYPE_CHECKING:
    from miserly.plan.plan import Plan

__all__ = ["Acquiring"]


class Acquiring:
    """One row in a node that chooses what to buy.

    Parameters
    ----------
    plan : Plan
        The plan.
    k : int
        The node.
    compiled : bool
        Whether compiled code computes the beliefs.
    """

    __slots__ = ("_beliefs", "_chosen", "_due", "_dues", "_engine", "_left", "_n_outputs", "_node",
                 "_parent", "_pool", "_start", "_table")  # fmt: skip

    def __init__(self, plan: Plan, k: int, compiled: bool) -> None:
        acquisition = plan.nodes[k].acquisition
        assert acquisition is not None
        self._n_outputs, self._table = plan.n_outputs, acquisition.table
        self._engine, self._dues = _parts(compiled)
        self._pool = self._table.pool if compiled else acquisition.pool
        self._due = np.empty(len(acquisition.pool))
        self._beliefs = Beliefs.empty(self._table)
        self._left = dict(enumerate(acquisition.pool))  # by place: features that were not observed
        self._chosen = -1
        self._node, self._parent, self._start = k, int(plan.parents[k]), [0.0] * plan.n_scores
        self._engine.restart(self._table, self._beliefs)

    def copy(self) -> Acquiring:
        """The same row again, which goes its own way from here."""
        other = object.__new__(Acquiring)
        for name in self.__slots__:
            setattr(other, name, getattr(self, name))
        other._beliefs, other._left, other._due = self._beliefs.copy(), self._left.copy(), self._due.copy()
        return other

    def advance(self, program: Program, state: Any, numbers: Any) -> int:
        """Buy until a value is needed, or to the end. Gives `NEED` or `ENDED`.

        What was observed counts at once: the row can answer from it while it waits for a value.
        """
        first, n = program.scores, program.integers[N_SCORES]
        self._start = [float(numbers[first + n + c]) for c in range(n)]
        status = self._buy(program, state, numbers)
        added = log_scores(self._beliefs.chances.tolist(), self._n_outputs)
        for c in range(n):
            numbers[first + c] = numbers[first + n + c] + (added[c] if c < self._n_outputs else 0.0)
        if status == _walk.ENDED:
            self.end(program, state, numbers)
        return status

    def end(self, program: Program, state: Any, numbers: Any) -> None:
        """End the purchases of a row that waits for a value: its scores are those given what it has."""
        first, n = program.scores, program.integers[N_SCORES]
        for c in range(n):
            numbers[first + n + c] = numbers[first + c]
        state[PHASE] = _walk.ACQUIRED

    def reopen(self, program: Program, state: Any, numbers: Any) -> None:
        """Let a row that left the plan after this node be in it again, with another budget."""
        first, n = program.scores, program.integers[N_SCORES]
        for c in range(n):
            numbers[first + n + c] = self._start[c]
        state[NODE], state[EXIT], state[PHASE] = self._node, self._parent, _walk.AT_TERM

    def _buy(self, program: Program, state: Any, numbers: Any) -> int:
        while True:
            if self._observe_paid(state, numbers) or self._chosen < 0 or not self._is_given(state):
                self._chosen = self._choose(program, state, numbers)
            if self._chosen < 0:
                return _walk.ENDED
            status = _walk.pay(program.integers, state, numbers, self._left[self._chosen])
            if status == _walk.NEED:
                return int(status)
            if status != _walk.ENDED:  # another budget than when it was chosen
                self._chosen = -1

    def _is_given(self, state: Any) -> bool:
        return bool(state[KNOWN_AT + self._left[self._chosen]] != _walk.UNKNOWN)

    def _observe_paid(self, state: Any, numbers: Any) -> bool:
        """Observe features that are paid, in the order of the pool; gives whether there were any."""
        paid = [p for p, f in self._left.items() if state[KNOWN_AT + f] == _walk.PAID]
        for p in paid:
            x = float(numbers[VALUES_AT + self._left.pop(p)])
            self._engine.observe_feature(self._table, self._beliefs, p, x)
        return bool(paid)

    def _choose(self, program: Program, state: Any, numbers: Any) -> int:
        self._dues(program.integers, state, numbers, self._pool, self._due)
        return int(self._engine.decide(self._table, self._beliefs, self._due))


def _parts(compiled: bool) -> tuple[ModuleType, Any]:
    """The module of beliefs, and the function for prices."""
    if not compiled:
        return _beliefs, _walk.dues
    from miserly.plan.engine import compiled_beliefs, compiled_walk

    return compiled_beliefs, compiled_walk.dues
