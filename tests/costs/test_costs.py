"""What costs must keep: sets cost the same in any order, groups are paid once, mistakes are named."""

from __future__ import annotations

import copy
import pickle
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.base import BaseEstimator, clone

from miserly import CostError, Costs, Ledger
from miserly.costs import fits, read_budget

# Quarters add up exactly in binary, so that sums can be compared with == whatever their order.
quarters = st.integers(0, 4000).map(lambda q: q / 4)


@st.composite
def priced(draw: st.DrawFn) -> Costs:
    """Costs of a few features, some of them in groups, some of them free."""
    own = draw(st.lists(quarters, min_size=1, max_size=8))
    member = draw(st.lists(st.integers(-1, 2), min_size=len(own), max_size=len(own)))
    groups = {
        f"group {g}": {"features": [i for i, m in enumerate(member) if m == g], "setup": draw(quarters)}
        for g in sorted(set(member) - {-1})
    }
    return Costs(own, groups=groups, evaluation=draw(quarters))


@st.composite
def priced_orders(draw: st.DrawFn) -> tuple[Costs, list[int]]:
    """Costs, and an order in which to buy some of the features."""
    costs = draw(priced())
    order = draw(st.permutations(range(len(costs))))
    return costs, order[: draw(st.integers(0, len(order)))]


@pytest.fixture
def heart() -> Costs:
    return Costs(
        {"age": 1, "chol": 5.17, "fbs": 3.10, "ca": 100.9},
        groups={"blood": {"features": ["chol", "fbs"], "setup": 2.10}},
        evaluation=0.01,
        unit="CAD",
    )


# -- the cost of a set ---------------------------------------------------------------------------------


@given(priced_orders(), st.randoms(use_true_random=False))
def test_the_cost_of_a_set_does_not_depend_on_the_order_of_buying(case, random):
    costs, order = case
    first, second = Ledger(costs), Ledger(costs)
    for feature in order:
        first.buy(feature)
    random.shuffle(order)
    for feature in order:
        second.buy(feature)
    assert first.spent == second.spent == costs.of(order)


@given(priced_orders())
def test_the_cost_of_a_set_never_falls_as_the_set_grows(case):
    costs, order = case
    prices = [costs.of(order[:n]) for n in range(len(order) + 1)]
    assert prices == sorted(prices)
    assert prices[-1] <= costs.total


@given(priced_orders())
def test_marginal_costs_add_up_to_the_cost_of_the_set(case):
    costs, order = case
    steps = [costs.marginal(feature, bought=order[:n]) for n, feature in enumerate(order)]
    assert sum(steps) == costs.of(order)


@given(priced_orders())
def test_marginal_costs_agree_with_the_prices_of_a_ledger(case):
    costs, order = case
    ledger = Ledger(costs)
    for feature in order:
        ledger.buy(feature)
    prices = [ledger.price(feature) for feature in range(len(costs))]
    assert costs.marginals(ledger.paid).tolist() == prices


@given(priced_orders())
def test_groups_are_paid_once(case):
    costs, order = case
    own = sum(costs.feature[feature] for feature in order)
    touched = {int(costs.group[feature]) for feature in order} - {-1}
    assert costs.of(order) == own + sum(costs.setup[g] for g in touched)


@given(priced_orders())
def test_repeating_a_feature_changes_nothing(case):
    costs, order = case
    assert costs.of(order + order) == costs.of(order)


def test_cost_of_a_set_by_hand(heart):
    # 5.17 + 3.10 own, 2.10 for drawing blood once.
    assert heart.of(["chol", "fbs"]) == pytest.approx(10.37, abs=1e-12)
    assert heart.of([]) == 0.0
    assert heart.of("age") == 1.0
    assert heart.of(0) == 1.0
    assert heart.of(np.array([True, False, False, False])) == 1.0
    assert heart.of(["age"], evaluations=100) == pytest.approx(2.0, abs=1e-12)
    # 1 + 5.17 + 3.10 + 100.9 + 2.10
    assert heart.total == pytest.approx(112.27, abs=1e-12)


