"""The grower: cost-aware regression trees on binned data (Greedy Miser, Xu et al. 2012).

A tree minimises

    1/2 sum w (target - h)^2 + tradeoff * sum(w) * (price of the features it buys)

greedily, best split first. A split is made only if its gain exceeds the penalty for the price of its feature.
The price is the ledger's current one: 0 if the feature is paid, so a feature is free for the rest of the
tree, and with the set-up of its group only if the group is not open. A feature that does not fit the budget
is not bought.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from miserly.costs import Costs, Ledger
from miserly.errors import CostError, DataError, MiserlyError
from miserly.grow.binning import Binned
from miserly.grow.buffers import Buffers, new_buffers
from miserly.grow.compiled import build, threads
from miserly.grow.derivatives import FIGURES, n_chunks
from miserly.grow.growth import TreeInputs, TreeLimits, TreeSummary, grow
from miserly.grow.histogram import binned_columns
from miserly.grow.options import GrowOptions
from miserly.grow.packing import PackedRows, pack_newton, pack_squared
from miserly.grow.records import thresholds_of, tree_of_nodes
from miserly.grow.round import FORBIDDING, RoundData
from miserly.grow.splitting import SplitRule, write_leaves
from miserly.plan.terms import Tree
from miserly.utils.compiled import why_not

__all__ = ["GrowOptions", "Grower", "Grown"]

POOL_BYTES = 1 << 28  # for histograms of leaves, which make it unnecessary to fill those of siblings

Floats: TypeAlias = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Grown:
    """A tree that was grown, and the leaf of each training row.

    Attributes
    ----------
    tree : Tree
        The tree, a term of a plan.
    leaf : int array of (n,)
        The node of each training row. ``tree.value[leaf]`` is the output on the training rows.
    bought : tuple of int
        Features that the tree bought, in order.
    gain : float
        How much the tree lowers its objective, prices included.
    """

    tree: Tree
    leaf: NDArray[np.int32]
    bought: tuple[int, ...]
    gain: float


class Grower:
    """Grows trees on one binned data set. Buffers are used again for every tree.

    A grower has no state that affects the next tree. What is paid, open and spent is in the ledger, so
    `Ledger.state` is all there is to save. Two threads must not use one grower at the same time.

    Parameters
    ----------
    binned : Binned
        The training rows.
    costs : Costs
        The price of each column.
    options : GrowOptions, optional
        Limits of every tree. ``GrowOptions()`` by default.
    n_threads : int, optional
        Number of threads; by default the number that numba uses. It does not change the trees.

    Raises
    ------
    MiserlyError
        If numba cannot be used.
    CostError
        If the number of costs is not the number of columns.

    Examples
    --------
    An expensive copy of a cheap feature is not bought:

    >>> from miserly.costs import Costs, Ledger
    >>> from miserly.grow import Bins, Grower, GrowOptions
    >>> x = np.arange(8.0)
    >>> X, target = np.column_stack([x, x]), np.where(x < 4, -1.0, 1.0)
    >>> costs = Costs([5.0, 1.0])
    >>> ledger = Ledger(costs)
    >>> grower = Grower(Bins.fit(X).transform(X), costs, GrowOptions(max_depth=1, min_samples_leaf=1))
    >>> grown = grower.fit_tree(target, ledger=ledger, tradeoff=0.1)
    >>> grown.bought, float(grown.tree.threshold[0]), grown.tree.value[grown.leaf].tolist() == target.tolist()
    ((1,), 3.5, True)
    >>> round(grown.gain, 12), ledger.spent          # 1/2 * 8 less 0.1 * 8 * 1
    (3.2, 1.0)
    """

    def __init__(
        self,
        binned: Binned,
        costs: Costs,
        options: GrowOptions | None = None,
        n_threads: int | None = None,
    ) -> None:
        if why_not():
            raise MiserlyError(f"growing trees needs numba, which cannot be used: {why_not()}")
        if len(costs) != binned.n_features:
            raise CostError(f"{len(costs)} costs for {binned.n_features} columns")
        self.binned = binned
        self.costs = costs
        self.options = options or GrowOptions()
        self.n_threads = n_threads
        self._columns = binned_columns(binned)
        self._splittable = binned.bins.n_bins + binned.has_missing > 1
        self._buffers_by_width: dict[int, Buffers] = {}

    def fit_tree(
        self,
        target: ArrayLike,
        weight: ArrayLike | None = None,
        *,
        ledger: Ledger,
        tradeoff: float = 0.0,
        features: ArrayLike | None = None,
        max_new_features: int | None = None,
    ) -> Grown:
        """Fit a tree by weighted least squares.

        The tree minimises ``1/2 sum w (target - h)^2 + tradeoff * sum(w) * (price of newly bought
        features)``.

        Parameters
        ----------
        target : array of (n,)
            Values to predict.
        weight : array of (n,), optional
            Non-negative weights of the rows, 1 by default. Only their ratios matter.
        ledger : Ledger
            The account that pays for features. Features that it has paid are free.
        tradeoff : float, default=0
            Decrease of the mean loss that one unit of cost must bring.
        features : bool array of (d,), optional
            Columns that may be split on. All by default.
        max_new_features : int, optional
            Largest number of features that the tree may buy. No limit by default.

        Returns
        -------
        Grown

        Raises
        ------
        DataError
            If a parameter is out of range or has the wrong shape, or if every weight is zero.
        CostError
            If the ledger has other costs than the grower.
        """
        with threads(self.n_threads, self.binned.codes.size):
            packed = pack_squared(target, weight, self.binned.n_rows)
            return self._grow(packed, ledger, tradeoff, features, max_new_features)

    def fit_newton(
        self,
        gradient: ArrayLike,
        hessian: ArrayLike,
        *,
        ledger: Ledger,
        tradeoff: float = 0.0,
        total_weight: float,
        features: ArrayLike | None = None,
        max_new_features: int | None = None,
    ) -> Grown:
        """Fit a tree by a second-order (Newton) step.

        Let G and H be the sums of gradients and hessians over a leaf. A leaf has the value ``-G / (H + l2)``.
        A split gains ``1/2 [GL^2 / (HL + l2) + GR^2 / (HR + l2) - G^2 / (H + l2)]``, less ``tradeoff *
        total_weight * (price of its feature)``.

        Parameters
        ----------
        gradient : array of (n,)
            First derivative of the loss of each row.
        hessian : array of (n,)
            Second derivative of the loss of each row, at least 0.
        ledger : Ledger
            The account that pays for features. Features that it has paid are free.
        tradeoff : float, default=0
            Decrease of the mean loss that one unit of cost must bring.
        total_weight : float
            Divisor of the mean loss: the number of rows, or the sum of their weights.
        features : bool array of (d,), optional
            Columns that may be split on. All by default.
        max_new_features : int, optional
            Largest number of features that the tree may buy. No limit by default.

        Returns
        -------
        Grown

        Raises
        ------
        DataError
            If a parameter is out of range or has the wrong shape.
        CostError
            If the ledger has other costs than the grower.

        Notes
        -----
        Gradients and hessians are not rescaled. Multiplying them and `total_weight` by 3 gives the same tree
        only if `l2` and `min_hessian` are multiplied too. Weights with a mean of 1 avoid this.
        """
        with threads(self.n_threads, self.binned.codes.size):
            packed = pack_newton(gradient, hessian, total_weight, self.binned.n_rows)
            return self._grow(packed, ledger, tradeoff, features, max_new_features)

    # -- one tree ------------------------------------------------------------------------------------

    def _grow(
        self,
        packed: PackedRows,
        ledger: Ledger,
        tradeoff: float,
        features: ArrayLike | None,
        max_new_features: int | None,
    ) -> Grown:
        if not 0 <= tradeoff < np.inf:
            raise DataError(f"tradeoff must be a number of at least 0, not {tradeoff!r}")
        max_new = self.binned.n_features if max_new_features is None else max_new_features
        if max_new < 0:
            raise DataError(f"max_new_features must be at least 0, not {max_new_features}")
        buffers = self.buffers(packed.scale.width)
        allowed = self.allowed(features)
        buffers.active[: len(allowed)] = allowed
        buffers.free[:] = np.arange(len(buffers.free))
        buffers.rows[:] = np.arange(len(buffers.rows), dtype=np.uint32)
        inputs = self._inputs(packed, ledger, tradeoff, max_new)
        summary = TreeSummary(*build(grow)(inputs, buffers, len(allowed), len(buffers.free)))
        leaf = np.empty(self.binned.n_rows, dtype=np.int32)
        build(write_leaves)(buffers.rows, buffers.leaves[: summary.n_leaves], leaf)
        bought = tuple(buffers.bought[: summary.n_bought].tolist())
        nodes = buffers.nodes[: summary.n_nodes]
        tree = tree_of_nodes(nodes, buffers.goes_left, packed.scale, self.binned.bins, self.costs.evaluation)
        return Grown(tree, leaf, bought, _real_gain(summary.gain, packed))

    def allowed(self, features: ArrayLike | None) -> NDArray[np.int64]:
        """Numbers of the columns that may be split on, which have two bins or more.

        Parameters
        ----------
        features : bool array of (n_features,) or None
            The columns to choose among; None for all.

        Returns
        -------
        int64 array
        """
        if features is None:
            return np.flatnonzero(self._splittable)
        mask = np.asarray(features)
        if mask.dtype != np.bool_ or mask.shape != self._splittable.shape:
            raise DataError(f"features must be one boolean for each of {self.binned.n_features} columns")
        return np.flatnonzero(self._splittable & mask)

    def _inputs(self, packed: PackedRows, ledger: Ledger, tradeoff: float, max_new: int) -> TreeInputs:
        self._check_prices(ledger)
        options, scale = self.options, packed.scale
        rule = SplitRule(
            scale.width,
            scale.count_bits,
            _times(options.l2 / scale.hessian_unit, scale.hessian_shift),
            _times(options.min_hessian / scale.hessian_unit, scale.hessian_shift),
            options.min_samples_leaf,
        )
        exponent = 2 * scale.residual_shift - scale.hessian_shift
        penalty = min(_times(tradeoff * packed.total_weight * scale.hessian_unit, exponent), FORBIDDING)
        limits = TreeLimits(options.max_depth, self.max_leaves, max_new, penalty)
        total = np.zeros(2, dtype=np.int64)
        total[: scale.width] = packed.words.reshape(-1, scale.width).sum(axis=0)
        return TreeInputs(self._columns, packed.words, total, rule, ledger.budget_state(), limits)

    # -- memory and rounds ---------------------------------------------------------------------------

    @property
    def max_leaves(self) -> int:
        """Largest number of leaves of a tree."""
        options = self.options
        most = min(1 << options.max_depth, max(1, self.binned.n_rows // options.min_samples_leaf))
        return most if options.max_leaves is None else min(most, options.max_leaves)

    def buffers(self, width: int) -> Buffers:
        """Memory for growing a tree. Unused pages take no memory.

        Parameters
        ----------
        width : int
            Words of each packed row.

        Returns
        -------
        Buffers
        """
        if width not in self._buffers_by_width:
            size = int(self._columns.start[-1]) * width
            depth, n, d = self.options.max_depth, self.binned.n_rows, self.binned.n_features
            slots = min(self.max_leaves, 1 << max(0, depth - 1), POOL_BYTES // (8 * size))
            shared = next(iter(self._buffers_by_width.values()), None)
            self._buffers_by_width[width] = new_buffers(n, d, self.max_leaves, size, slots, width, shared)
        return self._buffers_by_width[width]

    def round_data(
        self, scores: Floats, mass: Floats, ledger: Ledger, features: ArrayLike | None
    ) -> RoundData:
        """What compiled rounds of boosting read and change.

        Parameters
        ----------
        scores : array of (K, n)
            Scores of the training rows. Rounds change them.
        mass : array of (K, n) or (1, n)
            Weights of the rows in the gains of features.
        ledger : Ledger
            The account that pays for features.
        features : bool array of (d,), optional
            Columns that may be split on. All by default.

        Returns
        -------
        RoundData
        """
        self._check_prices(ledger)
        n, n_scores = self.binned.n_rows, len(scores)
        buffers = self.buffers(1), self.buffers(2)
        return RoundData(
            self._columns,
            thresholds_of(self.binned.bins),
            ledger.budget_state(),
            self.allowed(features),
            scores,
            np.empty((n_scores, n)),
            np.ones((n_scores, n)),
            mass,
            np.empty(2 * n, dtype=np.int64),
            np.empty((n_chunks(n), FIGURES)),
            np.empty((n_scores, FIGURES)),
            buffers,
        )

    def _check_prices(self, ledger: Ledger) -> None:
        if ledger.costs is not self.costs and not _same_prices(ledger.costs, self.costs):
            raise CostError("the ledger's costs are not those of the grower")


def _times(value: float, exponent: int) -> float:
    """value * 2**exponent. Overflow to infinity and underflow to 0 are correct here."""
    try:
        return math.ldexp(value, exponent)
    except OverflowError:
        return math.copysign(math.inf, value)


def _real_gain(gain: float, packed: PackedRows) -> float:
    scale = packed.scale
    return _times(
        gain * packed.mean_weight / scale.hessian_unit, scale.hessian_shift - 2 * scale.residual_shift
    )


def _same_prices(one: Costs, other: Costs) -> bool:
    return all(np.array_equal(*both) for both in zip(one.prices, other.prices, strict=True))
