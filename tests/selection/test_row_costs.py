"""Searches over rows that know some features, and that pay their own prices."""

import joblib
import numpy as np
import pytest

from miserly import BudgetedEstimator, CostLassoClassifier, Costs, EarlyExit, GreedyMiserClassifier, frontier
from miserly.errors import CostError, DataError

COSTS = Costs(
    {"age": 0.0, "blood": 4.0, "scan": 10.0, "noise": 1.0},
    groups={"lab": {"features": ["blood", "noise"], "setup": 2.0}},
    unit="CAD",
)


def draw(n=400, seed=0):
    """The scan says most; half of the rows have it already. Blood costs young rows nothing."""
    rng = np.random.default_rng(seed)
    age, blood, scan, noise = rng.normal(size=(4, n))
    y = (0.3 * age + blood + 2.0 * scan + 0.5 * rng.normal(size=n) > 0).astype(int)
    known = np.zeros((n, 4), dtype=bool)
    known[:, 2] = rng.random(n) < 0.5
    prices = np.tile(COSTS.feature, (n, 1))
    prices[age < 0, 1] = 0.0
    return np.column_stack([age, blood, scan, noise]), y, known, prices


X, Y, KNOWN, PRICES = draw()
LEARNERS = [CostLassoClassifier(), GreedyMiserClassifier(n_rounds=12, max_depth=2)]
SEARCH = {"costs": COSTS, "max_fits": 8, "random_state": 0, "cv": 2}


def by_hand(one, evaluator, cap=np.inf):
    """What held-out rows pay, from runs of the plans of a candidate."""
    paid = []
    for plan, (_, test) in zip(one.trial.plans, evaluator.parts, strict=True):
        rows = evaluator.rows.take(test)
        whole = plan if not one.view else plan.prefix(_length(plan, one.view))
        run = whole.run(rows.X, cap, known=rows.row_costs.known, prices=rows.row_costs.prices)
        paid.append(run.cost)
    return np.concatenate(paid)


def _length(plan, view):
    from miserly.selection.hyperparameters import n_nodes

    return n_nodes(plan, view)


@pytest.fixture(scope="module")
def found():
    return frontier(LEARNERS, X, Y, known=KNOWN, prices=PRICES, certify=0.0, **SEARCH)


def test_candidates_are_evaluated_at_what_held_out_rows_pay(found):
    evaluator = found.result.evaluator
    checked = 0
    for one in found.candidates:
        if set(one.view) <= {"rounds", "up_to_cost"}:
            np.testing.assert_allclose(one.cost, by_hand(one, evaluator), atol=1e-9)
            checked += 1
    assert checked > 5
    assert max(one.mean_cost for one in found.candidates) > 3.0


def test_rows_that_know_more_pay_less(found):
    plain = frontier(LEARNERS, X, Y, certify=0.0, **SEARCH)
    best = [max(f.candidates, key=lambda one: one.mean_value) for f in (plain, found)]
    assert best[1].mean_cost < 0.7 * best[0].mean_cost
    for budget in (3.0, 6.0):
        assert found.chosen(found.request(None, budget)).mean_value >= (
            plain.chosen(plain.request(None, budget)).mean_value
        )


def test_the_delivered_model_keeps_a_mean_budget_and_a_cap_at_real_prices(found):
    model = found.best(mean_budget=4.0)
    assert model.run(X, known=KNOWN, prices=PRICES).cost.mean() <= 4.0 * (1 + 1e-9)
    assert model.plan_.costs == COSTS
    capped = found.best(budget=8.0)
    for given in ({}, {"known": KNOWN}, {"prices": 2 * PRICES}, {"known": KNOWN, "prices": PRICES}):
        assert (capped.run(X, **given).cost <= 8.0).all()
    # A row that has the scan can be answered with it inside a cap that does not pay for it.
    run = capped.run(X, known=KNOWN, prices=PRICES)
    assert not run.acquired[:, 2].any()
    right = capped.predict(X, known=KNOWN, prices=PRICES) == Y
    assert right[KNOWN[:, 2]].mean() > right[~KNOWN[:, 2]].mean() + 0.1


def test_offers_and_tables_are_at_real_prices(found):
    table = found.at(mean_budgets=[4.0])
    line = table.iloc[0] if hasattr(table, "iloc") else table[0]
    model = found.best(mean_budget=4.0)
    assert line["plan_cost"] == pytest.approx(model.run(X, known=KNOWN, prices=PRICES).cost.mean())


def test_higher_prices_than_those_of_the_list_are_kept_under_caps():
    prices = np.where(np.arange(len(X))[:, None] % 2, PRICES, 3.0 * PRICES)
    costly = frontier(LEARNERS, X, Y, prices=prices, budgets=[12.0], certify=0.0, **SEARCH)
    capped = costly.chooser.under(12.0)
    assert all((one.row_cost <= 12.0 * (1 + 1e-9)).all() for one in capped)
    for one in capped[:6]:
        if not one.view:
            np.testing.assert_allclose(one.cost, by_hand(one, costly.result.evaluator, 12.0), atol=1e-9)
    most = max(float(one.row_cost.max()) for one in costly.candidates)
    assert most > COSTS.total  # some rows pay more than the list says
    assert all(one.row_cost.max() <= one.max_cost * (1 + 1e-9) for one in costly.candidates)


