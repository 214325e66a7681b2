"""The representation of one class against the rest: dimensions made of trees, and an SVM on them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from miserly.data.rows import Rows, validation_mask
from miserly.grow import Grown
from miserly.solvers.margin import Margin, Slopes, outer_loss, outer_slopes

__all__ = ["Division", "OneVsRest", "Parts"]

Floats: TypeAlias = NDArray[np.float64]

SLOPE = 5.0  # of the smooth error rate, as in the thesis
FIRST_C = 0.01
C_FACTOR = np.e  # by which C is multiplied or divided
C_STEPS = 6  # largest number of changes after each block
C_RANGE = (1e-8, 1e4)


@dataclass(frozen=True)
class Parts:
    """Places of the parts of the rows: inner rows first, then outer rows, then validation rows."""

    n_inner: int
    n_outer: int
    n_validation: int

    @property
    def inner(self) -> slice:
        return slice(0, self.n_inner)

    @property
    def outer(self) -> slice:
        return slice(self.n_inner, self.n_inner + self.n_outer)

    @property
    def training(self) -> slice:
        """Inner and outer rows."""
        return slice(0, self.n_inner + self.n_outer)

    @property
    def validation(self) -> slice:
        return slice(self.n_inner + self.n_outer, self.n_inner + self.n_outer + self.n_validation)


@dataclass(frozen=True, eq=False)
class Division:
    """A division of the rows: their numbers in the order of the parts, and the random seed."""

    order: NDArray[np.int64]
    parts: Parts
    seed: int

    @classmethod
    def of(cls, samples: Rows, validation_fraction: float, seed: int) -> Division:
        """Draw the validation rows, and divide the others in halves. The rows of a query stay together."""
        held_out = validation_mask(len(samples), validation_fraction, seed, samples.y, samples.qid)
        rest = np.flatnonzero(~held_out)
        qid = None if samples.qid is None else samples.qid[rest]
        outer = validation_mask(len(rest), 0.5, seed + 1, samples.y[rest], qid)
        parts = [rest[~outer], rest[outer], np.flatnonzero(held_out)]
        return cls(np.concatenate(parts), Parts(*(len(part) for part in parts)), seed)

    @property
    def validation(self) -> NDArray[np.int64]:
        """Numbers of the validation rows."""
        return self.order[self.parts.validation]


class OneVsRest:
    """One class against the rest.

    Attributes
    ----------
    sign : array of (n,)
        1 for rows of the class, -1 for others.
    weight : array of (n,)
        Weights of the rows.
    boosted : array of (n,)
        Scores of the rounds of Greedy Miser so far.
    dimension : list of int
        Dimension of each tree, in the order the trees were grown.
    svm : Margin
        The SVM, solved on the inner rows.
    """

    def __init__(self, sign: Floats, weight: Floats, parts: Parts) -> None:
        self.sign, self.weight, self.parts = sign, weight, parts
        self.svm, self._final = (
            Margin(sign[rows], weight[rows], FIRST_C) for rows in (parts.inner, parts.training)
        )
        self.dimension: list[int] = []
        self._values = np.zeros((0, len(sign)))
        self._size = 0
        self._changed: set[int] = set()  # dimensions that changed since `_final` was solved
        self.svm.solve(self._of(parts.inner))
        self.base = self.svm.b
        self.boosted = np.full(len(sign), self.base)
        self._n_unused = 0

    # -- the representation ------------------------------------------------------------------------------

    def widen(self, weight: float) -> int:
        """Add a dimension of zeros whose weight shrinks towards `weight`; returns its number."""
        if self._size == len(self._values):
            more = np.zeros((max(8, len(self._values)), self._values.shape[1]))
            self._values = np.concatenate([self._values, more])
        for svm in (self.svm, self._final):
            svm.prior = np.append(svm.prior, weight)
        self._values[self._size] = 0.0
        self._size += 1
        self._changed.add(self._size - 1)
        return self._size - 1

    def grow(self, s: int, grown: Grown) -> None:
        """Add a tree to dimension `s`, and solve the SVM again."""
        self._values[s] += grown.tree.value[grown.leaf]
        self.dimension.append(s)
        self._solve(s)

    def clear(self) -> None:
        """Start again with an empty representation: the weights of all trees so far become 0."""
        self._n_unused = len(self.dimension)
        self.boosted = np.full(len(self.sign), self.base)
        self._size = 0
        self._changed.clear()
        self.svm, self._final = (Margin(svm.sign, svm.weight, self.svm.C) for svm in (self.svm, self._final))
        self.svm.solve(self._of(self.parts.inner))

    def restore(self, s: int, values: Floats, n_trees: int) -> None:
        """Return dimension `s` to its values when there were `n_trees` trees."""
        self._values[s] = values
        del self.dimension[n_trees:]
        self._solve(s)

    @property
    def n_dimensions(self) -> int:
        return self._size

    def values(self, s: int) -> Floats:
        return self._values[s]

    def _of(self, rows: slice) -> Floats:
        return self._values[: self._size, rows]

    # -- the SVM -----------------------------------------------------------------------------------------

    def _solve(self, *changed: int) -> None:
        self._changed.update(changed)
        self.svm.solve(self._of(self.parts.inner), list(changed))

    def decision(self, rows: slice) -> Floats:
        return self.svm.w @ self._of(rows) + self.svm.b

    def residual(self) -> Floats:
        """What the margins of all rows lack to 1, with the sign of the class."""
        decision = self.decision(slice(None))
        return np.asarray(self.sign * np.maximum(0.0, 1.0 - self.sign * decision))

    def shortfall(self, decision: Floats) -> Floats:
        """Squares of what the margins of validation rows lack to 1, times relative weights."""
        rows = self.parts.validation
        weight = self.weight[rows]
        return np.asarray(np.maximum(0.0, 1.0 - self.sign[rows] * decision) ** 2 * weight / weight.mean())

    def mean_shortfall(self, decision: Floats) -> float:
        """The mean of `shortfall`: twice the squared hinge loss on the validation rows."""
        return float(self.shortfall(decision).mean())

    def slopes(self) -> Slopes:
        """The outer loss and its derivatives."""
        inner, outer = self.parts.inner, self.parts.outer
        return outer_slopes(
            self.svm, self._of(inner), self._of(outer), self.sign[outer], self.weight[outer], SLOPE
        )

    def outer_loss(self) -> float:
        outer = self.parts.outer
        return outer_loss(self.sign[outer], self.weight[outer], self.decision(outer), SLOPE)

    def tune(self) -> None:
        """Change C by factors as long as the loss on the validation rows falls."""
        rows = self.parts.validation
        best, start = self.mean_shortfall(self.decision(rows)), self.svm.C
        C = start
        for factor in (C_FACTOR, 1.0 / C_FACTOR):
            for _ in range(C_STEPS):
                self.svm.C = float(np.clip(C * factor, *C_RANGE))
                self._solve()
                loss = self.mean_shortfall(self.decision(rows))
                if loss >= best:
                    break
                best, C = loss, self.svm.C
            if start != C:
                break
        self.svm.C = C
        self._solve()

    def final_weights(self) -> tuple[Floats, float, Floats]:
        """Weights of the trees and bias, solved on inner and outer rows, and decisions on validation rows."""
        self._final.C = self.svm.C
        self._final.solve(self._of(self.parts.training), sorted(self._changed))
        self._changed.clear()
        w, b = self._final.w, self._final.b
        weights = np.zeros(len(self.dimension))
        weights[self._n_unused :] = w[self.dimension[self._n_unused :]]
        return weights, b, w @ self._of(self.parts.validation) + b
