"""Frontiers with outcome costs: totals, choices by totals, handovers, guarantees and words."""

import numpy as np
import pytest

from miserly import BudgetedEstimator, CostLassoClassifier, GreedyMiserClassifier, OutcomeCosts, frontier
from miserly.errors import CostError, DataError, MetricError
from miserly.metrics import outcome_cost, total_cost

MISSED = {("ill", "well"): 90.0, ("well", "ill"): 20.0}
COSTS = [0.1, 0.8, 1.5]


def table(n=600, seed=0):
    random = np.random.default_rng(seed)
    X = random.normal(size=(n, 3))
    ill = random.random(n) < 1.0 / (1.0 + np.exp(-2.0 * X @ [1.0, 1.0, 0.5]))
    return X, np.where(ill, "ill", "well")


@pytest.fixture(scope="module")
def found():
    X, y = table()
    learners = [GreedyMiserClassifier(n_rounds=60), CostLassoClassifier()]
    return frontier(
        learners, X, y, costs=COSTS, outcome_costs=MISSED, max_fits=14, handovers=True, random_state=0,
        certify=0.2,
    )  # fmt: skip


def test_the_metric_is_the_total_cost_by_default(found):
    assert (found.metric, found.greater_is_better) == ("total_cost", False)
    for one in found.candidates:
        np.testing.assert_allclose(one.value, one.cost + one.mistakes)
        np.testing.assert_array_equal(one.value, one.total)


def test_totals_of_candidates_are_those_of_their_plans(found):
    rows, parts = found.search_rows, found.splits
    for one in [found.candidates[0], found.pareto_candidates[-1]]:
        if "handover" in one.view:
            continue
        from miserly.selection.hyperparameters import viewed_plan

        runs = [
            (plan.run(rows.X[test]), plan.predict(rows.X[test]), rows.y[test])
            for plan, (_, test) in zip(
                [viewed_plan(p, one.view) for p in one.trial.plans], parts, strict=True
            )
        ]
        cost = np.concatenate([run.cost for run, _, _ in runs])
        answers, actual = (np.concatenate([run[i] for run in runs]) for i in (1, 2))
        expected = total_cost(actual, answers, cost, OutcomeCosts(MISSED))
        assert one.mean_value == pytest.approx(expected)
        assert one.mistakes.mean() == pytest.approx(outcome_cost(actual, answers, OutcomeCosts(MISSED)))


def test_the_best_by_total_has_the_least_total(found):
    model = found.best(objective="total")
    assert model.plan_.decision is not None
    total = found.total()
    assert total["tests"] + total["mistakes"] == pytest.approx(total["total"])
    assert total["total_low"] < total["total"] < total["total_high"]
    constant = next(one for one in found.candidates if one.is_constant)
    least = min(one.mean_value for one in found.candidates)
    assert least <= total["total"] < constant.mean_value
    assert total["words"] == (
        f"Tests {total['tests']:.2f} + mistakes {total['mistakes']:.2f} = {total['total']:.2f} per row"
    )
    new, actual = table(2000, seed=1)
    reached = total_cost(actual, model.predict(new), model.run(new), OutcomeCosts(MISSED))
    assert total["total_low"] - 3 < reached < total["total_high"] + 3


def test_no_model_is_taken_if_a_constant_answer_has_the_least_total():
    """The free feature is noise, so a model of it is worse than to refer every row at a cost of 2."""
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(400, 2)), (rng.random(400) < 0.2).astype(int)
    referred = OutcomeCosts({(0, 1): 8.0, (1, 0): 20.0, "refer": 2.0})
    search = {"costs": [0.0, 1.0], "outcome_costs": referred, "max_fits": 2, "random_state": 0}
    found = frontier(GreedyMiserClassifier(n_rounds=10, max_depth=2), X, y, **search)
    values = {one.view.get("rounds"): one.mean_value for one in found.candidates if one.is_constant}
    assert values[None] > values[0] == 2.0 == found.total()["total"]
    assert set(found.best(objective="total").predict(X)) == {"refer"}


