"""Running a plan over many rows: the result, and the choice of engine.

The rules of a run, which `compiled`, `reference` and `stepping` share:

- A node's scores count only once the node is finished. A row that is stopped in it answers with the scores of
  the last node finished (the plan's base if there is none).
- A term met for the first time pays its evaluation, then its features: ``count="path"`` pays each feature
  when a split (or the raw value) asks for it; ``count="tree"`` pays all that the term might need, at once.
- With a budget (of the run or of the plan itself, whichever is less), the first thing that does not fit
  stops the row. What was bought until then stays paid.
- A list-wise gate compares all documents of a query that have not left. Where the budget stopped one of them
  before the gate, the others stop at it: which would go on cannot be known.
- So whatever the budget, a row buys the same things in the same order, and cost never falls as it rises.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import cached_property
from itertools import pairwise
from typing import TYPE_CHECKING, Any, NamedTuple
from weakref import WeakKeyDictionary

import numpy as np
from numpy.typing import ArrayLike, NDArray

from miserly.costs import read_budget
from miserly.errors import DataError, PlanError
from miserly.plan.engine.reference import run_reference
from miserly.plan.engine.tables import chain_arrays
from miserly.plan.gates import Onward
from miserly.plan.terms import Tree
from miserly.utils.checks import check_queries
from miserly.utils.warn import warn_once

if TYPE_CHECKING:
    from miserly.plan.plan import Plan

__all__ = ["Run", "encode", "run_rows", "walker"]

BLOCK_ROWS = 128
FEW_ROWS = 16  # as many as are scored row by row
_FLOATS = (np.dtype(np.float32), np.dtype(np.float64))
PARALLEL_ROWS = 2048  # fewer rows than this are not worth waking other threads for


@dataclass(frozen=True, eq=False)
class Run:
    """What running a plan over some rows gave.

    Attributes
    ----------
    scores : array of (n,) or (n, n_outputs)
        The answers before the link.
    cost : array of (n,)
        What each row paid: features, set-ups and evaluations.
    acquired : bool array of (n, n_features)
        What each row bought.
    exit : int array of (n,)
        The node each row answered from; -1 is the plan's base.
    stopped : bool array of (n,)
        Whether the budget stopped the row.
    """

    plan: Plan = field(repr=False)
    scores: NDArray[np.float64]
    cost: NDArray[np.float64]
    acquired: NDArray[np.bool_]
    exit: NDArray[np.int64]
    stopped: NDArray[np.bool_]
    pending: NDArray[np.int64] = field(repr=False)
    begun: NDArray[np.int64] = field(repr=False)

    @cached_property
    def evaluated(self) -> NDArray[np.bool_]:
        """Which terms each row paid the evaluation of, (n, n_terms), finished or not."""
        tables, parents = self.plan.tables, self.plan.parents
        out = np.zeros((len(self.exit), len(self.plan.terms)), dtype=np.bool_)
        exits, group = np.unique(self.exit, return_inverse=True)
        for number, k in enumerate(exits.tolist()):
            finished = np.zeros(len(self.plan.terms), dtype=np.bool_)
            while k >= 0:
                finished[self.plan.nodes[k].terms] = True
                k = int(parents[k])
            out[group == number] = finished
        for i in np.flatnonzero(self.stopped & (self.begun > 0)):
            first = tables.nodes.pointer[self.pending[i]]
            out[i, tables.nodes.term[first : first + self.begun[i]]] = True
        return out


def run_rows(
    plan: Plan,
    rows: NDArray[Any],
    *,
    budget: float | None = None,
    count: str = "path",
    qid: ArrayLike | None = None,
    compiled: bool | None = None,
    n_threads: int | None = None,
    account: bool = True,
) -> Run:
    """Run a plan over encoded rows, as `encode` gives them; see `Plan.run`."""
    limit = min(read_budget(budget), plan.budget)
    if count not in ("path", "tree"):
        raise PlanError(f"count is 'path' or 'tree', not {count!r}")
    matrix = _checked(plan, rows)
    n = len(matrix)
    order, start = _bundles(plan, n, qid)
    account = account or np.isfinite(limit)
    part = plan if account else plan.answering_part
    state = State.fresh(part, n)
    engine = _engine(part, compiled)
    whole = count == "tree"
    if engine is None:
        run_reference(part, matrix, order, start, limit, account, whole, state)
    elif not account and _shape_of(part, engine).plain_chain:
        _run_chain(engine, part, matrix, state, n_threads)
    else:
        _run_compiled(engine, part, matrix, order, start, limit, account, whole, state, n_threads)
    state.trail[:, 0] += len(plan.nodes) - len(part.nodes)
    return state.result(plan, limit)


@dataclass
class State:
    """Where every row is, while it runs."""

    scores: NDArray[np.float64]
    acquired: NDArray[np.bool_]
    opened: NDArray[np.bool_]
    spent: NDArray[np.float64]
    at: NDArray[np.int64]
    trail: NDArray[np.int64]  # columns: exit, pending node, terms begun in it

    @classmethod
    def fresh(cls, plan: Plan, n: int) -> State:
        return cls(
            scores=np.tile(plan.base, (n, 1)),
            acquired=np.zeros((n, plan.n_features), dtype=np.bool_),
            opened=np.zeros((n, len(plan.costs.setup)), dtype=np.bool_),
            spent=np.zeros(n),
            at=np.full(n, 0 if plan.nodes else -1, dtype=np.int64),
            trail=np.tile(np.array([-1, -1, 0], dtype=np.int64), (n, 1)),
        )

    def result(self, plan: Plan, limit: float) -> Run:
        outputs = self.scores[:, : plan.n_outputs]
        return Run(
            plan=plan,
            scores=outputs[:, 0].copy() if plan.n_outputs == 1 else outputs,
            cost=np.minimum(self.spent, limit),
            acquired=self.acquired,
            exit=self.trail[:, 0].copy(),
            stopped=self.trail[:, 1] >= 0,
            pending=self.trail[:, 1].copy(),
            begun=self.trail[:, 2].copy(),
        )


def _engine(plan: Plan, compiled: bool | None) -> Any:
    """The compiled engine, or None for NumPy."""
    if compiled is False:
        return None
    from miserly.utils import compiled as _compiled

    if _compiled.is_compiling():
        from miserly.plan.engine import compiled as engine

        unknown = _shape_of(plan, engine).without_rule
        if unknown is None:
            return engine
        if compiled:
            raise PlanError(f"compiled code has no rule for {unknown}; run with compiled=False")
        return None
    why = _compiled.why_not()
    if compiled:
        raise PlanError(f"compiled=True needs numba, which cannot be used: {why}")
    if _compiled.MISSING not in ("", _compiled.NOT_INSTALLED):
        warn_once("no plans", f"plans run in NumPy, which takes longer: numba cannot be used: {why}")
    return None


def _bundles(plan: Plan, n: int, qid: ArrayLike | None) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Rows in an order that keeps together what a list-wise gate compares, and where each bundle starts."""
    if qid is None or not plan.listwise:
        if qid is not None:
            check_queries(qid, n)
        return np.arange(n), np.arange(n + 1)
    _, code = np.unique(check_queries(qid, n), return_inverse=True)
    order = np.argsort(code, kind="stable")
    return order, np.concatenate([[0], np.cumsum(np.bincount(code, minlength=0))]).astype(np.int64)


