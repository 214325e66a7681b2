"""OnDemand: what is asked, what is paid, what the receipt says. Sync and async alike."""

import asyncio
import gc
import json
import threading
import time

import numpy as np
import pytest

from miserly.errors import MiserlyError, PlanError, SourceError
from miserly.plan import Node, Threshold
from miserly.runtime import OnDemand, Priced, Source, Unavailable, batched

from .plans import PATIENT, heart, linear


def as_async(function):
    async def later(raw):
        await asyncio.sleep(0)
        return function(raw)

    return later


def sources(**changes):
    plain = {name: (lambda raw, name=name: raw[name]) for name in PATIENT}
    return {**plain, **changes}


def how_sync(served, *args, **named):
    return served.predict(*args, **named)


def how_async(served, *args, **named):
    return asyncio.run(served.apredict(*args, **named))


def how_threads(served, *args, **named):
    return served.predict(*args, **{"deadline": 30.0, **named})


def how_many(served, raw, **named):
    named.pop("known", None)
    return served.predict_many([raw, raw], **named)[1]


ways = pytest.mark.parametrize(
    "predict", [how_sync, how_async, how_threads], ids=["sync", "async", "threads"]
)
all_ways = pytest.mark.parametrize(
    "predict", [how_sync, how_async, how_threads, how_many], ids=["sync", "async", "threads", "many"]
)


def adds_up(receipt):
    """The purchases and evaluations are the cost, exactly, and no cap was passed."""
    assert sum(one.cost for one in receipt.trail) + receipt.evaluation_cost == receipt.cost
    assert receipt.cost <= receipt.budget or receipt.overrun
    assert [one.order for one in receipt.trail] == list(range(1, len(receipt.trail) + 1))
    return receipt


# -- money ---------------------------------------------------------------------------------------------------


@all_ways
def test_each_feature_is_paid_once_and_a_group_set_up_once(predict):
    receipt = adds_up(predict(OnDemand(heart(), sources()), PATIENT))
    assert [(one.feature, one.cost) for one in receipt.trail] == [
        ("age", 1.0), ("pain", 2.0), ("chol", 7.0), ("fbs", 3.0),
    ]  # fmt: skip
    assert receipt.cost == 13.0 and receipt.stopped_by == "answered" and receipt.answer == "ill"
    assert receipt.values == PATIENT and receipt.acquired == tuple(PATIENT)


@all_ways
def test_the_answer_after_each_purchase_is_that_of_the_node_finished(predict):
    receipt = predict(OnDemand(heart(), sources()), PATIENT)
    assert [one.answer for one in receipt.trail] == ["well", "ill", "ill", "ill"]
    np.testing.assert_allclose(receipt.trail[1].probabilities, [1 / (1 + np.exp(11)), 1 / (1 + np.exp(-11))])


@all_ways
@pytest.mark.parametrize(("budget", "bought"), [(0, 0), (2.9, 1), (3, 2), (9.9, 2), (10, 3), (13, 4)])
def test_a_budget_stops_before_the_first_thing_that_does_not_fit(predict, budget, bought):
    receipt = adds_up(predict(OnDemand(heart(), sources()), PATIENT, budget=budget))
    assert receipt.acquired == tuple(PATIENT)[:bought]
    assert receipt.stopped_by == ("answered" if bought == 4 else "budget")


@ways
def test_what_is_known_is_free_and_its_group_is_set_up(predict):
    receipt = adds_up(predict(OnDemand(heart(), sources()), PATIENT, known={"chol": 200.0}))
    assert receipt.cost == 1 + 2 + 3 and "chol" not in receipt.acquired and receipt.known == ("chol",)


@ways
def test_prices_of_a_request_replace_those_of_the_plan_and_leave_the_order(predict):
    served = OnDemand(heart(), sources())
    receipt = adds_up(predict(served, PATIENT, prices={"chol": 2.5, "blood": 0}))
    assert [one.cost for one in receipt.trail] == [1.0, 2.0, 2.5, 3.0]
    assert predict(served, PATIENT, prices={"chol": 2.5, "blood": 0}, budget=5.5).acquired == (
        "age", "pain", "chol",
    )  # fmt: skip
    with pytest.raises(PlanError, match=r"a price of a feature that the plan does not know: .*'cholesterol'"):
        predict(served, PATIENT, prices={"cholesterol": 1.0})


