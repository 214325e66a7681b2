"""Fitting a learner at budgets, its tradeoff and number of rounds chosen on rows set aside for that."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone, is_classifier
from sklearn.utils.validation import has_fit_parameter

from miserly.costs import Costs
from miserly.errors import DataError
from miserly.learners.common.training import measure
from miserly.metrics import Metric
from miserly.plan import Plan
from miserly.plan.engine.batch import Run
from miserly.plan.engine.effort import engine_for
from miserly.plan.engine.ranking import ranked
from miserly.selection.splits import Parts, Rows

__all__ = ["Choice", "Entrant", "codes_of", "parameter_paths", "scores_of"]

_STOPS = 10  # numbers of rounds that are tried; one staged run judges all of them


@dataclass(frozen=True)
class Choice:
    """What was found best for a budget."""

    tradeoff: float
    n_rounds: int | None  # None for a learner that has no rounds


class Entrant:
    """A learner that takes part in a sweep: how to set its parameters, fit it and judge it."""

    def __init__(self, learner: Any, costs: Costs, tradeoffs: Sequence[float], metric: Metric) -> None:
        self.learner = learner
        self.costs = costs
        self.tradeoffs = sorted(tradeoffs, reverse=True)  # the thriftiest first: it wins where values tie
        self.metric = metric
        self.classifies = is_classifier(learner)
        self._path = parameter_paths(learner)
        for name in ("costs", "budget", "tradeoff"):
            if name not in self._path:
                raise DataError(f"{self.name} has no parameter {name!r}, so it cannot be swept over budgets")

    @property
    def name(self) -> str:
        return type(self.learner).__name__

    def fit(self, rows: Rows, budget: float, tradeoff: float, n_rounds: int | None = None) -> Any:
        """A fitted clone. Rounds are chosen by the sweep, so the learner's own early stopping is off."""
        wanted = {"costs": self.costs, "budget": budget, "tradeoff": tradeoff, "early_stopping": False}
        if n_rounds is not None:
            wanted["n_rounds"] = n_rounds
        params = {self._path[name]: value for name, value in wanted.items() if name in self._path}
        model = clone(self.learner).set_params(**params)
        ranked = rows.qid is not None and has_fit_parameter(model, "qid")
        return model.fit(rows.X, rows.y, **({"qid": rows.qid} if ranked else {}))

    def choose(
        self, rows: Rows, budgets: Sequence[float], parts: Parts, tick: Callable[[], None]
    ) -> dict[float, Choice]:
        """For each budget the tradeoff and rounds that do best on the judging parts, on average."""
        total: dict[tuple[float, float], NDArray[np.float64]] = {}
        for train, test in parts:
            learning, judging = rows.take(train), rows.take(test)
            for tradeoff in self.tradeoffs:
                for budget in budgets:
                    key, model = (budget, tradeoff), self.fit(learning, budget, tradeoff)
                    total[key] = total.get(key, 0.0) + self._staged_values(model, judging)
                tick()
        return {budget: self._best(budget, total) for budget in budgets}

    def _best(self, budget: float, total: dict[tuple[float, float], NDArray[np.float64]]) -> Choice:
        sign = 1.0 if self.metric.greater_is_better else -1.0
        tradeoff = max(self.tradeoffs, key=lambda tried: np.max(sign * total[budget, tried]))
        values = sign * total[budget, tradeoff]
        return Choice(tradeoff, self._stops[int(np.argmax(values))] if len(values) > 1 else None)

    @cached_property
    def _stops(self) -> list[int]:
        """Numbers of rounds to try, growing geometrically; none for a learner without staged rounds."""
        if self._path.get("n_rounds") != "n_rounds":
            return []
        most = int(self.learner.n_rounds)
        return sorted({round(stop) for stop in np.geomspace(min(3, most), most, _STOPS)})

    # -- judging -------------------------------------------------------------------------------------

    def _staged_values(self, model: Any, rows: Rows) -> NDArray[np.float64]:
        """The metric at each number of rounds to try, or just at the end."""
        plan = model.plan_
        engine = engine_for(plan, len(rows))
        if not self._stops or not plan.can_stage:
            scores = scores_of(plan.run(rows.X, qid=rows.qid, compiled=engine, unknown="missing"), rows)
            return np.array([self.value(self.metric, plan, scores, rows)])
        reached = [min(stop, len(plan.nodes)) for stop in self._stops]
        staged = plan.run_staged(rows.X, reached, account=False, compiled=engine, unknown="missing")
        return np.array([self.value(self.metric, plan, stage.scores, rows) for stage in staged])

    def value(self, metric: Metric, plan: Plan, scores: NDArray[np.float64], rows: Rows) -> float:
        """A metric of scores (n, K) of some rows."""
        y = codes_of(rows.y, plan.classes) if self.classifies else rows.y
        return measure(metric, plan.link, scores, y, rows.qid, None)


def scores_of(run: Run, rows: Rows) -> NDArray[np.float64]:
    """The scores (n, K) of a run; in ranking, documents sent away early come below the others."""
    scores = ranked(run, rows.qid)
    return scores[:, None] if scores.ndim == 1 else scores


def codes_of(y: NDArray[Any], classes: NDArray[Any] | None) -> NDArray[Any]:
    """Labels as their places among the classes of a plan."""
    if classes is None:
        return y
    place = {label: code for code, label in enumerate(classes.tolist())}
    for label in np.unique(y).tolist():
        if label not in place:
            raise DataError(f"class {label!r} is only among the rows to judge by, none to learn from")
    return np.array([place[label] for label in y.tolist()])


def parameter_paths(learner: Any) -> dict[str, str]:
    """Where each parameter is set: its own, or that of an estimator inside (`estimator__budget`)."""
    paths: dict[str, str] = {}
    for path in sorted(learner.get_params(deep=True), key=lambda path: path.count("__")):
        paths.setdefault(path.rpartition("__")[2], path)
    return paths
