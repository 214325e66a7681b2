"""Models of CatBoost: the same predictions, from objects and from JSON files."""

import json
import sys

import numpy as np
import pytest

from miserly import DataError, MiserlyError, adopt
from tests.learners.wrap.adopt.fuzz import mutations
from tests.learners.wrap.adopt.rows import N_TRAIN, differences, labels_for, make_rows, new_rows

catboost = pytest.importorskip("catboost")

LOSSES = {
    "RMSE": "numbers",
    "MAE": "numbers",
    "Quantile:alpha=0.3": "numbers",
    "MultiQuantile:alpha=0.2,0.8": "numbers",
    "Huber:delta=1": "numbers",
    "Expectile:alpha=0.3": "numbers",
    "Lq:q=1.5": "numbers",
    "LogCosh": "numbers",
    "MAPE": "positive",
    "LogLinQuantile": "positive",
    "Poisson": "positive",
    "Tweedie:variance_power=1.5": "positive",
    "Logloss": "two",
    "CrossEntropy": "two",
    "MultiClass": "four",
    "MultiClassOneVsAll": "four",
    "YetiRank": "four",
    "QueryRMSE": "four",
}
CLASSES = ("Logloss", "CrossEntropy", "MultiClass", "MultiClassOneVsAll")
RANKING = ("YetiRank", "QueryRMSE")
ALL = [
    (loss, missing, policy)
    for loss in LOSSES
    for missing in ("Min", "Max", "Forbidden")
    for policy in ("SymmetricTree", "Lossguide", "Depthwise")
    if not (loss.startswith("YetiRank") and policy != "SymmetricTree" and missing != "Min")
]
FEW = [
    *((loss, "Min", "SymmetricTree") for loss in LOSSES),
    ("RMSE", "Max", "Lossguide"),
    ("MultiClass", "Max", "Depthwise"),
    ("Logloss", "Forbidden", "SymmetricTree"),
]


def settings(loss="Logloss", **more):
    quiet = {"verbose": 0, "thread_count": 1, "allow_writing_files": False, "random_seed": 0}
    return {"loss_function": loss, "iterations": 6, "depth": 4, **quiet, **more}


