"""AdaBoostBT: AdaBoost if nothing costs anything, and cheap features first if something does."""

import numpy as np
import pytest

from miserly import AdaBoostBTClassifier, Costs
from miserly.datasets import load_heart

RULES = ("early-stop", "greedy", "smoothed", "hybrid")


def noisy(n=150, d=6, seed=0, missing=0.0):
    """Continuous columns, so that edges do not tie, and labels that no stump gets right."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d))
    y = (X[:, 0] + X[:, 1] - X[:, 2] + rng.normal(size=n) > 0).astype(int)
    X[rng.random(X.shape) < missing] = np.nan
    return X, y


def slow_adaboost(X, y, n_rounds, weight=None):
    """AdaBoost that tries every stump: feature, threshold, side of missing values, sign."""
    sign = np.where(y == 1, 1.0, -1.0)
    D = np.ones(len(y)) if weight is None else weight.astype(float)
    D = D / D.sum()
    rounds = []
    for _ in range(n_rounds):
        best = (0.0,)
        for f in range(X.shape[1]):
            values = np.unique(X[~np.isnan(X[:, f]), f])
            missing = np.isnan(X[:, f])
            cuts = list((values[1:] + values[:-1]) / 2) + ([np.inf] if missing.any() else [])
            for missing_left in (False, True) if missing.any() else (False,):
                for cut in cuts:
                    h = np.where(np.where(missing, missing_left, X[:, f] <= cut), 1.0, -1.0)
                    if abs(h.sum()) == len(h):
                        continue
                    edge = D @ (sign * h)
                    if abs(edge) > best[0] * (1 + 1e-9):
                        best = (abs(edge), f, cut, missing_left, np.sign(edge), h * np.sign(edge))
        edge, f, cut, missing_left, polarity, h = best
        alpha = 0.5 * np.log((1 + edge) / (1 - edge))
        D = D * np.exp(-alpha * sign * h)
        D /= D.sum()
        rounds.append((f, cut, missing_left, polarity, alpha))
    return rounds


@pytest.mark.parametrize("missing", [0.0, 0.1])
@pytest.mark.parametrize("weighted", [False, True])
def test_with_unit_costs_and_no_budget_it_is_adaboost_round_by_round(missing, weighted):
    X, y = noisy(missing=missing)
    weight = np.random.default_rng(1).gamma(2.0, size=len(y)) if weighted else None
    wanted = slow_adaboost(X, y, 40, weight)
    for rule in RULES:  # prices that are all equal cannot matter; smoothed divides all by the same
        plan = AdaBoostBTClassifier(rule=rule, n_rounds=40).fit(X, y, sample_weight=weight).plan_
        assert len(plan.nodes) == 40
        for node, (feature, cut, missing_left, polarity, alpha) in zip(plan.nodes, wanted, strict=True):
            (tree,) = (plan.terms[t] for t in node.terms)
            assert tree.feature[0] == feature
            assert tree.threshold[0] == pytest.approx(cut, rel=1e-12)
            assert tree.value[1] * np.sign(node.weights[0]) == polarity
            assert abs(node.weights[0]) / 2 == pytest.approx(alpha, rel=1e-9)
            if np.isnan(X[:, feature]).any():
                assert tree.missing_left[0] == missing_left


def test_scores_are_log_odds_of_the_votes_and_the_prior_answers_for_nothing():
    X, y = noisy()
    y[:100] = 1
    model = AdaBoostBTClassifier(n_rounds=30).fit(X, y)
    score = np.zeros(len(X))
    for node in model.plan_.nodes:
        tree = model.plan_.terms[node.terms[0]]
        score += node.weights[0] * np.where(
            X[:, tree.feature[0]] <= tree.threshold[0], tree.value[1], tree.value[2]
        )
    np.testing.assert_allclose(model.decision_function(X), score, rtol=1e-12)
    nothing = model.run(X, budget=0)
    assert (nothing.cost == 0).all()
    np.testing.assert_allclose(model.predict_proba(X, budget=0)[:, 1], y.mean())


def test_greedy_stays_with_what_is_cheap_and_early_stopping_pays_any_price():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(500, 3))
    y = 2 * X[:, 0] + X[:, 1] + X[:, 2] > 0
    first = {
        rule: AdaBoostBTClassifier(costs=[10, 1, 1], rule=rule, n_rounds=1).fit(X, y).plan_.features[0]
        for rule in RULES
    }
    assert first["early-stop"] == 0
    assert first["greedy"] in (1, 2) and first["smoothed"] == first["hybrid"] == first["greedy"]


def trap(seed=0):
    """An expensive column that explains almost everything, and cheap ones that each explain a little."""
    rng = np.random.default_rng(seed)
    y = rng.random(600) < 0.5
    cheap = y[:, None] * 0.3 + rng.normal(size=(600, 3))
    expensive = 1.5 * y + rng.normal(size=600)
    return np.column_stack([cheap, expensive]), y, [0.01, 0.01, 0.01, 10.0]


def test_greedy_falls_into_the_trap_of_cheap_features_and_the_others_do_not():
    X, y, costs = trap()
    spent = {
        rule: AdaBoostBTClassifier(costs=costs, rule=rule, n_rounds=150).fit(X, y).cost_ for rule in RULES
    }
    assert spent["greedy"] < 1
    assert spent["early-stop"] > 10 and spent["hybrid"] > 10


def test_tau_keeps_prices_mattering():
    X, y, costs = trap()
    bought = [
        AdaBoostBTClassifier(costs=costs, rule="smoothed", tau=tau, n_rounds=150).fit(X, y)
        for tau in (0.0, 1.0, 100.0)
    ]
    greedy = AdaBoostBTClassifier(costs=costs, rule="greedy", n_rounds=150).fit(X, y)
    assert bought[0].cost_ == greedy.cost_ < bought[2].cost_


def test_switch_says_when_hybrid_turns():
    X, y, costs = trap()
    never = AdaBoostBTClassifier(costs=costs, rule="hybrid", switch=0.0, n_rounds=150).fit(X, y)
    soon = AdaBoostBTClassifier(costs=costs, rule="hybrid", switch=1.0, n_rounds=150).fit(X, y)
    assert never.cost_ < 1 < soon.cost_


def test_without_filling_a_small_budget_gives_the_beginning_of_a_large_one():
    X, y = noisy(400, 12)
    costs = np.random.default_rng(3).uniform(0.1, 2, 12)
    for rule in RULES:
        whole = AdaBoostBTClassifier(costs=costs, rule=rule, fill_budget=False, n_rounds=60).fit(X, y)
        for budget in (1.0, 3.0, 6.0):
            model = AdaBoostBTClassifier(
                costs=costs, rule=rule, budget=budget, fill_budget=False, n_rounds=60
            ).fit(X, y)
            np.testing.assert_array_equal(
                model.decision_function(X), whole.decision_function(X, budget=budget)
            )


def test_filling_goes_on_with_what_fits():
    X, y = noisy(400, 4)
    for fill, rounds in ((True, 50), (False, 0)):
        model = AdaBoostBTClassifier(
            costs=[9, 9, 9, 1], budget=5, rule="early-stop", fill_budget=fill, n_rounds=50
        ).fit(X, y)
        assert model.n_rounds_ == rounds and model.cost_ == min(rounds, 1.0)
    assert model.stopped_by_ == "budget"


def test_one_fit_gives_the_whole_curve():
    X, y = noisy(300)
    model = AdaBoostBTClassifier(costs=[3, 2, 1, 1, 2, 3], n_rounds=60).fit(X, y)
    for stage, scores, answers in zip(
        model.staged_run(X), model.staged_decision_function(X), model.staged_predict(X), strict=True
    ):
        budget = stage.cost.max()
        run = model.run(X, budget=budget)
        assert (run.cost <= budget).all() and (run.exit >= stage.n_nodes - 1).all()
        np.testing.assert_array_equal(answers, (scores > 0).astype(int))
    np.testing.assert_allclose(scores, model.decision_function(X), rtol=1e-9)
    *_, last = model.staged_predict_proba(X)
    np.testing.assert_allclose(last, model.predict_proba(X), rtol=1e-9)


def test_groups_are_set_up_once():
    X, y = noisy(300, 4)
    costs = Costs([1.0] * 4, groups={"lab": {"features": [0, 1, 2], "setup": 5.0}})
    model = AdaBoostBTClassifier(costs=costs, budget=9, rule="early-stop", n_rounds=100).fit(X, y)
    assert set(model.features_) == {0, 1, 2, 3} and model.cost_ == 9.0
    assert model.ledger_.spent == model.cost_


def test_a_stump_chosen_again_is_not_evaluated_again():
    rng = np.random.default_rng(0)
    X = (rng.random((300, 3)) < 0.5).astype(float)
    y = X.sum(axis=1) + rng.normal(size=300) > 1.5
    model = AdaBoostBTClassifier(costs=Costs([1.0] * 3, evaluation=0.5), n_rounds=40).fit(X, y)
    assert model.n_rounds_ > 10 and len(model.plan_.terms) <= 3
    assert model.cost_ == 3.0 + 0.5 * len(model.plan_.terms) == model.ledger_.spent


def test_free_features_do_not_win_for_ever():
    X, y = noisy(400)
    for rule in ("greedy", "smoothed", "hybrid"):
        model = AdaBoostBTClassifier(costs=[5, 5, 5, 1, 0, 0], rule=rule, n_rounds=100).fit(X, y)
        assert 0 in model.features_


def test_a_stump_that_is_never_wrong_is_all_there_is_to_learn():
    x = np.arange(40.0)
    model = AdaBoostBTClassifier().fit(x[:, None], x > 20)
    assert model.stopped_by_ == "perfect" and model.n_rounds_ == 1
    assert model.score(x[:, None], x > 20) == 1.0


def test_no_edge_no_rounds():
    X, y = np.array([[0.0], [0.0], [1.0], [1.0]]), [0, 1, 0, 1]
    model = AdaBoostBTClassifier().fit(X, y)
    assert model.stopped_by_ == "no edge" and model.cost_ == 0.0


def test_categories_stand_one_against_all_others():
    pandas = pytest.importorskip("pandas")
    rng = np.random.default_rng(0)
    town = rng.choice(["aye", "bex", "pau", "ulm"], 300)
    frame = pandas.DataFrame({"town": town, "x": rng.normal(size=300)})
    frame.loc[:20, "town"] = None
    y = (frame["town"] == "pau") | frame["town"].isna()
    model = AdaBoostBTClassifier(n_rounds=20).fit(frame, y)
    assert model.score(frame, y) == 1.0 and list(model.features_) == ["town"]


def test_classes_share_what_is_paid():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(600, 6))
    y = np.digitize(X[:, 0] + X[:, 1], [-0.7, 0.7])
    model = AdaBoostBTClassifier(n_rounds=150, budget=2).fit(X, y)
    assert list(model.features_) == [0, 1] and model.score(X, y) > 0.85
    assert len(model.plan_.nodes[3].weights) == 3 and len(model.plan_.terms) <= 150
    np.testing.assert_allclose(model.predict_proba(X).sum(axis=1), 1.0)


def test_importance_is_what_features_bring():
    heart = load_heart()
    model = AdaBoostBTClassifier(costs=heart.costs, budget=30, n_rounds=50).fit(heart.X, heart.y)
    assert model.feature_importances_.sum() == pytest.approx(1.0)
    assert set(np.flatnonzero(model.feature_importances_)) == set(model.plan_.features)


# -- trees ---------------------------------------------------------------------------------------------------


def checkers(n=600, seed=0):
    """What no sum of stumps can say, and a tree of two levels can."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 4))
    return X, (X[:, 0] > 0.2) ^ (X[:, 1] > -0.3)


