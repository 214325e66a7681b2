"""Monitor: no alarm without a change, an alarm after one, and what it says about it."""

from __future__ import annotations

import json
import math
import subprocess
import sys

import numpy as np
import pytest
from scipy.stats import beta, binom

from miserly.costs import Costs
from miserly.errors import DataError, PlanError
from miserly.plan import Node, Plan, Raw, load
from miserly.runtime import Monitor, OnDemand, Priced, Reference
from miserly.runtime.drift_test import DriftTest, mean_limits, share_limits
from miserly.runtime.watched import WATCHED

from .plans import PATIENT, heart
from .streams import World, classifier, first_alarms, references, regressor

WORLD = World()


def receipt_of(cost=5.0, answer="well", failed=False, ratio=1.0):
    """A receipt as `to_dict` gives it, with what a monitor reads."""
    bought = {"cost": cost, "price": cost / ratio, "outcome": "value"}
    lost = [{"cost": 0.0, "price": 4.0, "outcome": "failed"}] if failed else []
    return {"cost": cost, "answer": answer, "stopped_by": "answered", "trail": [bought, *lost]}


def receipts(world, n, seed):
    cost, ratio, failed, ill = world.draw(np.random.default_rng(seed), n)
    return [
        receipt_of(c, "ill" if i else "well", bool(f), r)
        for c, r, f, i in zip(cost.tolist(), ratio.tolist(), failed, ill, strict=True)
    ]


def allowed(n, rate):
    """So many of `n` may be false alarms; more have a probability below one in a thousand."""
    return binom.ppf(0.999, n, rate)


# -- the limits of a reference -------------------------------------------------------------------------------


@pytest.mark.parametrize(("count", "n"), [(0, 50), (1, 50), (25, 50), (50, 50), (10, 200), (1400, 2000)])
@pytest.mark.parametrize("level", [0.1, 0.001])
def test_limits_of_shares_are_those_of_clopper_and_pearson(count, n, level):
    low, high = share_limits(count, count, n, level)
    assert low == pytest.approx(beta.ppf(level, count, n - count + 1) if count else 0.0, abs=1e-9)
    assert high == pytest.approx(beta.ppf(1 - level, count + 1, n - count) if count < n else 1.0, abs=1e-9)


@pytest.mark.parametrize("n", [5, 50, 500])
def test_limits_of_means_hold_as_often_as_stated(n):
    """Skewed costs; each side may be wrong in 5 % of 1,000 samples."""
    rng = np.random.default_rng(n)
    values, chances = np.array([1.0, 5.0, 80.0]), [0.6, 0.35, 0.05]
    drawn = rng.choice(values, (1000, n), p=chances)
    limits = np.array([mean_limits(one, one, 80.0, 0.05) for one in drawn])
    mean = float(values @ chances)
    assert (limits[:, 0] > mean).sum() <= allowed(1000, 0.05)
    assert (limits[:, 1] < mean).sum() <= allowed(1000, 0.05)
    assert (limits[:, 0] <= drawn.mean(axis=1)).all() and (limits[:, 1] >= drawn.mean(axis=1)).all()


def test_limits_of_means_are_close_to_the_normal_ones_for_many_values():
    values = np.random.default_rng(0).uniform(0, 10, 20_000)
    low, high = mean_limits(values, values, 10.0, 0.001)
    normal = 3.09 * values.std() / math.sqrt(len(values))
    assert normal < high - values.mean() < 1.3 * normal and normal < values.mean() - low < 1.3 * normal
    assert mean_limits(np.zeros(5), np.zeros(5), 0.0, 0.01) == (0.0, 0.0)


# -- the test ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("rising", [True, False], ids=["rising", "falling"])
def test_evidence_is_as_rare_as_stated_where_the_mean_is_its_limit(rising):
    """The hardest case: 4,000 streams of 500 values whose mean is exactly the limit."""
    rng = np.random.default_rng(1)
    test = DriftTest(np.full((4000, 1), 0.2), np.array([rising]), np.ones((4000, 1)))
    highest = np.zeros(4000)
    for _ in range(500):
        test.add((rng.random((4000, 1)) < 0.2).astype(float))
        highest = np.maximum(highest, test.evidence[:, 0])
    for level in (0.5, 0.2, 0.05, 0.01):
        assert (highest >= 1 / level).sum() <= allowed(4000, level)
    assert (highest >= 2).sum() > 0  # it can


