"""One row at a time: what do you need next, here it is, what is the answer so far.

This is the whole interface between a plan and the world. A trail asks only for what the plan meets on the
way of this row, never twice, and can answer after any step from the last node it finished. A feature is paid
when its value is told, not before.

    trail = plan.start(budget=20)
    while need := trail.next():
        trail.tell({name: fetch(name) for name in need})
    trail.answer()
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from miserly.costs import Feature, read_budget
from miserly.data.encoder import check_unknown
from miserly.errors import PlanError
from miserly.plan import links
from miserly.plan.engine import walk as _walk
from miserly.plan.engine.batch import levels, settle
from miserly.plan.engine.walk import BUDGET, ENDED, GATE, NEED, NEED_ALL, STOPPED, TERM, Program
from miserly.plan.gates import ListwiseGate
from miserly.utils.checks import read_price, shown

if TYPE_CHECKING:
    from miserly.plan.plan import Plan

__all__ = ["Answer", "QueryTrail", "Trail", "answer_from", "stepper"]


@dataclass(frozen=True, eq=False)
class Answer:
    """What a plan says about one row; as a number or an array it is its scores.

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


def answer_from(plan: Plan, scores: Any) -> Answer:
    """The answer of a plan to one row from its scores, as many as the plan has outputs."""
    row = np.array(scores, dtype=np.float64)[None, : plan.n_outputs]
    return Answer(
        value=links.labels(plan.link, row, plan.classes)[0],
        scores=row[0, 0] if plan.n_outputs == 1 else row[0],
        probabilities=links.probabilities(plan.link, row)[0] if plan.has_probabilities else None,
    )


