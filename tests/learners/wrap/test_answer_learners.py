"""Learners that answer with one model's own scores: certainty, missing scores, handovers and searches."""

import pickle

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.datasets import load_digits
from sklearn.linear_model import LinearRegression, LogisticRegression, Ridge
from sklearn.model_selection import train_test_split
from sklearn.svm import SVC
from sklearn.tree import DecisionTreeClassifier

from miserly import (
    AnswerClassifier,
    AnswerRegressor,
    Costs,
    GreedyMiserClassifier,
    Handover,
    ModelCalls,
    frontier,
    load,
)
from miserly.errors import DataError
from miserly.runtime import OnDemand, Unavailable
from miserly.solvers.temperature import class_slope, score_line

DIGITS, DIGIT = load_digits(return_X_y=True)
X, NEW, y, y_new = train_test_split(DIGITS, DIGIT, test_size=400, random_state=0)
CALLS = ModelCalls(
    {"tree": DecisionTreeClassifier(min_samples_leaf=5, random_state=0), "svm": SVC()},
    prices={"tree": 1, "svm": 50},
    random_state=0,
)
TABLE = CALLS.fit_transform(X, y)
NEW_TABLE = CALLS.transform(NEW)
TREE, SVM = (AnswerClassifier(name, costs=CALLS.costs_).fit(TABLE, y) for name in ("tree", "svm"))

# Scores of a model `m` for three classes; the highest is right in three of four rows.
SMALL = pd.DataFrame(
    {
        "other": 0.0,
        "m=a": np.tile([1.0, 1.0, 0.0, 0.0], 5),
        "m=b": 0.0,
        "m=c": np.tile([0.0, 0.0, 1.0, 1.0], 5),
    }
)
SMALL_Y = np.tile(["a", "b", "c", "c"], 5)


# -- what is fitted ------------------------------------------------------------------------------------------


def test_scores_are_the_columns_times_the_slope():
    model = AnswerClassifier("m").fit(SMALL, SMALL_Y)
    codes = np.array(["abc".index(label) for label in SMALL_Y])
    assert model.slope_ == class_slope(SMALL.to_numpy()[:, 1:], codes) and model.intercept_ == 0.0
    # exp(a) / (exp(a) + 2) = 3 / 4, but for the penalty
    assert np.exp(model.slope_) == pytest.approx(6.0, rel=0.02)
    run = model.run(SMALL[:1])
    np.testing.assert_allclose(run.scores, [[model.slope_, 0.0, 0.0]])
    assert run.cost.tolist() == [3.0] and model.features_.tolist() == ["m=a", "m=b", "m=c"]
    assert model.predict_proba(SMALL[:1]).max() == pytest.approx(0.75, abs=0.01)


@pytest.mark.parametrize("name", ["tree", "svm"])
def test_answers_are_those_of_the_model(name):
    """The tree has probabilities, the kernel machine decision values."""
    model = {"tree": TREE, "svm": SVM}[name]
    known = CALLS.models_[name]
    assert model.slope_ > 0
    scores = known.decision_function(NEW) if name == "svm" else known.predict_proba(NEW)
    np.testing.assert_array_equal(model.predict(NEW_TABLE), known.classes_[scores.argmax(axis=1)])
    assert model.cost_ == CALLS.prices_[name] and (model.run(NEW_TABLE).cost == model.cost_).all()
    assert all(str(column).startswith(f"{name}=") for column in model.features_)


def test_probabilities_are_as_often_right_as_they_say():
    for model in (TREE, SVM):
        right = model.predict(NEW_TABLE) == y_new
        assert model.predict_proba(NEW_TABLE).max(axis=1).mean() == pytest.approx(right.mean(), abs=0.06)


@pytest.mark.parametrize("expert", [LogisticRegression(), SVC()], ids=["probabilities", "decision values"])
def test_two_classes_have_one_column_and_an_intercept(expert):
    label = np.where(y > 4, "high", "low")
    calls = ModelCalls({"expert": expert}, prices={"expert": 3}, random_state=0)
    table = calls.fit_transform(X / 16, label)
    model = AnswerClassifier("expert", costs=calls.costs_).fit(table, label)
    slope, intercept = score_line(table["expert=low"].to_numpy(), (label == "low").astype(int))
    assert (model.slope_, model.intercept_) == pytest.approx((slope, intercept), rel=1e-9)
    assert model.features_.tolist() == ["expert=low"] and model.classes_.tolist() == ["high", "low"]
    new = calls.transform(NEW / 16)
    odds = slope * new["expert=low"].to_numpy() + intercept
    np.testing.assert_allclose(model.predict_proba(new)[:, 1], 1 / (1 + np.exp(-odds)))
    assert model.score(new, np.where(y_new > 4, "high", "low")) > 0.85


