"""Compiled runs of a plan, by numba; `batch` has the same in plain NumPy, with the same results to the bit.

`run_bundles` does everything (gates, budgets, accounting). A bundle is what must move together: one row, or,
where a gate compares a document with the others of its query, all rows of a query. `score_chain` is the
short way for the commonest case, an additive chain of trees that nobody asks the price of.
"""

from __future__ import annotations

import numpy as np
from numba import njit, prange

from miserly.costs import SLACK
from miserly.plan import links
from miserly.plan.tables import CAPACITY, CONFIDENCE, KERNEL, ONWARD, PROXIMITY, RAW, THRESHOLD, TREE

__all__ = ["run_bundles", "run_bundles_parallel", "score_chain", "score_chain_parallel"]

STOPPED = -2  # where a row is that the budget stopped; -1 is where one is that has left with an answer

_exp = njit(cache=True, inline="always")(links.exp)


@njit(cache=True)
def _goes_left(tables, node, x):
    row = tables.tree_category[node]
    if row < 0:
        if x != x:
            return tables.tree_missing[node]
        return x <= tables.tree_threshold[node]
    if not (x >= 0.0 and x <= 255.0):
        return tables.tree_missing[node]
    code = np.int64(x)
    if code != x:
        return tables.tree_missing[node]
    return (tables.tree_words[row, code >> 5] >> np.uint32(code & 31)) & np.uint32(1) != 0


@njit(cache=True)
def _walk(tables, root, x):
    """The value of a tree for one row."""
    node = root
    while tables.tree_feature[node] >= 0:
        value = np.float64(x[tables.tree_feature[node]])
        node = tables.tree_left[node] + (0 if _goes_left(tables, node, value) else 1)
    return tables.tree_value[node]


@njit(cache=True)
def _price(tables, f, acquired, opened):
    if acquired[f]:
        return 0.0
    g = tables.group[f]
    if g < 0 or opened[g]:
        return tables.price[f]
    return tables.price[f] + tables.setup[g]


@njit(cache=True)
def _take(tables, f, acquired, opened):
    acquired[f] = True
    if tables.group[f] >= 0:
        opened[tables.group[f]] = True


@njit(cache=True)
def _fits(spent, price, budget):
    return price == 0.0 or spent + price <= budget * (1.0 + SLACK)


@njit(cache=True)
def _pay(tables, f, acquired, opened, spent, i, budget):
    """Buy one feature for row `i`; gives whether it fitted."""
    if acquired[f]:
        return True
    price = _price(tables, f, acquired, opened)
    if not _fits(spent[i], price, budget):
        return False
    _take(tables, f, acquired, opened)
    spent[i] += price
    return True


@njit(cache=True)
def _pay_term_whole(tables, t, acquired, opened, spent, i, budget):
    """Buy everything a term might need and its evaluation, together or not at all."""
    total = tables.term_evaluation[t]
    first, last = tables.term_pointer[t], tables.term_pointer[t + 1]
    for j in range(first, last):
        f = tables.term_features[j]
        if not acquired[f]:
            total += _price(tables, f, acquired, opened)
            if tables.group[f] >= 0:
                opened[tables.group[f]] = True  # a second feature of the group does not pay it again
    if not _fits(spent[i], total, budget):
        return False  # the row stops here for good, so `opened` is not read again
    for j in range(first, last):
        _take(tables, tables.term_features[j], acquired, opened)
    spent[i] += total
    return True


@njit(cache=True)
def _walk_paying(tables, root, x, acquired, opened, spent, i, budget):
    """The value of a tree for one row that pays for the splits it meets, and whether it got through."""
    node = root
    while tables.tree_feature[node] >= 0:
        f = tables.tree_feature[node]
        if not _pay(tables, f, acquired, opened, spent, i, budget):
            return 0.0, False
        node = tables.tree_left[node] + (0 if _goes_left(tables, node, np.float64(x[f])) else 1)
    return tables.tree_value[node], True


