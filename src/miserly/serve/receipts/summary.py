"""Summaries of receipts: prices, answers, purchases, failures, and drift since training."""

from __future__ import annotations

import json
import math
import os
from collections import defaultdict
from datetime import datetime
from typing import Any

import sqlalchemy as sa

from miserly.plan import Plan
from miserly.runtime import Monitor
from miserly.runtime.receipt import DELIVERED
from miserly.serve.receipts.reading import Selection, opened, receipts_in_order
from miserly.serve.receipts.tables import PURCHASES, RECEIPTS

__all__ = ["summarise"]

_Z = 1.959964  # 95 %
_MOST_ANSWERS = 20  # with more distinct answers, they are summarised as numbers


def summarise(
    url: str | os.PathLike[str],
    *,
    model: str | None = None,
    since: datetime | None = None,
    until: datetime | None = None,
    plan: Plan | None = None,
) -> dict[str, Any]:
    """Summarise stored receipts.

    If a session ended several times, only its last receipt counts.

    Parameters
    ----------
    url : str or Path
        The database, as for `ReceiptKeeper`.
    model : str, optional
        The name of the model; by default all.
    since, until : datetime, optional
        The time range: `since` is included, `until` is not. Both need a time zone.
    plan : Plan, optional
        Compare the receipts of this plan with its reference; see `Monitor`.

    Returns
    -------
    dict
        The summary in plain values, for JSON.
    """
    selection = Selection(model, None, since, until)
    with opened(url) as connection:
        where = selection.conditions()
        n, first, last = connection.execute(
            sa.select(sa.func.count(), sa.func.min(RECEIPTS.c.at), sa.func.max(RECEIPTS.c.at)).where(*where)
        ).one()
        every = selection.conditions(all_of_a_session=True)
        n_all = connection.execute(
            sa.select(sa.func.count()).select_from(RECEIPTS).where(*every)
        ).scalar_one()
        names = connection.execute(sa.select(RECEIPTS.c.model).where(*where).distinct()).scalars()
        return {
            "receipts": n,
            "superseded": n_all - n,
            "first": None if first is None else first.isoformat(),
            "last": None if last is None else last.isoformat(),
            "models": [
                _model_record(connection, Selection(name, None, since, until)) for name in sorted(names)
            ],
            "drift": None if plan is None else _drift(connection, selection, plan),
        }


def _model_record(connection: sa.Connection, selection: Selection) -> dict[str, Any]:
    where = selection.conditions()
    n, mean, most, seconds, unit = connection.execute(
        sa.select(
            sa.func.count(), sa.func.avg(RECEIPTS.c.cost), sa.func.max(RECEIPTS.c.cost),
            sa.func.avg(RECEIPTS.c.seconds), sa.func.max(RECEIPTS.c.unit),
        ).where(*where)
    ).one()  # fmt: skip
    deviation = RECEIPTS.c.cost - mean
    variance = connection.execute(sa.select(sa.func.avg(deviation * deviation)).where(*where)).scalar_one()
    half = _Z * math.sqrt(variance / n)
    plans = connection.execute(
        sa.select(RECEIPTS.c.digest, sa.func.count(), sa.func.min(RECEIPTS.c.at), sa.func.max(RECEIPTS.c.at))
        .where(*where)
        .group_by(RECEIPTS.c.digest)
        .order_by(sa.func.min(RECEIPTS.c.at))
    )
    return {
        "model": selection.model,
        "receipts": n,
        "unit": unit,
        "mean_cost": mean,
        "mean_cost_lower": mean - half,
        "mean_cost_upper": mean + half,
        "highest_cost": most,
        "mean_seconds": seconds,
        "plans": [
            {"digest": digest, "receipts": count, "first": begun.isoformat(), "last": end.isoformat()}
            for digest, count, begun, end in plans
        ],
        "answers": _answers(connection, where, n),
        "stopped_by": _counts(connection, RECEIPTS.c.stopped_by, where, n),
        "features": _features(connection, where, n),
    }


