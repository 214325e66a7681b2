"""Boosted trees that correct an acquirer: what they learn from, what they read, and how many are kept."""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

import numpy as np
import pytest

from miserly import AcquirerClassifier, Costs
from miserly.data.rows import Rows
from miserly.learners.anytime import corrections as module
from miserly.learners.anytime.corrections import (
    CorrectionOptions,
    budget_levels,
    corrections,
    mean_losses,
    with_corrections,
)

FIXED = {"noise": 0.1, "sharpness": 1.0, "n_rounds": 0, "tree_share": 0.0, "random_state": 0}
OPTIONS = CorrectionOptions(np.zeros(3, dtype=bool), 3, 0, 1)


def stripes(n=1200, seed=0):
    """The class alternates in five stripes of feature 0, so one Gaussian of each class says little."""
    rng = np.random.default_rng(seed)
    X = rng.uniform(0.0, 5.0, size=(n, 3))
    return Rows(X, (np.floor(X[:, 0]) % 2).astype(np.int64))


def acquirer(rows, costs=None, **changes):
    return AcquirerClassifier(costs=costs, n_components=1, **{**FIXED, **changes}).fit(rows.X, rows.y).plan_


def log_loss_of(plan, rows, **run):
    chance = plan.probabilities_from(np.atleast_2d(plan.run(rows.X, **run).scores.T).T)
    return -np.log(chance[np.arange(len(rows)), rows.y]).mean()


def test_trees_correct_what_the_mixture_cannot_say():
    rows, fresh = stripes(), stripes(seed=1)
    plan = acquirer(rows)
    better = with_corrections(plan, corrections(plan, rows, 30, OPTIONS))
    assert log_loss_of(plan, fresh) > 0.6 and log_loss_of(better, fresh) < 0.35
    assert [node.bought_only for node in better.nodes] == [False, True]
    for budget in (None, 1.0, 2.0):
        one, other = plan.run(fresh.X, budget), better.run(fresh.X, budget)
        np.testing.assert_array_equal(one.acquired, other.acquired)
        np.testing.assert_array_equal(one.cost, other.cost)


def test_trees_do_no_harm_at_small_budgets():
    rows, fresh = stripes(), stripes(seed=1)
    plan = acquirer(rows)
    better = with_corrections(plan, corrections(plan, rows, 30, OPTIONS))
    for budget in (0.0, 1.0):
        assert log_loss_of(better, fresh, budget=budget) < log_loss_of(plan, fresh, budget=budget) + 0.02


def test_a_value_that_is_not_bought_changes_nothing():
    rows = stripes()
    plan = with_corrections(one := acquirer(rows), corrections(one, rows, 10, OPTIONS))
    run = plan.run(rows.X, 1.0)
    for other in (np.nan, 0.9):
        again = plan.run(np.where(run.acquired, rows.X, other), 1.0)
        np.testing.assert_array_equal(again.scores, run.scores)


def test_levels_go_from_the_least_price_to_the_largest_cost():
    rows = stripes(300)
    plan = acquirer(rows, Costs([1.0, 27.0, 100.0]))
    np.testing.assert_allclose(budget_levels(plan)[[0, 1, -1]], [0.0, 1.0, 128.0])
    assert len(budget_levels(plan)) == 9
    np.testing.assert_allclose(np.diff(np.log(budget_levels(plan)[1:])), np.log(2.0))
    assert budget_levels(acquirer(rows, Costs([1.0, 27.0, 100.0]), budget=30))[-1] == 28.0
    assert budget_levels(acquirer(rows, Costs([0.0] * 3))).tolist() == [0.0]
    cheap = acquirer(rows, Costs([1e-9, 0.0, 100.0]))
    assert budget_levels(cheap)[1] == pytest.approx(0.1)  # a thousandth of the largest


def test_free_features_can_be_corrected():
    rows = stripes()
    plan = acquirer(rows, Costs([0.0] * 3))
    better = with_corrections(plan, corrections(plan, rows, 30, OPTIONS))
    assert log_loss_of(better, rows, budget=0.0) < 0.35


