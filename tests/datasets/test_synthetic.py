"""The synthetic sets do what the papers say they do."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.svm import SVC

from miserly.datasets import make_quadrants, make_ring, make_xor_afr
from miserly.errors import DataError

SEEDS = range(4)


@pytest.mark.parametrize("make", [make_xor_afr, make_quadrants, make_ring])
def test_the_same_seed_gives_the_same_data(make):
    one, same, other = make(80, random_state=3), make(80, random_state=3), make(80, random_state=4)
    assert (one.X == same.X).all()
    assert (one.y == same.y).all()
    assert (one.X != other.X).any()
    assert len(one) == 80
    assert one.costs.names == one.feature_names


@pytest.mark.parametrize("make", [make_xor_afr, make_quadrants, make_ring])
def test_generators_take_a_generator_and_at_least_one_row(make):
    assert len(make(1, random_state=np.random.default_rng(0))) == 1
    with pytest.raises(DataError, match="at least one row"):
        make(0)


# -- AFR's XOR -------------------------------------------------------------------------------------------


def xor_accuracy(seed, features) -> float:
    train, test = make_xor_afr(random_state=seed).train_test()
    model = SVC(C=10).fit(train.X[:, features], train.y)
    return model.score(test.X[:, features], test.y)


def test_xor_has_the_papers_size_and_prices():
    data = make_xor_afr(random_state=0)
    assert data.costs.feature.tolist() == [1, 1, 1, 2, 5, 15, 25, 70, 100, 1000]
    train, test = data.train_test()
    assert (len(train), len(test)) == (640, 360)
    assert 0.4 < data.y.mean() < 0.6


def test_xor_is_better_seen_the_more_is_paid():
    # The cheapest five features cost 10, all but the three of cost 25, 100 and 1000 cost 95.
    cheap = np.mean([xor_accuracy(seed, [0, 1, 2, 3, 4]) for seed in SEEDS])
    middle = np.mean([xor_accuracy(seed, [0, 1, 2, 3, 4, 5, 7]) for seed in SEEDS])
    everything = np.mean([xor_accuracy(seed, list(range(10))) for seed in SEEDS])
    assert cheap < 0.9
    assert cheap + 0.05 < middle
    assert middle > 0.93
    assert everything > 0.99


def test_xor_cannot_be_separated_by_a_line():
    train, test = make_xor_afr(random_state=0).train_test()
    assert LogisticRegression().fit(train.X, train.y).score(test.X, test.y) < 0.65


def test_noise_of_a_feature_has_variance_one_over_its_cost():
    data = make_xor_afr(20_000, random_state=0)
    # What the five most expensive features do not explain of another is its noise (theirs is much smaller).
    plane = data.X[:, 5:]
    for feature, variance in ((0, 1.0), (3, 0.5), (4, 0.2)):
        rest = data.X[:, feature] - plane @ np.linalg.lstsq(plane, data.X[:, feature], rcond=None)[0]
        assert rest.var() == pytest.approx(variance, rel=0.15)


# -- CSTC's quadrants ------------------------------------------------------------------------------------


def test_a_perfect_answer_costs_twelve():
    data = make_quadrants(500, random_state=0)
    assert data.costs.feature.tolist() == [1, 1, 10, 10, 10, 10]
    expert = {(1, 1): "expert_++", (-1, 1): "expert_-+", (1, -1): "expert_+-", (-1, -1): "expert_--"}
    for row, label in zip(data.X, data.y, strict=True):
        asked = ["sign_x", "sign_z", expert[row[0], row[1]]]
        assert row[data.costs.index(asked[2])] == label
        assert data.costs.of(asked) == 12.0


def test_experts_know_nothing_outside_their_quadrant():
    data = make_quadrants(20_000, random_state=0)
    foreign = ~((data.X[:, 0] > 0) & (data.X[:, 1] > 0))
    assert abs(np.corrcoef(data.X[foreign, 2], data.y[foreign])[0, 1]) < 0.03


def test_labels_share_a_half_plane():
    data = make_quadrants(8_000, random_state=0)
    means = {
        (x, z): data.y[(data.X[:, 0] == x) & (data.X[:, 1] == z)].mean() for x in (-1, 1) for z in (-1, 1)
    }
    assert max(means[1, 1], means[-1, 1]) < min(means[1, -1], means[-1, -1])
    within = data.y[(data.X[:, 0] == 1) & (data.X[:, 1] == 1)]
    assert within.std() == pytest.approx(1.0, rel=0.05)


# -- CVM's ring ------------------------------------------------------------------------------------------


def test_ring_surrounds_the_blob():
    data = make_ring(random_state=0)
    assert np.bincount(data.y).tolist() == [300, 300]
    assert abs(data.X[data.y == 0].mean(axis=0)).max() < 0.2
    assert data.X[data.y == 0].std() == pytest.approx(1.0, rel=0.1)
    radius = np.linalg.norm(data.X[data.y == 1], axis=1)
    assert 3.5 < radius.mean() < 4.5


def test_ring_needs_a_kernel_and_a_kernel_is_what_costs():
    data = make_ring(random_state=0)
    assert LogisticRegression().fit(data.X, data.y).score(data.X, data.y) < 0.7
    curved = SVC().fit(data.X, data.y)
    assert curved.score(data.X, data.y) > 0.95
    assert curved.n_support_.sum() > 30, "the classes touch: there is something to compress"
    assert data.costs.of(["x", "z"], evaluations=8) == 8.0
