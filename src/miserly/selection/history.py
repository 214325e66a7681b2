"""What a search has tried so far: the evaluated fits and the failed ones of every candidate learner."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from miserly.selection.candidates import CandidateLearner
from miserly.selection.cross_choice import choose
from miserly.selection.evaluation import Candidate, Trial, mean_and_error

__all__ = ["Failure", "History"]

_BEHIND_ERRORS = 2.0  # standard errors by which a learner must be behind to get no further fits


@dataclass(frozen=True)
class Failure:
    """A fit that raised an error."""

    learner: str
    params: dict[str, Any]
    error: str

    @property
    def is_late(self) -> bool:
        """Whether it was stopped because it took too long."""
        return self.error.startswith(TimeoutError.__name__)


@dataclass
class History:
    """Trials and failures, in the order in which they ended.

    Attributes
    ----------
    sign : float
        1 if a larger value of the metric is better, else -1.
    candidates : list of Candidate
        The models of all trials.
    trials : list of (Trial, list of Candidate)
    failures : list of Failure
    expected : mapping
        Seconds of a fit of each learner, from a screening; used until the learner has been fitted.
    """

    sign: float
    candidates: list[Candidate] = field(default_factory=list)
    trials: list[tuple[Trial, list[Candidate]]] = field(default_factory=list)
    failures: list[Failure] = field(default_factory=list)
    expected: Mapping[CandidateLearner, float] = field(default_factory=dict)
    _failed_at: list[tuple[CandidateLearner, float]] = field(default_factory=list)

    @property
    def n_tried(self) -> int:
        """The number of trials and failures."""
        return len(self.trials) + len(self.failures)

    def add(self, trial: Trial, found: list[Candidate]) -> None:
        """Record a fit and its models."""
        self.trials.append((trial, found))
        self.candidates += found

    def add_failure(self, learner: CandidateLearner, value: float, error: Exception) -> None:
        """Record a fit that raised an error."""
        words = f"{type(error).__name__}: {error}"
        self.failures.append(Failure(learner.name, learner.params(value, {}), words))
        self._failed_at.append((learner, value))

    def trials_of(self, learner: CandidateLearner) -> list[tuple[Trial, list[Candidate]]]:
        """The trials of one learner."""
        return [(trial, found) for trial, found in self.trials if trial.learner is learner]

    def found_by(self, learner: CandidateLearner) -> list[Candidate]:
        """The models of one learner."""
        return [one for _, found in self.trials_of(learner) for one in found]

    def values_of(self, learner: CandidateLearner) -> list[float]:
        """The values of the hyperparameter that were tried, those that failed included."""
        failed = [value for one, value in self._failed_at if one is learner]
        return [*(trial.value for trial, _ in self.trials_of(learner)), *failed]

    def n_failed(self, learner: CandidateLearner) -> int:
        """How often the learner failed. Fits that are searches of their own are counted separately."""
        alike = [one for one, _ in self._failed_at if one.name == learner.name]
        return sum(one.searches == learner.searches for one in alike)

    def is_hopeless(self, learner: CandidateLearner) -> bool:
        """Whether every fit of the learner failed."""
        return self.n_failed(learner) > 0 and not self.trials_of(learner)

    def is_behind(self, learner: CandidateLearner, rivals: Sequence[CandidateLearner]) -> bool:
        """Whether no model of a learner is better than a cheaper one of a rival, by two standard errors."""
        own = self.found_by(learner)
        others = [one for rival in rivals for one in self.found_by(rival)]
        return bool(own) and all(self._is_beaten(one, others) for one in own)

    def _is_beaten(self, one: Candidate, others: Sequence[Candidate]) -> bool:
        rival = choose(others, one.mean_cost, self.sign)
        if rival is None:
            return False
        gain, error = mean_and_error(self.sign * (one.value - rival.value))
        return gain + _BEHIND_ERRORS * float(np.nan_to_num(error)) <= 0.0

    def expected_seconds(self, learner: CandidateLearner) -> float:
        """The time of a fit: the longest so far, without the first, which may have compiled code."""
        taken = [trial.seconds for trial, _ in self.trials_of(learner)]
        return max(taken[1:] or taken, default=self.expected.get(learner, 0.0))

    def least_seconds(self, learner: CandidateLearner) -> float:
        """The time of the quickest fit; others may have compiled code."""
        return min((trial.seconds for trial, _ in self.trials_of(learner)), default=0.0)