@njit(cache=True)
def _kernel(tables, j, x):
    """A kernel between one row and vector `j`, summed feature by feature."""
    kind = tables.kernel_kind[j]
    total = 0.0
    for f in range(tables.kernel_vector.shape[1]):
        value = np.float64(x[f])
        if value != value:
            value = tables.kernel_fill[j, f]
        if kind == 1:
            difference = value - tables.kernel_vector[j, f]
            total += difference * difference
        else:
            total += value * tables.kernel_vector[j, f]
    if kind == 0:
        return total
    if kind == 1:
        return _exp(-(tables.kernel_gamma[j] * total))
    inner = tables.kernel_gamma[j] * total + tables.kernel_coef0[j]
    if kind == 2:
        power = 1.0
        for _ in range(tables.kernel_degree[j]):
            power *= inner
        return power
    return 1.0 - 2.0 / (_exp(2.0 * inner) + 1.0)


@njit(cache=True)
def _value(tables, t, x):
    """The value of a term whose features are there."""
    start = tables.term_start[t]
    if tables.term_kind[t] == RAW:
        value = np.float64(x[start])
        return tables.term_fill[t] if value != value else value
    if tables.term_kind[t] == KERNEL:
        return _kernel(tables, start, x)
    return _walk(tables, start, x)


@njit(cache=True)
def _value_paying(tables, t, x, acquired, opened, spent, i, budget):
    """The value of a term that buys its features as it meets them, and whether it got through."""
    if tables.term_kind[t] == TREE:
        return _walk_paying(tables, tables.term_start[t], x, acquired, opened, spent, i, budget)
    for j in range(tables.term_pointer[t], tables.term_pointer[t + 1]):
        if not _pay(tables, tables.term_features[j], acquired, opened, spent, i, budget):
            return 0.0, False
    return _value(tables, t, x), True


@njit(cache=True)
def _run_node(tables, k, x, scores, work, acquired, opened, spent, i, budget, account, whole):
    """One node for one row: how many terms it began, and whether it finished.

    `scores` are the parent's; they are overwritten only if the node is finished.
    """
    for c in range(work.shape[0]):
        work[c] = (scores[c] if tables.node_inherits[k] else 0.0) + tables.node_bias[k, c]
    first, last = tables.node_pointer[k], tables.node_pointer[k + 1]
    last_term, value, through = -1, 0.0, True
    for e in range(first, last):
        t = tables.entry_term[e]
        if t != last_term:
            if not account or not tables.entry_fresh[e]:
                value = _value(tables, t, x)
            elif whole:
                if not _pay_term_whole(tables, t, acquired, opened, spent, i, budget):
                    return e - first, False
                value = _value(tables, t, x)
            else:
                if not _fits(spent[i], tables.term_evaluation[t], budget):
                    return e - first, False
                spent[i] += tables.term_evaluation[t]
                value, through = _value_paying(tables, t, x, acquired, opened, spent, i, budget)
                if not through:
                    return e - first + 1, False
            last_term = t
        work[tables.entry_channel[e]] += tables.entry_weight[e] * value
    for c in range(work.shape[0]):
        scores[c] = work[c]
    return last - first, True


@njit(cache=True)
def _confidence(tables, scores):
    """The probability of the most probable class."""
    if tables.logistic:
        positive = 1.0 / (1.0 + _exp(-scores[0]))
        return max(positive, 1.0 - positive)
    top = scores[0]
    for c in range(1, tables.n_outputs):
        top = max(top, scores[c])
    total = 0.0
    for c in range(tables.n_outputs):
        total += _exp(scores[c] - top)
    return 1.0 / total


@njit(cache=True)
def _cut(tables, k, scores, n_query):
    """The score below which documents leave at a list-wise gate, given those still in the run."""
    n = scores.shape[0]
    if tables.node_gate[k] == CAPACITY:
        keep = max(1, int(np.ceil(tables.node_number[k] * n_query)))
    else:
        keep = tables.node_count[k]
    if keep > n:
        return -np.inf
    kth = np.sort(scores)[n - keep]
    return kth - tables.node_number[k] if tables.node_gate[k] == PROXIMITY else kth


