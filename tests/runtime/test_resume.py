"""Interviews that go on from their state: nothing may differ from one that was never interrupted."""

from __future__ import annotations

import asyncio
import json

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from miserly.costs import Costs
from miserly.errors import DataError, PlanError, SourceError
from miserly.plan import Node, Raw
from miserly.runtime import Interview, OnDemand, Priced, Source, Unavailable
from tests.plan import random_plans, sample_plans

from .plans import PATIENT, heart, linear

PLANS = {
    "groups and categories": heart(),
    "gates": sample_plans.heart(),
    "tree of classifiers": sample_plans.tree_of_classifiers(),
    "evaluations, three classes": sample_plans.three_classes(),
    "kernel": sample_plans.kernel_machine(),
}


def again(interview, served):
    """The same interview, from its state as JSON."""
    return Interview.resume(served, json.loads(json.dumps(interview.state())))


def without_times(receipt):
    record = receipt.to_dict()
    record.pop("seconds")
    for purchase in record["trail"]:
        purchase.pop("seconds")
    return record


def shown(interview):
    """All that a person sees of an interview."""
    question = interview.question
    asked = None
    if question is not None:
        fields = (
            "feature",
            "price",
            "setup",
            "group",
            "cost",
            "why",
            "budget",
            "certain",
            "possible",
            "most",
        )
        asked = [getattr(question, name) for name in fields]
        asked += [str(one) for one in (question.answer, *question.outlook)]
    ended = without_times(interview.receipt()) if interview.stopped_by else None
    trail = [(one.feature, one.value, one.cost, one.outcome, one.answer) for one in interview.trail]
    return asked, interview.wanted, interview.unused, interview.cost, interview.budget, trail, ended


def value_of(plan, f, rng):
    if f in plan.categories:
        return plan.categories[f][rng.integers(len(plan.categories[f]))]
    return float(np.round(rng.normal(), 1))


def act(interview, plan, rng):
    """One random action of a person, as a function that can be done to several interviews."""
    wanted = interview.wanted
    kind = rng.choice(["reply", "reply", "reply", "decline", "null", "give", "back", "stop", "cap"])
    if kind == "give" and wanted:
        some = [one for one in wanted if rng.random() < 0.6]
        values = {one: value_of(plan, plan.costs.index(one), rng) for one in some}
        off = {one for one in some if rng.random() < 0.2}
        return lambda it: it.give({k: v for k, v in values.items() if k not in off}, off)
    if kind == "back":
        return lambda it: it.back()
    if kind == "stop" and rng.random() < 0.3:
        return lambda it: it.stop("enough")
    if kind == "cap" and interview.stopped_by in ("", "budget"):
        cap = None if rng.random() < 0.3 else float(np.round(rng.uniform(0, 20), 1))
        return lambda it: it.change_budget(cap)
    if interview.question is None:
        return lambda it: None
    value = value_of(plan, interview.question.column, rng)
    if kind == "decline":
        return lambda it: it.decline()
    return lambda it: it.reply(None if kind == "null" else value)


def walk(plan, seed, n=12):
    """Random actions in two interviews, one of which is resumed from JSON before each of them."""
    rng = np.random.default_rng(seed)
    served = OnDemand(plan, compiled=False)
    known = {plan.costs.name(0): value_of(plan, 0, rng)} if rng.random() < 0.3 else None
    budget = float(rng.uniform(2, 15)) if rng.random() < 0.5 else None
    straight = Interview(plan, budget, known)
    resumed = Interview(served, budget, known)
    assert shown(straight) == shown(resumed)
    for _ in range(n):
        step = act(straight, plan, rng)
        resumed = again(resumed, served)
        for one in (straight, resumed):
            step(one)
        assert shown(straight) == shown(resumed) == shown(again(resumed, served))
    return straight


@pytest.mark.parametrize("name", PLANS)
@pytest.mark.parametrize("seed", range(4))
def test_a_resumed_interview_does_what_the_straight_one_does(name, seed):
    walk(PLANS[name], seed)


@settings(max_examples=60, deadline=None, derandomize=True)
@given(st.integers(0, 10**6))
def test_random_walks_through_random_plans(seed):
    plan = random_plans.random_plan(seed)
    end = walk(plan, seed)
    end.stop()
    receipt = end.receipt()
    assert receipt.cost == pytest.approx(sum(one.cost for one in receipt.trail) + receipt.evaluation_cost)


