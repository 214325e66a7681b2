"""Decisions by expected cost: against brute force, in every way a plan runs, and in files."""

import json

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from miserly import Costs, Plan, load
from miserly.errors import PlanError, PlanFormatError
from miserly.plan import Confidence, Decision, Node, Raw
from miserly.plan.compose import hand_over, suit_each_other
from miserly.plan.store.format import dumps, loads
from miserly.runtime import OnDemand

COSTS = np.array([[0.0, 10.0, 6.0], [100.0, 0.0, 6.0]])


def chain(decision=None, classes=("well", "ill"), **rest):
    """Two features are added up to the log-odds of the second class; sure rows leave after the first."""
    nodes = [
        Node([0], [0], [1.0], [0.0], gate=Confidence(0.99), up=1),
        Node([1], [0], [1.0], [0.0]),
    ]
    return Plan(
        costs=Costs({"age": 1.0, "chol": 5.0}),
        terms=[Raw(0), Raw(1)],
        nodes=nodes,
        base=[-1.0],
        link="logistic",
        classes=list(classes),
        decision=decision,
        **rest,
    )


@given(
    st.integers(2, 5).flatmap(
        lambda k: st.tuples(
            st.lists(st.lists(st.floats(0, 1e4), min_size=k + 1, max_size=k + 1), min_size=k, max_size=k),
            st.lists(st.floats(0.01, 10), min_size=k, max_size=k),
            st.lists(st.floats(0.001, 1), min_size=k, max_size=k),
        )
    )
)
@settings(max_examples=200, deadline=None)
def test_the_answer_has_the_least_expected_cost(drawn):
    costs, weights, parts = (np.array(one) for one in drawn)
    true = parts / parts.sum()
    linked = true * weights / (true * weights).sum()  # what a model fitted to weighted rows would give
    decision = Decision(costs, ["refer"], weights)
    np.testing.assert_allclose(decision.probabilities(linked[None])[0], true, rtol=1e-9)
    brute = [sum(true[k] * costs[k, a] for k in range(len(true))) for a in range(costs.shape[1])]
    taken = decision.codes(linked[None])[0]
    assert brute[taken] <= min(brute) * (1 + 1e-9) + 1e-12
    np.testing.assert_allclose(decision.expected(linked[None])[0], brute, rtol=1e-7, atol=1e-9)


def test_equal_costs_answer_as_the_link_does():
    rows = np.random.default_rng(0).normal(size=(200, 2)) * 2
    assert (chain(Decision(1.0 - np.eye(2))).predict(rows) == chain().predict(rows)).all()


def test_every_way_to_run_a_plan_gives_the_same_answers(tmp_path):
    plan = chain(Decision(COSTS, ["expert"], [0.2, 1.0]))
    plan.save(tmp_path / "plan.miser")
    loaded = load(tmp_path / "plan.miser")
    rows = np.random.default_rng(1).normal(size=(60, 2)) * 2
    served = OnDemand(
        tmp_path / "plan.miser", sources={"age": lambda i: rows[i, 0], "chol": lambda i: rows[i, 1]}
    )
    for budget in (None, 0.5, 2.0):
        answers = plan.predict(rows, budget=budget)
        chances = plan.predict_proba(rows, budget=budget)
        assert loaded.predict(rows, budget=budget).tolist() == answers.tolist()
        stepped, on_demand = [], []
        for i, row in enumerate(rows):
            trail = plan.start(budget=budget)
            while need := trail.next():
                trail.tell({name: row[plan.costs.index(name)] for name in need})
            stepped.append(trail.answer())
            on_demand.append(served.predict(i, budget=budget))
        assert [one.value for one in stepped] == answers.tolist()
        assert [one.answer for one in on_demand] == answers.tolist()
        np.testing.assert_array_equal([one.probabilities for one in stepped], chances)
        np.testing.assert_array_equal([one.probabilities for one in on_demand], chances)
    assert set(plan.predict(rows).tolist()) == {"well", "ill", "expert"}


def test_answers_of_number_classes_may_be_actions():
    plan = chain(Decision(COSTS, ["expert"]), classes=(0, 1))
    answers = plan.predict([[-9.0, 0.0], [9.0, 0.0], [-1.0, 0.0]])
    # 0.02 %, 99.97 % and 12 % ill: expected costs 0.02, 0.003 and 6 (for 8.8 of "ill", 12 of "well")
    assert answers.tolist() == [0, 1, "expert"]


