"""Growing one tree, best split first, in compiled code.

These steps are repeated while a leaf can be split. Look up the current price of every feature. Take the leaf
and the feature with the largest gain less the penalty ``tradeoff * total weight * price``. Buy the feature
and split the leaf. Find the best split of every feature in both children. Only the histogram of the smaller
child is filled. That of the larger child is the parent's less the smaller child's.

When a leaf is split, the left child takes over its number and the right child gets a new one.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from miserly.costs import BudgetState
from miserly.grow.compiled import compiled, inlined, lean, prange, threaded
from miserly.grow.histogram import BLOCK, BinnedColumns, fill, fill_feature, subtract
from miserly.grow.splitting import (
    SplitRule,
    best_side,
    best_split,
    buy,
    directions,
    gather,
    keep_affordable,
    new_cut_buffers,
    partition,
    price,
    read_sums,
)

__all__ = ["TreeInputs", "TreeLimits", "TreeSummary", "grow"]


class TreeLimits(NamedTuple):
    """Limits of one tree, and the penalty of prices."""

    max_depth: int
    max_leaves: int
    max_new: int
    penalty: float  # of one unit of price, in the units of the packed gain


class TreeInputs(NamedTuple):
    """The data that one tree is fitted to, and the rules for fitting it."""

    columns: BinnedColumns
    words: NDArray[np.int64]
    total: NDArray[np.int64]  # the sums of the words
    rule: SplitRule
    budget: BudgetState
    limits: TreeLimits


class TreeSummary(NamedTuple):
    """Sizes of a tree that was grown, and how much it lowers the objective."""

    n_nodes: int
    n_leaves: int
    n_bought: int
    gain: float


@compiled
def grow(inputs, buffers, n_active, n_free):
    """Grow one tree into `buffers.nodes`. The ledger behind `inputs.budget` pays for its features.

    `buffers.rows` holds all rows in order, `buffers.active` the allowed features, `buffers.free` the free
    slots. Returns the fields of a `TreeSummary` as a plain tuple. Numba would make a `TreeSummary` by calling
    Python, where Ctrl-C may raise KeyboardInterrupt, which Numba does not handle.
    """
    budget, limits, leaves = inputs.budget, inputs.limits, buffers.leaves
    n_active = keep_affordable(budget, buffers.active, n_active, limits.max_new > 0)
    make_root(inputs, buffers)
    left, right = np.int64(0), np.int64(-1)  # the new leaves
    n_leaves, n_bought = np.int64(1), np.int64(0)
    total = 0.0
    price_changed = False
    while n_leaves < limits.max_leaves:
        active = buffers.active[:n_active]
        n_free = search_splits(inputs, buffers, active, left, right, n_free)
        for leaf in range(n_leaves):
            if price_changed or leaf in (left, right):
                choose_feature(inputs, buffers, active, leaf)
        left = best_leaf(leaves, n_leaves)
        if left < 0:
            break
        total += leaves[left].net
        price_changed = not budget.paid[0, leaves[left].feature]
        if price_changed:
            buffers.bought[n_bought] = leaves[left].feature
            n_bought += 1
            buy(budget, leaves[left].feature)
            n_active = keep_affordable(budget, buffers.active, n_active, n_bought < limits.max_new)
        right = n_leaves
        split(inputs, buffers, left, right)
        n_leaves += 1
    return 2 * n_leaves - 1, n_leaves, n_bought, total


@inlined
def make_root(inputs, buffers):
    """Make the root, a leaf that has all rows."""
    root = buffers.leaves[0]
    root.first = 0
    root.last = len(buffers.rows)
    root.depth = 0
    root.slot = -1
    make_leaf(inputs, buffers, root, np.int64(0), inputs.total[0], inputs.total[1])


@lean
def make_leaf(inputs, buffers, leaf, number, total, second_total):
    """Make node `number` a leaf, with the value that minimises the loss for its sums."""
    rule = inputs.rule
    residual, hessian, count = read_sums(total, second_total, rule)
    leaf.first_sum = total
    leaf.second_sum = second_total
    leaf.node = number
    leaf.open = (
        leaf.depth < inputs.limits.max_depth
        and count >= 2 * rule.min_rows
        and hessian >= 2 * rule.min_hessian
    )
    node = buffers.nodes[number]
    node.feature = -1
    node.value = residual / (hessian + rule.l2) if hessian + rule.l2 > 0 else 0.0


@lean
def choose_feature(inputs, buffers, active, number):
    """Set the best feature of a leaf at current prices: the first of equals, or -1 if no feature gains."""
    leaf = buffers.leaves[number]
    leaf.net = 0.0
    leaf.feature = -1
    if leaf.open:
        for f in active:
            net = buffers.candidates[number, f].gain - inputs.limits.penalty * price(inputs.budget, f)
            if net > leaf.net:
                leaf.net = net
                leaf.feature = f


@lean
def best_leaf(leaves, n_leaves):
    """The leaf with the largest net gain: the first of equals, or -1 if no leaf gains."""
    best = -1
    net = 0.0
    for number in range(n_leaves):
        if leaves[number].net > net:
            net = leaves[number].net
            best = number
    return best


@compiled
def split(inputs, buffers, left, right):
    """Split leaf `left` on its best feature. The left child keeps its number, the right one is `right`."""
    columns, leaf, other = inputs.columns, buffers.leaves[left], buffers.leaves[right]
    f = leaf.feature
    candidate = buffers.candidates[left, f]
    node = buffers.nodes[leaf.node]
    node.feature = f
    node.cut = candidate.cut
    node.left = 2 * right - 1
    node.right = 2 * right
    goes_left = buffers.goes_left[leaf.node]
    sums = directions(
        feature_histogram(inputs, buffers, leaf, f),
        columns.start[f + 1] - columns.start[f],
        columns.categorical[f],
        candidate.cut,
        candidate.missing_left,
        inputs.rule,
        goes_left,
    )
    n_left = partition(columns.codes[f], goes_left, buffers.rows[leaf.first : leaf.last], buffers.spare)
    leaf.depth += 1
    other.depth = leaf.depth
    other.first = leaf.first + n_left
    other.last = leaf.last
    leaf.last = other.first
    other.slot = -1
    make_leaf(inputs, buffers, other, node.right, leaf.first_sum - sums[0], leaf.second_sum - sums[1])
    make_leaf(inputs, buffers, leaf, node.left, sums[0], sums[1])


@compiled
def feature_histogram(inputs, buffers, leaf, f):
    """The histogram of one feature in a leaf. It is filled again if there was no slot to keep it."""
    columns, width = inputs.columns, inputs.rule.width
    mine = buffers.histograms[leaf.slot if leaf.slot >= 0 else len(buffers.histograms) - 1]
    mine = mine[columns.start[f] * width : columns.start[f + 1] * width]
    if leaf.slot < 0:
        fill_feature(mine, columns.codes[f], buffers.rows[leaf.first : leaf.last], inputs.words, width)
    return mine


# -- the best splits of new leaves ------------------------------------------------------------------------


class SplitSearch(NamedTuple):
    """Inputs of a search for splits: a leaf whose histogram is filled, and its sibling if it has one."""

    leaf: int
    rows: NDArray[np.uint32]  # empty for all rows
    words: NDArray[np.int64]
    histogram: NDArray[np.int64]
    sibling: int  # -1 at the root
    sibling_rows: NDArray[np.uint32]
    sibling_words: NDArray[np.int64]  # empty if its histogram holds the parent's, to subtract from
    sibling_histogram: NDArray[np.int64]


@inlined
def search_splits(inputs, buffers, active, left, right, n_free):
    """Find the best split of every active feature in two new leaves. `left` holds the parent's histogram.

    Returns the number of slots that are free.
    """
    small, large = left, right
    if right >= 0 and n_rows(buffers.leaves[right]) < n_rows(buffers.leaves[left]):
        small, large = right, left
    large_is_open = large >= 0 and buffers.leaves[large].open
    if buffers.leaves[small].open or large_is_open:
        parent = buffers.leaves[left].slot
        buffers.leaves[left].slot = -1
        n_free = take_slot(buffers, small, n_free)
        if large >= 0:
            buffers.leaves[large].slot = parent
        if large >= 0 and parent < 0:
            n_free = take_slot(buffers, large, n_free)
        search = prepare(inputs, buffers, small, large, parent >= 0)
        search_features(inputs.columns, inputs.rule, buffers.leaves, buffers.candidates, active, search)
    n_free = release_slot(buffers, small, n_free)
    return release_slot(buffers, large, n_free) if large >= 0 else n_free


@lean
def n_rows(leaf):
    """Number of rows of a leaf."""
    return leaf.last - leaf.first


@lean
def take_slot(buffers, number, n_free):
    """Give a leaf a slot for its histogram if one is free. Returns the number of free slots."""
    if n_free == 0:
        return n_free
    buffers.leaves[number].slot = buffers.free[n_free - 1]
    return n_free - 1


@lean
def release_slot(buffers, number, n_free):
    """Free the slot of a leaf that will not be split. Returns the number of free slots."""
    leaf = buffers.leaves[number]
    if leaf.open or leaf.slot < 0:
        return n_free
    buffers.free[n_free] = leaf.slot
    leaf.slot = -1
    return n_free + 1


@compiled
def prepare(inputs, buffers, small, large, parent_kept):
    """Gather the words of the smaller leaf, and those of the larger leaf if it must be filled too."""
    width = inputs.rule.width
    leaf = buffers.leaves[small]
    slots = len(buffers.histograms)
    histogram = buffers.histograms[leaf.slot if leaf.slot >= 0 else slots - 2]
    nothing, no_rows = buffers.words[:0], buffers.rows[:0]
    if large < 0:
        return SplitSearch(small, no_rows, inputs.words, histogram, -1, no_rows, nothing, histogram)
    rows = buffers.rows[leaf.first : leaf.last]
    words = buffers.words[: len(rows) * width]
    gather(inputs.words, width, rows, words)
    other = buffers.leaves[large]
    other_histogram = buffers.histograms[other.slot if other.slot >= 0 else slots - 1]
    other_rows = buffers.rows[other.first : other.last]
    other_words = nothing
    if not parent_kept:
        other_words = buffers.words[len(words) : len(words) + len(other_rows) * width]
        gather(inputs.words, width, other_rows, other_words)
    return SplitSearch(small, rows, words, histogram, large, other_rows, other_words, other_histogram)


@threaded
def search_features(columns, rule, leaves, candidates, active, search):
    """Search blocks of features in parallel. Each has its own output: results do not depend on threads."""
    for block in prange(-(-len(active) // BLOCK)):
        search_block(columns, rule, leaves, candidates, active[block * BLOCK : (block + 1) * BLOCK], search)


@compiled
def search_block(columns, rule, leaves, candidates, features, search):
    """Fill the histograms of a block of features and find the best split of each."""
    cut_buffers = new_cut_buffers()
    fill(search.histogram, columns, features, search.rows, search.words, rule.width)
    if leaves[search.leaf].open:
        scan(
            columns,
            rule,
            leaves[search.leaf],
            candidates[search.leaf],
            features,
            search.histogram,
            cut_buffers,
        )
    if search.sibling >= 0:
        if len(search.sibling_words) == 0:
            subtract(search.sibling_histogram, search.histogram, columns, features, rule.width)
        else:
            fill(
                search.sibling_histogram,
                columns,
                features,
                search.sibling_rows,
                search.sibling_words,
                rule.width,
            )
        if leaves[search.sibling].open:
            sibling, found = leaves[search.sibling], candidates[search.sibling]
            scan(columns, rule, sibling, found, features, search.sibling_histogram, cut_buffers)


@compiled
def scan(columns, rule, leaf, candidates, features, histogram, cut_buffers):
    """Find the best split of each feature of a block in one leaf."""
    for f in features:
        if columns.categorical[f]:
            mine = histogram[columns.start[f] * rule.width : columns.start[f + 1] * rule.width]
            bins, total = columns.start[f + 1] - columns.start[f], (leaf.first_sum, leaf.second_sum)
            found = best_split(mine, bins, True, total, rule, cut_buffers)
            candidates[f].gain, candidates[f].cut, candidates[f].missing_left = found
        else:
            scan_numbers(columns, rule, leaf, candidates[f], f, histogram, cut_buffers)


@lean
def scan_numbers(columns, rule, leaf, candidate, f, histogram, cut_buffers):
    """Find the best split of a feature of numbers in one leaf."""
    width, n = rule.width, columns.start[f + 1] - columns.start[f] - 1
    mine = histogram[columns.start[f] * width : columns.start[f + 1] * width]
    missing, total = (mine[n * width], mine[(n + 1) * width - 1]), (leaf.first_sum, leaf.second_sum)
    found = best_side(mine, n, missing, total, rule, cut_buffers)
    candidate.gain, candidate.cut, candidate.missing_left = found
