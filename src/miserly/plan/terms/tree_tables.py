"""All trees of a plan in flat arrays, as compiled code reads them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from miserly.plan.store.container import bounds
from miserly.plan.terms.categories import N_WORDS

if TYPE_CHECKING:
    from miserly.plan.terms.tree import Tree

__all__ = ["Trees", "lay_out_trees"]


class Trees(NamedTuple):
    """All trees of a plan end to end, for compiled code: a walk by `look` needs no test for leaves."""

    feature: NDArray[np.int32]  # -1 at leaves
    look: NDArray[np.int32]  # the same, 0 at leaves: always a column that exists
    threshold: NDArray[np.float64]
    left: NDArray[np.int32]  # the right child is the next one; a leaf leads to itself
    missing: NDArray[np.bool_]
    value: NDArray[np.float64]
    category: NDArray[np.int32]
    span: NDArray[np.int32]  # how many rows of `words` the set of categories has
    words: NDArray[np.uint32]  # rows of eight


def lay_out_trees(terms: Sequence[Tree]) -> tuple[Trees, list[int]]:
    """The tables of some trees, and the place of each root in them.

    Parameters
    ----------
    terms : sequence of Tree
        The trees.

    Returns
    -------
    Trees
    list of int
    """
    n = sum(len(tree.feature) for tree in terms)
    feature = np.full(n, -1, np.int32)
    threshold = np.full(n, np.inf)
    left = np.arange(n, dtype=np.int32)
    missing = np.ones(n, np.bool_)
    value = np.zeros(n)
    category = np.full(n, -1, np.int32)
    starts = bounds([len(tree.feature) for tree in terms]).tolist()
    span = np.ones(n, np.int32)
    first_word = bounds([len(_words(tree)) * tree.span for tree in terms]).tolist()
    for tree, start, word in zip(terms, starts, first_word, strict=False):
        place = start + _siblings_adjacent(tree)
        inner = tree.feature >= 0
        at = place[inner]
        feature[at] = tree.feature[inner]
        threshold[at] = tree.threshold[inner]
        left[at] = place[tree.left[inner]]
        missing[at] = tree.missing_left[inner]
        value[place[~inner]] = tree.value[~inner]
        rows = _category(tree)[inner]
        category[at] = np.where(rows >= 0, rows * tree.span + word, -1)
        span[at] = tree.span
    look = np.maximum(feature, 0).astype(np.int32)
    rows_of_eight = [_words(tree).reshape(-1, N_WORDS) for tree in terms]
    words = np.concatenate([*rows_of_eight, np.zeros((1, N_WORDS), np.uint32)])
    return Trees(feature, look, threshold, left, missing, value, category, span, words), starts[:-1]


def _siblings_adjacent(tree: Tree) -> NDArray[np.int64]:
    """The new place of each node: parents before children, the right child right after the left one."""
    place = np.zeros(len(tree.feature), dtype=np.int64)
    following = 1
    for i in np.flatnonzero(tree.feature >= 0):
        place[tree.left[i]], place[tree.right[i]] = following, following + 1
        following += 2
    return place


def _words(tree: Tree) -> NDArray[np.uint32]:
    assert tree.words is not None
    return tree.words


def _category(tree: Tree) -> NDArray[np.int32]:
    assert tree.category is not None
    return tree.category
