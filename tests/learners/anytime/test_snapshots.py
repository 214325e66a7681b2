"""Several representations for each snapshot: their mean, their rows, and the same bill."""

from unittest.mock import patch

import numpy as np
import pytest

from miserly import Costs, Plan
from miserly.data.rows import Rows
from miserly.datasets import load_heart
from miserly.errors import DataError
from miserly.learners import AFRClassifier
from miserly.learners.anytime import afr
from miserly.learners.anytime.representation import Division
from miserly.learners.anytime.snapshots import averaged, owners, paid_at
from miserly.plan import Node

SMALL = {"n_blocks": 6, "n_dimensions": 4, "n_trees": 5, "n_jobs": 1, "random_state": 0}


def three_classes(n=300):
    """Holes, a feature that costs nothing, and one more of a group with a set-up."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, 6))
    y = np.digitize(X[:, 0] + 2 * X[:, 1] + 3 * X[:, 2] + X[:, 3], [-2.0, 2.0])
    X[rng.random((n, 6)) < 0.05] = np.nan
    groups = {"lab": {"features": [1, 2, 3], "setup": 2.0}}
    return X, y, Costs([1.0, 3.0, 8.0, 0.0, 2.0, 0.0], groups=groups)


def heart_disease():
    heart = load_heart()
    return heart.X, heart.y, heart.costs


def fitted(problem, n_members, **parameters):
    X, y, costs = problem
    return AFRClassifier(costs=costs, n_members=n_members, **{**SMALL, **parameters}).fit(X, y)


@pytest.fixture(scope="module", params=[heart_disease, three_classes])
def problem(request):
    return request.param()


@pytest.fixture(scope="module")
def seen(problem):
    """What went into the means, what came out, and the model."""
    kept = []

    def spy(*given):
        kept.extend([given, averaged(*given)])
        return kept[1]

    with patch.object(afr, "averaged", spy):
        model = fitted(problem, 3)
    return *kept, model


def decisions(trees, snapshot, X, costs):
    """What a snapshot says before it is calibrated."""
    owner = owners(trees)
    node = Node(np.arange(len(trees)), owner, snapshot.by_tree(owner), np.array(snapshot.bias))
    terms, base = [tree for _, tree in trees], np.zeros(len(snapshot.bias))
    return Plan(costs=costs, terms=terms, nodes=[node], base=base).run(X).scores.reshape(len(X), -1)


def members_of(seen, costs):
    """For each snapshot, the trees and the one snapshot of every member, learned again."""
    (builders, _, _), _, _ = seen
    first = builders[0]
    for own, paid in zip(first.snapshots, paid_at(first.snapshots, first.trees, len(costs)), strict=True):
        fresh = [builder.with_features(paid) for builder in builders[1:]]
        yield [(first.trees, own), *((one.trees, one.learn()) for one in fresh)]


def test_a_snapshot_says_the_mean_of_what_its_members_say(problem, seen):
    X, _, costs = problem
    _, (trees, snapshots, _), _ = seen
    assert len(snapshots) > 2
    for mean, members in zip(snapshots, members_of(seen, costs), strict=True):
        decided = [decisions(*member, X, costs) for member in members]
        np.testing.assert_allclose(decisions(trees, mean, X, costs), np.mean(decided, axis=0), atol=1e-12)
        assert np.ptp(decided, axis=0).max() > 0.1  # they differ


def test_decisions_on_a_row_are_those_of_members_that_did_not_learn_from_it(problem, seen):
    X, _, costs = problem
    (_, validation, n_rows), (_, snapshots, held_out), _ = seen
    is_held_out = np.array([np.isin(np.arange(n_rows), rows) for rows in validation])  # (members, rows)
    np.testing.assert_array_equal(held_out, np.flatnonzero(is_held_out.any(axis=0)))
    for mean, members in zip(snapshots, members_of(seen, costs), strict=True):
        decided = np.array([decisions(*member, X, costs) for member in members])  # (members, rows, classes)
        for place, row in enumerate(held_out):
            expected = decided[is_held_out[:, row], row].mean(axis=0)
            np.testing.assert_allclose(mean.validation[:, place], expected, atol=1e-12)


def test_members_change_answers_and_no_bill(problem, seen):
    X = problem[0]
    model, alone = seen[-1], fitted(problem, 1)
    np.testing.assert_array_equal(model.snapshot_costs_, alone.snapshot_costs_)
    np.testing.assert_array_equal(model.outer_losses_, alone.outer_losses_)
    assert len(model.plan_.terms) > len(alone.plan_.terms)
    for one, other in zip(model.staged_run(X, "tree"), alone.staged_run(X, "tree"), strict=True):
        np.testing.assert_array_equal(one.acquired, other.acquired)
        np.testing.assert_array_equal(one.cost, other.cost)
        assert not np.allclose(one.scores, other.scores)


def test_one_alone_answers_as_it_did_before_there_were_members():
    X, y, costs = heart_disease()
    model = fitted((X, y, costs), 1)
    np.testing.assert_allclose(model.snapshot_costs_, [1.0, 2.0, 3.0, 4.0, 11.27])
    known = [1.3405811817711313, -3.259514672193983, 0.03071855322766931, 1.2678754759965958]
    np.testing.assert_allclose(model.decision_function(X)[:4], known, rtol=1e-7)


def test_the_same_seed_gives_the_same_members(problem, seen):
    X, again = problem[0], fitted(problem, 3)
    np.testing.assert_array_equal(again.predict_proba(X), seen[-1].predict_proba(X))


def test_a_budget_gets_the_most_expensive_snapshot_that_fits(problem, seen):
    X, model = problem[0], seen[-1]
    for k, cost in enumerate(model.snapshot_costs_):
        assert (model.run(X, budget=cost, count="tree").exit == k).all()


@pytest.mark.parametrize("change", ["evaluation", "max_dimensions", "rows", "snapshots"])
def test_by_default_there_is_one_where_more_would_not_do(change, monkeypatch):
    X, y, costs = three_classes(300)
    if change == "rows":
        monkeypatch.setattr(afr, "MAX_ROWS", 299)
    if change == "evaluation":
        costs = Costs.from_dict({**costs.to_dict(), "evaluation": 0.1})
    if change == "snapshots":
        monkeypatch.setattr(afr, "MAX_SNAPSHOTS", 2)  # there are some more
    dimensions = 2 if change == "max_dimensions" else None
    small = {**SMALL, "n_blocks": 2, "n_dimensions": 1, "n_trees": 2, "max_dimensions": dimensions}
    auto, one = (AFRClassifier(costs=costs, n_members=n, **small).fit(X, y) for n in ("auto", 1))
    assert len(auto.plan_.terms) == len(one.plan_.terms) > 0
    np.testing.assert_array_equal(auto.predict_proba(X), one.predict_proba(X))


def test_by_default_few_rows_get_several():
    X, y, costs = three_classes()
    auto, four = (fitted((X, y, costs), n, n_blocks=2) for n in ("auto", 4))
    np.testing.assert_array_equal(auto.predict_proba(X), four.predict_proba(X))


def test_more_than_one_is_refused_where_trees_have_a_price_or_dimensions_a_limit():
    X, y, costs = three_classes()
    priced = Costs.from_dict({**costs.to_dict(), "evaluation": 0.1})
    with pytest.raises(DataError, match="if evaluating a tree costs something, got 4"):
        AFRClassifier(costs=priced, n_members=4).fit(X, y)
    with pytest.raises(DataError, match=r"if max_dimensions .*, got 2"):
        AFRClassifier(costs=costs, n_members=2, max_dimensions=2).fit(X, y)


def test_divisions_differ_and_keep_queries_together():
    qid = np.repeat(np.arange(50), 4)
    samples = Rows(np.zeros((200, 1)), np.arange(200) % 2, qid=qid)
    divided = [Division.of(samples, 0.2, seed) for seed in (1, 2)]
    for one in divided:
        assert sorted(one.order) == list(range(200))
        parts = [
            set(qid[one.order[part]]) for part in (one.parts.inner, one.parts.outer, one.parts.validation)
        ]
        assert sum(len(part) for part in parts) == 50
    assert set(divided[0].validation) != set(divided[1].validation)


def test_nothing_to_learn_costs_nothing():
    model = AFRClassifier(n_members=4).fit(np.zeros((40, 2)), np.arange(40) % 2)
    assert model.cost_ == 0.0 and len(model.plan_.nodes) == 0
