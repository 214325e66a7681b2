"""Compiled parts of a run: values of terms whose features are there, and rules of gates."""

from __future__ import annotations

import numpy as np

from miserly.plan import links
from miserly.plan.gates import (
    Capacity,
    Confidence,
    Gate,
    Onward,
    Proximity,
    Rank,
    Settled,
    SettledTop,
    Threshold,
)
from miserly.plan.links import BY_LOG_ODDS, BY_SHARES
from miserly.plan.terms import Kernel, Raw, Term, Tree
from miserly.utils.compiled import compiled

__all__ = [
    "GATE_RULES",
    "LISTWISE",
    "RAW",
    "STOPPED",
    "TERM_RULES",
    "TREE",
    "in_category",
    "send_documents",
    "send_rows",
    "values_of",
]

# The terms that have a rule below. Compiled code reads their codes as constants.
TERM_RULES: tuple[type[Term], ...] = (Raw, Tree, Kernel)
RAW, TREE = Raw.code, Tree.code

# The gates that have a rule below or in `compiled_rest`. Compiled code reads their codes as constants.
GATE_RULES: tuple[type[Gate], ...] = (
    Onward, Threshold, Confidence, Proximity, Rank, Capacity, Settled, SettledTop,
)  # fmt: skip
LISTWISE = tuple(gate.listwise for gate in GATE_RULES)  # by code
ONWARD, THRESHOLD, CONFIDENCE, PROXIMITY, CAPACITY = (
    gate.code for gate in (Onward, Threshold, Confidence, Proximity, Capacity)
)
STOPPED = -2  # the place of a row that the budget stopped; -1 is the place of a row that left with an answer

_exp = compiled(forceinline=True)(links.exp)


# -- terms -------------------------------------------------------------------------------------------------


@compiled()
def in_category(words, row, span, x, missing):
    """Whether category code `x` goes left; a value that is not a code counts as missing.

    The bits of a set are in `span` rows of `words` from `row` on.
    """
    if not (x >= 0.0 and x < 256.0 * span):
        return missing
    code = np.int64(x)
    if code != x:
        return missing
    return (words[row + (code >> 8), (code >> 5) & 7] >> np.uint32(code & 31)) & np.uint32(1) != 0


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
                stays_left = in_category(words, category[node], trees.span[node], x, missing[node])
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


# -- gates -------------------------------------------------------------------------------------------------


@compiled(forceinline=True)
def _confidence(chances, n_outputs, scores, i):
    """The probability of the most probable class."""
    if chances == BY_LOG_ODDS:
        positive = 1.0 / (1.0 + _exp(-scores[i, 0]))
        return max(positive, 1.0 - positive)
    top = scores[i, 0]
    for c in range(1, n_outputs):
        top = max(top, scores[i, c])
    total = 0.0
    if chances == BY_SHARES:
        for c in range(n_outputs):
            total += scores[i, c]
        return top / total if total > 0.0 else 1.0 / n_outputs
    for c in range(n_outputs):
        total += _exp(scores[i, c] - top)
    return 1.0 / total


@compiled()
def _cut(gate, number, count, scores, n_query):
    """The score below which documents leave at a list-wise gate, given those still in the run."""
    keep = max(1, int(np.ceil(number * n_query))) if gate == CAPACITY else count
    if keep > scores.shape[0]:
        return -np.inf
    kth = np.sort(scores)[scores.shape[0] - keep]
    return kth - number if gate == PROXIMITY else kth


@compiled()
def send_rows(nodes, k, rows, scores, at):
    """Send each row up or low by what it scores itself."""
    gate, number, count, up, low = nodes.gate[k], nodes.number[k], nodes.whole[k], nodes.up[k], nodes.low[k]
    chances, n_outputs = nodes.chances, nodes.n_outputs
    for r in range(rows.shape[0]):
        i = rows[r]
        if gate == ONWARD:
            at[i] = up
        elif gate == THRESHOLD:
            at[i] = up if scores[i, count] > number else low
        elif gate == CONFIDENCE:
            at[i] = low if _confidence(chances, n_outputs, scores, i) >= number else up


@compiled()
def send_documents(nodes, k, order, start, first, last, scores, at, trail):
    """Send the documents of each query up or low by how they compare, unless the budget keeps one away."""
    gate, number, count, up, low = nodes.gate[k], nodes.number[k], nodes.whole[k], nodes.up[k], nodes.low[k]
    for b in range(first, last):
        query = order[start[b] : start[b + 1]]
        present = np.empty(query.shape[0])
        n, complete = 0, True
        for i in query:
            complete &= at[i] != STOPPED
            if at[i] == k:
                present[n] = scores[i, 0]
                n += 1
        cut = _cut(gate, number, count, present[:n], query.shape[0])
        for i in query:
            if at[i] == k and complete:
                at[i] = low if scores[i, 0] < cut else up
            elif at[i] == k:
                at[i], trail[i, 1] = STOPPED, k
