"""What a row will need, and what it may need: so that features can be fetched at the same time."""

from __future__ import annotations

from collections.abc import Iterator
from math import inf

from miserly.costs import fits
from miserly.plan.engine.stepping import Trail
from miserly.plan.nodes import LEAVE, Node
from miserly.plan.terms import Term, Tree

__all__ = ["certain", "possible", "remaining"]


def certain(trail: Trail, *, onward: bool = False) -> list[int]:
    """The columns that the node needs whatever the values will be, in the order of purchase.

    The first one is what the trail asks for now. A column is certain only if the budget pays for it in any
    case, also if all that could come before it has to be bought.

    Parameters
    ----------
    trail : Trail
        With ``count="path"``.
    onward : bool, default=False
        Also those of the following nodes, up to the first gate that decides.

    Returns
    -------
    list of int
    """
    if trail.need < 0:
        return []
    sure, bought = _amounts_ahead(trail), dict.fromkeys(trail.unpaid_amounts)
    if trail.unpaid_amounts and (len(sure) < len(bought) or not trail.plan.nodes):
        return [f for f in sure if not trail.is_known(f)]
    if trail.plan.nodes[trail.node].acquisition is not None:
        return [f for f in sure if not trail.is_known(f)] or [trail.need]  # the rest depends on their values
    most = trail.spent
    capped = trail.budget < inf
    known, values = trail.known_flags, dict(trail.known_values)
    for f in [f for f in sure if known[f]]:
        del sure[f]
    n_unknown = known.count(False)
    for t, is_fresh in _terms_ahead(trail, onward):
        term = trail.plan.terms[t]
        most += term.evaluation if is_fresh else 0.0
        for f in _first_reads(term, known, values):
            if f in sure:
                continue
            before = [*bought] if f in bought else [*bought, f]
            if capped and f != trail.need and not fits(0.0, most + trail.price_of(before), trail.budget):
                return list(sure)
            sure[f] = bought[f] = None
        if len(sure) == n_unknown:
            break
        if capped:
            bought.update((f, None) for f in term.features.tolist() if not known[f])
    return list(sure)


def possible(trail: Trail) -> list[int]:
    """The columns that the rest of this node and the next nodes may need, those of this node first.

    Parameters
    ----------
    trail : Trail
        With ``count="path"``.

    Returns
    -------
    list of int
    """
    if trail.need < 0:
        return []
    plan = trail.plan
    found = trail.unpaid_amounts
    if not plan.nodes:
        return [f for f in found if f != trail.need and not trail.is_known(f)]
    found += [f for t, _ in _terms_ahead(trail) for f in plan.terms[t].features.tolist()]
    node = plan.nodes[trail.node]
    found += _pool(node)
    for child in (node.up, node.low):
        if child != LEAVE:
            found += _pool(plan.nodes[child])
            for t in plan.nodes[child].paid_terms:
                term = plan.terms[t]
                found += [int(term.feature[0])] if isinstance(term, Tree) else term.features.tolist()
    return [f for f in dict.fromkeys(found) if f >= 0 and f != trail.need and not trail.is_known(f)]


def remaining(trail: Trail) -> tuple[list[int], float]:
    """The columns that a row may still need until it leaves, in the order of nodes, and the most they cost.

    Parameters
    ----------
    trail : Trail
        With ``count="path"``.

    Returns
    -------
    columns : list of int
        Without the one that the trail asks for now.
    most : float
        The most that the row can still pay, with the column that is asked for now and with evaluations. No
        more than what is left of the budget.
    """
    if trail.need < 0:
        return [], 0.0
    plan, evaluated = trail.plan, trail.evaluated
    terms: dict[int, bool] = {}  # and whether their evaluation is to be paid
    for t, is_fresh in _terms_ahead(trail):
        terms.setdefault(t, is_fresh)
    reached: set[int] = set()
    chosen: list[int] = []
    for node in plan.nodes[trail.node : trail.node + 1]:
        reached |= {node.up, node.low}
        chosen += _pool(node)
    for k in range(trail.node + 1, len(plan.nodes)):
        if k in reached:
            node = plan.nodes[k]
            reached |= {node.up, node.low}
            chosen += _pool(node)
            for t in node.paid_terms:
                terms.setdefault(t, not evaluated[t])
    columns = dict.fromkeys(trail.unpaid_amounts)
    columns.update((f, None) for t in terms for f in plan.terms[t].features.tolist())
    columns.update(dict.fromkeys(chosen))
    known = trail.known_flags
    found = [f for f in columns if f != trail.need and not known[f]]
    most = trail.price_of([trail.need, *found])
    most += sum(plan.terms[t].evaluation for t, is_fresh in terms.items() if is_fresh)
    return found, min(most, max(0.0, trail.budget - trail.spent))


def _amounts_ahead(trail: Trail) -> dict[int, None]:
    """The columns with amounts that are still to be paid and that the budget pays for, in their order."""
    ahead = trail.unpaid_amounts
    prices = [trail.price_of(ahead[: i + 1]) for i in range(len(ahead))]
    fitting = [f for f, price in zip(ahead, prices, strict=True) if fits(trail.spent, price, trail.budget)]
    return dict.fromkeys(fitting)


def _pool(node: Node) -> list[int]:
    """The columns that a node may choose."""
    return [] if node.acquisition is None else list(node.acquisition.pool)


def _terms_ahead(trail: Trail, onward: bool = False) -> Iterator[tuple[int, bool]]:
    """The terms that are still to be evaluated in this node, and whether their evaluation is to be paid.

    Terms that acquire nothing are left out.
    """
    nodes = trail.plan.tables.nodes
    k, now, last = trail.node, trail.entry, -1
    first = now
    while k != LEAVE:
        stop = first if trail.plan.nodes[k].bought_only else int(nodes.pointer[k + 1])
        for e in range(first, stop):
            t = int(nodes.term[e])
            if t != last:
                yield t, bool(nodes.fresh[e]) and e != now
            last = t
        node = trail.plan.nodes[k]
        if not onward or node.gate.decides or node.acquisition is not None:
            return
        k, last = node.up, -1
        first = int(nodes.pointer[k])


def _first_reads(term: Term, known: list[bool], values: dict[int, float]) -> list[int]:
    """The columns that a term reads in any case and that are not known: of a tree, one at most."""
    if not term.by_path:
        return [f for f in term.features.tolist() if not known[f]]
    for f in term.reads(values):
        if not known[f]:
            return [f]
    return []
