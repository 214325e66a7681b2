"""Links whose answers are numbers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from miserly.plan.exponential import exp
from miserly.plan.link_base import MOST_LABELS, Link
from miserly.plan.show.phrases import listing, number

if TYPE_CHECKING:
    from miserly.plan.show.wording import Wording

__all__ = ["Average", "Exponential", "Identity", "Share", "SignedSquare", "Softplus"]

Floats = NDArray[np.float64]


class Identity(Link):
    """The scores are the answers: numbers."""

    name: ClassVar[str] = "identity"
    gives_numbers: ClassVar[bool] = True

    def numbers(self, scores: Floats) -> Floats:
        """Answers (n, n_outputs) from scores of this shape."""
        return scores

    def labels(self, scores: Floats, classes: NDArray[Any] | None) -> NDArray[Any]:
        """The answers: (n,) if there is one output, else (n, n_outputs)."""
        answers = self.numbers(scores)
        return answers[:, 0] if answers.shape[1] == 1 else answers

    def number_words(self, score: str) -> str:
        """What is computed from a score."""
        return score

    def answer_words(self, words: Wording) -> str:
        plan = words.plan
        if plan.n_outputs == 1:
            return f"The answer is {self.number_words(words.score(0))}."
        which = "the scores" if plan.n_outputs == plan.n_scores else f"the first {plan.n_outputs} scores"
        if type(self) is not Identity:
            return f"The answer is {self.number_words('x')} for each score x of {which}."
        return f"The answer is {which}."

    def base_words(self, words: Wording) -> str:
        outputs = self.numbers(words.plan.base[None, : words.plan.n_outputs])[0].tolist()
        shown = [number(score) for score in outputs[:MOST_LABELS]]
        return listing(shown, len(outputs) - len(shown))


class Exponential(Identity):
    """The answers are exp(score): rates and amounts (Poisson, gamma, Tweedie)."""

    name: ClassVar[str] = "exp"

    def numbers(self, scores: Floats) -> Floats:
        return np.asarray(exp(scores))

    def number_words(self, score: str) -> str:
        return f"exp({score})"


class Share(Identity):
    """The answers are 1 / (1 + exp(-score)): shares from 0 to 1, as numbers and not as classes."""

    name: ClassVar[str] = "share"

    def numbers(self, scores: Floats) -> Floats:
        return np.asarray(1.0 / (1.0 + exp(-scores)))

    def number_words(self, score: str) -> str:
        return f"1 / (1 + exp(-{score}))"


class Softplus(Identity):
    """The answers are log(1 + exp(score)), which is never negative."""

    name: ClassVar[str] = "softplus"

    def numbers(self, scores: Floats) -> Floats:
        return np.maximum(scores, 0.0) + np.log1p(exp(-np.abs(scores)))

    def number_words(self, score: str) -> str:
        return f"log(1 + exp({score}))"


class SignedSquare(Identity):
    """The answers are score * |score|, for models of square roots."""

    name: ClassVar[str] = "signed_square"

    def numbers(self, scores: Floats) -> Floats:
        return np.asarray(np.sign(scores) * scores * scores)

    def number_words(self, score: str) -> str:
        return f"the square of {score}, with its sign"


class Average(Identity):
    """The answer is the first score divided by the second one, a sum and the number of its parts.

    Every node of a chain of trees then answers with the average of the trees so far.
    """

    name: ClassVar[str] = "average"
    outputs: ClassVar[int | None] = 2

    def numbers(self, scores: Floats) -> Floats:
        total, count = scores[:, :1], scores[:, 1:2]
        return np.divide(total, count, out=np.zeros_like(total), where=count != 0.0)

    def answer_words(self, words: Wording) -> str:
        return f"The answer is {words.score(0)} divided by {words.score(1)}, the number of its parts."