@all_ways
def test_a_value_may_come_with_its_real_price(predict):
    served = OnDemand(heart(), sources(chol=lambda raw: Priced(raw["chol"], 4.25)))
    receipt = adds_up(predict(served, PATIENT))
    chol = receipt.trail[2]
    assert (chol.price, chol.reserved, chol.cost, receipt.cost) == (7.0, 7.0, 4.25, 10.25)
    assert adds_up(predict(served, PATIENT, budget=10.25)).acquired == tuple(PATIENT)


@all_ways
def test_a_bound_is_reserved_before_the_call(predict):
    called = []

    def chol(raw):
        called.append(1)
        return Priced(raw["chol"], 1.0)

    served = OnDemand(heart(), sources(chol=Source(chol, bound=20.0)))
    receipt = adds_up(predict(served, PATIENT, budget=15))
    assert not called and receipt.stopped_by == "budget" and receipt.acquired == ("age", "pain")
    receipt = adds_up(predict(served, PATIENT, budget=23))
    assert called and receipt.trail[2].reserved == 20.0 and receipt.trail[2].cost == 1.0


@all_ways
def test_a_broken_bound_is_reported_and_ends_the_run(predict):
    served = OnDemand(heart(), sources(chol=Source(lambda raw: Priced(raw["chol"], 50.0), bound=8.0)))
    receipt = predict(served, PATIENT, budget=12)
    assert receipt.overrun and receipt.trail[2].overrun and receipt.stopped_by == "budget"
    assert adds_up(receipt).cost == 53.0
    assert "cost 50, more than the 8 reserved" in receipt.reason and receipt.acquired[-1] == "chol"
    free = adds_up(predict(served, PATIENT))
    assert free.stopped_by == "answered" and free.overrun and free.cost == 56.0


# -- sources -------------------------------------------------------------------------------------------------


@ways
def test_a_source_may_build_on_what_was_acquired(predict):
    def chol(raw, age, acquired):
        return age + len(acquired)

    receipt = predict(OnDemand(heart(), sources(chol=chol)), PATIENT)
    assert receipt.values["chol"] == 63.0
    served = OnDemand(heart(), sources(age=lambda raw, fbs: 1.0))
    assert "needs 'fbs', which was not acquired" in predict(served, PATIENT).trail[0].message


@all_ways
def test_a_group_has_one_source(predict):
    calls = []

    def blood(raw):
        calls.append(raw)
        return {"chol": raw["chol"], "fbs": raw["fbs"]}

    served = OnDemand(heart(), {"blood": blood})
    receipt = adds_up(predict(served, PATIENT))
    assert receipt.cost == 13.0 and len(calls) == (2 if predict is how_many else 1)
    assert adds_up(predict(served, PATIENT, budget=10)).cost == 10.0  # fbs came, but was not used


def test_async_sources_serve_requests_that_are_not():
    served = OnDemand(heart(), {name: as_async(lambda raw, name=name: raw[name]) for name in PATIENT})
    assert adds_up(served.predict(PATIENT)).cost == adds_up(how_async(served, PATIENT)).cost == 13.0
    assert [one.cost for one in served.predict_many([PATIENT] * 3)] == [13.0] * 3


def test_features_without_a_source_are_in_the_raw_input():
    assert adds_up(OnDemand(heart()).predict(PATIENT)).cost == 13.0
    receipt = OnDemand(heart()).predict({"age": 61.0})
    assert [one.outcome for one in receipt.trail] == ["value", "declined", "declined", "declined"]


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"agee": len}, "a source for 'agee', which is no feature or group of the plan; did you mean 'age'"),
        ({"age": 3}, "the source of 'age' must be a callable or a Source, not 3"),
        ({"age": lambda: 1}, "must take the raw input"),
        (
            {"age": lambda raw, chool: 1},
            "asks for 'chool', which is no feature of the plan; did",
        ),
    ],
)
def test_sources_that_cannot_work_are_refused(given, message):
    with pytest.raises(SourceError, match=message):
        OnDemand(heart(), given)


@pytest.mark.parametrize(
    "wrong",
    [
        {"retries": -1},
        {"timeout": 0},
        {"fallback": "hope"},
        {"concurrency": 0},
        {"hooks": 3},
        {"backoff": -1.0},
    ],
)
def test_rules_that_mean_nothing_are_refused(wrong):
    with pytest.raises(SourceError):
        OnDemand(heart(), sources(), **wrong)
    with pytest.raises(MiserlyError):
        OnDemand(heart(), sources()).predict(PATIENT, deadline=-1)


