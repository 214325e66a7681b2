"""Weights of classes: what `class_weight` of a classifier means as weights of rows."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from miserly.data.rows import Rows
from miserly.errors import DataError, did_you_mean
from miserly.utils.checks import as_number, shown

__all__ = ["class_weights", "weigh_classes", "weigh_validation"]

BALANCED = "balanced"
_MOST_NAMED = 5  # classes that an error names


def class_weights(
    class_weight: Any, y: NDArray[Any], weight: NDArray[np.float64] | None = None
) -> dict[Any, float]:
    """Weight of each class of `y`.

    Parameters
    ----------
    class_weight : mapping of class to weight, or "balanced"
        Classes that a mapping leaves out have weight 1. "balanced" gives all classes the same total weight:
        the weight of a class is ``n / (n_classes * n_of_class)``, where rows count as much as their `weight`.
    y : array of (n,)
        The class of each row.
    weight : array of (n,), optional
        Weights of the rows. By default each row counts 1.

    Returns
    -------
    dict
        The weight of each class of `y`. With "balanced", classes without any weight have weight 0.

    Raises
    ------
    DataError
        If a weight is not a finite number of 0 or more, or if `class_weight` names classes that are not in
        `y` and lacks some that are.

    Examples
    --------
    >>> y = np.array(["no", "no", "no", "yes"])
    >>> class_weights("balanced", y), class_weights({"yes": 5}, y)
    ({'no': 0.6666666666666666, 'yes': 2.0}, {'no': 1.0, 'yes': 5.0})
    """
    classes, codes = np.unique(y, return_inverse=True)
    known = classes.tolist()
    if isinstance(class_weight, Mapping):
        return _of_mapping(class_weight, known)
    if class_weight != BALANCED:
        raise DataError(f"class_weight must be 'balanced', a mapping or None, not {shown(class_weight)}")
    total = np.bincount(codes, weights=weight, minlength=len(known)).astype(np.float64)
    shares = total * len(total[total > 0.0])
    balanced = np.divide(total.sum(), shares, out=np.zeros_like(total), where=total > 0.0)
    return dict(zip(known, balanced.tolist(), strict=True))


def weigh_classes(
    class_weight: Any, y: NDArray[Any], weight: NDArray[np.float64] | None
) -> NDArray[np.float64] | None:
    """Weights of rows, multiplied by the weights of their classes.

    Parameters
    ----------
    class_weight : mapping of class to weight, "balanced" or None
        Weights of the classes; None changes nothing.
    y : array of (n,)
        The class of each row.
    weight : array of (n,) or None
        Weights of the rows; None means 1 each.

    Returns
    -------
    array of (n,) or None
        The weights of the rows.

    Examples
    --------
    >>> weigh_classes({1: 3.0}, np.array([0, 1, 1]), np.array([2.0, 1.0, 2.0])).tolist()
    [2.0, 3.0, 6.0]
    """
    if class_weight is None:
        return weight
    by_class = class_weights(class_weight, y, weight)
    classes, codes = np.unique(y, return_inverse=True)
    of_rows = np.array([by_class[label] for label in classes.tolist()])[codes]
    weighed: NDArray[np.float64] = of_rows if weight is None else weight * of_rows
    if not weighed.any():
        raise DataError("class_weight leaves no row with a weight above zero")
    return weighed


def weigh_validation(class_weight: Any, rows: Rows, validation: Rows | None) -> Rows | None:
    """A validation set with the class weights of all rows.

    Parameters
    ----------
    class_weight : mapping of class to weight, "balanced" or None
        Weights of the classes. "balanced" means the balance of all rows.
    rows : Rows
        All rows.
    validation : Rows or None
        The validation set, if there is one.

    Returns
    -------
    Rows or None
        The validation set, with weights multiplied by those of the classes.
    """
    if class_weight is None or validation is None:
        return validation
    by_class = class_weights(class_weight, rows.y, rows.weight)
    return replace(validation, weight=weigh_classes(by_class, validation.y, validation.weight))


def _of_mapping(given: Mapping[Any, Any], known: list[Any]) -> dict[Any, float]:
    for label, value in given.items():
        number = as_number(value)
        if number is None or not np.isfinite(number) or number < 0.0:
            raise DataError(f"class_weight[{label!r}] is {shown(value)}; give a finite number of 0 or more")
    lacking = [label for label in known if label not in given]
    for label in given:
        if lacking and label not in known:
            more = ", ..." if len(known) > _MOST_NAMED else ""
            raise DataError(
                f"class_weight: {label!r} is not a class of y; the classes are "
                f"{', '.join(repr(one) for one in known[:_MOST_NAMED])}{more}{did_you_mean(label, known)}"
            )
    return {label: float(given.get(label, 1.0)) for label in known}