@pytest.mark.parametrize("name", PLANS)
def test_a_raised_budget_gives_what_it_gives_from_the_start(name):
    """Stopped by a small budget, then by a larger one: the receipt is that of the larger one alone."""
    plan = PLANS[name]
    rng = np.random.default_rng(3)
    row = {plan.costs.name(f): value_of(plan, f, rng) for f in range(plan.n_features)}
    interview = Interview(plan, budget=plan.max_cost / 6)
    for share in (3, 2, 1):
        while interview.question is not None:
            interview.reply(row[interview.question.feature])
        interview.change_budget(plan.max_cost / share)
        interview = again(interview, plan)
    while interview.question is not None:
        interview.reply(row[interview.question.feature])
    expected = OnDemand(plan).predict(row, budget=plan.max_cost)
    assert without_times(interview.receipt()) == without_times(expected)


def test_a_budget_below_what_was_paid_ends_the_interview_and_hides_nothing():
    interview = Interview(heart())
    interview.reply(61.0)
    interview.reply("typical")
    interview.change_budget(2.5)
    receipt = interview.receipt()
    assert (receipt.stopped_by, receipt.cost, receipt.budget) == ("budget", 3.0, 2.5)
    assert interview.question is None and interview.wanted == ()
    interview = again(interview, heart())
    assert without_times(interview.receipt()) == without_times(receipt)
    interview.change_budget(10.0)
    assert interview.question.feature == "chol" and interview.cost == 3.0


# -- several values at once ----------------------------------------------------------------------------------


def test_wanted_features_can_be_given_at_once_in_any_order():
    interview = Interview(heart())
    assert interview.wanted == ("age", "pain", "chol", "fbs")
    interview.give({"fbs": 1.0, "pain": "typical"})
    assert interview.question.feature == "age" and interview.cost == 0.0
    assert interview.wanted == ("age", "chol")
    wanted = [name for name in PATIENT if interview.is_wanted(name)]
    assert wanted == ["age", "chol"]
    interview = again(interview, heart())
    interview.give({"age": 61.0, "chol": 200.0})
    assert without_times(interview.receipt()) == without_times(OnDemand(heart()).predict(PATIENT))
    assert interview.unused == ()


def test_the_budget_of_an_interview_that_has_ended_stays():
    interview = Interview(linear(1))
    interview.reply(1.0)
    with pytest.raises(SourceError, match="has ended"):
        interview.change_budget(9.0)


def test_what_was_given_and_not_needed_is_not_paid():
    interview = Interview(heart())
    interview.give({"fbs": 1.0})
    interview.reply(61.0)
    interview.stop()
    assert interview.unused == ("fbs",) and interview.receipt().cost == 1.0
    assert again(interview, heart()).unused == ("fbs",)


def test_one_bad_value_or_one_that_is_not_wanted_changes_nothing():
    interview = Interview(heart(), budget=4)
    assert interview.wanted == ("age", "pain")
    with pytest.raises(SourceError, match="'chol' is not asked for now"):
        interview.give({"age": 61.0, "chol": 200.0})
    with pytest.raises(DataError, match="'tipical' is not among its categories"):
        interview.give({"age": 61.0, "pain": "tipical"})
    assert interview.n_replies == 0 and interview.wanted == ("age", "pain")


# -- stopping and going back ---------------------------------------------------------------------------------


def test_back_after_stop_asks_the_same_question_again():
    interview = Interview(heart())
    interview.reply(61.0)
    interview.stop("enough")
    interview = again(interview, heart())
    assert interview.receipt().reason == "enough"
    assert interview.back() and interview.question.feature == "pain" and interview.n_replies == 1
    assert interview.back() and interview.question.feature == "age"


def test_times_are_kept():
    interview = Interview(linear(2))
    interview.reply(1.0)
    state = interview.state()
    state["asked"] += 5.0
    state["seconds"] += 7.0
    resumed = Interview.resume(linear(2), state)
    resumed.reply(2.0)
    receipt = resumed.receipt()
    assert 5.0 <= receipt.trail[1].seconds < 6.0 and 7.0 <= receipt.seconds < 8.0
    assert again(resumed, linear(2)).receipt().seconds == receipt.seconds  # it took no longer since


