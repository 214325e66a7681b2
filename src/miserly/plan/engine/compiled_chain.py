"""Compiled scores of additive chains of plain trees, without accounts: the commonest case, made short."""

from __future__ import annotations

import numpy as np

from miserly.utils.compiled import compiled

__all__ = ["score_chain", "score_few"]


@compiled()
def _add_tree(trees, root, depth, weight, X, low, high, scores, c):
    """One plain tree for a block of rows: a fixed number of steps, leaves lead to themselves."""
    look, threshold, left = trees.look, trees.threshold, trees.left
    missing, value = trees.missing, trees.value
    for i in range(low, high):
        node = root
        for _ in range(depth):
            x = np.float64(X[i, look[node]])
            stays_left = (x <= threshold[node]) | ((x != x) & missing[node])
            node = left[node] + (1 - stays_left)
        scores[i, c] += weight * value[node]


@compiled()
def _score_block(tables, X, low, high, scores):
    nodes, terms = tables.nodes, tables.terms
    for k in range(nodes.pointer.shape[0] - 1):
        for c in range(scores.shape[1]):
            if nodes.bias[k, c] != 0.0:
                for i in range(low, high):
                    scores[i, c] += nodes.bias[k, c]
        for e in range(nodes.pointer[k], nodes.pointer[k + 1]):
            t = nodes.term[e]
            _add_tree(
                tables.trees, terms.start[t], terms.depth[t], nodes.weight[e], X, low, high,
                scores, nodes.channel[e],
            )  # fmt: skip


@compiled(nogil=True)
def score_chain(tables, X, first, last, block, scores):
    """An additive chain of plain trees over rows `first` to `last`, in blocks that fit the cache."""
    for low in range(first, last, block):
        _score_block(tables, X, low, min(last, low + block), scores)


@compiled(nogil=True)
def score_few(look, left, threshold, missing, value, pointer, root, depth, weight, channel, bias, X, scores):
    """The same for a few rows, row by row and from plain arrays: a call costs microseconds, not dozens."""
    for i in range(X.shape[0]):
        for k in range(pointer.shape[0] - 1):
            for c in range(bias.shape[1]):
                scores[i, c] += bias[k, c]
            for e in range(pointer[k], pointer[k + 1]):
                node = root[e]
                for _ in range(depth[e]):
                    x = np.float64(X[i, look[node]])
                    stays_left = (x <= threshold[node]) | ((x != x) & missing[node])
                    node = left[node] + (1 - stays_left)
                scores[i, channel[e]] += weight[e] * value[node]
