"""Additive chains of trees in few arrays: what runs in which no budget stops a row read.

A node of a tree takes 16 bytes, so that a step of a walk reads one line of the cache. Leaves lead to
themselves: a walk ends where a step stays.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple
from weakref import WeakKeyDictionary

import numpy as np
from numpy.typing import NDArray

from miserly.plan.gates import Onward
from miserly.plan.terms import Tree
from miserly.plan.terms.categories import N_WORDS
from miserly.plan.terms.tree import Trees

if TYPE_CHECKING:
    from miserly.plan.plan import Plan

__all__ = ["CATEGORICAL", "Bills", "Chain", "bills_of", "chain_of"]

CATEGORICAL = 1 << 31  # the bit of `look` that marks a split on categories
_MOST_BYTES = 1 << 26  # of tables of categories
_TILE_NODES = 1 << 14  # of trees that are walked side by side: 256 kilobytes
_MOST_STEPS = 16  # of walks to all leaves, for each node of a tree
_NODE = np.dtype([("threshold", np.float64), ("look", np.uint32), ("next", np.uint32)], align=True)


class Chain(NamedTuple):
    """The trees of a chain; tree e of node k of the plan is one of ``pointer[k]`` to ``pointer[k + 1]``.

    Trees that differ only in the values of their leaves are walked once: tree e is walked as ``lead[e]``.
    """

    nodes: NDArray[np.void]  # next: twice the left child, plus 1 if missing values go left
    tables: NDArray[np.uint64]  # for each split on categories, a bit for each code that goes left
    value: NDArray[np.float64]
    root: NDArray[np.uint64]
    start: NDArray[np.uint64]  # the roots of the trees that are walked
    lead: NDArray[np.int64]
    pointer: NDArray[np.int64]
    weight: NDArray[np.float64]
    channel: NDArray[np.int64]
    bias: NDArray[np.float64]
    single: NDArray[np.bool_]  # of each node: whether values, products and sums are rounded to float32
    tiles: NDArray[np.int64]  # what is run together: the first node, the first tree walked, the most steps


class Bills(NamedTuple):
    """What the bills of a chain need. Leaf n meets features ``ways[way[n] : way[n + 1]]``, in this order."""

    evaluation: NDArray[np.float64]  # of each tree; 0 if it was evaluated before
    way: NDArray[np.uint64]
    ways: NDArray[np.uint32]


_CHAINS: WeakKeyDictionary[Plan, Chain | None] = WeakKeyDictionary()
_BILLS: WeakKeyDictionary[Plan, Bills | None] = WeakKeyDictionary()


def chain_of(plan: Plan) -> Chain | None:
    """The chain of a plan in which every row adds the same trees in the same order; None for other plans.

    Parameters
    ----------
    plan : Plan
        The plan.

    Returns
    -------
    Chain or None
    """
    if plan not in _CHAINS:
        _CHAINS[plan] = _chain(plan) if _is_chain(plan) else None
    return _CHAINS[plan]


def bills_of(plan: Plan) -> Bills | None:
    """What the bills of a chain need; None if the trees are so deep that it would take much more memory.

    Parameters
    ----------
    plan : Plan
        A plan that has a chain.

    Returns
    -------
    Bills or None
    """
    if plan not in _BILLS:
        _BILLS[plan] = _bills(plan)
    return _BILLS[plan]


def _is_chain(plan: Plan) -> bool:
    tables = plan.tables
    n = len(plan.nodes)
    return bool(
        not (plan.acquires or plan.reads_bought)
        and (tables.nodes.gate == Onward.code).all()
        and tables.nodes.inherits.all()
        and (tables.nodes.up == [*range(1, n), -1][:n]).all()
        and (tables.terms.kind == Tree.code).all()
        and 2 * len(tables.trees.left) < 1 << 32
        and (tables.trees.category >= 0).sum() * 8 * _table_width(tables.trees) <= _MOST_BYTES
    )


def _chain(plan: Plan) -> Chain:
    trees, terms, nodes = plan.tables.trees, plan.tables.terms, plan.tables.nodes
    is_set = trees.category >= 0
    packed = np.zeros(len(trees.left), dtype=_NODE)
    packed["threshold"] = np.where(is_set, np.cumsum(is_set) - 1, trees.threshold)  # the row of its table
    packed["look"] = np.where(is_set, trees.look.astype(np.int64) | CATEGORICAL, trees.look)
    packed["next"] = 2 * trees.left.astype(np.int64) + trees.missing
    root = terms.start[nodes.term].astype(np.uint64)
    walked = ~_twins(terms.twin, nodes.term, nodes.pointer)
    return Chain(
        packed,
        _category_tables(trees, is_set),
        trees.value,
        root,
        root[walked],
        np.cumsum(walked) - 1,
        nodes.pointer,
        nodes.weight,
        nodes.channel,
        nodes.bias,
        nodes.single,
        _tiles(nodes.pointer, walked, terms.size[nodes.term], terms.depth[nodes.term]),
    )


def _tiles(
    pointer: NDArray[np.int64],
    walked: NDArray[np.bool_],
    size: NDArray[np.int64],
    depth: NDArray[np.int64],
) -> NDArray[np.int64]:
    """Nodes of the plan whose trees fit the cache together, as `Chain` has them; the last line is the end."""
    begins, before = np.append(0, np.cumsum(walked)), np.append(0, np.cumsum(np.where(walked, size, 0)))
    many = before[pointer] // _TILE_NODES
    first = np.flatnonzero(np.diff(many[:-1], prepend=-1))
    ends = np.append(first[1:], len(pointer) - 1)[: len(first)]
    deepest = [depth[pointer[k] : pointer[end]].max(initial=0) for k, end in zip(first, ends, strict=True)]
    lines = np.column_stack([first, begins[pointer[first]], deepest]).reshape(-1, 3)
    return np.vstack([lines, [len(pointer) - 1, begins[-1], 0]]).astype(np.int64)


def _bills(plan: Plan) -> Bills | None:
    """The features that each leaf meets, grown level by level from the roots."""
    trees, terms, nodes = plan.tables.trees, plan.tables.terms, plan.tables.nodes
    n = len(trees.feature)
    parent = np.full(n, -1, dtype=np.int64)
    inner = np.flatnonzero(trees.feature >= 0)
    parent[trees.left[inner]] = parent[trees.left[inner] + 1] = inner
    leaves = np.flatnonzero(trees.feature < 0)
    met, at = [], leaves
    while (at := np.where(at >= 0, parent[at], -1)).max(initial=-1) >= 0:
        met.append(np.where(at >= 0, trees.feature[at], -1))
        if len(met) * len(leaves) > _MOST_STEPS * n:
            return None
    steps = np.array(met[::-1], dtype=np.int64).reshape(len(met), len(leaves)).T
    count = np.zeros(n, dtype=np.int64)
    count[leaves] = (steps >= 0).sum(axis=1)
    evaluation = np.where(nodes.fresh, terms.evaluation[nodes.term], 0.0)
    way = np.append(0, np.cumsum(count)).astype(np.uint64)
    return Bills(evaluation, way, steps[steps >= 0].astype(np.uint32))


def _twins(twin: NDArray[np.bool_], term: NDArray[np.int64], pointer: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Entries whose term has the splits of the entry before, in the same node."""
    found = np.zeros(len(term), dtype=np.bool_)
    found[1:] = (term[1:] == term[:-1] + 1) & twin[term[1:]]
    found[pointer[:-1][pointer[:-1] < len(term)]] = False
    return found


def _table_width(trees: Trees) -> int:
    """The number of words of 64 bits, so that every code that some split has a bit for is in them."""
    return N_WORDS // 2 * int(trees.span.max(initial=1))


def _category_tables(trees: Trees, is_set: NDArray[np.bool_]) -> NDArray[np.uint64]:
    """A row of words for each split on categories; codes that a split has no bit for count as missing."""
    first, span = trees.category[is_set].astype(np.int64), trees.span[is_set].astype(np.int64)
    tables = np.zeros((len(first), _table_width(trees)), dtype=np.uint64)
    tables[trees.missing[is_set]] = ~np.uint64(0)
    for rows in np.unique(span).tolist():  # sets of one size together
        some = np.flatnonzero(span == rows)
        words = trees.words[first[some][:, None] + np.arange(rows)].reshape(len(some), -1).astype(np.uint64)
        tables[some, : N_WORDS // 2 * rows] = words[:, ::2] | words[:, 1::2] << np.uint64(32)
    return tables
