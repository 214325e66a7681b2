"""A frontier reports what held-out rows say, fits where the curve is unknown, and survives failures."""

from __future__ import annotations

import time
from concurrent.futures import Future

import numpy as np
import pandas as pd
import pytest
from sklearn.model_selection import KFold

from miserly import (
    AcquirerClassifier,
    AdaBoostBTClassifier,
    ASTCClassifier,
    CostLassoClassifier,
    CostLassoRegressor,
    Costs,
    EarlyExit,
    GreedyMiserClassifier,
    GreedyMiserRanker,
    GreedyMiserRegressor,
)
from miserly.data.rows import Rows
from miserly.data.tasks import read_task
from miserly.errors import CostError, DataError, MetricError
from miserly.metrics import Queries, get_metric, per_query
from miserly.plan import Plan
from miserly.selection.candidates import CandidateLearner, candidate_learners, check_labels, pool_for
from miserly.selection.certification import Refitter
from miserly.selection.cross_choice import cross_choose, holm, paired
from miserly.selection.evaluation import Evaluation, repriced
from miserly.selection.files import FittedPlan
from miserly.selection.hyperparameters import Hyperparameter, n_nodes, viewed
from miserly.selection.requests import SearchBudgets
from miserly.selection.row_values import RowValues
from miserly.selection.search import Search
from miserly.selection.workers import Order

from .tables import COSTS, candidate, miser, sweep, table


@pytest.fixture(scope="module")
def small():
    X, y, _ = table()
    return sweep([CostLassoClassifier(), miser()], X, y, max_fits=14)


# -- what is reported ----------------------------------------------------------------------------------------


def test_a_point_is_what_plain_fits_give_on_the_held_out_rows():
    X, y, _ = table()
    folds = KFold(3)
    found = sweep(CostLassoClassifier(), X, y, cv=folds, max_fits=4)
    line = found.points[found.points.learner == "CostLassoClassifier"].iloc[-1]
    right, cost = [], []
    for train, test in folds.split(X):
        model = CostLassoClassifier(costs=COSTS, tradeoff=line.params["tradeoff"]).fit(X[train], y[train])
        right += (model.predict(X[test]) == y[test]).tolist()
        cost += model.run(X[test]).cost.tolist()
    assert line.value == pytest.approx(np.mean(right))
    assert line.cost == pytest.approx(np.mean(cost))
    error = np.std(right, ddof=1) / np.sqrt(len(right))
    assert line.value_high - line.value == pytest.approx(1.96 * error)


def test_a_view_is_the_model_with_fewer_rounds():
    X, y, _ = table()
    found = sweep(miser(), X, y, cv=(np.arange(160), np.arange(160, 240)), max_fits=4)
    line = next(line for line in found.points.itertuples() if line.params.get("rounds") == 6)
    params = {"costs": COSTS, "tradeoff": line.params["tradeoff"], "n_rounds": 6}
    model = miser(**params).fit(X[:160], y[:160])
    assert line.value == pytest.approx(model.score(X[160:], y[160:]))
    assert line.cost == pytest.approx(model.run(X[160:]).cost.mean())
    assert line.max_cost == pytest.approx(model.cost_)


def test_one_anytime_fit_gives_points_at_many_costs():
    X, y, _ = table()
    learner = AdaBoostBTClassifier(n_rounds=20)
    found = sweep(learner, X, y, cv=(np.arange(160), np.arange(160, 240)), max_fits=2)
    model = learner.set_params(costs=COSTS, budget=26.0).fit(X[:160], y[:160])
    lines = found.points[found.points.learner == "AdaBoostBTClassifier"]
    assert len(lines) == 16
    for line in lines.itertuples():
        run = model.run(X[160:], budget=line.params["up_to_cost"], count="tree")
        assert line.max_cost <= line.params["up_to_cost"] * (1 + 1e-9)
        assert line.value == pytest.approx(np.mean((run.scores > 0) == y[160:]))


@pytest.mark.parametrize("n_rounds", ["auto", 5])
@pytest.mark.parametrize("evaluation", [0.0, 0.1])
def test_trees_that_are_one_node_are_not_cut_after_some_rounds(n_rounds, evaluation):
    X, y, _ = table()
    acquirer = AcquirerClassifier(n_rounds=n_rounds, random_state=0)
    found = sweep([acquirer], X, y, costs=Costs(COSTS, evaluation=evaluation), max_fits=3)
    assert found.learners == ["AcquirerClassifier"] and not found.failures
    assert all(not one.view for one in found.candidates)


