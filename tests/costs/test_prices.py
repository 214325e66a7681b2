"""Every form of a price is what the costs say of sets, and every form of "does it fit" is the same rule."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from miserly.costs import Costs, Ledger, fits, mean_fits
from miserly.costs import prices as p
from miserly.costs.one_row import listed_price, price_parts
from miserly.utils.compiled import compiled


@st.composite
def costs_and_paid(draw):
    """Costs of whole numbers, so that sums are exact in any order, and a mask of paid features."""
    rng = np.random.default_rng(draw(st.integers(0, 10**6)))
    d, n_groups = 7, draw(st.integers(0, 3))
    member = rng.integers(-1, n_groups, size=d)
    inside = [member == g for g in range(n_groups)]
    if draw(st.booleans()):  # groups overlap
        inside = [rng.random(d) < 0.4 for _ in range(n_groups)]
    groups = {
        f"g{g}": {"features": np.flatnonzero(members).tolist(), "setup": float(rng.integers(0, 9))}
        for g, members in enumerate(inside)
        if members.any()
    }
    costs = Costs(rng.integers(0, 9, size=d).astype(float), groups=groups, evaluation=0.5)
    return costs, rng.random(d) < 0.4, rng.random((5, d)) < 0.4


def by_hand(costs, features):
    """The price of a set, from the definition alone."""
    chosen = set(np.flatnonzero(features).tolist())
    setups = [group["setup"] for group in costs.to_dict()["groups"].values() if chosen & {*group["features"]}]
    return sum(costs.feature[f] for f in chosen) + sum(setups)


def for_all(costs):
    """Prices that are the same for every row."""
    return p.RowPrices(costs.feature[None], costs.memberships, costs.setup[None])


def with_feature(paid, f):
    more = paid.copy()
    more[f] = True
    return more


@settings(max_examples=60, deadline=None)
@given(costs_and_paid())
def test_all_forms_of_a_price_agree_with_the_definition(given_costs):
    costs, paid, table = given_costs
    opened = p.opened_by(paid, costs.prices)
    added = [by_hand(costs, with_feature(paid, f)) - by_hand(costs, paid) for f in range(len(costs))]
    unpaid = np.flatnonzero(~paid)
    assert [p.unpaid_price(0, f, opened[None], *costs.prices) for f in unpaid] == [added[f] for f in unpaid]
    assert p.marginal_prices(paid, opened, costs.prices).tolist() == added
    listed, open_groups = [*costs.feature, *costs.setup], set(np.flatnonzero(opened).tolist())
    for f in unpaid:
        own, due, opens = price_parts(f, opened, costs.prices)
        assert own + due == added[f] and set(opens) == set(costs.groups_of(f)) - open_groups
        assert listed_price(f, costs.groups_of(f), open_groups, listed, len(costs)) == added[f]
    assert costs.marginals(paid).tolist() == added
    assert p.set_price(paid, costs.prices, 0.5) == by_hand(costs, paid) + 0.5 == costs.of(paid, evaluations=1)
    assert p.row_prices(table, costs.prices).tolist() == [by_hand(costs, row) for row in table]
    extra = [by_hand(costs, paid | row) - by_hand(costs, paid) for row in table]
    assert p.row_prices(table, costs.prices, paid).tolist() == extra


@settings(max_examples=60, deadline=None)
@given(costs_and_paid())
def test_rows_with_accounts_of_their_own_pay_what_one_account_pays(given_costs):
    costs, _, table = given_costs
    opened = p.groups_of_rows(table, costs.prices)
    assert [row.tolist() for row in opened] == [p.opened_by(row, costs.prices).tolist() for row in table]
    rows, features = np.divmod(np.arange(table.size), len(costs))
    found = p.prices_by_row(rows, features, table, opened, for_all(costs))
    assert found.reshape(table.shape).tolist() == [costs.marginals(row).tolist() for row in table]


@settings(max_examples=60, deadline=None)
@given(costs_and_paid(), st.integers(0, 10**6))
def test_rows_with_prices_of_their_own_pay_what_costs_of_these_prices_say(given_costs, seed):
    costs, _, table = given_costs
    rng = np.random.default_rng(seed)
    own, setup = (rng.integers(0, 9, (len(table), part)).astype(float) for part in (7, len(costs.setup)))
    known, prices = rng.random(table.shape) < 0.3, p.RowPrices(own, costs.memberships, setup)
    opened = p.groups_of_rows(known, prices)
    rows, features = np.divmod(np.arange(table.size), len(costs))
    found = p.prices_by_row(rows, features, known, opened, prices).reshape(table.shape)
    totals = p.row_totals(table, prices, known)
    compiled_price = compiled()(p.row_price)
    for i, row in enumerate(table):
        here = p.PriceList(own[i], costs.memberships, setup[i])
        assert found[i].tolist() == p.marginal_prices(known[i], opened[i], here).tolist()
        assert totals[i] == p.row_prices(row[None], here, known[i])[0]
        for f in np.flatnonzero(~known[i]):
            assert p.row_price(i, f, opened, *prices) == compiled_price(i, f, opened, *prices) == found[i, f]
    assert p.row_totals(table, for_all(costs)).tolist() == p.row_prices(table, costs.prices).tolist()


@settings(max_examples=30, deadline=None)
@given(costs_and_paid())
def test_compiled_prices_are_the_same(given_costs):
    costs, paid, _ = given_costs
    unpaid_price, mark_paid = compiled()(p.unpaid_price), compiled()(p.mark_paid)
    table = np.array([~paid, paid])
    opened = p.groups_of_rows(table, costs.prices)
    for f in range(len(costs)):
        given = 1, f, opened, *costs.prices
        assert unpaid_price(*given) == p.unpaid_price(*given)
    for f in np.flatnonzero(~paid):
        mark_paid(1, f, table, opened, costs.memberships)
        assert table[1, f] and (opened == p.groups_of_rows(table, costs.prices)).all()
    assert (table[0] == ~paid).all()


BORDER = 0.3 * (1 + p.TOLERANCE)


@pytest.mark.parametrize(
    ("spent", "price", "budget", "expected"),
    [
        (0.1, 0.2, 0.3, True),  # 0.1 + 0.2 > 0.3 in floating point
        (0.0, BORDER, 0.3, True),
        (0.0, math.nextafter(BORDER, 1.0), 0.3, False),
        (5.0, 0.0, 1.0, True),
        (0.0, 1e-300, 0.0, False),
        (1e9, 1.0, math.inf, True),
    ],
)
def test_what_fits_is_one_rule_for_numbers_arrays_and_compiled_code(spent, price, budget, expected):
    assert fits(spent, price, budget) is expected
    assert fits(np.array([spent]), np.array([price]), budget).tolist() == [expected]
    assert compiled()(fits)(spent, price, budget) is expected
    assert Ledger(Costs([1.0]), budget=budget).fits(price) is (price == 0.0 or fits(0.0, price, budget))


def test_a_mean_is_inside_its_budget_but_for_rounding():
    assert mean_fits(0.3, 0.3) and mean_fits(0.3 * (1 + 0.9e-9), 0.3)
    assert not mean_fits(0.3 * (1 + 1.1e-9), 0.3)
    assert mean_fits(np.array([1.0, 1.1]), 1.0).tolist() == [True, False]


# -- the ledger ----------------------------------------------------------------------------------------------

LAB = Costs([1.0, 2.0, 4.0], groups={"lab": {"features": [1, 2], "setup": 10.0}}, evaluation=0.5)


def test_the_arrays_of_a_ledger_cannot_be_changed_from_outside():
    ledger = Ledger(LAB)
    paid = ledger.paid
    for array in (paid, ledger.opened):
        with pytest.raises(ValueError, match="read-only"):
            array[0] = True
    ledger.buy(0)
    assert paid.tolist() == [True, False, False]  # a view, not a copy
    assert ledger.is_paid(0) and not ledger.is_paid(1)


def test_a_ledger_lists_its_prices():
    ledger = Ledger(LAB, budget=13.0)
    assert ledger.prices().tolist() == [1.0, 12.0, 14.0]
    ledger.buy(1)
    assert ledger.prices().tolist() == [1.0, 0.0, 4.0] and ledger.left == 1.0
    assert ledger.prices(paid_is_free=False).tolist() == [1.0, 2.0, 4.0]
    assert ledger.fits(ledger.prices()).tolist() == [True, True, False]


def test_settling_counts_paid_features_and_evaluations_again():
    ledger = Ledger(LAB)
    ledger.evaluate(5)
    ledger.settle(2, [1])
    assert ledger.spent == 2.0 + 10.0 + 2 * 0.5
    assert ledger.opened.tolist() == [True] and ledger.price(2) == 4.0


def test_a_reserve_cannot_be_spent_until_it_is_released():
    ledger = Ledger(LAB, budget=5.0)
    ledger.buy(0)
    with ledger.reserving(2.0):
        assert ledger.budget == 3.0
    with pytest.raises(RuntimeError), ledger.reserving(100.0):
        assert ledger.budget == ledger.spent == 1.0
        raise RuntimeError
    assert ledger.budget == 5.0


def test_a_budget_can_be_set_and_is_checked():
    ledger = Ledger(LAB, budget=5.0)
    ledger.budget = None
    assert ledger.budget == math.inf
    with pytest.raises(ValueError, match="cannot be -1"):
        ledger.budget = -1.0


def test_compiled_code_buys_for_the_ledger():
    ledger = Ledger(LAB)
    state = ledger.budget_state()
    state.paid[0, 1] = True
    state.account[0] = 12.0
    assert ledger.is_paid(1) and ledger.spent == 12.0
