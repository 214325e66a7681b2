"""Schemas of requests and responses for OpenAPI. Other parts of the service add theirs to `SCHEMAS`."""

from __future__ import annotations

from typing import Any

__all__ = ["HEART", "SCHEMAS", "array_of", "object_of", "or_null", "ref"]

Schema = dict[str, Any]

_TEXT: Schema = {"type": "string"}
_NUMBER: Schema = {"type": "number"}
_AMOUNT: Schema = {"type": "number", "minimum": 0}
_FLAG: Schema = {"type": "boolean"}
_COUNT: Schema = {"type": "integer", "minimum": 0}
_TIME: Schema = {"type": "string", "format": "date-time"}


def ref(name: str) -> Schema:
    """Return a reference to one of `SCHEMAS`."""
    return {"$ref": f"#/components/schemas/{name}"}


def or_null(schema: Schema) -> Schema:
    """Return a schema that also allows null."""
    return {"anyOf": [schema, {"type": "null"}]}


def array_of(schema: Schema, **limits: Any) -> Schema:
    """Return the schema of a list."""
    return {"type": "array", "items": schema, **limits}


def object_of(properties: dict[str, Schema], optional: tuple[str, ...] = (), closed: bool = False) -> Schema:
    """Return the schema of an object. All properties are required except the optional ones."""
    required = [name for name in properties if name not in optional]
    schema: Schema = {"type": "object", "properties": properties}
    if required:
        schema["required"] = required
    if closed:
        schema["additionalProperties"] = False
    return schema


_VALUE: Schema = {
    "description": "A number, a category, a boolean, or null for no value.",
    "anyOf": [{"type": "number"}, {"type": "string"}, {"type": "boolean"}, {"type": "null"}],
}
_VALUES: Schema = {"type": "object", "additionalProperties": ref("Value")}
_LABEL: Schema = {
    "description": "A class or a number; a list where the model answers with several numbers.",
    "anyOf": [*_VALUE["anyOf"], {"type": "array", "items": {"type": ["number", "null"]}}],
}
_PROBABILITIES: Schema = or_null({"type": "object", "additionalProperties": {"type": ["number", "null"]}})
_STOPPED: Schema = {"type": "string", "enum": ["answered", "budget", "deadline", "failure", "caller"]}

_SUMMARY: dict[str, Schema] = {
    "name": _TEXT,
    "title": _TEXT,
    "target": _TEXT,
    "about": _TEXT,
    "unit": {"type": "string", "description": "The unit of prices."},
    "digest": {
        "type": "string",
        "description": "Identifies the plan. Different plans have different digests.",
    },
    "version": _TEXT,
    "classes": or_null(array_of(ref("Value"))),
    "class_names": {"description": "Names of the classes for people."},
    "n_features": _COUNT,
    "max_cost": {"type": ["number", "null"], "description": "The most that one answer can cost."},
    "loaded_at": _TIME,
    "problem": {
        "type": ["string", "null"],
        "description": "Why the file on disk cannot be loaded; null if it can.",
    },
}

_FEATURE = object_of(
    {
        "name": _TEXT,
        "label": _TEXT,
        "unit": _TEXT,
        "help": _TEXT,
        "kind": {"type": "string", "enum": ["number", "category", "boolean"]},
        "choices": array_of(object_of({"value": ref("Value"), "label": _TEXT})),
        "low": {"type": ["number", "null"]},
        "high": {"type": ["number", "null"]},
        "whole": _FLAG,
        "price": _AMOUNT,
        "group": {"type": ["string", "null"]},
        "column": {**_COUNT, "description": "Its place among all features of the model."},
        "groups": array_of(_TEXT),
        "fetched": {**_FLAG, "description": "Whether the server has a source for it."},
    }
)

_BUDGET = {
    **object_of(
        {
            "budget": {"type": "number", "description": "A cap: no row pays more."},
            "mean_budget": {"type": "number", "description": "What rows pay on average."},
            "metric": _TEXT,
            "value": {"type": ["number", "null"], "description": "The estimate of the metric."},
            "error": {"type": ["number", "null"], "description": "Its standard error."},
            "mean_cost": {"type": ["number", "null"], "description": "The estimate of the mean cost."},
            "rows": {"type": "string", "description": "The rows that gave the estimates."},
        },
        optional=("budget", "mean_budget", "error", "rows"),
    ),
    "description": "The estimated effect of a budget. `rows` names the rows of the estimate.",
}

_ANSWER: dict[str, Schema] = {
    "answer": _LABEL,
    "probabilities": _PROBABILITIES,
    "cost": _AMOUNT,
    "unit": _TEXT,
    "acquired": array_of(_TEXT),
    "stopped_by": _STOPPED,
    "reason": _TEXT,
    "receipt": ref("Receipt"),
    "receipt_id": _TEXT,
}

_WHERE_KEPT = ("receipt", "receipt_id")

_ACQUISITION = object_of(
    {
        "feature": {"type": ["string", "integer"]},
        "order": _COUNT,
        "value": ref("Value"),
        "price": _AMOUNT,
        "reserved": _AMOUNT,
        "cost": _AMOUNT,
        "seconds": _AMOUNT,
        "retries": _COUNT,
        "outcome": _TEXT,
        "message": _TEXT,
        "answer": _LABEL,
        "probabilities": or_null(array_of({"type": ["number", "null"]})),
        "overrun": _FLAG,
    }
)

