"""What a search has tried so far, and the gaps where it may still find better models."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from miserly.costs import Costs, fits
from miserly.selection.candidates import CandidateLearner
from miserly.selection.cross_choice import choose
from miserly.selection.evaluation import Candidate, Trial
from miserly.selection.hyperparameters import Hyperparameter
from miserly.selection.intervals import mean_and_error
from miserly.selection.requests import SearchBudgets

__all__ = ["Failure", "Gap", "Gaps", "History", "SearchEffort", "why_nothing_helps"]

Floats: TypeAlias = NDArray[np.float64]

_BEHIND_ERRORS = 2.0  # standard errors by which a learner must be behind to get no further fits
_LATE_FITS = 3  # that are stopped because they take too long, at smaller and smaller budgets


@dataclass(frozen=True)
class Failure:
    """A fit that raised an error."""

    learner: str
    params: dict[str, Any]
    error: str

    @property
    def is_late(self) -> bool:
        """Whether it was stopped because it took too long."""
        return self.error.startswith(TimeoutError.__name__)


@dataclass(frozen=True)
class SearchEffort:
    """The number of values that a search tried, its time, whether a time limit ended it, and failures."""

    n_fits: int
    seconds: float
    out_of_time: bool
    failures: Sequence[str] = ()  # in words


def why_nothing_helps(costs: Costs, budget: float, effort: SearchEffort) -> str:
    """Why no model inside a budget is better than a constant answer."""
    prices = costs.marginals(np.zeros(len(costs), dtype=np.bool_)) + costs.evaluation
    cheapest = int(np.argmin(prices))
    if not fits(0.0, prices[cheapest], budget):
        unit = f" {costs.unit}" if costs.unit else ""
        return (
            f"nothing fits the budget: the cheapest feature, {costs.name(cheapest)!r}, costs "
            f"{prices[cheapest]:g}{unit}"
        )
    if effort.failures and len(effort.failures) >= effort.n_fits - 1:  # all but the constant
        return f"every fit failed; the first: {effort.failures[0]}"
    failed = f" ({len(effort.failures)} failed; the first: {effort.failures[0]})" if effort.failures else ""
    if effort.out_of_time:
        return f"time ran out after {effort.n_fits} fits, {effort.seconds:.0f} seconds{failed}"
    return f"no feature that fits the budget helps on held-out rows, in {effort.n_fits} fits{failed}"


@dataclass
class History:
    """Trials and failures, in the order in which they ended.

    Attributes
    ----------
    sign : float
        1 if a larger value of the metric is better, else -1.
    candidates : list of Candidate
        The models of all trials.
    trials : list of (Trial, list of Candidate)
    failures : list of Failure
    expected : mapping
        Seconds of a fit of each learner, from a screening; used until the learner has been fitted.
    late_from : dict
        The least budget at which a fit of a learner was stopped because it took too long.
    doubtful_from : dict
        The least budget at which it is expected to take too long.
    leaders : set
        Learners that were best at some budget, or nearly, in a screening or in the search itself.
    """

    sign: float
    candidates: list[Candidate] = field(default_factory=list)
    trials: list[tuple[Trial, list[Candidate]]] = field(default_factory=list)
    failures: list[Failure] = field(default_factory=list)
    expected: Mapping[CandidateLearner, float] = field(default_factory=dict)
    late_from: dict[CandidateLearner, float] = field(default_factory=dict)
    doubtful_from: dict[CandidateLearner, float] = field(default_factory=dict)
    leaders: set[CandidateLearner] = field(default_factory=set)
    _failed_at: list[tuple[CandidateLearner, float]] = field(default_factory=list)

    @property
    def n_tried(self) -> int:
        """The number of trials and failures."""
        return len(self.trials) + len(self.failures)

    def add(self, trial: Trial, found: list[Candidate]) -> None:
        """Record a fit and its models."""
        self.trials.append((trial, found))
        self.candidates += found

    def add_failure(self, learner: CandidateLearner, value: float, error: Exception) -> None:
        """Record a fit that raised an error."""
        words = f"{type(error).__name__}: {error}"
        self.failures.append(Failure(learner.name, learner.params(value, {}), words))
        self._failed_at.append((learner, value))
        if self.failures[-1].is_late and value in learner.budgets:
            self.late_from[learner] = min(value, self.late_from.get(learner, np.inf))

    def trials_of(self, learner: CandidateLearner) -> list[tuple[Trial, list[Candidate]]]:
        """The trials of one learner."""
        return [(trial, found) for trial, found in self.trials if trial.learner is learner]

    def found_by(self, learner: CandidateLearner) -> list[Candidate]:
        """The models of one learner."""
        return [one for _, found in self.trials_of(learner) for one in found]

    def values_of(self, learner: CandidateLearner) -> list[float]:
        """The values of the hyperparameter that were tried, those that failed included."""
        failed = [value for one, value in self._failed_at if one is learner]
        return [*(trial.value for trial, _ in self.trials_of(learner)), *failed]

    def n_failed(self, learner: CandidateLearner) -> int:
        """How often the learner failed. Fits that are searches of their own are counted separately."""
        alike = [one for one, _ in self._failed_at if one.name == learner.name]
        return sum(one.searches == learner.searches for one in alike)

    def is_hopeless(self, learner: CandidateLearner) -> bool:
        """Whether every fit of the learner failed; fits that took too long at a budget count less."""
        failures = [one for one in self.failures if one.learner == learner.name]
        most = _LATE_FITS if all(one.is_late for one in failures) and learner in self.late_from else 1
        return self.n_failed(learner) >= most and not self.trials_of(learner)

    def is_too_slow(self, learner: CandidateLearner, budget: float, probably: bool = False) -> bool:
        """Whether a fit at this budget, or at a smaller one, has taken too long, or probably will."""
        doubtful = self.doubtful_from.get(learner, np.inf) if probably else np.inf
        return budget >= min(self.late_from.get(learner, np.inf), doubtful)

    def leading(
        self, learners: Sequence[CandidateLearner], budgets: Sequence[float]
    ) -> set[CandidateLearner]:
        """The learners whose models inside some budget are not worse than the best by two standard errors."""
        found: set[CandidateLearner] = set()
        for budget in budgets:
            best = choose(self.candidates, budget, self.sign)
            for learner in learners if best is not None else ():
                own = choose(self.found_by(learner), budget, self.sign)
                if own is best or (own and best and not self._is_worse(own, best)):
                    found.add(learner)
        return found

    def leads_beyond(self, learner: CandidateLearner, value: float, budget: float) -> bool:
        """Whether a value nearer to the cheap end already costs as much as a budget."""
        parameter = learner.hyperparameter
        if parameter is None:
            return False
        cheaper = [
            found
            for trial, found in self.trials_of(learner)
            if (trial.value > value) == (parameter.cheap > parameter.expensive)
        ]
        return any(max(one.mean_cost for one in found) >= budget for found in cheaper)

    def is_behind(self, learner: CandidateLearner, rivals: Sequence[CandidateLearner]) -> bool:
        """Whether no model of a learner is better than a cheaper one of a rival, by two standard errors."""
        own = self.found_by(learner)
        others = [one for rival in rivals for one in self.found_by(rival)]
        return bool(own) and all(self._is_beaten(one, others) for one in own)

    def _is_beaten(self, one: Candidate, others: Sequence[Candidate]) -> bool:
        one, others = one.without_cost(), [other.without_cost() for other in others]
        rival = choose(others, one.mean_cost, self.sign)
        return rival is not None and self._is_worse(one, rival)

    def _is_worse(self, one: Candidate, rival: Candidate) -> bool:
        gain, error = mean_and_error(self.sign * (one.value - rival.value))
        return gain + _BEHIND_ERRORS * float(np.nan_to_num(error)) <= 0.0

    def expected_seconds(self, learner: CandidateLearner) -> float:
        """The time of a fit: the longest so far, without the first, which may have compiled code."""
        taken = [trial.seconds for trial, _ in self.trials_of(learner)]
        return max(taken[1:] or taken, default=self.expected.get(learner, 0.0))

    def least_seconds(self, learner: CandidateLearner) -> float:
        """The time of the quickest fit; others may have compiled code."""
        return min((trial.seconds for trial, _ in self.trials_of(learner)), default=0.0)


# -- gaps ----------------------------------------------------------------------------------------------------
#
# Consider two neighbouring values of a hyperparameter, with models of cost `a` and of higher cost `b`. A
# model with a cost between them has not been tried. It may be nearly as good as the more expensive one. The
# *room* of this gap is
#
#     the integral, over the logarithm of the cost c from a to b, of max(0, hope - best(c))
#
# where `hope` is the value of the more expensive model plus one standard error, and `best(c)` is the best
# value so far at cost c. If the search has budgets, the room is a sum over the budgets. The next fit is in
# the gap with the most room, at the geometric mean of its two values. With a time limit, it is in the gap
# with the most room per second. If the metric is a total cost, `hope` is the cost of mistakes of the more
# expensive model, plus c.

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
    of_total: bool = False

    def hope_at(self, costs: Floats) -> Floats:
        """The metric to hope for at some costs; they are part of a total."""
        return self.hope - costs if self.of_total else np.full(len(costs), self.hope)


@dataclass(frozen=True, eq=False)
class Gaps:
    """The gaps of a search.

    Attributes
    ----------
    history : History
    budgets : SearchBudgets
    coming : sequence of (CandidateLearner, float, Gap or None)
        Fits in progress. Their gaps count as closed, so that the next fit is made in another gap.
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
                room = float(np.maximum(gap.hope_at(grid[inside]) - best[inside], 0.0).sum())
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
                    yield Gap(learner, middle, low, high, hope, self._of_total)

    def _middle(self, parameter: Hyperparameter, least: float, most: float) -> float | None:
        """The value to try between two: their geometric mean; of caps, the one nearest to that mean."""
        mean = float(np.sqrt(least * most))
        if not (parameter.is_budget and self.budgets.caps):
            return mean
        between = [budget for budget in self.budgets.caps if least < budget < most]
        return min(between, key=lambda budget: abs(np.log(budget / mean)), default=None)

    def _hope(self, candidate: Candidate) -> float:
        alone = candidate.without_cost()
        return self.history.sign * alone.mean_value + float(np.nan_to_num(alone.error))

    @property
    def _of_total(self) -> bool:
        return any(one.includes_cost for one in self.history.candidates[:1])

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
                curve = np.where(grid > middle, np.maximum(curve, gap.hope_at(grid)), curve)
        return grid, curve

    def _grid(self, top: float, cheapest: float) -> Floats:
        """The costs at which a better model is wanted."""
        wanted = [budget for budget in self.budgets.caps if 0.0 < budget < np.inf]
        if wanted:
            return np.array(wanted)
        top = min(top, self.budgets.largest) or top
        return np.geomspace(min(cheapest, top), top, _GRID)
