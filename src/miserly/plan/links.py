"""Links: how scores become answers.

A link is one class. It holds what it needs of a plan's outputs, how scores become probabilities and classes,
and its words. To add a link, write a class here and add it to `LINKS`; plans and files name it by `name`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from miserly.errors import PlanError
from miserly.plan.exponential import exp, exp_of_float
from miserly.plan.show.phrases import listing, number

if TYPE_CHECKING:
    from miserly.plan.show.wording import Wording

__all__ = [
    "LINKS",
    "Link",
    "confidence",
    "exp",
    "exp_of_float",
    "gives_numbers",
    "has_confidence",
    "has_probabilities",
    "labels",
    "n_labels",
    "pairs_of",
    "probabilities",
    "votes",
]

_MOST_LABELS = 10  # named in a sentence
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
    one_output : bool
        Whether a plan must have exactly one output.
    """

    name: ClassVar[str]
    has_probabilities: ClassVar[bool] = False
    has_confidence: ClassVar[bool] = False
    gives_numbers: ClassVar[bool] = False
    one_output: ClassVar[bool] = False

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
        return index if classes is None else classes[index]

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
        shown = [words.label(i) for i in range(min(count, _MOST_LABELS))]
        return listing(shown, count - len(shown), last="or")


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
        shown = [number(score) for score in outputs[:_MOST_LABELS]]
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


class LogisticLink(Link):
    """One score, the log-odds of the second class."""

    name: ClassVar[str] = "logistic"
    has_probabilities: ClassVar[bool] = True
    has_confidence: ClassVar[bool] = True
    one_output: ClassVar[bool] = True

    def probabilities(self, scores: Floats) -> Floats:
        if len(scores) == 1:
            one = 1.0 / (1.0 + exp_of_float(-float(scores[0, 0])))
            return np.array([[1.0 - one, one]])
        positive = 1.0 / (1.0 + exp(-scores[:, 0]))
        return np.column_stack([1.0 - positive, positive])

    def confidence(self, scores: Floats) -> Floats:
        positive = 1.0 / (1.0 + exp(-scores[:, 0]))
        return np.maximum(positive, 1.0 - positive)

    def _probability_words(self, words: Wording) -> str:
        return f" The probability of {words.label(1)} is 1 / (1 + exp(-score))."


class Softmax(Link):
    """One score for each class; probabilities are proportional to their exponentials."""

    name: ClassVar[str] = "softmax"
    has_probabilities: ClassVar[bool] = True
    has_confidence: ClassVar[bool] = True

    def probabilities(self, scores: Floats) -> Floats:
        weight = exp(scores - scores.max(axis=1, keepdims=True))
        return np.asarray(weight / weight.sum(axis=1, keepdims=True))

    def confidence(self, scores: Floats) -> Floats:
        parts = exp(scores - scores.max(axis=1)[:, None])
        total = np.zeros(len(scores))
        for output in range(scores.shape[1]):
            total += parts[:, output]
        return 1.0 / total


class OneVersusRest(Link):
    """One score for each class, the log-odds of this class against all others.

    Each probability is 1 / (1 + exp(-score)), as LightGBM and CatBoost have it: they need not sum to 1.
    """

    name: ClassVar[str] = "one_vs_rest"
    has_probabilities: ClassVar[bool] = True

    def probabilities(self, scores: Floats) -> Floats:
        return np.asarray(1.0 / (1.0 + exp(-scores)))

    def _largest_words(self, classes: str) -> str:
        share = "The probability of each class is 1 / (1 + exp(-score)); they need not sum to 1."
        return f"The answer is the class whose score is largest: {classes}. {share}"


class Sign(Link):
    """One score: the second class where it is above zero."""

    name: ClassVar[str] = "sign"
    one_output: ClassVar[bool] = True


