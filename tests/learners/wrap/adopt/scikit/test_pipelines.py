"""Pipelines become plans over raw columns, with the answers of the pipeline."""

import warnings

import numpy as np
import pytest
from sklearn.compose import ColumnTransformer, make_column_transformer
from sklearn.decomposition import PCA
from sklearn.ensemble import (
    ExtraTreesClassifier,
    GradientBoostingClassifier,
    HistGradientBoostingClassifier,
    HistGradientBoostingRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
)
from sklearn.feature_selection import SelectKBest
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import FeatureUnion, make_pipeline, make_union
from sklearn.preprocessing import (
    FunctionTransformer,
    MaxAbsScaler,
    MinMaxScaler,
    OneHotEncoder,
    OrdinalEncoder,
    PowerTransformer,
    RobustScaler,
    StandardScaler,
    TargetEncoder,
)
from sklearn.svm import SVC, SVR
from sklearn.tree import DecisionTreeClassifier

from miserly import DataError, adopt, load
from miserly.data.encoder import OTHER

from .agreement import N_ROWS, check_agreement

pd = pytest.importorskip("pandas")

SEED = {"random_state": 0}
NUMBERS, NAMES = ["a", "b", "c"], ["zone", "grade"]


def table(n, seed, missing):
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame(
        {
            "a": rng.normal(size=n) * 1e3 + 5e4,
            "zone": rng.choice(["north", "south", "east", "west"], n, p=[0.4, 0.3, 0.27, 0.03]),
            "b": rng.normal(size=n),
            "c": rng.exponential(size=n),
            "grade": rng.integers(0, 4, n),
        }
    )
    if missing:
        for name in ("a", "b", "c", "zone"):
            frame.loc[rng.random(n) < 0.12, name] = np.nan
    return frame


def score(frame):
    score = (frame.a.fillna(5e4) - 5e4) / 1e3 + frame.b.fillna(0.3) + 0.3 * frame.c.fillna(1.0)
    return score + (frame.zone == "north") - 0.7 * frame.zone.isna() + (frame.grade == 2)


@pytest.fixture(scope="module")
def tables():
    return {missing: (table(300, 1, missing), table(N_ROWS, 2, missing)) for missing in (False, True)}


def targets(frame, kind):
    if kind == "number":
        return score(frame)
    return pd.qcut(score(frame), 2 if kind == "two" else 3, labels=False).to_numpy() + 1


FRONTS = {
    "one-hot": lambda: make_column_transformer(
        (make_pipeline(SimpleImputer(strategy="median", add_indicator=True), StandardScaler()), NUMBERS),
        (OneHotEncoder(handle_unknown="ignore", sparse_output=False), NAMES),
    ),
    "ordinal": lambda: make_pipeline(
        make_column_transformer(
            (make_pipeline(MinMaxScaler((-1, 3)), SimpleImputer()), NUMBERS),
            (
                OrdinalEncoder(
                    handle_unknown="use_encoded_value", unknown_value=-1, encoded_missing_value=-2
                ),
                NAMES,
            ),
        ),
        RobustScaler(),
    ),
    "filled": lambda: make_pipeline(
        make_column_transformer(
            (make_pipeline(SimpleImputer(strategy="constant", fill_value=1.5), MaxAbsScaler()), NUMBERS),
            (make_pipeline(SimpleImputer(strategy="most_frequent"), OneHotEncoder(drop="first")), ["zone"]),
            remainder="passthrough",
            sparse_threshold=0,
        ),
        MinMaxScaler(),
    ),
}
MODELS = {
    "forest": (RandomForestClassifier(6, max_depth=8, **SEED), RandomForestRegressor(6, max_depth=8, **SEED)),
    "boosted": (HistGradientBoostingClassifier(max_iter=6), HistGradientBoostingRegressor(max_iter=6)),
    "linear": (LogisticRegression(max_iter=2000), Ridge()),
}


@pytest.mark.parametrize("missing", [False, True], ids=["full", "missing"])
@pytest.mark.parametrize("kind", ["two", "three", "number"])
@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("front", FRONTS)
def test_scalers_imputers_and_encoders(tables, front, model, kind, missing):
    X, new = tables[missing]
    pipeline = make_pipeline(FRONTS[front](), MODELS[model][kind == "number"])
    adopted = check_agreement(pipeline.fit(X, targets(X, kind)), new)
    assert adopted.feature_names_in_.tolist() == list(X.columns)
    assert set(adopted.categories_) >= {1}


