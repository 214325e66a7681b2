"""A kernel machine made small: which rows to look at, which vectors to start from, and moving them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from miserly.plan.links import pairs_of, votes
from miserly.solvers.decision_target import DecisionTarget, SmallMachine
from miserly.solvers.kernel_machine import KernelMachine
from miserly.solvers.lars_svm import candidates_of, greedy_order, lars_order
from miserly.solvers.moving_vectors import fit_coefficients, move_vectors

__all__ = ["LOSSES", "STARTS", "Compressed", "Recipe", "compress_machine"]

Floats = NDArray[np.float64]

STARTS = ("lars", "omp", "random")
LOSSES = ("margin", "squared")
OTHERS = 0.1  # how much the decision of a pair counts on rows of other classes
ASIDE = 0.15  # of the rows are set aside to judge by,
AT_LEAST = 400  # if there are so many
STRAY = 1.0  # how far rows are made up from support vectors
FEW = 4000  # rows are enough to choose vectors, to order them, and to fit smaller machines
BY_HEART = 0.75  # a machine with more support vectors than this share of the rows knows them by heart
MADE_UP = 8  # rows made up for each, then, at a time,
MOST_MADE_UP = 3  # but no more than this many times `max_rows`,
SWAPPED = (0.3, 0.7)  # with such a share of their values taken from others;
OWN = 2.0  # its own rows count more,
SOLVED_OUT = 1 / 2  # and more of the steps move vectors alone, the coefficients solved out,
USUALLY = 1 / 3  # than otherwise
CHUNK = 4096  # rows made up at a time
MAX_VALUES = 1 << 25  # of a kernel matrix that is kept: 256 MB,
MAX_MADE_UP_VALUES = 1 << 26  # or twice that, where rows are made up


@dataclass(frozen=True)
class Recipe:
    """How to compress; see the parameters of `CompressedSVC`."""

    start: str = "lars"
    move: bool = True
    loss: str = "margin"
    max_iter: int = 200
    max_rows: int = 16_000
    seed: int = 0


@dataclass(frozen=True, eq=False)
class Compressed:
    """A small machine, its most useful vectors first, and smaller ones yet.

    `stages` have 0, 1, 2, 4, ... and finally all vectors, each with coefficients of its own. `n_iter` is how
    many steps the vectors were moved.
    """

    machine: KernelMachine
    stages: list[SmallMachine]
    n_iter: int


def compress_machine(
    machine: KernelMachine,
    n_vectors: int,
    recipe: Recipe,
    rows: Floats | None = None,
    weight: Floats | None = None,
    watch: Callable[[str], None] | None = None,
) -> Compressed:
    """A machine of `n_vectors` vectors that decides as the given one, as far as it can.

    Without `rows` to be right on, support vectors and points between two of them are taken. Where nearly
    every row is a support vector, what the machine decides there says little about new rows: rows made up of
    the values of two are looked at too, ever others as the search goes on.
    """
    random = np.random.default_rng(recipe.seed)
    used = np.flatnonzero((machine.coef != 0.0).any(axis=0))
    by_heart = rows is not None and len(used) > BY_HEART * len(rows)
    if rows is None:
        rows = _support_rows(machine.vectors[used], recipe.max_rows, random)
    else:
        rows, weight = _sample(rows, weight, recipe.max_rows, random)
    most = max(1000, (MAX_MADE_UP_VALUES if by_heart else MAX_VALUES) // max(1, n_vectors))
    made_up = _MadeUp(machine, rows, weight, most, recipe, random) if by_heart else None
    aim = made_up.draw() if made_up else _aim(machine, *_sample(rows, weight, most, random), recipe)
    if n_vectors >= len(used):
        whole = SmallMachine(machine.vectors[used], machine.coef[:, used].T, machine.intercept)
        return _staged(machine, whole, aim)
    start = _start(machine, n_vectors, aim, recipe, random)
    if not recipe.move:
        return _staged(machine, fit_coefficients(machine.kernel, start, aim), aim)
    aside = _aside(0 if made_up else len(aim), random)
    small = move_vectors(
        machine.kernel,
        start,
        aim if made_up else aim.take(~aside),
        validation=made_up.judge if made_up else aim.take(aside) if aside.any() else None,
        more=made_up.draw if made_up else None,
        max_iter=recipe.max_iter,
        solved_out=SOLVED_OUT if made_up else USUALLY,
        watch=watch,
    )
    return _staged(machine, small, aim)


# -- rows ----------------------------------------------------------------------------------------------------


def _support_rows(vectors: Floats, most: int, random: np.random.Generator) -> Floats:
    """Support vectors, and others about them: one, moved a little as a second differs from a third."""
    n_made = min(most // 2, max(FEW, 2 * len(vectors)))
    own = vectors if len(vectors) <= most // 2 else random.permutation(vectors)[: most // 2]
    one, two, three = (vectors[random.integers(len(vectors), size=n_made)] for _ in range(3))
    return np.vstack([own, one + STRAY * (two - three) * random.random((n_made, 1))])


def _sample(
    rows: Floats, weight: Floats | None, most: int, random: np.random.Generator
) -> tuple[Floats, Floats | None]:
    """No more than so many rows, and their weights."""
    if len(rows) <= most:
        return rows, weight
    some = np.sort(random.choice(len(rows), most, replace=False))
    return rows[some], None if weight is None else weight[some]


class _MadeUp:
    """Rows, and ever others made up of them.

    Attributes
    ----------
    judge : DecisionTarget
        On rows that are never drawn, and others made up of these; None if there are too few.
    """

    def __init__(
        self,
        machine: KernelMachine,
        rows: Floats,
        weight: Floats | None,
        most: int,
        recipe: Recipe,
        random: np.random.Generator,
    ) -> None:
        self._machine, self._recipe, self._random = machine, recipe, random
        self._most = min(most, (1 + MOST_MADE_UP) * recipe.max_rows)
        weight = np.ones(len(rows)) if weight is None else weight
        aside = _aside(len(rows), random)
        self._rows, self._weight = rows[~aside], weight[~aside]
        self.judge = self._aim(rows[aside], weight[aside], round(ASIDE * self._most)) if aside.any() else None

    def draw(self) -> DecisionTarget:
        return self._aim(self._rows, self._weight, self._most)

    def _aim(self, rows: Floats, weight: Floats, most: int) -> DecisionTarget:
        """Some of the rows, a quarter of `most` at least, and as many made up as there is room for."""
        random = self._random
        made_of = random.permutation(np.tile(np.arange(len(rows)), MADE_UP))
        n_own = min(len(rows), max(most - len(made_of), most // 4))
        own, made_of = random.permutation(len(rows))[:n_own], made_of[: most - n_own]
        every = rows[np.concatenate([own, made_of])]
        _swap(every[n_own:], rows, random)
        weights = np.concatenate([OWN * weight[own], weight[made_of]])
        return _aim(self._machine, every, weights, self._recipe)


def _swap(made: Floats, rows: Floats, random: np.random.Generator) -> None:
    """Take some of the values of each row that is being made up from another one."""
    share = random.uniform(*SWAPPED, (len(made), 1))
    others = random.integers(len(rows), size=len(made))
    for begin in range(0, len(made), CHUNK):
        some = slice(begin, begin + CHUNK)
        swapped = random.random(made[some].shape, dtype=np.float32) < share[some]
        np.copyto(made[some], rows[others[some]], where=swapped)


def _aim(machine: KernelMachine, rows: Floats, weight: Floats | None, recipe: Recipe) -> DecisionTarget:
    """What is wanted on the rows."""
    decisions = machine.rough_decisions(rows)
    if recipe.loss == "squared" or machine.kind != "classifier":
        return DecisionTarget.squared(rows, decisions, weight)
    return DecisionTarget.margin(rows, decisions, weight, _emphasis(machine, decisions))


def _emphasis(machine: KernelMachine, decisions: Floats) -> Floats | None:
    """A row's class is decided by the pairs that class is in: the others count less."""
    if machine.n_decisions == 1:
        return None
    assert machine.classes is not None
    pairs = np.array(pairs_of(len(machine.classes)))
    winner = votes(decisions).argmax(axis=1)
    own = (pairs[None, :, :] == winner[:, None, None]).any(axis=2)
    return np.where(own, 1.0, OTHERS)