class Divided(NamedTuple):
    training: Rows
    rows: Rows


def best_rounds(plan, rows, choices, options):
    """The number of rounds with the least loss on the last quarter of the rows."""
    divided = Divided(rows.take(slice(0, 1800)), rows.take(slice(1800, None)))
    losses = mean_losses([plan], [divided], choices, [options.max_depth], options)
    return min(losses, key=losses.__getitem__)[0]


def test_the_best_number_of_rounds_is_that_of_the_validation_set():
    rows = stripes(2400)
    plan = acquirer(rows)
    assert best_rounds(plan, rows, (0, 5, 40), OPTIONS) == 40
    shuffled = replace(rows, y=np.random.default_rng(0).permutation(rows.y))
    assert best_rounds(acquirer(shuffled), shuffled, (0, 40), replace(OPTIONS, max_depth=8)) == 0
    assert best_rounds(plan, rows, (7,), OPTIONS) == 7


def test_losses_are_means_over_the_divisions():
    rows = stripes(1200)
    plan = acquirer(rows)
    parts = [Divided(rows.take(slice(0, 900)), rows.take(slice(900, None))),
             Divided(rows.take(slice(300, None)), rows.take(slice(0, 300)))]  # fmt: skip
    alone = [mean_losses([plan], [part], (0, 5), (2, 3), OPTIONS) for part in parts]
    both = mean_losses([plan, plan], parts, (0, 5), (2, 3), OPTIONS)
    assert list(both) == [(0, 2), (5, 2), (0, 3), (5, 3)] and both[0, 2] == both[0, 3]
    for choice in both:
        assert both[choice] == pytest.approx(np.mean([one[choice] for one in alone]))
    only = mean_losses([plan, plan], parts, (0, 5), (3,), OPTIONS)
    assert only == {choice: loss for choice, loss in both.items() if choice[1] == 3}
    assert alone[0] != alone[1]


def test_very_many_classes_get_fewer_rounds(monkeypatch):
    rows = stripes()
    tried = []
    grow = module.masked_rounds
    monkeypatch.setattr(module, "MOST_TREES", 12)
    monkeypatch.setattr(
        module, "masked_rounds", lambda *given: tried.append(given[-1].n_rounds) or grow(*given)
    )
    losses = mean_losses([acquirer(rows)], [Divided(rows, rows)], (0, 30, 60), (3,), OPTIONS)
    assert list(losses) == [(0, 3), (12, 3)] and tried == [12]


@pytest.mark.parametrize("limit", ["MOST_PURCHASES", "MOST_ROW_TREES", "MOST_VALUES"])
def test_the_work_is_bounded(limit, monkeypatch):
    rows = stripes(3000)
    plan = acquirer(rows)
    seen = []
    at_budgets = module._at_budgets
    monkeypatch.setattr(
        module, "_at_budgets", lambda *given: seen.append(len(given[1])) or at_budgets(*given)
    )
    corrections(plan, rows, 2, OPTIONS)
    monkeypatch.setattr(module, limit, 100)
    monkeypatch.setattr(module, "LEAST_ROWS", 10)
    corrections(plan, rows, 2, OPTIONS)
    assert seen == [3000, {"MOST_PURCHASES": 33, "MOST_ROW_TREES": 50, "MOST_VALUES": 33}[limit]]


def test_the_seed_decides_the_budgets_of_rows_and_threads_do_not():
    rows = stripes(500)
    plan = acquirer(rows)
    values = [
        corrections(plan, rows, 1, replace(OPTIONS, **changes))[0].trees[0].value
        for changes in ({}, {"n_threads": 2}, {"seed": 1})
    ]
    assert np.array_equal(values[0], values[1]) and not np.array_equal(values[0], values[2])


def test_without_rounds_the_plan_stays_as_it_is():
    plan = acquirer(stripes(300))
    assert with_corrections(plan, []) is plan
