"""What people need to know about a feature: its meaning, unit, range and categories.

Facts are notes of a plan, in ``plan.info["features"]``. They change neither answers nor the digest.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from miserly.errors import PlanError
from miserly.plan.show.phrases import listing
from miserly.plan.terms import Tree
from miserly.utils.checks import as_number

if TYPE_CHECKING:
    from miserly.plan.plan import Plan

__all__ = ["FEATURES", "FeatureFacts", "feature_facts", "range_facts"]

FEATURES = "features"  # the key of `Plan.info`
_MOST_VALUES = 10  # different whole numbers that are noted one by one


@dataclass(frozen=True)
class FeatureFacts:
    """What is known about a feature, for the person who is asked for its value.

    Attributes
    ----------
    about : str
        What the feature is; empty if the plan does not say.
    unit : str
        The unit of its values; empty if there is none.
    low, high : float or None
        The range of the training rows.
    whole : bool
        Whether all values of the training rows were whole numbers.
    values : tuple of float
        The values of the training rows, if they were a few whole numbers; else empty.
    categories : tuple
        The allowed values; empty for numbers.
    splits : tuple of float
        The values that trees compare the feature with, in order.
    """

    about: str = ""
    unit: str = ""
    low: float | None = None
    high: float | None = None
    whole: bool = False
    values: tuple[float, ...] = ()
    categories: tuple[Any, ...] = ()
    splits: tuple[float, ...] = ()

    @property
    def examples(self) -> tuple[Any, ...]:
        """Values that the plan may tell apart: categories, known values, or one between any two splits."""
        if self.categories or self.values:
            return self.categories or self.values
        low, high = self.low, self.high
        if self.splits:
            margin = max(1.0, self.splits[-1] - self.splits[0])
            low = self.splits[0] - margin if low is None else low
            high = self.splits[-1] + margin if high is None else high
        if low is None or high is None:
            return ()
        ends = [low, *(one for one in self.splits if low < one < high), high]
        return (low, *(0.5 * (a + b) for a, b in pairwise(ends)), high)

    def doubt(self, value: float) -> str:
        """Say why a number is unusual; empty if it is not.

        Parameters
        ----------
        value : float
            A value of the feature.

        Returns
        -------
        str

        Examples
        --------
        >>> FeatureFacts(low=1.0, high=4.0, whole=True).doubt(2.5)
        'the plan was fitted to whole numbers'
        """
        if self.values:
            known = listing([f"{one:.6g}" for one in self.values])
            return "" if value in self.values else f"the plan was fitted to the values {known}"
        if self.low is not None and self.high is not None and not self.low <= value <= self.high:
            return f"the plan was fitted to values from {self.low:.6g} to {self.high:.6g}"
        return "the plan was fitted to whole numbers" if self.whole and value != round(value) else ""


def feature_facts(plan: Plan, column: int) -> FeatureFacts:
    """Return what a plan says about a column. Notes that make no sense are left out.

    Parameters
    ----------
    plan : Plan
        The plan.
    column : int
        The number of the column.

    Returns
    -------
    FeatureFacts

    Examples
    --------
    >>> from miserly import Costs, Plan
    >>> notes = {"features": {"chol": {"about": "cholesterol", "unit": "mg/dl", "low": 126, "high": 564}}}
    >>> plan = Plan(costs=Costs({"age": 1.0, "chol": 5.0}), terms=[], nodes=[], base=[0.0], info=notes)
    >>> feature_facts(plan, 1).unit, feature_facts(plan, 1).high, feature_facts(plan, 0).high
    ('mg/dl', 564.0, None)
    """
    notes = plan.info.get(FEATURES)
    found = notes.get(str(plan.costs.name(column))) if isinstance(notes, Mapping) else None
    note: Mapping[str, Any] = found if isinstance(found, Mapping) else {}
    low, high = (_finite(note.get(key)) for key in ("low", "high"))
    is_range = low is not None and high is not None and low <= high
    categories = plan.categories.get(column, ())
    return FeatureFacts(
        about=_text(note.get("about")),
        unit=_text(note.get("unit")),
        low=low if is_range else None,
        high=high if is_range else None,
        whole=note.get("whole") is True,
        values=_values(note.get("values")),
        categories=categories,
        splits=() if categories else _splits(plan, column),
    )


def range_facts(plan: Plan, X: NDArray[Any]) -> dict[str, dict[str, Any]]:
    """Return the ranges of the numeric columns that a plan reads, for ``plan.info["features"]``.

    Parameters
    ----------
    plan : Plan
        The plan.
    X : array of (n, n_features)
        The training rows as numbers.

    Returns
    -------
    dict of dict

    Examples
    --------
    >>> from miserly import Costs, Plan
    >>> from miserly.plan import Node, Raw
    >>> plan = Plan(costs=Costs({"age": 1.0, "chol": 5.0}), terms=[Raw(1)], base=[0.0],
    ...             nodes=[Node([0], [0], [1.0], [0.0])])
    >>> range_facts(plan, np.array([[50.0, 126.0], [60.0, 564.0]]))
    {'chol': {'low': 126.0, 'high': 564.0, 'whole': True, 'values': [126.0, 564.0]}}
    """
    if X.ndim != 2 or X.shape[1] != plan.n_features:
        raise PlanError(f"rows of {plan.n_features} columns are needed; the array has shape {X.shape}")
    facts: dict[str, dict[str, Any]] = {}
    fact: dict[str, Any]
    for f in plan.features.tolist():
        values = np.asarray(X[:, f], dtype=np.float64)
        values = values[np.isfinite(values)]
        if f not in plan.categories and len(values):
            whole = bool((values == np.rint(values)).all())
            fact = {"low": float(values.min()), "high": float(values.max()), "whole": whole}
            distinct = np.unique(values)
            if whole and len(distinct) <= _MOST_VALUES:
                fact["values"] = distinct.tolist()
            facts[str(plan.costs.name(f))] = fact
    return facts


def _splits(plan: Plan, column: int) -> tuple[float, ...]:
    found = [
        term.threshold[term.feature == column]
        for term in plan.terms
        if isinstance(term, Tree) and column in term.features
    ]
    values = np.unique(np.concatenate([np.asarray(one, dtype=np.float64) for one in found] or [np.zeros(0)]))
    return tuple(values[np.isfinite(values)].tolist())


def _values(given: Any) -> tuple[float, ...]:
    numbers = [_finite(one) for one in given] if isinstance(given, (list, tuple)) else []
    known = [one for one in numbers if one is not None]
    return tuple(sorted(set(known))) if len(known) == len(numbers) <= _MOST_VALUES else ()


def _text(value: Any) -> str:
    return value.strip() if isinstance(value, str) else ""


def _finite(value: Any) -> float | None:
    number = as_number(value)
    return number if number is not None and math.isfinite(number) else None
