"""Where the best curve may still rise most: gaps between neighbouring values of a hyperparameter.

Between two neighbouring values, the cheaper model of cost `a` and the other of cost `b`, a model is missing
that costs something in between and may be nearly as good as the more expensive one. The *room* of this gap is

    the integral, over the logarithm of the cost c from a to b, of max(0, hope - best(c))

with `hope` the value of the more expensive model plus one standard error, and `best(c)` the best value so
far at cost c. If the search has budgets, the room is a sum over these. The gap with the most room is fitted
next, at the geometric mean of its two values; with a time limit, the gap with the most room per second.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from miserly.selection.budgets import SearchBudgets
from miserly.selection.candidates import CandidateLearner
from miserly.selection.evaluation import Candidate
from miserly.selection.history import History
from miserly.selection.hyperparameters import Hyperparameter

__all__ = ["Gap", "Gaps"]

Floats: TypeAlias = NDArray[np.float64]

_CLOSE = 1.1  # values of a hyperparameter whose ratio is smaller than this are taken as equal
_GRID = 200


@dataclass(frozen=True, eq=False)
class Gap:
    """Two neighbouring values: the value between them, the costs around it, and the metric to hope for."""

    learner: CandidateLearner
    value: float
    low: float
    high: float
    hope: float


@dataclass(frozen=True, eq=False)
class Gaps:
    """The gaps of a search.

    Attributes
    ----------
    history : History
    budgets : SearchBudgets
    coming : sequence of (CandidateLearner, float, Gap or None)
        Fits under way. Their gaps are taken as closed, so that the next fit is made elsewhere.
    """

    history: History
    budgets: SearchBudgets
    coming: Sequence[tuple[CandidateLearner, float, Gap | None]]

    def widest(self, learners: Sequence[CandidateLearner], cheapest: float, per_second: bool) -> Gap | None:
        """The gap with the most room; None if no gap has room.

        Parameters
        ----------
        learners : sequence of CandidateLearner
            Those that may be fitted.
        cheapest : float
            The cost of the cheapest feature, where the grid of costs begins.
        per_second : bool
            Whether the room is divided by the expected time of a fit.
        """
        grid, best = self._best_curve(cheapest)
        widest, most = None, 0.0
        for learner in learners:
            seconds = self.history.expected_seconds(learner)
            for gap in self._of(learner):
                inside = (grid > gap.low) & (grid < gap.high)
                room = float(np.maximum(gap.hope - best[inside], 0.0).sum())
                worth = room / max(seconds, 1e-3) if per_second else room
                if worth > most:
                    widest, most = gap, worth
        return widest

    def _of(self, learner: CandidateLearner) -> Iterator[Gap]:
        """Gaps between neighbouring values of a learner, unless a fit between them is under way."""
        parameter = learner.hyperparameter
        if parameter is None:
            return
        known = [
            (trial.value, max(one.mean_cost for one in found), max(map(self._hope, found)))
            for trial, found in self.history.trials_of(learner)
        ]
        if known and parameter.cheap not in [value for value, *_ in known]:
            known.append((parameter.cheap, 0.0, -np.inf))  # the cheap end has not been tried
        known.sort(key=lambda one: one[0], reverse=parameter.cheap > parameter.expensive)
        coming = [value for other, value, _ in self.coming if other is learner]
        for (cheaper, low, _), (pricier, high, hope) in pairwise(known):
            ends = sorted((cheaper, pricier))
            if parameter.is_budget and self.budgets.caps:
                low = max(low, cheaper)  # a model of a larger budget costs more than the smaller budget
            if ends[1] / ends[0] > _CLOSE and not any(ends[0] <= value <= ends[1] for value in coming):
                middle = self._middle(parameter, *ends)
                if middle is not None:
                    yield Gap(learner, middle, low, high, hope)

    def _middle(self, parameter: Hyperparameter, least: float, most: float) -> float | None:
        """The value to try between two: their geometric mean; of caps, the one nearest to that mean."""
        mean = float(np.sqrt(least * most))
        if not (parameter.is_budget and self.budgets.caps):
            return mean
        between = [budget for budget in self.budgets.caps if least < budget < most]
        return min(between, key=lambda budget: abs(np.log(budget / mean)), default=None)

    def _hope(self, candidate: Candidate) -> float:
        return self.history.sign * candidate.mean_value + float(np.nan_to_num(candidate.error))

    def _best_curve(self, cheapest: float) -> tuple[Floats, Floats]:
        """Costs on a logarithmic grid, and the best value so far at each of them."""
        some, sign = self.history.candidates, self.history.sign
        costs = np.array([one.mean_cost for one in some])
        gains = np.array([sign * one.mean_value for one in some])
        order = np.argsort(costs)
        best = np.maximum.accumulate(gains[order])
        grid = self._grid(float(costs.max()) or 1.0, cheapest)
        place = np.searchsorted(costs[order], grid, side="right") - 1
        curve: Floats = np.where(place >= 0, best[np.maximum(place, 0)], best[0])
        for _, _, gap in self.coming:
            if gap is not None:
                middle = np.sqrt(max(gap.low, grid[0]) * gap.high)
                curve = np.where(grid > middle, np.maximum(curve, gap.hope), curve)
        return grid, curve

    def _grid(self, top: float, cheapest: float) -> Floats:
        """The costs at which a better model is wanted."""
        wanted = [budget for budget in self.budgets.caps if 0.0 < budget < np.inf]
        if wanted:
            return np.array(wanted)
        top = min(top, self.budgets.largest) or top
        return np.geomspace(min(cheapest, top), top, _GRID)
