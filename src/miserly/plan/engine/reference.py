"""The rules of a run in plain NumPy: what runs where numba is not installed, and what tests compare with.

Node by node, all rows that are there at once. Every sum is taken in the order compiled code takes it, so
that both give the same bits.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from miserly.costs import SLACK
from miserly.plan import links
from miserly.plan.gates import Gate, ListwiseGate
from miserly.plan.terms import Kernel, Raw, Term, Tree

if TYPE_CHECKING:
    from miserly.plan.engine.batch import State
    from miserly.plan.plan import Plan

__all__ = ["kernel_value", "run_reference"]

STOPPED = -2
_FEATURES_AT_A_TIME = 64


def run_reference(
    plan: Plan,
    X: NDArray[Any],
    order: NDArray[np.int64],
    start: NDArray[np.int64],
    limit: float,
    account: bool,
    whole: bool,
    state: State,
) -> None:
    """Run all rows, updating `state`."""
    bundle = np.empty(len(X), dtype=np.int64)
    bundle[order] = np.repeat(np.arange(len(start) - 1), np.diff(start))
    size = np.diff(start)
    clerk = _Clerk(plan, X, limit, whole, state)
    for k, node in enumerate(plan.nodes):
        rows = np.flatnonzero(state.at == k)
        if rows.size == 0:
            continue
        rows, scores = clerk.run_node(k, rows, account)
        state.scores[rows] = scores
        state.trail[rows, 0] = k
        if node.gate.listwise:  # which needs every document of the query that has not left
            kept_away = np.isin(bundle[rows], bundle[state.at == STOPPED])
            clerk.stop(rows[kept_away], k, 0)
            rows, scores = rows[~kept_away], scores[~kept_away]
        up = _who_goes_up(plan, node.gate, scores, bundle[rows], size)
        state.at[rows] = np.where(up, node.up, node.low)


class _Clerk:
    """Evaluates nodes for sets of rows and keeps their accounts."""

    def __init__(self, plan: Plan, X: NDArray[Any], limit: float, whole: bool, state: State) -> None:
        self.plan, self.X, self.whole, self.state = plan, X, whole, state
        self.limit = limit * (1.0 + SLACK)

    def run_node(
        self, k: int, rows: NDArray[np.int64], account: bool
    ) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
        """The rows that finish node `k`, and their scores."""
        node, tables, state = self.plan.nodes[k], self.plan.tables, self.state
        first = int(tables.nodes.pointer[k])
        scores = (
            state.scores[rows] if node.inherits else np.zeros((len(rows), self.plan.n_scores))
        ) + node.bias
        last_term, values = -1, np.zeros(len(rows))
        for j, t in enumerate(node.terms.tolist()):
            if t != last_term:
                if account and tables.nodes.fresh[first + j]:
                    rows, scores, values = self._evaluate_paying(k, j, self.plan.terms[t], rows, scores)
                else:
                    values = self._values(self.plan.terms[t], rows)
                last_term = t
            scores[:, node.channels[j]] += node.weights[j] * values
        return rows, scores

    def _evaluate_paying(self, k: int, j: int, term: Term, rows: Any, scores: Any) -> tuple[Any, Any, Any]:
        """Pay for a fresh term and evaluate it; rows that cannot pay are stopped and dropped."""
        if self.whole:
            through = self._pay_whole(term, rows)
            self.stop(rows[~through], k, j)
            rows, scores = rows[through], scores[through]
            return rows, scores, self._values(term, rows)
        through = self._pay(rows, np.full(len(rows), term.evaluation))
        self.stop(rows[~through], k, j)
        rows, scores = rows[through], scores[through]
        if isinstance(term, Tree):
            values, through = self._walk_paying(term, rows)
        else:
            through = np.ones(len(rows), dtype=np.bool_)
            for f in self._unpaid(term, rows):
                through[through] = self._buy(rows[through], np.full(through.sum(), f))
            values = self._values(term, rows)
        self.stop(rows[~through], k, j + 1)
        return rows[through], scores[through], values[through]

    def stop(self, rows: NDArray[np.int64], k: int, begun: int) -> None:
        self.state.at[rows] = STOPPED
        self.state.trail[rows, 1], self.state.trail[rows, 2] = k, begun

    def _pay(self, rows: NDArray[np.int64], price: NDArray[np.float64]) -> NDArray[np.bool_]:
        """Charge each row its price where it fits; gives where it did."""
        through = (price == 0.0) | (self.state.spent[rows] + price <= self.limit)
        self.state.spent[rows[through]] += price[through]
        return through

    def _price(self, rows: NDArray[np.int64], features: NDArray[np.int64]) -> NDArray[np.float64]:
        costs = self.plan.costs
        price = costs.feature[features].astype(np.float64)
        group = costs.group[features]
        closed = group >= 0
        closed[closed] = ~self.state.opened[rows[closed], group[closed]]
        price[closed] += costs.setup[group[closed]]
        price[self.state.acquired[rows, features]] = 0.0
        return price

    def _buy(self, rows: NDArray[np.int64], features: NDArray[np.int64]) -> NDArray[np.bool_]:
        """Buy one feature for each row; gives where it fitted."""
        through = self._pay(rows, self._price(rows, features))
        self._take(rows[through], features[through])
        return through

    def _take(self, rows: NDArray[np.int64], features: NDArray[np.int64]) -> None:
        self.state.acquired[rows, features] = True
        group = self.plan.costs.group[features]
        self.state.opened[rows[group >= 0], group[group >= 0]] = True

    def _pay_whole(self, term: Term, rows: NDArray[np.int64]) -> NDArray[np.bool_]:
        total, unpaid_features = np.full(len(rows), term.evaluation), self._unpaid(term, rows)
        for f in unpaid_features:
            features = np.full(len(rows), f)
            total += self._price(rows, features)
            group = self.plan.costs.group[f]
            if group >= 0:
                unpaid = ~self.state.acquired[rows, f]
                self.state.opened[rows[unpaid], group] = True
        through = self._pay(rows, total)
        for f in unpaid_features:
            self._take(rows[through], np.full(int(through.sum()), f))
        return through

    def _unpaid(self, term: Term, rows: NDArray[np.int64]) -> NDArray[np.int64]:
        """The features of a term that some row has not acquired; the others cost nothing."""
        return term.features[~self.state.acquired[rows[:, None], term.features].all(axis=0)]

    def _walk_paying(
        self, tree: Tree, rows: NDArray[np.int64]
    ) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
        node = np.zeros(len(rows), dtype=np.int64)
        through = np.ones(len(rows), dtype=np.bool_)
        while True:
            moving = np.flatnonzero(through & (tree.feature[node] >= 0))
            if moving.size == 0:
                return tree.value[node], through
            features = tree.feature[node[moving]].astype(np.int64)
            fitted = self._buy(rows[moving], features)
            through[moving[~fitted]] = False
            moving, features = moving[fitted], features[fitted]
            node[moving] = _step(tree, node[moving], self.X[rows[moving], features])

    def _values(self, term: Term, rows: NDArray[np.int64]) -> NDArray[np.float64]:
        if isinstance(term, Raw):
            values = self.X[rows, term.feature].astype(np.float64)
            return np.where(np.isnan(values), term.fill, values)
        if isinstance(term, Kernel):
            return kernel_value(term, self.X[rows].astype(np.float64))
        node = np.zeros(len(rows), dtype=np.int64)
        while True:
            moving = np.flatnonzero(term.feature[node] >= 0)
            if moving.size == 0:
                return term.value[node]
            node[moving] = _step(term, node[moving], self.X[rows[moving], term.feature[node[moving]]])


def _step(tree: Tree, node: NDArray[np.int64], x: NDArray[Any]) -> NDArray[np.int64]:
    left = _goes_left(tree, node, x.astype(np.float64))
    return np.where(left, tree.left[node], tree.right[node]).astype(np.int64)


def _goes_left(tree: Tree, node: NDArray[np.int64], x: NDArray[np.float64]) -> NDArray[np.bool_]:
    """Which way each example goes at its node of a tree."""
    assert tree.category is not None and tree.words is not None
    left = np.where(np.isnan(x), tree.missing_left[node], x <= tree.threshold[node])
    row = tree.category[node]
    choose = np.flatnonzero(row >= 0)
    if choose.size:
        value = x[choose]
        known = (value >= 0) & (value <= 255) & (value == np.floor(value))
        code = np.where(known, value, 0).astype(np.int64)
        bits = tree.words[row[choose], code >> 5] >> (code & 31).astype(np.uint32)
        left[choose] = np.where(known, (bits & np.uint32(1)) != 0, tree.missing_left[node[choose]])
    return left.astype(np.bool_)


def kernel_value(term: Kernel, X: NDArray[np.float64]) -> NDArray[np.float64]:
    """A kernel between each row and the term's vector, summed feature by feature."""
    assert term.fill is not None and term.scale is not None
    total = np.zeros((len(X), 1))
    for first in range(0, X.shape[1], _FEATURES_AT_A_TIME):
        some = slice(first, first + _FEATURES_AT_A_TIME)
        value = np.where(np.isnan(X[:, some]), term.fill[some], X[:, some])
        if term.kernel == "rbf":
            difference = (value - term.vector[some]) * term.scale[some]
            parts = difference * difference
        else:
            parts = value * term.vector[some]
        total = np.add.accumulate(np.hstack([total, parts]), axis=1)[:, -1:]  # one after the other
    total = total[:, 0]
    if term.kernel == "linear":
        return total
    if term.kernel == "rbf":
        return np.asarray(links.exp(-(term.gamma * total)))
    inner = term.gamma * total + term.coef0
    if term.kernel == "poly":
        power = np.ones(len(X))
        for _ in range(term.degree):
            power *= inner
        return power
    return np.asarray(1.0 - 2.0 / (links.exp(2.0 * inner) + 1.0))


def _who_goes_up(
    plan: Plan, gate: Gate, scores: NDArray[np.float64], bundle: NDArray[np.int64], size: NDArray[np.int64]
) -> NDArray[np.bool_]:
    if not isinstance(gate, ListwiseGate):
        return gate.goes_up(scores, plan.link, plan.n_outputs)
    up = np.ones(len(scores), dtype=np.bool_)
    for b in np.unique(bundle):
        there = bundle == b
        up[there] = ~(scores[there, 0] < gate.leave_below(scores[there, 0], int(size[b])))
    return up
