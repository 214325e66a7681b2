"""Metrics as means: what each row (in ranking, each query) adds to the metric.

Metrics that are not means (roc_auc, f1), and means with weights, are linearised: see
`miserly.metrics.influence`. So the plain mean of the numbers is always the metric, and the standard error of
that mean is its standard error.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from miserly.data.rows import Rows
from miserly.errors import DataError, MetricError
from miserly.metrics import Metric, Queries
from miserly.metrics.influence import area_rows, centred, f1_counts, ratio_rows
from miserly.plan import Plan, links
from miserly.plan.engine.batch import Run
from miserly.plan.engine.ranking import ranked
from miserly.selection.intervals import PLAIN, IntervalShape

__all__ = ["PRICED", "RowValues", "Scored", "codes_of", "mistakes_of", "scores_of"]

Floats: TypeAlias = NDArray[np.float64]


class RowValues:
    """A metric as values of rows: the mean of `RowValues(metric, y)(plan, scores, ...)` is the metric.

    `y` are the labels of all evaluated rows, which give the shares of the classes and the variance, and
    `weight` their weights. A query without a relevant row has no NDCG and gets NaN. Costs of mistakes need
    rows with outcome costs.
    """

    def __init__(self, metric: Metric, y: NDArray[Any], weight: Floats | None = None) -> None:
        name = metric.name.partition("@")[0]
        if name not in (*_PARTS, *PRICED) and metric.rows is None:
            known = ", ".join(sorted(_PARTS)).replace("ndcg", "ndcg@k").replace("precision", "precision@k")
            raise MetricError(
                f"{metric.name} has no value per row or query, so models cannot be compared row by row. "
                f"Take one of {known}, or a row_metric"
            )
        self.metric = metric
        self.by_query = metric.rows is None and name in ("ndcg", "precision")
        self.is_additive = metric.rows is not None or name not in _NO_MEANS
        self._part: Callable[..., Floats] = RowValues._own
        if metric.rows is None:
            self._part = _PARTS.get(name, RowValues._right)
        self._k = int(metric.name.partition("@")[2] or 0) if metric.rows is None else 0
        self._share = _shares(y, weight)
        self._least = int(np.unique(y, return_counts=True)[1].min()) if not self.is_additive else 0
        self._spread = _variance(y.astype(np.float64), weight) if name == "r2" else 0.0

    @property
    def span(self) -> float:
        """By how much two models can differ in one row (query) at most; infinite where nothing limits it."""
        if self.metric.rows is not None:
            return np.inf if self.metric.bounds is None else self.metric.bounds[1] - self.metric.bounds[0]
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

    @property
    def shape(self) -> IntervalShape:
        """How intervals are made: by the log-odds for metrics that are no means, and by the rarest class."""
        return PLAIN if self.is_additive else IntervalShape(True, float(max(1, self._least - 1)))

    def __call__(
        self,
        plan: Plan,
        scores: Floats,
        rows: Rows,
        queries: Queries,
        cost: Floats,
        amounts: Floats | None = None,
    ) -> Floats:
        """One number per row, or per query, from scores (n, K) and what each row paid (n,).

        Their mean is the metric, weighted if the rows have weights. `amounts` are those of a run.
        """
        return self.join([self.parts(plan, scores, rows, queries, cost, amounts)], rows.weight)

    def parts(
        self,
        plan: Plan,
        scores: Floats,
        rows: Rows,
        queries: Queries,
        cost: Floats,
        amounts: Floats | None = None,
    ) -> Floats:
        """What `join` needs of the rows of one fold."""
        given = Scored(plan, scores, amounts)
        if self.metric.rows is not None:
            return self._own(given, rows.y, queries)
        if self.metric.name in PRICED:
            mistakes = mistakes_of(given, rows)
            return mistakes + cost if self.includes_cost else mistakes
        if self.metric.name == "roc_auc":
            return _areas(plan, scores, rows)
        part: Callable[..., Floats] = self._part
        return part(self, given, rows.y, queries)

    def join(self, parts: Sequence[Floats], weight: Floats | None = None) -> Floats:
        """The numbers of the rows of all folds, in their order."""
        joined = np.concatenate(parts)
        if self.metric.name == "f1" and self.metric.rows is None:
            joined = ratio_rows(joined, weight)
        return centred(joined, weight)

    # -- one function for each metric ------------------------------------------------------------------

    def _right(self, given: Scored, y: NDArray[Any], queries: Queries) -> Floats:
        return np.asarray(given.labels == y, dtype=np.float64)

    def _balanced(self, given: Scored, y: NDArray[Any], queries: Queries) -> Floats:
        """A right answer counts more if its class is rarer, so the mean is the mean of the recalls."""
        n, n_classes = sum(self._share.values()), len(self._share)  # sums of weights, if there are any
        weight = np.array([n / (n_classes * self._share[label]) for label in y.tolist()])
        return weight * self._right(given, y, queries)

    def _own(self, given: Scored, y: NDArray[Any], queries: Queries) -> Floats:
        """A function of the user."""
        assert self.metric.rows is not None
        if self.metric.needs == "label":
            prediction = given.labels
        elif self.metric.needs == "proba":
            if not given.plan.has_probabilities:
                raise MetricError(f"{self.metric.name} needs probabilities, which this learner does not have")
            prediction = given.plan.probabilities_from(given.scores)
        else:
            prediction = given.scores[:, 0] if given.scores.shape[1] == 1 else given.scores
        return self.metric.rows(y, prediction)

    def _f1(self, given: Scored, y: NDArray[Any], queries: Queries) -> Floats:
        """Numerators and denominators; the ratios are those of all folds together."""
        assert given.plan.classes is not None
        place = {label: code for code, label in enumerate(given.plan.classes.tolist())}
        labels = given.labels.tolist()  # one that is no class is an action: nothing is predicted
        guess = np.array([place.get(label, -1) for label in labels], dtype=np.int64)
        return f1_counts(codes_of(y, given.plan.classes), guess, len(given.plan.classes))

    def _log_loss(self, given: Scored, y: NDArray[Any], queries: Queries) -> Floats:
        if not given.plan.has_probabilities:
            raise MetricError("log_loss needs probabilities, which this learner does not have")
        table = given.plan.probabilities_from(given.scores)
        least = np.finfo(np.float64).eps
        true = table[np.arange(len(y)), codes_of(y, given.plan.classes)] / table.sum(axis=1)
        return np.asarray(-np.log(np.clip(true, least, 1.0 - least)))

    def _squared(self, given: Scored, y: NDArray[Any], queries: Queries) -> Floats:
        return np.asarray((given.scores[:, 0] - y) ** 2)

    def _absolute(self, given: Scored, y: NDArray[Any], queries: Queries) -> Floats:
        return np.asarray(np.abs(given.scores[:, 0] - y))

    def _explained(self, given: Scored, y: NDArray[Any], queries: Queries) -> Floats:
        return 1.0 - self._squared(given, y, queries) / self._spread

    def _ndcg(self, given: Scored, y: NDArray[Any], queries: Queries) -> Floats:
        gains = np.exp2(y.astype(np.float64)) - 1.0
        worth = 1.0 / np.log2(2.0 + np.arange(min(self._k, int(queries.sizes.max()))))
        best = queries.sums_at_top(gains, gains, worth)
        reached = queries.sums_at_top(gains, given.scores[:, 0], worth)
        return np.where(best > 0, reached / np.where(best > 0, best, 1.0), np.nan)

    def _precision(self, given: Scored, y: NDArray[Any], queries: Queries) -> Floats:
        worth = np.full(min(self._k, int(queries.sizes.max())), 1.0 / self._k)
        return queries.sums_at_top((y >= 1).astype(np.float64), given.scores[:, 0], worth)


_PARTS: dict[str, Callable[..., Floats]] = {
    "accuracy": RowValues._right,
    "balanced_accuracy": RowValues._balanced,
    "f1": RowValues._f1,
    "log_loss": RowValues._log_loss,
    "mse": RowValues._squared,
    "mae": RowValues._absolute,
    "r2": RowValues._explained,
    "ndcg": RowValues._ndcg,
    "precision": RowValues._precision,
    "roc_auc": RowValues._right,  # which is not called: areas need the weights of the rows
}
_NO_MEANS = ("f1", "roc_auc")


def _areas(plan: Plan, scores: Floats, rows: Rows) -> Floats:
    """The area under the ROC curve of one fold: scores of different models are on different scales.

    With more than two classes it is the mean of the areas of each class against the rest, by probabilities
    where there are any.
    """
    assert plan.classes is not None
    codes, n_classes, weight = codes_of(rows.y, plan.classes), len(plan.classes), rows.weight
    if n_classes == 2:
        score = scores[:, -1] - scores[:, 0] if scores.shape[1] == 2 else scores[:, 0]
        return area_rows(codes == 1, score, weight)
    table = plan.probabilities_from(scores) if plan.has_probabilities else _class_scores(plan, scores)
    areas = [area_rows(codes == k, table[:, k], weight) for k in range(n_classes)]
    return np.asarray(np.mean(areas, axis=0), dtype=np.float64)


def _class_scores(plan: Plan, scores: Floats) -> Floats:
    """One score per class; votes where there is one for each pair of classes."""
    assert plan.classes is not None
    return scores if scores.shape[1] == len(plan.classes) else np.asarray(links.votes(scores), np.float64)


def _shares(y: NDArray[Any], weight: Floats | None) -> dict[Any, float]:
    """How many rows each label has, or the sum of their weights."""
    labels, codes, counts = np.unique(y, return_inverse=True, return_counts=True)
    sums = counts if weight is None else np.bincount(codes, weights=weight)
    return dict(zip(labels.tolist(), sums.tolist(), strict=True))


def _variance(y: Floats, weight: Floats | None) -> float:
    return float(np.var(y)) if weight is None else float(np.cov(y, ddof=0, aweights=weight))


PRICED = ("outcome_cost", "total_cost")


@dataclass(frozen=True, eq=False)
class Scored:
    """What a plan scored rows, and the amounts that its decision reads of them."""

    plan: Plan
    scores: Floats
    amounts: Floats | None = None

    @property
    def labels(self) -> NDArray[Any]:
        """The answers."""
        return self.plan.labels_from(self.scores, amounts=self.amounts)


def mistakes_of(given: Scored, rows: Rows) -> Floats:
    """What the answers of a plan cost, for every row; its tests are not included."""
    if rows.outcomes is None:
        raise MetricError("what mistakes cost is not known: give outcome_costs")
    costs: Floats = rows.outcomes.cost_of(rows.y, given.labels)
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
