"""Where to spend the next fit: the search that draws a frontier.

Where budgets are asked for, these come first. The first learner that can be held to a budget is fitted at
each of them, the largest before the others: its beginnings serve the smaller ones from then on. Learners that
grow a single tree are fitted at all caps right after the first of these fits. Then the other learners are
fitted at the largest, the quickest first, and those that are not far behind at the others.

Next come a few values of every dial, learners that are quick to fit before slow ones. After that each fit
goes to where the best curve so far may still rise most. Between two neighbouring values of a dial, of which
the thriftier costs `a` and the other `b`, a model is missing that costs something in between and may be
nearly as good as the more expensive one. Its *room* is

    the integral, over the logarithm of the cost c from a to b, of max(0, hope - best(c))

with `hope` the value of the dearer model plus one standard error, and `best(c)` the best curve so far; where
budgets are asked for it is the sum over these. A dial is not followed beyond the largest of them. The
pair with the most room is fitted at the geometric mean of its two values; where time is limited, the pair
with the most room per second.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import CancelledError
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

import numpy as np

from miserly.errors import DataError
from miserly.selection.asked import Asked, Effort
from miserly.selection.candidates import Contender, Dial, cheapest_feature
from miserly.selection.cross_choice import choose
from miserly.selection.evaluation import Bench, Candidate, Trial, mean_and_error
from miserly.selection.workers import Crew, Order

__all__ = ["Failure", "Search"]

_START_SHARE = 0.6  # of the time limit: no first value is tried after that
_ASKED_SHARE = 0.5  # of the fits go to budgets asked for, but for those of the first learner
# Mean budgets at which the first learner is fitted before the search, the largest and the one farthest from
# it. With eight of them the mean over budgets fell by 0.02 on heart (seeds 30 to 33, 20 fits); with two it
# is as without any (seeds 30, 32).
_MEANS_FIRST = 2
_LEAST_TRIALS = 2  # done whatever time they take: nothing paid and one learner is the least there can be
_CLOSE = 1.1  # values of a dial nearer than this factor are not told apart
_PATIENCE = 2  # failures of a contender before it is left out
_WINDOW = 4  # fits under way at a time
_DOUBT = 2.0  # standard errors by which a contender must be behind to be left out
_GRID = 200


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


@dataclass(frozen=True, eq=False)
class _Gap:
    """A pair of neighbouring values of a dial: the value between, the costs around it, what to hope for."""

    contender: Contender
    value: float
    low: float
    high: float
    hope: float


@dataclass
class Search:
    """Fits and judges contenders until `max_fits` fits or `time_limit` seconds are used up."""

    bench: Bench
    crew: Crew
    contenders: Sequence[Contender]
    max_fits: int
    time_limit: float
    asked: Asked = field(default_factory=Asked)
    further: bool = True  # whether values other than first ones are tried
    expected: Mapping[Contender, float] = field(default_factory=dict)  # seconds of fits not made so far
    show: Callable[[Sequence[Candidate], int, int, Sequence[str]], None] = lambda *stand: None
    candidates: list[Candidate] = field(default_factory=list)
    trials: list[tuple[Trial, list[Candidate]]] = field(default_factory=list)
    failures: list[Failure] = field(default_factory=list)
    out_of_time: bool = False  # whether something was not tried for want of time
    _failed_at: list[tuple[Contender, float]] = field(default_factory=list)
    _given_up: set[Contender] = field(default_factory=set)
    _serving: Contender | None = None  # is given all the time there is
    _under_way: deque[tuple[Order, _Gap | None]] = field(default_factory=deque)
    _begun: float = field(init=False)

    def __post_init__(self) -> None:
        self._begun = self.crew.now()

    @property
    def seconds(self) -> float:
        """How long the search has taken, but for the time in which functions were compiled."""
        return self.crew.now() - self._begun

    @property
    def n_tried(self) -> int:
        return len(self.trials) + len(self.failures)

    @property
    def effort(self) -> Effort:
        told = [f"{one.learner}: {one.error}" for one in self.failures]
        return Effort(self.n_tried, self.seconds, self.out_of_time, told)

    def run(self) -> None:
        """Serve the budgets asked for, try first values, then go where there is most room."""
        self._run(self._first(), self.further)
        if not self.candidates:
            told = self.failures[0]
            raise DataError(f"every fit failed; the first, of {told.learner}: {told.error}")

    def serve(self) -> None:
        """Serve the budgets asked for with the first learner that can be held to them."""
        self._run(self._served(), further=False)

    def _run(self, first: Iterator[tuple[Contender, float] | None], further: bool) -> None:
        while True:
            if len(self._under_way) < self._window and self._begin(first, further):
                continue
            if not self._under_way:
                break
            fitting = dict.fromkeys(order.contender.name for order, _ in self._under_way)
            self.show(self.candidates, self.n_tried, len(self.failures), list(fitting))
            self._finish(self._under_way.popleft()[0])
        self.show(self.candidates, self.n_tried, len(self.failures), [])

    @property
    def _window(self) -> int:
        """How many fits are under way; without a time limit, the same number for any number of processes."""
        return 1 if self.crew.n_jobs == 1 and np.isfinite(self.time_limit) else _WINDOW

    def _begin(self, first: Iterator[tuple[Contender, float] | None], further: bool) -> bool:
        """Order the next fit, if there is one that need not wait for those under way."""
        if self.n_tried + len(self._under_way) >= self.max_fits:
            return False
        gap = None
        try:
            wanted = next(first)
        except StopIteration:
            gap = self._next() if self.candidates and further else None
            wanted = None if gap is None else (gap.contender, gap.value)
        if wanted is None:
            return False
        by_all_means = self._is_missing or wanted[0] is self._serving
        self._under_way.append((self.crew.begin(*wanted, wanted=by_all_means), gap))
        return True

    @property
    def _is_missing(self) -> bool:
        """Whether there would be nothing to show without the next fit."""
        return len(self.trials) + len(self._under_way) < _LEAST_TRIALS

    def _finish(self, order: Order) -> None:
        if len(self.trials) >= _LEAST_TRIALS and self.seconds > self.time_limit and order.cancel():
            self.out_of_time = True
            return
        contender, value = order.contender, order.value
        try:
            done = order.wait()
            seconds = len(done) * float(
                np.median([one.seconds for one in done] or [0.0])
            )  # without compiling
            trial = Trial(contender, value, tuple(one.plan for one in done), seconds)
            found = self.bench.judge(trial)
        except CancelledError:  # time was over before all parts had begun
            self.out_of_time = True
            return
        except Exception as error:  # one learner's trouble is not the others'
            told = f"{type(error).__name__}: {error}"
            self.failures.append(Failure(contender.name, contender.params(value, {}), told))
            self._failed_at.append((contender, value))
            return
        self.trials.append((trial, found))
        self.candidates += found

    # -- budgets asked for ---------------------------------------------------------------------------

    @property
    def _held(self) -> list[Contender]:
        """Those that can be fitted at the budgets asked for, searches of their own last."""
        return sorted((one for one in self.contenders if one.budgets), key=lambda one: one.searches)

    def _served(self) -> Iterator[tuple[Contender, float] | None]:
        """The answer that buys nothing, and the first learner that can be held to budgets.

        It is fitted at all caps, or at `_MEANS_FIRST` mean budgets: at a mean, models that cost some rows
        more than others do better, and the search finds these.
        """
        yield from self._nothing()
        for contender in self._held:
            self._serving = contender
            for budget in contender.budgets[: None if self.asked.caps else _MEANS_FIRST]:
                if self._is_begun(contender, budget):
                    continue
                if self._trials_of(contender) and self._is_late(contender, 1.0):
                    return
                yield contender, budget
                while self._is_under_way(contender) and not self._trials_of(contender):
                    yield None
                if self._hopeless(contender):
                    break
                yield from self._quick_fits()
            else:
                return

    def _quick_fits(self) -> Iterator[tuple[Contender, float] | None]:
        """Learners that grow a single tree, at all caps; with mean budgets alone, and few fits, none."""
        for contender in self._held if self.asked.caps else ():
            for budget in contender.budgets if contender.is_quick else ():
                few_left = self.n_tried + len(self._under_way) >= _ASKED_SHARE * self.max_fits
                if not few_left and not self._is_begun(contender, budget):
                    yield contender, budget

    def _held_to_budgets(self) -> Iterator[tuple[Contender, float] | None]:
        """All learners at the largest budget, then those that are not behind at the others."""
        while (pair := self._quickest_left(slice(1))) is not None:
            yield pair
        while self.further and (pair := self._quickest_left(slice(1, None))) is not None:
            while self._is_under_way(pair[0]) and not self._trials_of(pair[0]):
                yield None
            if not self._hopeless(pair[0]) and not self.is_behind(pair[0]):
                yield pair
            else:
                self._given_up.add(pair[0])

    def _quickest_left(self, which: slice) -> tuple[Contender, float] | None:
        """The fit at a budget that takes least time; without a time limit, the next one."""
        if self.n_tried + len(self._under_way) >= _ASKED_SHARE * self.max_fits:
            return None
        left = [
            (contender, budget)
            for contender in self._held
            if contender not in self._given_up and not self._hopeless(contender)
            if not self._is_late(contender, _START_SHARE)
            for budget in contender.budgets[which]
            if not self._is_begun(contender, budget)
        ]
        return min(left, key=lambda pair: self._rank(pair[0]), default=None)

    def _rank(self, contender: Contender) -> tuple[bool, float]:
        if np.isinf(self.time_limit):
            return contender.searches, 0.0
        unknown = np.inf if self.expected else 0.0
        return contender.searches, self.expected_seconds(contender) or unknown

    def _is_begun(self, contender: Contender, value: float) -> bool:
        tried = [trial.value for trial, _ in self._trials_of(contender)]
        coming = [order.value for order, _ in self._under_way if order.contender is contender]
        failed = [value for one, value in self._failed_at if one is contender]
        return any(np.array_equal(value, one, equal_nan=True) for one in (*tried, *coming, *failed))

    def _is_late(self, contender: Contender, share: float) -> bool:
        """Whether a fit begun now would be done after a share of the time."""
        late = self._seconds_then(contender) > share * self.time_limit
        self.out_of_time |= late
        return late

    # -- first values --------------------------------------------------------------------------------

    def _first(self) -> Iterator[tuple[Contender, float] | None]:
        """Budgets that were asked for, then first values of every dial."""
        if self.asked.budgets:
            yield from self._served() if self.further else self._nothing()
            self._serving = None
            if self.asked.caps:
                yield from self._held_to_budgets()
        yield from self._starts()

    def _nothing(self) -> Iterator[tuple[Contender, float] | None]:
        """The answer that buys nothing."""
        first = self.contenders[0]
        if first.dial is None and not self._is_begun(first, np.nan):
            yield first, np.nan

    def _starts(self) -> Iterator[tuple[Contender, float] | None]:
        """First values: the lavish end of every dial, then the second value of each, and so on.

        None where it must be seen first how a contender did.
        """
        starts = [self._start_of(contender) for contender in self.contenders]
        if self.asked.budgets and self._trials_of(self.contenders[0]):
            starts[0] = []  # the answer that buys nothing has been given
        for turn in range(max(map(len, starts))):
            for contender, values in zip(self.contenders, starts, strict=True):
                while self._is_under_way(contender):
                    yield None
                if turn >= len(values) or self._hopeless(contender) or self.is_behind(contender):
                    continue
                if self._leads_beyond(contender, values[turn]):
                    continue
                if not (turn == 0 and self._is_missing) and self._is_late(contender, _START_SHARE):
                    continue
                yield contender, values[turn]

    def _start_of(self, contender: Contender) -> list[float]:
        """First values of a dial; with mean budgets alone, only one learner was held to budgets before."""
        if not contender.budgets or self.asked.caps or self._trials_of(contender):
            return contender.start()
        has_another = any(
            one.learner is contender.learner and one is not contender for one in self.contenders
        )
        return [] if has_another else contender.first_values()

    def _leads_beyond(self, contender: Contender, value: float) -> bool:
        """Whether a thriftier value already costs as much as the largest budget."""
        dial = contender.dial
        if dial is None:
            return False
        thriftier = [
            found
            for trial, found in self._trials_of(contender)
            if (trial.value > value) == (dial.thrifty > dial.lavish)
        ]
        return any(max(one.mean_cost for one in found) >= self.asked.limit for found in thriftier)

    def _is_under_way(self, contender: Contender) -> bool:
        return any(order.contender is contender for order, _ in self._under_way)

    def _hopeless(self, contender: Contender) -> bool:
        return self._failed(contender) > 0 and not self._trials_of(contender)

    def is_behind(self, contender: Contender, rivals: Sequence[Contender] | None = None) -> bool:
        """Whether every model of a contender is beyond doubt no better than a cheaper one of a rival."""
        own = self.found_by(contender)
        rivals = [one for one in self.contenders if one is not contender] if rivals is None else rivals
        others = [one for rival in rivals for one in self.found_by(rival)]
        return bool(own) and all(self._beaten(one, others) for one in own)

    def _beaten(self, one: Candidate, others: Sequence[Candidate]) -> bool:
        rival = choose(others, one.mean_cost, self.bench.sign)
        if rival is None:
            return False
        gain, error = mean_and_error(self.bench.sign * (one.value - rival.value))
        return gain + _DOUBT * float(np.nan_to_num(error)) <= 0.0

    def found_by(self, contender: Contender) -> list[Candidate]:
        return [one for _, found in self._trials_of(contender) for one in found]

    def _trials_of(self, contender: Contender) -> list[tuple[Trial, list[Candidate]]]:
        return [(trial, found) for trial, found in self.trials if trial.contender is contender]

    def _failed(self, contender: Contender) -> int:
        """How often the learner failed; a fit that is a search of its own may fail where others do not."""
        alike = [one for one, _ in self._failed_at if one.name == contender.name]
        return sum(one.searches == contender.searches for one in alike)

    def expected_seconds(self, contender: Contender) -> float:
        """How long a fit may take: as the longest so far, but for the first, which may have compiled code."""
        taken = [trial.seconds for trial, _ in self._trials_of(contender)]
        return max(taken[1:] or taken, default=self.expected.get(contender, 0.0))

    def least_seconds(self, contender: Contender) -> float:
        """How long the quickest fit took: others may have compiled code."""
        return min((trial.seconds for trial, _ in self._trials_of(contender)), default=0.0)

    def _seconds_then(self, contender: Contender) -> float:
        """When a fit of a contender may be done."""
        waiting = [order.contender for order, _ in self._under_way]
        work = sum(map(self.expected_seconds, [*waiting, contender])) / self.crew.n_jobs
        return float(self.seconds + max(work, self.expected_seconds(contender) / self.crew.at_once))

    # -- further values ------------------------------------------------------------------------------

    def _next(self) -> _Gap | None:
        """The pair with the most room; None if there is none, or no time."""
        grid, best = self._best_curve()
        wanted, most = None, 0.0
        for contender in self.contenders:
            if self._failed(contender) >= _PATIENCE or self._is_late(contender, 1.0):
                continue
            seconds = self.expected_seconds(contender)
            for gap in self._gaps(contender):
                inside = (grid > gap.low) & (grid < gap.high)
                room = float(np.maximum(gap.hope - best[inside], 0.0).sum())
                worth = room / max(seconds, 1e-3) if np.isfinite(self.time_limit) else room
                if worth > most:
                    wanted, most = gap, worth
        return wanted

    def _gaps(self, contender: Contender) -> Iterator[_Gap]:
        """Between neighbouring values of a dial, unless something between them is under way."""
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
        coming = [order.value for order, _ in self._under_way if order.contender is contender]
        for (thrifty, low, _), (lavish, high, hope) in pairwise(known):
            ends = sorted((thrifty, lavish))
            if dial.is_budget and self.asked.caps:
                low = max(low, thrifty)  # with a larger budget it costs more, as far as anything is sure
            if ends[1] / ends[0] > _CLOSE and not any(ends[0] <= value <= ends[1] for value in coming):
                middle = self._middle(dial, *ends)
                if middle is not None:
                    yield _Gap(contender, middle, low, high, hope)

    def _middle(self, dial: Dial, least: float, most: float) -> float | None:
        """The value to try between two: of budgets, the one asked for that is nearest to their mean."""
        mean = float(np.sqrt(least * most))
        if not (dial.is_budget and self.asked.caps):
            return mean
        between = [budget for budget in self.asked.caps if least < budget < most]
        return min(between, key=lambda budget: abs(np.log(budget / mean)), default=None)

    def _grid(self, top: float) -> Any:
        """The costs at which a better model is wanted."""
        wanted = [budget for budget in self.asked.caps if 0.0 < budget < np.inf]
        if wanted:
            return np.array(wanted)
        top = min(top, self.asked.limit) or top
        return np.geomspace(min(cheapest_feature(self.contenders[0].costs), top), top, _GRID)

    def _hope(self, candidate: Candidate) -> float:
        return self.bench.sign * candidate.mean_value + float(np.nan_to_num(candidate.error))

    def _best_curve(self) -> tuple[Any, Any]:
        """Costs on a logarithmic grid, and the best value so far that each pays for."""
        costs = np.array([one.mean_cost for one in self.candidates])
        gains = np.array([self.bench.sign * one.mean_value for one in self.candidates])
        order = np.argsort(costs)
        best = np.maximum.accumulate(gains[order])
        grid = self._grid(float(costs.max()) or 1.0)
        place = np.searchsorted(costs[order], grid, side="right") - 1
        curve = np.where(place >= 0, best[np.maximum(place, 0)], best[0])
        for _, gap in self._under_way:  # taken for granted, so that the next fit looks elsewhere
            if gap is not None:
                middle = np.sqrt(max(gap.low, grid[0]) * gap.high)
                curve = np.where(grid > middle, np.maximum(curve, gap.hope), curve)
        return grid, curve
