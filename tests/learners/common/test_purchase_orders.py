"""Which features a budget buys: from both ends, at marginal prices, with groups."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from miserly.costs import Costs, Ledger
from miserly.learners.common.purchase_orders import backward_set, fill, forward_set, saved_prices

LAB = Costs([1.0, 2.0, 2.0, 3.0], groups={"lab": {"features": [1, 2], "setup": 4.0}})
GAINS = np.array([1.0, 6.0, 5.0, 3.0])


def constant(gains):
    return lambda features: np.asarray(gains, dtype=float)


def test_forward_pays_the_setup_of_a_group_once():
    # Rates at first: 1/1, 6/6, 5/6, 3/3; feature 0 is the first of equals. Then 6/6 and 3/3: feature 1, which
    # opens the group. Now feature 2 costs 2 and has the rate 5/2, before 3/3.
    ledger = Ledger(LAB, 10.0)
    assert forward_set(constant(GAINS), ledger, alpha=1.0) == [0, 1, 2]
    assert ledger.spent == 1.0 + 6.0 + 2.0


def test_backward_saves_the_setup_with_the_last_feature_of_a_group():
    # All cost 12. Dropping saves 1, 2, 2, 3: the rates are 1, 3, 2.5, 1, and feature 0 is dropped. 11 is
    # still too much for 8: feature 3 has the rate 1. The rest costs 8, and nothing is left.
    ledger = Ledger(LAB, 8.0)
    assert backward_set(constant(GAINS), ledger, alpha=1.0) == [1, 2]
    assert ledger.spent == 8.0


def test_backward_refills_with_what_was_dropped_last():
    # As above, and 1 is left of 9.
    assert backward_set(constant(GAINS), Ledger(LAB, 9.0), alpha=1.0) == [1, 2, 0]


def test_backward_keeps_features_that_gain_only_together():
    def together(features):
        gain = np.array([0.2, 0.1, 0.0, 0.0])
        gain[[2, 3]] = 1.0 if {2, 3} <= set(features) else 0.0
        return gain

    costs = Costs(np.ones(4))
    assert sorted(backward_set(together, Ledger(costs, 2.0), alpha=1.0)) == [2, 3]
    assert forward_set(lambda paid: together((*paid, 0, 1)), Ledger(costs, 2.0), alpha=1.0) == [0, 1]


def test_the_power_of_the_price_decides_between_useful_and_cheap():
    costs, gains = Costs([9.0, 1.0]), constant([2.0, 1.0])
    for build in (forward_set, backward_set):
        assert build(gains, Ledger(costs, 9.0), 0.0) == [0]
        assert build(gains, Ledger(costs, 9.0), 1.0) == [1]


def test_free_features_come_first_if_they_gain():
    costs = Costs([1.0, 0.0, 0.0])
    assert forward_set(constant([5.0, 0.1, 0.0]), Ledger(costs, 1.0), 1.0) == [1, 0]


def test_wide_sets_ask_for_gains_few_times():
    gains, calls = np.arange(1.0, 401.0), []

    def counted(features):
        calls.append(len(features))
        return gains

    costs = Costs(np.ones(400))
    assert sorted(forward_set(counted, Ledger(costs, 200.0), 1.0)) == list(range(200, 400))
    n_forward = len(calls)
    assert sorted(backward_set(counted, Ledger(costs, 5.0), 1.0)) == list(range(395, 400))
    assert n_forward < 45 and len(calls) - n_forward < 35


def test_saved_prices_of_nested_groups():
    costs = Costs(
        [1.0, 1.0, 1.0],
        groups={"lab": {"features": [0, 1], "setup": 5.0}, "visit": {"features": [0, 1, 2], "setup": 7.0}},
    )
    assert saved_prices(costs, np.array([True, False, True])).tolist() == [6.0, 0.0, 1.0]
    assert saved_prices(costs, np.array([True, False, False])).tolist() == [13.0, 0.0, 0.0]


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 10_000), st.floats(0, 1.2), st.sampled_from([0.0, 0.5, 1.0]))
def test_no_order_exceeds_the_budget(seed, share, alpha):
    rng = np.random.default_rng(seed)
    d = int(rng.integers(1, 30))
    members = np.flatnonzero(rng.random(d) < 0.4).tolist()
    groups = {"lab": {"features": members, "setup": 3.0}} if members else None
    costs = Costs(rng.integers(0, 5, d).astype(float), groups=groups)
    budget, gains = share * costs.total, rng.normal(size=d)
    for build in (forward_set, backward_set):
        ledger = Ledger(costs, budget)
        bought = build(constant(gains), ledger, alpha)
        assert len(set(bought)) == len(bought)
        assert ledger.spent == pytest.approx(costs.of(costs.mask(bought)))
        assert ledger.spent <= budget * (1 + 1e-12)


def test_fill_skips_what_is_paid():
    ledger = Ledger(Costs([1.0, 1.0]), 2.0)
    ledger.buy(0)
    assert fill([0, 1], ledger) == [1]
