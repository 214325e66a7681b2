"""The tree for the first purchases of an acquirer: what it buys, what follows, and when there is one."""

from __future__ import annotations

import numpy as np
import pytest

from miserly import AcquirerClassifier, Costs, load
from miserly.plan import Threshold

FIXED = {"noise": 0.1, "sharpness": 1.0, "n_rounds": 0, "n_components": 2, "random_state": 0}


def selectors(n=3000, seed=0):
    """Two signs say which of four others is the class, and a Gaussian of each class says nothing of that."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 8))
    chosen = 2 * (X[:, 0] > 0) + (X[:, 1] > 0)
    return X, (X[np.arange(n), 2 + chosen] > 0).astype(int)


def test_a_tree_finds_what_the_mixture_cannot_know():
    (X, y), (fresh, truth) = selectors(), selectors(seed=1)
    right = {
        share: AcquirerClassifier(budget=3, tree_share=share, **FIXED).fit(X, y).score(fresh, truth)
        for share in (0.0, 1.0)
    }
    assert right[0.0] < 0.75
    model = AcquirerClassifier(budget=3, tree_share=1.0, **FIXED | {"n_rounds": 40}).fit(X, y)
    assert model.score(fresh, truth) > 0.9
    chosen = AcquirerClassifier(budget=3, random_state=0).fit(X, y)
    assert chosen.tree_share_ > 0.5 and chosen.score(fresh, truth) > 0.9


@pytest.mark.parametrize("share", [0.5, 1.0])
def test_leaves_go_on_with_one_mixture_and_observe_what_the_tree_bought(share):
    X, y = selectors()
    model = AcquirerClassifier(budget=4, tree_share=share, **FIXED).fit(X, y)
    plan = model.plan_
    gates = [node for node in plan.nodes if isinstance(node.gate, Threshold)]
    leaves = [node for node in plan.nodes if node.acquisition is not None]
    assert len(leaves) == len(gates) + 1 > 1
    assert len({id(node.acquisition) for node in leaves}) == 1
    run = model.run(X)
    assert run.cost.max() == 4.0
    alone = AcquirerClassifier(budget=4, tree_share=0.0, **FIXED).fit(X, y).plan_
    again = alone.run(X, budget=0.0, known=run.acquired)
    np.testing.assert_allclose(run.scores, again.scores, atol=2e-5)  # float32, in another order


@pytest.mark.parametrize("budget", [0.0, 1.0, 2.5, 4.0, 7.0])
def test_no_row_exceeds_a_budget_and_costs_rise_with_it(budget):
    X, y = selectors(1500)
    costs = Costs(
        [1.0, 2.0, 0.5, 1.0, 3.0, 1.0, 2.0, 1.0], groups={"lab": {"features": [1, 4], "setup": 0.5}}
    )
    model = AcquirerClassifier(costs=costs, budget=7, tree_share=0.75, **FIXED | {"n_rounds": 5}).fit(X, y)
    run, more = model.run(X, budget=budget), model.run(X, budget=budget + 1.0)
    assert run.cost.max() <= budget and (more.cost >= run.cost).all()


def test_a_saved_plan_answers_the_same_and_keeps_the_mixture_once(tmp_path):
    X, y = selectors(1500)
    model = AcquirerClassifier(budget=4, tree_share=1.0, **FIXED | {"n_rounds": 5}).fit(X, y)
    model.plan_.save(tmp_path / "tree.miser")
    plan = load(tmp_path / "tree.miser")
    np.testing.assert_array_equal(plan.run(X).scores, model.run(X).scores)
    flat = AcquirerClassifier(budget=4, tree_share=0.0, **FIXED).fit(X, y)
    flat.plan_.save(tmp_path / "flat.miser")
    sizes = [(tmp_path / f"{name}.miser").stat().st_size for name in ("tree", "flat")]
    assert sizes[0] < sizes[1] + 200_000


@pytest.mark.parametrize(
    ("given", "has_tree"),
    [
        ({"budget": 3}, True),
        ({}, False),  # no budget to divide
        ({"budget": 1}, False),  # one purchase
        ({"budget": 3, "costs": Costs([1.0] * 8, evaluation=0.1)}, False),
        ({"budget": 3, "tree_share": 0.0}, False),
    ],
)
def test_when_there_is_a_tree(given, has_tree):
    X, y = selectors(1000)
    model = AcquirerClassifier(**{"tree_share": 1.0, **FIXED, **given}).fit(X, y)
    assert any(isinstance(node.gate, Threshold) for node in model.plan_.nodes) == has_tree
    assert (model.tree_share_ > 0.0) == has_tree


def test_a_row_that_is_stopped_in_the_tree_is_answered_by_those_that_went_its_way():
    X, y = selectors(3000)
    y = np.where(X[:, 0] > 0, y, 0)
    model = AcquirerClassifier(budget=3, tree_share=1.0, tree_impurity="gini", **FIXED | {"n_rounds": 5}).fit(
        X, y
    )
    chance = model.predict_proba(X, budget=1.0)[:, 0]
    sides = np.unique(chance)
    assert len(sides) == 2 and model.run(X, budget=1.0).acquired.sum(axis=1).tolist() == [1] * len(X)
    for side in sides:
        rows = chance == side
        assert abs(np.mean(y[rows] == 0) - side) < 0.01  # ten rows like all rows count, too


def test_the_impurity_is_an_option():
    X, y = selectors(1000)
    for impurity in ("gini", "entropy"):
        model = AcquirerClassifier(budget=3, tree_share=1.0, tree_impurity=impurity, **FIXED).fit(X, y)
        assert model.tree_impurity_ == impurity
    with pytest.raises(ValueError, match="tree_impurity"):
        AcquirerClassifier(budget=3, tree_impurity="error").fit(X, y)
