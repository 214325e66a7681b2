"""What more money would buy: by hand on small plans, and against all combinations of values."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest

from miserly import Costs, GreedyMiserClassifier, load
from miserly.datasets import load_heart
from miserly.errors import DataError
from miserly.plan import Plan
from miserly.plan.distributions import distribution_of
from miserly.plan.facts import range_facts
from miserly.runtime import Interview, OnDemand
from tests.plan.sample_plans import chain, stump, two_steps

from .plans import heart, linear


def noted(plan, **notes):
    return plan.replace(info={"features": notes})


def small():
    """Three stumps over x, y, z with prices 1, 2, 4; a class is "up" if the score is above 0."""
    terms = [stump(0, 0.5, -1.0, 1.0), stump(1, 0.5, -3.0, 3.0), stump(2, 0.5, -9.0, 9.0)]
    costs = Costs({"x": 1.0, "y": 2.0, "z": 4.0})
    plan = chain(terms, costs=costs, link="logistic", classes=["down", "up"])
    share = {"values": [0, 1], "whole": True}
    return noted(plan, x={**share, "shares": [0.5, 0.5]}, y={**share, "shares": [0.9, 0.1]},
                 z={**share, "shares": [0.75, 0.25]})  # fmt: skip


def test_a_small_plan_by_hand():
    """After x = 1 the answer is "up"; y alone turns it with 0.9, y and z with 0.75."""
    interview = Interview(small())
    interview.reply(1.0)
    assert interview.answer.value == "up"
    one = interview.what_if(more=2.0, draws=4000)
    assert [(buy.feature, buy.price, buy.share) for buy in one.certain] == [("y", 2.0, 1.0)]
    assert one.possible == () and one.budget == 3.0 and one.cost == 1.0 and one.mean_cost == 2.0
    assert one.chance == pytest.approx(0.9, abs=0.02)
    both = interview.what_if(budget=7.0, draws=4000)
    assert [buy.feature for buy in both.certain] == ["y", "z"] and both.mean_cost == 6.0
    assert both.chance == pytest.approx(0.75, abs=0.03)
    assert {round(float(one), 6) for one in both.outcomes} == {-1.1, -0.5, 0.7, 1.3}  # 0.1 (1 +- 3 +- 9)
    assert "4000 draws" in both.estimate and "independently of all other values" in both.estimate


def test_too_little_money_buys_nothing():
    interview = Interview(small())
    interview.reply(1.0)
    nothing = interview.what_if(more=1.5)
    assert nothing.certain == nothing.possible == () and nothing.chance == 0.0 and nothing.mean_cost == 0.0
    assert nothing.estimate == "nothing more would be asked"
    assert [one.value for one in nothing.outcomes] == ["up"]


def test_it_changes_nothing_and_is_the_same_each_time():
    interview = Interview(small(), budget=1.0)
    interview.reply(1.0)
    before = interview.receipt().to_dict()
    first, second = interview.what_if(more=6.0), interview.what_if(more=6.0)
    assert interview.receipt().to_dict() == before
    assert first.chance == second.chance > 0.5  # the budget that ended it does not hold here


def test_a_gate_that_lets_rows_leave_is_kept():
    """With a probability of 0.9 the second step of the plan is not asked for."""
    plan = two_steps()
    plan = plan.replace(terms=[stump(0, 54.5, -40.0, 0.6), plan.terms[1]])
    plan = noted(plan, age={"values": [50, 60], "shares": [0.4, 0.6]},
                 chol={"quantiles": np.linspace(100, 300, 11).tolist()})  # fmt: skip
    what = Interview(plan).what_if(budget=100.0, draws=4000)
    assert [buy.feature for buy in what.certain] == ["age"]
    assert [buy.feature for buy in what.possible] == ["chol"]
    assert what.possible[0].share == pytest.approx(0.6, abs=0.03)
    assert what.mean_cost == pytest.approx(1.0 + 0.6 * 7.27, abs=0.25)


@pytest.mark.parametrize("budget", [3.0, 8.0, 100.0])
def test_against_all_combinations_of_values(budget):
    """The chance that the answer changes and the mean price, by running every combination for itself."""
    plan = heart(base=[-88.0])
    values = {"age": [40.0, 55.0, 70.0], "pain": ["none", "typical"], "chol": [20.0, 60.0], "fbs": [0.0, 1.0]}
    shares = {"age": [0.2, 0.3, 0.5], "pain": [0.6, 0.4], "chol": [0.7, 0.3], "fbs": [0.9, 0.1]}
    notes = {name: {"values": values[name], "shares": shares[name]} for name in values}
    del notes["pain"]["values"]
    plan = noted(plan, **notes)
    served = OnDemand(plan)
    interview = Interview(served, known={"pain": "typical"})
    now, chance, paid = interview.answer.value, 0.0, 0.0
    ends = set()
    for row in product(*(range(len(values[name])) for name in ("age", "chol", "fbs"))):
        one = {name: values[name][i] for name, i in zip(("age", "chol", "fbs"), row, strict=True)}
        weight = np.prod([shares[name][i] for name, i in zip(("age", "chol", "fbs"), row, strict=True)])
        receipt = served.predict(one, budget=budget, known={"pain": "typical"})
        chance += weight * (receipt.answer != now)
        paid += weight * receipt.cost
        ends.add(round(float(receipt.scores[0]), 9))
    what = interview.what_if(budget=budget, draws=4000)
    assert what.chance == pytest.approx(chance, abs=4 * 0.5 / np.sqrt(4000))
    assert what.mean_cost == pytest.approx(paid, abs=0.2)
    assert {round(float(one), 9) for one in what.outcomes} == ends


def test_more_money_never_buys_less():
    data = load_heart()
    plan = GreedyMiserClassifier(costs=data.costs, n_rounds=20, max_depth=2).fit(data.frame(), data.y).plan_
    plan = plan.replace(info={"features": range_facts(plan, data.X)})
    interview = Interview(plan)
    costs = [interview.what_if(more=more).mean_cost for more in (0, 2, 10, 50, 200, 1000)]
    assert costs == sorted(costs) and costs[0] == 0.0 < costs[-1] <= plan.max_cost
    assert all(buy.share == 1.0 for buy in interview.what_if(more=1000).certain)


# -- without distributions -----------------------------------------------------------------------------------


def test_without_distributions_there_is_a_range_and_no_chance():
    plan = small().replace(info={})
    interview = Interview(plan)
    interview.reply(1.0)
    what = interview.what_if(more=6.0)
    assert what.chance is None and what.mean_cost is None and what.certain[0].share is None
    ends = {round(float(one), 6) for one in what.outcomes}
    assert ends == {-1.1, -0.5, 0.7, 1.3} and "example values" in what.estimate


def test_nothing_is_invented_where_nothing_is_known():
    what = Interview(linear(2)).what_if(more=1.0)
    assert what.outcomes == () and what.chance is None
    assert what.estimate.startswith("nothing is known about the values of x0")


def test_numbers_have_no_chance_of_change_but_a_range():
    plan = noted(linear(1), x0={"quantiles": np.linspace(0, 10, 11).tolist(), "whole": True})
    what = Interview(plan).what_if(more=1.0)
    values = [float(one) for one in what.outcomes]
    assert what.chance is None and min(values) == 0.0 and max(values) == 10.0
    assert all(value == round(value) for value in values)


@pytest.mark.parametrize("given", [{}, {"more": 1, "budget": 2}, {"more": -1}, {"more": 1, "draws": 0}])
def test_what_cannot_be_asked(given):
    with pytest.raises((DataError, ValueError)):
        Interview(linear(1)).what_if(**given)


# -- distributions -------------------------------------------------------------------------------------------


def test_distributions_are_those_of_the_training_rows(tmp_path):
    plan = heart()
    rng = np.random.default_rng(0)
    rows = np.column_stack([rng.normal(50, 5, 2000), rng.random(2000) < 0.25, rng.normal(200, 30, 2000),
                            rng.choice([0, 1, 4], 2000)])  # fmt: skip
    rows[:500, 2] = np.nan
    noted(plan, **range_facts(plan, rows)).save(tmp_path / "a.miser")
    age, pain, chol, fbs = (distribution_of(load(tmp_path / "a.miser"), f) for f in range(4))
    assert age.values[5] == pytest.approx(np.median(rows[:, 0])) and age.missing == 0.0
    assert pain.shares.tolist() == pytest.approx([1 - rows[:, 1].mean(), rows[:, 1].mean()])
    assert chol.missing == 0.25 and fbs.values.tolist() == [0.0, 1.0, 4.0]
    drawn = chol.draw(np.random.default_rng(1), 20_000)
    assert np.isnan(drawn).mean() == pytest.approx(0.25, abs=0.02)
    assert np.nanmean(drawn) == pytest.approx(np.nanmean(rows[:, 2]), abs=2.0)
    assert set(fbs.draw(np.random.default_rng(1), 100)) == {0.0, 1.0, 4.0}


@pytest.mark.parametrize(
    "note",
    [3, {"quantiles": [1, 2]}, {"quantiles": [None] * 11}, {"values": [1], "shares": [-1]},
     {"values": [1, 2], "shares": [1]}, {"values": [1], "shares": [0]}, {"shares": "x"}],
)  # fmt: skip
def test_notes_that_are_no_distribution(note):
    assert distribution_of(noted(heart(), age=note), 0) is None
    assert isinstance(noted(heart(), age=note), Plan)
