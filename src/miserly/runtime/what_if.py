"""What if: what more money would buy in an interview, and how the answer could change."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from miserly.costs import fits, read_budget
from miserly.errors import DataError
from miserly.plan import links
from miserly.plan.distributions import distribution_of
from miserly.plan.engine.ahead import certain, remaining
from miserly.plan.engine.stepping import Answer, answers_of
from miserly.runtime.questions import few_examples

if TYPE_CHECKING:
    from miserly.plan.engine.stepping import Trail
    from miserly.runtime.questions import Guide

__all__ = ["Buy", "WhatIf", "what_if"]

_MOST_EXAMPLES = 24  # of one feature
_SIMULATED = (
    "simulated with {n} draws: each unknown value is drawn from its distribution in the training rows, "
    "independently of all other values"
)
_EXAMPLES = (
    "the range of the answers for {n} combinations of example values; how probable they are is not known, "
    "because the plan has no distribution of the training rows"
)
_NOTHING = "nothing more would be asked"
_UNKNOWN = "nothing is known about the values of {name}, so that no answer can be estimated"


class Buy(NamedTuple):
    """A feature that may be bought.

    Attributes
    ----------
    feature : str or int
        By name or by column.
    price : float
        What it costs now, with the set-up of its group if that is not paid yet.
    share : float or None
        The share of draws in which it is bought; None without a simulation.
    """

    feature: Any
    price: float
    share: float | None


@dataclass(frozen=True, eq=False)
class WhatIf:
    """What a budget would buy in an interview.

    Attributes
    ----------
    budget : float
        The cap that was looked at, with what was paid already.
    cost : float
        What was paid already.
    answer : Answer
        The answer of the plan if it is stopped now.
    certain : tuple of Buy
        The features that would be bought whatever their values are, in order.
    possible : tuple of Buy
        The other features that may be bought within the budget.
    outcomes : tuple of Answer
        The answers at the end, one for each draw; empty if nothing is known about the values.
    chance : float or None
        The estimated chance that the predicted class changes; None for numbers and without distributions.
    mean_cost : float or None
        What the draws paid more, on average; None without distributions.
    estimate : str
        How answers and chances were estimated, in words.
    """

    budget: float
    cost: float
    answer: Answer
    certain: tuple[Buy, ...]
    possible: tuple[Buy, ...]
    outcomes: tuple[Answer, ...]
    chance: float | None
    mean_cost: float | None
    estimate: str


def what_if(trail: Trail, guide: Guide, more: float | None, budget: float | None, draws: int) -> WhatIf:
    """Return what a budget would buy from where a trail is; see `Interview.what_if`."""
    if (more is None) == (budget is None):
        raise DataError("give either more, an amount from here on, or budget, a cap for all that is paid")
    if draws < 1:
        raise DataError(f"draws is a whole number of at least 1, not {draws!r}")
    cap = trail.cost + read_budget(more) if more is not None else read_budget(budget)
    start = trail.copy()
    start.set_budget(cap)
    sure, maybe = _affordable(start)
    matrix, basis, estimate = _draw(start, guide, sure + maybe, draws)
    ends = [] if matrix is None else _run(start, sure + maybe, matrix)
    known = basis == "training"
    outcomes = answers_of(ends)
    shares = _shares(ends) if known else None
    now = trail.answer()

    def bought(columns: list[int]) -> tuple[Buy, ...]:
        name, price = start.plan.costs.name, start.price
        return tuple(Buy(name(f), price(f), None if shares is None else float(shares[f])) for f in columns)

    return WhatIf(
        budget=start.budget,
        cost=trail.cost,
        answer=now,
        certain=bought(sure),
        possible=bought(maybe),
        outcomes=outcomes,
        chance=_chance(start, now, outcomes) if known else None,
        mean_cost=float(np.mean([end.cost for end in ends])) - trail.cost if known else None,
        estimate=estimate,
    )


def _affordable(start: Trail) -> tuple[list[int], list[int]]:
    """The columns that are bought for certain, and the others that may be, by what they cost."""
    if start.need < 0:
        return [], []
    sure = certain(start, onward=True)
    others, _ = remaining(start)
    room = [
        f
        for f in others
        if f not in sure and fits(start.spent, start.price_of([start.need, f]), start.budget)
    ]
    return sure, room


def _draw(
    start: Trail, guide: Guide, columns: list[int], n: int
) -> tuple[NDArray[np.float64] | None, str, str]:
    """Values of unknown columns, one row for each draw; what they come from; the same in words."""
    if not columns:
        return np.zeros((1, 0)), "training", _NOTHING
    found = {f: distribution_of(start.plan, f) for f in columns}
    if all(found.values()):
        # A generator for each column: its draws are the same whatever else may be bought.
        drawn = [one.draw(np.random.default_rng([f, n]), n) for f, one in found.items() if one is not None]
        return np.column_stack(drawn), "training", _SIMULATED.format(n=n)
    examples = {f: _codes(start, f, few_examples(guide.facts(f), _MOST_EXAMPLES)) for f in columns}
    for f, codes in examples.items():
        if not len(codes):
            return None, "", _UNKNOWN.format(name=start.plan.costs.name(f))
    matrix = _combinations([examples[f] for f in columns], n)
    return matrix, "examples", _EXAMPLES.format(n=len(matrix))


def _codes(start: Trail, f: int, values: Sequence[Any]) -> NDArray[np.float64]:
    return np.array([start.plan.encoder.value(f, value) for value in values], dtype=np.float64)


def _combinations(columns: list[NDArray[np.float64]], n: int) -> NDArray[np.float64]:
    """All combinations of values if there are at most `n`, else `n` of them at random."""
    if math.prod(len(values) for values in columns) <= n:
        return np.stack([one.ravel() for one in np.meshgrid(*columns, indexing="ij")], axis=1)
    rng = np.random.default_rng(n)
    return np.column_stack([rng.choice(values, n) for values in columns])


def _run(start: Trail, columns: list[int], matrix: NDArray[np.float64]) -> list[Trail]:
    """The trail at its end, for each row of values: by the walk itself, with its prices and gates."""
    ends = []
    for row in matrix.tolist():
        end = start.copy()
        for f, value in zip(columns, row, strict=True):
            end.keep(f, value)
        end.resume()
        ends.append(end)
    return ends


def _shares(ends: list[Trail]) -> NDArray[np.float64]:
    """The share of ends at which each column was bought."""
    shares: NDArray[np.float64] = np.mean([end.acquired for end in ends], axis=0)
    return shares


def _chance(start: Trail, now: Answer, outcomes: tuple[Answer, ...]) -> float | None:
    if links.gives_numbers(start.plan.link):
        return None
    return float(np.mean([one.value != now.value for one in outcomes]))
