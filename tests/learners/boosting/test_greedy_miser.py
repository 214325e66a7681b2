"""Greedy Miser: what trees it grows, what it pays, and that budgets hold."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from miserly import Costs, Ledger, load
from miserly.errors import CostError
from miserly.grow import Bins, GrowOptions
from miserly.learners import GreedyMiserClassifier, GreedyMiserRanker, GreedyMiserRegressor
from miserly.losses import Logistic, Multinomial
from miserly.metrics import ndcg
from tests.grow.reference import reference_newton, reference_squared

STUMP = {"max_depth": 1, "min_samples_leaf": 1}
LADDER = np.array([[0.0], [1.0], [2.0], [3.0]])


def same_model(one, other, X):
    """Whether two fitted models split on the same things and say the same, to the bit."""
    return (
        len(one.plan_.terms) == len(other.plan_.terms)
        and np.array_equal(one.run(X).scores, other.run(X).scores)
        and np.array_equal(one.run(X).acquired, other.run(X).acquired)
    )


# -- by hand -----------------------------------------------------------------------------------------------


def test_one_stump_by_hand():
    # Mean 2; the split at 1.5 leaves -2 and +2; half of it is added.
    model = GreedyMiserRegressor(n_rounds=1, step=0.5, **STUMP).fit(LADDER, [0.0, 0.0, 4.0, 4.0])
    assert model.predict(LADDER).tolist() == [1.0, 1.0, 3.0, 3.0]
    assert model.plan_.base.tolist() == [2.0]
    assert model.plan_.terms[0].threshold[0] == 1.5
    assert model.cost_ == 1.0 and model.features_.tolist() == [0]


@pytest.mark.parametrize(("tradeoff", "bought"), [(0.199, [0]), (0.201, [])])
def test_a_feature_is_bought_iff_it_lowers_the_mean_loss_by_more_than_it_costs(tradeoff, bought):
    # The stump lowers the mean of 1/2 (y - 2)^2 from 2 to 0; at a cost of 10 it is worth 0.2 a unit.
    y = [0.0, 0.0, 4.0, 4.0]
    model = GreedyMiserRegressor(costs=[10.0], tradeoff=tradeoff, n_rounds=3, **STUMP).fit(LADDER, y)
    assert model.features_.tolist() == bought
    assert model.stopped_by_ == ("rounds" if bought else "no split")
    assert model.n_rounds_ == (3 if bought else 0)


def test_logistic_stump_by_hand():
    # p = 1/2: gradients -+1/2, hessians 1/4, so the leaves are -+2; with step 0.1 the scores are -+0.2.
    model = GreedyMiserClassifier(n_rounds=1, **STUMP).fit(LADDER, ["no", "no", "yes", "yes"])
    np.testing.assert_allclose(model.decision_function(LADDER), [-0.2, -0.2, 0.2, 0.2])
    assert model.predict(LADDER).tolist() == ["no", "no", "yes", "yes"]
    np.testing.assert_allclose(
        model.predict_proba(LADDER)[3], [1 / (1 + np.exp(0.2)), 1 / (1 + np.exp(-0.2))]
    )


def test_two_classes_by_multinomial_loss_agree_with_logistic():
    y = ["no", "no", "yes", "yes"]
    one = GreedyMiserClassifier(n_rounds=1, **STUMP).fit(LADDER, y)
    two = GreedyMiserClassifier(n_rounds=1, loss="multinomial", **STUMP).fit(LADDER, y)
    assert two.plan_.link == "softmax" and len(two.plan_.terms) == 2
    np.testing.assert_allclose(two.decision_function(LADDER), one.decision_function(LADDER))


def test_squared_hinge_stump_by_hand():
    # Signs -1 -1 1 1, start 0: all inside the margin, gradients are the signs; scores -+0.1.
    model = GreedyMiserClassifier(n_rounds=1, loss="squared_hinge", **STUMP).fit(LADDER, [0, 0, 1, 1])
    np.testing.assert_allclose(model.decision_function(LADDER), [-0.1, -0.1, 0.1, 0.1])
    assert not hasattr(model, "predict_proba")


def test_a_group_is_set_up_once():
    # Either column of the group costs 1 + 4 at first; once one is bought the other costs 1.
    x = np.repeat([0.0, 1.0], 8)
    z = np.tile([0.0, 1.0], 8)
    costs = Costs([1.0, 1.0], groups={"g": {"features": [0, 1], "setup": 4.0}})
    model = GreedyMiserRegressor(costs=costs, max_depth=2, min_samples_leaf=1, n_rounds=5)
    assert model.fit(np.column_stack([x, z]), x + z).cost_ == 6.0
    assert model.set_params(budget=5.5).fit(np.column_stack([x, z]), x + z).cost_ == 5.0


# -- against others ------------------------------------------------------------------------------------------


def integers(seed=0, n=1500):
    rng = np.random.default_rng(seed)
    X = rng.integers(0, 60, size=(n, 8)).astype(float)
    signal = X[:, 0] * 0.05 + 2 * (X[:, 1] > 30) + np.sin(X[:, 2] / 10) * (X[:, 3] > 20)
    return X, signal + 0.4 * rng.normal(size=n), rng.integers(1, 4, n).astype(float)


def lightgbm_scores(X, y, weight, rounds, **params):
    import lightgbm

    fixed = {
        "num_leaves": 16,
        "max_depth": 4,
        "min_data_in_leaf": 0,  # it estimates counts from hessians, so only 0 means the same for all losses
        "min_sum_hessian_in_leaf": 1e-3 if weight is None else 1e-3 * weight.mean(),  # ours average 1
        "learning_rate": 0.1,
        "min_data_in_bin": 1,
        "verbose": -1,
        "num_threads": 1,
        "deterministic": True,
        "force_col_wise": True,
    }
    booster = lightgbm.train({**fixed, **params}, lightgbm.Dataset(X, y, weight=weight), rounds)
    return booster.predict(X, raw_score=True)


def test_squared_loss_without_tradeoff_equals_lightgbm():
    X, signal, _ = integers()
    y = np.rint(10 * signal)
    model = GreedyMiserRegressor(min_samples_leaf=1).fit(X, y)
    np.testing.assert_allclose(model.predict(X), lightgbm_scores(X, y, None, 100), rtol=0, atol=1e-6)


@pytest.mark.parametrize(("weighted", "rounds"), [(False, 50), (True, 5)])
def test_logistic_loss_without_tradeoff_equals_lightgbm(weighted, rounds):
    # With weights the two part at the sixth round; ours equals the slow reference there and LightGBM does
    # not. Why is not known, so only the rounds before are compared.
    X, signal, weight = integers()
    y = (signal > 2).astype(int)
    weight = weight if weighted else None
    model = GreedyMiserClassifier(min_samples_leaf=1, n_rounds=rounds).fit(X, y, sample_weight=weight)
    expected = lightgbm_scores(X, y, weight, rounds, objective="binary")
    np.testing.assert_allclose(model.decision_function(X), expected, rtol=0, atol=1e-6)


def test_multinomial_loss_without_tradeoff_equals_lightgbm():
    X, signal, _ = integers()
    y = np.digitize(signal, [1, 2])
    model = GreedyMiserClassifier(min_samples_leaf=1, n_rounds=10).fit(X, y)
    expected = lightgbm_scores(X, y, None, 10, objective="multiclass", num_class=3)
    np.testing.assert_allclose(model.decision_function(X), expected, rtol=0, atol=1e-6)


GROUPED = Costs(
    [5.0, 3.0, 2.0, 1.0, 1.0, 0.0], groups={"g": {"features": [0, 1], "setup": 2.0}}, evaluation=0.1
)


@pytest.fixture
def any_order(monkeypatch):
    """Rounds that buy when single splits want to, as in the paper, also where there is a budget."""

    def plain(trees, ledger, tradeoff, *_):
        return [grow(ledger=ledger, tradeoff=tradeoff) for grow in trees]

    monkeypatch.setattr("miserly.learners.common.booster.use_paid_first", plain)


@pytest.mark.usefixtures("any_order")
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("tradeoff", [0.0, 0.003, 0.03])
@pytest.mark.parametrize("budget", [None, 9.0])
def test_squared_loss_equals_the_slow_reference(sets, tradeoff, budget, weighted):
    weight = sets.weight / sets.weight.mean() if weighted else None
    binned = Bins.fit(sets.X).transform(sets.X)
    options = GrowOptions(max_depth=2, min_samples_leaf=20)
    ledger = Ledger(GROUPED, budget)
    scores = np.full(len(sets.y), np.average(sets.y, weights=weight))
    for _ in range(4):
        ledger.evaluate()
        tree = reference_squared(
            binned, sets.y - scores, weight, ledger=ledger, tradeoff=tradeoff, options=options
        )
        scores += 0.1 * tree.output
    model = GreedyMiserRegressor(costs=GROUPED, tradeoff=tradeoff, budget=budget, max_depth=2, n_rounds=4)
    model.fit(sets.X, sets.y, sample_weight=sets.weight if weighted else None)
    np.testing.assert_allclose(model.predict(sets.X), scores, rtol=0, atol=1e-9)
    np.testing.assert_array_equal(model.ledger_.paid, ledger.paid)
    assert model.cost_ == pytest.approx(ledger.spent)


@pytest.mark.usefixtures("any_order")
@pytest.mark.parametrize(("loss", "label"), [(Logistic(), "label"), (Multinomial(3), "classes")])
def test_newton_losses_equal_the_slow_reference(sets, loss, label):
    y, n = getattr(sets, label).astype(float), len(sets.y)
    binned = Bins.fit(sets.X).transform(sets.X)
    options = GrowOptions(max_depth=2, min_samples_leaf=20)
    ledger = Ledger(GROUPED, 10.0)
    scores = np.tile(loss.initial(y, None), (n, 1))
    for _ in range(3):
        ledger.evaluate(loss.n_scores)
        gradient, hessian = loss.gradient_hessian(y, scores, None)
        for k in range(loss.n_scores):
            tree = reference_newton(
                binned, gradient[:, k], hessian[:, k], n, ledger=ledger, tradeoff=0.002, options=options
            )
            scores[:, k] += 0.1 * tree.output
    model = GreedyMiserClassifier(costs=GROUPED, tradeoff=0.002, budget=10.0, max_depth=2, n_rounds=3)
    found = model.fit(sets.X, y).run(sets.X).scores.reshape(scores.shape)
    np.testing.assert_allclose(found, scores, rtol=0, atol=1e-9)
    np.testing.assert_array_equal(model.ledger_.paid, ledger.paid)
    assert 0 < model.ledger_.paid.sum() < 6


# -- costs ---------------------------------------------------------------------------------------------------


prices = st.lists(st.sampled_from([0.0, 0.1, 0.3, 1.0, 2.5]), min_size=6, max_size=6)


@settings(max_examples=25, deadline=None)
@given(
    own=prices,
    setup=st.sampled_from([0.0, 0.7, 3.0]),
    evaluation=st.sampled_from([0.0, 0.1, 0.35]),
    budget=st.floats(0.0, 8.0),
    task=st.sampled_from(["number", "class", "rank"]),
)
def test_budget_is_never_exceeded(sets, own, setup, evaluation, budget, task):
    costs = Costs(own, groups={"g": {"features": [0, 2, 4], "setup": setup}}, evaluation=evaluation)
    parameters = {"costs": costs, "budget": budget, "n_rounds": 6, "max_depth": 2}
    if task == "number":
        model = GreedyMiserRegressor(**parameters).fit(sets.X, sets.y)
    elif task == "class":
        model = GreedyMiserClassifier(**parameters).fit(sets.X, sets.classes)
    else:
        model = GreedyMiserRanker(loss="lambdarank", **parameters).fit(sets.X, sets.grade, qid=sets.qid)
    assert model.cost_ <= budget * (1 + 1e-9)
    assert model.cost_ == pytest.approx(model.ledger_.spent)
    paid = costs.of(model.ledger_.paid, evaluations=len(model.plan_.terms))
    assert model.cost_ == pytest.approx(paid)
    run = model.run(sets.X, count="tree")
    np.testing.assert_allclose(run.cost, model.cost_)
    assert (model.run(sets.X).cost <= run.cost + 1e-9).all()


def test_evaluations_of_a_tree_are_reserved_before_it_is_grown():
    # With 4 to spend, the first tree reserves 1 and buys the feature for 1; two more trees fit.
    costs = Costs([1.0], evaluation=1.0)
    model = GreedyMiserRegressor(costs=costs, budget=4.0, **STUMP).fit(LADDER, [0.0, 0.0, 4.0, 4.0])
    assert model.n_rounds_ == 3 and model.cost_ == 4.0 and model.stopped_by_ == "budget"
    # With 1.5 the feature no longer fits once its evaluation is reserved.
    model.set_params(budget=1.5).fit(LADDER, [0.0, 0.0, 4.0, 4.0])
    assert model.n_rounds_ == 0 and model.cost_ == 0.0


def test_tree_budget_limits_the_number_of_trees(sets):
    costs = Costs(sets.costs, evaluation=0.1)
    model = GreedyMiserRegressor(costs=costs, tree_budget=0.3).fit(sets.X, sets.y)
    assert len(model.plan_.terms) == 3 and model.stopped_by_ == "tree budget"
    model = GreedyMiserClassifier(costs=costs, tree_budget=0.8).fit(sets.X, sets.classes)
    assert model.n_rounds_ == 2 and len(model.plan_.terms) == 6  # a third round could need 9 trees
    with pytest.raises(CostError, match=r"costs\.evaluation is 0"):
        GreedyMiserRegressor(costs=sets.costs, tree_budget=1.0).fit(sets.X, sets.y)


def test_only_free_features_are_used_where_nothing_else_is_worth_its_price(sets):
    model = GreedyMiserRegressor(costs=sets.costs, tradeoff=1e6).fit(sets.X, sets.y)
    assert model.features_.tolist() == [5] and model.cost_ == 0.0
    broke = GreedyMiserRegressor(costs=sets.costs, budget=0).fit(sets.X, sets.y)
    assert broke.features_.tolist() == [5]


@settings(max_examples=30, deadline=None)
@given(own=prices, tradeoffs=st.tuples(st.floats(0, 0.5), st.floats(0, 0.5)))
def test_a_single_stump_never_costs_more_with_a_larger_tradeoff(sets, own, tradeoffs):
    # argmax of gain - tradeoff * cost: true of one choice; later rounds may need more of what was left out.
    cost = [
        GreedyMiserRegressor(costs=own, tradeoff=t, n_rounds=1, max_depth=1).fit(sets.X, sets.y).cost_
        for t in sorted(tradeoffs)
    ]
    assert cost[1] <= cost[0]


def test_all_classes_share_what_is_paid(sets):
    costs = Costs(sets.costs, evaluation=0.01)
    model = GreedyMiserClassifier(costs=costs, n_rounds=5).fit(sets.X, sets.classes)
    assert model.plan_.nodes[0].channels.tolist() == [0, 1, 2]
    used = [set(tree.features.tolist()) for tree in model.plan_.terms[:3]]
    assert used[0] & used[1] & used[2]
    assert model.cost_ == pytest.approx(costs.of(model.ledger_.paid, evaluations=15))


def test_a_class_whose_tree_does_not_split_gets_a_constant_and_no_tree():
    # Class 2 falls evenly on both halves: its tree can never split, and moves by a constant.
    x = np.repeat([0.0, 1.0], 30)
    y = np.concatenate([np.repeat([0, 2], [20, 10]), np.repeat([1, 2], [20, 10])])
    costs = Costs([1.0], evaluation=1.0)
    model = GreedyMiserClassifier(costs=costs, n_rounds=4, **STUMP).fit(x[:, None], y)
    assert [node.channels.tolist() for node in model.plan_.nodes] == [[0, 1]] * 4
    assert model.plan_.nodes[3].bias[2] != 0.0 and model.plan_.nodes[3].bias[:2].tolist() == [0.0, 0.0]
    assert model.cost_ == 9.0  # the feature and eight trees
    assert model.ledger_.spent == 9.0
    gradient, hessian = Multinomial(3).gradient_hessian(y, np.tile(model.plan_.base, (60, 1)), None)
    warm = GreedyMiserClassifier(costs=costs, n_rounds=2, warm_start=True, **STUMP).fit(x[:, None], y)
    assert same_model(model, warm.set_params(n_rounds=4).fit(x[:, None], y), x[:, None])
    newton = -gradient[:, 2].sum() / hessian[:, 2].sum()
    assert model.plan_.nodes[0].bias[2] == pytest.approx(0.1 * newton, abs=1e-12)


def test_evaluations_reserved_for_trees_that_do_not_split_are_given_back():
    # Every round reserves 3 and uses 2, as above: 3, 5, 7 are spent, and a fourth round could need 10.
    x = np.repeat([0.0, 1.0], 30)
    y = np.concatenate([np.repeat([0, 2], [20, 10]), np.repeat([1, 2], [20, 10])])
    costs = Costs([1.0], evaluation=1.0)
    model = GreedyMiserClassifier(costs=costs, budget=9.0, **STUMP).fit(x[:, None], y)
    assert model.n_rounds_ == 3 and model.cost_ == 7.0 and model.stopped_by_ == "budget"


def test_cost_scaled_up_and_tradeoff_scaled_down_give_the_same_model(sets):
    one = GreedyMiserClassifier(costs=GROUPED, tradeoff=0.02, n_rounds=20).fit(sets.X, sets.label)
    ten = GreedyMiserClassifier(costs=GROUPED.scaled(10), tradeoff=0.002, n_rounds=20).fit(sets.X, sets.label)
    assert same_model(one, ten, sets.X) and 0 < len(one.features_) < 6
    assert ten.cost_ == pytest.approx(10 * one.cost_)


# -- weights -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("task", ["number", "class", "classes", "within_queries", "squared", "lambdarank"])
def test_weights_times_three_change_nothing(sets, task):
    def fit(weight):
        shared = {"costs": sets.costs, "tradeoff": 0.002, "n_rounds": 10, "l2_regularization": 1.0}
        if task == "number":
            return GreedyMiserRegressor(**shared).fit(sets.X, sets.y, sample_weight=weight)
        if task in ("class", "classes"):
            y = sets.label if task == "class" else sets.classes
            return GreedyMiserClassifier(**shared).fit(sets.X, y, sample_weight=weight)
        model = GreedyMiserRanker(loss=task, **shared)
        return model.fit(sets.X, sets.grade, sample_weight=weight, qid=sets.qid)

    one, three = fit(sets.weight), fit(3 * sets.weight)
    np.testing.assert_array_equal(one.run(sets.X).acquired, three.run(sets.X).acquired)
    np.testing.assert_allclose(one.run(sets.X).scores, three.run(sets.X).scores, rtol=1e-9)
    plain = fit(None)
    assert same_model(plain, fit(np.full(len(sets.y), 7.0)), sets.X)
    assert not np.array_equal(plain.run(sets.X).scores, one.run(sets.X).scores)


def test_weights_equal_repeated_rows(sets):
    times = np.random.default_rng(1).integers(1, 4, len(sets.y))
    X, y = np.round(sets.X, 1), np.rint(4 * sets.y)
    model = GreedyMiserRegressor(min_samples_leaf=1, n_rounds=20)
    weighted = model.fit(X, y, sample_weight=times).predict(X)
    repeated = model.fit(np.repeat(X, times, axis=0), np.repeat(y, times)).predict(X)
    np.testing.assert_allclose(weighted, repeated, rtol=1e-9)


def test_a_document_twice_in_its_query_is_one_of_twice_the_weight(sets):
    times = np.random.default_rng(1).integers(1, 3, len(sets.y))
    X = np.round(sets.X, 1)
    model = GreedyMiserRanker(min_samples_leaf=1, n_rounds=10)
    weighted = model.fit(X, sets.grade, sample_weight=times, qid=sets.qid).predict(X)
    repeated = [np.repeat(part, times, axis=0) for part in (X, sets.grade, sets.qid)]
    np.testing.assert_allclose(
        weighted, model.fit(*repeated[:2], qid=repeated[2]).predict(X), rtol=1e-9, atol=1e-12
    )


def test_rows_of_no_weight_are_as_if_they_were_not_there(sets):
    weight = np.where(np.arange(len(sets.y)) % 3 == 0, 0.0, 1.0)
    X = sets.X.copy()
    X[weight == 0] *= 100  # would move the bins
    y = np.where(weight == 0, 7, sets.classes)  # a class of rows with weight 0
    model = GreedyMiserClassifier(n_rounds=10).fit(X, y, sample_weight=weight)
    without = GreedyMiserClassifier(n_rounds=10).fit(X[weight > 0], y[weight > 0])
    assert model.classes_.tolist() == [0, 1, 2]
    assert same_model(model, without, sets.X)


# -- the rest ------------------------------------------------------------------------------------------------


def test_training_stops_where_nothing_can_split(sets):
    model = GreedyMiserRegressor().fit(np.ones((50, 2)), np.arange(50.0))
    assert model.n_rounds_ == 0 and model.stopped_by_ == "no split" and model.cost_ == 0.0
    assert model.predict(np.ones((2, 2))).tolist() == [24.5, 24.5]
    np.testing.assert_array_equal(model.feature_importances_, [0.0, 0.0])


@pytest.mark.parametrize("loss", ["within_queries", "squared", "lambdarank"])
def test_ranker_beats_a_random_order(sets, loss):
    half = sets.qid < 20
    model = GreedyMiserRanker(loss=loss, n_rounds=30)
    model.fit(sets.X[half], sets.grade[half], qid=sets.qid[half])
    tested = (sets.X[~half], sets.grade[~half])
    chance = ndcg(tested[1], np.random.default_rng(0).normal(size=(~half).sum()), sets.qid[~half])
    assert model.score(*tested, qid=sets.qid[~half]) > max(0.85, chance + 0.2)


def test_nothing_is_bought_to_tell_one_query_from_another():
    # Column 0 knows how high the grades of a query are, column 1 a little of the order inside it.
    rng = np.random.default_rng(0)
    qid = np.repeat(np.arange(40), 15)
    level, inside = rng.normal(size=40)[qid], rng.normal(size=len(qid))
    y, X = 3 * level + inside, np.column_stack([level, inside + rng.normal(size=len(qid))])
    bought = {}
    for loss in ("within_queries", "squared"):
        model = GreedyMiserRanker(loss=loss, budget=1.0, n_rounds=5).fit(X, y, qid=qid)
        bought[loss] = model.features_.tolist()
    assert bought == {"within_queries": [1], "squared": [0]}


@pytest.mark.parametrize("loss", ["within_queries", "squared", "lambdarank"])
def test_order_of_rows_does_not_matter_to_the_ranker(sets, loss):
    shuffled = np.random.default_rng(0).permutation(len(sets.y))
    model = GreedyMiserRanker(loss=loss, n_rounds=5, tradeoff=0.001, costs=sets.costs)
    one = model.fit(sets.X, sets.grade, qid=sets.qid).predict(sets.X)
    other = model.fit(sets.X[shuffled], sets.grade[shuffled], qid=sets.qid[shuffled]).predict(sets.X)
    np.testing.assert_allclose(one, other, rtol=1e-9)


@pytest.mark.parametrize("label", ["label", "classes"])
def test_one_or_two_threads_give_the_same_model(sets, label):
    y = getattr(sets, label)
    one, two = (GreedyMiserClassifier(n_rounds=8, n_jobs=n).fit(sets.X, y) for n in (1, 2))
    assert same_model(one, two, sets.X)


def test_importances_are_shares_of_the_fall_of_the_loss():
    # One stump on column 1 takes the mean loss from 2 to 0; column 0 says nothing.
    X = np.column_stack([[0.0, 1.0, 0.0, 1.0], LADDER[:, 0]])
    model = GreedyMiserRegressor(n_rounds=1, step=1.0, **STUMP).fit(X, [0.0, 0.0, 4.0, 4.0])
    assert model.feature_importances_.tolist() == [0.0, 1.0]
    assert model._rounds[0].gain.tolist() == [0.0, 2.0]


@pytest.mark.parametrize("task", ["number", "label", "classes"])
def test_gains_add_up_to_what_the_trees_explain(sets, task):
    # With step 1 and squared loss the gains of a round are exactly the fall of the loss.
    model = GreedyMiserRegressor(n_rounds=5, step=1.0, l2_regularization=0.0)
    if task != "number":
        model = GreedyMiserClassifier(n_rounds=5).fit(sets.X, getattr(sets, task), sample_weight=sets.weight)
        assert model.feature_importances_.sum() == pytest.approx(1.0)
        assert (model.feature_importances_ >= 0).all()
        return
    model.fit(sets.X, sets.y, sample_weight=sets.weight)
    start = 0.5 * np.average((sets.y - np.average(sets.y, weights=sets.weight)) ** 2, weights=sets.weight)
    end = 0.5 * np.average((sets.y - model.predict(sets.X)) ** 2, weights=sets.weight)
    assert sum(one.gain.sum() for one in model._rounds) == pytest.approx(start - end)


def test_any_smaller_budget_at_predict(sets):
    model = GreedyMiserClassifier(costs=sets.costs, n_rounds=30).fit(sets.X, sets.label)
    assert set(model.predict(sets.X, budget=0)) <= {0, 1}
    costs = [model.run(sets.X, budget=b).cost for b in (0, 3, 6, 100)]
    for budget, cost in zip((0, 3, 6, 100), costs, strict=True):
        assert (cost <= budget).all()
    np.testing.assert_array_equal(model.predict(sets.X, budget=100), model.predict(sets.X))
    assert model.score(sets.X, sets.label) > 0.9
    assert (model.predict_proba(sets.X, budget=6) != model.predict_proba(sets.X)).any()


def test_saved_plan_answers_the_same_with_text_labels(sets, tmp_path):
    y = np.array(["low", "mid", "high"], dtype=object)[sets.classes]
    model = GreedyMiserClassifier(n_rounds=5).fit(sets.X, y)
    model.plan_.save(tmp_path / "model.miser")
    plan = load(tmp_path / "model.miser")
    np.testing.assert_array_equal(plan.predict(sets.X), model.predict(sets.X))
    np.testing.assert_array_equal(plan.run(sets.X).cost, model.run(sets.X).cost)
