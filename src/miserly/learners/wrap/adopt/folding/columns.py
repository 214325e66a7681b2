"""A column that a model reads, as a function of one raw column."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

__all__ = ["Categories", "Column", "Numbers", "Unread"]

Floats: TypeAlias = NDArray[np.float64]

_RULES: dict[str, Callable[[Any, float], Any]] = {
    "subtract": np.subtract,
    "divide": np.divide,
    "multiply": np.multiply,
    "add": np.add,
    "at least": np.maximum,
    "at most": np.minimum,
}


@dataclass(frozen=True)
class Unread:
    """A raw column as it is: numbers or categories, whatever the first step that reads it takes it for.

    Attributes
    ----------
    source : int
        The raw column.
    fill : object
        What missing values are replaced by; None if they stay missing.
    """

    source: int
    fill: Any = None


@dataclass(frozen=True)
class Numbers:
    """A function of a raw column of numbers that never falls, step by step in the library's own arithmetic.

    Attributes
    ----------
    source : int
        The raw column.
    steps : tuple of (str, float)
        Operations and their constants, in order. Each is monotone, in floating point too.
    missing : float
        The value where the raw column is missing; NaN if it is missing then as well.
    constant : float, optional
        The value of all numbers, where the column only says what is missing.
    """

    source: int
    steps: tuple[tuple[str, float], ...] = ()
    missing: float = np.nan
    constant: float | None = None

    def then(self, operation: str, number: float) -> Numbers:
        """The column after one more operation."""
        missing = float(_RULES[operation](np.float64(self.missing), number))
        if self.constant is not None:
            constant = float(_RULES[operation](np.float64(self.constant), number))
            return replace(self, constant=constant, missing=missing)
        return replace(self, steps=(*self.steps, (operation, number)), missing=missing)

    def __call__(self, x: Floats) -> Floats:
        """The values of raw numbers, none of them missing.

        >>> Numbers(0, (("subtract", 1.0), ("divide", 2.0)))(np.array([3.0, 5.0])).tolist()
        [1.0, 2.0]
        """
        if self.constant is not None:
            return np.full(len(x), self.constant)
        with np.errstate(over="ignore"):
            for operation, number in self.steps:
                x = _RULES[operation](x, number)
        return x

    @property
    def line(self) -> tuple[float, float] | None:
        """Slope and intercept; None if the function is not a line."""
        if self.constant is not None:
            return 0.0, self.constant
        slope, intercept = 1.0, 0.0
        for operation, number in self.steps:
            if operation in ("at least", "at most"):
                return None
            if operation in ("subtract", "add"):
                intercept += number if operation == "add" else -number
            else:
                factor = number if operation == "multiply" else 1.0 / number
                slope, intercept = slope * factor, intercept * factor
        return slope, intercept


@dataclass(frozen=True, eq=False)
class Categories:
    """A value for each category of a raw column.

    Attributes
    ----------
    source : int
        The raw column.
    values : tuple
        The categories.
    table : array of (n_categories,)
        The value of each.
    missing : float
        The value where the raw column is missing.
    """

    source: int
    values: tuple[Any, ...]
    table: Floats
    missing: float

    def then(self, operation: str, number: float) -> Categories:
        """The column after one more operation."""
        rule = _RULES[operation]
        return replace(
            self, table=rule(self.table, number), missing=float(rule(np.float64(self.missing), number))
        )


Column: TypeAlias = Unread | Numbers | Categories