def test_exits_are_seen_at_several_thresholds_from_one_fit():
    X, y, _ = table()
    learner = EarlyExit(miser(), every=2)
    found = sweep(learner, X, y, cv=(np.arange(160), np.arange(160, 240)), max_fits=2)
    lines = [line for line in found.points.itertuples() if line.learner == "EarlyExit"]
    assert sorted({line.params["threshold"] for line in lines}) == [0.6, 0.7, 0.8, 0.9, 0.95, 0.98]
    for line in lines:
        model = EarlyExit(miser(costs=COSTS, tradeoff=line.params["tradeoff"]), every=2)
        model.set_params(threshold=line.params["threshold"]).fit(X[:160], y[:160])
        assert line.value == pytest.approx(model.score(X[160:], y[160:]))
        assert line.cost == pytest.approx(model.run(X[160:]).cost.mean())


def test_pareto_points_rise_in_cost_and_value(small):
    best = small.pareto()
    assert (np.diff(best.cost) > 0).all() and (np.diff(best.value) > 0).all()
    for line in small.points.itertuples():
        assert ((best.cost <= line.cost) & (best.value >= line.value)).any()
    assert best.cost.iloc[0] == 0.0  # nothing is bought


def test_points_are_records_without_pandas(small, monkeypatch):
    monkeypatch.setattr("miserly.selection.tables.find_spec", lambda name: None)
    lines = small.points
    assert isinstance(lines, list) and {"learner", "params", "cost", "value"} <= set(lines[0])


def test_the_area_is_that_of_the_pareto_steps(small):
    """From 0 to 26 the best value so far, weighted by how long it is the best."""
    best = small.pareto()
    widths = np.diff([*best.cost, 30.0])
    assert small.area(30.0) == pytest.approx(widths @ best.value / 30.0)
    assert small.area(30.0, "CostLassoClassifier") <= small.area(30.0)


def test_the_same_seed_gives_the_same_points():
    X, y, _ = table(120)
    one, two = (sweep(miser(), X, y, max_fits=5, random_state=1).points for _ in range(2))
    pd.testing.assert_frame_equal(one, two)


# -- choosing ------------------------------------------------------------------------------------------------


def test_a_larger_budget_buys_a_better_model(small):
    X, y, _ = table(400, seed=5)
    models = [small.best(mean_budget=budget) for budget in (0, 1, 30)]
    accuracy = [model.score(X, y) for model in models]
    assert accuracy[0] < 0.6 < accuracy[1] < 0.93 < accuracy[2]
    assert [model.run(X).cost.mean() <= budget for model, budget in zip(models, (0, 1, 30), strict=True)]


def test_the_model_is_the_chosen_point_fitted_to_all_rows(small):
    X, y, _ = table()
    line = small.at(mean_budgets=[6.0]).iloc[0]
    model = small.best(mean_budget=6.0)
    assert type(model).__name__ == line.learner
    hyperparameter = next(iter(line.params))
    assert model.get_params()[hyperparameter] == line.params[hyperparameter]
    rounds = line.params.get("rounds")
    assert rounds is None or len(model.plan_.nodes) <= rounds
    again = type(model)(**model.get_params()).fit(X, y)
    same = viewed(again, {} if rounds is None else {"rounds": rounds})
    np.testing.assert_array_equal(same.predict(X), model.predict(X))


def test_a_model_that_outgrows_the_budget_when_fitted_to_all_rows_gives_way(small, monkeypatch):
    """The first refit is swapped for one that buys everything: the next best candidate is taken."""
    X, y, _ = table()
    costly = miser(costs=COSTS).fit(X, y)
    refits = []

    def refit(self, chosen, rows, request):
        refits.append(chosen)
        return costly if len(refits) == 1 else original(self, chosen, rows, request)

    original = Refitter.fit
    monkeypatch.setattr(Refitter, "fit", refit)
    model = small.best(mean_budget=6.0)
    assert model is not costly and len(refits) == 2
    assert model.run(X).cost.mean() <= 6.0


