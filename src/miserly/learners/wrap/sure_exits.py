"""The threshold of exits whose loss on new rows is bounded with a stated confidence.

Candidates are tested one after the other, from the one at which no row leaves to those at which more and more
do, and the tests end with the first that fails (a fixed sequence). So the confidence holds for the chosen
threshold, although many were tested. A test compares the same rows with and without exits.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from miserly.errors import DataError
from miserly.learners.wrap.exits import StagedScores, candidate_thresholds, exit_gates, leave
from miserly.metrics import Metric, per_query
from miserly.plan import links
from miserly.plan.engine.ranking import settle
from miserly.solvers.betting import outbids

__all__ = ["sure_threshold", "values_of_units"]

Floats = NDArray[np.float64]


def values_of_units(
    metric: Metric, staged: StagedScores, y: NDArray[np.int64], qid: NDArray[np.int64] | None
) -> Callable[[NDArray[np.int64]], Floats]:
    """A function from the exits of rows to the metric of each independent unit: a row, or a query.

    Parameters
    ----------
    metric : Metric
        Accuracy, or a metric of rankings between 0 and 1.
    staged : StagedScores
        The rows at every exit.
    y : array of (n,)
        Codes of classes, or grades.
    qid : array of (n,) or None
        Query of each row, for rankings.

    Returns
    -------
    callable

    Raises
    ------
    DataError
        If the metric is not a mean over units of numbers from 0 to 1.
    """
    if qid is None and metric.name == "accuracy":
        return lambda exits: _is_right(staged, y, exits)
    if qid is not None and metric.name.startswith(("ndcg@", "precision@")):
        return lambda exits: _of_queries(metric, staged, y, qid, exits)
    raise DataError(
        f"confidence needs the accuracy of classes, or ndcg@k or precision@k of queries, not "
        f"{metric.name!r}. With confidence=None the tolerance is for the given rows alone"
    )


def _is_right(staged: StagedScores, y: NDArray[np.int64], exits: NDArray[np.int64]) -> Floats:
    scores, _ = staged.at(exits)
    codes = np.arange(links.n_labels(staged.link, scores.shape[1]))
    return np.asarray(links.labels(staged.link, scores, codes) == y, dtype=np.float64)


def _of_queries(
    metric: Metric,
    staged: StagedScores,
    y: NDArray[np.int64],
    qid: NDArray[np.int64],
    exits: NDArray[np.int64],
) -> Floats:
    scores, _ = staged.at(exits)
    return per_query(metric, y, settle(scores[:, 0], exits, qid), qid)[1]


def sure_threshold(
    rule: str,
    staged: StagedScores,
    k: int,
    values: Callable[[NDArray[np.int64]], Floats],
    tolerance: float,
    confidence: float,
) -> float:
    """The threshold that saves most among those that lose at most `tolerance` on new rows.

    Parameters
    ----------
    rule : str
        The rule of the exits.
    staged : StagedScores
        The rows at every exit.
    k : int
        Place in the ranking that the rule "proximity" compares with.
    values : callable
        What `values_of_units` gives.
    tolerance : float
        By how much the mean of the values may be less than without exits.
    confidence : float
        The probability that it is not less by more, at least.

    Returns
    -------
    float
        Infinity if no threshold passes.
    """
    n = staged.scores.shape[1]
    before = values(np.full(n, staged.n_exits))
    there = np.flatnonzero(~np.isnan(before))
    order = np.random.default_rng(0).permutation(there)  # the test bets on one value after the other
    chosen, known = np.inf, b""
    for threshold in candidate_thresholds(rule, staged, k)[-2::-1] if staged.n_exits else []:
        exits = leave(staged, exit_gates(rule, threshold, staged.n_exits, k))
        if exits.tobytes() != known:
            lost = (before - values(exits))[order]
            if not outbids(1.0 + lost, 2.0, 1.0 + tolerance, 1.0 - confidence):
                return chosen
            known = exits.tobytes()
        chosen = float(threshold)
    return chosen
