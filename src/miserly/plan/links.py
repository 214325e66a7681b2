"""From scores to answers: identity, logistic, softmax, sign, votes.

`exp` is written out in plain operations so that compiled code, NumPy and single-example stepping give the
same bits: the libraries' own exponentials differ in the last place.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from miserly.errors import PlanError

__all__ = ["LINKS", "confidence", "exp", "labels", "n_labels", "pairs_of", "probabilities", "votes"]

LINKS = ("identity", "logistic", "softmax", "sign", "votes")

_LOG2E = 1.4426950408889634
_LN2_HIGH = 6.93147180369123816490e-01
_LN2_LOW = 1.90821492927058770002e-10


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


def probabilities(link: str, scores: NDArray[np.float64]) -> NDArray[np.float64]:
    """Class probabilities (n, classes) from scores (n, outputs)."""
    if link == "logistic":
        positive = 1.0 / (1.0 + exp(-scores[:, 0]))
        return np.column_stack([1.0 - positive, positive])
    if link == "softmax":
        weight = exp(scores - scores.max(axis=1, keepdims=True))
        return weight / weight.sum(axis=1, keepdims=True)
    raise PlanError(f"a plan with link {link!r} has no class probabilities")


def confidence(link: str, scores: NDArray[np.float64]) -> NDArray[np.float64]:
    """The probability of the most probable class, summed in the order compiled code uses."""
    if link == "logistic":
        positive = 1.0 / (1.0 + exp(-scores[:, 0]))
        return np.maximum(positive, 1.0 - positive)
    top = scores.max(axis=1)
    parts = exp(scores - top[:, None])
    total = np.zeros(len(scores))
    for output in range(scores.shape[1]):
        total += parts[:, output]
    return 1.0 / total


def labels(link: str, scores: NDArray[np.float64], classes: NDArray[Any] | None) -> NDArray[Any]:
    """The answer in the user's terms: a number for identity, else a class."""
    if link == "identity":
        return scores[:, 0] if scores.shape[1] == 1 else scores
    if link == "votes":
        scores = votes(scores)
    index = scores.argmax(axis=1) if scores.shape[1] > 1 else (scores[:, 0] > 0).astype(np.int64)
    return index if classes is None else classes[index]


def n_labels(link: str, n_outputs: int) -> int:
    """How many classes there are to so many outputs.

    >>> n_labels("logistic", 1), n_labels("softmax", 3), n_labels("votes", 6)
    (2, 3, 4)
    """
    if link != "votes":
        return max(2, n_outputs)
    n_classes = round((1 + np.sqrt(1 + 8 * n_outputs)) / 2)
    if n_classes < 3 or n_classes * (n_classes - 1) != 2 * n_outputs:
        raise PlanError(
            f"link 'votes' needs one output for each pair of three or more classes, not {n_outputs}"
        )
    return n_classes


def pairs_of(n_classes: int) -> list[tuple[int, int]]:
    """The pairs of classes, in the order of the scores that `votes` counts.

    >>> pairs_of(3)
    [(0, 1), (0, 2), (1, 2)]
    """
    return [(i, j) for i in range(n_classes) for j in range(i + 1, n_classes)]


def votes(scores: NDArray[np.float64]) -> NDArray[np.float64]:
    """How many pairs each class wins, (n, classes): a positive score is a vote for the first of its pair.

    Who has most votes is the answer, the first of them if there are several: one against one, as LibSVM does.

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