def test_marginal_cost_by_hand(heart):
    assert heart.marginal("chol") == pytest.approx(7.27)
    assert heart.marginal("chol", bought=["fbs"]) == 5.17
    assert heart.marginal("chol", bought=["chol"]) == 0.0
    assert heart.marginal("age", bought=["chol", "ca"]) == 1.0


def test_free_features_are_allowed_and_cost_nothing():
    costs = Costs({"known": 0, "asked": 3}, groups={"form": {"features": ["known", "asked"], "setup": 0}})
    assert costs.of(["known"]) == 0.0
    assert Ledger(costs, budget=0).buy(0) == 0.0


def test_a_free_feature_of_a_group_still_pays_its_set_up():
    costs = Costs([0, 1], groups={"g": {"features": [0, 1], "setup": 5}})
    assert costs.marginal(0) == 5.0
    assert not Ledger(costs, budget=4).affordable(0)


def test_a_set_up_may_be_left_out_and_is_then_free():
    assert Costs([1, 2], groups={"g": {"features": [0, 1]}}).setup.tolist() == [0.0]


# -- the ledger ----------------------------------------------------------------------------------------


@given(priced(), quarters, st.lists(st.integers(0, 7), max_size=20))
def test_a_ledger_never_passes_its_budget(costs, budget, requests):
    ledger = Ledger(costs, budget)
    for feature in requests:
        if feature < len(costs) and ledger.affordable(feature):
            ledger.buy(feature)
        if ledger.can_evaluate():
            ledger.evaluate()
    assert ledger.spent <= budget


def test_buying_what_does_not_fit_names_the_feature_and_what_is_left(heart):
    ledger = Ledger(heart, budget=10)
    ledger.buy(0)
    with pytest.raises(CostError, match=r"'ca' costs 100\.9, but only 9 of 10 is left"):
        ledger.buy(3)
    assert ledger.spent == 1.0
    assert ledger.paid.tolist() == [True, False, False, False]


def test_buying_twice_is_free(heart):
    ledger = Ledger(heart)
    assert ledger.buy(1) == pytest.approx(7.27)
    assert ledger.buy(1) == 0.0
    assert ledger.buy(2) == 3.10


def test_evaluations_are_paid_each_time(heart):
    ledger = Ledger(heart, budget=0.025)
    ledger.evaluate(2)
    assert ledger.spent == 0.02
    assert not ledger.can_evaluate()
    with pytest.raises(CostError, match="evaluating 1 more terms does not fit"):
        ledger.evaluate()


def test_a_budget_equal_to_the_price_on_paper_admits_it():
    # 0.1 + 0.2 is a little more than 0.3 in floating point.
    ledger = Ledger(Costs([0.1, 0.2]), budget=0.3)
    ledger.buy(0)
    ledger.buy(1)
    assert fits(0.1, 0.2, 0.3)
    assert not fits(0.1, 0.2000001, 0.3)


def test_ledger_goes_back_to_a_saved_state(heart):
    ledger = Ledger(heart, budget=20)
    ledger.buy(1)
    saved, other = ledger.state(), ledger.copy()
    ledger.buy(2)
    assert other.spent == pytest.approx(7.27), "a copy is an account of its own"
    ledger.restore(saved)
    assert (ledger.spent, ledger.budget) == (other.spent, 20.0)
    assert ledger.price(2) == 3.10, "the blood group is still open"


def test_a_state_that_does_not_fit_leaves_the_ledger_as_it_was(heart):
    ledger = Ledger(heart)
    foreign = {**ledger.state(), "paid": np.ones(4, bool), "opened": np.ones(7, bool)}
    with pytest.raises(CostError, match="'opened'"):
        ledger.restore(foreign)
    with pytest.raises(CostError, match="'account' is missing"):
        ledger.restore({"paid": ledger.paid, "opened": ledger.opened})
    assert not ledger.paid.any()


