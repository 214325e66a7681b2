"""Lossless exits for estimators, and `thrift`: the steps that make a fitted model cheaper."""

from __future__ import annotations

from copy import copy

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.ensemble import RandomForestClassifier, RandomForestRegressor

from miserly import (
    AdaBoostBTClassifier,
    Costs,
    CronusClassifier,
    EarlyExit,
    GreedyMiserClassifier,
    GreedyMiserRanker,
    GreedyMiserRegressor,
    adopt,
    load,
    thrift,
)
from miserly.costs.amounts import AmountCells
from miserly.datasets import make_ranking
from miserly.errors import DataError, PlanError
from miserly.learners.wrap.adopt import Addend, AdoptedModel
from miserly.learners.wrap.exits import StagedScores, exit_gates, leave, lossless_exits
from miserly.learners.wrap.sure_exits import sure_threshold, values_of_units
from miserly.metrics import get_metric
from miserly.plan import Decision, Raw, Settled, SettledTop
from miserly.runtime import OnDemand

RNG = np.random.default_rng(0)
X = RNG.normal(size=(1200, 5))
X[RNG.random(X.shape) < 0.05] = np.nan
WEIGHTS = np.array([3.0, 2.0, 1.0, 0.5, 0.2])
Y = np.nan_to_num(X) @ WEIGHTS + RNG.normal(size=1200) > 0
THREE = np.digitize(np.nan_to_num(X) @ WEIGHTS, [-2.0, 2.0])
COSTS = Costs([1.0, 2.0, 4.0, 8.0, 16.0], unit="CAD")
TRAIN, TEST = slice(0, 800), slice(800, None)


@pytest.fixture(scope="module")
def two():
    return GreedyMiserClassifier(costs=COSTS, n_rounds=60, max_depth=2).fit(X[TRAIN], Y[TRAIN])


@pytest.fixture(scope="module")
def three():
    return GreedyMiserClassifier(costs=COSTS, n_rounds=20, max_depth=2).fit(X[TRAIN], THREE[TRAIN])


@pytest.fixture(scope="module")
def ranking():
    return make_ranking(1500, 30, random_state=0)


@pytest.fixture(scope="module")
def ranker(ranking):
    return GreedyMiserRanker(costs=ranking.costs, n_rounds=20).fit(ranking.X, ranking.y, qid=ranking.qid)


# -- EarlyExit -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("budget", [None, 7.0, 15.0])
def test_lossless_exits_change_no_class_at_any_budget(two, three, budget):
    for model, y in ((two, Y), (three, THREE)):
        early = EarlyExit(model, rule="lossless", every=1, prefit=True).fit(X[TRAIN], y[TRAIN])
        np.testing.assert_array_equal(early.predict(X[TEST], budget), model.predict(X[TEST], budget))
        one, other = (each.run(X[TEST], budget) for each in (early, model))
        assert (one.cost <= other.cost).all()
        assert (one.exit < other.exit).any()
        assert np.isnan(early.threshold_)


def test_lossless_exits_need_no_validation_set(two):
    early = EarlyExit(clone(two), rule="lossless", every=5).fit(X[TRAIN], Y[TRAIN])
    assert early.estimator_.plan_.digest == two.plan_.digest


def test_bought_features_settle_rows_only_where_evaluations_are_free(two):
    priced = clone(two).set_params(costs=Costs(COSTS.feature, evaluation=0.1)).fit(X[TRAIN], Y[TRAIN])
    for model, known in ((two, 1), (priced, 0)):
        plan = EarlyExit(model, rule="lossless", prefit=True).fit(X[TRAIN], Y[TRAIN]).plan_
        assert {node.gate for node in plan.nodes if node.is_exit} == {Settled(known)}


