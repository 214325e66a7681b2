"""Boosting round after round, watching validation data, until something says stop."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from miserly.costs import Costs
from miserly.data.rows import Rows
from miserly.learners.common.booster import Booster
from miserly.learners.common.chain import Round, add_rounds
from miserly.losses import Loss
from miserly.metrics import Metric
from miserly.plan import links

__all__ = ["ScoreEvaluator", "Training", "ValidationCurve", "measure"]


class ScoreEvaluator:
    """Evaluates scores on labelled rows: by a metric, and where that is equal, by the loss.

    Both use the weights of the rows.
    """

    def __init__(self, metric: Metric, loss: Loss, samples: Rows) -> None:
        self.metric = metric
        self.loss = loss
        self.samples = samples

    def value(self, scores: NDArray[np.float64]) -> float:
        """The metric of scores (n, K)."""
        given = self.samples
        return measure(self.metric, self.loss.link, scores, given.y, given.qid, given.weight)

    def rank(self, scores: NDArray[np.float64], value: float) -> tuple[float, float]:
        """What to maximise: the metric, then the loss turned round."""
        better = value if self.metric.greater_is_better else -value
        return better, -self.loss.loss(self.samples.y, scores, self.samples.weight)


def measure(
    metric: Metric,
    link: str,
    scores: NDArray[np.float64],
    y: NDArray[Any],
    qid: NDArray[Any] | None,
    weight: NDArray[np.float64] | None,
) -> float:
    """A metric of scores (n, K), in the form it needs them; classes are numbers from 0."""
    if metric.needs == "label":
        prediction = links.labels(link, scores, None)
    elif metric.needs == "proba":
        prediction = links.probabilities(link, scores)
    else:
        prediction = scores[:, 0] if scores.shape[1] == 1 else scores
    classes = np.arange(max(2, scores.shape[1]))
    return metric(y, prediction, qid=qid, sample_weight=weight, classes=classes)


class ValidationCurve:
    """Follows a model over validation rows, one round at a time; only new trees are evaluated.

    `curve` holds the metric after 0, 1, 2, ... rounds. No round at all may be the best choice.
    """

    def __init__(
        self, evaluator: ScoreEvaluator, base: NDArray[np.float64], costs: Costs, n_threads: int | None
    ) -> None:
        self.evaluator = evaluator
        self.costs = costs
        self.n_threads = n_threads
        self.scores = np.tile(base, (len(evaluator.samples), 1))
        self.curve: list[float] = []
        self._ranks: list[tuple[float, float]] = []
        self._note()

    def see(self, one: Round) -> None:
        """Evaluate the model with one more round."""
        add_rounds(self.scores, [one], self.evaluator.samples.X, self.costs, self.n_threads)
        self._note()

    def _note(self) -> None:
        self.curve.append(self.evaluator.value(self.scores))
        self._ranks.append(self.evaluator.rank(self.scores, self.curve[-1]))

    @property
    def best(self) -> int:
        """The number of rounds that did best (the fewest, where several did)."""
        return max(range(len(self._ranks)), key=lambda t: (self._ranks[t], -t))

    @property
    def waited(self) -> int:
        """How many rounds have passed since the best."""
        return len(self._ranks) - 1 - self.best


@dataclass
class Training:
    """A model in the making: the booster, the rounds so far, and the watch over validation rows if any.

    `patience` is None where the watch only looks on.
    """

    booster: Booster
    watch: ValidationCurve | None
    patience: int | None
    rounds: list[Round] = field(default_factory=list)
    stopped_by: str = "rounds"

    def advance(self) -> bool:
        """Grow one round; gives whether to go on."""
        one = self.booster.grow()
        if one is None:
            self.stopped_by = self.booster.stopped_by
            return False
        self.rounds.append(one)
        if self.watch is None:
            return True
        self.watch.see(one)
        if self.patience is not None and self.watch.waited >= self.patience:
            self.stopped_by = "early stopping"
            return False
        return True

    @property
    def kept(self) -> list[Round]:
        """The rounds the model is made of: up to the best one if training may stop early, else all."""
        if self.watch is None or self.patience is None:
            return self.rounds
        return self.rounds[: self.watch.best]

    def standing(self) -> str:
        """Where validation stands, in words."""
        return "" if self.watch is None else f"{self.watch.evaluator.metric.name} {self.watch.curve[-1]:.4f}"
