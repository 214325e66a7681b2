"""The client of a service: the calls of `OnDemand`, with local sources and a plan that is elsewhere."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Mapping
from itertools import islice
from typing import Any, Self

from miserly.client.connection import Connection
from miserly.client.receipt import RemoteReceipt
from miserly.client.remote import RemoteModel
from miserly.client.terms import RequestTerms
from miserly.errors import ClientError
from miserly.runtime.arguments import read_seconds
from miserly.runtime.runner import THREADS
from miserly.runtime.sources import Source, check_rules

__all__ = ["Client"]


class Client:
    """A client of `miserly serve`: it calls local sources for what a plan elsewhere asks for.

    It has the calls of `OnDemand`, and gives the same answers, costs and purchases. With sources, each
    request is a session of the service: the service says what the plan needs, the client calls its sources
    and sends what they brought. Without sources, the features that are given are sent at once.

    Parameters
    ----------
    url : str
        Where the service is, such as ``http://127.0.0.1:8000``.
    model : str, optional
        The name of the model. By default the only one of the service.
    sources : mapping of feature or group to callable, optional
        How to get features here; as for `OnDemand`. A feature without a source is looked up in the raw
        input. The service gets the features that it has sources for itself.
    api_key : str, optional
        The key that the service asks for.
    timeout : float, default=10.0
        Seconds for one request to the service.
    retries : int, default=2
        How often a request to the service is made again, if that can do no harm.
    verify : bool, str, Path or ssl.SSLContext, default=True
        How the certificate of the service is checked: by the authorities that the system trusts, by a file or
        a folder of certificates, or not at all (False).
    source_timeout : float, optional
        Seconds that one call of a source may take.
    source_retries : int, default=0
        How often a call of a source that failed is made again.
    backoff : float, default=0.05
        Seconds before a source is called again, doubled for each further retry.
    fallback : {"missing", "stop", "raise"}, default="missing"
        If a source has failed for good: go on as if the value was missing, stop, or raise `SourceError`.
    charge_on_failure : bool, default=False
        Whether calls of sources that failed are billed.
    together : bool, default=False
        Call sources at the same time for all that the plan will ask for in any case, and not only for what
        its present step needs. That takes fewer exchanges with the service. Features
        are then also bought if an earlier failure or a higher price would have made them unnecessary.
    concurrency : int, optional
        How many async sources are called at the same time.
    hooks : object or mapping, optional
        As for `OnDemand`.
    threads : int, default=32
        The most threads that sources that block can hold.
    transport : httpx.AsyncBaseTransport, optional
        What makes requests, instead of the network.

    Raises
    ------
    ClientError
        If the URL is not the address of a service.

    Notes
    -----
    The plan is the service's, and so are its prices and its budget. The service gets the values that were
    bought, what was paid for them, and how calls failed; it gets nothing else of the raw input. Its receipts
    are complete, with what failed here.

    A request to the service that failed is made again only if it cannot do harm: a change of a session has
    the version that it is for, and takes place once.

    Examples
    --------
    >>> with Client("http://127.0.0.1:9") as client:  # no service is there
    ...     client.predict({"age": 61.0})
    Traceback (most recent call last):
    miserly.errors.UnreachableError: http://127.0.0.1:9 cannot be reached: All connection attempts failed
    """

    def __init__(
        self,
        url: str,
        model: str | None = None,
        sources: Mapping[Any, Any] | None = None,
        *,
        api_key: str | None = None,
        timeout: float = 10.0,
        retries: int = 2,
        verify: Any = True,
        source_timeout: float | None = None,
        source_retries: int = 0,
        backoff: float = 0.05,
        fallback: str = "missing",
        charge_on_failure: bool = False,
        together: bool = False,
        concurrency: int | None = None,
        hooks: Any = None,
        threads: int = THREADS,
        transport: Any = None,
    ) -> None:
        defaults = Source(bool, source_timeout, source_retries, backoff, fallback, charge_on_failure)
        check_rules(timeout, retries, None, None)
        self._connection = Connection(url, api_key, timeout, retries, verify, transport)
        options = {"concurrency": concurrency, "hooks": hooks, "threads": threads, "together": together}
        self._remote = RemoteModel(self._connection, model, sources, defaults, **options)

    # -- models --------------------------------------------------------------------------------------

    def models(self) -> list[dict[str, Any]]:
        """Return what the service says about its models.

        Returns
        -------
        list of dict
            With their names, titles, units and digests.
        """
        return self._connection.run(self._remote.models())

    def model(self, name: str | None = None) -> dict[str, Any]:
        """Return what the service says about a model: features, prices, what budgets buy, guarantees.

        Parameters
        ----------
        name : str, optional
            Its name; by default the model of this client.

        Returns
        -------
        dict
        """
        return self._connection.run(self._remote.describe(name))

    # -- one request ---------------------------------------------------------------------------------

    def predict(
        self,
        raw: Any = None,
        budget: float | None = None,
        deadline: float | None = None,
        known: Mapping[Any, Any] | None = None,
        prices: Mapping[Any, float] | None = None,
        offered: Mapping[Any, Any] | None = None,
        input: Mapping[str, Any] | None = None,
    ) -> RemoteReceipt:
        """Answer one request.

        Parameters
        ----------
        raw : object, optional
            What sources here get.
        budget : float, optional
            No more than this is paid. The budget of the plan holds as well.
        deadline : float, optional
            Seconds from now. The answer then is the last one that the service gave.
        known : mapping of feature to value, optional
            Values that are there already, for which nothing is paid.
        prices : mapping of feature or group to float, optional
            Prices of this request that differ from those of the plan.
        offered : mapping of feature to value, optional
            Values that are there already and are paid when the plan needs them.
        input : mapping, optional
            What the sources of the service get, besides the features.

        Returns
        -------
        RemoteReceipt

        Raises
        ------
        ClientError
            If the service does not answer. `ClientError.receipt` has what was bought until then.
        SourceError
            If a source failed whose fallback is "raise".
        """
        return self._connection.run(self.apredict(raw, budget, deadline, known, prices, offered, input))

    async def apredict(
        self,
        raw: Any = None,
        budget: float | None = None,
        deadline: float | None = None,
        known: Mapping[Any, Any] | None = None,
        prices: Mapping[Any, float] | None = None,
        offered: Mapping[Any, Any] | None = None,
        input: Mapping[str, Any] | None = None,
    ) -> RemoteReceipt:
        """Answer one request in the running event loop. Cancelling it cancels the calls of its sources.

        Parameters
        ----------
        raw : object, optional
            As for `predict`.
        budget : float, optional
            As for `predict`.
        deadline : float, optional
            As for `predict`.
        known : mapping of feature to value, optional
            As for `predict`.
        prices : mapping of feature or group to float, optional
            As for `predict`.
        offered : mapping of feature to value, optional
            As for `predict`.
        input : mapping, optional
            As for `predict`.

        Returns
        -------
        RemoteReceipt
        """
        terms = RequestTerms(budget, read_seconds(deadline), known, prices, input)
        return (await self._remote.answer([raw], [offered], terms))[0]

    # -- many requests -------------------------------------------------------------------------------

    def predict_many(
        self,
        rows: Iterable[Any],
        budget: float | None = None,
        deadline: float | None = None,
        prices: Mapping[Any, float] | None = None,
        batch_size: int = 256,
        offered: Iterable[Mapping[Any, Any] | None] | None = None,
    ) -> list[RemoteReceipt]:
        """Answer many requests together: a batched source is called once for all that need it at a step.

        Parameters
        ----------
        rows : iterable
            The raw input of each request.
        budget : float, optional
            For each request.
        deadline : float, optional
            Seconds for each batch.
        prices : mapping of feature or group to float, optional
            As for `predict`, for all requests.
        batch_size : int, default=256
            How many requests are under way together.
        offered : iterable of mapping or None, optional
            As for `predict`, one for each row.

        Returns
        -------
        list of RemoteReceipt
            In the order of `rows`.
        """
        if not (isinstance(batch_size, int) and batch_size >= 1):
            raise ClientError(f"batch_size is a whole number of at least 1, not {batch_size!r}")
        following, offers = iter(rows), iter(offered or ())
        receipts: list[RemoteReceipt] = []
        terms = RequestTerms(budget, read_seconds(deadline), None, prices, None)
        while some := list(islice(following, batch_size)):
            more = [next(offers, None) for _ in some]
            receipts += self._connection.run(self._remote.answer(some, more, terms, many=True))
        return receipts

    # -- the end -------------------------------------------------------------------------------------

    def close(self) -> None:
        """Close the connections, and end the threads."""
        self._remote.close()
        self._connection.close()

    async def aclose(self) -> None:
        """Close the connections, and end the threads."""
        await asyncio.to_thread(self.close)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.aclose()

    def __repr__(self) -> str:
        return f"Client({self._connection.url!r}, model={self._remote.name!r})"
