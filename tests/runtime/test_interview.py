"""Interviews: the questions of a plan one at a time, what they say, and the receipt at the end."""

from __future__ import annotations

import math

import numpy as np
import pytest

from miserly import CSTCClassifier, EarlyExit, GreedyMiserClassifier
from miserly.costs import Costs
from miserly.datasets import load_heart
from miserly.errors import DataError, SourceError
from miserly.plan import Confidence, Node, Plan, Raw, Tree
from miserly.plan.engine.ahead import certain
from miserly.plan.facts import feature_facts, range_facts
from miserly.runtime import Interview, OnDemand

from .plans import PATIENT, heart, linear


def played(plan, patient, **given):
    """All questions of an interview in which everything is known, and its receipt."""
    interview = Interview(plan, **given)
    questions = []
    while (question := interview.question) is not None:
        questions.append(question)
        interview.reply(patient[question.feature])
    return questions, interview.receipt()


def same(one, other):
    ours, theirs = one.to_dict(), other.to_dict()
    for record in (ours, theirs):
        record.pop("seconds")
        for purchase in record["trail"]:
            purchase.pop("seconds")
    return ours == theirs


# -- one request ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("given", [{}, {"budget": 6}, {"known": {"age": 61.0}}, {"prices": {"blood": 0.5}}])
def test_an_interview_is_a_request(given):
    _, receipt = played(heart(), PATIENT, **given)
    assert same(receipt, OnDemand(heart()).predict(PATIENT, **given))


@pytest.mark.parametrize("kind", ["boosted", "exits", "tree"])
def test_every_question_tells_what_then_happens(kind):
    """Prices, sums, certain and possible questions and the outlook, against what an interview then does."""
    data = load_heart()
    miser = GreedyMiserClassifier(costs=data.costs, n_rounds=25, max_depth=3)
    learner = {
        "boosted": miser,
        "exits": EarlyExit(miser, rule="confidence", threshold=0.8),
        "tree": CSTCClassifier(costs=data.costs, max_depth=3),
    }[kind]
    plan = learner.fit(data.frame(), data.y).plan_
    n_questions = 0
    for row in data.X[:25]:
        patient = dict(zip(data.feature_names, row.tolist(), strict=True))
        questions, receipt = played(plan, patient, budget=150)
        asked = [question.feature for question in questions]
        assert same(receipt, OnDemand(plan).predict(patient, budget=150))
        for i, question in enumerate(questions):
            n_questions += 1
            bought = receipt.trail[i]
            assert question.price == pytest.approx(bought.price)
            assert question.cost == pytest.approx(math.fsum(one.cost for one in receipt.trail[:i]))
            assert set(question.certain) <= set(asked[i + 1 :]) <= {*question.certain, *question.possible}
            assert receipt.cost - question.cost <= question.most + 1e-9
            assert question.answer.value == (receipt.trail[i - 1].answer if i else question.answer.value)
    assert n_questions > 40


def test_the_outlook_has_every_answer_that_a_value_can_lead_to():
    data = load_heart()
    plan = GreedyMiserClassifier(costs=data.costs, n_rounds=25, max_depth=2).fit(data.frame(), data.y).plan_
    plan = plan.replace(info={"features": range_facts(plan, data.X)})
    question = Interview(plan).question
    ahead = {one.probabilities[1] for one in question.outlook}
    for value in np.unique(data.X[:, question.column]):
        interview = Interview(plan)
        interview.reply(float(value))
        assert interview.answer.probabilities[1] in ahead


def test_certain_questions_go_on_to_the_next_gate():
    plan = heart()
    assert certain(plan.start()) == [0]
    assert certain(plan.start(), onward=True) == [0, 1, 2, 3]
    assert certain(plan.start(budget=8), onward=True) == [0, 1]
    nodes = list(plan.nodes)
    nodes[1] = Node([1], [0], [1.0], [0.0], gate=Confidence(0.9), up=2)
    assert certain(plan.replace(nodes=nodes).start(), onward=True) == [0, 1]


def test_what_may_not_fit_the_budget_is_not_certain():
    """One tree reads x, then y or z; another term reads y. If z is bought first, y does not fit."""
    tree = Tree([0, 1, 2, -1, -1, -1, -1], [0.0] * 7, [1, 3, 5, 0, 0, 0, 0], [2, 4, 6, 0, 0, 0, 0], [0] * 7,
                [0.0] * 3 + [1.0] * 4)  # fmt: skip
    costs = Costs({"x": 5.0, "y": 10.0, "z": 50.0})
    node = Node([0, 1], [0, 0], [1.0, 1.0], [0.0])
    plan = Plan(costs=costs, terms=[tree, Raw(1)], nodes=[node], base=[0.0])
    assert certain(plan.start(budget=65)) == [0, 1]
    assert certain(plan.start(budget=60)) == [0]


