"""The client of a service: the methods of `OnDemand`, with local sources and a plan on a server."""

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
    """A client of `miserly serve`. It calls local sources for the features that a plan on a server needs.

    It has the methods of `OnDemand`, and gives the same answers, costs and purchases. With sources, each
    request is a session of the service. The service names the features that the plan needs; the client calls
    its sources and sends their values. Without sources, the client sends all given features at once.

    Parameters
    ----------
    url : str
        The address of the service, such as ``http://127.0.0.1:8000``.
    model : str, optional
        The name of the model. By default the only one of the service.
    sources : mapping of feature or group to callable, optional
        Local sources of features; as for `OnDemand`. A feature without a source is looked up in the raw
        input. The service fetches the features for which it has sources of its own.
    api_key : str, optional
        The API key, if the service requires one.
    timeout : float, default=10.0
        Maximum time of one request to the service, in seconds.
    retries : int, default=2
        Maximum number of retries of a request to the service. Only safe requests are repeated.
    verify : bool, str, Path or ssl.SSLContext, default=True
        How the certificate of the service is checked: by the authorities that the system trusts, by a file or
        a folder of certificates, or not at all (False).
    source_timeout : float, optional
        Maximum time of one call of a source, in seconds.
    source_retries : int, default=0
        Maximum number of retries of a source that failed.
    backoff : float, default=0.05
        Seconds before a source is called again, doubled for each further retry.
    fallback : {"missing", "stop", "raise"}, default="missing"
        After the last retry of a source: treat the value as missing, stop, or raise `SourceError`.
    charge_on_failure : bool, default=False
        Whether calls of sources that failed are billed.
    together : bool, default=False
        Whether to call sources at the same time for all features that the plan is certain to need, and not
        only for those of its present step. This takes fewer requests to the service. A feature is then also
        bought if an earlier failure or a higher price would have made it unnecessary.
    concurrency : int, optional
        Maximum number of async sources that are called at the same time.
    hooks : object or mapping, optional
        As for `OnDemand`.
    threads : int, default=32
        Maximum number of threads for blocking sources.
    transport : httpx.AsyncBaseTransport, optional
        An httpx transport that replaces the network, for example in tests.

    Raises
    ------
    ClientError
        If the URL is not the address of a service.

    Notes
    -----
    The service defines the plan, its prices and its budget. The client sends the values that were bought,
    their costs, and failures of calls. It sends nothing else of the raw input. The receipts of the service
    include failures of local sources.

    A failed request is repeated only if that is safe. A change of a session includes the version of the
    session, so it is applied only once.

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
            One for each model: name, title, unit and digest.
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
            The input of local sources.
        budget : float, optional
            No more than this is paid. The budget of the plan holds as well.
        deadline : float, optional
            Seconds from now. When they are over, the last answer of the service is returned.
        known : mapping of feature to value, optional
            Values that are already known. They cost nothing.
        prices : mapping of feature or group to float, optional
            Prices for this request, instead of those of the plan.
        offered : mapping of feature to value, optional
            Values that are already available. Each is paid when the plan needs it.
        input : mapping, optional
            Input of the sources of the service, in addition to the features.

        Returns
        -------
        RemoteReceipt

        Raises
        ------
        ClientError
            If the service does not answer. `ClientError.receipt` holds the purchases up to that point.
        SourceError
            If a source with the fallback "raise" failed.
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
        """Answer many requests together. At each step, a batched source is called once for all requests.

        Parameters
        ----------
        rows : iterable
            The raw input of each request.
        budget : float, optional
            A cap for each request.
        deadline : float, optional
            Seconds for each batch.
        prices : mapping of feature or group to float, optional
            As for `predict`, for all requests.
        batch_size : int, default=256
            Number of requests that are processed together.
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

    # -- closing -------------------------------------------------------------------------------------

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