class _Shape(NamedTuple):
    """What decides how compiled code runs a plan."""

    plain_chain: bool
    without_rule: str | None


_SHAPES: WeakKeyDictionary[Plan, _Shape] = WeakKeyDictionary()


def _shape_of(plan: Plan, engine: Any) -> _Shape:
    """The shape of a plan, found out once: a run of one row takes only microseconds."""
    shape = _SHAPES.get(plan)
    if shape is None:
        shape = _SHAPES[plan] = _Shape(_is_plain_chain(plan), engine.without_rule(plan))
    return shape


def _is_plain_chain(plan: Plan) -> bool:
    """Whether every row adds the same numeric trees in the same order, so that there is nothing to decide."""
    tables = plan.tables
    n = len(plan.nodes)
    return bool(
        (tables.nodes.gate == Onward.code).all()
        and tables.nodes.inherits.all()
        and (tables.nodes.up == [*range(1, n), -1][:n]).all()
        and (tables.terms.kind == Tree.code).all()
        and tables.terms.plain.all()
    )


def walker(plan: Plan) -> Callable[[NDArray[Any]], NDArray[np.float64]]:
    """A function from one row to its scores, without bookkeeping; the plan's own budget is kept.

    For a service that answers one request at a time. The row is an array with one entry per input of the
    plan. Additive chains of numeric trees over numeric columns take the compiled short way, fastest with
    float32 or float64; any other plan runs as `Plan.run` runs it. A row of another length is refused:
    compiled code would read past its end.
    """
    engine = _engine(plan, None)
    shape, coded = (plan.n_features,), not set(plan.categories).isdisjoint(plan.features.tolist())
    if engine is None or coded or np.isfinite(plan.budget) or not _is_plain_chain(plan):
        return lambda x: run_rows(plan, encode(plan, _row(x, shape)[None]), account=False).scores.reshape(-1)
    arrays, base, n_outputs = chain_arrays(plan.tables), plan.base[None], plan.n_outputs
    narrow, wide = _FLOATS

    def walk(x: NDArray[Any]) -> NDArray[np.float64]:
        if type(x) is not np.ndarray or x.shape != shape or (x.dtype is not wide and x.dtype is not narrow):
            x = encode(plan, _row(x, shape)[None])[0]
        scores = base.copy()
        engine.score_few(*arrays, x.reshape(1, -1), scores)
        return scores[0, :n_outputs]

    return walk


