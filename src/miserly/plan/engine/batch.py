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
- What a row knows already is not acquired and costs nothing, and its group is open. A row may pay other
  prices than those of the plan. Evaluations cost the same for all rows.
- Columns with amounts that the decision of a plan reads are paid first, before node 0.
- A node with an acquisition buys only what fits, so a budget never stops a row in it.
- So whatever the budget, a row buys the same things in the same order, up to a node that chooses purchases.
  Cost never falls as the budget rises; `MixtureAcquisition` says why that holds there too.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary

import numpy as np
from numpy.typing import ArrayLike, NDArray

from miserly.costs import RowCosts, RowPrices, fits, read_budget
from miserly.costs.prices import row_totals
from miserly.errors import PlanError, warn_once
from miserly.plan.engine.bought import node_alone
from miserly.plan.engine.chain import bills_of, chain_of
from miserly.plan.engine.reference import pay_amounts, run_reference
from miserly.utils.checks import check_queries
from miserly.utils.inputs import as_input

if TYPE_CHECKING:
    from miserly.plan.plan import Plan

__all__ = ["FLOATS", "Run", "amounts_of", "encode", "engine_for", "engine_of", "run_rows"]

# Plain NumPy walks a million trees down for one row each in about 0.3 seconds; compiling takes much longer.
_MUCH = 3_000_000
_ACQUIRING_ROWS = 100  # rows that choose their purchases take milliseconds each
FLOATS = (np.dtype(np.float32), np.dtype(np.float64))
_NARROW = 4_000_000  # values of float32 for which a compiled engine of their own is worth half a minute


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
        What each row bought. What it knew already is not among it.
    exit : int array of (n,)
        The node each row answered from; -1 is the plan's base.
    stopped : bool array of (n,)
        Whether the budget stopped the row.
    amounts : array of (n, n_columns) or None
        The values of the plan's `amount_columns`, NaN where a row has not acquired one; None without such
        columns.
    """

    plan: Plan = field(repr=False)
    scores: NDArray[np.float64]
    cost: NDArray[np.float64]
    acquired: NDArray[np.bool_]
    exit: NDArray[np.int64]
    stopped: NDArray[np.bool_]
    pending: NDArray[np.int64] = field(repr=False)
    begun: NDArray[np.int64] = field(repr=False)
    amounts: NDArray[np.float64] | None = field(default=None, repr=False)

    @cached_property
    def evaluated(self) -> NDArray[np.bool_]:
        """Which terms each row paid the evaluation of, (n, n_terms), finished or not."""
        tables, parents = self.plan.tables, self.plan.parents
        out = np.zeros((len(self.exit), len(self.plan.terms)), dtype=np.bool_)
        exits, group = np.unique(self.exit, return_inverse=True)
        for number, k in enumerate(exits.tolist()):
            finished = np.zeros(len(self.plan.terms), dtype=np.bool_)
            while k >= 0:
                finished[self.plan.nodes[k].paid_terms] = True
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
    row_costs: RowCosts | None = None,
    begin: NDArray[np.float64] | None = None,
) -> Run:
    """Run a plan over encoded rows, as `encode` gives them; see `Plan.run`.

    `begin` (n, n_scores) are scores to start from instead of the base of the plan.
    """
    limit = min(read_budget(budget), plan.budget)
    if count not in ("path", "tree"):
        raise PlanError(f"count is 'path' or 'tree', not {count!r}")
    matrix = _checked(plan, rows)
    n = len(matrix)
    order, start = _bundles(plan, n, qid)
    account = account or np.isfinite(limit) or plan.looks_at_known
    part = plan if account else plan.answering_part
    state = State.fresh(part, n)
    prices = None
    if begin is not None:
        state.scores[:] = begin
    if row_costs is not None and account:
        state.begin_with(row_costs)
        prices = row_costs.prices
    if account:
        pay_amounts(plan, matrix, limit, state, prices)
    engine = engine_of(part, compiled)
    whole = count == "tree"
    if engine is None:
        run_reference(part, matrix, order, start, limit, account, whole, state, prices)
    elif part.acquires or part.reads_bought:
        runs = engine.acquiring(n_threads), _adding_trees(n_threads)
        run_reference(part, matrix, order, start, limit, account, whole, state, prices, *runs)
    elif not account and (chain := chain_of(part)) is not None:
        engine.run_chain(chain, matrix, state, n_threads)
    elif account and _run_billed_chain(engine, part, matrix, limit, whole, state, n_threads, prices):
        pass
    else:
        engine.run_plan(part, matrix, order, start, limit, account, whole, state, n_threads, prices)
    state.trail[:, 0] += len(plan.nodes) - len(part.nodes)
    return state.result(plan, limit, amounts_of(plan, matrix, state.acquired if account else None))


def amounts_of(plan: Plan, X: NDArray[Any], acquired: NDArray[np.bool_] | None) -> NDArray[np.float64] | None:
    """The amounts that the decision of a plan reads, where rows have acquired them; None if it reads none."""
    columns = list(plan.amount_columns)
    if not columns:
        return None
    amounts = X[:, columns].astype(np.float64)
    return amounts if acquired is None else np.where(acquired[:, columns], amounts, np.nan)


def _adding_trees(n_threads: int | None) -> Callable[..., NDArray[np.float64]]:
    """What adds the trees of a node that reads only what is bought to scores, in compiled code."""

    def add_trees(
        plan: Plan, k: int, known: NDArray[Any], scores: NDArray[np.float64]
    ) -> NDArray[np.float64]:
        found = run_rows(node_alone(plan, k), known, n_threads=n_threads, account=False, begin=scores)
        return found.scores.reshape(scores.shape)

    return add_trees


def _run_billed_chain(
    engine: Any,
    plan: Plan,
    matrix: NDArray[Any],
    limit: float,
    whole: bool,
    state: State,
    n_threads: int | None,
    prices: RowPrices | None,
) -> bool:
    """Run a chain of trees the short way if no budget can stop a row; gives whether it could."""
    chain = chain_of(plan)
    if chain is None:
        return False
    own = plan.tables.prices if prices is None else prices
    if not whole:
        bills = bills_of(plan)
        if bills is None or not _all_can_pay(plan, limit, own):
            return False
        engine.run_chain(chain, matrix, state, n_threads, bills, own)
        return True
    if prices is not None or state.known is not None or not len(matrix):
        return False
    one = State.fresh(plan, 1)  # all rows have the same bill: whole trees are paid
    pay_amounts(plan, matrix[:1], limit, one)
    engine.run_plan(plan, matrix[:1], np.arange(1), np.arange(2), limit, True, whole, one, n_threads)
    if one.trail[0, 1] >= 0:
        return False
    state.acquired[:], state.opened[:], state.spent[:] = one.acquired, one.opened, one.spent
    engine.run_chain(chain, matrix, state, n_threads)
    return True


def _all_can_pay(plan: Plan, limit: float, prices: RowPrices) -> bool:
    """Whether a row can pay for everything that the plan may ask for, whatever the order of its sums."""
    if limit == np.inf:
        return True
    needs = np.zeros((len(prices.own), plan.n_features), dtype=np.bool_)
    needs[:, plan.features] = True
    many = plan.n_features + len(plan.costs.setup) + len(plan.terms)
    total = row_totals(needs, prices).max(initial=0.0) + sum(term.evaluation for term in plan.terms)
    return bool(fits(0.0, total * (1.0 + many * np.finfo(np.float64).eps), limit))


@dataclass
class State:
    """Where every row is, while it runs."""

    scores: NDArray[np.float64]
    acquired: NDArray[np.bool_]
    opened: NDArray[np.bool_]
    spent: NDArray[np.float64]
    at: NDArray[np.int64]
    trail: NDArray[np.int64]  # columns: exit, pending node, terms begun in it
    known: NDArray[np.bool_] | None = None  # what each row knew before

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

    def begin_with(self, row_costs: RowCosts) -> None:
        """Count what rows know already as paid."""
        if row_costs.known is not None:
            self.acquired[:], self.opened[:] = row_costs.known, row_costs.opened
            self.known = row_costs.known

    def result(self, plan: Plan, limit: float, amounts: NDArray[np.float64] | None) -> Run:
        outputs = self.scores[:, : plan.n_outputs]
        return Run(
            plan=plan,
            scores=outputs[:, 0].copy() if plan.n_outputs == 1 else outputs,
            cost=np.minimum(self.spent, limit),
            acquired=self.acquired if self.known is None else self.acquired & ~self.known,
            exit=self.trail[:, 0].copy(),
            stopped=self.trail[:, 1] >= 0,
            pending=self.trail[:, 1].copy(),
            begun=self.trail[:, 2].copy(),
            amounts=amounts,
        )


def engine_for(plan: Plan, n_rows: int) -> bool | None:
    """What to pass as `compiled` for one run in a process of its own: False where NumPy is done sooner.

    >>> from miserly import Costs, Plan
    >>> engine_for(Plan(costs=Costs([1.0]), terms=[], nodes=[], base=[0.0]), n_rows=100)
    False
    """
    few = n_rows < _ACQUIRING_ROWS if plan.acquires else n_rows * len(plan.terms) < _MUCH
    return False if few else None


def engine_of(plan: Plan, compiled: bool | None) -> Any:
    """The compiled engine, or None for NumPy."""
    if compiled is False:
        return None
    from miserly.utils import compiled as _compiled

    if _compiled.is_compiling():
        from miserly.plan.engine import compiled as engine

        unknown = _without_rule(plan, engine)
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


_WITHOUT_RULE: WeakKeyDictionary[Plan, str | None] = WeakKeyDictionary()


def _without_rule(plan: Plan, engine: Any) -> str | None:
    """What has no compiled rule, found out once: a run of one row takes only microseconds."""
    if plan not in _WITHOUT_RULE:
        _WITHOUT_RULE[plan] = engine.without_rule(plan)
    return _WITHOUT_RULE[plan]


# -- rows --------------------------------------------------------------------------------------------------


def encode(plan: Plan, X: Any, unknown: str = "error") -> NDArray[Any]:
    """Rows as users give them, as numbers and codes; see `Plan.encode`."""
    is_numbers = isinstance(X, np.ndarray) and X.dtype.kind in "iufb"
    needed = None if is_numbers and not plan.categories else plan.features
    return np.ascontiguousarray(plan.encoder.rows(X, needed, unknown))


def _checked(plan: Plan, rows: NDArray[Any]) -> NDArray[Any]:
    """Encoded rows of the width that compiled code reads without looking; small tables as float64."""
    if not isinstance(rows, np.ndarray):
        raise PlanError(f"encoded rows are a float matrix, not {type(rows).__name__}")
    if rows.ndim != 2 or rows.shape[1] != plan.n_features or rows.dtype not in FLOATS:
        raise PlanError(
            f"encoded rows are a float matrix of {plan.n_features} columns, not {rows.dtype} of {rows.shape}"
        )
    return as_input(np.ascontiguousarray(rows, dtype=rows.dtype if rows.size > _NARROW else np.float64))
