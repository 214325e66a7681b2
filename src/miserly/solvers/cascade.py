"""Cascades of linear classifiers that rows leave early (Cronus, Chen et al. 2012): objective, closed forms.

A row with values ``h`` passes stage `k` with probability ``I_k = sigmoid(steepness_k (h . beta^k + b^k -
theta^k))``, gets there with probability ``p^k``, the product of those before, and leaves there with ``q^k =
p^k (1 - I_k)`` (every row leaves at the last stage). With the loss shares ``w`` (summing to 1), masses
``m`` (summing to 1) and ``d_k = sum_i m_i p_i^k``, the objective over all stages is (their eq. 8; `rho` is
`l1`)

    1/2 sum_i w_i sum_k q_i^k (h_i . beta^k + b^k - y_i)^2  +  l1 sum_k sum_t |beta_t^k|
        +  sum_b price_b sqrt( sum_k d_k^2 sum_{t in b} (beta_t^k)^2 )

A block `b` is what is paid once: a term's evaluation, a feature, the set-up of a group. Prices are in the
unit of the loss. Intercepts are free. With one stage this is their eq. 7.

Initialisation (their algorithm 2) takes the stages in order, each as if it were the last: then the
objective is convex, and roots and absolute values become quadratics by ``sqrt(g) = min_z (g / z + z) / 2``,
whose minimum is a linear solve (eqs. 13 and 14). Prices are *inflated* for early stages, by ``inflation **
(K - k)``: the paper writes the exponent with the other sign. Thresholds let a fixed share of those still
there leave.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import cho_factor, cho_solve

from miserly.solvers.columns import TermColumns, pieces_of
from miserly.solvers.gram import Centred, gram
from miserly.solvers.node_block import exit_threshold
from miserly.solvers.term_prices import Blocks

__all__ = ["Cascade", "CascadeProblem", "initialise", "refit_stages", "sparse_weights"]

Floats: TypeAlias = NDArray[np.float64]

STEEPNESS = 50.0  # of passing, per standard deviation of the scores
NEGLIGIBLE = 1e-3  # of the largest part in the scores of a stage: a weight whose part is smaller becomes zero
FLOOR = 1e-5  # of the spread of the target: nor may a part be smaller than this


@dataclass(frozen=True, eq=False)
class Cascade:
    """The numbers of K stages over T terms; the last threshold plays no part."""

    weights: Floats  # (K, T)
    intercept: Floats  # (K,)
    threshold: Floats  # (K,)
    steepness: Floats  # (K,)

    def __len__(self) -> int:
        return len(self.intercept)

    @property
    def used(self) -> NDArray[np.int64]:
        """The terms that some stage weighs."""
        return np.flatnonzero((self.weights != 0.0).any(axis=0))

    def without_idle_stages(self) -> Cascade:
        """Without stages that let every row pass, whatever they weigh; the last one stays."""
        keep = ~np.isneginf(self.threshold) | (np.arange(len(self)) == len(self) - 1)
        parts = (self.weights, self.intercept, self.threshold, self.steepness)
        return Cascade(*(part[keep] for part in parts))


@dataclass(frozen=True, eq=False)
class CascadeProblem:
    """What a cascade is fitted to.

    Attributes
    ----------
    columns : TermColumns of (n, T)
    target : array of (n,)
        1 and -1.
    share : array of (n,)
        How much the loss of each row counts, class weights included; sums to 1.
    mass : array of (n,)
        How much each row counts when shares of rows are taken; sums to 1.
    blocks : Blocks
        Prices in the unit of the loss: tradeoff times cost.
    l1 : float
    ridge : float
        Of a refit, relative to the mean diagonal of the Gram.
    """

    columns: TermColumns
    target: Floats
    share: Floats
    mass: Floats
    blocks: Blocks
    l1: float = 0.0
    ridge: float = 1e-4
    n_threads: int = 1

    def gram_of(self, rows: NDArray[np.int64] | None) -> Centred:
        """The centred Gram of some rows, weighted by their shares."""
        return gram(
            self.columns, self.target[:, None], self.share, rows=rows, n_threads=self.n_threads
        ).centred()

    def scores(self, weights: Floats, rows: NDArray[np.int64]) -> Floats:
        """``h . beta`` of some rows, a few thousand at a time."""
        used = np.flatnonzero(weights)
        out = np.empty(len(rows))
        for piece in pieces_of(len(rows)):
            out[piece] = self.columns.block(rows[piece], used) @ weights[used]
        return out


# -- one stage ---------------------------------------------------------------------------------------------


def sparse_weights(
    centred: Centred,
    blocks: Blocks,
    *,
    l1: float = 0.0,
    reach: float = 1.0,
    before: Floats | None = None,
    tolerance: float = 1e-3,
    max_rounds: int = 300,
) -> Floats:
    """Weights (T,) of a stage that is the last one, by alternating closed forms.

    `before` (B,) are the squares that earlier stages have put into each block, `reach` is the share of rows
    that get here. Rounds end when no weight moves by more than `tolerance` of the largest: by then the
    objective has long stood still, but weights on their way to zero have not. Those that are negligible in
    the end are zero.
    """
    before = np.zeros(len(blocks.price)) if before is None else before
    weights = np.zeros(len(centred.products))
    active = np.flatnonzero(centred.products.diagonal() > 0.0)
    if not len(active):
        return weights
    weights[active] = _best_multiple(centred, active)
    spread = np.sqrt(np.maximum(centred.products.diagonal(), 0.0))
    floor = FLOOR * np.sqrt(centred.squares[0])
    for _ in range(max_rounds):
        old = weights
        some = blocks.only(active)
        auxiliary = np.sqrt(before + reach**2 * some.squares(old[active, None]))
        pull = reach**2 * some.pull(auxiliary) + l1 / np.abs(old[active])
        weights = np.zeros_like(old)
        weights[active] = _solve(centred, active, pull)
        part = np.abs(weights) * spread
        largest = part.max(initial=0.0)
        active = np.flatnonzero(part > max(1e-3 * tolerance * largest, 1e-2 * floor))
        if largest <= floor or (np.abs(weights - old) * spread).max() <= tolerance * largest:
            break
    return np.where(part > max(floor, NEGLIGIBLE * largest), weights, 0.0)


def _best_multiple(centred: Centred, active: NDArray[np.int64]) -> float:
    """The factor with which the plain sum of the terms fits best; zeros would stay zeros for ever."""
    total = centred.products[np.ix_(active, active)].sum()
    factor = centred.moments[active, 0].sum() / total if total > 0.0 else 0.0
    return float(factor) if factor > 0.0 else 1.0 / max(1, len(active))


def _solve(centred: Centred, active: NDArray[np.int64], pull: Floats) -> Floats:
    """``(products + diag(pull))^-1 moments``, with columns scaled so that the diagonal is about 1."""
    system = centred.products[np.ix_(active, active)]
    system[np.diag_indices_from(system)] += pull
    scale = 1.0 / np.sqrt(system.diagonal())
    system *= scale[:, None] * scale
    system[np.diag_indices_from(system)] += 1e-10  # collinear terms
    factor = cho_factor(system, lower=True, overwrite_a=True, check_finite=False)
    return np.asarray(scale * cho_solve(factor, scale * centred.moments[active, 0], check_finite=False))


def refitted(centred: Centred, chosen: NDArray[np.int64], ridge: float) -> Floats:
    """Weights (T,) that fit best on the terms chosen, without prices but with a ridge."""
    weights = np.zeros(len(centred.products))
    chosen = chosen[centred.products.diagonal()[chosen] > 0.0]
    if len(chosen):
        pull = ridge * centred.products.diagonal()[chosen].mean()
        weights[chosen] = _solve(centred, chosen, np.full(len(chosen), pull))
    return weights


# -- all stages --------------------------------------------------------------------------------------------


def initialise(
    problem: CascadeProblem,
    n_stages: int,
    *,
    leaving: float = 0.15,
    inflation: float = 1.3,
    first_gram: Centred | None = None,
) -> Cascade:
    """Stages in order, each as if it were the last (algorithm 2); the share `leaving` goes at each.

    Stages that no row would leave at are left out: they cost nothing, and all-zero early stages are normal.
    `first_gram` is the Gram of all rows, for callers that try several settings.
    """
    builder = _StageBuilder(problem, refit=False, first_gram=first_gram)
    for k in range(n_stages):
        blocks = problem.blocks.scaled(inflation ** (n_stages - 1 - k))
        weights = sparse_weights(
            builder.gram, blocks, l1=problem.l1, reach=builder.reach, before=builder.squares
        )
        builder.add(weights, leaving if k < n_stages - 1 else 0.0)
        if not len(builder.rows):
            break
    return builder.cascade()


def refit_stages(problem: CascadeProblem, cascade: Cascade, *, first_gram: Centred | None = None) -> Cascade:
    """Fit the weights of every stage again on its terms and those paid before; as many leave as did."""
    builder = _StageBuilder(problem, refit=True, first_gram=first_gram)
    for weights, intercept, threshold in zip(
        cascade.weights, cascade.intercept, cascade.threshold, strict=True
    ):
        if not len(builder.rows):
            break
        out = problem.scores(weights, builder.rows) + intercept <= threshold
        builder.add(weights, float(problem.mass[builder.rows][out].sum() / builder.reach))
    return builder.cascade()


class _StageBuilder:
    """Adds one stage after the other, and keeps the rows that are still there."""

    def __init__(self, problem: CascadeProblem, refit: bool, first_gram: Centred | None = None) -> None:
        self.problem, self.refit = problem, refit
        self.rows = np.arange(len(problem.target))
        self.gram = problem.gram_of(self.rows) if first_gram is None else first_gram
        self.reach = 1.0
        self.squares = np.zeros(len(problem.blocks.price))  # in each block, of the stages so far
        self.bought = np.zeros(problem.columns.shape[1], dtype=np.bool_)
        self.stages: list[tuple[Floats, float, float, float]] = []

    def add(self, weights: Floats, leaving: float) -> None:
        """One more stage, which a share `leaving` of those still there is to leave at.

        A stage that no row would leave at buys nothing for later stages. Where no row is left, there can be
        no further stage.
        """
        bought = self.bought | (weights != 0.0)
        squares = self.reach**2 * self.problem.blocks.squares(weights[:, None])
        if self.refit:
            weights = refitted(self.gram, np.flatnonzero(bought), self.problem.ridge)
        scores = self.problem.scores(weights, self.rows)
        intercept = float(self.gram.target_means[0] - self.gram.means @ weights)
        mass = self.problem.mass[self.rows]
        threshold = exit_threshold(scores, mass, leaving) if leaving > 0.0 else -np.inf
        self.stages.append((weights, intercept, threshold + intercept, _steepness(scores, mass)))
        if np.isfinite(threshold):
            self.bought, self.squares = bought, self.squares + squares
            self.rows = self.rows[scores > threshold]
            self.reach = float(self.problem.mass[self.rows].sum())
            if len(self.rows):
                self.gram = self.problem.gram_of(self.rows)

    def cascade(self) -> Cascade:
        weights, intercept, threshold, steepness = (np.array(part) for part in zip(*self.stages, strict=True))
        return Cascade(weights, intercept, threshold, steepness).without_idle_stages()


def _steepness(scores: Floats, mass: Floats) -> float:
    mean = np.average(scores, weights=mass)
    spread = float(np.sqrt(np.average((scores - mean) ** 2, weights=mass)))
    return STEEPNESS / spread if spread > 0.0 else STEEPNESS
