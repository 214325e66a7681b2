"""The plan in flat arrays: what compiled code runs on.

Each class of terms lays out its own arrays. Each entry of a node knows whether its term is *fresh*: met for
the first time on the way from the root. There is one way to each node, so this is known before the plan runs,
and no row has to remember which terms it has evaluated.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from miserly.costs import RowPrices
from miserly.plan.engine.outcomes import outcome_table, slack_of
from miserly.plan.engine.rest import Rest, by_signs
from miserly.plan.links import LINKS
from miserly.plan.nodes import LEAVE
from miserly.plan.terms import TERMS, Kernel, Term, Tree
from miserly.plan.terms.kernel import Kernels
from miserly.plan.terms.tree import Trees

if TYPE_CHECKING:
    from miserly.plan.plan import Plan

__all__ = ["Tables"]


class Terms(NamedTuple):
    """All terms: the features of term t are ``features[pointer[t] : pointer[t + 1]]``."""

    kind: NDArray[np.int8]  # its code
    start: NDArray[np.int64]  # the place in the table of its class; the column of a raw feature
    depth: NDArray[np.int64]
    size: NDArray[np.int64]  # the number of nodes of a tree; 0 for other terms
    plain: NDArray[np.bool_]  # a tree without categorical splits
    twin: NDArray[np.bool_]  # a tree with the splits of the term before: one walk serves both
    fill: NDArray[np.float64]
    evaluation: NDArray[np.float64]
    pointer: NDArray[np.int64]
    features: NDArray[np.int64]


class Nodes(NamedTuple):
    """Nodes, and their entries: node k adds entries pointer[k] to pointer[k + 1]."""

    pointer: NDArray[np.int64]
    term: NDArray[np.int64]
    channel: NDArray[np.int64]
    weight: NDArray[np.float64]
    fresh: NDArray[np.bool_]
    slot: NDArray[np.int64]  # where the term's values are kept for later nodes; -1 if none uses them

    bias: NDArray[np.float64]
    inherits: NDArray[np.bool_]
    single: NDArray[np.bool_]  # whether values, products and sums are rounded to float32
    gate: NDArray[np.int8]  # its code
    number: NDArray[np.float64]  # of the gate, as `Gate.numbers` gives them
    whole: NDArray[np.int64]
    up: NDArray[np.int64]
    low: NDArray[np.int64]
    n_outputs: int
    chances: int
    signs: bool  # each output decides by its sign, and not the largest of several
    outcomes: NDArray[np.float64]  # see `outcome_table`
    slack: float
    rest_low: NDArray[np.float64]  # see `Rest`; without rows where no gate needs it
    rest_high: NDArray[np.float64]
    rest_size: NDArray[np.float64]
    rest_error: NDArray[np.float64]
    term_low: NDArray[np.float64]  # bounds of each term that is not a tree
    term_high: NDArray[np.float64]


class Tables(NamedTuple):
    """The whole plan."""

    trees: Trees
    kernels: Kernels
    terms: Terms
    nodes: Nodes
    prices: RowPrices

    @classmethod
    def of(cls, plan: Plan) -> Tables:
        laid = {
            kind: term.lay_out([one for one in plan.terms if one.kind == kind], plan.n_features)
            for kind, term in TERMS.items()
        }
        return cls(
            laid[Tree.kind][0],
            laid[Kernel.kind][0],
            _terms(plan.terms, {kind: starts for kind, (_, starts) in laid.items()}),
            _nodes(plan),
            RowPrices(plan.costs.feature[None], plan.costs.memberships, plan.costs.setup[None]),
        )


def _terms(terms: tuple[Term, ...], starts: dict[str, list[int]]) -> Terms:
    following = {kind: iter(places) for kind, places in starts.items()}
    features = [term.features for term in terms]
    return Terms(
        kind=np.array([term.code for term in terms], dtype=np.int8),
        start=np.array([next(following[term.kind]) for term in terms], dtype=np.int64),
        depth=np.array([term.depth for term in terms], dtype=np.int64),
        size=np.array([len(term.feature) if isinstance(term, Tree) else 0 for term in terms], dtype=np.int64),
        plain=np.array([term.plain for term in terms], dtype=np.bool_),
        twin=np.array([i > 0 and _same_splits(terms[i - 1], term) for i, term in enumerate(terms)], np.bool_),
        fill=np.array([term.table_fill for term in terms], dtype=float),
        evaluation=np.array([term.evaluation for term in terms], dtype=float),
        pointer=np.cumsum([0, *(len(some) for some in features)], dtype=np.int64),
        features=np.concatenate([np.zeros(0, np.int64), *features]),
    )


def _same_splits(one: Term, other: Term) -> bool:
    """Whether two trees differ only in the values of their leaves; the trees of a forest, class by class."""
    if not isinstance(one, Tree) or not isinstance(other, Tree) or len(one.feature) != len(other.feature):
        return False
    inner = one.feature >= 0
    pairs = (
        (one.feature, other.feature),
        (one.threshold[inner], other.threshold[inner]),
        (one.left[inner], other.left[inner]),
        (one.right[inner], other.right[inner]),
        (one.missing_left[inner], other.missing_left[inner]),
    )
    return one.plain and other.plain and all(np.array_equal(a, b) for a, b in pairs)


def _freshness(plan: Plan, pointer: NDArray[np.int64]) -> NDArray[np.bool_]:
    """For each entry of each node, whether no ancestor (nor an earlier entry) has paid for its term.

    Nodes that read only what is bought pay for nothing: their entries are not fresh, and a node after them
    that acquires what the same term reads still pays.

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
        node = plan.nodes[k]
        for entry, t in enumerate(node.paid_terms, int(pointer[k])):
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
    rest = Rest.of(plan)
    bounds = np.array([one.bounds for one in plan.terms] if len(rest.error) else [], float).reshape(-1, 2)
    return Nodes(
        pointer=pointer,
        term=term,
        channel=_joined([node.channels for node in plan.nodes], np.int64),
        weight=_joined([node.weights for node in plan.nodes], np.float64),
        fresh=fresh,
        slot=_slots(pointer, term, fresh),
        bias=np.array([node.bias for node in plan.nodes], dtype=float).reshape(-1, plan.n_scores),
        inherits=np.array([node.inherits for node in plan.nodes], dtype=np.bool_),
        single=np.array([node.single for node in plan.nodes], dtype=np.bool_),
        gate=np.array([node.gate.code for node in plan.nodes], dtype=np.int8),
        number=np.array([number for number, _ in gates], dtype=np.float64),
        whole=np.array([whole for _, whole in gates], dtype=np.int64),
        up=np.array([node.up for node in plan.nodes], dtype=np.int64),
        low=np.array([node.low for node in plan.nodes], dtype=np.int64),
        n_outputs=plan.n_outputs,
        chances=LINKS[plan.link].chances,
        signs=by_signs(plan),
        outcomes=outcome_table(plan),
        slack=slack_of(plan),
        rest_low=rest.low,
        rest_high=rest.high,
        rest_size=rest.size,
        rest_error=rest.error,
        term_low=np.ascontiguousarray(bounds[:, 0]),
        term_high=np.ascontiguousarray(bounds[:, 1]),
    )
