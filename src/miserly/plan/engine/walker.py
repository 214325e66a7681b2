"""Where one row is in a plan, what it knows and what it has paid, by column.

`Trail` gives this a face for users, by names of features.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import NDArray

from miserly.costs import fits
from miserly.costs.one_row import listed_price
from miserly.plan.engine import program as _at
from miserly.plan.engine import walk as _walk
from miserly.plan.engine.acquiring import Acquiring
from miserly.plan.engine.bought import chose_last
from miserly.plan.engine.known import KnownValues
from miserly.plan.engine.program import KNOWN_AT, VALUES_AT
from miserly.plan.engine.rest import bounds_of_row
from miserly.plan.engine.stepper import stepper
from miserly.plan.engine.walk import ACQUIRE, ENDED, GATE, NEED, NEED_ALL, STOPPED, TERM
from miserly.plan.gates import ListwiseGate

if TYPE_CHECKING:
    from miserly.plan.plan import Plan

__all__ = ["Walker"]


_SERVED = (TERM, GATE, ACQUIRE)  # what the walk leaves to its caller


class Walker:
    """One row on its way through a plan.

    Parameters
    ----------
    plan : Plan
    budget : float
        A cap, at most that of the plan.
    whole : bool
        Whether to pay for all features that a term might read, instead of those that it does read.

    Attributes
    ----------
    plan : Plan
    """

    __slots__ = ("_acquiring", "_chose", "_given", "_numbers", "_program", "_state", "_status", "_walk",
                 "plan")  # fmt: skip
    _waits_at_gates = False

    def __init__(self, plan: Plan, budget: float, whole: bool) -> None:
        self.plan = plan
        self._program, self._walk = stepper(plan)
        self._state, self._numbers = self._program.state.copy(), self._program.numbers.copy()
        self._state[_at.WHOLE] = whole
        self._numbers[_at.BUDGET] = budget
        self._given: list[int] = []
        self._acquiring: Acquiring | None = None  # in the node that the row is in
        self._chose: Acquiring | None = None  # in the last node that ended
        self._status = ENDED

    def copy(self) -> Self:
        """Return the same row again, which goes its own way from here."""
        other = object.__new__(type(self))
        for kind in type(self).__mro__:
            for name in getattr(kind, "__slots__", ()):
                setattr(other, name, getattr(self, name))
        other._state, other._numbers = self._state.copy(), self._numbers.copy()
        other._given = list(self._given)
        other._acquiring = None if self._acquiring is None else self._acquiring.copy()
        other._chose = None if self._chose is None else self._chose.copy()
        return other

    # -- what was paid -------------------------------------------------------------------------------

    @property
    def stopped(self) -> bool:
        """Whether the budget ended the trail."""
        return self._status == STOPPED

    @property
    def cost(self) -> float:
        """Paid so far: features whose values were given, set-ups, evaluations."""
        spent, budget = float(self._numbers[_at.SPENT]), float(self._numbers[_at.BUDGET])
        return budget if budget < spent and fits(0.0, spent, budget) else spent  # above it by rounding alone

    @property
    def acquired(self) -> NDArray[np.bool_]:
        """What was bought so far."""
        bought = np.array(self._state[KNOWN_AT : KNOWN_AT + self.plan.n_features]) == _walk.PAID
        bought[self._given] = False
        return bought

    @property
    def evaluated(self) -> NDArray[np.bool_]:
        """The terms whose evaluation was paid."""
        first = self._program.evaluated
        return np.array(self._state[first : first + len(self.plan.terms)]).astype(np.bool_)

    @property
    def exit(self) -> int:
        """The last node finished, -1 if none."""
        return int(self._state[_at.EXIT])

    # -- columns ---------------------------------------------------------------------------------------

    @property
    def need(self) -> int:
        """The column needed now, in a trail with ``count="path"``; -1 when it has ended."""
        return int(self._state[_at.NEEDED]) if self._status == NEED else -1

    @property
    def scores(self) -> tuple[float, ...]:
        """The scores of the last node finished, as many as the plan has outputs.

        A row that waits in a node that chooses its purchases answers as if it bought nothing more.
        """
        if self._acquiring is not None and self.plan.reads_bought:
            return self._with_what_it_has().scores
        first, n = self._program.scores, self.plan.n_outputs
        return (self._numbers[first],) if n == 1 else tuple(self._numbers[first : first + n])

    @property
    def evaluation_cost(self) -> float:
        """The part of the cost that was paid for evaluations."""
        return float(self._numbers[_at.EVALUATIONS])

    @property
    def spent(self) -> float:
        """The cost with its rounding error, which may be just above the budget."""
        return float(self._numbers[_at.SPENT])

    @property
    def budget(self) -> float:
        """The cap: that of the trail or of the plan, whichever is less."""
        return float(self._numbers[_at.BUDGET])

    def price(self, f: int) -> float:
        """Return what column `f` costs now; 0 if it is paid."""
        if self._state[KNOWN_AT + f] == _walk.PAID:
            return 0.0
        return float(_walk.price(self._program.integers, self._state, self._numbers, f))

    def price_of(self, columns: Sequence[int]) -> float:
        """Return what some columns cost together now; what is paid is free, a group is set up once."""
        plan, first = self.plan, self._program.opened
        listed = self._numbers[self._program.prices : self._program.scores]
        opened = {g for f in columns for g in plan.costs.groups_of(f) if self._state[first + g]}
        total = 0.0
        for f in columns:
            if self._state[KNOWN_AT + f] != _walk.PAID:
                groups = plan.costs.groups_of(f)
                total += listed_price(f, groups, opened, listed, plan.n_features)
                opened.update(groups)
        return total

    @property
    def listed_prices(self) -> NDArray[np.float64]:
        """The prices of this trail: of all features, then of the set-ups of groups."""
        return np.array(self._numbers[self._program.prices : self._program.scores])

    def is_known(self, f: int) -> bool:
        """Return whether the value of column `f` was given, or given as known."""
        return bool(self._state[KNOWN_AT + f] != _walk.UNKNOWN)

    def put(self, f: int, value: float) -> int:
        """Give the value of the column needed now and go on: the short way for one value.

        Parameters
        ----------
        f : int
            The column, which must be `need`.
        value : float
            Its value as `Plan.encoder` encodes it; NaN where it is missing.

        Returns
        -------
        int
            The column needed next; -1 when the trail has ended.
        """
        program, state, numbers = self._program, self._state, self._numbers
        numbers[VALUES_AT + f] = value
        state[KNOWN_AT + f] = _walk.KNOWN
        self._status = status = self._walk(program[0], program[1], state, numbers)
        if status == NEED:
            return int(state[_at.NEEDED])
        if status in _SERVED:
            self._serve()
        return self.need

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
        self._numbers[VALUES_AT + f] = value
        self._numbers[_at.SPENT] += cost
        _walk.mark_paid(self._program.integers, self._state, f)

    def lose(self, cost: float) -> None:
        """Pay for what brought no value, such as a failed call that is billed all the same.

        Parameters
        ----------
        cost : float
            What was paid. The budget is not checked.
        """
        self._numbers[_at.SPENT] += cost

    def keep(self, f: int, value: float) -> None:
        """Keep the value of a column. It is paid if and when the plan uses it. `resume` goes on.

        Parameters
        ----------
        f : int
            A column that was not given.
        value : float
            Its value as `Plan.encoder` encodes it; NaN where it is missing.
        """
        self._numbers[VALUES_AT + f] = value
        self._state[KNOWN_AT + f] = _walk.KNOWN

    def give(self, f: int, value: float) -> None:
        """Take the value of a column as known before: nothing is paid, and its group counts as set up.

        Parameters
        ----------
        f : int
            The column.
        value : float
            Its value as `Plan.encoder` encodes it; NaN where it is missing.
        """
        self._numbers[VALUES_AT + f] = value
        _walk.mark_paid(self._program.integers, self._state, f)
        self._given.append(f)

    def set_price(self, place: int, price: float) -> None:
        """Change a price for this row.

        Parameters
        ----------
        place : int
            A column, or the number of columns and the number of a group for its set-up.
        price : float
        """
        self._numbers[self._program.prices + place] = price

    def set_budget(self, budget: float) -> None:
        """Change the cap from here on: the row goes on, or stops, as far as the new one allows.

        The new cap may be below what was paid. The cap of the plan holds as well.
        """
        self._numbers[_at.BUDGET] = min(budget, self.plan.budget)
        if self._status in (NEED, NEED_ALL, STOPPED):
            self._go_on()
        elif self._status == ENDED and self._chose is not None and chose_last(self.plan, self.exit):
            self._acquiring, self._chose = self._chose, None  # what did not fit may fit now
            self._acquiring.reopen(self._program, self._state, self._numbers)
            self._go_on()

    def waive(self, f: int) -> None:
        """Go without a column: it counts as missing, and nothing is paid. `resume` goes on.

        Parameters
        ----------
        f : int
            A column that was not given.
        """
        self._state[KNOWN_AT + f] = _walk.PAID
        self._given.append(f)

    def resume(self) -> None:
        """Go on after `settle`, `keep` and `waive`, as far as the values that are known allow."""
        if self._status in (NEED, NEED_ALL) and not self._needs():
            self._go_on()

    # -- the walk --------------------------------------------------------------------------------------

    def _needs(self) -> list[int]:
        if self._status == NEED:
            features = [int(self._state[_at.NEEDED])]
        elif self._status == NEED_ALL:
            features = self.plan.terms[self._state[_at.NEEDED]].features.tolist()
        else:
            return []
        return [f for f in features if not self.is_known(f)]

    def _go_on(self) -> None:
        """Walk until something is needed that the trail does not have."""
        program = self._program
        self._status = self._walk(program.integers, program.reals, self._state, self._numbers)
        if self._status in _SERVED:
            self._serve()

    def _serve(self) -> None:
        """Do what the walk leaves to the trail, terms and gates without a rule, purchases; and walk on."""
        program = self._program
        while self._status in _SERVED:
            if self._status == GATE and self._waits_at_gates and isinstance(self.gate, ListwiseGate):
                return
            if self._status == ACQUIRE:
                status = self._acquire()
            else:
                status = self._evaluate() if self._status == TERM else self._pass_gate()
            if status == ENDED:
                status = self._walk(program.integers, program.reals, self._state, self._numbers)
            self._status = status

    def _evaluate(self) -> int:
        """Pay for and evaluate the term here, which the walk has no rule for. Gives a status."""
        program = self._program
        t = program.integers[program.integers[_at.ENTRY_TERM] + self._state[_at.ENTRY]]
        term, known = self.plan.terms[t], self.known_values
        if term.by_path:
            for f in term.reads(known):
                if self._state[KNOWN_AT + f] != _walk.PAID:
                    status = _walk.pay(program.integers, self._state, self._numbers, f)
                    if status != ENDED:
                        return int(status)
        self._numbers[_at.VALUE] = term.evaluate_one(known)
        self._state[_at.PHASE] = _walk.HAS_VALUE
        return ENDED

    def _acquire(self) -> int:
        """Buy what the node here chooses. Gives a status."""
        if self._acquiring is None:
            self._acquiring = Acquiring(self.plan, self.node, self._walk is not _walk.walk)
        status = self._acquiring.advance(self._program, self._state, self._numbers)
        if status == ENDED:
            self._chose, self._acquiring = self._acquiring, None
        return status

    def _with_what_it_has(self) -> Self:
        """The same row, if the node that chooses its purchases ended here."""
        row = self.copy()
        assert row._acquiring is not None
        row._acquiring.end(row._program, row._state, row._numbers)
        row._chose, row._acquiring = row._acquiring, None
        row._go_on()
        return row

    def _pass_gate(self, cut: float | None = None) -> int:
        """Decide at the gate here, which the walk has no rule for; on its own a row is a query of one."""
        first = self._program.scores
        scores = np.array(self._numbers[first : first + self.plan.n_scores])
        gate = self.gate
        if isinstance(gate, ListwiseGate):
            least, most = self.score_bounds
            up = not most < (gate.leave_below(np.array([least]), 1) if cut is None else cut)
        else:
            up = bool(gate.goes_up(scores[None], self.plan.link, self.plan.n_outputs)[0])
        self._state[_at.UP] = up
        return ENDED

    @property
    def score_bounds(self) -> tuple[float, float]:
        """What a list-wise gate compares: the score, or the least and largest score that it can become."""
        first, d = self._program.scores, self.plan.n_features
        scores = np.array(self._numbers[first : first + self.plan.n_scores])
        values, paid = self._numbers[VALUES_AT : VALUES_AT + d], self._state[KNOWN_AT : KNOWN_AT + d]
        return bounds_of_row(self.plan, self.node, scores, np.array(values), np.array(paid) == _walk.PAID)

    @property
    def gate(self) -> Any:
        """The gate of the node that the row is in."""
        return self.plan.nodes[self.node].gate

    @property
    def node(self) -> int:
        """The node that the row is in, or was in when it stopped; -1 when it has left."""
        return int(self._state[_at.NODE])

    @property
    def entry(self) -> int:
        """The entry of the node that the row is at, in the table of all nodes."""
        return int(self._state[_at.ENTRY])

    @property
    def known_flags(self) -> list[bool]:
        """Whether the value of each column was given, or given as known."""
        return [one != _walk.UNKNOWN for one in self._state[KNOWN_AT : KNOWN_AT + self.plan.n_features]]

    @property
    def known_values(self) -> Mapping[int, float]:
        """The values by column; NaN where nothing is known."""
        return KnownValues(self._numbers, VALUES_AT, self.plan.n_features)
