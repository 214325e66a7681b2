"""Compiled runs of additive chains of trees in which no budget stops a row: the commonest case, made short.

A row walks down many trees side by side, so that the processor waits for several of them at once. Chains that
do not fit the cache are run in tiles of trees, for a block of rows at a time. Where a tile holds few trees,
because they are large, many rows walk down each tree side by side instead.

Numbers of nodes and rows are unsigned: for signed ones numba looks at each whether it counts from the end.
"""

from __future__ import annotations

import numpy as np

from miserly.costs import prices as _prices
from miserly.plan.engine.chain import CATEGORICAL
from miserly.utils.compiled import compiled

__all__ = ["bill_chain", "score_chain"]

_ONE, _BITS = np.uint64(1), np.uint64(CATEGORICAL - 1)
_SET = np.uint32(CATEGORICAL)
_WORD, _SHIFT, _LOW = 64, 6, 63  # bits of a word of a table of categories
_BLOCK = 8192  # rows that go through a tile of trees before the next tile
_ROWS = 128  # of them that go through it together
_FEW = 32  # trees of a tile, up to which rows walk down each tree side by side
_SHALLOW = 6  # levels of a tree in which rows take all steps; in deeper trees those that arrive are dropped

_inline = compiled(forceinline=True)
_price = _inline(_prices.row_price)
_mark_paid = _inline(_prices.mark_paid)


@_inline
def _step(nodes, X, i, node):
    """The child of a node, for a split on numbers; a leaf leads to itself."""
    one = nodes[node]
    after = np.uint64(one.next)
    x = np.float64(X[i, np.uint64(one.look)])
    left = np.uint64(x <= one.threshold) | (np.uint64(x != x) & after)
    return (after >> _ONE) + (_ONE - (left & _ONE))


@_inline
def _step_any(nodes, tables, X, i, node):
    """The same for a split on numbers or on categories."""
    one = nodes[node]
    after = np.uint64(one.next)
    look = np.uint64(one.look)
    x = np.float64(X[i, look & _BITS])
    if one.look >= _SET:
        inside = (x >= 0.0) & (x < np.float64(_WORD * tables.shape[1]))
        code = np.int64(x if inside else 0.0)
        word = tables[np.uint64(one.threshold), np.uint64(code >> _SHIFT)]
        left = word >> np.uint64(code & _LOW) if np.float64(code) == x else after
    else:
        left = np.uint64(x <= one.threshold) | (np.uint64(x != x) & after)
    return (after >> _ONE) + (_ONE - (left & _ONE))


@_inline
def _next(nodes, tables, sets, X, i, node):
    """The child of a node of any kind; `sets` is whether the chain has splits on categories."""
    return _step_any(nodes, tables, X, i, node) if sets else _step(nodes, X, i, node)


@_inline
def _rounded(x, single):
    """A number, rounded to float32 if `single`."""
    return np.float64(np.float32(x)) if single else x


@compiled()
def _walk(nodes, tables, start, first, last, depth, X, i, at, moving):
    """Walk one row down the trees `first` to `last` side by side; `at` gets its leaves."""
    sets = tables.shape[0] > 0
    n = last - first
    for j in range(n):
        at[j] = start[first + j]
    if depth <= _SHALLOW:
        for _ in range(depth):
            for j in range(n):
                at[j] = _next(nodes, tables, sets, X, i, at[j])
        return
    for j in range(n):
        moving[j] = np.uint64(j)
    left = n
    while left > 0:  # without a branch that could be foreseen wrongly
        kept = 0
        for q in range(left):
            j = moving[q]
            node = at[j]
            child = _next(nodes, tables, sets, X, i, node)
            moving[kept] = j
            kept += child != node
            at[j] = child
        left = kept


@compiled()
def _walk_rows(nodes, tables, root, X, begin, n, leaves, j, at, moving):
    """Walk `n` rows side by side down one tree; column `j` of `leaves` gets where they end."""
    sets = tables.shape[0] > 0
    for r in range(n):
        at[r] = root
        moving[r] = np.uint64(r)
    left = n
    while left > 0:  # as in `_walk`
        kept = 0
        for q in range(left):
            r = moving[q]
            node = at[r]
            child = _next(nodes, tables, sets, X, begin + r, node)
            moving[kept] = r
            kept += child != node
            at[r] = child
        left = kept
    for r in range(n):
        leaves[r, j] = at[r]


@_inline
def _leaves_of_few():
    return np.empty((_ROWS, _FEW), np.uint64)


@compiled()
def _walk_few(nodes, tables, start, first, last, X, row, n, leaves, at, moving):
    for j in range(last - first):
        _walk_rows(nodes, tables, start[first + j], X, np.uint64(row), n, leaves, j, at, moving)


@_inline
def _sum(value, root, start, lead, pointer, weight, bias, single, low, high, first, at, score):
    """The same for a single score, which stays in a register."""
    for k in range(low, high):
        rounds = single[k]
        score = _rounded(score + bias[k, 0], rounds)
        for e in range(pointer[k], pointer[k + 1]):
            node = at[lead[e] - first] + (root[e] - start[lead[e]])
            score = _rounded(score + _rounded(weight[e] * _rounded(value[node], rounds), rounds), rounds)
    return score