_RECEIPT = object_of(
    {
        "answer": _LABEL,
        "probabilities": or_null(array_of({"type": ["number", "null"]})),
        "cost": _AMOUNT,
        "evaluation_cost": _NUMBER,
        "speculation_cost": _AMOUNT,
        "stopped_by": _STOPPED,
        "reason": _TEXT,
        "node": {"type": "integer"},
        "seconds": _AMOUNT,
        "budget": {"type": ["number", "null"]},
        "deadline": {"type": ["number", "null"]},
        "known": array_of({"type": ["string", "integer"]}),
        "acquired": array_of({"type": ["string", "integer"]}),
        "overrun": _FLAG,
        "classes": or_null(array_of(ref("Value"))),
        "unit": _TEXT,
        "plan": _TEXT,
        "trail": array_of(ref("Acquisition")),
        "speculated": array_of(ref("Acquisition")),
    }
)

_PREDICT_OPTIONS: dict[str, Schema] = {
    "budget": {"type": ["number", "null"], "minimum": 0, "description": "A cap: no more than this is paid."},
    "deadline": {"type": ["number", "null"], "minimum": 0, "description": "Seconds."},
    "prices": or_null(
        {
            "type": "object",
            "description": "Prices of features, and set-ups of groups, that differ from the plan's.",
            "additionalProperties": {"type": "number", "minimum": 0, "exclusiveMaximum": 1e100},
        }
    ),
    "receipt": {"type": ["boolean", "null"], "description": "Whether to answer with the receipt."},
}
_ONE_ROW = object_of(
    {
        "features": {**_VALUES, "description": "Available values. Each is paid when the plan needs it."},
        "known": or_null({**_VALUES, "description": "Values that cost nothing."}),
        "input": or_null({"type": "object", "description": "What the sources of the server get."}),
        **_PREDICT_OPTIONS,
    },
    optional=("known", "input", *_PREDICT_OPTIONS),
    closed=True,
)
_MANY_ROWS = object_of(
    {
        "rows": array_of(_VALUES, minItems=1),
        "inputs": {
            **or_null(array_of(or_null({"type": "object"}))),
            "description": "The input of each row: as many as there are rows.",
        },
        **_PREDICT_OPTIONS,
    },
    optional=("inputs", *_PREDICT_OPTIONS),
    closed=True,
)

_ERROR = object_of(
    {"error": object_of({"code": _TEXT, "message": _TEXT, "field": {"type": ["string", "null"]}})}
)

# By name, as they appear under components/schemas.
SCHEMAS: dict[str, Schema] = {
    "Error": {
        **_ERROR,
        "example": {
            "error": {
                "code": "invalid_value",
                "message": 'thal must be one of "normal", "fixed", or null, not "odd"',
                "field": "features.thal",
            }
        },
    },
    "Value": _VALUE,
    "ModelSummary": object_of(_SUMMARY, optional=("about", "class_names")),
    "ModelList": object_of(
        {
            "models": array_of(ref("ModelSummary")),
            "problems": array_of(object_of({"name": _TEXT, "problem": _TEXT})),
        }
    ),
    "Feature": _FEATURE,
    "Budget": _BUDGET,
    "Model": object_of(
        {
            **_SUMMARY,
            "named": {**_FLAG, "description": "Whether features have names. Otherwise they are numbered."},
            "features": array_of(ref("Feature")),
            "other_features": array_of(
                object_of({"name": _TEXT, "column": _COUNT, "groups": array_of(_TEXT)}),
                description="Features that the plan does not use.",
            ),
            "groups": array_of(object_of({"name": _TEXT, "setup": _AMOUNT, "features": array_of(_TEXT)})),
            "guarantees": array_of(_TEXT),
            "budgets": array_of(ref("Budget")),
            "description": _TEXT,
        },
        optional=("about", "class_names"),
    ),
    "Acquisition": _ACQUISITION,
    "Receipt": _RECEIPT,
    "PredictRequest": {"oneOf": [_ONE_ROW, _MANY_ROWS]},
    "Prediction": object_of({"model": _TEXT, "digest": _TEXT, **_ANSWER}, optional=_WHERE_KEPT),
    "Predictions": object_of(
        {"model": _TEXT, "digest": _TEXT, "results": array_of(object_of(_ANSWER, optional=_WHERE_KEPT))}
    ),
    "Status": object_of(
        {
            "status": _TEXT,
            "models": _COUNT,
            "receipts": object_of({"waiting": _COUNT, "waiting_seconds": _AMOUNT, "moving": _FLAG}),
        },
        optional=("models", "receipts"),
    ),
}

# An example model, for examples of requests and answers.
HEART: dict[str, Any] = {
    "name": "heart",
    "title": "Heart disease",
    "target": "disease",
    "unit": "CAD",
    "digest": "17e6246107181e74d250c8fea7a498ae",
    "version": "17e624610718",
    "classes": ["absence", "presence"],
    "n_features": 2,
    "max_cost": 103.9,
    "loaded_at": "2026-01-31T12:00:00Z",
    "problem": None,
}
