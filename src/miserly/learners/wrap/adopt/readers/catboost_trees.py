"""Trees of CatBoost as trees of a plan.

CatBoost rounds values to float32 and compares ``value > border``. The results of all comparisons of an
oblivious tree are the bits of its leaf number. A subtree whose leaves are all equal becomes one leaf.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from miserly.errors import DataError
from miserly.learners.wrap.adopt.readers.document import Document
from miserly.learners.wrap.adopt.readers.xgboost_trees import below_float32
from miserly.learners.wrap.adopt.trees import MAX_DEPTH, Slot, TreeBuilder
from miserly.plan.terms import Tree, packed_words

__all__ = ["Columns", "read_nested", "read_oblivious"]

_MAX_LEVELS = 16


@dataclass(frozen=True, eq=False)
class Columns:
    """The columns of a model.

    Attributes
    ----------
    floats : dict of int to tuple
        By number of a numeric feature: its column, and whether missing values are above all borders.
    categorical : dict of int to int
        By number of a categorical feature: its column.
    codes : dict of int to dict
        By categorical column: the codes of the categories with each hash.
    names : dict of int to str
        The name of each column, for errors.
    """

    floats: dict[int, tuple[int, bool]] = field(default_factory=dict)
    categorical: dict[int, int] = field(default_factory=dict)
    codes: dict[int, dict[int, list[int]]] = field(default_factory=dict)
    names: dict[int, str] = field(default_factory=dict)


@dataclass(frozen=True, eq=False)
class _Question:
    """A split. Rows for which it is false go left."""

    column: int
    threshold: float
    missing_left: bool
    words: NDArray[np.uint32] | None = None

    def ask(self, builder: TreeBuilder, slot: Slot) -> int:
        return builder.split(slot, self.column, self.threshold, self.missing_left, self.words)


def _question(split: Document, columns: Columns) -> _Question:
    kind = split.text("split_type")
    if kind == "FloatFeature":
        number = split.whole("float_feature_index", 0, 1 << 30)
        if number not in columns.floats:
            raise DataError(f"{split.where} asks for feature {number}, which the model does not list")
        column, missing_is_high = columns.floats[number]
        with np.errstate(over="ignore"):
            border = np.nextafter(np.array([split.number("border")], dtype=np.float32), np.float32(np.inf))
        return _Question(column, float(below_float32(border)[0]), not missing_is_high)
    if kind == "OneHotFeature":
        number = split.whole("cat_feature_index", 0, 1 << 30)
        if number not in columns.categorical:
            raise DataError(f"{split.where} asks for categories {number}, which the model does not list")
        return _one_hot(split, columns.categorical[number], columns)
    raise DataError(
        f"{split.where} is of the kind {kind!r}{_of_whom(kind, columns)}. Plans have splits on numbers and "
        "on single categories only: fit the model with one_hot_max_size=255 (at least the number of "
        "categories), or encode such columns as numbers first"
    )


def _one_hot(split: Document, column: int, columns: Columns) -> _Question:
    value = Document({"value": [split.get("value")]}, split.where).whole_numbers("value", 1)[0]
    codes = columns.codes.get(column)
    if codes is None:
        raise DataError(
            f"column {columns.names[column]!r} holds categories that the file knows only by their hashes; "
            "export it with the table of categories: "
            "model.save_model('model.json', format='json', pool=Pool(X, cat_features=...)). For a model "
            "object give categories={column: values}"
        )
    found = codes.get(int(value) & 0xFFFFFFFF, [])
    n_codes = 256 * -(-(1 + max(map(max, codes.values()), default=0)) // 256)
    right = np.ones((1, n_codes), dtype=np.bool_)
    right[0, found] = False
    return _Question(column, 0.0, True, packed_words(right)[0])


def _of_whom(kind: str, columns: Columns) -> str:
    """The columns that a split on statistics of categories may use, for errors."""
    if kind != "OnlineCtr":
        return ""
    named = ", ".join(repr(columns.names[column]) for column in columns.categorical.values())
    return f" (statistics of the categories of {named})"


def read_oblivious(tree: Document, columns: Columns, n_scores: int) -> list[Tree]:
    """Read an oblivious tree.

    Parameters
    ----------
    tree : Document
        An entry of "oblivious_trees".
    columns : Columns
        The columns of the model.
    n_scores : int
        The number of scores; each gets a tree.

    Returns
    -------
    list of Tree
    """
    splits = tree.inners("splits") if tree.get("splits") is not None else []
    if len(splits) > _MAX_LEVELS:
        raise DataError(f"{tree.where} has {len(splits)} levels, more than {_MAX_LEVELS}")
    values = tree.numbers("leaf_values", (1 << len(splits)) * n_scores).reshape(-1, n_scores)
    questions = [_question(split, columns) for split in splits]
    return [_grown(tree.where, questions, values[:, k]) for k in range(n_scores)]


def _grown(where: str, questions: Sequence[_Question], values: NDArray[np.float64]) -> Tree:
    """Build the tree of one score. Question 0 is the root, and the lowest bit of a leaf number."""
    builder = TreeBuilder(where)
    todo: list[tuple[int, Slot, NDArray[np.float64]]] = [(0, builder.root, values)]
    while todo:
        level, slot, leaves = todo.pop()
        if (leaves == leaves[0]).all():
            builder.leaf(slot, float(leaves[0]))
            continue
        node = questions[level].ask(builder, slot)
        todo.append((level + 1, builder.right_of(node), leaves[1::2]))
        todo.append((level + 1, builder.left_of(node), leaves[0::2]))
    return builder.tree()


def read_nested(tree: Document, columns: Columns, n_scores: int) -> list[Tree]:
    """Read a tree of nested splits (``grow_policy="Lossguide"`` or ``"Depthwise"``).

    Parameters
    ----------
    tree : Document
        An entry of "trees".
    columns : Columns
        The columns of the model.
    n_scores : int
        The number of scores; each gets a tree.

    Returns
    -------
    list of Tree
    """
    builders = [TreeBuilder(tree.where) for _ in range(n_scores)]
    todo: list[tuple[Any, Slot, int]] = [(tree.values, TreeBuilder.root, 0)]
    while todo:
        values, slot, depth = todo.pop()
        node = Document(values, tree.where)
        if depth > MAX_DEPTH:
            raise DataError(f"{tree.where} has more than {MAX_DEPTH} levels")
        if "split" not in node:
            leaf = node.get("value")
            found = Document({"value": leaf if isinstance(leaf, list) else [leaf]}, tree.where)
            for builder, value in zip(builders, found.numbers("value", n_scores).tolist(), strict=True):
                builder.leaf(slot, value)
            continue
        question = _question(node.inner("split"), columns)
        place = max(question.ask(builder, slot) for builder in builders)  # the same in all
        todo.append((node.get("right"), TreeBuilder.right_of(place), depth + 1))
        todo.append((node.get("left"), TreeBuilder.left_of(place), depth + 1))
    return [builder.tree() for builder in builders]
