"""All ways to run a plan on demand agree with the batch run: random plans, groups, budgets, prices."""

import asyncio

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from miserly.plan.engine.ahead import certain
from miserly.runtime import OnDemand, Source, batched

from ..plan.random_plans import random_plan, random_rows

seeds = st.integers(0, 2**32 - 1)
budgets = st.sampled_from([None, 0, 1, 3, 8, 20])


def look_up(X, f):
    return lambda i: None if np.isnan(X[i, f]) else float(X[i, f])


def look_up_async(X, f):
    async def look(i):
        await asyncio.sleep(0)
        return None if np.isnan(X[i, f]) else float(X[i, f])

    return look


def look_up_many(X, f):
    return batched(lambda rows: [None if np.isnan(X[i, f]) else float(X[i, f]) for i in rows])


def predict_async(served, n, budget):
    async def main():
        return [await served.apredict(i, budget=budget) for i in range(n)]

    return asyncio.run(main())


def served_by(plan, X, look, **rules):
    sources = {plan.costs.name(f): look(X, f) for f in range(plan.n_features)}
    return OnDemand(plan, sources, compiled=False, **rules)


WAYS = {
    "here": lambda plan, X, b: [served_by(plan, X, look_up).predict(i, b) for i in range(len(X))],
    "hooks": lambda plan, X, b: [
        served_by(plan, X, look_up, hooks={"on_answer": id}).predict(i, b) for i in range(len(X))
    ],
    "threads": lambda plan, X, b: [
        served_by(plan, X, look_up, concurrency=3).predict(i, b) for i in range(len(X))
    ],
    "ahead": lambda plan, X, b: [
        served_by(plan, X, look_up, speculate=True).predict(i, b) for i in range(len(X))
    ],
    "async": lambda plan, X, b: predict_async(served_by(plan, X, look_up_async), len(X), b),
    "async ahead": lambda plan, X, b: predict_async(
        served_by(plan, X, look_up_async, speculate=True), len(X), b
    ),
    "many": lambda plan, X, b: served_by(plan, X, look_up).predict_many(range(len(X)), b),
    "batched, one at a time": lambda plan, X, b: [
        served_by(plan, X, look_up_many).predict(i, b) for i in range(len(X))
    ],
    "batched": lambda plan, X, b: served_by(plan, X, look_up_many).predict_many(range(len(X)), b),
}


@pytest.mark.parametrize("way", WAYS)
@given(seeds, budgets)
@settings(max_examples=25, deadline=None)
def test_every_way_agrees_with_the_batch_run(way, seed, budget):
    plan = random_plan(seed)
    X = random_rows(plan, seed, n=3)
    run = plan.run(X, budget, compiled=False)
    receipts = WAYS[way](plan, X, budget)
    for i, receipt in enumerate(receipts):
        np.testing.assert_array_equal(np.array(receipt.scores), np.atleast_1d(run.scores[i]))
        bought = {plan.costs.index(name) for name in receipt.acquired}
        assert bought == set(np.flatnonzero(run.acquired[i])) and len(bought) == len(receipt.acquired)
        assert (receipt.cost, receipt.node) == (run.cost[i], run.exit[i])
        assert receipt.stopped_by == ("budget" if run.stopped[i] else "answered")
        assert sum(one.cost for one in receipt.trail) + receipt.evaluation_cost == receipt.cost
        if budget is not None:
            assert receipt.total_cost <= budget * (1 + 1e-9)


@given(seeds, budgets)
@settings(max_examples=60, deadline=None)
def test_what_is_certain_is_bought_whatever_the_values_are(seed, budget):
    plan = random_plan(seed)
    rng = np.random.default_rng(seed)
    for row in random_rows(plan, seed, n=3):
        trail = plan.start(budget=budget)
        while trail.need >= 0:
            sure = certain(trail)
            assert sure[0] == trail.need
            known = [f for f in range(plan.n_features) if trail.is_known(f)]
            other = rng.permutation(random_rows(plan, seed + 1, n=1)[0])  # any values for what is not known
            other = np.where(np.isin(np.arange(len(row)), known), row, other)
            assert set(sure) <= set(np.flatnonzero(plan.run(other[None], budget, compiled=False).acquired[0]))
            trail.put(trail.need, row[trail.need])


@given(seeds, st.floats(0.0, 3.0))
@settings(max_examples=30, deadline=None)
def test_prices_of_a_request_are_those_of_a_plan_with_other_costs(seed, factor):
    plan = random_plan(seed)
    X = random_rows(plan, seed, n=3)
    other = plan.replace(costs=plan.costs.scaled(factor))
    prices = {plan.costs.name(f): factor * plan.costs.feature[f] for f in range(plan.n_features)}
    prices |= {g: factor * setup for g, setup in zip(plan.costs.group_names, plan.costs.setup, strict=True)}
    run = other.run(X, 4.0, compiled=False)
    served = served_by(plan, X, look_up)
    for i in range(len(X)):
        receipt = served.predict(i, budget=4.0, prices=prices)
        assert receipt.cost == run.cost[i] and len(receipt.acquired) == run.acquired[i].sum()
        assert sum(one.cost for one in receipt.trail) + receipt.evaluation_cost == receipt.cost


@given(seeds, budgets, st.sampled_from(["stop", "missing"]), st.booleans(), st.integers(0, 2))
@settings(max_examples=60, deadline=None)
def test_receipts_of_requests_with_faults_add_up_and_keep_their_budget(
    seed, budget, fallback, charge, retries
):
    plan = random_plan(seed)
    X = random_rows(plan, seed, n=3)
    rng = np.random.default_rng(seed)

    def faulty(f):
        def look(i):
            chance = rng.random()
            if chance < 0.2:
                raise OSError("down")
            return "rubbish" if chance < 0.3 else float("nan") if chance < 0.4 else look_up(X, f)(i)

        return Source(look, retries=retries, backoff=0.0, fallback=fallback, charge_on_failure=charge)

    for rules in ({}, {"concurrency": 3}):
        served = OnDemand(plan, {plan.costs.name(f): faulty(f) for f in range(plan.n_features)}, **rules)
        for receipt in [
            *(served.predict(i, budget) for i in range(3)),
            *served.predict_many(range(3), budget),
        ]:
            assert sum(one.cost for one in receipt.trail) + receipt.evaluation_cost == receipt.cost
            assert receipt.cost <= receipt.budget
            assert receipt.stopped_by in ("answered", "budget", "failure")
            assert fallback == "stop" or receipt.stopped_by != "failure"
