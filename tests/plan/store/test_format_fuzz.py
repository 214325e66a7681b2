"""Thousands of spoilt files: each is refused with PlanFormatError, or is a plan that can be shown and run.

Set MISERLY_FUZZ to a number to try that many times as many files.
"""

from __future__ import annotations

import contextlib
import os
import time
import tracemalloc
import warnings

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from miserly.costs import Costs
from miserly.errors import PlanFormatError
from miserly.plan import LEAVE, Node, Plan, Raw, Threshold, Tree
from miserly.plan.store.format import dumps, loads

from ..mutations import JSON, ON_PURPOSE, accident, assemble, signed, take_apart
from ..random_plans import random_plan
from ..sample_plans import SAMPLES, chain, empty, stump, three_classes, two_steps

TIMES = int(os.environ.get("MISERLY_FUZZ", "1"))
SMALL = [dumps(maker()) for name, maker in SAMPLES.items() if name not in ("heart", "long_chain")]
FILES = SMALL + [dumps(random_plan(seed, listwise=seed % 2 == 0)) for seed in range(12)]


def harmless(data, run=True):
    """Refused, or sound: it can be shown, drawn, saved again and run. Gives the plan, or None if refused."""
    start = time.process_time()
    try:
        plan = loads(data)
    except PlanFormatError as error:
        assert 10 < len(str(error)) < 1500
        plan = None
    assert time.process_time() - start < 1.0, "loading hangs"
    if plan is not None:
        assert plan.describe() and plan.draw().svg and repr(plan)
        again = dumps(plan)
        assert dumps(loads(again)) == again
        if run:
            run_both_ways(plan)
    assert time.process_time() - start < 2.0, "showing or running hangs"
    return plan


def run_both_ways(plan):
    """Both engines come to an end, whatever the numbers."""
    rows = np.array([[0.0], [1.5], [np.nan]]) * np.ones((3, plan.n_features))
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore", RuntimeWarning)  # huge weights may overflow
        for compiled in (False, True):
            result = plan.run(rows, qid=[0, 0, 1], compiled=compiled)
            assert ((result.exit >= -1) & (result.exit < max(len(plan.nodes), 1))).all()


@pytest.fixture(scope="module", autouse=True)
def compiled():
    """Compile before anything is timed."""
    run_both_ways(three_classes())
    run_both_ways(next(plan for plan in map(loads, FILES) if plan.acquires))


def test_accidents_are_always_noticed():
    rng = np.random.default_rng(0)
    for i in range(2000 * TIMES):
        data = FILES[i % len(FILES)]
        spoilt = accident(data, rng)
        if spoilt != data:
            with pytest.raises(PlanFormatError):
                loads(spoilt)


@pytest.mark.parametrize("mutate", ON_PURPOSE, ids=lambda mutate: mutate.__name__)
def test_files_spoilt_on_purpose_do_no_harm(mutate):
    rng = np.random.default_rng(len(mutate.__name__))
    for i in range(600 * TIMES):
        harmless(mutate(FILES[i % len(FILES)], rng))


def test_mutations_reach_both_ends():
    """A fuzz whose files are all refused (or all accepted) would test little."""
    rng = np.random.default_rng(1)
    accepted = {m.__name__: 0 for m in ON_PURPOSE}
    for mutate in ON_PURPOSE:
        for i in range(100):
            accepted[mutate.__name__] += harmless(mutate(FILES[i % len(FILES)], rng), run=False) is not None
    assert all(accepted[name] < 100 for name in accepted)
    assert accepted["array_numbers"] > 10 and accepted["header_values"] > 5, accepted


def test_loading_takes_memory_in_proportion_to_the_file():
    rng = np.random.default_rng(2)
    tracemalloc.start()
    try:
        for i in range(300 * TIMES):
            data = ON_PURPOSE[i % len(ON_PURPOSE)](FILES[i % len(FILES)], rng)
            tracemalloc.reset_peak()
            before, _ = tracemalloc.get_traced_memory()
            with contextlib.suppress(PlanFormatError):
                loads(data)
            _, peak = tracemalloc.get_traced_memory()
            assert peak - before < 1_000_000 + 100 * len(data)
    finally:
        tracemalloc.stop()