def test_hooks_see_an_answer_once():
    seen = []
    served = OnDemand(linear(1), hooks={"on_answer": seen.append})
    interview = Interview(served)
    interview.reply(1.0)
    interview.receipt()
    again(interview, served).receipt()
    assert len(seen) == 1


def test_a_state_is_of_one_plan():
    state = Interview(linear(2)).state()
    for plan, one in ((linear(3), state), (linear(2), {**state, "format": 9})):
        with pytest.raises(PlanError, match="not of an interview with this plan"):
            Interview.resume(plan, one)


# -- sources of the server -----------------------------------------------------------------------------------


def served_with(**sources):
    return OnDemand(heart(), sources)


def play(interview, served):
    """Sources get what they can, the person gives the rest; the state goes through JSON at each step."""
    asked = []
    while not interview.stopped_by:
        asyncio.run(interview.afetch())
        interview = again(interview, served)
        if interview.question is not None:
            asked.append(interview.question.feature)
            interview.reply(PATIENT[interview.question.feature])
    return asked, interview


def test_what_the_server_can_get_is_not_asked():
    calls = []

    def blood(raw):
        calls.append(dict(raw))
        return {"chol": 200.0, "fbs": 1.0}

    served = served_with(blood=blood)
    interview = Interview(served)
    assert interview.wanted == ("age", "pain")
    asked, interview = play(interview, served)
    assert asked == ["age", "pain"] and calls == [{"age": 61.0, "pain": "typical"}]
    expected = served.predict(PATIENT)
    assert without_times(interview.receipt()) == without_times(expected)


@pytest.mark.parametrize("fallback", ["missing", "stop", "raise"])
def test_faults_of_sources_are_in_the_trail(fallback):
    def fails(raw):
        raise OSError("no connection")

    source = Source(fails, retries=1, backoff=0.0, fallback=fallback, charge_on_failure=True)
    served = served_with(pain=source)
    asked, interview = play(Interview(served), served)
    receipt = interview.receipt()
    failed = receipt.trail[1]
    assert (failed.outcome, failed.retries, failed.cost) == ("failed", 1, 4.0)
    assert asked == (["age", "chol", "fbs"] if fallback == "missing" else ["age"])
    assert receipt.stopped_by == ("answered" if fallback == "missing" else "failure")
    assert without_times(again(interview, served).receipt()) == without_times(receipt)


def test_a_person_who_cannot_get_a_value_ends_nothing_whatever_the_rules_of_sources():
    served = OnDemand(heart(), fallback="stop")
    interview = Interview(served)
    interview.decline()
    assert interview.question.feature == "pain"


def test_prices_that_sources_name_are_kept():
    def chol(raw):
        return Priced(200.0, 4.5)

    def unavailable(raw):
        raise Unavailable("no sample")

    served = served_with(chol=Source(chol, bound=9.0), fbs=unavailable)
    _, interview = play(Interview(served), served)
    trail = interview.receipt().trail
    assert (trail[2].cost, trail[2].reserved) == (4.5, 9.0) and trail[3].outcome == "declined"
    assert interview.receipt().cost == 7.5


def test_sources_are_fetched_together_up_to_the_next_question():
    order = []

    async def slow(raw):
        order.append("slow begins")
        await asyncio.sleep(0.02)
        order.append("slow ends")
        return 1.0

    async def fast(raw):
        order.append("fast begins")
        return 2.0

    served = OnDemand(linear(3), {"x0": slow, "x1": fast})
    interview = Interview(served)
    assert interview.question is None and not interview.stopped_by
    asyncio.run(interview.afetch())
    assert order == ["slow begins", "fast begins", "slow ends"]
    assert interview.question.feature == "x2" and interview.cost == 2.0
    interview.reply(3.0)
    assert float(interview.receipt().answer) == 6.0
    assert interview.back() and interview.question.feature == "x2"


def test_features_without_names():
    plan = linear(2, costs=Costs([1.0, 2.0]))
    interview = again(Interview(plan, known={1: 5.0}, prices={0: 0.5}), plan)
    assert interview.wanted == (0,)
    interview.give({0: 1.0})
    assert interview.receipt().cost == 0.5 and float(interview.receipt().answer) == 6.0


def test_a_plan_that_asks_nothing():
    interview = Interview(linear(1, nodes=[Node([], [], [], [3.0])], terms=[Raw(0)]))
    assert interview.question is None and float(interview.receipt().answer) == 3.0
    assert not interview.back()