def test_files_with_and_without_a_decision(tmp_path):
    decided = chain(Decision(COSTS, ["expert"]), budget=4.0)
    again = loads(dumps(decided))
    assert again.decision.record() == decided.decision.record()
    assert (again.budget, again.digest) == (4.0, decided.digest)
    assert loads(dumps(chain(Decision(COSTS, ["expert"])))).budget == np.inf
    assert len({chain().digest, chain(Decision(COSTS, ["expert"])).digest, decided.digest}) == 3
    assert dumps(chain())[8] == 1  # files without a decision keep their version, for older readers
    assert dumps(decided)[8] == 4


@pytest.mark.parametrize(
    "change",
    [
        {"costs": [[0, 1], [1]]},
        {"costs": [[0, "x"], [1, 0]]},
        {"costs": None},
        {"weights": [1.0]},
        {"weights": [0.0, 1.0]},
        {"actions": "refer"},
        {"actions": [3]},
        {"more": 1},
    ],
)
def test_bad_records_are_refused(change):
    record = {**Decision(1.0 - np.eye(2)).record(), **change}
    with pytest.raises(PlanError):
        Decision.from_record(json.loads(json.dumps(record)))


def test_a_damaged_decision_in_a_file_is_a_format_error():
    data = dumps(chain(Decision(COSTS, ["expert"])))
    with pytest.raises(PlanFormatError):
        loads(data.replace(b'"expert"', b'"ill"   '))


def test_decisions_that_do_not_fit_the_plan_are_refused():
    with pytest.raises(PlanError, match="3 classes in a plan of 2"):
        chain(Decision(1.0 - np.eye(3)))
    with pytest.raises(PlanError, match="is a class"):
        chain(Decision(COSTS, ["ill"]))
    with pytest.raises(PlanError, match="class probabilities"):
        Plan(costs=Costs([1.0]), terms=[], nodes=[], base=[0.0], link="sign", decision=Decision(COSTS, ["x"]))
    with pytest.raises(PlanError, match="matrix of costs"):
        Decision([0.0, 1.0])
    with pytest.raises(PlanError, match="as many columns"):
        Decision(COSTS)


def test_plans_of_a_handover_decide_alike():
    first, then = (chain(Decision(COSTS, ["expert"])).prefix(1).replace(nodes=[Node([0], [0], [1.0], [0.0])])
                   for _ in range(2))  # fmt: skip
    assert suit_each_other(first, then)
    assert hand_over(first, then, 0.9).decision is first.decision
    assert not suit_each_other(first, then.replace(decision=None))


def test_the_words_name_the_costs():
    words = " ".join(chain(Decision(COSTS, ["expert"])).describe().split())
    assert 'least expected cost; "expert" is an answer that is no class' in words
    assert '"well" costs 100 where "ill" is true' in words
    # before the first node the odds are exp(-1): 27 % ill; 27, 7.3 and 6
    assert 'before the first one it answers "expert"' in words


def test_the_chance_of_an_answer_is_that_of_its_class():
    plan = chain(Decision(COSTS, ["expert"]))
    trail = plan.start(known={"age": -1.0, "chol": -4.0})
    assert trail.answer().value == "well"
    assert trail.answer().chance == trail.answer().probabilities[0]
    sure = plan.start(known={"age": 0.0, "chol": 0.0}).answer()  # 27 % ill: the expert is asked
    assert (sure.value, sure.chance) == ("expert", None)
    ill = plan.start(known={"age": 0.5, "chol": 0.0}).answer()  # 38 % ill; "ill" costs 6.2, the expert 6
    assert plan.chance_of("ill", ill.probabilities) == ill.probabilities[1]
    assert chain().start(known={"age": 0.0, "chol": 0.0}).answer().chance == pytest.approx(0.7310586)


def test_receipts_name_no_chance_of_an_action(tmp_path):
    plan = chain(Decision(COSTS, ["expert"]))
    served = OnDemand(plan, sources={"age": lambda _: 0.0, "chol": lambda _: 0.0})
    receipt = served.predict(0)
    assert receipt.answer == "expert"
    assert "expert" in str(receipt) and "expert (" not in str(receipt)
