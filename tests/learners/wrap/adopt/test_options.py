"""Options of the libraries that the other tests do not use: the same labels, and numbers to 1e-6 of each.

Rows have missing and extreme values, and values at, just below and just above the thresholds of the model.
"""

import numpy as np
import pytest

from miserly import DataError, adopt
from tests.learners.wrap.adopt.rows import N_TRAIN, differences, labels_for, make_rows, new_rows

LONG = pytest.mark.long


def rows_at_thresholds(model, categorical=False):
    """10,000 rows, with values at and next to the thresholds of the trees of an adopted model."""
    X, rng = new_rows(categorical), np.random.default_rng(5)
    for column in range(5 if categorical else 6):
        given = [t.threshold[(t.feature == column) & (t.category < 0)] for t in model.model.terms]
        values = np.unique(np.concatenate(given))
        values = values[np.abs(values) < 1e30]
        near = [np.nextafter(values, side) for side in (-np.inf, np.inf)]
        every = np.concatenate([values, *near, values.astype(np.float32).astype(np.float64)])
        at = np.flatnonzero(rng.random(len(X)) < 0.25)
        at = at[at > 20]
        if len(every):
            X[at, column] = rng.choice(every, len(at))
    return X


def check(model, X, expected, labels=None):
    """Numbers or probabilities to 1e-6, and equal labels."""
    if model.model.task == "classes":
        found = model.predict_proba(X)
        if labels is None:
            labels = expected.argmax(axis=1) if expected.ndim == 2 else (expected > 0.5).astype(int)
        assert (model.predict(X) == labels).all()
        assert differences(found if expected.ndim == 2 else found[:, 1], expected) < 1e-6
    else:
        assert differences(model.predict(X), expected) < 1e-6


def log_odds(scores, rows):
    chance = 1.0 / (1.0 + np.exp(-scores))
    return chance - rows.get_label(), chance * (1.0 - chance)


# -- LightGBM ------------------------------------------------------------------------------------------------

LIGHTGBM = {
    "own objective": ("two", {"objective": log_odds}),
    "goss": ("two", {"objective": "binary", "data_sample_strategy": "goss"}),
    "forest of rates": (
        "positive",
        {"objective": "poisson", "boosting": "rf", "bagging_freq": 1, "bagging_fraction": 0.5},
    ),
    "dart of xgboost": ("two", {"objective": "binary", "boosting": "dart", "xgboost_dart_mode": True}),
    "monotone": (
        "numbers",
        {"monotone_constraints": [1, 0, 0, 1, -1, 0], "monotone_constraints_method": "advanced"},
    ),
    "extra trees": ("numbers", {"extra_trees": True, "path_smooth": 1.0}),
    "interactions": ("numbers", {"interaction_constraints": [[0, 1], [2, 3, 4, 5]]}),
    "quantised": ("numbers", {"use_quantized_grad": True, "quant_train_renew_leaf": True}),
    "no average": ("numbers", {"boost_from_average": False, "lambda_l1": 1.0, "max_delta_step": 0.3}),
    "weights": ("two", {"objective": "binary", "scale_pos_weight": 7.0, "sigmoid": 2.5}),
    "unbalanced": ("two", {"objective": "binary", "is_unbalance": True}),
    "missing class": ("four", {"objective": "multiclass", "num_class": 6}),
    "no split": ("four", {"objective": "multiclass", "num_class": 4, "min_data_in_leaf": 10**6}),
    "stumps": ("two", {"objective": "binary", "max_depth": 1}),
    "four bins": ("two", {"objective": "binary", "max_bin": 4}),
}


def lightgbm_booster(kind, parameters, n_rounds=20, **more):
    lgb = pytest.importorskip("lightgbm")
    X, signal = make_rows(N_TRAIN, missing=True, categorical=True)
    given = {"verbose": -1, "num_threads": 1, "num_leaves": 20, **parameters}
    y = labels_for(kind, signal) if isinstance(kind, str) else kind
    return lgb.train(given, lgb.Dataset(X, y, categorical_feature=[5], **more), n_rounds)


