"""Boosted trees on rows that have bought different features."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from miserly.costs import Costs
from miserly.data.rows import Rows
from miserly.grow import Bins, GrowOptions
from miserly.learners.common.masked_boosting import Boosting, Interval, known_part, masked_rounds
from miserly.learners.common.round import add_rounds
from miserly.losses import log_loss
from miserly.plan import Tree


@pytest.fixture(scope="module")
def tree():
    """Two splits on feature 0 and one on feature 1; the value names the leaf."""
    return Tree(
        feature=[0, 1, 0, -1, -1, -1, -1],
        threshold=[0.0, 5.0, 2.0, 0, 0, 0, 0],
        left=[1, 3, 5, 0, 0, 0, 0],
        right=[2, 4, 6, 0, 0, 0, 0],
        missing_left=[False, True, False, False, False, False, False],
        value=[0, 0, 0, 1.0, 2.0, 3.0, 4.0],
    )


def test_known_part_gives_the_same_values_without_reading_what_is_not_bought(tree):
    rng = np.random.default_rng(0)
    X = rng.normal(0.0, 6.0, size=(200, 2))
    rows = np.arange(200)
    for bought in ([True, True], [True, False], [False, True], [False, False]):
        part = known_part(tree, np.array(bought), {})
        expected = tree.evaluate(np.where(bought, X, np.nan), rows)
        assert np.array_equal(part.evaluate(np.where(bought, X, 99.0), rows), expected)
        assert all(bought[feature] for feature in part.features)


def test_known_part_leaves_out_splits_that_the_path_decides(tree):
    both = np.array([True, True])
    # above 1: the root goes right, also if the value is missing
    assert known_part(tree, both, {0: Interval(low=1.0)}).value.tolist() == [0.0, 3.0, 4.0]
    # at most 0 and never missing: the root goes left
    assert known_part(tree, both, {0: Interval(high=0.0, may_miss=False)}).features.tolist() == [1]
    # at most 0 or missing: missing values go right, so nothing is decided at the root
    assert known_part(tree, both, {0: Interval(high=0.0)}).n_leaves == 4
    # above 2, or missing, which the first split on feature 1 sends left
    assert known_part(tree, both, {1: Interval(low=5.0)}).n_leaves == 4


OPTIONS = Boosting(log_loss(2), GrowOptions(max_depth=2, min_samples_leaf=5), 0.5, 10, 1)


def half_bought(n=400):
    """The class is the sign of feature 0, which every other row has; the others have feature 1, noise."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, 3))
    bought = np.zeros(X.shape, dtype=bool)
    bought[::2, 0] = bought[1::2, 1] = True
    return X, (X[:, 0] > 0).astype(float), bought


def test_rounds_read_only_what_is_bought():
    X, y, bought = half_bought()
    binned = Bins.fit(X).transform(X)
    rounds = masked_rounds(binned, bought, Rows(X, y), np.zeros(1), OPTIONS)
    assert len(rounds) == 10 and {f for one in rounds for f in one.trees[0].features.tolist()} <= {0, 1}
    scores = np.zeros((len(X), 1))
    add_rounds(scores, rounds, np.where(bought, X, np.nan), Costs(np.ones(3)), 1)
    right = (scores[:, 0] > 0) == y
    assert right[::2].mean() > 0.98 and right[1::2].mean() < 0.7
    other = X.copy()
    other[~bought] = 5.0
    again = masked_rounds(Bins.fit(X).transform(other), bought, Rows(X, y), np.zeros(1), OPTIONS)
    assert all(
        np.array_equal(one.trees[0].value, two.trees[0].value) for one, two in zip(rounds, again, strict=True)
    )


def test_rounds_start_from_the_scores_of_each_row():
    X, y, bought = half_bought()
    binned = Bins.fit(X).transform(X)
    sure = np.where(y > 0, 8.0, -8.0)[:, None]
    one = replace(OPTIONS, n_rounds=1, growth=GrowOptions(max_depth=2, min_samples_leaf=5, l2=10.0))
    known, none = (masked_rounds(binned, bought, Rows(X, y), base, one)[0] for base in (sure, np.zeros(1)))
    assert np.abs(known.trees[0].value).max() < 0.2 * np.abs(none.trees[0].value).max()


def test_without_purchases_there_are_no_rounds():
    X, y, bought = half_bought()
    binned = Bins.fit(X).transform(X)
    assert masked_rounds(binned, np.zeros_like(bought), Rows(X, y), np.zeros(1), OPTIONS) == []
