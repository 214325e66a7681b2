"""Trees with the same splits are walked once, and give what each of them gives alone."""

from dataclasses import replace

import numpy as np
import pytest

from miserly.costs import Costs
from miserly.plan import Node, Plan

from ..random_plans import random_tree


@pytest.mark.parametrize("seed", range(6))
def test_trees_with_the_same_splits_give_the_same_bits_as_one_by_one(seed):
    rng = np.random.default_rng(seed)
    first, alone = (random_tree(rng, 4) for _ in range(2))
    trees = [replace(one, feature=np.where(one.feature == 0, 1, one.feature), category=None, words=None)
             for one in (first, alone)]  # fmt: skip
    first, alone = trees
    twins = [replace(first, value=rng.normal(size=len(first.value))) for _ in range(3)]
    other = replace(twins[2], threshold=twins[2].threshold + 0.1)
    terms = [*twins, alone, other]
    nodes = [
        Node([0, 1, 2, 3], [2, 0, 1, 1], rng.normal(size=4), rng.normal(size=3), up=1),
        Node([4], [0], [1.5], np.zeros(3)),
    ]
    plan = Plan(costs=Costs(np.ones(4)), terms=terms, nodes=nodes, base=np.zeros(3), link="softmax")
    n_splits = int((first.feature >= 0).sum())
    assert plan.tables.terms.twin.tolist()[:3] == [False, True, True]
    assert n_splits == 0 or not plan.tables.terms.twin[4]
    X = np.round(rng.normal(size=(200, 4)), 1)
    X[rng.random(X.shape) < 0.1] = np.nan
    fast = plan.run(X, compiled=True, account=False).scores
    np.testing.assert_array_equal(fast, plan.run(X, compiled=False).scores)
    np.testing.assert_array_equal(fast, plan.run(X, compiled=True).scores)