class Votes(Link):
    """One score for each pair of three or more classes; the class that wins most pairs is the answer."""

    name: ClassVar[str] = "votes"

    def n_labels(self, n_outputs: int) -> int:
        n_classes = round((1 + np.sqrt(1 + 8 * n_outputs)) / 2)
        if n_classes < 3 or n_classes * (n_classes - 1) != 2 * n_outputs:
            raise PlanError(
                f"link 'votes' needs one output for each pair of three or more classes, not {n_outputs}"
            )
        return n_classes

    def labels(self, scores: Floats, classes: NDArray[Any] | None) -> NDArray[Any]:
        return super().labels(votes(scores), classes)

    def output_words(self, channel: int, words: Wording) -> str:
        i, j = pairs_of(self.n_labels(words.plan.n_outputs))[channel]
        return f"{words.label(i)} against {words.label(j)}"

    def _largest_words(self, classes: str) -> str:
        pairs = "Each score decides between two classes, for the first of them if it is above 0."
        return f"{pairs} The answer is the class that wins most often: {classes}."


_NUMBERS = (Exponential, Share, Softplus, SignedSquare)
_LINKS: tuple[type[Link], ...] = (Identity, LogisticLink, Softmax, Sign, Votes, *_NUMBERS, OneVersusRest)
LINKS: dict[str, Link] = {link.name: link() for link in _LINKS}


def has_probabilities(link: str) -> bool:
    """Whether plans with this link have class probabilities.

    >>> [link for link in LINKS if has_probabilities(link)]
    ['logistic', 'softmax', 'one_vs_rest']
    """
    return LINKS[link].has_probabilities


def has_confidence(link: str) -> bool:
    """Whether gates can ask for the probability of the most probable class.

    >>> [link for link in LINKS if has_confidence(link)]
    ['logistic', 'softmax']
    """
    return LINKS[link].has_confidence


def gives_numbers(link: str) -> bool:
    """Whether answers are numbers, and not classes.

    >>> [link for link in LINKS if gives_numbers(link)]
    ['identity', 'exp', 'share', 'softplus', 'signed_square']
    """
    return LINKS[link].gives_numbers


def probabilities(link: str, scores: Floats) -> Floats:
    """Class probabilities (n, n_classes) from scores (n, n_outputs)."""
    return LINKS[link].probabilities(scores)


def confidence(link: str, scores: Floats) -> Floats:
    """The probability of the most probable class (n,), summed in the order compiled code uses."""
    return LINKS[link].confidence(scores)


def labels(link: str, scores: Floats, classes: NDArray[Any] | None) -> NDArray[Any]:
    """Answers from scores (n, n_outputs): numbers for identity, else entries of `classes`."""
    return LINKS[link].labels(scores, classes)


def n_labels(link: str, n_outputs: int) -> int:
    """The number of classes for a number of outputs.

    >>> n_labels("logistic", 1), n_labels("softmax", 3), n_labels("votes", 6)
    (2, 3, 4)
    """
    return LINKS[link].n_labels(n_outputs)


def pairs_of(n_classes: int) -> list[tuple[int, int]]:
    """The pairs of classes, in the order of the scores that `votes` counts.

    >>> pairs_of(3)
    [(0, 1), (0, 2), (1, 2)]
    """
    return [(i, j) for i in range(n_classes) for j in range(i + 1, n_classes)]


def votes(scores: NDArray[np.float64]) -> NDArray[np.float64]:
    """How many pairs each class wins, (n, n_classes): a positive score is a vote for the first of its pair.

    The answer is the class with most votes, the first one of a tie: one against one, as in LibSVM.

    >>> votes(np.array([[1.0, -1.0, -1.0]])).tolist()
    [[1.0, 0.0, 2.0]]
    """
    n_classes = n_labels("votes", scores.shape[1])
    count = np.zeros((len(scores), n_classes))
    begin = 0
    for i in range(n_classes - 1):  # the pairs of class i with all after it are next to each other
        end = begin + n_classes - 1 - i
        first = scores[:, begin:end] > 0
        count[:, i] += first.sum(axis=1)
        count[:, i + 1 :] += ~first
        begin = end
    return count