def test_raw_columns_are_bought_once_each(tables):
    X, new = tables[True]
    pipeline = make_pipeline(FRONTS["one-hot"](), GradientBoostingClassifier(n_estimators=20, **SEED))
    costs = {"a": 1.0, "b": 10.0, "c": 100.0, "zone": 1000.0, "grade": 10_000.0}
    adopted = adopt(pipeline.fit(X, targets(X, "two")), costs)
    run = adopted.run(new[:500])
    assert adopted.cost_ == 11_111.0 and run.cost.max() <= 11_111.0
    assert (run.cost == run.acquired @ np.array([costs[name] for name in X.columns])).all()


@pytest.mark.parametrize("kind", ["two", "three"])
@pytest.mark.parametrize("missing", [False, True], ids=["full", "missing"])
def test_categories_of_histogram_boosting(tables, kind, missing):
    X, new = tables[missing]
    for given in (["zone", "grade"], "from_dtype"):
        model = HistGradientBoostingClassifier(max_iter=6, categorical_features=given)
        train, test = (X, new) if given != "from_dtype" else (X.astype({"zone": "category"}), new)
        model.fit(train, targets(X, kind))
        test = test if given != "from_dtype" else test.astype({"zone": train.zone.dtype})
        adopted = check_agreement(model, test)
        assert adopted.categories_[1] == ("east", "north", "south", "west")
    codes = np.column_stack([X.grade, X.b, X.c])
    model = HistGradientBoostingClassifier(max_iter=6, categorical_features=[0]).fit(codes, targets(X, kind))
    check_agreement(model, np.column_stack([new.grade, new.b, new.c]))


@pytest.mark.parametrize(
    ("encoder", "model"),
    [
        (TargetEncoder(), GradientBoostingClassifier(n_estimators=5, **SEED)),
        (
            OneHotEncoder(min_frequency=30, handle_unknown="infrequent_if_exist"),
            ExtraTreesClassifier(5, max_depth=6, **SEED),
        ),
        (OneHotEncoder(drop="if_binary", max_categories=3), LogisticRegression(max_iter=2000)),
    ],
    ids=["target", "infrequent", "at most 3"],
)
def test_other_encoders_and_selections(tables, encoder, model):
    X, new = tables[True]
    front = ColumnTransformer([("n", SimpleImputer(), NUMBERS), ("z", encoder, NAMES), ("d", "drop", ["a"])])
    pipeline = make_pipeline(front, "passthrough", SelectKBest(k=5), model).fit(X, targets(X, "two"))
    check_agreement(pipeline, new)


def test_unions_and_clipped_scalers(tables):
    X, new = (frame[NUMBERS] for frame in tables[False])
    y = targets(tables[False][0], "two")
    front = make_union(MinMaxScaler(clip=True), RobustScaler(with_centering=False), FunctionTransformer())
    check_agreement(make_pipeline(front, DecisionTreeClassifier(max_depth=6, **SEED)).fit(X, y), 3 * new)
    with pytest.raises(DataError, match="through a step that clips it"):
        adopt(make_pipeline(front, LogisticRegression(max_iter=5000)).fit(X, y))


@pytest.mark.parametrize("kernel", ["rbf", "linear", "poly", "sigmoid"])
def test_kernels_behind_scalers(tables, kernel):
    X, new = (frame[NUMBERS] for frame in tables[True])
    full = tables[True][0]
    scaler = make_column_transformer((RobustScaler(), ["c"]), (StandardScaler(), ["a", "b"]))
    for model, kind in (
        (SVC(kernel=kernel), "three"),
        (SVC(kernel=kernel), "two"),
        (SVR(kernel=kernel), "number"),
    ):
        pipeline = make_pipeline(scaler, SimpleImputer(), model).fit(X, targets(full, kind))
        check_agreement(pipeline, new)


