"""A regression tree."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from miserly.errors import PlanError, PlanFormatError
from miserly.plan.show.phrases import listing, number, plain, plural
from miserly.plan.store.container import Arrays, Schema, bounds, check_bounds, joined, read_bools
from miserly.plan.terms.base import Buy, Sizes, Term, register
from miserly.plan.terms.categories import MAX_WORDS, N_WORDS
from miserly.plan.terms.tree_tables import Trees, lay_out_trees

if TYPE_CHECKING:
    from miserly.plan.show.wording import Wording

__all__ = ["Tree", "Trees"]

_MOST_CATEGORIES = 5  # named in a rule
_WIDTHS = range(N_WORDS, MAX_WORDS + 1, N_WORDS)

_DTYPES: dict[str, Any] = {
    "feature": np.int32,
    "threshold": np.float64,
    "left": np.int32,
    "right": np.int32,
    "missing_left": np.bool_,
    "value": np.float64,
    "category": np.int32,
    "words": np.uint32,
}
_COLUMNS = tuple(name for name in _DTYPES if name != "words")


@register
@dataclass(frozen=True, eq=False)
class Tree(Term):
    """A binary regression tree in flat arrays, node 0 the root, children after their parent.

    Node `i` is a leaf if ``feature[i] < 0`` and then holds ``value[i]``. Otherwise a row goes to ``left[i]``
    if its feature's value is ``<= threshold[i]``, to ``right[i]`` if it is greater, and where
    ``missing_left[i]`` says if it is missing. If ``category[i] >= 0`` the split is on a categorical feature:
    left if bit `code` is set in row ``category[i]`` of `words`. Codes that are not whole numbers, or that
    have no bit, count as missing.

    Parameters
    ----------
    feature, threshold, left, right, missing_left, value : arrays of n_nodes
        As above.
    category : array of n_nodes, optional
        -1 for splits on numbers, which is the default.
    words : array of (n_sets, 8), optional
        Bit sets of category codes 0..255, as `category_words` makes them. For larger codes, rows have 16, 24
        and so on up to 2048 words.
    evaluation : float, default=0.0
        What evaluating the term costs.
    """

    kind: ClassVar[str] = "tree"
    code: ClassVar[int] = 1
    by_path: ClassVar[bool] = True
    schemas: ClassVar[Mapping[int, Schema]] = {
        1: {
            "tree_start": ("<i8", ("tree bounds",)),
            "tree_words_start": ("<i8", ("tree bounds",)),
            "tree_feature": ("<i4", ("tree nodes",)),
            "tree_threshold": ("<f8", ("tree nodes",)),
            "tree_left": ("<i4", ("tree nodes",)),
            "tree_right": ("<i4", ("tree nodes",)),
            "tree_missing_left": ("|u1", ("tree nodes",)),
            "tree_value": ("<f8", ("tree nodes",)),
            "tree_category": ("<i4", ("tree nodes",)),
            "tree_words": ("<u4", ("category rows", N_WORDS)),
        },
        5: {"tree_span": ("<i4", ("trees",))},
    }
    feature: NDArray[np.int32]
    threshold: NDArray[np.float64]
    left: NDArray[np.int32]
    right: NDArray[np.int32]
    missing_left: NDArray[np.bool_]
    value: NDArray[np.float64]
    category: NDArray[np.int32] | None = None
    words: NDArray[np.uint32] | None = None
    evaluation: float = 0.0

    def __post_init__(self) -> None:
        put = object.__setattr__
        n = len(self.feature)
        for name, dtype in _DTYPES.items():
            array = getattr(self, name)
            if array is None:
                array = np.full(n, -1, np.int32) if name == "category" else np.zeros((0, N_WORDS), np.uint32)
            array = np.ascontiguousarray(array, dtype=dtype)
            if name != "words" and array.shape != (n,):
                raise PlanError(f"a tree of {n} nodes has {name!r} of shape {array.shape}")
            put(self, name, array)
        if n == 0 or self._words.ndim != 2 or self._words.shape[1] not in _WIDTHS:
            raise PlanError("a tree needs at least one node, and category words in rows of eight")
        self._check()

    @classmethod
    def valid(cls, **fields: Any) -> Tree:
        """Return a tree without checking it, for growers of many trees.

        Parameters
        ----------
        **fields
            Every parameter of the class: contiguous arrays of the right types that describe a tree.

        Returns
        -------
        Tree
        """
        tree = object.__new__(cls)
        tree.__dict__.update(fields)
        return tree

    def _check(self) -> None:
        """Children come after their parent and have only one, so that a walk always ends."""
        n = len(self.feature)
        inner = np.flatnonzero(self.feature >= 0)
        children = np.concatenate([self.left[inner], self.right[inner]])
        parents = np.concatenate([inner, inner])
        if children.size and (children.max() >= n or (children <= parents).any()):
            raise PlanError("a tree's children must come after their parent, inside the tree")
        has_parent = np.zeros(n, dtype=np.bool_)
        has_parent[children] = True
        if int(has_parent.sum()) != n - 1 or len(children) != n - 1:
            raise PlanError("every node of a tree but the root must have exactly one parent")
        rows = self._category[inner]
        if rows.size and rows.max() >= len(self._words):
            raise PlanError("a tree's categorical split points outside its category words")
        if not np.isfinite(self.value[self.feature < 0]).all() or np.isnan(self.threshold[inner]).any():
            raise PlanError("a tree's leaf values must be finite and its thresholds numbers")

    @property
    def _category(self) -> NDArray[np.int32]:
        assert self.category is not None
        return self.category

    @property
    def _words(self) -> NDArray[np.uint32]:
        assert self.words is not None
        return self.words

    @property
    def n_codes(self) -> int:
        """The number of category codes that there are bits for."""
        return 32 * self._words.shape[1]

    @property
    def span(self) -> int:
        """The number of rows of eight words that a set of categories takes in tables and files."""
        return self._words.shape[1] // N_WORDS

    @property
    def file_version(self) -> int:
        return 5 if self.span > 1 else 1

    @cached_property
    def features(self) -> NDArray[np.int64]:
        return np.array(sorted(f for f in {*self.feature.tolist()} if f >= 0), dtype=np.int64)

    @property
    def reading_order(self) -> list[int]:
        return [feature for feature in dict.fromkeys(self.feature.tolist()) if feature >= 0]

    @property
    def n_leaves(self) -> int:
        """The number of leaves."""
        return int((self.feature < 0).sum())

    @property
    def depth(self) -> int:
        """The longest walk from the root to a leaf, in splits."""
        level = np.zeros(len(self.feature), dtype=np.int64)
        for i in np.flatnonzero(self.feature >= 0):
            level[self.left[i]] = level[self.right[i]] = level[i] + 1
        return int(level.max())

    @property
    def plain(self) -> bool:
        return bool((self._category < 0).all())

    def scaled(self, factor: float) -> Tree:
        """The same tree with other leaves.

        Parameters
        ----------
        factor : float
            Every leaf is multiplied by it.

        Returns
        -------
        Tree
        """
        arrays = {name: getattr(self, name) for name in _DTYPES}
        return Tree(**{**arrays, "value": self.value * factor}, evaluation=self.evaluation)

    def evaluate(self, X: NDArray[Any], rows: NDArray[np.int64]) -> NDArray[np.float64]:
        return self.evaluate_paying(X, rows, _for_free)[0]

    def evaluate_paying(
        self, X: NDArray[Any], rows: NDArray[np.int64], buy: Buy
    ) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
        node = np.zeros(len(rows), dtype=np.int64)
        through = np.ones(len(rows), dtype=np.bool_)
        moving = np.arange(len(rows) if self.feature[0] >= 0 else 0)
        while moving.size:
            at = node[moving]
            features = self.feature[at].astype(np.int64)
            fitted = buy(rows[moving], features)
            if not fitted.all():
                through[moving[~fitted]] = False
                moving, at, features = moving[fitted], at[fitted], features[fitted]
            left = self._go_left(at, X[rows[moving], features].astype(np.float64))
            at = np.where(left, self.left[at], self.right[at])
            node[moving] = at
            moving = moving[self.feature[at] >= 0]
        return self.value[node], through

    def _go_left(self, node: NDArray[np.int64], x: NDArray[np.float64]) -> NDArray[np.bool_]:
        """Which rows go left, each at its node and with its value."""
        left = np.where(np.isnan(x), self.missing_left[node], x <= self.threshold[node])
        row = self._category[node]
        choose = np.flatnonzero(row >= 0)
        if choose.size:
            value = x[choose]
            known = (value >= 0) & (value < self.n_codes) & (value == np.floor(value))
            code = np.where(known, value, 0).astype(np.int64)
            bits = self._words[row[choose], code >> 5] >> (code & 31).astype(np.uint32)
            left[choose] = np.where(known, (bits & np.uint32(1)) != 0, self.missing_left[node[choose]])
        return left.astype(np.bool_)

    @property
    def bounds(self) -> tuple[float, float]:
        leaves = self.value[self.feature < 0]
        return float(leaves.min()), float(leaves.max())

    def reachable(
        self, X: NDArray[Any], rows: NDArray[np.int64], known: NDArray[np.bool_]
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        low, high = np.empty((2, len(self.feature), len(rows)))
        for i in reversed(range(len(self.feature))):
            f = self.feature[i]
            if f < 0:
                low[i] = high[i] = self.value[i]
                continue
            one, other = self.left[i], self.right[i]
            goes_left = self._go_left(np.full(len(rows), i), X[rows, f].astype(np.float64))
            for ends, extreme in ((low, np.minimum), (high, np.maximum)):
                taken = np.where(goes_left, ends[one], ends[other])
                ends[i] = np.where(known[:, f], taken, extreme(ends[one], ends[other]))
        return low[0], high[0]

    def child(self, node: int, x: float) -> int:
        """The child that a row goes to.

        Parameters
        ----------
        node : int
            An inner node.
        x : float
            The row's value of the feature of the node.

        Returns
        -------
        int
            A node.
        """
        assert self.category is not None and self.words is not None
        row = self.category[node]
        if row < 0:
            left = self.missing_left[node] if x != x else x <= self.threshold[node]
        elif 0 <= x < self.n_codes and x == int(x):
            left = bool(int(self.words[row, int(x) >> 5]) >> (int(x) & 31) & 1)
        else:
            left = self.missing_left[node]
        return int(self.left[node] if left else self.right[node])

    def reads(self, known: Mapping[int, float]) -> Iterator[int]:
        node = 0
        while (feature := int(self.feature[node])) >= 0:
            yield feature
            node = self.child(node, known[feature])

    def evaluate_one(self, known: Mapping[int, float]) -> float:
        node = 0
        while (feature := int(self.feature[node])) >= 0:
            node = self.child(node, known[feature])
        return float(self.value[node])

    # -- tables and files ----------------------------------------------------------------------------

    @classmethod
    def lay_out(cls, terms: Sequence[Tree], n_features: int) -> tuple[Trees, list[int]]:
        return lay_out_trees(terms)

    @classmethod
    def pack(cls, terms: Sequence[Tree], n_features: int) -> Arrays:
        arrays: Arrays = {
            "tree_start": bounds([len(tree.feature) for tree in terms]),
            "tree_words_start": bounds([len(tree._words) * tree.span for tree in terms]),
        }
        for name in _COLUMNS:
            arrays[f"tree_{name}"] = joined([getattr(tree, name) for tree in terms])
        arrays["tree_words"] = joined([tree._words.ravel() for tree in terms]).reshape(-1, N_WORDS)
        arrays["tree_span"] = np.array([tree.span for tree in terms], dtype=np.int32)
        return arrays

    @classmethod
    def unpack(cls, arrays: Arrays, evaluations: Sequence[float]) -> list[Tree]:
        columns = {name: arrays[f"tree_{name}"] for name in _COLUMNS}
        columns["missing_left"] = read_bools(arrays, "tree_missing_left")
        start = arrays["tree_start"].tolist()
        words = arrays["tree_words_start"].tolist()
        width = (
            N_WORDS * arrays.get("tree_span", np.ones(len(words) - 1, np.int32)).astype(np.int64)
        ).tolist()
        return [
            cls(
                **{name: column[start[i] : start[i + 1]] for name, column in columns.items()},
                words=arrays["tree_words"][words[i] : words[i + 1]].reshape(-1, width[i]),
                evaluation=evaluation,
            )
            for i, evaluation in enumerate(evaluations)
        ]

    @classmethod
    def check_arrays(cls, arrays: Arrays, sizes: Sizes) -> int:
        check_bounds(arrays, "tree_start", sizes["tree nodes"])
        check_bounds(arrays, "tree_words_start", sizes["category rows"])
        if "tree_span" in arrays:
            span, rows = arrays["tree_span"], np.diff(arrays["tree_words_start"])
            if len(span) != sizes["tree bounds"] - 1 or ((span < 1) | (N_WORDS * span > MAX_WORDS)).any():
                raise PlanFormatError("'tree_span' must hold a number from 1 to 256 for each tree")
            if (rows % span).any():
                raise PlanFormatError("the category words of a tree are not whole sets")
        return sizes["tree bounds"] - 1

    @property
    def n_rules(self) -> int:
        return self.n_leaves

    def name_words(self, place: int, words: Wording) -> str:
        return f"tree {place}"

    @classmethod
    def sum_words(cls, terms: Sequence[Tree], words: Wording) -> str:
        return f"{plural(len(terms), 'tree')}{_over(terms, words)}"

    def alone_words(self, words: Wording) -> str:
        return f"the value of a tree with {self.n_leaves} leaves{_over([self], words)}"

    def rules(self, weight: float, words: Wording) -> list[str]:
        def below(i: int, indent: str, lead: str) -> list[str]:
            if self.feature[i] < 0:
                return [f"{indent}{lead}{number(weight * float(self.value[i]))}"]
            inner = indent + ("  " if lead else "")
            return [
                *([f"{indent}{lead}".rstrip()] if lead else []),
                *below(int(self.left[i]), inner, f"if {self._question(i, words)}: "),
                *below(int(self.right[i]), inner, "otherwise: "),
            ]

        return below(0, "  ", "")

    def _question(self, i: int, words: Wording) -> str:
        """What sends a row left at node `i`."""
        feature, row = int(self.feature[i]), int(self._category[i])
        name = words.feature(feature)
        missing = " or missing" if self.missing_left[i] else ""
        if row < 0:
            return f"{name} <= {number(float(self.threshold[i]))}{missing}"
        bits = np.unpackbits(self._words[row].astype("<u4").view(np.uint8), bitorder="little")
        codes = np.flatnonzero(bits).tolist()
        known = words.plan.categories.get(feature)
        if known is not None:
            codes = [code for code in codes if code < len(known)]
        shown = codes if len(codes) <= _MOST_CATEGORIES else codes[: _MOST_CATEGORIES - 1]
        values = [plain(known[code]) if known is not None else str(code) for code in shown]
        return f"{name} is {listing(values, len(codes) - len(shown), last='or')}{missing}"


def _over(trees: Sequence[Tree], words: Wording) -> str:
    used = np.unique(np.concatenate([tree.features for tree in trees])).tolist()
    return f" over {words.features(used)}" if used else ""


def _for_free(rows: NDArray[np.int64], features: NDArray[np.int64]) -> NDArray[np.bool_]:
    return np.ones(len(rows), dtype=np.bool_)
