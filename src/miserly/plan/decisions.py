"""Decisions: the answer of least expected cost, from class probabilities and the costs of outcomes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from miserly.costs.amounts import MOST_AMOUNT, AmountCells
from miserly.costs.outcome_table import expected_costs
from miserly.errors import PlanError
from miserly.plan.show.phrases import listing, number

if TYPE_CHECKING:
    from miserly.plan.show.wording import Wording

__all__ = ["Decision"]

Floats: TypeAlias = NDArray[np.float64]

_KEYS = ("actions", "costs", "weights")
_OWN = "amounts"  # a key that only records of decisions by amounts have
_MOST_SHOWN = 4  # classes up to which descriptions list all costs


@dataclass(frozen=True, eq=False)
class Decision:
    """Answers with the class or action of least expected cost.

    The expected cost of answer `a` is ``sum_k p_k costs[k, a]``, where ``p_k`` is the probability of class
    `k`. The first of equals is taken.

    Parameters
    ----------
    costs : array of (n_classes, n_answers)
        What each answer costs, by the actual class. Answers are the classes, then the actions.
    actions : sequence of str, default=()
        Answers that are no classes, such as "refer".
    weights : array of (n_classes,), optional
        How much rows of each class counted in training. The link then gives the probabilities of a
        distribution in which class `k` is ``weights[k]`` times as frequent, and these are divided by the
        weights. All classes counted the same by default.
    amounts : AmountCells, optional
        Which costs are a factor times a column of the row. `costs` then holds what counts where the amount
        is not known. By default all rows have the same costs.

    Examples
    --------
    A missed case costs 100, a false alarm 10, and asking an expert 6:

    >>> decision = Decision([[0, 10, 6], [100, 0, 6]], actions=["expert"])
    >>> chances = np.array([[0.99, 0.01], [0.8, 0.2], [0.1, 0.9]])
    >>> decision.codes(chances).tolist(), decision.expected(chances).min(axis=1).round(2).tolist()
    ([0, 2, 1], [1.0, 6.0, 1.0])

    A missed fraud costs the amount, which is in column 3, or 200 where the amount is not known:

    >>> own = AmountCells(np.array([[-1, -1], [3, -1]]), np.ones((2, 2)))
    >>> decision = Decision([[0, 15], [200, 0]], amounts=own)
    >>> decision.codes(np.array([[0.9, 0.1]] * 3), np.array([[900.0], [20.0], [np.nan]])).tolist()
    [1, 0, 1]
    """

    costs: Floats
    actions: tuple[str, ...] = ()
    weights: Floats | None = None
    amounts: AmountCells | None = None

    def __post_init__(self) -> None:
        costs = np.array(self.costs, dtype=np.float64)
        if costs.ndim != 2 or not len(costs) >= 2:
            raise PlanError(f"a decision needs a matrix of costs with a line per class, not {costs.shape}")
        weights = np.ones(len(costs)) if self.weights is None else np.array(self.weights, dtype=np.float64)
        actions = tuple(self.actions)
        if costs.shape[1] != len(costs) + len(actions) or weights.shape != (len(costs),):
            raise PlanError(
                f"a decision among {len(costs)} classes and {len(actions)} actions needs as many columns of "
                f"costs and one weight per class, not {costs.shape[1]} and {weights.shape}"
            )
        if not ((costs >= 0.0) & (costs <= MOST_AMOUNT)).all():
            raise PlanError(f"the costs of a decision must be numbers from 0 to {MOST_AMOUNT:g}")
        if not ((weights > 0.0) & np.isfinite(weights)).all():
            raise PlanError("the weights of a decision must be finite and above 0")
        if not all(isinstance(name, str) and name for name in actions) or len({*actions}) < len(actions):
            raise PlanError("the actions of a decision must be different texts")
        if self.amounts is not None:
            _check_amounts(self.amounts, costs.shape)
        put = object.__setattr__
        put(self, "costs", costs)
        put(self, "actions", actions)
        put(self, "weights", weights / weights.max())

    @property
    def n_classes(self) -> int:
        """The number of classes."""
        return len(self.costs)

    @property
    def is_weighted(self) -> bool:
        """Whether some class counts more than another in the probabilities of the link."""
        assert self.weights is not None
        return bool((self.weights != 1.0).any())

    @property
    def columns(self) -> tuple[int, ...]:
        """The columns whose values are amounts, rising."""
        return () if self.amounts is None else self.amounts.used

    def check(self, n_labels: int, classes: NDArray[Any] | None, has_probabilities: bool) -> None:
        """Raise `PlanError` if a plan cannot decide by it.

        Parameters
        ----------
        n_labels : int
            The number of classes of the plan.
        classes : array of (n_classes,) or None
            The classes.
        has_probabilities : bool
            Whether the link gives probabilities.
        """
        if not has_probabilities:
            raise PlanError("a decision by expected costs needs a link with class probabilities")
        if self.n_classes != n_labels:
            raise PlanError(f"a decision among {self.n_classes} classes in a plan of {n_labels}")
        for label in [] if classes is None else classes.tolist():
            if str(label) in self.actions:
                raise PlanError(f"{label!r} is a class, so no action can have that name")

    def check_columns(self, n_features: int, categories: Mapping[int, Any]) -> None:
        """Raise `PlanError` if amounts are not in columns of numbers.

        Parameters
        ----------
        n_features : int
            The number of columns.
        categories : mapping
            The columns that hold categories.
        """
        for column in self.columns:
            if column >= n_features:
                raise PlanError(f"a decision by amounts in column {column}, where there are {n_features}")
            if column in categories:
                raise PlanError(f"column {column} holds categories, which are no amounts")

    # -- deciding ------------------------------------------------------------------------------------

    def probabilities(self, linked: Floats) -> Floats:
        """Class probabilities of the rows, however classes were weighted in training.

        Parameters
        ----------
        linked : array of (n, n_classes)
            Probabilities that the link gives.

        Returns
        -------
        array of (n, n_classes)
            Probabilities.
        """
        assert self.weights is not None
        if not self.is_weighted:
            return linked
        parts = linked / self.weights
        total = np.zeros(len(parts))
        for k in range(parts.shape[1]):
            total += parts[:, k]
        return np.asarray(parts / total[:, None])

    def expected(self, linked: Floats, amounts: Floats | None = None) -> Floats:
        """The expected cost of each answer.

        Parameters
        ----------
        linked : array of (n, n_classes)
            Probabilities that the link gives.
        amounts : array of (n, n_columns), optional
            The amounts of each row in the order of `columns`; NaN where one is not known. None is known by
            default.

        Returns
        -------
        array of (n, n_answers)
            Costs, in the unit of the plan.
        """
        table = self.costs[None]
        if self.amounts is not None and amounts is not None:
            table = self.amounts.fill(self.costs, amounts)
        return expected_costs(self.probabilities(linked), table)

    def codes(self, linked: Floats, amounts: Floats | None = None) -> NDArray[np.int64]:
        """The answers as numbers.

        Parameters
        ----------
        linked : array of (n, n_classes)
            Probabilities that the link gives.
        amounts : array of (n, n_columns), optional
            As for `expected`.

        Returns
        -------
        array of (n,)
            Numbers of classes, then of actions.
        """
        return self.expected(linked, amounts).argmin(axis=1)

    def labels(
        self, linked: Floats, classes: NDArray[Any] | None, amounts: Floats | None = None
    ) -> NDArray[Any]:
        """The answers.

        Parameters
        ----------
        linked : array of (n, n_classes)
            Probabilities that the link gives.
        classes : array of (n_classes,) or None
            The classes; their numbers by default.
        amounts : array of (n, n_columns), optional
            As for `expected`.

        Returns
        -------
        array of (n,)
            Classes and actions.
        """
        codes = self.codes(linked, amounts)
        known = np.arange(self.n_classes) if classes is None else classes
        if not self.actions:
            return known[codes]
        if known.dtype.kind in "UT":
            return np.array([*known.tolist(), *self.actions])[codes]
        answers = np.empty(self.costs.shape[1], dtype=object)
        answers[:] = [*known.tolist(), *self.actions]
        return answers[codes]

    # -- files and words -----------------------------------------------------------------------------

    def record(self) -> dict[str, Any]:
        """Plain values for a file.

        Returns
        -------
        dict
            What `from_record` takes.
        """
        assert self.weights is not None
        record = {
            "actions": list(self.actions),
            "costs": self.costs.tolist(),
            "weights": self.weights.tolist(),
        }
        if self.amounts is None:
            return record
        own = {"columns": self.amounts.columns.tolist(), "factors": self.amounts.factors.tolist()}
        return {**record, _OWN: own}

    @classmethod
    def from_record(cls, record: Any) -> Decision:
        """The decision of a record.

        Parameters
        ----------
        record : mapping
            Plain values, maybe of a damaged file.

        Returns
        -------
        Decision
            The decision; `PlanError` if the record is none.
        """
        if not isinstance(record, Mapping) or {*record} - {_OWN} != {*_KEYS}:
            raise PlanError(f"a decision must hold {', '.join(_KEYS)}, and nothing else")
        actions, costs, weights = (record[key] for key in _KEYS)
        _check_lines([weights], (int, float), "weights")
        _check_lines(costs, (int, float), "costs")
        if not isinstance(actions, list):
            raise PlanError("a decision needs a list of actions")
        own = _amounts_of(record[_OWN]) if _OWN in record else None
        matrix, weight = (np.array(one, dtype=np.float64) for one in (costs, weights))
        return cls(matrix, tuple(actions), weight, own)

    def words(self, words: Wording) -> str:
        """How the answer is decided, in sentences.

        Parameters
        ----------
        words : Wording
            The words of the plan.

        Returns
        -------
        str
            One sentence or two.
        """
        names = [words.label(k) for k in range(self.n_classes)] + [f'"{name}"' for name in self.actions]
        text = "The answer is the one of least expected cost"
        if self.actions:
            text += f"; {listing(names[self.n_classes :])} is an answer that is no class"
        if self.n_classes > _MOST_SHOWN:
            return f"{text}."
        unit = f" {words.unit}" if words.unit else ""
        parts = [
            f"{names[a]} costs {self._cost_words(k, a, words)}{unit} where {names[k]} is true"
            for k in range(self.n_classes)
            for a in range(len(names))
            if self.costs[k, a] > 0.0 or self._is_own(k, a)
        ]
        text = f"{text}: {listing(parts)}." if parts else f"{text}."
        return text + self._amount_words(words)

    def _is_own(self, k: int, a: int) -> bool:
        return self.amounts is not None and bool(self.amounts.is_own[k, a])

    def _cost_words(self, k: int, a: int, words: Wording) -> str:
        cost = number(float(self.costs[k, a]))
        if self.amounts is None or not self._is_own(k, a):
            return cost
        factor, name = float(self.amounts.factors[k, a]), words.feature(int(self.amounts.columns[k, a]))
        return f"{name if factor == 1.0 else f'{number(factor)} times {name}'} (or {cost} if not known)"

    def _amount_words(self, words: Wording) -> str:
        """Which columns hold amounts, in one sentence; empty if none does."""
        if not self.columns:
            return ""
        names = listing([words.feature(column) for column in self.columns])
        return f" {names} {'is' if len(self.columns) == 1 else 'are'} asked for before anything else."


def _check_amounts(amounts: AmountCells, shape: tuple[int, ...]) -> None:
    columns, factors = amounts.columns, amounts.factors
    if columns.shape != shape or factors.shape != shape:
        raise PlanError(f"amounts of {columns.shape} for costs of {shape}")
    if not ((factors >= 0.0) & (factors <= MOST_AMOUNT)).all():
        raise PlanError(f"the factors of amounts must be numbers from 0 to {MOST_AMOUNT:g}")
    if (columns < -1).any() or not amounts.used:
        raise PlanError("amounts need the numbers of their columns, and -1 where costs are the same for all")


def _check_lines(lines: Any, kinds: Sequence[type], what: str) -> None:
    """Raise `PlanError` unless all lines are lists of numbers and have one length."""
    for line in lines if isinstance(lines, list) else [None]:
        if not isinstance(line, list) or any(type(one) not in kinds for one in line):
            raise PlanError(f"the {what} of a decision must be lists of numbers")
    if len({len(line) for line in lines}) != 1:
        raise PlanError(f"the {what} of a decision must have lines of one length")


def _amounts_of(record: Any) -> AmountCells:
    """The amounts of a record, maybe of a damaged file."""
    if not isinstance(record, Mapping) or sorted(record) != ["columns", "factors"]:
        raise PlanError("the amounts of a decision must hold columns and factors, and nothing else")
    _check_lines(record["columns"], (int,), "columns of amounts")
    _check_lines(record["factors"], (int, float), "factors of amounts")
    try:
        columns = np.array(record["columns"], dtype=np.int64)
    except OverflowError:
        raise PlanError("a column of amounts has a number that no plan has") from None
    return AmountCells(columns, np.array(record["factors"], dtype=np.float64))
