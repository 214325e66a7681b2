"""Squared-hinge SVMs whose columns keep changing, and how a loss on other rows depends on every value.

The SVM minimises over weights w and bias b, on rows i with labels y_i = -1 or 1 and weights m_i,

    1/2 |w - p|^2 + C/2 sum_i m_i max(0, 1 - y_i J_i)^2,      J_i = w . phi_i + b

(thesis 2.2, eq. 2.21 and 2.26, where the prior p is 0). Rows with y_i J_i < 1 are its *support*. The outer
loss looks at other rows,

    loss = sum_j m_j / (1 + exp(slope y_j J_j)) / sum_j m_j                                   (eq. 2.25)

and depends on every value of the representation twice: directly on the rows it looks at, and through (w, b)
on the support. The thesis omits y_j in (2.25), and `slope` and m_j in its derivative; they are meant.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import LinAlgError, cho_factor, cho_solve
from scipy.special import expit

__all__ = ["Margin", "Slopes", "outer_loss", "outer_slopes"]

Floats: TypeAlias = NDArray[np.float64]

MAX_STEPS = 100
ARMIJO = 1e-4  # the share of the fall expected from the slope that a step must bring
REBUILD = 0.25  # share of changed rows or columns from which the whole Gram is computed again


class Margin:
    """A squared-hinge SVM that is solved repeatedly while its columns change.

    Newton's method on the primal: where the support is known the problem is one linear system, and steps that
    change the support go through a line search. The Gram of the support is kept from one solution to the
    next, and only what changed (columns, rows that joined or left) is worked into it.

    Parameters
    ----------
    sign, weight : arrays of (n,)
        The label of each row, -1 or 1, and what it counts.
    C : float
        May be set to another value between solutions, and so may `prior`, the weights that cost nothing (0
        for new columns).

    Attributes
    ----------
    w : array of (S,)
    b : float
    decision : array of (n,)
        J on the rows, as of the last `solve`.

    Examples
    --------
    >>> columns = np.array([[-2.0, -1.0, 1.0, 2.0]])      # one dimension, four rows
    >>> svm = Margin(np.array([-1.0, -1.0, 1.0, 1.0]), np.ones(4))
    >>> svm.solve(columns)
    >>> svm.w.round(3).tolist(), round(svm.b, 9)          # w = 2 C (1 - w), from the rows at -1 and 1
    ([0.667], 0.0)
    """

    def __init__(self, sign: Floats, weight: Floats, C: float = 1.0) -> None:
        self.sign = sign
        self.weight = weight
        self.C = C
        self.w = np.zeros(0)
        self.prior = np.zeros(0)
        self.b = 0.0
        self.decision = np.zeros(len(sign))
        self.support = np.zeros(len(sign), dtype=np.bool_)
        self._gram = np.zeros((2, 2))  # of the columns, ones and the labels, over the support

    def solve(self, columns: Floats, changed: list[int] | None = None) -> None:
        """Solve for columns (S, n), of which the `changed` ones and new ones differ from the last time."""
        self._take(columns, changed)
        self.decision = self.w @ columns + self.b
        self._move_support(columns, self.sign * self.decision < 1.0)
        for _ in range(MAX_STEPS):
            target = self._solution()
            decision = target[:-1] @ columns + target[-1]
            length = self._search(target, decision)
            if length == 0.0:
                return
            self.w = self.w + length * (target[:-1] - self.w)
            self.b = float(self.b + length * (target[-1] - self.b))
            self.decision = decision if length == 1.0 else self.decision + length * (decision - self.decision)
            if not self._move_support(columns, self.sign * self.decision < 1.0) and length == 1.0:
                return

    def objective(self) -> float:
        return self._objective(self.w, self.decision)

    def back_solve(self, right: Floats) -> Floats:
        """M^-1 right, with ``M = C^-1 H`` and H the Hessian of the objective by (w, b)."""
        system = self._gram[:-1, :-1].copy()
        places = np.arange(len(system) - 1)
        system[places, places] += 1.0 / self.C
        try:
            return np.asarray(cho_solve(cho_factor(system, lower=True, check_finite=False), right))
        except LinAlgError:  # no support is left on the way to the solution, and any bias will do
            return np.asarray(np.linalg.lstsq(system, right, rcond=None)[0])

    # -- one step --------------------------------------------------------------------------------------

    def _solution(self) -> Floats:
        """(w, b) of least objective if the support stays as it is."""
        return self.back_solve(self._gram[:-1, -1] + np.append(self.prior / self.C, 0.0))

    def _objective(self, w: Floats, decision: Floats) -> float:
        short = np.maximum(0.0, 1.0 - self.sign * decision)
        return float(0.5 * (w - self.prior) @ (w - self.prior) + 0.5 * self.C * (self.weight * short) @ short)

    def _search(self, target: Floats, decision: Floats) -> float:
        """How far to go towards `target`: all the way, or halves of it until the objective falls enough."""
        before = self._objective(self.w, self.decision)
        way, change = target[:-1] - self.w, decision - self.decision
        short = np.maximum(0.0, 1.0 - self.sign * self.decision)
        slope = float((self.w - self.prior) @ way - self.C * (self.weight * self.sign * short) @ change)
        if slope > -1e-15 * max(1.0, before):
            return 0.0
        length = 1.0
        while length > 1e-10:
            after = self._objective(self.w + length * way, self.decision + length * change)
            if after <= before + ARMIJO * length * slope:
                return length
            length /= 2.0
        return 0.0

    # -- the Gram --------------------------------------------------------------------------------------

    def _take(self, columns: Floats, changed: list[int] | None) -> None:
        """Make room for new columns, and bring the Gram up to date with values that changed."""
        known, size = len(self.w), len(columns)
        stale = sorted(set(range(known, size)) | set(range(known) if changed is None else changed))
        self.prior = np.concatenate([self.prior, np.zeros(size - len(self.prior))])
        self.w = np.concatenate([self.w, self.prior[known:]])
        gram = np.zeros((size + 2, size + 2))
        kept = [*range(known), size, size + 1]
        gram[np.ix_(kept, kept)] = self._gram
        self._gram = gram
        if len(stale) > max(2, REBUILD * size):
            self._rebuild(columns)
            return
        counts = self.weight * self.support
        for s in stale:
            weighted = counts * columns[s]
            gram[s, :size] = columns @ weighted
            gram[s, size:] = weighted.sum(), weighted @ self.sign
            gram[:, s] = gram[s]

    def _move_support(self, columns: Floats, support: NDArray[np.bool_]) -> bool:
        """Let rows join and leave the support; gives whether any did."""
        moved = np.flatnonzero(support != self.support)
        if not len(moved):
            return False
        joins = support[moved]
        self.support = support
        if len(moved) > REBUILD * len(support):
            self._rebuild(columns)
        else:
            rows = self._extended(columns, moved)
            self._gram += (rows * np.where(joins, self.weight[moved], -self.weight[moved])) @ rows.T
        return True

    def _rebuild(self, columns: Floats) -> None:
        rows = self._extended(columns, np.flatnonzero(self.support))
        rows *= np.sqrt(self.weight[self.support])
        self._gram = rows @ rows.T

    def _extended(self, columns: Floats, rows: NDArray[np.int64]) -> Floats:
        """Columns, ones and labels of some rows."""
        return np.vstack([columns[:, rows], np.ones(len(rows)), self.sign[rows]])


def outer_loss(sign: Floats, weight: Floats, decision: Floats, slope: float) -> float:
    """The smooth share of errors: the weighted mean of ``1 / (1 + exp(slope y J))``."""
    return float(np.average(expit(-slope * sign * decision), weights=weight))


@dataclass(frozen=True, eq=False)
class Slopes:
    """The outer loss, and its derivatives by C and by every value of the representation."""

    loss: float
    by_C: float
    svm: Margin
    adjoint: Floats  # (S + 1,)
    reach: Floats  # adjoint . [phi_i; 1] on the rows of the SVM
    by_decision: Floats  # of the outer rows

    def of(self, s: int) -> tuple[Floats, Floats]:
        """The derivatives by dimension `s` of each row of the SVM, and of each outer row."""
        svm = self.svm
        inner = self.adjoint[s] * (svm.sign - svm.decision) - svm.w[s] * self.reach
        return svm.weight * svm.support * inner, svm.w[s] * self.by_decision


def outer_slopes(
    svm: Margin, columns: Floats, outer: Floats, sign: Floats, weight: Floats, slope: float
) -> Slopes:
    """Differentiate the outer loss through the solution of the SVM, by one solve with its Hessian.

    Parameters
    ----------
    svm : Margin
        Solved for `columns`.
    columns, outer : arrays of (S, n) and (S, m)
        The representation of the rows of the SVM and of those the outer loss looks at.
    sign, weight : arrays of (m,)
        Of the outer rows.

    Notes
    -----
    With g the derivatives by J of the outer rows, ``M [w; b] = z`` the system of the SVM's solution and
    ``v = M^-1 [Phi' g; sum g]``: the derivatives by dimension s are ``g w_s`` on the outer rows,
    ``m_i (v_s (y_i - J_i) - (v . [phi_i; 1]) w_s)`` on the support and 0 elsewhere, and that by C is
    ``v_w . (w - p) / C^2``. Rows on the very edge of the margin have one-sided derivatives only.
    """
    decision = svm.w @ outer + svm.b
    error = expit(-slope * sign * decision)
    share = weight / weight.sum()
    by_decision = -slope * share * sign * error * (1.0 - error)
    adjoint = svm.back_solve(np.append(outer @ by_decision, by_decision.sum()))
    reach = adjoint[:-1] @ columns + adjoint[-1]
    by_C = float(adjoint[:-1] @ (svm.w - svm.prior)) / svm.C**2
    return Slopes(float(share @ error), by_C, svm, adjoint, reach, by_decision)