def test_honest_figures_do_not_flatter_where_there_is_nothing_to_learn():
    """200 candidates that guess: the best of them looks well above one half, the honest figure does not."""
    values = np.random.default_rng(0).integers(0, 2, size=(200, 300)).astype(float)
    candidates = [candidate(np.full(300, 1.0), value) for value in values]
    assert max(one.mean_value for one in candidates) > 0.57
    honest = cross_choose(candidates, 1.0, 1.0, seed=0)
    assert honest.value.mean() == pytest.approx(0.5, abs=0.07)


def test_each_unit_is_evaluated_by_a_choice_of_the_others():
    """One is right exactly where the other is wrong: right for 4 rows of 5, it wins everywhere."""
    good = np.array([1.0, 1.0, 1.0, 1.0, 0.0] * 20)
    honest = cross_choose([candidate(np.ones(100), good), candidate(np.ones(100), 1.0 - good)], 1.0, 1.0, 0)
    np.testing.assert_array_equal(honest.value, good)
    assert isinstance(honest, Evaluation)
    assert cross_choose([candidate(np.full(100, 2.0), good)], 1.0, 1.0, 0) is None


# -- comparing -----------------------------------------------------------------------------------------------


def test_learners_are_compared_at_equal_budgets():
    """The Miser may see only the cheap column, so that at a large budget the lasso is better beyond doubt."""
    X, y, _ = table(400)
    found = sweep([CostLassoClassifier(), miser(budget=1)], X, y)
    line = found.compare(mean_budgets=[26], against="CostLassoClassifier").iloc[0]
    assert (line.learner, line.against) == ("GreedyMiserClassifier", "CostLassoClassifier")
    assert line.difference_high < -0.1 and line.p < 1e-4
    assert found.compare(mean_budgets=[26]).against.iloc[0] == "CostLassoClassifier"


def test_paired_figures_by_hand():
    """Differences 1, 0, 0, 1: mean 1/2, deviation sqrt(1/3), error sqrt(1/12), t = sqrt(3) on 3 degrees."""
    mean, error, p = paired(np.array([1.0, 0.0, 1.0, 1.0]), np.array([0.0, 0.0, 1.0, 0.0]))
    assert (mean, error) == (0.5, pytest.approx(np.sqrt(1 / 12)))
    assert p == pytest.approx(0.1816901, abs=1e-6)
    assert paired(np.ones(3), np.ones(3)) == (0.0, 0.0, 1.0)


def test_holm_by_hand():
    """Sorted 0.01, 0.03, 0.04 times 3, 2, 1: 0.03, 0.06, and 0.04 raised to 0.06."""
    assert holm([0.04, 0.01, 0.03]) == pytest.approx([0.06, 0.03, 0.06])
    assert holm([]) == []


# -- other prices --------------------------------------------------------------------------------------------


def test_the_same_prices_change_nothing(small):
    again = small.reprice(Costs(COSTS))
    pd.testing.assert_frame_equal(again.points, small.points)
    assert not again.changes().better.any()


def test_a_expensive_feature_become_cheap_brings_another_model(small):
    now = small.reprice([1.0, 5.0, 2.0])
    change = now.changes(mean_budgets=[4.0]).iloc[0]
    assert change.better and change.value > change.value_before + 0.1
    model = now.best(mean_budget=4.0)
    assert model.plan_.costs.feature.tolist() == [1.0, 5.0, 2.0]
    assert model.run(table()[0]).cost.mean() <= 4.0


def test_costs_after_repricing_are_those_of_runs_at_the_new_prices():
    X, y, _ = table()
    learner = EarlyExit(miser(), every=2, threshold=0.8)
    found = sweep(learner, X, y, cv=(np.arange(160), np.arange(160, 240)), max_fits=2)
    prices = Costs([2.0, 1.0, 3.0], groups={"lab": {"features": [0, 1], "setup": 4.0}}, evaluation=0.5)
    line = next(line for line in found.reprice(prices).points.itertuples() if line.learner == "EarlyExit")
    inner = miser(costs=COSTS, tradeoff=line.params["tradeoff"])
    run = EarlyExit(inner, every=2, threshold=0.8).fit(X[:160], y[:160]).run(X[160:])
    features = run.acquired @ prices.feature + 4.0 * run.acquired[:, :2].any(axis=1)
    assert line.cost == pytest.approx(np.mean(features + 0.5 * run.evaluated.sum(axis=1)))