def test_ledger_survives_pickling(heart):
    ledger = Ledger(heart, budget=50)
    ledger.buy(1)
    again = pickle.loads(pickle.dumps(ledger))
    assert (again.spent, again.price(2), again.budget) == (ledger.spent, 3.10, 50.0)


@pytest.mark.parametrize("budget", [-1, float("nan"), "5", True, [5], b"5", -(10**400)])
def test_a_budget_is_a_non_negative_number_or_none(budget):
    with pytest.raises(CostError, match="budget"):
        read_budget(budget)


def test_budgets_without_limit():
    assert read_budget(None) == read_budget(float("inf")) == read_budget(10**400) == float("inf")
    assert read_budget(np.float32(2.5)) == 2.5


# -- prices that are no prices -----------------------------------------------------------------------


@pytest.mark.parametrize(
    ("value", "words"),
    [
        (-1, "negative"),
        (float("nan"), r"missing \(NaN\)"),
        (float("inf"), "infinite"),
        (10**400, "infinite"),
        (-(10**400), "negative"),
        (None, "must be a number, not None"),
        ("5", "must be a number, not '5'"),
        (b"5", "must be a number"),
        (True, "must be a number, not True"),
        (np.bool_(True), "must be a number, not True"),
        ([5], r"must be a number, not \[5\]"),
        (5j, "must be a number"),
        (np.complex128(5), "must be a number"),
    ],
)
def test_every_wrong_price_is_an_error_that_names_the_feature(value, words):
    with pytest.raises(CostError, match=f"feature 'chol'.*{words}"):
        Costs({"age": 1, "chol": value})
    with pytest.raises(CostError, match=f"feature 1.*{words}"):
        Costs([1, value])
    with pytest.raises(CostError, match=f"setting up group 'g'.*{words}"):
        Costs([1], groups={"g": {"features": [0], "setup": value}})
    with pytest.raises(CostError, match=f"evaluation.*{words}"):
        Costs([1], evaluation=value)


@pytest.mark.parametrize(
    "value", [5, 5.0, np.int8(5), np.float32(5), np.uint64(5), Decimal(5), Fraction(5), np.longdouble(5)]
)
def test_every_kind_of_number_is_a_price(value):
    assert Costs({"a": value}).feature.tolist() == [5.0]
    assert Costs([value]).feature.tolist() == [5.0]


def test_arrays_of_truth_values_and_text_are_no_costs():
    for array in (np.array([True, False]), np.array(["1", "2"]), np.array([None, 1])):
        with pytest.raises(CostError, match="feature 0"):
            Costs(array)


def test_costs_have_one_dimension():
    with pytest.raises(CostError, match=r"shape \(2, 2\)"):
        Costs(np.ones((2, 2)))
    with pytest.raises(CostError, match="feature 0"):
        Costs([[1], [2, 3]])


def test_a_path_is_not_a_list_of_costs(tmp_path):
    for path in ("costs.csv", tmp_path / "costs.csv"):
        with pytest.raises(CostError, match=r"Costs\.read"):
            Costs(path)


def test_costs_of_costs_are_refused(heart):
    with pytest.raises(CostError, match="Costs already"):
        Costs(heart)


def test_huge_numbers_are_fine_as_long_as_they_add_up():
    assert Costs([1e307, 1e307]).total == 2e307
    assert Costs([5e-324]).total == 5e-324
    with pytest.raises(CostError, match="larger unit"):
        Costs([1e308, 1e308])
    with pytest.raises(CostError, match="larger unit"):
        Costs([1e308], groups={"g": {"features": [0], "setup": 1e308}})
    with pytest.raises(CostError, match="larger unit"):
        Costs([1e300]).scaled(1e10)


def test_minus_zero_is_zero():
    assert Costs([-0.0]) == Costs([0.0])
    assert hash(Costs([-0.0])) == hash(Costs([0.0]))


