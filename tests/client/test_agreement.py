"""A client with local sources agrees with `OnDemand`: answers, costs, purchases and their order."""

import asyncio

import numpy as np
import pytest

from miserly.client import Client
from miserly.runtime import OnDemand, Priced, Source, batched

from ..plan.random_plans import random_plan, random_rows
from ..runtime.plans import PATIENT, heart
from .servers import listening, saved

pytest.importorskip("httpx")

SEEDS = range(24)
BUDGETS = [None, 1, 8]


@pytest.fixture(scope="module")
def url(tmp_path_factory):
    folder = tmp_path_factory.mktemp("plans")
    plans = {f"plan{seed}": random_plan(seed) for seed in SEEDS}
    with listening(saved(folder, heart=heart(), **plans)) as url:
        yield url


def assert_same(ours, theirs, same_trail=True):
    assert np.all(ours.answer == theirs.answer)
    assert ours.acquired == theirs.acquired
    assert ours.cost == pytest.approx(theirs.cost, rel=1e-12, abs=1e-12)
    assert (ours.stopped_by, ours.budget, ours.known) == (theirs.stopped_by, theirs.budget, theirs.known)
    assert (ours.probabilities is None) == (theirs.probabilities is None)
    if ours.probabilities is not None:
        assert ours.probabilities.tolist() == theirs.probabilities.tolist()
    assert (ours.unit, ours.digest, ours.node) == (theirs.unit, theirs.digest, theirs.node)
    if same_trail:
        ours, theirs = ours.trail, theirs.trail
        parts = ("feature", "order", "value", "outcome", "retries", "overrun")
        assert str([[getattr(one, part) for part in parts] for one in ours]) == str(
            [[getattr(one, part) for part in parts] for one in theirs]
        )
        for name in ("cost", "price"):  # `reserved` is for all that is asked at once, which may be more here
            np.testing.assert_allclose([getattr(one, name) for one in ours],
                                       [getattr(one, name) for one in theirs])  # fmt: skip


def sources_of(plan, X, kind=float):
    def look(f):
        return lambda i: None if np.isnan(X[i, f]) else kind(X[i, f])

    return {plan.costs.name(f): look(f) for f in range(plan.n_features)}


@pytest.mark.parametrize("seed", SEEDS)
def test_random_plans(url, seed):
    plan = random_plan(seed)
    X = random_rows(plan, seed, n=2)
    sources = sources_of(plan, X)
    served = OnDemand(plan, sources, compiled=False)
    with Client(url, f"plan{seed}", sources) as client:
        for budget in BUDGETS:
            for i in range(len(X)):
                assert_same(client.predict(i, budget), served.predict(i, budget))


@pytest.mark.parametrize("seed", range(6))
def test_random_plans_in_an_event_loop_and_together(url, seed):
    plan = random_plan(seed)
    X = random_rows(plan, seed, n=4)
    there = {name: batched(lambda rows, look=look: [look(i) for i in rows])
             for name, look in sources_of(plan, X).items()}  # fmt: skip
    served = OnDemand(plan, there, compiled=False)

    async def main():
        async with Client(url, f"plan{seed}", sources_of(plan, X)) as client:
            return await asyncio.gather(*(client.apredict(i, 5) for i in range(len(X))))

    with Client(url, f"plan{seed}", there) as client:
        together = client.predict_many(range(len(X)), 5, batch_size=3)
    for i, (one, other) in enumerate(zip(asyncio.run(main()), together, strict=True)):
        assert_same(one, served.predict(i, 5))
        assert_same(other, served.predict(i, 5))


@pytest.mark.parametrize("seed", range(6))
def test_without_sources_the_features_are_sent(url, seed):
    plan = random_plan(seed)
    X = random_rows(plan, seed, n=3)
    rows = [{plan.costs.name(f): None if np.isnan(x) else float(x) for f, x in enumerate(row)} for row in X]
    served = OnDemand(plan, compiled=False)
    with Client(url, f"plan{seed}") as client:
        for row, together in zip(rows, client.predict_many(rows, 6), strict=True):
            assert_same(client.predict(row, 6), served.predict(row, 6))
            assert_same(together, served.predict(row, 6))


def both(url, sources, raw=None, client_rules=None, rules=None, **options):
    served = OnDemand(heart(), sources, compiled=False, **(rules or {}))
    with Client(url, "heart", sources, **(client_rules or rules or {})) as client:
        return client.predict(raw, **options), served.predict(raw, **options)


def fails(raw):
    raise RuntimeError("the laboratory is closed")


