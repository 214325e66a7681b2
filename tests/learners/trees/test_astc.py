"""ASTC: cheap features show the way to the expensive ones, and every node keeps to its budget."""

import numpy as np
import pytest

from miserly import ASTCClassifier, ASTCRegressor, Costs
from miserly.datasets import load_heart, make_quadrants, make_ranking
from miserly.errors import CostError, DataError
from miserly.learners.common import linear_fit as _linear_fit
from miserly.learners.trees import astc_base as _astc_base
from miserly.learners.trees import astc_growth as _astc
from miserly.plan import LEAVE

SPENT_AT_THE_ENDS = [2, 0, 0, 10, 10, 10, 10]


@pytest.fixture(scope="module")
def quadrants():
    return make_quadrants(1000, random_state=0), make_quadrants(1000, random_state=100)


@pytest.fixture(scope="module")
def heart():
    return load_heart()


def small(learner=ASTCClassifier, **given):
    return learner(**{"max_depth": 3, "random_state": 0, **given})


# -- the synthetic set of the papers -------------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(4))
def test_quadrants_are_solved_at_the_least_cost_there_is(seed):
    train, test = make_quadrants(1000, random_state=seed), make_quadrants(1000, random_state=seed + 100)
    model = small(ASTCRegressor, costs=train.costs, node_budget=SPENT_AT_THE_ENDS).fit(train.X, train.y)
    run = model.run(test.X)
    assert np.mean((run.scores - test.y) ** 2) < 1e-12
    assert (run.cost == 12.0).all()
    assert set(run.exit) == {3, 4, 5, 6}


def test_soft_traversal_solves_them_nearly(quadrants):
    train, test = quadrants
    model = small(ASTCRegressor, costs=train.costs, node_budget=SPENT_AT_THE_ENDS, soft=True)
    run = model.fit(train.X, train.y).run(test.X)
    assert 1e-12 < np.mean((run.scores - test.y) ** 2) < 0.01 * test.y.var()
    assert run.cost.mean() == 12.0


# -- budgets -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("terms", ["linear", "boosted"])
@pytest.mark.parametrize("node_budget", [0.0, 3.0, 11.5])
def test_every_node_keeps_to_its_budget_on_top_of_its_ancestors(heart, terms, node_budget):
    costs = Costs.from_dict({**heart.costs.to_dict(), "evaluation": 0.25})
    plan = small(costs=costs, node_budget=node_budget, terms=terms, n_terms=20).fit(heart.X, heart.y).plan_
    paid: dict[int, tuple[set, set]] = {-1: (set(), set())}
    for k, (node, parent) in enumerate(zip(plan.nodes, plan.parents, strict=True)):
        features, evaluated = (set(done) for done in paid[int(parent)])
        before = costs.of(features) + sum(plan.terms[t].evaluation for t in evaluated)
        evaluated |= set(node.terms.tolist())
        features |= {int(f) for t in node.terms for f in plan.terms[t].features}
        after = costs.of(features) + sum(plan.terms[t].evaluation for t in evaluated)
        assert after - before <= node_budget + 1e-9
        paid[k] = features, evaluated


def test_a_budget_is_kept_on_average_over_rows_that_were_held_out():
    data = make_ranking(3000, 40, random_state=0)
    cheap, expensive = (
        small(ASTCRegressor, costs=data.costs, mean_budget=b).fit(data.X, data.y) for b in (20, 200)
    )
    for model, budget in ((cheap, 20), (expensive, 200)):
        assert 0.5 * budget < model.expected_cost_ <= budget
        assert 0.5 * budget < model.run(data.X).cost.mean() < 1.1 * budget
        assert len(np.unique(model.node_budget_)) == 1 and model.node_budget_.shape == (7,)
        assert model.node_budget_[0] >= budget / 3
    assert expensive.score(data.X, data.y) > cheap.score(data.X, data.y) + 0.02


