"""Growing one tree, best split first, in compiled code.

While leaves can be split: look up what every feature costs now; take the leaf and feature whose gain, less the penalty
``tradeoff * total weight * price``, is largest; buy the feature; split the leaf; find the best split of every feature in both
children. Histograms are filled for the smaller child only, the other is the parent's less that.

A leaf keeps its place when it is split: the left child takes it over and the right child gets a new one.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit, prange
from numpy.typing import NDArray

from miserly.grow.histogram import BLOCK, Table, fill_block, fill_feature, subtract_block
from miserly.grow.purse import Purse, buy, price, prune
from miserly.grow.rows import gather, partition
from miserly.grow.splitting import Rule, best_split, directions, unpack

__all__ = ["Leaves", "Limits", "Nodes", "Problem", "Scratch", "grow"]

_SERIAL = 1 << 15  # additions and bins below which starting threads takes longer than the work


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
    rule: Rule
    purse: Purse
    limits: Limits


class Leaves(NamedTuple):
    """The leaves so far, one place in each array; the last three have a row of features per leaf."""

    first: NDArray[np.int64]  # its rows are Scratch.rows[first:last]
    last: NDArray[np.int64]
    node: NDArray[np.int64]
    depth: NDArray[np.int64]
    slot: NDArray[np.int64]  # where its histogram is kept, or -1
    open: NDArray[np.bool_]  # whether it may be split
    push: NDArray[np.int64]
    hessian: NDArray[np.int64]
    count: NDArray[np.int64]
    net: NDArray[np.float64]  # best gain less penalty, and its feature
    feature: NDArray[np.int64]
    gain: NDArray[np.float64]
    cut: NDArray[np.int16]
    missing_left: NDArray[np.bool_]


class Nodes(NamedTuple):
    """The tree so far."""

    feature: NDArray[np.int32]
    cut: NDArray[np.int64]
    left: NDArray[np.int32]
    right: NDArray[np.int32]
    value: NDArray[np.float64]  # in packed units
    goes_left: NDArray[np.bool_]  # (nodes, 256)
    bought: NDArray[np.int64]  # features in the order of buying


class Scratch(NamedTuple):
    """Memory used again by every tree."""

    rows: NDArray[np.uint32]  # unsigned, so that compiled code need not look for negative indices
    spare: NDArray[np.uint32]
    words: NDArray[np.int64]
    active: NDArray[np.int64]  # the features that may be split on; it only ever shrinks within a tree
    slots: NDArray[np.int64]  # free places of `histograms`, a stack
    histograms: NDArray[np.int64]  # (slots + 2, bins * width): the last two are never kept


class Tally(NamedTuple):
    n_nodes: int
    n_leaves: int
    n_bought: int
    gain: float


class Survey(NamedTuple):
    """A leaf whose histogram is to be filled, and perhaps the sibling that is the parent's less it."""

    leaf: int
    rows: NDArray[np.uint32]
    words: NDArray[np.int64]
    histogram: NDArray[np.int64]
    sibling: int  # -1 if there is none
    sibling_histogram: NDArray[np.int64]


@njit(cache=True)
def grow(problem, scratch, leaves, nodes, n_active, n_slots):
    """Grow one tree into `nodes` and `leaves`; the ledger behind `problem.purse` pays for what it splits on."""
    purse, limits = problem.purse, problem.limits
    n_bought = 0
    n_active = prune(purse, scratch.active, n_active, limits.max_new > 0)
    n_slots = plant(problem, scratch, leaves, nodes, n_active, n_slots)
    n_leaves = 1
    n_nodes = 1
    total = 0.0
    rate(problem, scratch.active[:n_active], leaves, 0)
    while n_leaves < limits.max_leaves:
        leaf = best_leaf(leaves, n_leaves)
        if leaf < 0:
            break
        f = leaves.feature[leaf]
        total += leaves.net[leaf]
        new = not purse.paid[f]
        if new:
            buy(purse, f)
            nodes.bought[n_bought] = f
            n_bought += 1
            n_active = prune(purse, scratch.active, n_active, n_bought < limits.max_new)
        split(problem, scratch, leaves, nodes, leaf, n_leaves, n_nodes)
        n_nodes += 2
        n_leaves += 1
        if n_leaves < limits.max_leaves:
            n_slots = survey_children(problem, scratch, leaves, leaf, n_leaves - 1, n_active, n_slots)
            if new:
                for k in range(n_leaves):
                    rate(problem, scratch.active[:n_active], leaves, k)
            else:
                rate(problem, scratch.active[:n_active], leaves, leaf)
                rate(problem, scratch.active[:n_active], leaves, n_leaves - 1)
    return Tally(n_nodes, n_leaves, n_bought, total)


