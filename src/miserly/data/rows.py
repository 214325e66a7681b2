"""Rows: a table with its labels, and where there are any, its weights and queries; and validation sets."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from miserly.data.arrays import EncodedFrame
from miserly.data.frames import is_frame, read_frame
from miserly.errors import DataError

__all__ = ["Rows", "hold_out", "validation_mask", "without_new_categories"]


@dataclass(frozen=True, eq=False)
class Rows:
    """Rows of a table, with the label, the weight and the query of each row.

    Learners fit `Rows` whose `X` is a matrix of numbers. In a search over learners, `X` may be a frame, or an
    `EncodedFrame` that stands for it, because each learner reads frames itself.

    Parameters
    ----------
    X : array, frame or EncodedFrame of (n, n_features)
        The feature values.
    y : array of (n,)
        The labels: classes, class codes, numbers, or grades of relevance.
    weight : array of (n,), optional
        Sample weights. All rows count equally by default.
    qid : array of (n,), optional
        The query of each row, in ranking. In other tasks, rows that share a `qid` are split together.
    outcomes : OutcomeTable, optional
        What answers to the rows cost.
    row_costs : RowCosts, optional
        What each row knows already, and what it pays.

    Examples
    --------
    >>> rows = Rows(np.arange(6.0).reshape(3, 2), np.array([0, 1, 1]), weight=np.array([1.0, 0.0, 3.0]))
    >>> rows.take(np.array([2, 0])).X.tolist()
    [[4.0, 5.0], [0.0, 1.0]]
    >>> rows.without_zero_weights().with_mean_weight_one().weight.tolist()
    [0.5, 1.5]
    """

    X: Any
    y: NDArray[Any]
    weight: NDArray[np.float64] | None = field(default=None, kw_only=True)
    qid: NDArray[Any] | None = field(default=None, kw_only=True)
    outcomes: Any = field(default=None, kw_only=True)
    row_costs: Any = field(default=None, kw_only=True)

    def __len__(self) -> int:
        """Number of rows."""
        return len(self.y)

    def take(self, rows: NDArray[Any]) -> Rows:
        """Select some of the rows.

        Parameters
        ----------
        rows : array of int or bool
            Row numbers, in any order, or a mask.

        Returns
        -------
        Rows
            The selected rows, in the order of `rows`.
        """
        weight, qid = (None if part is None else part[rows] for part in (self.weight, self.qid))
        outcomes, own = (
            None if part is None else part.take(rows) for part in (self.outcomes, self.row_costs)
        )
        X, y = _rows_of(self.X, rows), self.y[rows]
        return Rows(X, y, weight=weight, qid=qid, outcomes=outcomes, row_costs=own)

    @property
    def own_costs(self) -> dict[str, Any]:
        """The arguments `known` and `prices` of a run or a fit; none if all rows pay the same."""
        return {} if self.row_costs is None else self.row_costs.run_arguments

    def without_zero_weights(self) -> Rows:
        """Rows with a weight above zero: a row of weight zero must not even move the edge of a bin."""
        if self.weight is None or (self.weight > 0).all():
            return self
        return self.take(self.weight > 0)

    def with_mean_weight_one(self) -> Rows:
        """Rows with weights that average 1 (None if all are equal): the scale of weights has no effect."""
        if self.weight is None or (self.weight == self.weight[0]).all():
            return replace(self, weight=None)
        return replace(self, weight=self.weight / self.weight.mean())


def _rows_of(X: Any, rows: NDArray[Any]) -> Any:
    """Rows of an array or a frame."""
    if isinstance(X, np.ndarray):
        return X[rows]
    if isinstance(X, EncodedFrame):
        return X.take(rows)
    from sklearn.utils import _safe_indexing

    return _safe_indexing(X, np.flatnonzero(rows) if rows.dtype == np.bool_ else rows)


# -- validation sets: whole queries, and every class on the training side ------------------------------------


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
