"""Measured costs: what is timed, in which order, what is left out, and what comes of it."""

from __future__ import annotations

import asyncio
import functools
import json
import subprocess
import sys
import time

import numpy as np
import pytest

from miserly import Costs
from miserly.costs import measure
from miserly.errors import SourceError
from miserly.runtime import OnDemand, Priced, Source, batched
from tests.runtime.plans import heart

SAMPLES = [{"text": "word " * n, "age": 40.0 + n} for n in range(1, 7)]


def sleeping(seconds, value=1.0):
    def source(raw):
        time.sleep(seconds)
        return value

    return source


def by_name(found):
    return {one.source: one for one in found.timings}


# -- times ---------------------------------------------------------------------------------------------------


def test_prices_are_wall_times_and_keep_their_ratios():
    costs = Costs.measure({"quick": len, "slow": sleeping(0.003), "slower": sleeping(0.012)}, SAMPLES)
    quick, slow, slower = costs.feature
    assert costs.names == ("quick", "slow", "slower") and costs.unit == "ms"
    assert 0 < quick < 0.5 and 3 <= slow < slower and slower >= 12
    assert 1.5 < slower / slow < 5


@pytest.mark.parametrize(("unit", "seconds"), [("s", 1.0), ("ms", 1e3), ("us", 1e6)])
def test_units(unit, seconds):
    found = measure({"slow": sleeping(0.004)}, SAMPLES[:2], repeats=2, unit=unit)
    assert found.costs.unit == unit
    assert 0.004 <= found.costs.feature[0] / seconds < 0.2


def test_cold_warm_and_new_calls_are_kept_apart():
    seen, started = set(), []

    def source(raw):
        if not started:
            started.append(time.sleep(0.05))
        if raw["text"] not in seen:
            seen.add(raw["text"])
            time.sleep(0.01)
        return 1.0

    found = measure({"cached": source}, SAMPLES, repeats=3)
    timing = found.timings[0]
    assert timing.cold >= 60 > timing.new >= 10 > 5 > timing.warm
    assert timing.calls == 18 and timing.lower <= timing.warm <= timing.upper
    assert "price='new'" in str(found)
    prices = {}
    for price in ("warm", "new", "cold", "mean"):
        seen.clear(), started.clear()
        prices[price] = Costs.measure({"cached": source}, SAMPLES, repeats=3, price=price).feature[0]
    assert prices["cold"] > prices["new"] > prices["warm"] > 0 and prices["mean"] > 0


def test_one_call_is_cold_warm_and_new():
    timing = measure({"length": len}, ["a text"], repeats=1).timings[0]
    assert timing.cold == timing.warm == timing.new == timing.lower == timing.mean and timing.calls == 1


def test_sources_take_turns():
    """All sources on a sample, then the next sample, then the next round."""
    log = []
    sources = {name: lambda raw, name=name: log.append((name, raw)) or 1.0 for name in "ab"}
    measure(sources, [1, 2], repeats=2)
    assert log == [("a", 1), ("b", 1), ("a", 2), ("b", 2)] * 2


# -- what sources ask for ------------------------------------------------------------------------------------


def test_a_source_gets_what_others_acquired_whatever_the_order():
    def risk(raw, age, chol, weight=70.0, *, acquired):
        assert acquired["age"] == age
        return age + chol + weight

    def ratio(raw, risk):
        return risk / 2.0

    sources = {
        "ratio": ratio, "risk": risk, "age": lambda raw: raw["age"],
        "blood": lambda raw, age: {"chol": age * 2.0, "fbs": 1.0},
    }  # fmt: skip
    costs = Costs.measure(sources, SAMPLES, repeats=2)
    assert costs.names == ("ratio", "risk", "age", "chol", "fbs")


def test_the_time_of_a_source_is_its_own():
    costs = Costs.measure({"age": sleeping(0.01), "twice": lambda raw, age: 2 * age}, SAMPLES[:2], repeats=2)
    assert costs.feature[0] >= 10 and costs.feature[1] < 5


def test_features_without_a_source_come_from_the_raw_input():
    assert len(Costs.measure({"older": lambda raw, age: age + 1}, SAMPLES)) == 1


def test_a_default_waits_for_its_feature_and_stays_otherwise():
    got = []

    def risk(raw, age=-1.0, limit=3):
        got.append((age, limit))
        return age

    measure({"risk": risk, "age": lambda raw: raw["age"]}, SAMPLES[:1], repeats=1)
    assert got == [(41.0, 3)]


