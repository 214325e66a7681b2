"""Compiled runs of a plan, by numba; `reference` has the same in plain NumPy, equal to the bit.

`run_blocks` does everything (gates, budgets, accounting) for blocks of rows, node by node, term by term. A
block holds whole bundles; a bundle is what must move together: one row, or, where a gate compares a document
with the others of its query, all rows of a query. `score_chain` is the short way for the commonest case, an
additive chain of trees run without accounts, `bill_chain` with accounts where no budget stops a row, and
`score_row` for a single row without accounts.

Functions take the few arrays they need and loop over rows inside: handing over a table costs as much as
walking a tree. The two entries release the interpreter's lock: `run_plan` and `run_chain` hand each thread
its own blocks.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from miserly.plan.engine.chain import Bills, Chain
from miserly.plan.engine.compiled_chain import bill_chain, score_chain
from miserly.plan.engine.compiled_paying import pay_evaluation, pay_features, pay_whole, walk_paying
from miserly.plan.engine.compiled_rest import (
    SETTLED,
    SETTLED_TOP,
    forget,
    new_memory,
    send_settled,
    send_settled_top,
)
from miserly.plan.engine.compiled_row import score_row
from miserly.plan.engine.compiled_rules import (
    GATE_RULES,
    LISTWISE,
    STOPPED,
    TERM_RULES,
    TREE,
    send_documents,
    send_rows,
    values_of,
)
from miserly.plan.engine.threads import pieces, side_by_side
from miserly.utils.compiled import compiled

if TYPE_CHECKING:
    from miserly.costs import RowPrices
    from miserly.plan.engine.batch import State
    from miserly.plan.plan import Plan

__all__ = ["acquiring", "run_chain", "run_plan", "score_chain", "score_row", "without_rule"]

BLOCK_ROWS = 128


def without_rule(plan: Plan) -> str | None:
    """The gates or terms of the plan that have no compiled rule; None where all have one."""
    gates, terms = plan.tables.nodes.gate, plan.tables.terms.kind
    if gates.max(initial=0) < len(GATE_RULES) and terms.max(initial=0) < len(TERM_RULES):  # codes 0, 1, 2 ...
        return None
    kinds = {node.gate.kind for node in plan.nodes} - {gate.kind for gate in GATE_RULES}
    if kinds:
        return f"gates of kind {', '.join(sorted(kinds))}"
    kinds = {term.kind for term in plan.terms} - {term.kind for term in TERM_RULES}
    return f"terms of kind {', '.join(sorted(kinds))}"


# -- nodes -------------------------------------------------------------------------------------------------


@compiled()
def _drop(rows, n, through, k, begun, at, trail, work, values):
    """Stop the rows that did not get through, close the ranks, and give how many are left."""
    if through[:n].all():
        return n
    kept = 0
    for r in range(n):
        i = rows[r]
        if through[r]:
            rows[kept], values[kept] = i, values[r]
            for c in range(work.shape[1]):
                work[kept, c] = work[r, c]
            kept += 1
        else:
            at[i], trail[i, 1], trail[i, 2] = STOPPED, k, begun
    return kept


@compiled()
def _buy_and_evaluate(tables, k, j, t, X, rows, n, whole, budget, state, work, values, through):
    """Pay for a fresh term and evaluate it; gives how many rows got through."""
    acquired, opened, spent, at, trail = state
    terms = tables.terms
    features = terms.features[terms.pointer[t] : terms.pointer[t + 1]]
    if whole:
        pay_whole(
            tables.prices, features, terms.evaluation[t], rows[:n], acquired, opened, spent, budget, through
        )
        n = _drop(rows, n, through, k, j, at, trail, work, values)
        values_of(tables, t, X, rows[:n], values)
        return n
    if terms.evaluation[t] > 0.0:
        pay_evaluation(terms.evaluation[t], rows[:n], spent, budget, through)
        n = _drop(rows, n, through, k, j, at, trail, work, values)
    if terms.kind[t] == TREE:
        walk_paying(
            tables.trees, tables.prices, terms.start[t], X, rows[:n],
            acquired, opened, spent, budget, values, through,
        )  # fmt: skip
        return _drop(rows, n, through, k, j + 1, at, trail, work, values)
    pay_features(tables.prices, features, rows[:n], acquired, opened, spent, budget, through)
    n = _drop(rows, n, through, k, j + 1, at, trail, work, values)
    values_of(tables, t, X, rows[:n], values)
    return n


@compiled()
def _run_node(tables, k, X, rows, n, whole, account, budget, scores, state, work, values, through, kept):
    """One node for `n` rows; gives how many finish it, their scores committed.

    `kept` has the values of terms that several nodes weigh, and the place of each row there.
    """
    nodes = tables.nodes
    _begin(nodes.inherits[k], nodes.single[k], nodes.bias[k], rows[:n], scores, work)
    first, last_term = nodes.pointer[k], -1
    for e in range(first, nodes.pointer[k + 1]):
        t, c, weight = nodes.term[e], nodes.channel[e], nodes.weight[e]
        if t != last_term:
            slot = nodes.slot[e]
            if not nodes.fresh[e]:
                _recall(kept[0][slot], kept[1], rows[:n], values)
            else:
                if account:
                    n = _buy_and_evaluate(
                        tables, k, e - first, t, X, rows, n, whole, budget, state, work, values, through
                    )
                else:
                    values_of(tables, t, X, rows[:n], values)
                if slot >= 0:
                    _remember(kept[0][slot], kept[1], rows[:n], values)
            last_term = t
        if nodes.single[k]:
            _add_single(weight, values[:n], work, c)
        else:
            _add(weight, values[:n], work, c)
    _commit(k, rows[:n], work, scores, state[4])
    return n


@compiled()
def _remember(slot, place, rows, values):
    for r in range(rows.shape[0]):
        slot[place[rows[r]]] = values[r]


@compiled()
def _recall(slot, place, rows, values):
    for r in range(rows.shape[0]):
        values[r] = slot[place[rows[r]]]


@compiled()
def _begin(inherits, single, bias, rows, scores, work):
    for r in range(rows.shape[0]):
        for c in range(bias.shape[0]):
            work[r, c] = (scores[rows[r], c] if inherits else 0.0) + bias[c]
            if single:
                work[r, c] = np.float32(work[r, c])


@compiled()
def _add(weight, values, work, c):
    for r in range(values.shape[0]):
        work[r, c] += weight * values[r]


@compiled()
def _add_single(weight, values, work, c):
    for r in range(values.shape[0]):
        added = np.float32(weight * np.float64(np.float32(values[r])))
        work[r, c] = np.float32(work[r, c] + np.float64(added))


@compiled()
def _commit(k, rows, work, scores, trail):
    for r in range(rows.shape[0]):
        trail[rows[r], 0] = k
        for c in range(work.shape[1]):
            scores[rows[r], c] = work[r, c]


# -- whole runs --------------------------------------------------------------------------------------------


@compiled()
def _furthest_behind(block, at, rows):
    """The first node where any row of the block is, and how many are there; `rows` gets them."""
    k, n = np.int64(-1), 0
    for b in range(block.shape[0]):
        i = block[b]
        if at[i] >= 0:
            if k < 0 or at[i] < k:
                k, n = at[i], 0
            if at[i] == k:
                rows[n] = i
                n += 1
    return k, n


@compiled()
def _run_block(tables, X, order, start, first, last, budget, account, whole, scores, state, kept, memory):
    """All nodes for bundles `first` to `last`."""
    nodes, at = tables.nodes, state[3]
    block = order[start[first] : start[last]]
    rows = np.empty(block.shape[0], np.int64)
    values = np.empty(block.shape[0])
    through = np.empty(block.shape[0], np.bool_)
    work = np.empty((block.shape[0], scores.shape[1]))
    if kept[1].shape[0] == X.shape[0]:
        for b in range(block.shape[0]):
            kept[1][block[b]] = b
    if memory.stamp.shape[0]:
        forget(memory, block.shape[0])
    while True:
        k, n = _furthest_behind(block, at, rows)
        if n == 0:
            return
        n = _run_node(
            tables, k, X, rows, n, whole, account, budget, scores, state, work, values, through, kept
        )
        if nodes.gate[k] == SETTLED:
            send_settled(tables, k, X, rows[:n], scores, state[0], at, memory, kept[1])
        elif nodes.gate[k] == SETTLED_TOP:
            send_settled_top(
                tables, k, X, order, start, first, last, scores, state[0], at, state[4], memory, kept[1]
            )
        elif LISTWISE[nodes.gate[k]]:
            send_documents(nodes, k, order, start, first, last, scores, at, state[4])
        else:
            send_rows(nodes, k, rows[:n], scores, at)


@compiled(nogil=True)
def run_blocks(tables, X, order, start, blocks, budget, account, whole, scores, state):
    """Every block: bundles ``blocks[b]`` to ``blocks[b + 1]``, whose rows are ``order[start[...]]``."""
    most = 0
    for b in range(blocks.shape[0] - 1):
        most = max(most, start[blocks[b + 1]] - start[blocks[b]])
    slots = 0
    for slot in tables.nodes.slot:
        slots = max(slots, slot + 1)
    memory = new_memory(tables, most)
    by_place = slots > 0 or memory.stamp.shape[0] > 0
    kept = (np.empty((slots, most)), np.empty(X.shape[0] if by_place else 1, np.int64))
    for b in range(blocks.shape[0] - 1):
        _run_block(
            tables,
            X,
            order,
            start,
            blocks[b],
            blocks[b + 1],
            budget,
            account,
            whole,
            scores,
            state,
            kept,
            memory,
        )


# -- all rows, in threads ----------------------------------------------------------------------------------


def run_chain(
    chain: Chain,
    matrix: Any,
    state: State,
    n_threads: int | None,
    bills: Bills | None = None,
    prices: RowPrices | None = None,
) -> None:
    """Run an additive chain of trees for all rows, without accounts, or with bills at `prices`."""
    state.trail[:, 0] = len(chain.pointer) - 2
    books = () if bills is None else (*bills, prices, state.acquired, state.opened, state.spent)
    kernel = score_chain if bills is None else bill_chain
    side_by_side(
        lambda low, high: kernel(*chain, matrix, low, high, state.scores, *books),
        pieces(len(matrix), n_threads, len(matrix)),
    )


def acquiring(n_threads: int | None) -> Callable[..., None]:
    """The compiled `acquire_rows` of plans with nodes that choose their purchases; the rest runs in NumPy."""
    from miserly.plan.engine.compiled_beliefs import acquire_rows

    return partial(acquire_rows, n_threads=n_threads)


def run_plan(
    plan: Plan,
    matrix: Any,
    order: NDArray[np.int64],
    start: NDArray[np.int64],
    limit: float,
    account: bool,
    whole: bool,
    state: State,
    n_threads: int | None,
    prices: RowPrices | None = None,
) -> None:
    """Run all rows, updating `state`; at other `prices` than those of the plan, if given."""
    tables = plan.tables if prices is None else plan.tables._replace(prices=prices)
    books = (state.acquired, state.opened, state.spent, state.at, state.trail)
    blocks = _blocks(start)

    def run_piece(low: int, high: int) -> None:
        some = blocks[low : high + 1]
        run_blocks(tables, matrix, order, start, some, limit, account, whole, state.scores, books)

    side_by_side(run_piece, pieces(len(blocks) - 1, n_threads, len(matrix)))


def _blocks(start: NDArray[np.int64]) -> NDArray[np.int64]:
    """Bundles together in blocks of about as many rows as fit the cache."""
    if len(start) > 1 and start[-2] < BLOCK_ROWS:  # the answer for few rows, which have little time
        return np.array([0, len(start) - 1])
    block = start[:-1] // BLOCK_ROWS
    first = np.flatnonzero(np.diff(block, prepend=-1)) if len(block) else np.zeros(0, np.int64)
    return np.append(first, len(start) - 1).astype(np.int64)