def test_trees_learn_what_stumps_cannot():
    X, y = checkers()
    stumps, trees = (AdaBoostBTClassifier(base=base, n_rounds=30).fit(X, y) for base in ("stump", "tree"))
    assert stumps.score(X, y) < 0.75 and trees.score(X, y) > 0.95
    assert max(tree.depth for tree in trees.plan_.terms) <= 3


def test_a_new_feature_must_raise_the_rating_of_the_whole_tree():
    X, y = noisy(500)
    costs = np.ones(6)
    width = {
        rule: [
            len(tree.features)
            for tree in AdaBoostBTClassifier(costs=costs, rule=rule, base="tree", n_rounds=20)
            .fit(X, y)
            .plan_.terms
        ]
        for rule in ("early-stop", "greedy", "smoothed")
    }
    assert width["greedy"][0] == width["smoothed"][0] == 1  # nothing is spent yet
    assert np.mean(width["greedy"]) < np.mean(width["smoothed"]) < np.mean(width["early-stop"])


def test_trees_keep_the_budget_and_go_on_with_what_is_paid():
    X, y = noisy(300)
    costs = Costs([2.0, 1.0, 3.0, 1.0, 1.0, 1.0], groups={"lab": {"features": [0, 1], "setup": 1.5}})
    for budget in (0.5, 1.0, 3.0, 5.0):
        model = AdaBoostBTClassifier(costs=costs, budget=budget, base="tree", n_rounds=30).fit(X, y)
        assert model.cost_ <= budget and model.ledger_.spent == pytest.approx(model.cost_)
        assert model.n_rounds_ == (30 if budget >= 1 else 0)


