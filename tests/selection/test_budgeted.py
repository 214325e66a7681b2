"""BudgetedEstimator is an estimator like any other, and keeps to its budget."""

from __future__ import annotations

import pickle

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone, is_classifier, is_regressor
from sklearn.model_selection import StratifiedKFold, check_cv, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

from miserly import (
    BudgetedEstimator,
    CostLassoClassifier,
    CostLassoRegressor,
    EarlyExit,
    GreedyMiserRanker,
    GreedyMiserRegressor,
    SoftCascadeClassifier,
    load,
)
from miserly.errors import CostError, DataError
from miserly.runtime import Monitor, Reference

from .tables import COSTS, miser, table

QUICK = {"costs": COSTS, "max_fits": 6, "cv": 3, "random_state": 0}


def classifier(**changes):
    learners = [CostLassoClassifier(), miser(n_rounds=4)]
    return BudgetedEstimator(**{**QUICK, "learners": learners, **changes})


def regressor(**changes):
    learners = [CostLassoRegressor(), GreedyMiserRegressor(n_rounds=4, max_depth=2)]
    return BudgetedEstimator(**{**QUICK, "learners": learners, **changes})


WEIGHTS = "check_sample_weight_equivalence_on_dense_data"
BY_ROW = "which rows are held out goes by row: one row of weight two is not two rows"
CHECKED = [
    classifier(
        budget=5.0, task="classes", costs=None, max_fits=3, cv=2
    ),  # the expensive ends of hyperparameters
    regressor(task="numbers", costs=None, max_fits=3, cv=2),
]


def expected_failures(model):
    return {WEIGHTS: BY_ROW} if model.task == "numbers" else {}


@pytest.mark.filterwarnings("ignore::miserly.errors.BudgetWarning")  # some of its tables hold noise alone
# Not strict: whether two searches differ depends on the last bits of sums, and so on the processor.
@parametrize_with_checks(CHECKED, expected_failed_checks=expected_failures, xfail_strict=False)
def test_scikit_learn_is_content(estimator, check):
    check(estimator)


# -- budgets -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("budget", [0.0, 1.0, 6.0, 26.0])
def test_the_mean_cost_is_inside_the_budget(budget):
    X, y, _ = table()
    model = classifier(mean_budget=budget).fit(X, y)
    assert model.run(X).cost.mean() <= budget * (1 + 1e-9)
    assert model.guarantee_ == ()


def test_more_money_gives_better_answers():
    X, y, _ = table(500)
    models = [classifier(budget=budget, max_fits=14).fit(X[:240], y[:240]) for budget in (1, 26)]
    scores = [model.score(X[240:], y[240:]) for model in models]
    assert 0.6 < scores[0] < 0.9 < scores[1]


def test_a_budget_is_kept_by_every_row_wherever_the_model_goes(tmp_path):
    X, y, _ = table()
    model = classifier(budget=12.0, learners=EarlyExit(miser(), every=2)).fit(X, y)
    wild = 1e3 * table(300, seed=7)[0]
    assert (model.run(wild).cost <= 12.0).all() and model.cost_ <= 12.0
    model.plan_.save(tmp_path / "m.miser")
    plan = load(tmp_path / "m.miser")
    assert (plan.run(wild, count="tree").cost <= 12.0).all()
    np.testing.assert_array_equal(plan.predict(wild), model.predict(wild))
    assert model.guarantee_[0].kind == "each row" and model.frontier_.result.kept is None


def test_a_confidence_keeps_rows_and_is_reported():
    X, y, _ = table(400)
    model = classifier(mean_budget=12.0, confidence=0.9).fit(X, y)
    assert len(model.frontier_.result.kept) == 80
    (certificate,) = model.guarantee_
    assert (certificate.limit, certificate.confidence, certificate.n_units) == (12.0, 0.9, 80)
    assert classifier(mean_budget=12.0).fit(X, y).frontier_.result.kept is None


def test_the_kept_rows_are_the_reference_of_a_monitor(tmp_path):
    X, y, _ = table(400)
    model = classifier(mean_budget=12.0, confidence=0.9).fit(X, y)
    model.plan_.save(tmp_path / "m.miser")
    monitor = Monitor(load(tmp_path / "m.miser"))
    kept = model.frontier_.result.kept
    assert monitor.reference == Reference.of(model.plan_, kept.X) and monitor.reference.n == 80
    assert len(model.plan_.guarantees) == 1
    assert "reference" not in classifier(mean_budget=12.0).fit(X, y).plan_.info


def test_the_cheapest_that_loses_little():
    X, y, _ = table()
    cheap, best = (classifier(max_loss=loss, max_fits=14).fit(X, y) for loss in (0.3, 0.0))
    assert cheap.run(X).cost.mean() < 0.5 * best.run(X).cost.mean()
    assert cheap.score(X, y) >= best.score(X, y) - 0.35


