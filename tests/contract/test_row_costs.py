"""What every learner does for rows that know some features, and that pay their own prices."""

from __future__ import annotations

import numpy as np
import pytest

from miserly.runtime import OnDemand

from .cases import Case, every_case

# One case of each learner on each task, pressed by a tradeoff, or with early exits.
CASES = list(
    {
        (case.learner, case.task.name): case
        for case in every_case()
        if case.variant in ("prices", "tradeoff", "saving")
    }.values()
)
every = pytest.mark.parametrize("case", CASES, ids=str)
FEW = 12


def own_prices(case: Case, n: int):
    """What each row knows, and its prices: of features, and of the set-ups of groups."""
    costs, rng = case.fitted.plan_.costs, np.random.default_rng(11)
    known = rng.random((n, len(costs))) < 0.25
    prices = {costs.name(f): own * rng.choice([0.0, 0.5, 2.0], n) for f, own in enumerate(costs.feature)}
    prices |= {
        name: setup * rng.choice([0.0, 3.0], n)
        for name, setup in zip(costs.group_names, costs.setup, strict=True)
    }
    return known, prices


def row_of(case: Case, known, prices, i):
    """The same for one row, as the runtime takes it."""
    x, costs = case.task.fresh.X[i], case.fitted.plan_.costs
    have = {costs.name(f): x[f] for f in np.flatnonzero(known[i])}
    return have, {name: float(price[i]) for name, price in prices.items()}


@every
@pytest.mark.parametrize("count", ["path", "tree"])
@pytest.mark.parametrize("budget", ["no budget", "half"])
def test_the_batch_run_agrees_with_stepping_row_by_row(case: Case, budget, count):
    plan, rows, limit = case.fitted.plan_, case.task.fresh, case.budgets[budget]
    known, prices = own_prices(case, len(rows))
    run = plan.run(rows.X, limit, count, known=known, prices=prices)  # every row a query of its own
    for i in range(FEW):
        have, own = row_of(case, known, prices, i)
        trail = plan.start(have, limit, count, prices=own)
        while need := trail.next():
            trail.tell({name: rows.X[i, plan.costs.index(name)] for name in need})
        assert (run.cost[i], run.exit[i], run.stopped[i]) == (trail.cost, trail.exit, trail.stopped)
        np.testing.assert_array_equal(run.acquired[i], trail.acquired)
        np.testing.assert_allclose(run.scores[i], trail.answer().scores, rtol=0, atol=1e-9)
    assert limit is None or (run.cost <= limit).all()


@every
def test_the_batch_run_agrees_with_on_demand(case: Case):
    plan, rows, limit = case.fitted.plan_, case.task.fresh, case.budgets["half"]
    known, prices = own_prices(case, len(rows))
    run = plan.run(rows.X, limit, known=known, prices=prices)
    answers = plan.predict(rows.X, limit, known=known, prices=prices)
    names = [plan.costs.name(f) for f in range(plan.n_features)]
    served = OnDemand(plan, sources={name: lambda i, f=f: rows.X[i, f] for f, name in enumerate(names)})
    for i in range(FEW):
        have, own = row_of(case, known, prices, i)
        receipt = served.predict(i, budget=limit, known=have, prices=own)
        assert receipt.cost == pytest.approx(run.cost[i], abs=1e-9)
        assert set(receipt.acquired) == {names[f] for f in np.flatnonzero(run.acquired[i])}
        assert receipt.answer == answers[i]


@every
def test_learners_run_and_predict_as_their_plan_does(case: Case):
    model, rows, limit = case.fitted, case.task.fresh, case.budgets["half"]
    known, prices = own_prices(case, len(rows))
    given = {"budget": limit, "known": known, "prices": prices}
    run = model.run(rows.X, qid=rows.qid, **given)
    plain = model.plan_.run(rows.X, qid=rows.qid, **given)
    for name in ("scores", "cost", "acquired", "exit"):
        np.testing.assert_array_equal(getattr(run, name), getattr(plain, name), err_msg=name)
    answers = case.predict(model, rows, **given)
    np.testing.assert_array_equal(answers, model.plan_.predict(rows.X, qid=rows.qid, **given))
    if hasattr(model, "predict_proba") and rows.qid is None:
        shares = model.predict_proba(rows.X, **given)
        np.testing.assert_array_equal(shares, model.plan_.predict_proba(rows.X, **given))
    if hasattr(model, "decision_function") and model.plan_.link != "votes" and run.scores.ndim == 1:
        np.testing.assert_array_equal(model.decision_function(rows.X, **given), run.scores)


@every
def test_rows_that_know_everything_pay_for_evaluations_alone(case: Case):
    model, rows = case.fitted, case.task.fresh
    plan = model.plan_.replace(budget=None)
    free = plan.run(rows.X, qid=rows.qid, known=range(plan.n_features))
    evaluation = free.evaluated @ np.array([term.evaluation for term in plan.terms])
    np.testing.assert_allclose(free.cost, evaluation, rtol=0, atol=1e-9)
    assert not free.acquired.any()
    if not plan.acquires:  # where nodes choose, what a row knows changes what it learns
        np.testing.assert_array_equal(free.scores, plan.run(rows.X, qid=rows.qid).scores)