def test_what_does_not_exist_is_an_error_with_a_hint():
    with pytest.raises(SourceError, match=r"'risk' failed on all 6 samples: it needs 'agee'.*mean 'age'"):
        measure({"age": lambda raw: raw["age"], "risk": lambda raw, agee: agee}, SAMPLES)
    with pytest.raises(SourceError, match="failed on all 6 samples: it needs"):
        measure({"a": lambda raw, b: b, "b": lambda raw, a: a}, SAMPLES)


# -- groups --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("key", "source", "groups"),
    [
        ("blood", lambda raw: {"chol": 200.0, "fbs": 1.0}, None),
        ("blood", lambda raw: [200.0, 1.0], {"blood": ["chol", "fbs"]}),
        (("chol", "fbs"), lambda raw: (200.0, 1.0), None),
        ("blood", lambda raw: Priced({"chol": 200.0, "fbs": None}, 3.0), None),
    ],
    ids=["mapping", "declared", "tuple", "priced"],
)
def test_the_price_of_a_group_is_its_set_up(key, source, groups):
    def slow(raw):
        time.sleep(0.002)
        return source(raw)

    costs = Costs.measure({"age": lambda raw: raw["age"], key: slow}, SAMPLES, repeats=2, groups=groups)
    assert costs.names == ("age", "chol", "fbs")
    assert costs.group_names == ("chol+fbs" if isinstance(key, tuple) else "blood",)
    assert costs.setup[0] >= 2 and costs.feature[1:].tolist() == [0.0, 0.0]
    assert costs.of(["chol", "fbs"]) == costs.setup[0]


def test_a_feature_has_one_source():
    with pytest.raises(SourceError, match="'chol' and 'blood' both give 'chol'"):
        measure({"chol": lambda raw: 1.0, "blood": lambda raw: {"chol": 1.0}}, SAMPLES)
    with pytest.raises(SourceError, match="group 'blod' has no source; did you mean 'blood'"):
        measure({"blood": lambda raw: {"chol": 1.0}}, SAMPLES, groups={"blod": ["chol"]})


# -- kinds of sources ----------------------------------------------------------------------------------------


def test_async_sources_are_awaited_in_one_loop():
    loops = set()

    async def remote(raw, age):
        loops.add(asyncio.get_running_loop())
        await asyncio.sleep(0.002)
        return age

    class Client:
        async def __call__(self, raw):
            loops.add(asyncio.get_running_loop())
            return 1.0

    def own_loop(raw):
        return asyncio.run(asyncio.sleep(0, 2.0))  # fails where a loop is running

    sources = {"remote": remote, "age": lambda raw: raw["age"], "client": Client(), "own": own_loop}
    costs = Costs.measure(sources, SAMPLES, repeats=2)
    assert costs.feature[0] >= 2 and len(loops) == 1

    async def in_a_notebook():
        return Costs.measure(sources, SAMPLES, repeats=2)

    assert asyncio.run(in_a_notebook()).names == costs.names
    assert len(loops) == 2


@pytest.mark.parametrize("is_async", [False, True], ids=["sync", "async"])
@pytest.mark.parametrize("batch_size", [None, 4, 1])
def test_the_time_of_a_batched_source_is_divided(batch_size, is_async):
    sizes = []

    def lengths(raws, age):
        sizes.append((len(raws), len(age)))
        time.sleep(0.012)
        return [len(raw["text"]) for raw in raws]

    async def lengths_async(raws, age):
        return lengths(raws, age)

    source = batched(lengths_async) if is_async else Source(lengths, batched=True)
    found = measure(
        {"length": source, "age": lambda raw: raw["age"]}, SAMPLES, repeats=2, batch_size=batch_size
    )
    n = batch_size or 6
    assert {size for size, _ in sizes} == ({6, n, 2} - {6} if n == 4 else {n})
    assert all(size == other for size, other in sizes)
    assert 12 / n <= found.timings[0].upper < 60 / n


def test_sources_of_the_runtime_are_measured_as_they_are():
    found = measure({"age": Source(lambda raw: raw["age"], retries=3), "built in": functools.partial(len)},
                    SAMPLES)  # fmt: skip
    assert found.costs.names == ("age", "built in")


def test_measured_costs_fit_on_demand():
    """The same sources serve a plan whose costs they gave, groups included."""
    sources = {
        "age": lambda raw: raw["age"], "pain": lambda raw: "typical",
        "blood": lambda raw: {"chol": 200.0, "fbs": 1.0},
    }  # fmt: skip
    costs = Costs.measure(sources, SAMPLES)
    with OnDemand(heart(costs=costs), sources) as served:
        receipt = served.predict(SAMPLES[0])
    assert receipt.acquired == ("age", "pain", "chol", "fbs")
    assert receipt.cost == pytest.approx(costs.total)


