"""The cost-weighted lasso: linear scores that pay for the columns they weigh.

With columns ``x_i`` (of T terms), weights ``B`` (T, K) for K scores and free intercepts ``b``, minimise

    mean_i weight_i loss(B' x_i + b, y_i)
        + sum_a each_a |B_a|  +  sum_g setup_g |B_g|

where ``|B_a|`` is the Euclidean norm over the scores of column `a` (with one score the absolute value: the
plain weighted lasso) and ``|B_g|`` that over all weights of the columns of group `g`. A set-up is paid once
for any column of its group, so it is relaxed as one norm over the group, on top of the columns' own. If no
column is in two groups, the norms are nested, so the proximal step is exact: first the columns, then the
groups (Jenatton et al. 2011). Where groups overlap, these steps are repeated on the dual until they converge.
Columns that cost nothing are not penalised.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression

from miserly.losses import PointwiseLoss, Squared
from miserly.solvers.columns import MAX_COLUMNS, check_width, shares

__all__ = ["LassoWeights", "Penalty", "cost_lasso", "refit"]

Floats: TypeAlias = NDArray[np.float64]

SQUARED = Squared()
DUAL_STEPS, DUAL_TOLERANCE = 1000, 1e-13  # of the proximal step where groups overlap
RIDGE = 1e-4  # of a refit, in units of the mean loss: separable classes have no finite fit without


@dataclass(frozen=True, eq=False)
class Penalty:
    """What weighing a column costs: its own price, and the set-ups of its groups.

    `group` has the group of each column (T,), or all groups (T, m) as in `Costs.memberships`; -1 is no group.
    """

    each: Floats
    group: NDArray[np.int64]
    setup: Floats

    @cached_property
    def members(self) -> list[NDArray[np.int64]]:
        """The columns of each group."""
        table = self.group.reshape(len(self.each), -1)
        return [np.flatnonzero((table == g).any(axis=1)) for g in range(len(self.setup))]

    @cached_property
    def _one_each(self) -> NDArray[np.int64] | None:
        """The group of each column, if none has several."""
        table = self.group.reshape(len(self.each), -1)
        return table[:, 0] if table.shape[1] == 1 or (table[:, 1:] < 0).all() else None

    def times(self, factor: float) -> Penalty:
        return replace(self, each=self.each * factor, setup=self.setup * factor)

    def value(self, weights: Floats) -> float:
        norms = self.each @ np.linalg.norm(weights, axis=1)
        return float(norms + self.setup @ self._group_norms(weights))

    def shrink(self, weights: Floats, step: float) -> Floats:
        """The proximal step: each column, then each group, drawn to zero."""
        out = _toward_zero(weights, step * self.each, np.linalg.norm(weights, axis=1))
        if not len(self.setup):
            return out
        group = self._one_each
        if group is None:
            return self._shrink_overlapping(weights, step)
        pull = np.where(group < 0, 0.0, step * self.setup[group])
        return _toward_zero(out, pull, self._group_norms(out)[group])

    def _shrink_overlapping(self, weights: Floats, step: float) -> Floats:
        """The proximal step for any groups: ascent of its dual, one norm after the other, small ones first.

        Each norm takes from the weights what lies in its ball of radius ``step * price``.
        """
        order = sorted(range(len(self.setup)), key=lambda g: len(self.members[g]))
        out, single = weights.copy(), np.zeros_like(weights)
        taken = [np.zeros_like(weights[self.members[g]]) for g in order]
        smallest = DUAL_TOLERANCE * max(float(np.abs(weights).max(initial=0.0)), 1e-300)
        for _ in range(DUAL_STEPS):
            before = out.copy()
            given = out + single
            out = _toward_zero(given, step * self.each, np.linalg.norm(given, axis=1))
            single = given - out
            for k, g in enumerate(order):
                block = out[self.members[g]] + taken[k]
                norm = float(np.linalg.norm(block))
                radius = step * self.setup[g]
                kept = block * (1.0 - radius / norm) if norm > radius else np.zeros_like(block)
                taken[k], out[self.members[g]] = block - kept, kept
            if np.abs(out - before).max(initial=0.0) <= smallest:
                break
        return out

    def _group_norms(self, weights: Floats) -> Floats:
        group = self._one_each
        if group is None:
            return np.array([np.linalg.norm(weights[members]) for members in self.members])
        inside = group >= 0
        square = (weights[inside] ** 2).sum(axis=1)
        return np.sqrt(np.bincount(group[inside], weights=square, minlength=len(self.setup)))


def _toward_zero(weights: Floats, pull: Floats, norm: Floats) -> Floats:
    left = np.where(norm > pull, 1.0 - np.divide(pull, norm, out=np.zeros_like(pull), where=norm > 0), 0.0)
    return np.where(pull == 0.0, 1.0, left)[:, None] * weights


@dataclass(frozen=True, eq=False)
class LassoWeights:
    """Weights (T, K) and intercepts (K,)."""

    weights: Floats
    intercept: Floats

    @property
    def chosen(self) -> NDArray[np.int64]:
        """The columns that are weighed at all."""
        return np.flatnonzero((self.weights != 0.0).any(axis=1))


# -- solving -----------------------------------------------------------------------------------------------


def cost_lasso(
    columns: Floats,
    y: NDArray[np.float64],
    penalty: Penalty,
    *,
    loss: PointwiseLoss = SQUARED,
    weight: Floats | None = None,
    start: LassoWeights | None = None,
    tolerance: float = 1e-7,
    max_steps: int = 10_000,
) -> LassoWeights:
    """Minimise the objective of this module by accelerated proximal steps, from `start` if one is given.

    Steps end when none of the weights would move by more than `tolerance` of the largest.

    Examples
    --------
    The second column says the same at half the price:

    >>> x = np.array([-1.0, 1.0, -1.0, 1.0])
    >>> penalty = Penalty(np.array([0.2, 0.1]), np.array([-1, -1]), np.zeros(0))
    >>> cost_lasso(np.column_stack([x, x]), 3 * x, penalty).weights.ravel().round(6).tolist()
    [0.0, 2.9]
    """
    gradient, shape, steepest = _problem(columns, y, loss, weight)
    step = 1.0 / steepest
    here = np.zeros(shape) if start is None else np.vstack([start.weights, start.intercept])
    ahead, momentum = here, 1.0
    for _ in range(max_steps):
        slope = gradient(ahead)
        new = ahead - step * slope
        new[:-1] = penalty.shrink(new[:-1], step)
        moved = new - here
        if np.abs(new - ahead).max() <= tolerance * max(np.abs(new).max(), 1e-30):
            return LassoWeights(new[:-1], new[-1])
        if np.sum((ahead - new) * moved) > 0.0:  # the momentum leads uphill: restart it
            momentum = 1.0
        next_momentum = 0.5 * (1.0 + np.sqrt(1.0 + 4.0 * momentum**2))
        ahead = new + ((momentum - 1.0) / next_momentum) * moved
        here, momentum = new, next_momentum
    warnings.warn(f"weights still move after {max_steps} steps", ConvergenceWarning, stacklevel=2)
    return LassoWeights(here[:-1], here[-1])


def refit(
    columns: Floats,
    y: NDArray[np.float64],
    found: LassoWeights,
    *,
    loss: PointwiseLoss = SQUARED,
    weight: Floats | None = None,
) -> LassoWeights:
    """The weights that fit best on the columns chosen, without any price (debiasing).

    Least squares for the squared loss; for the others a ridge of 1e-4 keeps separable classes finite.
    """
    chosen = found.chosen
    if not len(chosen):
        return found
    share = shares(weight, len(y))
    some = columns[:, chosen]
    if loss.least_squares:
        root = np.sqrt(share)
        with_one = np.column_stack([some, np.ones(len(y))]) * root[:, None]
        *inner, intercept = np.linalg.lstsq(with_one, root * y, rcond=None)[0]
        fitted = np.array(inner)[:, None], np.array([intercept])
    else:
        model = LogisticRegression(C=1.0 / RIDGE, solver="newton-cholesky", tol=1e-10, max_iter=200)
        model.fit(some, y, sample_weight=share)
        fitted = model.coef_.T, model.intercept_
    weights = np.zeros_like(found.weights)
    weights[chosen] = fitted[0]
    return LassoWeights(weights, fitted[1])


def _problem(
    columns: Floats, y: NDArray[np.float64], loss: PointwiseLoss, weight: Floats | None
) -> tuple[Callable[[Floats], Floats], tuple[int, int], float]:
    """The gradient by weights with the intercepts as last row, their shape, and the steepest curvature.

    Where columns are more than a matrix of columns by columns may have, one of rows by rows stands in.
    """
    share = shares(weight, len(y))
    with_one = np.column_stack([columns, np.ones(len(y))])
    wide = with_one.shape[1] > MAX_COLUMNS
    if wide:
        check_width(len(y))
        root = np.sqrt(share)[:, None] * with_one
        gram = root @ root.T  # its eigenvalues other than 0 are the same
    else:
        gram = (with_one * share[:, None]).T @ with_one
    steepest = loss.max_curvature * float(np.linalg.eigvalsh(gram)[-1])
    if loss.least_squares and not wide:
        right = with_one.T @ (share * y)[:, None]
        return lambda weights: gram @ weights - right, right.shape, steepest

    def gradient(weights: Floats) -> Floats:
        return with_one.T @ (share[:, None] * loss.gradient(y, with_one @ weights))

    return gradient, (with_one.shape[1], loss.n_scores), steepest
