"""Which vectors of a kernel machine to keep: LARS-SVM (thesis, eq. 4.6 to 4.9), greedy, or by chance.

With the kernel matrix ``K`` of the support vectors of one decision, their labels ``y`` and the intercept
``b``, LARS-SVM trains the machine again with the squared loss, and few coefficients ``a`` (signed):

    |y - b - K a|^2 + a' K a        few of a nonzero

LARS takes one vector after the other into ``a``, and needs nothing but ``K'K + K`` and ``K'(y - b)``. In
regressors and one-class machines, what they decide stands for the labels. With several decisions, each has
an order of its own; a vector counts for 1, 1/2, 1/3, ... where it is first, second, third.

The greedy choice (orthogonal matching pursuit) takes the vector whose kernel explains most of what the
vectors taken so far leave unexplained, of the decisions on some rows, all decisions together.
"""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import lars_path_gram
from threadpoolctl import threadpool_limits

from miserly.costs import Costs
from miserly.solvers.gram import gram
from miserly.solvers.kernel_machine import KernelFunction, KernelMachine
from miserly.solvers.least_squares import greedy_least_squares
from miserly.solvers.term_prices import PurchaseState

__all__ = ["MAX_CANDIDATES", "KernelColumns", "candidates_of", "greedy_order", "lars_order"]

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

MAX_CANDIDATES = 3000  # vectors to choose from; of more, a sample
PER_DECISION = 1500  # the same, for each of several decisions
PIVOT = 1e-10  # of a kernel's column: what must be left of it when the chosen ones are projected out


def candidates_of(machine: KernelMachine, random: np.random.Generator) -> Ints:
    """The vectors to choose from: all that are used, or a sample of them."""
    used = np.flatnonzero((machine.coef != 0.0).any(axis=0))
    return _sample(used, MAX_CANDIDATES, random)


def lars_order(machine: KernelMachine, n_vectors: int, candidates: Ints, random: np.random.Generator) -> Ints:
    """Up to `n_vectors` of the candidates, in the order in which LARS takes them.

    >>> rows, coef = np.linspace(-3.0, 3.0, 7)[:, None], np.array([[1.0, 1, 1, -9, 1, 1, 1]])
    >>> machine = KernelMachine(KernelFunction("rbf"), rows, coef, np.zeros(1), classes=np.array([0, 1]))
    >>> lars_order(machine, 4, np.arange(7), np.random.default_rng(0)).tolist()
    [5, 1, 0, 6]
    """
    n_vectors = min(n_vectors, len(candidates))
    steps = n_vectors if machine.n_decisions == 1 else 3 + (3 * n_vectors) // machine.n_decisions
    score = np.zeros(machine.n_vectors)
    with threadpool_limits(1, user_api="blas"):
        for decision in range(machine.n_decisions):
            own = candidates[machine.coef[decision, candidates] != 0.0]
            if machine.n_decisions > 1:
                own = _sample(own, PER_DECISION, random)
            order = _lars(machine, decision, own, min(steps, len(own)))
            score[order] += 1.0 / (1.0 + np.arange(len(order)))
    weight = np.abs(machine.coef[:, candidates]).max(axis=0)  # settles who follows where LARS has had enough
    best = np.lexsort((-weight, -score[candidates]))[:n_vectors]
    return candidates[best]


def _lars(machine: KernelMachine, decision: int, own: Ints, steps: int) -> Ints:
    """The vectors that LARS takes for one decision, in order."""
    if steps < 1:
        return own[:0]
    vectors, coef = machine.vectors[own], machine.coef[decision, own]
    values = machine.kernel(vectors, vectors)
    if machine.kind == "classifier":
        labels = np.sign(coef)
    else:
        labels = machine.decisions(vectors)[:, decision]
    products = values @ values + values
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore", ConvergenceWarning)  # vectors as good as equal are passed over
        _, active, _ = lars_path_gram(
            values @ (labels - machine.intercept[decision]),
            products,
            n_samples=len(own),
            max_iter=min(2 * steps, len(own)),
            method="lar",
        )
    return own[np.asarray(active, dtype=np.int64)[:steps]]


def greedy_order(
    kernel: KernelFunction,
    vectors: Floats,
    n_vectors: int,
    rows: Floats,
    wanted: Floats,
    weight: Floats | None = None,
) -> Ints:
    """Up to `n_vectors` of the vectors, those that explain most of the decisions wanted on some rows first.

    >>> kernel = KernelFunction("linear")
    >>> rows = np.array([[1.0, 0.0], [0.0, 1.0], [2.0, 1.0], [1.0, 3.0]])
    >>> greedy_order(kernel, np.array([[1.0, 0.0], [0.0, 1.0]]), 1, rows, rows[:, 1:]).tolist()
    [1]
    """
    found = gram(KernelColumns(kernel, rows, vectors), wanted, weight).centred()
    market = PurchaseState.of(
        np.zeros((len(vectors), 1), dtype=np.bool_), np.ones(len(vectors)), Costs([0.0])
    )
    return greedy_least_squares(found, market, budget=float(n_vectors), pivot=PIVOT).terms


def _sample(numbers: Ints, most: int, random: np.random.Generator) -> Ints:
    if len(numbers) <= most:
        return numbers
    return np.sort(random.choice(numbers, most, replace=False))


class KernelColumns:
    """A kernel between rows and vectors as columns to be had some rows at a time; the whole never exists."""

    def __init__(self, kernel: KernelFunction, rows: Floats, vectors: Floats) -> None:
        self.kernel, self.rows, self.vectors = kernel, rows, vectors

    @property
    def shape(self) -> tuple[int, int]:
        return len(self.rows), len(self.vectors)

    @property
    def dtype(self) -> np.dtype[Any]:
        return np.dtype(np.float64)

    def block(self, rows: Any, terms: Any = slice(None)) -> NDArray[Any]:
        return self.kernel(self.rows[rows], self.vectors[terms])

    def fill(self, out: NDArray[Any], rows: Any, terms: Any = slice(None)) -> None:
        out[:] = self.block(rows, terms)
