"""Rounds in compiled code: the trees, scores, purchases and gains of the grower that Python calls."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from miserly.costs import Costs, Ledger
from miserly.data.rows import Rows
from miserly.errors import DataError
from miserly.grow import Bins, Grower, GrowOptions
from miserly.learners.common import booster as booster_module
from miserly.learners.common.booster import Booster
from miserly.losses import LambdaRank, Logistic, Multinomial, Squared, SquaredHinge, WithinQueries
from miserly.metrics import Queries

N = 700
QUERIES = Queries(np.arange(N) // 7)
LOSSES = {
    "logistic": Logistic(),
    "hinge": SquaredHinge(),
    "squared": Squared(),
    "multinomial": Multinomial(3),
    "within queries": WithinQueries(QUERIES),
    "lambdarank": LambdaRank(QUERIES),
}


def rows(loss, weighted: bool) -> Rows:
    rng = np.random.default_rng(3)
    X = rng.normal(size=(N, 6))
    X[:, 4] = rng.integers(0, 9, N)
    X[rng.random(X.shape) < 0.1] = np.nan
    signal = np.nan_to_num(X[:, 0]) - np.nan_to_num(X[:, 1]) * (X[:, 4] > 3) + rng.normal(size=N)
    y = np.digitize(signal, [-0.5, 0.7]).astype(float)
    if loss.link in ("logistic", "sign"):
        y = (y > 0).astype(float)
    weight = rng.uniform(0.2, 3.0, N) if weighted else None
    return Rows(X, y, weight=weight)


def boosted(
    loss, weighted=False, compiled=True, n_threads=1, budget=None, n_rounds=12, tradeoff=1e-3, **options
):
    """A booster after some rounds, and the rounds."""
    samples = rows(loss, weighted)
    costs = Costs(
        [4.0, 1.0, 1.0, 2.0, 3.0, 1.0], groups={"g": {"features": [0, 3], "setup": 2.0}}, evaluation=0.01
    )
    categorical = np.arange(6) == 4
    limits = GrowOptions(max_depth=3, min_samples_leaf=5, l2=0.1)
    binned = Bins.fit(samples.X, categorical=categorical).transform(samples.X)
    start = loss.initial(samples.y, samples.weight)
    booster = Booster(
        loss=loss,
        samples=replace(samples, X=samples.X[:0]),
        grower=Grower(binned, costs, limits, n_threads=n_threads),
        ledger=Ledger(costs, budget),
        scores=np.asfortranarray(np.tile(start, (N, 1))),
        tradeoff=tradeoff,
        step=0.3,
        **options,
    )
    booster._compiled.is_possible &= compiled
    found = []
    while len(found) < n_rounds and (some := booster.grow_some(n_rounds - len(found))):
        found += some
    return booster, found


def parts(rounds):
    """All numbers of some rounds."""
    return [
        (one.channels, one.bias.tolist(), one.gain.tolist(), one.step, tree_parts(one.trees))
        for one in rounds
    ]


def tree_parts(trees):
    names = ("feature", "threshold", "left", "right", "missing_left", "value", "category", "words")
    return [[getattr(tree, name).tolist() for name in names] + [tree.evaluation] for tree in trees]


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("name", LOSSES)
def test_compiled_rounds_equal_those_of_the_grower_to_the_bit(name, weighted):
    (one, rounds), (other, expected) = (boosted(LOSSES[name], weighted, way) for way in (True, False))
    assert len(rounds) == len(expected) > 1
    assert parts(rounds) == parts(expected)
    assert (one.scores == other.scores).all()
    assert (one.ledger.paid == other.ledger.paid).all() and one.ledger.spent == other.ledger.spent
    assert one.stopped_by == other.stopped_by and one.n_trees == other.n_trees
    assert any((tree.category >= 0).any() for one in rounds for tree in one.trees) or name == "lambdarank"


def test_trees_of_compiled_rounds_are_valid_terms():
    _, rounds = boosted(Multinomial(3))
    for tree in (tree for one in rounds for tree in one.trees):
        checked = replace(tree)  # which checks it
        assert tree_parts([checked]) == tree_parts([tree])
        assert (checked.features == tree.features).all()


@pytest.mark.parametrize("name", ["logistic", "multinomial"])
def test_the_number_of_threads_changes_nothing(name, monkeypatch):
    monkeypatch.setattr("miserly.grow.compiled.SMALL", 1)
    one, two = (boosted(LOSSES[name], n_threads=n) for n in (1, 2))
    assert parts(one[1]) == parts(two[1]) and (one[0].scores == two[0].scores).all()


@pytest.mark.parametrize("budget", [3.0, 7.0, 100.0])
def test_a_budget_without_comparisons_is_kept_in_compiled_rounds(budget):
    booster, rounds = boosted(Logistic(), budget=budget, tradeoff=0.0)
    _, expected = boosted(Logistic(), budget=budget, tradeoff=0.0, compiled=False)
    assert parts(rounds) == parts(expected) and booster.ledger.spent <= budget


def test_a_block_of_rounds_equals_single_rounds(monkeypatch):
    _, blocks = boosted(Logistic())
    monkeypatch.setattr(booster_module, "BLOCK_SECONDS", 0.0)
    _, single = boosted(Logistic())
    assert parts(blocks) == parts(single)


@pytest.mark.parametrize("compiled", [True, False])
def test_the_number_of_trees_is_limited_inside_a_block(compiled):
    booster, rounds = boosted(Logistic(), compiled=compiled, max_trees=5.0)
    assert len(rounds) == booster.n_trees == 5 and booster.stopped_by == "tree budget"


@pytest.mark.parametrize("compiled", [True, False])
def test_rounds_end_where_no_tree_splits(compiled):
    booster, rounds = boosted(Logistic(), compiled=compiled, tradeoff=1e9, n_rounds=5)
    assert rounds == [] and booster.stopped_by == "no split" and booster.ledger.spent == 0.0
    assert (booster.scores == booster.scores[0]).all()


@pytest.mark.parametrize("factor", [1e-270, 1e270])
def test_targets_of_extreme_size_take_the_way_of_the_grower(factor):
    samples = rows(Squared(), False)
    loss = Squared()
    costs = Costs.uniform(6)
    grower = Grower(Bins.fit(samples.X).transform(samples.X), costs, GrowOptions(max_depth=2), n_threads=1)
    y = samples.y * factor
    booster = Booster(
        loss, replace(samples, X=samples.X[:0], y=y), grower, Ledger(costs), np.zeros((N, 1)), 0.0, 1.0
    )
    (first,) = booster.grow_some(1)
    expected = grower.fit_tree(y, ledger=Ledger(costs)).tree
    assert tree_parts(first.trees) == tree_parts([expected])


def test_a_gradient_that_is_not_finite_is_refused():
    class Broken(Squared):
        def residual(self, y, score, weight):
            return np.where(np.arange(len(y)) == 3, np.nan, y)

    with pytest.raises(DataError, match="row 3 is nan"):
        boosted(Broken())
