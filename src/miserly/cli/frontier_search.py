"""`miserly frontier`: what each budget buys on the rows of a file, and the model for one of them."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from miserly.cli.console import ManyProblems, Misuse
from miserly.cli.options import SearchOptions
from miserly.cli.outcome_costs import check_task, read_outcome_costs
from miserly.cli.training_table import NUMBER_METRICS, TrainingTable, noted
from miserly.data.tasks import DEFAULT_METRICS
from miserly.errors import CostError, DataError, did_you_mean
from miserly.plan import Plan

if TYPE_CHECKING:
    from miserly.selection import Frontier
    from miserly.selection.offers import Offer
    from miserly.selection.requests import Request

__all__ = ["ChosenModel", "FrontierResult", "check_rows", "metric_for", "read_request", "refuse_failure",
           "run_frontier", "search_table", "write_report"]  # fmt: skip

METRICS = {
    "classes": ("accuracy", "balanced_accuracy", "f1", "roc_auc", "log_loss"),
    "numbers": NUMBER_METRICS,
    "ranking": ("ndcg@K", "precision@K"),
}
PRICED = ("total_cost", "outcome_cost")  # metrics that need outcome costs
FEWEST_ROWS = 10  # or queries: two for each of five folds
FEWEST_FOR_GUARANTEES = 50  # rows or queries: of fewer, `frontier` keeps none for guarantees


@dataclass(frozen=True, eq=False)
class ChosenModel:
    """The model for a request.

    Attributes
    ----------
    offer : Offer
    plan : Plan
        The delivered plan, with a note about the table.
    is_optimistic : bool
        Whether `value` is the value of the chosen candidate on the rows that chose it.
    """

    offer: Offer
    plan: Plan
    is_optimistic: bool

    @property
    def value(self) -> float:
        return self.offer.candidate.mean_value if self.is_optimistic else self.offer.value

    @property
    def error(self) -> float:
        return self.offer.candidate.error if self.is_optimistic else self.offer.error


@dataclass(frozen=True, eq=False)
class FrontierResult:
    """The result of a search: the frontier, the model for the request, or why there is none."""

    table: TrainingTable
    frontier: Frontier
    request: Request
    chosen: ChosenModel | None = None
    refusal: str | None = None

    @cached_property
    def offers(self) -> list[Offer]:
        """What budgets buy: the smallest round budget for each model, and the requested one."""
        from miserly.selection.offers import offers, round_budgets

        asked = self.request if has_budget(self.request) else None
        every = offers(self.frontier, round_budgets(self.frontier, asked))
        first = {one.candidate: one.budget for one in reversed(every)}
        amount = None if asked is None else asked.amount
        return [one for one in every if one.budget in (amount, first[one.candidate])]


# -- the request ---------------------------------------------------------------------------------------------


def read_request(
    budget: float | None,
    mean_budget: float | None,
    confidence: float | None,
    max_loss: float | None,
    save: Path | None,
    outcome_costs: Path | None = None,
) -> Request:
    """The request that options make. `Misuse` if they do not go together."""
    from miserly.selection.requests import Request

    is_empty = budget is None and mean_budget is None and max_loss is None
    if confidence is not None and not 0.0 < confidence < 1.0:
        raise Misuse(f"--confidence is between 0 and 1, such as 0.95, not {confidence:g}")
    if confidence is not None and is_empty:
        raise Misuse("--confidence needs something to guarantee: give --mean-budget, --max-loss or both")
    if save is not None and is_empty and outcome_costs is None:
        raise Misuse(
            "--save needs --budget, --mean-budget, --max-loss or --outcome-costs, which choose the model"
        )
    return Request.read(budget, mean_budget, confidence, max_loss)


def has_budget(request: Request) -> bool:
    return request.amount < np.inf


def metric_for(task: str, metric: str | None, outcome_costs: Path | None = None) -> str:
    """The metric of a search. `Misuse` if it does not suit the task, or needs outcome costs.

    >>> metric_for("classes", None), metric_for("ranking", "ndcg@10")
    ('accuracy', 'ndcg@10')
    """
    from miserly.metrics import get_metric

    check_task(task, outcome_costs)
    if metric is None:
        return DEFAULT_METRICS[task] if outcome_costs is None else "total_cost"
    if metric in PRICED:
        if outcome_costs is None:
            raise Misuse(f"--metric {metric} needs --outcome-costs")
        return metric
    get_metric(metric)  # is known
    name, at, _ = metric.partition("@")
    if f"{name}@K" * bool(at) not in METRICS[task] and metric not in METRICS[task]:
        raise Misuse(f"--metric {metric}: for --task {task} there are {', '.join(METRICS[task])}")
    return metric


# -- the search ----------------------------------------------------------------------------------------------


def search_table(
    table: TrainingTable,
    options: SearchOptions,
    request: Request,
    cache: Path | None = None,
    outcome_costs: Path | None = None,
) -> FrontierResult:
    """Search for models, with progress on standard error, and fit the one for the request."""
    check_rows(table, request)
    outcomes = None if outcome_costs is None else read_outcome_costs(outcome_costs, table)
    try:
        found = run_frontier(table, options, cache=cache, outcome_costs=outcomes, **_budgets(request))
    except KeyboardInterrupt as stop:
        if cache is None:
            stop.__notes__ = ["all fits are lost; --cache FOLDER would have kept them"]
        raise
    refuse_failure(found)
    if not has_budget(request) and request.max_loss is None and outcomes is None:
        return FrontierResult(table, found, request)
    try:
        return FrontierResult(table, found, request, _choose(found, table, request))
    except CostError as error:
        return FrontierResult(table, found, request, refusal=str(error).replace(" (certify)", ""))


def _budgets(request: Request) -> dict[str, Any]:
    """The budgets that `frontier` searches for first; none if the best model matters, too."""
    if request.max_loss is not None:
        return {}
    given = {"budgets": request.budget, "mean_budgets": request.mean_budget}
    return {name: [amount] for name, amount in given.items() if amount < np.inf}


def run_frontier(
    table: TrainingTable, options: SearchOptions, *, rows: NDArray[np.int64] | None = None, **more: Any
) -> Frontier:
    """`miserly.frontier` on all rows or some."""
    from sklearn.utils import _safe_indexing

    from miserly.selection.frontier import frontier

    X = frame_of(table) if table.categories else table.X
    chosen = np.arange(len(table.y)) if rows is None else rows
    # Some of the rows might be taken for another task than all of them: then name the task and the metric.
    task = table.options.task.value if rows is None else table.task
    metric = options.metric if rows is None else metric_for(table.task, options.metric)
    return frontier(
        "auto" if options.learners is None else named_learners(options.learners, table),
        X if rows is None else _safe_indexing(X, chosen),
        table.y[chosen],
        costs=table.costs,
        **table.terms(slice(None) if rows is None else rows),
        qid=None if table.qid is None else table.qid[chosen],
        task=task,
        metric=metric,
        max_fits=options.max_fits,
        time_limit=options.time_limit,
        handovers=options.handovers,
        n_jobs=options.jobs,
        random_state=options.seed,
        verbose=1,
        **more,
    )


def refuse_failure(found: Frontier) -> None:
    """Raise if every learner failed, with the first error of each."""
    from miserly.selection.tables import short_name

    if found.failures and not found.learners:
        errors = {one.learner: f"{short_name(one.learner)} failed: {one.error}" for one in found.failures}
        raise ManyProblems(["every learner failed", *errors.values()])


def _choose(found: Frontier, table: TrainingTable, request: Request) -> ChosenModel:
    from miserly.selection.offers import delivered_offer
    from miserly.selection.plan_budgets import budgets_of_offer, with_budgets

    offer = delivered_offer(found, request)
    plan = with_budgets(noted(offer.plan, table), budgets_of_offer(found, offer))
    return ChosenModel(offer, plan, offer.is_second or not has_budget(request))


def check_rows(table: TrainingTable, request: Request | None = None) -> None:
    """Raise if there are too few rows, only one class, or no costs, before anything is fitted."""
    units = len(table.y) if table.qid is None else len(np.unique(table.qid))
    what = "rows" if table.qid is None else "queries"
    if units < FEWEST_ROWS:
        raise DataError(f"a frontier needs {FEWEST_ROWS} {what} or more, and there are {units}")
    if request is not None and request.needs_rows and units < FEWEST_FOR_GUARANTEES:
        raise DataError(f"--confidence needs {FEWEST_FOR_GUARANTEES} {what} or more, and there are {units}")
    if table.task == "classes" and len(np.unique(table.y)) < 2:
        raise DataError(f"{table.target!r} holds only one class, {table.y[0]}; there is nothing to learn")
    if not table.costs.total > 0:
        raise CostError("every feature is free: there is no cost to trade")


def frame_of(table: TrainingTable) -> Any:
    """The rows as a frame, in which learners see the columns of categories."""
    columns: dict[str, Any] = {}
    for place, name in enumerate(table.names):
        known = table.categories.get(place)
        codes = table.X[:, place].tolist()
        columns[name] = codes if known is None else [None if c != c else known[int(c)] for c in codes]
    if find_spec("pandas"):
        import pandas as pd

        return pd.DataFrame(columns)
    if find_spec("polars"):
        import polars as pl

        return pl.DataFrame(columns)
    name = table.names[min(table.categories)]
    raise DataError(
        f"column {name!r} holds text, which needs pandas or polars: pip install 'miserly[frames]'"
    )


def write_report(result: FrontierResult, path: Path) -> None:
    """The report of all budgets, opened at the requested one."""
    request, data = result.request, Path(result.table.source).name
    result.frontier.to_html(
        path,
        request.budget if request.budget < np.inf else None,
        mean_budget=request.mean_budget if request.mean_budget < np.inf else None,
        confidence=request.confidence if has_budget(request) and result.refusal is None else None,
        title=f"{result.table.target} from {data}: what a budget buys",
    )


# -- learners ------------------------------------------------------------------------------------------------


def named_learners(names: str, table: TrainingTable) -> list[Any]:
    """The learners of a list with commas, in any case, with or without Classifier at the end."""
    from miserly.data.tasks import read_task
    from miserly.selection.candidates import check_labels, pool_for
    from miserly.selection.tables import short_name

    task = read_task(table.y, table.task, qid=table.qid).task
    check_labels(table.y, task)
    every = pool_for(task, table.y)
    known = {short_name(type(learner).__name__).lower(): learner for learner in every}
    short = [short_name(type(learner).__name__) for learner in every]
    wanted = []
    for name in filter(None, (part.strip() for part in names.split(","))):
        key = short_name(name).lower()
        if key not in known:
            near = did_you_mean(short_name(name), short)
            raise Misuse(
                f"--learners: no {name!r} for this target{near or '.'} There are: "
                f"{', '.join(dict.fromkeys(short))}"
            )
        wanted.append(key)
    if not wanted:
        raise Misuse("--learners: an empty list")
    return [learner for learner, name in zip(every, short, strict=True) if name.lower() in wanted]
