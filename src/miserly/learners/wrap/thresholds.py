"""The choice of the threshold of early exits.

Thresholds are compared on the scores and costs that one staged run over the validation set gave at every
exit, so the model runs only once.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from miserly.data.rows import Rows
from miserly.learners.common.training import measure
from miserly.learners.wrap.exits import StagedScores, exit_gates, kth_best, leave, remaining
from miserly.metrics import Metric
from miserly.plan.engine.batch import settle

__all__ = ["candidate_thresholds", "choose_threshold", "dividers", "evaluate_thresholds", "saving_and_metric"]

N_CANDIDATES = 100
ROUNDING = 1e-9  # smaller differences of values are rounding


def candidate_thresholds(rule: str, staged: StagedScores, k: int) -> NDArray[np.float64]:
    """Thresholds to compare, at which different numbers of rows leave. At the last one no row leaves."""
    if rule == "confidence":
        found = np.array([staged.confidence(i) for i in range(staged.n_exits)])
        return np.array([0.0, *dividers(found), np.inf])
    if rule == "score":
        score = staged.scores[:-1, :, 0]
        return np.array([*dividers(score), score.max() + 1.0, -np.inf])
    assert staged.queries is not None
    largest = int(staged.queries.sizes.max())
    if rule == "rank":
        return np.append(np.unique(np.geomspace(1, largest, N_CANDIDATES).astype(np.int64)), np.inf)
    if rule == "capacity":
        return np.append(np.unique(np.geomspace(1.0 / largest, 1.0, N_CANDIDATES)), np.inf)
    return np.array([0.0, *dividers(_distances(staged, k)), np.inf])


def dividers(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Up to 100 numbers that divide the values into even shares, each half way between two of them.

    A threshold that equals a value would depend on the last bit of that value, and so on the order of
    additions and on the scale of the sample weights.

    >>> dividers(np.array([0.0, 0.0, 1.0, 4.0])).tolist()
    [0.5, 2.5]
    """
    levels = np.unique(values)
    apart = np.diff(levels) > ROUNDING * np.maximum(1.0, np.abs(levels[1:]))
    middles = (0.5 * levels[:-1] + 0.5 * levels[1:])[apart]
    wanted = np.quantile(values, np.linspace(0.0, 1.0, N_CANDIDATES))
    places = np.unique(np.searchsorted(middles, wanted))
    return middles[places[places < len(middles)]]


def _distances(staged: StagedScores, k: int) -> NDArray[np.float64]:
    """Distance of each row below the `k`-th best of its query, as the smallest threshold that keeps it.

    The last of several exits is left out: its slack is 0 for every threshold.
    """
    assert staged.queries is not None
    every_row = np.ones(staged.scores.shape[1], dtype=np.bool_)
    places = np.full(len(staged.queries), k)
    found = [np.zeros(1)]
    for i in range(max(1, staged.n_exits - 1)):
        best = kth_best(staged, i, every_row, places)[staged.queries.code]
        below = best - staged.scores[i, :, 0]
        found.append(below[below > 0.0] / remaining(i + 1, staged.n_exits))
    return np.concatenate(found)


def evaluate_thresholds(
    rule: str,
    staged: StagedScores,
    k: int,
    evaluate: Callable[[NDArray[np.int64]], tuple[float, float]],
) -> Any:
    """The saving and the metric of each candidate threshold, as a record array.

    `evaluate` computes both from the exits at which the rows leave. Many thresholds give the same exits,
    which are evaluated once. Without exits the only candidate is infinity.
    """
    known: dict[bytes, tuple[float, float]] = {}
    found = []
    for threshold in candidate_thresholds(rule, staged, k) if staged.n_exits else [np.inf]:
        exits = leave(staged, exit_gates(rule, threshold, staged.n_exits, k))
        key = exits.tobytes()
        if key not in known:
            known[key] = evaluate(exits)
        found.append((threshold, *known[key]))
    fields = [("threshold", float), ("saving", float), ("metric", float)]
    return np.array(found, dtype=fields).view(np.recarray)


def saving_and_metric(
    staged: StagedScores, rows: Rows, metric: Metric, is_ranking: bool, exits: NDArray[np.int64]
) -> tuple[float, float]:
    """The fraction of the mean cost saved, and the metric, if the rows leave at `exits`.

    Labels of classifiers are codes. In a ranking, documents that leave are ranked below those that stay.
    """
    scores, cost = staged.at(exits)
    if is_ranking and rows.qid is not None:
        scores = settle(scores[:, 0], exits, rows.qid)[:, None]
    full = float(np.average(staged.cost[-1], weights=rows.weight))
    paid = float(np.average(cost, weights=rows.weight))
    value = measure(metric, staged.link, scores, rows.y, rows.qid, rows.weight)
    return (1.0 - paid / full if full > 0 else 0.0), value


def choose_threshold(candidates: Any, greater_is_better: bool, wanted: float | None) -> int:
    """Index of the best candidate: by the metric among those that save enough, else by the saving.

    Without a `wanted` saving, the candidate that saves most is chosen among those whose metric is not worse
    than that of the last one, at which no row leaves.
    """
    better = candidates.metric if greater_is_better else -candidates.metric
    saving = candidates.saving
    if wanted is None:
        return int(np.lexsort((better, saving, better >= better[-1]))[-1])
    enough = saving >= wanted
    if not enough.any():
        warnings.warn(
            f"no threshold saves {wanted:.1%} of the cost on the validation set; the largest saving is "
            f"{saving.max():.1%}. Exits after fewer rounds (every=) may save more",
            stacklevel=6,  # the caller of fit
        )
        return int(np.lexsort((better, saving))[-1])
    return int(np.lexsort((saving, better, enough))[-1])
