"""Metrics as means: what each row (in ranking, each query) adds to the metric."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from miserly.data.rows import Rows
from miserly.errors import DataError, MetricError
from miserly.metrics import Metric, Queries
from miserly.plan import Plan
from miserly.plan.engine.batch import Run, ranked

__all__ = ["PRICED", "RowValues", "codes_of", "mistakes_of", "scores_of"]

Floats: TypeAlias = NDArray[np.float64]


class RowValues:
    """A metric taken apart: `RowValues(metric, y)(plan, scores, ...)` are numbers whose mean is the metric.

    `y` are the labels of all evaluated rows, which give the shares of the classes and the variance. A query
    without a relevant row has no NDCG and gets NaN. Costs of mistakes need rows with outcome costs.
    """

    def __init__(self, metric: Metric, y: NDArray[Any]) -> None:
        name = metric.name.partition("@")[0]
        if name not in (*_PARTS, *PRICED):
            known = ", ".join(sorted(_PARTS)).replace("ndcg", "ndcg@k").replace("precision", "precision@k")
            raise MetricError(
                f"{metric.name} is no mean over rows or queries, so rows cannot be compared one by one. "
                f"Take one of {known}"
            )
        self.metric = metric
        self.by_query = name in ("ndcg", "precision")
        self._part: Callable[..., Floats] = _PARTS.get(name, RowValues._right)
        self._k = int(metric.name.partition("@")[2] or 0)
        self._share = dict(zip(*(a.tolist() for a in np.unique(y, return_counts=True)), strict=True))
        self._spread = float(np.var(y.astype(np.float64))) if name == "r2" else 0.0

    @property
    def span(self) -> float:
        """By how much two models can differ in one row (query) at most; infinite where nothing limits it."""
        return 1.0 if self.metric.name.partition("@")[0] in ("accuracy", "ndcg", "precision") else np.inf

    def span_for(self, rows: Rows, max_cost: float) -> float:
        """The span, for metrics in money too: the range of outcome costs, and the most that tests cost."""
        if self.metric.name not in PRICED or rows.outcomes is None:
            return self.span
        return float(rows.outcomes.span + (max_cost if self.includes_cost else 0.0))

    @property
    def includes_cost(self) -> bool:
        """Whether values include what a row pays for its tests."""
        return self.metric.name == "total_cost"

    def __call__(self, plan: Plan, scores: Floats, rows: Rows, queries: Queries, cost: Floats) -> Floats:
        """One number per row, or per query, from scores (n, K) and what each row paid (n,)."""
        if self.metric.name in PRICED:
            mistakes = mistakes_of(plan, scores, rows)
            return mistakes + cost if self.includes_cost else mistakes
        part: Callable[..., Floats] = self._part
        return part(self, plan, scores, rows.y, queries)

    # -- one function for each metric ------------------------------------------------------------------

    def _right(self, plan: Plan, scores: Floats, y: NDArray[Any], queries: Queries) -> Floats:
        return np.asarray(plan.labels_from(scores) == y, dtype=np.float64)

    def _balanced(self, plan: Plan, scores: Floats, y: NDArray[Any], queries: Queries) -> Floats:
        """A right answer counts the more, the rarer its class: so the mean is the mean of the recalls."""
        n, n_classes = sum(self._share.values()), len(self._share)
        weight = np.array([n / (n_classes * self._share[label]) for label in y.tolist()])
        return weight * self._right(plan, scores, y, queries)

    def _log_loss(self, plan: Plan, scores: Floats, y: NDArray[Any], queries: Queries) -> Floats:
        if not plan.has_probabilities:
            raise MetricError("log_loss needs probabilities, which this learner does not have")
        table = plan.probabilities_from(scores)
        least = np.finfo(np.float64).eps
        true = table[np.arange(len(y)), codes_of(y, plan.classes)] / table.sum(axis=1)
        return np.asarray(-np.log(np.clip(true, least, 1.0 - least)))

    def _squared(self, plan: Plan, scores: Floats, y: NDArray[Any], queries: Queries) -> Floats:
        return np.asarray((scores[:, 0] - y) ** 2)

    def _absolute(self, plan: Plan, scores: Floats, y: NDArray[Any], queries: Queries) -> Floats:
        return np.asarray(np.abs(scores[:, 0] - y))

    def _explained(self, plan: Plan, scores: Floats, y: NDArray[Any], queries: Queries) -> Floats:
        return 1.0 - self._squared(plan, scores, y, queries) / self._spread

    def _ndcg(self, plan: Plan, scores: Floats, y: NDArray[Any], queries: Queries) -> Floats:
        gains = np.exp2(y.astype(np.float64)) - 1.0
        worth = 1.0 / np.log2(2.0 + np.arange(min(self._k, int(queries.sizes.max()))))
        best = queries.sums_at_top(gains, gains, worth)
        reached = queries.sums_at_top(gains, scores[:, 0], worth)
        return np.where(best > 0, reached / np.where(best > 0, best, 1.0), np.nan)

    def _precision(self, plan: Plan, scores: Floats, y: NDArray[Any], queries: Queries) -> Floats:
        worth = np.full(min(self._k, int(queries.sizes.max())), 1.0 / self._k)
        return queries.sums_at_top((y >= 1).astype(np.float64), scores[:, 0], worth)


_PARTS: dict[str, Callable[..., Floats]] = {
    "accuracy": RowValues._right,
    "balanced_accuracy": RowValues._balanced,
    "log_loss": RowValues._log_loss,
    "mse": RowValues._squared,
    "mae": RowValues._absolute,
    "r2": RowValues._explained,
    "ndcg": RowValues._ndcg,
    "precision": RowValues._precision,
}


PRICED = ("outcome_cost", "total_cost")


def mistakes_of(plan: Plan, scores: Floats, rows: Rows) -> Floats:
    """What the answers of a plan cost, for every row; its tests are not included."""
    if rows.outcomes is None:
        raise MetricError("what mistakes cost is not known: give outcome_costs")
    costs: Floats = rows.outcomes.cost_of(rows.y, plan.labels_from(scores))
    return costs


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
            raise DataError(f"class {label!r} is only among the held-out rows, not among the training rows")
    return np.array([place[label] for label in y.tolist()])
