"""Models of LightGBM: the same predictions, from objects and from files."""

import sys

import numpy as np
import pytest

import miserly
from miserly import DataError, MiserlyError, adopt
from tests.learners.wrap.adopt.fuzz import mutations
from tests.learners.wrap.adopt.rows import N_TRAIN, differences, labels_for, make_rows, new_rows

lgb = pytest.importorskip("lightgbm")

OBJECTIVES = {
    "regression": "numbers",
    "regression_sqrt": "numbers",
    "regression_l1": "numbers",
    "huber": "numbers",
    "fair": "numbers",
    "quantile": "numbers",
    "mape": "numbers",
    "poisson": "positive",
    "gamma": "positive",
    "tweedie": "positive",
    "cross_entropy": "share",
    "cross_entropy_lambda": "share",
    "binary": "two",
    "multiclass": "four",
    "multiclassova": "four",
    "lambdarank": "four",
    "rank_xendcg": "four",
}
MISSING = {"none": {}, "nan": {}, "zero": {"zero_as_missing": True}, "off": {"use_missing": False}}
FEW = [  # one case of every objective, every way of missing values and every kind of boosting
    ("regression", "nan", True, "gbdt"),
    ("regression", "zero", False, "rf"),
    ("regression_sqrt", "none", True, "gbdt"),
    ("binary", "zero", True, "dart"),
    ("binary", "off", True, "gbdt"),
    ("multiclass", "nan", True, "gbdt"),
    ("multiclass", "zero", False, "rf"),
    ("multiclassova", "zero", True, "gbdt"),
    ("lambdarank", "nan", False, "gbdt"),
    *((name, "nan", True, "gbdt") for name in ("regression_l1", "huber", "fair", "quantile", "mape")),
    *((name, "zero", True, "gbdt") for name in ("poisson", "gamma", "tweedie")),
    *((name, "off", True, "gbdt") for name in ("cross_entropy", "cross_entropy_lambda")),
    ("rank_xendcg", "none", True, "gbdt"),
]
ALL = [
    (name, missing, categorical, boosting)
    for name in OBJECTIVES
    for missing in MISSING
    for categorical in (False, True)
    for boosting in ("gbdt", "dart", "rf")
]