class Trail:
    """The way of one row through a plan; made by `Plan.start`.

    Parameters
    ----------
    plan : Plan
    known : mapping of feature to value, optional
        What is known already: used without asking and without paying (its group counts as set up).
    budget : float, optional
        The trail stops before the first thing that does not fit.
    count : {"path", "tree"}
        Ask for features as splits meet them, or for all that a term might need at once, which are paid
        together once all of them are told.
    unknown : {"error", "missing"}, default="error"
        A value that is neither a known category nor missing is an error, or counts as missing.
    prices : mapping of feature or group to float, optional
        Prices that differ from those of the plan for this row: of features, and of the set-up of groups.

    Attributes
    ----------
    plan : Plan
    stopped : bool
        Whether the budget ended it.
    """

    __slots__ = ("_given", "_numbers", "_program", "_state", "_status", "_unknown", "_walk", "plan")
    _waits_at_gates = False

    def __init__(
        self,
        plan: Plan,
        known: Mapping[Any, Any] | None = None,
        budget: float | None = None,
        count: str = "path",
        unknown: str = "error",
        prices: Mapping[Any, float] | None = None,
    ) -> None:
        if count not in ("path", "tree"):
            raise PlanError(f"count is 'path' or 'tree', not {count!r}")
        check_unknown(unknown)
        self.plan = plan
        self._unknown = unknown
        self._program, self._walk = stepper(plan)
        self._state, self._numbers = self._program.state.copy(), self._program.numbers.copy()
        self._state[_walk.WHOLE] = count == "tree"
        if budget is not None:
            self._numbers[BUDGET] = min(read_budget(budget), plan.budget)
        self._given: list[int] = []
        self._status = ENDED
        if prices is not None:
            for name, price in prices.items():
                self._set_price(name, price)
        if known is not None:
            for name, value in known.items():
                self._give(name, value)
        self._go_on()

    # -- the interface -------------------------------------------------------------------------------

    def next(self) -> tuple[Feature, ...]:
        """The features needed now; empty when the trail has ended."""
        return tuple(self.plan.costs.name(f) for f in self._needs())

    def tell(self, values: Mapping[Any, Any]) -> None:
        """Give the values of features, asked for or not; None and NaN are missing values.

        What was not asked for is kept and paid for if and when the plan uses it.

        Parameters
        ----------
        values : mapping of feature to value
        """
        read = {self._column(name): self._read(name, value) for name, value in values.items()}
        for f, value in read.items():
            self._keep(f, value)
        self._go_on_if_told()

    def answer(self) -> Answer:
        """The answer from the last node finished; can be asked at any time."""
        return answer_from(self.plan, self.scores)

    @property
    def done(self) -> bool:
        """Whether there is nothing more to acquire."""
        return not self._needs()

    @property
    def stopped(self) -> bool:
        """Whether the budget ended the trail."""
        return self._status == STOPPED

    @property
    def cost(self) -> float:
        """Paid so far: features whose values were told, set-ups, evaluations."""
        return float(min(self._numbers[_walk.SPENT], self._numbers[BUDGET]))

    @property
    def acquired(self) -> NDArray[np.bool_]:
        """What was bought so far."""
        told = self._program.told
        bought = np.array(self._state[told : told + self.plan.n_features]) == _walk.PAID
        bought[self._given] = False
        return bought

    @property
    def evaluated(self) -> NDArray[np.bool_]:
        """The terms whose evaluation was paid."""
        return np.array(self._state[self._program.evaluated :]).astype(np.bool_)

    @property
    def exit(self) -> int:
        """The last node finished, -1 if none."""
        return int(self._state[_walk.EXIT])

    # -- by column, for a runtime ------------------------------------------------------------------------

    @property
    def need(self) -> int:
        """The column needed now, in a trail with ``count="path"``; -1 when it has ended."""
        return int(self._state[_walk.NEEDED]) if self._status == NEED else -1

    @property
    def scores(self) -> Any:
        """The scores of the last node finished: a copy of as many as the plan has outputs."""
        first = self._program.scores
        return self._numbers[first : first + self.plan.n_outputs].copy()

    @property
    def evaluation_cost(self) -> float:
        """The part of the cost that was paid for evaluations."""
        return float(self._numbers[_walk.EVALUATIONS])

    @property
    def spent(self) -> float:
        """The cost with its rounding error, which may be just above the budget."""
        return float(self._numbers[_walk.SPENT])

    @property
    def budget(self) -> float:
        """The cap: that of the trail or of the plan, whichever is less."""
        return float(self._numbers[BUDGET])

    def price(self, f: int) -> float:
        """Return what column `f` costs now; 0 if it is paid."""
        if self._state[self._program.told + f] == _walk.PAID:
            return 0.0
        return float(_walk.price(self._program.integers, self._state, self._numbers, f))

    def price_of(self, columns: Sequence[int]) -> float:
        """Return what some columns cost together now; what is paid is free, a group is set up once."""
        group, total, opened = self.plan.costs.group, 0.0, set()
        for f in columns:
            total += self.price(f)
            if group[f] >= 0 and int(group[f]) in opened:
                total -= self._setup(f)
            opened.add(int(group[f]))
        return total

    def _setup(self, f: int) -> float:
        """What the set-up of the group of a column costs now."""
        program, g = self._program, int(self.plan.costs.group[f])
        if self.price(f) == 0.0 or g < 0 or self._state[program.opened + g]:
            return 0.0
        return float(self._numbers[program.prices + self.plan.n_features + g])

    @property
    def listed_prices(self) -> NDArray[np.float64]:
        """The prices of this trail: of all features, then of the set-ups of groups."""
        return np.array(self._numbers[self._program.prices : self._program.scores])

    def is_told(self, f: int) -> bool:
        """Return whether the value of column `f` was told, or given as known."""
        return bool(self._state[self._program.told + f] != _walk.UNKNOWN)

    def put(self, f: int, value: float) -> None:
        """Give the value of the column needed now and go on: the short way for one value.

        Parameters
        ----------
        f : int
            The column, which must be `need`.
        value : float
            Its value as `Plan.encoder` encodes it; NaN where it is missing.
        """
        program = self._program
        self._numbers[program.values + f] = value
        self._state[program.told + f] = _walk.TOLD
        self._status = status = self._walk(program.integers, program.reals, self._state, self._numbers)
        if status == TERM or status == GATE:
            self._serve()

    def settle(self, f: int, value: float, cost: float) -> None:
        """Give the value of a column that is not paid, and pay what it really cost. `resume` goes on.

        Parameters
        ----------
        f : int
            The column.
        value : float
            Its value as `Plan.encoder` encodes it; NaN where it is missing.
        cost : float
            What was paid, with the set-up of its group. The budget is not checked.
        """
        self._numbers[self._program.values + f] = value
        self._numbers[_walk.SPENT] += cost
        _walk.mark_paid(self._program.integers, self._state, f)

    def lose(self, cost: float) -> None:
        """Pay for what brought no value, such as a failed call that is billed all the same.

        Parameters
        ----------
        cost : float
            What was paid. The budget is not checked.
        """
        self._numbers[_walk.SPENT] += cost

    def waive(self, f: int) -> None:
        """Go without a column: it counts as missing, and nothing is paid. `resume` goes on.

        Parameters
        ----------
        f : int
            A column that was not told.
        """
        self._state[self._program.told + f] = _walk.PAID
        self._given.append(f)

    def resume(self) -> None:
        """Go on after `settle` and `waive`, as far as the values that are known allow."""
        self._go_on_if_told()

    # -- the walk --------------------------------------------------------------------------------------

    def _needs(self) -> list[int]:
        if self._status == NEED:
            features = [int(self._state[_walk.NEEDED])]
        elif self._status == NEED_ALL:
            features = self.plan.terms[self._state[_walk.NEEDED]].features.tolist()
        else:
            return []
        return [f for f in features if not self.is_told(f)]

    def _go_on_if_told(self) -> None:
        if (self._status == NEED or self._status == NEED_ALL) and not self._needs():
            self._go_on()

    def _go_on(self) -> None:
        """Walk until something is needed that the trail does not have."""
        program = self._program
        self._status = self._walk(program.integers, program.reals, self._state, self._numbers)
        if self._status == TERM or self._status == GATE:
            self._serve()

    def _serve(self) -> None:
        """Do what the walk leaves to the trail, a term or a gate that it has no rule for, and walk on."""
        program = self._program
        while self._status == TERM or self._status == GATE:
            if self._status == GATE and self._waits_at_gates and isinstance(self.gate, ListwiseGate):
                return
            status = self._evaluate() if self._status == TERM else self._pass_gate()
            if status == ENDED:
                status = self._walk(program.integers, program.reals, self._state, self._numbers)
            self._status = status

    def _evaluate(self) -> int:
        """Pay for and evaluate the term here, which the walk has no rule for. Gives a status."""
        program = self._program
        t = program.integers[program.integers[_walk.ENTRY_TERM] + self._state[_walk.ENTRY]]
        term, known = self.plan.terms[t], self.known_values
        if term.by_path:
            for f in term.reads(known):
                if self._state[program.told + f] != _walk.PAID:
                    status = _walk.pay(program.integers, self._state, self._numbers, f)
                    if status != ENDED:
                        return int(status)
        self._numbers[_walk.VALUE] = term.evaluate_one(known)
        self._state[_walk.PHASE] = _walk.HAS_VALUE
        return ENDED

    def _pass_gate(self, cut: float | None = None) -> int:
        """Decide at the gate here, which the walk has no rule for; on its own a row is a query of one."""
        first = self._program.scores
        scores = np.array(self._numbers[first : first + self.plan.n_scores])
        gate = self.gate
        if isinstance(gate, ListwiseGate):
            up = not scores[0] < (gate.leave_below(scores[:1], 1) if cut is None else cut)
        else:
            up = bool(gate.goes_up(scores[None], self.plan.link, self.plan.n_outputs)[0])
        self._state[_walk.UP] = up
        return ENDED

    @property
    def gate(self) -> Any:
        """The gate of the node that the row is in."""
        return self.plan.nodes[self.node].gate

    @property
    def node(self) -> int:
        """The node that the row is in, or was in when it stopped; -1 when it has left."""
        return int(self._state[_walk.NODE])

    @property
    def entry(self) -> int:
        """The entry of the node that the row is at, in the table of all nodes."""
        return int(self._state[_walk.ENTRY])

    @property
    def known_values(self) -> Mapping[int, float]:
        """The values by column; NaN where nothing is known."""
        return _Values(self._numbers, self._program.values, self.plan.n_features)

    # -- values ----------------------------------------------------------------------------------------

    def _set_price(self, name: Any, price: float) -> None:
        costs, first = self.plan.costs, self._program.prices
        if name in costs.group_names:
            place = first + len(costs) + costs.group_names.index(name)
        else:
            place = first + self._column(name, "a price of")
        self._numbers[place] = read_price(price, f"the price of {name!r}")

    def _give(self, name: Any, value: Any) -> None:
        f = self._column(name)
        self._numbers[self._program.values + f] = self._read(name, value)
        _walk.mark_paid(self._program.integers, self._state, f)
        self._given.append(f)

    def _keep(self, f: int, value: float) -> None:
        if not self.is_told(f):
            self._numbers[self._program.values + f] = value
            self._state[self._program.told + f] = _walk.TOLD
            return
        old = self._numbers[self._program.values + f]
        if old != value and not (old != old and value != value):
            raise PlanError(
                f"feature {self.plan.costs.name(f)!r} is known already: {self._shown(f, old)}, "
                f"now {self._shown(f, value)}"
            )

    def _column(self, name: Any, what: str = "a value of") -> int:
        try:
            return self.plan.costs.index(name)
        except ValueError as error:
            raise PlanError(f"{what} a feature that the plan does not know: {error}") from None

    def _read(self, name: Any, value: Any) -> float:
        return self.plan.encoder.value(self._column(name), value, self._unknown)

    def _shown(self, f: int, value: float) -> str:
        """A value as the user gave it."""
        known = self.plan.categories.get(f)
        return f"{value:g}" if known is None or np.isnan(value) else shown(known[int(value)])


class _Values(Mapping[int, float]):
    """The values of the columns, by number."""

    __slots__ = ("_first", "_n", "_numbers")

    def __init__(self, numbers: Any, first: int, n: int) -> None:
        self._numbers, self._first, self._n = numbers, first, n

    def __getitem__(self, f: int) -> float:
        return float(self._numbers[self._first + f])

    def __iter__(self) -> Iterator[int]:
        return iter(range(self._n))

    def __len__(self) -> int:
        return self._n


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
            scores = np.array([trail.scores[0] for trail in there])
            cut = there[0].gate.leave_below(scores, len(self.trails))
            for trail in there:
                trail.pass_gate(cut)
