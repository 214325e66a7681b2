"""Two models of a frontier in turn: figures that need no fit are those of the plans, and money is spent."""

from dataclasses import replace

import numpy as np
import pytest

from miserly import (
    BudgetedTreeClassifier,
    CostLassoClassifier,
    Costs,
    EarlyExit,
    GreedyMiserClassifier,
    GreedyMiserRanker,
    GreedyMiserRegressor,
    Handover,
    frontier,
)
from miserly.datasets import load_heart
from miserly.selection.handovers import handovers
from miserly.selection.history import Failure
from miserly.selection.hyperparameters import viewed_plan
from miserly.selection.results import Frontier

from .tables import miser, sweep, table

HEART = load_heart()


def found_on_heart(**options):
    learners = [GreedyMiserClassifier(n_rounds=12, max_depth=2), CostLassoClassifier(),
                EarlyExit(GreedyMiserClassifier(n_rounds=12)), BudgetedTreeClassifier()]  # fmt: skip
    given = {
        "costs": HEART.costs,
        "cv": 2,
        "max_fits": 11,
        "certify": 0,
        "random_state": 0,
        "handovers": True,
    }
    return frontier(learners, HEART.X, HEART.y, **{**given, **options})


@pytest.fixture(scope="module")
def found():
    return found_on_heart()


def pairs_of(found):
    return [one for one in found.candidates if one.learner == "Handover"]


def test_there_are_some_and_they_are_better_than_any_one_for_the_money(found):
    assert len(pairs_of(found)) >= 5 and "Handover" in found.learners
    table = found.points
    for pair in pairs_of(found):
        alone = table[(table.learner != "Handover") & (table.cost <= pair.mean_cost)]
        assert pair.mean_value > alone.value.max() - 0.25 * pair.error


def test_figures_are_those_of_the_plans(found):
    """No plan was run for them."""
    evaluator = found.result.evaluator
    for pair in pairs_of(found):
        runs = [
            (plan, viewed_plan(plan, pair.view).run(rows.X), rows)
            for plan, rows in zip(pair.trial.plans, evaluator.held_out, strict=True)
        ]
        np.testing.assert_allclose(np.concatenate([run.cost for _, run, _ in runs]), pair.cost, rtol=1e-9)
        right = [viewed_plan(plan, pair.view).predict(rows.X) == rows.y for plan, _, rows in runs]
        np.testing.assert_array_equal(np.concatenate(right), pair.value)
        bought = np.mean([run.acquired.sum(axis=1).mean() for _, run, _ in runs])
        assert pair.features == pytest.approx(bought) and pair.max_cost >= pair.cost.max()
    (evaluated,) = [one for one in evaluator.evaluate(pair.trial) if one.view == pair.view]
    np.testing.assert_allclose(evaluated.cost, pair.cost, rtol=1e-9)


def test_evaluations_and_groups_are_paid_too():
    priced = Costs.from_dict({**HEART.costs.to_dict(), "evaluation": 0.5})
    test_figures_are_those_of_the_plans(found_on_heart(costs=priced))


def test_the_best_may_be_a_pair_and_keeps_its_budget(found):
    chosen = []
    for budget in found.points.cost[lambda cost: cost > 0].quantile([0.2, 0.4, 0.6, 0.8]):
        model = found.best(mean_budget=budget)
        chosen.append(type(model))
        assert model.run(HEART.X).cost.mean() <= budget * (1 + 1e-9)
        if isinstance(model, Handover):
            assert model.plan_.nodes[model.plan_.info["handover"]].gate.level == model.threshold
            assert model.first_.n_features_in_ == 13 and model.predict_proba(HEART.X).shape == (270, 2)
    assert Handover in chosen