def _counts(connection: sa.Connection, column: Any, where: list[Any], n: int) -> list[dict[str, Any]]:
    count = sa.func.count()
    found = connection.execute(
        sa.select(column, count).where(*where).group_by(column).order_by(count.desc(), column)
    )
    return [{"value": value, "receipts": m, "share": m / n} for value, m in found]


def _answers(connection: sa.Connection, where: list[Any], n: int) -> Any:
    """The share of each answer; for many distinct numbers their mean, minimum and maximum."""
    different = sa.select(RECEIPTS.c.answer).where(*where).distinct().limit(_MOST_ANSWERS + 1)
    few = [json.loads(one) for one in connection.execute(different).scalars()]
    is_number = all(isinstance(one, (int, float)) and not isinstance(one, bool) for one in few)
    if len(few) <= _MOST_ANSWERS or not is_number:
        counts = _counts(connection, RECEIPTS.c.answer, where, n)
        return [{**one, "value": json.loads(one["value"])} for one in counts]
    answer = sa.cast(RECEIPTS.c.answer, sa.Double)
    mean, least, most = connection.execute(
        sa.select(sa.func.avg(answer), sa.func.min(answer), sa.func.max(answer)).where(*where)
    ).one()
    return {"mean": mean, "lowest": least, "highest": most}


def _features(connection: sa.Connection, where: list[Any], n: int) -> list[dict[str, Any]]:
    """For each feature: the number of orders, the cost, and the outcomes without a value."""
    one = PURCHASES.c
    found = connection.execute(
        sa.select(
            one.feature, one.outcome, sa.func.count(), sa.func.sum(one.cost), sa.func.sum(one.seconds),
            sa.func.sum(one.retries),
        )
        .join_from(PURCHASES, RECEIPTS)
        .where(*where, ~one.ahead)
        .group_by(one.feature, one.outcome)
    )  # fmt: skip
    by_feature: dict[str, list[Any]] = defaultdict(list)
    for row in found:
        by_feature[row[0]].append(row[1:])
    records = []
    for feature, parts in by_feature.items():
        ordered = sum(count for _, count, *_ in parts)
        bought = sum(count for outcome, count, *_ in parts if outcome in DELIVERED)
        cost = math.fsum(cost for _, _, cost, *_ in parts)
        records.append(
            {
                "feature": feature,
                "ordered": ordered,
                "share": ordered / n,
                "bought": bought,
                "mean_price": cost / bought if bought else None,
                "cost": cost,
                "mean_seconds": math.fsum(seconds for *_, seconds, _ in parts) / ordered,
                "retries": sum(retries for *_, retries in parts),
                "failures": {outcome: count for outcome, count, *_ in parts if outcome not in DELIVERED},
            }
        )
    return sorted(records, key=lambda record: (-record["ordered"], record["feature"]))


def _drift(connection: sa.Connection, selection: Selection, plan: Plan) -> dict[str, Any]:
    """The report of a monitor on the receipts that are comparable with the reference rows of the plan.

    Receipts are left out if the request had its own budget, prices or known values, or if the session was
    stopped before the plan had answered.
    """
    monitor = Monitor(plan)
    budget = plan.budget if math.isfinite(plan.budget) else None
    left_out = 0
    chosen = Selection(selection.model, plan.digest, selection.since, selection.until)
    for kept in receipts_in_order(connection, chosen):
        row = kept.row
        if row["budget"] != budget or row["own_prices"] or row["known"] or row["stopped_by"] == "caller":
            left_out += 1
            continue
        trail = [one for one in kept.purchases if not one["ahead"]]
        monitor.add({**row, "answer": json.loads(row["answer"]), "plan": row["digest"], "trail": trail})
    return {
        "receipts": monitor.n,
        "left_out": left_out,
        "text": str(monitor),
        "alarms": [drift.to_dict() for drift in monitor.alarms],
    }