def test_lossless_exits_keep_the_best_documents(ranker, ranking):
    early = EarlyExit(ranker, rule="lossless", every=2, k=3, prefit=True)
    early.fit(ranking.X, ranking.y, qid=ranking.qid)
    assert early.plan_.nodes[1].gate == SettledTop(3)
    full, ranked = ranker.predict(ranking.X), early.predict(ranking.X, qid=ranking.qid)
    for query in np.unique(ranking.qid):
        rows = np.flatnonzero(ranking.qid == query)
        best = rows[np.argsort(-full[rows], kind="stable")[:3]]
        np.testing.assert_array_equal(ranked[best], full[best])
        assert set(best) == set(rows[np.argsort(-ranked[rows], kind="stable")[:3]])
    assert early.run(ranking.X, qid=ranking.qid).cost.mean() < ranker.run(ranking.X).cost.mean()
    with pytest.raises(DataError, match="qid"):
        early.predict(ranking.X)


def test_a_tolerance_lets_more_rows_leave(two):
    strict, loose = (
        EarlyExit(two, tolerance=tolerance, prefit=True).fit(X[TEST], Y[TEST]) for tolerance in (0.0, 0.05)
    )
    assert loose.saving_ > strict.saving_
    assert loose.score(X[TEST], Y[TEST]) >= two.score(X[TEST], Y[TEST]) - 0.05


@pytest.mark.parametrize(
    ("options", "message"),
    [({"threshold": 0.9}, "no threshold"), ({"saving": 0.5}, "no threshold and no saving")],
)
def test_lossless_exits_have_nothing_to_choose(two, options, message):
    with pytest.raises(DataError, match=message):
        EarlyExit(two, rule="lossless", prefit=True, **options).fit(X, Y)


# -- Cronus --------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def stumps():
    return AdaBoostBTClassifier(costs=COSTS, budget=31, n_rounds=20, max_depth=1).fit(X[TRAIN], Y[TRAIN])


def test_cronus_weighs_the_trees_of_a_fitted_model(stumps):
    model = CronusClassifier(costs=COSTS, terms=stumps.plan_, n_stages=2, tradeoff=1e-2, positive_weight=1.0)
    model = clone(model).fit(X[TRAIN], Y[TRAIN])
    splits = {(tree.feature.tobytes(), tree.threshold.tobytes()) for tree in stumps.plan_.terms}
    used = {t for node in model.plan_.nodes for t in node.terms.tolist()}
    terms = [model.plan_.terms[t] for t in used]
    assert terms and all((tree.feature.tobytes(), tree.threshold.tobytes()) in splits for tree in terms)
    assert model.score(X[TEST], Y[TEST]) > 0.8
    assert model.run(X[TEST]).cost.mean() < stumps.run(X[TEST]).cost.mean()


def test_cronus_leaves_out_trees_that_the_budget_cannot_pay(stumps):
    model = CronusClassifier(costs=COSTS, terms=stumps.plan_, budget=3, n_stages=2).fit(X[TRAIN], Y[TRAIN])
    assert model.run(X[TEST]).cost.max() <= 3.0 and len(model.features_)


def test_cronus_refuses_plans_that_are_no_sum_of_trees_over_the_same_columns(two):
    gates = EarlyExit(two, rule="lossless", prefit=True).fit(X, Y).plan_
    with pytest.raises(DataError, match="a sum of trees"):
        CronusClassifier(terms=gates).fit(X, Y)
    with pytest.raises(DataError, match="5 columns, and X has 4"):
        CronusClassifier(terms=two.plan_).fit(X[:, :4], Y)


# -- thrift --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("case", ["two", "three"])
def test_no_step_changes_a_class_and_no_row_pays_more(case, request):
    model, y = request.getfixturevalue(case), {"two": Y, "three": THREE}[case]
    done = thrift(model, X[TEST], y[TEST])
    assert [step.name for step in done.steps] == ["as it was", "merged", "reordered", "lossless exits"]
    assert [step.changed for step in done.steps] == [0, 0, 0, 0]
    assert len({step.metric for step in done.steps}) == 1
    for plan in done.plans:
        np.testing.assert_array_equal(plan.predict(X[TRAIN]), model.predict(X[TRAIN]))
    np.testing.assert_array_equal(done.estimator.predict(X[TRAIN]), model.predict(X[TRAIN]))
    full = done.plans[2].run(X[TRAIN]).cost
    assert (done.plan.run(X[TRAIN]).cost <= full).all()
    assert done.steps[-1].cost < done.steps[0].cost