quick = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large])


@settings(quick, max_examples=200 * TIMES)
@given(st.binary(max_size=300))
def test_arbitrary_bytes_are_not_plans(data):
    for whole in (data, signed(data), signed(dumps(empty())[:32] + data)):
        with pytest.raises(PlanFormatError):
            loads(whole)


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8) | st.sampled_from(JSON),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=8), inner, max_size=4),
    max_leaves=12,
)


@settings(quick, max_examples=300 * TIMES)
@given(st.sampled_from(FILES), st.sampled_from(list(take_apart(FILES[0])[0])), json_values)
def test_any_json_may_stand_in_the_header(data, key, value):
    header, payload = take_apart(data)
    header[key] = value
    try:
        spoilt = assemble(header, payload)
    except ValueError:  # digits or surrogates that Python itself does not write
        return
    harmless(spoilt, run=False)


@settings(quick, max_examples=300 * TIMES)
@given(st.sampled_from(FILES), st.integers(0, 10**6), st.binary(min_size=1, max_size=16))
def test_any_bytes_may_stand_in_the_arrays(data, at, new):
    header, payload = take_apart(data)
    at %= len(payload)
    harmless(assemble(header, (payload[:at] + new + payload[at + len(new) :])[: len(payload)]))


# -- files that are sound but built to be slow ---------------------------------------------------------------


def quickly(data):
    start = time.process_time()
    plan = harmless(data, run=False)
    assert time.process_time() - start < 5.0
    return plan


def test_a_long_unknown_name_does_not_start_a_search_for_its_neighbour():
    header, payload = take_apart(dumps(empty()))
    header["costs"]["features"] = {"ab" * 200_000: 1.0}
    header["costs"]["groups"] = {"g": {"features": ["ba" * 200_000], "setup": 1.0}}
    assert quickly(assemble(header, payload)) is None


def test_one_long_label_does_not_widen_thousands():
    header, payload = take_apart(dumps(two_steps()))
    header["classes"] = {"dtype": "str", "values": ["x" * 300_000] + [""] * 100_000}
    assert quickly(assemble(header, payload)) is None


def test_a_wide_plan_of_many_nodes_is_walked_once():
    n, d = 1500, 4000
    nodes = [Node([0], [0], [1.0], [0.0], gate=Threshold(0.0), up=2 * k + 1, low=2 * k + 2)
             if 2 * k + 2 < n else Node([1], [0], [1.0], [0.0], low=2 * k + 1 if 2 * k + 1 < n else LEAVE)
             for k in range(n)]  # fmt: skip
    plan = Plan(costs=Costs.uniform(d), terms=[Raw(0), Raw(d - 1)], nodes=nodes, base=[0.0])
    assert quickly(dumps(plan)) is not None


def test_a_tree_may_be_as_deep_as_it_is_long():
    n = 20_001
    inner = np.arange(0, n - 1, 2)
    feature, left, right = np.full(n, -1), np.zeros(n), np.zeros(n)
    feature[inner], left[inner], right[inner] = 0, inner + 1, inner + 2
    tree = Tree(feature, np.zeros(n), left, right, np.zeros(n, bool), np.zeros(n))
    plan = quickly(dumps(chain([tree, stump(0, 0.0, 0, 1)], costs=Costs([1.0]))))
    assert plan is not None and plan.terms[0].depth == (n - 1) // 2


def test_info_may_be_deep_but_not_bottomless():
    header, payload = take_apart(dumps(three_classes()))
    header["info"] = {"a": [[[[[]]]]]}
    assert quickly(assemble(header, payload)) is not None
    text = b'{"info":' + b"[" * 100_000 + b"]" * 100_000 + b"}"
    assert quickly(assemble(text, payload)) is None
