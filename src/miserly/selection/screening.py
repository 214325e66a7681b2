"""Every contender on few rows first: who is worth the time that all rows take, and how long that will be.

This is done where time is limited and rows are many. A contender that would take too long is left out and,
where time is scarce, so is one whose every model is, beyond doubt, no better than a cheaper one of another;
of the others the most promising come first, after the quickest. What models of few rows reach is used for
nothing else.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from miserly.data.holdout import validation_mask
from miserly.data.rows import Rows
from miserly.errors import DataError
from miserly.metrics import cost_curve_area
from miserly.selection.candidates import Contender, cheapest_feature
from miserly.selection.search import Search
from miserly.selection.splits import Parts
from miserly.selection.workers import LEAST, LONGEST

__all__ = ["SHARE", "Pilot", "few_rows", "look_at"]

SHARE = 0.2  # of the time limit is spent at most
AMPLE = 0.3  # of the time limit: if first values take less, with all rows, nobody has to make way
_FEW = 2000  # rows to learn from,
_MANY = 4  # if there are as many times more


@dataclass(frozen=True, eq=False)
class Pilot:
    """What was found.

    Attributes
    ----------
    contenders : list of Contender
        Those that are worth their time: the quickest, then the most promising first.
    seconds : dict of float
        How long one fit of each takes, about, with all rows.
    left_out : dict of str
        Why others are not worth it, by learner.
    taken : float
        How many seconds all this took.
    """

    contenders: Sequence[Contender]
    seconds: dict[Contender, float] = field(default_factory=dict)
    left_out: dict[str, str] = field(default_factory=dict)
    taken: float = 0.0


def few_rows(rows: Rows, parts: Parts, classes: bool, seed: int) -> Parts | None:
    """A few of the rows to learn from, and all that judge; None where rows are few anyway."""
    train, test = parts[0]
    if len(parts) > 1 or rows.qid is not None or len(train) < _MANY * _FEW:
        return None
    labels = rows.y[train] if classes else None
    few = validation_mask(len(train), _FEW / len(train), seed, labels)
    if labels is not None:
        few[np.unique(labels, return_index=True)[1]] = True  # none of a rare class would be another task
    return [(train[few], test)]


def look_at(search: Search, times_more: float, time_limit: float) -> Pilot:
    """Run a search of first values on few rows, and see who is left.

    `times_more` rows are to come, in a search of so many seconds.
    """
    nothing, *others = search.contenders
    try:
        search.run()
    except DataError:  # whatever it is, with all rows it will be told
        return Pilot(search.contenders, taken=search.seconds)
    others.sort(key=lambda one: _promise(search, one), reverse=True)
    seconds = {one: times_more * search.least_seconds(one) for one in others}
    longest = max(LEAST, LONGEST * time_limit)
    why_not = {one: _too_slow(search, one, seconds[one], times_more, longest) for one in others}
    in_time = [one for one in others if not why_not[one]]
    left: list[Contender] = []
    scarce = sum(len(one.start()) * seconds[one] for one in in_time) > AMPLE * time_limit
    for one in in_time:
        if scarce and search.is_behind(one, left):
            why_not[one] = "behind cheaper models of other learners, with a part of the rows"
        else:
            left.append(one)
    left = left or others[:1]
    quickest = min(left, key=lambda one: seconds[one])  # there is no limit for the first
    left.sort(key=lambda one: one is not quickest)
    names = {one.name for one in left}
    told = {one.name: why for one, why in why_not.items() if one.name not in names}
    return Pilot([nothing, *left], seconds, told, search.seconds)


def _too_slow(search: Search, one: Contender, seconds: float, times_more: float, longest: float) -> str:
    """Why a contender would take too long; nothing if it would not."""
    slow = [failure for failure in search.failures if failure.learner == one.name and failure.is_late]
    if slow:
        return f"on a part of the rows: {slow[0].error}"
    if seconds > longest:
        few = seconds / times_more
        return f"a fit would take about {seconds:.0f} seconds ({few:.1f} with a part of the rows)"
    return ""


def _promise(search: Search, one: Contender) -> float:
    """The mean over budgets, on a logarithmic scale, of the best value on few rows; if unknown, none."""
    own, sign = search.found_by(one), search.bench.sign
    least, most = cheapest_feature(one.costs), min(one.costs.total, search.asked.limit)
    if not own or least >= most:
        return -np.inf
    return sign * cost_curve_area(
        np.log(np.maximum([other.mean_cost for other in own], least)),
        [other.mean_value for other in own],
        np.log(most),
        np.log(least),
        start=search.found_by(search.contenders[0])[0].mean_value,
        greater_is_better=sign > 0,
    )