def test_capital_is_never_made_from_nothing():
    """All that is ever bet is 1: with gains of 1 the capital rises to it and not above."""
    test = DriftTest(np.array([0.5]), np.array([True]), np.array([1.0]))
    seen = []
    for _ in range(20_000):
        test.add(np.array([0.5]))
        seen.append(test.evidence[0])
    assert seen[0] == 0.5 and (np.diff(seen) > 0).all() and 0.8 < seen[-1] < 1.0


def test_the_start_of_a_change_is_estimated():
    rng = np.random.default_rng(2)
    test = DriftTest(np.array([0.3]), np.array([True]), np.array([1.0]))
    for t in range(1500):
        test.add(np.array([float(rng.random() < (0.25 if t < 1000 else 0.5))]))
    start, n, total, squares = test.since(0)
    assert abs(start - 1000) < 60 and start + n == 1500
    assert total == squares and 0.4 < total / n < 0.6


# -- false alarms --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("n_reference", [30, 200, 2000])
def test_without_a_change_alarms_are_rare(n_reference):
    """100 monitors, each with a reference of its own, 1,500 receipts: at most 20 % ever raise an alarm."""
    rng = np.random.default_rng(n_reference)
    plan = classifier()
    given = references(plan, WORLD, rng, 100, n_reference)
    found = first_alarms(plan, given, WORLD, WORLD, rng, 1500, false_alarm=0.2)
    assert (found > 0).any(axis=1).sum() <= allowed(100, 0.2)


@pytest.mark.long
@pytest.mark.parametrize("n_reference", [200, 2000, 20_000])
@pytest.mark.parametrize(("false_alarm", "failure_rate"), [(0.01, None), (0.2, 0.01)])
def test_false_alarms_over_ten_thousand_receipts(n_reference, false_alarm, failure_rate):
    """500 monitors, 10,000 receipts. In the second case failures are exactly as frequent as accepted."""
    rng = np.random.default_rng([n_reference, int(100 * false_alarm)])
    plan = classifier()
    given = references(plan, WORLD, rng, 500, n_reference)
    found = first_alarms(plan, given, WORLD, WORLD, rng, 10_000, 0, false_alarm, failure_rate)
    assert (found > 0).any(axis=1).sum() <= allowed(500, false_alarm)


@pytest.mark.long
def test_false_alarms_with_numbers_as_answers():
    """Numbers with ties, references of 100: 150 monitors, 1,500 receipts, at most 20 % raise an alarm."""
    rng, plan, alarms = np.random.default_rng(5), regressor(), 0
    for _ in range(150):
        monitor = Monitor(plan, np.round(rng.exponential(2.0, (100, 1)), 1), false_alarm=0.2)
        answers = np.round(rng.exponential(2.0, 1500), 1)
        monitor.update(receipt_of(2.0, float(one)) for one in answers)
        alarms += bool(monitor.alarms)
    assert alarms <= allowed(150, 0.2)


# -- changes -------------------------------------------------------------------------------------------------

# After 500 receipts: what changes, by how much, and how soon most monitors have noticed it.
CHANGES = [
    ("price", {"chances": (0.3, 0.3, 0.3, 0.1)}, 1000),
    ("tariff", {"tariff": 1.3}, 200),
    ("answers", {"share": 0.5}, 600),
    ("answers", {"share": 0.15}, 600),
    ("failures", {"failing": 0.06}, 1000),
]


@pytest.mark.parametrize(("quantity", "change", "within"), CHANGES, ids=lambda value: str(value)[:24])
def test_changes_are_noticed(quantity, change, within):
    rng = np.random.default_rng(3)
    plan = classifier()
    given = references(plan, WORLD, rng, 20, 2000)
    after = WORLD.changed(**change)
    found = first_alarms(plan, given, WORLD, after, rng, 500 + within, change=500)
    column = found[:, WATCHED.index(quantity)]
    assert (column > 500).mean() >= 0.9


