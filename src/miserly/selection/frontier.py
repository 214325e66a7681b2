"""The frontier: every learner swept over its own dial, every model judged on held-out rows."""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from os import PathLike
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import clone
from sklearn.utils import check_random_state

from miserly.data.frames import first_text, is_frame
from miserly.data.holdout import validation_mask
from miserly.data.reading import read_rows
from miserly.data.rows import Rows
from miserly.data.tasks import read_task
from miserly.errors import DataError
from miserly.learners.base import bind_costs, read_encoded_frames
from miserly.metrics import Metric, get_metric
from miserly.selection.asked import Asked
from miserly.selection.cache import Cache
from miserly.selection.candidates import Contender, Task, contenders_for, pool_for, takes_text, task_of
from miserly.selection.evaluation import Bench
from miserly.selection.guarantee import read_confidence
from miserly.selection.handovers import handovers as paired
from miserly.selection.progress import Watch
from miserly.selection.results import Frontier, read_budgets
from miserly.selection.screening import SHARE, Pilot, few_rows, look_at
from miserly.selection.search import Search
from miserly.selection.splits import Parts, divide, held_out, without
from miserly.selection.workers import Crew

__all__ = ["frontier"]

_FEW_UNITS = 2000  # up to so many rows, or queries, they are held out by turns
_FOLDS = 5
_HELD_OUT = 0.25  # of many rows
_FEW_TO_COMPILE = 64  # rows, or queries
_KEPT = 0.2  # the share of rows (queries) kept for promises, where there are enough ...
_FEWEST_UNITS = 50
_MOST_KEPT = 2000  # ... and no more than these: a bound is near by then
_DEFAULT_METRIC = {"documents": "ndcg@5", "numbers": "mse"}


