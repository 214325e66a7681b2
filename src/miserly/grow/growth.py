"""Growing one tree, best split first, in compiled code.

While leaves can be split: look up what every feature costs now; take the leaf and feature whose gain, less
the penalty ``tradeoff * total weight * price``, is largest; buy the feature; split the leaf; find the best
split of every feature in both children. Histograms are filled for the smaller child only; the other's is the
parent's less that.

A leaf keeps its place when it is split: the left child takes it over and the right child gets a new one.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from miserly.costs import BudgetState
from miserly.grow.buying import buy, keep_affordable, price
from miserly.grow.compiled import compiled, prange, threaded
from miserly.grow.histogram import BLOCK, Table, fill, fill_feature, subtract
from miserly.grow.rows import gather, partition
from miserly.grow.splitting import Rule, best_split, directions, new_bench, read_sums

__all__ = ["CHOICE", "LEAF", "NODE", "Limits", "Problem", "Workshop", "grow"]

LEAF = np.dtype(
    [
        ("first", np.int64),  # its rows are Workshop.rows[first:last]
        ("last", np.int64),
        ("sum", np.int64),  # the packed sums of its rows
        ("sum_too", np.int64),
        ("node", np.int64),
        ("depth", np.int64),
        ("slot", np.int64),  # where its histogram is kept, or -1
        ("feature", np.int64),  # the best to split on at today's prices, or -1
        ("net", np.float64),  # its gain less its penalty
        ("open", np.bool_),  # whether the leaf may be split
    ],
    align=True,
)
CHOICE = np.dtype([("gain", np.float64), ("cut", np.int32), ("missing_left", np.bool_)], align=True)
NODE = np.dtype(
    [
        ("feature", np.int32),  # -1 in a leaf
        ("cut", np.int32),
        ("left", np.int32),
        ("right", np.int32),
        ("value", np.float64),  # in packed units
    ],
    align=True,
)


class Limits(NamedTuple):
    """What bounds one tree."""

    max_depth: int
    max_leaves: int
    max_new: int
    penalty: float  # of one unit of price, in the units of the packed gain


class Problem(NamedTuple):
    """What one tree is fitted to."""

    table: Table
    words: NDArray[np.int64]
    total: NDArray[np.int64]  # the sums of the words
    rule: Rule
    budget: BudgetState
    limits: Limits


class Workshop(NamedTuple):
    """Memory used again by every tree."""

    leaves: NDArray[np.void]  # of LEAF
    choices: NDArray[np.void]  # of CHOICE, (leaves, features): the best split of each feature in each leaf
    nodes: NDArray[np.void]  # of NODE
    goes_left: NDArray[np.bool_]  # (nodes, 256): which codes of a split's feature go left
    rows: NDArray[np.uint32]  # unsigned, so that compiled code need not look for negative indices
    spare: NDArray[np.uint32]
    words: NDArray[np.int64]
    active: NDArray[np.int64]  # the features that may still be split on; their number falls within a tree
    bought: NDArray[np.int64]
    histograms: NDArray[np.int64]  # (slots + 2, bins * width); the last two are never kept
    free: NDArray[np.int64]  # a stack of free slots


class Tally(NamedTuple):
    """What a tree came to."""

    n_nodes: int
    n_leaves: int
    n_bought: int
    gain: float


@compiled
def grow(problem, shop, n_active, n_free):
    """Grow one tree into `shop.nodes`; the ledger behind `problem.budget` pays for what it splits on.

    `shop.rows` holds all rows in order, `shop.active` the features allowed, `shop.free` the free slots. Gives
    what a `Tally` is made of: Numba would make one by calling Python, which may find that it was interrupted
    (Ctrl-C), and Numba does not expect that.
    """
    budget, limits, leaves = problem.budget, problem.limits, shop.leaves
    n_active = keep_affordable(budget, shop.active, n_active, limits.max_new > 0)
    plant(problem, shop)
    left, right = np.int64(0), np.int64(-1)  # the leaves that are new
    n_leaves, n_bought = np.int64(1), np.int64(0)
    total = 0.0
    price_changed = False
    while n_leaves < limits.max_leaves:
        active = shop.active[:n_active]
        n_free = survey(problem, shop, active, left, right, n_free)
        for leaf in range(n_leaves):
            if price_changed or leaf in (left, right):
                rate(problem, shop, active, leaf)
        left = best_leaf(leaves, n_leaves)
        if left < 0:
            break
        total += leaves[left].net
        price_changed = not budget.paid[0, leaves[left].feature]
        if price_changed:
            shop.bought[n_bought] = leaves[left].feature
            n_bought += 1
            buy(budget, leaves[left].feature)
            n_active = keep_affordable(budget, shop.active, n_active, n_bought < limits.max_new)
        right = n_leaves
        split(problem, shop, left, right)
        n_leaves += 1
    return 2 * n_leaves - 1, n_leaves, n_bought, total


@compiled
def plant(problem, shop):
    """The root: every row, one leaf."""
    root = shop.leaves[0]
    root.first = 0
    root.last = len(shop.rows)
    root.depth = 0
    root.slot = -1
    place(problem, shop, root, 0, problem.total[0], problem.total[1])


@compiled
def place(problem, shop, leaf, number, total, total_too):
    """Make a leaf of node `number` with the value that fits its sums."""
    rule = problem.rule
    push, hessian, count = read_sums(total, total_too, rule)
    leaf.sum = total
    leaf.sum_too = total_too
    leaf.node = number
    leaf.open = (
        leaf.depth < problem.limits.max_depth
        and count >= 2 * rule.min_rows
        and hessian >= 2 * rule.min_hessian
    )
    node = shop.nodes[number]
    node.feature = -1
    node.value = push / (hessian + rule.l2) if hessian + rule.l2 > 0 else 0.0


@compiled
def rate(problem, shop, active, number):
    """The best feature of a leaf at today's prices; the lowest of equals, none if none gains anything."""
    leaf = shop.leaves[number]
    leaf.net = 0.0
    leaf.feature = -1
    if leaf.open:
        for f in active:
            net = shop.choices[number, f].gain - problem.limits.penalty * price(problem.budget, f)
            if net > leaf.net:
                leaf.net = net
                leaf.feature = f


