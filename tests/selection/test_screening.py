"""Screening of all learners on a subsample, where time is limited and rows are many."""

from __future__ import annotations

import time
from types import SimpleNamespace

import numpy as np
import pytest

from miserly import CostLassoClassifier, GreedyMiserClassifier
from miserly.data.rows import Rows
from miserly.selection import screening as _screening
from miserly.selection import workers as _workers
from miserly.selection.history import History
from miserly.selection.screening import screening_split

from .tables import candidate, miser, sweep


def sleepy():
    """A learner that takes a millisecond for every row; made here, so that processes get it by value."""

    class Sleepy(GreedyMiserClassifier):
        def fit(self, X, y, sample_weight=None, qid=None):
            time.sleep(len(X) / 1000)
            return super().fit(X, y, sample_weight=sample_weight)

    return Sleepy(n_rounds=10, max_depth=2, step=0.3)


@pytest.fixture
def scarce(monkeypatch):
    monkeypatch.setattr(_screening, "AMPLE", 0.0)


@pytest.fixture
def crossed():
    """No line tells these classes apart."""
    X = np.random.default_rng(0).normal(size=(1600, 3))
    return X, (X[:, 0] * X[:, 1] > 0).astype(int)


def look(data, *learners, **parameters):
    X, y = data
    return sweep([miser(), *learners], X, y, cv=(np.arange(1000), np.arange(1000, 1600)), **parameters)


def test_who_is_far_behind_is_left_out(monkeypatch, crossed, scarce):
    monkeypatch.setattr(_screening, "_FEW", 250)
    found = look(crossed, CostLassoClassifier(), time_limit=100.0, max_fits=6)
    assert found.learners == ["GreedyMiserClassifier"]
    assert "worse than cheaper models" in found.left_out["CostLassoClassifier"] and not found.failures
    assert "left out: CostLassoClassifier" in repr(found)
    assert found.reprice([1.0, 2.0, 3.0]).left_out == found.left_out


def test_no_learner_makes_way_where_there_is_time(monkeypatch, crossed):
    monkeypatch.setattr(_screening, "_FEW", 250)
    found = look(crossed, CostLassoClassifier(), time_limit=1000.0, max_fits=6)
    assert len(found.learners) == 2 and not found.left_out


@pytest.mark.parametrize(("longest", "stays"), [(0.8, False), (60.0, True)])
def test_who_would_take_too_long_is_left_out(monkeypatch, crossed, longest, stays):
    """It takes a second with all rows."""
    monkeypatch.setattr(_screening, "_FEW", 250)
    monkeypatch.setattr(_screening, "LONGEST", 0.0)
    monkeypatch.setattr(_screening, "LEAST", longest)
    found = look(crossed, sleepy(), time_limit=1000.0, max_fits=8)
    assert ("Sleepy" in found.learners) == stays == (not found.left_out)
    assert stays or "a fit would take about" in found.left_out["Sleepy"]


def test_of_two_that_are_alike_one_stays(monkeypatch, crossed, scarce):
    monkeypatch.setattr(_screening, "_FEW", 250)
    found = look(crossed, miser(), time_limit=100.0, max_fits=6)
    assert len(found.learners) == 1 and len(found.left_out) == 1


def test_no_look_without_a_limit_or_with_few_rows(crossed):
    assert look(crossed, CostLassoClassifier(), time_limit=100.0, max_fits=8).left_out == {}
    rows, parts = Rows(*crossed), [(np.arange(1000), np.arange(1000, 1600))]
    assert screening_split(rows, parts, True, 0) is None
    assert screening_split(rows, parts * 2, True, 0) is None


def test_few_rows_are_of_those_to_learn_from_and_have_every_class(monkeypatch, crossed):
    monkeypatch.setattr(_screening, "_FEW", 50)
    X, y = crossed
    y[:10] = 2
    ((few, validation),) = screening_split(Rows(X, y), [(np.arange(1000), np.arange(1000, 1600))], True, 0)
    assert 45 <= len(few) <= 55 and few.max() < 1000 and set(y[few]) == {0, 1, 2} and len(validation) == 600
    queries = Rows(X, y, qid=np.arange(1600) // 10)
    assert screening_split(queries, [(np.arange(1000), np.arange(1000, 1600))], False, 0) is None


def test_who_takes_too_long_at_large_budgets_is_fitted_at_small_ones(monkeypatch, crossed):
    """It is not stopped twice at the same budget, nor at a larger one."""

    class SlowAtLarge(GreedyMiserClassifier):
        def fit(self, X, y, sample_weight=None, qid=None):
            time.sleep(60.0 if self.budget is not None and self.budget > 5.0 else 0.0)
            return super().fit(X, y, sample_weight=sample_weight)

    monkeypatch.setattr(_workers, "LEAST", 1.0)
    learner = SlowAtLarge(n_rounds=10, max_depth=2, step=0.3)
    found = look(crossed, learner, time_limit=5.0, max_fits=40, budgets=[1.0, 5.0, 6.0, 21.0, 25.0])
    late = sorted(one.params["budget"] for one in found.failures if one.learner == "SlowAtLarge")
    assert all("TimeoutError" in one.error for one in found.failures)
    assert late and len(set(late)) == len(late) <= 2 and late[-1] == 25.0
    fitted = {one.trial.value for one in found.candidates if one.learner == "SlowAtLarge"}
    assert fitted and max(fitted) <= 5.0


def test_who_leads_at_some_budget_is_nearly_the_best_there():
    """Of 400 answers the best has 90 % right, a near one 89 %, a poor one 70 %; a cheap one 75 % for less."""
    history, row = History(1.0), np.arange(400)
    learners = {name: object() for name in ("best", "near", "poor", "cheap")}
    for name, share, cost in (("best", 90, 5), ("near", 89, 5), ("poor", 70, 5), ("cheap", 75, 1)):
        mistakes_elsewhere = 50 if name == "near" else 0
        trial = SimpleNamespace(learner=learners[name], value=5.0)
        value = ((row + mistakes_elsewhere) % 100 < share).astype(float)
        history.add(trial, [candidate(np.full(400, float(cost)), value, trial)])
    named = {learner: name for name, learner in learners.items()}

    def leading(*budgets):
        return {named[learner] for learner in history.leading(list(learners.values()), budgets)}

    assert leading(5.0) == {"best", "near"}
    assert leading(1.0) == {"cheap"}
    assert leading(0.5, 5.0, 1.0) == {"best", "near", "cheap"}
    assert leading(0.5) == set()
