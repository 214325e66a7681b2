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
    """An unchanged raw column. The first step that reads it decides if it holds numbers or categories.

    Attributes
    ----------
    source : int
        The raw column.
    fill : object
        The value that replaces missing values; None if they stay missing.
    """

    source: int
    fill: Any = None


@dataclass(frozen=True)
class Numbers:
    """A non-decreasing function of a raw numeric column, computed in the same steps as in the library.

    Attributes
    ----------
    source : int
        The raw column.
    steps : tuple of (str, float)
        Operations and their constants, in order. Each is monotone, in floating point too.
    missing : float
        The value if the raw column is missing; NaN if it stays missing.
    constant : float, optional
        The value of all numbers, if the column is only an indicator of missing values.
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
        """Slope and intercept; None if the function is not linear."""
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
        The value if the raw column is missing.
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