def test_a_budget_caps_every_row_and_a_mean_budget_does_not(found):
    for budget in (30.0, 60.0, 120.0):
        capped, mean = found.best(budget).run(HEART.X).cost, found.best(mean_budget=budget).run(HEART.X).cost
        assert capped.max() <= budget and mean.mean() <= budget
    assert mean.max() > 120.0
    both = found.best(120.0, mean_budget=30.0).run(HEART.X).cost
    assert both.max() <= 120.0 and both.mean() <= 30.0


def test_tables_say_whether_a_budget_is_a_cap_or_a_mean(found):
    capped, mean = found.at(120.0), found.at(mean_budgets=[120.0])
    assert "mean_budget" not in capped and "budget" not in mean
    assert capped.max_cost[0] <= 120.0 < mean.max_cost[0]
    assert set(found.compare(120.0).budget) == {120.0} == set(found.compare(mean_budgets=[120.0]).mean_budget)
    both = found.at(60.0, mean_budgets=[40.0, 20.0])
    assert both.budget.dropna().tolist() == [60.0] and both.mean_budget.dropna().tolist() == [20.0, 40.0]


def test_caps_guarantees_and_other_prices():
    found = found_on_heart(certify=0.3)
    capped = found.best(60)
    assert capped.run(HEART.X).cost.max() <= 60
    assert found.best(mean_budget=150, confidence=0.9).guarantee_
    repriced = found.reprice(HEART.costs.scaled(2.0))
    for old, new in zip(pairs_of(found), pairs_of(repriced), strict=True):
        assert new.mean_cost == pytest.approx(2.0 * old.mean_cost)
    assert {"before", "now"} <= set(repriced.changes(mean_budgets=[40, 80]).columns)


def test_they_are_described_and_shown(found, tmp_path):
    pair = max(pairs_of(found), key=lambda one: one.mean_value)
    params = found.points.params[found.points.learner == "Handover"].iloc[0]
    assert set(params) == {"handover", "first", "then"} and 0.5 <= params["handover"] <= 1.0
    found.to_html(tmp_path / "report.html", mean_budget=pair.mean_cost)
    assert "Handover from " in (tmp_path / "report.html").read_text(encoding="utf-8")
    compared = found.compare(mean_budgets=[60])
    assert "Handover at 0." in repr(found) and "Handover" in {*compared.learner, *compared.against}


def test_a_frontier_prints_on_one_screen(found):
    """Also with many models on the best curve, failures and learners left out."""
    models = [
        replace(one, cost=one.cost + k, row_cost=one.cost + k, value=one.value + k / 100)
        for k in range(8)
        for one in found.pareto_candidates
    ]
    failures = [Failure("ALearner", {"tradeoff": 0.1}, "an error\nof many words " * 20)] * 9
    left_out = {f"Learner{k}": "far behind " * 30 for k in range(9)}
    many = Frontier(replace(found.result, candidates=models, failures=failures, left_out=left_out))
    for shown in (found, many):
        lines = repr(shown).splitlines()
        assert len(lines) <= 24 and max(map(len, lines)) <= 100
    assert len(many.pareto_candidates) > 20 and "in between; pareto() has all of them" in repr(many)
    assert "... and 7 more in failures" in repr(many) and "... and 7 more in left_out" in repr(many)


def test_only_where_somebody_can_be_in_doubt():
    X, y, truth = table()
    assert "Handover" not in sweep([miser()], X, y).learners  # a list is a list
    assert "Handover" in sweep([miser()], X, y, handovers=True, max_fits=12).learners
    numbers = sweep([GreedyMiserRegressor(n_rounds=5)], X, truth, max_fits=5, handovers=True)
    assert "Handover" not in numbers.learners
    ranker, queries = GreedyMiserRanker(n_rounds=5), np.arange(len(y)) // 6
    assert "Handover" not in sweep([ranker], X, y, qid=queries, max_fits=5, handovers=True).learners


def test_a_learner_that_is_alone_stays_alone(found):
    free = [one for one in found.candidates if one.mean_cost == 0.0]
    assert handovers(found.result.evaluator, free) == []
