"""Compiled values of terms whose features are there, for some rows at a time."""

from __future__ import annotations

import numpy as np

from miserly.plan import links
from miserly.plan.terms import Kernel, Raw, Term, Tree
from miserly.utils.compiled import compiled

__all__ = ["RAW", "TERM_RULES", "TREE", "in_category", "values_of"]

# The terms that have a rule below. Compiled code reads their codes as constants.
TERM_RULES: tuple[type[Term], ...] = (Raw, Tree, Kernel)
RAW, TREE = Raw.code, Tree.code

_exp = compiled(forceinline=True)(links.exp)


@compiled()
def in_category(words, row, x, missing):
    """Whether category code `x` goes left; a value that is not a code counts as missing."""
    if not (x >= 0.0 and x <= 255.0):
        return missing
    code = np.int64(x)
    if code != x:
        return missing
    return (words[row, code >> 5] >> np.uint32(code & 31)) & np.uint32(1) != 0


@compiled()
def _walk(trees, root, X, rows, values):
    """The value of a tree for each row."""
    feature, threshold, left, value = trees.feature, trees.threshold, trees.left, trees.value
    missing, category, words = trees.missing, trees.category, trees.words
    for r in range(rows.shape[0]):
        node, i = root, rows[r]
        while feature[node] >= 0:
            x = np.float64(X[i, feature[node]])
            if category[node] < 0:
                stays_left = (x <= threshold[node]) | ((x != x) & missing[node])
            else:
                stays_left = in_category(words, category[node], x, missing[node])
            node = left[node] + (1 - stays_left)
        values[r] = value[node]


@compiled()
def _walk_plain(trees, root, depth, X, rows, values):
    """The same for a tree without categories: a fixed number of steps, leaves lead to themselves."""
    look, threshold, left = trees.look, trees.threshold, trees.left
    missing, value = trees.missing, trees.value
    for r in range(rows.shape[0]):
        node, i = root, rows[r]
        for _ in range(depth):
            x = np.float64(X[i, look[node]])
            stays_left = (x <= threshold[node]) | ((x != x) & missing[node])
            node = left[node] + (1 - stays_left)
        values[r] = value[node]


@compiled()
def _kernel(kernels, j, X, rows, values):
    """A kernel between each row and vector `j`, summed feature by feature."""
    kind, vector, fill, scale = kernels.kind[j], kernels.vector[j], kernels.fill[j], kernels.scale[j]
    gamma, coef0, degree = kernels.gamma[j], kernels.coef0[j], kernels.degree[j]
    for r in range(rows.shape[0]):
        total = 0.0
        for f in range(vector.shape[0]):
            x = np.float64(X[rows[r], f])
            if x != x:
                x = fill[f]
            if kind == 1:
                difference = (x - vector[f]) * scale[f]
                total += difference * difference
            else:
                total += x * vector[f]
        inner = gamma * total + coef0
        if kind == 0:
            values[r] = total
        elif kind == 1:
            values[r] = _exp(-(gamma * total))
        elif kind == 2:
            power = 1.0
            for _ in range(degree):
                power *= inner
            values[r] = power
        else:
            values[r] = 1.0 - 2.0 / (_exp(2.0 * inner) + 1.0)


@compiled()
def values_of(tables, t, X, rows, values):
    """The value of a term whose features are there."""
    start = tables.terms.start[t]
    if tables.terms.kind[t] == TREE and tables.terms.plain[t]:
        _walk_plain(tables.trees, start, tables.terms.depth[t], X, rows, values)
    elif tables.terms.kind[t] == TREE:
        _walk(tables.trees, start, X, rows, values)
    elif tables.terms.kind[t] == RAW:
        fill = tables.terms.fill[t]
        for r in range(rows.shape[0]):
            x = np.float64(X[rows[r], start])
            values[r] = fill if x != x else x
    else:
        _kernel(tables.kernels, start, X, rows, values)
