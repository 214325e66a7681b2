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
from miserly.plan.distributions import distribution_notes
from miserly.plan.metadata import FEATURES, choice_value, texts_of
from miserly.plan.show.phrases import listing
from miserly.plan.terms import Tree
from miserly.utils.checks import as_number

if TYPE_CHECKING:
    from miserly.plan.plan import Plan

__all__ = ["FEATURES", "FeatureFacts", "feature_facts", "range_facts"]

_MOST_VALUES = 10  # different whole numbers that are noted one by one


@dataclass(frozen=True)
class FeatureFacts:
    """What is known about a feature, for the person who is asked for its value.

    Attributes
    ----------
    label : str
        What people call the feature; empty if the plan does not say.
    help : str
        How to get its value, or what to know about it; empty if the plan does not say.
    choices : tuple of (value, str)
        The values that can be chosen, each with its label; empty if no label is known.
    about : str
        What files of earlier versions have for a label.
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
    label: str = ""
    help: str = ""
    choices: tuple[tuple[Any, str], ...] = ()

    def label_of(self, value: Any) -> str:
        """The label of a value; empty if it has none.

        Parameters
        ----------
        value : object
            A value of the feature.

        Returns
        -------
        str

        Examples
        --------
        >>> FeatureFacts(choices=((1.0, "up"), (2.0, "flat"))).label_of(2)
        'flat'
        """
        return next((label for one, label in self.choices if one == value), "")

    @property
    def examples(self) -> tuple[Any, ...]:
        """Values that the plan may tell apart: categories, known values, or one between any two splits."""
        if self.categories or self.values or self.choices:
            return self.categories or self.values or tuple(value for value, _ in self.choices)
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
    >>> notes = {"features": {"chol": {"label": "cholesterol", "unit": "mg/dl", "low": 126, "high": 564}}}
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
    about = _text(note.get("about"))
    return FeatureFacts(
        about=about,
        label=_text(note.get("label")) or about,
        help=_text(note.get("help")),
        choices=_choices(note.get("choices"), categories),
        unit=_text(note.get("unit")),
        low=low if is_range else None,
        high=high if is_range else None,
        whole=note.get("whole") is True,
        values=_values(note.get("values")),
        categories=categories,
        splits=() if categories else _splits(plan, column),
    )


def range_facts(plan: Plan, X: NDArray[Any]) -> dict[str, dict[str, Any]]:
    """Return ranges and distributions of the columns that a plan reads, for ``plan.info["features"]``.

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
    >>> range_facts(plan, np.array([[50.0, 126.0], [60.0, 564.0]]))["chol"]
    {'low': 126.0, 'high': 564.0, 'whole': True, 'values': [126.0, 564.0], 'shares': [0.5, 0.5]}
    """
    if X.ndim != 2 or X.shape[1] != plan.n_features:
        raise PlanError(f"rows of {plan.n_features} columns are needed; the array has shape {X.shape}")
    facts: dict[str, dict[str, Any]] = {}
    for f in plan.features.tolist():
        categories = plan.categories.get(f)
        fact = distribution_notes(X[:, f], None, len(categories)) if categories else _range(X[:, f])
        if fact:
            facts[str(plan.costs.name(f))] = fact
    return facts


def _range(column: NDArray[Any]) -> dict[str, Any]:
    """The range of a column of numbers; empty if it has no value."""
    values = np.asarray(column, dtype=np.float64)
    values = values[np.isfinite(values)]
    if not len(values):
        return {}
    whole = bool((values == np.rint(values)).all())
    fact: dict[str, Any] = {"low": float(values.min()), "high": float(values.max()), "whole": whole}
    distinct = np.unique(values)
    if whole and len(distinct) <= _MOST_VALUES:
        fact["values"] = distinct.tolist()
    return fact | distribution_notes(column, fact.get("values"))


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


def _choices(given: Any, categories: tuple[Any, ...]) -> tuple[tuple[Any, str], ...]:
    """Values with their labels. Categories without one keep their own name; what is no value is left out."""
    labels = {choice_value(key, categories): label for key, label in texts_of(given).items()}
    labels.pop(None, None)
    if not labels:
        return ()
    return tuple((value, labels.get(value, str(value))) for value in (categories or labels))


def _text(value: Any) -> str:
    return value.strip() if isinstance(value, str) else ""


def _finite(value: Any) -> float | None:
    number = as_number(value)
    return number if number is not None and math.isfinite(number) else None
