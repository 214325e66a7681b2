"""What each node of a plan buys that no node before it on the way has bought, and the plan's stretches.

Costs here are those of a row that meets everything a term may need (counting whole trees), and that buys all
features of an acquisition: what is known of a plan before it runs. Words and pictures of plans are made from
these.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from miserly.costs.one_row import price_parts
from miserly.costs.prices import mark_paid, terms_price
from miserly.plan.nodes import LEAVE
from miserly.plan.terms import Term

if TYPE_CHECKING:
    from miserly.plan.plan import Plan

__all__ = ["Item", "Purchase", "Row", "Stretch", "bill", "chain_bill", "costliest", "purchases", "stretches"]

_PAUSE = 5  # steps without a purchase that are worth a row of a chain's bill


@dataclass(frozen=True)
class Item:
    """One feature bought: its own cost, and the set-ups of the groups that it is the first to open."""

    feature: int
    own: float
    setup: float
    opens: tuple[int, ...]  # the groups that had to be set up

    @property
    def price(self) -> float:
        return self.own + self.setup


@dataclass(frozen=True)
class Purchase:
    """What one node adds to the bill: features in the order they are first read, evaluations of terms."""

    items: tuple[Item, ...]
    n_terms: int
    evaluation: float
    total: float  # of everything on the way from the root up to and with this node

    @property
    def price(self) -> float:
        return math.fsum([item.price for item in self.items]) + self.evaluation


@dataclass(frozen=True)
class Row:
    """Nodes `first` to `last` of a stretch on one line of a bill: one that buys, or a run that does not."""

    first: int
    last: int
    purchase: Purchase


@dataclass(frozen=True)
class Stretch:
    """Nodes that follow each other without a fork; `up` and `low` are the stretches after it, if any."""

    nodes: tuple[int, ...]
    up: int | None
    low: int | None


class _Account:
    """What is paid on the way to the node being looked at; purchases can be taken back."""

    def __init__(self, plan: Plan) -> None:
        self.plan = plan
        self.paid = np.zeros(plan.n_features, dtype=np.bool_)
        self.opened = np.zeros(len(plan.costs.setup), dtype=np.bool_)
        self.evaluated: set[int] = set()

    def buy(self, k: int, spent: float) -> tuple[Purchase, list[int]]:
        """What node `k` buys on top of what was `spent`, and the terms that are new with it."""
        node = self.plan.nodes[k]
        terms = [t for t in dict.fromkeys(node.paid_terms) if t not in self.evaluated]
        self.evaluated.update(terms)
        items = [self._item(f) for f in (self.plan.amount_columns if k == 0 else ())]
        items += [self._item(feature) for t in terms for feature in self._unpaid(self.plan.terms[t])]
        chooses = node.acquisition
        items += [self._item(f) for f in (chooses.pool if chooses else ()) if not self.paid[f]]
        evaluation = math.fsum(self.plan.terms[t].evaluation for t in terms)
        price = math.fsum([item.price for item in items]) + evaluation
        return Purchase(tuple(items), len(terms), evaluation, spent + price), terms

    def take_back(self, purchase: Purchase, terms: list[int]) -> None:
        self.evaluated.difference_update(terms)
        self.paid[[item.feature for item in purchase.items]] = False
        self.opened[[group for item in purchase.items for group in item.opens]] = False

    def _unpaid(self, term: Term) -> list[int]:
        if self.paid[term.features].all():
            return []
        new = term.features[~self.paid[term.features]]
        wanted = set(new.tolist())
        return [feature for feature in term.reading_order if feature in wanted]

    def _item(self, feature: int) -> Item:
        prices = self.plan.costs.prices
        parts = price_parts(feature, self.opened, prices)
        mark_paid(0, feature, self.paid[None], self.opened[None], prices.groups)
        return Item(feature, *parts)


def purchases(plan: Plan) -> list[Purchase]:
    """What each node buys, given what was bought on the way to it.

    One walk through the plan, down and back up again, so that the work grows with the size of the plan and
    not with the lengths of its ways.
    """
    found: dict[int, Purchase] = {}
    account = _Account(plan)
    ahead: list[tuple[int, float]] = [(0, 0.0)] if plan.nodes else []
    way: list[tuple[int, list[int]]] = []
    parents = plan.parents
    while ahead:
        k, spent = ahead.pop()
        while way and way[-1][0] != parents[k]:
            done, terms = way.pop()
            account.take_back(found[done], terms)
        found[k], new = account.buy(k, spent)
        way.append((k, new))
        # An error about a plan with a circle shows the plan, so this must end there too.
        children = [c for c in (plan.nodes[k].low, plan.nodes[k].up) if c > k]
        ahead += [(child, found[k].total) for child in children]
    return [found[k] for k in range(len(plan.nodes))]


def costliest(plan: Plan) -> float:
    """The most that any row can pay, counting whole trees."""
    amounts = set(plan.amount_columns)
    if not plan.nodes:
        return terms_price(_features(plan, set(), amounts), (), plan.costs.prices)
    parents = plan.parents
    k = int(np.argmax([purchase.total for purchase in purchases(plan)]))
    terms: set[int] = set()
    chosen = amounts  # and what acquisitions choose
    while k >= 0:
        node = plan.nodes[k]
        terms.update(node.paid_terms)
        chosen.update(node.acquisition.pool if node.acquisition else ())
        k = int(parents[k])
    evaluations = (plan.terms[t].evaluation for t in terms)
    return terms_price(_features(plan, terms, chosen), evaluations, plan.costs.prices)


def _features(plan: Plan, terms: set[int], chosen: set[int]) -> NDArray[np.bool_]:
    mask = np.zeros(plan.n_features, dtype=np.bool_)
    mask[list(chosen)] = True
    for t in terms:
        mask[plan.terms[t].features] = True
    return mask


def stretches(plan: Plan) -> list[Stretch]:
    """The plan as a binary tree of stretches; a chain is one. The first begins at the root.

    >>> from miserly import Costs, Plan
    >>> from miserly.plan import Node
    >>> fork = [Node([], [], [], [0.0], up=1, low=2), Node([], [], [], [0.0]), Node([], [], [], [0.0])]
    >>> [stretch.nodes for stretch in stretches(Plan(costs=Costs([]), terms=[], nodes=fork, base=[0.0]))]
    [(0,), (1,), (2,)]
    """
    starts = [0] if plan.nodes else []
    found: list[Stretch] = []
    for start in starts:
        nodes = [start]
        children = _children(plan, start)
        while len(children) == 1:
            nodes.append(children[0])
            children = _children(plan, children[0])
        ends = (len(starts), len(starts) + 1) if children else (None, None)
        starts += children
        found.append(Stretch(tuple(nodes), *ends))
    return found


def bill(nodes: Sequence[int], bought: Sequence[Purchase]) -> list[Row]:
    """The purchases of nodes that follow each other; neighbours that buy no feature share a row."""
    rows: list[Row] = []
    for k in nodes:
        new = bought[k]
        if rows and not new.items and not rows[-1].purchase.items:
            before = rows.pop()
            n_terms = before.purchase.n_terms + new.n_terms
            evaluation = before.purchase.evaluation + new.evaluation
            rows.append(Row(before.first, k, Purchase((), n_terms, evaluation, new.total)))
        else:
            rows.append(Row(k, k, new))
    return rows


def chain_bill(plan: Plan, bought: Sequence[Purchase]) -> list[Row]:
    """The bill of a plan without forks, less the short pauses between two purchases."""
    n = len(plan.nodes)
    return [
        row
        for row in bill(range(n), bought)
        if row.purchase.items
        or row.purchase.evaluation
        or row.last - row.first >= _PAUSE
        or row.last == n - 1
    ]


def _children(plan: Plan, k: int) -> list[int]:
    return [child for child in (plan.nodes[k].up, plan.nodes[k].low) if child != LEAVE]