def test_a_batched_source_is_called_once_a_step():
    sizes = []

    @batched
    def chol(raws):
        sizes.append(len(raws))
        return [raw["chol"] for raw in raws]

    served = OnDemand(heart(), sources(chol=chol))
    receipts = served.predict_many([PATIENT] * 50)
    assert sizes == [50] and all(adds_up(one).cost == 13.0 for one in receipts)
    assert served.predict(PATIENT).cost == 13.0 and sizes == [50, 1]


def test_a_batched_source_gets_lists_of_what_was_acquired():
    seen = []

    @batched
    def chol(raws, age=None):
        seen.append(age)
        return [raw["chol"] for raw in raws]

    def age(raw):
        return None if raw["fbs"] else raw["age"] if raw["age"] > 1 else broken(raw)

    rows = [{**PATIENT, "age": 1.0, "fbs": 0.0}, {**PATIENT, "fbs": 0.0}, {**PATIENT, "fbs": 1.0}]
    OnDemand(heart(), sources(chol=chol, age=age)).predict_many(rows)
    assert seen == [[None, 61.0, None]]  # it failed, there is one, there is none


@pytest.mark.parametrize(
    ("given", "outcome"),
    [
        (lambda raws: [raw["chol"] for raw in raws], "value"),
        (lambda raws: [], "invalid"),
        (lambda raws: 240.0, "invalid"),
        (lambda raws: [None for _ in raws], "null"),
        (lambda raws: broken(raws), "failed"),
    ],
    ids=["values", "too few", "no list", "none", "raises"],
)
def test_a_batched_source_may_serve_one_request(given, outcome):
    served = OnDemand(heart(), sources(chol=batched(given)))
    alone, (together,) = served.predict(PATIENT), served.predict_many([PATIENT])
    assert alone.trail[2].outcome == together.trail[2].outcome == outcome
    assert (adds_up(alone).answer, alone.cost) == (together.answer, together.cost)


def test_a_batched_source_with_a_bad_row_harms_no_other_row():
    @batched
    def chol(raws):
        return ["rubbish" if raw["age"] == 2 else raw["chol"] for raw in raws]

    receipts = OnDemand(heart(), sources(chol=chol)).predict_many([{**PATIENT, "age": i} for i in range(5)])
    assert [one.trail[2].outcome for one in receipts] == ["value", "value", "invalid", "value", "value"]


# -- faults --------------------------------------------------------------------------------------------------


def broken(raw):
    raise RuntimeError("no line")


RUBBISH = {
    "raises": (broken, "failed"),
    "nan": (lambda raw: float("nan"), "nan"),
    "text": (lambda raw: "high", "invalid"),
    "list": (lambda raw: [1.0, 2.0], "invalid"),
    "infinite": (lambda raw: float("inf"), "invalid"),
    "declined": (lambda raw: (_ for _ in ()).throw(Unavailable("no")), "declined"),
}


@all_ways
@pytest.mark.parametrize("kind", RUBBISH)
def test_a_fault_is_tried_again_and_then_counts_as_missing(predict, kind):
    source, outcome = RUBBISH[kind]
    served = OnDemand(heart(), sources(chol=source), retries=2, backoff=0.001)
    receipt = adds_up(predict(served, PATIENT))
    chol = receipt.trail[2]
    assert chol.outcome == outcome and chol.retries == (0 if kind == "declined" else 2)
    assert receipt.stopped_by == "answered" and len(receipt.trail) == 4
    # NaN was delivered and is paid; otherwise the set-up of the group is paid with the next feature
    assert receipt.cost == 13.0 if kind == "nan" else receipt.cost == 1 + 2 + 5
    assert ("chol" in receipt.acquired) == (kind == "nan")


@all_ways
def test_a_group_that_failed_is_not_asked_again_for_its_other_features(predict):
    asked = []

    def blood(raw):
        asked.append(raw)
        raise ConnectionError("no line")

    of_features = {name: source for name, source in sources().items() if name in ("age", "pain")}
    receipt = adds_up(predict(OnDemand(heart(), {**of_features, "blood": blood}), PATIENT))
    assert len(asked) == (2 if predict is how_many else 1)  # which makes two requests
    assert receipt.acquired == ("age", "pain") and receipt.stopped_by == "answered"


@all_ways
def test_a_fault_may_end_the_run(predict):
    receipt = adds_up(predict(OnDemand(heart(), sources(chol=broken), fallback="stop"), PATIENT))
    assert receipt.stopped_by == "failure" and receipt.answer == "ill" and receipt.cost == 3.0
    assert "no line" in receipt.reason and receipt.node == 1


