"""Which rows belong to one query."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["Queries"]


@dataclass(frozen=True)
class Queries:
    """Rows grouped by query: those of query `q` are ``order[start[q]:start[q + 1]]``.

    >>> queries = Queries.of(["b", "a", "b"])
    >>> len(queries), queries.order.tolist(), queries.start.tolist()
    (2, [1, 0, 2], [0, 1, 3])
    """

    order: NDArray[np.int64]
    start: NDArray[np.int64]

    @classmethod
    def of(cls, qid: Any) -> Queries:
        """Group rows by query id; the rows of a query need not be neighbours."""
        _, number, count = np.unique(np.asarray(qid), return_inverse=True, return_counts=True)
        order = np.argsort(number, kind="stable").astype(np.int64)
        return cls(order, np.concatenate([[0], np.cumsum(count)]).astype(np.int64))

    def __len__(self) -> int:
        return len(self.start) - 1

    @property
    def number(self) -> NDArray[np.int64]:
        """The query of each row, counted from 0."""
        number = np.empty(len(self.order), dtype=np.int64)
        number[self.order] = np.repeat(np.arange(len(self)), np.diff(self.start))
        return number

    def means(self, values: NDArray[np.float64]) -> NDArray[np.float64]:
        """The mean of `values` over the rows of each query."""
        return np.add.reduceat(values[self.order], self.start[:-1]) / np.diff(self.start)