def test_a_cap_holds_for_the_best_by_total(found):
    model = found.best(budget=0.5, objective="total")
    assert model.run(table()[0]).cost.max() <= 0.5
    assert found.total(0.5)["tests"] <= 0.5


def test_another_metric_keeps_the_totals(found):
    X, y = table()
    other = frontier(
        CostLassoClassifier(), X, y, costs=COSTS, outcome_costs=MISSED, metric="accuracy", max_fits=4,
        random_state=0,
    )  # fmt: skip
    assert other.metric == "accuracy"
    totals = other.by_total
    assert totals.metric == "total_cost"
    for one, two in zip(other.candidates, totals.candidates, strict=True):
        np.testing.assert_array_equal(two.value, one.total)
    least = min(totals.candidates, key=lambda one: one.mean_value)
    assert other.best(objective="total").run(X).cost.mean() <= least.mean_cost + 5


def test_pairs_are_priced_as_their_joined_plans(found):
    pairs = [one for one in found.candidates if "handover" in one.view]
    assert pairs
    found_again = found.result.evaluator.evaluate(pairs[0].trial)
    for two in found_again:
        one = next(one for one in pairs if one.trial is two.trial and one.view == two.view)
        np.testing.assert_allclose(one.value, two.value, atol=1e-9)
        np.testing.assert_allclose(one.mistakes, two.mistakes, atol=1e-9)


def test_a_loss_of_the_total_can_be_guaranteed(found):
    model = found.best(max_loss=100.0, confidence=0.9)
    (one,) = [one for one in model.guarantee_ if one.kind == "loss of metric"]
    assert one.bound <= 100.0
    constant = next(one for one in found.candidates if one.is_constant)
    gap = constant.mean_value - min(one.mean_value for one in found.candidates)
    with pytest.raises(CostError, match="cannot show"):
        found.best(budget=0.0, max_loss=gap + 0.01, confidence=0.99)


def test_without_outcome_costs_there_is_no_total():
    X, y = table(100)
    with pytest.raises(MetricError, match="outcome_costs"):
        frontier(CostLassoClassifier(), X, y, metric="total_cost", max_fits=2)
    plain = frontier(CostLassoClassifier(), X, y, max_fits=2, random_state=0)
    with pytest.raises(MetricError, match="outcome_costs"):
        plain.best(objective="total")
    with pytest.raises(DataError, match="objective"):
        plain.best(objective="money")


def test_a_cached_search_depends_on_the_outcome_costs(tmp_path):
    X, y = table(100)
    kept = {"costs": COSTS, "max_fits": 2, "random_state": 0, "cache": tmp_path}
    first = frontier(CostLassoClassifier(), X, y, outcome_costs=MISSED, **kept)
    n_files = len(list(tmp_path.iterdir()))
    again = frontier(CostLassoClassifier(), X, y, outcome_costs=MISSED, **kept)
    assert len(list(tmp_path.iterdir())) == n_files
    assert [one.mean_value for one in again.candidates] == [one.mean_value for one in first.candidates]
    frontier(CostLassoClassifier(), X, y, outcome_costs=[[0, 5], [1, 0]], **kept)
    assert len(list(tmp_path.iterdir())) > n_files


def test_amounts_of_rows_and_an_action():
    pd = pytest.importorskip("pandas")
    X, y = table(200)
    frame = pd.DataFrame(np.abs(X), columns=["a", "b", "amount"])
    costs = {("ill", "well"): "amount", ("well", "ill"): 0.5, "refer": 0.2}
    found = frontier(
        CostLassoClassifier(), frame, y, costs=[0.01, 0.02, 0.03], outcome_costs=costs, max_fits=3,
        random_state=0,
    )  # fmt: skip
    model = found.best()
    assert set(model.predict(frame)) <= {"ill", "well", "refer"}
    # the amount of each row is what a missed one costs
    answers = np.full(200, "well")
    given = found.rows.outcomes.cost_of(y, answers)
    np.testing.assert_allclose(given, np.where(y == "ill", frame["amount"], 0.0))