def test_plan_run_and_predictions_agree():
    X, y, _ = table()
    labels = np.array(["no", "yes"])[y]
    model = classifier(budget=26.0).fit(X, labels)
    run = model.run(X, budget=6.0)
    assert (run.cost <= 6.0).all()
    np.testing.assert_array_equal(model.predict(X, budget=6.0), model.classes_[(run.scores > 0).astype(int)])
    np.testing.assert_array_equal(model.predict(X), model.plan_.predict(X))
    np.testing.assert_array_equal(model.predict_proba(X), model.plan_.predict_proba(X))
    np.testing.assert_array_equal(model.decision_function(X), model.plan_.run(X).scores)
    assert model.plan_ is model.best_estimator_.plan_ and model.classes_.tolist() == ["no", "yes"]


# -- scikit-learn --------------------------------------------------------------------------------------------


def test_the_task_is_known_as_soon_as_it_can_be():
    X, y, truth = table(60)
    assert is_classifier(classifier(task="classes")) and is_regressor(regressor(task="numbers"))
    assert is_classifier(classifier(metric="log_loss")) and is_regressor(regressor(metric="mae"))
    unknown = classifier(budget=6.0)
    assert not is_classifier(unknown) and not is_regressor(unknown)
    assert is_classifier(unknown.fit(X, y)) and not is_classifier(clone(unknown))
    assert is_regressor(regressor(budget=6.0).fit(X, truth))
    folds = check_cv(3, y, classifier=is_classifier(classifier(task="classes")))
    assert isinstance(folds, StratifiedKFold)


def test_whole_numbers_can_be_numbers():
    X, _, truth = table()
    model = regressor(task="numbers").fit(X, np.round(3 * truth).astype(int))
    assert model.frontier_.metric == "mse" and model.score(X, np.round(3 * truth)) > 0.8


def test_in_a_pipeline_and_in_cross_validation():
    X, y, _ = table(150)
    model = make_pipeline(StandardScaler(), classifier(budget=26.0, task="classes", max_fits=3))
    scores = cross_val_score(model, X, y, cv=3)
    assert scores.mean() > 0.8


def test_frames_with_names():
    X, y, _ = table()
    frame = pd.DataFrame(X, columns=["cheap", "middle", "expensive"])
    model = classifier(budget=6.0, costs=dict(zip(frame, COSTS, strict=True))).fit(frame, y)
    assert model.feature_names_in_.tolist() == list(frame) and model.n_features_in_ == 3
    assert set(model.features_) <= {"cheap", "middle"}
    np.testing.assert_array_equal(model.predict(frame), classifier(budget=6.0).fit(X, y).predict(X))


def test_the_model_is_pickled_with_all_it_found():
    X, y, _ = table(120)
    model = classifier(budget=6.0, max_fits=3).fit(X, y)
    again = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(again.predict(X), model.predict(X))
    assert len(again.frontier_.points) == len(model.frontier_.points)


def test_probabilities_are_there_where_the_model_has_them():
    X, y, truth = table(120)
    numbers = regressor(budget=6.0, max_fits=3).fit(X, truth)
    assert not hasattr(numbers, "predict_proba") and not hasattr(numbers, "decision_function")
    assert hasattr(classifier(), "predict_proba") and not hasattr(regressor(metric="mse"), "predict_proba")
    cascade = classifier(learners=SoftCascadeClassifier(), max_fits=3).fit(X, y)
    assert hasattr(cascade, "predict_proba") == hasattr(cascade.best_estimator_, "predict_proba")


def test_queries_are_ranked():
    X, _, truth = table(240)
    qid, grade = np.repeat(np.arange(40), 6), np.digitize(truth, [-0.5, 0.5])
    model = BudgetedEstimator(26.0, learners=GreedyMiserRanker(n_rounds=8), **QUICK).fit(X, grade, qid=qid)
    assert model.task_ == "ranking" and not is_classifier(model)
    assert model.score(X, grade, qid=qid) > 0.9
    assert model.run(X, qid=qid).cost.mean() <= 26.0


@pytest.mark.parametrize(
    ("changes", "error", "message"),
    [
        ({"budget": -1.0}, CostError, "budget cannot be -1"),
        ({"budget": np.nan}, CostError, "budget cannot be nan"),
        ({"budget": 5.0, "confidence": 1.0}, DataError, "between 0 and 1"),
        ({"budget": 5.0, "max_loss": -1.0}, DataError, "max_loss"),
        ({"mean_budget": -1.0}, CostError, "budget cannot be -1"),
        ({"task": "classify"}, DataError, "not 'classify'"),
        ({"task": "ranking"}, DataError, "needs qid"),
        ({"budget": 5.0, "max_fits": 0}, DataError, "2 or more"),
    ],
)
def test_what_cannot_be_fitted_is_reported(changes, error, message):
    X, y, _ = table(60)
    with pytest.raises(error, match=message):
        classifier(**changes).fit(X, y)