def test_a_value_is_answered_by_the_line_of_least_squares():
    table = pd.DataFrame({"m.value": [0.0, 1.0, 2.0, 3.0], "other": 0.0})
    target = np.array([1.0, 3.0, 5.0, 9.0])  # slope 13 / 5, mean 4.5 at 1.5
    model = AnswerRegressor("m").fit(table, target)
    assert (model.slope_, model.intercept_) == pytest.approx((2.6, 0.6))
    np.testing.assert_allclose(model.predict(table), [0.6, 3.2, 5.8, 8.4])
    peer = LinearRegression().fit(table[["m.value"]], target, sample_weight=[1, 2, 3, 4])
    weighted = AnswerRegressor("m").fit(table, target, sample_weight=[1, 2, 3, 4])
    assert (weighted.slope_, weighted.intercept_) == pytest.approx((peer.coef_[0], peer.intercept_))


def test_a_value_that_is_always_the_same_gives_the_mean():
    model = AnswerRegressor("m").fit(pd.DataFrame({"m.value": [7.0, 7.0]}), [1.0, 2.0])
    assert model.predict(pd.DataFrame({"m.value": [7.0, 100.0]})).tolist() == [1.5, 1.5]


def test_a_row_of_weight_zero_does_not_count():
    few = np.arange(20) < 15
    model = AnswerClassifier("m").fit(SMALL, SMALL_Y, sample_weight=few.astype(float))
    assert model.slope_ == AnswerClassifier("m").fit(SMALL[few], SMALL_Y[few]).slope_
    weight = np.random.default_rng(0).gamma(2.0, size=20)
    assert AnswerClassifier("m").fit(SMALL, SMALL_Y, sample_weight=weight).slope_ != model.slope_


def test_a_callable_may_give_scores_by_class():
    texts = ["win win", "lunch", "win a lunch", "notes"] * 20
    labels = ["spam", "mail", "mail", "mail"] * 20

    def count(text):
        return {"spam": text.count("win"), "length": len(text)}

    calls = ModelCalls({"rule": count}, prices={"rule": 1})
    table = calls.fit_transform(texts)
    model = AnswerClassifier("rule", costs=calls.costs_).fit(table, labels)
    assert model.features_.tolist() == ["rule.spam"]
    assert model.predict(calls.transform(["win win win", "supper"])).tolist() == ["spam", "mail"]


# -- missing scores and stopped rows -------------------------------------------------------------------------


def test_a_missing_score_is_the_mean_of_its_column():
    holes = SMALL.astype(float).copy()
    holes.loc[0:3, ["m=a", "m=b", "m=c"]] = np.nan
    model = AnswerClassifier("m").fit(holes, SMALL_Y)
    np.testing.assert_allclose(model.run(holes[:1]).scores, [[0.5 * model.slope_, 0.0, 0.5 * model.slope_]])
    assert model.slope_ == pytest.approx(AnswerClassifier("m").fit(SMALL, SMALL_Y).slope_, rel=0.5)
    value = AnswerRegressor("m").fit(pd.DataFrame({"m.value": [1.0, 3.0, np.nan]}), [2.0, 6.0, 4.0])
    assert value.predict(pd.DataFrame({"m.value": [np.nan]})).tolist() == pytest.approx([4.0])


def test_a_row_that_cannot_pay_is_answered_by_the_shares_of_the_classes():
    scores = ["m=a", "m=b", "m=c"]
    price = Costs(dict.fromkeys(SMALL.columns, 0.0), groups={"m": {"features": scores, "setup": 3.0}})
    model = AnswerClassifier("m", costs=price).fit(SMALL, SMALL_Y)
    run = model.run(SMALL[:2], budget=2.0)
    assert run.cost.tolist() == [0.0, 0.0]
    np.testing.assert_allclose(run.scores, np.log([[0.25, 0.25, 0.5]] * 2))
    assert model.predict(SMALL[:2], budget=2.0).tolist() == ["c", "c"]


