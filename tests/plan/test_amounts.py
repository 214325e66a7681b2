"""Decisions by the amounts of rows: computed by hand, in every way a plan runs, and in files."""

import asyncio
import json

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from miserly import Costs, OutcomeCosts, Plan
from miserly.costs.amounts import Amount, AmountCells
from miserly.errors import CostError, PlanError, PlanFormatError
from miserly.plan import Confidence, Decision, Node, Raw
from miserly.plan.engine.ahead import certain, possible, remaining
from miserly.plan.store.container import PREAMBLE, unpack
from miserly.plan.store.format import dumps, loads
from miserly.plan.store.packing import SCHEMAS
from miserly.runtime import Interview, OnDemand

NAMES = ("risk", "history", "amount", "fee")
# Answers: "fine", "fraud", "call". A missed fraud costs the amount, a false alarm 15, a call half the fee.
CELLS = AmountCells(np.array([[-1, -1, 3], [2, -1, 3]]), np.array([[1.0, 1.0, 0.5], [1.0, 1.0, 0.5]]))
MEANS = np.array([[0.0, 15.0, 6.0], [120.0, 0.0, 6.0]])
DECISION = Decision(MEANS, ["call"], amounts=CELLS)


def plan_of(amount=0.0, fee=0.0, **changes):
    """Two features are added up to the log-odds of a fraud; sure rows leave after the first."""
    nodes = [Node([0], [0], [1.0], [0.0], gate=Confidence(0.95), up=1), Node([1], [0], [1.0], [0.0])]
    parts = {
        "costs": Costs(
            {"risk": 1.0, "history": 5.0, "amount": amount, "fee": fee},
            groups={"bank": {"features": ["history", "fee"], "setup": 0.5}},
        ),
        "terms": [Raw(0), Raw(1)],
        "nodes": nodes,
        "base": [-1.0],
        "link": "logistic",
        "classes": ["fine", "fraud"],
        "decision": DECISION,
    }
    return Plan(**{**parts, **changes})


def rows_of(n=40, seed=0):
    random = np.random.default_rng(seed)
    rows = np.column_stack(
        [random.normal(size=(n, 2)) * 2, random.lognormal(4, 1.5, n), 20 * random.random(n)]
    )
    rows[random.random(n) < 0.1, 2] = np.nan
    rows[random.random(n) < 0.1, 3] = np.nan
    return rows


def step(plan, row, **given):
    trail = plan.start(**given)
    while need := trail.next():
        trail.tell({name: row[NAMES.index(name)] for name in need})
    return trail


# -- what is decided -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("amount", "fee", "answer"),
    [
        # The odds are exp(-1 - 1) : 1, so 11.92 % are frauds. Expected costs of fine, fraud and call:
        (20.0, 100.0, "fine"),  # 2.38, 13.21, 50
        (900.0, 100.0, "fraud"),  # 107, 13.21, 50
        (900.0, 20.0, "call"),  # 107, 13.21, 10
        (np.nan, 100.0, "fraud"),  # 14.30 by the mean amount of 120, 13.21, 50
        (-900.0, 100.0, "fraud"),  # a negative amount is none
        (1e101, 100.0, "fraud"),
        (900.0, np.nan, "call"),  # 6 by the mean
    ],
)
def test_a_row_is_decided_by_its_own_amounts(amount, fee, answer):
    plan = plan_of()
    row = [-1.0, 0.0, amount, fee]
    assert plan.predict([row]).tolist() == [answer]
    assert step(plan, row).answer().value == answer
    assert plan.labels_from(np.array([[-2.0]])).tolist() == ["call"]  # 14.30, 13.21 and 6 by the means


def test_amounts_are_bought_first_and_stop_a_row_that_cannot_pay():
    plan = plan_of(amount=2.0, fee=3.0)
    # 2, then 3 and the set-up of 0.5, then risk 1, history 5 (its group is open)
    assert plan.max_cost == 11.5
    row = [-1.0, 0.0, 900.0, 20.0]
    run = plan.run([row] * 5, compiled=False)
    assert run.cost.tolist() == [11.5] * 5
    expected = [
        (1.9, 0.0, "", -1),
        (2.0, 2.0, "amount", -1),
        (5.4, 2.0, "amount", -1),
        (6.4, 5.5, "amount fee", -1),
        (6.5, 6.5, "risk amount fee", 0),
    ]
    for budget, cost, features, exit in expected:
        for compiled in (False, True):
            run = plan.run([row], budget=budget, compiled=compiled)
            bought = [name for name, own in zip(NAMES, run.acquired[0], strict=True) if own]
            assert (run.cost[0], bought, run.exit[0], run.stopped[0]) == (cost, features.split(), exit, True)
    order = []
    trail = plan.start()
    while need := trail.next():
        order += need
        trail.tell(dict(zip(NAMES, row, strict=True)))
    assert order == ["amount"]  # all values were given at once
    trail = plan.start()
    order = []
    while need := trail.next():
        order += need
        trail.tell({name: row[NAMES.index(name)] for name in need})
    assert order == ["amount", "fee", "risk", "history"]