@all_ways
def test_a_fault_may_be_raised_with_its_receipt(predict):
    with pytest.raises(
        SourceError, match=r"source of 'chol' failed \(failed\): RuntimeError: no line"
    ) as raised:
        predict(OnDemand(heart(), sources(chol=broken), fallback="raise"), PATIENT)
    assert adds_up(raised.value.receipt).cost == 3.0 and isinstance(raised.value.__cause__, RuntimeError)


@all_ways
def test_a_failed_call_is_billed_only_if_its_source_says_so(predict):
    served = OnDemand(heart(), sources(chol=Source(broken, charge_on_failure=True, retries=1, backoff=0.001)))
    receipt = adds_up(predict(served, PATIENT))
    assert receipt.trail[2].cost == 14.0 and receipt.cost == 1 + 2 + 14 + 5
    capped = adds_up(predict(served, PATIENT, budget=12))
    assert capped.trail[2].cost == 7.0 and capped.trail[2].retries == 0  # a second call would not fit
    assert predict(OnDemand(heart(), sources(chol=broken), charge_on_failure=True), PATIENT).cost == 15.0
    free = Source(broken, charge_on_failure=False)
    assert predict(OnDemand(heart(), sources(chol=free), charge_on_failure=True), PATIENT).cost == 8.0


@all_ways
def test_null_is_an_answer_and_never_ordered_is_none(predict):
    served = OnDemand(heart(), sources(chol=lambda raw: None), retries=3, fallback="raise")
    receipt = adds_up(predict(served, PATIENT, budget=10))
    assert receipt.values == {"age": 61.0, "pain": "typical", "chol": None}  # fbs was never ordered
    assert receipt.trail[2].outcome == "null" and receipt.cost == 10.0 and receipt.trail[2].retries == 0


@all_ways
def test_an_unknown_category_is_a_fault_or_missing(predict):
    odd = {**PATIENT, "pain": "odd"}
    assert predict(OnDemand(heart(), sources()), odd).trail[1].outcome == "invalid"
    receipt = predict(OnDemand(heart(), sources(), unknown="missing"), odd)
    assert receipt.trail[1].outcome == "value" and receipt.cost == 13.0


@all_ways
def test_a_source_that_failed_often_is_left_alone(predict):
    calls = []

    def chol(raw):
        calls.append(1)
        raise OSError("down")

    served = OnDemand(heart(), sources(chol=chol))
    receipts = [predict(served, PATIENT) for _ in range(20)]
    assert len(calls) == 10 and receipts[-1].trail[2].outcome == "refused"
    assert all(adds_up(one).cost == 8.0 for one in receipts)


# -- time ----------------------------------------------------------------------------------------------------


def hang(raw):
    time.sleep(1.0)
    return 1.0


async def hang_async(raw):
    await asyncio.sleep(30)
    return 1.0


@pytest.mark.parametrize("slow", [hang, hang_async])
@pytest.mark.parametrize("predict", [how_sync, how_async, how_many])
def test_a_deadline_is_kept_and_nothing_late_is_paid(predict, slow):
    served = OnDemand(heart(), sources(chol=slow))
    begun = time.perf_counter()
    receipt = adds_up(predict(served, PATIENT, deadline=0.4))
    assert time.perf_counter() - begun < 0.6 and receipt.stopped_by == "deadline"
    assert receipt.cost == 3.0 and receipt.trail[2].outcome == "late" and receipt.answer == "ill"
    charged = OnDemand(heart(), sources(chol=Source(slow, charge_on_failure=True)))
    assert adds_up(predict(charged, PATIENT, deadline=0.4)).cost == 10.0


@pytest.mark.parametrize("slow", [hang, hang_async])
@ways
def test_a_timeout_is_a_fault(predict, slow):
    served = OnDemand(heart(), sources(chol=Source(slow, timeout=0.05)))
    receipt = adds_up(predict(served, PATIENT))
    assert receipt.trail[2].outcome == "late" and receipt.stopped_by == "answered" and receipt.cost == 8.0


def test_retries_end_at_the_deadline():
    served = OnDemand(heart(), sources(chol=broken), retries=1000, backoff=0.02)
    begun = time.perf_counter()
    receipt = adds_up(served.predict(PATIENT, deadline=0.2))
    assert time.perf_counter() - begun < 0.4 and 0 < receipt.trail[2].retries < 50