def test_a_budgeted_estimator_takes_outcome_costs():
    X, y = table(200)
    model = BudgetedEstimator(
        1.0, costs=COSTS, outcome_costs=MISSED, learners=CostLassoClassifier(), max_fits=3, random_state=0
    ).fit(X, y)
    assert model.frontier_.metric == "total_cost"
    np.testing.assert_array_equal(model.plan_.decision.costs, [[0, 90], [20, 0]])
    assert model.run(X).cost.max() <= 1.0


# -- amounts of rows -----------------------------------------------------------------------------------------

THEFT = OutcomeCosts({("fraud", "fine"): "amount", ("fine", "fraud"): 15.0, "call": "0.2 * fee"})
PRICES = {"a": 0.2, "b": 0.5, "c": 1.0, "amount": 0.0, "fee": 0.1}


def payments(n=800, seed=0):
    pd = pytest.importorskip("pandas")
    random = np.random.default_rng(seed)
    signs = random.normal(size=(n, 3))
    fraud = signs @ [1.5, 1.0, 0.5] + random.normal(size=n) > 1.5
    frame = pd.DataFrame(signs, columns=["a", "b", "c"])
    frame = frame.assign(amount=random.lognormal(3.0, 1.2, n), fee=random.uniform(10.0, 90.0, n))
    return frame, np.where(fraud, "fraud", "fine")


@pytest.fixture(scope="module")
def of_payments():
    X, y = payments()
    learners = [GreedyMiserClassifier(n_rounds=40), CostLassoClassifier()]
    return frontier(learners, X, y, costs=PRICES, outcome_costs=THEFT, max_fits=12, handovers=True,
                    random_state=0)  # fmt: skip


def test_a_frontier_values_decisions_by_own_amounts(of_payments):
    from miserly.selection.hyperparameters import viewed_plan

    found, seen = of_payments, 0
    for one in found.candidates:
        if "handover" in one.view or one.is_constant:
            continue
        totals = []
        for plan, (_, test) in zip(one.trial.plans, found.splits, strict=True):
            viewed = viewed_plan(plan, one.view)
            assert viewed.amount_columns == (3, 4)
            rows = found.search_rows.take(test)
            own = dict(zip(PRICES, rows.X.values.T, strict=True))
            mistakes = THEFT.fill(own.__getitem__).cost_of(rows.y, viewed.predict(rows.X))
            totals.append(viewed.run(rows.X).cost + mistakes)
        np.testing.assert_allclose(one.total.mean(), np.concatenate(totals).mean())
        seen += 1
    assert seen > 5


def test_the_best_model_decides_by_own_amounts_and_costs_less_than_by_means(of_payments):
    model = of_payments.best(objective="total")
    assert model.plan_.amount_columns == (3, 4)
    new, truth = payments(6000, seed=1)
    X, y = payments()
    values = {name: X[name].to_numpy() for name in ("amount", "fee")}
    fixed = {("fraud", "fine"): values["amount"], ("fine", "fraud"): 15.0, "call": 0.2 * values["fee"]}
    learners = [GreedyMiserClassifier(n_rounds=40), CostLassoClassifier()]
    by_means = frontier(learners, X, y, costs=PRICES, outcome_costs=fixed, max_fits=12, random_state=0)
    filled = THEFT.fill(lambda name: new[name])

    def total(one):
        return one.run(new).cost.mean() + filled.cost_of(truth, one.predict(new)).mean()

    other = by_means.best(objective="total")
    assert other.plan_.amount_columns == ()
    assert total(model) < 0.95 * total(other)
    claimed = of_payments.total()
    assert claimed["total_low"] < total(model) < claimed["total_high"]


def test_the_constant_answer_reads_only_amounts_that_are_free(of_payments):
    constant = next(one for one in of_payments.candidates if one.is_constant)
    assert constant.mean_cost == 0.0
    by_amount = set()
    for plan in constant.trial.plans:
        run = plan.run(payments()[0])
        assert (run.cost.max(), run.acquired[:, 3].all(), run.acquired[:, [0, 1, 2, 4]].any()) == (
            0,
            True,
            False,
        )
        by_amount.update(plan.predict(payments()[0]).tolist())
    assert len(by_amount) > 1