def test_a_plan_without_nodes_decides_by_amounts_too():
    plan = plan_of(amount=2.0).replace(nodes=[], terms=[])
    # 26.9 % are frauds: fine costs 0.269 a, fraud 10.97, a call half the fee
    rows = [[0.0, 0.0, 20.0, 100.0], [0.0, 0.0, 900.0, 100.0]]
    assert plan.predict(rows).tolist() == ["fine", "fraud"]
    assert (plan.run(rows).cost.tolist(), plan.max_cost) == (
        [2.5, 2.5],
        2.5,
    )  # the group of the fee is set up
    for row, answer in zip(rows, ("fine", "fraud"), strict=True):
        trail = plan.start()
        assert (certain(trail), possible(trail), remaining(trail)) == ([2, 3], [3], ([3], 2.5))
        assert step(plan, row).answer().value == answer
        assert step(plan, row).cost == 2.5


def test_what_a_row_did_not_acquire_changes_no_answer():
    plan = plan_of(amount=2.0, fee=3.0)
    rows = rows_of()
    for budget in (0.0, 2.0, 6.0, 7.0, None):
        run = plan.run(rows, budget=budget)
        answers = plan.predict(rows, budget=budget)
        noise = np.where(run.acquired, rows, np.random.default_rng(1).lognormal(4, 2, size=rows.shape))
        assert plan.predict(noise, budget=budget).tolist() == answers.tolist()


# -- every way to run ----------------------------------------------------------------------------------------


@given(
    st.integers(0, 10**6),
    st.sampled_from([0.0, 0.25, 2.0]),
    st.sampled_from([0.0, 3.0]),
    st.sampled_from([None, 0.0, 2.0, 3.0, 6.5, 9.0, 11.5]),
    st.sampled_from(["path", "tree"]),
)
@settings(max_examples=60, deadline=None)
def test_batch_stepping_and_on_demand_agree(seed, amount, fee, budget, count):
    random = np.random.default_rng(seed)
    cells = AmountCells(
        random.choice([-1, 2, 3], p=[0.4, 0.3, 0.3], size=(2, 3)), random.exponential(size=(2, 3))
    )
    decision = Decision(random.exponential(30, size=(2, 3)), ["call"], random.exponential(size=2) + 0.1)
    if cells.used:
        decision = Decision(decision.costs, decision.actions, decision.weights, cells)
    plan = loads(dumps(plan_of(amount, fee, decision=decision)))
    rows = rows_of(12, seed)
    known = random.random(rows.shape) < 0.2
    run = plan.run(rows, budget=budget, count=count, known=known)
    slow = plan.run(rows, budget=budget, count=count, known=known, compiled=False)
    for name in ("scores", "cost", "acquired", "exit", "stopped"):
        np.testing.assert_array_equal(getattr(run, name), getattr(slow, name))
    if cells.used:
        np.testing.assert_array_equal(run.amounts, slow.amounts)
    answers = plan.labels_from(run.scores[:, None], amounts=run.amounts).tolist()
    if count == "path":
        assert answers == plan.predict(rows, budget=budget, known=known).tolist()
    served = OnDemand(plan, sources={name: lambda row, f=f: row[f] for f, name in enumerate(NAMES)})
    for i, row in enumerate(rows):
        had = {NAMES[f]: row[f] for f in np.flatnonzero(known[i])}
        trail = step(plan, row, budget=budget, count=count, known=had)
        assert trail.answer().value == answers[i]
        assert trail.cost == run.cost[i]
        np.testing.assert_array_equal(trail.acquired, run.acquired[i])
        assert (trail.exit, trail.stopped) == (run.exit[i], run.stopped[i])
        if count == "path":
            receipt = served.predict(row, budget=budget, known=had)
            again = asyncio.run(served.apredict(row, budget=budget, known=had))
            for one in (receipt, again):
                assert (one.answer, one.cost) == (answers[i], run.cost[i])
                assert sorted(one.acquired) == sorted(np.array(NAMES)[run.acquired[i]].tolist())
            assert not receipt.trail or receipt.trail[-1].answer == receipt.answer