def test_what_one_node_needs_is_fetched_at_the_same_time():
    async def slow(raw):
        await asyncio.sleep(0.05)
        return 1.0

    served = OnDemand(linear(20), {f"x{i}": slow for i in range(20)})
    begun = time.perf_counter()
    receipt = adds_up(how_async(served, None))
    assert receipt.cost == 20.0 and time.perf_counter() - begun < 0.5
    capped = adds_up(how_async(served, None, budget=7))
    assert capped.cost == 7.0 and capped.stopped_by == "budget" and len(capped.trail) == 7


def test_at_most_so_many_calls_at_once():
    now, most, lock = [0], [0], threading.Lock()

    def slow(raw):
        with lock:
            now[0] += 1
            most[0] = max(most[0], now[0])
        time.sleep(0.01)
        with lock:
            now[0] -= 1
        return 1.0

    served = OnDemand(linear(20), {f"x{i}": slow for i in range(20)}, concurrency=4, threads=4)
    assert adds_up(served.predict(None)).cost == 20.0 and 1 < most[0] <= 4
    most[0] = 0
    assert adds_up(how_async(served, None)).cost == 20.0 and 1 < most[0] <= 4


def test_threads_end_with_the_object_that_started_them():
    before = threading.active_count()
    for _ in range(20):
        OnDemand(linear(4), {f"x{i}": lambda raw: 1.0 for i in range(4)}, concurrency=4).predict(None)
        OnDemand(heart(), {"age": as_async(lambda raw: 61.0)}).predict(PATIENT)
    for _ in range(200):
        if threading.active_count() <= before + 2:
            break
        gc.collect()
        time.sleep(0.01)
    assert threading.active_count() <= before + 2


def test_cancelling_a_request_cancels_its_sources():
    events = []

    async def slow(raw):
        try:
            await asyncio.sleep(30)
        except asyncio.CancelledError:
            events.append("cancelled")
            raise

    async def main():
        for named in ({}, {"deadline": 20.0}):
            task = asyncio.create_task(OnDemand(heart(), sources(age=slow)).apredict(PATIENT, **named))
            await asyncio.sleep(0.02)
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task
            await asyncio.sleep(0.01)

    asyncio.run(main())
    assert events == ["cancelled", "cancelled"]


def test_hung_calls_hold_threads_and_the_pool_says_so():
    release = threading.Event()
    served = OnDemand(heart(), sources(age=lambda raw: release.wait(20) and 1.0), threads=2)
    with pytest.warns(RuntimeWarning, match="all 2 threads for sources are held by calls that hang"):
        receipts = [served.predict(PATIENT, deadline=0.05) for _ in range(3)]
    assert [one.trail[0].outcome for one in receipts] == ["late", "late", "exhausted"]
    assert served.pool.n_threads == 2
    release.set()
    for _ in range(100):
        time.sleep(0.01)
        if not served.pool.n_hung:
            break
    assert served.predict(PATIENT, deadline=5).cost == 13.0


# -- ahead ---------------------------------------------------------------------------------------------------


def test_what_may_be_needed_next_is_fetched_ahead_and_billed_apart():
    async def slow(raw, name):
        await asyncio.sleep(0.05)
        return PATIENT[name]

    def source(name):
        async def get(raw):
            return await slow(raw, name)

        return get

    nodes = [Node([0], [0], [1.0], [0.0], gate=Threshold(0.0), up=1), Node([1], [0], [1.0], [0.0])]
    plan = heart(nodes=nodes, terms=heart().terms[:2])
    served = OnDemand(plan, {name: source(name) for name in PATIENT}, speculate=True)
    receipt = adds_up(how_async(served, PATIENT))  # -80 + 61 < 0: pain is not needed
    assert receipt.acquired == ("age",) and receipt.cost == 1.0
    assert [one.feature for one in receipt.speculated] == ["pain"] and receipt.speculation_cost == 2.0
    assert receipt.total_cost == 3.0
    assert not how_async(served, PATIENT, budget=2.5).speculated  # no money for it
    charged = {name: Source(source(name), charge_on_failure=True) for name in PATIENT}
    assert not how_async(OnDemand(plan, charged, speculate=True), PATIENT).speculated


# -- receipts, hooks, streams --------------------------------------------------------------------------------


