"""Spending a budget that cannot buy everything a round of boosting wants.

A tree buys by the gain of single splits. Under a hard budget that is short-sighted: of two features at one
price the first split of one may be the better, and whole trees on the other; and the tree of the first class
may spend what the others need. Nothing bought can be given back, so before the money runs out a round weighs
what it wants by whole trees:

1. Grow its trees as if every feature that fits the budget alone could be had. If all they buy fits together,
   these are the trees, and they are the same as without looking ahead.
2. Otherwise grow its trees once more for each feature they wanted, on that feature and what is paid, and keep
   those with the largest gain, prices included. So one feature is bought, and the next round shops again.

Step 2 grows the trees of a round once for each feature that is weighed, in as many rounds as features are
bought. At most 16 are weighed in a round; where there are more than 64 columns, also at most 256 divided by
the number of features that the rest of the money buys, and 2 at least. So from a budget for 16 features on,
the time that looking ahead takes hardly rises with the budget.

With or without looking ahead, what is free or paid comes first (`use_paid_first`). A chain that buys as single
splits want to may begin with a tree of four expensive features, and a row with less to spend gets nothing
from it but the base rate.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from miserly.costs import Ledger, fits
from miserly.grow import Grown

__all__ = ["FitTree", "buy_with_lookahead", "in_turn", "n_weighed", "use_paid_first"]

MOST = 16  # how many wanted features are weighed at most, first wanted first
WIDE = 64  # columns: beyond that fewer are weighed while much money is left,
WEIGHED = 256  # divided by the number of features that it buys
ENOUGH = 0.5  # of the gain of trees that buy: what trees on features at hand must gain to be taken
FREE = 0.1  # of the rounds: so many begin with free features, if there are any
HASTE = 2.0  # how much faster than rounds are done money must be spent


class FitTree(Protocol):
    """Grows one tree of a round."""

    def __call__(
        self, *, ledger: Ledger, tradeoff: float, features: NDArray[np.bool_] | None = None
    ) -> Grown: ...


@dataclass(frozen=True, eq=False)
class TrialRound:
    """The trees of a round with what they would buy and what would then be spent."""

    grown: list[Grown]
    features: list[int]
    spent: float

    @property
    def gain(self) -> float:
        return sum(one.gain for one in self.grown)


def buy_with_lookahead(trees: Sequence[FitTree], ledger: Ledger, tradeoff: float) -> list[Grown]:
    """Grow the trees of a round and pay for what they split on, looking ahead if money is short."""
    within_reach = ledger.paid | np.array([ledger.affordable(f) for f in range(len(ledger.costs))])
    basket = _fill(trees, ledger, tradeoff, within_reach)
    if not fits(0.0, basket.spent, ledger.budget):
        basket = _best_single(trees, ledger, tradeoff, _weighed(basket, ledger))
    for feature in basket.features:
        ledger.buy(feature)
    return basket.grown


def _weighed(basket: TrialRound, ledger: Ledger) -> list[int]:
    """The wanted features that are weighed."""
    if len(ledger.costs) <= WIDE:
        return basket.features[:MOST]
    return in_turn([one.bought for one in basket.grown])[: n_weighed(ledger)]


def in_turn(bought: Sequence[Sequence[int]]) -> list[int]:
    """What several trees buy: the first of each tree, then the second of each, and so on.

    >>> in_turn([(4, 7, 1), (), (2, 9)])
    [4, 2, 7, 9, 1]
    """
    most = max(map(len, bought), default=0)
    return [features[place] for place in range(most) for features in bought if place < len(features)]


def n_weighed(ledger: Ledger) -> int:
    """How many wanted features are weighed on wide data: the fewer, the more the rest of the money buys.

    >>> from miserly.costs import Costs
    >>> [n_weighed(Ledger(Costs(np.ones(784)), budget)) for budget in (4, 16, 32, 64, 400)]
    [16, 16, 8, 4, 2]
    """
    prices = np.sort(ledger.costs.marginals(ledger.paid)[~ledger.paid])
    n_bought = int(np.searchsorted(np.cumsum(prices), ledger.budget - ledger.spent, side="right"))
    return int(np.clip(WEIGHED // max(1, n_bought), 2, MOST))


def use_paid_first(
    trees: Sequence[FitTree], ledger: Ledger, tradeoff: float, lookahead: bool, done: float
) -> list[Grown]:
    """Grow the trees of a round on what is at hand, free or paid, as long as that gains enough.

    Trees that buy are taken where trees on features at hand gain less than `ENOUGH` of what they do. Then one
    feature is bought, the first of the tree that gains most. So a model that is stopped early has made use of
    what it could have for its money. `done` is the share of all rounds that are done: in the first tenth, as
    long as nothing is paid, anything free is good enough; and once the share of the budget that is spent
    falls behind twice that of the rounds, nothing is, as money that is left in the end is of no use.
    """
    at_hand = ledger.paid | (ledger.costs.marginals(ledger.paid) == 0.0)
    before = ledger.state()
    wanted = buy_with_lookahead(trees, ledger, tradeoff) if lookahead else _grow(trees, ledger, tradeoff)
    buying = [one for one in wanted if any(not at_hand[feature] for feature in one.bought)]
    if not buying:
        return wanted
    ledger.restore(before)
    basket = TrialRound(wanted, [feature for one in wanted for feature in one.bought], 0.0)
    if sum(not at_hand[feature] for feature in basket.features) > 1:
        most = max(buying, key=lambda one: one.gain)
        first = next(feature for feature in most.bought if not at_hand[feature])
        single = _fill(trees, ledger, tradeoff, at_hand | (np.arange(len(at_hand)) == first))
        basket = single if first in single.features else basket
    if at_hand.any():
        kept = _fill(trees, ledger, tradeoff, at_hand)
        free = done < FREE and kept.gain > 0.0 and ledger.costs.of(ledger.paid) == 0.0
        on_time = ledger.spent >= HASTE * done * ledger.budget
        basket = kept if free or (on_time and kept.gain >= ENOUGH * basket.gain) else basket
    for feature in basket.features:
        ledger.buy(feature)
    return basket.grown


def _grow(trees: Sequence[FitTree], ledger: Ledger, tradeoff: float) -> list[Grown]:
    return [grow(ledger=ledger, tradeoff=tradeoff) for grow in trees]


def _best_single(
    trees: Sequence[FitTree], ledger: Ledger, tradeoff: float, wanted: Sequence[int]
) -> TrialRound:
    """The best of the rounds that buy one wanted feature each; the first of equals."""
    baskets = []
    for feature in wanted:
        allowed = ledger.paid.copy()
        allowed[feature] = True
        baskets.append(_fill(trees, ledger, tradeoff, allowed))
    return max(baskets, key=lambda basket: basket.gain)


def _fill(
    trees: Sequence[FitTree], ledger: Ledger, tradeoff: float, allowed: NDArray[np.bool_]
) -> TrialRound:
    """The trees of a round if the budget had no end but only `allowed` features could be had."""
    trial = ledger.copy()
    trial.account[1] = np.inf
    grown = [grow(ledger=trial, tradeoff=tradeoff, features=allowed) for grow in trees]
    return TrialRound(grown, [feature for one in grown for feature in one.bought], trial.spent)