CASES = {
    "all from the raw input": ({"age": lambda raw: raw["age"]}, {}),
    "a group": ({"blood": lambda raw: {"chol": 200.0, "fbs": 1.0}}, {}),
    "a group, in order": ({"blood": lambda raw: [200.0, 1.0]}, {}),
    "a group with a budget": ({"blood": lambda raw: {"chol": 200.0, "fbs": 1.0}}, {"budget": 10}),
    "known": ({"chol": lambda raw: 200.0}, {"known": {"fbs": 0.0, "pain": "none"}}),
    "prices": ({"chol": lambda raw: 200.0}, {"prices": {"chol": 1.0, "blood": 0.5}, "budget": 6}),
    "offered": ({"chol": fails}, {"offered": {"chol": 180.0, "fbs": None}}),
    "priced": ({"chol": lambda raw: Priced(200.0, 4.0), "fbs": lambda raw: Priced(1.0, 3.5)}, {}),
    "priced group": ({"blood": lambda raw: Priced({"chol": 200.0, "fbs": 1.0}, 6.5)}, {"budget": 20}),
    "more expensive than listed": ({"pain": lambda raw: Priced("typical", 5.0)}, {"budget": 12}),
    "bound": ({"chol": Source(lambda raw: Priced(200.0, 9.0), bound=9.0)}, {"budget": 12}),
    "bound that does not fit": ({"chol": Source(lambda raw: Priced(200.0, 9.0), bound=9.5)}, {"budget": 12}),
    "no value": ({"pain": lambda raw: None}, {}),
    "NaN": ({"chol": lambda raw: float("nan")}, {}),
    "an unknown category": ({"pain": lambda raw: "odd"}, {}),
    "fails": ({"chol": fails}, {}),
    "fails and is billed": ({"chol": Source(fails, charge_on_failure=True, retries=2, backoff=0.0)}, {}),
    "must not fail": ({"chol": Source(fails, fallback="stop")}, {}),
    "asks by name": ({"chol": lambda raw, age: 3.0 * age, "fbs": lambda raw, acquired: len(acquired)}, {}),
    "no cap": ({"chol": lambda raw: 200.0}, {"budget": float("inf")}),
    "nothing fits": ({"chol": lambda raw: 200.0}, {"budget": 0}),
}


@pytest.mark.parametrize("case", CASES)
def test_rules_of_sources(url, case):
    sources, options = CASES[case]
    assert_same(*both(url, sources, PATIENT, **options))


def test_messages_and_reasons_are_those_of_the_local_source(url):
    ours, theirs = both(url, {"chol": Source(fails, fallback="stop", retries=1, backoff=0.0)}, PATIENT)
    assert ours.reason == theirs.reason
    assert ours.trail[-1].message == "RuntimeError: the laboratory is closed" == theirs.trail[-1].message
    assert str(ours).splitlines()[0] == str(theirs).splitlines()[0]


def test_a_group_whose_source_failed_is_not_called_again(url):
    calls = []

    def draw(raw):
        calls.append(raw)
        raise RuntimeError

    ours, theirs = both(url, {"blood": draw}, PATIENT)
    assert len(calls) == 2  # once here, once in the service
    assert_same(ours, theirs, same_trail=False)
    assert [(one.feature, one.outcome) for one in ours.trail[2:]] == [("chol", "failed"), ("fbs", "declined")]


def test_together_takes_fewer_exchanges_and_buys_the_same(url):
    sources = {name: lambda raw, name=name: raw[name] for name in PATIENT}
    with Client(url, "heart", sources) as one, Client(url, "heart", sources, together=True) as other:
        n = [_count(client, PATIENT) for client in (one, other)]
        assert_same(other.predict(PATIENT), one.predict(PATIENT))
    assert n == [5, 2]  # the session begins; then four features, one at a time or at once


def _count(client, raw):
    """How many requests a prediction takes."""
    client.predict(raw)  # reads what the model is
    calls, call = [], client._connection.call
    client._connection.call = lambda *args, **options: calls.append(args) or call(*args, **options)
    client.predict(raw)
    return len(calls)


@pytest.mark.long
def test_every_learner(tmp_path):
    from ..contract.cases import every_case

    cases = {f"m{i}": case for i, case in enumerate(every_case()) if not case.fitted.plan_.listwise}
    with listening(saved(tmp_path, **{name: case.fitted.plan_ for name, case in cases.items()})) as url:
        for name, case in cases.items():
            plan = case.fitted.plan_
            X = np.asarray(case.task.fresh.X[:3], dtype=np.float64)
            sources = sources_of(plan, X)
            served = OnDemand(plan, sources, compiled=False)
            with Client(url, name, sources) as client:
                for i in range(len(X)):
                    assert_same(client.predict(i), served.predict(i))
