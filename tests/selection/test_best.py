"""The best model for a budget: what is promised of it is shown by rows that had no other part."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest

from miserly import CostLassoClassifier, Costs
from miserly.errors import CostError, DataError
from miserly.metrics import get_metric
from miserly.selection import Frontier
from miserly.selection._judging import Bill
from miserly.selection._splits import Rows
from miserly.selection.frontier import _set_aside

from .tables import COSTS, candidate, miser, sweep, table

# -- rows kept for promises ----------------------------------------------------------------------------------


def test_a_fifth_of_the_rows_is_kept_unless_told_otherwise():
    X, y, _ = table(100)
    kept = [sweep(miser(), X[:n], y[:n], certify=None, max_fits=2)._kept for n in (100, 49)]
    assert len(kept[0]) == 20 and kept[1] is None


def test_a_fifth_of_the_queries_is_kept_whole():
    rows = Rows(np.zeros((600, 1)), np.zeros(600), np.repeat(np.arange(60), 10))
    aside = _set_aside(rows, None, None, seed=0)
    assert aside.sum() == 120 and aside.reshape(60, 10).all(axis=1).sum() == 12


def test_no_more_rows_than_help_are_kept():
    rows = Rows(np.zeros((40_000, 1)), np.zeros(40_000))
    assert _set_aside(rows, None, None, seed=0).sum() == 2000


def test_row_numbers_of_parts_are_those_of_all_rows():
    """Kept rows leave the parts; the others stay on their side."""
    X, y, _ = table()
    found = sweep(miser(), X, y, cv=(np.arange(160), np.arange(160, 240)), certify=0.25, max_fits=2)
    ((train, test),) = found._bench.parts
    assert len(train) + len(test) == 180
    first, last = ({tuple(row) for row in rows.tolist()} for rows in (X[:160], X[160:]))
    assert {tuple(row) for row in found._bench.rows.X[train].tolist()} <= first
    assert {tuple(row) for row in found._bench.rows.X[test].tolist()} <= last


def test_without_a_promise_the_kept_rows_are_learned_from_too():
    X, y, _ = table()
    found = sweep(CostLassoClassifier(), X, y, certify=0.25, max_fits=3)
    hoped, promised = found.best(26.0), found.best(26.0, confidence=0.9)
    rows = found._bench.rows
    for model, (some, labels) in ((hoped, (X, y)), (promised, (rows.X, rows.y))):
        again = type(model)(**model.get_params()).fit(some, labels)
        np.testing.assert_array_equal(again.decision_function(X), model.decision_function(X))


def test_the_confidence_of_a_frontier_is_that_of_its_best():
    X, y, _ = table()
    found = sweep(CostLassoClassifier(), X, y, certify=None, confidence=0.9, max_fits=3)
    again = found.best(6.0, confidence=0.9)
    np.testing.assert_array_equal(found.best(6.0).decision_function(X), again.decision_function(X))


@pytest.mark.parametrize(
    ("options", "told"),
    [
        ({"confidence": 0.95, "certify": 0}, "leave certify=0 out"),
        ({"confidence": 0}, "between 0 and 1"),
        ({"confidence": 1.0}, "between 0 and 1"),
        ({"confidence": 2}, "between 0 and 1"),
        ({"confidence": np.nan}, "between 0 and 1"),
        ({"confidence": "95 %"}, "between 0 and 1"),
        ({"certify": 1.0}, "a share of the rows"),
        ({"certify": -0.1}, "a share of the rows"),
    ],
)
def test_promises_that_make_no_sense_are_refused(options, told):
    X, y, _ = table(60)
    with pytest.raises(DataError, match=told):
        sweep(miser(), X, y, **{"certify": None, **options})


# -- a mean cost ---------------------------------------------------------------------------------------------


def test_a_promise_needs_rows_kept_for_it():
    X, y, _ = table(60)
    found = sweep(CostLassoClassifier(), X, y, max_fits=2)
    with pytest.raises(DataError, match="no rows are kept for promises"):
        found.best(6.0, confidence=0.95)


@pytest.fixture
def certifying(monkeypatch):
    """Three models, the dearer the better; 120 kept rows show costs of 5, 11.8 and 13 on average."""
    models = [candidate(np.full(4, cost), np.full(4, cost / 4)) for cost in (1.0, 2.0, 3.0)]
    kept = Rows(np.zeros((120, 3)), np.zeros(120))
    found = Frontier(
        SimpleNamespace(metric=get_metric("accuracy"), rows=kept), Costs(COSTS), models, kept=kept
    )
    costs = dict(zip(models, [[1.0, 9.0], [3.6, 20.0], [1.0, 25.0]], strict=True))
    monkeypatch.setattr(found, "_refit", lambda one, rows: SimpleNamespace(plan_=one))
    monkeypatch.setattr(Bill, "of", lambda one, rows: Bill(np.tile(costs[one], 60), np.zeros(120), 26.0))
    return found, models


def test_the_best_model_that_kept_rows_can_vouch_for_is_certified(certifying):
    """120 rows show a mean of 5 to be under 12, but not one of 11.8, and one of 13 is above."""
    found, models = certifying
    assert found.best(12.0, confidence=0.95).plan_ is models[0]
    assert found.best(14.0, confidence=0.95).plan_ is models[1]
    assert found.best(26.0, confidence=0.95).plan_ is models[2]


def test_a_promise_that_cannot_be_shown_is_refused(certifying):
    with pytest.raises(CostError, match="120 kept rows cannot show"):
        certifying[0].best(5.1, confidence=0.95)


def test_rows_kept_for_promises_have_no_other_part():
    X, y, _ = table(300)
    found = sweep(miser(), X, y, certify=0.4, max_fits=3)
    assert len(found._kept) == 120 and len(found._bench.rows) == 180
    learned = {tuple(row) for row in found._bench.rows.X.tolist()}
    assert not learned & {tuple(row) for row in found._kept.X.tolist()}
