"""What Greedy Miser reads: arrays, frames, categories, missing values; and what it refuses, and how."""

import re

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.utils._param_validation import InvalidParameterError

from miserly import Costs, load
from miserly.errors import CostError, DataError
from miserly.learners import GreedyMiserClassifier, GreedyMiserRanker, GreedyMiserRegressor, all_learners
from miserly.learners.base import bind_costs, threads_of

NAMES = list("abcdef")


def frame_of(sets, kind="pandas"):
    make = pd.DataFrame if kind == "pandas" else pl.DataFrame
    return make({name: sets.X[:, j] for j, name in enumerate(NAMES)})


@pytest.mark.parametrize("kind", ["pandas", "polars"])
def test_frames_give_the_model_of_the_array(sets, kind):
    frame = frame_of(sets, kind)
    costs = dict(zip(reversed(NAMES), reversed(sets.costs), strict=True))
    named = GreedyMiserClassifier(costs=costs, tradeoff=0.005, n_rounds=8).fit(frame, sets.label)
    plain = GreedyMiserClassifier(costs=sets.costs, tradeoff=0.005, n_rounds=8).fit(sets.X, sets.label)
    np.testing.assert_array_equal(named.predict_proba(frame), plain.predict_proba(sets.X))
    assert named.feature_names_in_.tolist() == NAMES and named.plan_.costs.names == tuple(NAMES)
    assert named.features_.tolist() == [NAMES[f] for f in plain.features_]
    assert named.cost_ == plain.cost_


def categories(n=400, seed=0):
    rng = np.random.default_rng(seed)
    town = np.array(["ulm", "aye", "pau", "bex"])[rng.integers(0, 4, n)]
    smokes = rng.random(n) < 0.5
    y = np.isin(town, ["aye", "ulm"]) * 2.0 + smokes + 0.01 * rng.normal(size=n)
    return {"town": town, "smokes": smokes, "noise": rng.normal(size=n)}, y


@pytest.mark.parametrize("make", [pd.DataFrame, pl.DataFrame], ids=["pandas", "polars"])
def test_categories_are_split_as_categories_and_unknown_ones_are_refused(make, tmp_path):
    columns, y = categories()
    model = GreedyMiserRegressor(max_depth=2, n_rounds=60).fit(make(columns), y)
    # {aye, ulm} against {bex, pau} is one split; by the order of the codes it would take three.
    assert model.plan_.terms[0].category[0] >= 0
    assert model.plan_.categories == {0: ("aye", "bex", "pau", "ulm"), 1: (False, True)}
    assert np.abs(model.predict(make(columns)) - y).max() < 0.1
    stranger = {**columns, "town": ["rome"] * len(y)}
    absent = {**columns, "town": [None] * len(y)}
    with pytest.raises(DataError, match="column 'town', row 0: 'rome' is not among its categories"):
        model.predict(make(stranger))
    np.testing.assert_array_equal(
        model.predict(make(stranger), unknown="missing"), model.predict(make(absent))
    )
    model.plan_.save(tmp_path / "m.miser")
    plan = load(tmp_path / "m.miser")
    np.testing.assert_array_equal(plan.predict(make(columns)), model.predict(make(columns)))


def test_categories_can_be_split_as_numbers_or_listed():
    columns, y = categories()
    frame = pd.DataFrame(columns)
    ordered = GreedyMiserRegressor(categorical_features=None, n_rounds=2).fit(frame, y)
    assert (ordered.plan_.terms[0].category < 0).all()
    codes = np.column_stack([pd.Categorical(columns["town"]).codes, columns["smokes"], columns["noise"]])
    automatic = GreedyMiserRegressor(n_rounds=5).fit(frame, y).predict(frame)
    for listed in ([0, 1], [True, True, False]):
        model = GreedyMiserRegressor(n_rounds=5, categorical_features=listed).fit(codes, y)
        np.testing.assert_array_equal(model.predict(codes), automatic)
    by_name = GreedyMiserRegressor(n_rounds=5, categorical_features=["town", "smokes"])
    np.testing.assert_array_equal(by_name.fit(frame, y).predict(frame), automatic)