# -- errors --------------------------------------------------------------------------------------------------


def test_a_model_that_is_not_in_the_table_is_an_error_that_names_the_column():
    with pytest.raises(DataError, match=r"no column 'n=a' of the model 'n' in the table; did you mean 'm=a'"):
        AnswerClassifier("n").fit(SMALL, SMALL_Y)
    with pytest.raises(DataError, match=r"no column 'm=d' of the model 'm'"):
        AnswerClassifier("m").fit(SMALL, np.where(SMALL_Y == "b", "d", SMALL_Y))
    with pytest.raises(DataError, match=r"no column 'm.value' of the model 'm'"):
        AnswerRegressor("m").fit(SMALL, np.arange(20.0))


def test_columns_are_found_by_name_in_frames_and_costs():
    values = SMALL.to_numpy(dtype=float)
    with pytest.raises(
        DataError, match="finds the columns of 'm' by name: give a frame, or costs with names"
    ):
        AnswerClassifier("m").fit(values, SMALL_Y)
    model = AnswerClassifier("m", costs=Costs.uniform(list(SMALL.columns))).fit(values, SMALL_Y)
    assert model.slope_ == AnswerClassifier("m").fit(SMALL, SMALL_Y).slope_
    other_order = SMALL[["m=c", "m=b", "other", "m=a"]]
    np.testing.assert_array_equal(
        AnswerClassifier("m").fit(other_order, SMALL_Y).predict(SMALL), model.predict(values)
    )


def test_text_is_no_score():
    table = pd.DataFrame({"m.yes": ["high", "low"] * 5})
    with pytest.raises(DataError, match=r"column 'm.yes' holds text; scores of a model are numbers"):
        AnswerClassifier("m").fit(table, ["no", "yes"] * 5)


# -- ModelCalls.learners -------------------------------------------------------------------------------------


def test_each_classifier_gives_a_learner():
    learners = CALLS.learners()
    assert [(type(one), one.model, one.costs) for one in learners] == [
        (AnswerClassifier, "tree", CALLS.costs_),
        (AnswerClassifier, "svm", CALLS.costs_),
    ]
    assert clone(learners[0]).fit(TABLE, y).slope_ == TREE.slope_


def test_beside_classifiers_values_are_features_only():
    models = {"value": Ridge(), "svm": SVC(), "label": lambda x: "even"}
    calls = ModelCalls(models, prices=dict.fromkeys(models, 1.0), random_state=0).fit(X, y)
    assert [one.model for one in calls.learners()] == ["svm"]
    calls = ModelCalls({"value": Ridge()}, prices={"value": 1}, random_state=0)
    table = calls.fit_transform(X, y)
    (only,) = calls.learners()
    assert isinstance(only, AnswerRegressor) and only.fit(table, y).score(calls.transform(NEW), y_new) > 0.4


def test_models_without_columns_of_classes_give_none():
    calls = ModelCalls({"svm": SVC()}, outputs="label", prices={"svm": 1}, random_state=0).fit(X, y)
    assert calls.learners() == []


# -- handovers and searches ----------------------------------------------------------------------------------


def test_a_handover_asks_the_second_model_for_uncertain_rows_alone():
    both = Handover.of(TREE, SVM, threshold=0.9)
    sure = TREE.predict_proba(NEW_TABLE).max(axis=1) >= 0.9
    assert 0.3 < sure.mean() < 0.95
    answers = np.where(sure, TREE.predict(NEW_TABLE), SVM.predict(NEW_TABLE))
    np.testing.assert_array_equal(both.predict(NEW_TABLE), answers)
    np.testing.assert_array_equal(both.run(NEW_TABLE).cost, np.where(sure, 1.0, 51.0))
    fitted = Handover(AnswerClassifier("tree"), AnswerClassifier("svm"), threshold=0.9, costs=CALLS.costs_)
    np.testing.assert_array_equal(fitted.fit(TABLE, y).predict(NEW_TABLE), answers)


def test_a_learner_of_trees_can_be_the_other_half():
    miser = GreedyMiserClassifier(costs=CALLS.costs_, budget=1, n_rounds=20).fit(TABLE, y)
    run = Handover.of(miser, SVM, threshold=0.8).run(NEW_TABLE)
    assert set(run.cost) == {1.0, 51.0}


