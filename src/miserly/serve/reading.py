"""Reading of request bodies: strict JSON, and values that the plan can use. Errors name the field."""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping
from typing import Any

import orjson
from starlette.requests import Request

from miserly.errors import MiserlyError
from miserly.serve.models import ServedModel
from miserly.serve.problems import Problem, hint

__all__ = [
    "check_keys",
    "quoted",
    "read_flag",
    "read_number",
    "read_object",
    "read_prices",
    "read_values",
    "unknown_feature",
]

_MOST_NAMED = 20  # most allowed values that a message lists
_LONGEST = 60  # characters of a value or a name in a message


def quoted(value: Any) -> str:
    """Return a value of a client as a short JSON text, for messages.

    Parameters
    ----------
    value : object
        A value that JSON can hold.

    Returns
    -------
    str

    Examples
    --------
    >>> quoted("odd"), quoted(True), quoted([1, 2]), quoted("x" * 100)[-6:]
    ('"odd"', 'true', 'a list', 'xx..."')
    """
    if isinstance(value, (list, tuple, dict)):
        return "an object" if isinstance(value, dict) else "a list"
    if isinstance(value, str) and len(value) > _LONGEST:
        value = f"{value[: _LONGEST - 3]}..."
    return orjson.dumps(value).decode()


async def read_object(request: Request, allowed: Collection[str], optional: bool = False) -> dict[str, Any]:
    """Return the body of a request: a JSON object that has only allowed keys.

    Parameters
    ----------
    request : Request
        The request.
    allowed : collection of str
        The keys that it may have.
    optional : bool, default=False
        Whether a missing body counts as an empty object.

    Returns
    -------
    dict

    Raises
    ------
    Problem
        415 if the body is not sent as JSON, 422 if it is not such an object.
    """
    body = await request.body()
    if optional and not body:
        return {}
    kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if kind != "application/json":
        raise Problem(415, "not_json", "the body must be sent with Content-Type: application/json")
    try:
        record = orjson.loads(body)
    except orjson.JSONDecodeError as error:
        raise Problem(422, "invalid_json", f"the body is not valid JSON: {error}") from None
    if type(record) is not dict:
        raise Problem(422, "invalid_body", "the body must be a JSON object")
    check_keys(record, allowed)
    return record


def check_keys(record: Mapping[str, Any], allowed: Collection[str], where: str = "") -> None:
    """Raise a problem if an object of a body has a key that is not allowed."""
    for key in record:
        if key not in allowed:
            known = ", ".join(sorted(allowed))
            message = f"{where or 'the body'} may have the fields {known}{hint(key, allowed)}"
            raise Problem(422, "unknown_field", message, _place(where, shown_key(key)))


def _place(where: str, key: str) -> str:
    return f"{where}.{key}" if where else key


def shown_key(key: str) -> str:
    """A key of a client, shortened for a message."""
    return key if len(key) <= _LONGEST else key[: _LONGEST - 3] + "..."


def read_number(
    record: Mapping[str, Any], key: str, low: float = 0.0, high: float = math.inf, where: str = ""
) -> float | None:
    """Return a number of a body; None if it is absent or null.

    Parameters
    ----------
    record : mapping
        The body.
    key : str
        Its field.
    low, high : float
        The allowed range, ends included.
    where : str
        The object of the body that holds it; by default the body itself.

    Returns
    -------
    float or None
    """
    value = record.get(key)
    if value is None:
        return None
    if type(value) not in (int, float) or not low <= value <= high:
        limits = f"of at least {low:g}" if high == math.inf else f"from {low:g} to {high:g}"
        message = f"{key} must be a number {limits}, not {quoted(value)}"
        raise Problem(422, "invalid_number", message, _place(where, key))
    return float(value)


def read_flag(record: Mapping[str, Any], key: str) -> bool:
    """Return a boolean of a body; False if it is absent or null."""
    value = record.get(key)
    if value is None or type(value) is bool:
        return bool(value)
    raise Problem(422, "invalid_boolean", f"{key} must be true or false, not {quoted(value)}", key)


def read_values(model: ServedModel, values: Any, where: str) -> dict[Any, Any]:
    """Return checked values of features by their names in the plan. null becomes None (no value).

    Parameters
    ----------
    model : ServedModel
        The model that they are for.
    values : object
        What the client sent; must be an object of feature to number, category, boolean or null.
    where : str
        The field of the body, such as ``features`` or ``rows[17]``.

    Returns
    -------
    dict
    """
    if type(values) is not dict:
        raise Problem(422, "invalid_values", f"{where} must be an object of feature to value", where)
    columns, plan = model.columns, model.plan
    categories = plan.categories
    for name, value in values.items():
        f = columns.get(name)
        if f is None:
            raise unknown_feature(model, name, where)
        if value is None:
            continue
        kind = type(value)
        if f not in categories and (kind is float or kind is int):
            continue
        _check_value(model, f, name, value, where)
    if plan.costs.names is None:
        return {columns[name]: value for name, value in values.items()}
    return values


def _check_value(model: ServedModel, f: int, name: str, value: Any, where: str) -> None:
    """Raise a problem if the plan cannot use a value."""
    allowed = model.plan.categories.get(f)
    if allowed is None:
        message = f"{name} must be a number or null, not {quoted(value)}"
        raise Problem(422, "invalid_value", message, f"{where}.{name}")
    try:
        if type(value) in (str, bool, int, float):
            model.served.encode(f, value)
            return
    except MiserlyError:
        pass
    some = ", ".join(quoted(one) for one in allowed[:_MOST_NAMED])
    more = f" and {len(allowed) - _MOST_NAMED} more" if len(allowed) > _MOST_NAMED else ""
    message = f"{name} must be one of {some}{more}, or null, not {quoted(value)}"
    raise Problem(422, "invalid_value", message, f"{where}.{name}")


def unknown_feature(model: ServedModel, name: str, where: str) -> Problem:
    """The problem for a name that is not a feature of a model."""
    message = f"the model has no feature of this name{hint(name, model.columns)}"
    return Problem(422, "unknown_feature", message, f"{where}.{shown_key(name)}")


def read_prices(model: ServedModel, record: Mapping[str, Any]) -> dict[Any, float] | None:
    """Return the prices of a body, of features and of set-ups of groups; None if it has none."""
    prices = record.get("prices")
    if prices is None:
        return None
    if type(prices) is not dict:
        raise Problem(
            422, "invalid_prices", "prices must be an object of feature or group to price", "prices"
        )
    groups = model.plan.costs.group_names
    read: dict[Any, float] = {}
    for name, price in prices.items():
        if name not in model.columns and name not in groups:
            raise unknown_feature(model, name, "prices")
        if type(price) not in (int, float) or not 0.0 <= price < 1e100:
            message = f"a price is a number of at least 0, not {quoted(price)}"
            raise Problem(422, "invalid_number", message, f"prices.{name}")
        key = name if name in groups else model.plan.costs.name(model.columns[name])
        read[key] = float(price)
    return read
