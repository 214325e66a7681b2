"""What a plan computes from features: a raw value, a regression tree, a kernel against a vector.

A term is evaluated at most once per example and cached. It knows which features it may need (`features`)
and what evaluating it costs once they are there (`evaluation`).
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, ClassVar, TypeAlias

import numpy as np
from numpy.typing import NDArray

from miserly.errors import PlanError

__all__ = ["KERNELS", "MAX_CATEGORY", "Kernel", "Raw", "Term", "Tree", "category_words"]

KERNELS = ("linear", "rbf", "poly", "sigmoid")
MAX_CATEGORY = 255  # category codes are 0..255: eight 32-bit words of a bit set
_WORDS = 8


@dataclass(frozen=True)
class Raw:
    """The value of one feature; `fill` stands in where it is missing."""

    kind: ClassVar[str] = "raw"
    feature: int
    fill: float = 0.0
    evaluation: float = 0.0

    @property
    def features(self) -> NDArray[np.int64]:
        return np.array([self.feature], dtype=np.int64)


@dataclass(frozen=True, eq=False)
class Tree:
    """A binary regression tree in flat arrays, node 0 the root, children after their parent.

    Node `i` is a leaf if ``feature[i] < 0`` and then holds ``value[i]``. Otherwise an example goes to
    ``left[i]`` if its feature's value is ``<= threshold[i]``, to ``right[i]`` if it is greater, and where
    ``missing_left[i]`` says if it is missing. If ``category[i] >= 0`` the split is on a categorical feature:
    left if bit `code` is set in row ``category[i]`` of `words`; codes that are no whole number in 0..255
    count as missing.
    """

    kind: ClassVar[str] = "tree"
    feature: NDArray[np.int32]
    threshold: NDArray[np.float64]
    left: NDArray[np.int32]
    right: NDArray[np.int32]
    missing_left: NDArray[np.bool_]
    value: NDArray[np.float64]
    category: NDArray[np.int32] | None = None
    words: NDArray[np.uint32] | None = None
    evaluation: float = 0.0
    features: NDArray[np.int64] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        put = object.__setattr__
        n = len(self.feature)
        for name, dtype in _TREE_ARRAYS.items():
            array = getattr(self, name)
            if array is None:
                array = np.full(n, -1, np.int32) if name == "category" else np.zeros((0, _WORDS), np.uint32)
            array = np.ascontiguousarray(array, dtype=dtype)
            if name != "words" and array.shape != (n,):
                raise PlanError(f"a tree of {n} nodes has {name!r} of shape {array.shape}")
            put(self, name, array)
        assert self.words is not None and self.category is not None
        if n == 0 or self.words.ndim != 2 or self.words.shape[1] != _WORDS:
            raise PlanError("a tree needs at least one node, and category words in rows of eight")
        put(self, "features", np.unique(self.feature[self.feature >= 0]).astype(np.int64))
        self._check()

    def _check(self) -> None:
        """Children come after their parent and have only one, so that a walk always ends."""
        n = len(self.feature)
        inner = np.flatnonzero(self.feature >= 0)
        children = np.concatenate([self.left[inner], self.right[inner]])
        parents = np.concatenate([inner, inner])
        if children.size and (children.max() >= n or (children <= parents).any()):
            raise PlanError("a tree's children must come after their parent, inside the tree")
        if len(np.unique(children)) != len(children) or len(children) != n - 1:
            raise PlanError("every node of a tree but the root must have exactly one parent")
        rows = self.category[inner]  # type: ignore[index]
        if rows.size and rows.max() >= len(self.words):  # type: ignore[arg-type]
            raise PlanError("a tree's categorical split points outside its category words")
        if not np.isfinite(self.value[self.feature < 0]).all() or np.isnan(self.threshold[inner]).any():
            raise PlanError("a tree's leaf values must be finite and its thresholds numbers")

    @property
    def n_leaves(self) -> int:
        return int((self.feature < 0).sum())

    @property
    def depth(self) -> int:
        """The longest walk from the root to a leaf, in splits."""
        level = np.zeros(len(self.feature), dtype=np.int64)
        for i in np.flatnonzero(self.feature >= 0):
            level[self.left[i]] = level[self.right[i]] = level[i] + 1
        return int(level.max())

    def child(self, node: int, x: float) -> int:
        """Where an example with value `x` goes from an inner node."""
        assert self.category is not None and self.words is not None
        row = self.category[node]
        if row < 0:
            left = self.missing_left[node] if x != x else x <= self.threshold[node]
        elif 0 <= x <= MAX_CATEGORY and x == int(x):
            left = bool(int(self.words[row, int(x) >> 5]) >> (int(x) & 31) & 1)
        else:
            left = self.missing_left[node]
        return int(self.left[node] if left else self.right[node])

    def scaled(self, factor: float) -> Tree:
        """The same tree with every leaf times `factor`."""
        arrays = {name: getattr(self, name) for name in _TREE_ARRAYS}
        return Tree(**{**arrays, "value": self.value * factor}, evaluation=self.evaluation)


@dataclass(frozen=True, eq=False)
class Kernel:
    """A kernel between the example and `vector`: linear, rbf, poly or sigmoid, as in scikit-learn's `SVC`.

    `fill` stands in, feature by feature, where a value is missing. For rbf, what a feature differs by is
    multiplied by its `scale`: a machine behind a scaler is one over the raw features.
    """

    kind: ClassVar[str] = "kernel"
    vector: NDArray[np.float64]
    kernel: str = "rbf"
    gamma: float = 1.0
    coef0: float = 0.0
    degree: int = 3
    fill: NDArray[np.float64] | None = None
    evaluation: float = 0.0
    scale: NDArray[np.float64] | None = None

    def __post_init__(self) -> None:
        put = object.__setattr__
        put(self, "vector", np.ascontiguousarray(self.vector, dtype=np.float64))
        fill = np.zeros(len(self.vector)) if self.fill is None else self.fill
        put(self, "fill", np.ascontiguousarray(fill, dtype=np.float64))
        scale = np.ones(len(self.vector)) if self.scale is None else self.scale
        put(self, "scale", np.ascontiguousarray(scale, dtype=np.float64))
        if self.kernel not in KERNELS:
            raise PlanError(f"unknown kernel {self.kernel!r}: one of {', '.join(KERNELS)}")
        assert self.fill is not None and self.scale is not None
        if self.vector.ndim != 1 or {self.fill.shape, self.scale.shape} != {self.vector.shape}:
            raise PlanError("a kernel term needs one vector, one fill value and one scale per feature")
        if not np.isfinite(self.scale).all() or (self.kernel != "rbf" and (self.scale != 1.0).any()):
            raise PlanError("the scales of a kernel term must be finite, and 1 unless its kernel is rbf")
        if not np.isfinite([self.gamma, self.coef0]).all() or not np.isfinite(self.vector).all():
            raise PlanError("a kernel term's vector and parameters must be finite")
        if self.degree != int(self.degree) or not 0 <= self.degree <= 64:
            raise PlanError(f"a kernel's degree is a whole number from 0 to 64, not {self.degree!r}")

    @property
    def features(self) -> NDArray[np.int64]:
        return np.arange(len(self.vector), dtype=np.int64)


Term: TypeAlias = Raw | Tree | Kernel

_TREE_ARRAYS: dict[str, Any] = {
    "feature": np.int32,
    "threshold": np.float64,
    "left": np.int32,
    "right": np.int32,
    "missing_left": np.bool_,
    "value": np.float64,
    "category": np.int32,
    "words": np.uint32,
}


def category_words(codes: Any) -> NDArray[np.uint32]:
    """The bit set of some category codes, as one row of `Tree.words`.

    >>> category_words([0, 33])[:3].tolist()
    [1, 2, 0]
    """
    words = np.zeros(_WORDS, dtype=np.uint32)
    for code in np.asarray(codes, dtype=np.int64):
        words[code >> 5] |= np.uint32(1) << np.uint32(code & 31)
    return words
