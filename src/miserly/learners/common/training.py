"""Scores on a validation set: evaluate them after every round, stop early, and calibrate them."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize_scalar

from miserly.costs import Costs
from miserly.data.rows import Rows
from miserly.learners.common.booster import Booster
from miserly.learners.common.round import Round, add_rounds
from miserly.losses import Loss, log_loss
from miserly.metrics import Metric
from miserly.plan import links

__all__ = ["ScoreEvaluator", "Training", "ValidationCurve", "measure", "steepness_of"]


LEAST, MOST = 0.1, 30.0


class ScoreEvaluator:
    """Evaluates scores on labelled rows: by a metric, and where that is equal, by the loss.

    Parameters
    ----------
    metric : Metric
        The metric.
    loss : Loss
        The loss, and the link of the scores.
    samples : Rows
        Labels, weights and queries. Metric and loss both use the weights.
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
        """A key to maximise: the metric (negative, if smaller is better), then the negative loss."""
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
    """A metric of scores (n, K), as labels, probabilities or scores; classes are numbers from 0."""
    if metric.needs == "label":
        prediction = links.labels(link, scores, None)
    elif metric.needs == "proba":
        prediction = links.probabilities(link, scores)
    else:
        prediction = scores[:, 0] if scores.shape[1] == 1 else scores
    classes = np.arange(max(2, scores.shape[1]))
    return metric(y, prediction, qid=qid, sample_weight=weight, classes=classes)


class ValidationCurve:
    """The metric of a boosted model on a validation set after each round. Only new trees are evaluated.

    Parameters
    ----------
    evaluator : ScoreEvaluator
        The metric and the validation set.
    base : array of (K,)
        Scores of the model without any round.
    costs : Costs
        Costs of the features.
    n_threads : int or None
        Threads that evaluate trees.

    Attributes
    ----------
    values : list of float
        The metric after 0, 1, 2, ... rounds.
    scores : array of (n, K)
        Scores of the validation set so far.
    """

    def __init__(
        self, evaluator: ScoreEvaluator, base: NDArray[np.float64], costs: Costs, n_threads: int | None
    ) -> None:
        self.evaluator = evaluator
        self.costs = costs
        self.n_threads = n_threads
        self.scores = np.tile(base, (len(evaluator.samples), 1))
        self.values: list[float] = []
        self._ranks: list[tuple[float, float]] = []
        self._evaluate()

    def add(self, one: Round) -> None:
        """Evaluate the model with one more round."""
        add_rounds(self.scores, [one], self.evaluator.samples.X, self.costs, self.n_threads)
        self._evaluate()

    def _evaluate(self) -> None:
        self.values.append(self.evaluator.value(self.scores))
        self._ranks.append(self.evaluator.rank(self.scores, self.values[-1]))

    @property
    def best(self) -> int:
        """Number of rounds with the best metric; the smallest of equals, which may be 0."""
        return max(range(len(self._ranks)), key=lambda t: (self._ranks[t], -t))

    @property
    def n_since_best(self) -> int:
        """Number of rounds since the best."""
        return len(self._ranks) - 1 - self.best


@dataclass
class Training:
    """A boosted model while it is trained.

    Parameters
    ----------
    booster : Booster
        Grows the rounds.
    validation : ValidationCurve or None
        The metric on the validation set, if there is one.
    patience : int or None
        Training stops after so many rounds without a better metric. None: it does not stop early.
    rounds : list of Round
        The rounds so far.
    stopped_by : str
        Why training ended: "rounds", "early stopping", "interrupt", or a reason of the booster.
    """

    booster: Booster
    validation: ValidationCurve | None
    patience: int | None
    rounds: list[Round] = field(default_factory=list)
    stopped_by: str = "rounds"

    def advance(self, most: int = 1) -> bool:
        """Grow up to `most` rounds, or one if rounds are evaluated. Returns whether to go on."""
        some = self.booster.grow_some(most if self.validation is None else 1)
        if not some:
            self.stopped_by = self.booster.stopped_by
            return False
        self.rounds += some
        if self.validation is None:
            return True
        self.validation.add(some[0])
        if self.patience is not None and self.validation.n_since_best >= self.patience:
            self.stopped_by = "early stopping"
            return False
        return True

    @property
    def kept(self) -> list[Round]:
        """The rounds of the model: up to the best one with early stopping, else all."""
        if self.validation is None or self.patience is None:
            return self.rounds
        return self.rounds[: self.validation.best]

    def status(self) -> str:
        """The latest metric on the validation set, as text."""
        if self.validation is None:
            return ""
        return f"{self.validation.evaluator.metric.name} {self.validation.values[-1]:.4f}"


def steepness_of(
    scores: NDArray[np.float64], codes: NDArray[Any], weight: NDArray[np.float64] | None
) -> float:
    """The factor of scores (n, C) for which their logistic (C = 1) or softmax has the least log-loss.

    Being one positive factor, it changes no label. It is kept between 0.1 and 30.

    >>> scores = np.array([[-0.5], [-0.5], [-0.5], [0.5], [0.5], [0.5]])
    >>> round(steepness_of(scores, np.array([0, 0, 1, 1, 1, 0]), None), 2)  # two of three: log 2 / 0.5
    1.39
    """
    n_scores = scores.shape[1]
    loss = log_loss(max(2, n_scores))

    def loss_of(log_factor: float) -> float:
        return loss.loss(codes, np.exp(log_factor) * scores, weight)

    found = minimize_scalar(loss_of, bounds=(np.log(LEAST), np.log(MOST)), method="bounded")
    return float(np.exp(found.x))
