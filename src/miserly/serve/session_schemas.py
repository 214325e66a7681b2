"""Schemas of sessions for OpenAPI, with examples."""

from __future__ import annotations

from typing import Any

from miserly.serve.fetched import OUTCOMES, STOPS
from miserly.serve.schemas import HEART, SCHEMAS, array_of, object_of, or_null, ref

__all__ = ["SESSION", "WHAT_IF"]

_TEXT: dict[str, Any] = {"type": "string"}
_FLAG: dict[str, Any] = {"type": "boolean"}
_AMOUNT: dict[str, Any] = {"type": "number", "minimum": 0}
_NUMBER: dict[str, Any] = {"type": ["number", "null"]}
_LABEL: dict[str, Any] = {"description": "A class, a number, or several numbers."}
_PROBABILITIES = or_null({"type": "object", "additionalProperties": {"type": ["number", "null"]}})
_VALUES: dict[str, Any] = {"type": "object", "additionalProperties": ref("Value")}
_VERSION: dict[str, Any] = {
    "type": ["integer", "null"],
    "minimum": 1,
    "description": "The version that the client has seen; 409 if it has changed since.",
}
_BUDGET: dict[str, Any] = {
    "type": ["number", "null"],
    "minimum": 0,
    "description": "A cap: no more than this is paid. Null: no cap.",
}
_PAID: dict[str, Any] = {"type": ["number", "null"], "minimum": 0, "maximum": 1e99}
_FETCHED = array_of(
    object_of(
        {
            "feature": _TEXT,
            "value": ref("Value"),
            "outcome": {"type": ["string", "null"], "enum": [*OUTCOMES, None]},
            "cost": {**_PAID, "description": "What was paid, if it is not the listed price."},
            "reserved": {**_PAID, "description": "The most that it could cost, if not the listed price."},
            "lost": {**_PAID, "description": "What was paid for calls that failed."},
            "seconds": _PAID,
            "retries": {"type": ["integer", "null"], "minimum": 0, "maximum": 1000},
        },
        optional=("value", "outcome", "cost", "reserved", "lost", "seconds", "retries"),
        closed=True,
    ),
    description="Results of the client's sources.",
)
_RANGES = array_of(
    object_of({"value": _LABEL, "low": _NUMBER, "high": _NUMBER, "share": _NUMBER}),
    description="For each answer the range of its probability, or one range of numbers; and if it was "
    "simulated, the share of the draws with this answer.",
)
_SESSION_ANSWER = object_of({"value": _LABEL, "probabilities": _PROBABILITIES})
_PURCHASE = object_of(
    {
        "feature": _TEXT,
        "label": _TEXT,
        "unit": _TEXT,
        "value": ref("Value"),
        "outcome": _TEXT,
        "message": _TEXT,
        "price": _AMOUNT,
        "cost": _AMOUNT,
        "answer": _LABEL,
        "probabilities": _PROBABILITIES,
    }
)
_QUESTION = object_of(
    {
        "feature": _TEXT,
        "label": _TEXT,
        "help": _TEXT,
        "unit": _TEXT,
        "kind": {"type": "string", "enum": ["number", "category", "boolean"]},
        "choices": array_of(object_of({"value": ref("Value"), "label": _TEXT})),
        "low": _NUMBER,
        "high": _NUMBER,
        "whole": _FLAG,
        "price": {**_AMOUNT, "description": "With the set-up of its group."},
        "setup": _AMOUNT,
        "group": {"type": ["string", "null"]},
        "why": _TEXT,
        "outlook": _RANGES,
        "answers": array_of(
            object_of({"value": ref("Value"), "answer": _LABEL, "probability": _NUMBER}),
            description="The answer after each value, if there are only a few values.",
        ),
        "certain": array_of(_TEXT),
        "possible": array_of(_TEXT),
        "most": {**_NUMBER, "description": "The most that can still be paid."},
    }
)
_BUY = object_of({"feature": _TEXT, "label": _TEXT, "price": _AMOUNT, "chance": _NUMBER})

