"""A search over the biases of EG2, after ICET (Turney 1995): a genetic algorithm around the tree of
`cost_trees`.

An individual is a string of bits: for every feature a price that EG2 is given instead of the true one
(12 bits, from 1 to 10,000), omega (8 bits, from 0 to 1) and the confidence of the pruning (8 bits, from 0.01
to 1). Its fitness is the mean cost of a row, tests and mistakes, of the tree that it gives: grown on one half
of the training rows, run on the other half, with new halves for every individual. The fittest individual of
the last generation grows the tree on all training rows.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from cost_trees import CostTree, Floats, Ints, PriceList, grow_tree, sorted_order

POPULATION = 50
GENERATIONS = 20
CROSSOVER = 0.6
MUTATION = 0.001
WINDOW = 5  # generations whose worst value is the zero of the fitness
PRICE_BITS, OTHER_BITS = 12, 8
MOST_PRICE = 10_000.0

Bits = NDArray[np.bool_]


def gray_to_unit(bits: Bits) -> Floats:
    """Numbers from 0 to 1 of Gray-coded rows of bits, the first bit the most significant."""
    binary = np.logical_xor.accumulate(bits, axis=-1)
    weights = 2.0 ** np.arange(bits.shape[-1] - 1, -1, -1)
    return np.asarray(binary @ weights / (weights.sum()), dtype=np.float64)


def decoded(bits: Bits, d: int) -> tuple[Floats, float, float]:
    """The prices, omega and the confidence of an individual."""
    prices = gray_to_unit(bits[: d * PRICE_BITS].reshape(d, PRICE_BITS))
    omega, confidence = gray_to_unit(bits[d * PRICE_BITS :].reshape(2, OTHER_BITS))
    return 1.0 + (MOST_PRICE - 1.0) * prices, float(omega), float(0.01 + 0.99 * confidence)


@dataclass(frozen=True, eq=False)
class BiasSearch:
    """What individuals are evaluated with: rows as columns, classes, prices and the cost of a mistake."""

    columns: Floats
    y: Ints
    n_classes: int
    prices: PriceList
    penalty: float

    def tree(self, bits: Bits, order: Ints) -> CostTree:
        """The tree of an individual on some rows."""
        price, omega, confidence = decoded(bits, len(self.columns))
        return grow_tree(self.columns, self.y, order, self.n_classes, price, "EG2", omega, confidence)

    def cost(self, tree: CostTree, rows: Ints) -> float:
        """The mean cost of some rows."""
        answer, bought = tree.run(np.ascontiguousarray(self.columns[:, rows]), self.prices.delayed)
        return float(self.prices.of(bought).mean() + self.penalty * np.mean(answer != self.y[rows]))

    def run(self, rng: np.random.Generator, generations: int = GENERATIONS) -> CostTree:
        """Search, and grow the tree of the fittest individual on all rows."""
        order = sorted_order(self.columns)
        n = len(self.y)

        def evaluate(bits: Bits) -> float:
            half = rng.permutation(n)[: n // 2]
            first = np.zeros(n, dtype=np.bool_)
            first[half] = True
            some = order[first[order]].reshape(len(order), -1)
            return self.cost(self.tree(bits, some), np.flatnonzero(~first))

        length = len(self.columns) * PRICE_BITS + 2 * OTHER_BITS
        return self.tree(evolve(evaluate, length, rng, generations), order)


def evolve(
    evaluate: Callable[[Bits], float], length: int, rng: np.random.Generator, generations: int
) -> Bits:
    """Minimise a function of bits: proportional selection, crossover, mutation; the best stays."""
    population = rng.random((POPULATION, length)) < 0.5
    values = np.array([evaluate(one) for one in population])
    worst = [values.max()]
    for _ in range(generations - 1):
        best = population[values.argmin()].copy()
        fitness = np.maximum(max(worst[-WINDOW:]) - values, 0.0)
        share = fitness / fitness.sum() if fitness.sum() > 0 else np.full(POPULATION, 1.0 / POPULATION)
        points = (rng.random() + np.arange(POPULATION)) / POPULATION
        chosen = np.minimum(np.searchsorted(np.cumsum(share), points), POPULATION - 1)
        parents = population[rng.permutation(chosen)]
        children = parents.copy()
        for i in range(0, POPULATION - 1, 2):
            if rng.random() < CROSSOVER:
                a, b = np.sort(rng.integers(0, length + 1, 2))
                children[i, a:b], children[i + 1, a:b] = parents[i + 1, a:b], parents[i, a:b]
        children ^= rng.random(children.shape) < MUTATION
        new = [evaluate(one) for one in children[:-1]]
        kept_value = values.min()
        population = np.concatenate([children[:-1], best[None]])
        values = np.array([*new, kept_value])
        worst.append(values.max())
    return np.asarray(population[values.argmin()], dtype=np.bool_)