def test_evaluations_are_repriced_in_proportion():
    X, y, _ = table()
    plan = miser(costs=Costs(COSTS, evaluation=0.5)).fit(X, y).plan_
    assert isinstance(plan, Plan)
    assert {term.evaluation for term in repriced(plan, Costs(COSTS, evaluation=2.0)).terms} == {2.0}
    assert {term.evaluation for term in repriced(plan, Costs(COSTS)).terms} == {0.0}


def test_changes_need_changed_prices(small):
    with pytest.raises(DataError, match="prices have not changed"):
        small.changes()


# -- the search ----------------------------------------------------------------------------------------------


class Steps:
    """Stands in for rows and fits: a model of tradeoff t costs 1 / t, and is worth 1 once it costs 40."""

    metric = get_metric("accuracy")
    sign, n_jobs, at_once = 1.0, 1, 1

    def __init__(self):
        self.tried = []

    def now(self):
        return time.monotonic()

    def begin(self, learner, value, wanted=False):
        self.tried.append(value)
        return Order(learner, value, [])

    def evaluate(self, trial):
        cost = 1.0 / trial.value
        return [candidate(np.full(4, cost), np.full(4, float(cost >= 40.0)), trial)]


def test_fits_are_spent_where_the_curve_is_unknown():
    """The step at cost 40 is found by halving its bracket: [1, 1000] first, then ever closer around 40."""
    evaluator = Steps()
    hyperparameter = Hyperparameter("tradeoff", "tradeoff", cheap=1.0, expensive=1e-3)
    learner = CandidateLearner("steps", None, hyperparameter, Costs([1.0]), 0, n_start=2)
    Search(evaluator, evaluator, [learner], max_fits=8, time_limit=np.inf).run()
    costs = 1.0 / np.array(evaluator.tried[1:])
    assert costs[0] == pytest.approx(np.sqrt(1000.0))
    distance = np.abs(np.log(costs / 40.0))
    assert costs.max() < 200.0 and distance[-1] < 0.1 < np.log(1000.0 / 40.0)


class Pair(Steps):
    """Two learners of which "behind" is wrong everywhere, and "lucky" only where the other is right."""

    def evaluate(self, trial):
        value = {"ahead": [1.0] * 30 + [0.0] * 10, "lucky": [0.0] * 10 + [1.0] * 30, "behind": [0.0] * 40}
        return [candidate(np.full(40, 1.0 / trial.value), np.array(value[trial.learner.name]), trial)]


def test_a_candidate_that_is_behind_beyond_doubt_gets_no_further_first_value():
    evaluator = Pair()
    hyperparameter = Hyperparameter("tradeoff", "tradeoff", cheap=1.0, expensive=1e-3)
    names = ("ahead", "lucky", "behind")
    three = [CandidateLearner(name, None, hyperparameter, Costs([1.0]), 0, n_start=2) for name in names]
    search = Search(evaluator, evaluator, three, max_fits=5, time_limit=np.inf)
    search.run()
    assert [trial.learner.name for trial, _ in search.history.trials] == [*names, "ahead", "lucky"]


def test_nothing_is_sought_beyond_the_largest_budget():
    evaluator = Steps()
    hyperparameter = Hyperparameter("tradeoff", "tradeoff", cheap=1.0, expensive=1e-3)
    learner = CandidateLearner("steps", None, hyperparameter, Costs([1.0]), 0, n_start=3)
    Search(
        evaluator, evaluator, [learner], max_fits=6, time_limit=np.inf, budgets=SearchBudgets((30.0,))
    ).run()
    assert (1.0 / np.array(evaluator.tried[3:]) <= np.sqrt(1000.0) + 1e-9).all()


def test_a_learner_that_fails_is_reported_and_the_rest_go_on():
    X, y, _ = table(120)
    text = pd.DataFrame({"a": X[:, 0], "b": X[:, 1], "c": np.where(X[:, 2] > 0, "high", "low")})
    found = sweep([CostLassoClassifier(), miser()], text, y, costs={"a": 1, "b": 5, "c": 20})
    assert found.learners == ["GreedyMiserClassifier"]
    assert [one.learner for one in found.failures] == ["CostLassoClassifier"]
    assert "'c'" in found.failures[0].error and "failed: CostLassoClassifier" in repr(found)
    assert found.best(mean_budget=26).score(text, y) > 0.9


def test_where_all_fail_the_first_error_is_reported():
    X, y, _ = table(60)
    one_class = [(np.flatnonzero(y == 0), np.flatnonzero(y == 1))]
    with pytest.raises(DataError, match=r"every fit failed; the first, of .*: .*one class"):
        sweep(miser(), X, y, cv=one_class)