def test_a_guarantee_is_about_real_prices():
    rows, labels, known, prices = draw(1500, seed=1)
    search = {**SEARCH, "max_fits": 5, "cv": None}
    sure = frontier(LEARNERS[1:], rows, labels, known=known, prices=prices, confidence=0.9, **search)
    model = sure.best(mean_budget=5.0)
    (guarantee,) = model.guarantee_
    assert guarantee.kind == "mean cost" and guarantee.bound <= 5.0
    kept = sure.result.kept
    paid = model.run(kept.X, known=kept.row_costs.known, prices=kept.row_costs.prices).cost
    assert guarantee.seen == pytest.approx(paid.mean())
    fresh, _, known, prices = draw(1500, seed=2)
    assert model.run(fresh, known=known, prices=prices).cost.mean() <= 5.0


def test_pairs_with_a_handover_pay_real_prices():
    learners = [
        GreedyMiserClassifier(n_rounds=12, max_depth=2),
        EarlyExit(GreedyMiserClassifier(n_rounds=12)),
    ]
    both = frontier(
        learners, X, Y, known=KNOWN, prices=PRICES, certify=0.0, handovers=True, **{**SEARCH, "max_fits": 10}
    )
    evaluator = both.result.evaluator
    pairs = [one for one in both.candidates if "handover" in one.view]
    assert pairs
    for one in pairs[:4]:
        again = evaluator.evaluate(one.trial)
        same = next(other for other in again if other.view == one.view)
        np.testing.assert_allclose(one.cost, same.cost, atol=1e-9)


def test_a_function_of_free_features_gives_the_same_search(found):
    def by_age(free):
        return {"blood": np.where(free[0] < 0, 0.0, 4.0)}

    plain = Costs(COSTS.feature, groups={"lab": {"features": [1, 3], "setup": 2.0}})
    with_names = {**SEARCH, "costs": plain}
    one = frontier(
        LEARNERS[:1],
        X,
        Y,
        known=[2],
        prices=lambda free: {1: by_age(free)["blood"]},
        certify=0.0,
        **with_names,
    )
    other = frontier(LEARNERS[:1], X, Y, known=[2], prices=PRICES, certify=0.0, **with_names)
    assert [c.mean_cost for c in one.candidates] == [c.mean_cost for c in other.candidates]


def test_a_cache_tells_rows_with_other_prices_apart(tmp_path):
    given = {**SEARCH, "max_fits": 3, "cache": tmp_path, "certify": 0.0}
    frontier(LEARNERS[:1], X, Y, **given)
    n_files = len(list(tmp_path.iterdir()))
    frontier(LEARNERS[:1], X, Y, known=KNOWN, **given)
    after = len(list(tmp_path.iterdir()))
    assert after > n_files
    frontier(LEARNERS[:1], X, Y, known=KNOWN, **given)
    assert len(list(tmp_path.iterdir())) == after


def test_processes_get_the_prices_of_rows(found, tmp_path):
    """Rows reach processes by a file that is mapped to memory."""
    rows = found.result.evaluator.rows
    joblib.dump(rows, tmp_path / "rows")
    there = joblib.load(tmp_path / "rows", mmap_mode="r")
    learner = next(one.trial.learner for one in found.candidates if one.params.get("tradeoff"))
    some = np.arange(0, len(rows), 2)
    here, other = (learner.fit(given.take(some), 0.01).plan_ for given in (rows, there))
    assert here.digest == other.digest
    paid = [here.run(given.X[some], **given.take(some).own_costs).cost for given in (rows, there)]
    np.testing.assert_array_equal(*paid)


def test_a_report_is_written(found, tmp_path):
    pytest.importorskip("plotly")
    page = found.to_html(tmp_path / "page.html", mean_budget=4.0)
    assert "CAD" in page.read_text(encoding="utf-8")


def test_new_list_prices_reach_rows_that_know_something_alone(found):
    plain = frontier(LEARNERS[:1], X, Y, known=KNOWN, certify=0.0, **SEARCH)
    higher = plain.reprice(COSTS.scaled(2.0))
    assert [2.0 * one.mean_cost for one in plain.candidates] == pytest.approx(
        [one.mean_cost for one in higher.candidates]
    )
    with pytest.raises(DataError, match="rows have their own prices"):
        found.reprice(COSTS.scaled(2.0))


def test_a_budgeted_estimator_takes_both():
    model = BudgetedEstimator(
        mean_budget=4.0, learners=LEARNERS, costs=COSTS, max_fits=6, cv=2, random_state=0
    )
    model.fit(X, Y, known=KNOWN, prices=PRICES)
    assert model.run(X, known=KNOWN, prices=PRICES).cost.mean() <= 4.0 * (1 + 1e-9)
    assert (model.run(X, budget=1.0, known=KNOWN).cost <= 1.0).all()


def test_what_is_wrong_is_named():
    with pytest.raises(CostError, match=r"known must hold booleans and be of shape \(400, 4\)"):
        frontier(LEARNERS, X, Y, known=KNOWN[:3], **SEARCH)