@pytest.mark.parametrize(
    "name",
    [
        name if name in ("own objective", "dart of xgboost", "no split") else pytest.param(name, marks=LONG)
        for name in LIGHTGBM
    ],
)
def test_options_of_lightgbm(name):
    booster = lightgbm_booster(*LIGHTGBM[name])
    model = adopt(booster)
    X = rows_at_thresholds(model, categorical=True)
    check(model, X, booster.predict(X))


@pytest.mark.parametrize(("objective", "y"), [("regression", 2.5), pytest.param("binary", 1.0, marks=LONG)])
def test_a_constant_target_of_lightgbm(objective, y):
    booster = lightgbm_booster(np.full(N_TRAIN, y), {"objective": objective})
    check(adopt(booster), new_rows(True), booster.predict(new_rows(True)))


@LONG
def test_changed_and_continued_boosters_of_lightgbm():
    lgb = pytest.importorskip("lightgbm")
    X, signal = make_rows(N_TRAIN, missing=True, categorical=True)
    first = lightgbm_booster("numbers", {})
    rows = lgb.Dataset(X, signal, params={"verbose": -1})
    more = lgb.train({"verbose": -1, "num_threads": 1}, rows, 5, init_model=lightgbm_booster("numbers", {}))
    first.set_leaf_output(0, 1, 12.5)
    first.shuffle_models()
    for booster in (first, more, more.refit(X[:500], signal[:500], decay_rate=0.3)):
        model = adopt(booster)
        new = rows_at_thresholds(model, categorical=True)
        check(model, new, booster.predict(new))


# -- XGBoost -------------------------------------------------------------------------------------------------

FOREST = {"num_parallel_tree": 5, "subsample": 0.6, "colsample_bynode": 0.6}
SOFT = {"objective": "multi:softprob", "num_class": 4}
DROPS = {"booster": "dart", "rate_drop": 0.4, "one_drop": 1, "sample_type": "weighted"}
XGBOOST = {
    "own objective": ("two", {"obj": log_odds, "base_score": 0.3}),
    "dart forest": ("four", {**SOFT, **DROPS, "normalize_type": "forest", "skip_drop": 0.2}),
    "dart": ("two", {**DROPS, "objective": "binary:logistic"}),
    "forest": ("two", {**FOREST, "objective": "binary:logistic"}),
    "monotone": ("numbers", {"monotone_constraints": "(1,0,0,1,-1,0)"}),
    "small base score": ("two", {"objective": "binary:logistic", "base_score": 0.01}),
    "base score near 0": ("two", {"objective": "binary:logistic", "base_score": 1e-8}),
    "base score near 1": ("two", {"objective": "binary:logistic", "base_score": 0.9999999}),
    "large base score": ("numbers", {"base_score": 1e6}),
    "base score of classes": ("four", {**SOFT, "base_score": 0.7}),
    "tweedie": ("positive", {"objective": "reg:tweedie", "tweedie_variance_power": 1.1}),
    "steep rates": ("positive", {"objective": "count:poisson", "max_delta_step": 2.0}),
    "quantile": ("numbers", {"objective": "reg:quantileerror", "quantile_alpha": 0.3}),
    "huber": ("numbers", {"objective": "reg:pseudohubererror", "huber_slope": 2.0}),
    "leafwise": ("numbers", {"grow_policy": "lossguide", "max_leaves": 40, "max_depth": 0}),
    "one-hot": ("numbers", {"max_cat_to_onehot": 100}),
    "partitions": ("numbers", {"max_cat_to_onehot": 1, "max_cat_threshold": 5}),
    "missing class": ("four", {"objective": "multi:softprob", "num_class": 7}),
    "pruned": ("numbers", {"gamma": 1e9}),
    "sure classes": ("four", {**SOFT, "learning_rate": 1.0, "lambda": 0.0, "min_child_weight": 0.0}),
    "sure": ("two", {"objective": "binary:logistic", "learning_rate": 1.0, "lambda": 0.0, "rounds": 200}),
}


