"""The base class of links."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from miserly.errors import PlanError
from miserly.plan.show.phrases import listing

if TYPE_CHECKING:
    from miserly.plan.show.wording import Wording

__all__ = ["BY_EACH", "BY_EXPONENTIALS", "BY_LOG_ODDS", "BY_SHARES", "MOST_LABELS", "Link", "pick"]

MOST_LABELS = 10  # named in a sentence
# What probabilities grow with, also in compiled code: exponentials of scores, of which the first class of two
# has 0; scores; or a probability for each score by itself.
BY_EXPONENTIALS, BY_LOG_ODDS, BY_SHARES, BY_EACH = range(4)
Floats = NDArray[np.float64]


class Link:
    """Base class of links: scores of two or more classes, of which the largest is the answer.

    Attributes
    ----------
    name : str
        The name in plans and files.
    has_probabilities : bool
        Whether scores become class probabilities.
    has_confidence : bool
        Whether the probability of the most probable class is there for gates.
    gives_numbers : bool
        Whether answers are numbers that rise with the scores, and not classes.
    outputs : int or None
        The number of outputs that a plan must have, if there is only one that it can have.
    chances : int
        What probabilities grow with; one of the rules above.
    in_double : str
        The link that computes the same in float64; empty if it is the link itself.
    label_gap : float
        How far scores must be apart, or from zero, so that rounding in the link cannot change their label.
    """

    name: ClassVar[str]
    has_probabilities: ClassVar[bool] = False
    has_confidence: ClassVar[bool] = False
    gives_numbers: ClassVar[bool] = False
    outputs: ClassVar[int | None] = None
    chances: ClassVar[int] = BY_EXPONENTIALS
    in_double: ClassVar[str] = ""
    label_gap: ClassVar[float] = 0.0

    def n_labels(self, n_outputs: int) -> int:
        """The number of classes for a number of outputs."""
        return max(2, n_outputs)

    def probabilities(self, scores: Floats) -> Floats:
        """Class probabilities (n, n_classes) from scores (n, n_outputs)."""
        raise PlanError(f"a plan with link {self.name!r} has no class probabilities")

    def confidence(self, scores: Floats) -> Floats:
        """The probability of the most probable class (n,), summed in the order compiled code uses."""
        raise PlanError(f"a plan with link {self.name!r} has no class probabilities")

    def labels(self, scores: Floats, classes: NDArray[Any] | None) -> NDArray[Any]:
        """The answers (n,): entries of `classes`, or their numbers."""
        index = scores.argmax(axis=1) if scores.shape[1] > 1 else (scores[:, 0] > 0).astype(np.int64)
        return pick(index, classes)

    # -- words ---------------------------------------------------------------------------------------

    def output_words(self, channel: int, words: Wording) -> str:
        """What one of several outputs is a score of."""
        return words.label(channel)

    def answer_words(self, words: Wording) -> str:
        """How the scores of a plan become its answer, in sentences."""
        plan = words.plan
        if plan.n_outputs > 1:
            return self._largest_words(self._class_words(words))
        return (
            f"The answer is {words.label(1)} if {words.score(0)} is above 0, else {words.label(0)}."
            f"{self._probability_words(words)}"
        )

    def base_words(self, words: Wording) -> str:
        """What a plan answers before its first node."""
        plan = words.plan
        return words.label(int(self.labels(plan.base[None, : plan.n_outputs], None)[0]))

    def _largest_words(self, classes: str) -> str:
        share = "Its probability is its share in the sum of exp(score) over the classes."
        return f"The answer is the class whose score is largest: {classes}. {share}"

    def _probability_words(self, words: Wording) -> str:
        return ""

    def _class_words(self, words: Wording) -> str:
        count = self.n_labels(words.plan.n_outputs)
        shown = [words.label(i) for i in range(min(count, MOST_LABELS))]
        return listing(shown, count - len(shown), last="or")


def pick(index: NDArray[np.int64], classes: NDArray[Any] | None) -> NDArray[Any]:
    """The classes with these numbers; the numbers themselves if there are no classes."""
    return index if classes is None else classes[index]