@pytest.mark.parametrize(("listed", "words"), [(["twon"], "no column 'twon'"), ([9], "no column 9 among 3")])
def test_categorical_columns_that_do_not_exist_are_named(listed, words):
    columns, y = categories()
    with pytest.raises(DataError, match=words):
        GreedyMiserRegressor(categorical_features=listed).fit(pd.DataFrame(columns), y)


def test_a_listed_column_must_hold_codes(sets):
    with pytest.raises(DataError, match="column 2 is categorical"):
        GreedyMiserRegressor(categorical_features=[2]).fit(sets.X, sets.y)


def test_missing_values_are_learned_from():
    # Missing exactly where y is high: the only thing to go by.
    x = np.where(np.arange(100) % 2, np.nan, 1.0)[:, None]
    y = np.isnan(x[:, 0]).astype(float)
    model = GreedyMiserRegressor(n_rounds=100).fit(x, y)
    np.testing.assert_allclose(model.predict(x), y, atol=1e-3)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_floats_are_neither_copied_nor_widened(sets, dtype):
    X = sets.X.astype(dtype)
    values = GreedyMiserRegressor().read_table(X, reset=True).values
    assert values.dtype == dtype and np.shares_memory(values, X)
    small = GreedyMiserRegressor().read_table(np.ones((3, 2), dtype=np.uint8), reset=True).values
    assert small.dtype == np.float32


# -- refusals ------------------------------------------------------------------------------------------------


BAD_FITS = [
    ({"X": np.full((400, 6), np.inf)}, "column 0 holds infinity"),
    ({"y": np.full(400, np.nan)}, "Input y contains NaN"),
    ({"y": None}, "requires y to be passed"),
    ({"y": np.array(["a"] * 400)}, "y must hold numbers"),
    ({"y": np.zeros(399)}, "y has 399 labels for 400 rows"),
    ({"X": np.zeros((0, 6)), "y": np.zeros(0)}, r"0 sample\(s\)"),
    ({"sample_weight": -np.ones(400)}, r"sample_weight\[0\] is -1; weights must not be negative"),
    ({"sample_weight": np.zeros(400)}, "at least one non-zero"),
    ({"sample_weight": np.ones(3)}, "sample_weight must hold 400 numbers"),
    ({"X_val": np.zeros((4, 6))}, "X_val needs y_val"),
    ({"X_val": np.zeros((4, 5)), "y_val": np.zeros(4)}, "X has 5 features"),
    ({"X_val": np.zeros((4, 6)), "y_val": [1, 2, 3, np.nan]}, "Input y_val contains NaN"),
]


@pytest.mark.parametrize(("change", "words"), BAD_FITS)
def test_bad_data_is_refused_in_words(sets, change, words):
    with pytest.raises(ValueError, match=words):
        GreedyMiserRegressor().fit(**{"X": sets.X, "y": sets.y, **change})


def test_infinity_in_a_frame_is_named_by_its_column(sets):
    with pytest.raises(DataError, match="column 'chol' holds infinity"):
        GreedyMiserRegressor().fit(pd.DataFrame({"age": [1.0, 2.0], "chol": [3.0, -np.inf]}), [0.0, 1.0])


@pytest.mark.parametrize("loss", ["logistic", "squared_hinge"])
def test_losses_for_two_classes_refuse_more(sets, loss):
    with pytest.raises(DataError, match=f"loss='{loss}'.*3 classes"):
        GreedyMiserClassifier(loss=loss).fit(sets.X, sets.classes)


def test_one_class_is_refused(sets):
    with pytest.raises(DataError, match="only one class, 'a'"):
        GreedyMiserClassifier().fit(sets.X, ["a"] * len(sets.y))


def test_continuous_classes_are_refused(sets):
    with pytest.raises(ValueError, match="Unknown label type: continuous"):
        GreedyMiserClassifier().fit(sets.X, sets.y)


def test_validation_labels_must_be_known(sets):
    with pytest.raises(DataError, match="class 'nope' is not one of classes_; did you mean 'no'"):
        GreedyMiserClassifier().fit(
            sets.X, np.where(sets.label, "yes", "no"), X_val=sets.X[:1], y_val=["nope"]
        )


def test_a_ranker_needs_queries(sets):
    with pytest.raises(DataError, match="a ranker needs qid"):
        GreedyMiserRanker().fit(sets.X, sets.grade)
    with pytest.raises(DataError, match=r"each of 400 rows; its shape is \(3,\)"):
        GreedyMiserRanker().fit(sets.X, sets.grade, qid=[1, 2, 3])
    with pytest.raises(DataError, match="a ranker needs qid_val"):
        GreedyMiserRanker().fit(sets.X, sets.grade, qid=sets.qid, X_val=sets.X, y_val=sets.grade)


