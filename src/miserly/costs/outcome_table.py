"""The costs of outcomes for known classes and rows: prices of answers, weights of rows, means of classes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from miserly.costs.amounts import AmountCells
from miserly.errors import CostError, did_you_mean
from miserly.utils.checks import shown

__all__ = ["OutcomeTable", "expected_costs"]

Floats: TypeAlias = NDArray[np.float64]

_LEAST_WEIGHT = 1e-3  # of the mean weight: a row whose mistakes are free still counts a little


@dataclass(frozen=True, eq=False)
class OutcomeTable:
    """Outcome costs of known classes; `OutcomeCosts.bind` makes it.

    Parameters
    ----------
    classes : tuple
        The classes.
    actions : tuple of str
        The answers that are no classes.
    table : array of (1 or n_rows, n_classes, n_answers)
        The cost of every answer, for all rows or for each. Answers are the classes, then the actions.
    amounts : AmountCells, optional
        Which of the costs are a factor times a column of the rows; numbers of columns are places in `names`.
    names : tuple of str, default=()
        The names of the columns.
    typical : tuple of float, default=()
        The amount of each column that counts where that of a row is not known; NaN for the mean amounts of
        the classes.

    Examples
    --------
    >>> from miserly.costs import OutcomeCosts
    >>> table = OutcomeCosts([[0, 10], [500, 0]]).bind(["no", "yes"])
    >>> table.weights(["no", "yes", "no"]).tolist()
    [10.0, 500.0, 10.0]
    """

    classes: tuple[Any, ...]
    actions: tuple[str, ...]
    table: Floats
    amounts: AmountCells | None = None
    names: tuple[str, ...] = ()
    typical: tuple[float, ...] = ()

    def __post_init__(self) -> None:
        for name in self.actions:
            if name in [str(label) for label in self.classes]:
                raise CostError(f"{name!r} is a class, so no action can have that name")

    @property
    def answers(self) -> tuple[Any, ...]:
        """All answers: the classes, then the actions."""
        return (*self.classes, *self.actions)

    @property
    def n_rows(self) -> int | None:
        """The number of rows if each has costs of its own, else None."""
        return None if len(self.table) == 1 else len(self.table)

    @property
    def span(self) -> float:
        """By how much the costs of two answers to one row can differ at most."""
        return float((self.table.max(axis=2) - self.table.min(axis=2)).max())

    @property
    def largest(self) -> float:
        """The most that an outcome costs."""
        return float(self.table.max())

    def take(self, rows: NDArray[Any]) -> OutcomeTable:
        """The costs of some of the rows.

        Parameters
        ----------
        rows : array of int or bool
            Row numbers, in any order, or a mask.

        Returns
        -------
        OutcomeTable
            Itself if all rows have the same costs.
        """
        return self if self.n_rows is None else replace(self, table=self.table[rows])

    def bind(self, classes: ArrayLike) -> OutcomeTable:
        """The costs for some of the classes, in another order.

        Parameters
        ----------
        classes : array-like
            The classes; each must be one of the table's.

        Returns
        -------
        OutcomeTable
            With all actions.
        """
        known = np.asarray(classes).tolist()
        if tuple(known) == self.classes:
            return self
        places = places_of(self.classes, known, "class")
        answers = np.append(places, np.arange(len(self.classes), len(self.answers)))
        return replace(
            self,
            classes=tuple(known),
            table=self.table[:, places][:, :, answers],
            amounts=None if self.amounts is None else self.amounts.take(places, answers),
        )

    def check_rows(self, n: int) -> OutcomeTable:
        """Itself, after a check that it has costs for `n` rows.

        Parameters
        ----------
        n : int
            The number of rows.

        Returns
        -------
        OutcomeTable
            Itself.
        """
        if self.n_rows not in (None, n):
            raise CostError(f"outcome costs of {self.n_rows} rows were given for {n} rows")
        return self

    def cost_of(self, y: ArrayLike, answers: ArrayLike) -> Floats:
        """What answers to rows of known classes cost.

        Parameters
        ----------
        y : array-like of (n,)
            The actual class of each row.
        answers : array-like of (n,)
            The answer to each row: a class or an action.

        Returns
        -------
        array of (n,)
            The cost of each outcome.
        """
        actual, given = self.codes(y), places_of(self.answers, listed(answers), "answer")
        self.check_rows(len(actual))
        rows = 0 if self.n_rows is None else np.arange(len(actual))
        costs: Floats = self.table[rows, actual, given]
        return costs

    def decide(self, probabilities: ArrayLike) -> NDArray[Any]:
        """The answer of least expected cost to each row; the first of equals.

        Parameters
        ----------
        probabilities : array-like of (n, n_classes)
            The probability of each class for each row.

        Returns
        -------
        array of (n,)
            Classes and actions.

        Examples
        --------
        A fraud that is missed costs its amount, and stopping an honest payment costs 10.

        >>> from miserly.costs import OutcomeCosts
        >>> costs = OutcomeCosts({("fraud", "fine"): [900, 20], ("fine", "fraud"): 10})
        >>> costs.bind(["fine", "fraud"]).decide([[0.9, 0.1], [0.9, 0.1]]).tolist()
        ['fraud', 'fine']
        """
        chances = np.asarray(probabilities, dtype=np.float64)
        if chances.ndim != 2 or chances.shape[1] != len(self.classes):
            raise CostError(
                f"probabilities must have a column for each of {len(self.classes)} classes, not the shape "
                f"{chances.shape}"
            )
        self.check_rows(len(chances))
        expected = expected_costs(chances, self.table)
        answers = np.empty(len(self.answers), dtype=object)
        answers[:] = self.answers
        mixed = self.actions and not isinstance(self.classes[0], str)
        return (answers if mixed else np.array(self.answers))[expected.argmin(axis=1)]

    def codes(self, y: ArrayLike) -> NDArray[np.int64]:
        """The place of each label among the classes.

        Parameters
        ----------
        y : array-like of (n,)
            Labels.

        Returns
        -------
        array of (n,)
            Whole numbers.
        """
        return places_of(self.classes, listed(y), "class")

    def weights(self, y: ArrayLike) -> Floats:
        """Training weights: what a wrong answer to each row costs more than the right one, on average.

        With two classes a model that minimises the weighted number of mistakes minimises their cost
        (Zadrozny, Langford and Abe 2003). With more classes it is the mean over the wrong classes.

        Parameters
        ----------
        y : array-like of (n,)
            The actual class of each row.

        Returns
        -------
        array of (n,)
            Weights above 0.
        """
        actual = self.codes(y)
        self.check_rows(len(actual))
        classes = self.table[:, :, : len(self.classes)]
        right = np.diagonal(classes, axis1=1, axis2=2)
        extra = (classes.sum(axis=2) - len(self.classes) * right) / max(1, len(self.classes) - 1)
        own: Floats = extra[0 if self.n_rows is None else np.arange(len(actual)), actual]
        own = np.maximum(own, 0.0)
        return np.maximum(own, _LEAST_WEIGHT * own.mean()) if own.any() else np.ones(len(own))

    def class_means(self, y: ArrayLike, sample_weight: Floats | None = None) -> tuple[Floats, Floats]:
        """The mean cost of each answer, and the mean weight, over the rows of each class.

        Parameters
        ----------
        y : array-like of (n,)
            The actual class of each row.
        sample_weight : array of (n,), optional
            How much each row counts.

        Returns
        -------
        costs : array of (n_classes, n_answers)
        weights : array of (n_classes,)
        """
        actual, own = self.codes(y), self.weights(y)
        count = np.ones(len(actual)) if sample_weight is None else np.asarray(sample_weight, dtype=np.float64)
        costs, weights = self.table.mean(axis=0), np.ones(len(self.classes))
        for k in range(len(self.classes)):
            mine = (actual == k) & (count > 0.0)
            if mine.any():
                weights[k] = np.average(own[mine], weights=count[mine])
                if self.n_rows is not None:
                    costs[k] = np.average(self.table[mine, k], axis=0, weights=count[mine])
        return self._typical(costs), weights

    def levelled(self, y: ArrayLike, sample_weight: Floats | None = None) -> OutcomeTable:
        """The same with the mean of each class in place of costs that are in columns of the rows.

        Parameters
        ----------
        y : array-like of (n,)
            The actual class of each row.
        sample_weight : array of (n,), optional
            How much each row counts.

        Returns
        -------
        OutcomeTable
            Itself if no costs are in columns.
        """
        if self.amounts is None:
            return self
        costs, _ = self.class_means(y, sample_weight)
        return replace(self, table=np.where(self.amounts.is_own, costs, self.table))

    def _typical(self, costs: Floats) -> Floats:
        """Costs with typical amounts in place of means, where there are some."""
        if self.amounts is None:
            return costs
        places = self.amounts.columns
        given = self.amounts.factors * np.array([*self.typical, np.nan])[places]  # -1 is the last place
        return np.where(np.isnan(given), costs, given)


def expected_costs(chances: Floats, table: Floats) -> Floats:
    """The expected cost of each answer, summed in the same order for one row and for many.

    Parameters
    ----------
    chances : array of (n, n_classes)
        Probabilities of the classes.
    table : array of (1 or n, n_classes, n_answers)
        The cost of every answer, for all rows or for each.

    Returns
    -------
    array of (n, n_answers)
    """
    total = np.zeros((len(chances), table.shape[2]))
    for k in range(table.shape[1]):
        total += chances[:, k, None] * table[:, k]
    return total


def listed(values: ArrayLike) -> list[Any]:
    plain: list[Any] = np.asarray(values).tolist()
    return plain


def places_of(known: Sequence[Any], labels: Sequence[Any], what: str) -> NDArray[np.int64]:
    """The place of each label among the known ones, compared as they are, or else as text."""
    place: dict[Any, int] = {str(label): i for i, label in enumerate(known)}
    place |= {label: i for i, label in enumerate(known)}
    found = {}
    for label in dict.fromkeys(labels):
        at = place.get(label, place.get(str(label)))
        if at is None:
            raise CostError(
                f"{what} {shown(label)} has no outcome costs{did_you_mean(label, known)} "
                f"There are costs of {', '.join(map(shown, known))}"
            )
        found[label] = at
    return np.array([found[label] for label in labels], dtype=np.int64)
