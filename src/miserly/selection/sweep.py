"""What each budget buys: a learner fitted at one budget after another, and judged on rows it never saw."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import is_classifier
from sklearn.utils import check_random_state

from miserly.costs import Costs
from miserly.data.frames import is_frame
from miserly.errors import CostError
from miserly.learners.base import bind_costs
from miserly.metrics import Metric, get_metric
from miserly.plan.engine.effort import engine_for
from miserly.plan.purchases import purchases
from miserly.selection.choosing import Choice, Entrant, scores_of
from miserly.selection.points import Point
from miserly.selection.splits import Parts, Rows, divide, read_rows
from miserly.utils.checks import read_budget

__all__ = ["sweep"]

Progress: TypeAlias = Callable[[int, int], None]

_N_BUDGETS = 10
_RESAMPLES = 200
# Default tradeoffs, as shares of what the whole loss would be worth if it bought all features.
_SHARES = (0.0, 0.03, 0.3)


def sweep(
    learners: Any,
    X: Any,
    y: ArrayLike,
    *,
    costs: Any = None,
    budgets: Sequence[float] | None = None,
    tradeoffs: Sequence[float] | None = None,
    metric: str | Metric | None = None,
    choose_by: str | Metric | None = None,
    qid: ArrayLike | None = None,
    cv: Any = 5,
    inner: Any = 3,
    random_state: Any = None,
    progress: Progress | None = None,
) -> list[Point]:
    """What one or several learners reach at each budget, measured on held-out rows.

    At each budget a model is trained *with* that budget, for a few tradeoffs and numbers of rounds; which of
    them is taken is decided on inner validation rows, never on the rows that the reported value comes from.

    Parameters
    ----------
    learners : estimator or list of estimators
        Anything with parameters `costs`, `budget` and `tradeoff`, its own or of an estimator inside.
    X, y, qid :
        Rows, labels, and in ranking the query of each row.
    costs : as for learners
    budgets : list of numbers, optional
        By default ten, geometric from the cheapest feature to everything.
    tradeoffs : list of numbers, optional
        By default 0 and two more, from what the loss and all the features amount to.
    metric : str or Metric, optional
        accuracy, ndcg@5 or mse by default.
    choose_by : str or Metric, optional
        What tradeoff and rounds are chosen by: the metric, unless another (log_loss, say) is steadier.
    cv, inner : int, splitter, pair of row numbers (learn from, judge by), or list of such pairs
        How rows are held out, and how rows are set aside for choosing within the others.
    random_state : int, RandomState or None
    progress : function of (steps done, steps in all), optional

    Returns
    -------
    list of Point
        One per learner and budget, budgets rising. The standard error is that between the held-out parts;
        with one part, a bootstrap over its rows (queries).

    Examples
    --------
    >>> from miserly import GreedyMiserClassifier
    >>> from miserly.datasets import load_heart
    >>> heart = load_heart()
    >>> learner = GreedyMiserClassifier(n_rounds=10, max_depth=1)
    >>> points = sweep(learner, heart.X, heart.y, costs=heart.costs, budgets=[1, 110], tradeoffs=[0],
    ...                cv=3, inner=2, random_state=0)
    >>> [(point.budget, bool(point.cost <= point.budget), bool(point.value > 0.7)) for point in points]
    [(1.0, True, True), (110.0, True, True)]
    """
    rows = read_rows(X, y, qid)
    entrants = [learners] if hasattr(learners, "get_params") else list(learners)
    seed = int(check_random_state(random_state).randint(2**31 - 1))
    points: list[Point] = []
    for place, learner in enumerate(entrants):
        prices = bind_costs(costs, [str(c) for c in X.columns] if is_frame(X) else np.shape(X)[1])
        judged_by, chosen_by = _metrics(learner, rows, metric, choose_by)
        tried = _tradeoffs(tradeoffs, rows, prices, is_classifier(learner))
        entrant = Entrant(learner, prices, tried, chosen_by)
        plan = Sweep(
            entrant,
            judged_by,
            rows,
            _budgets(budgets, prices, learner),
            divide(rows, cv, entrant.classifies, seed),
            inner,
            seed,
        )
        found = plan.points(_share_of(progress, place, len(entrants)))
        points += _told_apart(found, place, entrants)
    return points


@dataclass(frozen=True, eq=False)
class Held:
    """What a model reached on held-out rows."""

    value: float
    cost: float
    whole_cost: float
    scores: NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Sweep:
    """One learner over all budgets and held-out parts."""

    entrant: Entrant
    metric: Metric
    rows: Rows
    budgets: list[float]
    parts: Parts
    inner: Any
    seed: int

    def points(self, progress: Progress | None) -> list[Point]:
        tick = self._ticker(progress)
        held: dict[float, list[Held]] = {budget: [] for budget in self.budgets}
        for train, test in self.parts:
            judging = self.rows.take(test)
            for budget, (_, model) in self._fit(self.rows.take(train), tick).items():
                held[budget].append(self._judge(model, judging))
        final = self._fit(self.rows, tick)
        return [self._point(budget, held[budget], *final[budget]) for budget in self.budgets]

    def _fit(self, rows: Rows, tick: Callable[[], None]) -> dict[float, tuple[Choice, Any]]:
        """The chosen model for each budget, from these rows alone."""
        aside = divide(rows, self.inner, self.entrant.classifies, self.seed)
        chosen = self.entrant.choose(rows, self.budgets, aside, tick)
        return {
            budget: (choice, self.entrant.fit(rows, budget, choice.tradeoff, choice.n_rounds))
            for budget, choice in chosen.items()
        }

    def _judge(self, model: Any, rows: Rows) -> Held:
        plan = model.plan_
        done = plan.run(rows.X, qid=rows.qid, compiled=engine_for(plan, len(rows)), unknown="missing")
        scores = scores_of(done, rows)
        value = self.entrant.value(self.metric, plan, scores, rows)
        return Held(value, float(done.cost.mean()), plan.max_cost, scores)

    def _point(self, budget: float, held: list[Held], choice: Choice, model: Any) -> Point:
        plan = model.plan_
        bought = [plan.costs.name(item.feature) for step in purchases(plan) for item in step.items]
        params = {"budget": budget, "tradeoff": choice.tradeoff}
        if choice.n_rounds is not None:
            params["n_rounds"] = choice.n_rounds
        return Point(
            learner=self.entrant.name,
            budget=budget,
            metric=self.metric.name,
            value=float(np.mean([one.value for one in held])),
            error=self._error(held, plan),
            cost=float(np.mean([one.cost for one in held])),
            whole_cost=float(np.mean([one.whole_cost for one in held])),
            features=tuple(dict.fromkeys(bought)),
            params=params,
            unit=plan.costs.unit,
            model=model,
        )

    def _error(self, held: list[Held], plan: Any) -> float:
        """The standard error of the mean of several parts; of a single one, by bootstrap."""
        if len(held) > 1:
            return float(np.std([one.value for one in held], ddof=1) / np.sqrt(len(held)))
        rows = self.rows.take(self.parts[0][1])
        random = np.random.default_rng(self.seed)
        values = [
            self.entrant.value(self.metric, plan, held[0].scores[some], rows.take(some))
            for some in (_resample(rows, random) for _ in range(_RESAMPLES))
        ]
        return float(np.std(values, ddof=1))

    def _ticker(self, progress: Progress | None) -> Callable[[], None]:
        n_inner = len(divide(self.rows, self.inner, self.entrant.classifies, self.seed))
        steps = (len(self.parts) + 1) * n_inner * len(self.entrant.tradeoffs)
        done = 0

        def tick() -> None:
            nonlocal done
            done += 1
            if progress is not None:
                progress(done, steps)

        return tick


def _resample(rows: Rows, random: np.random.Generator) -> NDArray[np.int64]:
    """Rows drawn with replacement; in ranking, the rows of queries drawn so."""
    if rows.qid is None:
        return random.integers(len(rows), size=len(rows))
    queries = np.unique(rows.qid)
    drawn = random.choice(queries, size=len(queries))
    return np.concatenate([np.flatnonzero(rows.qid == query) for query in drawn])


# -- reading what was asked for ------------------------------------------------------------------------------


def _metrics(
    learner: Any, rows: Rows, metric: str | Metric | None, choose_by: str | Metric | None
) -> tuple[Metric, Metric]:
    default = "ndcg@5" if rows.qid is not None else "accuracy" if is_classifier(learner) else "mse"
    judged_by = get_metric(metric or default)
    return judged_by, get_metric(choose_by or judged_by)


def _budgets(budgets: Sequence[float] | None, costs: Costs, learner: Any) -> list[float]:
    if budgets is not None:
        found = sorted({read_budget(budget) for budget in budgets})
        if not found:
            raise CostError("an empty list of budgets")
        return found
    prices = costs.marginals(np.zeros(len(costs), dtype=np.bool_)) + costs.evaluation
    everything = costs.total + costs.evaluation * getattr(learner, "n_rounds", 1)
    if not everything > 0:
        raise CostError("everything is free: there is no budget to sweep over")
    cheapest = prices[prices > 0].min()
    return [float(budget) for budget in np.geomspace(cheapest, everything, _N_BUDGETS)]


def _tradeoffs(tradeoffs: Sequence[float] | None, rows: Rows, costs: Costs, classes: bool) -> list[float]:
    """Tradeoffs at which what there is to gain (the loss of a constant answer) and what all costs meet."""
    if tradeoffs is not None:
        return [float(tradeoff) for tradeoff in tradeoffs]
    if classes:
        share = np.unique(rows.y, return_counts=True)[1] / len(rows)
        loss = -float(share @ np.log(share))
    else:
        loss = 0.5 * float(np.var(rows.y.astype(np.float64)))
    return [share * loss / max(costs.total, 1e-12) for share in _SHARES]


def _told_apart(points: list[Point], place: int, learners: Sequence[Any]) -> list[Point]:
    """Points of learners of one class, numbered in the order they were given."""
    alike = [i for i, learner in enumerate(learners) if type(learner) is type(learners[place])]
    if len(alike) == 1:
        return points
    return [replace(point, learner=f"{point.learner} {1 + alike.index(place)}") for point in points]


def _share_of(progress: Progress | None, place: int, many: int) -> Progress | None:
    """The progress of one learner as part of that of all."""
    if progress is None:
        return None
    return lambda done, steps: progress(place * steps + done, many * steps)