@compiled()
def _add(value, root, start, lead, pointer, weight, channel, bias, single, low, high, first, at, i, scores):
    """Add the trees of nodes `low` to `high` of the plan to the scores of a row."""
    if bias.shape[1] == 1:
        scores[i, 0] = _sum(
            value, root, start, lead, pointer, weight, bias, single, low, high, first, at, scores[i, 0]
        )
        return
    for k in range(low, high):
        for c in range(bias.shape[1]):
            scores[i, c] = _rounded(scores[i, c] + bias[k, c], single[k])
        for e in range(pointer[k], pointer[k + 1]):
            node = at[lead[e] - first] + (root[e] - start[lead[e]])
            c, added = channel[e], _rounded(weight[e] * _rounded(value[node], single[k]), single[k])
            scores[i, c] = _rounded(scores[i, c] + added, single[k])


@compiled()
def _pay(root, start, lead, evaluation, way, ways, low, high, first, at, i, prices, acquired, opened, spent):
    """Charge a row for the trees `low` to `high`: their evaluations, and the splits that it met."""
    own, groups, setup = prices.own, prices.groups, prices.setup
    bought = acquired[i]
    for e in range(low, high):
        if evaluation[e] > 0.0:
            spent[i] += evaluation[e]
        if root[e] == start[lead[e]]:
            leaf = at[lead[e] - first]
            for q in range(way[leaf], way[leaf + _ONE]):
                f = ways[q]
                if not bought[f]:
                    f_signed = np.int64(f)
                    spent[i] += _price(i, f_signed, opened, own, groups, setup)
                    _mark_paid(i, f_signed, acquired, opened, groups)


@compiled(nogil=True)
def score_chain(
    nodes,
    tables,
    value,
    root,
    start,
    lead,
    pointer,
    weight,
    channel,
    bias,
    single,
    tiles,
    X,
    top,
    bottom,
    scores,
):
    """Add the trees for rows `top` to `bottom`."""
    space = max(_ROWS, start.shape[0])
    at, moving, leaves = np.empty(space, np.uint64), np.empty(space, np.uint64), _leaves_of_few()
    n_tiles = tiles.shape[0] - 1
    for turn in range(n_tiles * -(-(bottom - top) // _BLOCK)):  # all tiles for a block, then for the next one
        t, block = turn % n_tiles, top + turn // n_tiles * _BLOCK
        low, first, depth = tiles[t, 0], tiles[t, 1], tiles[t, 2]
        high, last = tiles[t + 1, 0], tiles[t + 1, 1]
        end = min(bottom, block + _BLOCK)
        for row in range(block, end, _ROWS):
            n = min(end, row + _ROWS) - row
            few = last - first <= _FEW and n > _FEW
            if few:
                _walk_few(nodes, tables, start, first, last, X, row, n, leaves, at, moving)
            for i in range(row, row + n):
                if not few:
                    _walk(nodes, tables, start, first, last, depth, X, np.uint64(i), at, moving)
                ends = leaves[i - row] if few else at
                _add(
                    value, root, start, lead, pointer, weight, channel, bias, single,
                    low, high, first, ends, i, scores,
                )  # fmt: skip


@compiled(nogil=True)
def bill_chain(
    nodes,
    tables,
    value,
    root,
    start,
    lead,
    pointer,
    weight,
    channel,
    bias,
    single,
    tiles,
    X,
    top,
    bottom,
    scores,
    evaluation,
    way,
    ways,
    prices,
    acquired,
    opened,
    spent,
):
    """The same, with the bill of each row: evaluations, and the splits that it meets in their order."""
    space = max(_ROWS, start.shape[0])
    at, moving, leaves = np.empty(space, np.uint64), np.empty(space, np.uint64), _leaves_of_few()
    n_tiles = tiles.shape[0] - 1
    for turn in range(n_tiles * -(-(bottom - top) // _BLOCK)):  # all tiles for a block, then for the next one
        t, block = turn % n_tiles, top + turn // n_tiles * _BLOCK
        low, first, depth = tiles[t, 0], tiles[t, 1], tiles[t, 2]
        high, last = tiles[t + 1, 0], tiles[t + 1, 1]
        end = min(bottom, block + _BLOCK)
        for row in range(block, end, _ROWS):
            n = min(end, row + _ROWS) - row
            few = last - first <= _FEW and n > _FEW
            if few:
                _walk_few(nodes, tables, start, first, last, X, row, n, leaves, at, moving)
            for i in range(row, row + n):
                if not few:
                    _walk(nodes, tables, start, first, last, depth, X, np.uint64(i), at, moving)
                ends = leaves[i - row] if few else at
                _pay(
                    root, start, lead, evaluation, way, ways, pointer[low], pointer[high],
                    first, ends, i, prices, acquired, opened, spent,
                )  # fmt: skip
                _add(
                    value, root, start, lead, pointer, weight, channel, bias, single,
                    low, high, first, ends, i, scores,
                )  # fmt: skip