def test_votes_of_trees_lower_the_loss_in_every_round():
    X, y = noisy(300)
    model = AdaBoostBTClassifier(base="tree", n_rounds=15).fit(X, y)
    sign = np.where(y == 1, 1.0, -1.0)
    loss = [np.exp(-sign * scores / 2).mean() for scores in model.staged_decision_function(X)]
    assert (np.diff([1.0, *loss]) < 0).all()


def expensive_first(n=600, seed=0):
    """One expensive column that says most, and cheap and free ones that say something."""
    rng = np.random.default_rng(seed)
    y = rng.integers(2, size=n)
    X = (y[:, None] - 0.5) * [3.0, 1.5, 1.5, 1.5] + rng.normal(size=(n, 4))
    return X, y, [20.0, 0.0, 1.0, 4.0]


def early_stop(**given):
    return AdaBoostBTClassifier(rule="early-stop", budget=30, n_rounds=60, **given)


@pytest.mark.parametrize("labels", [2, 3])
def test_early_stop_answers_from_what_a_smaller_budget_pays_for(labels):
    X, y, costs = expensive_first()
    y = y + (X[:, 3] > 1.5) if labels == 3 else y
    model = early_stop(costs=costs).fit(X[:400], y[:400])
    right = [np.mean(model.predict(X[400:], budget=budget) == y[400:]) for budget in (0, 5, 30)]
    usual = np.bincount(y[400:]).max() / 200
    assert model.run(X, budget=0).acquired[:, 1].all()
    assert right[0] > usual + 0.1 and right[1] > usual + 0.15 and right[2] > right[0]


@pytest.mark.parametrize("labels", [2, 3])
def test_the_order_of_evaluation_does_not_change_the_vote(labels, monkeypatch):
    X, y, costs = expensive_first()
    y = y + (X[:, 3] > 1.5) if labels == 3 else y
    model = early_stop(costs=Costs(costs, evaluation=0.01)).fit(X, y)
    monkeypatch.setattr(AdaBoostBTClassifier, "_is_reordered", False)
    trained = early_stop(costs=Costs(costs, evaluation=0.01)).fit(X, y)
    assert model.n_rounds_ == trained.n_rounds_ and len(model.plan_.nodes) == len(trained.plan_.nodes)
    one, other = model.run(X, count="tree"), trained.run(X, count="tree")
    np.testing.assert_allclose(one.scores, other.scores, rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(one.cost, other.cost, rtol=1e-12)
    np.testing.assert_array_equal(one.acquired, other.acquired)
    np.testing.assert_array_equal(model.feature_importances_, trained.feature_importances_)