def test_an_alarm_says_what_since_when_and_how_much():
    monitor = Monitor(classifier(), receipts(WORLD, 4000, 1))
    assert monitor.update(receipts(WORLD, 1000, 2)) == () and monitor.alarms == ()
    raised = monitor.update(receipts(WORLD.changed(share=0.5), 600, 3))
    assert [drift.quantity for drift in raised] == ["answers"]
    (drift,) = monitor.alarms
    assert drift.what == "share of 'ill'" and abs(drift.since - 1001) < 60 < drift.noticed - 1000 < 400
    assert drift.noticed == raised[0].noticed and drift.since == raised[0].since
    assert drift.found_lower < 0.5 < drift.found_upper
    assert drift.expected_lower < 0.3 < drift.expected_upper and abs(drift.expected - 0.3) < 0.03
    assert str(drift).startswith("share of 'ill': ") and f"since receipt {drift.since:,}" in str(drift)
    lines = str(monitor).splitlines()
    assert lines[0] == "1,600 receipts, false alarms 0.01: answers changed"
    assert lines[1] == f"! {drift}" and any(line.startswith("  mean cost: ") for line in lines)
    assert "CAD" in str(monitor)


def test_a_fall_is_noticed_too():
    monitor = Monitor(classifier(), receipts(WORLD, 4000, 1))
    monitor.update(receipts(WORLD.changed(chances=(1.0, 0.0, 0.0, 0.0)), 500, 2))
    (drift,) = monitor.alarms
    assert drift.quantity == "price" and drift.found == 1.0 < drift.expected_lower


def test_fewer_failures_are_no_alarm():
    monitor = Monitor(classifier(), receipts(WORLD.changed(failing=0.3), 4000, 1))
    assert monitor.update(receipts(WORLD.changed(failing=0.0), 2000, 2)) == ()


@pytest.mark.parametrize(("shift", "words"), [(3.0, "at most"), (-3.0, "below")])
def test_numbers_that_shift_are_noticed(shift, words):
    rng = np.random.default_rng(4)
    monitor = Monitor(regressor(), rng.normal(10, 2, (3000, 1)))
    assert monitor.update(receipt_of(2.0, x) for x in rng.normal(10, 2, 500).tolist()) == ()
    monitor.update(receipt_of(2.0, x) for x in rng.normal(10 + shift, 2, 200).tolist())
    assert words in monitor.alarms[0].what and abs(monitor.alarms[0].since - 501) < 30


def test_several_outputs_and_several_classes():
    nodes = [Node([0, 1], [0, 1], [1.0, 1.0], [0.0, 0.0])]
    plan = Plan(costs=Costs([1.0, 1.0]), terms=[Raw(0), Raw(1)], nodes=nodes, base=[0.0, 0.0])
    rng = np.random.default_rng(6)
    monitor = Monitor(plan, rng.normal(size=(2000, 2)))
    monitor.update(receipt_of(2.0, [x, y + 3]) for x, y in rng.normal(size=(100, 2)).tolist())
    assert monitor.alarms[0].what.startswith("share of answers of output 1")
    nodes = [Node([0, 1], [0, 1], [1.0, 1.0], [0.0] * 3)]
    plan = Plan(costs=Costs([1.0, 1.0]), terms=[Raw(0), Raw(1)], nodes=nodes, base=[0.0] * 3, link="softmax")
    monitor = Monitor(plan, rng.normal(size=(2000, 2)))
    monitor.update(receipt_of(2.0, k) for k in [0, 1] * 100)
    assert monitor.alarms[0].what == "share of 2" and monitor.alarms[0].found == 0.0


# -- real receipts -------------------------------------------------------------------------------------------


def patients(n, seed):
    rng = np.random.default_rng(seed)
    return [{**PATIENT, "age": float(age), "chol": 200.0} for age in rng.normal(60, 10, n)]


def rows(given):
    return [[one["age"], one["pain"], one["chol"], one["fbs"]] for one in given]


