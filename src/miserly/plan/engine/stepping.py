"""One row at a time: what do you need next, here it is, what is the answer so far.

This is the whole interface between a plan and the world. A trail asks only for what the plan meets on the
way of this row, never twice, and can answer after any step from the last node it finished. A feature is paid
when its value is given, not before.

    trail = plan.start(budget=20)
    while need := trail.next():
        trail.tell({name: fetch(name) for name in need})
    trail.answer()
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from miserly.costs import Feature, read_budget
from miserly.data.encoder import check_unknown
from miserly.errors import PlanError
from miserly.plan.engine.program import AMOUNTS_DONE, KNOWN_AT, PAID
from miserly.plan.engine.walker import Walker
from miserly.utils.checks import read_price, shown

if TYPE_CHECKING:
    from miserly.plan.plan import Plan

__all__ = ["Answer", "Trail", "answer_of", "answers_of"]


@dataclass(frozen=True, eq=False)
class Answer:
    """What a plan says about one row; as a number or an array it is its scores.

    Attributes
    ----------
    value : the prediction in the user's terms, a number or a class
    scores : float, or array of n_outputs
    probabilities : array with one entry per class, or None where the link has none
    chance : the probability that the answer is right; None for an action, and without probabilities
    """

    value: Any
    scores: Any
    probabilities: NDArray[np.float64] | None = None
    chance: float | None = None

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> NDArray[Any]:
        return np.array(self.scores, dtype=dtype)

    def __float__(self) -> float:
        return float(self.scores)


def answer_of(trail: Trail) -> Answer:
    """The answer of a plan to the row of a trail, from the last node that it finished."""
    return answers_of([trail])[0]


def answers_of(trails: Sequence[Trail]) -> tuple[Answer, ...]:
    """The answers of a plan to the rows of some trails, computed together."""
    if not len(trails):
        return ()
    plan = trails[0].plan
    rows = np.array([trail.scores for trail in trails], dtype=np.float64)
    values = plan.labels_from(rows, amounts=amounts_of(trails))
    chances = plan.probabilities_from(rows) if plan.has_probabilities else [None] * len(rows)
    first = rows[:, 0] if plan.n_outputs == 1 else rows
    sure = [plan.chance_of(*one) for one in zip(values, chances, strict=True)]
    return tuple(Answer(*one) for one in zip(values, first, chances, sure, strict=True))


def amounts_of(trails: Sequence[Trail]) -> NDArray[np.float64] | None:
    """The amounts that the decision of a plan reads, one line for each trail; None if it reads none."""
    found = [trail.amounts for trail in trails if trail.amounts is not None]
    return np.array(found) if found else None


class Trail(Walker):
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
        together once all of them are given.
    unknown : {"error", "missing"}, default="error"
        A value that is neither a known category nor missing is an error, or counts as missing.
    prices : mapping of feature or group to float, optional
        Prices that differ from those of the plan for this row: of features, and of the set-up of groups.

    Attributes
    ----------
    plan : Plan
    """

    __slots__ = ("_unknown",)

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
        limit = plan.budget if budget is None else min(read_budget(budget), plan.budget)
        super().__init__(plan, limit, whole=count == "tree")
        self._unknown = unknown
        if prices is not None:
            for name, price in prices.items():
                self._set_price(name, price)
        if known is not None:
            for name, value in known.items():
                f = self._column(name)
                self.give(f, self._read(f, value))
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
        read = {}
        for name, value in values.items():
            f = self._column(name)
            read[f] = self._read(f, value)
        for f, number in read.items():
            self._keep(f, number)
        self.resume()

    def answer(self) -> Answer:
        """The answer from the last node finished; can be asked at any time."""
        return answer_of(self)

    @property
    def done(self) -> bool:
        """Whether there is nothing more to acquire."""
        return not self._needs()

    @property
    def amounts(self) -> NDArray[np.float64] | None:
        """The amounts that the decision reads, NaN where one is not acquired; None if it reads none."""
        columns, known = self.plan.amount_columns, self.known_values
        if not columns:
            return None
        paid = [self._state[KNOWN_AT + f] == PAID for f in columns]
        return np.array([known[f] if has else np.nan for f, has in zip(columns, paid, strict=True)])

    @property
    def unpaid_amounts(self) -> list[int]:
        """The columns with amounts that are still to be paid, before the first node begins."""
        return list(self.plan.amount_columns[int(self._state[AMOUNTS_DONE]) :])

    # -- values ----------------------------------------------------------------------------------------

    def _set_price(self, name: Any, price: float) -> None:
        costs = self.plan.costs
        if name in costs.group_names:
            place = len(costs) + costs.group_names.index(name)
        else:
            place = self._column(name, "a price of")
        self.set_price(place, read_price(price, f"the price of {name!r}"))

    def _keep(self, f: int, value: float) -> None:
        if not self.is_known(f):
            self.keep(f, value)
            return
        old = self.known_values[f]
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

    def _read(self, f: int, value: Any) -> float:
        return self.plan.encoder.value(f, value, self._unknown)

    def _shown(self, f: int, value: float) -> str:
        """A value as the user gave it."""
        known = self.plan.categories.get(f)
        return f"{value:g}" if known is None or np.isnan(value) else shown(known[int(value)])
