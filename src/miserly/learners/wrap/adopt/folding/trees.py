"""Rewrite trees over the output columns of a pipeline as trees over raw columns.

A split on a scaled column becomes a split on the raw column. Its threshold is the largest raw number that
goes left, found by search, so the two agree for every float64. A split on an encoded column becomes a split
on the categories that go left.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from miserly.errors import DataError
from miserly.learners.wrap.adopt.folding.columns import Categories, Numbers
from miserly.learners.wrap.adopt.folding.search import largest_true
from miserly.plan.terms import MAX_CATEGORY, Tree, category_words, packed_words, padded_words

__all__ = ["fold_trees", "indicator_tree", "lookup_tree", "unit_tree"]

Known: TypeAlias = Numbers | Categories

_LARGEST = float(np.finfo(np.float64).max)
_STAYS, _LEFT, _RIGHT = range(3)
_FEW_CATEGORIES = 256  # up to this number, tables of categories use sets


def fold_trees(trees: Sequence[Tree], columns: Mapping[int, Known]) -> list[Tree]:
    """Rewrite trees as trees over raw columns.

    Parameters
    ----------
    trees : sequence of Tree
        Trees over the columns of a model.
    columns : mapping of int to Numbers or Categories
        The source of each column that the trees read.

    Returns
    -------
    list of Tree
        Splits that send all rows to one side are left out.
    """
    thresholds = {j: _raw_thresholds(trees, j, one) for j, one in columns.items() if isinstance(one, Numbers)}
    return [_fold_tree(tree, columns, thresholds) for tree in trees]


def _raw_thresholds(
    trees: Sequence[Tree], j: int, column: Numbers
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """The ascending thresholds of a column in all trees, and the matching thresholds of the raw column."""
    listed = [tree.threshold[(tree.feature == j) & (_category(tree) < 0)] for tree in trees]
    given = np.unique(np.concatenate([*listed, np.zeros(0)]))
    return given, largest_true(lambda x: column(x) <= given, len(given))


def _category(tree: Tree) -> NDArray[np.int32]:
    assert tree.category is not None
    return tree.category


@dataclass(eq=False)
class _Folded:
    """The arrays of a tree while it is folded."""

    feature: NDArray[np.int32]
    threshold: NDArray[np.float64]
    missing_left: NDArray[np.bool_]
    category: NDArray[np.int32]
    decided: NDArray[np.int64]  # whether all rows go to one side
    sets: list[tuple[NDArray[np.uint32], NDArray[np.bool_]]] = field(default_factory=list)
    n_sets: int = 0

    def add_sets(self, rows: NDArray[np.uint32], missing_left: NDArray[np.bool_]) -> int:
        """Keep some sets of categories, and return the number of the first one."""
        first = self.n_sets
        self.sets.append((rows, missing_left))
        self.n_sets += len(rows)
        return first

    def words(self) -> NDArray[np.uint32]:
        """All sets, padded to the same number of words."""
        most = max((rows.shape[1] for rows, _ in self.sets), default=8)
        some = [padded_words(rows, most, missing_left) for rows, missing_left in self.sets]
        return np.concatenate([*some, np.zeros((0, most), np.uint32)])


def _fold_tree(
    tree: Tree,
    columns: Mapping[int, Known],
    thresholds: Mapping[int, tuple[NDArray[np.float64], NDArray[np.float64]]],
) -> Tree:
    n = len(tree.feature)
    new = _Folded(
        tree.feature.copy(), tree.threshold.copy(), tree.missing_left.copy(), np.full(n, -1, np.int32),
        np.zeros(n, dtype=np.int64),
    )  # fmt: skip
    for j in np.unique(tree.feature[tree.feature >= 0]).tolist():
        nodes, column = np.flatnonzero(tree.feature == j), columns[j]
        new.feature[nodes] = column.source
        if isinstance(column, Numbers):
            _fold_numbers(tree, new, nodes, column, thresholds[j])
        else:
            _fold_categories(tree, new, nodes, column)
    words = new.words()
    left: NDArray[Any] = tree.left
    right: NDArray[Any] = tree.right
    value = tree.value
    if (new.decided[new.feature >= 0] != _STAYS).any():
        order, left, right = _pruned(tree, new.decided)
        value = value[order]
        for name in ("feature", "threshold", "missing_left", "category"):
            setattr(new, name, getattr(new, name)[order])
    return Tree(
        new.feature, new.threshold, left, right, new.missing_left, value, new.category, words, tree.evaluation
    )


def _fold_numbers(
    tree: Tree,
    new: _Folded,
    nodes: NDArray[np.int64],
    column: Numbers,
    known: tuple[NDArray[np.float64], NDArray[np.float64]],
) -> None:
    sets = nodes[_category(tree)[nodes] >= 0]
    if len(sets):  # splits on category codes, which the plan reads unchanged
        if column.steps or column.constant is not None or not np.isnan(column.missing):
            raise DataError("a model splits on categories in a column that a step before it changes")
        assert tree.words is not None
        rows = tree.words[_category(tree)[sets]]
        new.category[sets] = new.add_sets(rows, tree.missing_left[sets]) + np.arange(len(sets))
    nodes = nodes[_category(tree)[nodes] < 0]
    given = tree.threshold[nodes]
    raw = known[1][np.searchsorted(known[0], given)]
    new.threshold[nodes] = raw
    if not np.isnan(column.missing):
        new.missing_left[nodes] = column.missing <= given
    stays_left = new.missing_left[nodes]
    new.decided[nodes[(raw == _LARGEST) & stays_left]] = _LEFT
    new.decided[nodes[(raw == -np.inf) & ~stays_left]] = _RIGHT


def _fold_categories(tree: Tree, new: _Folded, nodes: NDArray[np.int64], column: Categories) -> None:
    values = np.append(column.table, column.missing)
    for sets in (False, True):
        here = nodes[(_category(tree)[nodes] >= 0) == sets]
        if not len(here):
            continue
        keys = _category(tree)[here].astype(np.float64) if sets else tree.threshold[here]
        _, first, place = np.unique(keys, return_index=True, return_inverse=True)
        natural = np.array([_goes_left(tree, here[i], values) for i in first])
        missing = np.isnan(values)
        if sets:  # a value that is not a category code counts as missing
            missing |= (values < 0) | (values >= tree.n_codes) | (values != np.floor(values))
        for side in (False, True):  # missing values follow the direction of the split
            chosen = here[tree.missing_left[here] == side]
            left = np.where(missing, side, natural)
            _write_sets(new, chosen, left, place[tree.missing_left[here] == side])


def _goes_left(tree: Tree, node: int, values: NDArray[np.float64]) -> NDArray[np.bool_]:
    """Which values of a column go left at a node. The result for missing values is arbitrary."""
    row = _category(tree)[node]
    if row < 0:
        return np.less_equal(
            values, tree.threshold[node], where=~np.isnan(values), out=np.zeros(len(values), bool)
        )
    return np.array([tree.child(int(node), float(value)) == tree.left[node] for value in values])


def _write_sets(
    new: _Folded,
    nodes: NDArray[np.int64],
    left: NDArray[np.bool_],
    place: NDArray[np.int64],
) -> None:
    """Write splits on sets of categories: one row of `left` for each distinct split."""
    known, missing = left[:, :-1], left[:, -1]
    new.missing_left[nodes] = missing[place]
    everything, nothing = np.asarray(left.all(axis=1)), np.asarray(~left.any(axis=1))
    new.decided[nodes[everything[place]]] = _LEFT
    new.decided[nodes[nothing[place]]] = _RIGHT
    if known.shape[1] <= MAX_CATEGORY + 1:
        new.category[nodes] = new.add_sets(packed_words(known), missing) + place
        new.threshold[nodes] = 0.0
        return
    count = known.sum(axis=1)
    if any(one[:k].sum() != k for one, k in zip(known, count, strict=True)):
        raise DataError(
            f"the model splits on one of {known.shape[1]} categories, and a plan has sets of at most "
            f"{MAX_CATEGORY + 1}; join rare categories (max_categories of the encoder) and fit it again"
        )
    new.threshold[nodes] = count[place] - 0.5


def _pruned(
    tree: Tree, decided: NDArray[np.int64]
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
    """The remaining nodes, parents before children, and the children of each node."""
    feature, left, right, side = (x.tolist() for x in (tree.feature, tree.left, tree.right, decided))

    def kept(node: int) -> int:
        while feature[node] >= 0 and side[node] != _STAYS:
            node = left[node] if side[node] == _LEFT else right[node]
        return node

    order = [kept(0)]
    lefts, rights = [], []
    for node in order:  # the loop body appends to `order`
        if feature[node] < 0:
            lefts.append(0)
            rights.append(0)
            continue
        lefts.append(len(order))
        rights.append(len(order) + 1)
        order += [kept(left[node]), kept(right[node])]
    return np.array(order), np.array(lefts), np.array(rights)


# -- small trees ---------------------------------------------------------------------------------------------


def unit_tree() -> Tree:
    """A tree that is 1 for every row and reads nothing."""
    return _leaf_or_split([-1], [0.0], [0], [0], [False], [1.0])


def indicator_tree(source: int, present: float, missing: float) -> Tree:
    """A tree with one value for numbers and one for missing values.

    >>> indicator_tree(0, 2.0, 5.0).evaluate_one({0: np.nan})
    5.0
    """
    if present == missing:
        return _leaf_or_split([-1], [0.0], [0], [0], [False], [present])
    return _leaf_or_split(
        [source, -1, -1], [_LARGEST, 0.0, 0.0], [1, 0, 0], [2, 0, 0], [False] * 3, [0.0, present, missing]
    )


def lookup_tree(source: int, table: NDArray[np.float64], missing: float) -> Tree:
    """A tree with one value for each category, and one for missing values.

    >>> tree = lookup_tree(0, np.array([1.0, 1.0, 4.0]), missing=-1.0)
    >>> [tree.evaluate_one({0: code}) for code in (0.0, 1.0, 2.0, np.nan)]
    [1.0, 1.0, 4.0, -1.0]
    """
    nodes: list[list[float]] = []  # feature, threshold, left, right, value, set

    def add(first: int, last: int) -> int:
        """A tree of the categories from `first` to before `last`."""
        place = len(nodes)
        nodes.append([-1, 0.0, 0, 0, float(table[first]), -1])
        if (table[first:last] != table[first]).any():
            middle = (first + last) // 2
            _split(nodes[place], source, range(first, middle), middle)
            nodes[place][2], nodes[place][3] = add(first, middle), add(middle, last)
        return place

    sets: list[NDArray[np.uint32]] = []
    use_sets = len(table) <= _FEW_CATEGORIES

    def _split(node: list[float], feature: int, codes: range, threshold: int) -> None:
        node[0] = feature
        if use_sets:
            node[5] = len(sets)
            sets.append(category_words(list(codes)))
        else:
            node[1] = threshold - 0.5

    nodes.append([-1, 0.0, 0, 0, missing, -1])
    _split(nodes[0], source, range(len(table)), len(table) + 1)
    nodes[0][2] = add(0, len(table))
    nodes[0][3] = len(nodes)
    nodes.append([-1, 0.0, 0, 0, missing, -1])
    feature, threshold, left, right, value, category = (list(part) for part in zip(*nodes, strict=True))
    return Tree(
        np.array(feature), np.array(threshold), np.array(left), np.array(right),
        np.zeros(len(nodes), dtype=np.bool_), np.array(value), np.array(category),
        np.array(sets, dtype=np.uint32).reshape(-1, 8),
    )  # fmt: skip


def _leaf_or_split(
    feature: list[int], threshold: list[float], left: list[int], right: list[int], missing: list[bool],
    value: list[float],
) -> Tree:  # fmt: skip
    parts: Any = [np.array(part) for part in (feature, threshold, left, right, missing, value)]
    return Tree(*parts)
