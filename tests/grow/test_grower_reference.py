"""Every split equals that of the slow reference."""

from __future__ import annotations

import numpy as np
import pytest

from miserly.costs import Ledger
from miserly.grow import Bins, Grower, GrowOptions

from .conftest import grid
from .reference import reference_newton, reference_squared


def places_of(tree):
    """The (place, node) of every split in the order of making: the order of the left children's numbers."""
    order = sorted(np.flatnonzero(tree.feature >= 0), key=lambda i: tree.left[i])
    place = {0: 0}
    for new, node in enumerate(order, start=1):
        place[int(tree.left[node])] = place[int(node)]
        place[int(tree.right[node])] = new
    return [(place[int(node)], int(node)) for node in order]


def left_codes(tree, node, bins):
    f = tree.feature[node]
    n_bins = bins.n_bins[f]
    if tree.category[node] >= 0:
        bits = np.unpackbits(tree.words[tree.category[node]].view(np.uint8), bitorder="little")
        left = set(np.flatnonzero(bits[:n_bins]).tolist())
    else:
        left = set(np.flatnonzero(bins.edges[f, :n_bins] <= tree.threshold[node]).tolist())
    return left | ({int(n_bins)} if tree.missing_left[node] else set())


def assert_same(grown, expected, bins, tolerance=1e-12):
    made = places_of(grown.tree)
    assert len(made) == len(expected.splits)
    for (place, node), (expected_place, split) in zip(made, expected.splits, strict=True):
        assert place == expected_place
        assert grown.tree.feature[node] == split.feature
        assert left_codes(grown.tree, node, bins) == split.left
        assert bool(grown.tree.missing_left[node]) == split.missing_left
    assert grown.bought == tuple(expected.bought)
    np.testing.assert_allclose(grown.tree.value[grown.leaf], expected.output, rtol=0, atol=tolerance)
    assert grown.gain == pytest.approx(expected.gain, rel=1e-9, abs=1e-12)


def boost_both(data, loss, costs, tradeoff, options, *, weight=None, budget=None, rounds=6, **rest):
    """Boost with the grower and with the reference side by side; every tree must be the same."""
    bins = Bins.fit(data.X, categorical=data.categorical, max_bins=32)
    binned = bins.transform(data.X, n_threads=1)
    grower = Grower(binned, costs, options)
    ours, theirs = Ledger(costs, budget), Ledger(costs, budget)
    score = np.zeros(len(data.y))
    n_splits = 0
    for _ in range(rounds):
        if loss == "squared":
            target = grid(data.y - score)
            grown = grower.fit_tree(target, weight, ledger=ours, tradeoff=tradeoff, **rest)
            expected = reference_squared(
                binned, target, weight, ledger=theirs, tradeoff=tradeoff, options=options, **rest
            )
        else:
            w = np.ones(len(score)) if weight is None else weight
            p = 1 / (1 + np.exp(-score))
            gradient, hessian = grid(w * (p - data.label)), grid(w * p * (1 - p))
            common = {"tradeoff": tradeoff, "total_weight": w.sum(), **rest}
            grown = grower.fit_newton(gradient, hessian, ledger=ours, **common)
            expected = reference_newton(binned, gradient, hessian, ledger=theirs, options=options, **common)
        assert_same(grown, expected, bins)
        assert ours.spent == pytest.approx(theirs.spent) and (ours.paid == theirs.paid).all()
        score += 0.3 * grown.tree.value[grown.leaf]
        n_splits += len(expected.splits)
    return n_splits, ours


@pytest.mark.parametrize("loss", ["squared", "logistic"])
@pytest.mark.parametrize("tradeoff", [0.0, 0.003, 0.02])
@pytest.mark.parametrize("grouped", [False, True], ids=["alone", "grouped"])
@pytest.mark.parametrize("budget", [None, 9.0], ids=["unlimited", "budget"])
def test_every_split_equals_the_reference(data, loss, tradeoff, grouped, budget):
    these = data(1)
    options = GrowOptions(max_depth=3, min_samples_leaf=5, l2=0.5 if loss == "logistic" else 0.0)
    costs = these.grouped if grouped else these.costs
    n_splits, ledger = boost_both(these, loss, costs, tradeoff, options, budget=budget)
    assert n_splits >= 6
    assert ledger.spent <= (np.inf if budget is None else budget)


@pytest.mark.parametrize("loss", ["squared", "logistic"])
@pytest.mark.parametrize("seed", [2, 3, 4])
def test_weighted_splits_equal_the_reference(data, loss, seed):
    these = data(seed)
    options = GrowOptions(max_depth=4, min_samples_leaf=4, l2=0.25)
    boost_both(these, loss, these.grouped, 0.002, options, weight=these.weight, rounds=4)


@pytest.mark.parametrize("missing", [False, True])
@pytest.mark.parametrize("categorical", [False, True])
def test_kinds_of_columns_equal_the_reference(data, missing, categorical):
    these = data(5, missing=missing, categorical=categorical)
    boost_both(these, "squared", these.costs, 0.001, GrowOptions(max_depth=3, min_samples_leaf=8))


def test_limits_equal_the_reference(data):
    these = data(6)
    options = GrowOptions(max_depth=5, max_leaves=6, min_samples_leaf=3)
    only = np.ones(these.X.shape[1], dtype=bool)
    only[[0, 3]] = False
    n_splits, ledger = boost_both(
        these, "squared", these.grouped, 0.001, options, features=only, max_new_features=1
    )
    assert n_splits > 6 and not ledger.paid[0]


def test_zero_weights_equal_the_reference(data):
    these = data(7)
    weight = np.where(np.arange(len(these.y)) % 3 == 0, 0.0, these.weight)
    options = GrowOptions(max_depth=3, min_samples_leaf=5)
    boost_both(these, "squared", these.costs, 0.001, options, weight=weight, rounds=3)
