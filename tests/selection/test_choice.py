"""The best model for a budget: what is guaranteed of it is shown by rows that had no other part."""

from __future__ import annotations

from copy import copy
from types import SimpleNamespace

import numpy as np
import pytest

from miserly import (
    CostLassoClassifier,
    CostLassoRegressor,
    Costs,
    EarlyExit,
    GreedyMiserClassifier,
    GreedyMiserRanker,
    Handover,
    load,
)
from miserly.data.rows import Rows
from miserly.errors import BudgetWarning, CostError, DataError, MetricError
from miserly.learners.base import PlanEstimator
from miserly.metrics import get_metric
from miserly.selection import certification as _certification
from miserly.selection.candidates import CandidateLearner
from miserly.selection.certification import Refitter
from miserly.selection.choice import Chooser
from miserly.selection.evaluation import Evaluation
from miserly.selection.guarantee import mean_bound
from miserly.selection.hyperparameters import viewed_plan
from miserly.selection.requests import Request
from miserly.selection.splits import guarantee_mask

from .tables import COSTS, candidate, miser, sweep, table

# -- rows kept for guarantees ------------------------------------------------------------------------------


def test_a_fifth_of_the_rows_is_kept_unless_given_otherwise():
    X, y, _ = table(100)
    kept = [sweep(miser(), X[:n], y[:n], certify=None, max_fits=2).result.kept for n in (100, 49)]
    assert len(kept[0]) == 20 and kept[1] is None


def test_a_fifth_of_the_queries_is_kept_whole():
    rows = Rows(np.zeros((600, 1)), np.zeros(600), qid=np.repeat(np.arange(60), 10))
    held_out = guarantee_mask(rows, None, None, seed=0)
    assert held_out.sum() == 120 and held_out.reshape(60, 10).all(axis=1).sum() == 12


def test_no_more_rows_than_help_are_kept():
    rows = Rows(np.zeros((40_000, 1)), np.zeros(40_000))
    assert guarantee_mask(rows, None, None, seed=0).sum() == 2000


def test_row_numbers_of_parts_are_those_of_all_rows():
    """Kept rows leave the parts; the others stay on their side."""
    X, y, _ = table()
    found = sweep(miser(), X, y, cv=(np.arange(160), np.arange(160, 240)), certify=0.25, max_fits=2)
    ((train, test),) = found.result.evaluator.parts
    assert len(train) + len(test) == 180
    first, last = ({tuple(row) for row in rows.tolist()} for rows in (X[:160], X[160:]))
    assert {tuple(row) for row in found.result.evaluator.rows.X[train].tolist()} <= first
    assert {tuple(row) for row in found.result.evaluator.rows.X[test].tolist()} <= last


def test_without_a_guarantee_the_kept_rows_are_learned_from_too():
    X, y, _ = table()
    found = sweep(CostLassoClassifier(), X, y, certify=0.25, max_fits=3)
    hoped, certified = found.best(mean_budget=26.0), found.best(mean_budget=26.0, confidence=0.9)
    rows = found.result.evaluator.rows
    for model, (some, labels) in ((hoped, (X, y)), (certified, (rows.X, rows.y))):
        again = type(model)(**model.get_params()).fit(some, labels)
        np.testing.assert_array_equal(again.decision_function(X), model.decision_function(X))


def test_the_confidence_of_a_frontier_is_that_of_its_best():
    X, y, _ = table()
    found = sweep(CostLassoClassifier(), X, y, certify=None, confidence=0.9, max_fits=6)
    again = found.best(mean_budget=6.0, confidence=0.9)
    np.testing.assert_array_equal(
        found.best(mean_budget=6.0).decision_function(X), again.decision_function(X)
    )


