"""How the values of features were distributed in the training rows, as notes of a plan keep it.

A few values, or categories, have a share each. Other numbers have 11 quantiles, from 0 to 100 %.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from miserly.plan.metadata import FEATURES
from miserly.utils.checks import as_number

if TYPE_CHECKING:
    from miserly.plan.plan import Plan

__all__ = ["Distribution", "distribution_notes", "distribution_of"]

LEVELS = np.linspace(0.0, 1.0, 11)
_DIGITS = 6  # of shares


@dataclass(frozen=True, eq=False)
class Distribution:
    """The distribution of a feature in the training rows.

    Parameters
    ----------
    values : array
        Values as the plan computes with them, or 11 quantiles.
    shares : array or None
        The share of each value; None if `values` are quantiles.
    missing : float, default=0.0
        The share of rows without a value.
    whole : bool, default=False
        Whether all values are whole numbers.

    Examples
    --------
    >>> Distribution(np.array([1.0, 2.0]), np.array([0.0, 1.0])).draw(np.random.default_rng(0), 3).tolist()
    [2.0, 2.0, 2.0]
    """

    values: NDArray[np.float64]
    shares: NDArray[np.float64] | None
    missing: float = 0.0
    whole: bool = False

    def draw(self, rng: np.random.Generator, n: int) -> NDArray[np.float64]:
        """Return values at random, one from each of `n` equal parts of the distribution, in random order.

        Between two quantiles all numbers are equally probable. Shares among the draws are those of the
        distribution, up to one draw.

        Parameters
        ----------
        rng : Generator
            The source of randomness.
        n : int
            How many.

        Returns
        -------
        array of (n,)
            NaN where a value is missing.
        """
        level = (rng.permutation(n) + rng.random(n)) / n
        if self.shares is None:
            drawn = np.interp(level, LEVELS, self.values)
            drawn = np.rint(drawn) if self.whole else drawn
        else:
            ends = np.cumsum(self.shares / self.shares.sum())
            drawn = self.values[np.minimum(np.searchsorted(ends, level, side="right"), len(ends) - 1)]
        is_missing = (rng.permutation(n) + rng.random(n)) / n < self.missing
        return np.where(is_missing, np.nan, drawn)


def distribution_notes(
    column: NDArray[Any], values: Sequence[float] | None, n_categories: int = 0
) -> dict[str, Any]:
    """Return the notes for a column of training rows.

    Parameters
    ----------
    column : array of (n,)
        The training rows as numbers.
    values : sequence of float or None
        The values to count; None for quantiles.
    n_categories : int, default=0
        The number of categories, if the column holds their codes.

    Returns
    -------
    dict
        With ``shares`` or ``quantiles``, and ``missing`` if some values are.
    """
    numbers = np.asarray(column, dtype=np.float64)
    finite = numbers[np.isfinite(numbers)]
    notes: dict[str, Any] = {}
    if len(finite) < len(numbers):
        notes["missing"] = round(1.0 - len(finite) / len(numbers), _DIGITS)
    if not len(finite):
        return notes
    counted = range(n_categories) if n_categories else values
    if counted is None:
        notes["quantiles"] = np.quantile(finite, LEVELS).tolist()
    else:
        notes["shares"] = [round(float(np.mean(finite == one)), _DIGITS) for one in counted]
    return notes


def distribution_of(plan: Plan, column: int) -> Distribution | None:
    """Return the distribution of a column that a plan has in its notes; None if it has none.

    Parameters
    ----------
    plan : Plan
        The plan.
    column : int
        The number of the column.

    Returns
    -------
    Distribution or None
    """
    notes = plan.info.get(FEATURES)
    note = notes.get(str(plan.costs.name(column))) if isinstance(notes, Mapping) else None
    if not isinstance(note, Mapping):
        return None
    share = as_number(note.get("missing", 0.0))
    missing = share if share is not None and 0.0 <= share < 1.0 else 0.0
    categories = plan.categories.get(column)
    values = _numbers(note.get("values")) if categories is None else np.arange(float(len(categories)))
    shares = _numbers(note.get("shares"))
    if values is not None and shares is not None and len(values) == len(shares):
        if (shares >= 0.0).all() and shares.sum() > 0.0:
            return Distribution(values, shares, missing)
        return None
    quantiles = _numbers(note.get("quantiles"))
    if categories is None and quantiles is not None and len(quantiles) == len(LEVELS):
        return Distribution(np.sort(quantiles), None, missing, note.get("whole") is True)
    return None


def _numbers(given: Any) -> NDArray[np.float64] | None:
    """A list of finite numbers; None if it is something else."""
    if not isinstance(given, (list, tuple)) or not given:
        return None
    numbers = [as_number(one) for one in given]
    if any(one is None for one in numbers):
        return None
    array = np.array(numbers, dtype=np.float64)
    return array if np.isfinite(array).all() else None
