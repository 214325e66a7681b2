"""Trees that vote: splits lower the bound by what they say they do, and the tree walks as it was grown."""

import numpy as np
import pytest

from miserly.costs import Costs
from miserly.grow import Bins
from miserly.grow.vote_trees import VoteTrees
from miserly.plan import Node, Plan


def bound_of(push, share, sides):
    return sum(
        float(share @ np.sqrt(np.abs(push[:, s]).sum(axis=1) ** 2 - push[:, s].sum(axis=1) ** 2))
        for s in sides
    )


def rows(n=150, n_classes=1, seed=0):
    rng = np.random.default_rng(seed)
    X = np.column_stack(
        [
            rng.normal(size=n),
            np.where(rng.random(n) < 0.2, np.nan, rng.normal(size=n)),
            np.where(rng.random(n) < 0.1, np.nan, rng.integers(0, 4, n)),
            rng.integers(0, 2, n),
        ]
    )
    size = rng.gamma(1.0, size=(n_classes, n))
    share = rng.random(n_classes)
    push = size / size.sum(axis=1, keepdims=True) * rng.choice([-1, 1], size.shape)
    return X, push, share / share.sum()


def everything(x, categorical):
    """The left side of every split of one column."""
    for value in np.unique(x[~np.isnan(x)]):
        if categorical:
            yield x == value
        else:
            yield (x <= value) | np.isnan(x)
            yield x <= value
    if categorical:
        yield np.isnan(x)


@pytest.mark.parametrize("n_classes", [1, 3])
def test_the_best_cut_is_that_of_trying_everything(n_classes):
    X, push, share = rows(n_classes=n_classes)
    categorical = np.array([False, False, True, False])
    trees = VoteTrees(Bins.fit(X, categorical=categorical).transform(X))
    growing = trees.start_tree(push, share, max_depth=3)
    (root,) = growing.leaves
    whole = bound_of(push, share, [np.ones(len(X), bool)])
    assert growing.bound == pytest.approx(whole, rel=1e-12)
    for f in range(4):
        sides = [s for s in everything(X[:, f], categorical[f]) if 0 < s.sum() < len(X)]
        best = min(bound_of(push, share, [s, ~s]) for s in sides)
        assert root.best_cuts.decrease[f] == pytest.approx(whole - best, rel=1e-9)


@pytest.mark.parametrize("n_classes", [1, 3])
def test_falls_add_up_and_the_tree_walks_as_it_was_grown(n_classes):
    X, push, share = rows(n_classes=n_classes)
    trees = VoteTrees(Bins.fit(X, categorical=[False, False, True, False]).transform(X))
    growing = trees.start_tree(push, share, max_depth=3)
    for _ in range(6):
        leaf = max(growing.leaves, key=lambda one: one.best_cuts.decrease.max())
        feature = int(leaf.best_cuts.decrease.argmax())
        before = growing.bound
        growing.split(leaf, feature)
        assert growing.bound == pytest.approx(before - leaf.best_cuts.decrease[feature], rel=1e-9)
    assert max(leaf.depth for leaf in growing.leaves) <= 3
    tree = growing.tree(np.arange(growing.n_nodes, dtype=float), 0.0)
    plan = Plan(costs=Costs.uniform(4), terms=[tree], nodes=[Node([0], [0], [1.0], [0.0])], base=[0.0])
    landed = plan.run(X).scores
    for leaf in growing.leaves:
        assert (landed[leaf.rows] == leaf.node).all()


def test_votes_of_leaves_are_the_best_and_smaller_where_smoothed():
    # Three quarters of the weight are positive: 1/2 ln 3.
    X = np.zeros((2, 1))
    (root,) = VoteTrees(Bins.fit(X).transform(X)).start_tree(np.array([[0.75, -0.25]]), np.ones(1), 1).leaves
    assert root.votes(0.0)[0] == pytest.approx(0.5 * np.log(3))
    assert root.votes(0.25)[0] == pytest.approx(0.5 * np.log(2))