def test_a_hook_feeds_the_monitor_and_real_prices_are_compared_with_the_list():
    plan = heart()
    monitor = Monitor(plan, rows(patients(1000, 0)))
    with OnDemand(plan, hooks={"on_answer": monitor.add}) as served:
        for one in patients(100, 1):
            served.predict(one)
        assert monitor.n == 100 and not monitor.alarms
        sources = {"chol": lambda raw: Priced(raw["chol"], 9.1)}  # listed: 7
    with OnDemand(plan, sources, hooks={"on_answer": monitor.add}) as served:
        for one in patients(200, 2):
            served.predict(one)
    assert [drift.quantity for drift in monitor.alarms] == ["tariff"]
    assert monitor.alarms[0].since == 101
    assert monitor.alarms[0].found == pytest.approx((1 + 2 + 9.1 + 3) / 13)


def test_failures_of_sources_are_counted():
    plan = heart()
    monitor = Monitor(plan, rows(patients(1000, 0)), failure_rate=0.02)

    def broken(raw):
        raise OSError("no line")

    with OnDemand(plan, {"pain": broken}, hooks={"on_answer": monitor.add}) as served:
        for one in patients(20, 1):
            served.predict(one)
    drift = next(one for one in monitor.alarms if one.quantity == "failures")
    assert drift.found == 1.0 and drift.since == 1 and "2 %" in str(drift)


def test_receipts_and_their_records_are_the_same():
    plan = heart()
    with OnDemand(plan, {"chol": lambda raw: Priced(raw["chol"], 3.0)}) as served:
        given = [served.predict(one) for one in patients(50, 1)]
    both = [Monitor(plan, rows(patients(300, 0))) for _ in range(2)]
    both[0].update(given)
    both[1].update(json.loads(json.dumps(one.to_dict())) for one in given)
    assert both[0].to_dict() == both[1].to_dict()
    assert Reference.of(plan, given) == Reference.of(plan, [one.to_dict() for one in given])


# -- references ----------------------------------------------------------------------------------------------


def test_rows_runs_and_records_give_the_same_reference():
    plan, X = heart(), rows(patients(300, 0))
    reference = Reference.of(plan, X)
    assert reference == Reference.of(plan, plan.run(X)) == Reference.of(plan, reference)
    assert reference == Reference.of(plan, json.loads(json.dumps(reference.to_dict())))
    assert reference.n == 300 and sum(reference.shares) == 300 and reference.failures is None
    with OnDemand(plan) as served:
        receipts = [served.predict(one) for one in patients(300, 0)]
    assert Reference.of(plan, receipts).costs == reference.costs
    assert Reference.of(plan, receipts).shares == reference.shares
    assert Reference.of(plan, receipts).failures == 0


def test_a_reference_travels_with_the_plan(tmp_path):
    plan, X = heart(), rows(patients(300, 0))
    with pytest.raises(PlanError, match="no reference in its info"):
        Monitor(plan)
    kept = Reference.of(plan, X).attach(plan)
    assert kept.digest == plan.digest
    kept.save(tmp_path / "heart.miser")
    assert Monitor(load(tmp_path / "heart.miser")).reference == Reference.of(plan, X)
    other = kept.replace(base=[-70.0])
    with pytest.raises(PlanError, match="another plan"):
        Monitor(other)
    with pytest.raises(PlanError, match="another plan"):
        Reference.of(plan, X).attach(other)


def test_many_distinct_costs_are_grouped_without_losing_validity():
    values = np.random.default_rng(0).exponential(5.0, 20_000)
    plan = classifier()
    rough = Reference.of(plan, [receipt_of(min(float(v), 80.0)) for v in values])
    assert len(rough.costs) <= 500 and sum(k for _, _, k in rough.costs) == 20_000
    mean = Monitor(plan, rough)._means[0]
    exact = mean_limits(np.minimum(values, 80.0), np.minimum(values, 80.0), 80.0, 0.01 / 16)
    assert mean.lower <= exact[0] + 0.02 and exact[1] - 0.02 <= mean.upper
    assert mean.upper - mean.lower < 1.25 * (exact[1] - exact[0])  # values are rounded outwards


# -- keeping -------------------------------------------------------------------------------------------------


