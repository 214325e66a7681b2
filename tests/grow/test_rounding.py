"""Rounding alone is no reason to split, let alone to buy a feature."""

import numpy as np
import pytest

from miserly.costs import Costs, Ledger
from miserly.grow import Bins, Grower, GrowOptions


def grower(n, seed):
    X = np.random.default_rng(seed).normal(size=(n, 4))
    options = GrowOptions(max_depth=4, min_samples_leaf=1)
    return Grower(Bins.fit(X).transform(X), Costs([1.0] * 4), options, n_threads=1)


@pytest.mark.parametrize("seed", range(20))
def test_rows_that_all_want_the_same_are_not_split(seed):
    # Every row wants the value 0.7 / 0.21, whatever its weight. The gain of any split is 0 on paper, and
    # some 1e-16 of the leaf's own term once weights are rounded.
    n = 150
    weight = np.random.default_rng(seed).gamma(2.0, size=n)
    machine = grower(n, seed)
    ledger = Ledger(machine.costs)
    grown = machine.fit_newton(-0.7 * weight, 0.21 * weight, total_weight=n, ledger=ledger)
    assert grown.tree.n_leaves == 1 and ledger.spent == 0.0
    grown = machine.fit_tree(np.full(n, 0.1), weight, ledger=ledger)
    assert grown.tree.n_leaves == 1 and ledger.spent == 0.0


def test_small_differences_are_no_rounding():
    # Halves that want 1 and 1.00001: by splitting, 1e-10 / 4 of the leaf's own term is gained.
    x = np.repeat([0.0, 1.0], 50)
    machine = Grower(
        Bins.fit(x[:, None]).transform(x[:, None]), Costs([1.0]), GrowOptions(min_samples_leaf=1)
    )
    assert machine.fit_tree(1.0 + 1e-5 * x, None, ledger=Ledger(machine.costs)).tree.n_leaves == 2
