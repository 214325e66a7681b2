"""Additive chains of trees packed for one row at a time: few arrays, as handing over each takes time.

The values of a row are copied once into slots, so that no step asks whether a value is missing or is a code:

- slot 0 is below every number;
- column f has slot 1 + f for splits that send missing values to the right, and slot 1 + d + f, where minus
  infinity stands for a missing value, for the others;
- columns with splits on categories follow, with the bit of their code.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple
from weakref import WeakKeyDictionary

import numpy as np
from numpy.typing import NDArray

from miserly.plan.engine.chain import Chain, chain_of

if TYPE_CHECKING:
    from miserly.plan.plan import Plan
    from miserly.plan.terms.tree_tables import Trees

__all__ = ["ABSENT", "MISSING", "SLOT", "RowChain", "row_chain_of"]

SLOT = 32  # the bit where the slot begins
ABSENT, MISSING = 62, 63  # the bits of codes in no set and of missing values
_MOST = 1 << 30  # slots, and words of nodes


class RowChain(NamedTuple):
    """A chain packed for one row.

    A node is two words. The first is the threshold, or a bit for each category that goes left, or the value
    that a leaf adds. The second is the word of its left child, the slot from bit `SLOT` on, and the highest
    bit for a split on categories. Leaves lead to themselves.
    """

    words: NDArray[np.uint64]
    start: NDArray[np.uint64]  # the words of the roots of the trees that are walked
    trees: NDArray[np.int64]  # of each tree: the walk that finds its leaf, words from there, the channel
    coded: NDArray[np.int64]  # the columns with splits on categories
    single: bool  # whether sums are rounded to float32
    base: NDArray[np.float64]  # the scores before the first tree

    @property
    def arrays(self) -> tuple[Any, ...]:
        """What compiled code takes; it adds to a copy of `base`."""
        return self[:-1]


_ROW_CHAINS: WeakKeyDictionary[Plan, RowChain | None] = WeakKeyDictionary()


def row_chain_of(plan: Plan) -> RowChain | None:
    """The chain of a plan packed for one row; None for plans without a chain and for those not packed so.

    Not packed are chains with a bias or with sums of mixed precision, and splits on categories of which a
    code is above 61.

    Parameters
    ----------
    plan : Plan
        The plan.

    Returns
    -------
    RowChain or None
    """
    if plan not in _ROW_CHAINS:
        chain = chain_of(plan)
        _ROW_CHAINS[plan] = None if chain is None or not _fits(plan, chain) else _packed(plan, chain)
    return _ROW_CHAINS[plan]


def _fits(plan: Plan, chain: Chain) -> bool:
    trees = plan.tables.trees
    return bool(
        not chain.bias.any()
        and chain.single.all() == chain.single.any()
        and len(np.unique(chain.root)) == len(chain.root)  # else a leaf would have several weights
        and max(2 * len(trees.left), 3 * plan.n_features) < _MOST
        and not np.isnan(trees.threshold).any()
        and _has_small_sets(trees)
    )


def _has_small_sets(trees: Trees) -> bool:
    """Whether all sets of categories fit a word, beside the two bits for other codes and missing values."""
    is_set = trees.category >= 0
    words = trees.words[trees.category[is_set]]
    small = not words[:, 2:].any() and not (words[:, 1] >> (ABSENT - 32)).any()
    return not is_set.any() or bool((trees.span[is_set] == 1).all() and small)


def _packed(plan: Plan, chain: Chain) -> RowChain:
    trees, d = plan.tables.trees, plan.n_features
    is_set, is_leaf = trees.category >= 0, trees.feature < 0
    first, feature = trees.threshold.copy(), trees.feature.astype(np.int64)
    single = bool(chain.single.all()) and len(chain.single) > 0
    first[is_leaf] = _added(plan, chain, single)[is_leaf]
    bits = first.view(np.uint64)
    bits[is_set] = _sets(trees, is_set)
    coded = np.unique(feature[is_set])
    slot = 1 + feature + np.where(trees.missing, d, 0)
    slot[is_set] = 1 + 2 * d + np.searchsorted(coded, feature[is_set])
    slot[is_leaf] = 0
    left = np.where(is_leaf, np.arange(len(first)), trees.left).astype(np.uint64)
    follows = 2 * left | slot.astype(np.uint64) << np.uint64(SLOT) | is_set.astype(np.uint64) << np.uint64(63)
    offset = 2 * (chain.root.astype(np.int64) - chain.start[chain.lead].astype(np.int64))
    return RowChain(
        np.column_stack([bits, follows]).reshape(-1),
        2 * chain.start,
        np.column_stack([chain.lead, offset, chain.channel]).astype(np.int64),
        coded,
        single,
        _rounded(plan.base + 0.0, single),  # as adding a bias of 0 does
    )


def _added(plan: Plan, chain: Chain, single: bool) -> NDArray[np.float64]:
    """What each leaf adds to a score: its value times the weight of its tree."""
    weight = np.zeros(len(chain.value))
    ends = chain.root.astype(np.int64) + plan.tables.terms.size[plan.tables.nodes.term]
    for root, end, one in zip(chain.root.astype(np.int64), ends, chain.weight, strict=True):
        weight[root:end] = one
    return _rounded(weight * _rounded(chain.value, single), single)


def _rounded(x: NDArray[np.float64], single: bool) -> NDArray[np.float64]:
    """Numbers, rounded to float32 if `single`."""
    with np.errstate(over="ignore"):
        return x.astype(np.float32).astype(np.float64) if single else x


def _sets(trees: Trees, is_set: NDArray[np.bool_]) -> NDArray[np.uint64]:
    words = trees.words[trees.category[is_set]].astype(np.uint64)
    bits = words[:, 0] | words[:, 1] << np.uint64(32)
    return bits | trees.missing[is_set].astype(np.uint64) << np.uint64(MISSING)
