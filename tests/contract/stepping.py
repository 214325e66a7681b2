"""Whole tables, one example at a time: by trails, and on demand."""

from __future__ import annotations

from importlib import import_module
from importlib.util import find_spec
from types import SimpleNamespace
from typing import Any

import numpy as np

from miserly.plan import Plan

from .tasks import Rows

__all__ = ["OnDemand", "step", "step_on_demand"]

OnDemand: Any = import_module("miserly.runtime").OnDemand if find_spec("miserly.runtime") else None


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


def step_on_demand(path: Any, plan: Plan, X: Any, budget: float | None) -> Any:
    """Receipts of `OnDemand`, whose sources look features up by row number."""
    names = [plan.costs.name(f) for f in range(plan.n_features)]
    sources = {name: (lambda i, f=f: X[i, f]) for f, name in enumerate(names)}
    served = OnDemand(path, sources=sources)
    receipts = [served.predict(i, budget=budget) for i in range(len(X))]
    return SimpleNamespace(
        answers=np.array([receipt.answer for receipt in receipts]),
        cost=np.array([receipt.cost for receipt in receipts]),
        acquired=np.array([[name in set(receipt.acquired) for name in names] for receipt in receipts]),
    )