# -- names ---------------------------------------------------------------------------------------------


def test_unknown_names_come_with_the_nearest_known_one(heart):
    asks = [
        lambda: heart.of(["age", "chl"]),
        lambda: heart.marginal("chl"),
        lambda: heart.marginal("age", bought=["chl"]),
        lambda: heart.index("chl"),
        lambda: heart.mask(["chl"]),
    ]
    for ask in asks:
        with pytest.raises(CostError, match=r"no feature 'chl'; did you mean 'chol'\?"):
            ask()


def test_unknown_members_of_a_group_come_with_the_group_and_the_nearest_name():
    with pytest.raises(CostError, match=r"group 'blood': no feature 'chl'; did you mean 'chol'\?"):
        Costs({"age": 1, "chol": 5}, groups={"blood": {"features": ["chl"], "setup": 1}})


def test_column_numbers_are_checked(heart):
    for feature in (4, -1, 1.5, True):
        with pytest.raises(CostError, match="no feature number"):
            heart.index(feature)
    for feature in (None, [0], float("nan"), float("inf")):
        with pytest.raises(CostError, match="neither a name nor a column number"):
            heart.index(feature)
    assert heart.index(np.int64(1)) == heart.index(1.0) == heart.index("chol") == 1


def test_a_mask_must_have_one_entry_per_feature(heart):
    with pytest.raises(CostError, match="4 features"):
        heart.of(np.ones(3, bool))


def test_mask_is_a_copy(heart):
    given_mask = np.zeros(4, bool)
    heart.mask(given_mask)[0] = True
    assert not given_mask.any()


def test_features_without_names_are_numbered():
    costs = Costs([3, 4, 5])
    assert costs.names is None
    assert costs.name(1) == 1
    assert costs.of([0, 2]) == 8.0
    with pytest.raises(CostError, match="no feature 'age'"):
        costs.index("age")


def test_names_that_only_count_from_zero_are_no_names():
    pd = pytest.importorskip("pandas")
    assert Costs(pd.Series([1.0, 2.0])) == Costs({0: 1, 1: 2}) == Costs([1, 2])


def test_names_are_text():
    with pytest.raises(CostError, match="names must be text, not 7"):
        Costs({"age": 1, 7: 2})
    with pytest.raises(CostError, match="names must be text, not 1"):
        Costs({1: 1, 0: 2})


def test_repeated_names_are_errors():
    pd = pytest.importorskip("pandas")
    with pytest.raises(CostError, match="feature 'a' appears twice"):
        Costs(pd.Series([1.0, 2.0], index=["a", "a"]))
    with pytest.raises(CostError, match="column 'a' appears twice"):
        Costs.uniform(["a", "b", "a"])
    with pytest.raises(CostError, match="column 'age' appears twice"):
        Costs({"age": 1}).bind(["age", "age"])


def test_the_same_cost_for_every_column():
    assert Costs.uniform(3) == Costs.uniform(np.int64(3)) == Costs([1, 1, 1])
    assert Costs.uniform(["a", "b"], 2.5, unit="ms") == Costs({"a": 2.5, "b": 2.5}, unit="ms")


# -- groups ----------------------------------------------------------------------------------------------


def test_a_feature_in_two_groups_opens_both():
    groups = {"blood": {"features": ["chol"], "setup": 1}, "lab": {"features": ["fbs", "chol"], "setup": 2}}
    costs = Costs({"chol": 1, "fbs": 1}, groups=groups)
    ledger = Ledger(costs)
    assert (ledger.price(0), ledger.buy(1), ledger.buy(0)) == (4.0, 3.0, 2.0)
    assert costs.memberships.tolist() == [[0, 1], [1, -1]] and costs.group.tolist() == [0, 1]
    assert Costs.from_dict(costs.to_dict()) == costs != Costs({"chol": 1, "fbs": 1})


