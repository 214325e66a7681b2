"""Links: how scores become answers.

A link is one class. It holds what it needs of a plan's outputs, how scores become probabilities and classes,
and its words. To add a link, write a class here and add it to `LINKS`; plans and files name it by `name`.

`exp` is written out in plain operations so that compiled code, NumPy and single-row stepping give the same
bits: the exponentials of different libraries differ in the last place.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from miserly.errors import PlanError
from miserly.plan.show.phrases import listing, number

if TYPE_CHECKING:
    from miserly.plan.show.wording import Wording

__all__ = [
    "LINKS",
    "Link",
    "confidence",
    "exp",
    "exp_of_float",
    "has_probabilities",
    "labels",
    "n_labels",
    "pairs_of",
    "probabilities",
    "votes",
]

_MOST_LABELS = 10  # named in a sentence
_LOG2E = 1.4426950408889634
_LN2_HIGH = 6.93147180369123816490e-01
_LN2_LOW = 1.90821492927058770002e-10
_FACTORS = (
    1.0 / 479001600.0, 1.0 / 39916800.0, 1.0 / 3628800.0, 1.0 / 362880.0, 1.0 / 40320.0, 1.0 / 5040.0,
    1.0 / 720.0, 1.0 / 120.0, 1.0 / 24.0, 1.0 / 6.0, 0.5, 1.0, 1.0,
)  # fmt: skip

Floats = NDArray[np.float64]


def exp(x: Any) -> Any:
    """The exponential of a float64 array or scalar, to about one unit in the last place.

    Works unchanged under numba. Arguments are clipped to +-700.

    >>> float(exp(np.float64(0.0))), bool(abs(exp(np.float64(1.0)) - np.e) < 1e-15)
    (1.0, True)
    """
    x = np.minimum(np.maximum(x, -700.0), 700.0)
    k = np.rint(x * _LOG2E)
    r = (x - k * _LN2_HIGH) - k * _LN2_LOW
    p = 1.0 / 6227020800.0
    p = p * r + 1.0 / 479001600.0
    p = p * r + 1.0 / 39916800.0
    p = p * r + 1.0 / 3628800.0
    p = p * r + 1.0 / 362880.0
    p = p * r + 1.0 / 40320.0
    p = p * r + 1.0 / 5040.0
    p = p * r + 1.0 / 720.0
    p = p * r + 1.0 / 120.0
    p = p * r + 1.0 / 24.0
    p = p * r + 1.0 / 6.0
    p = p * r + 0.5
    p = p * r + 1.0
    p = p * r + 1.0
    return np.ldexp(p, np.int64(k))


def exp_of_float(x: float) -> float:
    """The same bits as `exp`, for one Python float: a tenth of the time that an array of one takes.

    >>> exp_of_float(1.25) == float(exp(np.float64(1.25)))
    True
    """
    if x != x:
        return x
    x = min(max(x, -700.0), 700.0)
    k = round(x * _LOG2E)
    r = (x - k * _LN2_HIGH) - k * _LN2_LOW
    p = 1.0 / 6227020800.0
    for factor in _FACTORS:
        p = p * r + factor
    return math.ldexp(p, k)


class Link:
    """Base class of links: scores of two or more classes, of which the largest is the answer.

    Attributes
    ----------
    name : str
        The name in plans and files.
    has_probabilities : bool
        Whether scores become class probabilities.
    one_output : bool
        Whether a plan must have exactly one output.
    """

    name: ClassVar[str]
    has_probabilities: ClassVar[bool] = False
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

    def labels(self, scores: Floats, classes: NDArray[Any] | None) -> NDArray[Any]:
        """The scores: (n,) if there is one output, else (n, n_outputs)."""
        return scores[:, 0] if scores.shape[1] == 1 else scores

    def answer_words(self, words: Wording) -> str:
        plan = words.plan
        if plan.n_outputs == 1:
            return f"The answer is {words.score(0)}."
        which = "the scores" if plan.n_outputs == plan.n_scores else f"the first {plan.n_outputs} scores"
        return f"The answer is {which}."

    def base_words(self, words: Wording) -> str:
        outputs = words.plan.base[: words.plan.n_outputs].tolist()
        shown = [number(score) for score in outputs[:_MOST_LABELS]]
        return listing(shown, len(outputs) - len(shown))


class LogisticLink(Link):
    """One score, the log-odds of the second class."""

    name: ClassVar[str] = "logistic"
    has_probabilities: ClassVar[bool] = True
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

    def probabilities(self, scores: Floats) -> Floats:
        weight = exp(scores - scores.max(axis=1, keepdims=True))
        return np.asarray(weight / weight.sum(axis=1, keepdims=True))

    def confidence(self, scores: Floats) -> Floats:
        parts = exp(scores - scores.max(axis=1)[:, None])
        total = np.zeros(len(scores))
        for output in range(scores.shape[1]):
            total += parts[:, output]
        return 1.0 / total


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


LINKS: dict[str, Link] = {
    link.name: link for link in (Identity(), LogisticLink(), Softmax(), Sign(), Votes())
}


def has_probabilities(link: str) -> bool:
    """Whether plans with this link have class probabilities.

    >>> [link for link in LINKS if has_probabilities(link)]
    ['logistic', 'softmax']
    """
    return LINKS[link].has_probabilities


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
