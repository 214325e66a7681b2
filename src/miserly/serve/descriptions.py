"""Models, features and answers as JSON."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

from miserly.plan import Plan
from miserly.plan.facts import feature_facts
from miserly.plan.metadata import class_names
from miserly.runtime import Receipt
from miserly.runtime.receipt import plain_value
from miserly.serve.models import ServedModel

__all__ = [
    "answer_record",
    "feature_record",
    "model_record",
    "model_summary",
    "probabilities_record",
    "public_message",
    "public_reason",
    "receipt_record",
    "time_text",
]

_OUTCOMES = {  # clients do not see exceptions: they may hold paths or secrets
    "nan": "its source gave a value that is not a number",
    "invalid": "its source gave a value that cannot be used",
    "failed": "its source failed",
    "late": "its source did not answer in time",
    "declined": "it could not be had",
    "refused": "its source has failed often and is not asked for now",
    "exhausted": "its source was too busy",
    "cancelled": "the request ended before its source answered",
}


def time_text(seconds: float) -> str:
    """Return a time (seconds since 1970) as ISO 8601."""
    return datetime.fromtimestamp(seconds, UTC).isoformat(timespec="seconds").replace("+00:00", "Z")


def model_summary(model: ServedModel, problem: str | None = None) -> dict[str, Any]:
    """Return the entry of a model in ``GET /v1/models``."""
    plan, info = model.plan, model.plan.info
    target, version = info.get("target"), info.get("version")
    return {
        "name": model.name,
        "title": model.title,
        "target": target if isinstance(target, str) else "",
        "about": _text(info.get("about")),
        "unit": plan.costs.unit,
        "digest": model.digest,
        "version": version if isinstance(version, str) else model.digest[:12],
        "classes": None if plan.classes is None else plain_value(plan.classes),
        "class_names": class_names(plan),
        "n_features": len(plan.features),
        "max_cost": plain_value(plan.max_cost),
        "loaded_at": time_text(model.loaded_at),
        "problem": problem,
    }


def model_record(model: ServedModel, problem: str | None = None) -> dict[str, Any]:
    """Return the response of ``GET /v1/models/{name}``."""
    plan, costs = model.plan, model.plan.costs
    used = plan.features.tolist()
    others = sorted(set(range(plan.n_features)) - set(used))
    groups = [
        {
            "name": name,
            "setup": float(costs.setup[g]),
            "features": [str(costs.name(f)) for f in used if g in costs.groups_of(f)],
        }
        for g, name in enumerate(costs.group_names)
    ]
    return {
        **model_summary(model, problem),
        "named": costs.names is not None,
        "features": [
            {**feature_record(plan, f), **_place(plan, f), "fetched": costs.name(f) in model.sourced}
            for f in used
        ],
        "other_features": [{"name": str(costs.name(f)), **_place(plan, f)} for f in others],
        "groups": [group for group in groups if group["features"]],
        "guarantees": list(plan.guarantees),
        "budgets": _budgets(plan),
        "description": plan.describe(),
    }


def feature_record(plan: Plan, f: int) -> dict[str, Any]:
    """Return the description of a column for people: label, unit, help, choices, range, price."""
    facts, name, costs = feature_facts(plan, f), str(plan.costs.name(f)), plan.costs
    choices = facts.choices or [(one, str(one)) for one in facts.categories]
    groups = [costs.group_names[group] for group in costs.groups_of(f)]
    kind = "number"
    if facts.categories:
        kind = "boolean" if all(isinstance(one, bool) for one in facts.categories) else "category"
    return {
        "name": name,
        "label": facts.label or name,
        "unit": facts.unit,
        "help": facts.help,
        "kind": kind,
        "choices": [{"value": plain_value(value), "label": label} for value, label in choices],
        "low": facts.low,
        "high": facts.high,
        "whole": facts.whole,
        "price": float(costs.feature[f]),
        "group": ", ".join(groups) or None,
    }


def _place(plan: Plan, f: int) -> dict[str, Any]:
    """The description of a column for clients with sources, also if the plan does not use the column."""
    return {"column": f, "groups": [plan.costs.group_names[group] for group in plan.costs.groups_of(f)]}


def probabilities_record(plan: Plan, probabilities: Any) -> dict[str, float] | None:
    """Return the probability of each class; None if there are none."""
    if probabilities is None:
        return None
    labels = range(len(probabilities)) if plan.classes is None else plan.classes.tolist()
    return {str(label): plain_value(float(p)) for label, p in zip(labels, probabilities, strict=True)}


def answer_record(receipt: Receipt, full: bool = False) -> dict[str, Any]:
    """Return the answer to one row, with its receipt if `full`."""
    plan = receipt.plan
    record = {
        "answer": plain_value(receipt.answer),
        "probabilities": probabilities_record(plan, receipt.probabilities),
        "cost": receipt.cost,
        "unit": plan.costs.unit,
        "acquired": [str(one) for one in receipt.acquired],
        "stopped_by": receipt.stopped_by,
        "reason": public_reason(receipt),
    }
    if full:
        record["receipt"] = receipt_record(receipt)
    return record


def receipt_record(receipt: Receipt) -> dict[str, Any]:
    """Return a receipt for clients. It omits the error messages of sources."""
    record = receipt.to_dict()
    record["reason"] = public_reason(receipt)
    for purchase in (*record["trail"], *record["speculated"]):
        purchase["message"] = public_message(purchase["outcome"])
    return record


def public_reason(receipt: Receipt) -> str:
    """Return why a request stopped, without the text of an exception."""
    if receipt.stopped_by != "failure":
        return receipt.reason
    failed = [str(one.feature) for one in receipt.trail if not one.delivered]
    return f"the source of {failed[-1]} failed" if failed else "a source failed"


def public_message(outcome: str) -> str:
    """Return the text for clients about the outcome of a purchase; empty if there is a value.

    >>> public_message("late")
    'its source did not answer in time'
    """
    return _OUTCOMES.get(outcome, "")


def _budgets(plan: Plan) -> list[dict[str, Any]]:
    """The estimates for budgets in the file, if they were made for exactly this plan."""
    budgets = plan.info.get("budgets")
    if not isinstance(budgets, list) or plan.info.get("budgets_of") != plan.digest:
        return []
    return [dict(one) for one in budgets if isinstance(one, Mapping)]


def _text(value: Any) -> str:
    return value.strip() if isinstance(value, str) else ""