def test_the_table_shows_what_each_step_saved(two):
    table = str(thrift(two, X[TEST], Y[TEST])).splitlines()
    assert table[0].split() == ["step", "price", "(CAD)", "saved", "trees", "changed", "accuracy"]
    assert [line.split("  ")[0] for line in table[1:]] == [
        "as it was",
        "merged",
        "reordered",
        "lossless exits",
    ]


def test_with_a_tolerance_rows_that_are_sure_enough_leave_too(two):
    done = thrift(two, X[TEST], Y[TEST], tolerance=0.02, confidence=None, every=3)
    last, before = done.steps[-1], done.steps[-2]
    assert last.name == "early exits" and last.cost < before.cost
    assert last.metric >= before.metric - 0.02
    kinds = {node.gate.kind for node in done.plan.nodes if node.is_exit}
    assert kinds == {"confidence", "settled"}
    assert done.estimator.plan_ is done.plan


def test_a_tolerance_is_for_new_rows_with_a_confidence(two):
    # 200 draws of 400 rows to choose on: with 90 % confidence at most a tenth may lose more on all rows.
    plan = thrift(two, X, Y, every=3).plans[2]
    staged = StagedScores.of(plan, X, range(3, len(plan.nodes), 3), None, None)
    right = values_of_units(get_metric("accuracy"), staged, Y.astype(int), None)
    full = right(np.full(len(X), staged.n_exits)).mean()
    rng, worse, exiting = np.random.default_rng(0), 0, 0
    for _ in range(200):
        rows = rng.integers(0, len(X), 400)
        some = StagedScores(staged.scores[:, rows], staged.cost[:, rows], staged.link)
        values = values_of_units(get_metric("accuracy"), some, Y[rows].astype(int), None)
        threshold = sure_threshold("confidence", some, 5, values, tolerance=0.02, confidence=0.9)
        exits = leave(staged, exit_gates("confidence", threshold, staged.n_exits, 5))
        worse += right(exits).mean() < full - 0.02
        exiting += threshold < np.inf
    assert worse <= 20 and exiting > 100


def test_few_rows_show_nothing_so_only_lossless_exits_stay(two):
    done = thrift(two, X[TEST][:50], Y[TEST][:50], tolerance=0.01, every=3)
    assert done.steps[-1].name == "early exits" and done.steps[-1].cost == done.steps[-2].cost
    with pytest.raises(DataError, match="confidence must be"):
        thrift(two, X[TEST], Y[TEST], tolerance=0.01, confidence=95)
    with pytest.raises(DataError, match="confidence=None"):
        thrift(two, X[TEST], Y[TEST], tolerance=0.01, metric="log_loss")


def test_the_best_documents_of_queries_stay(ranker, ranking):
    done = thrift(ranker, ranking.X, ranking.y, ranking.qid, k=3, tolerance=0.01)
    assert [step.changed for step in done.steps[:4]] == [0, 0, 0, 0]
    assert done.steps[3].cost < done.steps[2].cost
    assert done.steps[4].cost <= done.steps[3].cost
    assert done.metric == "ndcg@5"


def test_numbers_stay_and_are_not_settled():
    y = np.nan_to_num(X) @ WEIGHTS
    model = GreedyMiserRegressor(costs=COSTS, n_rounds=20).fit(X[TRAIN], y[TRAIN])
    done = thrift(model, X[TEST], y[TEST])
    assert [step.name for step in done.steps] == ["as it was", "merged", "reordered"]
    np.testing.assert_allclose(done.estimator.predict(X), model.predict(X), rtol=0, atol=1e-12)
    with pytest.raises(DataError, match="tolerance"):
        thrift(model, X[TEST], y[TEST], tolerance=0.1)


