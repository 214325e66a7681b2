"""Links that are computed in float32, as XGBoost does it.

XGBoost rounds after every operation, so small probabilities differ by more than 1e-6 from those in float64:
the difference of two scores is rounded before its exponential, and the probability of the first of two
classes is one minus the rounded probability of the second. Labels are compared after rounding, too. A score
just above zero gives exactly one half, which is the first class.

The exponential is computed in float64 and rounded once, which is within one unit of every good ``expf``.
"""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from miserly.plan.class_links import LogisticLink, Softmax
from miserly.plan.exponential import exp
from miserly.plan.link_base import pick
from miserly.plan.number_links import Exponential, Share

__all__ = ["SingleExponential", "SingleLogistic", "SingleShare", "SingleSoftmax"]

Floats = NDArray[np.float64]
Singles = NDArray[np.float32]

_ONE = np.float32(1.0)
_MOST = np.float32(88.7)  # the largest argument, so that no exponential is infinite
_GAP = 1e-6  # scores that are further apart give different probabilities


def _rounded(numbers: Any) -> Singles:
    with np.errstate(over="ignore", under="ignore"):
        return np.asarray(numbers).astype(np.float32)


def _exp(numbers: Singles) -> Singles:
    """The exponential of float32 numbers, rounded once."""
    return _rounded(exp(numbers.astype(np.float64)))


def _share(scores: Floats) -> Singles:
    """``1 / (1 + exp(-score))`` of scores (n,)."""
    return np.asarray(_ONE / (_exp(np.minimum(-_rounded(scores), _MOST)) + _ONE))


class SingleLogistic(LogisticLink):
    """As `LogisticLink`, in float32. The second class is the answer where its probability is above a half."""

    name: ClassVar[str] = "logistic_single"
    in_double: ClassVar[str] = "logistic"
    label_gap: ClassVar[float] = _GAP

    def probabilities(self, scores: Floats) -> Floats:
        positive = _share(scores[:, 0])
        return np.column_stack([_ONE - positive, positive]).astype(np.float64)

    def labels(self, scores: Floats, classes: NDArray[Any] | None) -> NDArray[Any]:
        return pick((_share(scores[:, 0]) > 0.5).astype(np.int64), classes)


class SingleSoftmax(Softmax):
    """As `Softmax`, in float32. The answer is the first of the classes with the largest probability."""

    name: ClassVar[str] = "softmax_single"
    in_double: ClassVar[str] = "softmax"
    label_gap: ClassVar[float] = _GAP

    def probabilities(self, scores: Floats) -> Floats:
        single = _rounded(scores)
        parts = _exp(single - single.max(axis=1, keepdims=True))
        total = np.zeros(len(parts))
        for k in range(parts.shape[1]):
            total += parts[:, k]
        return np.asarray(parts / _rounded(total)[:, None]).astype(np.float64)

    def labels(self, scores: Floats, classes: NDArray[Any] | None) -> NDArray[Any]:
        return pick(self.probabilities(scores).argmax(axis=1), classes)


class SingleExponential(Exponential):
    """As `Exponential`, in float32."""

    name: ClassVar[str] = "exp_single"
    in_double: ClassVar[str] = "exp"

    def numbers(self, scores: Floats) -> Floats:
        return _exp(_rounded(scores)).astype(np.float64)


class SingleShare(Share):
    """As `Share`, in float32."""

    name: ClassVar[str] = "share_single"
    in_double: ClassVar[str] = "share"

    def numbers(self, scores: Floats) -> Floats:
        return _share(scores).astype(np.float64)