def xgboost_matrix(X, y=None):
    xgb = pytest.importorskip("xgboost")
    return xgb.DMatrix(X, y, feature_types=["float"] * 5 + ["c"], enable_categorical=True)


@pytest.mark.parametrize(
    "name",
    [
        name if name in ("own objective", "dart", "base score near 0", "sure classes") else
        pytest.param(name, marks=LONG)
        for name in XGBOOST
    ],
)  # fmt: skip
def test_options_of_xgboost(name):
    xgb = pytest.importorskip("xgboost")
    kind, parameters = XGBOOST[name]
    given = {"nthread": 1, "max_depth": 5, **parameters}
    own, rounds = given.pop("obj", None), given.pop("rounds", 60 if name == "sure classes" else 20)
    X, signal = make_rows(N_TRAIN, missing=True, categorical=True)
    booster = xgb.train(given, xgboost_matrix(X, labels_for(kind, signal)), rounds, obj=own)
    model = adopt(booster)
    new = rows_at_thresholds(model, categorical=True)
    margin = booster.predict(xgboost_matrix(new), output_margin=True).reshape(len(new), -1)
    assert (model.raw_scores(new) == margin).all()
    check(model, new, booster.predict(xgboost_matrix(new)))


@pytest.mark.parametrize("y", [0.0, 1.0])
def test_a_constant_class_of_xgboost(y):
    xgb = pytest.importorskip("xgboost")
    X, _ = make_rows(300, missing=True, categorical=True)
    rows = xgboost_matrix(X, np.full(300, y))
    booster = xgb.train({"nthread": 1, "objective": "binary:logistic"}, rows, 3)
    check(adopt(booster), X, booster.predict(xgboost_matrix(X)))


# -- CatBoost ------------------------------------------------------------------------------------------------

CATBOOST = {
    "weights of classes": ("four", {"class_weights": [1, 2, 3, 9]}),
    "balanced": ("two", {"auto_class_weights": "Balanced"}),
    "monotone": ("numbers", {"monotone_constraints": [1, 0, 0, 1, 0, -1]}),
    "uniform borders": ("two", {"feature_border_type": "Uniform", "border_count": 254}),
    "no average": ("numbers", {"boost_from_average": False}),
    "langevin": ("numbers", {"langevin": True, "diffusion_temperature": 1000}),
    "shrinkage": ("numbers", {"model_shrink_rate": 0.2}),
    "ordered": ("two", {"boosting_type": "Ordered", "bootstrap_type": "MVS"}),
    "newton": ("four", {"leaf_estimation_method": "Newton", "leaf_estimation_iterations": 5}),
    "leafwise": ("two", {"grow_policy": "Lossguide", "max_leaves": 40, "min_data_in_leaf": 1}),
    "columns of their own": ("two", {"per_float_feature_quantization": ["0:border_count=3"]}),
    "focal": ("two", {"loss_function": "Focal:focal_alpha=0.3;focal_gamma=2"}),
    "one level": ("two", {"depth": 1}),
    "one tree": ("two", {"iterations": 1}),
}


@pytest.mark.parametrize(
    "name",
    [name if name in ("ordered", "shrinkage") else pytest.param(name, marks=LONG) for name in CATBOOST],
)
def test_options_of_catboost(name):
    catboost = pytest.importorskip("catboost")
    kind, parameters = CATBOOST[name]
    quiet = {"verbose": 0, "thread_count": 1, "allow_writing_files": False, "random_seed": 0}
    maker = catboost.CatBoostRegressor if kind == "numbers" else catboost.CatBoostClassifier
    X, signal = make_rows(N_TRAIN, missing=True, categorical=False)
    model = maker(**{"iterations": 20, "depth": 5, **quiet, **parameters}).fit(X, labels_for(kind, signal))
    model.set_scale_and_bias(*((2.0, 3.0) if kind == "numbers" else model.get_scale_and_bias()))
    adopted = adopt(model)
    new = rows_at_thresholds(adopted)
    if kind == "numbers":
        check(adopted, new, model.predict(new))
    else:
        check(adopted, new, model.predict_proba(new), model.predict(new).ravel())


