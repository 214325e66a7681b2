"""Chosen candidates fitted to all rows, at the prices of the frontier."""

from __future__ import annotations

from copy import copy
from typing import Any

from miserly.costs import Costs
from miserly.data.rows import Rows
from miserly.selection.evaluation import Candidate, Trial, repriced
from miserly.selection.handovers import Pair
from miserly.selection.requests import Request
from miserly.selection.views import viewed

__all__ = ["Refitter"]


class Refitter:
    """Fits candidates to given rows; each trial is fitted once to the same rows.

    Parameters
    ----------
    costs : Costs
        The prices of the frontier.
    """

    def __init__(self, costs: Costs) -> None:
        self._costs = costs
        self._fitted: dict[tuple[Trial, int], tuple[Rows, Any]] = {}

    def prices(self, one: Candidate) -> Costs | None:
        """The prices of the frontier, if the candidate learned with others."""
        return None if one.trial.learner.costs == self._costs else self._costs

    def fit(self, one: Candidate, rows: Rows, request: Request) -> Any:
        """The candidate fitted to some rows, at the prices of the frontier, with the cap of the request."""
        model = copy(viewed(self._learned(one.trial, rows), one.view))
        if self.prices(one) is not None:
            model.plan_ = repriced(model.plan_, self._costs)
        if request.is_capped:
            model.plan_ = model.plan_.replace(budget=request.budget)
        return model

    def _learned(self, trial: Trial, rows: Rows) -> Any:
        """The fit of a trial to some rows; a model in several pairs is fitted once."""
        key = trial, id(rows)
        if key not in self._fitted:
            pair = trial.learner
            model = (
                pair.join(*(self._learned(half.trial, rows) for half in (pair.first, pair.then)))
                if isinstance(pair, Pair)
                else pair.fit(rows, trial.value)
            )
            self._fitted[key] = rows, model  # with its rows, so that their id is not used again
        return self._fitted[key][1]
