"""The grower: costs, budgets, limits, scales, threads, memory."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from miserly.costs import Costs, Ledger
from miserly.errors import CostError, DataError
from miserly.grow import Bins, Grower, GrowOptions
from miserly.grow import grower as grower_module
from miserly.grow.compiled import SMALL


def make(X, costs, categorical=None, n_threads=None, **options):
    binned = Bins.fit(X, categorical=categorical).transform(X)
    return Grower(binned, costs, GrowOptions(**options), n_threads)


def outputs(grown):
    return grown.tree.value[grown.leaf]


def same_tree(one, other, rtol=0.0):
    for name in ("feature", "threshold", "left", "right", "missing_left", "category", "words"):
        assert (getattr(one.tree, name) == getattr(other.tree, name)).all(), name
    np.testing.assert_allclose(one.tree.value, other.tree.value, rtol=rtol, atol=0)
    assert (one.leaf == other.leaf).all() and one.bought == other.bought


def walk(tree, X):
    """Where rows end by their values, as `Tree` defines it, one row at a time."""
    ends = []
    for row in np.asarray(X, dtype=np.float64):
        node = 0
        while tree.feature[node] >= 0:
            x = row[tree.feature[node]]
            if tree.category[node] >= 0 and x == x:
                left = tree.words[tree.category[node], int(x) >> 5] >> (int(x) & 31) & 1
            else:
                left = tree.missing_left[node] if x != x else x <= tree.threshold[node]
            node = tree.left[node] if left else tree.right[node]
        ends.append(node)
    return np.array(ends)


# -- by hand ----------------------------------------------------------------------------------------------


def test_a_tree_by_hand():
    """The first split, on feature 1, gains 1/2 (4 * 9) = 18; then feature 0 gains 1/2 (2 * 1) = 1."""
    X = np.array([[0, 0], [1, 0], [0, 1], [1, 1]], dtype=float)
    target = np.array([-4.0, -2.0, 3.0, 3.0])
    costs = Costs([1.0, 2.0])
    ledger = Ledger(costs)
    grower = make(X, costs, max_depth=2, min_samples_leaf=1)
    grown = grower.fit_tree(target, ledger=ledger, tradeoff=0.1)
    assert grown.tree.feature.tolist() == [1, 0, -1, -1, -1]
    assert grown.tree.threshold[:2].tolist() == [0.5, 0.5]
    assert outputs(grown).tolist() == target.tolist()
    assert grown.bought == (1, 0) and ledger.spent == 3.0
    # 18 - 0.1 * 4 * 2, then 1 - 0.1 * 4 * 1
    assert grown.gain == pytest.approx(18 - 0.8 + 1 - 0.4)


def test_a_feature_must_gain_more_than_its_price():
    X = np.array([[0], [1]], dtype=float)
    costs = Costs([1.0])
    grower = make(X, costs, min_samples_leaf=1)
    # the split gains 1/2 * 2 * 1 = 1; the price counts 1 * 2 * tradeoff
    for tradeoff, splits in [(0.499, 1), (0.5, 0), (0.501, 0)]:
        grown = grower.fit_tree([-1.0, 1.0], ledger=Ledger(costs), tradeoff=tradeoff)
        assert (grown.tree.feature >= 0).sum() == splits and (grown.gain > 0) == bool(splits)


def test_a_feature_bought_in_a_tree_is_free_for_the_rest_of_it():
    """Buying feature 0 pays at the root only; the later splits on it gain less than its price."""
    X = np.arange(4.0).reshape(-1, 1)
    target = np.array([-10.0, -9.0, 9.0, 10.0])  # root gains 1/2 * 361, each child 1/4
    costs = Costs([1.0])
    grown = make(X, costs, min_samples_leaf=1).fit_tree(target, ledger=Ledger(costs), tradeoff=1.0)
    assert grown.tree.n_leaves == 4 and grown.bought == (0,)
    assert grown.gain == pytest.approx(180.5 + 0.25 + 0.25 - 4.0)


def test_the_first_of_a_group_pays_the_set_up():
    X = np.array([[0, 0], [0, 1], [1, 0], [1, 1]], dtype=float)
    target = np.array([-5.0, -3.0, 3.0, 5.0])
    costs = Costs([1.0, 1.0], groups={"g": {"features": [0, 1], "setup": 7.0}})
    ledger = Ledger(costs)
    grown = make(X, costs, max_depth=2, min_samples_leaf=1).fit_tree(target, ledger=ledger, tradeoff=0.1)
    # feature 0 gains 32 and pays 8, feature 1 gains 1 in each half and pays 1: 0.4 in sum units
    assert grown.bought == (0, 1) and ledger.spent == 9.0
    assert grown.gain == pytest.approx(32 - 0.4 * 8 + 1 - 0.4 * 1 + 1)


def test_nothing_to_gain_is_a_single_leaf():
    costs = Costs([1.0, 1.0])
    grower = make(np.arange(100.0).reshape(50, 2), costs)
    grown = grower.fit_tree(np.full(50, 2.5), ledger=Ledger(costs))
    assert grown.tree.feature.tolist() == [-1] and grown.gain == 0.0 and grown.bought == ()
    assert (grown.leaf == 0).all() and grown.tree.value[0] == pytest.approx(2.5, rel=1e-12)


# -- budgets ----------------------------------------------------------------------------------------------


@given(st.integers(0, 10_000), st.floats(0, 30), st.sampled_from([0.0, 1e-3, 1e-2]), st.integers(1, 9))
@settings(max_examples=40, deadline=None)
def test_budgets_and_ledgers_hold(seed, budget, tradeoff, max_new):
    rng = np.random.default_rng(seed)
    n, d = 80, 7
    X, y = rng.normal(size=(n, d)), rng.normal(size=n)
    members = rng.permutation(d)
    groups = {
        "a": {"features": members[:3].tolist(), "setup": float(rng.choice([0.0, 0.7, 4.1]))},
        "b": {"features": members[3:5].tolist(), "setup": 2.3},
    }
    costs = Costs(rng.choice([0.0, 0.1, 0.7, 3.3, 12.0], d), groups=groups)
    ledger = Ledger(costs, budget)
    grower = make(X, costs, max_depth=3, min_samples_leaf=3)
    score = np.zeros(n)
    for _ in range(4):
        paid = ledger.paid.copy()
        grown = grower.fit_tree(y - score, ledger=ledger, tradeoff=tradeoff, max_new_features=max_new)
        score += 0.5 * outputs(grown)
        assert len(grown.bought) <= max_new
        assert sorted(grown.bought) == np.flatnonzero(ledger.paid & ~paid).tolist()
        assert set(grown.tree.features) <= set(np.flatnonzero(ledger.paid))
        assert ledger.spent <= budget * (1 + 1e-12)
        assert ledger.spent == pytest.approx(costs.of(ledger.paid), abs=1e-9)


def test_features_that_cannot_be_bought_change_nothing():
    """Their histograms are not even filled; leaving the columns out altogether gives the same tree."""
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(300, 30)), rng.normal(size=300)
    prices = np.where(np.arange(30) % 3 == 0, 1.0, 50.0)
    cheap = prices == 1.0
    full, part = Costs(prices), Costs(prices[cheap])
    grown = make(X, full).fit_tree(y, ledger=Ledger(full, 4.0))
    alone = make(X[:, cheap], part).fit_tree(y, ledger=Ledger(part, 4.0))
    assert (np.where(grown.tree.feature < 0, -1, grown.tree.feature // 3) == alone.tree.feature).all()
    assert (grown.leaf == alone.leaf).all() and (grown.tree.value == alone.tree.value).all()


def test_restrictions_are_respected(data):
    these = data(1)
    d = these.X.shape[1]
    grower = make(these.X, these.costs, these.categorical, max_depth=4, min_samples_leaf=5)
    for f in range(d):
        only = np.arange(d) == f
        grown = grower.fit_tree(these.y, ledger=Ledger(these.costs), features=only)
        assert set(grown.tree.features) <= {f}
    none = grower.fit_tree(these.y, ledger=Ledger(these.costs), features=np.zeros(d, dtype=bool))
    assert none.tree.n_leaves == 1
    ledger = Ledger(these.costs)
    assert grower.fit_tree(these.y, ledger=ledger, max_new_features=0).tree.n_leaves == 1
    ledger.buy(1)
    assert set(grower.fit_tree(these.y, ledger=ledger, max_new_features=0).tree.features) == {1}


def test_limits_are_respected():
    rng = np.random.default_rng(1)
    X, y = rng.normal(size=(500, 5)), rng.normal(size=500)
    costs = Costs.uniform(5)
    for options in (
        {"max_depth": 2},
        {"max_depth": 6, "max_leaves": 5},
        {"max_depth": 6, "min_samples_leaf": 60},
    ):
        grown = make(X, costs, **options).fit_tree(y, ledger=Ledger(costs))
        assert grown.tree.depth <= options["max_depth"]
        assert 1 < grown.tree.n_leaves <= options.get("max_leaves", 64)
        assert np.bincount(grown.leaf)[np.unique(grown.leaf)].min() >= options.get("min_samples_leaf", 20)


# -- state, threads, memory -------------------------------------------------------------------------------


def test_the_ledger_is_all_the_state_there_is(data):
    """Go on from a saved ledger, with a new grower, and the next trees are the same."""
    these = data(2)

    def trees(grower, ledger, targets):
        return [grower.fit_tree(target, ledger=ledger, tradeoff=0.003) for target in targets]

    targets = [np.roll(these.y, k) for k in range(6)]
    ledger = Ledger(these.grouped, 20)
    first = make(these.X, these.grouped, these.categorical, min_samples_leaf=5)
    trees(first, ledger, targets[:3])
    saved = ledger.state()
    rest = trees(first, ledger, targets[3:])
    again = Ledger(these.grouped, 20)
    again.restore(saved)
    restarted = trees(make(these.X, these.grouped, these.categorical, min_samples_leaf=5), again, targets[3:])
    for one, other in zip(rest, restarted, strict=True):
        same_tree(one, other)
    assert (again.paid == ledger.paid).all() and again.spent == ledger.spent


@pytest.mark.parametrize("weighted", [False, True])
def test_one_and_two_threads_grow_the_same_trees(weighted):
    rng = np.random.default_rng(3)
    n, d = 60_000, 40  # enough rows for several chunks of every kind
    X = rng.normal(size=(n, d)).astype(np.float32)
    X[X < -0.5] = 0
    X[rng.random((n, d)) < 0.05] = np.nan
    y = np.nan_to_num(X[:, 0]) * np.nan_to_num(X[:, 1]) + rng.normal(size=n)
    weight = rng.uniform(0.1, 2, n) if weighted else None
    costs = Costs(rng.uniform(0, 5, d))
    binned = Bins.fit(X).transform(X)
    assert binned.codes.size > SMALL
    grown = []
    for n_threads in (1, 2):
        ledger = Ledger(costs, 40)
        grower = Grower(binned, costs, GrowOptions(max_depth=5), n_threads)
        grower.fit_tree(y, weight, ledger=ledger, tradeoff=1e-4)
        grown.append((grower.fit_tree(-y, weight, ledger=ledger, tradeoff=1e-4), ledger))
    same_tree(grown[0][0], grown[1][0])
    assert grown[0][1].spent == grown[1][1].spent


@pytest.mark.parametrize("weighted", [False, True])
def test_histograms_that_cannot_be_kept_are_made_again(data, monkeypatch, weighted):
    these = data(4)
    weight = these.weight if weighted else None
    options = {"max_depth": 6, "min_samples_leaf": 3}
    trees = []
    for pool in (1 << 28, 0, 3 * 8 * 2000):
        monkeypatch.setattr(grower_module, "POOL_BYTES", pool)
        grower = make(these.X, these.costs, these.categorical, **options)
        trees.append(grower.fit_tree(these.y, weight, ledger=Ledger(these.costs), tradeoff=1e-3))
    assert trees[0].tree.n_leaves > 16
    same_tree(trees[0], trees[1])
    same_tree(trees[0], trees[2])


def test_deep_trees_do_not_need_deep_memory():
    rng = np.random.default_rng(5)
    X, y = rng.normal(size=(3_000, 60)), rng.normal(size=3_000)
    costs = Costs.uniform(60)
    grower = make(X, costs, max_depth=16, min_samples_leaf=1)
    grown = grower.fit_tree(y, ledger=Ledger(costs))
    assert grown.tree.n_leaves > 1_000
    assert grower.buffers(1).histograms.nbytes <= grower_module.POOL_BYTES + 2 * 8 * 60 * 256


# -- values, scales, weights ------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_rows_fall_by_value_where_they_fell_by_bin(data, dtype):
    these = data(3)
    X = these.X.astype(dtype)
    X[:, 0] = np.nextafter(X[:, 0], dtype(9))
    grown = make(X, these.costs, these.categorical, max_depth=6, min_samples_leaf=2).fit_tree(
        these.y, ledger=Ledger(these.costs)
    )
    assert (walk(grown.tree, X) == grown.leaf).all()
    assert (grown.tree.category >= 0).any() and grown.tree.n_leaves > 20


@pytest.mark.parametrize("scale", [1e300, 1e-300, 5e-324, 1.7e308])
def test_targets_of_any_size(scale):
    X = np.arange(40.0).reshape(-1, 1)
    target = np.where(X[:, 0] < 25, scale, -scale / 2)
    costs = Costs([1.0])
    grown = make(X, costs, max_depth=1, min_samples_leaf=5).fit_tree(target, ledger=Ledger(costs))
    assert grown.tree.threshold[0] == 24.5
    np.testing.assert_allclose(outputs(grown), target, rtol=1e-12, atol=5e-324)


def test_what_is_paid_is_free_however_small_the_targets():
    X = np.arange(40.0).reshape(-1, 1)
    costs = Costs([1.0])
    grower = make(X, costs, max_depth=1, min_samples_leaf=5)
    ledger = Ledger(costs)
    target = np.where(X[:, 0] < 25, 1e-200, -1e-200)
    assert grower.fit_tree(target, ledger=ledger, tradeoff=1.0).tree.n_leaves == 1
    ledger.buy(0)
    assert grower.fit_tree(target, ledger=ledger, tradeoff=1.0).tree.n_leaves == 2


@pytest.mark.parametrize("factor", [2.0**-40, 0.5, 8.0, 2.0**60])
def test_targets_and_weights_times_a_power_of_two_give_the_same_tree(data, factor):
    these = data(5)
    grower = make(these.X, these.costs, these.categorical, min_samples_leaf=5)
    for weight in (None, these.weight):
        plain = grower.fit_tree(these.y, weight, ledger=Ledger(these.costs), tradeoff=0.002)
        scaled = grower.fit_tree(
            these.y * factor, weight, ledger=Ledger(these.costs), tradeoff=0.002 * factor**2
        )
        assert (plain.tree.value * factor == scaled.tree.value).all()
        assert (plain.leaf == scaled.leaf).all()
        times = factor if weight is None else factor * weight
        weighted = grower.fit_tree(
            these.y, np.full(len(these.y), 1.0) * times, ledger=Ledger(these.costs), tradeoff=0.002
        )
        same_tree(plain, weighted)
        assert weighted.gain == plain.gain * factor


def test_weights_times_three_give_the_same_tree(data):
    these = data(6)
    grower = make(these.X, these.costs, these.categorical, min_samples_leaf=5, l2=1.0)
    rng = np.random.default_rng(0)
    for weight in (np.ones(len(these.y)), rng.uniform(0.1, 2, len(these.y))):
        grown = [
            grower.fit_tree(these.y, w, ledger=Ledger(these.costs), tradeoff=0.002)
            for w in (weight, 3 * weight)
        ]
        same_tree(*grown, rtol=1e-12)
        assert grown[1].gain == pytest.approx(3 * grown[0].gain)


def test_a_weight_is_a_number_of_copies(data):
    these = data(7)
    weight = np.random.default_rng(1).integers(0, 4, len(these.y))
    copies = np.repeat(np.arange(len(these.y)), weight)
    bins = Bins.fit(these.X, categorical=these.categorical)
    options = GrowOptions(max_depth=4, min_samples_leaf=1, min_hessian=0)
    grown = []
    for rows, w in ((slice(None), weight.astype(float)), (copies, None)):
        grower = Grower(bins.transform(these.X[rows]), these.costs, options)
        grown.append(grower.fit_tree(these.y[rows], w, ledger=Ledger(these.costs), tradeoff=0.001))
    assert (grown[0].tree.feature == grown[1].tree.feature).all()
    assert (grown[0].tree.threshold == grown[1].tree.threshold).all()
    np.testing.assert_allclose(outputs(grown[0])[copies], outputs(grown[1]), rtol=1e-9)


def test_rows_of_no_weight_are_as_good_as_absent(data):
    """They are not counted for `min_samples_leaf`, and still fall somewhere."""
    these = data(8)
    kept = np.arange(len(these.y)) % 4 != 0
    bins = Bins.fit(these.X, categorical=these.categorical)
    for weight in (np.ones(len(these.y)), these.weight):
        grown = []
        for rows, w in ((slice(None), weight * kept), (kept, weight[kept])):
            grower = Grower(bins.transform(these.X[rows]), these.costs, GrowOptions(min_samples_leaf=9))
            grown.append(grower.fit_tree(these.y[rows], w, ledger=Ledger(these.costs), tradeoff=0.001))
        assert (grown[0].tree.feature == grown[1].tree.feature).all()
        np.testing.assert_allclose(outputs(grown[0])[kept], outputs(grown[1]), rtol=1e-9)
        assert (walk(grown[0].tree, these.X) == grown[0].leaf).all()


def test_weights_over_twelve_decades():
    rng = np.random.default_rng(2)
    n = 2_000
    X = rng.normal(size=(n, 6))
    y = X[:, 0] + rng.normal(size=n)
    weight = 10.0 ** rng.uniform(-6, 6, n)
    costs = Costs.uniform(6)
    grown = make(X, costs).fit_tree(y, weight, ledger=Ledger(costs))
    assert grown.tree.n_leaves > 4
    for leaf in np.unique(grown.leaf):
        rows = grown.leaf == leaf
        assert grown.tree.value[leaf] == pytest.approx(np.average(y[rows], weights=weight[rows]), rel=1e-6)


def test_a_constant_hessian_is_the_same_as_weights(data):
    """fit_newton with gradient -w y and hessian w is weighted least squares."""
    these = data(9)
    n = len(these.y)
    grower = make(these.X, these.costs, these.categorical, min_samples_leaf=5)
    squared = grower.fit_tree(these.y, ledger=Ledger(these.costs), tradeoff=0.002)
    for hessian in (1.0, 0.25):
        newton = grower.fit_newton(
            -these.y * hessian,
            np.full(n, hessian),
            ledger=Ledger(these.costs),
            tradeoff=0.002,
            total_weight=hessian * n,
        )
        same_tree(squared, newton)
        assert newton.gain == pytest.approx(hessian * squared.gain)


def test_rows_without_hessian_make_no_leaf():
    X = np.arange(60.0).reshape(-1, 1)
    gradient, hessian = np.ones(60), np.zeros(60)
    costs = Costs([1.0])
    grown = make(X, costs, min_hessian=0.0).fit_newton(
        gradient, hessian, ledger=Ledger(costs), total_weight=60.0
    )
    assert grown.tree.n_leaves == 1 and grown.tree.value[0] == 0.0


# -- mistakes ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"max_depth": 17}, "max_depth must be from 0 to 16"),
        ({"max_leaves": 0}, "max_leaves must be at least 1"),
        ({"min_samples_leaf": 0}, "min_samples_leaf must be at least 1"),
        ({"l2": -1.0}, "l2 must be a number of at least 0"),
        ({"min_hessian": np.nan}, "min_hessian must be a number of at least 0"),
    ],
)
def test_impossible_options_are_refused(options, message):
    with pytest.raises(DataError, match=message):
        GrowOptions(**options)


def test_mistakes_are_explained():
    X, costs = np.ones((30, 2)), Costs([1.0, 2.0])
    grower = make(X, costs)
    ledger = Ledger(costs)
    with pytest.raises(CostError, match="3 costs for 2 columns"):
        Grower(grower.binned, Costs([1.0, 2.0, 3.0]))
    with pytest.raises(CostError, match="not those of the grower"):
        grower.fit_tree(np.ones(30), ledger=Ledger(Costs([1.0, 3.0])))
    with pytest.raises(DataError, match="target of row 3 is nan"):
        grower.fit_tree(np.where(np.arange(30) == 3, np.nan, 1.0), ledger=ledger)
    with pytest.raises(DataError, match="one boolean for each of 2 columns"):
        grower.fit_tree(np.ones(30), ledger=ledger, features=[0])
    with pytest.raises(DataError, match="tradeoff must be"):
        grower.fit_tree(np.ones(30), ledger=ledger, tradeoff=-1.0)
    with pytest.raises(DataError, match="max_new_features must be at least 0"):
        grower.fit_tree(np.ones(30), ledger=ledger, max_new_features=-1)
