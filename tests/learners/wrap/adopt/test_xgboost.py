"""Models of XGBoost: the same trees to the bit, the same decisions, from objects and from files.

XGBoost adds up leaves in float32, and so does the plan of such a model: scores are equal to the bit. Answers
after a link are equal to 1e-6, relative to each of them.
"""

import json
import sys

import numpy as np
import pytest
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from miserly import DataError, MiserlyError, adopt
from miserly.learners.wrap.adopt.readers.ubjson import parse_ubjson
from miserly.learners.wrap.adopt.readers.xgboost_trees import below_float32, float32_cell
from tests.learners.wrap.adopt.fuzz import mutations
from tests.learners.wrap.adopt.rows import N_TRAIN, differences, labels_for, make_rows, new_rows

xgb = pytest.importorskip("xgboost")

OBJECTIVES = {
    "reg:squarederror": "numbers",
    "reg:squaredlogerror": "positive",
    "reg:pseudohubererror": "numbers",
    "reg:absoluteerror": "numbers",
    "reg:quantileerror": "numbers",
    "reg:logistic": "share",
    "count:poisson": "positive",
    "reg:gamma": "positive",
    "reg:tweedie": "positive",
    "survival:cox": "positive",
    "survival:aft": "positive",
    "binary:logistic": "two",
    "binary:logitraw": "two",
    "binary:hinge": "two",
    "multi:softmax": "four",
    "multi:softprob": "four",
    "rank:pairwise": "four",
    "rank:ndcg": "four",
    "rank:map": "two",
}
ALL = [
    (name, missing, categorical, booster)
    for name in OBJECTIVES
    for missing in (False, True)
    for categorical in (False, True)
    for booster in ("gbtree", "dart")
]
FEW = [
    *((name, True, True, "gbtree") for name in OBJECTIVES),
    ("reg:squarederror", False, False, "gbtree"),
    ("binary:logistic", True, True, "dart"),
    ("multi:softprob", False, True, "dart"),
]


def matrix(X, categorical, y=None, **more):
    kinds = ["float"] * 5 + ["c" if categorical else "float"]
    return xgb.DMatrix(X, y, feature_types=kinds, enable_categorical=True, **more)