def test_the_best_model_of_a_search(tables):
    X, new = (frame[NUMBERS] for frame in tables[False])
    y = targets(tables[False][0], "two")
    search = GridSearchCV(make_pipeline(StandardScaler(), SVC()), {"svc__C": [0.1, 5.0]}, cv=2).fit(X, y)
    check_agreement(search, new)
    with pytest.raises(DataError, match="not fitted yet, or has refit=False"):
        adopt(GridSearchCV(SVC(), {"C": [1.0]}, refit=False, cv=2).fit(X, y))


def test_booleans_are_categories_that_the_caller_names(tables):
    X, new = (frame[NUMBERS].assign(flag=frame.grade > 1) for frame in tables[False])
    model = DecisionTreeClassifier(max_depth=5).fit(X, targets(tables[False][0], "two"))
    with pytest.raises(DataError, match="'flag' holds no numbers"):
        adopt(model).predict(new)
    adopted = adopt(model, categories={"flag": [False, True]})
    assert (adopted.predict(new) == model.predict(new)).all() and "flag" in adopted.features_


def test_a_split_that_decides_nothing_is_left_out():
    """A threshold above all values that the scaler gives sends every row left, if missing ones go there."""
    X = np.array([[1.0], [2.0], [3.0], [4.0]])
    pipeline = make_pipeline(MinMaxScaler((5, 6), clip=True), DecisionTreeClassifier()).fit(X, [0, 0, 1, 1])
    tree = pipeline[-1].tree_
    tree.threshold[0] = 7.0  # above all values that the scaler gives
    adopted = adopt(pipeline)
    assert adopted.predict([[1.0], [100.0]]).tolist() == [0, 0] and adopted.plan_.features.tolist() == [0]
    assert adopted.predict([[np.nan]]).tolist() == pipeline.predict([[np.nan]]).tolist()


@pytest.mark.parametrize("library", ["lightgbm", "xgboost"])
def test_models_of_other_libraries_behind_the_same_steps(tables, library):
    module = pytest.importorskip(library)
    model = {"lightgbm": "LGBMClassifier", "xgboost": "XGBClassifier"}[library]
    settings = {"n_estimators": 6, "n_jobs": 1} | ({"verbose": -1} if library == "lightgbm" else {})
    X, new = tables[True]
    front = FRONTS["one-hot"]().set_output(transform="default")
    pipeline = make_pipeline(front, getattr(module, model)(**settings))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of the libraries about names of columns
        pipeline.fit(X, targets(X, "two") - 1)
        expected, chances = pipeline.predict(new), pipeline.predict_proba(new)
    adopted = adopt(pipeline)
    assert (adopted.predict(new) == expected).all() and adopted.plan_.features.tolist() == [0, 1, 2, 3, 4]
    np.testing.assert_allclose(adopted.predict_proba(new), chances, rtol=1e-6)


# -- categories --------------------------------------------------------------------------------------------


def test_many_categories_in_linear_models_and_ordinal_trees():
    rng = np.random.default_rng(0)
    X = pd.DataFrame({"town": rng.integers(0, 400, 3000).astype(str), "b": rng.normal(size=3000)})
    y = (X.town.astype(int) % 7 > 3) + X.b
    for model in (
        make_pipeline(make_column_transformer((OneHotEncoder(), ["town"]), remainder="passthrough"), Ridge()),
        make_pipeline(
            make_column_transformer((OrdinalEncoder(), ["town"]), remainder="passthrough"),
            RandomForestRegressor(3, max_depth=9, **SEED),
        ),
    ):
        check_agreement(model.fit(X, y), X)
    trees = RandomForestRegressor(3, max_depth=9, **SEED)
    front = make_column_transformer((OneHotEncoder(), ["town"]), remainder="passthrough")
    check_agreement(make_pipeline(front, trees).fit(X, y), X)


def test_unknown_categories_count_as_missing_if_asked(tables):
    X, new = tables[False]
    pipeline = make_pipeline(FRONTS["one-hot"](), LogisticRegression()).fit(X, targets(X, "two"))
    strange = new[:50].assign(zone="centre")
    adopted = adopt(pipeline)
    with pytest.raises(DataError, match="'centre' is not among its categories"):
        adopted.predict(strange)
    assert (adopted.predict(strange, unknown="missing") == pipeline.predict(strange)).all()


