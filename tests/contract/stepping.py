"""Whole tables, one example at a time: by trails, and on demand."""

from __future__ import annotations

import asyncio
from types import SimpleNamespace
from typing import Any

import numpy as np

from miserly.plan import Plan
from miserly.runtime import OnDemand

from .tasks import Rows

__all__ = ["step", "step_on_demand"]


def step(plan: Plan, rows: Rows, budget: float | None, count: str) -> Any:
    """What `plan.run` and `plan.predict` give, from trails: documents of a query together."""
    trails: list[Any] = [None] * len(rows)
    answers: list[Any] = [None] * len(rows)
    for members in rows.batches(1):
        if rows.qid is None:
            trails[members[0]] = _step_row(plan, rows.X[members[0]], budget, count)
            answers[members[0]] = trails[members[0]].answer()
            continue
        query = _step_query(plan, rows.X[members], budget, count)
        for i, trail, answer in zip(members, query.trails, query.answer(), strict=True):
            trails[i], answers[i] = trail, answer
    names = ("cost", "acquired", "exit", "stopped", "evaluated")
    return SimpleNamespace(
        scores=np.array([answer.scores for answer in answers]),
        answers=np.array([answer.value for answer in answers]),
        **{name: np.array([getattr(trail, name) for trail in trails]) for name in names},
    )


def _step_row(plan: Plan, x: Any, budget: float | None, count: str) -> Any:
    trail = plan.start(budget=budget, count=count)
    asked: list[Any] = []
    while need := trail.next():
        asked += need
        trail.tell({name: x[plan.costs.index(name)] for name in need})
    assert len(set(asked)) == len(asked), "asked twice"
    assert {plan.costs.index(name) for name in asked} == set(np.flatnonzero(trail.acquired))
    return trail


def _step_query(plan: Plan, X: Any, budget: float | None, count: str) -> Any:
    query = plan.start_query(len(X), budget=budget, count=count)
    asked: list[tuple[int, Any]] = []
    while need := query.next():
        asked += [(i, name) for i, names in need.items() for name in names]
        query.tell({i: {f: X[i, plan.costs.index(f)] for f in names} for i, names in need.items()})
    assert len(set(asked)) == len(asked), "asked twice"
    return query


def step_on_demand(path: Any, plan: Plan, X: Any, budget: float | None, how: str) -> Any:
    """Receipts of `OnDemand`, whose sources look features up by row number: plain ones, or async ones."""
    names = [plan.costs.name(f) for f in range(plan.n_features)]
    if how == "sync":
        served = OnDemand(path, sources={name: _look_up(X, f) for f, name in enumerate(names)})
        receipts = [served.predict(i, budget=budget) for i in range(len(X))]
    else:
        served = OnDemand(path, sources={name: _look_up_async(X, f) for f, name in enumerate(names)})
        receipts = asyncio.run(_all(served, len(X), budget))
    for receipt in receipts:
        assert sum(one.cost for one in receipt.trail) + receipt.evaluation_cost == receipt.cost
    return SimpleNamespace(
        answers=np.array([receipt.answer for receipt in receipts]),
        cost=np.array([receipt.cost for receipt in receipts]),
        acquired=np.array([[name in set(receipt.acquired) for name in names] for receipt in receipts]),
        exit=np.array([receipt.node for receipt in receipts]),
        evaluation=np.array([receipt.evaluation_cost for receipt in receipts]),
    )


def _look_up(X: Any, f: int) -> Any:
    return lambda i: X[i, f]


def _look_up_async(X: Any, f: int) -> Any:
    async def look(i: int) -> Any:
        return X[i, f]

    return look


async def _all(served: Any, n: int, budget: float | None) -> list[Any]:
    return [await served.apredict(i, budget=budget) for i in range(n)]
