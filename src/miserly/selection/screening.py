"""Screening: every candidate learner is fitted to a subsample first, to leave out slow and poor ones.

A search is screened if time is limited and there are many rows. A learner that would take too long is left
out. If time is short, learners whose models are all worse than cheaper models of another learner, by two
standard errors, are left out, too. The quickest learner comes first, then the others by the area under their
curves. With budgets, the learners that lead at one of them are fitted at all of them first, and fits that
probably take too long come last. Values on the subsample are used for nothing else.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from miserly.data.rows import Rows, validation_mask
from miserly.errors import DataError
from miserly.metrics import cost_curve_area
from miserly.selection.candidates import CandidateLearner
from miserly.selection.hyperparameters import cheapest_feature
from miserly.selection.search import Search
from miserly.selection.splits import Parts
from miserly.selection.workers import LEAST, LONGEST

__all__ = ["SHARE", "Screening", "screen", "screening_split"]

SHARE = 0.2  # of the time limit is spent at most
AMPLE = 0.3  # of the time limit: if first values on all rows take less, no learner is left out for its values
_MUCH = 2.0  # times the longest time of a fit, by a rough estimate: such fits come last
_FEW = 2000  # rows of the subsample ...
_MANY = 4  # ... if there are at least so many times more


@dataclass(frozen=True, eq=False)
class Screening:
    """The result of a screening.

    Attributes
    ----------
    learners : list of CandidateLearner
        The learners of the search: the fastest, then the others, the best first.
    seconds : dict of float
        The approximate time of one fit of each to all rows.
    left_out : dict of str
        Why others are left out, by learner.
    late_from : dict of float
        The least budget at which a fit took too long on the subsample, by learner.
    doubtful_from : dict of float
        The least budget at which a fit probably takes too long, by learner.
    leaders : set
        The learners that are best at some budget on the subsample, or nearly.
    taken : float
        The seconds that the screening took.
    """

    learners: Sequence[CandidateLearner]
    seconds: dict[CandidateLearner, float] = field(default_factory=dict)
    left_out: dict[str, str] = field(default_factory=dict)
    late_from: dict[CandidateLearner, float] = field(default_factory=dict)
    doubtful_from: dict[CandidateLearner, float] = field(default_factory=dict)
    leaders: set[CandidateLearner] = field(default_factory=set)
    taken: float = 0.0


def screening_split(rows: Rows, parts: Parts, classes: bool, seed: int) -> Parts | None:
    """A subsample of the training rows, and all held-out rows; None if there are few rows anyway."""
    train, test = parts[0]
    if len(parts) > 1 or rows.qid is not None or len(train) < _MANY * _FEW:
        return None
    labels = rows.y[train] if classes else None
    few = validation_mask(len(train), _FEW / len(train), seed, labels)
    if labels is not None:
        few[np.unique(labels, return_index=True)[1]] = True  # at least one row of every class
    return [(train[few], test)]


def screen(search: Search, times_more: float, time_limit: float) -> Screening:
    """Run a search of first values on the subsample, and leave out slow and poor learners.

    Parameters
    ----------
    search : Search
        On the subsample, with first values only.
    times_more : float
        How many times more rows the search itself has.
    time_limit : float
        The time limit of the search itself, in seconds.
    """
    nothing, *others = search.learners
    try:
        search.run()
    except DataError:  # the search on all rows will raise it
        return Screening(search.learners, taken=search.seconds)
    others.sort(key=lambda one: _area(search, one), reverse=True)
    seconds = {one: times_more * search.history.least_seconds(one) for one in others}
    longest = max(LEAST, LONGEST * time_limit)
    why_not = {one: _too_slow(search, one, seconds[one], times_more, longest) for one in others}
    in_time = [one for one in others if not why_not[one]]
    left: list[CandidateLearner] = []
    scarce = sum(len(one.start()) * seconds[one] for one in in_time) > AMPLE * time_limit
    for one in in_time:
        if scarce and search.history.is_behind(one, left):
            why_not[one] = "worse than cheaper models of other learners, on a subsample"
        else:
            left.append(one)
    left = left or others[:1]
    quickest = min(left, key=lambda one: seconds[one])  # the first fit has no time limit of its own
    left.sort(key=lambda one: one is not quickest)
    names = {one.name for one in left}
    left_out = {one.name: why for one, why in why_not.items() if one.name not in names}
    leaders = search.history.leading(left, search.budgets.amounts)
    late, doubtful = search.history.late_from, _doubtful(search, left, times_more, longest)
    return Screening([nothing, *left], seconds, left_out, late, doubtful, leaders, search.seconds)


def _doubtful(
    search: Search, learners: Sequence[CandidateLearner], times_more: float, longest: float
) -> dict[CandidateLearner, float]:
    """The least budget at which a fit takes much too long, if time is in proportion to rows and budget."""
    found = {}
    for one in learners:
        trials = [trial for trial, _ in search.history.trials_of(one) if trial.value > 0.0]
        rate = times_more * min((trial.seconds / trial.value for trial in trials), default=0.0)
        late = [budget for budget in one.budgets if rate * budget > _MUCH * longest]
        found.update({one: min(late)} if late else {})
    return found


def _too_slow(
    search: Search, one: CandidateLearner, seconds: float, times_more: float, longest: float
) -> str:
    """Why a learner would take too long; empty if it would not."""
    slow = [failure for failure in search.failures if failure.learner == one.name and failure.is_late]
    if slow and search.history.is_hopeless(one):
        return f"on a subsample: {slow[0].error}"
    if seconds > longest:
        few = seconds / times_more
        return f"a fit would take about {seconds:.0f} seconds ({few:.1f} on a subsample)"
    return ""


def _area(search: Search, one: CandidateLearner) -> float:
    """The mean over log budgets of the best value on the subsample; minus infinity if unknown."""
    own, sign = search.history.found_by(one), search.evaluator.metric.sign
    least, most = cheapest_feature(one.costs), min(one.costs.total, search.budgets.largest)
    if not own or least >= most:
        return -np.inf
    return sign * cost_curve_area(
        np.log(np.maximum([other.mean_cost for other in own], least)),
        [other.mean_value for other in own],
        np.log(most),
        np.log(least),
        start=search.history.found_by(search.learners[0])[0].mean_value,
        greater_is_better=sign > 0,
    )
