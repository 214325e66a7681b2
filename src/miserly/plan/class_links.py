"""Links whose answers are classes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from miserly.errors import PlanError
from miserly.plan.exponential import exp, exp_of_float
from miserly.plan.link_base import BY_EACH, BY_LOG_ODDS, BY_SHARES, Link

if TYPE_CHECKING:
    from miserly.plan.show.wording import Wording

__all__ = [
    "Largest",
    "LogisticLink",
    "OneVersusRest",
    "OneVersusRestShares",
    "Proportions",
    "Sign",
    "Softmax",
    "Votes",
    "pairs_of",
    "votes",
]

Floats = NDArray[np.float64]
_NO_SHARE = 1e-250


class LogisticLink(Link):
    """One score, the log-odds of the second class."""

    name: ClassVar[str] = "logistic"
    has_probabilities: ClassVar[bool] = True
    has_confidence: ClassVar[bool] = True
    outputs: ClassVar[int | None] = 1
    chances: ClassVar[int] = BY_LOG_ODDS

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
    chances: ClassVar[int] = BY_EACH

    def probabilities(self, scores: Floats) -> Floats:
        return np.asarray(1.0 / (1.0 + exp(-scores)))

    def _largest_words(self, classes: str) -> str:
        share = "The probability of each class is 1 / (1 + exp(-score)); they need not sum to 1."
        return f"The answer is the class whose score is largest: {classes}. {share}"


class OneVersusRestShares(OneVersusRest):
    """As `OneVersusRest`, with probabilities divided by their sum, as scikit-learn has it."""

    name: ClassVar[str] = "one_vs_rest_shares"

    def probabilities(self, scores: Floats) -> Floats:
        return _shares(super().probabilities(scores))

    def _largest_words(self, classes: str) -> str:
        share = "The probability of each class is its share in the sum of 1 / (1 + exp(-score))."
        return f"The answer is the class whose score is largest: {classes}. {share}"


class Proportions(Link):
    """One score for each class, 0 or more; the probabilities are the shares in their sum.

    The scores of a forest are sums of the probabilities of its trees. Every node of the chain then answers
    with the average of the trees so far. A share below 1e-250 is that of the answer before the first tree,
    which has next to no weight; it is exactly 0.
    """

    name: ClassVar[str] = "proportions"
    has_probabilities: ClassVar[bool] = True
    has_confidence: ClassVar[bool] = True
    chances: ClassVar[int] = BY_SHARES

    def probabilities(self, scores: Floats) -> Floats:
        shares = _shares(scores)
        return np.where(shares < _NO_SHARE, 0.0, shares)

    def confidence(self, scores: Floats) -> Floats:
        top, total = scores[:, 0], np.zeros(len(scores))
        for output in range(scores.shape[1]):
            top = np.maximum(top, scores[:, output])
            total += scores[:, output]
        even = np.full(len(scores), 1.0 / scores.shape[1])
        return np.divide(top, total, out=even, where=total > 0.0)

    def _largest_words(self, classes: str) -> str:
        share = "Its probability is its share in the sum of the scores."
        return f"The answer is the class whose score is largest: {classes}. {share}"


class Sign(Link):
    """One score: the second class where it is above zero."""

    name: ClassVar[str] = "sign"
    outputs: ClassVar[int | None] = 1


class Largest(Link):
    """One score for each class, without probabilities."""

    name: ClassVar[str] = "largest"

    def _largest_words(self, classes: str) -> str:
        return f"The answer is the class whose score is largest: {classes}."


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


def _shares(parts: Floats) -> Floats:
    """Parts (n, n_classes) divided by their sum; equal shares where it is zero."""
    total = parts.sum(axis=1, keepdims=True)
    even = np.full_like(parts, 1.0 / parts.shape[1])
    return np.divide(parts, total, out=even, where=total > 0.0)


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
    n_classes = Votes().n_labels(scores.shape[1])
    count = np.zeros((len(scores), n_classes))
    begin = 0
    for i in range(n_classes - 1):  # the pairs of class i with all after it are next to each other
        end = begin + n_classes - 1 - i
        first = scores[:, begin:end] > 0
        count[:, i] += first.sum(axis=1)
        count[:, i + 1 :] += ~first
        begin = end
    return count