def test_a_group_lists_a_feature_once_even_under_two_spellings():
    with pytest.raises(CostError, match="'blood' lists feature 0 twice"):
        Costs({"chol": 1, "fbs": 1}, groups={"blood": {"features": ["chol", 0], "setup": 1}})


@pytest.mark.parametrize(
    "spec",
    [
        ["chol"],
        "chol",
        None,
        {"setup": 1},
        {"features": ["chol"], "set_up": 1},
        {"features": "chol", "setup": 1},
    ],
)
def test_groups_that_are_not_well_formed_are_named(spec):
    with pytest.raises(CostError, match="group 'blood'"):
        Costs({"chol": 1}, groups={"blood": spec})


def test_an_empty_group_is_refused():
    with pytest.raises(CostError, match="group 'blood' has no features"):
        Costs({"chol": 1}, groups={"blood": {"features": [], "setup": 1}})


def test_groups_are_a_mapping_with_distinct_names():
    with pytest.raises(CostError, match="groups are given as"):
        Costs([1], groups=[{"features": [0], "setup": 1}])
    with pytest.raises(CostError, match="group '1' appears twice"):
        Costs([1, 2], groups={1: {"features": [0], "setup": 1}, "1": {"features": [1], "setup": 1}})


# -- binding to columns ------------------------------------------------------------------------------------


def test_binding_puts_costs_in_the_order_of_the_columns(heart):
    bound = heart.bind(["ca", "fbs", "age", "chol"])
    assert bound.names == ("ca", "fbs", "age", "chol")
    assert bound.feature.tolist() == [100.9, 3.10, 1.0, 5.17]
    assert bound.of(["chol", "fbs"]) == heart.of(["chol", "fbs"])
    assert bound.marginal(1, bought=[3]) == 3.10
    assert (bound.unit, bound.evaluation) == ("CAD", 0.01)


@given(priced(), st.randoms(use_true_random=False))
def test_binding_changes_no_price(costs, random):
    names = [f"f{i}" for i in range(len(costs))]
    named = costs.bind(names)
    shuffled = random.sample(names, len(names))
    bound = named.bind(shuffled)
    some = random.sample(names, random.randint(0, len(names)))
    assert bound.of(some) == named.of(some)
    assert bound.bind(names) == named


def test_binding_to_frames(heart):
    pd, pl = pytest.importorskip("pandas"), pytest.importorskip("polars")
    table = {"chol": [1], "age": [2], "ca": [3], "fbs": [4]}
    by_pandas, by_polars = heart.bind(pd.DataFrame(table).columns), heart.bind(pl.DataFrame(table).columns)
    assert by_pandas.names == by_polars.names == ("chol", "age", "ca", "fbs")
    assert by_pandas == by_polars


def test_costs_from_series():
    pd, pl = pytest.importorskip("pandas"), pytest.importorskip("polars")
    assert Costs(pd.Series({"a": 1, "b": 2})) == Costs({"a": 1, "b": 2})
    assert Costs(pl.Series([1, 2])) == Costs([1, 2])
    with pytest.raises(CostError, match="feature 'b'"):
        Costs(pd.Series({"a": 1, "b": None}))


def test_costs_without_names_bind_by_position_and_take_the_columns_names():
    assert Costs([1, 2]).bind(["a", "b"]) == Costs({"a": 1, "b": 2})
    assert Costs([1, 2]).bind(2) == Costs([1, 2]).bind(np.int64(2)) == Costs([1, 2])


def test_columns_that_do_not_fit_are_named(heart):
    with pytest.raises(CostError, match=r"no cost for column 'chl'; did you mean 'chol'\?"):
        heart.bind(["age", "chl", "fbs", "ca"])
    assert heart.bind(["age", "chol", "fbs"]).names == ("age", "chol", "fbs")
    with pytest.raises(CostError, match="4 costs for 3 columns"):
        heart.bind(3)
    with pytest.raises(CostError, match="2 costs for 1 columns"):
        Costs([1, 2]).bind(["a"])


