"""The arguments of a search about its rows: labels, weights, costs, known, prices and ordered features."""

from __future__ import annotations

from dataclasses import dataclass, replace
from numbers import Integral
from typing import Any

import numpy as np

from miserly.costs import Costs, read_outcomes, read_row_costs
from miserly.data.frames import is_frame
from miserly.data.reading import read_rows
from miserly.data.rows import Rows
from miserly.errors import DataError
from miserly.learners.base import bind_costs, ordering_weights, read_encoded_frames
from miserly.learners.base.outcomes import column_reader

__all__ = ["RowArguments"]


@dataclass(frozen=True, eq=False)
class RowArguments:
    """The arguments of `frontier` that are about rows.

    Parameters
    ----------
    X, y, costs, known, prices, qid, sample_weight, ordered, never_ordered, outcome_costs
        As for `frontier`.
    """

    X: Any
    y: Any
    costs: Any
    known: Any
    prices: Any
    qid: Any
    sample_weight: Any
    ordered: Any
    never_ordered: str
    outcome_costs: Any

    def read(self, learners: Any, cv: Any) -> tuple[Rows, Costs]:
        """The checked rows with their known features, prices and outcome costs, and the costs of features.

        Parameters
        ----------
        learners : object
            The learners that will read the rows.
        cv : object
            How rows are held out. Rows of weight 0 stay if it has row numbers.

        Returns
        -------
        rows : Rows
        costs : Costs
        """
        X = self.X
        if X is None or self.y is None:
            raise DataError('give learners (or "auto"), rows and labels: frontier("auto", X, y, costs=...)')
        encode = read_encoded_frames(learners)
        rows = read_rows(X, self.y, self.qid, weight=self.sample_weight, encode=encode)
        listed = bind_costs(self.costs, [str(c) for c in X.columns] if is_frame(X) else np.shape(X)[1])
        rows = replace(rows, row_costs=read_row_costs(listed, X, self.known, self.prices))
        rows = self._without_never_ordered(rows, listed)
        if self.outcome_costs is not None:
            table = read_outcomes(self.outcome_costs, np.unique(rows.y), column_reader(X))
            rows = replace(rows, outcomes=table.check_rows(len(rows)))
        if cv is None or isinstance(cv, Integral) or hasattr(cv, "split"):
            rows = rows.without_zero_weights().with_mean_weight_one()
        return rows, listed

    def _without_never_ordered(self, rows: Rows, listed: Costs) -> Rows:
        """The rows with their weights times those for features that were never ordered."""
        if self.ordered is None:
            if self.never_ordered != "missing":
                raise DataError(
                    f"never_ordered={self.never_ordered!r} needs `ordered`, a mask of what was ordered"
                )
            return rows
        weight = ordering_weights(self.X, self.ordered, listed, self.never_ordered, known=self.known)
        if self.never_ordered == "missing":
            return rows
        weight = weight if rows.weight is None else weight * rows.weight
        if not weight.any():
            raise DataError("every row in which the features were ordered has weight 0")
        return replace(rows, weight=weight).with_mean_weight_one()