def test_a_monitor_survives_a_restart():
    given = receipts(WORLD, 300, 2) + receipts(WORLD.changed(share=0.6), 400, 3)
    whole = Monitor(classifier(), receipts(WORLD, 1000, 1))
    whole.update(given)
    assert whole.alarms
    for stop in (0, 1, 250, 600):
        first = Monitor(classifier(), receipts(WORLD, 1000, 1))
        first.update(given[:stop])
        again = Monitor.from_dict(json.loads(json.dumps(first.to_dict())), classifier())
        again.update(given[stop:])
        assert again.to_dict() == whole.to_dict() and str(again) == str(whole)
    with pytest.raises(PlanError, match="another plan"):
        Monitor.from_dict(whole.to_dict(), heart())
    with pytest.raises(DataError, match="not the record of a monitor"):
        Monitor.from_dict({"false_alarm": 0.1}, classifier())


def test_memory_does_not_grow():
    monitor = Monitor(classifier(), receipts(WORLD, 200, 1))
    sizes = []
    for k in range(3):
        monitor.update(receipts(WORLD, 200, k))
        sizes.append(len(json.dumps(monitor.to_dict())))
    assert max(sizes) < 1.1 * min(sizes) < 40_000


def test_one_monitor_is_the_simulated_one():
    """The simulations above run many streams in one `DriftTest`; a `Monitor` gives the same evidence."""
    plan, rng = classifier(), np.random.default_rng(8)
    reference = references(plan, WORLD, rng, 1, 500)
    after = WORLD.changed(share=0.6)
    found = first_alarms(plan, reference, WORLD, after, np.random.default_rng(9), 400, change=100)[0]
    monitor, rng = Monitor(plan, reference[0]), np.random.default_rng(9)
    for t in range(400):
        cost, ratio, failed, ill = (WORLD if t < 100 else after).draw(rng, 1)
        monitor.add(receipt_of(cost[0], "ill" if ill[0] else "well", bool(failed[0]), ratio[0]))
    noticed = {drift.quantity: drift.noticed for drift in monitor.alarms}
    assert noticed == {name: n for name, n in zip(WATCHED, found.tolist(), strict=True) if n > 0}
    assert noticed
    assert all(monitor.evidence(name) >= 1.0 for name in noticed)


# -- mistakes ------------------------------------------------------------------------------------------------


def test_mistakes_are_named():
    plan = classifier()
    for options in ({"false_alarm": 0.0}, {"false_alarm": 1.5}, {"failure_rate": -0.1}):
        with pytest.raises(DataError, match=f"{next(iter(options))} must be a number between 0 and 1"):
            Monitor(plan, receipts(WORLD, 10, 0), **options)
    with pytest.raises(PlanError, match="needs a plan or a fitted model, not str"):
        Monitor("heart.miser")
    monitor = Monitor(plan, receipts(WORLD, 10, 0))
    with pytest.raises(DataError, match="not a receipt"):
        monitor.add({"cost": 3.0})
    with pytest.raises(DataError, match="'sick' is none of the classes"):
        monitor.add(receipt_of(answer="sick"))
    with pytest.raises(DataError, match="watches price, tariff"):
        monitor.evidence("prices")
    with OnDemand(heart()) as served, pytest.raises(PlanError, match="another plan"):
        monitor.add(served.predict(PATIENT))
    assert monitor.n == 0


def test_a_plan_that_costs_nothing_can_be_watched():
    plan = Plan(costs=Costs([1.0]), terms=[], nodes=[], base=[0.0], link="logistic", classes=["well", "ill"])
    monitor = Monitor(plan, np.zeros((100, 1)))
    monitor.update([receipt_of(0.0)] * 100)
    assert not monitor.alarms
    monitor.add(receipt_of(1.0))
    assert monitor.alarms[0].quantity == "price"


def test_monitoring_needs_numpy_alone():
    code = """
import sys
for name in ("scipy", "numba", "sklearn", "pandas", "narwhals"):
    sys.modules[name] = None  # importing it now fails
from miserly.runtime import Monitor, OnDemand
from tests.runtime.plans import PATIENT, heart
plan = heart()
monitor = Monitor(plan, [list(PATIENT.values())] * 50)
monitor.add(OnDemand(plan).predict(PATIENT))
assert monitor.n == 1 and not monitor.alarms, monitor
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
