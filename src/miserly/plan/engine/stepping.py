"""One example at a time: what do you need next, here it is, what is the answer so far.

This is the whole interface between a plan and the world. A trail asks only for what the plan meets on this
example's way, never twice, and can answer after any step from the last node it finished. The rules are those
of `batch`.

    trail = plan.start(budget=20)
    while need := trail.next():
        trail.tell({name: fetch(name) for name in need})
    trail.answer()
"""

from __future__ import annotations

from collections.abc import Generator, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from miserly.costs import Feature, Ledger, fits, read_budget
from miserly.data.encoder import check_unknown
from miserly.errors import PlanError
from miserly.plan import links
from miserly.plan.engine.batch import levels, settle
from miserly.plan.gates import ListwiseGate
from miserly.plan.nodes import LEAVE
from miserly.plan.terms import Term
from miserly.utils.checks import shown

if TYPE_CHECKING:
    from miserly.plan.plan import Plan

__all__ = ["Answer", "QueryTrail", "Trail"]


@dataclass(frozen=True, eq=False)
class Answer:
    """What a plan says about one example; as a number or an array it is its scores.

    Attributes
    ----------
    value : the prediction in the user's terms, a number or a class
    scores : float, or array of n_outputs
    probabilities : array with one entry per class, or None where the link has none
    """

    value: Any
    scores: Any
    probabilities: NDArray[np.float64] | None = None

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> NDArray[Any]:
        return np.array(self.scores, dtype=dtype)

    def __float__(self) -> float:
        return float(self.scores)


Steps = Generator[
    "tuple[int, ...] | ListwiseGate", "float | None", None
]  # needs features, or waits at a gate