def test_rows_that_no_learner_takes_are_refused_before_anything_is_fitted():
    X, y, _ = table(60)
    X[0, 0] = np.inf
    with pytest.raises(DataError, match=r"column 0 holds infinity \(row 0\)"):
        sweep(miser(), X, y)


def test_a_time_limit_leaves_the_first_learner_and_ends_the_search():
    X, y, _ = table(120)
    found = sweep([miser(), ASTCClassifier(max_depth=2)], X, y, max_fits=500, time_limit=0.0)
    assert found.learners == ["GreedyMiserClassifier"]
    assert found.best(mean_budget=26).score(X, y) > 0.8


def test_what_time_did_not_allow_to_end_is_no_failure():
    class Late(Steps):
        def begin(self, learner, value, wanted=False):
            begun, not_begun = Future(), Future()
            begun.set_result(FittedPlan(None, 1.0))
            if len(self.tried) > 1:
                time.sleep(0.06)
            else:
                not_begun.set_result(FittedPlan(None, 1.0))
            self.tried.append(value)
            return Order(learner, value, [begun, not_begun])

    evaluator = Late()
    hyperparameter = Hyperparameter("tradeoff", "tradeoff", cheap=1.0, expensive=1e-3)
    learner = CandidateLearner("steps", None, hyperparameter, Costs([1.0]), 0, n_start=3)
    search = Search(evaluator, evaluator, [learner] * 3, max_fits=9, time_limit=0.05)
    search.run()
    assert len(search.history.trials) == 2 and not search.failures


def test_max_fits_is_kept():
    X, y, _ = table(120)
    found = sweep(CostLassoClassifier(), X, y, max_fits=6)
    assert len(found.points) <= 6


# -- tasks and metrics ---------------------------------------------------------------------------------------


def test_numbers_are_swept_by_squared_error():
    X, _, truth = table()
    found = sweep([CostLassoRegressor(), GreedyMiserRegressor(n_rounds=10)], X, truth)
    assert found.metric == "mse"
    best = found.pareto()
    assert (np.diff(best.value) < 0).all() and best.value.iloc[-1] < 0.1
    assert found.area(26.0) < found.area(26.0, "GreedyMiserRegressor") + 1e-12
    assert found.best(mean_budget=26).score(X, truth) > 0.9


def test_rankings_are_swept_by_ndcg_over_queries():
    X, _, truth = table(240)
    qid = np.repeat(np.arange(40), 6)
    grade = np.digitize(truth, [-0.5, 0.5])
    found = sweep(GreedyMiserRanker(n_rounds=8), X, grade, qid=qid)
    assert found.metric == "ndcg@5"
    assert found.at(mean_budgets=[0.0, 1.0, 26.0]).value.is_monotonic_increasing
    assert found.best(mean_budget=26.0).run(X, qid=qid).cost.mean() <= 26.0


def test_in_ranking_the_mean_cost_is_that_of_documents_not_of_queries():
    X, _, truth = table(60)
    qid = np.repeat(np.arange(10), [1, 11] * 5)
    found = sweep(GreedyMiserRanker(n_rounds=5), X, np.digitize(truth, [0.0]), qid=qid, max_fits=4)
    for line, one in zip(found.points.itertuples(), found.candidates, strict=True):
        assert line.cost == pytest.approx(one.row_cost.mean()) == pytest.approx(one.mean_cost)


METRICS = ["accuracy", "balanced_accuracy", "f1", "log_loss", "mse", "mae", "r2", "ndcg@3", "precision@2"]


@pytest.mark.parametrize("name", METRICS)
def test_row_values_average_to_the_metric(name):
    rng = np.random.default_rng(3)
    metric = get_metric(name)
    scores, qid = rng.normal(size=(60, 1)), np.repeat(np.arange(12), 5)
    numbers = name in ("mse", "mae", "r2") or "@" in name
    y = rng.integers(0, 3, 60) if numbers else (rng.random(60) < 0.3).astype(int)
    link = "identity" if numbers else "logistic"
    plan = Plan(
        costs=Costs([1.0]), terms=[], nodes=[], base=[0.0], link=link, classes=None if numbers else [0, 1]
    )
    values = RowValues(metric, y)(plan, scores, Rows(scores, y), Queries(qid), np.zeros(len(y)))
    guess = {"label": (scores[:, 0] > 0).astype(int), "proba": 1 / (1 + np.exp(-scores[:, 0]))}
    prediction = scores[:, 0] if numbers else guess[metric.needs]
    assert np.nanmean(values) == pytest.approx(metric(y, prediction, qid=qid))
    if "@" in name:
        np.testing.assert_allclose(values, per_query(metric, y, scores[:, 0], qid)[1])


