"""`Dataset`: features, labels and costs, as every loader and generator returns them."""

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
    """A data set with costs.

    Attributes
    ----------
    X : ndarray of shape (n_rows, n_features)
        Features; NaN where a value is missing.
    y : ndarray of shape (n_rows,)
        Class codes, relevance grades or numbers.
    costs : Costs or None
        Costs of the features and their groups; None if they are not known.
    feature_names : tuple of str
        One name per column.
    qid : ndarray of shape (n_rows,), optional
        Query of each row, in ranking.
    split : ndarray of shape (n_rows,), optional
        The published split: 0 for training rows, 1 for test rows.
    classes : tuple of str, optional
        Names of the class codes 0, 1, ... in `y`.
    description : str
        Name and source of the data.
    categorical : ndarray of bool of shape (n_features,), optional
        Columns that hold category codes.
    categories : mapping of int to tuple of str, optional
        For each categorical column, the names of its codes 0, 1, ...
    groups : ndarray of int of shape (n_features,), optional
        Group of each column, -1 for none. Columns of a group are measured together (one sensor, one
        question). Groups with a set-up cost are in `costs` instead.
    group_names : tuple of str, optional
        Names of `groups`.
    extra : mapping of str to ndarray
        Other arrays of the file: further targets, published folds, and so on.

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
        """Select rows.

        Parameters
        ----------
        rows : array-like of int or bool
            Row numbers, or a mask.

        Returns
        -------
        Dataset
            The selected rows; arrays of `extra` with one value per row are selected, too.
        """
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
        """Split into training and test rows.

        The published `split` is used if there is one. Otherwise rows are drawn at random: whole queries in
        ranking, and stratified by class in classification.

        Parameters
        ----------
        random_state : int, RandomState or None, default=None
            Random seed of a drawn split.
        test_size : float, default=0.25
            Share of test rows of a drawn split.

        Returns
        -------
        train : Dataset
            The training rows.
        test : Dataset
            The test rows.
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
        """Features as a pandas frame.

        Returns
        -------
        pandas.DataFrame
            One column per feature. Columns in `categories` are categorical, with the names of their codes.

        Raises
        ------
        DataError
            If pandas is not installed.
        """
        try:
            import pandas as pd
        except ImportError:
            raise DataError("a frame needs pandas: pip install 'miserly[frames]'") from None
        frame = pd.DataFrame(self.X, columns=list(self.feature_names))
        for column, labels in (self.categories or {}).items():
            codes = np.nan_to_num(self.X[:, column], nan=-1).astype(np.int64)
            frame[self.feature_names[column]] = pd.Categorical.from_codes(codes, list(labels))
        return frame
