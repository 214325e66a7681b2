"""The budget that is suggested is the smallest within one standard error of the best."""

from __future__ import annotations

from types import SimpleNamespace

from miserly import CostLassoClassifier
from miserly.selection.offers import suggested

from .tables import miser, sweep, table


def offers(*values, error, includes_cost=False):
    candidate = SimpleNamespace(includes_cost=includes_cost)
    return [SimpleNamespace(value=value, error=error, candidate=candidate) for value in values]


def test_the_cheapest_that_is_as_good_is_suggested():
    """Best 0.82 with error 0.03: everything from 0.79 up is as good, and the second is the first such."""
    assert suggested(offers(0.75, 0.79, 0.80, 0.82, error=0.03), greater_is_better=True) == 1


def test_of_totals_the_best_is_suggested():
    """A total includes the price, so that the cheaper one is not better because it is cheaper."""
    totals = offers(5.0, 4.0, 4.2, error=2.0, includes_cost=True)
    assert suggested(totals, greater_is_better=False) == 1


def test_of_a_loss_smaller_is_better():
    assert suggested(offers(1.5, 1.05, 1.0, error=0.1), greater_is_better=False) == 1


def test_the_suggested_budget_is_one_of_the_table():
    X, y, _ = table()
    found = sweep([CostLassoClassifier(), miser()], X, y, budgets=[1, 6, 26])
    lines = found.at()
    best = lines.loc[lines.value.idxmax()]
    enough = best.value - (best.value_high - best.value_low) / (2 * 1.96)
    assert found.suggested_budget() == lines.budget[lines.value >= enough].min()
    assert found.suggested_budget(1.0) == 1.0
