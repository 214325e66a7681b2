"""What every loader and generator returns: a table, its labels, and what its columns cost."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.model_selection import GroupShuffleSplit, train_test_split

from miserly.costs import Costs
from miserly.errors import DataError

__all__ = ["Dataset"]

_PER_ROW = ("X", "y", "qid", "split")


@dataclass(frozen=True, eq=False)
class Dataset:
    """A data set with prices.

    Attributes
    ----------
    X : array of (n, d)
        The features; NaN where a value is missing.
    y : array of (n,)
        Class codes, relevance grades or numbers.
    costs : Costs or None
        What the columns cost, groups and all; None if nobody knows.
    feature_names : tuple of str
        One name per column.
    qid : array of (n,), optional
        The query of each row, in ranking.
    split : array of (n,), optional
        The published split: 0 train, 1 test.
    classes : tuple of str, optional
        What the class codes 0, 1, ... in `y` stand for.
    description : str
        What it is and where it is from.
    categorical : bool array of (d,), optional
        Which columns hold category codes.
    categories : mapping of column number to tuple, optional
        What the codes 0, 1, ... of a categorical column stand for.
    groups : int array of (d,), optional
        Columns that are measured together (one sensor, one question), -1 for none. This is structure only;
        groups with a price are in `costs`.
    group_names : tuple of str, optional
        The names of `groups`.
    extra : mapping of str to array
        Whatever else came with the data: other targets, published folds, and so on.

    Examples
    --------
    >>> from miserly.datasets import load_heart
    >>> train, test = load_heart().train_test(random_state=0)
    >>> len(train), len(test)
    (202, 68)
    """

    X: NDArray[Any]
    y: NDArray[Any]
    costs: Costs | None
    feature_names: tuple[str, ...]
    qid: NDArray[Any] | None = None
    split: NDArray[Any] | None = None
    classes: tuple[str, ...] | None = None
    description: str = ""
    categorical: NDArray[np.bool_] | None = None
    categories: Mapping[int, tuple[str, ...]] | None = None
    groups: NDArray[np.int64] | None = None
    group_names: tuple[str, ...] | None = None
    extra: Mapping[str, NDArray[Any]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        n, d = self.X.shape
        for name in ("y", "qid", "split"):
            values = getattr(self, name)
            if values is not None and values.shape != (n,):
                raise DataError(f"{name} of shape {values.shape} for {n} rows")
        for name in ("feature_names", "costs", "categorical", "groups"):
            values = getattr(self, name)
            if values is not None and len(values) != d:
                raise DataError(f"{len(values)} {name} for {d} columns")

    def __len__(self) -> int:
        return len(self.X)

    def __repr__(self) -> str:
        n, d = self.X.shape
        queries = "" if self.qid is None else f", {len(np.unique(self.qid))} queries"
        costs = "no costs" if self.costs is None else repr(self.costs)
        return f"Dataset({n} rows, {d} features{queries}, {costs})"

    def take(self, rows: ArrayLike) -> Dataset:
        """Some of the rows, by number or mask."""
        rows = np.asarray(rows)
        parts = {name: getattr(self, name) for name in _PER_ROW}
        chosen = {name: values[rows] for name, values in parts.items() if values is not None}
        extra = {
            name: values[rows] if values.shape[:1] == (len(self),) else values
            for name, values in self.extra.items()
        }
        return replace(self, **chosen, extra=extra)

    def train_test(
        self, random_state: int | np.random.RandomState | None = None, test_size: float = 0.25
    ) -> tuple[Dataset, Dataset]:
        """A training and a test set: as published if `split` is there, else drawn.

        Queries stay whole; classes keep their shares.
        """
        if self.split is not None:
            return self.take(self.split == 0), self.take(self.split == 1)
        rows = np.arange(len(self))
        if self.qid is not None:
            draw = GroupShuffleSplit(1, test_size=test_size, random_state=random_state)
            train, test = next(draw.split(rows, groups=self.qid))
        else:
            labels = self.y if np.issubdtype(self.y.dtype, np.integer) else None
            train, test = train_test_split(
                rows, test_size=test_size, random_state=random_state, stratify=labels
            )
        return self.take(np.sort(train)), self.take(np.sort(test))

    def frame(self) -> Any:
        """The features as a pandas frame; known categories appear as words."""
        try:
            import pandas as pd
        except ImportError:
            raise DataError("a frame needs pandas: pip install 'miserly[frames]'") from None
        frame = pd.DataFrame(self.X, columns=list(self.feature_names))
        for column, words in (self.categories or {}).items():
            codes = np.nan_to_num(self.X[:, column], nan=-1).astype(np.int64)
            frame[self.feature_names[column]] = pd.Categorical.from_codes(codes, list(words))
        return frame
