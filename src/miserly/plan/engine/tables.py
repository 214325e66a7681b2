"""The plan in flat arrays: what compiled code runs on.

Trees of all terms are laid end to end, renumbered so that a right child follows its left sibling and a leaf
leads to itself; a walk of as many steps as the tree is deep then needs no test for leaves. Each entry of a
node knows whether its term is *fresh*, that is, met for the first time on the way from the root: the way to
a node is unique, so this is known beforehand, and nobody has to remember per example what was evaluated.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from miserly.plan.nodes import LEAVE
from miserly.plan.terms import KERNELS, Kernel, Raw, Term, Tree

if TYPE_CHECKING:
    from miserly.plan.plan import Plan

__all__ = ["Tables", "chain_arrays"]

RAW, TREE, KERNEL = 0, 1, 2


class Trees(NamedTuple):
    """All trees end to end."""

    feature: NDArray[np.int32]  # -1 at leaves
    look: NDArray[np.int32]  # the same, 0 at leaves: always a column that exists
    threshold: NDArray[np.float64]
    left: NDArray[np.int32]  # the right child is the next one; a leaf leads to itself
    missing: NDArray[np.bool_]
    value: NDArray[np.float64]
    category: NDArray[np.int32]
    words: NDArray[np.uint32]


class Kernels(NamedTuple):
    kind: NDArray[np.int8]
    vector: NDArray[np.float64]
    fill: NDArray[np.float64]
    scale: NDArray[np.float64]
    gamma: NDArray[np.float64]
    coef0: NDArray[np.float64]
    degree: NDArray[np.int64]


class Terms(NamedTuple):
    kind: NDArray[np.int8]
    start: NDArray[np.int64]  # root of the tree, row of the kernel, or feature
    depth: NDArray[np.int64]
    plain: NDArray[np.bool_]  # a tree without categorical splits
    fill: NDArray[np.float64]
    evaluation: NDArray[np.float64]
    pointer: NDArray[np.int64]  # features of term t: features[pointer[t]:pointer[t + 1]]
    features: NDArray[np.int64]


class Nodes(NamedTuple):
    """Nodes, and their entries: node k adds entries pointer[k] to pointer[k + 1]."""

    pointer: NDArray[np.int64]
    term: NDArray[np.int64]
    channel: NDArray[np.int64]
    weight: NDArray[np.float64]
    fresh: NDArray[np.bool_]
    slot: NDArray[np.int64]  # where the term's values are kept for nodes to come; -1 if none asks for them

    bias: NDArray[np.float64]
    inherits: NDArray[np.bool_]
    gate: NDArray[np.int8]  # its code
    listwise: NDArray[np.bool_]
    number: NDArray[np.float64]  # of the gate, as `Gate.numbers` gives them
    whole: NDArray[np.int64]
    up: NDArray[np.int64]
    low: NDArray[np.int64]
    n_outputs: int
    logistic: bool


class Prices(NamedTuple):
    own: NDArray[np.float64]
    group: NDArray[np.int64]
    setup: NDArray[np.float64]


class Tables(NamedTuple):
    """The whole plan."""

    trees: Trees
    kernels: Kernels
    terms: Terms
    nodes: Nodes
    prices: Prices

    @classmethod
    def of(cls, plan: Plan) -> Tables:
        trees, starts = _lay_out([t for t in plan.terms if isinstance(t, Tree)])
        return cls(
            trees,
            _kernels([t for t in plan.terms if isinstance(t, Kernel)], plan.n_features),
            _terms(plan.terms, starts),
            _nodes(plan),
            Prices(np.array(plan.costs.feature), np.array(plan.costs.group), np.array(plan.costs.setup)),
        )


def chain_arrays(tables: Tables) -> tuple[NDArray[Any], ...]:
    """What scoring an additive chain of plain trees needs, in the order `score_few` takes it."""
    trees, terms, nodes = tables.trees, tables.terms, tables.nodes
    return (
        trees.look,
        trees.left,
        trees.threshold,
        trees.missing,
        trees.value,
        nodes.pointer,
        terms.start[nodes.term],
        terms.depth[nodes.term],
        nodes.weight,
        nodes.channel,
        nodes.bias,
    )


def _lay_out(trees: list[Tree]) -> tuple[Trees, list[int]]:
    """All trees end to end, siblings adjacent, and where each one starts."""
    n = sum(len(tree.feature) for tree in trees)
    feature = np.full(n, -1, np.int32)
    threshold = np.full(n, np.inf)
    left = np.arange(n, dtype=np.int32)
    missing = np.ones(n, np.bool_)
    value = np.zeros(n)
    category = np.full(n, -1, np.int32)
    words: list[NDArray[np.uint32]] = []
    starts: list[int] = []
    start = first_word = 0
    for tree in trees:
        place = start + _siblings_adjacent(tree)
        inner = tree.feature >= 0
        at = place[inner]
        feature[at] = tree.feature[inner]
        threshold[at] = tree.threshold[inner]
        left[at] = place[tree.left[inner]]
        missing[at] = tree.missing_left[inner]
        value[place[~inner]] = tree.value[~inner]
        rows = np.asarray(tree.category)[inner]
        category[at] = np.where(rows >= 0, rows + first_word, -1)
        words.append(np.asarray(tree.words))
        starts.append(start)
        start += len(place)
        first_word += len(np.asarray(tree.words))
    look = np.maximum(feature, 0).astype(np.int32)
    bits = np.concatenate([*words, np.zeros((1, 8), np.uint32)])
    return Trees(feature, look, threshold, left, missing, value, category, bits), starts


def _siblings_adjacent(tree: Tree) -> NDArray[np.int64]:
    """The new place of each node: parents before children, the right child right after the left one."""
    place = np.zeros(len(tree.feature), dtype=np.int64)
    following = 1
    for i in np.flatnonzero(tree.feature >= 0):
        place[tree.left[i]], place[tree.right[i]] = following, following + 1
        following += 2
    return place


def _kernels(kernels: list[Kernel], n_features: int) -> Kernels:
    return Kernels(
        kind=np.array([KERNELS.index(k.kernel) for k in kernels], dtype=np.int8),
        vector=np.array([k.vector for k in kernels], dtype=float).reshape(-1, n_features),
        fill=np.array([k.fill for k in kernels], dtype=float).reshape(-1, n_features),
        scale=np.array([k.scale for k in kernels], dtype=float).reshape(-1, n_features),
        gamma=np.array([k.gamma for k in kernels], dtype=float),
        coef0=np.array([k.coef0 for k in kernels], dtype=float),
        degree=np.array([k.degree for k in kernels], dtype=np.int64),
    )


def _terms(terms: tuple[Term, ...], tree_starts: list[int]) -> Terms:
    kinds = {"raw": RAW, "tree": TREE, "kernel": KERNEL}
    next_tree, next_kernel = iter(tree_starts), iter(range(len(terms)))
    start = [
        term.feature if isinstance(term, Raw) else next(next_tree if isinstance(term, Tree) else next_kernel)
        for term in terms
    ]
    features = [term.features for term in terms]
    return Terms(
        kind=np.array([kinds[t.kind] for t in terms], dtype=np.int8),
        start=np.array(start, dtype=np.int64),
        depth=np.array([t.depth if isinstance(t, Tree) else 0 for t in terms], dtype=np.int64),
        plain=np.array(
            [isinstance(t, Tree) and bool((np.asarray(t.category) < 0).all()) for t in terms], dtype=np.bool_
        ),
        fill=np.array([t.fill if isinstance(t, Raw) else 0.0 for t in terms], dtype=float),
        evaluation=np.array([t.evaluation for t in terms], dtype=float),
        pointer=np.cumsum([0, *(len(f) for f in features)], dtype=np.int64),
        features=np.concatenate([np.zeros(0, np.int64), *features]),
    )


def _freshness(plan: Plan, pointer: NDArray[np.int64]) -> NDArray[np.bool_]:
    """For each entry of each node, whether no ancestor (nor an earlier entry) has evaluated its term.

    One walk down and back up again with one set of terms: the work grows with the size of the plan.
    """
    fresh = np.zeros(int(pointer[-1]), dtype=np.bool_)
    met: set[int] = set()
    way: list[tuple[int, list[int]]] = []  # nodes from the root to here, and the terms that each one added
    ahead = [0] if plan.nodes else []
    parents = plan.parents
    while ahead:
        k = ahead.pop()
        while way and way[-1][0] != parents[k]:
            met.difference_update(way.pop()[1])
        added: list[int] = []
        for entry, t in enumerate(plan.nodes[k].terms.tolist(), int(pointer[k])):
            if t not in met:
                met.add(t)
                added.append(t)
                fresh[entry] = True
        way.append((k, added))
        ahead += [child for child in (plan.nodes[k].low, plan.nodes[k].up) if child != LEAVE]
    return fresh


def _slots(pointer: Any, term: Any, fresh: Any) -> NDArray[np.int64]:
    """A number for each term that is asked for again after it was evaluated, given to all its entries."""
    following = np.zeros(len(term), dtype=np.bool_)  # the same term, in the same node: its value is at hand
    following[1:] = term[1:] == term[:-1]
    following[pointer[:-1][pointer[:-1] < len(term)]] = False
    again = np.unique(term[~fresh & ~following])
    place = np.searchsorted(again, term)
    found = place < len(again)
    found[found] = again[place[found]] == term[found]
    return np.where(found, place, -1).astype(np.int64)


def _joined(parts: list[Any], dtype: Any) -> Any:
    return np.concatenate([np.zeros(0, dtype), *parts]).astype(dtype)


def _nodes(plan: Plan) -> Nodes:
    gates = [node.gate.numbers() for node in plan.nodes]
    pointer = np.cumsum([0, *(len(node.terms) for node in plan.nodes)], dtype=np.int64)
    term = _joined([node.terms for node in plan.nodes], np.int64)
    fresh = _freshness(plan, pointer)
    return Nodes(
        pointer=pointer,
        term=term,
        channel=_joined([node.channels for node in plan.nodes], np.int64),
        weight=_joined([node.weights for node in plan.nodes], np.float64),
        fresh=fresh,
        slot=_slots(pointer, term, fresh),
        bias=np.array([node.bias for node in plan.nodes], dtype=float).reshape(-1, plan.n_scores),
        inherits=np.array([node.inherits for node in plan.nodes], dtype=np.bool_),
        gate=np.array([node.gate.code for node in plan.nodes], dtype=np.int8),
        listwise=np.array([node.gate.listwise for node in plan.nodes], dtype=np.bool_),
        number=np.array([number for number, _ in gates], dtype=np.float64),
        whole=np.array([whole for _, whole in gates], dtype=np.int64),
        up=np.array([node.up for node in plan.nodes], dtype=np.int64),
        low=np.array([node.low for node in plan.nodes], dtype=np.int64),
        n_outputs=plan.n_outputs,
        logistic=plan.link == "logistic",
    )
