"""Running a chain in stages: what all rows have scored and paid after some of its nodes."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from miserly.costs import RowCosts
from miserly.errors import PlanError
from miserly.plan.compose import segment
from miserly.plan.engine.batch import amounts_of, run_rows

if TYPE_CHECKING:
    from miserly.plan.plan import Plan

__all__ = ["Stage", "run_staged"]


@dataclass(frozen=True, eq=False)
class Stage:
    """All rows after the first nodes of a chain.

    Attributes
    ----------
    n_nodes : int
        The number of nodes that were run.
    scores : array of (n, n_scores)
        The scores before the link.
    acquired : bool array of (n, n_features)
        The features that each row bought so far.
    cost : array of (n,)
        What each row paid so far.
    amounts : array of (n, n_columns) or None
        The values of the plan's `amount_columns`, which rows acquire first; None without such columns.
    """

    n_nodes: int
    scores: NDArray[np.float64]
    acquired: NDArray[np.bool_]
    cost: NDArray[np.float64]
    amounts: NDArray[np.float64] | None = None


def run_staged(
    plan: Plan,
    rows: NDArray[Any],
    stops: Iterable[int],
    *,
    count: str = "path",
    account: bool = True,
    compiled: bool | None = None,
    n_threads: int | None = None,
    row_costs: RowCosts | None = None,
) -> Iterator[Stage]:
    """Run encoded rows up to each of `stops`; each node runs once. See `Plan.run_staged`."""
    if not plan.can_stage:
        raise PlanError("only a chain without gates and without a budget of its own can be run in stages")
    scores = np.tile(plan.base, (len(rows), 1))
    acquired = np.zeros((len(rows), plan.n_features), dtype=np.bool_)
    if account:
        acquired[:, list(plan.amount_columns)] = True
        if row_costs is not None and row_costs.known is not None:
            acquired &= ~row_costs.known
    amounts = amounts_of(plan, rows, None)
    evaluated: set[int] = set()
    done = 0
    for stop in stops:
        if stop > done:
            nodes = plan.nodes[done:stop]
            single = any(node.single for node in nodes)  # then scores of parts cannot be added up
            part = run_rows(
                segment(plan, done, stop),
                rows,
                count=count,
                account=account,
                compiled=compiled,
                n_threads=n_threads,
                row_costs=row_costs,
                begin=scores if single else None,
            )
            added = not single and all(node.inherits for node in nodes)
            scores = part.scores.reshape(scores.shape) + (scores if added else 0.0)
            acquired = acquired | part.acquired if account else acquired
            evaluated.update(t for node in nodes for t in node.terms.tolist())
            done = stop
        cost = np.zeros(len(rows))
        if account:
            evaluation = sum(plan.terms[t].evaluation for t in sorted(evaluated))
            cost = (plan.costs if row_costs is None else row_costs).of_each(acquired) + evaluation
        yield Stage(stop, scores, acquired, cost, amounts)
