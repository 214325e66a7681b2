"""Classes as codes, and the check that columns are numbers."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from miserly.data.frames import NumericTable
from miserly.data.target import check_classes
from miserly.errors import DataError, did_you_mean

__all__ = ["class_codes", "encode_classes", "refuse_text"]


def refuse_text(table: NumericTable) -> None:
    """Raise an error that names the first column that holds categories."""
    for column, values in table.categories.items():
        if not all(isinstance(value, bool) for value in values):
            name = column if table.names is None else table.names[column]
            raise DataError(
                f"column {name!r} holds categories; a linear model needs numbers: encode it first"
            )


def encode_classes(y: NDArray[Any]) -> tuple[NDArray[Any], NDArray[np.float64]]:
    """The sorted classes, and the code of each label: its position among the classes.

    >>> classes, codes = encode_classes(np.array(["no", "yes", "no"]))
    >>> classes.tolist(), codes.tolist()
    (['no', 'yes'], [0.0, 1.0, 0.0])
    """
    check_classes(y)
    classes, codes = np.unique(y, return_inverse=True)
    if len(classes) < 2:
        only = classes.tolist()[0]
        raise DataError(f"y holds only one class, {only!r}; a classifier needs at least two classes")
    return classes, codes.astype(np.float64)


def class_codes(y: NDArray[Any], classes: NDArray[Any]) -> NDArray[np.int64]:
    """The position of each label among known `classes`; an error if a label is none of them.

    >>> class_codes(np.array(["yes", "no"]), np.array(["no", "yes"])).tolist()
    [1, 0]
    """
    place = {label: code for code, label in enumerate(classes.tolist())}
    labels, inverse = np.unique(y, return_inverse=True)
    for label in labels.tolist():
        if label not in place:
            raise DataError(f"class {label!r} is not one of classes_{did_you_mean(label, place)}")
    return np.array([place[label] for label in labels.tolist()], dtype=np.int64)[inverse]
