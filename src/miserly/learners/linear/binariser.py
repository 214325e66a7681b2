"""Binarisation: each feature becomes several columns of 0 and 1."""

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
from miserly.data.encoder import Encoder
from miserly.data.frames import NumericTable
from miserly.data.reading import read_new_rows, read_training_rows
from miserly.errors import CostError
from miserly.learners.base import bind_costs
from miserly.learners.base.arguments import categorical_columns

__all__ = ["Binariser"]


@dataclass(frozen=True)
class _Conditions:
    """The columns made of one feature: `values` are thresholds, or the codes of categories."""

    by_category: bool
    values: NDArray[np.float64]


class Binariser(TransformerMixin, BaseEstimator):
    """Transform features into columns of 0 and 1, and keep which feature each column reads.

    A numeric feature becomes one column "is it greater than t?" for each threshold `t` between two of its
    values. A categorical feature becomes one column "is it this category?" for each category, or a single
    column if there are two categories. The columns can share the cost of the feature they read (see `costs`).

    Parameters
    ----------
    max_thresholds : int or None, default=None
        Largest number of columns made of a numeric feature. If there are more thresholds, some are taken that
        are spread evenly over the distinct values. By default all thresholds are used.
    categorical_features : "from_dtype", array-like or None, default="from_dtype"
        Columns that hold categories: a list of columns, or a boolean mask. By default the columns that a
        frame holds as text, categories or booleans. With None, all columns are numeric.

    Attributes
    ----------
    feature_ : array of shape (n_columns,)
        Number of the feature that each column reads.
    n_features_in_ : int
        Number of features seen by `fit`.
    feature_names_in_ : array of shape (n_features_in_,)
        Names of the features. It exists only if `X` had names.

    Notes
    -----
    This is the binarisation of [1]_ (table 1), which makes 11,196 columns of the 60 features of the data set
    sonar. There each column has a cost of its own (``costs(..., per="column")``).

    A missing value is missing in all columns that read it.

    References
    ----------
    .. [1] Y. Huang, B. Powers, L. Reyzin, "Training-Time Optimization of a Budgeted Booster", 2014.

    Examples
    --------
    >>> import numpy as np
    >>> from miserly import Binariser
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
    _conditions: list[_Conditions]
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
        """Find the thresholds and categories.

        Parameters
        ----------
        X : array-like or frame of shape (n, n_features)
            Training rows. NaN is a missing value.
        y : array-like of shape (n,), optional
            Not used; present for compatibility with scikit-learn.

        Returns
        -------
        self : Binariser
            The fitted transformer.
        """
        table = self._read(X)
        categorical = categorical_columns(self.categorical_features, table, self.n_features_in_)
        columns = zip(table.values.T, categorical.tolist(), strict=True)
        self._conditions = [self._conditions_of(column, by_category) for column, by_category in columns]
        self.feature_ = np.repeat(np.arange(self.n_features_in_), [len(q.values) for q in self._conditions])
        return self

    def transform(self, X: Any, unknown: str = "error") -> NDArray[Any]:
        """Transform rows into columns of 0 and 1.

        Parameters
        ----------
        X : array-like or frame of shape (n, n_features)
            Rows to transform.
        unknown : {"error", "missing"}, default="error"
            What to do with a value that is neither a known category nor missing: raise an error, or treat it
            as missing.

        Returns
        -------
        array of shape (n, n_columns)
            Of dtype uint8, or float32 with NaN if values are missing.
        """
        check_is_fitted(self, "feature_")
        encoder = Encoder(self.n_features_in_, getattr(self, "feature_names_in_", None), self._categories)
        values = read_new_rows(self, X, encoder, None, unknown)
        parts = [
            _binary(column, conditions) for column, conditions in zip(values.T, self._conditions, strict=True)
        ]
        binary = np.concatenate(parts, axis=1)
        missing = np.isnan(values)
        if not missing.any():
            return binary
        return np.where(missing[:, self.feature_], np.float32(np.nan), binary.astype(np.float32))

    def costs(self, costs: Any = None, per: str = "feature") -> Costs:
        """Compute the costs of the columns.

        Parameters
        ----------
        costs : Costs, array-like, mapping of name to cost or None, default=None
            Cost of each feature, or of each column. By default each costs 1.
        per : {"feature", "column"}, default="feature"
            Whether `costs` are the costs of the features or of the columns. The cost of a feature is paid
            once for all columns that read it.

        Returns
        -------
        Costs
            Costs of the columns. With ``per="feature"`` the columns of a feature are a group, and are in the
            groups of the feature, too.

        Raises
        ------
        CostError
            If `per` is neither value.
        """
        check_is_fitted(self, "feature_")
        names = self.get_feature_names_out().tolist()
        if per == "column":
            return bind_costs(costs, names)
        if per != "feature":
            raise CostError(f"per must be 'feature' or 'column', got {per!r}")
        given = bind_costs(costs, self._names())
        groups = {}
        for g, label in enumerate(given.group_names):
            columns = np.flatnonzero(np.isin(self.feature_, given.members(g)))
            if len(columns):
                groups[label] = {"features": [names[j] for j in columns], "setup": given.setup[g]}
        for f in np.unique(self.feature_).tolist():
            name = str(given.name(f))
            groups[name if name not in given.group_names else f"{name} (source)"] = {
                "features": [names[j] for j in np.flatnonzero(self.feature_ == f)],
                "setup": given.feature[f],
            }
        return Costs(dict.fromkeys(names, 0.0), groups=groups, evaluation=given.evaluation, unit=given.unit)

    def get_feature_names_out(self, input_features: Any = None) -> NDArray[Any]:
        """Names of the columns: their conditions, such as ``"x0 > 1.5"``.

        Parameters
        ----------
        input_features : array-like of str, optional
            Names of the features. By default those seen by `fit`, or x0, x1, ...

        Returns
        -------
        array of shape (n_columns,)
            The names.
        """
        check_is_fitted(self, "feature_")
        names = self._names() if input_features is None else list(input_features)
        texts = [
            f"{names[f]} = {self._category(f, value)}" if one.by_category else f"{names[f]} > {value:.9g}"
            for f, one in enumerate(self._conditions)
            for value in one.values.tolist()
        ]
        return np.array(texts, dtype=object)

    def _conditions_of(self, column: NDArray[Any], by_category: bool) -> _Conditions:
        """The thresholds or categories of one column."""
        values = np.unique(column[~np.isnan(column)]).astype(np.float64)
        if by_category:
            return _Conditions(True, values if len(values) > 2 else values[1:])
        between = values[:-1] / 2 + values[1:] / 2
        if self.max_thresholds is not None and len(between) > self.max_thresholds:
            parts = self.max_thresholds + 1
            between = between[np.arange(1, parts) * len(values) // parts - 1]
        return _Conditions(False, between)

    def _category(self, feature: int, code: float) -> Any:
        known = self._categories.get(feature)
        return f"{code:g}" if known is None else known[int(code)]

    def _names(self) -> Sequence[str]:
        named = getattr(self, "feature_names_in_", None)
        return [f"x{f}" for f in range(self.n_features_in_)] if named is None else named.tolist()

    def _read(self, X: Any) -> NumericTable:
        table = read_training_rows(self, X)
        self._categories = table.categories
        return table

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.transformer_tags.preserves_dtype = []
        return tags


def _binary(column: NDArray[Any], conditions: _Conditions) -> NDArray[np.uint8]:
    """The columns made of one; a missing value gives 0."""
    here = column[:, None].astype(np.float64)
    met = here == conditions.values if conditions.by_category else here > conditions.values
    return met.astype(np.uint8)
