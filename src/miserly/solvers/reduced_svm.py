"""Support vector machines grown vector by vector, up to a size (Keerthi, Chapelle & DeCoste 2006).

Minimises, over a set `J` of at most so many training rows, coefficients ``B`` (K, |J|) and intercepts ``b``,

    penalty / 2 sum_k B_k K_JJ B_k'  +  1/2 mean_i sum_k max(0, 1 - y_ik (K_iJ B_k' + b_k))^2

for `K` targets ``y`` of -1 and 1 that share their vectors. Greedy: in every step a few rows drawn at random
are candidates (59, so that one of them is among the best twentieth with 95 % certainty), and the one joins
that would lower the objective most by itself, as its slope and curvature have it. All coefficients are fitted
again by Newton's method at sizes that grow by a tenth.

For kernels that are not positive definite (sigmoid) ``K_JJ`` is lifted by as much as it lacks.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import LinAlgError, cho_factor, cho_solve, eigvalsh

from miserly.solvers.columns import shares
from miserly.solvers.kernel_machine import KernelFunction

__all__ = ["ReducedMachine", "reduced_svm"]

Floats = NDArray[np.float64]

N_CANDIDATES = 59
GROWTH = 1.1  # of sizes, from one fit of all coefficients to the next
MAX_NEWTON = 30
JITTER = 1e-10  # of the mean of the diagonal, so that equal vectors do no harm


@dataclass(frozen=True, eq=False)
class ReducedMachine:
    """A machine as it was when its coefficients were fitted: the first `size` vectors."""

    size: int
    coef: Floats  # (K, size)
    intercept: Floats  # (K,)
    objective: float


def reduced_svm(
    X: Floats,
    targets: Floats,
    kernel: KernelFunction,
    n_vectors: int,
    *,
    penalty: float,
    weight: Floats | None = None,
    candidates: NDArray[np.int64] | None = None,
    random: np.random.Generator,
    watch: Callable[[ReducedMachine], None] | None = None,
) -> tuple[NDArray[np.int64], list[ReducedMachine]]:
    """The rows chosen, in order, and a snapshot at every size at which all coefficients were fitted.

    Parameters
    ----------
    X : array of (n, d)
    targets : array of (n, K)
        -1 and 1.
    kernel : KernelFunction
    n_vectors : int
        How many to choose; fewer if there are fewer candidates.
    penalty : float
        Of the norm; the `C` of an SVM of `n` rows is ``1 / (penalty n)``.
    weight : array of (n,), optional
    candidates : array of row numbers, optional
        The rows that may become vectors; all by default.
    random : numpy Generator
    watch : callable, optional
        Called with every snapshot, the first one of size 0.

    Examples
    --------
    >>> X = np.array([[-2.0], [-1.0], [1.0], [2.0]])
    >>> chosen, snapshots = reduced_svm(X, np.sign(X), KernelFunction("rbf", gamma=0.5), 2, penalty=1e-3,
    ...                                 random=np.random.default_rng(0))
    >>> len(chosen), [snapshot.size for snapshot in snapshots]
    (2, [0, 1, 2])
    """
    growth = _Growth(X, targets, kernel, penalty, weight)
    left = np.arange(len(X)) if candidates is None else candidates
    n_vectors = min(n_vectors, len(left))
    stops = _stops(n_vectors)
    snapshots: list[ReducedMachine] = []
    for size in range(n_vectors + 1):
        if size:
            drawn = random.permutation(len(left))[:N_CANDIDATES]
            place = drawn[growth.best(left[drawn])]
            growth.add(int(left[place]))
            left = np.delete(left, place)
        if size in stops:
            snapshots.append(growth.fit())
            if watch is not None:
                watch(snapshots[-1])
    return np.array(growth.chosen, dtype=np.int64), snapshots


def _stops(n_vectors: int) -> set[int]:
    """Sizes at which everything is fitted again: powers of two, and others no more than a tenth apart."""
    stops, size = {0, n_vectors}, 1
    while size < n_vectors:
        stops.add(size)
        size = max(size + 1, int(GROWTH * size))
    return stops | {1 << k for k in range(n_vectors.bit_length()) if 1 << k <= n_vectors}


class _Growth:
    """The machine so far. Columns of the kernel are kept for the vectors chosen, (n, m)."""

    def __init__(
        self, X: Floats, targets: Floats, kernel: KernelFunction, penalty: float, weight: Floats | None
    ) -> None:
        n, n_targets = targets.shape
        self.X, self.targets, self.kernel, self.penalty = X, targets, kernel, penalty
        self.weight = shares(weight, n)
        self.chosen: list[int] = []
        self.columns = np.empty((n, 0), order="F")
        self.coef = np.zeros((n_targets, 0))
        self.intercept = np.zeros(n_targets)
        self.short = np.ones((n, n_targets))  # by how much rows fall short of the margin, if positive

    # -- growing -----------------------------------------------------------------------------------------

    def best(self, rows: NDArray[np.int64]) -> int:
        """Which of some candidate rows lowers the objective most, by one Newton step of its own."""
        slope, curvature = self._slopes(rows, self.kernel(self.X, self.X[rows]))
        return int((slope**2 / curvature).sum(axis=1).argmax())

    def _slopes(self, rows: NDArray[np.int64], values: Floats) -> tuple[Floats, Floats]:
        """Minus the slope, and the curvature, of the objective by the coefficients of new vectors."""
        short = np.maximum(self.short, 0.0)
        slope = values.T @ (self.weight[:, None] * short * self.targets)
        curvature = (values**2).T @ (self.weight[:, None] * (short > 0.0))
        if self.chosen:
            slope -= self.penalty * self.columns[rows, : len(self.chosen)] @ self.coef.T
        norm = np.abs(values[rows, np.arange(len(rows))])
        return slope, curvature + self.penalty * norm[:, None] + np.finfo(float).tiny

    def add(self, row: int) -> None:
        """Take a row in as a vector, with the coefficients of its own Newton step."""
        values = self.kernel(self.X, self.X[[row]])
        slope, curvature = self._slopes(np.array([row]), values)
        step = slope[0] / curvature[0]
        self._make_room()
        self.columns[:, len(self.chosen)] = values[:, 0]
        self.chosen.append(row)
        self.coef = np.column_stack([self.coef, step])
        self.short -= self.targets * (values * step)

    def _make_room(self) -> None:
        used, room = len(self.chosen), self.columns.shape[1]
        if used == room:
            wider = np.empty((len(self.X), max(16, 2 * room)), order="F")
            wider[:, :used] = self.columns[:, :used]
            self.columns = wider

    # -- fitting all coefficients ------------------------------------------------------------------------

    def fit(self) -> ReducedMachine:
        """Newton's method for every target, from where it stands."""
        m = len(self.chosen)
        values = self.columns[:, :m]
        norm = self.penalty * _lifted(values[self.chosen])
        objective = 0.0
        for k in range(self.targets.shape[1]):
            problem = _Target(values, self.targets[:, k], self.weight, norm)
            found, value = problem.minimised(np.append(self.coef[k], self.intercept[k]))
            self.coef[k], self.intercept[k] = found[:m], found[m]
            self.short[:, k] = problem.short(found)
            objective += value
        return ReducedMachine(m, self.coef.copy(), self.intercept.copy(), objective)