@LONG
def test_losses_of_catboost_that_are_refused():
    catboost = pytest.importorskip("catboost")
    X, signal = make_rows(300, missing=False, categorical=False)
    both = np.column_stack([signal > 0, signal > 1]).astype(int)
    given = {"iterations": 2, "verbose": 0, "allow_writing_files": False, "thread_count": 1}
    model = catboost.CatBoostClassifier(loss_function="MultiLogloss", **given).fit(X, both)
    with pytest.raises(DataError, match="'MultiLogloss', which adopt does not know"):
        adopt(model)


# -- scikit-learn --------------------------------------------------------------------------------------------


def scikit_models():
    from sklearn import ensemble, tree

    seed = {"random_state": 0}
    return {
        "weighted rounds": ensemble.HistGradientBoostingClassifier(
            early_stopping=True, n_iter_no_change=3, learning_rate=0.3, class_weight="balanced", **seed
        ),
        "constraints": ensemble.HistGradientBoostingRegressor(
            max_iter=20, monotonic_cst=[1, 0, 0, -1, 0, 0], interaction_cst="no_interactions", **seed
        ),
        "quantile": ensemble.HistGradientBoostingRegressor(
            max_iter=20, loss="quantile", quantile=0.9, max_bins=16, max_features=0.5, **seed
        ),
        "small samples": ensemble.RandomForestClassifier(
            15, max_samples=0.3, criterion="entropy", class_weight="balanced_subsample", **seed
        ),
        "absolute": ensemble.RandomForestRegressor(6, criterion="absolute_error", max_depth=5, **seed),
        "few leaves": ensemble.RandomForestRegressor(
            10, criterion="squared_error", max_leaf_nodes=40, **seed
        ),
        "bootstrap": ensemble.ExtraTreesClassifier(15, bootstrap=True, max_samples=100, **seed),
        "one tree": ensemble.RandomForestClassifier(1, **seed),
        "pruned": tree.DecisionTreeClassifier(ccp_alpha=0.002, class_weight={0: 1, 1: 5, 2: 1, 3: 1}, **seed),
    }


SCIKIT = tuple(scikit_models())


@pytest.mark.parametrize(
    "name",
    [name if name in ("weighted rounds", "small samples") else pytest.param(name, marks=LONG)
     for name in SCIKIT],
)  # fmt: skip
def test_options_of_scikit_learn(name):
    model = scikit_models()[name]
    classifies = hasattr(model, "predict_proba")
    X, signal = make_rows(N_TRAIN, missing=True, categorical=False)
    y = np.array(list("zyxw"))[labels_for("four", signal)] if classifies else signal
    if name == "pruned":
        y = labels_for("four", signal)
    weight = np.random.default_rng(0).random(N_TRAIN) * (np.arange(N_TRAIN) % 5 > 0)
    model.fit(X, y, sample_weight=weight)
    adopted = adopt(model)
    new = rows_at_thresholds(adopted)
    check(adopted, new, model.predict_proba(new) if classifies else model.predict(new), model.predict(new))


@LONG
def test_sparse_rows_to_fit():
    sparse = pytest.importorskip("scipy.sparse")
    from sklearn.ensemble import GradientBoostingClassifier, RandomForestClassifier

    X, signal = make_rows(N_TRAIN, missing=False, categorical=False)
    X *= np.random.default_rng(0).random(X.shape) < 0.4
    for maker in (RandomForestClassifier, GradientBoostingClassifier):
        model = maker(n_estimators=5, random_state=0).fit(sparse.csr_matrix(X), labels_for("four", signal))
        adopted = adopt(model)
        check(adopted, X, model.predict_proba(X), model.predict(X))
