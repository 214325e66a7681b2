"""The ranking generator: size, shape, queries, prices, and something to learn."""

from __future__ import annotations

import tracemalloc

import numpy as np
import pytest
from sklearn.linear_model import Ridge

from miserly.costs import Costs
from miserly.datasets import TIERS, make_ranking, tiered_costs
from miserly.errors import DataError
from miserly.metrics import ndcg


@pytest.fixture(scope="module")
def data():
    return make_ranking(6_000, n_features=100, random_state=0)


def test_it_has_the_shape_of_the_yahoo_set(data):
    assert data.X.shape == (6_000, 100)
    assert data.X.dtype == np.float32
    assert np.bincount(data.y) / 6_000 == pytest.approx([0.26, 0.36, 0.26, 0.09, 0.03], abs=0.002)
    assert 0.45 < (data.X == 0).mean() < 0.75
    assert (data.X >= 0).all()
    sizes = np.bincount(data.qid)
    assert sizes.mean() == pytest.approx(473_134 / 19_944, rel=0.02)
    assert sizes.min() >= 1
    assert sizes.max() > 2 * sizes.mean()


def test_the_whole_yahoo_set_has_the_papers_prices():
    costs = make_ranking(60, random_state=0).costs
    prices, counts = np.unique(costs.feature, return_counts=True)
    assert dict(zip(prices.tolist(), counts.tolist(), strict=True)) == TIERS
    assert len(costs) == 519


def test_the_same_seed_gives_the_same_data(data):
    again, other = (make_ranking(6_000, n_features=100, random_state=seed) for seed in (0, 1))
    assert (again.X == data.X).all()
    assert (again.y == data.y).all()
    assert again.costs == data.costs
    assert (other.X != data.X).any()


def test_documents_of_a_query_are_alike(data):
    means = np.array([data.X[data.qid == q].mean(axis=0) for q in range(data.qid.max() + 1)])
    sizes = np.bincount(data.qid)
    noise = data.X.var(axis=0).mean() / sizes.mean()
    assert means[sizes > 5].var(axis=0).mean() > 3 * noise
    grades = np.bincount(data.qid, data.y) / sizes
    assert grades[sizes > 5].var() > 2 * data.y.var() / sizes.mean()


def test_some_columns_describe_the_query_alone(data):
    first = np.array([data.X[data.qid == q][0] for q in range(data.qid.max() + 1)])
    constant = (first[data.qid] == data.X).all(axis=0)
    assert 2 <= constant.sum() <= 25


def test_there_is_something_to_learn(data):
    train, test = data.train_test(random_state=0)
    model = Ridge().fit(train.X, train.y)
    learned = ndcg(test.y, model.predict(test.X), test.qid)
    assert learned > ndcg(test.y, np.zeros(len(test)), test.qid) + 0.2
    assert learned < 0.99


def test_the_most_telling_feature_is_the_most_expensive():
    data = make_ranking(3_000, random_state=1)
    strength = np.abs(np.corrcoef(data.X.T, data.y)[-1, :-1])
    assert data.costs.feature[np.nanargmax(strength)] == 200.0


def test_memory_is_the_matrix_and_little_more():
    tracemalloc.start()
    try:
        data = make_ranking(60_000, n_features=150, random_state=0)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 1.35 * data.X.nbytes


def test_any_size_and_number_of_queries():
    assert make_ranking(1, n_features=1, random_state=0).X.shape == (1, 1)
    data = make_ranking(50, n_features=3, random_state=0, n_queries=50)
    assert np.bincount(data.qid).tolist() == [1] * 50
    one = make_ranking(50, n_features=3, random_state=0, n_queries=1, evaluation=1.0)
    assert set(one.qid.tolist()) == {0}
    assert one.costs.evaluation == 1.0


@pytest.mark.parametrize("wrong", [{"n_rows": 0}, {"n_features": 0}, {"n_queries": 0}, {"n_queries": 11}])
def test_impossible_sizes_are_refused(wrong):
    with pytest.raises(DataError):
        make_ranking(**{"n_rows": 10, "n_features": 2, **wrong})


# -- tiers -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("n", [1, 2, 7, 46, 136, 519, 1000])
def test_tiers_keep_their_shares_at_any_size(n):
    costs = tiered_costs(n, random_state=0)
    assert len(costs) == n
    for price, count in TIERS.items():
        assert abs((costs.feature == price).sum() - n * count / 519) < 1


def test_tiers_by_name_and_by_seed():
    names = [f"f{i}" for i in range(40)]
    costs = tiered_costs(names, random_state=5, unit="trees")
    assert isinstance(costs, Costs)
    assert costs.names == tuple(names)
    assert costs.unit == "trees"
    assert costs == tiered_costs(names, random_state=5, unit="trees")
    assert costs != tiered_costs(names, random_state=6, unit="trees")
    assert costs.feature.tolist() == tiered_costs(40, random_state=5).feature.tolist()
