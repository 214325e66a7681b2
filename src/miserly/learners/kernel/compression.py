"""Compression of a kernel machine: the rows to fit to, the vectors to start from, and their moves.

Where nearly every training row is a support vector, the decisions on these rows say little about new rows:
the machine has memorised them. Synthetic rows are then added. Each takes its values from two training rows.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from miserly.plan.links import pairs_of, votes
from miserly.solvers.kernel_machine import DecisionTarget, KernelMachine, SmallMachine
from miserly.solvers.lars_svm import candidates_of, greedy_order, lars_order
from miserly.solvers.moving_vectors import fit_coefficients, move_vectors

__all__ = ["LOSSES", "STARTS", "Compressed", "CompressionOptions", "compress_machine"]

Floats = NDArray[np.float64]

STARTS = ("lars", "omp", "random")
LOSSES = ("margin", "squared")
OTHER_PAIRS = 0.1  # weight of the decision of a pair of classes on rows of other classes
VALIDATION_SHARE = 0.15  # of the rows: they decide when to stop moving vectors,
MIN_TO_VALIDATE = 400  # if there are at least this many rows
SPREAD = 1.0  # largest distance of rows made without data, in differences of support vectors
FEW_ROWS = 4000  # enough to choose vectors, to order them, and to fit smaller machines
MEMORISED = 0.75  # share of the rows that are support vectors, above which synthetic rows are added
SYNTHETIC_PER_ROW = 8  # synthetic rows made of each row at a time,
MAX_SYNTHETIC = 3  # but at most this many times `max_rows`
SWAPPED = (0.3, 0.7)  # range of the share of values that a synthetic row takes from a second row
TRUE_ROWS = 2.0  # weight of a training row, where a synthetic row has weight 1
SOLVED_OUT_SYNTHETIC = 1 / 2  # share of the steps that move vectors with the coefficients solved out:
SOLVED_OUT = 1 / 3  # with and without synthetic rows
CHUNK = 4096  # synthetic rows made at a time
MAX_VALUES = 1 << 25  # of a kernel matrix that is kept: 256 MB,
MAX_SYNTHETIC_VALUES = 1 << 26  # or twice that with synthetic rows


@dataclass(frozen=True)
class CompressionOptions:
    """Options of a compression; see the parameters of `CompressedSVC`."""

    start: str = "lars"
    move: bool = True
    loss: str = "margin"
    max_iter: int = 200
    max_rows: int = 16_000
    seed: int = 0


@dataclass(frozen=True, eq=False)
class Compressed:
    """A small machine, its most useful vectors first, and still smaller ones.

    `stages` have 0, 1, 2, 4, ... and finally all vectors, each with coefficients of its own. `n_iter` is the
    number of steps in which the vectors were moved.
    """

    machine: KernelMachine
    stages: list[SmallMachine]
    n_iter: int


def compress_machine(
    machine: KernelMachine,
    n_vectors: int,
    options: CompressionOptions,
    rows: Floats | None = None,
    weight: Floats | None = None,
    watch: Callable[[str], None] | None = None,
) -> Compressed:
    """A machine of `n_vectors` vectors whose decisions are as close as possible to those of `machine`.

    Without `rows` the decisions are compared on support vectors and on points near them. If most of the rows
    are support vectors, synthetic rows are added, which change during the search.
    """
    random = np.random.default_rng(options.seed)
    used = np.flatnonzero((machine.coef != 0.0).any(axis=0))
    memorised = rows is not None and len(used) > MEMORISED * len(rows)
    if rows is None:
        rows = _support_rows(machine.vectors[used], options.max_rows, random)
    else:
        rows, weight = _sample(rows, weight, options.max_rows, random)
    most = max(1000, (MAX_SYNTHETIC_VALUES if memorised else MAX_VALUES) // max(1, n_vectors))
    synthetic = _SyntheticRows(machine, rows, weight, most, options, random) if memorised else None
    target = (
        synthetic.draw() if synthetic else _target_on(machine, *_sample(rows, weight, most, random), options)
    )
    if n_vectors >= len(used):
        whole = SmallMachine(machine.vectors[used], machine.coef[:, used].T, machine.intercept)
        return _staged(machine, whole, target)
    start = _start(machine, n_vectors, target, options, random)
    if not options.move:
        return _staged(machine, fit_coefficients(machine.kernel, start, target), target)
    held_out = _validation_rows(0 if synthetic else len(target), random)
    small = move_vectors(
        machine.kernel,
        start,
        target if synthetic else target.take(~held_out),
        validation=synthetic.validation if synthetic else target.take(held_out) if held_out.any() else None,
        more=synthetic.draw if synthetic else None,
        max_iter=options.max_iter,
        solved_out=SOLVED_OUT_SYNTHETIC if synthetic else SOLVED_OUT,
        watch=watch,
    )
    return _staged(machine, small, target)


# -- rows ----------------------------------------------------------------------------------------------------


def _support_rows(vectors: Floats, most: int, random: np.random.Generator) -> Floats:
    """Support vectors, and points near them: one, moved by part of the difference of two others."""
    n_made = min(most // 2, max(FEW_ROWS, 2 * len(vectors)))
    own = vectors if len(vectors) <= most // 2 else random.permutation(vectors)[: most // 2]
    one, two, three = (vectors[random.integers(len(vectors), size=n_made)] for _ in range(3))
    return np.vstack([own, one + SPREAD * (two - three) * random.random((n_made, 1))])


def _sample(
    rows: Floats, weight: Floats | None, most: int, random: np.random.Generator
) -> tuple[Floats, Floats | None]:
    """At most `most` rows, and their weights."""
    if len(rows) <= most:
        return rows, weight
    some = np.sort(random.choice(len(rows), most, replace=False))
    return rows[some], None if weight is None else weight[some]


class _SyntheticRows:
    """Training rows and synthetic rows made of them, drawn again on request.

    Attributes
    ----------
    validation : DecisionTarget
        Rows that are never drawn, and synthetic rows made of these. None if there are too few rows.
    """

    def __init__(
        self,
        machine: KernelMachine,
        rows: Floats,
        weight: Floats | None,
        most: int,
        options: CompressionOptions,
        random: np.random.Generator,
    ) -> None:
        self._machine, self._options, self._random = machine, options, random
        self._most = min(most, (1 + MAX_SYNTHETIC) * options.max_rows)
        weight = np.ones(len(rows)) if weight is None else weight
        held_out = _validation_rows(len(rows), random)
        self._rows, self._weight = rows[~held_out], weight[~held_out]
        self.validation = None
        if held_out.any():
            most = round(VALIDATION_SHARE * self._most)
            self.validation = self._target_on(rows[held_out], weight[held_out], most)

    def draw(self) -> DecisionTarget:
        return self._target_on(self._rows, self._weight, self._most)

    def _target_on(self, rows: Floats, weight: Floats, most: int) -> DecisionTarget:
        """Some of the rows, at least a quarter of `most`, and as many synthetic rows as fit."""
        random = self._random
        made_of = random.permutation(np.tile(np.arange(len(rows)), SYNTHETIC_PER_ROW))
        n_own = min(len(rows), max(most - len(made_of), most // 4))
        own, made_of = random.permutation(len(rows))[:n_own], made_of[: most - n_own]
        every = rows[np.concatenate([own, made_of])]
        _swap(every[n_own:], rows, random)
        weights = np.concatenate([TRUE_ROWS * weight[own], weight[made_of]])
        return _target_on(self._machine, every, weights, self._options)


def _swap(made: Floats, rows: Floats, random: np.random.Generator) -> None:
    """Replace some values of each synthetic row by those of another row."""
    share = random.uniform(*SWAPPED, (len(made), 1))
    others = random.integers(len(rows), size=len(made))
    for begin in range(0, len(made), CHUNK):
        some = slice(begin, begin + CHUNK)
        swapped = random.random(made[some].shape, dtype=np.float32) < share[some]
        np.copyto(made[some], rows[others[some]], where=swapped)


def _target_on(
    machine: KernelMachine, rows: Floats, weight: Floats | None, options: CompressionOptions
) -> DecisionTarget:
    """The decisions to reach on the rows."""
    decisions = machine.rough_decisions(rows)
    if options.loss == "squared" or machine.kind != "classifier":
        return DecisionTarget.squared(rows, decisions, weight)
    return DecisionTarget.margin(rows, decisions, weight, _emphasis(machine, decisions))


def _emphasis(machine: KernelMachine, decisions: Floats) -> Floats | None:
    """Weights of decisions: the class of a row depends on the pairs that contain it; others count less."""
    if machine.n_decisions == 1:
        return None
    assert machine.classes is not None
    pairs = np.array(pairs_of(len(machine.classes)))
    winner = votes(decisions).argmax(axis=1)
    own = (pairs[None, :, :] == winner[:, None, None]).any(axis=2)
    return np.where(own, 1.0, OTHER_PAIRS)


def _validation_rows(n_rows: int, random: np.random.Generator) -> NDArray[np.bool_]:
    """Mask of the validation rows; none if there are few rows."""
    n_held_out = round(VALIDATION_SHARE * n_rows) if n_rows >= MIN_TO_VALIDATE else 0
    held_out = np.zeros(n_rows, dtype=np.bool_)
    held_out[random.permutation(n_rows)[:n_held_out]] = True
    return held_out


def _some(target: DecisionTarget) -> DecisionTarget:
    """At most `FEW_ROWS` rows, at even distances. The order of the rows is random already."""
    if len(target) <= FEW_ROWS:
        return target
    return target.take(np.linspace(0, len(target) - 1, FEW_ROWS).astype(np.int64))


# -- vectors -------------------------------------------------------------------------------------------------


def _start(
    machine: KernelMachine,
    n_vectors: int,
    target: DecisionTarget,
    options: CompressionOptions,
    random: np.random.Generator,
) -> Floats:
    """The support vectors to start from."""
    candidates = candidates_of(machine, random)
    if options.start == "lars":
        chosen = lars_order(machine, n_vectors, candidates, random)
    elif options.start == "omp":
        some = _some(target)
        vectors = machine.vectors[candidates]
        chosen = candidates[
            greedy_order(machine.kernel, vectors, n_vectors, some.rows, some.wanted, some.weight)
        ]
    else:
        chosen = random.permutation(candidates)[:n_vectors]
    return machine.vectors[chosen]


def _staged(machine: KernelMachine, small: SmallMachine, target: DecisionTarget) -> Compressed:
    """The machine with its most useful vectors first, and machines of the first 0, 1, 2, 4, ... of them."""
    some = _some(target)
    order = greedy_order(machine.kernel, small.vectors, len(small), some.rows, some.wanted, some.weight)
    order = np.concatenate([order, np.setdiff1d(np.arange(len(small)), order)])
    last = SmallMachine(small.vectors[order], small.coef[order], small.intercept)
    sizes = [0] + [1 << k for k in range(32) if 1 << k < len(last)]
    stages = [fit_coefficients(machine.kernel, last.vectors[:size], some) for size in sizes]
    if len(last):
        stages.append(last)
    made = replace(machine, vectors=last.vectors, coef=last.coef.T, intercept=last.intercept)
    return Compressed(made, stages, small.n_iter)