def test_stages_decide_by_amounts():
    plan = plan_of(amount=2.0, nodes=[Node([0], [0], [1.0], [0.0], up=1), Node([1], [0], [1.0], [0.0])])
    rows = rows_of()
    for stage in plan.run_staged(rows):
        run = plan.prefix(stage.n_nodes).run(rows)
        np.testing.assert_array_equal(stage.amounts, run.amounts)
        np.testing.assert_array_equal(stage.acquired, run.acquired)
        np.testing.assert_allclose(stage.cost, run.cost)
    known = np.zeros(rows.shape, dtype=bool)
    known[::2, 2] = True
    *_, last = plan.run_staged(rows, known=known)
    np.testing.assert_allclose(last.cost, plan.run(rows, known=known).cost)
    assert plan.run(rows, known=known).cost[:2].tolist() == [6.5, 8.5]


def test_a_source_that_fails_leaves_the_mean_amount():
    def fails(_):
        raise OSError("the bank does not answer")

    values = {"risk": -1.0, "history": 0.0, "fee": 100.0}
    sources = {name: lambda _, name=name: values[name] for name in values} | {"amount": fails}
    served = OnDemand(plan_of(), sources=sources)
    receipt = served.predict(0)
    assert receipt.answer == "fraud"  # see above: 14.30 by the mean amount, and 13.21
    assert [one.answer for one in receipt.trail][:2] == ["call", "fraud"]


def test_an_interview_asks_for_amounts_first_and_says_why():
    plan = plan_of(amount=2.0, fee=3.0)
    interview = Interview(plan)
    question = interview.question
    assert (question.feature, question.price) == ("amount", 2.0)
    assert question.why == "what a mistake costs depends on it."
    assert question.certain == ("fee", "risk")
    assert (question.possible, question.most) == (("history",), 11.5)
    for value in (900.0, 20.0, -1.0, 0.0):
        interview.reply(value)
    assert interview.receipt().answer == "call"
    cheap = Interview(plan, budget=4.0)
    assert (cheap.question.certain, cheap.question.most) == ((), 4.0)
    assert cheap.what_if(budget=6.5).certain[1].feature == "fee"


def test_another_amount_may_have_another_answer():
    plan = plan_of()
    trail = plan.start(known={"risk": -1.0, "history": 0.0, "fee": 100.0})
    assert trail.next() == ("amount",)
    assert trail.answer().value == "fraud"  # 26.9 % are frauds: 32.3 by the mean amount, 10.97 and 50
    answers = {}
    for amount in (20.0, 900.0):
        after = trail.copy()
        after.tell({"amount": amount})
        answers[amount] = after.answer().value
    assert answers == {20.0: "fine", 900.0: "fraud"}  # 11.92 % are frauds


# -- files, words and checks ---------------------------------------------------------------------------------


def test_files_keep_amounts_and_have_a_version_of_their_own():
    plan = plan_of()
    data = dumps(plan)
    again = loads(data)
    assert data[8] == 7  # a reader that knows no amounts would answer by the means
    assert (again.decision.record(), again.digest) == (plan.decision.record(), plan.digest)
    plain = plan.replace(decision=Decision(MEANS, ["call"]))
    assert dumps(plain)[8] == 4
    assert sorted(plain.decision.record()) == ["actions", "costs", "weights"]
    assert len({plain.digest, plan.digest}) == 2
    rows = rows_of()
    assert again.predict(rows).tolist() == plan.predict(rows).tolist()


