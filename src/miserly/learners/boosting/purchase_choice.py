"""The choice of a purchase tree: trees grown in several ways compete on validation rows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from miserly.costs import Costs, Ledger
from miserly.data.rows import Rows, validation_mask
from miserly.grow import Bins
from miserly.grow.class_cuts import IMPURITIES, ClassRows
from miserly.learners.boosting.feature_choice import prices_differ
from miserly.learners.boosting.feature_sets import STEP, SetOptions, short_rounds, subsample
from miserly.learners.boosting.purchase_growth import GrowthLimits, first_purchases, grow_purchases
from miserly.learners.boosting.purchase_table import PurchaseTable
from miserly.learners.common.masked_boosting import Boosting, masked_rounds
from miserly.learners.common.purchase_branches import Branch, bought_table
from miserly.learners.common.purchase_rollouts import RolloutLimits, grow_by_rollouts
from miserly.learners.common.racing import race
from miserly.learners.common.round import add_rounds
from miserly.learners.common.training import ScoreEvaluator

__all__ = ["choose_purchases"]

Rank = tuple[float, float]

ALPHAS = (1.0, 0.5, 0.0)  # powers of the price, where prices differ
MAX_BINS = 32
MIN_ROWS = 60  # in a leaf
N_FIRST = 4  # features that all rows may buy first
SMALL = 1_000_000  # rows times features of a small table
ROLLOUT_ROWS = 200  # of which a side of a split has one row at least ...
LEAST_ROWS, MOST_ROWS = 20, 60  # ... between these numbers of rows
MOST_VALUES = 40_000_000  # rows times features from which the tree of rollouts is grown at last
VALIDATION_ROWS = 3000  # wanted in all validation sets together ...
MAX_SPLITS = 3  # ... of which there are at most so many


@dataclass(frozen=True)
class _Way:
    """A way to grow a tree: by gains, or by rollouts."""

    limits: GrowthLimits | RolloutLimits
    first: tuple[int, ...] = ()


def choose_purchases(
    rows: Rows, options: SetOptions, costs: Costs, budget: float, max_leaves: int
) -> tuple[Branch, Bins]:
    """Choose what rows buy: the best of several purchase trees on validation rows.

    Trees by rollouts, trees by gains with and without looking ahead, and one order of purchases for all rows
    are compared, for each power of the price; in large tables none without looking ahead. If one by gains is
    best, or the table is small, the best by gains is also grown with other first purchases.

    Parameters
    ----------
    rows : Rows
        Training rows.
    options : SetOptions
        How models are grown and evaluated.
    costs : Costs
        The prices.
    budget : float
        Cap on the features of each path.
    max_leaves : int
        Largest number of leaves.

    Returns
    -------
    Branch
        The root of the tree, grown on all rows.
    Bins
        The bins of its splits.
    """
    some = subsample(rows, options)
    bins = Bins.fit(some.X, MAX_BINS, options.categorical, random_state=options.seed)
    trees = _Trees(some, bins, options, costs, budget)
    alphas = ALPHAS if prices_differ(costs) else ALPHAS[-1:]
    is_small = some.X.size <= SMALL
    sizes = sorted({max_leaves, 1}, reverse=True)
    gains = [
        _Way(GrowthLimits(n_leaves, MIN_ROWS, alpha, looks_ahead))
        for n_leaves in sizes
        for looks_ahead in ((True, False) if is_small else (True,))
        for alpha in alphas
    ]
    rollouts = _ways_by_rollouts(len(some), max_leaves, alphas) if max_leaves > 1 else []
    best = trees.best([*rollouts, *gains])
    by_gains = trees.best(gains) if is_small and isinstance(best.limits, RolloutLimits) else best
    if isinstance(by_gains.limits, GrowthLimits):
        firsts = first_purchases(trees.table, costs, budget, by_gains.limits, N_FIRST)
        limits = [replace(by_gains.limits, max_leaves=n_leaves) for n_leaves in sizes]
        best = trees.best([best, *(_Way(one, first) for one in limits for first in firsts)])
    if isinstance(best.limits, RolloutLimits):
        return trees.by_rollouts(_as_many(rows, options.seed), best.limits), bins
    return trees.tree(trees.table, best), bins


def _ways_by_rollouts(n_rows: int, max_leaves: int, alphas: Sequence[float]) -> list[_Way]:
    min_rows = int(np.clip(n_rows // ROLLOUT_ROWS, LEAST_ROWS, MOST_ROWS))
    return [
        _Way(RolloutLimits(max_leaves, min_rows, alpha, kind))
        for kind in range(len(IMPURITIES))
        for alpha in alphas
    ]


def _as_many(rows: Rows, seed: int) -> Rows:
    """All rows, or of very many as many as trees of rollouts can be grown on in reasonable time."""
    most = max(1, MOST_VALUES // rows.X.shape[1])
    if len(rows) <= most:
        return rows
    return rows.take(np.sort(np.random.default_rng(seed).choice(len(rows), most, replace=False)))


class _Trees:
    """Grows trees on all rows, and on the rows outside of validation sets."""

    def __init__(self, rows: Rows, bins: Bins, options: SetOptions, costs: Costs, budget: float) -> None:
        self._rows, self._bins, self._options = rows, bins, options
        self._costs, self._budget = costs, budget
        self._base = options.loss.initial(rows.y, rows.weight)
        self._boosting = Boosting(
            options.loss, options.growth, STEP, short_rounds(options.loss), options.n_threads
        )
        wanted = VALIDATION_ROWS / (options.validation_fraction * len(rows))
        n_splits = int(np.clip(np.ceil(wanted), 1, MAX_SPLITS))
        self._held_out = [self._mask(options.validation_fraction, 1 + split) for split in range(n_splits)]
        self.table = self._table(np.ones(len(rows), dtype=np.bool_))
        self._tables = [self._table(~held_out) for held_out in self._held_out]
        self._ranks: dict[tuple[_Way, int], Rank] = {}

    def best(self, ways: list[_Way]) -> _Way:
        """The way whose trees are best on validation rows; the first of equals."""
        return race(ways, len(self._tables), self._rank)

    def tree(self, table: PurchaseTable, way: _Way) -> Branch:
        """The tree that grows in a way."""
        if isinstance(way.limits, RolloutLimits):
            return self.by_rollouts(table.rows, way.limits)
        return grow_purchases(table, self._costs, self._budget, way.limits, way.first)

    def by_rollouts(self, rows: Rows, limits: RolloutLimits) -> Branch:
        """The tree that rollouts grow on some rows."""
        n_classes = max(2, self._options.loss.n_scores)
        binned = self._bins.transform(rows.X, self._options.n_threads)
        data = ClassRows.of(binned, rows.y.astype(np.int64), rows.weight, n_classes)
        ledger = Ledger(self._costs, self._budget)
        return grow_by_rollouts(data, ledger, limits, self._options.n_threads)

    def _rank(self, way: _Way, number: int) -> Rank:
        if (way, number) not in self._ranks:
            self._ranks[way, number] = self._rank_on(way, self._tables[number], self._held_out[number])
        return self._ranks[way, number]

    def _rank_on(self, way: _Way, table: PurchaseTable, held_out: NDArray[np.bool_]) -> Rank:
        root, rows = self.tree(table, way), self._rows.take(held_out)
        learned = bought_table([(leaf.bought, leaf.rows) for leaf in root.leaves], table.rows.X.shape)
        rounds = masked_rounds(table.binned, learned, table.rows, self._base, self._boosting)
        routed = root.routed(self._bins.transform(rows.X), np.arange(len(rows)))
        bought = bought_table([(leaf.bought, reached) for leaf, reached in routed], rows.X.shape)
        scores = np.tile(self._base, (len(rows), 1))
        if rounds:
            free = Costs(np.zeros(rows.X.shape[1]))
            add_rounds(scores, rounds, np.where(bought, rows.X, np.nan), free, self._options.n_threads)
        evaluator = ScoreEvaluator(self._options.metric, self._options.loss, rows)
        return evaluator.rank(scores, evaluator.value(scores))

    def _table(self, wanted: NDArray[np.bool_]) -> PurchaseTable:
        rows = self._rows.take(wanted)
        return PurchaseTable(
            rows=rows,
            binned=self._bins.transform(rows.X, self._options.n_threads),
            half=self._mask(0.5, 0)[wanted],
            base=self._base,
            boosting=self._boosting,
            is_classifier=self._options.is_classifier,
        )

    def _mask(self, fraction: float, number: int) -> NDArray[np.bool_]:
        classes = self._rows.y if self._options.is_classifier else None
        return validation_mask(
            len(self._rows), fraction, self._options.seed + number, classes, self._rows.qid
        )