def _row(x: Any, shape: tuple[int, ...]) -> NDArray[Any]:
    """One row for a walker."""
    row = x if isinstance(x, np.ndarray) else np.array(x, dtype=object)
    if row.shape != shape:
        raise DataError(f"a row must have {shape[0]} values, one for each column; its shape is {row.shape}")
    return row


def _run_chain(engine: Any, plan: Plan, matrix: Any, state: State, n_threads: int | None) -> None:
    if len(matrix) <= FEW_ROWS:
        engine.score_few(*chain_arrays(plan.tables), matrix, state.scores)
        state.trail[:, 0] = len(plan.nodes) - 1
        return
    pieces = _pieces(len(matrix), n_threads, len(matrix))
    _side_by_side(
        lambda low, high: engine.score_chain(plan.tables, matrix, low, high, BLOCK_ROWS, state.scores), pieces
    )
    state.trail[:, 0] = len(plan.nodes) - 1


def _run_compiled(
    engine: Any,
    plan: Plan,
    matrix: Any,
    order: NDArray[np.int64],
    start: NDArray[np.int64],
    limit: float,
    account: bool,
    whole: bool,
    state: State,
    n_threads: int | None,
) -> None:
    books = (state.acquired, state.opened, state.spent, state.at, state.trail)
    blocks = _blocks(start)

    def run_piece(low: int, high: int) -> None:
        some = blocks[low : high + 1]
        engine.run_blocks(plan.tables, matrix, order, start, some, limit, account, whole, state.scores, books)

    _side_by_side(run_piece, _pieces(len(blocks) - 1, n_threads, len(matrix)))


def _blocks(start: NDArray[np.int64]) -> NDArray[np.int64]:
    """Bundles together in blocks of about as many rows as fit the cache."""
    block = start[:-1] // BLOCK_ROWS
    first = np.flatnonzero(np.diff(block, prepend=-1)) if len(block) else np.zeros(0, np.int64)
    return np.append(first, len(start) - 1).astype(np.int64)


def _pieces(n: int, n_threads: int | None, n_rows: int) -> list[tuple[int, int]]:
    """`n` things cut into one piece per thread; one piece where there are few rows."""
    many = max(1, min(n_threads or os.cpu_count() or 1, n)) if n_rows >= PARALLEL_ROWS else 1
    cuts = np.linspace(0, n, many + 1).astype(int).tolist()
    return list(pairwise(cuts))


def _side_by_side(work: Callable[[int, int], None], pieces: list[tuple[int, int]]) -> None:
    """Run each piece, in threads of its own if there are several: `work` releases the interpreter's lock."""
    if len(pieces) == 1:
        work(*pieces[0])
        return
    with ThreadPoolExecutor(len(pieces)) as pool:
        for done in [pool.submit(work, *piece) for piece in pieces]:
            done.result()


# -- rows --------------------------------------------------------------------------------------------------


def encode(plan: Plan, X: Any, unknown: str = "error") -> NDArray[Any]:
    """Rows as users give them, as numbers and codes; see `Plan.encode`."""
    is_numbers = isinstance(X, np.ndarray) and X.dtype.kind in "iufb"
    needed = None if is_numbers and not plan.categories else plan.features
    return np.ascontiguousarray(plan.encoder.rows(X, needed, unknown))


def _checked(plan: Plan, rows: NDArray[Any]) -> NDArray[Any]:
    """Encoded rows of the width that compiled code reads without looking."""
    if not isinstance(rows, np.ndarray):
        raise PlanError(f"encoded rows are a float matrix, not {type(rows).__name__}")
    if rows.ndim != 2 or rows.shape[1] != plan.n_features or rows.dtype not in _FLOATS:
        raise PlanError(
            f"encoded rows are a float matrix of {plan.n_features} columns, not {rows.dtype} of {rows.shape}"
        )
    return np.ascontiguousarray(rows)
