"""The receipt of a request to a plan on a server."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any

import numpy as np

from miserly.client.plan import RemotePlan
from miserly.runtime.receipt import Acquisition, Entry
from miserly.runtime.receipt_forms import ReceiptForms

__all__ = ["RemoteReceipt", "receipt_of", "receipt_so_far"]

_PARTS = tuple(one.name for one in fields(Acquisition))


@dataclass(frozen=True, eq=False, repr=False)
class RemoteReceipt(ReceiptForms):
    """The answer of a service to one request, with its purchases. It has the same fields as `Receipt`.

    Parameters
    ----------
    answer : object
        The prediction: a number or a class.
    probabilities : array of (n_classes,), or None
        The class probabilities; None if the plan has none.
    cost : float
        What was paid, evaluations included.
    evaluation_cost : float
        The part of `cost` that was paid for evaluations.
    stopped_by : {"answered", "budget", "deadline", "failure", "caller"}
        Why the request stopped.
    reason : str
        The reason as a sentence.
    node : int
        The node of the plan that answered; -1 if no node was finished, or the node is not known.
    seconds : float
        How long the request took.
    budget : float
        The cap; infinite if there is none.
    deadline : float or None
        The deadline of the request, in seconds.
    known : tuple
        The features that were known before the request. They cost nothing.
    trail : tuple of Acquisition
        The features that were requested, in order.
    speculated : tuple of Acquisition
        The features that the service bought in advance and the plan did not need.
    unit : str
        The unit of all amounts.
    classes : array or None
        The classes of the plan.
    digest : str
        The digest of the plan.
    request : int
        The number of the request in this process.
    receipt_id : str or None
        The identifier of the receipt, if the service keeps it.

    Examples
    --------
    >>> receipt = RemoteReceipt("ill", None, 6.0, 0.0, "answered", "", 1, 0.1, float("inf"), None, (), ())
    >>> receipt.answer, receipt.cost, receipt.acquired
    ('ill', 6.0, ())
    """

    answer: Any
    probabilities: Any
    cost: float
    evaluation_cost: float
    stopped_by: str
    reason: str
    node: int
    seconds: float
    budget: float
    deadline: float | None
    known: tuple[Any, ...]
    trail: tuple[Acquisition, ...]
    speculated: tuple[Acquisition, ...] = ()
    unit: str = ""
    classes: Any = None
    digest: str = ""
    request: int = 0
    receipt_id: str | None = None


def receipt_of(
    record: Mapping[str, Any], plan: RemotePlan, entries: Sequence[Entry] = (), **own: Any
) -> RemoteReceipt:
    """Return the receipt that a service gave.

    Parameters
    ----------
    record : mapping
        The receipt, from JSON.
    plan : RemotePlan
        The plan.
    entries : sequence of Entry
        The results of local sources: original values, and failures.
    **own : object
        Fields whose local value replaces that of the service.

    Returns
    -------
    RemoteReceipt
    """
    given = {name: record[name] for name in ("answer", "cost", "evaluation_cost", "stopped_by", "reason")}
    given |= {name: record[name] for name in ("node", "seconds", "deadline", "unit")}
    chances = record["probabilities"]
    receipt = RemoteReceipt(
        **given,
        probabilities=None if chances is None else np.array(chances, dtype=np.float64),
        budget=math.inf if record["budget"] is None else record["budget"],
        known=tuple(record["known"]),
        trail=_with_entries([_acquisition(one) for one in record["trail"]], entries, plan),
        speculated=tuple(_acquisition(one) for one in record["speculated"]),
        classes=plan.classes,
        digest=record["plan"],
    )
    return replace(receipt, **{name: value for name, value in own.items() if value is not None})


def receipt_so_far(
    session: Mapping[str, Any] | None, plan: RemotePlan, entries: Sequence[Entry], n_sent: int, **own: Any
) -> RemoteReceipt:
    """Return the purchases and the last known answer, if the service gave no receipt.

    Parameters
    ----------
    session : mapping or None
        The last session record of the service.
    plan : RemotePlan
        The plan.
    entries : sequence of Entry
        The results of local sources.
    n_sent : int
        The number of results that the session already holds.
    **own : object
        Fields of the receipt.

    Returns
    -------
    RemoteReceipt
    """
    last = session or {"answer": {"value": None, "probabilities": None}, "cost": 0.0, "budget": None}
    answer, chances = last["answer"]["value"], last["answer"]["probabilities"]
    known = None if chances is None else np.array(list(chances.values()), dtype=np.float64)
    history = [_purchase(one, i, plan) for i, one in enumerate(last.get("history", ()))]
    trail = [*_with_entries(history, entries[:n_sent], plan)]
    rest = tuple(known.tolist()) if known is not None else None
    for one in entries[n_sent:]:
        cost, price = one.cost or 0.0, one.price or 0.0
        place = (plan.costs.name(one.column), len(trail) + 1, one.value, price)
        facts = (cost if one.reserved is None else one.reserved, cost, one.seconds, one.retries)
        trail.append(Acquisition(*place, *facts, one.outcome, one.message, answer, rest))
    more = math.fsum(one.cost or 0.0 for one in entries[n_sent:])
    paid = math.fsum(one.cost for one in history)
    return RemoteReceipt(
        answer=answer, probabilities=known, cost=last["cost"] + more,
        evaluation_cost=max(0.0, last["cost"] - paid), node=-1,
        budget=math.inf if last["budget"] is None else last["budget"], trail=tuple(trail),
        unit=plan.costs.unit, classes=plan.classes, digest=plan.digest, **own,
    )  # fmt: skip


def _acquisition(record: Mapping[str, Any]) -> Acquisition:
    parts = {name: record[name] for name in _PARTS}
    if parts["probabilities"] is not None:
        parts["probabilities"] = tuple(parts["probabilities"])
    return Acquisition(**parts)


def _purchase(one: Mapping[str, Any], i: int, plan: RemotePlan) -> Acquisition:
    """One entry of the history of a session."""
    name, chances = plan.costs.name(plan.columns[one["feature"]]), one["probabilities"]
    return Acquisition(
        name, i + 1, one["value"], one["price"], one["price"], one["cost"], 0.0, 0, one["outcome"],
        one["message"], one["answer"], None if chances is None else tuple(chances.values()),
    )  # fmt: skip


def _with_entries(
    trail: Sequence[Acquisition], entries: Sequence[Entry], plan: RemotePlan
) -> tuple[Acquisition, ...]:
    """A trail completed with the results of local sources: original values, times and failures."""
    found = {plan.costs.name(one.column): one for one in entries}
    merged = []
    for one in trail:
        entry = found.get(one.feature)
        if entry is not None and entry.outcome == one.outcome:
            one = replace(
                one, value=entry.value, seconds=entry.seconds, retries=entry.retries, message=entry.message
            )
        merged.append(one)
    return tuple(merged)