OUTCOMES = [
    ("two", [[0.0, 1.0], [9.0, 0.0]]),
    ("two", [[0.0, 3.0, 1.0], [9.0, 0.0, 1.0]]),  # the last column is an action
    ("three", [[0.0, 1.0, 4.0], [2.0, 0.0, 2.0], [9.0, 3.0, 0.0]]),
    ("three", [[0.0, 1.0, 4.0, 0.6], [2.0, 0.0, 2.0, 0.6], [9.0, 3.0, 0.0, 0.6]]),
]


@pytest.mark.parametrize(("case", "outcomes"), OUTCOMES)
def test_decisions_by_the_costs_of_outcomes_stay(case, outcomes, request):
    """New rows, at every budget: the answer of least expected cost is that of the whole model."""
    model = copy(request.getfixturevalue(case))
    model.plan_ = model.plan_.with_outcome_costs(outcomes)
    labels = Y if case == "two" else THREE
    done = thrift(model, X[TEST], labels[TEST])
    assert [step.changed for step in done.steps] == [0, 0, 0, 0]
    assert done.steps[3].cost < done.steps[2].cost
    new = np.random.default_rng(7).normal(size=(20_000, 5)) * 1.5
    for budget in (3.0, 12.0, None):
        whole = done.plans[2].predict(new, budget)
        assert (done.plan.predict(new, budget) == whole).all()
    assert len(np.unique(whole.astype(str))) == len(outcomes[0])
    with pytest.raises(DataError, match="decides by the costs of outcomes"):
        thrift(model, X[TEST], labels[TEST], tolerance=0.01)


@pytest.mark.parametrize(("case", "outcomes"), OUTCOMES[1::2])
def test_the_metric_of_decisions_is_that_of_the_answers(case, outcomes, request):
    model, table = copy(request.getfixturevalue(case)), np.array(outcomes)
    model.plan_ = model.plan_.with_outcome_costs(outcomes)
    labels = (Y if case == "two" else THREE)[TEST]
    answers = model.predict(X[TEST])
    names = [str(one) for one in np.unique(labels).tolist()] + ["refer"]
    codes = np.array([names.index(one) for one in answers.astype(str).tolist()])
    mistakes = table[labels.astype(int), codes].mean()
    for metric, expected in (("outcome_cost", mistakes), ("accuracy", (codes == labels.astype(int)).mean())):
        done = thrift(model, X[TEST], labels, metric=metric)
        assert [step.metric for step in done.steps] == pytest.approx([expected] * 4, rel=1e-12)
    done = thrift(model, X[TEST], labels)
    assert done.metric == "total_cost"
    assert [step.metric - step.cost for step in done.steps] == pytest.approx([mistakes] * 4, rel=1e-9)


def test_decisions_by_own_amounts_are_refused(two):
    """The bounds of lossless exits are for costs that are the same for all rows."""
    model = copy(two)
    cells = AmountCells(np.array([[-1, -1], [4, -1]]), np.ones((2, 2)))
    decision = Decision(np.array([[0.0, 1.0], [2.0, 0.0]]), amounts=cells)
    model.plan_ = model.plan_.replace(decision=decision)
    with pytest.raises(DataError, match="decides by the amount of each row"):
        thrift(model, X[TEST], Y[TEST])
    with pytest.raises(DataError, match="decides by the amount of each row"):
        EarlyExit(model, prefit=True, rule="lossless").fit(X[TEST], Y[TEST])
    gated = lossless_exits(two.plan_, every=1, k=5)
    with pytest.raises(PlanError, match="suits no decision by own amounts"):
        gated.replace(decision=decision)


def test_other_costs_can_be_given(two):
    done = thrift(two, X[TEST], Y[TEST], costs=Costs([16.0, 8.0, 4.0, 2.0, 1.0], evaluation=0.5))
    assert done.plan.costs.evaluation == 0.5 and done.steps[0].changed == 0
    evaluations = 0.5 * done.steps[0].trees
    assert done.steps[0].cost == pytest.approx(31.0 + evaluations, abs=3.0)


