"""Where to spend the next fit: the search that draws a frontier.

First a few values of every dial, learners that are quick to fit before slow ones. After that each fit goes to
where the best curve so far may still rise most. Between two neighbouring values of a dial, of which the
thriftier costs `a` and the other `b`, a model is missing that costs something in between and may be nearly as
good as the dearer one. Its *room* is

    the integral, over the logarithm of the cost c from a to b, of max(0, hope - best(c))

with `hope` the value of the dearer model plus one standard error, and `best(c)` the best curve so far. The
pair with the most room is fitted at the geometric mean of its two values; where time is limited, the pair
with the most room per second.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

import numpy as np

from miserly.errors import DataError
from miserly.selection._judging import Bench, Candidate, Trial
from miserly.selection._pool import Contender

__all__ = ["Failure", "Search"]

_START_SHARE = 0.6  # of the time limit: no first value is tried after that
_CLOSE = 1.1  # values of a dial nearer than this factor are not told apart
_PATIENCE = 2  # failures of a contender before it is left out
_GRID = 200


@dataclass(frozen=True)
class Failure:
    """A fit that raised an error."""

    learner: str
    params: dict[str, Any]
    error: str


@dataclass
class Search:
    """Fits and judges contenders until `max_fits` fits or `time_limit` seconds are used up."""

    bench: Bench
    contenders: Sequence[Contender]
    max_fits: int
    time_limit: float
    max_cost: float  # no room is seen beyond
    candidates: list[Candidate] = field(default_factory=list)
    trials: list[tuple[Trial, list[Candidate]]] = field(default_factory=list)
    failures: list[Failure] = field(default_factory=list)
    _begun: float = field(default_factory=time.monotonic)

    @property
    def seconds(self) -> float:
        return time.monotonic() - self._begun

    @property
    def _n_tried(self) -> int:
        return len(self.trials) + len(self.failures)

    def run(self) -> None:
        for contender, value in self._first():
            self._attempt(contender, value)
        if not self.candidates:
            first = self.failures[0]
            raise DataError(f"every fit failed; the first, of {first.learner}: {first.error}")
        while self._n_tried < self.max_fits and (wanted := self._next()) is not None:
            self._attempt(*wanted)

    def _attempt(self, contender: Contender, value: float) -> None:
        start = time.monotonic()
        try:
            models = self.bench.fit(contender, value)
            trial = Trial(contender, value, models, time.monotonic() - start)
            found = self.bench.judge(trial)
        except Exception as error:  # one learner's trouble is not the others'
            told = f"{type(error).__name__}: {error}"
            self.failures.append(Failure(contender.name, contender.params(value, {}), told))
            return
        self.trials.append((trial, found))
        self.candidates += found

    # -- first values --------------------------------------------------------------------------------

    def _first(self) -> Iterator[tuple[Contender, float]]:
        """The first values of every contender, in the order of contenders; the lavish end comes first."""
        for place, contender in enumerate(self.contenders):
            for value in contender.start():
                hopeless = self._failed(contender) > 0 and not self._trials_of(contender)
                if hopeless or self._n_tried >= self.max_fits:
                    break
                late = self.seconds + self._expected(contender) > _START_SHARE * self.time_limit
                if late and place > 1:  # nothing paid and one learner is the least there can be
                    break
                yield contender, value

    def _trials_of(self, contender: Contender) -> list[tuple[Trial, list[Candidate]]]:
        return [(trial, found) for trial, found in self.trials if trial.contender is contender]

    def _failed(self, contender: Contender) -> int:
        return sum(failure.learner == contender.name for failure in self.failures)

    def _expected(self, contender: Contender) -> float:
        """How long a fit may take: as long as the longest one so far."""
        return max((trial.seconds for trial, _ in self._trials_of(contender)), default=0.0)

    # -- further values ------------------------------------------------------------------------------

    def _next(self) -> tuple[Contender, float] | None:
        """The contender and the value with the most room; None if there is none, or no time."""
        grid, best = self._best_curve()
        wanted, most = None, 0.0
        for contender in self.contenders:
            seconds = self._expected(contender)
            if self._failed(contender) >= _PATIENCE or self.seconds + seconds > self.time_limit:
                continue
            for value, (low, high), hope in self._gaps(contender):
                inside = (grid > low) & (grid < high)
                room = float(np.maximum(hope - best[inside], 0.0).sum())
                worth = room / max(seconds, 1e-3) if np.isfinite(self.time_limit) else room
                if worth > most:
                    wanted, most = (contender, value), worth
        return wanted

    def _gaps(self, contender: Contender) -> Iterator[tuple[float, tuple[float, float], float]]:
        """Between neighbouring values of a dial: the value to try, the costs around it, what to hope for."""
        if contender.dial is None:
            return
        dial, trials = contender.dial, self._trials_of(contender)
        known = [
            (trial.value, max(one.mean_cost for one in found), max(map(self._hope, found)))
            for trial, found in trials
        ]
        if known and dial.thrifty not in [value for value, *_ in known]:
            known.append((dial.thrifty, 0.0, -np.inf))  # an end that nobody has looked at
        known.sort(key=lambda one: one[0], reverse=dial.thrifty > dial.lavish)
        for (thrifty, low, _), (lavish, high, hope) in pairwise(known):
            if max(thrifty / lavish, lavish / thrifty) > _CLOSE:
                yield float(np.sqrt(thrifty * lavish)), (low, high), hope

    def _hope(self, candidate: Candidate) -> float:
        return self._sign * candidate.mean_value + float(np.nan_to_num(candidate.error))

    @property
    def _sign(self) -> float:
        return 1.0 if self.bench.metric.greater_is_better else -1.0

    def _best_curve(self) -> tuple[Any, Any]:
        """Costs on a logarithmic grid, and the best value so far that each pays for."""
        costs = np.array([one.mean_cost for one in self.candidates])
        gains = np.array([self._sign * one.mean_value for one in self.candidates])
        order = np.argsort(costs)
        best = np.maximum.accumulate(gains[order])
        paid = costs[costs > 0]
        top = min(self.max_cost, float(paid.max(initial=1.0)))
        grid = np.geomspace(min(float(paid.min(initial=top)), top), top, _GRID)
        place = np.searchsorted(costs[order], grid, side="right") - 1
        return grid, np.where(place >= 0, best[np.maximum(place, 0)], best[0])