def train(objective, missing=True, categorical=True, booster="gbtree", n_rounds=6, **more):
    X, signal = make_rows(N_TRAIN, missing=missing, categorical=categorical)
    y = labels_for(OBJECTIVES[objective], signal)
    given = {"qid": np.repeat(np.arange(N_TRAIN // 100), 100)} if "rank" in objective else {}
    if objective == "survival:aft":
        given = {"label_lower_bound": y, "label_upper_bound": y}
    parameters = {
        "objective": objective,
        "max_depth": 5,
        "nthread": 1,
        "booster": booster,
        "max_cat_to_onehot": 3,
        **({"rate_drop": 0.3} if booster == "dart" else {}),
        **({"num_class": 4} if objective.startswith("multi") else {}),
        **({"quantile_alpha": [0.2, 0.5, 0.8]} if "quantile" in objective else {}),
        **more,
    }
    return xgb.train(parameters, matrix(X, categorical, y, **given), n_rounds)


def check(booster, categorical):
    """Scores are those of XGBoost to the bit; what comes after them is in float32 there."""
    X = new_rows(categorical)
    model, rows = adopt(booster), matrix(X, categorical)
    margin = booster.predict(rows, output_margin=True).reshape(len(X), -1)
    assert (model.raw_scores(X) == margin).all()
    expected = booster.predict(rows)
    if model.model.task == "classes":
        codes = expected
        if model.plan_.has_probabilities and expected.dtype.kind == "f" and (expected % 1).any():
            found = model.predict_proba(X)
            assert differences(found[:, 1] if expected.ndim == 1 else found, expected) < 1e-6
            codes = expected.argmax(axis=1) if expected.ndim == 2 else expected > 0.5
        assert (model.predict(X) == codes).all()
    else:
        assert differences(model.predict(X), expected) < 1e-6
    return model


@pytest.mark.parametrize(("objective", "missing", "categorical", "booster"), FEW)
def test_predictions_are_those_of_the_booster(objective, missing, categorical, booster):
    check(train(objective, missing, categorical, booster), categorical)


@pytest.mark.long
@pytest.mark.parametrize(("objective", "missing", "categorical", "booster"), ALL)
def test_predictions_of_all_kinds_are_those_of_the_booster(objective, missing, categorical, booster):
    check(train(objective, missing, categorical, booster, n_rounds=30), categorical)


@pytest.mark.parametrize(
    "values",
    [
        np.float32([0.0, 1.0, -1.0, 0.1, 1e-45, -1e-45, 3e38, 1e-38, 16777216.0, np.inf, -3.4028235e38]),
        np.random.default_rng(0).normal(size=2000).astype(np.float32),
        np.random.default_rng(1).integers(0, 1 << 31, 2000).astype(np.uint32).view(np.float32),
    ],
)
def test_a_float32_threshold_becomes_the_float64_threshold_with_the_same_decisions(values):
    values = values[~np.isnan(values)]
    found = below_float32(values)
    near = np.concatenate([found, np.nextafter(found, np.inf), np.nextafter(found, -np.inf)])
    with np.errstate(over="ignore"):
        for x in (near.reshape(3, -1), values.astype(np.float64), np.roll(near, 1).reshape(3, -1)):
            assert ((x.astype(np.float32) < values) == (x <= found)).all()


def test_the_numbers_that_round_to_a_float32_number():
    for value in (0.0, -999.0, 0.1, 1e30):
        low, high = float32_cell(value)
        inside = np.array([low, high]).astype(np.float32)
        outside = np.nextafter([low, high], [-np.inf, np.inf]).astype(np.float32)
        assert (inside == np.float32(value)).all() and (outside != np.float32(value)).all()


@pytest.mark.parametrize("missing", [0.0, -1.0, 2.0])
def test_the_number_that_an_estimator_counts_as_missing(missing):
    X, signal = make_rows(N_TRAIN, missing=True, categorical=False)
    X[:, :3] = np.round(X[:, :3])
    estimator = xgb.XGBRegressor(n_estimators=8, max_depth=5, missing=missing, n_jobs=1).fit(X, signal)
    new = np.round(new_rows(False))
    model = adopt(estimator)
    assert (model.predict(new) == estimator.predict(new)).all()
    assert len(model.model.terms[0].feature) > 63  # more nodes than a tree of depth 5 has


@pytest.mark.parametrize(
    "kind", ["XGBClassifier", "XGBRegressor", "XGBRanker", "XGBRFClassifier", "XGBRFRegressor"]
)
def test_estimators(kind, tmp_path):
    X, signal = make_rows(N_TRAIN, missing=True, categorical=False)
    y = signal if kind.endswith("Regressor") else labels_for("four", signal)
    more = {"qid": np.repeat(np.arange(N_TRAIN // 100), 100)} if kind == "XGBRanker" else {}
    estimator = getattr(xgb, kind)(n_estimators=7, max_depth=4, n_jobs=1).fit(X, y, **more)
    estimator.save_model(tmp_path / "model.json")
    estimator.save_model(tmp_path / "model.ubj")
    new = new_rows(False)
    for model in (adopt(estimator), adopt(tmp_path / "model.json"), adopt(tmp_path / "model.ubj")):
        if kind.endswith("Classifier"):
            assert (model.predict(new) == estimator.predict(new)).all()
            assert differences(model.predict_proba(new), estimator.predict_proba(new)) < 1e-6
        else:
            assert (model.predict(new) == estimator.predict(new)).all()
    assert type(model).__name__.removeprefix("Adopted") in kind.replace("RF", "")


def test_an_estimator_uses_its_best_iteration_and_a_booster_all(tmp_path):
    X, signal = make_rows(N_TRAIN, missing=True, categorical=False)
    estimator = xgb.XGBRegressor(n_estimators=40, learning_rate=0.9, early_stopping_rounds=3, n_jobs=1)
    estimator.fit(X[:1000], signal[:1000], eval_set=[(X[1000:], signal[1000:])], verbose=False)
    estimator.save_model(tmp_path / "model.json")
    booster, new = estimator.get_booster(), new_rows(False)
    n_best = estimator.best_iteration + 1
    assert n_best < booster.num_boosted_rounds()
    for source in (estimator, tmp_path / "model.json"):
        model = adopt(source)
        assert len(model.plan_.nodes) == n_best
        assert (model.predict(new) == estimator.predict(new)).all()
    every = booster.predict(xgb.DMatrix(new))
    assert (adopt(booster).predict(new) == every).all()
    two = booster.predict(xgb.DMatrix(new), iteration_range=(1, 3))
    assert (adopt(booster, iterations=(1, 3)).predict(new) == two).all()
    with pytest.raises(DataError, match="the model has"):
        adopt(booster, iterations=1000)


def test_a_linear_booster(tmp_path):
    X, signal = make_rows(N_TRAIN, missing=True, categorical=False)
    new, _ = make_rows(N_TRAIN, missing=True, categorical=False, seed=5)
    for objective, y in (("reg:squarederror", signal), ("multi:softprob", labels_for("four", signal))):
        more = {"num_class": 4} if "multi" in objective else {}
        parameters = {"booster": "gblinear", "objective": objective, "nthread": 1, **more}
        booster = xgb.train(parameters, xgb.DMatrix(X, y), 5)
        booster.save_model(tmp_path / "model.json")
        margins = booster.predict(xgb.DMatrix(new), output_margin=True)
        for model in (adopt(booster), adopt(tmp_path / "model.json")):
            assert (model.raw_scores(new) == margins.reshape(len(new), -1)).all()
            found = model.predict_proba(new) if more else model.predict(new)
            assert differences(found, booster.predict(xgb.DMatrix(new))) < 1e-6
        with pytest.raises(DataError, match="no rounds"):
            adopt(booster, iterations=2)


def test_scales_before_a_linear_booster_are_added_up_in_float64():
    # Around 1e6 the raw values have no digits left in float32; the booster reads scaled ones.
    X, signal = make_rows(N_TRAIN, missing=False, categorical=False)
    pipeline = make_pipeline(StandardScaler(), xgb.XGBRegressor(booster="gblinear", n_jobs=1))
    pipeline.fit(X + 1e6, signal)
    expected = pipeline.predict(X + 1e6)
    assert np.abs(adopt(pipeline).predict(X + 1e6) - expected).max() < 1e-6 * np.abs(expected).max()


def test_parallel_trees_are_one_round():
    booster = train("multi:softprob", num_parallel_tree=3, subsample=0.5, n_rounds=2)
    model = check(booster, True)
    assert [len(step) for step in model.model.steps] == [12, 12]


def frame(n, seed=0):
    pd = pytest.importorskip("pandas")
    rng = np.random.default_rng(seed)
    return pd.DataFrame(
        {
            "age": rng.normal(size=n),
            "zone": pd.Categorical(rng.choice([10, 20, 30, 40], n), categories=[40, 30, 20, 10]),
            "thal": pd.Categorical(rng.choice(["fixed", "normal", "odd", None], n)),
        }
    )


def test_pandas_categories_are_values_and_not_codes(tmp_path):
    X, new = frame(N_TRAIN), frame(10_000, seed=1)
    y = ((X.age + (X.zone == 20) + (X.thal == "odd")) > 0.7).to_numpy().astype(int)
    estimator = xgb.XGBClassifier(n_estimators=6, n_jobs=1, enable_categorical=True, max_cat_to_onehot=2)
    estimator.fit(X, y)
    estimator.save_model(tmp_path / "model.ubj")
    for model in (adopt(estimator), adopt(tmp_path / "model.ubj")):
        assert differences(model.predict_proba(new), estimator.predict_proba(new)) < 1e-6
        assert (model.predict(new) == estimator.predict(new)).all()
    assert model.plan_.categories == {1: (40, 30, 20, 10), 2: ("fixed", "normal", "odd")}
    assert model.feature_names_in_.tolist() == ["age", "zone", "thal"]


def with_leaves(booster, make):
    """The booster with other numbers in its leaves."""
    document = json.loads(bytes(booster.save_raw("json")))
    for tree in document["learner"]["gradient_booster"]["model"]["trees"]:
        pairs = zip(tree["split_conditions"], tree["left_children"], strict=True)
        tree["split_conditions"] = [float(np.float32(make())) if left == -1 else at for at, left in pairs]
    return xgb.Booster(model_file=bytearray(json.dumps(document).encode()))


@pytest.mark.parametrize("objective", ["binary:logistic", "multi:softprob", "count:poisson", "reg:logistic"])
def test_answers_of_any_size_and_labels_of_near_ties(objective):
    """Scores from 1e-9 apart, which float32 cannot tell apart after the link, to 100 apart."""
    booster, X, rng = train(objective, n_rounds=1), new_rows(True)[:500], np.random.default_rng(0)
    rows = matrix(X, True)
    for size in np.geomspace(1e-9, 60.0, 40).tolist():
        changed_booster = with_leaves(booster, lambda size=size: rng.normal() * size)
        model, expected = adopt(changed_booster), changed_booster.predict(rows).astype(np.float64)
        found = model.predict(X) if model.model.task == "numbers" else model.predict_proba(X)
        if objective == "binary:logistic":
            assert (model.predict(X) == (expected > 0.5)).all()
            expected = np.column_stack([1 - expected.astype(np.float32), expected.astype(np.float32)])
        elif objective == "multi:softprob":
            assert (model.predict(X) == expected.argmax(axis=1)).all()
        normal = (expected > 1e-37) & (expected < 3e38)
        assert differences(found[normal], expected[normal]) < 1e-6
        assert (found[expected <= 1e-37] < 1.1e-37).all() and np.isinf(found[expected >= 3e38]).all()


def test_categories_beyond_ascii_must_be_given():
    """XGBoost 3.2 counts letters of pandas categories instead of bytes, so its texts are cut off."""
    X = frame(N_TRAIN)
    X["thal"] = X["thal"].cat.rename_categories({"odd": "größer"})
    estimator = xgb.XGBClassifier(n_estimators=4, n_jobs=1, enable_categorical=True)
    estimator.fit(X, (X.age > 0) | (X.thal == "größer"))
    with pytest.raises(DataError, match="column 'thal' of the XGBoost model has categories with letters"):
        adopt(estimator)
    model = adopt(estimator, categories={"thal": X.thal.cat.categories})
    assert (model.predict(X) == estimator.predict(X)).all()
    assert model.plan_.categories[2] == ("fixed", "normal", "größer")
    assert model.plan_.categories[1] == (40, 30, 20, 10)


def test_a_booster_that_was_not_fitted_is_refused():
    with pytest.raises(DataError, match="no trees and no base score"):
        adopt(train("binary:logistic", n_rounds=0))
    check(train("binary:logistic", n_rounds=0, base_score=0.3), True)


def test_what_a_plan_does_not_have_is_refused():
    X, signal = make_rows(N_TRAIN, missing=False, categorical=False)
    several = xgb.XGBRegressor(n_estimators=1, multi_strategy="multi_output_tree", n_jobs=1)
    with pytest.raises(DataError, match="multi_output_tree"):
        adopt(several.fit(X, np.column_stack([signal, signal])))
    codes = np.random.default_rng(0).integers(0, 70_000, (3000, 1)).astype(float)
    rows = xgb.DMatrix(codes, codes[:, 0] % 7 == 1, feature_types=["c"], enable_categorical=True)
    with pytest.raises(DataError, match="category codes above 65535"):
        adopt(xgb.train({"nthread": 1, "max_cat_threshold": 70_000}, rows, 2))
    with pytest.raises(DataError, match="not a fitted model"):
        adopt(xgb.DMatrix(X))


@pytest.mark.parametrize("n_codes", [257, 3000])
def test_category_codes_above_255(n_codes, tmp_path):
    rng = np.random.default_rng(0)
    codes = rng.integers(0, n_codes, (20_000, 2)).astype(float)
    target = np.sin(codes[:, 0]) + codes[:, 1] % 7
    rows = xgb.DMatrix(codes, target, feature_types=["c", "c"], enable_categorical=True)
    booster = xgb.train({"nthread": 1, "max_cat_threshold": 200, "max_depth": 5}, rows, 10)
    booster.save_model(tmp_path / "model.json")
    new = rng.integers(0, n_codes + 20, (10_000, 2)).astype(float)
    new[::9, 0] = np.nan
    expected = booster.predict(xgb.DMatrix(new, feature_types=["c", "c"], enable_categorical=True))
    assert (adopt(tmp_path / "model.json").predict(new) == expected).all()


def test_several_targets_are_several_scores():
    X, signal = make_rows(N_TRAIN, missing=True, categorical=False)
    estimator = xgb.XGBRegressor(n_estimators=3, n_jobs=1).fit(X, np.column_stack([signal, signal**2]))
    new = new_rows(False)
    assert (adopt(estimator).predict(new) == estimator.predict(new)).all()


# -- files ---------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    folder = tmp_path_factory.mktemp("xgboost")
    booster = train("multi:softprob", n_rounds=2, max_depth=3)
    for kind in ("json", "ubj"):
        booster.save_model(folder / f"model.{kind}")
    return folder, booster


@pytest.mark.parametrize("kind", ["json", "ubj"])
def test_files_are_read_without_the_library(files, kind, monkeypatch):
    folder, booster = files
    X = new_rows(True)
    expected = booster.predict(matrix(X, True))
    monkeypatch.setitem(sys.modules, "xgboost", None)  # an import would fail
    assert differences(adopt(folder / f"model.{kind}").predict_proba(X), expected) < 1e-6


@pytest.mark.parametrize("kind", ["json", "ubj"])
def test_broken_files_give_errors_and_nothing_else(files, kind, tmp_path):
    data = (files[0] / f"model.{kind}").read_bytes()
    broken = tmp_path / "broken"
    refused = 0
    for changed in mutations(data, 80, keep=30):
        broken.write_bytes(changed)
        try:
            adopt(broken)
        except MiserlyError:
            refused += 1
    assert refused > 20


def changed(document, path, value):
    place = document
    for key in path[:-1]:
        place = place[key]
    place[path[-1]] = value
    return document


LEARNER = ("learner",)
MODEL = ("learner", "gradient_booster", "model")
TREE = (*MODEL, "trees", 0)


@pytest.mark.parametrize(
    ("path", "value", "message"),
    [
        ((*LEARNER, "objective", "name"), "magic", "'magic', which adopt does not know"),
        ((*LEARNER, "objective", "name"), "binary:logistic", "has 4 scores"),
        ((*LEARNER, "learner_model_param", "num_feature"), "2", "columns|column"),
        ((*LEARNER, "learner_model_param", "num_feature"), "-1", "not a whole number"),
        ((*LEARNER, "learner_model_param", "base_score"), "[1,2]", "base score"),
        ((*LEARNER, "learner_model_param", "base_score"), "nan", "base score"),
        ((*LEARNER, "gradient_booster", "name"), "magic", "booster 'magic'"),
        ((*MODEL, "tree_info"), [0, 1, 2, 3, 0, 1, 2, 9], "not among 4"),
        ((*MODEL, "iteration_indptr"), [0, 4, 4], "do not cover"),
        ((*MODEL, "trees"), {}, "not a list"),
        ((*TREE, "left_children"), [1], "holds 1 numbers"),
        ((*TREE, "left_children", 0), 0, "reached twice"),
        ((*TREE, "left_children", 0), 99, "not among"),
        ((*TREE, "left_children", 0), 0.5, "only whole numbers"),
        ((*TREE, "left_children", 0), "1", "only numbers"),
        ((*TREE, "split_conditions", 0), float("nan"), "holds NaN"),
        ((*TREE, "split_indices", 0), 77, "not among 6"),
        ((*TREE, "tree_param", "num_nodes"), "9999999999", "not a whole number"),
        ((*TREE, "split_type", 0), 3, "without its kind"),
        ((*TREE, "categories_nodes"), [0, 0], "repeated nodes"),
    ],
)
def test_errors_say_what_is_wrong(files, tmp_path, path, value, message):
    document = changed(json.loads((files[0] / "model.json").read_text()), path, value)
    broken = tmp_path / "broken.json"
    broken.write_text(json.dumps(document))
    with pytest.raises(DataError, match=message):
        adopt(broken)


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"", "missing at byte 0"),
        (b"{", "missing at byte 1"),
        (b"{S", "no length"),
        (b"{i\x01a", "missing"),
        (b"[" * 200, "too deep"),
        (b"[#L" + b"\x7f" + b"\xff" * 7, "array of"),
        (b"[$d#L" + b"\x7f" + b"\xff" * 7, "incomplete"),
        (b"[$S#i\x01", "unknown type"),
        (b"Si\xff", "negative length"),
        (b"Si\x01\xff", "not UTF-8"),
        (b"i\x01i", "ends at byte 2 of 3"),
        (b"{i\x01aZi\x01aZ}", "same name"),
        (b"x", "unknown type"),
    ],
)
def test_binary_json_is_read_strictly(data, message):
    with pytest.raises(DataError, match=message):
        parse_ubjson(data)


def test_deep_or_doubled_json_is_refused(tmp_path):
    broken = tmp_path / "broken.json"
    for text in (
        '{"learner": ' + "[" * 100_000,
        '{"learner": 1, "learner": 2}',
        '{"learner": ' + "9" * 5000 + "}",
    ):
        broken.write_text(text)
        with pytest.raises(DataError, match=r"JSON|deep"):
            adopt(broken)
