"""`miserly frontier`: what each budget buys on the rows of a file, and the model for one of them."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cached_property
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from miserly.cli.console import Misuse
from miserly.cli.problems import ManyProblems
from miserly.cli.training import NUMBER_METRICS, Problem, noted
from miserly.errors import CostError, DataError, did_you_mean
from miserly.plan import Plan

if TYPE_CHECKING:
    from miserly.selection import Frontier
    from miserly.selection.choice import Wish
    from miserly.selection.guarantee import Assurance
    from miserly.selection.offers import Offer

__all__ = ["Choice", "Found", "Search", "Wanted", "check_rows", "check_wanted", "metric_for",
           "refuse_failure", "run_frontier", "search", "stem", "write_report"]  # fmt: skip

METRICS = {
    "classes": ("accuracy", "balanced_accuracy", "log_loss"),
    "numbers": NUMBER_METRICS,
    "ranking": ("ndcg@K", "precision@K"),
}
FEWEST_TO_JUDGE = 10  # rows or queries: two for each of five folds
FEWEST_ROWS = 50  # or queries: of fewer, `frontier` keeps none for promises


@dataclass(frozen=True)
class Search:
    """How to search; `metric` is the one of the task, `asked_metric` and `task` are what options say."""

    metric: str | None = None
    learners: str | None = None
    time_limit: float | None = None
    max_fits: int = 60
    jobs: int = 1
    cache: Path | None = None
    seed: int = 0
    handovers: bool | None = None  # as `frontier` takes it: with all learners unless told otherwise
    task: str = "auto"
    asked_metric: str | None = None


@dataclass(frozen=True)
class Wanted:
    """What the model has to keep to."""

    budget: float | None = None
    mean_budget: float | None = None
    confidence: float | None = None
    max_loss: float | None = None

    @property
    def has_budget(self) -> bool:
        return self.budget is not None or self.mean_budget is not None

    @property
    def names_a_model(self) -> bool:
        return self.has_budget or self.max_loss is not None

    @property
    def budgets(self) -> dict[str, Any]:
        """The budgets to search for first, as `frontier` takes them; none if the best model matters, too."""
        if self.max_loss is not None:
            return {}
        given = {"budgets": self.budget, "mean_budgets": self.mean_budget}
        return {name: [one] for name, one in given.items() if one is not None}

    @property
    def wish(self) -> Wish:
        from miserly.selection.choice import Wish

        return Wish.read(self.budget, self.mean_budget, self.confidence, self.max_loss)


@dataclass(frozen=True, eq=False)
class Choice:
    """The model that was wanted, with its figures on held-out rows."""

    name: str
    value: float
    error: float
    flatters: bool  # whether the value is the model's own, and not that of a choice on other rows
    cost: float
    plan: Plan
    pays: float  # what all rows pay for the plan on average
    promises: tuple[Assurance, ...]


@dataclass(frozen=True, eq=False)
class Found:
    """What came of a search: the frontier, the choice for what was wanted, or why there is none."""

    problem: Problem
    frontier: Frontier
    wanted: Wanted
    choice: Choice | None = None
    refusal: str | None = None

    @cached_property
    def offers(self) -> list[Offer]:
        """What budgets buy: the smallest round budget for each model, and the one that was asked for."""
        from miserly.selection.offers import offers
        from miserly.selection.round_budgets import round_budgets

        asked = self.wanted.wish if self.wanted.has_budget else None
        every = offers(self.frontier, round_budgets(self.frontier, asked))
        first = {one.candidate: one.budget for one in reversed(every)}
        amount = None if asked is None else asked.amount
        return [one for one in every if one.budget in (amount, first[one.candidate])]


# -- what is asked for ---------------------------------------------------------------------------------------


def check_wanted(wanted: Wanted, save: Path | None) -> None:
    """Refuse wishes that do not go together."""
    if wanted.confidence is not None and not 0.0 < wanted.confidence < 1.0:
        raise Misuse(f"--confidence is between 0 and 1, such as 0.95, not {wanted.confidence:g}")
    if wanted.confidence is not None and not wanted.names_a_model:
        raise Misuse("--confidence needs something to promise: give --mean-budget, --max-loss or both")
    if save is not None and not wanted.names_a_model:
        raise Misuse("--save needs --budget, --mean-budget or --max-loss, which say which model")


def metric_for(task: str, metric: str | None) -> str:
    """The metric of a search, if it suits the task.

    >>> metric_for("classes", None), metric_for("ranking", "ndcg@10")
    ('accuracy', 'ndcg@10')
    """
    from miserly.metrics import get_metric

    if metric is None:
        return METRICS[task][0].replace("@K", "@5")
    get_metric(metric)  # is known
    stem, at, _ = metric.partition("@")
    if f"{stem}@K" * bool(at) not in METRICS[task] and metric not in METRICS[task]:
        raise Misuse(f"--metric {metric}: for --task {task} there are {', '.join(METRICS[task])}")
    return metric


# -- searching -----------------------------------------------------------------------------------------------


def search(problem: Problem, how: Search, wanted: Wanted) -> Found:
    """Sweep learners over what they spend, with progress on standard error, and fit the model wanted."""
    check_rows(problem, wanted)
    try:
        found = run_frontier(problem, how, **wanted.budgets)
    except KeyboardInterrupt as stop:
        if how.cache is None:
            stop.__notes__ = ["what was fitted is lost; --cache FOLDER would have kept it"]
        raise
    refuse_failure(found)
    if not wanted.names_a_model:
        return Found(problem, found, wanted)
    try:
        return Found(problem, found, wanted, choose(found, problem, wanted))
    except CostError as error:
        return Found(problem, found, wanted, refusal=str(error).replace(" (certify)", ""))


def run_frontier(
    problem: Problem, how: Search, *, rows: NDArray[np.int64] | None = None, **more: Any
) -> Frontier:
    """`miserly.selection.frontier` on all rows or some, as Python calls it with the same arguments."""
    from sklearn.utils import _safe_indexing

    from miserly.selection.frontier import frontier

    X = frame_of(problem) if problem.categories else problem.X
    chosen = np.arange(len(problem.y)) if rows is None else rows
    return frontier(
        "auto" if how.learners is None else named(how.learners, problem),
        X if rows is None else _safe_indexing(X, chosen),
        problem.y[chosen],
        costs=problem.costs,
        qid=None if problem.qid is None else problem.qid[chosen],
        task=how.task if rows is None else problem.task,  # some of the rows might be taken otherwise
        metric=how.asked_metric if rows is None else how.metric,
        max_fits=how.max_fits,
        time_limit=how.time_limit,
        handovers=how.handovers,
        n_jobs=how.jobs,
        cache=how.cache,
        random_state=how.seed,
        verbose=1,
        **more,
    )


def refuse_failure(found: Frontier) -> None:
    """Refuse a frontier without any model of a learner, and say what each of them failed of."""
    if found.failures and {one.learner for one in found.candidates} <= {"nothing paid"}:
        told = {one.learner: f"{stem(one.learner)} failed: {one.error}" for one in found.failures}
        raise ManyProblems(["every learner failed", *told.values()])


def choose(found: Frontier, problem: Problem, wanted: Wanted) -> Choice:
    from miserly.selection.round_budgets import delivered_offer
    from miserly.selection.tables import shown

    offer = delivered_offer(found, wanted.wish)
    candidate, is_estimate = offer.candidate, not offer.is_second and wanted.has_budget
    return Choice(
        shown(candidate),
        offer.value if is_estimate else candidate.mean_value,
        offer.error if is_estimate else candidate.error,
        not is_estimate,
        candidate.mean_cost,
        noted(offer.plan, problem),
        offer.pays,
        tuple(offer.model.guarantee_),
    )


def check_rows(problem: Problem, wanted: Wanted) -> None:
    """Whether there is enough to learn from, to judge by and to promise, before anything is searched."""
    units = len(problem.y) if problem.qid is None else len(np.unique(problem.qid))
    what = "rows" if problem.qid is None else "queries"
    if units < FEWEST_TO_JUDGE:
        raise DataError(f"a frontier needs {FEWEST_TO_JUDGE} {what} or more, and there are {units}")
    if wanted.wish.needs_rows and units < FEWEST_ROWS:
        raise DataError(f"--confidence needs {FEWEST_ROWS} {what} or more, and there are {units}")
    if problem.task == "classes" and len(np.unique(problem.y)) < 2:
        raise DataError(f"{problem.target!r} holds only one class, {problem.y[0]}; there is nothing to learn")
    if not problem.costs.total > 0:
        raise CostError("every feature is free: there is no cost to trade")


def frame_of(problem: Problem) -> Any:
    """The rows as a frame, which tells every learner which columns hold words."""
    columns: dict[str, Any] = {}
    for place, name in enumerate(problem.names):
        known = problem.categories.get(place)
        codes = problem.X[:, place].tolist()
        columns[name] = codes if known is None else [None if c != c else known[int(c)] for c in codes]
    if find_spec("pandas"):
        import pandas as pd

        return pd.DataFrame(columns)
    if find_spec("polars"):
        import polars as pl

        return pl.DataFrame(columns)
    word = problem.names[min(problem.categories)]
    raise DataError(
        f"column {word!r} holds words, which needs pandas or polars: pip install 'miserly[frames]'"
    )


def write_report(found: Found, path: Path) -> None:
    """The report of all budgets, opened at the one that was asked for."""
    wanted, data = found.wanted, Path(found.problem.source).name
    title = f"{found.problem.target} from {data}: what a budget buys"
    promised = wanted.confidence if wanted.has_budget and found.refusal is None else None
    found.frontier.to_html(
        path, wanted.budget, mean_budget=wanted.mean_budget, confidence=promised, title=title
    )


# -- learners ------------------------------------------------------------------------------------------------


def named(names: str, problem: Problem) -> list[Any]:
    """The learners of a list with commas, whatever the case, with or without Classifier at the end."""
    from miserly.data.rows import Rows
    from miserly.data.tasks import read_task
    from miserly.selection.candidates import pool_for, task_of

    taken = read_task(problem.y, problem.task, qid=problem.qid)
    every = pool_for(task_of(Rows(problem.X, problem.y, qid=problem.qid), taken))
    known = {short_name(learner).lower(): short_name(learner) for learner in every}
    wanted = []
    for name in filter(None, (part.strip() for part in names.split(","))):
        key = stem(name).lower()
        if key not in known:
            near = did_you_mean(stem(name), known.values())
            raise Misuse(
                f"--learners: no {name!r} for this target{near or '.'} There are: {', '.join(known.values())}"
            )
        wanted.append(known[key])
    if not wanted:
        raise Misuse("--learners: an empty list")
    return [learner for learner in every if short_name(learner) in wanted]


def short_name(learner: Any) -> str:
    return stem(type(learner).__name__)


def stem(name: str) -> str:
    """The name of a learner without what it predicts.

    >>> stem("ASTCClassifier(terms='boosted')"), stem("GreedyMiserRanker")
    ("ASTC(terms='boosted')", 'GreedyMiser')
    """
    return re.sub(r"(Classifier|Regressor|Ranker)(?=$|\()", "", name)
