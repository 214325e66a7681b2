"""Checks of costs, budgets, values, names and query ids."""

from __future__ import annotations

import math
from collections.abc import Sequence
from decimal import Decimal
from numbers import Real
from typing import Any

import numpy as np
from numpy.typing import NDArray

from miserly.errors import CostError, DataError

_LONGEST = 80  # characters of a value in an error message

__all__ = [
    "as_number",
    "check_queries",
    "is_missing",
    "read_budget",
    "read_price",
    "refuse_duplicates",
    "refuse_masked",
    "shown",
]


def read_price(value: Any, what: str) -> float:
    """Return a cost as a float; `CostError` unless it is a finite number, 0 or more.

    Parameters
    ----------
    value : object
        The cost. Booleans and text are refused, although `float` accepts them.
    what : str
        What the cost belongs to, for the error message.

    Returns
    -------
    float
        The cost.

    Examples
    --------
    >>> read_price(np.float32(2.5), "feature 'age'")
    2.5
    """
    number = as_number(value)
    if number is None:
        raise CostError(f"the cost of {what} must be a number, not {shown(value)}")
    if math.isnan(number):
        raise CostError(f"the cost of {what} is missing (NaN)")
    if number < 0:
        raise CostError(f"the cost of {what} is negative ({number:g})")
    if math.isinf(number):
        raise CostError(f"the cost of {what} is infinite; leave the feature out instead")
    return number + 0.0  # -0.0 becomes 0.0, so that equal costs have equal bytes


def read_budget(budget: float | None) -> float:
    """Return a budget as a float; None means no limit.

    Parameters
    ----------
    budget : float or None
        The budget, 0 or more.

    Returns
    -------
    float
        The budget; infinity for None.

    Raises
    ------
    CostError
        If the budget is negative, NaN or not a number.

    Examples
    --------
    >>> read_budget(None), read_budget(5)
    (inf, 5.0)
    """
    if budget is None:
        return math.inf
    number = as_number(budget)
    if number is None:
        raise CostError(f"a budget is a number or None, not {shown(budget)}")
    if not number >= 0.0:
        raise CostError(f"a budget cannot be {number:g}: give 0 or more, or None for no limit")
    return number


def refuse_duplicates(names: Sequence[str], what: str) -> None:
    """Raise `CostError` if a name occurs twice."""
    seen: set[str] = set()
    for name in names:
        if name in seen:
            raise CostError(f"{what} {name!r} appears twice")
        seen.add(name)


def check_queries(qid: Any, n: int, what: str = "qid") -> NDArray[Any]:
    """Return the query ids of `n` rows as an array; they are all numbers or all text, and none is missing.

    >>> check_queries(["b", None], 2)
    Traceback (most recent call last):
    miserly.errors.DataError: qid[1] is None; every row needs a query
    """
    refuse_masked(qid, what)
    try:
        queries = np.asarray(qid)
    except ValueError:
        raise DataError(f"{what} must be one list of {n} queries, not lists of several lengths") from None
    if queries.shape != (n,):
        raise DataError(f"{what} must name the query of each of {n} rows; its shape is {queries.shape}")
    if queries.dtype.kind in "fO":
        for row, query in enumerate(queries.tolist()):
            if is_missing(query):
                raise DataError(f"{what}[{row}] is {shown(query)}; every row needs a query")
    if queries.dtype.kind == "O":
        kinds = {str if isinstance(query, str) else float for query in queries.tolist()}
        strange = [row for row, query in enumerate(queries.tolist()) if not isinstance(query, (str, Real))]
        if strange or len(kinds) > 1:
            row = strange[0] if strange else 0
            raise DataError(f"{what} must be all numbers or all text; {what}[{row}] is {shown(queries[row])}")
    return queries


def refuse_masked(values: Any, what: str) -> None:
    """Raise `DataError` for a masked array, whose mask NumPy would drop silently."""
    if isinstance(values, np.ma.MaskedArray):
        raise DataError(f"{what} is a masked array; give only rows without masked values")


def as_number(value: Any) -> float | None:
    """Return a value as a float, infinite if it is too large for one; None if it is not a number.

    Booleans and text are not numbers: `float` would read True as 1 and "5" as 5.
    """
    if isinstance(value, bool) or not isinstance(value, (Real, Decimal)):
        return None
    try:
        return float(value)
    except OverflowError:
        return math.inf if value > 0 else -math.inf  # type: ignore[operator]


def is_missing(value: Any) -> bool:
    """Whether a value is missing: None, NaN, or pandas' NA and NaT.

    >>> is_missing(None), is_missing(float("nan")), is_missing("nan")
    (True, True, False)
    """
    if value is None or type(value).__name__ in ("NAType", "NaTType"):
        return True
    if isinstance(value, Decimal):
        return value.is_nan()
    return isinstance(value, (float, np.floating)) and bool(value != value)


def shown(value: Any) -> str:
    """Return a value as errors quote it: the repr of the plain Python value, at most 80 characters.

    >>> shown(np.float64(2.5)), shown(10**5000)
    ('2.5', 'an int of very many digits')
    """
    plain = value.item() if isinstance(value, np.generic) else value
    try:
        text = repr(plain)
    except ValueError:  # Python declines to write very long numbers
        return f"an {type(plain).__name__} of very many digits"
    return text if len(text) <= _LONGEST else text[: _LONGEST - 3] + "..."
