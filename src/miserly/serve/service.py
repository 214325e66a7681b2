"""State that the routes share: models, sessions, and listeners for finished answers."""

from __future__ import annotations

import hashlib
import time
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from starlette.requests import Request

from miserly.runtime import Receipt
from miserly.serve.models import ModelFolder, ServedModel
from miserly.serve.problems import Problem
from miserly.serve.receipts.journal import NotKept
from miserly.serve.settings import ServeSettings

__all__ = ["AnswerEvent", "Caller", "Service", "caller", "service_of", "short_session"]


@dataclass(frozen=True, slots=True)
class Caller:
    """Who sent a request.

    Attributes
    ----------
    key_id : str
        The start of the hash of the API key; empty without keys.
    """

    key_id: str = ""


def caller(request: Request) -> Caller:
    """Return who sent a request, as found by the middleware."""
    return Caller(request.scope.get("state", {}).get("key_id", ""))


def service_of(request: Request) -> Service:
    """Return the service of a request."""
    service: Service = request.app.state.service
    return service


def short_session(session_id: str) -> str:
    """Return a short hash of a session for logs. It identifies a session but does not open it.

    The hash of the session in its receipts begins with it.

    >>> short_session("kXq3")
    'b5853ca06ca1'
    """
    return hashlib.sha256(session_id.encode("utf-8", "surrogatepass")).hexdigest()[:12]


@dataclass(frozen=True, slots=True)
class AnswerEvent:
    """One finished answer, as listeners get it.

    Attributes
    ----------
    receipt : Receipt
    model : ServedModel
    caller : Caller
    request_id : str
    session_id : str or None
        The short hash of the session that ended with this answer; see `short_session`. If a session has
        several answers, because one was taken back, the last one counts.
    at : float
        Seconds since 1970.
    """

    receipt: Receipt
    model: ServedModel
    caller: Caller
    request_id: str
    session_id: str | None
    at: float


@dataclass
class Service:
    """State that the routes share. It is ``app.state.service``.

    Attributes
    ----------
    settings : ServeSettings
    models : ModelFolder
    sessions, receipts, metrics, audit : object or None
        Set by the parts of the service that own them.
    listeners : list of callable
        Called with an `AnswerEvent` for each finished answer, before its response is sent. They must take
        microseconds.
    checks : list of callable
        Async functions for ``/readyz``. Each returns None, or a sentence that says what is not ready.
    """

    settings: ServeSettings
    models: ModelFolder
    sessions: Any = None
    receipts: Any = None
    metrics: Any = None
    audit: Any = None
    listeners: list[Callable[[AnswerEvent], None]] = field(default_factory=list)
    checks: list[Callable[[], Awaitable[str | None]]] = field(default_factory=list)

    async def answered(
        self,
        receipt: Receipt,
        model: ServedModel,
        request: Request,
        session_id: str | None = None,
        known: Mapping[Any, Any] | None = None,
    ) -> str | None:
        """Store the receipt of a finished answer, and call all listeners.

        Called exactly once for each answer, before the response.

        Parameters
        ----------
        receipt : Receipt
            The finished answer.
        model : ServedModel
            The model that gave it.
        request : Request
            The request that finished it.
        session_id : str, optional
            The session that ended with it.
        known : mapping, optional
            The values of features that were known before.

        Returns
        -------
        str or None
            The identifier of the receipt that was kept; None if receipts are not kept.
        """
        who, kept = caller(request), None
        if self.receipts is not None:
            try:
                kept = self.receipts.append(
                    receipt, model=model.name, key_id=who.key_id, session_id=session_id, known=known
                )
            except NotKept:  # it was already logged
                message = "the receipt of this answer cannot be kept now; try again later"
                raise Problem(503, "receipt_not_kept", message, headers={"Retry-After": "5"}) from None
        if self.listeners:
            number = request.scope.get("state", {}).get("request_id", "")
            session = None if session_id is None else short_session(session_id)
            event = AnswerEvent(receipt, model, who, number, session, time.time())
            for listener in self.listeners:
                listener(event)
        return kept