@njit(cache=True)
def _goes_up(tables, k, scores, cut):
    gate = tables.node_gate[k]
    if gate == ONWARD:
        return True
    if gate == THRESHOLD:
        return scores[tables.node_count[k]] > tables.node_number[k]
    if gate == CONFIDENCE:
        return not (_confidence(tables, scores) >= tables.node_number[k])
    return not (scores[0] < cut)


@njit(cache=True)
def _run_bundle(tables, X, rows, budget, account, whole, scores, acquired, opened, spent, at, trail):
    """All nodes for the rows of one bundle; `trail` gets (exit, pending, begun) of each row."""
    work = np.empty(scores.shape[1])
    while True:
        k = np.int64(1 << 62)
        for i in rows:
            if at[i] >= 0:
                k = min(k, at[i])
        if k == np.int64(1 << 62):
            return
        here = 0
        for i in rows:
            if at[i] == k:
                begun, done = _run_node(
                    tables, k, X[i], scores[i], work, acquired[i], opened[i], spent, i, budget, account, whole
                )
                if done:
                    trail[i, 0] = k
                    here += 1
                else:
                    at[i], trail[i, 1], trail[i, 2] = STOPPED, k, begun
        cut = -np.inf
        if tables.node_gate[k] >= PROXIMITY:
            present = np.empty(here)
            here = 0
            for i in rows:
                if at[i] == k:
                    present[here] = scores[i, 0]
                    here += 1
            if here:
                cut = _cut(tables, k, present, rows.shape[0])
        for i in rows:
            if at[i] == k:
                at[i] = tables.node_up[k] if _goes_up(tables, k, scores[i], cut) else tables.node_low[k]


def _run_bundles(
    tables, X, order, start, n_chunks, budget, account, whole, scores, acquired, opened, spent, at, trail
):
    """Every bundle: rows ``order[start[b]:start[b + 1]]``, in `n_chunks` pieces that may run side by side."""
    n = start.shape[0] - 1
    for chunk in prange(n_chunks):
        for b in range(chunk * n // n_chunks, (chunk + 1) * n // n_chunks):
            _run_bundle(
                tables, X, order[start[b] : start[b + 1]], budget, account, whole,
                scores, acquired, opened, spent, at, trail,
            )  # fmt: skip


run_bundles = njit(cache=True)(_run_bundles)
run_bundles_parallel = njit(cache=True, parallel=True)(_run_bundles)


def _score_chain(tables, X, n_chunks, scores):
    """An additive chain of plain trees over all rows, in blocks that fit the cache."""
    n = X.shape[0]
    block = 128
    n_blocks = (n + block - 1) // block
    for chunk in prange(n_chunks):
        for b in range(chunk * n_blocks // n_chunks, (chunk + 1) * n_blocks // n_chunks):
            low, high = b * block, min(n, (b + 1) * block)
            for k in range(tables.node_pointer.shape[0] - 1):
                for c in range(scores.shape[1]):
                    bias = tables.node_bias[k, c]
                    if bias != 0.0:
                        for i in range(low, high):
                            scores[i, c] += bias
                for e in range(tables.node_pointer[k], tables.node_pointer[k + 1]):
                    _add_tree(tables, X, e, low, high, scores)


@njit(cache=True)
def _add_tree(tables, X, e, low, high, scores):
    """One tree for a block of rows: a fixed number of steps, leaves lead to themselves."""
    t, c, weight = tables.entry_term[e], tables.entry_channel[e], tables.entry_weight[e]
    root, depth = tables.term_start[t], tables.term_depth[t]
    look, threshold, left = tables.tree_look, tables.tree_threshold, tables.tree_left
    missing, values = tables.tree_missing, tables.tree_value
    for i in range(low, high):
        node = root
        for _ in range(depth):
            x = np.float64(X[i, look[node]])
            stays_left = (x <= threshold[node]) | ((x != x) & missing[node])
            node = left[node] + (1 - stays_left)
        scores[i, c] += weight * values[node]


score_chain = njit(cache=True)(_score_chain)
score_chain_parallel = njit(cache=True, parallel=True)(_score_chain)