def test_a_receipt_prints_and_is_json():
    receipt = OnDemand(heart(), sources(chol=broken)).predict(PATIENT, budget=11)
    shown = str(receipt)
    assert "answer: ill" in shown and "failed: RuntimeError: no line" in shown and "of 11 CAD" in shown
    record = json.loads(json.dumps(receipt.to_dict()))
    assert record["cost"] == 8.0 and record["trail"][1]["value"] == "typical" and record["unit"] == "CAD"
    assert "value" not in receipt.to_dict(values=False)["trail"][1]
    with pytest.raises(AttributeError):
        receipt.cost = 0.0


@all_ways
def test_hooks_see_every_call_and_answer_and_harm_nothing(predict):
    seen = []
    hooks = {
        "before_source": lambda call: seen.append(("before", call.source, call.attempt)),
        "after_source": lambda call: seen.append(("after", call.source, call.outcome)),
        "on_answer": lambda receipt: seen.append(("answer", receipt.cost)),
    }
    predict(OnDemand(heart(), sources(chol=broken), retries=1, backoff=0.001, hooks=hooks), PATIENT)
    chol = [one[::2] for one in seen if one[1] == "chol"][:4]
    assert seen[0] == ("before", "age", 1) and seen[-1] == ("answer", 8.0)
    if predict is not how_many:
        assert chol == [("before", 1), ("after", "failed"), ("before", 2), ("after", "failed")]

    def bad(call):
        raise ValueError("in a hook")

    with pytest.warns(RuntimeWarning, match="the hook before_source failed: ValueError: in a hook"):
        assert predict(OnDemand(heart(), sources(), hooks={"before_source": bad}), PATIENT).cost == 13.0


def test_the_hook_sees_the_receipt_of_a_request_that_raises():
    seen = []
    hooks = {"on_answer": lambda receipt: seen.append(receipt.stopped_by)}
    with pytest.raises(SourceError):
        OnDemand(heart(), sources(chol=broken), fallback="raise", hooks=hooks).predict(PATIENT)
    assert seen == ["failure"]


def test_a_stream_keeps_its_order_and_waits_for_its_reader():
    under_way, most = [0], [0]

    async def age(raw):
        under_way[0] += 1
        most[0] = max(most[0], under_way[0])
        await asyncio.sleep(0.001 * (raw["age"] % 3))
        under_way[0] -= 1
        return raw["age"]

    async def rows():
        for i in range(100):
            yield {**PATIENT, "age": float(i)}

    async def main():
        served = OnDemand(heart(), sources(age=age))
        return [receipt.values["age"] async for receipt in served.stream(rows(), concurrency=8)]

    assert asyncio.run(main()) == [float(i) for i in range(100)] and most[0] <= 8


def test_offered_values_are_paid_when_needed_and_their_sources_not_called():
    called = []

    def blood(raw):
        called.append(raw)
        return {"chol": 1.0, "fbs": 1.0}

    served = OnDemand(heart(), {"blood": blood})
    offered = {"chol": PATIENT["chol"], "fbs": None}
    raw = {name: PATIENT[name] for name in ("age", "pain")}
    plain = OnDemand(heart()).predict({**raw, **offered})
    receipts = [
        served.predict(raw, offered=offered),
        served.predict(raw, offered=offered, deadline=5.0),
        asyncio.run(served.apredict(raw, offered=offered)),
        served.predict_many([raw], offered=[offered])[0],
    ]
    for receipt in receipts:
        assert (receipt.cost, receipt.acquired, receipt.scores) == (plain.cost, plain.acquired, plain.scores)
        assert receipt.trail[-1].outcome == "null"
    assert not called
    assert served.predict(raw, budget=3, offered=offered).cost <= 3
    assert served.predict(raw, offered={"chol": 200.0}).acquired == ("age", "pain", "chol", "fbs")
    assert len(called) == 1


@pytest.mark.parametrize("way", ["predict", "apredict", "predict_many", "concurrency"])
def test_a_source_that_asks_for_another_feature_of_the_same_node_gets_it(way):
    sources = {
        "x0": lambda raw: 3.0,
        "x1": lambda raw, x0: 2.0 * x0,
        "x2": lambda raw, acquired: len(acquired),
    }
    served = OnDemand(linear(3), sources, compiled=False, concurrency=3 if way == "concurrency" else None)
    if way == "apredict":
        receipt = asyncio.run(served.apredict(None))
    elif way == "predict_many":
        (receipt,) = served.predict_many([None])
    else:
        receipt = served.predict(None)
    assert receipt.values == {"x0": 3.0, "x1": 6.0, "x2": 2} and receipt.answer == 11.0