def train(loss, missing="Min", policy="SymmetricTree", **more):
    X, signal = make_rows(N_TRAIN, missing=missing != "Forbidden", categorical=False)
    y = labels_for(LOSSES[loss], signal)
    given = settings(loss, nan_mode=missing, grow_policy=policy, **more)
    if loss in CLASSES:
        return catboost.CatBoostClassifier(**given).fit(X, y)
    if loss in RANKING:
        return catboost.CatBoostRanker(**given).fit(X, y, group_id=np.repeat(np.arange(N_TRAIN // 100), 100))
    return catboost.CatBoostRegressor(**given).fit(X, y)


def check(estimator, X):
    model = adopt(estimator)
    if model.model.task == "classes":
        assert (model.predict(X) == estimator.predict(X).ravel()).all()
        assert differences(model.predict_proba(X), estimator.predict_proba(X)) < 1e-11
    else:
        found, expected = model.predict(X), estimator.predict(X)
        assert differences(found + 10.0, expected + 10.0) < 1e-13
    return model


def rows_for(missing):
    X = new_rows(False)
    return np.nan_to_num(X) if missing == "Forbidden" else X


@pytest.mark.parametrize(("loss", "missing", "policy"), FEW)
def test_predictions_are_those_of_the_estimator(loss, missing, policy):
    check(train(loss, missing, policy), rows_for(missing))


@pytest.mark.long
@pytest.mark.parametrize(("loss", "missing", "policy"), ALL)
def test_predictions_of_all_kinds_are_those_of_the_estimator(loss, missing, policy):
    check(train(loss, missing, policy, iterations=40, depth=6), rows_for(missing))


def test_values_next_to_a_border_go_to_the_same_side():
    estimator = train("RMSE")
    borders = [one["borders"] for one in document(estimator)["features_info"]["float_features"]]
    X = np.zeros((4, 6))
    for column, some in enumerate(borders):
        for border in some[:1]:
            X[:, column] = border, np.nextafter(border, np.inf), border * (1 + 1e-7), border * (1 - 1e-7)
    check(estimator, X)


def test_classes_are_those_of_the_model():
    X, signal = make_rows(N_TRAIN, missing=True, categorical=False)
    y = np.array(["low", "middle", "high", "top"])[labels_for("four", signal)]
    model = check(catboost.CatBoostClassifier(**settings("MultiClass")).fit(X, y), new_rows(False))
    assert model.classes_.tolist() == ["high", "low", "middle", "top"]


def test_rounds_can_be_chosen():
    estimator, X = train("RMSE"), new_rows(False)
    found, expected = adopt(estimator, iterations=(2, 4)), estimator.predict(X, ntree_start=2, ntree_end=4)
    assert np.abs(found.predict(X) - expected).max() < 1e-12
    assert np.abs(adopt(estimator, iterations=3).predict(X) - estimator.predict(X, ntree_end=3)).max() < 1e-12
    with pytest.raises(DataError, match="the model has 6"):
        adopt(estimator, iterations=7)


def test_equal_leaves_are_one():
    estimator = train("RMSE")
    for term in adopt(estimator).model.terms:
        inner = np.flatnonzero(term.feature >= 0)
        ends = term.feature[term.left[inner]] < 0
        ends &= term.feature[term.right[inner]] < 0
        both = inner[ends]
        assert (term.value[term.left[both]] != term.value[term.right[both]]).all()


def test_the_library_is_needed_for_objects_only(tmp_path, monkeypatch):
    estimator, X = train("MultiClass"), new_rows(False)
    path = tmp_path / "model.json"
    estimator.save_model(str(path), format="json")
    expected = estimator.predict_proba(X)
    monkeypatch.setitem(sys.modules, "catboost", None)  # an import would fail
    assert differences(adopt(path).predict_proba(X), expected) < 1e-11


def test_a_file_with_rows_and_no_categories(tmp_path):
    estimator, X = train("MultiClass"), new_rows(False)
    path = tmp_path / "model.json"
    estimator.save_model(str(path), format="json", pool=catboost.Pool(X[:50]))
    assert differences(adopt(path).predict_proba(X), estimator.predict_proba(X)) < 1e-11


# -- categories ----------------------------------------------------------------------------------------------


def frame(n, seed=0):
    pd = pytest.importorskip("pandas")
    rng = np.random.default_rng(seed)
    return pd.DataFrame(
        {
            "age": rng.normal(size=n),
            "zone": rng.integers(-2, 5, n),
            "thal": rng.choice(["fixed", "normal", "bad"], n),
        }
    )


def of_categories(**more):
    X = frame(N_TRAIN)
    y = ((X.age + (X.zone == 2) + (X.thal == "normal")) > 0.7).astype(int)
    given = settings(cat_features=["zone", "thal"], **more)
    return catboost.CatBoostClassifier(**given).fit(X, y)


def test_one_hot_categories(tmp_path):
    estimator, new = of_categories(one_hot_max_size=20), frame(10_000, seed=1)
    path = tmp_path / "model.json"
    estimator.save_model(
        str(path), format="json", pool=catboost.Pool(new[:100], cat_features=["zone", "thal"])
    )
    values = {"zone": range(-2, 5), "thal": ["bad", "fixed", "normal"]}
    for model in (adopt(path), adopt(estimator, categories=values)):
        assert differences(model.predict_proba(new), estimator.predict_proba(new)) < 1e-11
        assert (model.predict(new) == estimator.predict(new)).all()
        text = new.assign(zone=new.zone.astype(str))
        assert (model.predict(text) == estimator.predict(text)).all()
        strange = new.assign(thal="odd")
        assert (model.predict(strange, unknown="missing") == estimator.predict(strange)).all()


def test_categories_without_their_values_are_refused(tmp_path):
    estimator = of_categories(one_hot_max_size=20)
    path = tmp_path / "model.json"
    estimator.save_model(str(path), format="json")
    for source in (estimator, path):
        with pytest.raises(DataError, match="knows only by their hashes"):
            adopt(source)
    with pytest.raises(DataError, match="'age', which is not a categorical column"):
        adopt(estimator, categories={"age": [1, 2]})
    with pytest.raises(DataError, match="only for a model object"):
        adopt(path, categories={"zone": [1, 2]})


def test_statistics_of_categories_are_refused():
    with pytest.raises(
        DataError, match=r"OnlineCtr.*statistics of the categories of 'zone', 'thal'.*one_hot_max_size"
    ):
        adopt(of_categories(one_hot_max_size=2))


# -- files ---------------------------------------------------------------------------------------------------


def document(estimator):
    from miserly.learners.wrap.adopt.readers.catboost import _exported

    return json.loads(_exported(estimator, None))


@pytest.fixture(scope="module")
def json_file(tmp_path_factory):
    path = tmp_path_factory.mktemp("catboost") / "model.json"
    train("MultiClass", iterations=3, depth=3).save_model(str(path), format="json")
    return path


def test_binary_files_are_refused_with_advice(tmp_path):
    path = tmp_path / "model.cbm"
    train("RMSE").save_model(str(path))
    with pytest.raises(DataError, match="export the model as JSON"):
        adopt(path)


def test_what_is_not_fitted_is_refused():
    for source in (catboost.CatBoostClassifier(), catboost.Pool([[1.0]])):
        with pytest.raises(DataError, match="not a fitted model"):
            adopt(source)


def test_broken_files_give_errors_and_nothing_else(json_file, tmp_path):
    data = json_file.read_bytes()
    broken = tmp_path / "broken.json"
    refused = 0
    for changed in mutations(data, 60, keep=200):
        broken.write_bytes(changed)
        try:
            adopt(broken)
        except MiserlyError:
            refused += 1
    assert refused > 15


def changed(top, path, value):
    place = top
    for key in path[:-1]:
        place = place[key]
    place[path[-1]] = value
    return top


TREE = ("oblivious_trees", 0)


@pytest.mark.parametrize(
    ("path", "value", "message"),
    [
        (("model_info", "params", "loss_function", "type"), "Magic", "'Magic', which adopt does not know"),
        (("model_info", "params", "loss_function", "type"), "Logloss", "has 4 scores"),
        (("model_info", "class_params", "class_names"), [1, 2], "4 scores and the classes"),
        (("scale_and_bias",), [1], "not a scale and a list"),
        (("scale_and_bias",), [1, []], "no finite bias"),
        (("scale_and_bias",), ["1", [0, 0, 0, 0]], "not a number"),
        ((*TREE, "leaf_values"), [1.0], "holds 1 numbers, not 32"),
        ((*TREE, "splits", 0, "split_type"), "Magic", "of the kind 'Magic'"),
        ((*TREE, "splits", 0, "float_feature_index"), 99, "feature 99, which the model does not list"),
        ((*TREE, "splits", 0, "border"), "0", "not a number"),
        ((*TREE, "splits"), [{}] * 17, "17 levels"),
        (("features_info", "float_features", 0, "nan_value_treatment"), "Odd", "missing values 'Odd'"),
        (("features_info", "float_features", 1, "flat_feature_index"), 0, "occurs twice"),
        (("features_info", "text_features"), [1], "text features"),
        (("features_info", "float_features"), [], "has no features"),
    ],
)
def test_errors_say_what_is_wrong(json_file, tmp_path, path, value, message):
    broken = tmp_path / "broken.json"
    broken.write_text(json.dumps(changed(json.loads(json_file.read_text()), path, value)))
    with pytest.raises(DataError, match=message):
        adopt(broken)
