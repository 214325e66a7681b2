"""`miserly bench`: the frontier against LightGBM on the rows of a file, with the same prices for both.

A quarter of the rows (queries) is kept for the test and seen by nobody before. At each budget both give the
model that they would choose for it: the frontier by `best`, LightGBM the penalty and the number of rounds
that do best on a quarter of the rows to learn from, learned again from all of them. A row of either pays for
what it meets on its way.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from types import SimpleNamespace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from rich.text import Text
from sklearn.utils import _safe_indexing

from miserly.cli.boosting import PENALTIES, Stage, fit_lightgbm, stages
from miserly.cli.console import amount, err, out
from miserly.cli.searching import Search, Wanted, check_rows, frame_of, refuse_failure, run_frontier
from miserly.cli.showing import new_table
from miserly.cli.training import Problem
from miserly.data.holdout import validation_mask
from miserly.data.rows import Rows
from miserly.errors import DataError
from miserly.metrics import Queries, get_metric
from miserly.plan import Plan
from miserly.plan.engine.effort import engine_for
from miserly.plan.engine.ranking import ranked
from miserly.selection.evaluation import mean_and_error
from miserly.selection.row_values import RowValues

__all__ = ["Race", "print_race", "race", "race_record"]

N_BUDGETS = 8
ASIDE = 0.25
SLACK = 1.0 + 1e-9

Floats = NDArray[np.float64]
Numbers = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Entry:
    """What one of them brings to a budget: the metric by test row (query), and what a row pays on average."""

    values: Floats
    cost: float

    @property
    def value(self) -> float:
        return float(np.nanmean(self.values))


@dataclass(frozen=True, eq=False)
class Race:
    """What came of it; the `lead` of the frontier is the mean over budgets, positive where it is better."""

    metric: str
    unit: str
    budgets: tuple[float, ...]
    ours: tuple[Entry, ...]
    theirs: tuple[Entry, ...]
    lead: float
    error: float
    n_learned: int
    n_test: int


@dataclass(frozen=True, eq=False)
class Track:
    """The rows of a race: those to learn from and those of the test, by number."""

    problem: Problem
    learn: Numbers
    test: Numbers
    values: RowValues
    classes: NDArray[Any] | None

    @property
    def sign(self) -> float:
        return 1.0 if self.values.metric.greater_is_better else -1.0

    def judged(self, answers: Any, scores: Floats, rows: Numbers) -> Floats:
        """The metric of scores (n, K) by row (query); `answers` has the link and the classes."""
        qid = None if self.problem.qid is None else self.problem.qid[rows]
        return self.values(answers, scores, self.problem.y[rows], Queries(qid, len(rows)))


def race(problem: Problem, how: Search) -> Race:
    """Let both choose for every budget, and judge what they chose on rows that neither has seen."""
    if find_spec("lightgbm") is None:
        raise DataError("--against lightgbm: it is not installed: pip install lightgbm")
    check_rows(problem, Wanted())
    classes = np.unique(problem.y) if problem.task == "classes" else None
    aside = _aside(problem, np.arange(len(problem.y)), how.seed)
    test = np.flatnonzero(aside)
    values = RowValues(get_metric(str(how.metric)), problem.y[test])
    track = Track(problem, np.flatnonzero(~aside), test, values, classes)
    budgets = _budgets(problem)
    ours, theirs = _frontier(track, how, budgets), _lightgbm(track, how, budgets)
    gaps = [track.sign * (a.values - b.values) for a, b in zip(ours, theirs, strict=True)]
    lead, error = mean_and_error(np.mean(gaps, axis=0))
    return Race(values.metric.name, problem.costs.unit, budgets, tuple(ours), tuple(theirs), lead, error,
                len(track.learn), len(test))  # fmt: skip


def _aside(problem: Problem, rows: Numbers, seed: int) -> NDArray[np.bool_]:
    """A quarter of some rows: whole queries, the same share of every class."""
    classes = problem.y[rows] if problem.task == "classes" else None
    return validation_mask(
        len(rows), ASIDE, seed, classes, None if problem.qid is None else problem.qid[rows]
    )


def _budgets(problem: Problem) -> tuple[float, ...]:
    """Even factors from the cheapest feature to all of them."""
    paid = [price for price in map(problem.costs.marginal, problem.names) if price > 0]
    ladder = np.geomspace(min(paid), problem.costs.total, N_BUDGETS)
    return tuple(sorted({float(f"{budget:.3g}") for budget in ladder[:-1]} | {problem.costs.total}))


# -- the frontier --------------------------------------------------------------------------------------------


def _frontier(track: Track, how: Search, budgets: Sequence[float]) -> list[Entry]:
    problem = track.problem
    found = run_frontier(problem, how, rows=track.learn, mean_budgets=budgets, certify=0)
    refuse_failure(found)
    rows = frame_of(problem) if problem.categories else problem.X
    test = _safe_indexing(rows, track.test)
    with err.status("the frontier's models"):
        return [_run(track, found.best(mean_budget=budget).plan_, test) for budget in budgets]


def _run(track: Track, plan: Plan, X: Any) -> Entry:
    qid = None if track.problem.qid is None else track.problem.qid[track.test]
    done = plan.run(X, qid=qid, compiled=engine_for(plan, len(track.test)), unknown="missing")
    scores = ranked(done, qid)
    table = (scores[:, None] if scores.ndim == 1 else scores)[:, : plan.n_outputs]
    return Entry(track.judged(plan, table, track.test), float(done.cost.mean()))


# -- LightGBM ------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Tried:
    """A penalty and a number of rounds, with what they gain and cost on validation rows."""

    gain: float
    cost: float
    penalty: float
    rounds: int


def _lightgbm(track: Track, how: Search, budgets: Sequence[float]) -> list[Entry]:
    """For each budget the penalty and rounds that do best on validation rows, learned again from all."""
    problem, classes = track.problem, track.classes
    y = problem.y if classes is None else np.searchsorted(classes, problem.y)
    rows = Rows(problem.X, y, qid=problem.qid)
    n_classes, categorical = 0 if classes is None else len(classes), sorted(problem.categories)

    def fit(numbers: Numbers, penalty: float) -> Any:
        return fit_lightgbm(rows.take(numbers), problem.costs, n_classes, penalty, categorical, how.seed)

    aside = _aside(problem, track.learn, how.seed)
    some, others = track.learn[~aside], track.learn[aside]
    with err.status("LightGBM"):
        tried = [
            Tried(
                track.sign * float(np.nanmean(_judged(track, stage, others))),
                stage.cost.mean(),
                penalty,
                stage.rounds,
            )
            for penalty in PENALTIES
            for stage in stages(fit(some, penalty), problem.X[others], problem.costs)
        ]
        return _chosen(track, tried, budgets, lambda penalty: fit(track.learn, penalty))


def _chosen(
    track: Track, tried: Sequence[Tried], budgets: Sequence[float], fit: Callable[[float], Any]
) -> list[Entry]:
    """The best inside each budget; one that costs more once it has all rows gives way to the next."""
    again: dict[float, dict[int, tuple[float, Entry]]] = {}
    found = []
    for budget in budgets:
        entry = _nothing(track)
        for one in sorted(tried, key=lambda one: (-one.gain, one.cost)):
            if one.cost > budget * SLACK:
                continue
            if one.penalty not in again:
                again[one.penalty] = _learned(track, fit(one.penalty))
            cost, made = again[one.penalty].get(one.rounds, (np.inf, entry))
            if cost <= budget * SLACK:
                entry = made
                break
        found.append(entry)
    return found


def _learned(track: Track, booster: Any) -> dict[int, tuple[float, Entry]]:
    """For each number of rounds, what rows it learned from pay on average, and what it does on test rows."""
    X, costs = track.problem.X, track.problem.costs
    both = zip(stages(booster, X[track.learn], costs), stages(booster, X[track.test], costs), strict=True)
    return {
        stage.rounds: (
            float(before.cost.mean()),
            Entry(_judged(track, stage, track.test), float(stage.cost.mean())),
        )
        for before, stage in both
    }


def _judged(track: Track, stage: Stage, rows: Numbers) -> Floats:
    classes = track.classes
    link = "identity" if classes is None else "logistic" if len(classes) == 2 else "softmax"
    return track.judged(SimpleNamespace(link=link, classes=classes), stage.scores, rows)


def _nothing(track: Track) -> Entry:
    """The answer that costs nothing: the shares of the classes, or the mean."""
    y, n = track.problem.y[track.learn], len(track.test)
    if track.classes is None:
        scores = np.array([np.mean(y)])
    else:
        share = np.array([np.mean(y == label) for label in track.classes])
        scores = np.log(share) if len(share) > 2 else np.log(share[1:] / share[:1])
    return Entry(_judged(track, Stage(0, np.tile(scores, (n, 1)), np.zeros(n)), track.test), 0.0)


# -- telling -------------------------------------------------------------------------------------------------


def race_record(done: Race) -> dict[str, Any]:
    """What came of it, for machines."""
    lines = zip(done.budgets, done.ours, done.theirs, strict=True)
    return {
        "metric": done.metric,
        "unit": done.unit,
        "rows_learned": done.n_learned,
        "rows_test": done.n_test,
        "budgets": [
            {
                "budget": budget,
                "frontier": {"value": ours.value, "mean_cost": ours.cost},
                "lightgbm": {"value": theirs.value, "mean_cost": theirs.cost},
            }
            for budget, ours, theirs in lines
        ],
        "lead": done.lead,
        "lead_error": done.error,
    }


def print_race(done: Race) -> None:
    """What came of it, for a person."""
    right = ("budget", "frontier", "pays", "LightGBM", "pays ")
    table = new_table(*right, right=right)
    for budget, ours, theirs in zip(done.budgets, done.ours, done.theirs, strict=True):
        cells = [f"{ours.value:.4f}", amount(ours.cost), f"{theirs.value:.4f}", amount(theirs.cost)]
        table.add_row(amount(budget), *cells)
    out.print(table)
    unit = f" ({done.unit})" if done.unit else ""
    out.print(
        Text(
            f"{done.metric} and mean cost{unit} on {done.n_test:,} test rows, learned from "
            f"{done.n_learned:,} others. Lead of the frontier: {done.lead:+.4f} ± {done.error:.4f}, mean "
            "over budgets and standard error over test rows. This is one split: other rows to learn from "
            "may change more."
        )
    )
