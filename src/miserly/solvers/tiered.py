"""Cascades whose stages have their columns assigned beforehand: what they minimise, with slopes.

Stage `k` scores a row by ``s_k = h . w_k + b_k`` over the columns it may use, those of the stage before and
some more, and lets it pass with probability ``sigmoid(s_k)``. With loss shares and masses that sum to 1, both
objectives are

    sum_i share_i loss_i  +  l2 / 2 sum_k |w_k|^2  +  sum_k price_k sum_i mass_i prod_{j < k} sigmoid(s_ij)

where ``price_k`` is what the columns of stage `k` cost on top of those before, in the unit of the loss.

- *Soft cascade* (Raykar, Krishnapuram, Yu 2010): a row is positive if all stages say so,
  ``P = prod_k sigmoid(s_k)``, and the loss is the negative log-likelihood.
- *And-or* (Dundar, Bi 2007): with ``e_k = max(0, 1 - s_k)^2`` a positive pays the worst stage's loss,
  ``max_k e_k`` (all must be right), and with ``e_k = max(0, 1 + s_k)^2`` a negative pays the product
  ``prod_k e_k`` (one suffices).

The score of a stage is for its gate: it adds what the stages before left open, and does not rank rows.
Answers are fitted to the rows that come to a stage (`fit_answers`).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize
from scipy.special import expit

from miserly.solvers.term_prices import canonical

__all__ = [
    "Stages",
    "TieredProblem",
    "and_or_loss",
    "fit_answers",
    "fit_stages",
    "objective",
    "soft_cascade_loss",
]

Floats: TypeAlias = NDArray[np.float64]
RowLoss: TypeAlias = Callable[[Floats, NDArray[np.bool_]], tuple[Floats, Floats]]

DIGITS = 7  # of the numbers found
WINDOW = 10  # steps that together bring less than
TOLERANCE = 1e-5  # of the objective: no progress
MEMORY = 20  # gradients by which a step knows the curvature


@dataclass(frozen=True, eq=False)
class TieredProblem:
    """What a cascade of K stages is fitted to.

    Attributes
    ----------
    columns : array of (T, n)
        One after the other, in the order in which stages may weigh them; products are in their precision.
    positive : bool array of (n,)
    share, mass : arrays of (n,)
        How much the loss of each row counts, and how much its costs do; each sums to 1.
    widths : int array of (K,)
        How many columns each stage may weigh, rising: the first so many.
    price : array of (K,)
    loss : callable
        From scores (K, n) and `positive` to the losses (n,) and their slopes (K, n).
    l2 : float
    """

    columns: NDArray[Any]
    positive: NDArray[np.bool_]
    share: Floats
    mass: Floats
    widths: NDArray[np.int64]
    price: Floats
    loss: RowLoss
    l2: float

    def first(self, n_stages: int) -> TieredProblem:
        """The problem of the first stages alone."""
        return replace(self, widths=self.widths[:n_stages], price=self.price[:n_stages])

    def scores(self, weights: Sequence[Floats], intercept: Floats) -> Floats:
        """What rows score at each stage, (K, n), with weights of its columns each."""
        parts = [w.astype(self.columns.dtype) @ self.columns[: len(w)] for w in weights]
        return np.array(parts, dtype=np.float64) + intercept[:, None]

    def unpacked(self, x: Floats) -> tuple[list[Floats], Floats]:
        """The weights of each stage, and the intercepts (K,), of all numbers in a row."""
        *weights, intercept = np.split(x, np.cumsum(self.widths))
        return weights, intercept


@dataclass(frozen=True, eq=False)
class Stages:
    """The weights of each stage for its columns, intercepts (K,), and the objective they reach."""

    weights: list[Floats]
    intercept: Floats
    value: float

    def table(self, n_columns: int) -> Floats:
        """Weights (K, T) of all columns, zero for those that a stage may not weigh."""
        return np.array([np.pad(w, (0, n_columns - len(w))) for w in self.weights])


def soft_cascade_loss(scores: Floats, positive: NDArray[np.bool_]) -> tuple[Floats, Floats]:
    """The negative log-likelihood of ``P = prod_k sigmoid(s_k)``.

    >>> loss, _ = soft_cascade_loss(np.zeros((2, 2)), np.array([True, False]))
    >>> loss.round(4).tolist()  # -log(1/4) and -log(3/4)
    [1.3863, 0.2877]
    """
    small = np.exp(-np.abs(scores))
    log_all = (np.minimum(scores, 0.0) - np.log1p(small)).sum(axis=0)
    log_none = np.log(np.maximum(-np.expm1(log_all), 1e-300))
    odds = np.exp(log_all - log_none)
    failing = np.where(scores > 0.0, small, 1.0) / (1.0 + small)
    return np.where(positive, -log_all, -log_none), np.where(positive, -1.0, odds) * failing


def and_or_loss(scores: Floats, positive: NDArray[np.bool_]) -> tuple[Floats, Floats]:
    """Positives pay the worst stage, negatives the product of all.

    >>> loss, _ = and_or_loss(np.array([[1.0, -1.0], [0.0, 1.0]]), np.array([True, False]))
    >>> loss.tolist()
    [1.0, 0.0]
    """
    sign = np.where(positive, -1.0, 1.0)
    margin = np.maximum(0.0, 1.0 + sign * scores)
    each = margin**2
    worst = np.arange(len(scores))[:, None] == margin.argmax(axis=0)
    ones = np.ones((1, scores.shape[1]))
    before = np.cumprod(np.vstack([ones, each[:-1]]), axis=0)
    after = np.cumprod(np.vstack([ones, each[:0:-1]]), axis=0)[::-1]
    slope = 2.0 * sign * margin * np.where(positive, worst, before * after)
    return np.where(positive, each.max(axis=0), before[-1] * each[-1]), slope


def objective(problem: TieredProblem, x: Floats) -> tuple[float, Floats]:
    """The objective and its slope by all allowed weights, stage after stage, and the intercepts."""
    weights, intercept = problem.unpacked(x)
    scores = problem.scores(weights, intercept)
    loss, by_score = problem.loss(scores, problem.positive)
    by_score *= problem.share
    price = _expected_price(problem, scores, by_score)
    ridge = 0.5 * problem.l2 * sum(float(w @ w) for w in weights)
    narrow = by_score.astype(problem.columns.dtype)
    by_weight = [
        problem.columns[: len(w)] @ slope + problem.l2 * w for w, slope in zip(weights, narrow, strict=True)
    ]
    return float(problem.share @ loss) + ridge + price, np.concatenate([*by_weight, by_score.sum(axis=1)])


def _expected_price(problem: TieredProblem, scores: Floats, by_score: Floats) -> float:
    """What rows are expected to pay; its slope is added to `by_score`."""
    passing = expit(scores[:-1])
    reach = np.cumprod(passing, axis=0)
    bills = problem.mass * problem.price[1:, None] * reach
    later = np.cumsum(bills[::-1], axis=0)[::-1]  # what is still to be paid after each stage
    by_score[:-1] += later * (1.0 - passing)
    return float(problem.price[0] * problem.mass.sum() + bills.sum())


def fit_stages(problem: TieredProblem, max_steps: int = 150) -> Stages:
    """The best number of stages, from none to all, each begun from the one with a stage less.

    None answers with a constant and costs nothing. A new stage begins with scores of 0, from where it soon
    finds what to do; one that begins by letting every row pass was found to stay there for long.
    """
    best = here = Stages([], np.zeros(0), _constant_value(problem))
    for n_stages in range(1, len(problem.price) + 1):
        new = np.zeros(problem.widths[n_stages - 1])
        start = Stages([*here.weights, new], np.append(here.intercept, 0.0), np.inf)
        here = _descend(problem.first(n_stages), start, max_steps)
        if here.value < best.value * (1.0 - 1e-6):
            best = here
    return best


def fit_answers(problem: TieredProblem, reached: NDArray[np.bool_], max_steps: int = 150) -> Stages:
    """Logistic regressions for the rows that come to each stage (`reached`, (K, n)), over its columns.

    The ridge is that of the stages; each begins where the one before ended.
    """
    here = Stages([np.zeros(0)], np.zeros(1), 0.0)
    weights, intercept, value = [], [], 0.0
    for width, rows in zip(problem.widths, reached, strict=False):
        alone = TieredProblem(
            columns=problem.columns[:width] if rows.all() else problem.columns[:width, rows],
            positive=problem.positive[rows],
            share=problem.share[rows],
            mass=problem.mass[rows],
            widths=np.array([width]),
            price=np.zeros(1),
            loss=soft_cascade_loss,
            l2=problem.l2,
        )
        more = np.zeros(width - len(here.weights[0]))
        here = _descend(alone, replace(here, weights=[np.append(here.weights[0], more)]), max_steps)
        weights += here.weights
        intercept += list(here.intercept)
        value += here.value
    return Stages(weights, np.array(intercept), value)


def _descend(problem: TieredProblem, start: Stages, max_steps: int) -> Stages:
    """Quasi-Newton steps; numbers are rounded in the end, so that orders of sums leave no trace."""
    seen: list[float] = []

    def watch(intermediate_result: Any) -> None:
        seen.append(float(intermediate_result.fun))
        if len(seen) > WINDOW and seen[-1 - WINDOW] - seen[-1] <= TOLERANCE * abs(seen[-1]):
            raise StopIteration

    found = minimize(
        lambda x: objective(problem, x),
        np.concatenate([*start.weights, start.intercept]),
        jac=True,
        method="L-BFGS-B",
        callback=watch,
        options={"maxiter": max_steps, "maxcor": MEMORY, "ftol": 0.0},
    )
    return Stages(*problem.unpacked(canonical(found.x, DIGITS)), float(found.fun))


def _constant_value(problem: TieredProblem) -> float:
    """The least objective of a constant score for all, which needs no columns."""
    bare = replace(problem, columns=problem.columns[:0], widths=np.zeros(1, np.int64), price=np.zeros(1))
    return _descend(bare, Stages([np.zeros(0)], np.zeros(1), np.inf), max_steps=100).value
