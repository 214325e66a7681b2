"""Plans written as LightGBM models: the same scores there, SHAP values, and the way back by `adopt`."""

import numpy as np
import pytest
from sklearn.ensemble import RandomForestRegressor

from miserly import (
    AdaBoostBTClassifier,
    AFRClassifier,
    BudgetedTreeClassifier,
    CostLassoClassifier,
    Costs,
    EarlyExit,
    GreedyMiserClassifier,
    GreedyMiserRegressor,
    adopt,
)
from miserly.errors import PlanError
from miserly.plan import Node, Plan, Tree

lightgbm = pytest.importorskip("lightgbm")


def rows(n=500, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 5))
    X[rng.random(X.shape) < 0.1] = np.nan
    X[:, 4] = rng.integers(0, 6, n)
    X[::11, 4] = np.nan
    signal = np.nan_to_num(X[:, 0]) + np.nan_to_num(X[:, 1]) ** 2 / 2 + np.isin(X[:, 4], [1, 4])
    return X, signal + rng.normal(scale=0.1, size=n)


X, SIGNAL = rows()
BY_CODE = {"categorical_features": [4], "min_samples_leaf": 5, "n_rounds": 8}
SMALL_AFR = {"n_blocks": 3, "n_dimensions": 2, "n_trees": 2, "random_state": 0}
MODELS = {
    "numbers": (GreedyMiserRegressor(**BY_CODE), SIGNAL),
    "two classes": (GreedyMiserClassifier(**BY_CODE), SIGNAL > 0.7),
    "three classes": (GreedyMiserClassifier(**BY_CODE), np.digitize(SIGNAL, [0.3, 1.2])),
    "hinge": (GreedyMiserClassifier(**BY_CODE, loss="squared_hinge"), SIGNAL > 0.7),
    "votes of classes": (AdaBoostBTClassifier(n_rounds=8), np.digitize(SIGNAL, [0.3, 1.2])),
    "snapshots": (AFRClassifier(**SMALL_AFR, categorical_features=[4]), SIGNAL > 0.7),
    "no trees": (GreedyMiserClassifier(budget=0.0), np.digitize(SIGNAL, [0.3, 1.2])),
}


@pytest.fixture(scope="module", params=MODELS, ids=str)
def fitted(request):
    model, y = MODELS[request.param]
    return model.fit(X, y)


def scores_of(plan, given):
    return plan.run(given).scores.reshape(len(given), -1)


def raw(booster, given):
    return booster.predict(given, raw_score=True).reshape(len(given), -1)


def test_the_booster_has_the_same_scores_also_at_thresholds(fitted):
    plan = fitted.plan_
    booster = lightgbm.Booster(model_str=plan.to_lightgbm())
    new, _ = rows(seed=1)
    cuts = [one for term in plan.terms for one in zip(term.feature, term.threshold, strict=True)]
    cuts = [(feature, cut) for feature, cut in cuts if 0 <= feature < 4 and np.isfinite(cut)]
    for row, (feature, cut) in zip(range(0, 500, 2), cuts, strict=False):
        new[row, feature] = cut
    new[:20, 4] = 250  # a code that no training row has
    np.testing.assert_allclose(raw(booster, new), scores_of(plan, new), rtol=1e-9, atol=1e-9)
    if plan.has_probabilities:
        expected = plan.predict_proba(new)
        found = booster.predict(new).reshape(len(new), -1)
        np.testing.assert_allclose(found, expected[:, -found.shape[1] :], atol=1e-9)


def test_contributions_add_up_and_are_measured_from_the_mean_of_the_rows(fitted):
    plan = fitted.plan_
    booster = lightgbm.Booster(model_str=plan.to_lightgbm(X))
    expected = scores_of(plan, X)
    parts = booster.predict(X, pred_contrib=True).reshape(len(X), expected.shape[1], -1)
    np.testing.assert_allclose(parts.sum(axis=2), expected, atol=1e-9)
    np.testing.assert_allclose(parts[:, :, -1], np.tile(expected.mean(axis=0), (len(X), 1)), atol=5e-3)
    shap = pytest.importorskip("shap")
    explainer = shap.TreeExplainer(booster)
    values = np.asarray(explainer.shap_values(X)).reshape(len(X), X.shape[1], -1)
    total = values.sum(axis=1) + np.ravel(explainer.expected_value)[-values.shape[2] :]
    np.testing.assert_allclose(total, expected, atol=1e-9)


@pytest.mark.parametrize("n_classes", [2, 3])
def test_contributions_of_an_adopted_model_are_those_of_its_booster(n_classes):
    y = np.digitize(SIGNAL, [0.3, 1.2][: n_classes - 1])
    theirs = lightgbm.LGBMClassifier(n_estimators=15, verbose=-1, n_jobs=1).fit(X, y, categorical_feature=[4])
    plan = adopt(theirs).plan_
    booster, new = lightgbm.Booster(model_str=plan.to_lightgbm(X)), rows(seed=1)[0]
    assert (raw(booster, new) == scores_of(plan, new)).all()
    parts = booster.predict(new, pred_contrib=True).reshape(len(new), -1, X.shape[1] + 1)
    np.testing.assert_allclose(parts.sum(axis=2), scores_of(plan, new), atol=1e-9)
    expected = theirs.predict(new, pred_contrib=True).reshape(parts.shape)
    np.testing.assert_allclose(parts[:, :, :-1], expected[:, :, :-1], atol=1e-9)


