"""Budgets that are asked for come first, and nothing is spent beyond them."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest

from miserly import (
    BudgetedEstimator,
    BudgetedSelectorClassifier,
    BudgetedTreeClassifier,
    CostLassoClassifier,
    Costs,
    EarlyExit,
    GreedyMiserClassifier,
    SpeedBoostClassifier,
    frontier,
)
from miserly.data.rows import Rows
from miserly.errors import BudgetWarning
from miserly.metrics import get_metric
from miserly.selection import workers as _workers
from miserly.selection.candidates import candidate_learners, pool_for, read_pool
from miserly.selection.choice import Chooser
from miserly.selection.frontier import _read_limits
from miserly.selection.history import SearchEffort, why_nothing_helps
from miserly.selection.requests import SearchBudgets
from miserly.selection.search import Search

from .tables import miser, table

BUDGETS = [2.0, 5.0, 10.0]
COLUMNS = 60


@pytest.fixture(scope="module")
def wide():
    """Five classes that ten of 60 columns tell apart, two columns each."""
    random = np.random.default_rng(0)
    y = random.integers(0, 5, 600)
    X = random.normal(size=(600, COLUMNS)).astype(np.float32)
    for k in range(5):
        X[:, 12 * k : 12 * k + 2] += 2.0 * (y == k)[:, None]
    return X, y


@pytest.fixture
def orders(monkeypatch):
    """What was fitted, in order: the learner and its parameters."""
    seen = []
    begin = _workers.Workers.begin

    def spy(self, learner, value, wanted=False):
        seen.append((learner.name, learner.ready(value).get_params(deep=True)))
        return begin(self, learner, value, wanted)

    monkeypatch.setattr(_workers.Workers, "begin", spy)
    return seen


def budgets_of(orders):
    """The budgets of fits, those of an estimator inside included."""
    found = []
    for _, params in orders:
        found += [value for path, value in params.items() if path.rpartition("__")[2].endswith("budget")]
    return [budget for budget in found if budget is not None]


def search(wide, learners, **changes):
    X, y = wide
    settings = {"budgets": BUDGETS, "max_fits": 6, "certify": 0, "cv": 2, "random_state": 0, **changes}
    return frontier(learners, X, y, **settings)


def small():
    return GreedyMiserClassifier(n_rounds=12, max_depth=2, step=0.5)


# -- order ---------------------------------------------------------------------------------------------------


def test_a_single_tree_is_fitted_at_every_cap_after_the_first_fit_of_the_first_learner(wide, orders):
    search(wide, [small(), SpeedBoostClassifier(n_rounds=10), BudgetedTreeClassifier()], max_fits=20)
    names = [name for name, _ in orders]
    assert names[1:5] == ["GreedyMiserClassifier", *["BudgetedTreeClassifier"] * 3]
    assert [params["budget"] for _, params in orders[2:5]] == [10.0, 2.0, 5.0]


class QuickLasso(CostLassoClassifier):
    is_quick = True


def test_a_learner_that_is_quick_is_fitted_as_early_as_a_single_tree(wide, orders):
    search(wide, [small(), SpeedBoostClassifier(n_rounds=10), QuickLasso()], max_fits=20)
    assert [name for name, _ in orders][1:5] == ["GreedyMiserClassifier", *["QuickLasso"] * 3]


def test_mean_budgets_do_not_put_a_single_tree_first(wide, orders):
    changes = {"budgets": None, "mean_budgets": BUDGETS, "max_fits": 6}
    search(wide, [small(), SpeedBoostClassifier(n_rounds=10), BudgetedTreeClassifier()], **changes)
    assert [name for name, _ in orders][1:3] == ["GreedyMiserClassifier"] * 2
    assert budgets_of(orders[1:3]) == [10.0, 2.0]


def test_six_fits_serve_every_budget_asked_for(wide, orders):
    _, y = wide
    found = search(wide, [small(), SpeedBoostClassifier(n_rounds=10), CostLassoClassifier()])
    constant = np.bincount(y).max() / len(y)
    for line in found.at().itertuples():
        assert line.value > constant + 0.1 and 0.0 < line.cost <= line.budget
    assert len(orders) <= 6 and max(budgets_of(orders)) <= 10.0


def test_the_first_learner_is_fitted_at_each_budget_before_anything_else(wide, orders):
    search(wide, [small(), EarlyExit(small()), CostLassoClassifier()], max_fits=12)
    names, params = zip(*orders, strict=True)
    assert names[0] == "nothing paid"
    assert [(name, one["budget"]) for name, one in zip(names[1:4], params[1:4], strict=True)] == [
        ("GreedyMiserClassifier", 10.0),
        ("GreedyMiserClassifier", 2.0),
        ("GreedyMiserClassifier", 5.0),
    ]
    assert names[4:6] == ("EarlyExit", "CostLassoClassifier")  # at the largest, searches of their own last
    assert params[4]["estimator__budget"] == params[5]["budget"] == 10.0


def test_a_learner_that_is_behind_is_tried_at_the_largest_cap_and_at_one_in_the_middle(
    wide, orders, monkeypatch
):
    monkeypatch.setattr(Search, "_is_behind", lambda self, learner: learner.name == "CostLassoClassifier")
    search(wide, [small(), CostLassoClassifier()], max_fits=40)
    tried = [params["budget"] for name, params in orders if name == "CostLassoClassifier"]
    assert [budget for budget in tried if budget is not None][:2] == [10.0, 5.0]


@pytest.mark.parametrize(
    ("given", "n_caps", "most"), [(None, 0, 60), (None, 4, 100), (None, 24, 140), (12, 4, 12)]
)
def test_more_caps_allow_more_fits(given, n_caps, most):
    assert _read_limits(given, [1.0] * n_caps or None, 30) == (most, 30.0)


def test_one_fit_at_the_largest_budget_serves_the_smaller_ones(wide):
    found = search(wide, small(), max_fits=2)
    assert [line.params["budget"] for line in found.at().itertuples()] == [10.0] * 3
    assert (found.at().cost <= found.at().budget).all() and (found.at().value > 0.3).all()


def test_no_model_is_fitted_beyond_the_largest_budget(wide, orders):
    found = search(wide, [small(), CostLassoClassifier()], max_fits=16)
    assert max(budgets_of(orders)) == 10.0
    tradeoffs = [(name, one["tradeoff"]) for name, one in orders if one.get("budget") is None]
    beyond = {
        (line.learner, line.params.get("tradeoff")) for line in found.points.itertuples() if line.cost > 10
    }
    for name, tradeoff in tradeoffs:  # a smaller one costs more: none is tried after one that was beyond
        later = tradeoffs[tradeoffs.index((name, tradeoff)) + 1 :]
        assert (name, tradeoff) not in beyond or all(t > tradeoff for other, t in later if other == name)


def test_many_budgets_are_thinned_out():
    asked = SearchBudgets(tuple(np.geomspace(1.0, 100.0, 24)))
    fitted = asked.to_fit_at(1000.0)
    assert len(fitted) == 8 and fitted[0] == 100.0 and fitted[1] == 1.0
    assert set(fitted) <= set(asked.amounts)
    assert SearchBudgets((0.0, 5.0, 50.0, 80.0)).to_fit_at(50.0) == (50.0, 5.0)


def test_a_budget_of_the_learner_is_left_alone():
    X, y, _ = table(60)
    (_, tradeoff) = candidate_learners(
        [miser(budget=1.0)], "classes", Rows(X, y), Costs([1.0, 2.0, 3.0]), 0, SearchBudgets((2.0,))
    )
    assert tradeoff.hyperparameter.name == "tradeoff" and not tradeoff.budgets


def test_without_budgets_the_search_is_as_it_was(wide, orders):
    search(wide, [small()], budgets=None, max_fits=5)
    assert [name for name, _ in orders] == ["nothing paid"] + ["GreedyMiserClassifier"] * 4
    assert [one["budget"] for _, one in orders[1:3]] == [None, float(COLUMNS)]  # the expensive ends


def test_fits_that_serve_budgets_are_not_cut_short(wide, monkeypatch):
    given = []
    begin = _workers.Workers.begin

    def spy(self, learner, value, wanted=False):
        given.append((learner.name, wanted))
        return begin(self, learner, value, wanted)

    monkeypatch.setattr(_workers.Workers, "begin", spy)
    search(wide, [small(), EarlyExit(small())], max_fits=6)
    assert [wanted for _, wanted in given[:5]] == [True] * 4 + [False]
    assert [name for name, _ in given[1:4]] == ["GreedyMiserClassifier"] * 3


def test_budgets_between_are_those_asked_for(wide, orders):
    asked = np.geomspace(1.0, 20.0, 10).tolist()
    search(wide, [small()], budgets=asked, max_fits=24)
    assert set(budgets_of(orders)) <= {0.0, *asked} and len(set(budgets_of(orders))) > 9


def test_a_time_limit_serves_budgets_first(wide):
    found = search(wide, [small(), EarlyExit(small()), CostLassoClassifier()], time_limit=0.0)
    assert (found.at().value > 0.3).all()


# -- where nothing helps -------------------------------------------------------------------------------------


def reasons(found, **budget):
    with pytest.warns(BudgetWarning, match="is better than a constant answer") as reported:
        model = found.best(**budget)
    assert model.plan_.max_cost == 0.0 or not len(model.plan_.nodes)
    return str(reported[0].message)


def test_a_budget_below_the_cheapest_feature_is_reported(wide):
    found = search(wide, [small()], costs=np.full(COLUMNS, 3.0), budgets=[1.0])
    assert "the cheapest feature, 0, costs 3" in reasons(found, budget=1.0)
    assert "the cheapest feature, 0, costs 3" in reasons(found, mean_budget=2.0)


def test_that_no_feature_helps_is_reported():
    """Labels that no column says anything about; nothing but a constant is best."""
    random = np.random.default_rng(3)
    X, y = random.normal(size=(300, 3)), (random.random(300) < 0.2).astype(int)
    found = frontier([miser()], X, y, budgets=[2.0], cv=2, certify=0, max_fits=4, random_state=0)
    assert "no feature that fits the budget helps on held-out rows, in" in reasons(found, budget=2.0)


def test_the_estimator_warns(wide):
    with pytest.warns(BudgetWarning, match="the cheapest feature, 0, costs 3"):
        BudgetedEstimator(1.0, costs=np.full(COLUMNS, 3.0), learners=[small()], cv=2).fit(*wide)


def test_a_free_answer_that_was_asked_for_is_no_reason_to_warn(wide):
    found = search(wide, [small()], budgets=[0.0, 5.0], max_fits=4)
    found.best(budget=0.0)
    assert found.best(budget=5.0).run(wide[0]).cost.max() <= 5.0


def test_time_and_failures_are_named():
    costs = Costs([1.0, 2.0])
    reported = why_nothing_helps(costs, 5.0, SearchEffort(3, 12.4, True, ["ASTC: TimeoutError: stopped"]))
    assert (
        reported == "time ran out after 3 fits, 12 seconds (1 failed; the first: ASTC: TimeoutError: stopped)"
    )
    reported = why_nothing_helps(costs, 5.0, SearchEffort(2, 1.0, False, ["ASTC: DataError: no"]))
    assert reported == "every fit failed; the first: ASTC: DataError: no"


def test_with_mean_budgets_one_learner_is_held_to_them_and_all_the_others_take_part(orders):
    """Also those that have a budget and no other hyperparameter to sweep over."""
    X, y, _ = table(120)
    learners = [miser(), SpeedBoostClassifier(n_rounds=5), CostLassoClassifier()]
    options = {"costs": [1, 5, 20], "cv": 2, "certify": 0, "random_state": 0}
    frontier(learners, X, y, mean_budgets=[2, 6], max_fits=12, **options)
    fitted = [(name, params.get("budget")) for name, params in orders]
    assert fitted[:3] == [("nothing paid", 0.0), ("GreedyMiserClassifier", 6), ("GreedyMiserClassifier", 2)]
    assert {name for name, _ in fitted} >= {"SpeedBoostClassifier", "CostLassoClassifier"}
    assert max(budgets_of(orders)) <= 6


def test_a_delivered_plan_that_acquires_nothing_is_reported(wide, monkeypatch):
    """The estimate is that of the models of the folds; the model fitted to all rows may buy nothing."""
    found = search(wide, [small()])
    take = Chooser.take

    def poorer(self, request):
        candidate, model = take(self, request)
        return candidate, SimpleNamespace(plan_=model.plan_.replace(budget=0.5))

    found.best(budget=10.0)  # warnings are errors
    monkeypatch.setattr(Chooser, "take", poorer)
    with pytest.warns(BudgetWarning, match="is better than a constant answer"):
        found.best(budget=10.0)


def test_a_selector_chooses_by_the_metric_of_the_search_unless_it_has_its_own(wide):
    given = [BudgetedSelectorClassifier(), BudgetedSelectorClassifier(metric="f1"), small()]
    pool, _ = read_pool(given, "classes", *wide, get_metric("log_loss"))
    assert [learner.metric for learner in pool] == ["log_loss", "f1", None]
    assert given[0].metric is None
    costs = read_pool(given, "classes", *wide, get_metric("total_cost"))[0]
    assert [learner.metric for learner in costs] == [None, "f1", None]


def test_auto_has_selectors_for_classes_and_numbers():
    for task, name in (("classes", "BudgetedSelectorClassifier"), ("numbers", "BudgetedSelectorRegressor")):
        assert name in [type(one).__name__ for one in pool_for(task, np.array([0, 1, 2]))]


def test_a_search_finds_features_that_help_only_together():
    random = np.random.default_rng(0)
    X = random.integers(2, size=(1200, 12)).astype(float)
    y = (X[:, 3] != X[:, 7]).astype(int)
    found = frontier([small(), BudgetedSelectorClassifier(n_rounds=12)], X, y, budgets=[2.0], max_fits=6,
                     certify=0, cv=2, random_state=0)  # fmt: skip
    model = found.best(budget=2.0)
    assert sorted(model.features_) == [3, 7] and model.score(X, y) == 1.0