# -- failures ------------------------------------------------------------------------------------------------

GARBAGE = [float("nan"), float("inf"), [1.0, 2.0], np.ones(3), b"raw", {1.0}, {"other": 1.0}]


@pytest.mark.parametrize("garbage", GARBAGE, ids=repr)
def test_unsound_calls_are_reported_and_not_timed(garbage):
    def source(raw):
        if raw["age"] == 43.0:
            time.sleep(0.02)
            return garbage
        return 1.0

    found = measure({"bad": source, "next": lambda raw, bad: bad}, SAMPLES, repeats=2)
    timing = by_name(found)["bad"]
    assert timing.calls == 10 and timing.failed_samples == 1 and sum(timing.problems.values()) == 2
    assert timing.upper < 10
    assert "bad failed 2 times" in str(found)
    assert "it needs 'bad'" in next(iter(by_name(found)["next"].problems))


def test_sources_that_raise_are_reported_and_all_failing_is_an_error():
    def sometimes(raw):
        if raw["age"] > 43:
            raise ValueError("no such record")
        return 1.0

    found = measure({"record": sometimes}, SAMPLES, repeats=3)
    assert found.timings[0].problems == {"ValueError: no such record": 9}
    assert found.timings[0].failed_samples == 3 and found.timings[0].calls == 9
    with pytest.raises(SourceError, match="'record' failed on all 3 samples: ValueError: no such record"):
        Costs.measure({"record": sometimes}, SAMPLES[3:])


def test_groups_with_missing_or_strange_features_are_not_sound():
    answers = iter([[1.0], {"chol": 1.0}, {"chol": 1.0, "x": 2.0}, "no", {"chol": 1.0, "fbs": 2.0}, [1, 2]])
    found = measure({("chol", "fbs"): lambda raw: next(answers)}, SAMPLES, repeats=1)
    assert found.timings[0].calls == 2 and len(found.timings[0].problems) == 4


@pytest.mark.parametrize("bad", [[1.0], 5, None], ids=repr)
def test_batches_of_another_length_are_not_sound(bad):
    calls = []

    @batched
    def source(raws):
        calls.append(len(raws))
        return bad if len(calls) == 1 else [1.0] * len(raws)

    found = measure({"x": source}, SAMPLES, repeats=2)
    assert found.timings[0].failed_samples == 6 and found.timings[0].calls == 6


@pytest.mark.parametrize(
    ("sources", "samples", "options", "message"),
    [
        ({}, [1], {}, "no source"),
        ({"a": 3}, [1], {}, "must be a callable or a Source, not 3"),
        ({"a": len}, [], {}, "at least one sample"),
        ({"a": len}, "text", {}, "not one str"),
        ({"a": len}, ["x"], {"repeats": 0}, "repeats must be"),
        ({"a": len}, ["x"], {"unit": "min"}, "unit must be one of ms, s, us"),
        ({"a": len}, ["x"], {"price": "hot"}, "price must be one of"),
        ({"a": lambda: 1}, ["x"], {}, "must take the raw input"),
    ],
)
def test_mistakes_are_named(sources, samples, options, message):
    with pytest.raises(SourceError, match=message):
        measure(sources, samples, **options)


# -- forms ---------------------------------------------------------------------------------------------------


def test_the_file_can_be_edited(tmp_path):
    sources = {"age": lambda raw: raw["age"], "blood": lambda raw: {"chol": 1.0, "fbs": 2.0}}
    costs = Costs.measure(sources, SAMPLES, unit="us")
    costs.write(tmp_path / "costs.csv")
    assert Costs.read(tmp_path / "costs.csv") == costs
    assert all(len(repr(price).replace(".", "").strip("0")) <= 4 for price in costs.setup.tolist())


def test_the_measurement_is_a_table_and_json():
    found = measure({"age": lambda raw: raw["age"]}, SAMPLES, repeats=2)
    assert json.loads(json.dumps(found.to_dict()))["timings"] == found.table()
    lines = str(found).splitlines()
    assert lines[0].split() == ["source", "warm", "quartiles", "cold", "new", "calls"]
    assert lines[1].startswith("age") and lines[-1] == "times in ms, 6 samples, 2 rounds"


def test_columns_without_names():
    assert Costs.measure({1: lambda raw: 1.0, 0: lambda raw: 2.0}, [None]).names is None


def test_costs_do_not_bring_asyncio_along():
    code = "import sys, miserly.costs; sys.exit('asyncio' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code]).returncode == 0