def test_a_question_says_why_it_is_asked():
    nodes = list(heart().nodes)
    nodes[1] = Node([1], [0], [1.0], [0.0], gate=Confidence(0.9), up=2)
    questions, _ = played(heart(nodes=nodes, base=[-91.0]), PATIENT)
    assert questions[0].why == (
        "step 1 of 4 uses it. The plan may end after step 2: if a class has a probability of at least 0.9."
    )
    assert questions[2].why == (
        "step 3 of 4 uses it, which is reached if no class has a probability of 0.9 or more yet "
        "(after step 2)."
    )


# -- answers -------------------------------------------------------------------------------------------------


def test_three_kinds_of_nothing():
    """Not to be had is free; bought without a value is paid; not asked for is not there."""
    interview = Interview(heart())
    interview.decline()
    interview.reply(None)
    interview.stop("enough")
    receipt = interview.receipt()
    assert [(one.outcome, one.cost) for one in receipt.trail] == [("declined", 0.0), ("null", 2.0)]
    assert receipt.cost == 2.0 and receipt.acquired == ("pain",)
    assert (receipt.stopped_by, receipt.reason) == ("caller", "enough")
    assert receipt.trail[1].answer == receipt.answer


def test_the_answer_after_a_declined_question_is_that_without_it():
    interview = Interview(heart(base=[20.0]))
    interview.reply(1.0)
    interview.decline()
    interview.stop()
    receipt = interview.receipt()
    assert receipt.trail[1].probabilities == pytest.approx(receipt.probabilities)
    assert receipt.trail[0].probabilities != receipt.trail[1].probabilities


@pytest.mark.parametrize("value", ["unheard of", 7.0, float("nan"), [1]])
def test_a_value_that_cannot_be_used_leaves_the_question(value):
    interview = Interview(heart(), known={"age": 61.0})
    with pytest.raises(DataError):
        interview.reply(value)
    assert interview.question.feature == "pain" and interview.n_replies == 0
    interview.reply("typical")
    assert interview.question.feature == "chol"


def test_answers_can_be_taken_back_one_by_one():
    interview = Interview(heart())
    assert not interview.back()
    for value in (99.0, "none", 300.0):
        interview.reply(value)
    assert interview.back() and interview.question.feature == "chol"
    assert interview.back() and interview.back() and not interview.back()
    while interview.question is not None:
        interview.reply(PATIENT[interview.question.feature])
    assert same(interview.receipt(), OnDemand(heart()).predict(PATIENT))
    assert interview.back() and interview.question.feature == "fbs"


def test_an_interview_ends_once():
    interview = Interview(linear(1))
    with pytest.raises(SourceError, match="has not ended"):
        interview.receipt()
    interview.reply(1.0)
    assert interview.question is None and interview.receipt().stopped_by == "answered"
    with pytest.raises(SourceError, match="has ended"):
        interview.reply(2.0)
    interview.stop()
    assert interview.receipt().stopped_by == "answered"


# -- facts ---------------------------------------------------------------------------------------------------


def test_ranges_are_notes_that_change_no_digest(tmp_path):
    from miserly import load

    plan = heart()
    rows = np.array([[50.0, 0, 126.5, 1], [60.0, 1, np.nan, 0], [55.0, 0, 564.0, 1]])
    noted = plan.replace(info={"features": range_facts(plan, rows)})
    assert noted.digest == plan.digest
    noted.save(tmp_path / "a.miser")
    age, pain, chol, fbs = (feature_facts(load(tmp_path / "a.miser"), f) for f in range(4))
    assert age.values == (50.0, 55.0, 60.0) and age.doubt(51.0) and not age.doubt(55.0)
    assert (chol.low, chol.high, chol.whole) == (126.5, 564.0, False) and chol.doubt(600.0)
    assert pain.categories == ("none", "typical") and fbs.values == (0.0, 1.0)


def test_notes_of_strangers_do_no_harm():
    notes = [None, 3, {"age": 3}, {"age": {"low": "x", "high": [], "whole": 1, "values": "no", "unit": 4}}]
    for features in (*notes, {"age": {"low": 9, "high": 2, "values": [1, None]}}):
        facts = feature_facts(heart(info={"features": features}), 0)
        assert (facts.low, facts.high, facts.values, facts.unit, facts.whole) == (None, None, (), "", False)


def test_features_without_names_are_asked_by_number():
    plan = linear(2, costs=Costs([1.0, 2.0]))
    questions, receipt = played(plan, {0: 1.0, 1: 2.0})
    assert [question.feature for question in questions] == [0, 1] and float(receipt.answer) == 3.0
