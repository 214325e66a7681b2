"""On demand: a plan that gets its features from the world."""

from __future__ import annotations

from collections.abc import AsyncIterable, AsyncIterator, Iterable, Mapping
from typing import Any

from miserly.errors import SourceError
from miserly.plan.engine.stepper import stepper
from miserly.runtime.arguments import offer, plan_of, read_seconds
from miserly.runtime.batches import run_many, stream
from miserly.runtime.drivers import run_async, run_here, run_in_threads, run_plain
from miserly.runtime.receipt import Receipt
from miserly.runtime.request import PredictionRequest
from miserly.runtime.runner import THREADS, SourceRunner
from miserly.runtime.sources import Source

__all__ = ["OnDemand"]


class OnDemand(SourceRunner):
    """A plan that asks sources for the features it needs, when it needs them, and pays for nothing else.

    Parameters
    ----------
    plan : Plan, str, Path, or a fitted model
        A plan, a file that holds one, or an estimator with a `plan_`.
    sources : mapping of feature or group to callable, optional
        How to get features. A source takes the raw input and gives the value of a feature, or for a group a
        mapping of feature to value. It may be ``async``. Parameters named like features get the values
        acquired before it. See `Source` for rules of its own. A feature without a source is looked up in the
        raw input, by name.
    concurrency : int, optional
        How many calls are made at the same time. By default sources that are not async are called one after
        the other in the thread of the caller, and all async ones that a node needs at once.
    retries : int, default=0
        How often a call that failed is made again.
    timeout : float, optional
        Seconds that one call may take. By default as long as it takes, up to the deadline of a request.
    backoff : float, default=0.05
        Seconds before the first retry, doubled for each further one, with half of it at random.
    fallback : {"missing", "stop", "raise"}, default="missing"
        If a source has failed for good: go on as if the value was missing, answer from the last finished
        node, or raise `SourceError`, which has the receipt.
    charge_on_failure : bool, default=False
        Whether calls that failed or came too late are billed.
    speculate : bool, default=False
        Whether to fetch what the next node may need while this one waits for its features. What is not
        needed then is in `Receipt.speculated`, with its own sum. Nothing is fetched ahead unless the budget
        allows all that the plan could still buy.
    hooks : object or mapping, optional
        With any of ``before_source(call)``, ``after_source(call)`` and ``on_answer(receipt)``.
    unknown : {"error", "missing"}, default="error"
        A value that is no known category is a fault of its source, or counts as missing.
    threads : int, default=32
        The most threads that calls of sources that block can hold.
    compiled : bool, optional
        Compile the walk through the plan when numba is there (the default), or run it in Python.

    Attributes
    ----------
    plan : Plan

    Raises
    ------
    SourceError
        If a source is for no feature of the plan, is no callable, or asks for what is no feature.

    Notes
    -----
    A feature is paid when its value arrives. A call that fails or comes too late costs nothing, unless its
    source says so (`Source.charge_on_failure`). Before a call its listed price, or the `Source.bound` of its
    price, is reserved; a `Priced` value then costs what it says. A budget is never passed as long as bounds
    hold. A source that gives None says that there is no value, which is an answer and is paid. NaN is a
    fault: it is tried again, then paid, and the fallback applies.

    With a deadline, a timeout or `concurrency`, sources that are not async run in threads, because nothing
    else can leave a call that hangs. A call in a thread takes some 50 microseconds more.

    Examples
    --------
    >>> from miserly import Costs, Plan
    >>> from miserly.plan import Node, Raw
    >>> nodes = [Node([0], [0], [1.0], [0.0], up=1), Node([1], [0], [1.0], [0.0])]
    >>> plan = Plan(costs=Costs({"age": 1.0, "chol": 5.0}), terms=[Raw(0), Raw(1)], nodes=nodes, base=[0.0])
    >>> served = OnDemand(plan, {"chol": lambda patient: patient["blood"] * 2.0})
    >>> receipt = served.predict({"age": 61.0, "blood": 100.0})
    >>> float(receipt.answer), receipt.cost, receipt.acquired, receipt.stopped_by
    (261.0, 6.0, ('age', 'chol'), 'answered')
    >>> served.predict({"age": 61.0, "blood": 100.0}, budget=3).acquired
    ('age',)
    """

    def __init__(
        self,
        plan: Any,
        sources: Mapping[Any, Any] | None = None,
        *,
        concurrency: int | None = None,
        retries: int = 0,
        timeout: float | None = None,
        backoff: float = 0.05,
        fallback: str = "missing",
        charge_on_failure: bool = False,
        speculate: bool = False,
        hooks: Any = None,
        unknown: str = "error",
        threads: int = THREADS,
        compiled: bool | None = None,
    ) -> None:
        defaults = Source(bool, timeout, retries, backoff, fallback, charge_on_failure)
        super().__init__(
            plan_of(plan), sources, defaults, concurrency=concurrency, speculate=speculate, hooks=hooks,
            unknown=unknown, threads=threads,
        )  # fmt: skip
        self._calls = [source.alone for source in self.sources]
        if compiled is not False:
            stepper(self.plan, compiled=True)
        self.plan.start()  # compiles the walk, or reads it from its cache: now, and not in the first request

    # -- one request ---------------------------------------------------------------------------------

    def predict(
        self,
        raw: Any = None,
        budget: float | None = None,
        deadline: float | None = None,
        known: Mapping[Any, Any] | None = None,
        prices: Mapping[Any, float] | None = None,
        offered: Mapping[Any, Any] | None = None,
    ) -> Receipt:
        """Answer one request.

        Parameters
        ----------
        raw : object, optional
            What sources get.
        budget : float, optional
            No more than this is paid. The budget of the plan holds as well.
        deadline : float, optional
            Seconds from now. The answer then is that of the last finished node.
        known : mapping of feature to value, optional
            Values that are there already, for which nothing is paid. Their groups count as set up.
        prices : mapping of feature or group to float, optional
            Prices of this request that differ from those of the plan. The plan keeps its order.
        offered : mapping of feature to value, optional
            Values that are there already and are paid when the plan needs them: their sources are not
            called. None says that there is no value.

        Returns
        -------
        Receipt

        Raises
        ------
        SourceError
            If a source failed whose fallback is "raise".
        """
        request = PredictionRequest(self, raw, budget, read_seconds(deadline), known, prices)
        offer(request, offered)
        if self._is_plain and deadline is None and not offered:
            run_plain(request, self._calls, self._codes)
        elif self._is_async:
            self.in_background(run_async(request, self._pool))
        elif self._needs_threads or deadline is not None:
            run_in_threads(request, self._pool)
        else:
            run_here(request)
        return self.answered(request)

    async def apredict(
        self,
        raw: Any = None,
        budget: float | None = None,
        deadline: float | None = None,
        known: Mapping[Any, Any] | None = None,
        prices: Mapping[Any, float] | None = None,
        offered: Mapping[Any, Any] | None = None,
    ) -> Receipt:
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

        Returns
        -------
        Receipt
        """
        request = PredictionRequest(self, raw, budget, read_seconds(deadline), known, prices)
        offer(request, offered)
        await run_async(request, self._pool)
        return self.answered(request)

    # -- many requests -------------------------------------------------------------------------------

    def predict_many(
        self,
        rows: Iterable[Any],
        budget: float | None = None,
        deadline: float | None = None,
        prices: Mapping[Any, float] | None = None,
        batch_size: int = 1024,
        offered: Iterable[Mapping[Any, Any] | None] | None = None,
    ) -> list[Receipt]:
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
        batch_size : int, default=1024
            How many requests are under way together.
        offered : iterable of mapping or None, optional
            As for `predict`, one for each row.

        Returns
        -------
        list of Receipt
            In the order of `rows`.
        """
        if batch_size < 1:
            raise SourceError(f"batch_size is a whole number of at least 1, not {batch_size!r}")
        return list(run_many(self, rows, budget, read_seconds(deadline), prices, batch_size, offered))

    def stream(
        self,
        rows: Iterable[Any] | AsyncIterable[Any],
        budget: float | None = None,
        deadline: float | None = None,
        concurrency: int = 100,
    ) -> AsyncIterator[Receipt]:
        """Answer a stream of requests, with at most `concurrency` under way: a slow reader slows the source.

        Parameters
        ----------
        rows : iterable or async iterable
            The raw input of each request.
        budget : float, optional
            For each request.
        deadline : float, optional
            Seconds for each request, from when it begins.
        concurrency : int, default=100
            How many requests are under way together.

        Returns
        -------
        async iterator of Receipt
            In the order of `rows`.
        """
        return stream(self, rows, budget, deadline, concurrency)

    def __repr__(self) -> str:
        return f"OnDemand({self.plan!r})"
