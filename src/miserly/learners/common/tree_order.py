"""The order of the terms of an additive model: first what brings most per price.

Forward selection: each step takes the term that brings the sum so far closest to the scores of the whole
model, per price of what rows have not bought yet. The distance is

    1/n sum_i sum_c w_ic (F_ic - s_ic)^2

with `F` the scores of the whole model and `s` the sum so far. For classes the weight `w_ic` makes the
distance of a row without any term equal to the divergence (relative entropy) of its probabilities from those
of the whole model. The distance is quadratic, so a step needs one product of the values of all terms with
those of the term chosen.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from miserly.costs import prices as _prices
from miserly.plan import Node, Plan, links
from miserly.plan.additive import Summand, summands_of
from miserly.plan.engine.compiled_rules import TREE, in_category
from miserly.utils.compiled import compiled

__all__ = ["order_of_terms"]

MOST_VALUES = 8_000_000  # of rows by terms
MOST_ROWS = 10_000
PRICED_ROWS = 400  # on which the prices of terms are averaged
_STEEPEST = 0.25  # second derivative of the log-loss by the score, at most

Floats = NDArray[np.float64]


def order_of_terms(plan: Plan, rows: NDArray[Any], seed: int = 0) -> NDArray[np.int64]:
    """The order in which the terms of an additive plan bring most per price.

    A term whose features are all bought, and whose evaluation is free, comes at once if it brings anything.

    Parameters
    ----------
    plan : Plan
        An additive plan.
    rows : array of (n, n_features)
        Encoded rows. Not more than 10,000 are used, and fewer for thousands of terms.
    seed : int, default=0
        Random seed of the choice of rows.

    Returns
    -------
    int array
        Numbers of the summands that `summands_of` gives.

    Examples
    --------
    >>> from miserly import Costs
    >>> from miserly.plan import Raw
    >>> nodes = [Node([0], [0], [1.0], [0.0], up=1), Node([1], [0], [1.0], [0.0])]
    >>> plan = Plan(costs=Costs([9.0, 1.0]), terms=[Raw(0), Raw(1)], nodes=nodes, base=[0.0])
    >>> order_of_terms(plan, np.array([[2.0, 1.0], [-2.0, -1.0]])).tolist()
    [1, 0]
    """
    summands = summands_of(plan)
    if not summands or not len(rows):
        return np.arange(len(summands))
    rng = np.random.default_rng(seed)
    most = max(100, min(MOST_ROWS, MOST_VALUES // len(summands)))
    chosen = rng.permutation(len(rows))[:most]
    sample = np.ascontiguousarray(rows[np.sort(chosen)], dtype=np.float64)
    market = _Market(
        plan, summands, np.ascontiguousarray(rows[np.sort(chosen[:PRICED_ROWS])], dtype=np.float64)
    )
    distance = _Distance(plan, summands, sample)
    order = np.empty(len(summands), dtype=np.int64)
    left = np.ones(len(summands), dtype=np.bool_)
    for place in range(len(summands)):
        order[place] = best = _best(distance.gains, market.prices(left), left)
        left[best] = False
        distance.add(best)
        market.buy(best)
    return order


def _best(gain: Floats, price: Floats, left: NDArray[np.bool_]) -> int:
    """The next term: a free one that brings something, else most per price, else the cheapest."""
    helps, free = left & (gain > 0.0), price <= 0.0
    for among, value in ((helps & free, gain), (helps, gain / np.where(free, 1.0, price))):
        if among.any():
            return int(np.argmax(np.where(among, value, -np.inf)))
    cheapest = np.min(price[left])
    return int(np.argmax(np.where(left & (price <= cheapest), gain, -np.inf)))


# -- what terms bring ----------------------------------------------------------------------------------------


class _Distance:
    """The distance of the sum so far from the whole model, and by how much each term would lower it."""

    def __init__(self, plan: Plan, summands: list[Summand], rows: Floats) -> None:
        values = _values(plan, summands, rows)  # (T, n)
        start = plan.base + np.sum([node.bias for node in plan.nodes], axis=0)
        self.shares: list[dict[int, Floats]] = []  # of each term: by score, what it adds to each row
        members: dict[int, list[int]] = {}
        for t, one in enumerate(summands):
            mine = {c: w * values[t] for c, w in zip(one.channels, one.weights, strict=True)}
            self.shares.append(mine)
            for c in mine:
                members.setdefault(c, []).append(t)
        self.members = {c: np.array(some) for c, some in members.items()}
        self.tables = {c: np.array([self.shares[t][c] for t in some]) for c, some in members.items()}
        total = np.tile(start, (len(rows), 1))
        for c, table in self.tables.items():
            total[:, c] += table.sum(axis=0)
        self.weight = _weights(plan, np.tile(start, (len(rows), 1)), total) / len(rows)
        self.gains = np.zeros(len(summands))
        for c, table in self.tables.items():
            left = total[:, c] - start[c]
            weighted = table * self.weight[:, c]
            self.gains[self.members[c]] += 2.0 * (weighted @ left) - np.einsum("ti,ti->t", weighted, table)

    def add(self, t: int) -> None:
        """Add a term to the sum so far."""
        for c, values in self.shares[t].items():
            self.gains[self.members[c]] -= 2.0 * (self.tables[c] @ (self.weight[:, c] * values))


def _values(plan: Plan, summands: list[Summand], rows: Floats) -> Floats:
    """The values of all terms, (T, n): a plan of one node with a score for every term."""
    each = np.arange(len(summands))
    node = Node(each, each, np.ones(len(each)), np.zeros(len(each)))
    terms = [one.term for one in summands]
    run = Plan(costs=plan.costs, terms=terms, nodes=[node], base=np.zeros(len(each))).run(
        rows, account=False, encoded=True
    )
    return np.ascontiguousarray(run.scores.reshape(len(rows), -1).T)


def _weights(plan: Plan, start: Floats, total: Floats) -> Floats:
    """The weight of each row and score, (n, n_scores)."""
    if links.gives_numbers(plan.link):
        return np.ones_like(total)
    first, last = (_shares(plan, scores) for scores in (start, total))
    divergence = last * np.log(last / first) + (1.0 - last) * np.log((1.0 - last) / (1.0 - first))
    distance = (total - start) ** 2
    secant = 2.0 * divergence / np.where(distance > 1e-12, distance, 1.0)
    return np.clip(np.where(distance > 1e-12, secant, last * (1.0 - last)), 1e-6, _STEEPEST)


def _shares(plan: Plan, scores: Floats) -> Floats:
    """The probability that each score stands for, kept away from 0 and 1."""
    if links.in_double(plan.link) == "softmax" and plan.n_outputs > 1:
        shares = np.full_like(scores, 0.5)
        shares[:, : plan.n_outputs] = links.probabilities("softmax", scores[:, : plan.n_outputs])
    else:
        shares = np.asarray(1.0 / (1.0 + links.exp(-scores)))
    return np.clip(shares, 1e-9, 1.0 - 1e-9)


# -- what terms cost -----------------------------------------------------------------------------------------


class _Market:
    """What some rows have bought so far, and what each term would cost them on average."""

    def __init__(self, plan: Plan, summands: list[Summand], rows: Floats) -> None:
        self.tables = plan.replace(
            terms=[one.term for one in summands],
            nodes=[Node([], [], [], np.zeros(plan.n_scores))],  # type: ignore[arg-type]
        ).tables
        self.rows = rows
        self.paid = np.zeros((len(rows), plan.n_features), dtype=np.bool_)
        self.opened = np.zeros((len(rows), len(plan.costs.setup)), dtype=np.bool_)
        self.evaluation = np.array([one.term.evaluation for one in summands])
        self._prices: Floats | None = None

    def prices(self, left: NDArray[np.bool_]) -> Floats:
        """The mean price of each term that is left, evaluation included."""
        if self._prices is None:
            mean = np.zeros(len(left))
            _price_terms(self.tables, np.flatnonzero(left), self.rows, self.paid, self.opened, True, mean)
            self._prices = mean + self.evaluation
        return self._prices

    def buy(self, t: int) -> None:
        """Let all rows buy what a term reads."""
        mean = np.zeros(len(self.evaluation))
        before = self.paid.sum()
        _price_terms(self.tables, np.array([t]), self.rows, self.paid, self.opened, False, mean)
        if self.paid.sum() > before:
            self._prices = None


_row_price = compiled(forceinline=True)(_prices.row_price)
_mark_paid = compiled(forceinline=True)(_prices.mark_paid)


@compiled(forceinline=True)
def _read(tables: Any, t: Any, X: Any, i: Any, paid: Any, opened: Any) -> Any:
    """Let a row buy what a term reads; gives the price."""
    trees, terms, prices = tables.trees, tables.terms, tables.prices
    own, groups, setup = prices.own, prices.groups, prices.setup
    price = 0.0
    if terms.kind[t] != TREE:
        for f in terms.features[terms.pointer[t] : terms.pointer[t + 1]]:
            if not paid[i, f]:
                price += _row_price(i, f, opened, own, groups, setup)
                _mark_paid(i, f, paid, opened, groups)
        return price
    node = terms.start[t]
    while trees.feature[node] >= 0:
        f = trees.feature[node]
        if not paid[i, f]:
            price += _row_price(i, f, opened, own, groups, setup)
            _mark_paid(i, f, paid, opened, groups)
        x = X[i, f]
        if trees.category[node] < 0:
            stays_left = (x <= trees.threshold[node]) | ((x != x) & trees.missing[node])
        else:
            stays_left = in_category(
                trees.words, trees.category[node], trees.span[node], x, trees.missing[node]
            )
        node = trees.left[node] + (1 - stays_left)
    return price


@compiled()
def _price_terms(tables: Any, which: Any, X: Any, paid: Any, opened: Any, only_look: Any, mean: Any) -> None:
    """The mean price of some terms for rows; unless `only_look`, the rows buy what they read."""
    terms, n = tables.terms, X.shape[0]
    everywhere = np.ones(paid.shape[1], np.bool_)
    for f in range(paid.shape[1]):
        for i in range(n):
            everywhere[f] &= paid[i, f]
    had, was_open = np.empty(paid.shape[1], np.bool_), np.empty(opened.shape[1], np.bool_)
    for t in which:
        bought = True
        for f in terms.features[terms.pointer[t] : terms.pointer[t + 1]]:
            bought &= everywhere[f]
        if bought:
            continue
        total = 0.0
        for i in range(n):
            if only_look:
                had[:], was_open[:] = paid[i], opened[i]
            total += _read(tables, t, X, i, paid, opened)
            if only_look:
                paid[i], opened[i] = had, was_open
        mean[t] = total / n
