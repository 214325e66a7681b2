"""How a boosting round buys features under a budget: look ahead by whole trees, and use paid features first.

A tree buys a feature for the gain of one split. Under a budget this is short-sighted. Of two features at one
price, the first split of one may gain more, and whole trees on the other. The tree of the first class may
spend the money that the trees of the other classes need. Purchases are final, so while money is short a round
compares whole trees:

1. Grow its trees as if each feature that fits the budget alone could be bought. If all purchases together
   fit the budget, keep these trees: they are the same as without looking ahead.
2. Otherwise grow its trees again for each wanted feature, on this feature and the paid ones. Keep the trees
   with the largest gain, net of prices. One feature is bought, and the next round compares again.

Step 2 compares at most 16 features in a round. With more than 64 columns, it also compares at most 256
divided by the number of features that the remaining money buys, and 2 at least. So from a budget for 16
features on, the time of a fit hardly depends on the budget.

With or without looking ahead, free and paid features are used first (`use_paid_first`). Otherwise the first
tree of a chain may need four expensive features, and a row with a smaller budget gets only the base rate.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from miserly.costs import Ledger, fits
from miserly.grow import Grown

__all__ = ["FitTree", "buy_with_lookahead", "in_turn", "n_compared", "use_paid_first"]

MAX_COMPARED = 16  # wanted features that are compared in a round, in the order in which trees want them
WIDE = 64  # columns; with more of them fewer features are compared while much money is left:
COMPARED_BY_PURCHASES = 256  # divided by the number of features that the money buys
ENOUGH = 0.5  # trees on free and paid features are kept if they gain this share of what trees that buy gain
FREE = 0.1  # share of the rounds that use free features only, if there are any
HASTE = 2.0  # the share of the budget that is spent must be at least so many times the share of rounds done


class FitTree(Protocol):
    """Grows one tree of a round."""

    def __call__(
        self, *, ledger: Ledger, tradeoff: float, features: NDArray[np.bool_] | None = None
    ) -> Grown: ...


@dataclass(frozen=True, eq=False)
class TrialRound:
    """The trees of a round, the features they would buy, and what would be spent then."""

    grown: list[Grown]
    features: list[int]
    spent: float

    @property
    def gain(self) -> float:
        """Gain of all trees, net of prices."""
        return sum(one.gain for one in self.grown)


def buy_with_lookahead(trees: Sequence[FitTree], ledger: Ledger, tradeoff: float) -> list[Grown]:
    """Grow the trees of a round and buy their features; compare whole trees if money is short.

    Parameters
    ----------
    trees : sequence of FitTree
        Grows one tree each.
    ledger : Ledger
        What is paid, and the budget. The features of the trees are bought from it.
    tradeoff : float
        Decrease of the mean loss that one unit of cost must bring.

    Returns
    -------
    list of Grown
        The trees.
    """
    within_reach = ledger.paid | ledger.fits(ledger.prices())
    chosen = _try_round(trees, ledger, tradeoff, within_reach)
    if not fits(0.0, chosen.spent, ledger.budget):
        chosen = _best_single(trees, ledger, tradeoff, _compared(chosen, ledger))
    for feature in chosen.features:
        ledger.buy(feature)
    return chosen.grown


def _compared(chosen: TrialRound, ledger: Ledger) -> list[int]:
    """The wanted features that are compared."""
    if len(ledger.costs) <= WIDE:
        return chosen.features[:MAX_COMPARED]
    return in_turn([one.bought for one in chosen.grown])[: n_compared(ledger)]


def in_turn(bought: Sequence[Sequence[int]]) -> list[int]:
    """Features that several trees buy: the first of each tree, then the second of each, and so on.

    >>> in_turn([(4, 7, 1), (), (2, 9)])
    [4, 2, 7, 9, 1]
    """
    most = max(map(len, bought), default=0)
    return [features[place] for place in range(most) for features in bought if place < len(features)]


def n_compared(ledger: Ledger) -> int:
    """Number of wanted features to compare on wide data: the more the money left buys, the fewer.

    >>> from miserly.costs import Costs
    >>> [n_compared(Ledger(Costs(np.ones(784)), budget)) for budget in (4, 16, 32, 64, 400)]
    [16, 16, 8, 4, 2]
    """
    prices = np.sort(ledger.prices()[~ledger.paid])
    n_bought = int(np.count_nonzero(ledger.fits(np.cumsum(prices))))
    return int(np.clip(COMPARED_BY_PURCHASES // max(1, n_bought), 2, MAX_COMPARED))


def use_paid_first(
    trees: Sequence[FitTree], ledger: Ledger, tradeoff: float, lookahead: bool, done: float
) -> list[Grown]:
    """Grow the trees of a round on free and paid features, as long as these gain enough.

    Trees that buy are kept if trees on free and paid features gain less than `ENOUGH` of their gain. Then one
    feature is bought: the first of the tree that gains most. So a model that is stopped early has used what
    its money could buy. There are two exceptions. In the first tenth of the rounds, while nothing is paid,
    free features need only gain something. Once the share of the budget that is spent falls below twice the
    share of the rounds that are done, trees that buy are kept, because money left at the end is of no use.

    Parameters
    ----------
    trees, ledger, tradeoff
        As in `buy_with_lookahead`.
    lookahead : bool
        Whether to compare whole trees if money is short.
    done : float
        Share of the rounds that are done.

    Returns
    -------
    list of Grown
        The trees.
    """
    available = ledger.paid | (ledger.prices() == 0.0)
    before = ledger.state()
    wanted = buy_with_lookahead(trees, ledger, tradeoff) if lookahead else _grow(trees, ledger, tradeoff)
    buying = [one for one in wanted if any(not available[feature] for feature in one.bought)]
    if not buying:
        return wanted
    ledger.restore(before)
    chosen = TrialRound(wanted, [feature for one in wanted for feature in one.bought], 0.0)
    if sum(not available[feature] for feature in chosen.features) > 1:
        most = max(buying, key=lambda one: one.gain)
        first = next(feature for feature in most.bought if not available[feature])
        single = _try_round(trees, ledger, tradeoff, available | (np.arange(len(available)) == first))
        chosen = single if first in single.features else chosen
    if available.any():
        kept = _try_round(trees, ledger, tradeoff, available)
        free = done < FREE and kept.gain > 0.0 and ledger.costs.of(ledger.paid) == 0.0
        on_time = ledger.spent >= HASTE * done * min(ledger.budget, ledger.costs.total)
        chosen = kept if free or (on_time and kept.gain >= ENOUGH * chosen.gain) else chosen
    for feature in chosen.features:
        ledger.buy(feature)
    return chosen.grown


def _grow(trees: Sequence[FitTree], ledger: Ledger, tradeoff: float) -> list[Grown]:
    return [grow(ledger=ledger, tradeoff=tradeoff) for grow in trees]


def _best_single(
    trees: Sequence[FitTree], ledger: Ledger, tradeoff: float, wanted: Sequence[int]
) -> TrialRound:
    """The round with the largest gain among those that buy one wanted feature each; the first of equals."""
    rounds = []
    for feature in wanted:
        allowed = ledger.paid.copy()
        allowed[feature] = True
        rounds.append(_try_round(trees, ledger, tradeoff, allowed))
    return max(rounds, key=lambda one: one.gain)


def _try_round(
    trees: Sequence[FitTree], ledger: Ledger, tradeoff: float, allowed: NDArray[np.bool_]
) -> TrialRound:
    """The trees of a round on `allowed` features, without a budget."""
    trial = ledger.copy()
    trial.budget = np.inf
    grown = [grow(ledger=trial, tradeoff=tradeoff, features=allowed) for grow in trees]
    return TrialRound(grown, [feature for one in grown for feature in one.bought], trial.spent)