class Trail:
    """The way of one example through a plan; made by `Plan.start`.

    Parameters
    ----------
    plan : Plan
    known : mapping of feature to value, optional
        What is known already: used without asking and without paying (its group counts as set up).
    budget : float, optional
        The trail stops before the first thing that does not fit.
    count : {"path", "tree"}
        Ask for features as splits meet them, or for all that a term might need at once.
    unknown : {"error", "missing"}, default="error"
        A value that is neither a known category nor missing is an error, or counts as missing.

    Attributes
    ----------
    cost : float
        Paid so far.
    acquired : bool array
        What was bought so far.
    exit : int
        The last node finished, -1 if none.
    stopped : bool
        Whether the budget ended it.
    """

    def __init__(
        self,
        plan: Plan,
        known: Mapping[Any, Any] | None = None,
        budget: float | None = None,
        count: str = "path",
        unknown: str = "error",
    ) -> None:
        if count not in ("path", "tree"):
            raise PlanError(f"count is 'path' or 'tree', not {count!r}")
        check_unknown(unknown)
        self._unknown = unknown
        self.plan = plan
        self.exit = -1
        self.stopped = False
        self.evaluated = np.zeros(len(plan.terms), dtype=np.bool_)
        self._whole = count == "tree"
        self._budget = min(read_budget(budget), plan.budget)
        self._ledger = Ledger(plan.costs)
        self._spent = 0.0
        self._values: dict[int, float] = {}
        self._given = np.zeros(plan.n_features, dtype=np.bool_)
        self._scores = plan.base.copy()
        self._needs: tuple[int, ...] = ()
        self._gate: ListwiseGate | None = None
        self._node = LEAVE  # the one it is in, or was when it stopped
        for name, value in (known or {}).items():
            self._give(name, value)
        self._steps: Steps | None = self._walk()
        self._advance(None)
        self._pass_gates_alone = True

    # -- the interface -------------------------------------------------------------------------------

    def next(self) -> tuple[Feature, ...]:
        """The features needed now; empty when the trail has ended."""
        self._settle_alone()
        return tuple(self.plan.costs.name(f) for f in self._needs if f not in self._values)

    def tell(self, values: Mapping[Any, Any]) -> None:
        """Give the values of features, asked for or not; None and NaN are missing values.

        What was not asked for is kept and paid for if and when the plan uses it.
        """
        read = {self._column(name): self._read(name, value) for name, value in values.items()}
        for f, value in read.items():
            old = self._values.setdefault(f, value)
            if old != value and not (np.isnan(old) and np.isnan(value)):
                raise PlanError(
                    f"feature {self.plan.costs.name(f)!r} is known already: {self._shown(f, old)}, "
                    f"now {self._shown(f, value)}"
                )
        self._settle_alone()
        while self._needs and all(f in self._values for f in self._needs):
            self._advance(None)
            self._settle_alone()

    def answer(self) -> Answer:
        """The answer from the last node finished; can be asked at any time."""
        scores = self._scores[None, : self.plan.n_outputs]
        value = links.labels(self.plan.link, scores, self.plan.classes)[0]
        probabilities = None
        if links.has_probabilities(self.plan.link):
            probabilities = links.probabilities(self.plan.link, scores)[0]
        return Answer(
            value=value,
            scores=scores[0, 0] if self.plan.n_outputs == 1 else scores[0].copy(),
            probabilities=probabilities,
        )

    @property
    def done(self) -> bool:
        """Whether there is nothing more to acquire."""
        return not self.next()

    @property
    def cost(self) -> float:
        return min(self._spent, self._budget)

    @property
    def acquired(self) -> NDArray[np.bool_]:
        return self._ledger.paid & ~self._given

    # -- the walk --------------------------------------------------------------------------------------

    def _advance(self, reply: float | None) -> None:
        """Run until something is needed, a list-wise gate is reached, or the end."""
        self._needs, self._gate = (), None
        if self._steps is None:
            return
        try:
            wanted = self._steps.send(reply)
        except StopIteration:
            self._steps = None
            return
        if isinstance(wanted, tuple):
            self._needs = wanted
        else:
            self._gate = wanted

    def _stop(self) -> None:
        """End here, because the budget keeps others of the query away from the gate reached."""
        self.stopped = True
        self._needs, self._gate, self._steps = (), None, None

    def _settle_alone(self) -> None:
        """A trail on its own is a query of one document."""
        while self._gate is not None and self._pass_gates_alone:
            self._advance(self._gate.leave_below(self._scores[:1], 1))

    def _walk(self) -> Steps:
        plan, tables = self.plan, self.plan.tables
        k = 0 if plan.nodes else LEAVE
        while k != LEAVE:
            self._node, node = k, plan.nodes[k]
            scores = (self._scores if node.inherits else np.zeros(plan.n_scores)) + node.bias
            last_term, value = -1, 0.0
            for j, t in enumerate(node.terms.tolist()):
                if t != last_term:
                    if tables.nodes.fresh[tables.nodes.pointer[k] + j]:
                        yield from self._pay_for(t)
                        if self.stopped:
                            return
                    value = plan.terms[t].evaluate_one(self._values)
                    last_term = t
                scores[node.channels[j]] += node.weights[j] * value
            self._scores, self.exit = scores, k
            if isinstance(node.gate, ListwiseGate):
                cut = yield node.gate
                up = not scores[0] < (-np.inf if cut is None else cut)
            else:
                up = not node.gate.decides or bool(
                    node.gate.goes_up(scores[None], plan.link, plan.n_outputs)[0]
                )
            k = node.up if up else node.low

    def _pay_for(self, t: int) -> Steps:
        """Pay for a fresh term and ask for what it needs; sets `stopped` if it does not fit."""
        term = self.plan.terms[t]
        if self._whole:
            yield from self._pay_whole(t, term)
            return
        if not self._charge(term.evaluation):
            return
        self.evaluated[t] = True
        for f in term.reads(self._values):
            yield from self._buy(f)
            if self.stopped:
                return

    def _pay_whole(self, t: int, term: Term) -> Steps:
        before, total = self._ledger.state(), term.evaluation
        for f in term.features.tolist():
            if not self._ledger.is_paid(f):
                total += self._ledger.buy(f)
        if not self._charge(total):
            self._ledger.restore(before)
            return
        self.evaluated[t] = True
        unknown = tuple(f for f in term.features.tolist() if f not in self._values)
        if unknown:
            yield unknown

    def _buy(self, f: int) -> Steps:
        if not self._ledger.is_paid(f):
            if not self._charge(self._ledger.price(f)):
                return
            self._ledger.buy(f)
        if f not in self._values:
            yield (f,)

    def _charge(self, price: float) -> bool:
        if fits(self._spent, price, self._budget):
            self._spent += price
            return True
        self.stopped = True
        return False

    # -- values ----------------------------------------------------------------------------------------

    def _give(self, name: Any, value: Any) -> None:
        f = self._column(name)
        self._values[f] = self._read(name, value)
        self._given[f] = True
        self._ledger.buy(f)

    def _column(self, name: Any) -> int:
        try:
            return self.plan.costs.index(name)
        except ValueError as error:
            raise PlanError(f"a value of a feature that the plan does not know: {error}") from None

    def _read(self, name: Any, value: Any) -> float:
        return self.plan.encoder.value(self._column(name), value, self._unknown)

    def _shown(self, f: int, value: float) -> str:
        """A value as the user gave it."""
        known = self.plan.categories.get(f)
        return f"{value:g}" if known is None or np.isnan(value) else shown(known[int(value)])


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
        self.trails = [Trail(plan, budget=budget, count=count, unknown=unknown) for _ in range(n_documents)]
        for trail in self.trails:
            trail._pass_gates_alone = False
        self._settle()

    def next(self) -> dict[int, tuple[Feature, ...]]:
        needs = {i: trail.next() for i, trail in enumerate(self.trails)}
        return {i: need for i, need in needs.items() if need}

    def tell(self, values: Mapping[int, Mapping[Any, Any]]) -> None:
        for i, given in values.items():
            self.trails[i].tell(given)
        self._settle()

    def answer(self) -> list[Answer]:
        """The answers so far; their values rank documents that a gate removed below the others."""
        answers = [trail.answer() for trail in self.trails]
        if not self.plan.can_rank:
            return answers
        left = np.array([trail._steps is None and not trail.stopped for trail in self.trails], dtype=np.bool_)
        exit = np.array([trail.exit for trail in self.trails], dtype=np.int64)
        scores = np.array([answer.scores for answer in answers], dtype=np.float64)
        values = settle(scores, levels(self.plan, exit, left), np.zeros(len(answers)))
        return [replace(answer, value=value) for answer, value in zip(answers, values, strict=True)]

    @property
    def cost(self) -> NDArray[np.float64]:
        return np.array([trail.cost for trail in self.trails])

    def _settle(self) -> None:
        """Open the earliest gate that no document is still on the way to."""
        while True:
            waiting = [trail for trail in self.trails if trail._gate is not None]
            if not waiting:
                return
            first = min(trail.exit for trail in waiting)
            if any(trail._needs and trail.exit < first for trail in self.trails):
                return
            there = [trail for trail in waiting if trail.exit == first]
            if any(trail.stopped and trail._node <= first for trail in self.trails):
                for trail in there:
                    trail._stop()
                continue
            gate = there[0]._gate
            assert gate is not None
            scores = np.array([trail._scores[0] for trail in there])
            cut = gate.leave_below(scores, len(self.trails))
            for trail in there:
                trail._advance(cut)
                while trail._needs and all(f in trail._values for f in trail._needs):
                    trail._advance(None)
