"""Decisions by outcome costs use probabilities that fit rows which the model was not fitted to."""

from dataclasses import replace

import numpy as np
import pytest
from sklearn.model_selection import StratifiedKFold

from miserly import CostLassoClassifier, CSTCClassifier, EarlyExit, GreedyMiserClassifier, frontier
from miserly.data.rows import Rows
from miserly.learners.base.calibration import UNCHANGED, ScoreLine, score_line_of

PENALTIES = np.array([[0.0, 10.0], [100.0, 0.0]])
TRAIN, TEST = slice(0, 1000), slice(1000, 9000)


def noisy(shares=(0.8,), n=9000, seed=0):
    """Classes by a noisy sum of three of six columns: deep trees become too sure of them."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 6))
    signal = X[:, 0] + X[:, 1] + 0.5 * X[:, 2] + 1.5 * rng.normal(size=n)
    return X, np.digitize(signal, np.quantile(signal, shares))


def deep(**more):
    return GreedyMiserClassifier(
        max_depth=8, n_rounds=60, step=0.3, early_stopping=False, random_state=0, **more
    )


def few(**more):
    return GreedyMiserClassifier(n_rounds=4, random_state=0, **more)


def paid_and_loss(learner, X, y, penalties, calibrate):
    """The mean cost of mistakes and the log loss on new rows."""
    learner.fit(X[TRAIN], y[TRAIN], outcome_costs=penalties, calibrate=calibrate)
    chance = learner.predict_proba(X[TEST])[np.arange(8000), y[TEST]]
    return penalties[y[TEST], learner.predict(X[TEST])].mean(), -np.log(chance).mean()


@pytest.mark.parametrize("learner", [deep(), few()], ids=["too sure", "not sure enough"])
def test_calibrated_decisions_cost_less(learner):
    X, y = noisy()
    paid, loss = paid_and_loss(learner, X, y, PENALTIES, False)
    less, better = paid_and_loss(learner, X, y, PENALTIES, True)
    assert less < 0.9 * paid and better < loss


def test_several_classes_have_one_slope():
    X, y = noisy((0.33, 0.66))
    penalties = np.array([[0.0, 10.0, 10.0], [100.0, 0.0, 100.0], [10.0, 10.0, 0.0]])
    paid, loss = paid_and_loss(deep(), X, y, penalties, False)
    less, better = paid_and_loss(deep(), X, y, penalties, True)
    assert less < 0.9 * paid and better < 0.9 * loss


@pytest.mark.parametrize("learner", [CSTCClassifier(max_depth=2, random_state=0), CostLassoClassifier()])
def test_rows_go_the_same_ways(learner):
    X, y = noisy()
    runs = [
        learner.fit(X[TRAIN], y[TRAIN], outcome_costs=PENALTIES, calibrate=calibrate).run(X[TEST])
        for calibrate in (False, True)
    ]
    assert (runs[0].cost == runs[1].cost).all() and (runs[0].exit == runs[1].exit).all()
    assert (runs[0].scores != runs[1].scores).any()


def test_weights_of_classes_do_not_move_a_line():
    # The second class is weighted threefold, so its log odds have log 3 more than those of the rows.
    X, y = noisy()
    weight = np.where(y == 1, 3.0, 1.0)
    plain, weighted = (
        CostLassoClassifier(tradeoff=1e-6).fit(X, y, sample_weight=one) for one in (None, weight)
    )
    line = score_line_of(plain, Rows(X, y, weight=np.ones(len(y))), np.ones(2))
    other = score_line_of(weighted, Rows(X, y, weight=weight), np.array([1.0, 3.0]))
    assert line.slope == pytest.approx(1.0, abs=0.1) and line.intercept == pytest.approx(0.0, abs=0.1)
    assert other.slope == pytest.approx(line.slope, rel=0.05)
    assert other.intercept == pytest.approx(line.intercept, abs=0.05)


def test_scores_that_mislead_are_all_but_ignored():
    # Of more than 2,000 rows one fold is left out. There, scores are high where they should be low.
    X, y = noisy(n=2500)
    _, held_out = next(StratifiedKFold(5, shuffle=True, random_state=0).split(X, y))
    X[held_out] *= -1.0
    line = score_line_of(few().fit(X, y), Rows(X, y, weight=np.ones(len(y))), np.ones(2))
    assert line.slope == 0.01 and line.intercept == pytest.approx(np.log(0.2 / 0.8), abs=0.01)


def test_queries_stay_together():
    # All rows of a query are the same: copies that had seen some of them would be sure of the others.
    X, y = noisy(n=200)
    X, y, qid = (np.repeat(one, 10, axis=0) for one in (X, y, np.arange(200)))
    rows = Rows(X, y, weight=np.ones(len(y)), qid=qid)
    model = deep().fit(X, y)
    together, apart = (score_line_of(model, one, np.ones(2)) for one in (rows, replace(rows, qid=None)))
    assert together.slope < 0.5 < apart.slope
    assert score_line_of(model, replace(rows, qid=qid % 4), np.ones(2)) is UNCHANGED


def test_few_rows_of_a_class_leave_scores_as_they_are():
    X, y = noisy(n=200)
    y[:] = np.arange(200) < 24  # fewer than 25 of the second class
    model = few().fit(X, y)
    assert score_line_of(model, Rows(X, y, weight=np.ones(200)), np.ones(2)) is UNCHANGED


def test_searches_and_wrappers_compare_models_as_they_are(monkeypatch):
    X, y = noisy(n=400)
    monkeypatch.setattr(
        "miserly.learners.base.outcomes.score_line_of", lambda *given: pytest.fail("calibrated")
    )
    EarlyExit(few()).fit(X, y, outcome_costs=PENALTIES)
    frontier(CostLassoClassifier(), X, y, outcome_costs=PENALTIES, max_fits=2, random_state=0)


def test_a_line_needs_the_weights_of_the_classes():
    assert ScoreLine(2.0, 1.0).offset(np.array([0.5, -0.5])).tolist() == [-1.0, 2.0]