@pytest.mark.parametrize(
    ("options", "message"),
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
def test_guarantees_that_make_no_sense_are_refused(options, message):
    X, y, _ = table(60)
    with pytest.raises(DataError, match=message):
        sweep(miser(), X, y, **{"certify": None, **options})


# -- a mean cost ---------------------------------------------------------------------------------------------


def test_a_guarantee_needs_rows_kept_for_it():
    X, y, _ = table(60)
    found = sweep(CostLassoClassifier(), X, y, max_fits=2)
    with pytest.raises(DataError, match="no rows are kept for guarantees"):
        found.best(mean_budget=6.0, confidence=0.95)


@pytest.fixture
def vouched(monkeypatch):
    """A chooser among made-up candidates, and a way to say what each does on 120 kept rows."""

    def make(models, bills, metric="accuracy"):
        kept = Rows(np.zeros((120, 3)), np.zeros(120))
        evaluator = SimpleNamespace(metric=get_metric(metric), rows=kept)
        by_model = dict(zip(models, bills, strict=True))
        monkeypatch.setattr(Refitter, "fit", lambda self, one, rows, request: FittedModel(one))
        monkeypatch.setattr(_certification, "evaluate_once", lambda plan, *given: by_model[plan.candidate])
        monkeypatch.setattr(_certification, "with_reference", lambda plan, rows: plan)
        return Chooser(evaluator, Costs(COSTS), models, kept, kept)

    return make


class FittedModel(PlanEstimator):
    """Stands in for a model and its plan at once."""

    digest = "a plan"

    def __init__(self, candidate):
        self.candidate, self.plan_, self.info = candidate, self, {}

    def fit(self, X, y):
        raise AssertionError("it is fitted")

    def with_guarantees(self, words):
        return self


def bill(costs, values=(1.0,), max_cost=26.0):
    return Evaluation(cost=np.resize(costs, 120), value=np.resize(values, 120), max_cost=max_cost)


@pytest.fixture
def by_cost(vouched):
    """Three models, the more expensive the better; 120 kept rows show costs of 5, 11.8 and 13 on average."""
    models = [candidate(np.full(4, cost), np.full(4, cost / 4)) for cost in (1.0, 2.0, 3.0)]
    return vouched(models, [bill([1.0, 9.0]), bill([3.6, 20.0]), bill([1.0, 25.0])]), models


def test_the_best_model_that_kept_rows_can_vouch_for_is_certified(by_cost):
    """120 rows show a mean of 5 to be under 12, but not one of 11.8, and one of 13 is above."""
    chooser, models = by_cost
    assert chooser.best(Request(mean_budget=12.0, confidence=0.95)).candidate is models[0]
    assert chooser.best(Request(mean_budget=14.0, confidence=0.95)).candidate is models[1]
    assert chooser.best(Request(mean_budget=26.0, confidence=0.95)).candidate is models[2]


def test_a_guarantee_that_cannot_be_shown_is_refused_and_says_how_near_it_came(by_cost):
    """The mean of 5 has a bound of about 5.7."""
    with pytest.raises(CostError, match=r"120 kept rows cannot show.*at most 5\.\d+\)"):
        by_cost[0].best(Request(mean_budget=5.1, confidence=0.95))


def test_what_is_guaranteed_is_reported(by_cost):
    (certificate,) = by_cost[0].best(Request(mean_budget=12.0, confidence=0.95)).guarantee_
    assert (certificate.kind, certificate.limit, certificate.confidence, certificate.n_units) == (
        "mean cost",
        12.0,
        0.95,
        120,
    )
    assert (
        certificate.seen == 5.0
        and certificate.bound == mean_bound(np.resize([1.0, 9.0], 120), 26.0, 0.95) < 12.0
    )
    assert "costs 12 or less on average, with confidence 0.95 (120 kept rows show 5" in str(certificate)


def test_what_can_never_cost_more_needs_no_proof(vouched):
    expensive = candidate(np.full(4, 2.0), np.full(4, 0.9))
    chooser = vouched([expensive], [bill([7.0], max_cost=7.0)])
    assert chooser.best(Request(mean_budget=7.0, confidence=0.999999)).candidate is expensive


def test_models_that_are_unlikely_to_pass_are_not_fitted(vouched, monkeypatch):
    """Forty models cost 1.0, 1.1, ... on average, give or take 1, so that 120 rows know it to 0.09."""
    wobble = np.tile([-1.0, 1.0], 20)
    models = [candidate(cost + wobble, np.full(40, cost)) for cost in 1.0 + 0.1 * np.arange(40)]
    chooser = vouched(models, [bill(one.cost) for one in models])
    request = Request(mean_budget=3.02, confidence=0.95)
    tried = chooser.certifier._worth_testing(request, chooser._ordered(request))
    assert [round(one.mean_cost, 1) for one in tried] == [1.0, 2.2, 2.3, 2.4, 2.5, 2.6, 2.7, 2.8, 2.9]


def test_models_that_cost_more_once_they_are_fitted_again_do_not_end_the_test(vouched):
    """Twelve models seemed to cost 4 and cost 20; one that is nearly as good costs 3 as it seemed to."""
    wobble = np.tile([-1.0, 1.0], 20)
    seeming = [candidate(cost + wobble, np.full(40, cost)) for cost in 4.0 + 0.01 * np.arange(12)]
    honest = [candidate(cost + wobble, np.full(40, cost)) for cost in (1.0, 3.0)]
    bills = [*(bill([20.0]) for _ in seeming), *(bill(one.cost) for one in honest)]
    chooser = vouched([*seeming, *honest], bills)
    assert chooser.best(Request(mean_budget=6.0, confidence=0.95)).candidate is honest[1]


# -- a loss of the metric ------------------------------------------------------------------------------------


@pytest.fixture
def by_value(vouched):
    """Models of 120 rows: right always, wrong once in 40, 12 and 4 rows; the more wrong, the cheaper."""
    right = [np.arange(120) % every != 0 for every in (4, 12, 40, 1000)]
    models = [candidate(np.full(120, cost), one * 1.0) for cost, one in zip((1, 2, 3, 4), right, strict=True)]
    bills = [bill(one.cost, one.value, max_cost=4.0) for one in models]
    return vouched(models, bills), models


@pytest.mark.parametrize(("max_loss", "place"), [(0.3, 0), (0.1, 1), (0.03, 2), (0.01, 3), (0.0, 3)])
def test_by_held_out_figures_the_cheapest_that_loses_little_is_taken(by_value, monkeypatch, max_loss, place):
    chooser, models = by_value
    monkeypatch.setattr(FittedModel, "run", lambda *_, **__: SimpleNamespace(cost=np.ones(3)), raising=False)
    monkeypatch.setattr(Chooser, "_reached", lambda *_: 1.0)
    model = chooser.best(Request(max_loss=max_loss))
    assert model.candidate is models[place] and model.guarantee_ == ()


@pytest.mark.parametrize(("max_loss", "place"), [(0.4, 0), (0.3, 1), (0.2, 1), (0.1, 2), (0.01, 3), (0.0, 3)])
def test_with_a_confidence_it_is_the_cheapest_that_is_shown_to(by_value, monkeypatch, max_loss, place):
    """A quarter wrong is not shown to be under 0.3 by 120 rows; the best loses nothing to itself."""
    monkeypatch.setattr("miserly.selection.certification.shown", lambda one: "the best")
    chooser, models = by_value
    model = chooser.best(Request(confidence=0.95, max_loss=max_loss))
    assert model.candidate is models[place]
    (certificate,) = model.guarantee_
    assert (
        certificate.kind == "loss of metric"
        and certificate.seen <= certificate.bound <= max_loss
        and certificate.n_units == 120
    )
    assert f"accuracy is at most {max_loss:g} below that of the best" in str(certificate)


def test_little_money_and_little_loss_are_guaranteed_together(by_value, monkeypatch):
    """What costs 3 loses 0.025, surely less than 0.1; what costs 2 loses 0.083, perhaps more."""
    monkeypatch.setattr("miserly.selection.certification.shown", lambda one: "the best")
    chooser, models = by_value
    model = chooser.best(Request(mean_budget=3.5, confidence=0.95, max_loss=0.1))
    assert model.candidate is models[2] and [one.kind for one in model.guarantee_] == [
        "mean cost",
        "loss of metric",
    ]
    with pytest.raises(CostError, match=r"cannot show.*costs 2\.5 or less on average and loses 0\.1 of acc"):
        chooser.best(Request(mean_budget=2.5, confidence=0.95, max_loss=0.1))
    with pytest.raises(
        CostError, match=r"no model for 1\.5 or less on average loses 0\.1 .* nearest loses 0\.2417"
    ):
        chooser.best(Request(mean_budget=1.5, confidence=0.95, max_loss=0.1))


def test_a_loss_without_a_limit_cannot_be_guaranteed():
    X, _, truth = table(100)
    found = sweep(CostLassoRegressor(), X, truth, certify=0.5, max_fits=3)
    assert found.best(max_loss=0.5).run(X).cost.mean() <= found.best().run(X).cost.mean()
    with pytest.raises(MetricError, match="any amount of mse"):
        found.best(max_loss=0.5, confidence=0.9)


def test_the_reference_is_the_best_whatever_it_costs():
    X, y, _ = table(500)
    found = sweep([CostLassoClassifier(), miser()], X, y, certify=0.5, max_fits=16)
    best, cheap = found.best(max_loss=0.0, confidence=0.9), found.best(max_loss=0.4, confidence=0.9)
    assert best.guarantee_[0].seen == 0.0 == best.guarantee_[0].bound
    assert cheap.run(X).cost.mean() < best.run(X).cost.mean()
    fresh, labels, _ = table(2000, seed=9)
    assert cheap.score(fresh, labels) >= best.score(fresh, labels) - 0.4


def test_in_ranking_queries_are_counted():
    X, _, truth = table(600)
    qid, grade = np.repeat(np.arange(100), 6), np.digitize(truth, [-0.5, 0.5])
    grade[qid < 20] = 0  # of no NDCG
    found = sweep(GreedyMiserRanker(n_rounds=8), X, grade, qid=qid, certify=0.5, max_fits=4)
    model = found.best(mean_budget=26.0, confidence=0.9, max_loss=0.9)
    cost, loss = model.guarantee_
    relevant = np.unique(found.result.kept.qid[found.result.kept.y > 0])
    assert cost.n_units == 50 and loss.n_units == len(relevant) < 45
    paid = model.run(found.result.kept.X, qid=found.result.kept.qid).cost.reshape(50, 6).mean(axis=1)
    assert cost.seen == pytest.approx(paid.mean())


# -- a cap for every row -------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def leaving():
    """Models whose rows leave early, so that what a row pays differs from row to row."""
    X, y, _ = table()
    return sweep([EarlyExit(miser(), every=2), miser()], X, y, max_fits=10)


@pytest.mark.filterwarnings("ignore::miserly.errors.BudgetWarning")  # 0.9 buys nothing
@pytest.mark.parametrize("budget", [0.0, 0.9, 4.0, 12.0, 25.0, 100.0])
def test_no_row_passes_a_budget(leaving, budget, tmp_path):
    model = leaving.best(budget)
    X, _, _ = table(400, seed=3)
    for rows in (X, 1e3 * X, np.full_like(X, np.nan)):
        assert (model.run(rows).cost <= budget).all()
        assert (model.run(rows, budget=1e9, count="tree").cost <= budget).all()
    model.plan_.save(tmp_path / "held.miser")
    again = load(tmp_path / "held.miser")
    assert again.max_cost <= budget and (again.run(X).cost <= budget).all()
    np.testing.assert_array_equal(again.predict(X), model.predict(X))
    np.testing.assert_array_equal(model.predict(X), model.classes_[(model.run(X).scores > 0).astype(int)])
    (certificate,) = model.guarantee_
    assert (certificate.kind, certificate.limit, certificate.confidence) == ("each row", budget, 1.0)
    assert again.guarantees == (f"no row costs more than {budget:g}",)


def test_candidates_are_evaluated_as_they_run_under_the_budget(leaving):
    X, y, _ = table()
    evaluator, budget = leaving.result.evaluator, 12.0
    for one in leaving.candidates:
        (held,) = evaluator.evaluate_under_caps(one, [budget])
        right, paid = [], []
        for plan, (_, test) in zip(one.trial.plans, evaluator.parts, strict=True):
            run = viewed_plan(plan, one.view).run(X[test], budget=budget)
            right += ((run.scores > 0) == y[test]).tolist()
            paid += run.cost.tolist()
        assert held.mean_value == pytest.approx(np.mean(right))
        assert held.mean_cost == pytest.approx(np.mean(paid)) and max(paid) <= held.max_cost <= budget
    best = max(evaluator.evaluate_under_caps(one, [budget])[0].mean_value for one in leaving.candidates)
    assert leaving.chooser._ordered(Request(budget=budget))[0].mean_value == best


def test_a_budget_needs_no_kept_rows(leaving):
    """It is certain, so that the model may learn from all rows, whatever the confidence."""
    X, _, _ = table()
    one, other = leaving.best(12.0), leaving.best(12.0, confidence=0.95)
    np.testing.assert_array_equal(one.decision_function(X), other.decision_function(X))


def test_a_budget_holds_at_other_prices(leaving):
    now = leaving.reprice([10.0, 1.0, 2.0])
    model = now.best(3.0)
    X, y, _ = table(200, seed=4)
    run = model.run(X)
    assert (run.cost <= 3.0).all() and (run.acquired @ [10.0, 1.0, 2.0] <= 3.0).all()
    assert model.score(X, y) > 0.8


def test_hard_is_gone(leaving):
    with pytest.raises(TypeError, match="hard"):
        leaving.best(12.0, hard=True)
    with pytest.raises(TypeError, match="positional"):
        leaving.best(12.0, 0.95)  # was a confidence


def test_a_budget_and_a_loss_are_guaranteed_together():
    X, y, _ = table(600)
    found = sweep([EarlyExit(miser(), every=2)], X, y, certify=0.5, max_fits=6)
    model = found.best(24.0, confidence=0.9, max_loss=0.3)
    assert [one.kind for one in model.guarantee_] == ["each row", "loss of metric"]
    assert (model.run(1e3 * X).cost <= 24.0).all()


# -- what cannot be requested ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("asked", "error", "message"),
    [
        ({"budget": -1.0}, CostError, "budget cannot be -1"),
        ({"budget": np.nan}, CostError, "budget cannot be nan"),
        ({"budget": "30"}, CostError, "a number or None"),
        ({"budget": 5.0, "confidence": 0.0}, DataError, "between 0 and 1"),
        ({"budget": 5.0, "confidence": 1.0}, DataError, "between 0 and 1"),
        ({"budget": 5.0, "confidence": 2}, DataError, "between 0 and 1"),
        ({"budget": 5.0, "confidence": True}, DataError, "between 0 and 1"),
        ({"budget": 5.0, "max_loss": -0.01}, DataError, "0 or more, not -0.01"),
        ({"budget": 5.0, "max_loss": np.nan}, DataError, "0 or more, not nan"),
        ({"max_loss": "1 %"}, DataError, "0 or more, not '1 %'"),
        ({"confidence": 0.9}, DataError, "nothing to guarantee"),
        ({"mean_budget": -1.0}, CostError, "budget cannot be -1"),
    ],
)
def test_what_makes_no_sense_is_reported(leaving, asked, error, message):
    with pytest.raises(error, match=message):
        leaving.best(**asked)


