"""One round of boosting in compiled code: from derivatives to a tree for each score, and to new scores."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from miserly.costs import BudgetState
from miserly.grow.buffers import Buffers
from miserly.grow.compiled import compiled, inlined, prange, threaded
from miserly.grow.derivatives import are_ordinary, pack_rows, scale_of, sum_words, summarise
from miserly.grow.growth import TreeInputs, TreeLimits, grow
from miserly.grow.histogram import BinnedColumns
from miserly.grow.records import Thresholds, TreeRecords, record_tree
from miserly.grow.splitting import SplitRule, explained_gains

__all__ = ["RoundData", "RoundRecords", "RoundRule", "figures_are_ordinary", "grow_round"]

FORBIDDING = 1e300  # a penalty that exceeds every gain, and is 0 when multiplied by a price of 0


class RoundData(NamedTuple):
    """What a round reads and changes."""

    columns: BinnedColumns
    thresholds: Thresholds
    budget: BudgetState
    allowed: NDArray[np.int64]  # columns that may be split on
    scores: NDArray[np.float64]  # (K, n)
    gradient: NDArray[np.float64]  # (K, n)
    hessian: NDArray[np.float64]  # (K, n)
    mass: NDArray[np.float64]  # (K, n) or (1, n): weights of the rows in the gains of features
    words: NDArray[np.int64]  # (2 n,), memory
    parts: NDArray[np.float64]  # (chunks, FIGURES), memory
    figures: NDArray[np.float64]  # (K, FIGURES), memory
    buffers: tuple[Buffers, Buffers]  # for rows of one word, and of two


class RoundRule(NamedTuple):
    """How trees are grown and added."""

    tradeoff: float
    total_weight: float  # divisor of the mean loss, in the units of the hessian
    total_mass: float  # divisor of the mean loss, in the units of `mass`
    step: float
    l2: float
    min_hessian: float
    min_rows: int
    max_depth: int
    max_leaves: int


class RoundRecords(NamedTuple):
    """The trees of some rounds, K for each, their constants and gains."""

    trees: TreeRecords
    bias: NDArray[np.float64]  # (rounds, K)
    gain: NDArray[np.float64]  # (rounds, d)


@inlined
def figures_are_ordinary(data):
    """Compute the figures of all scores. Returns whether compiled code can pack the rows."""
    ordinary = True
    for k in range(len(data.scores)):
        summarise(data.gradient[k], data.hessian[k], data.parts, data.figures[k])
        ordinary &= are_ordinary(data.figures[k])
    return ordinary


@inlined
def grow_round(data, rule, records, number):
    """Grow the trees of round `number` and add them to the scores. Returns how many of them split.

    If none splits, the scores stay as they are.
    """
    n_scores = len(data.scores)
    records.bias[number] = 0.0
    records.gain[number] = 0.0
    n_split = 0
    for k in range(n_scores):
        scale = scale_of(data.scores.shape[1], data.figures[k])
        buffers = data.buffers[0] if scale.width == 1 else data.buffers[1]
        tree = number * n_scores + k
        n_nodes, n_leaves = grow_tree(data, rule, scale, buffers, k)
        record_tree(records.trees, tree, n_nodes, buffers, data.thresholds, scale)
        value = records.trees.value[tree]
        if n_leaves == 1:
            records.bias[number, k] = rule.step * value[0]
            continue
        n_split += 1
        leaf_mass = np.zeros(n_nodes)
        mass = data.mass[min(k, len(data.mass) - 1)]
        add_tree(buffers.rows, buffers.leaves[:n_leaves], value, rule.step, data.scores[k], mass, leaf_mass)
        splits = records.trees.feature[tree], records.trees.left[tree], records.trees.right[tree]
        explained_gains(splits, value, leaf_mass, rule.l2, rule.total_mass, records.gain[number])
    if n_split > 0:
        for k in range(n_scores):
            if records.trees.n_nodes[number * n_scores + k] == 1:
                add_constant(data.scores[k], records.bias[number, k])
    return n_split


@inlined
def grow_tree(data, rule, scale, buffers, score):
    """Pack the derivatives of one score and grow its tree into `buffers`. Returns its nodes and leaves."""
    words = data.words[: data.scores.shape[1] * scale.width]
    pack_rows(data.gradient[score], data.hessian[score], scale, words)
    total = np.zeros(2, np.int64)
    sum_words(words, scale.width, total)
    unit = scale.hessian_unit
    split_rule = SplitRule(
        scale.width,
        scale.count_bits,
        math.ldexp(rule.l2 / unit, scale.hessian_shift),
        math.ldexp(rule.min_hessian / unit, scale.hessian_shift),
        rule.min_rows,
    )
    exponent = 2 * scale.residual_shift - scale.hessian_shift
    penalty = min(math.ldexp(rule.tradeoff * rule.total_weight * unit, exponent), FORBIDDING)
    n_features = len(data.columns.codes)
    limits = TreeLimits(rule.max_depth, rule.max_leaves, n_features, penalty)
    inputs = TreeInputs(data.columns, words, total, split_rule, data.budget, limits)
    for k in range(len(data.allowed)):
        buffers.active[k] = data.allowed[k]
    for slot in range(len(buffers.free)):
        buffers.free[slot] = slot
    for i in range(len(buffers.rows)):
        buffers.rows[i] = i
    summary = grow(inputs, buffers, len(data.allowed), len(buffers.free))
    return summary[0], summary[1]


@threaded
def add_tree(rows, leaves, value, step, scores, mass, leaf_mass):
    """Add `step` times a tree to the scores of all rows, and sum the mass of the rows of each leaf."""
    for k in prange(len(leaves)):
        node = leaves[k].node
        added = step * value[node]
        total = 0.0
        for j in range(leaves[k].first, leaves[k].last):
            scores[rows[j]] += added
            total += mass[rows[j]]
        leaf_mass[node] = total


@compiled
def add_constant(scores, constant):
    """Add a number to all scores."""
    for i in range(len(scores)):
        scores[i] += constant
