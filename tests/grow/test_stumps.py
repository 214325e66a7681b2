"""Stumps: the survey finds what trying everything finds."""

import numpy as np
import pytest

from miserly.grow import Bins
from miserly.grow.stumps import Stump, Stumps


def fall_of(push, share, votes):
    edge = push @ votes
    return float(share @ (1 - np.sqrt(1 - np.minimum(edge**2, 1))))


def pushes(n, n_classes, seed=0):
    rng = np.random.default_rng(seed)
    size = rng.gamma(1.0, size=(n_classes, n))
    share = rng.random(n_classes)
    return size / size.sum(axis=1, keepdims=True) * rng.choice([-1, 1], size.shape), share / share.sum()


def everything(x, categorical):
    """The votes of every stump on one column."""
    here = ~np.isnan(x)
    for value in np.unique(x[here]):
        if categorical:
            yield np.where(x == value, 1.0, -1.0)
        else:
            for missing in (1.0, -1.0):
                yield np.where(here, np.where(x <= value, 1.0, -1.0), missing)
    if categorical:
        yield np.where(here, -1.0, 1.0)


@pytest.mark.parametrize("n_classes", [1, 3])
@pytest.mark.parametrize("threads", [1, 2])
def test_the_survey_finds_the_best_cut_of_every_feature(n_classes, threads):
    rng = np.random.default_rng(1)
    n = 120
    X = np.column_stack(
        [
            rng.normal(size=n),
            rng.integers(0, 2, n),
            np.where(rng.random(n) < 0.2, np.nan, rng.normal(size=n)),
            np.where(rng.random(n) < 0.3, np.nan, rng.integers(0, 2, n)),
            np.where(rng.random(n) < 0.1, np.nan, rng.integers(0, 5, n)),  # categories
            np.ones(n),
        ]
    )
    categorical = np.arange(6) == 4
    stumps = Stumps(Bins.fit(X, categorical=categorical).transform(X), n_threads=threads)
    push, share = pushes(n, n_classes)
    found = stumps.best_cuts(push, share)
    for f in range(5):
        votes = [v for v in everything(X[:, f], categorical[f]) if abs(v.sum()) < n]
        best = max(fall_of(push, share, v) for v in votes)
        assert found.decrease[f] == pytest.approx(best, rel=1e-9)
        mine = stumps.votes(Stump(f, int(found.cut[f]), bool(found.missing_left[f])))
        assert fall_of(push, share, mine) == pytest.approx(best, rel=1e-9)
    assert found.decrease[5] == 0.0 and found.cut[5] == -1


def test_a_stump_as_a_tree_votes_the_same():
    rng = np.random.default_rng(2)
    X = np.column_stack([rng.normal(size=60), rng.integers(0, 4, 60)])
    X[rng.random(X.shape) < 0.2] = np.nan
    stumps = Stumps(Bins.fit(X, categorical=[False, True]).transform(X))
    found = stumps.best_cuts(*pushes(60, 1))
    n_bins = stumps.binned.bins.n_bins
    tried = [
        Stump(0, int(found.cut[0]), bool(found.missing_left[0])),
        Stump(0, int(n_bins[0]) - 1, False),  # all that is there, against what is missing
        Stump(1, int(found.cut[1]), bool(found.missing_left[1])),
        Stump(1, 255, True),
    ]
    for stump in tried:
        tree = stumps.tree(stump, 1.0, stump.missing_left, 0.0)
        walked = [tree.value[tree.child(0, x)] for x in X[:, stump.feature]]
        np.testing.assert_array_equal(walked, stumps.votes(stump))


def test_small_edges_are_not_lost_to_rounding():
    # Edge 1e-7: 1 - sqrt(1 - 1e-14) is 5e-15, of which plain subtraction keeps one digit.
    X = np.array([[0.0], [1.0]])
    stumps = Stumps(Bins.fit(X).transform(X))
    found = stumps.best_cuts(np.array([[0.5 + 0.5e-7, 0.5 - 0.5e-7]]), np.ones(1))
    assert found.decrease[0] == pytest.approx(0.5e-14, rel=1e-6)