def test_a_budget_below_the_cheapest_says_what_that_costs(vouched):
    one = candidate(np.full(4, 3.0), np.ones(4))
    with pytest.raises(CostError, match="no model costs 2 or less on average; the cheapest costs 3"):
        vouched([one], [bill([3.0])]).best(Request(mean_budget=2.0))


def test_without_a_request_the_most_accurate_is_taken(leaving):
    best = leaving.pareto().iloc[-1]
    assert type(leaving.best()).__name__ == best.learner


def test_one_model_is_fitted_once_for_several_requests(leaving, monkeypatch):
    fits, fit = [], CandidateLearner.fit
    monkeypatch.setattr(
        CandidateLearner, "fit", lambda self, rows, value: fits.append(self) or fit(self, rows, value)
    )
    leaving.__dict__.pop("chooser", None)
    first, second = leaving.best(mean_budget=26.0), leaving.best(25.9)
    assert len(fits) == 1
    assert first is not second
    assert first.plan_.budget != second.plan_.budget


class Changeable(GreedyMiserClassifier):
    """Buys nothing once there are 240 rows."""

    def fit(self, X, y, sample_weight=None):
        if len(X) >= 240:
            self.budget = 0.0
        return super().fit(X, y, sample_weight=sample_weight)


def test_a_model_that_is_another_one_with_all_rows_is_not_taken():
    X, y, _ = table(240)
    changeable = Changeable(n_rounds=20, max_depth=2)
    found = sweep([changeable, CostLassoClassifier()], X, y, max_fits=9)
    assert "Changeable" in set(found.pareto().learner)
    expensive = found.pareto().query("learner == 'Changeable'").cost.max()
    model = found.best(mean_budget=expensive)
    assert type(model) is CostLassoClassifier and model.score(X, y) > 0.8
    alone = sweep([changeable], X, y, max_fits=6)
    with pytest.warns(BudgetWarning, match="cost more, or are worse, when fitted to all rows"):
        assert alone.best(mean_budget=expensive).score(X, y) < 0.7  # there is no other learner