def test_a_budget_is_divided_as_suits_the_data(quadrants):
    """Of two cheap features and an expensive one at the end, no node must buy more than ten units' worth."""
    train, test = quadrants
    model = small(ASTCRegressor, costs=train.costs, mean_budget=22).fit(train.X, train.y)
    assert 10 <= model.node_budget_[0] < 22
    assert model.score(test.X, test.y) > 0.95


def test_how_much_is_held_out_and_which_rows_matter(heart):
    def cost(**given):
        return small(costs=heart.costs, mean_budget=20, **given).fit(heart.X, heart.y).expected_cost_

    assert cost() != cost(validation_fraction=0.4)
    assert cost() != cost(random_state=5)


def test_queries_are_held_out_whole(monkeypatch):
    data = make_ranking(1000, 12, random_state=0)
    seen = {}
    evaluate = _astc_base._evaluate
    monkeypatch.setattr(
        _astc_base, "_evaluate", lambda *given: seen.update(rows=given[3]) or evaluate(*given)
    )
    small(ASTCRegressor, costs=data.costs, mean_budget=30).fit(data.X, data.y, qid=data.qid)
    held_out = np.isin(data.qid, seen["rows"].qid)
    assert held_out.sum() == len(seen["rows"]) and 0 < held_out.mean() < 0.5


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"node_budget": [1, 2, 3]}, "each of the 7 nodes of 3 levels"),
        ({"node_budget": [1, 2, 3, 4, 5, 6, -7]}, "0 or more, not -7"),
        ({"node_budget": 3, "mean_budget": 9}, "not both"),
    ],
)
def test_bad_budgets_are_refused_in_words(heart, given, words):
    with pytest.raises(CostError, match=words):
        small(costs=heart.costs, **given).fit(heart.X, heart.y)


# -- what is bought ------------------------------------------------------------------------------------------