@njit(cache=True)
def plant(problem, scratch, leaves, nodes, n_active, n_slots):
    """The root: every row, one leaf."""
    n = len(scratch.rows)
    for i in range(n):
        scratch.rows[i] = i
    leaves.first[0] = 0
    leaves.last[0] = n
    leaves.depth[0] = 0
    leaves.slot[0] = -1
    root_sums(problem, leaves)
    put_leaf(problem, leaves, nodes, 0, 0)
    leaves.open[0] = may_split(problem, leaves, 0) and problem.limits.max_leaves > 1
    if leaves.open[0]:
        n_slots = take_slot(scratch, leaves, 0, n_slots)
        place = slot_of(scratch, leaves, 0, 0)
        histogram = scratch.histograms[place]
        all_rows = scratch.rows[:0]
        job = Survey(0, all_rows, problem.words, histogram, -1, histogram)
        run_survey(problem.table, problem.rule, leaves, scratch.active[:n_active], job)
    return n_slots


@njit(cache=True)
def root_sums(problem, leaves):
    width = problem.rule.width
    whole = np.zeros(2, np.int64)
    for i in range(len(problem.words)):
        whole[i % width] += problem.words[i]
    unpack(whole, 1, problem.rule, leaves.push, leaves.hessian, leaves.count)


@njit(cache=True)
def put_leaf(problem, leaves, nodes, leaf, node):
    """Make `node` the leaf in place `leaf`, with the value that fits its sums."""
    leaves.node[leaf] = node
    nodes.feature[node] = -1
    below = leaves.hessian[leaf] + problem.rule.l2
    nodes.value[node] = leaves.push[leaf] / below if below > 0 else 0.0


@njit(cache=True)
def may_split(problem, leaves, leaf):
    return (
        leaves.depth[leaf] < problem.limits.max_depth
        and leaves.count[leaf] >= 2 * problem.rule.min_rows
        and leaves.hessian[leaf] >= 2 * problem.rule.min_hessian
    )


@njit(cache=True)
def rate(problem, active, leaves, leaf):
    """The best feature of a leaf at today's prices (the lowest of equals)."""
    leaves.net[leaf] = 0.0
    leaves.feature[leaf] = -1
    if not leaves.open[leaf]:
        return
    for f in active:
        net = leaves.gain[leaf, f] - problem.limits.penalty * price(problem.purse, f)
        if net > leaves.net[leaf]:
            leaves.net[leaf] = net
            leaves.feature[leaf] = f


@njit(cache=True)
def best_leaf(leaves, n_leaves):
    """The leaf with the largest net gain (the lowest of equals), or -1 if none gains anything."""
    best = -1
    net = 0.0
    for leaf in range(n_leaves):
        if leaves.open[leaf] and leaves.net[leaf] > net:
            net = leaves.net[leaf]
            best = leaf
    return best


@njit(cache=True)
def split(problem, scratch, leaves, nodes, leaf, right, n_nodes):
    """Split a leaf at its best feature; the right child goes to place `right`, the left one stays."""
    f = leaves.feature[leaf]
    node = leaves.node[leaf]
    cut = leaves.cut[leaf, f]
    nodes.feature[node] = f
    nodes.cut[node] = cut
    nodes.left[node] = n_nodes
    nodes.right[node] = n_nodes + 1
    goes_left = nodes.goes_left[node]
    table = problem.table
    mine = feature_histogram(problem, scratch, leaves, leaf, f)
    sums = directions(
        mine,
        table.n_bins[f],
        table.categorical[f],
        cut,
        leaves.missing_left[leaf, f],
        problem.rule,
        goes_left,
    )
    first, last = leaves.first[leaf], leaves.last[leaf]
    middle = first + partition(table.codes[f], goes_left, scratch.rows[first:last], scratch.spare)
    leaves.first[right], leaves.last[right], leaves.last[leaf] = middle, last, middle
    leaves.depth[leaf] += 1
    leaves.depth[right] = leaves.depth[leaf]
    leaves.push[right], leaves.push[leaf] = leaves.push[leaf] - sums[0], sums[0]
    leaves.hessian[right], leaves.hessian[leaf] = leaves.hessian[leaf] - sums[1], sums[1]
    leaves.count[right], leaves.count[leaf] = leaves.count[leaf] - sums[2], sums[2]
    put_leaf(problem, leaves, nodes, leaf, n_nodes)
    put_leaf(problem, leaves, nodes, right, n_nodes + 1)
    leaves.open[leaf] = may_split(problem, leaves, leaf)
    leaves.open[right] = may_split(problem, leaves, right)
    leaves.slot[right] = -1