@compiled
def best_leaf(leaves, n_leaves):
    """The leaf with the largest net gain, the lowest of equals, or -1 if none gains anything."""
    best = -1
    net = 0.0
    for number in range(n_leaves):
        if leaves[number].net > net:
            net = leaves[number].net
            best = number
    return best


@compiled
def split(problem, shop, left, right):
    """Split a leaf at its best feature: the left child stays in its place, the right one goes to `right`."""
    table, leaf, other = problem.table, shop.leaves[left], shop.leaves[right]
    f = leaf.feature
    choice = shop.choices[left, f]
    node = shop.nodes[leaf.node]
    node.feature = f
    node.cut = choice.cut
    node.left = 2 * right - 1
    node.right = 2 * right
    goes_left = shop.goes_left[leaf.node]
    sums = directions(
        feature_histogram(problem, shop, leaf, f),
        table.start[f + 1] - table.start[f],
        table.categorical[f],
        choice.cut,
        choice.missing_left,
        problem.rule,
        goes_left,
    )
    n_left = partition(table.codes[f], goes_left, shop.rows[leaf.first : leaf.last], shop.spare)
    leaf.depth += 1
    other.depth = leaf.depth
    other.first = leaf.first + n_left
    other.last = leaf.last
    leaf.last = other.first
    other.slot = -1
    place(problem, shop, other, node.right, leaf.sum - sums[0], leaf.sum_too - sums[1])
    place(problem, shop, leaf, node.left, sums[0], sums[1])


@compiled
def feature_histogram(problem, shop, leaf, f):
    """One feature's histogram in a leaf: the one kept, or made again if there was no room to keep it."""
    table, width = problem.table, problem.rule.width
    mine = shop.histograms[leaf.slot if leaf.slot >= 0 else len(shop.histograms) - 1]
    mine = mine[table.start[f] * width : table.start[f + 1] * width]
    if leaf.slot < 0:
        fill_feature(mine, table.codes[f], shop.rows[leaf.first : leaf.last], problem.words, width)
    return mine


# -- the best splits of new leaves ------------------------------------------------------------------------


class Survey(NamedTuple):
    """A leaf whose histogram is to be filled, and its sibling, if it has one."""

    leaf: int
    rows: NDArray[np.uint32]  # none for all
    words: NDArray[np.int64]
    histogram: NDArray[np.int64]
    sibling: int  # -1 at the root
    sibling_rows: NDArray[np.uint32]
    sibling_words: NDArray[np.int64]  # none if its histogram holds the parent's, from which to subtract
    sibling_histogram: NDArray[np.int64]