def test_the_task_is_read_from_the_labels():
    _, y, truth = table(60)

    def task(y, metric=None, qid=None):
        taken = read_task(y, metric=metric, qid=qid).task
        check_labels(y, taken)
        return taken

    assert task(y) == "classes" == task(y + (truth > 1))
    assert task(y, "mse") == task(truth) == "numbers"
    assert task(y, qid=np.zeros(60)) == "ranking"
    assert len(pool_for("classes", y)) > len(pool_for("classes", y + (truth > 1)))


@pytest.mark.parametrize("labels", ["two classes", "several classes", "numbers", "ranking"])
def test_every_learner_of_auto_can_be_swept(labels):
    X, y, truth = table(60)
    qid = np.repeat(np.arange(10), 6) if labels == "ranking" else None
    y = {"numbers": truth, "several classes": y + (truth > 1)}.get(labels, y)
    task = labels if labels in ("numbers", "ranking") else "classes"
    found = candidate_learners(pool_for(task, y), task, Rows(X, y, qid=qid), Costs(COSTS), 0)
    assert {one.name for one in found} > {"nothing paid"}
    for one in found[1:]:
        assert one.hyperparameter.path in one.estimator.get_params(deep=True)
        assert one.hyperparameter.cheap > 0 and one.hyperparameter.expensive > 0


def test_views_keep_what_fits():
    X, y, _ = table()
    plan = AdaBoostBTClassifier(n_rounds=20, costs=COSTS).fit(X, y).plan_
    assert n_nodes(plan, {"up_to_cost": 0.5}) == 0
    assert n_nodes(plan, {"up_to_cost": 26.0}) == len(plan.nodes)
    assert n_nodes(plan, {"rounds": 3}) == 3


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"learners": "all"}, DataError, "not 'all'"),
        ({"learners": []}, DataError, "empty list of learners"),
        ({"learners": GreedyMiserRegressor()}, DataError, "not for labels that are classes"),
        ({"learners": [3]}, DataError, "list of estimators, not 3"),
        (
            {"metric": lambda y, predicted: y == predicted},
            MetricError,
            "must be a name or a Metric, not a function",
        ),
        ({"metric": "acuracy"}, MetricError, "did you mean 'accuracy'"),
        ({"budgets": []}, CostError, "empty list of budgets"),
        ({"costs": [0, 0, 0]}, CostError, "all features are free"),
        ({"max_fits": 1}, DataError, "2 or more"),
        ({"certify": 1.5}, DataError, "share of the rows"),
    ],
)
def test_what_cannot_be_swept_is_reported(options, error, message):
    X, y, _ = table(60)
    with pytest.raises(error, match=message):
        sweep(**{"learners": miser(), "X": X, "y": y, **options})


def test_a_learner_without_prices_is_refused():
    from sklearn.linear_model import LogisticRegression

    with pytest.raises(DataError, match="LogisticRegression has no parameter 'costs'"):
        sweep(LogisticRegression(), *table(60)[:2])


def test_an_unknown_learner_is_reported(small):
    with pytest.raises(DataError, match="did you mean 'CostLassoClassifier'"):
        small.area(26.0, "CostLaso")


def test_learners_of_one_class_are_distinguished():
    X, y, _ = table(90)
    found = sweep([miser(), miser(max_depth=1), miser(max_depth=1)], X, y, max_fits=20)
    assert len(found.learners) == 3 and all("GreedyMiserClassifier(" in name for name in found.learners)


def test_compiling_meets_all_classes_where_rows_are_sorted_by_them(monkeypatch):
    X, y, _ = table()
    order = np.argsort(y, kind="stable")
    fits, fit = [], GreedyMiserClassifier.fit
    monkeypatch.setattr(GreedyMiserClassifier, "fit", lambda *given: fits.append(given) or fit(*given))
    sweep([CostLassoClassifier()], X[order], y[order], time_limit=30.0, max_fits=2)
    _, few, labels = fits[0]
    assert len(few) <= 64 and set(labels) == {0, 1}
