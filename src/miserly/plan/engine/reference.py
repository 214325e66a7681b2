"""The rules of a run in plain NumPy: what runs where numba is not installed, and what tests compare with.

Node by node, all rows that are there at once. Every sum is taken in the order compiled code takes it, so
that both give the same bits.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from miserly.costs import RowPrices, fits
from miserly.costs.prices import prices_by_row
from miserly.plan.engine.beliefs import acquire_rows, log_scores
from miserly.plan.engine.rest import bounds_of_scores, settled
from miserly.plan.gates import Gate, ListwiseGate
from miserly.plan.terms import Term

if TYPE_CHECKING:
    from miserly.plan.engine.batch import State
    from miserly.plan.plan import Plan

__all__ = ["pay_amounts", "run_reference"]

STOPPED = -2
_BLOCK = 8192  # rows whose known values are copied at a time


def run_reference(
    plan: Plan,
    X: NDArray[Any],
    order: NDArray[np.int64],
    start: NDArray[np.int64],
    limit: float,
    account: bool,
    whole: bool,
    state: State,
    prices: RowPrices | None = None,
    acquire: Callable[..., None] = acquire_rows,
    add_trees: Callable[..., NDArray[np.float64]] | None = None,
) -> None:
    """Run all rows, updating `state`; at other `prices` than those of the plan, if given.

    `acquire` does the purchases of nodes that choose them: `beliefs.acquire_rows`, or the same compiled.
    `add_trees` adds the terms of nodes that read only what is bought, if compiled code does.
    """
    bundle = np.empty(len(X), dtype=np.int64)
    bundle[order] = np.repeat(np.arange(len(start) - 1), np.diff(start))
    size = np.diff(start)
    clerk = _Clerk(plan, X, limit, whole, state, plan.tables.prices if prices is None else prices)
    for k, node in enumerate(plan.nodes):
        rows = np.flatnonzero(state.at == k)
        if rows.size == 0:
            continue
        if node.bought_only:
            scores = clerk.answer(k, rows, add_trees)
        elif node.acquisition is None:
            rows, scores = clerk.run_node(k, rows, account)
        else:
            scores = clerk.acquire(k, rows, acquire)
        state.scores[rows] = scores
        state.trail[rows, 0] = k
        if node.gate.listwise:  # which needs every document of the query that has not left
            kept_away = np.isin(bundle[rows], bundle[state.at == STOPPED])
            clerk.stop(rows[kept_away], k, 0)
            rows, scores = rows[~kept_away], scores[~kept_away]
        if node.gate.needs_rest:
            up = _who_is_unsettled(plan, k, scores, X, rows, state, bundle[rows], size)
        else:
            up = _who_goes_up(plan, node.gate, scores, bundle[rows], size)
        state.at[rows] = np.where(up, node.up, node.low)


def pay_amounts(
    plan: Plan, X: NDArray[Any], limit: float, state: State, prices: RowPrices | None = None
) -> None:
    """Pay for the amounts that the decision reads. Rows that cannot are stopped before node 0."""
    clerk = _Clerk(plan, X, limit, False, state, plan.tables.prices if prices is None else prices)
    for f in plan.amount_columns:
        rows = np.flatnonzero(state.at != STOPPED)
        clerk.stop(rows[~clerk.buy(rows, np.full(len(rows), f))], 0, 0)


def _single(numbers: NDArray[np.float64]) -> NDArray[np.float64]:
    """Numbers rounded to float32."""
    return numbers.astype(np.float32).astype(np.float64)


class _Clerk:
    """Evaluates nodes for sets of rows and keeps their accounts."""

    def __init__(
        self, plan: Plan, X: NDArray[Any], limit: float, whole: bool, state: State, prices: RowPrices
    ) -> None:
        self.plan, self.X, self.whole, self.state = plan, X, whole, state
        self.limit, self.prices = limit, prices

    def run_node(
        self, k: int, rows: NDArray[np.int64], account: bool
    ) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
        """The rows that finish node `k`, and their scores."""
        node, tables, state = self.plan.nodes[k], self.plan.tables, self.state
        first = int(tables.nodes.pointer[k])
        scores = (
            state.scores[rows] if node.inherits else np.zeros((len(rows), self.plan.n_scores))
        ) + node.bias
        if node.single:
            scores = _single(scores)
        last_term, values = -1, np.zeros(len(rows))
        for j, t in enumerate(node.terms.tolist()):
            if t != last_term:
                if account and tables.nodes.fresh[first + j]:
                    rows, scores, values = self._evaluate_paying(k, j, self.plan.terms[t], rows, scores)
                else:
                    values = self.plan.terms[t].evaluate(self.X, rows)
                last_term = t
            c = node.channels[j]
            if node.single:
                scores[:, c] = _single(scores[:, c] + _single(node.weights[j] * _single(values)))
            else:
                scores[:, c] += node.weights[j] * values
        return rows, scores

    def acquire(self, k: int, rows: NDArray[np.int64], acquire: Callable[..., None]) -> NDArray[np.float64]:
        """The scores of node `k`, which chooses its purchases. All rows finish it."""
        node, state, n_outputs = self.plan.nodes[k], self.state, self.plan.n_outputs
        assert node.acquisition is not None
        chances = np.empty((len(rows), node.acquisition.n_classes))
        books = (state.acquired, state.opened, state.spent, self.prices)
        acquire(node.acquisition.table, self.X, rows, *books, self.limit, chances)
        scores = (
            state.scores[rows] if node.inherits else np.zeros((len(rows), self.plan.n_scores))
        ) + node.bias
        added = np.array([log_scores(one, n_outputs) for one in chances.tolist()]).reshape(-1, n_outputs)
        scores[:, :n_outputs] += added
        return scores

    def answer(
        self, k: int, rows: NDArray[np.int64], add_trees: Callable[..., NDArray[np.float64]] | None
    ) -> NDArray[np.float64]:
        """The scores of node `k`, which reads only what is bought. All rows finish it, for nothing."""
        node, state = self.plan.nodes[k], self.state
        scores = state.scores[rows] if node.inherits else np.zeros((len(rows), self.plan.n_scores))
        for first in range(0, len(rows), _BLOCK):
            block = slice(first, first + _BLOCK)
            known = np.where(state.acquired[rows[block]], self.X[rows[block]], np.nan)
            scores[block] = (add_trees or _add_trees)(self.plan, k, known, scores[block])
        return scores

    def _evaluate_paying(self, k: int, j: int, term: Term, rows: Any, scores: Any) -> tuple[Any, Any, Any]:
        """Pay for a fresh term and evaluate it; rows that cannot pay are stopped and dropped."""
        if self.whole:
            through = self._pay_whole(term, rows)
            self.stop(rows[~through], k, j)
            rows, scores = rows[through], scores[through]
            return rows, scores, term.evaluate(self.X, rows)
        through = self._pay(rows, np.full(len(rows), term.evaluation))
        self.stop(rows[~through], k, j)
        rows, scores = rows[through], scores[through]
        if term.by_path:
            values, through = term.evaluate_paying(self.X, rows, self.buy)
        else:
            through = np.ones(len(rows), dtype=np.bool_)
            for f in self._unpaid(term, rows):
                through[through] = self.buy(rows[through], np.full(through.sum(), f))
            values = term.evaluate(self.X, rows)
        self.stop(rows[~through], k, j + 1)
        return rows[through], scores[through], values[through]

    def stop(self, rows: NDArray[np.int64], k: int, begun: int) -> None:
        self.state.at[rows] = STOPPED
        self.state.trail[rows, 1], self.state.trail[rows, 2] = k, begun

    def _pay(self, rows: NDArray[np.int64], price: NDArray[np.float64]) -> NDArray[np.bool_]:
        """Charge each row its price where it fits; gives where it did."""
        through = fits(self.state.spent[rows], price, self.limit)
        self.state.spent[rows[through]] += price[through]
        return through

    def _price(self, rows: NDArray[np.int64], features: NDArray[np.int64]) -> NDArray[np.float64]:
        return prices_by_row(rows, features, self.state.acquired, self.state.opened, self.prices)

    def buy(self, rows: NDArray[np.int64], features: NDArray[np.int64]) -> NDArray[np.bool_]:
        """Buy one feature for each row that has not acquired it; gives where the row has it now."""
        through = self.state.acquired[rows, features]
        new = np.flatnonzero(~through)
        if new.size:
            fitted = self._pay(rows[new], self._price(rows[new], features[new]))
            through[new] = fitted
            self._take(rows[new[fitted]], features[new[fitted]])
        return through

    def _take(self, rows: NDArray[np.int64], features: NDArray[np.int64]) -> None:
        self.state.acquired[rows, features] = True
        for group in self.plan.costs.memberships[features].T:
            grouped = group >= 0
            if grouped.any():
                self.state.opened[rows[grouped], group[grouped]] = True

    def _pay_whole(self, term: Term, rows: NDArray[np.int64]) -> NDArray[np.bool_]:
        total, unpaid_features = np.full(len(rows), term.evaluation), self._unpaid(term, rows)
        for f in unpaid_features:
            features = np.full(len(rows), f)
            total += self._price(rows, features)
            unpaid = ~self.state.acquired[rows, f]
            for group in self.plan.costs.groups_of(f):
                self.state.opened[rows[unpaid], group] = True
        through = self._pay(rows, total)
        for f in unpaid_features:
            self._take(rows[through], np.full(int(through.sum()), f))
        return through

    def _unpaid(self, term: Term, rows: NDArray[np.int64]) -> NDArray[np.int64]:
        """The features of a term that some row has not acquired; the others cost nothing."""
        return term.features[~self.state.acquired[rows[:, None], term.features].all(axis=0)]


def _add_trees(plan: Plan, k: int, known: NDArray[Any], scores: NDArray[np.float64]) -> NDArray[np.float64]:
    """Scores with the terms of node `k` added; what a row does not know is missing."""
    node, every = plan.nodes[k], np.arange(len(known))
    scores = scores + node.bias
    for t, c, weight in zip(node.terms.tolist(), node.channels.tolist(), node.weights, strict=True):
        scores[:, c] += weight * plan.terms[t].evaluate(known, every)
    return scores


def _who_goes_up(
    plan: Plan, gate: Gate, scores: NDArray[np.float64], bundle: NDArray[np.int64], size: NDArray[np.int64]
) -> NDArray[np.bool_]:
    if not isinstance(gate, ListwiseGate):
        return gate.goes_up(scores, plan.link, plan.n_outputs)
    values = gate.values(scores, plan.link, plan.n_outputs)
    return gate.sends_up_of_queries(values, bundle, size, np.lexsort((values, bundle)))


def _who_is_unsettled(
    plan: Plan,
    k: int,
    scores: NDArray[np.float64],
    X: NDArray[Any],
    rows: NDArray[np.int64],
    state: State,
    bundle: NDArray[np.int64],
    size: NDArray[np.int64],
) -> NDArray[np.bool_]:
    """Which rows go up at a gate that looks at the rest of the chain."""
    gate = plan.nodes[k].gate
    least, most = bounds_of_scores(plan, k, scores, X, rows, None)
    if isinstance(gate, ListwiseGate):
        if gate.looks_at_known:
            least, most = bounds_of_scores(plan, k, scores, X, rows, state.acquired[rows])
        cuts = gate.cuts(least[:, 0], bundle, size, np.lexsort((least[:, 0], bundle)))
        return ~(most[:, 0] < cuts[bundle])
    up = ~settled(plan, scores, least, most)
    if gate.looks_at_known and up.any():
        some = rows[up]
        least, most = bounds_of_scores(plan, k, scores[up], X, some, state.acquired[some])
        up[up] = ~settled(plan, scores[up], least, most)
    return up