def test_adopt_reads_it_back(fitted):
    again = adopt(lightgbm.Booster(model_str=fitted.plan_.to_lightgbm()))
    plan = getattr(again, "plan_", again)
    np.testing.assert_allclose(scores_of(plan, X), scores_of(fitted.plan_, X), rtol=1e-12, atol=1e-12)


def test_frames_with_categories_and_booleans():
    pd = pytest.importorskip("pandas")
    rng = np.random.default_rng(2)
    frame = pd.DataFrame(
        {
            "chest pain": pd.Categorical(rng.choice(["none", "some", "much"], 400)),
            "smokes": rng.random(400) < 0.4,
            "age": rng.normal(50, 10, 400),
        }
    )
    frame.loc[::9, "chest pain"] = None
    y = (frame["chest pain"] == "much") * 2.0 + frame["smokes"] + frame["age"] / 50
    plan = GreedyMiserRegressor(n_rounds=10, min_samples_leaf=5).fit(frame, y).plan_
    text = plan.to_lightgbm(frame)
    assert "feature_names=chest_pain smokes age\n" in text
    booster = lightgbm.Booster(model_str=text)
    known = frame.assign(**{"chest pain": frame["chest pain"].cat.set_categories(plan.categories[0])})
    np.testing.assert_allclose(booster.predict(known), plan.predict(frame), atol=1e-9)
    again = adopt(booster)
    codes = plan.encode(frame)
    new = getattr(again, "plan_", again)
    np.testing.assert_allclose(new.run(codes, encoded=True).scores.ravel(), plan.predict(frame), atol=1e-9)


def test_missing_categories_go_where_they_went():
    """Both directions of a missing category, and a split that only asks whether a value is missing."""
    words = np.zeros((1, 8), np.uint32)
    words[0, 0] = 0b110
    values = np.array([[0.0], [1.0], [2.0], [40.0], [np.nan]])
    for left in (False, True):
        chosen = Tree([0, -1, -1], [0.0] * 3, [1, 0, 0], [2, 0, 0], [left] * 3, [0, 1, 2], [0, -1, -1], words)
        there = Tree([0, -1, -1], [np.inf] * 3, [1, 0, 0], [2, 0, 0], [left] * 3, [0.0, 5.0, 7.0])
        for tree in (chosen, there):
            plan = Plan(costs=Costs([1.0]), terms=[tree], nodes=[Node([0], [0], [2.0], [0.5])], base=[0.25])
            booster = lightgbm.Booster(model_str=plan.to_lightgbm())
            np.testing.assert_allclose(booster.predict(values), plan.predict(values), atol=1e-12)


def test_a_forest_of_numbers_is_one_score_the_average():
    forest = RandomForestRegressor(4, max_depth=3, random_state=0).fit(X, SIGNAL)
    plan = adopt(forest).plan_
    booster = lightgbm.Booster(model_str=plan.to_lightgbm(X))
    new, _ = rows(seed=1)
    np.testing.assert_allclose(booster.predict(new), forest.predict(new), rtol=1e-12)
    parts = booster.predict(new, pred_contrib=True)
    np.testing.assert_allclose(parts.sum(axis=1), forest.predict(new), rtol=1e-12)
    np.testing.assert_allclose(adopt(booster).predict(new), forest.predict(new), rtol=1e-12)


def test_averages_of_other_numbers_of_parts_are_refused():
    split = Tree([0, -1, -1], [0.0] * 3, [1, 0, 0], [2, 0, 0], [True] * 3, [0.0, 1.0, 2.0])
    nodes = [Node([0, 0], [0, 1], [1.0, 1.0], [0.0, 0.0])]
    plan = Plan(costs=Costs([1.0]), terms=[split], nodes=nodes, base=[0.0, 0.0], link="average")
    with pytest.raises(PlanError, match="not the same for all rows"):
        plan.to_lightgbm()
    nothing = Plan(costs=Costs([1.0]), terms=[], nodes=[], base=[0.0, 0.0], link="average")
    with pytest.raises(PlanError, match="an average of nothing"):
        nothing.to_lightgbm()


def test_plans_that_are_no_sums_of_trees_are_refused_in_words():
    y = SIGNAL > 0.7
    miser = GreedyMiserClassifier(n_rounds=30)
    exits = EarlyExit(miser, threshold=0.6, every=2).fit(X, y)
    with pytest.raises(PlanError, match="rows of this plan take different ways or leave early"):
        exits.plan_.to_lightgbm()
    with pytest.raises(PlanError, match="take different ways"):
        BudgetedTreeClassifier().fit(X, y).plan_.to_lightgbm()
    with pytest.raises(PlanError, match="this plan has a raw term"):
        CostLassoClassifier().fit(X, y).plan_.to_lightgbm()
    plan = exits.estimator_.plan_
    with pytest.raises(PlanError, match="budget of 1, which may stop a row"):
        plan.replace(budget=1.0).to_lightgbm()
    assert plan.replace(budget=5.0).to_lightgbm() == plan.to_lightgbm()  # enough for every row