@pytest.mark.parametrize(
    "amounts",
    [
        None,
        {},
        {"columns": CELLS.columns.tolist()},
        {"columns": [[-1, -1, 3]], "factors": CELLS.factors.tolist()},
        {"columns": [[-1, -1, 3], [2, -1]], "factors": CELLS.factors.tolist()},
        {"columns": [[-1, -1, 3], [2.0, -1, 3]], "factors": CELLS.factors.tolist()},
        {"columns": [[-1, -1, 3], [True, -1, 3]], "factors": CELLS.factors.tolist()},
        {"columns": [[-1, -2, 3], [2, -1, 3]], "factors": CELLS.factors.tolist()},
        {"columns": [[-1, -1, 2**70], [2, -1, 3]], "factors": CELLS.factors.tolist()},
        {"columns": [[-1, -1, -1], [-1, -1, -1]], "factors": CELLS.factors.tolist()},
        {"columns": CELLS.columns.tolist(), "factors": [[1.0, 1.0, -0.5], [1.0, 1.0, 0.5]]},
        {"columns": CELLS.columns.tolist(), "factors": [[1.0, 1.0, "x"], [1.0, 1.0, 0.5]]},
        {"columns": CELLS.columns.tolist(), "factors": CELLS.factors.tolist(), "more": 1},
    ],
)
def test_damaged_records_are_refused(amounts):
    record = json.loads(json.dumps({**DECISION.record(), "amounts": amounts}))
    with pytest.raises(PlanError):
        Decision.from_record(record)


@pytest.mark.parametrize(
    ("version", "columns", "problem"),
    [
        (7, [[-1, -1, 3], [4, -1, 3]], "amounts in column 4, where there are 4"),
        (6, CELLS.columns.tolist(), "a file of version 6 cannot have a decision by amounts"),
        (7, [[-1, -1, 3], [2, -1]], "lines of one length"),
    ],
)
def test_damaged_files_are_refused(version, columns, problem):
    from miserly.plan.store.container import pack

    data = dumps(plan_of())
    _, header, arrays = unpack(data, SCHEMAS)
    header["decision"]["amounts"]["columns"] = columns
    changed = pack(header, arrays, SCHEMAS[version], version)
    assert PREAMBLE.unpack(changed[: PREAMBLE.size])[1] == version
    with pytest.raises(PlanFormatError, match=problem):
        loads(changed)


def test_amounts_that_do_not_suit_a_plan_are_refused():
    with pytest.raises(PlanError, match="column 2 holds categories"):
        plan_of(categories={2: ["low", "high"]})
    with pytest.raises(PlanError, match="where there are 2"):
        plan_of(costs=Costs([1.0, 5.0]))


def test_the_words_name_the_columns():
    words = " ".join(plan_of(amount=2.0).describe().split())
    assert '"fine" costs amount (or 120 if not known) where "fraud" is true' in words
    assert '"call" costs 0.5 times fee (or 6 if not known)' in words
    assert "amount and fee are asked for before anything else." in words
    assert "step 1 amount 2" in words
    assert "It may buy 4 of 4 features, for at most 8.5" in words


# -- outcome costs for a plan --------------------------------------------------------------------------------


def test_outcome_costs_that_name_columns_need_typical_amounts_without_rows():
    plain = plan_of(decision=None)
    named = {("fraud", "fine"): "amount", ("fine", "fraud"): 15, "call": "0.5 * fee"}
    plan = plain.with_outcome_costs(OutcomeCosts(named, typical={"amount": 120, "fee": 12}))
    assert plan.decision.record() == {**DECISION.record(), "weights": [1.0, 1.0]}
    for costs in (named, OutcomeCosts(named, typical={"amount": 120})):
        with pytest.raises(CostError, match="there are no rows to take its mean from: give OutcomeCosts"):
            plain.with_outcome_costs(costs)
    with pytest.raises(CostError, match="'price', which is no feature of the plan"):
        other = OutcomeCosts({("fraud", "fine"): "price", ("fine", "fraud"): 1}, typical={"price": 3})
        plain.with_outcome_costs(other)
    with pytest.raises(CostError, match="typical amount of 'fee' is given, but no cost is in that column"):
        OutcomeCosts({("fraud", "fine"): "amount", ("fine", "fraud"): 1}, typical={"fee": 3})


def test_a_cost_may_be_a_factor_and_a_column():
    costs = OutcomeCosts({("fraud", "fine"): "0.8 * amount", ("fine", "fraud"): "2e-2*amount"})
    assert costs.columns == ["amount"]
    table = costs.fill(lambda name: [100.0, 50.0]).bind(["fine", "fraud"])
    assert table.table.tolist() == [[[0, 2], [80, 0]], [[0, 1], [40, 0]]]
    assert table.bind(["fraud", "fine"]).amounts.factors.tolist() == [[1.0, 0.8], [0.02, 1.0]]
    answers = costs.decide([[0.97, 0.03]] * 2, ["fine", "fraud"], {"amount": [900.0, 20.0]})
    assert answers.tolist() == ["fraud", "fraud"]  # 0.024 and 0.0194 of the amount
    assert repr(Amount.read("3 * a")) == "'3 * a'"
