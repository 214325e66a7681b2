"""The depth of the trees and the number of rounds of a boosted model, chosen on validation rows."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from miserly.costs import Costs
from miserly.learners.common.booster import Booster, boost
from miserly.learners.common.round import add_rounds
from miserly.learners.common.training import ScoreEvaluator

__all__ = ["DEPTHS", "ROUNDS", "TrialModel", "best_size"]

DEPTHS = (6, 4, 8)  # the first of equal ones is taken
ROUNDS = (25, 50, 100, 150, 200, 300)
SHORT = 100  # rounds by which depths are compared

Rank = tuple[float, float]  # the metric, where larger is better, then the negative loss


@dataclass(eq=False)
class TrialModel:
    """A boosted model that grows on some rows and is evaluated on others.

    Parameters
    ----------
    booster : Booster
        Grows the model.
    X : array of (n, d)
        The validation rows, with the columns that the model was given.
    scores : array of (n, K)
        Their scores before the first round. They are changed.
    evaluator : ScoreEvaluator
        The metric and the labels of the validation rows.
    n_threads : int or None
        Number of threads.
    """

    booster: Booster
    X: NDArray[np.float64]
    scores: NDArray[np.float64]
    evaluator: ScoreEvaluator
    n_threads: int | None
    n_rounds: int = 0

    def rank_at(self, n_rounds: int) -> Rank | None:
        """The rank of the model when it has `n_rounds`; None if it cannot grow so far."""
        rounds = boost(self.booster, n_rounds - self.n_rounds)
        add_rounds(self.scores, rounds, self.X, Costs(np.zeros(self.X.shape[1])), self.n_threads)
        self.n_rounds += len(rounds)
        if self.n_rounds < n_rounds:
            return None
        return self.evaluator.rank(self.scores, self.evaluator.value(self.scores))


def best_size(
    trials_of: Callable[[int], Sequence[TrialModel]], depths: Sequence[int], rounds: Sequence[int]
) -> tuple[int, int]:
    """The depth and the number of rounds that are best on validation rows.

    Depths are compared at up to 100 rounds; more rounds are tried with the best of them.

    Parameters
    ----------
    trials_of : callable
        Gives one trial for each validation set, for trees of a depth.
    depths : sequence of int
        The depths. The first one is taken if no model can grow.
    rounds : sequence of int
        The numbers of rounds, in rising order.

    Returns
    -------
    tuple of (int, int)
        The depth and the number of rounds.
    """
    short = [n for n in rounds if n <= SHORT] or list(rounds[:1])
    ranks: dict[tuple[int, int], Rank] = {}
    trials = {depth: trials_of(depth) for depth in depths}
    for depth in depths:
        _grow(ranks, trials[depth], depth, short)
    if not ranks:
        return depths[0], rounds[0]
    best = max(ranks, key=ranks.__getitem__)
    _grow(ranks, trials[best[0]], best[0], rounds[len(short) :])
    return max(ranks, key=ranks.__getitem__)


def _grow(
    ranks: dict[tuple[int, int], Rank], trials: Sequence[TrialModel], depth: int, rounds: Sequence[int]
) -> None:
    """Add the mean ranks of models of one depth, as long as all of them grow."""
    for n_rounds in rounds:
        found = [rank for trial in trials if (rank := trial.rank_at(n_rounds)) is not None]
        if len(found) < len(trials):
            return
        metric, loss = np.mean(found, axis=0)
        ranks[depth, n_rounds] = float(metric), float(loss)
