"""The search for models at all costs: `frontier`.

Each candidate learner is fitted at values of the hyperparameter that trades its cost for quality. Every model
is evaluated on held-out rows. See `miserly.selection.search` for the order of the fits.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from os import PathLike
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import clone
from sklearn.utils import check_random_state

from miserly.data.rows import Rows
from miserly.data.tasks import DEFAULT_METRICS, TaskChoice, read_task
from miserly.errors import DataError, MetricError
from miserly.metrics import Metric, get_metric
from miserly.selection.candidates import (
    CandidateLearner,
    candidate_learners,
    check_labels,
    read_pool,
)
from miserly.selection.evaluation import Candidate, Evaluator
from miserly.selection.files import Cache
from miserly.selection.handovers import handovers as paired
from miserly.selection.models import SearchResult
from miserly.selection.progress import ProgressDisplay
from miserly.selection.requests import SearchBudgets, read_budgets
from miserly.selection.results import Frontier
from miserly.selection.row_arguments import RowArguments
from miserly.selection.row_values import PRICED
from miserly.selection.screening import SHARE, Screening, screen, screening_split
from miserly.selection.search import Search
from miserly.selection.splits import Parts, guarantee_mask, search_parts
from miserly.selection.workers import Workers

__all__ = ["frontier"]

_FEW_TO_COMPILE = 64  # rows, or queries
_FITS, _FITS_PER_CAP, _MOST_CAPS = 60, 10, 8  # the default of `max_fits`


def frontier(
    learners: Any = "auto",
    X: Any = None,
    y: ArrayLike | None = None,
    *,
    costs: Any = None,
    known: Any = None,
    prices: Any = None,
    qid: ArrayLike | None = None,
    sample_weight: ArrayLike | None = None,
    ordered: Any = None,
    never_ordered: str = "missing",
    task: str = "auto",
    metric: str | Metric | None = None,
    outcome_costs: Any = None,
    budgets: Sequence[float] | None = None,
    mean_budgets: Sequence[float] | None = None,
    cv: Any = None,
    confidence: float | None = None,
    certify: float | None = None,
    max_fits: int | None = None,
    time_limit: float | None = None,
    handovers: bool | None = None,
    n_jobs: int | None = None,
    cache: str | PathLike[str] | None = None,
    random_state: Any = None,
    verbose: int = 0,
) -> Frontier:
    """Search over learners and their costs; evaluate every model on held-out rows.

    Each learner is fitted at several values of one hyperparameter: `tradeoff`, `node_budget` or `budget`. The
    value that the learner has is replaced. The search starts with a few values and continues where the best
    curve may still rise most. A learner without any of these is fitted once. One fit gives many models if it
    can: a boosted model at several numbers of rounds, an anytime model at many costs, a model with early
    exits at several thresholds.

    Parameters
    ----------
    learners : "auto", estimator or list of estimators, default="auto"
        The learners to try. "auto" takes all learners that suit the labels. If a column holds text or
        categories, learners that need numbers are left out; `Frontier.left_out` lists them.
    X : array or data frame of shape (n_rows, n_features)
        The rows.
    y : array of shape (n_rows,)
        The labels.
    costs : Costs, mapping or array, optional
        The costs of the features, as for learners. Each feature costs 1 by default.
    known : bool array of shape (n_rows, n_features), frame or mapping of bools, or list of features, optional
        What each row has already, as for `Plan.run`. Models are trained at the mean price of each feature,
        and evaluated at what the held-out rows would really pay.
    prices : array of shape (n_rows, n_features), frame, mapping or function, optional
        What each row pays instead of `costs`, as for `Plan.run`. Guarantees of mean costs assume that no row
        pays more for a feature than the highest price in these rows.
    qid : array of shape (n_rows,), optional
        The query of each row, for ranking.
    sample_weight : array of shape (n_rows,), optional
        The weight of each row: in fits, in the metric, and in all mean costs. Rows of weight 0 are left out,
        unless `cv` has row numbers. There are no weights in ranking, and no guarantees of means with weights.
    ordered : bool array of shape (n_rows, n_features), frame or mapping of bools, optional
        Which features were ordered for which rows, if the table comes from a process that did not order all
        features for all rows.
    never_ordered : {"missing", "drop", "ipw"}, default="missing"
        How features that were not ordered are treated, see `ordering_weights`. "missing" fits and evaluates
        all rows. "drop" and "ipw" use only rows with every feature ordered, and "ipw" weights them as with
        `sample_weight`.
    task : {"auto", "classes", "numbers", "ranking"}, default="auto"
        What the labels are. "auto": with queries, ranking; else what the metric is for; else text and
        booleans are classes, numbers with fractions are numbers, and whole numbers are classes if there are
        two different ones, or at most 20 with five rows each on average. The result is in `Frontier.task`
        and is printed with `verbose`.
    metric : str or Metric, optional
        Accuracy, ndcg@5 or mse by default; with `outcome_costs` "total_cost". `miserly.metrics.row_metric`
        makes a metric from a function. "roc_auc" and "f1" are not means over rows, so guarantees of their
        loss and handovers are not available.
    outcome_costs : OutcomeCosts, mapping or array, optional
        What mistakes cost, for classes, in the unit of the test costs: see `miserly.OutcomeCosts`. Learners
        are fitted with them, and models answer with the class or action of least expected cost. The metric
        "outcome_cost" is the mean cost of the answers, and "total_cost" adds what the tests cost.
    budgets : list of float, optional
        The caps of interest, which are also the caps of tables. The first learner that has a budget is fitted
        at each of them (at eight, if there are more) before any other fit, the largest first. Learners that
        grow a single tree follow after the first of these fits. Then the other learners are fitted at the
        largest cap, at one in the middle and, if they are competitive, at all caps, with up to half of
        `max_fits`. The search does not go beyond the largest cap.
    mean_budgets : list of float, optional
        The same for mean budgets: the first learner is fitted at two of them, the others are searched over
        their own hyperparameters. If neither is given, tables are for eight mean budgets in geometric steps
        from the cheapest to the most expensive model.
    cv : int, splitter, pair of row numbers or list of such pairs, optional
        How rows are held out. A pair is (training rows, held-out rows). By default five folds up to 2,000
        rows (queries), and a quarter of them beyond.
    confidence : float, optional
        The default confidence of guarantees in `Frontier.best`, 0.95 for example. None: no guarantee.
    certify : float, optional
        The share of the rows (queries) that is kept for guarantees. The search does not use them. By default
        a fifth, at most 2,000, and none if there are fewer than 50; 0 keeps none.
    max_fits : int, optional
        The total number of hyperparameter values that are tried. Each needs one fit per fold. By default 60,
        and 10 more for each of the `budgets`, of which eight count at most.
    time_limit : float, optional
        The time limit in seconds. No fit starts after it, or if it is expected to take longer than the time
        left. A fit that takes more than 15 % of it (at least 5 seconds) is stopped and counts as a failure,
        except for the first two. With 8,000 training rows or more, up to a fifth of it is used to screen all
        learners on a subsample of 2,000; learners that are too slow are left out and, if time is short, also
        those that are clearly worse. The time to compile functions is not counted, because a machine compiles
        them once.
    handovers : bool, optional
        Whether to combine pairs of models (`Handover`): the more expensive model answers the rows that the
        cheaper one is uncertain about. A pair is kept if it is better than every single model. No fit is
        needed. By default only with "auto". Handovers are not available for ranking and numbers.
    n_jobs : int, optional
        The number of processes that fit models. It changes only the time, unless there is a `time_limit`.
    cache : path, optional
        Cache directory. An interrupted search resumes from it. Repeating a finished search fits nothing. The
        cache needs an integer `random_state`.
    random_state : int, RandomState or None, optional
        Random seed of splits and learners.
    verbose : int, default=0
        1 shows the progress of the search and the best curve so far.

    Returns
    -------
    Frontier
        All models, with tables, the best model for a budget, pictures and a report.

    Raises
    ------
    DataError
        If rows, labels, learners or options cannot be used, or if every fit failed.

    Notes
    -----
    Let cost(m) be the mean cost of a row of model m on held-out rows and value(m) its metric. The frontier is
    the best value(m) subject to cost(m) <= c, as a function of c. The search spends its fits where this
    function may still increase most, see `miserly.selection.history`.

    Examples
    --------
    >>> from miserly import CostLassoClassifier, GreedyMiserClassifier
    >>> from miserly.datasets import load_heart
    >>> heart = load_heart()
    >>> found = frontier([CostLassoClassifier(), GreedyMiserClassifier(n_rounds=20, max_depth=2)],
    ...                  heart.X, heart.y, costs=heart.costs, max_fits=12, random_state=0)
    >>> model = found.best(budget=30)
    >>> bool(model.run(heart.X).cost.max() <= 30), bool(model.score(heart.X, heart.y) > 0.75)
    (True, True)
    """
    own = RowArguments(X, y, costs, known, prices, qid, sample_weight, ordered, never_ordered, outcome_costs)
    everything, listed = own.read(learners, cv)
    named = _read_metric(metric, everything)
    taken = _read_task(everything, task, named)
    seed = int(check_random_state(random_state).randint(2**31 - 1))
    kept = guarantee_mask(everything, certify, confidence, seed)
    parts = search_parts(everything, kept, cv, taken.task == "classes", seed)
    evaluator = _evaluator(everything.take(np.flatnonzero(~kept)), parts, named, taken, handovers)
    pool, unable = read_pool(learners, taken.task, X, everything.y, evaluator.metric)
    caps, means, wanted = _read_budgets(budgets, mean_budgets)
    tried = candidate_learners(pool, taken.task, evaluator.rows, listed, seed, wanted)
    most, limit = _read_limits(max_fits, caps, time_limit)
    workers = partial(Workers, evaluator.rows, n_jobs=n_jobs, cache=_cache(cache, random_state))
    setting = _Setting(evaluator, workers, tried, most, limit, wanted, taken.task == "classes", seed)
    search, screening = setting.search_with(listed.unit, bool(verbose), str(taken), _how_to_resume(cache))
    result = SearchResult(
        evaluator=evaluator,
        costs=listed,
        candidates=_with_pairs(search, wanted, learners, handovers),
        budgets=caps,
        mean_budgets=means,
        seed=seed,
        failures=search.failures,
        seconds=search.seconds if wanted.amounts else screening.taken + search.seconds,
        left_out={**unable, **screening.left_out},
        everything=everything,
        kept=everything.take(np.flatnonzero(kept)) if kept.any() else None,
        confidence=confidence,
        taken=taken,
        effort=search.effort,
    )
    return Frontier(result)


@dataclass(frozen=True, eq=False)
class _Setting:
    """What a search is run with; `workers` is called with parts and a time limit."""

    evaluator: Evaluator
    workers: Callable[..., Workers]
    learners: Sequence[CandidateLearner]
    max_fits: int
    time_limit: float
    budgets: SearchBudgets
    classes: bool
    seed: int

    def search_with(
        self, unit: str, verbose: bool, first_line: str, how_to_resume: str
    ) -> tuple[Search, Screening]:
        """Search, and show the progress; an interrupted search says how to resume it."""
        metric = self.evaluator.metric
        with ProgressDisplay(metric.name, metric.sign, unit, self.max_fits, verbose) as progress:
            progress.print_line(first_line)
            try:
                return self._search(progress.show)
            except KeyboardInterrupt as stop:
                stop.add_note(how_to_resume)
                raise

    def _search(self, show: Callable[..., None]) -> tuple[Search, Screening]:
        """Search, with a screening before it, or after the fits at the budgets if there are any."""
        if np.isfinite(self.time_limit):
            _compile(self.learners[0], self.evaluator.rows)
        screening = Screening(self.learners) if self.budgets.amounts else self._screen()
        limit = self.time_limit - screening.taken
        with self.workers(self.evaluator.parts, time_limit=limit) as workers:
            search = Search(
                self.evaluator, workers, screening.learners, self.max_fits, limit, self.budgets, show=show
            )
            if self.budgets.amounts:
                search.run_budgets()
                screening = self._screen(search.seconds)
            search.learners, search.history.expected = screening.learners, screening.seconds
            search.history.late_from |= screening.late_from
            search.history.doubtful_from |= screening.doubtful_from
            search.history.leaders |= screening.leaders
            search.run()
        return search, screening

    def _screen(self, used: float = 0.0) -> Screening:
        """Screen all learners if time is limited and there are many rows; `used` are seconds."""
        evaluator, limit = self.evaluator, self.time_limit
        few = screening_split(evaluator.rows, evaluator.parts, self.classes, self.seed)
        if few is None or np.isinf(limit) or used > (1.0 - 2.0 * SHARE) * limit:
            return Screening(self.learners)
        with self.workers(few, time_limit=SHARE * limit) as workers:
            search = Search(
                Evaluator(evaluator.rows, few, evaluator.metric),
                workers,
                self.learners,
                sys.maxsize,
                SHARE * limit,
                self.budgets,
                first_values_only=True,
            )
            return screen(search, len(evaluator.parts[0][0]) / len(few[0][0]), limit)


def _compile(constant: CandidateLearner, rows: Rows) -> None:
    """Fit a few trees to a few rows, to compile the functions of most learners before the search."""
    units = np.arange(len(rows)) if rows.qid is None else rows.qid
    known = np.unique(units)
    spread = np.linspace(0, len(known) - 1, _FEW_TO_COMPILE).astype(np.int64)  # rows may be sorted by class
    few = rows.take(np.flatnonzero(np.isin(units, known[spread])))
    queries = {} if few.qid is None else {"qid": few.qid}
    miser = clone(constant.estimator).set_params(budget=None, n_rounds=2, costs=constant.costs)
    try:
        miser.fit(few.X, few.y, **queries).plan_.run(few.X, qid=few.qid, compiled=True)
    except ValueError:  # too few classes, for example: then it is compiled when it is needed
        return


def _with_pairs(
    search: Search, budgets: SearchBudgets, learners: Any, wanted: bool | None
) -> Sequence[Candidate]:
    """The models of a search, and pairs of them with a handover if they are wanted."""
    if not (isinstance(learners, str) if wanted is None else wanted):
        return search.candidates
    return [*search.candidates, *paired(search.evaluator, search.candidates, budgets.amounts)]


# -- options -------------------------------------------------------------------------------------------------


def _read_budgets(caps: Any, means: Any) -> tuple[list[float] | None, list[float] | None, SearchBudgets]:
    """Caps, mean budgets, and both as what the search is for."""
    hard, soft = (None if some is None else read_budgets(some) for some in (caps, means))
    return hard, soft, SearchBudgets(tuple(sorted({*(hard or ()), *(soft or ())})), on_average=not hard)


def _read_metric(metric: str | Metric | None, rows: Rows) -> Metric | None:
    """The metric that is asked for; with outcome costs, the total cost by default."""
    if metric is None:
        return None if rows.outcomes is None else get_metric("total_cost")
    found = get_metric(metric)
    if found.name in PRICED and rows.outcomes is None:
        raise MetricError(f"{found.name} needs outcome_costs: what mistakes cost")
    return found


def _read_task(rows: Rows, task: str, metric: Metric | None) -> TaskChoice:
    """The task that the labels are for, if they suit one."""
    taken = read_task(rows.y, task, qid=rows.qid, metric=None if metric is None else metric.name)
    check_labels(rows.y, taken.task)
    if rows.weight is not None and taken.task == "ranking":
        raise DataError(
            "sample_weight: a search for rankings gives all queries the same weight; leave it out"
        )
    return taken


def _evaluator(
    rows: Rows, parts: Parts, metric: Metric | None, taken: TaskChoice, handovers: bool | None
) -> Evaluator:
    """The evaluator of the metric, by default that of the task; refuses metrics without handovers."""
    evaluator = Evaluator(rows, parts, metric or get_metric(DEFAULT_METRICS[taken.task]))
    if handovers and not evaluator.values.is_additive:
        raise MetricError(
            f"handovers are evaluated row by row, and {evaluator.metric.name} is not a mean over rows: "
            "leave handovers out"
        )
    return evaluator


def _how_to_resume(folder: str | PathLike[str] | None) -> str:
    if folder is None:
        return "finished fits are lost; frontier(..., cache='folder') would have kept them"
    return f"finished fits are kept in {folder}; the same call resumes the search"


def _cache(folder: str | PathLike[str] | None, random_state: Any) -> Cache | None:
    if folder is not None and not isinstance(random_state, (int, np.integer)):
        raise DataError(
            "cache: random_state must be an integer; otherwise rows are divided differently at every call, "
            "and no stored fit can be used"
        )
    return None if folder is None else Cache(folder)


def _read_limits(
    max_fits: int | None, caps: Sequence[float] | None, time_limit: float | None
) -> tuple[int, float]:
    """The number of fits, which by default depends on the number of caps, and the seconds."""
    limit = math.inf if time_limit is None else float(time_limit)
    if max_fits is None:
        return _FITS + _FITS_PER_CAP * min(len(caps or ()), _MOST_CAPS), limit
    if isinstance(max_fits, bool) or not isinstance(max_fits, (int, np.integer)) or max_fits < 2:
        raise DataError(f"max_fits is a number of fits, 2 or more, not {max_fits!r}")
    return int(max_fits), limit
