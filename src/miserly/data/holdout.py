"""Hold out a validation set: which rows, with whole queries and every class on the training side."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from miserly.data.frames import is_frame, read_frame
from miserly.data.rows import Rows
from miserly.errors import DataError

__all__ = ["hold_out", "validation_mask", "without_new_categories"]


def hold_out(
    rows: Rows, fraction: float, seed: int, classes: Sequence[Any] | NDArray[Any] | None = None
) -> tuple[Rows, Rows]:
    """Split rows into a training set and a validation set.

    Parameters
    ----------
    rows : Rows
        The rows to split. Rows that share a `qid` stay together.
    fraction : float
        Share of the rows (of the queries, where there are queries) in the validation set.
    seed : int
        Random seed.
    classes : array of (n,), optional
        The class of each row. Each class then gives about the same share, and at least one row of each
        class is in the training set. Ignored where there are queries.

    Returns
    -------
    training, validation : Rows

    Raises
    ------
    DataError
        If one of the two sets would be empty.

    Examples
    --------
    >>> rows = Rows(np.zeros((10, 1)), np.arange(10) % 2)
    >>> training, validation = hold_out(rows, 0.4, seed=0, classes=rows.y)
    >>> len(training), np.bincount(validation.y).tolist()
    (6, [2, 2])
    """
    held_out = validation_mask(len(rows), fraction, seed, classes, rows.qid)
    return rows.take(~held_out), rows.take(held_out)


def validation_mask(
    n: int,
    fraction: float,
    seed: int,
    classes: Sequence[Any] | NDArray[Any] | None = None,
    qid: NDArray[Any] | None = None,
) -> NDArray[np.bool_]:
    """Mark the rows of the validation set among `n` rows; parameters as in `hold_out`."""
    random = np.random.default_rng(seed)
    if qid is not None:
        held_out = _whole_queries(qid, fraction, random)
    else:
        held_out = _rows_by_class(np.zeros(n) if classes is None else classes, fraction, random)
    if not held_out.any() or held_out.all():
        what = "queries" if qid is not None else "rows"
        raise DataError(f"too few {what} for a validation set of {fraction:g} of them (n_samples={n})")
    return held_out


def without_new_categories(
    X: Any, held_out: NDArray[np.bool_], qid: NDArray[Any] | None
) -> NDArray[np.bool_]:
    """Return rows with a category that the training set lacks to the training set.

    A model refuses categories that were not in its training set, so it must be trained on all categories of
    the rows given to `fit`. If the validation set would become empty, it stays as it is.

    Parameters
    ----------
    X : array or frame of (n, n_features)
        Arrays have no categories: then nothing changes.
    held_out : array of bool (n,)
        The rows of the validation set.
    qid : array of (n,), optional
        Queries, which stay together.

    Returns
    -------
    array of bool (n,)
        The rows that remain in the validation set.
    """
    if not is_frame(X):
        return held_out
    table, back = read_frame(X), np.zeros(len(held_out), dtype=np.bool_)
    for column, known in table.categories.items():
        codes = table.values[:, column]
        if known != (False, True):  # both booleans are always known
            back |= np.isin(codes, np.setdiff1d(np.arange(len(known)), codes[~held_out]))
    if qid is not None:
        back = np.isin(qid, qid[back])
    return held_out & ~back if (held_out & ~back).any() else held_out


def _whole_queries(qid: NDArray[Any], fraction: float, random: np.random.Generator) -> NDArray[np.bool_]:
    names, number = np.unique(qid, return_inverse=True)
    wanted = max(1, round(fraction * len(names)))
    chosen = random.permutation(len(names))[:wanted]
    return np.isin(number, chosen)


def _rows_by_class(classes: Any, fraction: float, random: np.random.Generator) -> NDArray[np.bool_]:
    """Rows at even distances in a list that is shuffled, then ordered by class."""
    classes = np.asarray(classes)
    shuffled = random.permutation(len(classes))
    listed = shuffled[np.argsort(classes[shuffled], kind="stable")]
    first_of_class = np.append(True, classes[listed][1:] != classes[listed][:-1])
    spare = listed[~first_of_class]
    wanted = min(len(spare), max(1, round(fraction * len(classes))))
    places = (np.arange(wanted) + 0.5) * len(spare) / max(1, wanted)
    held_out = np.zeros(len(classes), dtype=np.bool_)
    held_out[spare[places.astype(np.int64)]] = True
    return held_out