@njit(cache=True)
def feature_histogram(problem, scratch, leaves, leaf, f):
    """One feature's histogram in a leaf: the one kept, or made again if there was no room to keep it."""
    width = problem.rule.width
    start, end = problem.table.start[f] * width, problem.table.start[f + 1] * width
    if leaves.slot[leaf] >= 0:
        return scratch.histograms[leaves.slot[leaf], start:end]
    histogram = scratch.histograms[len(scratch.histograms) - 1]
    histogram[start:end] = 0
    rows = scratch.rows[leaves.first[leaf] : leaves.last[leaf]]
    gather(problem.words, width, rows, scratch.words)
    fill_feature(histogram, problem.table, f, rows, scratch.words[: len(rows) * width], width)
    return histogram[start:end]


@njit(cache=True)
def survey_children(problem, scratch, leaves, left, right, n_active, n_slots):
    """Find the best splits of two new leaves; `left` still holds its parent's histogram, if that was kept."""
    if leaves.open[left] or leaves.open[right]:
        active = scratch.active[:n_active]
        small, large = left, right
        if leaves.last[right] - leaves.first[right] < leaves.last[left] - leaves.first[left]:
            small, large = right, left
        parent_slot = leaves.slot[left]
        leaves.slot[left] = -1
        leaves.slot[large] = parent_slot
        n_slots = take_slot(scratch, leaves, small, n_slots)
        if parent_slot >= 0:
            survey_leaf(problem, scratch, leaves, active, small, 0, large)
        else:
            n_slots = take_slot(scratch, leaves, large, n_slots)
            survey_leaf(problem, scratch, leaves, active, small, 0, -1)
            survey_leaf(problem, scratch, leaves, active, large, 1, -1)
    for leaf in (left, right):
        if not leaves.open[leaf] and leaves.slot[leaf] >= 0:
            scratch.slots[n_slots] = leaves.slot[leaf]
            n_slots += 1
            leaves.slot[leaf] = -1
    return n_slots


@njit(cache=True)
def take_slot(scratch, leaves, leaf, n_slots):
    """Give a leaf a place to keep its histogram, if there is one; gives how many are left."""
    if n_slots == 0:
        return 0
    leaves.slot[leaf] = scratch.slots[n_slots - 1]
    return n_slots - 1


@njit(cache=True)
def slot_of(scratch, leaves, leaf, which):
    """Where to fill a leaf's histogram: its own place, or one of the two that are not kept."""
    if leaves.slot[leaf] >= 0:
        return leaves.slot[leaf]
    return len(scratch.histograms) - 2 + which


@njit(cache=True)
def survey_leaf(problem, scratch, leaves, active, leaf, which, sibling):
    width = problem.rule.width
    rows = scratch.rows[leaves.first[leaf] : leaves.last[leaf]]
    words = scratch.words[: len(rows) * width]
    gather(problem.words, width, rows, words)
    histogram = scratch.histograms[slot_of(scratch, leaves, leaf, which)]
    other = scratch.histograms[leaves.slot[sibling]] if sibling >= 0 else histogram
    job = Survey(leaf, rows, words, histogram, sibling, other)
    run_survey(problem.table, problem.rule, leaves, active, job)


@njit(cache=True)
def run_survey(table, rule, leaves, active, job):
    """Every block of features, in threads if there is enough to do; each writes its own, so threads change nothing."""
    n_blocks = -(-len(active) // BLOCK)
    if len(active) * (len(job.words) + 256) < _SERIAL:
        for block in range(n_blocks):
            survey_block(table, rule, leaves, active[block * BLOCK : (block + 1) * BLOCK], job)
    else:
        survey_parallel(table, rule, leaves, active, job, n_blocks)


@njit(parallel=True, cache=True)
def survey_parallel(table, rule, leaves, active, job, n_blocks):
    for block in prange(n_blocks):
        survey_block(table, rule, leaves, active[block * BLOCK : (block + 1) * BLOCK], job)


@njit(cache=True)
def survey_block(table, rule, leaves, features, job):
    """Fill the histograms of a few features and find the best split of each."""
    fill_block(job.histogram, table, features, job.rows, job.words, rule.width)
    if leaves.open[job.leaf]:
        scan(table, rule, leaves, features, job.leaf, job.histogram)
    if job.sibling >= 0:
        subtract_block(job.sibling_histogram, job.histogram, table, features, rule.width)
        if leaves.open[job.sibling]:
            scan(table, rule, leaves, features, job.sibling, job.sibling_histogram)


@njit(cache=True)
def scan(table, rule, leaves, features, leaf, histogram):
    total = (leaves.push[leaf], leaves.hessian[leaf], leaves.count[leaf])
    for f in features:
        mine = histogram[table.start[f] * rule.width : table.start[f + 1] * rule.width]
        gain, cut, missing_left = best_split(mine, table.n_bins[f], table.categorical[f], total, rule)
        leaves.gain[leaf, f] = gain
        leaves.cut[leaf, f] = cut
        leaves.missing_left[leaf, f] = missing_left
