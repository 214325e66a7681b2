"""Rows: a table with its labels, and where there are any, its weights and queries. The one type for them."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from miserly.data.encoded import EncodedFrame

__all__ = ["Rows"]


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
        return Rows(_rows_of(self.X, rows), self.y[rows], weight=weight, qid=qid)

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