def test_merged_stumps_are_evaluated_once():
    stumps = AdaBoostBTClassifier(
        costs=Costs(COSTS.feature, evaluation=1.0), budget=90, n_rounds=60, max_depth=1
    )
    done = thrift(stumps.fit(X[TRAIN], Y[TRAIN]), X[TEST], Y[TEST])
    assert done.steps[1].trees <= 5 < done.steps[0].trees
    assert done.steps[1].changed == 0


def test_models_of_other_libraries_are_adopted():
    lightgbm = pytest.importorskip("lightgbm")
    booster = lightgbm.LGBMClassifier(n_estimators=30, num_leaves=7, verbose=-1, n_jobs=1).fit(
        X[TRAIN], Y[TRAIN]
    )
    done = thrift(booster, X[TEST], Y[TEST], costs=COSTS)
    np.testing.assert_array_equal(done.estimator.predict(X), booster.booster_.predict(X) > 0.5)
    assert done.steps[-1].cost < done.steps[0].cost


def test_a_saved_plan_runs_on_demand_as_in_the_batch(two, tmp_path):
    plan = thrift(two, X[TEST], Y[TEST], every=1).plan
    plan.save(tmp_path / "two.miser")
    again = load(tmp_path / "two.miser")
    run = again.run(X[TEST][:20])
    for i, row in enumerate(X[TEST][:20]):
        sources = {f: (lambda _, f=f, row=row: row[f]) for f in range(5)}
        receipt = OnDemand(again, sources=sources).predict({})
        assert receipt.cost == pytest.approx(run.cost[i])
        assert receipt.answer == plan.predict(X[TEST][i : i + 1])[0]


def test_what_is_not_a_sum_is_refused(two):
    with pytest.raises(DataError, match="a sum of terms"):
        thrift(EarlyExit(two, rule="lossless", prefit=True).fit(X, Y), X, Y)
    with pytest.raises((DataError, ValueError)):
        thrift(RandomForestClassifier(), X, Y)
    numbers = np.nan_to_num(X) @ WEIGHTS
    forest = RandomForestRegressor(3, max_depth=2, random_state=0).fit(np.nan_to_num(X), numbers)
    with pytest.raises(DataError, match="a forest that averages numbers"):
        thrift(forest, np.nan_to_num(X), numbers)


@pytest.mark.parametrize("link", ["one_vs_rest", "one_vs_rest_shares", "sign"])
def test_a_tolerance_needs_probabilities_of_all_classes_together(link):
    n_scores = 1 if link == "sign" else 3
    steps = [[Addend(term, channel=c, weight=c - 0.5) for c in range(n_scores)] for term in range(2)]
    read = AdoptedModel("classes", [Raw(0), Raw(1)], steps, np.zeros(n_scores), n_features=2, link=link)
    model, values, y = adopt(read), X[TEST, :2], THREE[TEST] % max(2, n_scores)
    assert thrift(model, values, y).steps[-1].changed == 0
    with pytest.raises(DataError, match="by the probability of their class"):
        thrift(model, values, y, tolerance=0.01)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"tolerance": -0.1}, "tolerance must be a number of 0 or more, got -0.1"),
        ({"tolerance": "0.1"}, "tolerance must be a number of 0 or more, got '0.1'"),
        ({"every": 0}, "'every' parameter"),
        ({"y": [None] * 300}, r"y\[0\] is None"),
        ({"y": [0, 1]}, "y has 2 labels for 300 rows"),
    ],
)
def test_wrong_arguments_are_refused(two, given, message):
    rows, y = X[:300], Y[:300]
    with pytest.raises(ValueError, match=message):
        thrift(two, rows, **{"y": y, **given})


def test_a_forest_of_classes_keeps_them():
    filled = np.nan_to_num(X)
    forest = RandomForestClassifier(15, max_depth=4, random_state=0).fit(filled[TRAIN], THREE[TRAIN])
    done = thrift(forest, filled[TEST], THREE[TEST], costs=COSTS)
    assert [step.changed for step in done.steps] == [0, 0, 0, 0]
    np.testing.assert_array_equal(done.estimator.predict(filled), forest.predict(filled))
