"""Cascades whose stages have their columns assigned beforehand: what they minimise, with slopes.

Stage `k` scores a row by ``s_k = h . w_k + b_k`` over the columns it may use, and lets it pass with
probability ``sigmoid(s_k)``. With loss shares and masses that sum to 1, both objectives are

    sum_i share_i loss_i  +  l2 / 2 sum_k |w_k|^2  +  sum_k price_k sum_i mass_i prod_{j < k} sigmoid(s_ij)

where ``price_k`` is what the columns of stage `k` cost on top of those before, in the unit of the loss.

- *Soft cascade* (Raykar, Krishnapuram, Yu 2010): a row is positive if all stages say so,
  ``P = prod_k sigmoid(s_k)``, and the loss is the negative log-likelihood.
- *And-or* (Dundar, Bi 2007): with ``e_k = max(0, 1 - s_k)^2`` a positive pays the worst stage's loss,
  ``max_k e_k`` (all must be right), and with ``e_k = max(0, 1 + s_k)^2`` a negative pays the product
  ``prod_k e_k`` (one suffices).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize
from scipy.special import expit, log_expit

from miserly.solvers.mixed_norm import canonical

__all__ = ["Stages", "TieredProblem", "and_or_loss", "fit_stages", "objective", "soft_cascade_loss"]

Floats: TypeAlias = NDArray[np.float64]
RowLoss: TypeAlias = Callable[[Floats, NDArray[np.bool_]], tuple[Floats, Floats]]

DIGITS = 7  # of the numbers found
STEPS = 25  # between two roundings
TOLERANCE = 1e-7  # of the objective: less is no progress
PASSING = 2.0  # the score by which a new stage lets nearly everybody pass


@dataclass(frozen=True, eq=False)
class TieredProblem:
    """What a cascade of K stages is fitted to.

    Attributes
    ----------
    columns : array of (n, T)
    positive : bool array of (n,)
    share, mass : arrays of (n,)
        How much the loss of each row counts, and how much its costs do; each sums to 1.
    allowed : bool array of (K, T)
        The columns that each stage may weigh.
    price : array of (K,)
    loss : callable
        From scores (K, n) and `positive` to the losses (n,) and their slopes (K, n).
    l2 : float
    """

    columns: Floats
    positive: NDArray[np.bool_]
    share: Floats
    mass: Floats
    allowed: NDArray[np.bool_]
    price: Floats
    loss: RowLoss
    l2: float

    def first(self, n_stages: int) -> TieredProblem:
        """The problem of the first stages alone."""
        return replace(self, allowed=self.allowed[:n_stages], price=self.price[:n_stages])


@dataclass(frozen=True, eq=False)
class Stages:
    """Weights (K, T) and intercepts (K,), and the objective they reach."""

    weights: Floats
    intercept: Floats
    value: float


def soft_cascade_loss(scores: Floats, positive: NDArray[np.bool_]) -> tuple[Floats, Floats]:
    """The negative log-likelihood of ``P = prod_k sigmoid(s_k)``.

    >>> loss, _ = soft_cascade_loss(np.zeros((2, 2)), np.array([True, False]))
    >>> loss.round(4).tolist()  # -log(1/4) and -log(3/4)
    [1.3863, 0.2877]
    """
    log_all = log_expit(scores).sum(axis=0)
    log_none = np.log(np.maximum(-np.expm1(log_all), 1e-300))
    odds = np.exp(log_all - log_none)
    slope = np.where(positive, -1.0, odds) * expit(-scores)
    return np.where(positive, -log_all, -log_none), slope


def and_or_loss(scores: Floats, positive: NDArray[np.bool_]) -> tuple[Floats, Floats]:
    """Positives pay the worst stage, negatives the product of all.

    >>> loss, _ = and_or_loss(np.array([[1.0, -1.0], [0.0, 1.0]]), np.array([True, False]))
    >>> loss.tolist()
    [1.0, 0.0]
    """
    margin = np.maximum(0.0, 1.0 - np.where(positive, 1.0, -1.0) * scores)
    each, bend = margin**2, 2.0 * margin * np.where(positive, -1.0, 1.0)
    worst = np.arange(len(scores))[:, None] == each.argmax(axis=0)
    others = np.array([np.delete(each, k, axis=0).prod(axis=0) for k in range(len(scores))])
    slope = bend * np.where(positive, worst, others)
    return np.where(positive, each.max(axis=0), each.prod(axis=0)), slope


def objective(problem: TieredProblem, x: Floats) -> tuple[float, Floats]:
    """The objective and its slope by all allowed weights, stage after stage, and the intercepts."""
    weights, intercept = _unpacked(problem, x)
    scores = weights @ problem.columns.T + intercept[:, None]
    loss, by_score = problem.loss(scores, problem.positive)
    by_score = problem.share * by_score
    passing = expit(scores)
    reach = np.vstack([np.ones(len(problem.mass)), np.cumprod(passing, axis=0)[:-1]])
    bills = problem.mass * problem.price[:, None] * reach
    later = np.cumsum(bills[::-1], axis=0)[::-1] - bills  # what is still to be paid after each stage
    by_score += later * (1.0 - passing)
    value = problem.share @ loss + bills.sum() + 0.5 * problem.l2 * np.sum(weights**2)
    by_weight = by_score @ problem.columns + problem.l2 * weights
    return float(value), np.concatenate([by_weight[problem.allowed], by_score.sum(axis=1)])


def fit_stages(problem: TieredProblem, max_steps: int = 500) -> Stages:
    """The best number of stages, from none to all, each begun from the one with a stage less.

    None answers with a constant and costs nothing.
    """
    best = here = Stages(np.zeros((0, problem.columns.shape[1])), np.zeros(0), _constant_value(problem))
    for n_stages in range(1, len(problem.price) + 1):
        part = problem.first(n_stages)
        start = np.concatenate([here.weights[problem.allowed[: n_stages - 1]], here.intercept])
        new = np.zeros(int(problem.allowed[n_stages - 1].sum()))
        start = np.insert(start, len(start) - len(here.intercept), new)
        x, value = _descend(part, np.append(start, PASSING if n_stages > 1 else 0.0), max_steps)
        here = Stages(*_unpacked(part, x), value)
        if here.value < best.value * (1.0 - 1e-6):
            best = here
    return best


def _descend(problem: TieredProblem, x: Floats, max_steps: int) -> tuple[Floats, float]:
    """Quasi-Newton steps; numbers are rounded from time to time, so that orders of sums leave no trace."""
    before = np.inf
    for _ in range(max_steps // STEPS):
        found = minimize(
            lambda x: objective(problem, x), x, jac=True, method="L-BFGS-B", options={"maxiter": STEPS}
        )
        x, value = canonical(found.x, DIGITS), float(found.fun)
        if before - value <= TOLERANCE * abs(value):
            break
        before = value
    return x, value


def _constant_value(problem: TieredProblem) -> float:
    """The least objective of a constant score for all, which needs no columns."""
    bare = replace(
        problem, columns=problem.columns[:, :0], allowed=np.zeros((1, 0), np.bool_), price=np.zeros(1)
    )
    return float(minimize(lambda x: objective(bare, x), np.zeros(1), jac=True, method="L-BFGS-B").fun)


def _unpacked(problem: TieredProblem, x: Floats) -> tuple[Floats, Floats]:
    weights = np.zeros(problem.allowed.shape)
    n_weights = int(problem.allowed.sum())
    weights[problem.allowed] = x[:n_weights]
    return weights, x[n_weights:]
