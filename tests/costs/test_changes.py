"""Changed copies of costs: bound, selected, merged and derived. Bills are checked by a slow reference."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from miserly import CostError, Costs, GreedyMiserClassifier, Ledger
from miserly.plan import Plan, load
from miserly.plan.store.format import dumps, loads
from miserly.runtime import OnDemand

BODY = Costs(
    {"weight": 2, "height": 3, "zone": 5, "age": 1},
    groups={"exam": {"features": ["weight", "height"], "setup": 7}},
    notes={"age": {"label": "Age"}},
    unit="CAD",
)
COLUMNS = {
    "zone=1": ["zone"],
    "zone=3": ["zone"],
    "bmi": ["weight", "height"],
    "risk": ["age", "weight", "zone"],
}


def bill(costs, sources, bought, own):
    """The price of a set of columns: each of their sources once, each group of a source once."""
    needed = {source for column in bought for source in sources[column]}
    record = costs.to_dict()
    setups = [group["setup"] for group in record["groups"].values() if needed & set(group["features"])]
    return sum(record["features"][s] for s in needed) + sum(setups) + sum(own.get(c, 0) for c in bought)


@st.composite
def derivations(draw):
    """Costs of whole numbers, columns derived from them, and an order of purchase."""
    rng = np.random.default_rng(draw(st.integers(0, 10**6)))
    names = [f"s{i}" for i in range(5)]
    groups = {
        f"g{g}": {"features": members, "setup": int(rng.integers(0, 9))}
        for g in range(draw(st.integers(0, 2)))
        if (members := [name for name in names if rng.random() < 0.4])
    }
    costs = Costs({name: int(rng.integers(0, 9)) for name in names}, groups=groups)
    columns = {f"c{j}": [name for name in names if rng.random() < 0.4] for j in range(5)}
    own = {"c1": 3.0} if draw(st.booleans()) else {}
    everything = {**{name: [name] for name in names}, **columns}
    return costs, columns, own, everything, rng.permutation(list(everything)).tolist()


@settings(max_examples=100, deadline=None)
@given(derivations())
def test_a_derived_column_costs_its_sources_and_each_is_paid_once(case):
    costs, columns, own, everything, order = case
    found = costs.derived(columns, own=own)
    ledger = Ledger(found)
    for i, column in enumerate(order):
        ledger.buy(found.index(column))
        assert ledger.spent == bill(costs, everything, order[: i + 1], own) == found.of(order[: i + 1])
    alone = found.select(list(columns))
    assert alone.of(list(columns)) == bill(costs, columns, columns, own)
    assert Costs.from_dict(found.to_dict()) == found


def test_sources_by_hand():
    costs = BODY.derived(COLUMNS)
    assert costs.of("bmi") == 12 and costs.marginal("weight", bought=["bmi"]) == 0
    assert costs.of(["zone=1", "zone=3"]) == 5 and costs.marginal("risk", bought=["bmi", "zone=1"]) == 1
    assert costs.total == BODY.total and costs.notes["age"]["label"] == "Age" and costs.unit == "CAD"
    assert costs.group_names == ("exam", "weight", "height", "zone", "age")


def test_a_column_with_the_name_of_a_feature_takes_its_place():
    costs = BODY.derived({"age": ["age", "zone"]})
    assert len(costs) == 4 and costs.of("age") == 6 and costs.marginal("zone", bought=["age"]) == 0
    assert "age" not in costs.notes


def test_a_source_with_the_name_of_a_group_gets_another_name():
    costs = Costs({"lab": 2, "b": 1}, groups={"lab": {"features": ["b"], "setup": 5}})
    costs = costs.derived({"c": ["lab"], "d": ["lab", "b"]})
    assert costs.group_names == ("lab", "lab (source)", "b") and costs.of(["c", "d"]) == 8


@pytest.mark.parametrize(
    ("columns", "own", "words"),
    [
        ({"bmi": ["weigth"]}, None, "no feature 'weigth'; did you mean 'weight'"),
        ({"bmi": "weight"}, None, "'bmi' must list its sources, not 'weight'"),
        ({"bmi": 3}, None, "'bmi' must list its sources, not 3"),
        (["bmi"], None, "given as"),
        ({"bmi": ["weight"]}, {"bmj": 1}, "'bmj' is no derived column; did you mean 'bmi'"),
        ({"bmi": ["weight"]}, {"bmi": -1}, "making column 'bmi'"),
    ],
)
def test_derived_columns_that_cannot_be(columns, own, words):
    with pytest.raises(CostError, match=words):
        BODY.derived(columns, own=own)
    with pytest.raises(CostError, match="features with names"):
        Costs([1, 2]).derived({"a": [0]})


def test_groups_that_would_fill_the_memory_are_refused():
    groups = {f"g{i}": {"features": [0], "setup": 1} for i in range(5000)}
    with pytest.raises(CostError, match="a feature is in 5000 of the groups"):
        Costs(np.ones(5000), groups=groups)


def test_selecting_and_dropping_features():
    some = BODY.select(["zone", "height"])
    assert some == Costs(
        {"zone": 5, "height": 3}, groups={"exam": {"features": ["height"], "setup": 7}}, unit="CAD"
    )
    assert BODY.drop(["weight", 1]) == Costs({"zone": 5, "age": 1}, unit="CAD")
    assert BODY.select(np.array([False, False, True, True])) == BODY.drop(["weight", "height"])
    assert Costs([1, 2, 3], notes={2: {"label": "c"}}).select([2, 0]).notes == {0: {"label": "c"}}
    with pytest.raises(CostError, match="twice"):
        BODY.select(["zone", 2])
    with pytest.raises(CostError, match="no feature 'zine'; did you mean 'zone'"):
        BODY.drop("zine")


def test_a_list_longer_than_the_table_fits_and_a_column_without_a_cost_needs_a_default():
    assert BODY.bind(["age", "zone"]) == BODY.select(["age", "zone"])
    with pytest.raises(CostError, match=r"no cost for column 'sex'; costs\.bind\(columns, default="):
        BODY.bind(["age", "sex"])
    found = BODY.bind(["sex", "age"], default=2.5)
    assert found == Costs({"sex": 2.5, "age": 1}, unit="CAD") and found.notes["age"]["label"] == "Age"
    with pytest.raises(CostError, match="a column without one"):
        BODY.bind(["sex"], default=-1)


def test_merging():
    lab = Costs(
        {"zone": 5, "iron": 4}, groups={"exam": {"features": ["iron"], "setup": 7}}, unit="CAD", evaluation=1
    )
    both = BODY.merge(lab)
    assert both.names == ("weight", "height", "zone", "age", "iron") and both.evaluation == 1
    assert both.of(["iron", "weight"]) == 13 and both.notes["age"]["label"] == "Age"
    assert lab.merge(BODY).of(both.names) == both.total


@pytest.mark.parametrize(
    ("other", "words"),
    [
        (Costs({"zone": 4}, unit="CAD"), "'zone' has two costs, 5 and 4"),
        (Costs({"a": 4}, unit="ms"), "units differ: 'CAD' and 'ms'"),
        (Costs([1.0], unit="CAD"), "have names"),
        ({"a": 1}, "merged with Costs, not {'a': 1}"),
        (
            Costs({"a": 1}, groups={"exam": {"features": ["a"], "setup": 1}}, unit="CAD"),
            "two set-ups, 7 and 1",
        ),
    ],
)
def test_costs_that_cannot_be_merged(other, words):
    with pytest.raises(CostError, match=words):
        BODY.merge(other)


def test_several_groups_of_a_feature_are_kept_in_json_and_toml_and_not_in_csv(tmp_path):
    costs = BODY.derived(COLUMNS)
    for suffix in ("json", "toml"):
        costs.write(tmp_path / f"costs.{suffix}")
        assert Costs.read(tmp_path / f"costs.{suffix}") == costs
    with pytest.raises(CostError, match=r"two groups of feature 'weight'; write .json or .toml"):
        costs.write(tmp_path / "costs.csv")


def test_a_learner_pays_the_sources_of_derived_columns_once(tmp_path):
    pd = pytest.importorskip("pandas")
    rng = np.random.default_rng(0)
    raw = pd.DataFrame(
        {"weight": rng.random(300), "height": rng.random(300), "zone": rng.integers(0, 3, 300)}
    )
    X = pd.DataFrame({"bmi": raw.weight / (raw.height + 1), "zone=1": raw.zone == 1, "zone=2": raw.zone == 2})
    X = X.astype(float).assign(height=raw.height)
    y = X["bmi"] + X["zone=1"] - X["zone=2"] + 0.3 * X["height"] > 0.6
    costs = BODY.derived({"zone=1": ["zone"], "zone=2": ["zone"], "bmi": ["weight", "height"]})
    model = GreedyMiserClassifier(costs=costs, n_rounds=30, max_depth=3).fit(X, y)
    sources = {"bmi": ["weight", "height"], "zone=1": ["zone"], "zone=2": ["zone"], "height": ["height"]}
    for budget in (None, 12.0, 16.0):
        run = model.run(X, budget=budget)
        bought = [[X.columns[f] for f in np.flatnonzero(row)] for row in run.acquired]
        assert run.cost.tolist() == [bill(BODY, sources, columns, {}) for columns in bought]
        assert run.cost.max() <= (budget or 17)
    assert model.run(X).cost.max() == 17
    model.plan_.save(tmp_path / "model.miser")
    assert load(tmp_path / "model.miser").costs == model.plan_.costs == loads(dumps(model.plan_)).costs
    assert isinstance(model.plan_, Plan) and "set up" in model.plan_.describe()
    check_on_demand(model, raw, X)


def check_on_demand(model, raw, X):
    """One source for all columns made from a raw column: it is called once, and the bill is the same."""
    calls = []

    def ask_zone(row):
        calls.append(row)
        return {"zone=1": float(row["zone"] == 1), "zone=2": float(row["zone"] == 2)}

    sources = {
        "zone": ask_zone,
        "bmi": lambda row: row["weight"] / (row["height"] + 1),
        "height": lambda row: row["height"],
    }
    served, run = OnDemand(model.plan_, sources=sources), model.run(X)
    for i in range(10):
        receipt = served.predict(raw.iloc[i].to_dict())
        assert receipt.cost == run.cost[i] and len(calls) == i + 1
        assert receipt.answer == model.predict(X.iloc[i : i + 1])[0]
        assert sum(one.cost for one in receipt.trail) == receipt.cost
