"""Compiled runs of an additive chain of trees for one row, packed by `row_chain`."""

from __future__ import annotations

import numpy as np

from miserly.plan.engine.row_chain import ABSENT, MISSING, SLOT
from miserly.utils.compiled import compiled

__all__ = ["score_row"]

_ONE, _TWO, _SIX_BITS = np.uint64(1), np.uint64(2), np.uint64(63)
_SLOT, _WORD = np.uint64(SLOT), np.uint64((1 << SLOT) - 1)
_SLOTS = np.uint64((1 << (63 - SLOT)) - 1)
_ABSENT, _MISSING = np.uint64(ABSENT), np.uint64(MISSING)

_inline = compiled(forceinline=True)


@_inline
def _fill(x, coded, slots, codes):
    """Copy a row into the slots that nodes read."""
    d = x.shape[0]
    slots[0] = -np.inf
    for f in range(d):
        one = np.float64(x[f])
        slots[1 + f] = one
        slots[1 + d + f] = -np.inf if one != one else one
    for j in range(coded.shape[0]):
        one = np.float64(x[coded[j]])
        inside = (one >= 0.0) & (one < 256.0)
        code = np.uint64(one if inside else 0.0)
        is_code = inside & (np.float64(code) == one)
        codes[1 + 2 * d + j] = min(code, _ABSENT) if is_code else _MISSING


@_inline
def _step(words, numbers, slots, codes, node, sets):
    follows = words[node + _ONE]
    slot = (follows >> _SLOT) & _SLOTS
    left = np.uint64(slots[slot] <= numbers[node])
    if sets:
        inside = (words[node] >> (codes[slot] & _SIX_BITS)) & _ONE
        left = inside if follows >> _SIX_BITS else left
    return (follows & _WORD) + (_TWO - (left << _ONE))


@_inline
def _walk(words, numbers, slots, codes, start, at, moving, sets):
    """Walk the row down all trees side by side; `at` gets its leaves."""
    left = start.shape[0]
    for j in range(left):
        at[j] = start[j]
        moving[j] = np.uint64(j)
    while left > 0:  # without a branch that could be foreseen wrongly
        kept = 0
        for q in range(left):
            j = moving[q]
            node = at[j]
            child = _step(words, numbers, slots, codes, node, sets)
            moving[kept] = j
            kept += child != node
            at[j] = child
        left = kept


@compiled(nogil=True)
def score_row(words, start, trees, coded, single, x, scores):
    """Add the trees to the scores of a row."""
    slots = np.empty(1 + 2 * x.shape[0] + coded.shape[0], np.float64)
    codes, numbers = slots.view(np.uint64), words.view(np.float64)
    _fill(x, coded, slots, codes)
    at, moving = np.empty(start.shape[0], np.uint64), np.empty(start.shape[0], np.uint64)
    if coded.shape[0] > 0:
        _walk(words, numbers, slots, codes, start, at, moving, True)
    else:
        _walk(words, numbers, slots, codes, start, at, moving, False)
    for e in range(trees.shape[0]):
        leaf = np.int64(at[trees[e, 0]]) + trees[e, 1]
        score = scores[trees[e, 2]] + numbers[np.uint64(leaf)]
        scores[trees[e, 2]] = np.float64(np.float32(score)) if single else score
