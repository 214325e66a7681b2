"""Costs of outcomes that are a factor times an amount of the row, such as the sum of a payment."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

__all__ = ["MOST_AMOUNT", "Amount", "AmountCells"]

Floats: TypeAlias = NDArray[np.float64]
Ints: TypeAlias = NDArray[np.int64]

MOST_AMOUNT = 1e100  # sums of products with probabilities are finite up to here
_PRODUCT = re.compile(r"\s*(\d+(?:\.\d*)?(?:[eE][-+]?\d+)?)\s*\*\s*(\S.*?)\s*")


@dataclass(frozen=True, eq=False, repr=False)
class Amount:
    """A cost that is a factor times a column of the rows.

    Parameters
    ----------
    column : str
        The name of the column.
    factor : float, default=1.0
        What its values are multiplied by.
    values : float or array of (n,), optional
        The products, once the rows are known.
    """

    column: str
    factor: float = 1.0
    values: float | Floats | None = None

    @classmethod
    def read(cls, text: str) -> Amount:
        """The amount that a text names.

        Parameters
        ----------
        text : str
            The name of a column, or a number, ``*`` and the name of a column.

        Returns
        -------
        Amount

        Examples
        --------
        >>> Amount.read("amount"), Amount.read("0.02 * amount")
        ('amount', '0.02 * amount')
        """
        found = _PRODUCT.fullmatch(text)
        return cls(text) if found is None else cls(found[2], float(found[1]))

    def of(self, amounts: float | Floats) -> Amount:
        """The same with values.

        Parameters
        ----------
        amounts : float or array of (n,)
            The values of the column.

        Returns
        -------
        Amount
        """
        return replace(self, values=self.factor * amounts)

    def __repr__(self) -> str:
        return repr(self.column if self.factor == 1.0 else f"{self.factor:g} * {self.column}")


@dataclass(frozen=True, eq=False)
class AmountCells:
    """Which costs of outcomes are a factor times an amount of the row.

    Parameters
    ----------
    columns : int array of (n_classes, n_answers)
        The number of the column that holds the amount; -1 where the cost is the same for all rows.
    factors : array of (n_classes, n_answers)
        What the amount is multiplied by.

    Examples
    --------
    A missed fraud costs the amount in column 3, a false alarm 15. The second amount is missing:

    >>> cells = AmountCells(np.array([[-1, -1], [3, -1]]), np.ones((2, 2)))
    >>> cells.fill(np.array([[0.0, 15.0], [120.0, 0.0]]), np.array([[900.0], [np.nan]])).tolist()
    [[[0.0, 15.0], [900.0, 0.0]], [[0.0, 15.0], [120.0, 0.0]]]
    """

    columns: Ints
    factors: Floats

    @property
    def used(self) -> tuple[int, ...]:
        """The numbers of the columns, rising."""
        return tuple(one for one in np.unique(self.columns).tolist() if one >= 0)

    @property
    def is_own(self) -> NDArray[np.bool_]:
        """Where costs differ from row to row, (n_classes, n_answers)."""
        return self.columns >= 0

    def take(self, classes: Ints, answers: Ints) -> AmountCells:
        """The cells of some classes and answers.

        Parameters
        ----------
        classes : int array
            The places of the classes.
        answers : int array
            The places of the answers.

        Returns
        -------
        AmountCells
        """
        return AmountCells(self.columns[np.ix_(classes, answers)], self.factors[np.ix_(classes, answers)])

    def moved(self, places: dict[int, int]) -> AmountCells:
        """The same cells with other numbers of columns.

        Parameters
        ----------
        places : dict of int to int
            The new number of each column.

        Returns
        -------
        AmountCells
        """
        columns = [[places.get(one, -1) for one in line] for line in self.columns.tolist()]
        return AmountCells(np.array(columns, dtype=np.int64), self.factors)

    def fill(self, costs: Floats, amounts: Floats) -> Floats:
        """The costs of outcomes for rows with amounts of their own.

        Parameters
        ----------
        costs : array of (n_classes, n_answers)
            The costs of a row whose amounts are not known.
        amounts : array of (n, n_used)
            The amounts of each row in the order of `used`. One that is missing, negative or above 1e100
            counts as not known.

        Returns
        -------
        array of (n, n_classes, n_answers)
        """
        table = np.repeat(costs[None], len(amounts), axis=0)
        known = (amounts >= 0.0) & (amounts <= MOST_AMOUNT)
        for j, column in enumerate(self.used):
            rows = np.flatnonzero(known[:, j])
            for k, a in np.argwhere(self.columns == column).tolist():
                table[rows, k, a] = self.factors[k, a] * amounts[rows, j]
        return table
