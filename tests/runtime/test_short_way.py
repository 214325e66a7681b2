"""The short way through simple sources gives the receipts of the long one, whatever sources do."""

import itertools
import math

import pytest

from miserly.plan import Node, Plan, Raw
from miserly.runtime import OnDemand, Priced

from .plans import PATIENT, heart, linear


class Watch:
    """Hooks take the long way."""

    def before_source(self, call):
        pass


def record(receipt):
    found = receipt.to_dict()
    del found["seconds"]
    for one in found["trail"]:
        one["seconds"] = one["seconds"] > 0.0
    return found


def both_ways(plan, sources, raw=None, **request):
    """The receipt and the calls made, the short way and the long way."""
    return [one_way(plan, sources(), hooks, raw, **request) for hooks in (None, Watch())]


def one_way(plan, sources, hooks, raw, **request):
    calls = []

    def counted(key, source):
        return lambda raw: (calls.append(key), source(raw))[1]

    watched = {key: counted(key, source) for key, source in sources.items()}
    served = OnDemand(plan, watched, hooks=hooks, retries=1, backoff=0.0)
    return record(served.predict(raw, **request)), calls


def failing(raw):
    raise ConnectionError("try again")


RESULTS = {
    "floats": {"chol": 200.0, "fbs": 1.0},
    "whole numbers": {"chol": 200, "fbs": 1},
    "a boolean": {"chol": 200.0, "fbs": True},
    "a huge number": {"chol": 10**400, "fbs": 1.0},
    "no value": {"chol": 200.0, "fbs": None},
    "no first value": {"chol": None, "fbs": 1.0},
    "NaN": {"chol": 200.0, "fbs": math.nan},
    "NaN first": {"chol": math.nan, "fbs": 1.0},
    "infinite": {"chol": 200.0, "fbs": math.inf},
    "text": {"chol": 200.0, "fbs": "high"},
    "a feature less": {"chol": 200.0},
    "another feature less": {"fbs": 1.0},
    "a feature more": {"chol": 200.0, "fbs": 1.0, "age": 3.0},
    "a list": [200.0, 1.0],
    "a short list": [200.0],
    "one number": 200.0,
    "nothing": None,
    "priced": Priced({"chol": 200.0, "fbs": 1.0}, cost=4.0),
    "priced above": Priced({"chol": 200.0, "fbs": 1.0}, cost=40.0),
}


@pytest.mark.parametrize("budget", [None, 4.0, 10.0, 12.0])
@pytest.mark.parametrize("result", RESULTS.values(), ids=RESULTS)
def test_groups(result, budget):
    def sources():
        return {"blood": lambda raw: result}

    short, long = both_ways(heart(), sources, PATIENT, budget=budget)
    assert short == long


def test_a_group_that_fails_once_is_tried_again():
    def sources():
        turns = iter([failing, lambda raw: {"chol": 200.0, "fbs": 1.0}])
        return {"blood": lambda raw: next(turns)(raw)}

    short, long = both_ways(heart(), sources, PATIENT)
    assert short == long
    assert short[1] == ["blood", "blood"] and short[0]["trail"][2]["retries"] == 1


@pytest.mark.parametrize("age", [61, 61.0, True, None, "old", math.nan, 2**60])
@pytest.mark.parametrize("pain", ["typical", "unheard of", None, 1, 1.0])
def test_single_features(age, pain):
    def sources():
        return {"age": lambda raw: age, "pain": lambda raw: pain}

    short, long = both_ways(heart(), sources, PATIENT)
    assert short == long


@pytest.mark.parametrize("order", list(itertools.permutations(["group", "asks", "looked up"])))
def test_values_of_a_group_are_not_asked_for_twice_when_the_short_way_ends(order):
    """Column by column: two of one group, one whose source asks for another, one in the raw input."""
    blocks = {"group": [0, 1], "asks": [2], "looked up": [3]}
    columns = [f for name in order for f in blocks[name]]
    columns = [columns[0], *columns[2:], columns[1]]  # the two of the group are apart
    nodes = [Node([f], [0], [1.0], [0.0], up=i + 1 if i < 3 else -1) for i, f in enumerate(columns)]
    plan = Plan(costs=linear(4).costs, terms=[Raw(f) for f in range(4)], nodes=nodes, base=[0.0])
    calls = []

    def group(raw):
        calls.append("group")
        return {"x0": 1.0, "x1": 2.0}

    def asks(raw, acquired):
        return float(len(acquired))

    served = OnDemand(plan, {("x0", "x1"): group, "x2": asks})
    receipt = served.predict({"x3": 4.0})
    assert calls == ["group"] and len(receipt.acquired) == 4
    assert receipt.answer == 7.0 + columns.index(2)
    assert sum(one.cost for one in receipt.trail) == receipt.cost == 4.0


def test_what_came_with_a_group_and_was_not_needed_is_not_paid():
    nodes = [Node([0], [0], [1.0], [0.0])]
    plan = Plan(costs=linear(2).costs, terms=[Raw(0)], nodes=nodes, base=[0.0])
    receipt = OnDemand(plan, {("x0", "x1"): lambda raw: {"x0": 1.0, "x1": 2.0}}).predict()
    assert receipt.acquired == ("x0",) and receipt.cost == 1.0
