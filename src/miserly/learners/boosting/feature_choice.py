"""The features that a budget buys: purchase orders compete on validation rows, and swaps improve the best."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice

import numpy as np
from numpy.typing import NDArray

from miserly.costs import Costs, Ledger
from miserly.learners.boosting.feature_sets import FeatureSets
from miserly.learners.common.purchase_orders import (
    backward_order,
    backward_set,
    best_per_price,
    fill,
    forward_set,
)

__all__ = ["best_order", "choose_features", "improve_by_swaps", "prices_differ"]

ALPHAS = (1.0, 0.5, 0.0)  # powers of the price
SWAP_ALPHA = 0.5
TRIALS = 64  # sets that swaps evaluate at most ...
LEAST_TRIALS = 8  # ... and at least
WORK = 40_000_000  # rows that the trees of all trials may see
SMALL_SHARE = 0.25  # of the money, for which the first features of an order may be chosen
LEVELS = 16  # smaller budgets at which orders are compared
PASSES = 3  # over the features of a set, which are dropped in turn; the best swap of a pass is made


def choose_features(sets: FeatureSets, costs: Costs, budget: float) -> list[int]:
    """Choose features that together fit a budget.

    For each power of the price there is one set by backward elimination and one by forward selection. The set
    whose model is best on validation rows is improved by swaps.

    Parameters
    ----------
    sets : FeatureSets
        Gains and validation metrics.
    costs : Costs
        The prices.
    budget : float
        Cap on the cost of all features together.

    Returns
    -------
    list of int
        The features, the most useful first.
    """
    found: dict[tuple[int, ...], list[int]] = {}
    for alpha in ALPHAS if prices_differ(costs) else ALPHAS[:1]:
        for order in (
            backward_set(sets.total_gain, Ledger(costs, budget), alpha),
            forward_set(sets.level_gain, Ledger(costs, budget), alpha),
        ):
            found.setdefault(tuple(sorted(order)), order)
    best = max(found, key=sets.rank)
    return improve_by_swaps(found[best], sets, costs, budget)


def improve_by_swaps(order: list[int], sets: FeatureSets, costs: Costs, budget: float) -> list[int]:
    """Drop one feature, spend the money on others, and keep the change if it is better on validation rows.

    A pass tries to drop each feature, that of least gain first. The money buys one of the features with the
    largest gains next to the rest, and more if some is left. The best swap of a pass is made.

    Parameters
    ----------
    order : list of int
        Features that fit the budget, the most useful first.
    sets, costs, budget
        As for `choose_features`.

    Returns
    -------
    list of int
        Features that fit the budget. New ones come last.
    """
    left = int(np.clip(WORK // sets.work, LEAST_TRIALS, TRIALS))
    for n_passes in range(PASSES, 0, -1):
        n_each = max(1, left // max(1, len(order) * n_passes))
        others = _swapped(order, sets, costs, budget, n_each)
        trials = list(islice(others, max(1, left // n_passes)))
        left -= len(trials)
        best = max(trials, key=lambda other: sets.rank(tuple(sorted(other))), default=order)
        if sets.rank(tuple(sorted(best))) <= sets.rank(tuple(sorted(order))):
            break
        order = best
    return order


def best_order(chosen: list[int], sets: FeatureSets, costs: Costs) -> list[int]:
    """Order features so that the first of them are good sets by themselves, at all smaller budgets.

    The order given is compared with one that begins with what a quarter of the money would choose, and with
    orders by backward elimination and by forward selection, one of each for each power of the price. The best
    one has the best mean metric on validation rows, of models on what it buys at budgets in equal ratios.

    Parameters
    ----------
    chosen : list of int
        The features.
    sets : FeatureSets
        Gains and validation metrics.
    costs : Costs
        The prices.

    Returns
    -------
    list of int
        The same features.
    """

    def gain_in_set(paid: tuple[int, ...]) -> NDArray[np.float64]:
        return np.where(costs.mask(chosen), sets.level_gain(paid), -np.inf)

    small = choose_features(sets, costs, SMALL_SHARE * costs.of(costs.mask(chosen)))
    first = [feature for feature in small if feature in chosen]
    orders = [chosen, [*first, *(feature for feature in chosen if feature not in first)]]
    for alpha in ALPHAS if prices_differ(costs) else ALPHAS[:1]:
        forward = forward_set(gain_in_set, Ledger(costs), alpha)
        orders += [
            backward_order(sets.total_gain, costs, costs.mask(chosen), alpha),
            [*forward, *(feature for feature in chosen if feature not in forward)],
        ]
    return max(orders, key=lambda order: _mean_rank(order, sets, costs))


def _mean_rank(order: list[int], sets: FeatureSets, costs: Costs) -> tuple[float, ...]:
    """The mean metric and the mean negative loss of models on what an order buys at smaller budgets."""
    paid = [costs.of(costs.mask(order[:size])) for size in range(1, len(order) + 1)]
    alone = [costs.of(costs.mask([feature])) for feature in order]
    least = min([price for price in alone if price > 0.0], default=paid[-1])
    levels = np.geomspace(least, paid[-1], LEVELS) if paid[-1] > 0.0 else np.zeros(1)
    sizes = np.searchsorted(paid, levels * (1.0 + 1e-9), side="right")
    ranks = [sets.rank(tuple(sorted(order[:size]))) for size in sizes]
    return tuple(np.mean(ranks, axis=0).tolist())


def _swapped(
    order: list[int], sets: FeatureSets, costs: Costs, budget: float, n_each: int
) -> Iterator[list[int]]:
    """The set without each of its features, with `n_each` ways to spend the money."""
    for feature in _least_first(order, sets):
        yield from _reinvested(order, feature, sets, costs, budget, n_each)


def _least_first(order: list[int], sets: FeatureSets) -> list[int]:
    gain = sets.total_gain(tuple(sorted(order)))
    return sorted(order, key=lambda feature: (gain[feature], feature))


def _reinvested(
    order: list[int], dropped: int, sets: FeatureSets, costs: Costs, budget: float, n_best: int
) -> Iterator[list[int]]:
    """The set without one feature, and each of the best ways to spend the money."""
    rest = [feature for feature in order if feature != dropped]
    ledger = Ledger(costs, budget)
    fill(rest, ledger)
    gain = sets.level_gain(tuple(sorted(rest))).copy()
    gain[dropped] = -np.inf
    ranked = best_per_price(gain, ledger, SWAP_ALPHA)
    for feature in ranked[:n_best]:
        yield [*rest, *fill([feature, *ranked], ledger.copy())]


def prices_differ(costs: Costs) -> bool:
    """Whether some features cost more than others, or a group has a set-up."""
    own, _, setup = costs.prices
    return bool((own != own[0]).any() or setup.any())
