"""Read the results of sources of a client from request bodies."""

from __future__ import annotations

from typing import Any

from miserly.runtime import Interview, SourceReport
from miserly.runtime.receipt import DELIVERED
from miserly.serve.models import ServedModel
from miserly.serve.problems import Problem
from miserly.serve.reading import check_keys, quoted, read_number, read_values, unknown_feature

__all__ = ["OUTCOMES", "STOPS", "read_fetched", "read_stop"]

OUTCOMES = ("value", "nan", "invalid", "failed", "late", "declined", "refused", "exhausted", "cancelled")
STOPS = {
    "caller": "stopped by the client",
    "deadline": "the deadline of the client has passed",
    "failure": "a source of the client failed",
    "budget": "what the client would call next may cost more than is left",
}
_FIELDS = frozenset({"feature", "value", "outcome", "cost", "reserved", "lost", "seconds", "retries"})
_MOST = 1e99  # largest amount
_MOST_RETRIES = 1000


def read_stop(body: dict[str, Any]) -> tuple[str, str]:
    """Return why a client stops a session: the code, and the reason as a sentence."""
    by = body.get("by")
    by = "caller" if by is None else by
    if not isinstance(by, str) or by not in STOPS:
        raise Problem(422, "invalid_body", f"by must be one of {', '.join(STOPS)}, not {quoted(by)}", "by")
    return by, STOPS[by]


def read_fetched(model: ServedModel, interview: Interview | None, given: Any) -> list[SourceReport]:
    """Return the results of sources of a client for requested features.

    Parameters
    ----------
    model : ServedModel
        The model of the session.
    interview : Interview or None
        The interview of the session; None if it has ended.
    given : object
        The field `fetched` of a body; None if there is none.

    Returns
    -------
    list of SourceReport

    Raises
    ------
    Problem
        422 if `given` is not valid.
    """
    if given is None:
        return []
    if type(given) is not list or not all(type(one) is dict for one in given):
        raise Problem(422, "invalid_body", "fetched must be a list of objects", "fetched")
    reports: dict[Any, SourceReport] = {}
    for i, one in enumerate(given):
        report = _read_one(model, one, f"fetched[{i}]")
        if report.feature in reports:
            message = f"{report.feature} occurs twice"
            raise Problem(422, "invalid_body", message, f"fetched[{i}].feature")
        if interview is not None and not interview.is_wanted(report.feature):
            message = f"{report.feature} is not asked for now; wanted says what is"
            raise Problem(422, "not_asked", message, f"fetched[{i}].feature")
        reports[report.feature] = report
    return list(reports.values())


def _read_one(model: ServedModel, one: dict[str, Any], where: str) -> SourceReport:
    check_keys(one, _FIELDS, where)
    name, outcome = one.get("feature"), one.get("outcome")
    if type(name) is not str:
        raise Problem(422, "invalid_body", "feature must be the name of a feature", f"{where}.feature")
    if name not in model.columns:
        raise unknown_feature(model, name, where)
    outcome = "value" if outcome is None else outcome
    if not isinstance(outcome, str) or outcome not in OUTCOMES:
        message = f"outcome must be one of {', '.join(OUTCOMES)}, not {quoted(outcome)}"
        raise Problem(422, "invalid_body", message, f"{where}.outcome")
    ((feature, value),) = read_values(model, {name: one.get("value")}, where).items()
    if value is not None and outcome != "value":
        raise Problem(422, "invalid_body", f"with the outcome {outcome}, give no value", f"{where}.value")
    amounts = {
        key: read_number(one, key, 0.0, _MOST, where) for key in ("cost", "reserved", "lost", "seconds")
    }
    if amounts["cost"] is not None and outcome not in DELIVERED:
        message = f"with the outcome {outcome}, give what was paid as lost, not as cost"
        raise Problem(422, "invalid_body", message, f"{where}.cost")
    retries = read_number(one, "retries", 0, _MOST_RETRIES, where) or 0.0
    if retries != retries // 1:
        raise Problem(422, "invalid_number", "retries must be a whole number", f"{where}.retries")
    cost, reserved, lost, seconds = amounts.values()
    return SourceReport(feature, value, outcome, cost, reserved, lost or 0.0, seconds or 0.0, int(retries))