UNSEEN = {
    "missing is a category": (None, OneHotEncoder(handle_unknown="ignore", sparse_output=False)),
    "filled": (SimpleImputer(strategy="most_frequent"), OneHotEncoder(handle_unknown="ignore", drop="first")),
    "filled by a new one": (
        SimpleImputer(strategy="constant", fill_value="gap"),
        OneHotEncoder(handle_unknown="infrequent_if_exist", min_frequency=30),
    ),
    "number": (None, OrdinalEncoder(handle_unknown="use_encoded_value", unknown_value=-1)),
    "number, filled": (
        SimpleImputer(strategy="most_frequent"),
        OrdinalEncoder(handle_unknown="use_encoded_value", unknown_value=np.nan),
    ),
    "targets": (SimpleImputer(strategy="most_frequent"), TargetEncoder()),
}


@pytest.mark.parametrize("model", ["forest", "linear"])
@pytest.mark.parametrize("steps", UNSEEN)
def test_categories_that_the_encoder_has_not_seen(tables, steps, model, tmp_path):
    X, new = tables[True]
    new = new.assign(zone=new.zone.where(np.arange(len(new)) % 7 > 0, "centre"))
    imputer, encoder = UNSEEN[steps]
    model = "boosted" if model == "linear" and isinstance(encoder, OrdinalEncoder) else model
    front = make_column_transformer(
        (make_pipeline(SimpleImputer(), StandardScaler()), NUMBERS),
        (encoder if imputer is None else make_pipeline(imputer, encoder), ["zone"]),
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # scikit-learn's about unseen categories
        pipeline = make_pipeline(front, MODELS[model][0]).fit(X, targets(X, "three"))
        expected, chances = pipeline.predict(new), pipeline.predict_proba(new)
    adopted = adopt(pipeline)
    assert adopted.categories_[1][-1] == OTHER
    adopted.plan_.save(tmp_path / "plan.miser")
    for one in (adopted, load(tmp_path / "plan.miser")):
        assert (one.predict(new, unknown="missing") == expected).all()
        np.testing.assert_allclose(one.predict_proba(new, unknown="missing"), chances, rtol=1e-10)
        with pytest.raises(DataError, match="'centre' is not among its categories"):
            one.predict(new)


# -- refusals ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("front", "words"),
    [
        (PCA(2), r"step 'pca' \(PCA\) cannot be a part of a plan; supported steps: Pipeline, ColumnTr"),
        (PowerTransformer(), r"step 'powertransformer' \(PowerTransformer\)"),
        (make_pipeline(StandardScaler(), PCA(2)), r"step 'pipeline.pca' \(PCA\)"),
        (ColumnTransformer([("few", PCA(1), ["a", "b"])]), r"step 'columntransformer.few' \(PCA\)"),
        (FunctionTransformer(np.abs), "cannot contain a function of Python"),
        (SimpleImputer(missing_values=0), "missing_values must be NaN or None"),
        (
            FeatureUnion([("s", StandardScaler())], transformer_weights={"s": 2.0}),
            "without transformer_weights",
        ),
    ],
    ids=["pca", "power", "nested", "columns", "function", "imputer", "weights"],
)
def test_steps_that_cannot_be_folded(tables, front, words):
    X = tables[False][0][NUMBERS]
    pipeline = make_pipeline(front, DecisionTreeClassifier()).fit(X, targets(tables[False][0], "two"))
    with pytest.raises(DataError, match=words):
        adopt(pipeline)


def test_columns_read_in_two_ways_and_kernels_of_categories(tables):
    X, y = tables[False][0], targets(tables[False][0], "two")
    both = make_column_transformer((OneHotEncoder(), ["grade"]), ("passthrough", ["grade", "b"]))
    with pytest.raises(DataError, match="raw column 4 is read both as a number and as a category"):
        adopt(make_pipeline(both, LogisticRegression()).fit(X, y))
    with pytest.raises(DataError, match="a kernel reads all columns at once"):
        adopt(make_pipeline(FRONTS["one-hot"](), SVC()).fit(X, y))
    with pytest.raises(DataError, match="the last step of the pipeline must be a model"):
        adopt(make_pipeline(StandardScaler(), "passthrough").fit(X[NUMBERS]))
