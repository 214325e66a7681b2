"""Blocks of boosting rounds in compiled code: derivatives, trees, purchases and scores, without Python.

A loss with a kernel (`miserly.losses.kernels`) allows many rounds per call. Any other loss computes its
derivatives in NumPy, and a call does one round. Both give the same trees as `Grower.fit_tree` and
`Grower.fit_newton`. Trees become terms of a plan after the block.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from miserly.costs import Ledger
from miserly.data.rows import Rows
from miserly.grow import Grower
from miserly.grow.compiled import build, compiled, threads
from miserly.grow.packing import relative_weights
from miserly.grow.records import new_records, tree_of
from miserly.grow.round import RoundData, RoundRecords, RoundRule, figures_are_ordinary, grow_round
from miserly.learners.common.round import Round
from miserly.losses import Loss
from miserly.losses.kernels import NO_KERNEL, derive, kernel_of
from miserly.utils.inputs import as_input

__all__ = ["BLOCK_DONE", "NO_SPLIT", "STRANGE", "TOO_MANY_TREES", "CompiledRounds"]

BLOCK_DONE, NO_SPLIT, TOO_MANY_TREES, STRANGE = range(4)  # why a block ended
# Codes times scores. Beyond, an interrupt would wait long for a round, and trees are grown one by one.
MOST_CODES = 1 << 29
MOST_NODES = 1 << 18  # in the records of a block


class LossInputs(NamedTuple):
    """What a kernel reads: its number, the labels, and the weights, which may be empty."""

    kernel: int
    y: NDArray[np.float64]
    weight: NDArray[np.float64]


class CompiledRounds:
    """Grows blocks of rounds for a booster, whose scores and ledger it changes.

    Parameters
    ----------
    loss : Loss
        The loss that rounds decrease.
    samples : Rows
        Labels and weights of the training rows.
    grower : Grower
        Has the binned training rows.
    ledger : Ledger
        Pays for features.
    scores : array of (n, K)
        Scores of the training rows, in column-major order.
    step : float
        Factor of each tree.
    """

    def __init__(
        self,
        loss: Loss,
        samples: Rows,
        grower: Grower,
        ledger: Ledger,
        scores: NDArray[np.float64],
        step: float,
    ) -> None:
        self.loss, self.samples, self.grower, self.step = loss, samples, grower, step
        y, weight = samples.y, samples.weight
        self.total_mass = loss.total_weight(y, weight)
        self.total_weight = self.total_mass
        self.share: NDArray[np.float64] | None = None
        few = loss.n_scores == 1 or loss.n_scores * grower.binned.codes.size <= MOST_CODES
        self.is_possible = few and grower.binned.n_rows < 2**31
        if loss.least_squares:
            given = relative_weights(weight, len(y))
            self.is_possible &= bool(given.counted.all())
            self.share, self.total_weight = given.share, float(given.n_counted)
        mass = np.ones((1, len(y))) if weight is None else np.array(weight, dtype=np.float64, ndmin=2)
        self.data = grower.round_data(scores.T, mass, ledger, None)
        if not loss.least_squares:
            self.data = self.data._replace(mass=self.data.hessian)
        elif self.share is not None:
            self.data.hessian[0] = self.share
        kernel_weight = self.share if loss.least_squares else weight
        self.inputs = LossInputs(
            kernel_of(loss),
            as_input(np.ascontiguousarray(y, dtype=np.float64)),
            as_input(np.empty(0) if kernel_weight is None else np.ascontiguousarray(kernel_weight)),
        )

    @property
    def has_kernel(self) -> bool:
        """Whether a block may have several rounds."""
        return self.inputs.kernel != NO_KERNEL

    @property
    def most_rounds(self) -> int:
        """Largest number of rounds of a block."""
        return max(1, MOST_NODES // (self.loss.n_scores * 2 * self.grower.max_leaves))

    def grow(
        self,
        n_rounds: int,
        tradeoff: float,
        n_trees: int = 0,
        max_trees: float = np.inf,
        features: ArrayLike | None = None,
    ) -> tuple[list[Round], int]:
        """Grow up to `n_rounds` rounds.

        Parameters
        ----------
        n_rounds : int
            Number of rounds; 1 for a loss without a kernel.
        tradeoff : float
            Decrease of the mean loss that one unit of cost must bring.
        n_trees : int, default=0
            Number of trees so far.
        max_trees : float, default=inf
            Number of trees that may be evaluated in all.
        features : bool array of (d,), optional
            Columns that trees may split on. All by default.

        Returns
        -------
        rounds : list of Round
            The rounds that were grown.
        end : int
            `BLOCK_DONE`, `NO_SPLIT`, `TOO_MANY_TREES`, or `STRANGE`: the derivatives are too large, too
            small, or not finite, and `Grower.fit_newton` is to look at them.
        """
        grower, options = self.grower, self.grower.options
        rule = RoundRule(
            float(tradeoff),
            self.total_weight,
            self.total_mass,
            float(self.step),
            float(options.l2),
            float(options.min_hessian),
            options.min_samples_leaf,
            options.max_depth,
            grower.max_leaves,
        )
        n_scores = self.loss.n_scores
        records = RoundRecords(
            new_records(n_rounds * n_scores, grower.max_leaves, bool(grower.binned.bins.categorical.any())),
            np.empty((n_rounds, n_scores)),
            np.empty((n_rounds, grower.binned.n_features)),
        )
        with threads(grower.n_threads, grower.binned.codes.size):
            data = self._data(features)
            done, end = build(grow_block)(
                data, rule, self.inputs, records, n_rounds, n_trees, float(max_trees)
            )
        return rounds_of(records, done, self.step, grower.costs.evaluation), end

    def _data(self, features: ArrayLike | None) -> RoundData:
        """The inputs of a block, with derivatives of a loss that has no kernel."""
        data = self.data
        if features is not None:
            data = data._replace(allowed=self.grower.allowed(features))
        if self.has_kernel:
            return data
        y, weight = self.samples.y, self.samples.weight
        scores = data.scores.T
        if self.loss.least_squares:
            residual = self.loss.residual(y, scores, weight)
            np.negative(residual if self.share is None else self.share * residual, out=data.gradient[0])
            return data
        gradient, hessian = self.loss.gradient_hessian(y, scores, weight)
        gradient, hessian = (np.ascontiguousarray(one.T, dtype=np.float64) for one in (gradient, hessian))
        return data._replace(gradient=gradient, hessian=hessian, mass=hessian)


@compiled
def grow_block(data, rule, loss, records, n_rounds, n_trees, max_trees):  # type: ignore[no-untyped-def]
    """Grow up to `n_rounds` rounds. Returns how many, and why there are no more."""
    for number in range(n_rounds):
        if n_trees + len(data.scores) > max_trees:
            return number, TOO_MANY_TREES
        if loss.kernel != NO_KERNEL:
            derive(loss.kernel, loss.y, data.scores[0], loss.weight, data.gradient[0], data.hessian[0])
        if not figures_are_ordinary(data):
            return number, STRANGE
        n_split = grow_round(data, rule, records, number)
        if n_split == 0:
            return number, NO_SPLIT
        n_trees += n_split
    return n_rounds, BLOCK_DONE


def rounds_of(records: RoundRecords, n_rounds: int, step: float, evaluation: float) -> list[Round]:
    """The first rounds of a block, with their trees as terms."""
    n_scores = records.bias.shape[1]
    rounds = []
    for number in range(n_rounds):
        first = number * n_scores
        split: Sequence[Any] = np.flatnonzero(records.trees.n_nodes[first : first + n_scores] > 1).tolist()
        trees = tuple(tree_of(records.trees, first + k, evaluation) for k in split)
        rounds.append(Round(trees, tuple(split), records.bias[number], step, records.gain[number]))
    return rounds
