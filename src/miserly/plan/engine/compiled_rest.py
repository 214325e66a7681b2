"""Compiled rules of gates that look at the rest of the chain; `rest` has the same in NumPy."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from miserly.plan import links
from miserly.plan.engine.compiled_rules import RAW, STOPPED, TREE, in_category
from miserly.plan.engine.outcomes import LEAST_SHARE
from miserly.plan.gates import Settled, SettledTop
from miserly.plan.links import BY_EACH, BY_LOG_ODDS, BY_SHARES
from miserly.utils.compiled import compiled

__all__ = ["SETTLED", "SETTLED_TOP", "forget", "new_memory", "send_settled", "send_settled_top"]

# Compiled code reads these as constants.
SETTLED, SETTLED_TOP = Settled.code, SettledTop.code

_part = compiled(forceinline=True)  # handing over the tables costs more than walking a tree
_exp = _part(links.exp)


@_part
def _leaves(feature, threshold, left, missing, value, category, span, words, root, X, i, acquired, stack):
    """The smallest and the largest leaf of a tree that row `i` can reach, given what it has bought."""
    low, high = np.inf, -np.inf
    stack[0] = root
    n = 1
    while n > 0:
        n -= 1
        node = stack[n]
        f = feature[node]
        while f >= 0:
            if acquired[i, f]:
                x = np.float64(X[i, f])
                if category[node] < 0:
                    stays_left = (x <= threshold[node]) | ((x != x) & missing[node])
                else:
                    stays_left = in_category(words, category[node], span[node], x, missing[node])
                node = left[node] + (1 - stays_left)
            else:
                node = left[node]
                stack[n] = node + 1
                n += 1
            f = feature[node]
        low, high = min(low, value[node]), max(high, value[node])
    return low, high


@_part
def _share(score, top, chances):
    if chances == BY_SHARES:
        return score
    if chances == BY_EACH:
        return 1.0 / (1.0 + _exp(-score))
    return _exp(score - top)


@_part
def _is_undecided(outcomes, slack, chances, error, size, n_outputs, scores, i, bounds):
    """Whether the bounds leave the answer of least expected cost open; `outcomes` has the same in NumPy."""
    first = 1 if chances == BY_LOG_ODDS else 0  # the score of the first class is 0
    n_classes = outcomes.shape[0]
    shares = np.zeros((3, n_classes))
    top = 0.0 if first else -np.inf
    for c in range(n_outputs):
        score = scores[i, c]
        margin = error * (abs(score) + size[c])
        shares[0, c + first] = score + (bounds[0, c] - margin)
        shares[1, c + first] = score
        shares[2, c + first] = score + (bounds[1, c] + margin)
        top = max(top, shares[2, c + first])
    if not top < np.inf:
        return True
    total = 0.0
    for k in range(n_classes):
        for e in range(3):
            shares[e, k] = _share(shares[e, k], top, chances)
        total += shares[0, k]
    if chances == BY_SHARES and not total > 0.0:
        return True
    answer, least = 0, np.inf
    for a in range(outcomes.shape[1]):
        cost = 0.0
        for k in range(n_classes):
            cost += shares[1, k] * outcomes[k, a]
        if cost < least:
            answer, least = a, cost
    for b in range(outcomes.shape[1]):
        total, whole = 0.0, 0.0
        for k in range(n_classes):
            difference = outcomes[k, b] - outcomes[k, answer]
            total += difference * (shares[0, k] if difference > 0.0 else shares[2, k])
            whole += (outcomes[k, b] + outcomes[k, answer]) * (shares[2, k] + LEAST_SHARE)
        if b != answer and not total > slack * whole:
            return True
    return False


@_part
def _can_differ(nodes, k, scores, i, bounds):
    """Whether the bounds leave the answer of row `i` open."""
    error, size, n_outputs = nodes.rest_error[k], nodes.rest_size[k], nodes.n_outputs
    if nodes.outcomes.shape[0]:
        return _is_undecided(
            nodes.outcomes, nodes.slack, nodes.chances, error, size, n_outputs, scores, i, bounds
        )
    if nodes.signs:
        for c in range(n_outputs):
            score = scores[i, c]
            margin = error * (abs(score) + size[c])
            if not (score + (bounds[0, c] - margin) > 0.0 or score + (bounds[1, c] + margin) < 0.0):
                return True
        return False
    top = 0
    for c in range(1, n_outputs):
        if scores[i, c] > scores[i, top]:
            top = c
    least = scores[i, top] + (bounds[0, top] - error * (abs(scores[i, top]) + size[top]))
    for c in range(n_outputs):
        if c != top:
            score = scores[i, c]
            if not least > score + (bounds[1, c] + error * (abs(score) + size[c])):
                return True
    return False


# -- memory --------------------------------------------------------------------------------------------------

# Most trees can reach the same leaves at one gate as at the gate before, because the row has bought nothing
# that they read. So a block of rows remembers the smallest and the largest leaf of each row and entry, and
# how many purchases of the row were known then. The values are those that a new walk would give.

_NEVER, _FOR_GOOD = -1, 1 << 30  # instead of a number of purchases: not walked yet, and only one leaf is left
_MOST = 1 << 23  # rows times entries


class Memory(NamedTuple):
    """What a block of rows remembers from gate to gate; arrays without rows remember nothing."""

    reads: Any  # whether each term reads each feature
    ends: Any  # (rows, entries, 2): the smallest and the largest value
    stamp: Any  # (rows, entries): the number of purchases that were known
    bought: Any  # (rows, features): what each row bought, in some order
    count: Any  # (rows,): the number of its purchases
    seen: Any  # (rows, features): whether a feature is in `bought`


@compiled()
def new_memory(tables, n_rows):
    """A memory for blocks of up to `n_rows` rows; empty if no gate looks at what rows have bought."""
    nodes, terms, d = tables.nodes, tables.terms, tables.prices.own.shape[1]
    used = False
    for k in range(nodes.gate.shape[0]):
        used |= nodes.gate[k] == SETTLED and nodes.whole[k] != 0
        used |= nodes.gate[k] == SETTLED_TOP and nodes.number[k] != 0.0
    n, n_terms = nodes.term.shape[0], terms.kind.shape[0]
    if not used or n_rows * n > _MOST or n_terms * d > 4 * _MOST:
        n_rows, n, n_terms = 0, 0, 0
    reads = np.zeros((n_terms, d), np.bool_)
    for t in range(n_terms):
        for f in terms.features[terms.pointer[t] : terms.pointer[t + 1]]:
            reads[t, f] = True
    return Memory(
        reads,
        np.empty((n_rows, n, 2)),
        np.empty((n_rows, n), np.int32),
        np.empty((n_rows, d), np.int32),
        np.empty(n_rows, np.int64),
        np.empty((n_rows, d), np.bool_),
    )


@compiled()
def forget(memory, n):
    """Begin a new block of `n` rows."""
    memory.stamp[:n], memory.count[:n], memory.seen[:n] = _NEVER, 0, False


@_part
def _note_purchases(bought, count, seen, place, acquired, i):
    """Bring the list of purchases of row `i` up to date; gives their number."""
    n = count[place]
    for f in range(seen.shape[1]):
        if acquired[i, f] and not seen[place, f]:
            seen[place, f] = True
            bought[place, n] = f
            n += 1
    count[place] = n
    return n


# -- bounds --------------------------------------------------------------------------------------------------


@compiled()
def _look_ahead(tables, k, X, i, scores, acquired, stack, bounds, memory, place, stops):
    """Bounds over the leaves that row `i` can reach after node `k`; gives whether they leave its class open.

    Rows 0 and 1 of `bounds` get the bounds, rows 2 and 3 the sums. If `stops`, it ends as soon as the class
    is open, since bounds only widen.
    """
    trees, terms, nodes = tables.trees, tables.terms, tables.nodes
    feature, threshold, left, missing = trees.feature, trees.threshold, trees.left, trees.missing
    value, category, span, words = trees.value, trees.category, trees.span, trees.words
    kind, start, fill, term = terms.kind, terms.start, terms.fill, nodes.term
    pointer, channel, weights, bias = nodes.pointer, nodes.channel, nodes.weight, nodes.bias
    reads, ends, stamp, bought = memory.reads, memory.ends, memory.stamp, memory.bought
    remembers = stamp.shape[0] > 0
    n_bought = _note_purchases(bought, memory.count, memory.seen, place, acquired, i) if remembers else 0
    bounds[:] = 0.0
    j = k
    while True:
        if stops and _can_differ(nodes, k, scores, i, bounds):
            return True
        j = nodes.up[j] if nodes.up[j] >= 0 else nodes.low[j]
        if j < 0:
            return False
        for c in range(bounds.shape[1]):
            bounds[2, c] += bias[j, c]
            bounds[3, c] += bias[j, c]
        for e in range(pointer[j], pointer[j + 1]):
            t, c, weight = term[e], channel[e], weights[e]
            if weight == 0.0:
                continue
            if kind[t] == TREE:
                known = remembers and stamp[place, e] != _NEVER
                if known:
                    for p in range(stamp[place, e], n_bought):  # none if only one leaf is left
                        known &= not reads[t, bought[place, p]]
                if known:
                    low, high = ends[place, e, 0], ends[place, e, 1]
                else:
                    low, high = _leaves(
                        feature, threshold, left, missing, value, category, span, words, start[t],
                        X, i, acquired, stack,
                    )  # fmt: skip
                    if remembers:
                        ends[place, e, 0], ends[place, e, 1] = low, high
                        stamp[place, e] = _FOR_GOOD if low == high else n_bought
            elif kind[t] == RAW and acquired[i, start[t]]:
                x = np.float64(X[i, start[t]])
                low = high = fill[t] if x != x else x
            else:
                low, high = nodes.term_low[t], nodes.term_high[t]
            bounds[2, c] += min(weight * low, weight * high)
            bounds[3, c] += max(weight * low, weight * high)
        for c in range(bounds.shape[1]):
            bounds[0, c] = min(bounds[0, c], bounds[2, c])
            bounds[1, c] = max(bounds[1, c], bounds[3, c])


@compiled()
def _new_stack(terms):
    most = 0
    for depth in terms.depth:
        most = max(most, depth)
    return np.empty(most + 2, np.int64)


@compiled()
def send_settled(tables, k, X, rows, scores, acquired, at, memory, places):
    """Let rows leave whose class no later node can change."""
    nodes = tables.nodes
    stack, bounds = _new_stack(tables.terms), np.zeros((4, scores.shape[1]))
    for r in range(rows.shape[0]):
        i = rows[r]
        bounds[0], bounds[1] = nodes.rest_low[k], nodes.rest_high[k]
        is_open = _can_differ(nodes, k, scores, i, bounds)
        if is_open and nodes.whole[k] != 0:
            place = places[i] if memory.stamp.shape[0] else 0
            is_open = _look_ahead(tables, k, X, i, scores, acquired, stack, bounds, memory, place, True)
        at[i] = nodes.up[k] if is_open else nodes.low[k]


@_part
def _score_bounds(tables, k, X, i, scores, acquired, stack, bounds, memory, place):
    """The least and the largest final score of document `i`, rounding included."""
    nodes = tables.nodes
    bounds[0], bounds[1] = nodes.rest_low[k], nodes.rest_high[k]
    if nodes.number[k] != 0.0:
        _look_ahead(tables, k, X, i, scores, acquired, stack, bounds, memory, place, False)
    score = scores[i, 0]
    margin = nodes.rest_error[k] * (abs(score) + nodes.rest_size[k, 0])
    return score + (bounds[0, 0] - margin), score + (bounds[1, 0] + margin)


@compiled()
def send_settled_top(tables, k, X, order, start, first, last, scores, acquired, at, trail, memory, places):
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
                place = places[i] if memory.stamp.shape[0] else 0
                least[n], most[q] = _score_bounds(
                    tables, k, X, i, scores, acquired, stack, bounds, memory, place
                )
                n += 1
        cut = -np.inf if keep > n else np.sort(least[:n])[n - keep]
        for q in range(query.shape[0]):
            i = query[q]
            if at[i] == k and complete:
                at[i] = nodes.low[k] if most[q] < cut else nodes.up[k]
            elif at[i] == k:
                at[i], trail[i, 1] = STOPPED, k
