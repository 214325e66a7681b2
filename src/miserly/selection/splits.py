"""Rows divided into parts to learn from and parts to judge by."""

from __future__ import annotations

import warnings
from collections.abc import Iterable
from dataclasses import dataclass
from numbers import Integral
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.model_selection import (
    GroupKFold,
    GroupShuffleSplit,
    KFold,
    ShuffleSplit,
    StratifiedKFold,
    StratifiedShuffleSplit,
)

from miserly.data.rows import Rows
from miserly.errors import DataError

__all__ = ["Parts", "divide", "held_out", "without"]

Parts = list[tuple[NDArray[np.int64], NDArray[np.int64]]]


def divide(rows: Rows, how: Any, classes: bool, seed: int) -> Parts:
    """Pairs of row numbers, to learn from and to judge by.

    `how` is a number of folds (whole queries where there are queries, the same share of every class where
    there are `classes`), a scikit-learn splitter, one pair of row numbers, or a list of such pairs.
    """
    if isinstance(how, Integral) and not isinstance(how, bool):
        if how < 2:
            raise DataError(f"{how} folds: give 2 or more, or a pair (rows to learn from, rows to judge by)")
        how = _folds(int(how), rows, classes, seed)
    if hasattr(how, "split"):
        return [(train, test) for train, test in how.split(np.zeros(len(rows)), rows.y, rows.qid)]
    if not isinstance(how, Iterable):
        raise DataError(f"{how!r} divides nothing: give a number of folds, a splitter, or row numbers")
    listed = list(how)
    pairs = [listed] if len(listed) == 2 and not _is_pair(listed[0]) else listed
    return [_checked(pair, len(rows)) for pair in pairs]


def held_out(rows: Rows, share: float, classes: bool, seed: int) -> Any:
    """A splitter into one pair, with a share of the rows to evaluate by.

    Queries stay whole, and `classes` have the same share each.
    """
    if rows.qid is not None or not classes:
        split = ShuffleSplit if rows.qid is None else GroupShuffleSplit
        return split(1, test_size=share, random_state=seed)
    return _ByClass(StratifiedShuffleSplit(1, test_size=share, random_state=seed))


def without(parts: Parts, aside: NDArray[np.bool_]) -> Parts:
    """Parts less the rows set aside, numbered as if those were not there.

    >>> without([(np.array([0, 3]), np.array([1, 2]))], np.array([False, True, False, False]))
    [(array([0, 2]), array([1]))]
    """
    number = np.cumsum(~aside) - 1
    left = [tuple(number[part[~aside[part]]] for part in pair) for pair in parts]
    if not all(len(train) and len(test) for train, test in left):
        raise DataError("every row to learn from or to judge by is kept for promises; give certify=0")
    return [(train, test) for train, test in left]


@dataclass(frozen=True)
class _ByClass:
    """A stratified split; the only row of a class is always learned from, as no model knows it otherwise."""

    how: Any

    def split(self, X: Any, y: NDArray[Any], groups: Any = None) -> Parts:
        codes, counts = np.unique(y, return_inverse=True, return_counts=True)[1:]
        alone, several = np.flatnonzero(counts[codes] == 1), np.flatnonzero(counts[codes] > 1)
        if not len(several):
            raise DataError("every class has one row only: there is nothing to evaluate models by")
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)  # classes with fewer rows than folds
            parts = list(self.how.split(several, codes[several]))
        return [(np.sort(np.concatenate([several[train], alone])), several[test]) for train, test in parts]


def _folds(n: int, rows: Rows, classes: bool, seed: int) -> Any:
    if rows.qid is not None:
        return GroupKFold(n, shuffle=True, random_state=seed)
    if classes:
        return _ByClass(StratifiedKFold(n, shuffle=True, random_state=seed))
    return KFold(n, shuffle=True, random_state=seed)


def _is_pair(thing: Any) -> bool:
    return isinstance(thing, (tuple, list)) and len(thing) == 2 and np.ndim(thing[0]) == 1


def _checked(pair: Any, n: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """A pair of row numbers (or masks) that are rows, and not the same rows."""
    train, test = (np.arange(n)[np.asarray(part)] if len(part) else np.arange(0) for part in pair)
    if not len(train) or not len(test):
        raise DataError("one of the parts to learn from and to judge by is empty")
    if np.intersect1d(train, test).size:
        row = int(np.intersect1d(train, test)[0])
        raise DataError(f"row {row} is among those to learn from and those to judge by")
    return train, test