def test_an_open_group_is_used_by_the_children():
    """Column 0 opens the group for all; of two equally good columns a child takes the one in the group."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(800, 4))
    X[:, 2] = X[:, 1]
    y = 3.0 * X[:, 0] + np.where(X[:, 0] > 0, 2.0, -2.0) * X[:, 1]
    costs = Costs([1.0, 2.0, 1.0, 1.0], groups={"g": {"features": [0, 2], "setup": 3.0}})
    model = small(ASTCRegressor, costs=costs, max_depth=2, node_budget=[4, 1, 1]).fit(X, y)
    assert model.features_.tolist() == [0, 2] and model.cost_ == 5.0
    assert model.score(X, y) > 0.95


def test_a_tradeoff_leaves_out_what_is_not_worth_its_price(heart):
    costs = [small(costs=heart.costs, tradeoff=t).fit(heart.X, heart.y).cost_ for t in (0.0, 1e-3, 1e-2, 1.0)]
    assert costs[0] > costs[1] > costs[2] > costs[3] == 0.0


def test_the_unit_of_the_tradeoff_is_half_the_mean_squared_error():
    rng = np.random.default_rng(0)
    x = rng.normal(size=500)
    x = (x - x.mean()) / x.std()
    y = 4.0 * x  # buying x lowers half the mean squared error from 8 to 0
    for tradeoff, bought in ((0.79, [0]), (0.81, [])):
        model = small(ASTCRegressor, costs=[10.0], tradeoff=tradeoff).fit(x[:, None], y)
        assert model.features_.tolist() == bought


def test_columns_of_noise_are_left_out():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(600, 100))
    y = X[:, 0] + 0.5 * rng.normal(size=600)
    fresh = rng.normal(size=(2000, 100))
    model = small(ASTCRegressor).fit(X, y)
    assert model.run(X).cost.mean() < 25  # of 100
    assert np.mean((model.predict(fresh) - fresh[:, 0]) ** 2) < 0.1


# -- the shape of the tree -----------------------------------------------------------------------------------


def test_nodes_of_too_few_rows_are_not_made(heart):
    for least in (20, 60, 200):
        model = small(max_depth=5, min_samples_leaf=least).fit(heart.X, heart.y)
        exits = np.bincount(model.run(heart.X).exit)
        assert exits[exits > 0].min() >= least or len(model.plan_.nodes) == 1
    assert len(model.plan_.nodes) == 1


@pytest.mark.parametrize("depth", [1, 2, 4])
def test_max_depth_counts_levels(depth):
    train = make_quadrants(1000, random_state=0)
    plan = ASTCRegressor(max_depth=depth, min_samples_leaf=5).fit(train.X, train.y).plan_
    levels = np.zeros(len(plan.nodes), dtype=int)
    for k in range(1, len(levels)):
        levels[k] = levels[plan.parents[k]] + 1
    assert levels.max() == depth - 1
    for node in plan.nodes:
        assert (node.up == LEAVE) == (node.low == LEAVE)


def test_about_half_of_the_rows_go_each_way():
    data = make_ranking(2000, 30, random_state=0)
    model = small(ASTCRegressor).fit(data.X, data.y)
    assert np.bincount(model.run(data.X).exit)[3:].min() > 0.2 * len(data.X)
    up = np.isin(model.run(data.X).exit, [3, 4])
    assert up.mean() == pytest.approx(0.5, abs=0.01)


def test_only_the_smaller_child_is_gone_through(monkeypatch):
    looked = []
    whole = _astc.gram

    def counting(columns, targets, weight=None, rows=None, **given):
        looked.append(len(targets) if rows is None else len(rows))
        return whole(columns, targets, weight, rows=rows, **given)

    monkeypatch.setattr(_astc, "gram", counting)
    data = make_ranking(2000, 20, random_state=0)
    ASTCRegressor(max_depth=4).fit(data.X, data.y)
    assert sum(looked) <= 2000 * (1 + 3 * 0.5) + 1


# -- precision -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("terms", ["linear", "boosted"])
@pytest.mark.parametrize("soft", [False, True])
def test_float32_columns_give_the_tree_of_float64_ones(monkeypatch, terms, soft):
    data = make_ranking(3000, 25, random_state=1)
    given = {"costs": data.costs, "node_budget": 40, "terms": terms, "n_terms": 20, "soft": soft}
    exact = small(ASTCRegressor, **given).fit(data.X, data.y)
    monkeypatch.setattr(_linear_fit, "EXACT", 0)
    rough = small(ASTCRegressor, **given).fit(data.X, data.y)
    assert rough.features_.tolist() == exact.features_.tolist()
    one, other = exact.run(data.X), rough.run(data.X)
    same = one.exit == other.exit
    assert same.mean() > 0.998
    assert np.abs(one.scores - other.scores)[same].mean() < 1e-4


def test_targets_far_from_zero_lose_nothing(monkeypatch):
    monkeypatch.setattr(_linear_fit, "EXACT", 0)
    data = make_quadrants(1000, random_state=0)
    here, there = (
        small(ASTCRegressor, costs=data.costs, node_budget=12).fit(data.X, data.y + shift).predict(data.X)
        for shift in (0.0, 1e7)
    )
    np.testing.assert_allclose(there - 1e7, here, atol=1e-4)


# -- terms ---------------------------------------------------------------------------------------------------


def test_boosted_terms_see_what_lines_do_not():
    rng = np.random.default_rng(0)
    X = rng.uniform(-1, 1, size=(2000, 3))
    y = np.where(np.abs(X[:, 0]) < 0.5, 1.0, -1.0) + 0.2 * X[:, 1]
    lines, trees = (
        ASTCRegressor(max_depth=1, terms=terms).fit(X, y).score(X, y) for terms in ("linear", "boosted")
    )
    assert lines < 0.2 and trees > 0.9


def test_more_terms_and_another_step_change_the_model():
    data = make_ranking(1500, 10, random_state=0)

    def fit(**given):
        model = small(ASTCRegressor, max_depth=1, terms="boosted", **given).fit(data.X, data.y)
        return len(model.plan_.terms), model.score(data.X, data.y)

    few, many, fast = fit(n_terms=2), fit(n_terms=30), fit(n_terms=30, step=0.7)
    assert few[0] <= 2 < many[0]
    assert few[1] < many[1] and fast[1] != many[1]


def test_text_is_for_boosted_terms_only():
    pandas = pytest.importorskip("pandas")
    rng = np.random.default_rng(0)
    town = rng.choice(["aye", "bex", "pau"], size=300)
    frame = pandas.DataFrame({"town": town, "x": rng.normal(size=300)})
    y = np.where(town == "bex", 1.0, -1.0)
    with pytest.raises(DataError, match="'town'"):
        small(ASTCRegressor).fit(frame, y)
    model = small(ASTCRegressor, terms="boosted").fit(frame, y)
    assert model.score(frame, y) > 0.99


# -- classes -------------------------------------------------------------------------------------------------


def test_several_classes_share_what_is_bought_and_steer_by_where_they_differ():
    rng = np.random.default_rng(0)
    y = np.arange(1200) % 4
    corner = np.array([[-3, -1], [-3, 1], [3, -1], [3, 1]])[y]
    X = np.column_stack([corner + 0.2 * rng.normal(size=(1200, 2)), rng.normal(size=1200)])
    model = ASTCClassifier(costs=[1.0, 5.0, 1.0], max_depth=2, node_budget=[1, 5, 5]).fit(X, y)
    assert model.score(X, y) > 0.99
    root = model.plan_.nodes[0]
    assert root.gate.channel == 4 and model.plan_.n_outputs == 4
    sides = model.run(X).exit
    assert len({*sides[y < 2]}) == 1 and len({*sides[y >= 2]}) == 1


def test_probabilities_fit_the_shares_of_the_classes(heart):
    model = small(costs=heart.costs, node_budget=5).fit(heart.X, heart.y)
    share = model.predict_proba(heart.X)[:, 1]
    assert share.mean() == pytest.approx(heart.y.mean(), abs=0.05)
    for low, high in ((0.0, 0.3), (0.3, 0.7), (0.7, 1.0)):
        here = (share > low) & (share <= high)
        assert heart.y[here].mean() == pytest.approx(share[here].mean(), abs=0.12)


# -- odd data ------------------------------------------------------------------------------------------------


def test_constant_targets_and_useless_columns_cost_nothing():
    X = np.column_stack([np.arange(100.0), np.ones(100), np.full(100, np.nan)])
    model = small(ASTCRegressor).fit(X, np.full(100, 3.5))
    assert model.cost_ == 0.0 and (model.predict(X) == 3.5).all()
    assert small(ASTCRegressor).fit(X[:, 1:], X[:, 0]).cost_ == 0.0


def test_missing_values_stand_at_the_mean():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(500, 2))
    y = X @ [2.0, 1.0]
    X[rng.random(X.shape) < 0.1] = np.nan
    model = ASTCRegressor(max_depth=1).fit(X, y)
    mean = np.nanmean(X, axis=0)
    filled = np.where(np.isnan(X), mean, X)
    np.testing.assert_allclose(model.predict(X), model.predict(filled))


def test_weights_of_rows_count(quadrants):
    train, _ = quadrants
    west = train.X[:, 0] < 0
    model = ASTCRegressor(max_depth=1).fit(train.X, train.y, sample_weight=np.where(west, 1.0, 1e-9))
    plain = ASTCRegressor(max_depth=1).fit(train.X, train.y)
    alone = ASTCRegressor(max_depth=1).fit(train.X[west], train.y[west])
    assert alone.score(train.X[west], train.y[west]) > plain.score(train.X[west], train.y[west]) + 0.01
    np.testing.assert_allclose(
        model.predict(train.X[west]), alone.predict(train.X[west]), atol=0.05 * train.y.std()
    )