@compiled
def survey(problem, shop, active, left, right, n_free):
    """Find the best split of every active feature in two new leaves, `left` holding its parent's histogram.

    Gives how many slots are free now.
    """
    small, large = left, right
    if right >= 0 and n_rows(shop.leaves[right]) < n_rows(shop.leaves[left]):
        small, large = right, left
    open_too = large >= 0 and shop.leaves[large].open
    if shop.leaves[small].open or open_too:
        parent = shop.leaves[left].slot
        shop.leaves[left].slot = -1
        n_free = take_slot(shop, small, n_free)
        if large >= 0:
            shop.leaves[large].slot = parent
        if large >= 0 and parent < 0:
            n_free = take_slot(shop, large, n_free)
        job = prepare(problem, shop, small, large, parent >= 0)
        survey_features(problem.table, problem.rule, shop.leaves, shop.choices, active, job)
    n_free = release_slot(shop, small, n_free)
    return release_slot(shop, large, n_free) if large >= 0 else n_free


@compiled
def n_rows(leaf):
    return leaf.last - leaf.first


@compiled
def take_slot(shop, number, n_free):
    """Give a leaf a place to keep its histogram, if there is one; gives how many are left."""
    if n_free == 0:
        return n_free
    shop.leaves[number].slot = shop.free[n_free - 1]
    return n_free - 1


@compiled
def release_slot(shop, number, n_free):
    """Take back the slot of a leaf that will not be split; gives how many are free."""
    leaf = shop.leaves[number]
    if leaf.open or leaf.slot < 0:
        return n_free
    shop.free[n_free] = leaf.slot
    leaf.slot = -1
    return n_free + 1


@compiled
def prepare(problem, shop, small, large, parent_kept):
    """Gather the words of the smaller leaf, and of the larger one if it must be filled too."""
    width = problem.rule.width
    leaf = shop.leaves[small]
    slots = len(shop.histograms)
    histogram = shop.histograms[leaf.slot if leaf.slot >= 0 else slots - 2]
    nothing, no_rows = shop.words[:0], shop.rows[:0]
    if large < 0:
        return Survey(small, no_rows, problem.words, histogram, -1, no_rows, nothing, histogram)
    rows = shop.rows[leaf.first : leaf.last]
    words = shop.words[: len(rows) * width]
    gather(problem.words, width, rows, words)
    other = shop.leaves[large]
    other_histogram = shop.histograms[other.slot if other.slot >= 0 else slots - 1]
    other_rows = shop.rows[other.first : other.last]
    other_words = nothing
    if not parent_kept:
        other_words = shop.words[len(words) : len(words) + len(other_rows) * width]
        gather(problem.words, width, other_rows, other_words)
    return Survey(small, rows, words, histogram, large, other_rows, other_words, other_histogram)


@threaded
def survey_features(table, rule, leaves, choices, active, job):
    """Blocks of features, shared among threads; each writes its own, so their number changes nothing."""
    for block in prange(-(-len(active) // BLOCK)):
        survey_block(table, rule, leaves, choices, active[block * BLOCK : (block + 1) * BLOCK], job)


@compiled
def survey_block(table, rule, leaves, choices, features, job):
    """Fill the histograms of a few features and find the best split of each."""
    bench = new_bench()
    fill(job.histogram, table, features, job.rows, job.words, rule.width)
    if leaves[job.leaf].open:
        scan(table, rule, leaves[job.leaf], choices[job.leaf], features, job.histogram, bench)
    if job.sibling >= 0:
        if len(job.sibling_words) == 0:
            subtract(job.sibling_histogram, job.histogram, table, features, rule.width)
        else:
            fill(job.sibling_histogram, table, features, job.sibling_rows, job.sibling_words, rule.width)
        if leaves[job.sibling].open:
            sibling, found = leaves[job.sibling], choices[job.sibling]
            scan(table, rule, sibling, found, features, job.sibling_histogram, bench)


@compiled
def scan(table, rule, leaf, choices, features, histogram, bench):
    """The best split of each of a few features in one leaf."""
    for f in features:
        bins = table.start[f + 1] - table.start[f]
        mine = histogram[table.start[f] * rule.width : table.start[f + 1] * rule.width]
        found = best_split(mine, bins, table.categorical[f], (leaf.sum, leaf.sum_too), rule, bench)
        choices[f].gain = found[0]
        choices[f].cut = found[1]
        choices[f].missing_left = found[2]