def test_a_model_whose_rows_the_cap_stops_once_it_is_fitted_to_all_rows_is_not_taken(monkeypatch):
    """The first refit learns all rows by heart with two features, and would then buy the third."""
    X, y, _ = table(240)
    by_heart = GreedyMiserClassifier(n_rounds=200, max_depth=8, costs=COSTS)
    by_heart.fit(X * [1.0, 1.0, 0.0], y)
    changed = Handover.of(by_heart, miser(costs=COSTS).fit(X, y), threshold=1.0)
    assert changed.run(X, budget=6.0).cost.max() <= 6.0 < changed.run(X).cost.min()
    assert (changed.run(X, budget=6.0).scores.ravel() > 0).astype(int).tolist() == y.tolist()
    found, original, refits = sweep([miser(), CostLassoClassifier()], X, y), Refitter.fit, []

    def refit(self, chosen, rows, request):
        refits.append(chosen)
        if chosen is not refits[0] and chosen.trial is not refits[0].trial:
            return original(self, chosen, rows, request)
        model = copy(changed)
        model.plan_ = changed.plan_.replace(budget=request.budget if request.is_capped else None)
        return model

    monkeypatch.setattr(Refitter, "fit", refit)
    model = found.best(6.0)
    assert type(model) is not Handover and refits[-1].trial is not refits[0].trial
    fresh, labels, _ = table(1000, seed=1)
    assert model.score(fresh, labels) > 0.75
