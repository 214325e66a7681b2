"""Binarisation: columns of numbers and categories as many columns of 0 and 1, which know what they read.

A numeric column becomes one column "is it greater than t?" for each threshold `t` between two of its values;
a category column one "is it this?" for each category (one in all, if there are two). This is how Huang,
Powers and Reyzin (2014, table 1) made 11,196 features of the 60 of sonar. Each column may then have a price
of its own, as in that paper, or the price of the feature it reads, paid once for all columns that read it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from numbers import Integral
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, TransformerMixin, _fit_context
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.validation import check_is_fitted

from miserly.costs import Costs
from miserly.data.encoder import Encoder, refuse_infinities
from miserly.data.frames import Table
from miserly.data.reading import encoded, learned
from miserly.errors import CostError
from miserly.learners.base import bind_costs
from miserly.learners.common.categories import categorical_columns

__all__ = ["Binariser"]


@dataclass(frozen=True)
class _Questions:
    """The columns made of one feature: `values` are thresholds, or the codes of categories."""

    by_category: bool
    values: NDArray[np.float64]


class Binariser(TransformerMixin, BaseEstimator):
    """Numbers and categories as columns of 0 and 1 that know which feature they read.

    Parameters
    ----------
    max_thresholds : int, optional
        The most columns made of a numeric one, their thresholds spread evenly over its different values. All
        by default.
    categorical_features : "from_dtype", list of columns, mask, or None
        Columns that hold categories. By default those that a frame holds as text, categories or truth values.

    Attributes
    ----------
    feature_ : array of (n_columns,)
        The feature that each column reads, by its number.

    Notes
    -----
    Where a value is missing, it is missing in all columns that read it.

    Examples
    --------
    >>> import numpy as np
    >>> X = np.array([[1.0, 7.0], [2.0, 7.5], [4.0, 7.0]])
    >>> binariser = Binariser().fit(X)
    >>> binariser.get_feature_names_out().tolist(), binariser.feature_.tolist()
    (['x0 > 1.5', 'x0 > 3', 'x1 > 7.25'], [0, 0, 1])
    >>> binariser.transform(X).tolist()
    [[0, 0, 0], [1, 0, 1], [1, 1, 0]]
    >>> binariser.costs([5.0, 1.0]).total
    6.0
    """

    feature_: NDArray[np.int64]
    n_features_in_: int
    feature_names_in_: NDArray[Any]
    _questions: list[_Questions]
    _categories: dict[int, tuple[Any, ...]]

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "max_thresholds": [Interval(Integral, 1, None, closed="left"), None],
        "categorical_features": [StrOptions({"from_dtype"}), "array-like", None],
    }

    def __init__(
        self, *, max_thresholds: int | None = None, categorical_features: Any = "from_dtype"
    ) -> None:
        self.max_thresholds = max_thresholds
        self.categorical_features = categorical_features

    @_fit_context(prefer_skip_nested_validation=True)
    def fit(self, X: Any, y: ArrayLike | None = None) -> Binariser:
        """Find the thresholds and categories; `y` is not looked at."""
        table = self._read(X)
        categorical = categorical_columns(self.categorical_features, table, self.n_features_in_)
        columns = zip(table.values.T, categorical.tolist(), strict=True)
        self._questions = [self._ask(column, by_category) for column, by_category in columns]
        self.feature_ = np.repeat(np.arange(self.n_features_in_), [len(q.values) for q in self._questions])
        return self

    def transform(self, X: Any, unknown: str = "error") -> NDArray[Any]:
        """Columns of 0 and 1: uint8, or float32 with NaN if values are missing.

        A value that is neither a known category nor missing is an error; with ``unknown="missing"`` it counts
        as missing.
        """
        check_is_fitted(self, "feature_")
        encoder = Encoder(self.n_features_in_, getattr(self, "feature_names_in_", None), self._categories)
        values = encoded(self, X, encoder, None, unknown)
        parts = [
            _answers(column, questions) for column, questions in zip(values.T, self._questions, strict=True)
        ]
        answers = np.concatenate(parts, axis=1)
        missing = np.isnan(values)
        if not missing.any():
            return answers
        return np.where(missing[:, self.feature_], np.float32(np.nan), answers.astype(np.float32))

    def costs(self, costs: Any = None, per: str = "feature") -> Costs:
        """What the columns cost.

        Parameters
        ----------
        costs : Costs, array, mapping, or None
            The price of each feature, or of each column; 1 each by default.
        per : {"feature", "column"}
            Whether `costs` are those of the features, each paid once for all columns that read it, or of the
            columns.
        """
        check_is_fitted(self, "feature_")
        names = self.get_feature_names_out().tolist()
        if per == "column":
            return bind_costs(costs, names)
        if per != "feature":
            raise CostError(f"per is 'feature' or 'column', not {per!r}")
        given = bind_costs(costs, self._names())
        if given.group_names:
            raise CostError("features in groups cannot be priced per column: a column is in one group only")
        groups = {
            str(given.name(f)): {
                "features": [names[j] for j in np.flatnonzero(self.feature_ == f)],
                "setup": given.feature[f],
            }
            for f in np.unique(self.feature_).tolist()
        }
        return Costs(dict.fromkeys(names, 0.0), groups=groups, evaluation=given.evaluation, unit=given.unit)

    def get_feature_names_out(self, input_features: Any = None) -> NDArray[Any]:
        """What each column asks, in words."""
        check_is_fitted(self, "feature_")
        names = self._names() if input_features is None else list(input_features)
        words = [
            f"{names[f]} = {self._category(f, value)}" if asked.by_category else f"{names[f]} > {value:.9g}"
            for f, asked in enumerate(self._questions)
            for value in asked.values.tolist()
        ]
        return np.array(words, dtype=object)

    # -- how -----------------------------------------------------------------------------------------

    def _ask(self, column: NDArray[Any], by_category: bool) -> _Questions:
        """The questions to ask of one column."""
        values = np.unique(column[~np.isnan(column)]).astype(np.float64)
        if by_category:
            return _Questions(True, values if len(values) > 2 else values[1:])
        between = values[:-1] / 2 + values[1:] / 2
        if self.max_thresholds is not None and len(between) > self.max_thresholds:
            parts = self.max_thresholds + 1
            between = between[np.arange(1, parts) * len(values) // parts - 1]
        return _Questions(False, between)

    def _category(self, feature: int, code: float) -> Any:
        known = self._categories.get(feature)
        return f"{code:g}" if known is None else known[int(code)]

    def _names(self) -> Sequence[str]:
        named = getattr(self, "feature_names_in_", None)
        return [f"x{f}" for f in range(self.n_features_in_)] if named is None else named.tolist()

    def _read(self, X: Any) -> Table:
        table = learned(self, X)
        refuse_infinities(table.values, getattr(self, "feature_names_in_", None))
        self._categories = table.categories
        return table

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.transformer_tags.preserves_dtype = []
        return tags


def _answers(column: NDArray[Any], asked: _Questions) -> NDArray[np.uint8]:
    """The columns made of one; what is missing answers no."""
    here = column[:, None].astype(np.float64)
    return (here == asked.values if asked.by_category else here > asked.values).astype(np.uint8)