@dataclass(frozen=True, eq=False)
class _Target:
    """The objective of one target, over its coefficients and, as the last one, its intercept."""

    values: Floats
    target: Floats
    weight: Floats
    norm: Floats

    def short(self, at: Floats) -> Floats:
        return np.asarray(1.0 - self.target * (self.values @ at[:-1] + at[-1]))

    def objective(self, at: Floats) -> float:
        short = np.maximum(self.short(at), 0.0)
        return 0.5 * float(at[:-1] @ self.norm @ at[:-1] + self.weight @ short**2)

    def minimised(self, at: Floats) -> tuple[Floats, float]:
        """Steps to the minimum for the rows short of the margin now, halved where that is too far."""
        value = self.objective(at)
        for _ in range(MAX_NEWTON):
            active = np.flatnonzero((self.short(at) > 0.0) & (self.weight > 0.0))
            if not len(active):
                break
            step = self._solved(active) - at
            while (ahead := self.objective(at + step)) > value and np.abs(step).max() > 1e-12:
                step = step / 2.0
            if not ahead < value - 1e-12 * abs(value):
                break
            at, value = at + step, ahead
        return at, value

    def _solved(self, active: NDArray[np.int64]) -> Floats:
        """The minimum if just these rows were short."""
        rows = np.column_stack([self.values[active], np.ones(len(active))])
        weighted = rows * self.weight[active, None]
        gram = rows.T @ weighted
        gram[:-1, :-1] += self.norm
        return _solve(gram, weighted.T @ self.target[active])


def _solve(gram: Floats, right: Floats) -> Floats:
    """The solution of ``gram x = right`` for a matrix that may be singular to rounding."""
    lift = JITTER * float(np.trace(gram)) / len(gram)
    while True:
        try:
            factor = cho_factor(gram + lift * np.eye(len(gram)), check_finite=False)
            return np.asarray(cho_solve(factor, right))
        except LinAlgError:
            lift *= 100.0


def _lifted(gram: Floats) -> Floats:
    """A symmetric matrix, lifted by as much as it takes to have no negative eigenvalues."""
    if not len(gram):
        return gram
    gram = (gram + gram.T) / 2.0
    lift = JITTER * max(float(np.abs(np.diag(gram)).mean()), np.finfo(float).tiny)
    try:
        cho_factor(gram + lift * np.eye(len(gram)), check_finite=False)
    except LinAlgError:
        lift += max(0.0, -float(eigvalsh(gram, subset_by_index=[0, 0])[0]))
    return np.asarray(gram + lift * np.eye(len(gram)))
