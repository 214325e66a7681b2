"""Cyclic optimisation of a cascade (Cronus, algorithm 1): stage by stage, down the joint objective.

While the other stages stand still, with ``L_k`` the loss of a row at stage `k` and ``V_{k+1}`` its expected
loss from the next stage on, the objective by the score of a row has the slope

    w p [ (1 - I)(score - y) + steepness I (1 - I) (V_{k+1} - L_k) ]
        + m p steepness I (1 - I) sum_{j > k} R_j  dcost/dd_j

where ``R_j`` is the chance of going on from `k + 1` to `j`. Roots and absolute values are replaced by
quadratics that touch them where they are, so that no step can make the objective rise; zeros stay zeros.
Numbers are rounded to 7 digits after each stage. Steep gates amplify rounding errors of sums, and the same
rows in another order, or twice instead of with twice the weight, should give the same cascade.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize
from scipy.special import expit

from miserly.solvers.cascade import NEGLIGIBLE, Cascade, CascadeProblem
from miserly.solvers.term_prices import Blocks, canonical

__all__ = ["optimise"]

Floats: TypeAlias = NDArray[np.float64]

STEPS = 12  # of the gradient method, between two moves of the quadratics
DIGITS = 7
IN_DOUBLE = 1 << 26  # values of terms: beyond, they are kept in single precision
MOVES = 3  # of the quadratics, each time a stage is optimised


def optimise(
    problem: CascadeProblem,
    cascade: Cascade,
    *,
    max_cycles: int = 5,
    tolerance: float = 1e-3,
    report: Callable[[float], None] | None = None,
) -> tuple[Cascade, list[float]]:
    """The cascade after cycles over its stages, and the objective before, between and after them.

    Cycles end when one lowers the objective by less than `tolerance` of it. Weights that have become
    negligible are zeros in the end. `report` is called with the objective after every cycle.
    """
    state = _CascadeState(problem, cascade)
    history = [state.objective()]
    for _ in range(max_cycles):
        for stage in range(len(cascade)):
            state.improve(stage)
        history.append(state.objective())
        if report is not None:
            report(history[-1])
        if history[-2] - history[-1] <= tolerance * history[-2]:
            break
    return state.cascade(), history


class _CascadeState:
    """Scores and probabilities of all rows at all stages, over the terms that some stage uses."""

    def __init__(self, problem: CascadeProblem, cascade: Cascade) -> None:
        self.problem, self.start = problem, cascade
        self.used = cascade.used
        n_values = len(problem.target) * len(self.used)
        precision = np.float64 if n_values <= IN_DOUBLE else np.float32
        self.values: NDArray[Any] = problem.columns.block(slice(None), self.used).astype(precision)
        self.blocks: Blocks = problem.blocks.only(self.used)
        self.weights = canonical(cascade.weights[:, self.used], DIGITS)
        self.intercept = canonical(cascade.intercept, DIGITS)
        self.threshold = cascade.threshold.copy()
        self.threshold[:-1] = canonical(self.threshold[:-1], DIGITS)
        n, last = len(problem.target), len(cascade) - 1
        self.score = np.zeros((last + 1, n))
        self.passing = np.zeros((last + 1, n))  # no row passes the last stage
        for stage in range(last + 1):
            self.refresh(stage)

    def refresh(self, stage: int) -> None:
        self.score[stage] = _times(self.values, self.weights[stage]) + self.intercept[stage]
        if stage < len(self.score) - 1:
            margin = self.score[stage] - self.threshold[stage]
            self.passing[stage] = expit(self.start.steepness[stage] * margin)

    # -- what the objective is made of -----------------------------------------------------------------

    def loss(self, stage: int) -> Floats:
        return np.asarray(0.5 * (self.score[stage] - self.problem.target) ** 2)

    def reach(self, stage: int) -> Floats:
        """The chance of getting to a stage (n,)."""
        return np.asarray(np.prod(self.passing[:stage], axis=0))

    def onward(self, stage: int) -> Floats:
        """The expected loss (n,) of rows that are at a stage."""
        value = self.loss(len(self.score) - 1)
        for k in range(len(self.score) - 2, stage - 1, -1):
            value = (1.0 - self.passing[k]) * self.loss(k) + self.passing[k] * value
        return value

    def shares(self) -> Floats:
        """The share of rows (K,) that get to each stage."""
        return np.array([self.problem.mass @ self.reach(k) for k in range(len(self.score))])

    def squares(self) -> Floats:
        """Squared weights of each stage in each block, (K, B)."""
        return np.array([self.blocks.squares(weights[:, None]) for weights in self.weights])

    def objective(self) -> float:
        """The objective of all stages together (their eq. 8)."""
        problem = self.problem
        spent = problem.blocks.price @ np.sqrt(self.shares() ** 2 @ self.squares())
        return float(problem.share @ self.onward(0) + problem.l1 * np.abs(self.weights).sum() + spent)

    # -- one stage -----------------------------------------------------------------------------------------

    def improve(self, stage: int) -> None:
        """Lower the objective over the weights, intercept and threshold of one stage."""
        for _ in range(MOVES):
            objective = _StageObjective(self, stage)
            found = minimize(
                objective.value_and_slope,
                objective.begin,
                jac=True,
                method="L-BFGS-B",
                options={"maxiter": STEPS},
            )
            objective.take(found.x)

    def cascade(self) -> Cascade:
        """The optimised cascade, without the stages that no row leaves at."""
        weights = np.zeros_like(self.start.weights)
        mass = self.problem.mass
        spread = np.sqrt(np.maximum(mass @ self.values**2 - (mass @ self.values) ** 2, 0.0))
        part = np.abs(self.weights) * spread
        largest = part.max(axis=1, initial=0.0, keepdims=True)
        weights[:, self.used] = np.where(part > NEGLIGIBLE * largest, self.weights, 0.0)
        threshold, here = self.threshold.copy(), np.ones(len(self.problem.target), dtype=np.bool_)
        for stage in range(len(threshold) - 1):
            passes = self.score[stage] > threshold[stage]
            if passes[here].all():
                threshold[stage] = -np.inf
            here &= passes
        found = Cascade(weights, self.intercept, threshold, self.start.steepness)
        return found.without_idle_stages()


class _StageObjective:
    """The objective as a function of one stage, with quadratics for roots and absolute values."""

    def __init__(self, state: _CascadeState, stage: int) -> None:
        self.state, self.stage = state, stage
        problem = state.problem
        self.steepness = float(state.start.steepness[stage])
        self.last = stage == len(state.score) - 1
        self.active = np.flatnonzero(state.weights[stage])
        self.values = state.values[:, self.active]
        self.reach = state.reach(stage)
        self.next = np.zeros(len(self.reach)) if self.last else state.onward(stage + 1)
        self.shares = state.shares()
        self.squares = state.squares()
        self.blocks = state.blocks.only(self.active)
        root = np.sqrt(self.shares**2 @ self.squares)
        self.pull = np.divide(problem.blocks.price, root, out=np.zeros_like(root), where=root > 0.0)
        self.rest = 0.5 * float(problem.blocks.price @ root)
        self.size = np.abs(state.weights[stage, self.active])
        self.further = self._further()
        threshold = [] if self.last else [state.threshold[stage]]
        self.begin = np.concatenate([state.weights[stage, self.active], [state.intercept[stage]], threshold])

    def _further(self) -> Floats:
        """Of each later stage: mass times the chance of getting to it, for rows that pass this one."""
        state, chance = self.state, self.state.problem.mass * self.reach
        found = []
        for later in range(self.stage + 1, len(state.score)):
            found.append(chance)
            chance = chance * state.passing[later]
        return np.array(found).reshape(-1, len(self.reach))

    def value_and_slope(self, x: Floats) -> tuple[float, Floats]:
        problem = self.state.problem
        n_active = len(self.active)
        weights, intercept = x[:n_active], x[n_active]
        score = _times(self.values, weights) + intercept
        error = score - problem.target
        loss, weight = 0.5 * error**2, problem.share * self.reach
        passing = np.zeros_like(score)
        if not self.last:
            passing = expit(self.steepness * (score - x[-1]))
        bend = self.steepness * passing * (1.0 - passing)
        shares = self.shares.copy()
        shares[self.stage + 1 :] = self.further @ passing
        own = self.blocks.squares(weights[:, None])
        squares = self.squares.copy()
        squares[self.stage] = own
        value = (
            weight @ ((1.0 - passing) * loss + passing * self.next)
            + 0.5 * problem.l1 * np.sum(weights**2 / self.size + self.size)
            + 0.5 * self.pull @ (shares**2 @ squares)
            + self.rest
        )
        of_shares = shares * (squares @ self.pull)  # the slope of the costs by each share
        through_passing = weight * (self.next - loss) + of_shares[self.stage + 1 :] @ self.further
        by_score = weight * (1.0 - passing) * error + bend * through_passing
        by_weight = _times(self.values.T, by_score) + problem.l1 * weights / self.size
        by_weight = by_weight + shares[self.stage] ** 2 * weights * np.asarray(
            self.blocks.member.T @ self.pull
        )
        slope = np.concatenate(
            [by_weight, [by_score.sum()], [] if self.last else [-(bend @ through_passing)]]
        )
        return float(value), slope

    def take(self, x: Floats) -> None:
        state, n_active = self.state, len(self.active)
        x = canonical(x, DIGITS)
        state.weights[self.stage, self.active] = x[:n_active]
        state.intercept[self.stage] = x[n_active]
        if not self.last:
            state.threshold[self.stage] = x[-1]
        state.refresh(self.stage)


def _times(matrix: NDArray[Any], vector: Floats) -> Floats:
    """Their product, without a copy of the matrix in another precision."""
    return np.asarray(matrix @ vector.astype(matrix.dtype, copy=False), dtype=np.float64)
