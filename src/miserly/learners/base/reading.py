"""Reading rows: what every learner knows of its columns, and what a run of its plan is given."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from numpy.typing import NDArray
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from miserly.costs import read_row_costs
from miserly.data.encoder import Encoder
from miserly.data.frames import NumericTable
from miserly.data.reading import read_new_rows, read_training_rows
from miserly.learners.base.arguments import threads_of
from miserly.plan import Plan

__all__ = ["RowReader"]


class RowReader(BaseEstimator):
    """The part of `PlanEstimator` that reads rows, to learn from and to predict."""

    plan_: Plan
    n_features_in_: int
    feature_names_in_: NDArray[Any]
    _categories: Mapping[int, Sequence[Any]]

    def read_table(self, X: Any, *, reset: bool, unknown: str = "error") -> NumericTable:
        """Read rows to learn from as numbers. All columns must be there.

        Float32 stays float32 and is not copied. Missing values become NaN; infinite values are an error.

        Parameters
        ----------
        X : array or frame of (n, n_features)
            Rows to learn from, or of a validation set.
        reset : bool
            With True, the categories of columns are learned from these rows, and `n_features_in_`,
            `feature_names_in_` and `categories_` are set. With False, rows are read by what was learned.
        unknown : {"error", "missing"}, default="error"
            With ``reset=False``, a value that is no known category is an error, or counts as missing.

        Returns
        -------
        NumericTable
            With `values` (n, n_features), `names` (None where columns have no names) and `categories`.
        """
        if not reset:
            names = getattr(self, "feature_names_in_", None)
            encoder = Encoder(self.n_features_in_, names, self._categories)
            values = read_new_rows(self, X, encoder, None, unknown)
            categories = {column: tuple(known) for column, known in self._categories.items()}
            return NumericTable(values, None if names is None else tuple(names), categories)
        table = read_training_rows(self, X)
        self._categories = table.categories
        return table

    def read_rows(self, X: Any, unknown: str = "error") -> NDArray[Any]:
        """Read rows to predict as numbers.

        Parameters
        ----------
        X : array or frame of (n, n_features)
            Rows to predict. A frame needs only the columns that the plan reads.
        unknown : {"error", "missing"}, default="error"
            A value that is no known category is an error, or counts as missing.

        Returns
        -------
        array of (n, n_features)
            Numbers as the plan takes them (``plan_.run(..., encoded=True)``).
        """
        plan = self.fitted_plan()
        return read_new_rows(self, X, plan.encoder, plan.features, unknown)

    def copy_columns(self, fitted: Any) -> None:
        """Take over what another fitted estimator knows of its columns and classes.

        Parameters
        ----------
        fitted : estimator with a `plan_`
            Its `n_features_in_`, `feature_names_in_`, `classes_` and categories are taken over.
        """
        for attribute in ("n_features_in_", "feature_names_in_", "classes_"):
            if hasattr(fitted, attribute):
                setattr(self, attribute, getattr(fitted, attribute))
        self._categories = fitted.plan_.categories

    @property
    def categories_(self) -> Mapping[int, Sequence[Any]]:
        """Categories of the columns that hold categories, by column number."""
        return self._categories

    @categories_.setter
    def categories_(self, categories: Mapping[int, Sequence[Any]]) -> None:
        self._categories = categories

    def fitted_plan(self) -> Plan:
        """Return `plan_`.

        Returns
        -------
        Plan
            The fitted plan.

        Raises
        ------
        NotFittedError
            If the estimator has no `plan_` yet.
        """
        check_is_fitted(self, "plan_")
        return self.plan_

    def run_arguments(
        self, X: Any, unknown: str = "error", known: Any = None, prices: Any = None
    ) -> dict[str, Any]:
        """Read what `Plan.run` is given: rows, what they know already, and the prices that they pay.

        Parameters
        ----------
        X : array or frame of (n, n_features)
            Rows to predict, as for `read_rows`.
        unknown : {"error", "missing"}, default="error"
            A value that is no known category is an error, or counts as missing.
        known : bool array of (n, n_features), frame or mapping of bools, list of features, or None
            What each row has already, as for `Plan.run`.
        prices : array of (n, n_features), frame, mapping, function or None
            Prices of each row, as for `Plan.run`.

        Returns
        -------
        dict
            Keyword arguments of `Plan.run`.
        """
        rows = self.read_rows(X, unknown)
        given = {"X": rows, "encoded": True, "n_threads": self.n_threads}
        some = read_row_costs(self.fitted_plan().costs, X, known, prices, len(rows))
        if some is not None:
            given.update(known=some.known, prices=some.prices)
        return given

    @property
    def n_threads(self) -> int | None:
        """Number of threads that `n_jobs` allows; None means all."""
        return threads_of(getattr(self, "n_jobs", None))
