"""Compiled scores of additive chains of trees, without accounts: the commonest case, made short.

Numbers of nodes and rows are unsigned: for signed ones numba looks at each whether it counts from the end.
"""

from __future__ import annotations

import numpy as np

from miserly.plan.engine.chain import CATEGORICAL
from miserly.utils.compiled import compiled

__all__ = ["score_chain", "score_few"]

_ONE, _ZERO, _BITS = np.uint64(1), np.uint64(0), np.uint64(CATEGORICAL - 1)
_SET = np.uint32(CATEGORICAL)


@compiled(forceinline=True)
def _step(nodes, X, i, node):
    """The child of a node, for a split on numbers; a leaf leads to itself."""
    one = nodes[node]
    after = np.uint64(one.next)
    x = np.float64(X[i, np.uint64(one.look)])
    left = np.uint64(x <= one.threshold) | (np.uint64(x != x) & after)
    return (after >> _ONE) + (_ONE - (left & _ONE))


@compiled(forceinline=True)
def _step_any(nodes, tables, X, i, node):
    """The same for a split on numbers or on categories."""
    one = nodes[node]
    after = np.uint64(one.next)
    look = np.uint64(one.look)
    x = np.float64(X[i, look & _BITS])
    if one.look >= _SET:
        no_code = np.uint64(tables.shape[1] - 1)
        code = np.uint64(x if (x >= 0.0) & (x < no_code) else 0.0)
        code = code if np.float64(code) == x else no_code
        left = np.uint64(tables[np.uint64(one.threshold), code])
    else:
        left = np.uint64(x <= one.threshold) | (np.uint64(x != x) & after)
    return (after >> _ONE) + (_ONE - (left & _ONE))


@compiled(forceinline=True)
def _rounded(x, single):
    """A number, rounded to float32 if `single`."""
    return np.float64(np.float32(x)) if single else x


@compiled()
def _leaves(nodes, tables, root, X, low, n, at, moving):
    """Walk `n` rows from `low` down one tree, level by level; `at` gets their leaves.

    Rows that have arrived are dropped from `moving`, without a branch that could be foreseen wrongly.
    """
    for j in range(n):
        at[j] = root
        moving[j] = np.uint64(j)
    sets = tables.shape[0] > 0
    left = n
    while left > 0:
        kept = 0
        for q in range(left):
            j = moving[q]
            i = np.uint64(low) + j
            node = at[j]
            child = _step_any(nodes, tables, X, i, node) if sets else _step(nodes, X, i, node)
            moving[kept] = j
            kept += child != node
            at[j] = child
        left = kept


@compiled(nogil=True)
def score_chain(
    nodes,
    tables,
    value,
    root,
    grows,
    twin,
    pointer,
    weight,
    channel,
    bias,
    single,
    X,
    first,
    last,
    block,
    scores,
):
    """Add the trees for rows `first` to `last`, in blocks that fit the cache."""
    at, moving = np.zeros(block, np.uint64), np.zeros(block, np.uint64)
    for low in range(first, last, block):
        high, walked = min(last, low + block), _ZERO
        for k in range(pointer.shape[0] - 1):
            for c in range(scores.shape[1]):
                if bias[k, c] != 0.0 or single[k]:
                    for i in range(low, high):
                        scores[i, c] = _rounded(scores[i, c] + bias[k, c], single[k])
            for e in range(pointer[k], pointer[k + 1]):
                if not twin[e]:
                    walked = root[e]
                    if grows[e]:
                        _leaves(nodes, tables, walked, X, low, high - low, at, moving)
                    else:
                        at[: high - low] = walked
                c, w, shift = channel[e], weight[e], root[e] - walked
                if single[k]:
                    for i in range(low, high):
                        added = _rounded(w * _rounded(value[at[i - low] + shift], True), True)
                        scores[i, c] = _rounded(scores[i, c] + added, True)
                else:
                    for i in range(low, high):
                        scores[i, c] += w * value[at[i - low] + shift]


@compiled(nogil=True)
def score_few(nodes, tables, value, root, grows, twin, pointer, weight, channel, bias, single, X, scores):
    """The same for a few rows, row by row, with all trees side by side: a call costs few microseconds."""
    at, moving = np.empty(root.shape[0], np.uint64), np.empty(root.shape[0], np.uint64)
    sets = tables.shape[0] > 0
    for row in range(X.shape[0]):
        i = np.uint64(row)
        left = 0
        for e in range(root.shape[0]):
            at[e] = root[e]
            moving[left] = np.uint64(e)
            left += grows[e] and not twin[e]
        while left > 0:
            kept = 0
            for q in range(left):
                e = moving[q]
                node = at[e]
                child = _step_any(nodes, tables, X, i, node) if sets else _step(nodes, X, i, node)
                moving[kept] = e
                kept += child != node
                at[e] = child
            left = kept
        for k in range(pointer.shape[0] - 1):
            for c in range(bias.shape[1]):
                scores[row, c] = _rounded(scores[row, c] + bias[k, c], single[k])
            first = 0
            for e in range(pointer[k], pointer[k + 1]):
                if not twin[e]:
                    first = e
                node = at[first] + (root[e] - root[first])
                c, added = channel[e], _rounded(weight[e] * _rounded(value[node], single[k]), single[k])
                scores[row, c] = _rounded(scores[row, c] + added, single[k])