def frontier(
    learners: Any = "auto",
    X: Any = None,
    y: ArrayLike | None = None,
    *,
    costs: Any = None,
    qid: ArrayLike | None = None,
    task: str = "auto",
    metric: str | Metric | None = None,
    budgets: Sequence[float] | None = None,
    mean_budgets: Sequence[float] | None = None,
    cv: Any = None,
    confidence: float | None = None,
    certify: float | None = None,
    max_fits: int = 60,
    time_limit: float | None = None,
    handovers: bool | None = None,
    n_jobs: int | None = None,
    cache: str | PathLike[str] | None = None,
    random_state: Any = None,
    verbose: int = 0,
) -> Frontier:
    """Sweep learners over what they spend, judge every model on held-out rows, and keep the trade-off.

    Each learner is swept over a dial of its own (`tradeoff`, `node_budget` or `budget`; whatever the learner
    has there is replaced), at first coarsely, then where the best curve is least known. One fit gives
    many points where it can: a boosted model at several numbers of rounds, an anytime model at many costs,
    a model with early exits at several thresholds.

    Parameters
    ----------
    learners : "auto", estimator or list of estimators
        "auto" takes all learners that suit the labels; where a column holds text or categories, those that
        need numbers are left out, which `Frontier.left_out` says.
    X, y, qid :
        Rows, labels, and in ranking the query of each row.
    costs : as for learners
    task : {"auto", "classes", "numbers", "ranking"}
        What the labels are. "auto": with queries, ranking; else as a metric of classes or of numbers says;
        else text and booleans are classes, numbers with fractions are numbers, and whole numbers are classes
        if there are two different ones, or at most 20 with five rows each on average. What was taken is in
        `Frontier.task`, and told with `verbose`.
    metric : str or Metric, optional
        accuracy, ndcg@5 or mse by default. It must be a mean over rows or queries, which roc_auc is not.
    budgets : list of numbers, optional
        The budgets of interest, each of which no row may pay more than; tables are for these. They come
        first: the first learner that can be held to a budget is fitted at each of them (at eight, if there
        are more), the largest first, whose beginnings serve the smaller ones at once. Then the others are
        fitted at the largest and, if they are not behind, at all of them, with up to half of `max_fits`. No
        dial goes beyond the largest.
    mean_budgets : list of numbers, optional
        The same for what rows pay on average; the first learner is fitted at two of them, the others are
        swept over their own hyperparameters. Where neither is given, tables are for eight of these, geometric
        from the cheapest to the most expensive model.
    cv : int, splitter, pair of row numbers (learn from, judge by), or list of such pairs, optional
        How rows are held out. By default five folds up to 2,000 rows (queries), a quarter of them beyond.
    confidence : float, optional
        What `Frontier.best` promises with where it is not told otherwise, 0.95 for example. None: nothing
        is promised.
    certify : float, optional
        The share of the rows (queries) that is kept for promises: no model is searched, judged or chosen by
        them. By default a fifth, 2,000 at most, none where there are fewer than 50; 0 keeps none.
    max_fits : int, default=60
        How many values of dials are tried in all; each takes one fit for every held-out part.
    time_limit : float, optional
        Seconds after which no fit is begun, nor one that is known to take longer than what is left. A fit
        that takes more than 15 % of it (5 seconds at least) is stopped and counts as a failure, but for the
        first two. Where 8,000 rows or more are learned from, up to a fifth of it goes to a look at all
        learners with 2,000 of them; those that are too slow and, where time is scarce, those far behind
        are left out. The time in which functions are compiled does not count, neither here nor for a fit:
        it is spent once on a machine, and the first search there takes so much longer.
    handovers : bool, optional
        Whether two models may be put in turn, the dearer one for rows that the cheaper one leaves in doubt
        (`Handover`), where that is better than any one of them. Nothing is fitted for it. By default with
        "auto" alone. In ranking, and for numbers, there are none.
    n_jobs : int, optional
        Processes in which models are fitted. They change nothing but the time, unless there is a
        `time_limit`.
    cache : path, optional
        A folder in which every fit is kept once it is done. A search that was interrupted goes on where it
        ended, and the same search again fits nothing. It needs a number as `random_state`.
    random_state : int, RandomState or None
    verbose : int, default=0
        1 shows how far the search is, and the best curve so far.

    Returns
    -------
    Frontier

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
    if X is None or y is None:
        raise DataError('give learners (or "auto"), rows and labels: frontier("auto", X, y, costs=...)')
    everything = read_rows(X, y, qid, encode=read_encoded_frames(learners))
    prices = bind_costs(costs, [str(c) for c in X.columns] if is_frame(X) else np.shape(X)[1])
    named = get_metric(metric) if metric is not None else None
    taken = read_task(everything.y, task, qid=everything.qid, metric=None if named is None else named.name)
    kind = task_of(everything, taken)
    seed = int(check_random_state(random_state).randint(2**31 - 1))
    aside = _set_aside(everything, certify, confidence, seed)
    rows = everything.take(np.flatnonzero(~aside))
    bench = Bench(
        rows,
        _parts(everything, aside, cv, kind, seed),
        named or get_metric(_DEFAULT_METRIC.get(kind, "accuracy")),
    )
    pool, unable = _pool(learners, kind, X)
    wanted, on_average = (None if some is None else read_budgets(some) for some in (budgets, mean_budgets))
    asked = Asked(tuple(sorted({*(wanted or ()), *(on_average or ())})), on_average=not wanted)
    contenders = contenders_for(pool, kind, rows, prices, seed, asked)
    most, limit = _read_max_fits(max_fits), math.inf if time_limit is None else float(time_limit)
    if np.isfinite(limit):
        _compile(contenders[0], rows)
    crew = partial(Crew, rows, n_jobs=n_jobs, cache=_cache(cache, random_state))
    with Watch(bench.metric.name, bench.sign, prices.unit, most, bool(verbose)) as watch:
        watch.say(str(taken))
        try:
            look = partial(_pilot, contenders, bench, crew, limit, kind, seed, asked)
            pilot = Pilot(contenders) if asked.budgets else look()
            with crew(bench.parts, time_limit=limit - pilot.taken) as fitting:
                search = Search(bench, fitting, pilot.contenders, most, limit - pilot.taken, asked)
                search.show = watch.show
                if asked.budgets:
                    search.serve()
                    pilot = look(search.seconds)
                search.contenders, search.expected = pilot.contenders, pilot.seconds
                search.run()
        except KeyboardInterrupt as stop:
            stop.add_note(_how_to_go_on(cache))
            raise
    in_turn = isinstance(learners, str) if handovers is None else handovers
    pairs = paired(bench, search.candidates, asked.budgets) if in_turn else []
    return Frontier(
        bench,
        prices,
        [*search.candidates, *pairs],
        wanted,
        seed,
        search.failures,
        search.seconds if asked.budgets else pilot.taken + search.seconds,
        left_out={**unable, **pilot.left_out},
        mean_budgets=on_average,
        everything=everything,
        kept=everything.take(np.flatnonzero(aside)) if aside.any() else None,
        confidence=confidence,
        taken=taken,
        effort=search.effort,
    )


def _compile(nothing: Contender, rows: Rows) -> None:
    """Fit a few trees to a few rows, so that what most learners share is compiled before the clock starts."""
    units = np.arange(len(rows)) if rows.qid is None else rows.qid
    known = np.unique(units)
    spread = np.linspace(0, len(known) - 1, _FEW_TO_COMPILE).astype(np.int64)  # rows may be sorted by class
    few = rows.take(np.flatnonzero(np.isin(units, known[spread])))
    asked = {} if few.qid is None else {"qid": few.qid}
    miser = clone(nothing.learner).set_params(budget=None, n_rounds=2, costs=nothing.costs)
    try:
        miser.fit(few.X, few.y, **asked).plan_.run(few.X, qid=few.qid, compiled=True)
    except ValueError:  # too few classes, say: then it is compiled when it is needed
        return


def _pilot(
    contenders: Sequence[Contender],
    bench: Bench,
    crew: Callable[..., Crew],
    limit: float,
    task: Task,
    seed: int,
    asked: Asked,
    gone: float = 0.0,
) -> Pilot:
    """Where time is limited and rows are many, screen all learners on few of them; `gone` are seconds."""
    few = few_rows(bench.rows, bench.parts, task in ("two classes", "several classes"), seed)
    if few is None or np.isinf(limit) or gone > (1.0 - 2.0 * SHARE) * limit:
        return Pilot(contenders)
    with crew(few, time_limit=SHARE * limit) as fitting:
        search = Search(
            Bench(bench.rows, few, bench.metric), fitting, contenders, sys.maxsize, SHARE * limit, asked
        )
        search.further = False
        return look_at(search, len(bench.parts[0][0]) / len(few[0][0]), limit)


# -- reading what was asked for ------------------------------------------------------------------------------


def _pool(learners: Any, task: Task, X: Any) -> tuple[list[Any], dict[str, str]]:
    """The learners that take part and, of "auto", why others do not."""
    if isinstance(learners, str):
        if learners != "auto":
            raise DataError(f'learners are "auto" or a list of estimators, not {learners!r}')
        return _able(pool_for(task), first_text(X))
    pool = [learners] if hasattr(learners, "get_params") else list(learners)
    if not pool:
        raise DataError('an empty list of learners; give "auto" or some estimators')
    return pool, {}


def _able(pool: list[Any], text: Any) -> tuple[list[Any], dict[str, str]]:
    """The learners that take a column of text; `text` is the name of the first such column, if any."""
    if text is None:
        return pool, {}
    able = [learner for learner in pool if takes_text(learner)]
    names = {type(learner).__name__ for learner in pool} - {type(learner).__name__ for learner in able}
    return able, dict.fromkeys(sorted(names), f"needs numbers, and column {text!r} holds text")


def _parts(everything: Rows, aside: NDArray[np.bool_], cv: Any, task: Task, seed: int) -> Parts:
    """Parts of the rows that are not set `aside`; row numbers in `cv` are those of all rows."""
    classes = task in ("two classes", "several classes")
    if isinstance(cv, Iterable) and not hasattr(cv, "split"):
        return without(divide(everything, cv, classes, seed), aside)
    rows = everything.take(np.flatnonzero(~aside))
    n_units = len(rows) if rows.qid is None else len(np.unique(rows.qid))
    if cv is None and n_units <= _FEW_UNITS:
        cv = _FOLDS
    if cv is None:
        cv = held_out(rows, _HELD_OUT, classes, seed)
    return divide(rows, cv, classes, seed)


def _set_aside(rows: Rows, share: float | None, confidence: float | None, seed: int) -> NDArray[np.bool_]:
    """Which rows are kept for promises: some at random, for promises rest on that."""
    if share is not None and not 0.0 <= share < 1.0:
        raise DataError(f"certify is a share of the rows, 0 or more and less than 1, not {share!r}")
    if confidence is not None:
        read_confidence(confidence)
        if share == 0.0:
            raise DataError("a confidence needs rows that are kept for promises: leave certify=0 out")
    if share is None:
        n_units = len(rows) if rows.qid is None else len(np.unique(rows.qid))
        share = min(_KEPT, _MOST_KEPT / n_units) if n_units >= _FEWEST_UNITS else 0.0
    if share == 0.0:
        return np.zeros(len(rows), dtype=np.bool_)
    return validation_mask(len(rows), share, seed, None, rows.qid)


def _how_to_go_on(folder: str | PathLike[str] | None) -> str:
    if folder is None:
        return "what was fitted is lost; frontier(..., cache='folder') would have kept it"
    return f"what was fitted is kept in {folder}; the same call goes on from there"


def _cache(folder: str | PathLike[str] | None, random_state: Any) -> Cache | None:
    if folder is not None and not isinstance(random_state, (int, np.integer)):
        raise DataError(
            "cache: without a number as random_state rows are divided anew at every call, "
            "so nothing would be found again"
        )
    return None if folder is None else Cache(folder)


def _read_max_fits(max_fits: int) -> int:
    if isinstance(max_fits, bool) or not isinstance(max_fits, (int, np.integer)) or max_fits < 2:
        raise DataError(f"max_fits is a number of fits, 2 or more, not {max_fits!r}")
    return int(max_fits)
