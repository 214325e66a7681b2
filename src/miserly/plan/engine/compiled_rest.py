"""Compiled rules of gates that look at the rest of the chain; `rest` has the same in NumPy."""

from __future__ import annotations

import numpy as np

from miserly.plan.engine.compiled_rules import RAW, STOPPED, TREE, in_category
from miserly.plan.gates import Settled, SettledTop
from miserly.utils.compiled import compiled

__all__ = ["SETTLED", "SETTLED_TOP", "send_settled", "send_settled_top"]

# Compiled code reads these as constants.
SETTLED, SETTLED_TOP = Settled.code, SettledTop.code

_part = compiled(forceinline=True)  # handing over the tables costs more than walking a tree


@_part
def _leaves(trees, root, X, i, acquired, stack):
    """The smallest and the largest leaf of a tree that row `i` can reach, given what it has bought."""
    feature, threshold, left, value = trees.feature, trees.threshold, trees.left, trees.value
    missing, category, words = trees.missing, trees.category, trees.words
    low, high = np.inf, -np.inf
    stack[0] = root
    n = 1
    while n > 0:
        n -= 1
        node = stack[n]
        while feature[node] >= 0:
            f = feature[node]
            if acquired[i, f]:
                x = np.float64(X[i, f])
                if category[node] < 0:
                    stays_left = (x <= threshold[node]) | ((x != x) & missing[node])
                else:
                    stays_left = in_category(words, category[node], x, missing[node])
                node = left[node] + (1 - stays_left)
            else:
                node = left[node]
                stack[n] = node + 1
                n += 1
        low, high = min(low, value[node]), max(high, value[node])
    return low, high


@_part
def _values(tables, t, X, i, acquired, stack):
    """The smallest and the largest value that a term can have for row `i`."""
    terms = tables.terms
    if terms.kind[t] == TREE:
        return _leaves(tables.trees, terms.start[t], X, i, acquired, stack)
    if terms.kind[t] == RAW and acquired[i, terms.start[t]]:
        x = np.float64(X[i, terms.start[t]])
        if x != x:
            x = terms.fill[t]
        return x, x
    return tables.nodes.term_low[t], tables.nodes.term_high[t]


@_part
def _add_node(tables, j, X, i, acquired, stack, bounds):
    """Add what node `j` may contribute to the sums (rows 2 and 3), and widen the bounds (rows 0 and 1)."""
    nodes = tables.nodes
    for c in range(bounds.shape[1]):
        bounds[2, c] += nodes.bias[j, c]
        bounds[3, c] += nodes.bias[j, c]
    for e in range(nodes.pointer[j], nodes.pointer[j + 1]):
        weight, c = nodes.weight[e], nodes.channel[e]
        if weight != 0.0:
            low, high = _values(tables, nodes.term[e], X, i, acquired, stack)
            bounds[2, c] += min(weight * low, weight * high)
            bounds[3, c] += max(weight * low, weight * high)
    for c in range(bounds.shape[1]):
        bounds[0, c] = min(bounds[0, c], bounds[2, c])
        bounds[1, c] = max(bounds[1, c], bounds[3, c])


@_part
def _can_differ(nodes, k, scores, i, bounds):
    """Whether the bounds leave the class of row `i` open."""
    error, size = nodes.rest_error[k], nodes.rest_size[k]
    if nodes.signs:
        for c in range(nodes.n_outputs):
            score = scores[i, c]
            margin = error * (abs(score) + size[c])
            if not (score + (bounds[0, c] - margin) > 0.0 or score + (bounds[1, c] + margin) < 0.0):
                return True
        return False
    top = 0
    for c in range(1, nodes.n_outputs):
        if scores[i, c] > scores[i, top]:
            top = c
    least = scores[i, top] + (bounds[0, top] - error * (abs(scores[i, top]) + size[top]))
    for c in range(nodes.n_outputs):
        if c != top:
            score = scores[i, c]
            if not least > score + (bounds[1, c] + error * (abs(score) + size[c])):
                return True
    return False


@_part
def _following(nodes, k):
    return nodes.up[k] if nodes.up[k] >= 0 else nodes.low[k]


@_part
def _is_settled(tables, k, X, i, scores, acquired, stack, bounds):
    """Whether no node after `k` can change the class of row `i`."""
    nodes = tables.nodes
    bounds[0], bounds[1] = nodes.rest_low[k], nodes.rest_high[k]
    if not _can_differ(nodes, k, scores, i, bounds):
        return True
    if nodes.whole[k] == 0:
        return False
    bounds[:] = 0.0
    j = k
    while j >= 0:
        if _can_differ(nodes, k, scores, i, bounds):
            return False  # bounds only widen
        j = _following(nodes, j)
        if j >= 0:
            _add_node(tables, j, X, i, acquired, stack, bounds)
    return True


@compiled()
def _new_stack(terms):
    most = 0
    for depth in terms.depth:
        most = max(most, depth)
    return np.empty(most + 2, np.int64)


@compiled()
def send_settled(tables, k, X, rows, scores, acquired, at):
    """Let rows leave whose class no later node can change."""
    nodes = tables.nodes
    stack, bounds = _new_stack(tables.terms), np.zeros((4, scores.shape[1]))
    for r in range(rows.shape[0]):
        i = rows[r]
        is_settled = _is_settled(tables, k, X, i, scores, acquired, stack, bounds)
        at[i] = nodes.low[k] if is_settled else nodes.up[k]


@_part
def _score_bounds(tables, k, X, i, scores, acquired, stack, bounds):
    """The least and the largest final score of document `i`, rounding included."""
    nodes = tables.nodes
    bounds[0], bounds[1] = nodes.rest_low[k], nodes.rest_high[k]
    if nodes.number[k] != 0.0:
        bounds[:] = 0.0
        j = _following(nodes, k)
        while j >= 0:
            _add_node(tables, j, X, i, acquired, stack, bounds)
            j = _following(nodes, j)
    score = scores[i, 0]
    margin = nodes.rest_error[k] * (abs(score) + nodes.rest_size[k, 0])
    return score + (bounds[0, 0] - margin), score + (bounds[1, 0] + margin)


@compiled()
def send_settled_top(tables, k, X, order, start, first, last, scores, acquired, at, trail):
    """Let documents leave that can no longer be among the best, unless the budget keeps one away."""
    nodes = tables.nodes
    stack, bounds = _new_stack(tables.terms), np.zeros((4, scores.shape[1]))
    keep = nodes.whole[k]
    for b in range(first, last):
        query = order[start[b] : start[b + 1]]
        least, most = np.empty(query.shape[0]), np.empty(query.shape[0])
        n, complete = 0, True
        for q in range(query.shape[0]):
            i = query[q]
            complete &= at[i] != STOPPED
            if at[i] == k:
                least[n], most[q] = _score_bounds(tables, k, X, i, scores, acquired, stack, bounds)
                n += 1
        cut = -np.inf if keep > n else np.sort(least[:n])[n - keep]
        for q in range(query.shape[0]):
            i = query[q]
            if at[i] == k and complete:
                at[i] = nodes.low[k] if most[q] < cut else nodes.up[k]
            elif at[i] == k:
                at[i], trail[i, 1] = STOPPED, k