def train(objective, missing="nan", categorical=True, boosting="gbdt", n_rounds=10, **more):
    """A small booster."""
    X, signal = make_rows(N_TRAIN, missing=missing != "none", categorical=categorical)
    y = labels_for(OBJECTIVES[objective], signal)
    parameters = {
        "objective": objective.removesuffix("_sqrt"),
        "verbose": -1,
        "num_leaves": 15,
        "num_threads": 1,
        "boosting": boosting,
        "reg_sqrt": objective.endswith("_sqrt"),
        "num_class": 4 if objective.startswith("multi") else 1,
        **({"bagging_freq": 1, "bagging_fraction": 0.6} if boosting == "rf" else {}),
        **MISSING[missing],
        **more,
    }
    group = [100] * (N_TRAIN // 100) if "rank" in objective else None
    rows = lgb.Dataset(X, y, categorical_feature=[5] if categorical else [], group=group)
    return lgb.train(parameters, rows, n_rounds)


def answers(model, X):
    """What a booster's `predict` gives, from an adopted model."""
    if model.model.task != "classes":
        return model.predict(X)
    table = model.predict_proba(X)
    return table[:, 1] if table.shape[1] == 2 else table


def check(booster, categorical):
    X = new_rows(categorical)
    model, expected = adopt(booster), booster.predict(X)
    averaged = "average_output" in booster.model_to_string()  # a plan weighs trees; LightGBM divides
    if averaged:
        mean = booster.predict(X, raw_score=True).reshape(len(X), -1) / booster.current_iteration()
        assert np.abs(model.raw_scores(X) - mean).max() <= 1e-14 * np.abs(mean).max()
    assert differences(answers(model, X), expected) < (1e-9 if averaged else 1e-12)
    if model.model.task == "classes":
        classes = expected.argmax(axis=1) if expected.ndim == 2 else (expected > 0.5).astype(int)
        assert (model.predict(X) == classes).all()
    return model


@pytest.mark.parametrize(("objective", "missing", "categorical", "boosting"), FEW)
def test_predictions_are_those_of_the_booster(objective, missing, categorical, boosting):
    check(train(objective, missing, categorical, boosting), categorical)


@pytest.mark.long
@pytest.mark.parametrize(("objective", "missing", "categorical", "boosting"), ALL)
def test_predictions_of_all_kinds_are_those_of_the_booster(objective, missing, categorical, boosting):
    check(train(objective, missing, categorical, boosting, n_rounds=40, num_leaves=31), categorical)


def test_scores_have_the_same_bits():
    booster, X = train("binary", "zero", True, "dart"), new_rows(True)
    assert (adopt(booster).raw_scores(X)[:, 0] == booster.predict(X, raw_score=True)).all()


def test_names_with_blanks_are_given_back():
    pd = pytest.importorskip("pandas")
    X = pd.DataFrame(make_rows(200, missing=True, categorical=False)[0][:, :2], columns=["blood test", "age"])
    booster = lgb.train({"verbose": -1, "num_threads": 1}, lgb.Dataset(X, X["age"].fillna(0)), 3)
    model = adopt(booster, {"blood test": 5.0, "age": 1.0}, feature_names=X.columns)
    np.testing.assert_array_equal(model.predict(X), booster.predict(X))


def test_the_slope_of_the_sigmoid_counts():
    check(train("binary", sigmoid=1.7), True)
    check(train("multiclassova", sigmoid=0.4), True)


def test_a_custom_objective_gives_raw_scores():
    X, y = make_rows(N_TRAIN, missing=True, categorical=False)

    def squared(scores, rows):
        return scores - rows.get_label(), np.ones_like(scores)

    booster = lgb.train({"objective": squared, "verbose": -1, "num_threads": 1}, lgb.Dataset(X, y), 5)
    check(booster, False)


def test_estimators_use_their_best_iteration():
    X, signal = make_rows(N_TRAIN, missing=True, categorical=False)
    y = labels_for("four", signal)
    estimator = lgb.LGBMClassifier(n_estimators=60, learning_rate=0.5, num_leaves=31, n_jobs=1, verbose=-1)
    stopping = lgb.early_stopping(3, verbose=False)
    estimator.fit(X[:1000], y[:1000], eval_X=X[1000:], eval_y=y[1000:], callbacks=[stopping])
    assert estimator.best_iteration_ < 60
    rows = new_rows(False)
    model = adopt(estimator)
    assert (model.predict(rows) == estimator.predict(rows)).all()
    assert differences(model.predict_proba(rows), estimator.predict_proba(rows)) < 1e-12
    assert len(model.plan_.nodes) == estimator.best_iteration_


def test_boosters_use_their_best_iteration(tmp_path):
    X, signal = make_rows(N_TRAIN, missing=True, categorical=False)
    rows = lgb.Dataset(X[:1000], signal[:1000])
    booster = lgb.train(
        {"verbose": -1, "num_threads": 1, "learning_rate": 0.9},
        rows,
        50,
        valid_sets=[lgb.Dataset(X[1000:], signal[1000:], reference=rows)],
        callbacks=[lgb.early_stopping(3, verbose=False)],
        keep_training_booster=True,
    )
    booster.save_model(tmp_path / "best.txt")
    new = new_rows(False)
    assert 0 < booster.best_iteration < booster.current_iteration()
    for model in (adopt(booster), adopt(tmp_path / "best.txt")):
        assert (model.predict(new) == booster.predict(new)).all()
    every = booster.predict(new, num_iteration=-1)
    assert (adopt(booster, iterations=(0, None)).predict(new) == every).all()


def test_estimators_keep_their_classes():
    X, signal = make_rows(N_TRAIN, missing=True, categorical=False)
    y = np.array(["low", "middle", "high", "top"])[labels_for("four", signal)]
    estimator = lgb.LGBMClassifier(n_estimators=4, n_jobs=1, verbose=-1).fit(X, y)
    model, rows = adopt(estimator), new_rows(False)
    assert model.classes_.tolist() == estimator.classes_.tolist() == ["high", "low", "middle", "top"]
    assert (model.predict(rows) == estimator.predict(rows)).all()


@pytest.mark.parametrize("kind", ["LGBMRegressor", "LGBMRanker", "LGBMClassifier"])
def test_estimators_of_all_kinds(kind):
    X, signal = make_rows(N_TRAIN, missing=True, categorical=False)
    y = signal if kind == "LGBMRegressor" else labels_for("two", signal)
    more = {"group": [100] * (N_TRAIN // 100)} if kind == "LGBMRanker" else {}
    estimator = getattr(lgb, kind)(n_estimators=5, n_jobs=1, verbose=-1).fit(X, y, **more)
    model, rows = adopt(estimator), new_rows(False)
    assert type(model).__name__ == "Adopted" + kind.removeprefix("LGBM")
    assert (model.predict(rows) == estimator.predict(rows)).all()


def test_rounds_can_be_chosen():
    booster, X = train("regression"), new_rows(True)
    expected = booster.predict(X, start_iteration=2, num_iteration=5)
    assert differences(adopt(booster, iterations=(2, 7)).predict(X), expected) < 1e-12
    assert differences(adopt(booster, iterations=3).predict(X), booster.predict(X, num_iteration=3)) < 1e-12
    with pytest.raises(DataError, match="the model has 10"):
        adopt(booster, iterations=11)
    forest = train("regression", boosting="rf")
    expected = forest.predict(X, num_iteration=4)
    assert differences(adopt(forest, iterations=4).predict(X), expected) < 1e-12


def frame(n, seed=0):
    pd = pytest.importorskip("pandas")
    rng = np.random.default_rng(seed)
    return pd.DataFrame(
        {
            "age": rng.normal(size=n),
            "zone": pd.Categorical(rng.choice([10, 20, 30, 40], n), categories=[40, 30, 20, 10]),
            "thal": pd.Categorical(rng.choice(["fixed", "normal", "bad", None], n)),
        }
    )


def test_pandas_categories_are_values_and_not_codes(tmp_path):
    X = frame(N_TRAIN)
    y = ((X.age + (X.zone == 20) + (X.thal == "normal")) > 0.7).to_numpy()
    estimator = lgb.LGBMClassifier(n_estimators=10, n_jobs=1, verbose=-1, min_data_per_group=5).fit(X, y)
    new = frame(10_000, seed=1)
    path = tmp_path / "model.txt"
    estimator.booster_.save_model(path)
    for model in (adopt(estimator), adopt(path, classes=[False, True])):
        assert differences(model.predict_proba(new), estimator.predict_proba(new)) < 1e-12
        assert (model.predict(new) == estimator.predict(new)).all()
    assert model.plan_.categories == {1: (40, 30, 20, 10), 2: ("bad", "fixed", "normal")}
    strange = new.assign(thal="odd")
    with pytest.raises(DataError, match="'odd' is not among its categories"):
        model.predict(strange)
    nothing = new.assign(thal=new.thal.where(new.age > 99))
    assert (model.predict(strange, unknown="missing") == estimator.predict(nothing)).all()


def test_columns_of_categories_that_the_model_does_not_name_are_given(tmp_path):
    X = frame(N_TRAIN)
    X["zone"] = X["zone"].cat.as_ordered()  # LightGBM splits it as a number
    estimator = lgb.LGBMRegressor(n_estimators=10, n_jobs=1, verbose=-1)
    booster = estimator.fit(X, X.age + (X.zone == 20) + (X.thal == "bad")).booster_
    booster.save_model(tmp_path / "model.txt")
    with pytest.raises(DataError, match=r"does not say which.*'fixed'"):
        adopt(booster)
    with pytest.raises(DataError, match="does not say which"):
        adopt(booster, categories={"zone": [10, 20, 30, 40], "thal": ["bad", "fixed", "normal"]})
    new = frame(10_000, seed=1)
    new["zone"] = new["zone"].cat.as_ordered()
    new.loc[::7, "zone"] = None
    categories = {"zone": [40, 30, 20, 10], "thal": ["bad", "fixed", "normal"]}
    for source in (booster, tmp_path / "model.txt"):
        model = adopt(source, categories=categories)
        assert differences(model.predict(new), booster.predict(new)) < 1e-12


def test_codes_beside_ordered_categories_stay_codes():
    X = frame(N_TRAIN)[["age", "zone"]].assign(code=np.arange(N_TRAIN) % 4)
    X["zone"] = X["zone"].cat.as_ordered()
    estimator = lgb.LGBMRegressor(n_estimators=10, n_jobs=1, verbose=-1)
    estimator.fit(X, X.age + (X.zone == 20) + (X.code == 1), categorical_feature=["code"])
    model = adopt(estimator, categories={"zone": [40, 30, 20, 10]})
    assert differences(model.predict(X), estimator.predict(X)) < 1e-12


def test_names_of_columns_are_those_of_the_model():
    X = frame(500).drop(columns=["zone", "thal"]).assign(chol=1.0)
    X["chol"] = np.arange(500.0)
    estimator = lgb.LGBMRegressor(n_estimators=2, n_jobs=1, verbose=-1).fit(X, X.chol)
    model = adopt(estimator, costs={"chol": 5.0, "age": 1.0})
    assert model.feature_names_in_.tolist() == ["age", "chol"] and model.features_.tolist() == ["chol"]
    assert model.run(X[["chol"]]).cost.tolist() == [5.0] * 500
    assert adopt(train("regression"), feature_names=list("abcdef")).feature_names_in_[0] == "a"
    assert not hasattr(adopt(train("regression")), "feature_names_in_")


@pytest.mark.parametrize("n_codes", [257, 5000])
def test_category_codes_above_255(n_codes, tmp_path):
    rng = np.random.default_rng(0)
    X = rng.integers(0, n_codes, (20_000, 2)).astype(float)
    rows = lgb.Dataset(X, (X[:, 0] % 7 == 1) + np.sin(X[:, 1]), categorical_feature=[0, 1])
    parameters = {
        "verbose": -1,
        "num_threads": 1,
        "min_data_per_group": 1,
        "cat_smooth": 1,
        "max_bin": 10_000,
    }
    booster = lgb.train({**parameters, "max_cat_threshold": 500}, rows, 10)
    booster.save_model(tmp_path / "model.txt")
    new = rng.integers(-1, n_codes + 300, (10_000, 2)).astype(float)
    new[::9, 0] = np.nan
    model = adopt(tmp_path / "model.txt")
    assert (model.predict(new) == booster.predict(new)).all()
    assert any(term.span > 1 for term in model.plan_.terms)
    assert (lgb.Booster(model_str=model.plan_.to_lightgbm()).predict(new) == booster.predict(new)).all()


def test_category_codes_above_65535_are_refused_by_name_of_the_column():
    rng = np.random.default_rng(0)
    X = rng.choice([1.0, 2.0, 70_000.0, 80_000.0], (3000, 1))
    rows = lgb.Dataset(X, (X[:, 0] == 80_000) * 1.0, categorical_feature=[0])
    booster = lgb.train({"verbose": -1, "num_threads": 1, "min_data_per_group": 1, "cat_smooth": 1}, rows, 2)
    with pytest.raises(DataError, match=r"splits column 0 on category codes above 65535"):
        adopt(booster)


def test_linear_trees_are_refused():
    X, y = make_rows(N_TRAIN, missing=False, categorical=False)
    booster = lgb.train({"verbose": -1, "linear_tree": True, "num_threads": 1}, lgb.Dataset(X, y), 2)
    with pytest.raises(DataError, match="linear models in its leaves"):
        adopt(booster)


def test_a_constant_model_is_read():
    booster = lgb.train({"verbose": -1, "num_threads": 1}, lgb.Dataset(np.ones((50, 2)), np.ones(50) * 3), 3)
    assert adopt(booster).predict([[1.0, 2.0]]).tolist() == booster.predict([[1.0, 2.0]]).tolist()


def test_an_estimator_that_is_not_fitted_is_refused():
    with pytest.raises(DataError, match="fit"):
        adopt(lgb.LGBMClassifier())
    with pytest.raises(DataError, match="not a fitted model"):
        adopt(lgb.Dataset(np.ones((3, 1))))


# -- files ---------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def text_file(tmp_path_factory):
    path = tmp_path_factory.mktemp("lightgbm") / "model.txt"
    booster = train("multiclass", "zero", True, n_rounds=2, num_leaves=8)
    booster.save_model(path)
    return path, booster


def test_files_are_read_without_the_library(text_file, monkeypatch):
    path, booster = text_file
    X = new_rows(True)
    expected = booster.predict(X)
    monkeypatch.setitem(sys.modules, "lightgbm", None)  # an import would fail
    assert differences(adopt(path).predict_proba(X), expected) < 1e-12


def test_the_plan_of_a_file_can_be_saved(text_file, tmp_path):
    path, booster = text_file
    adopt(str(path)).plan_.save(tmp_path / "plan.miser")
    X = new_rows(True)
    assert differences(miserly.load(tmp_path / "plan.miser").predict_proba(X), booster.predict(X)) < 1e-12


def test_broken_files_give_errors_and_nothing_else(text_file, tmp_path):
    data = text_file[0].read_bytes()
    broken = tmp_path / "broken.txt"
    refused = 0
    for changed in mutations(data, 60, keep=5):
        broken.write_bytes(changed)
        try:
            adopt(broken)
        except MiserlyError:
            refused += 1
    assert refused > 15


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("version=v4", "version=v9", "version 'v9' cannot be read"),
        ("num_class=4", "num_class=4\nnum_class=4", "occurs twice"),
        ("num_tree_per_iteration=4", "num_tree_per_iteration=3", "not 3 in each round"),
        ("objective=multiclass", "objective=magic", "'magic', which adopt does not know"),
        ("objective=multiclass", "objective=binary", "has 4 scores"),
        ("max_feature_idx=5", "max_feature_idx=2", "not among 3"),
        ("Tree=1\n", "Tree=7\n", "has the number '7'"),
        ("num_leaves=8", "num_leaves=9", "numbers, not 9"),
        ("left_child=", "left_child=x", "does not hold plain numbers"),
        ("left_child=", "left_child=900 ", "numbers, not"),
        ("end of trees", "end", "incomplete"),
        ("cat_boundaries=0", "cat_boundaries=1", "must increase from 0"),
        ("leaf_value=", "leaf_value=1e", "plain numbers"),
        ("leaf_value=", "loaf_value=", "the line 'leaf_value' is missing"),
        ("decision_type=", "decision_type=1", "decision type"),
    ],
)
def test_errors_say_what_is_wrong(text_file, tmp_path, old, new, message):
    text = text_file[0].read_text()
    assert old in text
    broken = tmp_path / "broken.txt"
    broken.write_text(text.replace(old, new, 1))
    with pytest.raises(DataError, match=message):
        adopt(broken)
