"""A model of a service: its description, and its answers with and without local sources."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from miserly.client.connection import Connection, DeadlinePassed, path_of
from miserly.client.plan import RemotePlan
from miserly.client.receipt import RemoteReceipt, receipt_of
from miserly.client.request import ModelChanged, RemoteRequest
from miserly.client.runner import RemoteRunner
from miserly.client.terms import RequestTerms
from miserly.errors import ClientError, did_you_mean
from miserly.runtime.arguments import offer
from miserly.runtime.batches import run_together
from miserly.runtime.calls import clock
from miserly.runtime.drivers import run_async
from miserly.runtime.request import next_number
from miserly.runtime.sources import Source

__all__ = ["RemoteModel"]

_NEVER = float("inf")
_TRIES = 3  # attempts, if the model changes while a request begins
_ENCODING_TIME = 2.0  # in round trips; subtracted from the deadline of a request


class RemoteModel:
    """A model of a service.

    Parameters
    ----------
    connection : Connection
        The connection to the service.
    name : str or None
        The name of the model; None for the only one.
    sources : mapping or None
        Local sources.
    defaults : Source
        The default options of sources.
    **options : object
        Options of `RemoteRunner`.
    """

    def __init__(
        self,
        connection: Connection,
        name: str | None,
        sources: Mapping[Any, Any] | None,
        defaults: Source,
        **options: Any,
    ) -> None:
        self.name = name
        self._connection, self._sources = connection, dict(sources or {})
        self._defaults, self._options = defaults, options
        self._runner: RemoteRunner | None = None

    def close(self) -> None:
        """Discard the description of the model, and end the threads of its sources."""
        if self._runner is not None:
            self._runner.close()
            self._runner = None

    # -- descriptions -------------------------------------------------------------------------------

    async def models(self, end: float = _NEVER) -> list[dict[str, Any]]:
        """Return the descriptions of all models. Must run in the thread of the connection."""
        record = await self._connection.request("GET", "/v1/models", end=end)
        found: list[dict[str, Any]] = record["models"]
        return found

    async def describe(self, name: str | None = None, end: float = _NEVER) -> dict[str, Any]:
        """Return the description of a model. Must run in the thread of the connection.

        Parameters
        ----------
        name : str, optional
            Its name; by default this one.
        end : float
            The deadline, as a time of `clock`.

        Returns
        -------
        dict

        Raises
        ------
        ClientError
            If no model has this name, or there are several models and no name is given.
        """
        url, name = self._connection.url, name or self.name
        if name is None:
            names = [one["name"] for one in await self.models(end)]
            if len(names) != 1:
                has = f"has the models {', '.join(names)}; give model" if names else "has no models"
                raise ClientError(f"{url} {has}")
            name = names[0]
        try:
            path = path_of("v1", "models", name)
            record: dict[str, Any] = await self._connection.request("GET", path, end=end)
        except ClientError as error:
            if error.code != "no_model":
                raise
            names = [one["name"] for one in await self.models(end)]
            has = f"it has {', '.join(names)}" if names else "it has none"
            what = f"{url} has no model {name!r}; {has}{did_you_mean(name, names)}"
            raise ClientError(what, error.status, error.code) from None
        return record

    async def _ready(self, end: float) -> RemoteRunner:
        """The runner of local sources for the plan of the service."""
        if self._runner is None:
            record = await self._connection.arun(self.describe(end=end))
            plan = RemotePlan.of(record)
            self._runner = RemoteRunner(
                plan, self._connection, self._sources, self._defaults, **self._options
            )
        return self._runner

    # -- answers -------------------------------------------------------------------------------------

    async def answer(
        self,
        raws: Sequence[Any],
        offers: Sequence[Mapping[Any, Any] | None],
        terms: RequestTerms,
        many: bool = False,
    ) -> list[RemoteReceipt]:
        """Answer requests, in any event loop.

        Parameters
        ----------
        raws : sequence
            The raw input of each.
        offers : sequence of mapping or None
            For each request, values that are paid when the plan needs them.
        terms : RequestTerms
            The terms of all requests.
        many : bool, default=False
            Whether to answer the requests together.

        Returns
        -------
        list of RemoteReceipt
        """
        begun = clock()
        try:
            if self._sources:
                return await self._run(raws, offers, terms, begun, many)
            return await self._send(raws, offers, terms, begun, many)
        except DeadlinePassed:
            late = f"did not answer within the deadline of {terms.deadline:g} seconds"
            raise ClientError(f"{self._connection.url} {late}") from None

    # -- with sources --------------------------------------------------------------------------------

    async def _run(
        self, raws: Sequence[Any], offers: Sequence[Any], terms: RequestTerms, begun: float, many: bool
    ) -> list[RemoteReceipt]:
        """The receipts of requests that call local sources. Each request has its own session."""
        for _ in range(_TRIES):
            runner = await self._ready(terms.end(begun))
            left = None if terms.deadline is None else max(0.0, terms.end(begun) - clock())
            requests = [RemoteRequest(runner, raw, replace(terms, deadline=left)) for raw in raws]
            try:
                for request, offered in zip(requests, offers, strict=True):
                    offer(request, offered)
                if many:
                    await run_together(runner, [*requests])
                else:
                    await run_async(requests[0], runner.pool)
                await asyncio.gather(*(request.finish() for request in requests))
            except ModelChanged:
                self.close()
                continue
            finally:
                for request in requests:
                    request.forget()
            return [_answered(runner, request, terms) for request in requests]
        raise ClientError(f"the model of {self._connection.url} changes all the time")

    # -- without sources -----------------------------------------------------------------------------

    async def _send(
        self, raws: Sequence[Any], offers: Sequence[Any], terms: RequestTerms, begun: float, many: bool
    ) -> list[RemoteReceipt]:
        """The receipts of requests that send all features at once."""
        end = terms.end(begun)
        runner = await self._ready(end)
        body: dict[str, Any] = {"receipt": True, "budget": terms.cap}
        body["prices"] = {str(name): float(price) for name, price in (terms.prices or {}).items()}
        if terms.deadline is not None:
            body["deadline"] = max(0.0, end - clock() - _ENCODING_TIME * self._connection.round_trip)
        rows = [
            {**runner.features_of(raw), **runner.json_values(offered)}
            for raw, offered in zip(raws, offers, strict=True)
        ]
        if many:
            records = await self._post_rows(runner, rows, body, end)
        else:
            body |= {"features": rows[0], "known": runner.json_values(terms.known)}
            if terms.given is not None:
                body["input"] = dict(terms.given)
            records = [await self._post(runner, body, end)]
        own: dict[str, Any] = {"seconds": clock() - begun, "deadline": terms.deadline}
        receipts = []
        for one in records:
            own |= {"request": next_number(), "receipt_id": one.get("receipt_id")}
            receipts.append(receipt_of(one["receipt"], runner.plan, **own))
            if runner.hooks is not None:
                runner.hooks.on_answer(receipts[-1])
        return receipts

    async def _post(self, runner: RemoteRunner, body: dict[str, Any], end: float) -> Any:
        path = path_of("v1", "models", runner.plan.name, "predict")
        record = await self._connection.call("POST", path, body, end=end, repeatable=False)
        if record["digest"] != runner.plan.digest:
            self.close()  # the next request reads the description of the model again
        return record

    async def _post_rows(
        self, runner: RemoteRunner, rows: list[dict[str, Any]], body: dict[str, Any], end: float
    ) -> list[dict[str, Any]]:
        """Send rows in one request; in two halves if the service accepts fewer rows."""
        try:
            record = await self._post(runner, {**body, "rows": rows}, end)
        except ClientError as error:
            if error.code not in ("too_large", "invalid_rows") or len(rows) < 2:
                raise
            half = len(rows) // 2
            first = await self._post_rows(runner, rows[:half], body, end)
            return first + await self._post_rows(runner, rows[half:], body, end)
        found: list[dict[str, Any]] = record["results"]
        return found


def _answered(runner: RemoteRunner, request: RemoteRequest, terms: RequestTerms) -> RemoteReceipt:
    """The receipt of a finished request. Raises the error of a source with the fallback "raise"."""
    request.deadline = terms.deadline
    receipt: RemoteReceipt = runner.answered(request)
    if request.error is not None:
        request.error.receipt = receipt
        raise request.error
    return receipt