@pytest.fixture(scope="module")
def found():
    options = {"costs": CALLS.costs_, "handovers": True, "cv": 3, "random_state": 0}
    return frontier(CALLS.learners(), TABLE, y, mean_budgets=[5, 25, 60], confidence=0.9, **options)


def test_a_search_fits_each_learner_once(found):
    names = [one.learner for one in found.candidates if one.learner != "Handover"]
    assert names == ["nothing paid", "AnswerClassifier(model='tree')", "AnswerClassifier(model='svm')"]
    assert [one.is_constant for one in found.candidates][:3] == [True, False, False]
    assert not found.failures and len(found.candidates) > 20  # the others are pairs


def test_a_search_finds_handovers_that_are_better_than_a_random_choice_of_rows(found):
    model = found.best(mean_budget=25)
    cost, score = model.run(NEW_TABLE).cost.mean(), model.score(NEW_TABLE, y_new)
    assert isinstance(model, Handover) and 5 < cost <= 25
    cheap, best = (one.score(NEW_TABLE, y_new) for one in (TREE, SVM))
    assert score > cheap + (best - cheap) * (cost - 1.0) / 50.0 + 0.02  # as many random rows for the second
    assert found.best(mean_budget=60).score(NEW_TABLE, y_new) >= SVM.score(NEW_TABLE, y_new) - 0.005


@pytest.mark.parametrize("cap", [1.0, 10.0, 50.0, 51.0])
def test_a_model_above_a_cap_is_not_offered_there(cap):
    searched = frontier(
        CALLS.learners(), TABLE, y, costs=CALLS.costs_, budgets=[1, 10, 51], cv=3, random_state=0
    )
    model = searched.best(budget=cap)
    assert model.run(NEW_TABLE).cost.max() <= cap
    score = {True: TREE, False: SVM}[cap < 50].score(NEW_TABLE, y_new)
    assert model.score(NEW_TABLE, y_new) == score


def test_other_learners_stand_beside_them():
    searched = frontier(
        [*CALLS.learners(), GreedyMiserClassifier(n_rounds=5)], TABLE, y, costs=CALLS.costs_,
        mean_budgets=[60], max_fits=4, cv=3, random_state=0,
    )  # fmt: skip
    assert {
        "AnswerClassifier(model='tree')",
        "AnswerClassifier(model='svm')",
        "GreedyMiserClassifier",
    } == set(searched.learners)


# -- on demand -----------------------------------------------------------------------------------------------


def test_receipts_are_those_of_the_batch_run(found):
    model = found.best(mean_budget=25)
    run, answers = model.run(NEW_TABLE), model.predict(NEW_TABLE)
    served = OnDemand(model, CALLS.sources())
    for one in ([served.predict(row) for row in NEW[:60]], served.predict_many(NEW[:60])):
        assert [receipt.answer for receipt in one] == answers[:60].tolist()
        np.testing.assert_array_equal([receipt.cost for receipt in one], run.cost[:60])
    assert len(set(run.cost[:60])) == 2


def test_a_failed_call_is_answered_by_what_was_known_before():
    def down(raw):
        raise Unavailable("the service is down")

    both = Handover.of(TREE, SVM, threshold=0.9)
    row = int(np.flatnonzero(both.run(NEW_TABLE).cost > 1)[0])
    served = OnDemand(both, {**CALLS.sources(), "svm": down}, fallback="stop")
    receipt = served.predict(NEW[row])
    assert receipt.answer == TREE.predict(NEW_TABLE)[row] and receipt.cost == 1.0
    holes = NEW_TABLE.copy()
    holes[CALLS.columns_["svm"]] = np.nan
    missing = OnDemand(both, {**CALLS.sources(), "svm": down}, fallback="missing").predict(NEW[row])
    assert missing.answer == both.predict(holes)[row]


def test_saved_and_pickled_models_answer_alike(tmp_path):
    SVM.plan_.save(tmp_path / "svm.miser")
    wanted = SVM.predict(NEW_TABLE)
    np.testing.assert_array_equal(load(tmp_path / "svm.miser").predict(NEW_TABLE), wanted)
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(SVM)).predict(NEW_TABLE), wanted)
    assert "tree" not in SVM.plan_.describe() and "svm=0" in SVM.plan_.describe()
