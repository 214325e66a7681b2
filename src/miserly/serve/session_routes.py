"""Sessions over HTTP: the plan requests features, and the client supplies them step by step.

Each change makes a new version. It is stored only if the stored version is the one before it. Of two
simultaneous changes, one succeeds and the other gets 409. A session that ends passes on its receipt once. If
its last answer is taken back and it ends again, the later receipt replaces the earlier one: both refer to the
same session. If a request is killed before it passes on the receipt, the next request does it. No answer is
sent before its receipt was passed on.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from typing import Any, NamedTuple

from fastapi import FastAPI
from starlette.requests import Request
from starlette.responses import Response

from miserly.errors import PlanError
from miserly.runtime import Interview
from miserly.serve.fetched import read_fetched, read_stop
from miserly.serve.models import ServedModel
from miserly.serve.predicting import read_raw
from miserly.serve.problems import Problem, json_response
from miserly.serve.reading import read_number, read_object, read_prices, read_values, unknown_feature
from miserly.serve.routes import add_route, json_body, json_content
from miserly.serve.schemas import ref
from miserly.serve.service import Service, caller, service_of
from miserly.serve.session_records import session_record, what_if_record
from miserly.serve.session_schemas import SESSION, WHAT_IF
from miserly.serve.sessions import SessionRecord, new_session_id

__all__ = ["add_session_routes"]

_PATIENCE = 2.0  # seconds to wait for another request to pass on a receipt
_NEW = frozenset({"budget", "known", "prices", "input"})
_VALUES = frozenset({"values", "unavailable", "fetched", "version"})
_STOP = frozenset({"by", "fetched", "version"})
_VERSION = frozenset({"version"})
_BUDGET = frozenset({"budget", "version"})
_AMOUNTS = frozenset({"more", "budget"})

_ERRORS = {
    404: "There is no such session. It may have expired, or belong to another key.",
    410: "The version of the model that the session began with is no longer served.",
}
_CHANGE_ERRORS = {
    **_ERRORS,
    409: "The session has changed meanwhile, or has ended.",
    413: "The body, or the session, is too large.",
    415: "The body is not sent as JSON.",
    422: "The body cannot be used; the message says why, and `field` where.",
}


def add_session_routes(app: FastAPI, service: Service) -> None:
    """Add the routes.

    Parameters
    ----------
    app : FastAPI
        The application.
    service : Service
        The service.
    """
    shown = json_content(ref("Session"), SESSION)
    begun = {"with a cap": {"budget": 150}, "with a value": {"known": {"age": 61}}}
    new = json_body(ref("NewSession"), begun, required=False)
    add_route(
        app, "POST", "/v1/models/{name}/sessions", create, summary="Begin a session", tag="sessions",
        success=(201, shown, "The session, with its first question."), body=new,
        errors={**_CHANGE_ERRORS, 404: "There is no such model."},
        parameters={"name": "The name of the model."},
    )  # fmt: skip
    one, session = {"id": "The id of the session."}, "/v1/sessions/{id}"
    version = json_body(ref("SessionVersion"), {"as it was seen": {"version": 2}}, False)
    add_route(
        app, "GET", session, show, summary="A session", tag="sessions", success=(200, shown, "The session."),
        errors=_ERRORS, parameters=one,
    )  # fmt: skip
    add_route(
        app, "DELETE", session, delete, summary="Forget a session", tag="sessions",
        success=(204, None, "It is gone."), errors={404: _ERRORS[404]}, parameters=one,
    )  # fmt: skip
    caps = {"a cap": {"budget": 200, "version": 2}, "no cap": {"budget": None}}
    add_route(
        app, "PATCH", session, change_budget, summary="Change the budget of a session", tag="sessions",
        success=(200, shown, "The session."), errors=_CHANGE_ERRORS, parameters=one,
        body=json_body(ref("NewBudget"), caps),
    )  # fmt: skip
    given = {
        "a value": {"values": {"thal": "normal"}},
        "not to be had": {"unavailable": ["thal"]},
        "from a source of the client": {"fetched": [{"feature": "thal", "value": "normal", "cost": 95.5}]},
    }
    add_route(
        app, "POST", f"{session}/values", give, summary="Give what is asked for", tag="sessions",
        success=(200, shown, "The session, with its next question or its receipt."), errors=_CHANGE_ERRORS,
        parameters=one, body=json_body(ref("GivenValues"), given),
    )  # fmt: skip
    add_route(
        app, "POST", f"{session}/back", back, summary="Take back the last answer", tag="sessions",
        success=(200, shown, "The session."), errors=_CHANGE_ERRORS, parameters=one, body=version,
    )  # fmt: skip
    add_route(
        app, "POST", f"{session}/stop", stop, summary="Stop, with the answer so far", tag="sessions",
        success=(200, shown, "The session, which has ended."), errors=_CHANGE_ERRORS, parameters=one,
        body=json_body(ref("SessionStop"), {"as it was seen": {"version": 2}}, False),
    )  # fmt: skip
    add_route(
        app, "POST", f"{session}/what-if", what_if, summary="What more money would buy", tag="sessions",
        success=(200, json_content(ref("WhatIf"), WHAT_IF), "Features, answers, and an estimated chance."),
        errors={code: text for code, text in _CHANGE_ERRORS.items() if code != 409}, parameters=one,
        body=json_body(ref("WhatIfRequest"), {"the next 50": {"more": 50}, "80 in all": {"budget": 80}}),
    )  # fmt: skip


# -- one session ---------------------------------------------------------------------------------------------


class _Session(NamedTuple):
    """A session that a request is about."""

    id: str
    record: SessionRecord
    interview: Interview
    model: ServedModel

    def response(self, service: Service, status: int = 200, kept: str | None = None) -> Response:
        expires = time.time() + service.settings.session_ttl
        record = session_record(self.id, self.record, self.interview, self.model, expires)
        return json_response(record if kept is None else {**record, "receipt_id": kept}, status)


_Change = Callable[[_Session, dict[str, Any]], bool]  # returns whether anything has changed


async def _read(request: Request) -> tuple[str, SessionRecord]:
    """The id and the record of the session of a request."""
    session_id = request.path_params["id"]
    record = await service_of(request).sessions.get(session_id)
    if record is None or record.key_id != caller(request).key_id:
        raise Problem(404, "no_session", "there is no such session; it may have expired")
    return session_id, record


async def _found(request: Request) -> _Session:
    """The session of a request. If it has ended, its receipt is passed on first."""
    service, patience = service_of(request), _PATIENCE
    session_id, record = await _read(request)
    while record.ended and not record.reported and patience > 0:  # another request is about to pass it on
        await asyncio.sleep(_PATIENCE / 40)
        patience -= _PATIENCE / 40
        session_id, record = await _read(request)
    model = service.models.at(record.model, record.digest)
    try:
        interview = Interview.resume(model.served, record.state)
    except PlanError as error:  # kept by another version of this service
        raise Problem(410, "session_outdated", "this session cannot go on here; begin again") from error
    session = _Session(session_id, record, interview, model)
    if record.ended and not record.reported:  # that request was killed before it could
        await _report(session, request)
    return session


async def _report(session: _Session, request: Request) -> str | None:
    """Pass on the receipt of an ended session, and return its identifier if it was stored."""
    service, interview = service_of(request), session.interview
    receipt = interview.receipt()
    kept = await service.answered(receipt, session.model, request, session.id, interview.known or None)
    with suppress(Problem):  # it was passed on, even if this cannot be recorded
        reported = replace(session.record, reported=True)
        await service.sessions.replace(session.id, reported, session.record.version)
    return kept


async def _changed(request: Request, fields: frozenset[str], change: _Change, **options: Any) -> Response:
    """Change the session of a request, store it, and return it."""
    body = await read_object(request, fields, **options)
    service, found = service_of(request), await _found(request)
    _check_version(body, found.record)
    interview = found.interview
    if not change(found, body):
        return found.response(service)
    await interview.afetch(service.settings.timeout)
    record = _next(found.record, interview)
    if not await service.sessions.replace(found.id, record, found.record.version):
        raise _changed_meanwhile()
    after = found._replace(record=record)
    try:
        return await _answered(after, request)
    except Problem:  # the receipt cannot be kept: the client can send the same again
        before = replace(found.record, version=record.version + 1)
        await service.sessions.replace(found.id, before, record.version)
        raise


async def _answered(session: _Session, request: Request, status: int = 200) -> Response:
    """The response with a session. If it has ended, its receipt is passed on first."""
    kept = await _report(session, request) if session.record.ended else None
    return session.response(service_of(request), status, kept)


def _next(record: SessionRecord, interview: Interview) -> SessionRecord:
    return record.changed(interview.state(), bool(interview.stopped_by), tuple(map(str, interview.unused)))


def _check_version(body: dict[str, Any], record: SessionRecord) -> None:
    version = body.get("version")
    if version is None:
        return
    if type(version) not in (int, float) or version != version // 1 or version < 1:  # 3.0 counts as whole
        raise Problem(422, "invalid_number", "version must be a whole number of at least 1", "version")
    if version != record.version:
        raise _changed_meanwhile()


def _changed_meanwhile() -> Problem:
    return Problem(409, "changed_meanwhile", "the session has changed meanwhile; read it again", "version")


def _ended(why: str = "take back the last answer to go on") -> Problem:
    return Problem(409, "session_ended", f"the session has ended; {why}")


# -- routes --------------------------------------------------------------------------------------------------


async def create(request: Request) -> Response:
    """Begin a session. The server fetches features that it has sources for, and asks for the others.

    Values in `known` cost nothing. `budget` is a cap, `prices` replace those of the plan, and `input` goes to
    the sources of the server.
    """
    service = service_of(request)
    model = service.models.get(request.path_params["name"])
    body = await read_object(request, _NEW, optional=True)
    known = read_values(model, body["known"], "known") if body.get("known") is not None else None
    raw = read_raw(model, {}, body.get("input"), "input")
    interview = Interview(model.served, read_number(body, "budget"), known, read_prices(model, body), raw)
    await interview.afetch(service.settings.timeout)
    session_id = new_session_id()
    empty = SessionRecord(model.name, model.digest, caller(request).key_id, 0, {})
    record = _next(empty, interview)
    await service.sessions.create(session_id, record)
    try:
        return await _answered(_Session(session_id, record, interview, model), request, 201)
    except Problem:  # the receipt cannot be kept
        await service.sessions.delete(session_id)
        raise


async def show(request: Request) -> Response:
    """The present session: its question or its receipt. Reading it restarts its time to live."""
    found = await _found(request)
    service = service_of(request)
    await service.sessions.touch(found.id)
    return found.response(service)


async def delete(request: Request) -> Response:
    """Delete the session and its values. Receipts that were passed on are not deleted."""
    session_id, _ = await _read(request)
    await service_of(request).sessions.delete(session_id)
    return Response(status_code=204)


async def give(request: Request) -> Response:
    """Give values of features in `wanted`, or report that they are not available.

    Values are used and paid in the order in which the plan needs them. null means that the feature was bought
    but has no value. A feature that is not available is not billed, and counts as missing.

    A client that calls sources reports their results in `fetched`: values, or failures (`outcome`). `cost` is
    the amount paid if it is not the listed price. `lost` is the amount paid for failed calls.
    """
    return await _changed(request, _VALUES, _give)


def _give(session: _Session, body: dict[str, Any]) -> bool:
    model, interview = session.model, session.interview
    given = {} if body.get("values") is None else read_values(model, body["values"], "values")
    off = [] if body.get("unavailable") is None else _read_names(model, body["unavailable"], "unavailable")
    if interview.stopped_by and (given or off or body.get("fetched")):
        raise _ended()
    fetched = read_fetched(model, interview, body.get("fetched"))
    if not given and not off and not fetched:
        raise Problem(422, "invalid_body", "give values, unavailable or fetched", "values")
    for field, names in (("values", given), ("unavailable", off)):
        for name in names:
            if not interview.is_wanted(name):
                message = f"{name} is not asked for now; wanted says what is"
                raise Problem(422, "not_asked", message, f"{field}.{name}")
    for name in off:
        if name in given:
            message = f"{name} has a value, so it cannot be unavailable as well"
            raise Problem(422, "invalid_body", message, f"unavailable.{name}")
    for one in fetched:
        if one.feature in given or one.feature in off:
            message = f"{one.feature} is given in two ways"
            raise Problem(422, "invalid_body", message, f"fetched.{one.feature}")
    if given or off:
        interview.give(given, off)
    if fetched:
        interview.report(fetched)
    return True


def _read_names(model: ServedModel, names: Any, where: str) -> list[Any]:
    if type(names) is not list or not all(type(name) is str for name in names):
        raise Problem(422, "invalid_body", f"{where} must be a list of features", where)
    for name in names:
        if name not in model.columns:
            raise unknown_feature(model, name, where)
    return [model.plan.costs.name(model.columns[name]) for name in names]


async def back(request: Request) -> Response:
    """Take back the last answer, or the stop, so that its question is asked again.

    A session that had ended continues. Its next receipt replaces the earlier one.
    """
    return await _changed(request, _VERSION, _back, optional=True)


def _back(session: _Session, body: dict[str, Any]) -> bool:
    if not session.interview.back():
        raise Problem(409, "nothing_to_take_back", "no question of this session was answered yet")
    return True


async def stop(request: Request) -> Response:
    """End the session with the answer so far. A session that has ended stays as it is.

    A client that calls sources may report results in `fetched`. They are paid but not used.
    """
    return await _changed(request, _STOP, _stop, optional=True)


def _stop(session: _Session, body: dict[str, Any]) -> bool:
    interview = session.interview
    by, reason = read_stop(body)
    has_ended = bool(interview.stopped_by)
    fetched = read_fetched(session.model, None if has_ended else interview, body.get("fetched"))
    if not has_ended:
        interview.stop(reason, by, fetched)
    return not has_ended


async def change_budget(request: Request) -> Response:
    """Change the cap of the session; null for none.

    A session that ended because of its budget continues if the new budget allows it. The session ends if
    more than the new budget was already paid.
    """
    return await _changed(request, _BUDGET, _change_budget)


def _change_budget(session: _Session, body: dict[str, Any]) -> bool:
    if "budget" not in body:
        raise Problem(422, "invalid_body", "budget is needed: a cap, or null for none", "budget")
    budget, interview = read_number(body, "budget"), session.interview
    stopped_by = interview.stopped_by
    if interview.was_stopped or stopped_by not in ("", "budget"):
        raise _ended()
    interview.change_budget(budget)
    if stopped_by and interview.stopped_by:
        raise _ended("this budget does not pay for the next question")
    return True


async def what_if(request: Request) -> Response:
    """The effect of an additional amount `more`, or of a cap `budget`. The session does not change.

    Chances are simulated with values drawn from the distributions of the training rows, independently of each
    other; `estimate` says so. If the plan has no distributions, the response has a range and no chance.
    """
    body = await read_object(request, _AMOUNTS)
    found = await _found(request)
    more, budget = read_number(body, "more"), read_number(body, "budget")
    if (more is None) == (budget is None):
        raise Problem(422, "invalid_body", "give either more or budget", "more")
    what = await asyncio.to_thread(found.interview.what_if, more, budget)
    return json_response(what_if_record(what, found.model))
