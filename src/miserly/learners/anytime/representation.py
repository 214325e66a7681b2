"""The representation that tells one class from the rest: dimensions made of trees, and the SVM on top."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from miserly.data.holdout import validation_mask
from miserly.data.rows import Rows
from miserly.grow import Grown
from miserly.solvers.margin import Margin, Slopes, outer_loss, outer_slopes

__all__ = ["Division", "OneVsRest", "Parts"]

Floats: TypeAlias = NDArray[np.float64]

SLOPE = 5.0  # of the smooth share of errors, as in the thesis
FIRST_C = 0.01
C_STEP = np.e  # by what C is multiplied or divided
C_STEPS = 6  # after each block, at most
C_RANGE = (1e-8, 1e4)


@dataclass(frozen=True)
class Parts:
    """Where the parts of the rows are: inner ones first, then outer ones, then those aside."""

    n_inner: int
    n_outer: int
    n_aside: int

    @property
    def inner(self) -> slice:
        return slice(0, self.n_inner)

    @property
    def outer(self) -> slice:
        return slice(self.n_inner, self.n_inner + self.n_outer)

    @property
    def learning(self) -> slice:
        """Inner and outer rows."""
        return slice(0, self.n_inner + self.n_outer)

    @property
    def aside(self) -> slice:
        return slice(self.n_inner + self.n_outer, self.n_inner + self.n_outer + self.n_aside)


@dataclass(frozen=True, eq=False)
class Division:
    """One way to divide rows: their numbers in the order of the parts, and the seed that drew it."""

    order: NDArray[np.int64]
    parts: Parts
    seed: int

    @classmethod
    def of(cls, samples: Rows, validation_fraction: float, seed: int) -> Division:
        """Some rows aside, the others in halves; the rows of a query stay together."""
        aside = validation_mask(len(samples), validation_fraction, seed, samples.y, samples.qid)
        rest = np.flatnonzero(~aside)
        qid = None if samples.qid is None else samples.qid[rest]
        outer = validation_mask(len(rest), 0.5, seed + 1, samples.y[rest], qid)
        parts = [rest[~outer], rest[outer], np.flatnonzero(aside)]
        return cls(np.concatenate(parts), Parts(*(len(part) for part in parts)), seed)

    @property
    def aside(self) -> NDArray[np.int64]:
        return self.order[self.parts.aside]


class OneVsRest:
    """One class against the rest.

    Attributes
    ----------
    sign, weight : arrays of (n,)
    boosted : array of (n,)
        The scores of Greedy Miser's rounds so far.
    dimension : list of int
        The dimension that each tree belongs to, in the order the trees were grown.
    svm : Margin
        Solved on the inner rows.
    """

    def __init__(self, sign: Floats, weight: Floats, parts: Parts) -> None:
        self.sign, self.weight, self.parts = sign, weight, parts
        self.svm, self._final = (
            Margin(sign[rows], weight[rows], FIRST_C) for rows in (parts.inner, parts.learning)
        )
        self.dimension: list[int] = []
        self._values = np.zeros((0, len(sign)))
        self._size = 0
        self._changed: set[int] = set()  # since `_final` was solved
        self.svm.solve(self._of(parts.inner))
        self.base = self.svm.b
        self.boosted = np.full(len(sign), self.base)
        self._forgotten = 0

    # -- the representation ------------------------------------------------------------------------------

    def widen(self, weight: float) -> int:
        """One more dimension, of nothing, that should weigh so much; gives its number."""
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

    def forget(self) -> None:
        """Begin anew with an empty representation: the trees so far weigh nothing from now on."""
        self._forgotten = len(self.dimension)
        self.boosted = np.full(len(self.sign), self.base)
        self._size = 0
        self._changed.clear()
        self.svm, self._final = (Margin(svm.sign, svm.weight, self.svm.C) for svm in (self.svm, self._final))
        self.svm.solve(self._of(self.parts.inner))

    def restore(self, s: int, values: Floats, n_trees: int) -> None:
        """Go back to what dimension `s` was when there were `n_trees`."""
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
        """What the margins of all rows lack, with the sign of the class."""
        decision = self.decision(slice(None))
        return np.asarray(self.sign * np.maximum(0.0, 1.0 - self.sign * decision))

    def short(self, decision: Floats) -> Floats:
        """The square of what the margin of each row aside lacks, times its weight over the mean weight."""
        aside = self.parts.aside
        weight = self.weight[aside]
        return np.asarray(np.maximum(0.0, 1.0 - self.sign[aside] * decision) ** 2 * weight / weight.mean())

    def shortage(self, decision: Floats) -> float:
        """The mean square of what margins of rows aside lack, if these are their decisions."""
        return float(self.short(decision).mean())

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
        """Move C by factors while the margins of rows aside lack less and less."""
        aside = self.parts.aside
        best, start = self.shortage(self.decision(aside)), self.svm.C
        C = start
        for factor in (C_STEP, 1.0 / C_STEP):
            for _ in range(C_STEPS):
                self.svm.C = float(np.clip(C * factor, *C_RANGE))
                self._solve()
                short = self.shortage(self.decision(aside))
                if short >= best:
                    break
                best, C = short, self.svm.C
            if start != C:
                break
        self.svm.C = C
        self._solve()

    def settled(self) -> tuple[Floats, float, Floats]:
        """The weight of each tree and the bias, solved on inner and outer rows; decisions on those aside."""
        self._final.C = self.svm.C
        self._final.solve(self._of(self.parts.learning), sorted(self._changed))
        self._changed.clear()
        w, b = self._final.w, self._final.b
        weights = np.zeros(len(self.dimension))
        weights[self._forgotten :] = w[self.dimension[self._forgotten :]]
        return weights, b, w @ self._of(self.parts.aside) + b
