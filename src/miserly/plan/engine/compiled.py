"""Compiled runs of a plan, by numba; `reference` has the same in plain NumPy, equal to the bit.

`run_blocks` does everything (gates, budgets, accounting) for blocks of rows, node by node, term by term. A
block holds whole bundles; a bundle is what must move together: one row, or, where a gate compares a document
with the others of its query, all rows of a query. `score_chain` is the short way for the commonest case, an
additive chain of trees that nobody asks the price of.

Functions take the few arrays they need and loop over rows inside: handing over a table costs as much as
walking a tree. Nothing here starts threads: the two entries release the interpreter's lock, and `batch` hands
each thread its own blocks.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from miserly.costs import SLACK
from miserly.plan import links
from miserly.plan.gates import Capacity, Confidence, Gate, Onward, Proximity, Rank, Threshold
from miserly.plan.terms import Kernel, Raw, Term, Tree
from miserly.utils.compiled import compiled

if TYPE_CHECKING:
    from miserly.plan.plan import Plan

__all__ = ["GATE_RULES", "TERM_RULES", "run_blocks", "score_chain", "score_few", "without_rule"]

# The gates and terms that have a rule below. Compiled code reads their codes as constants.
GATE_RULES: tuple[type[Gate], ...] = (Onward, Threshold, Confidence, Proximity, Rank, Capacity)
TERM_RULES: tuple[type[Term], ...] = (Raw, Tree, Kernel)
RAW, TREE = Raw.code, Tree.code
ONWARD, THRESHOLD, CONFIDENCE, PROXIMITY, CAPACITY = (
    gate.code for gate in (Onward, Threshold, Confidence, Proximity, Capacity)
)


def without_rule(plan: Plan) -> str | None:
    """The gates or terms of the plan that have no compiled rule; None where all have one."""
    gates, terms = plan.tables.nodes.gate, plan.tables.terms.kind
    if gates.max(initial=0) < len(GATE_RULES) and terms.max(initial=0) < len(TERM_RULES):  # codes 0, 1, 2 ...
        return None
    kinds = {node.gate.kind for node in plan.nodes} - {gate.kind for gate in GATE_RULES}
    if kinds:
        return f"gates of kind {', '.join(sorted(kinds))}"
    kinds = {term.kind for term in plan.terms} - {term.kind for term in TERM_RULES}
    return f"terms of kind {', '.join(sorted(kinds))}"


STOPPED = -2  # where a row is that the budget stopped; -1 is where one is that has left with an answer

_part = compiled(forceinline=True)
_exp = _part(links.exp)


# -- paying ------------------------------------------------------------------------------------------------


@_part
def _fits(spent, price, budget):
    return price == 0.0 or spent + price <= budget * (1.0 + SLACK)


@_part
def _price(own, group, setup, f, i, opened):
    g = group[f]
    if g < 0 or opened[i, g]:
        return own[f]
    return own[f] + setup[g]


@compiled()
def _buy(prices, f, i, acquired, opened, spent, budget):
    """Buy feature `f`, not yet acquired, for row `i`; gives whether it fitted."""
    price = _price(prices.own, prices.group, prices.setup, f, i, opened)
    if not _fits(spent[i], price, budget):
        return False
    spent[i] += price
    acquired[i, f] = True
    if prices.group[f] >= 0:
        opened[i, prices.group[f]] = True
    return True


@compiled()
def _pay_whole(prices, features, evaluation, rows, acquired, opened, spent, budget, through):
    """Buy everything a term might need and its evaluation, together or not at all."""
    own, group, setup = prices.own, prices.group, prices.setup
    for r in range(rows.shape[0]):
        i = rows[r]
        total = evaluation
        for f in features:
            if not acquired[i, f]:
                total += _price(own, group, setup, f, i, opened)
                if group[f] >= 0:
                    opened[i, group[f]] = True  # a second feature of the group does not pay it again
        through[r] = _fits(spent[i], total, budget)  # if not, the row stops: `opened` is not read again
        if through[r]:
            spent[i] += total
            for f in features:
                acquired[i, f] = True


@compiled()
def _pay_evaluation(evaluation, rows, spent, budget, through):
    for r in range(rows.shape[0]):
        i = rows[r]
        through[r] = _fits(spent[i], evaluation, budget)
        if through[r]:
            spent[i] += evaluation


@compiled()
def _pay_features(prices, features, rows, acquired, opened, spent, budget, through):
    """Buy the features of a term one by one, until one does not fit."""
    for r in range(rows.shape[0]):
        through[r] = True
        for f in features:
            if not acquired[rows[r], f] and not _buy(prices, f, rows[r], acquired, opened, spent, budget):
                through[r] = False
                break


# -- values ------------------------------------------------------------------------------------------------


@compiled()
def _in_category(words, row, x, missing):
    """Whether category code `x` goes left; what is no code counts as missing."""
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
                stays_left = _in_category(words, category[node], x, missing[node])
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
def _walk_paying(trees, prices, root, X, rows, acquired, opened, spent, budget, values, through):
    """The value of a tree for each row that pays for the splits it meets."""
    feature, threshold, left, value = trees.feature, trees.threshold, trees.left, trees.value
    missing, category, words = trees.missing, trees.category, trees.words
    for r in range(rows.shape[0]):
        node, i = root, rows[r]
        through[r] = True
        while feature[node] >= 0:
            f = feature[node]
            if not acquired[i, f] and not _buy(prices, f, i, acquired, opened, spent, budget):
                through[r] = False
                break
            x = np.float64(X[i, f])
            if category[node] < 0:
                stays_left = (x <= threshold[node]) | ((x != x) & missing[node])
            else:
                stays_left = _in_category(words, category[node], x, missing[node])
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
def _values(tables, t, X, rows, values):
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


# -- nodes -------------------------------------------------------------------------------------------------


@compiled()
def _drop(rows, n, through, k, begun, at, trail, work, values):
    """Stop the rows that did not get through, close the ranks, and give how many are left."""
    if through[:n].all():
        return n
    kept = 0
    for r in range(n):
        i = rows[r]
        if through[r]:
            rows[kept], values[kept] = i, values[r]
            for c in range(work.shape[1]):
                work[kept, c] = work[r, c]
            kept += 1
        else:
            at[i], trail[i, 1], trail[i, 2] = STOPPED, k, begun
    return kept


@compiled()
def _buy_and_evaluate(tables, k, j, t, X, rows, n, whole, budget, state, work, values, through):
    """Pay for a fresh term and evaluate it; gives how many rows got through."""
    acquired, opened, spent, at, trail = state
    terms = tables.terms
    features = terms.features[terms.pointer[t] : terms.pointer[t + 1]]
    if whole:
        _pay_whole(
            tables.prices, features, terms.evaluation[t], rows[:n], acquired, opened, spent, budget, through
        )
        n = _drop(rows, n, through, k, j, at, trail, work, values)
        _values(tables, t, X, rows[:n], values)
        return n
    if terms.evaluation[t] > 0.0:
        _pay_evaluation(terms.evaluation[t], rows[:n], spent, budget, through)
        n = _drop(rows, n, through, k, j, at, trail, work, values)
    if terms.kind[t] == TREE:
        _walk_paying(
            tables.trees, tables.prices, terms.start[t], X, rows[:n],
            acquired, opened, spent, budget, values, through,
        )  # fmt: skip
        return _drop(rows, n, through, k, j + 1, at, trail, work, values)
    _pay_features(tables.prices, features, rows[:n], acquired, opened, spent, budget, through)
    n = _drop(rows, n, through, k, j + 1, at, trail, work, values)
    _values(tables, t, X, rows[:n], values)
    return n


@compiled()
def _run_node(tables, k, X, rows, n, whole, account, budget, scores, state, work, values, through, kept):
    """One node for `n` rows; gives how many finish it, their scores committed.

    `kept` has the values of terms that several nodes weigh, and the place of each row there.
    """
    nodes = tables.nodes
    _begin(nodes.inherits[k], nodes.bias[k], rows[:n], scores, work)
    first, last_term = nodes.pointer[k], -1
    for e in range(first, nodes.pointer[k + 1]):
        t, c, weight = nodes.term[e], nodes.channel[e], nodes.weight[e]
        if t != last_term:
            slot = nodes.slot[e]
            if not nodes.fresh[e]:
                _recall(kept[0][slot], kept[1], rows[:n], values)
            else:
                if account:
                    n = _buy_and_evaluate(
                        tables, k, e - first, t, X, rows, n, whole, budget, state, work, values, through
                    )
                else:
                    _values(tables, t, X, rows[:n], values)
                if slot >= 0:
                    _remember(kept[0][slot], kept[1], rows[:n], values)
            last_term = t
        _add(weight, values[:n], work, c)
    _commit(k, rows[:n], work, scores, state[4])
    return n


@compiled()
def _remember(slot, place, rows, values):
    for r in range(rows.shape[0]):
        slot[place[rows[r]]] = values[r]


@compiled()
def _recall(slot, place, rows, values):
    for r in range(rows.shape[0]):
        values[r] = slot[place[rows[r]]]


@compiled()
def _begin(inherits, bias, rows, scores, work):
    for r in range(rows.shape[0]):
        for c in range(bias.shape[0]):
            work[r, c] = (scores[rows[r], c] if inherits else 0.0) + bias[c]


@compiled()
def _add(weight, values, work, c):
    for r in range(values.shape[0]):
        work[r, c] += weight * values[r]


@compiled()
def _commit(k, rows, work, scores, trail):
    for r in range(rows.shape[0]):
        trail[rows[r], 0] = k
        for c in range(work.shape[1]):
            scores[rows[r], c] = work[r, c]


# -- gates -------------------------------------------------------------------------------------------------


@_part
def _confidence(logistic, n_outputs, scores, i):
    """The probability of the most probable class."""
    if logistic:
        positive = 1.0 / (1.0 + _exp(-scores[i, 0]))
        return max(positive, 1.0 - positive)
    top = scores[i, 0]
    for c in range(1, n_outputs):
        top = max(top, scores[i, c])
    total = 0.0
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
def _gate_alone(nodes, k, rows, scores, at):
    """Send each row up or low by what it scores itself."""
    gate, number, count, up, low = nodes.gate[k], nodes.number[k], nodes.whole[k], nodes.up[k], nodes.low[k]
    logistic, n_outputs = nodes.logistic, nodes.n_outputs
    for r in range(rows.shape[0]):
        i = rows[r]
        if gate == ONWARD:
            at[i] = up
        elif gate == THRESHOLD:
            at[i] = up if scores[i, count] > number else low
        elif gate == CONFIDENCE:
            at[i] = low if _confidence(logistic, n_outputs, scores, i) >= number else up


@compiled()
def _gate_listwise(nodes, k, order, start, first, last, scores, at, trail):
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


# -- whole runs --------------------------------------------------------------------------------------------


@compiled()
def _furthest_behind(block, at, rows):
    """The first node where any row of the block is, and how many are there; `rows` gets them."""
    k, n = np.int64(-1), 0
    for b in range(block.shape[0]):
        i = block[b]
        if at[i] >= 0:
            if k < 0 or at[i] < k:
                k, n = at[i], 0
            if at[i] == k:
                rows[n] = i
                n += 1
    return k, n


@compiled()
def _run_block(tables, X, order, start, first, last, budget, account, whole, scores, state, kept):
    """All nodes for bundles `first` to `last`."""
    nodes, at = tables.nodes, state[3]
    block = order[start[first] : start[last]]
    rows = np.empty(block.shape[0], np.int64)
    values = np.empty(block.shape[0])
    through = np.empty(block.shape[0], np.bool_)
    work = np.empty((block.shape[0], scores.shape[1]))
    if kept[0].shape[0]:
        for b in range(block.shape[0]):
            kept[1][block[b]] = b
    while True:
        k, n = _furthest_behind(block, at, rows)
        if n == 0:
            return
        n = _run_node(
            tables, k, X, rows, n, whole, account, budget, scores, state, work, values, through, kept
        )
        if nodes.listwise[k]:
            _gate_listwise(nodes, k, order, start, first, last, scores, at, state[4])
        else:
            _gate_alone(nodes, k, rows[:n], scores, at)


@compiled(nogil=True)
def run_blocks(tables, X, order, start, blocks, budget, account, whole, scores, state):
    """Every block: bundles ``blocks[b]`` to ``blocks[b + 1]``, whose rows are ``order[start[...]]``."""
    most = 0
    for b in range(blocks.shape[0] - 1):
        most = max(most, start[blocks[b + 1]] - start[blocks[b]])
    slots = 0
    for slot in tables.nodes.slot:
        slots = max(slots, slot + 1)
    kept = (np.empty((slots, most)), np.empty(X.shape[0] if slots else 1, np.int64))
    for b in range(blocks.shape[0] - 1):
        _run_block(
            tables, X, order, start, blocks[b], blocks[b + 1], budget, account, whole, scores, state, kept
        )


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
