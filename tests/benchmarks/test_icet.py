"""The genetic search of benchmarks/icet.py."""

import numpy as np
import pytest

import cost_trees as trees
import icet


def test_gray_codes():
    # Gray 00, 01, 11, 10 are 0, 1, 2, 3
    bits = np.array([[0, 0], [0, 1], [1, 1], [1, 0]], dtype=bool)
    assert icet.gray_to_unit(bits) == pytest.approx([0, 1 / 3, 2 / 3, 1])


def test_an_individual_is_prices_omega_and_confidence():
    bits = np.zeros(2 * 12 + 16, dtype=bool)
    prices, omega, confidence = icet.decoded(bits, 2)
    assert prices.tolist() == [1.0, 1.0] and omega == 0.0 and confidence == pytest.approx(0.01)
    bits[[0, 24, 32]] = True  # the highest number in Gray code is one bit
    prices, omega, confidence = icet.decoded(bits, 2)
    assert prices.tolist() == [10_000.0, 1.0] and omega == 1.0 and confidence == pytest.approx(1.0)


def test_evolution_keeps_the_best_and_improves():
    def zeros_wanted(bits):
        return float(bits.sum())

    few = icet.evolve(zeros_wanted, 40, np.random.default_rng(0), 2)
    many = icet.evolve(zeros_wanted, 40, np.random.default_rng(0), 20)
    assert many.sum() < few.sum() <= 20


def test_search_buys_a_test_only_if_mistakes_cost_more():
    rng = np.random.default_rng(0)
    y = np.repeat([0, 1], 40)
    columns = np.stack([y + 0.1 * rng.normal(size=80), rng.normal(size=80)])
    prices = trees.PriceList(np.array([5.0, 5.0]), np.zeros(0), np.array([-1, -1]), np.array([True, True]))
    cheap = icet.BiasSearch(columns, y, 2, prices, penalty=1000.0)
    tree = cheap.run(np.random.default_rng(1), generations=3)
    assert cheap.cost(tree, np.arange(80)) == 5.0  # one test and no mistake
