"""The documents of one query, stepped together."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from miserly.costs import Feature
from miserly.plan.engine.ranking import levels, settle
from miserly.plan.engine.stepping import Answer, Trail
from miserly.plan.engine.walk import ENDED, GATE, NEED, NEED_ALL, STOPPED

if TYPE_CHECKING:
    from miserly.plan.plan import Plan

__all__ = ["QueryTrail"]


class _Document(Trail):
    """The trail of one document of a query: it waits at list-wise gates for the others."""

    __slots__ = ()
    _waits_at_gates = True

    @property
    def at_gate(self) -> bool:
        return self._status == GATE

    @property
    def is_asking(self) -> bool:
        return self._status == NEED or self._status == NEED_ALL

    @property
    def has_left(self) -> bool:
        return self._status == ENDED

    def stop(self) -> None:
        """End here, because the budget keeps others of the query away from the gate."""
        self._status = STOPPED

    def pass_gate(self, cut: float) -> None:
        """Go up or low by how the score compares with `cut`, and on."""
        self._pass_gate(cut)
        self._go_on()


class QueryTrail:
    """The documents of one query, stepped together; made by `Plan.start_query`.

    List-wise gates compare a document with the others of its query, so a document that reaches one waits
    until every other has reached it too or has left. If the budget stops one on the way, all stop there.

    `next()` gives ``{document: features needed}``, `tell` takes ``{document: {feature: value}}``, `answer()`
    lists the answers.
    """

    def __init__(
        self,
        plan: Plan,
        n_documents: int,
        budget: float | None = None,
        count: str = "path",
        unknown: str = "error",
    ) -> None:
        self.plan = plan
        self.trails = [
            _Document(plan, budget=budget, count=count, unknown=unknown) for _ in range(n_documents)
        ]
        self._settle()

    def next(self) -> dict[int, tuple[Feature, ...]]:
        """The features that each document needs now; documents that need none are left out."""
        needs = {i: trail.next() for i, trail in enumerate(self.trails)}
        return {i: need for i, need in needs.items() if need}

    def tell(self, values: Mapping[int, Mapping[Any, Any]]) -> None:
        """Give values of features, by document."""
        for i, given in values.items():
            self.trails[i].tell(given)
        self._settle()

    def answer(self) -> list[Answer]:
        """The answers so far; their values rank documents that a gate removed below the others."""
        answers = [trail.answer() for trail in self.trails]
        if not self.plan.can_rank:
            return answers
        left = np.array([trail.has_left for trail in self.trails], dtype=np.bool_)
        exit = np.array([trail.exit for trail in self.trails], dtype=np.int64)
        scores = np.array([answer.scores for answer in answers], dtype=np.float64)
        values = settle(scores, levels(self.plan, exit, left), np.zeros(len(answers)))
        return [replace(answer, value=value) for answer, value in zip(answers, values, strict=True)]

    @property
    def cost(self) -> NDArray[np.float64]:
        """What each document has paid so far."""
        return np.array([trail.cost for trail in self.trails])

    def _settle(self) -> None:
        """Open the earliest gate that no document is still on the way to."""
        while True:
            waiting = [trail for trail in self.trails if trail.at_gate]
            if not waiting:
                return
            first = min(trail.exit for trail in waiting)
            if any(trail.is_asking and trail.exit < first for trail in self.trails):
                return
            there = [trail for trail in waiting if trail.exit == first]
            if any(trail.stopped and trail.node <= first for trail in self.trails):
                for trail in there:
                    trail.stop()
                continue
            least = np.array([trail.score_bounds[0] for trail in there])
            cut = there[0].gate.leave_below(least, len(self.trails))
            for trail in there:
                trail.pass_gate(cut)