def _aside(n_rows: int, random: np.random.Generator) -> NDArray[np.bool_]:
    """Which rows to judge by; none if there are few."""
    n_aside = round(ASIDE * n_rows) if n_rows >= AT_LEAST else 0
    aside = np.zeros(n_rows, dtype=np.bool_)
    aside[random.permutation(n_rows)[:n_aside]] = True
    return aside


def _some(aim: DecisionTarget) -> DecisionTarget:
    """Few enough rows, evenly spread; which rows there are was chance already."""
    if len(aim) <= FEW:
        return aim
    return aim.take(np.linspace(0, len(aim) - 1, FEW).astype(np.int64))


# -- vectors -------------------------------------------------------------------------------------------------


def _start(
    machine: KernelMachine, n_vectors: int, aim: DecisionTarget, recipe: Recipe, random: np.random.Generator
) -> Floats:
    """The support vectors to begin with."""
    candidates = candidates_of(machine, random)
    if recipe.start == "lars":
        chosen = lars_order(machine, n_vectors, candidates, random)
    elif recipe.start == "omp":
        some = _some(aim)
        vectors = machine.vectors[candidates]
        chosen = candidates[
            greedy_order(machine.kernel, vectors, n_vectors, some.rows, some.wanted, some.weight)
        ]
    else:
        chosen = random.permutation(candidates)[:n_vectors]
    return machine.vectors[chosen]


def _staged(machine: KernelMachine, small: SmallMachine, aim: DecisionTarget) -> Compressed:
    """The machine with its most useful vectors first, and those that have only the first 0, 1, 2, 4, ..."""
    some = _some(aim)
    order = greedy_order(machine.kernel, small.vectors, len(small), some.rows, some.wanted, some.weight)
    order = np.concatenate([order, np.setdiff1d(np.arange(len(small)), order)])
    last = SmallMachine(small.vectors[order], small.coef[order], small.intercept)
    sizes = [0] + [1 << k for k in range(32) if 1 << k < len(last)]
    stages = [fit_coefficients(machine.kernel, last.vectors[:size], some) for size in sizes]
    if len(last):
        stages.append(last)
    made = machine.with_vectors(last.vectors, last.coef.T, last.intercept)
    return Compressed(made, stages, small.n_iter)