@pytest.mark.parametrize("grade", [-1.0, 0.5, 31.0])
def test_lambdarank_needs_grades(sets, grade):
    y = sets.grade.astype(float)
    y[7] = grade
    with pytest.raises(DataError, match=re.escape(f"y[7] is {grade:g}; lambdarank needs grades")):
        GreedyMiserRanker(loss="lambdarank").fit(sets.X, y, qid=sets.qid)


BAD_PARAMETERS = [
    {"tradeoff": -1.0},
    {"tradeoff": np.inf},
    {"budget": -0.1},
    {"tree_budget": -1},
    {"step": 0.0},
    {"max_depth": 0},
    {"n_rounds": 0},
    {"max_leaves": 1},
    {"min_samples_leaf": 0},
    {"l2_regularization": -1.0},
    {"max_bins": 256},
    {"categorical_features": "all"},
    {"early_stopping": -1},
    {"validation_fraction": 1.0},
    {"metric": 3},
    {"n_jobs": 0},
    {"costs": "cheap"},
]


@pytest.mark.parametrize("parameters", BAD_PARAMETERS, ids=[next(iter(p)) for p in BAD_PARAMETERS])
def test_bad_parameters_are_named(sets, parameters):
    with pytest.raises(InvalidParameterError, match=f"'{next(iter(parameters))}' parameter"):
        GreedyMiserRegressor(**parameters).fit(sets.X, sets.y)


@pytest.mark.parametrize("learner", [GreedyMiserClassifier, GreedyMiserRanker])
def test_unknown_losses_are_refused(sets, learner):
    with pytest.raises(InvalidParameterError, match="'loss' parameter"):
        learner(loss="hinge").fit(sets.X, sets.label)


def test_costs_that_do_not_fit_the_columns_are_refused(sets):
    with pytest.raises(CostError, match="5 costs for 6 columns"):
        GreedyMiserRegressor(costs=np.ones(5)).fit(sets.X, sets.y)
    with pytest.raises(CostError, match="no cost for column 'f'"):
        GreedyMiserRegressor(costs=dict.fromkeys("abcde", 1.0)).fit(frame_of(sets), sets.y)
    with pytest.raises(CostError, match="negative"):
        GreedyMiserRegressor(costs=-np.ones(6)).fit(sets.X, sets.y)


def test_other_columns_at_predict_are_refused(sets):
    frame = frame_of(sets)
    model = GreedyMiserRegressor(n_rounds=2).fit(frame, sets.y)
    with pytest.raises(DataError, match="no column 'a', which the model reads"):
        model.predict(frame.rename(columns={"a": "z"}))
    with pytest.raises(ValueError, match="X has 5 features"):
        GreedyMiserRegressor(n_rounds=2).fit(sets.X, sets.y).predict(sets.X[:, :5])
    with pytest.raises(DataError, match="column 'a' holds no numbers, but did"):
        model.predict(frame.assign(a="x"))


# -- what all learners share ---------------------------------------------------------------------------------


def test_all_learners_are_found_by_looking():
    names = [learner.__name__ for learner in all_learners()]
    assert {"EarlyExit", "GreedyMiserClassifier", "GreedyMiserRanker", "GreedyMiserRegressor"} <= set(names)
    assert names == sorted(names) and not any(name.startswith("Plan") for name in names)


def test_costs_are_bound_however_they_are_given():
    columns = ["age", "chol"]
    given = [
        [1.0, 5.0],
        {"chol": 5.0, "age": 1.0},
        Costs({"chol": 5.0, "age": 1.0}),
        pd.Series([1.0, 5.0], columns),
    ]
    for costs in given:
        bound = bind_costs(costs, columns)
        assert bound.feature.tolist() == [1.0, 5.0] and bound.names == ("age", "chol")
    assert bind_costs(None, 3).feature.tolist() == [1.0, 1.0, 1.0]


def test_jobs_are_threads():
    assert threads_of(None) is None and threads_of(3) == 3
    assert threads_of(-1) >= 1 and threads_of(-1000) == 1
