"""Rows divided into training rows and held-out rows."""

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

from miserly.data.rows import Rows, validation_mask
from miserly.errors import DataError
from miserly.selection.guarantee import read_confidence

__all__ = ["Parts", "divide", "guarantee_mask", "held_out", "search_parts", "without"]

Parts = list[tuple[NDArray[np.int64], NDArray[np.int64]]]

_FEW_UNITS = 2000  # up to so many rows, or queries, there are folds ...
_FOLDS = 5
_HELD_OUT = 0.25  # ... and this share is held out if there are more
_KEPT = 0.2  # the share of rows (queries) kept for guarantees, if there are enough ...
_FEWEST_UNITS = 50
_MOST_KEPT = 2000  # ... and no more than these: more would hardly tighten a bound


def divide(rows: Rows, how: Any, classes: bool, seed: int) -> Parts:
    """Pairs of row numbers: training rows and held-out rows.

    `how` is a number of folds (whole queries where there are queries, the same share of every class where
    there are `classes`), a scikit-learn splitter, one pair of row numbers, or a list of such pairs.
    """
    if isinstance(how, Integral) and not isinstance(how, bool):
        if how < 2:
            raise DataError(f"{how} folds: give 2 or more, or a pair (training rows, held-out rows)")
        how = _folds(int(how), rows, classes, seed)
    if hasattr(how, "split"):
        return [(train, test) for train, test in how.split(np.zeros(len(rows)), rows.y, rows.qid)]
    if not isinstance(how, Iterable):
        raise DataError(f"cv={how!r}: give a number of folds, a splitter, or row numbers")
    listed = list(how)
    pairs = [listed] if len(listed) == 2 and not _is_pair(listed[0]) else listed
    return [_checked(pair, len(rows)) for pair in pairs]


def held_out(rows: Rows, share: float, classes: bool, seed: int) -> Any:
    """A splitter into one pair, with a share of the rows held out.

    Queries stay whole, and `classes` have the same share each.
    """
    if rows.qid is not None or not classes:
        split = ShuffleSplit if rows.qid is None else GroupShuffleSplit
        return split(1, test_size=share, random_state=seed)
    return _ByClass(StratifiedShuffleSplit(1, test_size=share, random_state=seed))


def without(parts: Parts, kept: NDArray[np.bool_]) -> Parts:
    """Parts without the guarantee rows, with numbers among the other rows.

    >>> without([(np.array([0, 3]), np.array([1, 2]))], np.array([False, True, False, False]))
    [(array([0, 2]), array([1]))]
    """
    number = np.cumsum(~kept) - 1
    left = [tuple(number[part[~kept[part]]] for part in pair) for pair in parts]
    if not all(len(train) and len(test) for train, test in left):
        raise DataError("every training row or every held-out row is kept for guarantees; give certify=0")
    return [(train, test) for train, test in left]


@dataclass(frozen=True)
class _ByClass:
    """A stratified split; the only row of a class is always a training row, so that models know the class."""

    how: Any

    def split(self, X: Any, y: NDArray[Any], groups: Any = None) -> Parts:
        codes, counts = np.unique(y, return_inverse=True, return_counts=True)[1:]
        alone, several = np.flatnonzero(counts[codes] == 1), np.flatnonzero(counts[codes] > 1)
        if not len(several):
            raise DataError("every class has one row only: there is nothing to evaluate models on")
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
        raise DataError("the training rows or the held-out rows are empty")
    if np.intersect1d(train, test).size:
        row = int(np.intersect1d(train, test)[0])
        raise DataError(f"row {row} is among the training rows and the held-out rows")
    return train, test


# -- the rows of a search ------------------------------------------------------------------------------------


def search_parts(rows: Rows, kept: NDArray[np.bool_], cv: Any, classes: bool, seed: int) -> Parts:
    """Parts of the rows that are not `kept` for guarantees; row numbers in `cv` are those of all rows."""
    if isinstance(cv, Iterable) and not hasattr(cv, "split"):
        return without(divide(rows, cv, classes, seed), kept)
    rows = rows.take(np.flatnonzero(~kept))
    if cv is None and _n_units(rows) <= _FEW_UNITS:
        cv = _FOLDS
    if cv is None:
        cv = held_out(rows, _HELD_OUT, classes, seed)
    return divide(rows, cv, classes, seed)


def guarantee_mask(rows: Rows, share: float | None, confidence: float | None, seed: int) -> NDArray[np.bool_]:
    """Which rows are kept for guarantees: a random sample, as guarantees require."""
    if share is not None and not 0.0 <= share < 1.0:
        raise DataError(f"certify is a share of the rows, 0 or more and less than 1, not {share!r}")
    if rows.weight is not None:
        return _none_kept(rows, share, confidence)
    if confidence is not None:
        read_confidence(confidence)
        if share == 0.0:
            raise DataError("a confidence needs rows that are kept for guarantees: leave certify=0 out")
    if share is None:
        n_units = _n_units(rows)
        share = min(_KEPT, _MOST_KEPT / n_units) if n_units >= _FEWEST_UNITS else 0.0
    if share == 0.0:
        return np.zeros(len(rows), dtype=np.bool_)
    return validation_mask(len(rows), share, seed, None, rows.qid)


def _none_kept(rows: Rows, share: float | None, confidence: float | None) -> NDArray[np.bool_]:
    """No rows are kept: guarantees hold for unweighted means only."""
    if share or confidence is not None:
        raise DataError(
            "guarantees need rows that count the same, because the bounds hold for unweighted means only. "
            "Leave out confidence and certify, or sample_weight"
        )
    return np.zeros(len(rows), dtype=np.bool_)


def _n_units(rows: Rows) -> int:
    return len(rows) if rows.qid is None else len(np.unique(rows.qid))