SCHEMAS.update(
    {
        "NewSession": object_of(
            {
                "budget": _BUDGET,
                "known": or_null({**_VALUES, "description": "Values that cost nothing."}),
                "prices": or_null(
                    {
                        "type": "object",
                        "description": "Prices, and set-ups of groups, that differ from the plan's.",
                        "additionalProperties": {"type": "number", "minimum": 0, "exclusiveMaximum": 1e100},
                    }
                ),
                "input": or_null({"type": "object", "description": "What the sources of the server get."}),
            },
            optional=("budget", "known", "prices", "input"),
            closed=True,
        ),
        "GivenValues": object_of(
            {
                "values": or_null(
                    {**_VALUES, "description": "null: the feature was bought but has no value."}
                ),
                "unavailable": or_null(
                    array_of(_TEXT, description="Features that are not available. They are not billed.")
                ),
                "fetched": or_null(_FETCHED),
                "version": _VERSION,
            },
            optional=("values", "unavailable", "fetched", "version"),
            closed=True,
        ),
        "SessionStop": object_of(
            {
                "by": {"type": ["string", "null"], "enum": [*STOPS, None]},
                "fetched": or_null(_FETCHED),
                "version": _VERSION,
            },
            optional=("by", "fetched", "version"),
            closed=True,
        ),
        "SessionVersion": object_of({"version": _VERSION}, optional=("version",), closed=True),
        "NewBudget": object_of({"budget": _BUDGET, "version": _VERSION}, optional=("version",), closed=True),
        "WhatIfRequest": {
            "oneOf": [
                object_of(
                    {"more": {**_AMOUNT, "description": "From here on."}, "budget": {"type": "null"}},
                    optional=("budget",),
                    closed=True,
                ),
                object_of(
                    {"budget": {**_AMOUNT, "description": "For all that is paid."}, "more": {"type": "null"}},
                    optional=("more",),
                    closed=True,
                ),
            ]
        },
        "WhatIf": object_of(
            {
                "budget": _NUMBER,
                "more": _NUMBER,
                "cost": _AMOUNT,
                "unit": _TEXT,
                "certain": array_of(_BUY),
                "possible": array_of(_BUY),
                "answer": _SESSION_ANSWER,
                "outlook": _RANGES,
                "chance": {**_NUMBER, "description": "Estimated chance that the predicted class changes."},
                "mean_cost": {**_NUMBER, "description": "The mean additional cost."},
                "estimate": {**_TEXT, "description": "How the figures were estimated."},
            }
        ),
        "Session": object_of(
            {
                "id": _TEXT,
                "model": _TEXT,
                "digest": _TEXT,
                "version": {"type": "integer", "minimum": 1},
                "state": {"type": "string", "enum": ["asking", "ended"]},
                "expires_at": {"type": "string", "format": "date-time"},
                "unit": _TEXT,
                "budget": _NUMBER,
                "cost": _AMOUNT,
                "answer": _SESSION_ANSWER,
                "question": or_null(_QUESTION),
                "wanted": array_of(_TEXT, description="Features that the plan is certain to need now."),
                "needed": array_of(_TEXT, description="Those of `wanted` that the present step needs."),
                "history": array_of(_PURCHASE),
                "unused": array_of(
                    _TEXT, description="Features that were given but not needed. They are not billed."
                ),
                "can_go_back": _FLAG,
                "receipt": or_null(ref("Receipt")),
                "receipt_id": {
                    **_TEXT,
                    "description": "If receipts are kept, and the session has just ended.",
                },
            },
            optional=("receipt_id",),
        ),
    }
)

_ANSWER = {"value": "absence", "probabilities": {"absence": 0.54, "presence": 0.46}}
_THAL = {
    "feature": "thal", "label": "Thallium test", "help": "", "unit": "", "kind": "category",
    "choices": [{"value": "normal", "label": "normal"}, {"value": "fixed", "label": "fixed defect"}],
    "low": None, "high": None, "whole": False, "price": 102.9, "setup": 0.0, "group": None,
    "why": "step 2 of 2 uses it.",
    "outlook": [{"value": "absence", "low": 0.71, "high": 0.71, "share": None},
                {"value": "presence", "low": 0.88, "high": 0.88, "share": None}],
    "answers": [{"value": "normal", "answer": "absence", "probability": 0.71},
                {"value": "fixed", "answer": "presence", "probability": 0.88}],
    "certain": [], "possible": [], "most": 102.9,
}  # fmt: skip
_AGE = {
    "feature": "age", "label": "Age", "unit": "years", "value": 61.0, "outcome": "value", "message": "",
    "price": 1.0, "cost": 1.0, "answer": "absence", "probabilities": {"absence": 0.54, "presence": 0.46},
}  # fmt: skip
SESSION: dict[str, Any] = {
    "id": "zUzgKdjwBEo0lPLFSsbTB8V2Jb6mYdPd", "model": HEART["name"], "digest": HEART["digest"], "version": 2,
    "state": "asking", "expires_at": "2026-01-31T13:00:00Z", "unit": "CAD", "budget": None, "cost": 1.0,
    "answer": _ANSWER, "question": _THAL, "wanted": ["thal"], "needed": ["thal"], "history": [_AGE],
    "unused": [], "can_go_back": True, "receipt": None,
}  # fmt: skip
WHAT_IF: dict[str, Any] = {
    "budget": 111.0, "more": 110.0, "cost": 1.0, "unit": "CAD",
    "certain": [{"feature": "thal", "label": "Thallium test", "price": 102.9, "chance": 1.0}], "possible": [],
    "answer": _ANSWER, "chance": 0.42,
    "outlook": [{"value": "absence", "low": 0.71, "high": 0.71, "share": 0.58},
                {"value": "presence", "low": 0.88, "high": 0.88, "share": 0.42}], "mean_cost": 102.9,
    "estimate": "simulated with 200 draws: each unknown value is drawn from its distribution in the training "
    "rows, independently of all other values",
}  # fmt: skip