@given(priced_orders())
def test_scaling_scales_every_sum(case):
    costs, order = case
    assert costs.scaled(4).of(order, evaluations=2) == 4 * costs.of(order, evaluations=2)


# -- being a value -----------------------------------------------------------------------------------------


def test_costs_cannot_be_changed(heart):
    with pytest.raises(AttributeError):
        heart.unit = "EUR"
    with pytest.raises(AttributeError):
        del heart.feature
    for array in (heart.feature, heart.group, heart.setup):
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 7


def test_costs_do_not_follow_changes_of_what_they_were_made_from():
    prices = np.array([1.0, 2.0])
    costs = Costs(prices)
    prices[0] = 99
    assert costs.total == 3.0


def test_equal_costs_are_equal_and_have_equal_hashes(heart):
    again = Costs.from_dict(heart.to_dict())
    assert again == heart
    assert len({again, heart}) == 1
    assert heart != "costs"


def test_the_order_of_features_counts_but_not_that_of_groups():
    assert Costs({"a": 1, "b": 2}) != Costs({"b": 2, "a": 1})
    one, two = {"features": [0], "setup": 1}, {"features": [1], "setup": 2}
    first = Costs([1, 1], groups={"one": one, "two": two})
    second = Costs([1, 1], groups={"two": two, "one": one})
    assert first == second
    assert hash(first) == hash(second)


@pytest.mark.parametrize(
    "other",
    [
        Costs([1, 3], groups={"g": {"features": [0], "setup": 1}}, evaluation=1, unit="s"),
        Costs([1, 2], groups={"h": {"features": [0], "setup": 1}}, evaluation=1, unit="s"),
        Costs([1, 2], groups={"g": {"features": [1], "setup": 1}}, evaluation=1, unit="s"),
        Costs([1, 2], groups={"g": {"features": [0], "setup": 2}}, evaluation=1, unit="s"),
        Costs([1, 2], groups={"g": {"features": [0], "setup": 1}}, evaluation=2, unit="s"),
        Costs([1, 2], groups={"g": {"features": [0], "setup": 1}}, evaluation=1, unit="ms"),
        Costs({"a": 1, "b": 2}, groups={"g": {"features": [0], "setup": 1}}, evaluation=1, unit="s"),
    ],
)
def test_any_difference_makes_costs_unequal(other):
    assert Costs([1, 2], groups={"g": {"features": [0], "setup": 1}}, evaluation=1, unit="s") != other


@given(priced())
def test_costs_survive_pickle_copies_and_dicts(costs):
    for again in (pickle.loads(pickle.dumps(costs)), copy.deepcopy(costs), copy.copy(costs)):
        assert again == costs
    assert Costs.from_dict(costs.to_dict()) == costs


def test_an_estimator_holding_costs_can_be_cloned(heart):
    class Holder(BaseEstimator):
        def __init__(self, costs=None):
            self.costs = costs

    assert clone(Holder(heart)).get_params()["costs"] == heart


def test_repr_says_what_matters(heart):
    assert repr(heart) == "Costs(4 features; total 112.27 CAD; groups blood; evaluation 0.01)"
    assert repr(Costs([1])) == "Costs(1 features; total 1)"


@pytest.mark.parametrize("unit", [5, None, "a\nb", b"ms"])
def test_the_unit_is_one_line_of_text(unit):
    with pytest.raises(CostError, match="unit"):
        Costs([1], unit=unit)


def test_a_record_is_checked():
    with pytest.raises(CostError, match=r"unknown entry 'feature' in costs; did you mean 'features'\?"):
        Costs.from_dict({"feature": [1]})
    with pytest.raises(CostError, match="need an entry 'features'"):
        Costs.from_dict({"unit": "s"})
    with pytest.raises(CostError, match="a table"):
        Costs.from_dict([1, 2])
