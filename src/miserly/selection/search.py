"""The order of the fits of a search.

If the search has budgets, these come first. The first learner that has a budget as a parameter is fitted at
each of them (at two, if they are mean budgets), the largest first: prefixes of its model serve the smaller
budgets from then on. Learners that grow a single tree are fitted at all caps right after the first of these
fits. Then the other learners are fitted at the largest cap and at one in the middle, the fastest first: some
learners are good at small caps alone. Those that are competitive are also fitted at the other caps. If time
is limited, the best of them come first.

The constant answer and learners without a hyperparameter come before all of these. They are fitted once.

Next, a few values of every hyperparameter are tried, quick learners before slow ones. After that, each fit
goes to the widest gap of the best curve so far (see `miserly.selection.history`). No value beyond the largest
budget is tried.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import CancelledError
from dataclasses import dataclass, field
from typing import TypeAlias

import numpy as np

from miserly.errors import DataError
from miserly.selection.candidates import CandidateLearner
from miserly.selection.evaluation import Candidate, Evaluator, Trial
from miserly.selection.history import Failure, Gap, Gaps, History, SearchEffort
from miserly.selection.hyperparameters import cheapest_feature
from miserly.selection.requests import SearchBudgets
from miserly.selection.workers import Order, Workers

__all__ = ["Search"]

# The next fit; None if results of fits under way are needed to choose it.
Fits: TypeAlias = Iterator[tuple[CandidateLearner, float] | None]

_START_SHARE = 0.6  # of the time limit: no first value is tried after that ...
_CAPS_SHARE = 0.9  # ... or after that, if there are caps to fit at, or no further values to come
_BUDGET_SHARE = 0.5  # of the fits go to the budgets of the search, without those of the first learner
# Mean budgets at which the first learner is fitted before the search, the largest and the one farthest from
# it. With eight of them the mean over budgets fell by 0.02 on heart (seeds 30 to 33, 20 fits); with two it
# is as without any (seeds 30, 32).
_MEANS_FIRST = 2
_LEAST_TRIALS = 2  # made in any case: the constant answer and one learner
_LARGEST, _SMALLEST, _MIDDLE = 0, 1, 2  # places in the budgets of a learner
_PATIENCE = 2  # failures of a learner before it gets no further fits
_WINDOW = 4  # fits under way at a time


@dataclass
class Search:
    """Fits and evaluates candidate learners until `max_fits` fits or `time_limit` seconds are used up.

    Attributes
    ----------
    evaluator : Evaluator
    workers : Workers
    learners : sequence of CandidateLearner
        The constant answer, then the others in the order in which they are tried.
    max_fits : int
    time_limit : float
    budgets : SearchBudgets
    first_values_only : bool
        Whether the search ends after the first values.
    show : function
        Called with candidates, number of fits, number of failures and names of the learners being fitted.
    out_of_time : bool
        Whether a fit was not made because there was no time for it.
    """

    evaluator: Evaluator
    workers: Workers
    learners: Sequence[CandidateLearner]
    max_fits: int
    time_limit: float
    budgets: SearchBudgets = field(default_factory=SearchBudgets)
    first_values_only: bool = False
    show: Callable[[Sequence[Candidate], int, int, Sequence[str]], None] = lambda *state: None
    out_of_time: bool = False
    history: History = field(init=False)
    _given_up: set[CandidateLearner] = field(default_factory=set)
    _at_budgets: CandidateLearner | None = None  # being fitted at the budgets, without a limit of its own
    _skips_doubtful: bool = False  # fits that probably take too long
    _under_way: deque[tuple[Order, Gap | None]] = field(default_factory=deque)
    _started: float = field(init=False)

    def __post_init__(self) -> None:
        self.history = History(self.evaluator.metric.sign)
        self._started = self.workers.now()

    @property
    def candidates(self) -> list[Candidate]:
        """The models found so far."""
        return self.history.candidates

    @property
    def failures(self) -> list[Failure]:
        """The fits that failed so far."""
        return self.history.failures

    @property
    def seconds(self) -> float:
        """How long the search has taken, without the time in which functions were compiled."""
        return self.workers.now() - self._started

    @property
    def effort(self) -> SearchEffort:
        """How much was tried."""
        words = [f"{one.learner}: {one.error}" for one in self.failures]
        return SearchEffort(self.history.n_tried, self.seconds, self.out_of_time, words)

    def run(self) -> None:
        """Fit at the budgets, try first values, then fill the widest gaps."""
        self._run(self._first_fits(), not self.first_values_only)
        if not self.candidates:
            first = self.failures[0]
            raise DataError(f"every fit failed; the first, of {first.learner}: {first.error}")

    def run_budgets(self) -> None:
        """Fit only the first learner with a budget, at the budgets of the search."""
        self._run(self._first_at_budgets(), further=False)

    # -- one fit after the other ---------------------------------------------------------------------

    def _run(self, first: Fits, further: bool) -> None:
        while True:
            if len(self._under_way) < self._window and self._begin(first, further):
                continue
            if not self._under_way:
                break
            self._show(list(dict.fromkeys(order.learner.name for order, _ in self._under_way)))
            self._finish(self._under_way.popleft()[0])
        self._show([])

    def _show(self, fitting: Sequence[str]) -> None:
        self.show(self.candidates, self.history.n_tried, len(self.failures), fitting)

    @property
    def _window(self) -> int:
        """How many fits are under way; without a time limit, the same number for any number of processes."""
        return 1 if self.workers.n_jobs == 1 and np.isfinite(self.time_limit) else _WINDOW

    def _begin(self, first: Fits, further: bool) -> bool:
        """Start the next fit, unless it depends on fits under way; whether one was started."""
        if self._n_started >= self.max_fits:
            return False
        gap = None
        try:
            wanted = next(first)
        except StopIteration:
            gap = self._next_gap() if self.candidates and further else None
            wanted = None if gap is None else (gap.learner, gap.value)
        if wanted is None:
            return False
        needed = self._is_missing or wanted[0] is self._at_budgets
        self._under_way.append((self.workers.begin(*wanted, wanted=needed), gap))
        return True

    @property
    def _n_started(self) -> int:
        return self.history.n_tried + len(self._under_way)

    @property
    def _is_missing(self) -> bool:
        """Whether there would be no result without the next fit."""
        return len(self.history.trials) + len(self._under_way) < _LEAST_TRIALS

    def _finish(self, order: Order) -> None:
        """Wait for a fit, evaluate it and record it."""
        enough = len(self.history.trials) >= _LEAST_TRIALS
        if enough and self.seconds > self.time_limit and order.cancel():
            self.out_of_time = True
            return
        learner, value = order.learner, order.value
        try:
            done = order.wait()
            median = float(np.median([one.seconds for one in done] or [0.0]))  # without compiling
            trial = Trial(learner, value, tuple(one.plan for one in done), len(done) * median)
            found = self.evaluator.evaluate(trial)
        except CancelledError:  # the time ended before all parts had started
            self.out_of_time = True
        except Exception as error:  # the other learners go on
            self.history.add_failure(learner, value, error)
        else:
            self.history.add(trial, found)

    # -- fits at the budgets of the search -----------------------------------------------------------

    @property
    def _with_budgets(self) -> list[CandidateLearner]:
        """The learners that can be fitted at the budgets, those whose fits are searches last."""
        return sorted((one for one in self.learners if one.budgets), key=lambda one: one.searches)

    def _first_at_budgets(self) -> Fits:
        """Learners with nothing to vary, then the first learner with a budget.

        It is fitted at all caps, or at `_MEANS_FIRST` mean budgets: at a mean budget, models whose rows pay
        different amounts are better, and the search finds these.
        """
        yield from self._without_hyperparameter()
        for learner in self._with_budgets:
            self._at_budgets = learner
            for budget in learner.budgets[: None if self.budgets.caps else _MEANS_FIRST]:
                if self._is_begun(learner, budget):
                    continue
                if self.history.trials_of(learner) and self._is_late(learner, 1.0):
                    return
                yield learner, budget
                while self._is_under_way(learner) and not self.history.trials_of(learner):
                    yield None
                if self.history.is_hopeless(learner):
                    break
                yield from self._quick_fits()
            else:
                return

    def _quick_fits(self) -> Fits:
        """Learners that grow a single tree, at all caps; none with mean budgets alone, or few fits left."""
        for learner in self._with_budgets if self.budgets.caps else ():
            for budget in learner.budgets if learner.is_quick else ():
                few_left = self._n_started >= _BUDGET_SHARE * self.max_fits
                if not few_left and not self._is_begun(learner, budget):
                    yield learner, budget

    def _others_at_budgets(self) -> Fits:
        """All learners at the largest budget and at one in the middle, then those that are not behind.

        If time is limited, the best are fitted at all budgets before the others. After a screening, those
        that it had time for come before all others. First values alone are for a subsample with little time:
        there the fits in the middle come first, which are quicker. A learner that takes too long at both is
        fitted at the smallest budget.
        """
        every = set(self._with_budgets)
        screened = {one for one in every if self.history.expected_seconds(one) > 0.0}
        if self.history.expected:
            self._skips_doubtful = True
            yield from self._at_probe(screened, _LARGEST)
            yield from self._at_all_budgets(screened, leaders_only=True)
            yield from self._at_probe(screened, _MIDDLE)
            self._skips_doubtful = False
        for probe in (_MIDDLE, _LARGEST) if self.first_values_only else (_LARGEST, _MIDDLE):
            yield from self._at_probe(every, probe)
        yield from self._at_probe(every & {*self.history.late_from}, _SMALLEST)
        if not self.first_values_only:
            if np.isfinite(self.time_limit):
                yield from self._at_all_budgets(every, leaders_only=True)
            yield from self._at_all_budgets(every)

    def _at_probe(self, some: set[CandidateLearner], place: int) -> Fits:
        """Some learners at one budget of each."""
        while (pair := self._quickest_left(some, slice(place, place + 1))) is not None:
            is_known = self.history.trials_of(pair[0]) or not self._is_under_way(pair[0])
            yield pair if is_known else None

    def _at_all_budgets(self, some: set[CandidateLearner], leaders_only: bool = False) -> Fits:
        """Some learners at all budgets, unless they turn out to be behind."""
        while True:
            if leaders_only:
                self.history.leaders |= self.history.leading([*some], self.budgets.amounts)
            pair = self._quickest_left(some & self.history.leaders if leaders_only else some, slice(None))
            if pair is None:
                return
            learner = pair[0]
            while self._is_under_way(learner) and not self.history.trials_of(learner):
                yield None
            if self.history.is_hopeless(learner) or self._is_behind(learner):
                self._given_up.add(learner)
            else:
                yield pair

    def _quickest_left(
        self, some: set[CandidateLearner], which: slice
    ) -> tuple[CandidateLearner, float] | None:
        """The next fit at a budget; if time is limited, of a learner that leads, and then of the fastest."""
        if self._n_started >= _BUDGET_SHARE * self.max_fits:
            return None
        left = [
            (learner, budget)
            for learner in self._with_budgets
            if learner in some
            if learner not in self._given_up and not self.history.is_hopeless(learner)
            if not self._is_late(learner, self._start_share)
            for budget in learner.budgets[which]
            if not self._is_begun(learner, budget) and self._may_be_in_time(learner, budget)
        ]
        return min(left, key=lambda pair: self._rank(pair[0]), default=None)

    def _may_be_in_time(self, learner: CandidateLearner, budget: float) -> bool:
        """Whether a fit at a budget was not found to take too long; on a subsample, whether it may not be.

        On a subsample a fit that would take too long is a large part of the little time. So the time of
        earlier fits is extrapolated in proportion to the budget.
        """
        if self.history.is_too_slow(learner, budget, self._skips_doubtful):
            return False
        known = [trial for trial, _ in self.history.trials_of(learner)] if self.first_values_only else []
        return all(
            one.seconds * budget / one.value <= self.workers.longest for one in known if one.value > 0.0
        )

    def _rank(self, learner: CandidateLearner) -> tuple[bool, bool, float]:
        if np.isinf(self.time_limit):
            return learner.searches, False, 0.0
        unknown = np.inf if self.history.expected else 0.0
        is_behind = learner not in self.history.leaders
        return learner.searches, is_behind, self.history.expected_seconds(learner) or unknown

    # -- first values --------------------------------------------------------------------------------

    def _first_fits(self) -> Fits:
        """Fits at the budgets of the search, then first values of every hyperparameter."""
        if self.budgets.amounts:
            yield from (
                self._without_hyperparameter() if self.first_values_only else self._first_at_budgets()
            )
            self._at_budgets = None
            if self.budgets.caps:
                yield from self._others_at_budgets()
        yield from self._first_values()

    def _without_hyperparameter(self) -> Fits:
        """The constant answer, which costs nothing, and other learners with nothing to vary."""
        for learner in self.learners:
            if learner.hyperparameter is None and not self._is_begun(learner, np.nan):
                yield learner, np.nan

    def _first_values(self) -> Fits:
        """The expensive end of every hyperparameter, then the second value of each, and so on."""
        starts = [self._start_of(learner) for learner in self.learners]
        for turn in range(max(map(len, starts))):
            for learner, values in zip(self.learners, starts, strict=True):
                while self._is_under_way(learner):
                    yield None
                if turn >= len(values) or self.history.is_hopeless(learner) or self._is_behind(learner):
                    continue
                if self.history.leads_beyond(learner, values[turn], self.budgets.largest):
                    continue
                if not (turn == 0 and self._is_missing) and self._is_late(learner, self._start_share):
                    continue
                yield learner, values[turn]

    def _start_of(self, learner: CandidateLearner) -> list[float]:
        """First values; with mean budgets alone, only one learner was fitted at budgets before."""
        if learner.hyperparameter is None:
            return [] if self._is_begun(learner, np.nan) else learner.start()
        if not learner.budgets or self.budgets.caps or self.history.trials_of(learner):
            return learner.start()
        has_another = any(one.estimator is learner.estimator and one is not learner for one in self.learners)
        return [] if has_another else learner.first_values()

    # -- further values ------------------------------------------------------------------------------

    def _next_gap(self) -> Gap | None:
        """The widest gap of the learners that may be fitted; None if there is none, or no time."""
        able = [
            learner
            for learner in self.learners
            if self.history.n_failed(learner) < _PATIENCE and not self._is_late(learner, 1.0)
        ]
        coming = [(order.learner, order.value, gap) for order, gap in self._under_way]
        gaps = Gaps(self.history, self.budgets, coming)
        cheapest = cheapest_feature(self.learners[0].costs)
        return gaps.widest(able, cheapest, per_second=bool(np.isfinite(self.time_limit)))

    # -- the state of a learner ----------------------------------------------------------------------

    @property
    def _start_share(self) -> float:
        return _CAPS_SHARE if self.first_values_only or self.budgets.caps else _START_SHARE

    def _is_under_way(self, learner: CandidateLearner) -> bool:
        return any(order.learner is learner for order, _ in self._under_way)

    def _is_begun(self, learner: CandidateLearner, value: float) -> bool:
        coming = [order.value for order, _ in self._under_way if order.learner is learner]
        known = (*self.history.values_of(learner), *coming)
        return any(np.array_equal(value, one, equal_nan=True) for one in known)

    def _is_behind(self, learner: CandidateLearner) -> bool:
        return self.history.is_behind(learner, [one for one in self.learners if one is not learner])

    def _is_late(self, learner: CandidateLearner, share: float) -> bool:
        """Whether a fit started now would end after a share of the time limit."""
        waiting = [order.learner for order, _ in self._under_way]
        expected = self.history.expected_seconds
        work = sum(map(expected, [*waiting, learner])) / self.workers.n_jobs
        end = float(self.seconds + max(work, expected(learner) / self.workers.at_once))
        late = end > share * self.time_limit
        self.out_of_time |= late
        return late
