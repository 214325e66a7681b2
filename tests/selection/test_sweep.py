"""A sweep reports what held-out rows say, and nothing that it was chosen by."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from sklearn.model_selection import KFold

from miserly import EarlyExit, GreedyMiserClassifier, GreedyMiserRanker, GreedyMiserRegressor
from miserly.errors import CostError, DataError
from miserly.selection import Point, one_standard_error, sweep
from miserly.selection.splits import Rows, divide


def table(n=240, seed=0):
    """Three columns of cost 1, 5 and 20; the dearer, the closer to what decides the label."""
    rng = np.random.default_rng(seed)
    truth = rng.normal(size=n)
    X = np.column_stack([truth + noise * rng.normal(size=n) for noise in (1.5, 0.7, 0.05)])
    return X, (truth > 0).astype(int), truth


COSTS = [1.0, 5.0, 20.0]
SMALL = {"n_rounds": 12, "max_depth": 2}
QUICK = {"cv": 3, "inner": 2, "tradeoffs": [0.0], "random_state": 0}


def classify(X, y, **options):
    return sweep(GreedyMiserClassifier(**SMALL), X, y, **{"costs": COSTS, **QUICK, **options})


def test_a_larger_budget_buys_better_features():
    X, y, _ = table()
    points = classify(X, y, budgets=[1, 6, 26])
    assert [point.budget for point in points] == [1.0, 6.0, 26.0]
    assert points[0].value < points[1].value < points[2].value > 0.93
    assert points[0].features == (0,) and 2 in points[2].features


def test_nothing_costs_more_than_the_budget():
    X, y, _ = table()
    for point in classify(X, y, budgets=[0, 1, 5.5, 20, 26], tradeoffs=[0.0, 0.01]):
        assert point.cost <= point.whole_cost <= point.budget
        assert point.model.cost_ <= point.budget


def test_labels_that_mean_nothing_get_the_accuracy_of_guessing():
    """Random labels: a value chosen on the rows it is reported for would be well above one half."""
    X, _, _ = table(300, seed=1)
    y = np.random.default_rng(2).integers(0, 2, 300)
    points = classify(X, y, budgets=[26], tradeoffs=[0.0, 1e-4, 1e-3, 1e-2], cv=5)
    assert points[0].value < 0.56


def test_value_and_error_are_mean_and_standard_error_over_the_parts():
    """With one tradeoff and one number of rounds there is nothing to choose: three plain fits."""
    X, y, _ = table()
    folds = KFold(3)
    learner = GreedyMiserClassifier(costs=COSTS, budget=6, n_rounds=1)
    point = sweep(learner, X, y, costs=COSTS, budgets=[6], tradeoffs=[0.0], cv=folds, inner=2)[0]
    values, costs = [], []
    for train, test in folds.split(X):
        model = learner.fit(X[train], y[train])
        values.append(model.score(X[test], y[test]))
        costs.append(model.run(X[test]).cost.mean())
    assert point.value == pytest.approx(np.mean(values))
    assert point.error == pytest.approx(np.std(values, ddof=1) / np.sqrt(3))
    assert point.cost == pytest.approx(np.mean(costs))


def test_one_held_out_part_gets_its_error_by_bootstrap():
    """The error of a share p among n rows is about sqrt(p (1 - p) / n)."""
    X, y, _ = table(400)
    train, test = np.arange(250), np.arange(250, 400)
    point = classify(X, y, budgets=[1], cv=(train, test))[0]
    assert point.error == pytest.approx(np.sqrt(point.value * (1 - point.value) / 150), rel=0.2)


def test_the_same_seed_gives_the_same_points():
    X, y, _ = table()
    assert classify(X, y, budgets=[1, 26], tradeoffs=None) == classify(X, y, budgets=[1, 26], tradeoffs=None)


def test_the_thriftiest_tradeoff_wins_where_values_tie():
    X, y, _ = table()
    point = classify(X, y, budgets=[0], tradeoffs=[0.0, 0.5])[0]
    assert point.params["tradeoff"] == 0.5
    assert point.features == ()


def test_numbers_are_swept_by_squared_error():
    X, _, truth = table()
    points = sweep(GreedyMiserRegressor(n_rounds=30), X, truth, costs=COSTS, budgets=[1, 26], **QUICK)
    assert points[0].metric == "mse"
    assert points[1].value < 0.5 * points[0].value


def test_queries_stay_whole():
    rows = Rows(np.zeros((60, 1)), np.zeros(60), np.random.default_rng(0).integers(0, 12, 60))
    for train, test in divide(rows, 4, classes=False, seed=0):
        assert len(test) and not set(rows.qid[train]) & set(rows.qid[test])


def test_rankings_are_swept_by_ndcg():
    rng = np.random.default_rng(0)
    X, _, truth = table(240)
    qid = np.repeat(np.arange(40), 6)
    grade = np.digitize(truth + 0.1 * rng.normal(size=240), [-0.5, 0.5])
    points = sweep(GreedyMiserRanker(n_rounds=8), X, grade, qid=qid, costs=COSTS, budgets=[1, 26], **QUICK)
    assert points[0].metric == "ndcg@5"
    assert points[0].value < points[1].value


def test_a_learner_around_another_is_swept_through_it():
    X, y, _ = table()
    learner = EarlyExit(GreedyMiserClassifier(**SMALL), every=4, random_state=0)
    point = sweep(learner, X, y, costs=COSTS, budgets=[6], **QUICK)[0]
    assert point.learner == "EarlyExit"
    assert point.model.estimator_.budget == 6.0
    assert "n_rounds" not in point.params


def test_several_learners_and_progress():
    X, y, _ = table(120)
    seen = []
    learners = [GreedyMiserClassifier(n_rounds=3), GreedyMiserClassifier(n_rounds=3, max_depth=1)]
    points = sweep(learners, X, y, costs=COSTS, budgets=[26], progress=lambda *at: seen.append(at), **QUICK)
    assert [point.learner for point in points] == ["GreedyMiserClassifier 1", "GreedyMiserClassifier 2"]
    steps = 2 * (3 + 1) * 2  # learners, parts and all rows, inner parts
    assert seen == [(done, steps) for done in range(1, steps + 1)]


def test_frames_bring_their_names():
    X, y, _ = table()
    frame = pd.DataFrame(X, columns=["cheap", "fair", "dear"])
    costs = {"dear": 20.0, "fair": 5.0, "cheap": 1.0}
    point = classify(frame, y, costs=costs, budgets=[1])[0]
    assert point.features == ("cheap",)


def test_default_budgets_go_from_the_cheapest_feature_to_everything():
    X, y, _ = table(120)
    budgets = [point.budget for point in classify(X, y)]
    assert len(budgets) == 10
    assert budgets[0] == pytest.approx(1.0) and budgets[-1] == pytest.approx(26.0)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"cv": 1}, "1 folds"),
        ({"cv": ([0, 1, 2], [2, 3])}, "row 2 is among those to learn from"),
        ({"cv": 2.5}, "2.5 divides nothing"),
        ({"budgets": []}, "empty list of budgets"),
        ({"budgets": [-1]}, "a budget cannot be -1"),
        ({"costs": [0.0, 0.0, 0.0], "budgets": None}, "everything is free"),
    ],
)
def test_what_cannot_be_swept_is_said(options, message):
    X, y, _ = table(60)
    with pytest.raises((DataError, CostError), match=message):
        classify(X, y, **options)


def test_a_learner_without_a_budget_is_refused():
    from sklearn.linear_model import LogisticRegression

    with pytest.raises(DataError, match="LogisticRegression has no parameter 'costs'"):
        sweep(LogisticRegression(), *table(60)[:2])


def test_one_standard_error_takes_the_cheapest_that_is_as_good():
    """Best 0.82 with error 0.03: everything from 0.79 up is as good, and 40 is the least cost among it."""
    points = [
        Point("m", budget, "accuracy", value, 0.03, cost, cost, (), {})
        for budget, value, cost in [(10, 0.75, 9), (50, 0.79, 40), (90, 0.80, 80), (300, 0.82, 200)]
    ]
    assert one_standard_error(points).budget == 50


def test_one_standard_error_of_a_loss_looks_upwards():
    points = [
        Point("m", budget, "mse", value, 0.1, budget, budget, (), {})
        for budget, value in [(1, 1.5), (2, 1.05), (3, 1.0)]
    ]
    assert one_standard_error(points).budget == 2
